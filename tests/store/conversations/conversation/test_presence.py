"""Who else has a conversation open, as the poll of open pages tells."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console import clock
from console.permissions import Scope, Staff
from conversations.queue import presence
from conversations.queue.presence import Present, describe_presence, report_presence, token_for
from tests import faults
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import ANA, BEN, COMPANY, staff

REFERENCE, OTHER = "a-sealed-reference", "another-sealed-reference"


def at(who, reference=REFERENCE, *, writes=False) -> list[Present]:
    return report_presence(token_for(reference, COMPANY, who), who, writes=writes)


def test_colleagues_see_who_reads_and_who_answers_never_themselves(store):
    assert at(ANA) == []
    assert at(BEN) == [Present("Ana", writes=False)]
    assert at(ANA, writes=True) == [Present("Ben", writes=False)]
    assert describe_presence(at(BEN)) == "Ana is answering."
    assert at(BEN, OTHER) == []
    assert at(staff("cem")) == [Present("Ana", writes=True), Present("Ben", writes=False)]


def test_who_has_gone_is_gone(store, monkeypatch):
    at(ANA, writes=True)
    moment = clock.now() + presence.WRITES_FOR + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: moment)
    assert at(BEN) == [Present("Ana", writes=False)]
    later = moment + presence.READS_FOR
    monkeypatch.setattr(clock, "now", lambda: later)
    assert at(BEN) == []


def test_it_costs_a_write_and_a_read_and_leaves_no_trail(store):
    with store.calls() as seen:
        at(ANA)
    assert [(call.operation, call.tables) for call in seen] == [("PutItem", ("CONSOLE",)), ("Query", ("CONSOLE",))]
    [item] = store.all("CONSOLE")
    assert REFERENCE not in str(item)
    assert item["expires_at"] <= clock.to_epoch(clock.now()) + 30
    assert store.all("AUDIT") == []


@pytest.mark.parametrize("token", ["", "junk", lambda: token_for(REFERENCE, COMPANY, BEN)])
def test_a_token_of_somebody_else_tells_nothing(store, token):
    at(BEN)
    assert report_presence(token() if callable(token) else token, ANA, writes=False) == []
    assert {item["sk"] for item in store.all("CONSOLE")} == {"ben"}


def test_a_token_of_a_company_that_is_no_longer_in_scope_tells_nothing(store):
    only = replace(ANA, scope=Scope.of([COMPANY]))
    assert report_presence(token_for(REFERENCE, "another-company", only), only, writes=False) == []
    assert store.all("CONSOLE") == []
    report_presence(token_for(REFERENCE, COMPANY, only), only, writes=False)
    assert {item["sk"] for item in store.all("CONSOLE")} == {"ana"}


@pytest.mark.parametrize("operation", ["PutItem", "Query"])
def test_a_failure_costs_the_line_and_not_the_poll(store, operation):
    account = member()
    browser, token = signed_in(account), token_for(REFERENCE, COMPANY, Staff.of(account))
    with faults.fail_before(operation, table_key="CONSOLE", where=lambda request: "PRESENCE#" in str(request)):
        answer = browser.get("/queue/count/", {"reading": token})
    assert answer.json()["here"] == ""


def test_several_are_listed_in_a_sentence():
    people = [Present(name, writes=False) for name in ("Ana", "Ben", "Cem", "Dea", "Eli")]
    assert describe_presence(people[:2]) == "Ana and Ben are reading this too."
    assert describe_presence(people) == "Ana, Ben, Cem and 2 more are reading this too."
    assert describe_presence([Present("Zoe", writes=True), *people[:1]]) == "Zoe is answering. Ana is reading this too."
    assert describe_presence([]) == ""


def test_an_item_of_any_junk_is_nobody(store):
    digest = presence.unseal_data("presence", token_for(REFERENCE, COMPANY, ANA))[1]
    store.put("CONSOLE", {"pk": f"PRESENCE#{digest}", "sk": "x", "name": ["no"], "seen_at": 7, "writing_at": {}})
    store.put("CONSOLE", {"pk": f"PRESENCE#{digest}", "sk": "y", "seen_at": clock.to_iso(clock.now())})
    assert at(ANA) == [Present("y", writes=False)]
