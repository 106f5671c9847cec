"""Onboarding: an id is reserved, what is typed is kept, and the last step writes all of it or nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from console import clock
from console.errors import Conflict, Forbidden, Invalid, NotFound, StoreUnavailable
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.store import presence
from tenants import channels, onboarding
from tenants.keys import Channel
from tenants.onboarding import Draft, DraftChanged
from tenants.users import UserValues
from tests import faults
from tests.people import member
from tests.support.tenants.items import tenant, user
from tests.support.tenants.kit import (
    AGENT,
    AUDITOR,
    BOT,
    OLGA,
    guard,
    kill_at_each_call,
    mappers,
    of,
    put_tenants,
    trail,
)
from tests.support.tenants.kit import onboarding as person

ADMIN = UserValues("robin", "robin@bluebird.example", "Robin Keller", "admin", (("slack", "U1"),))
WHATSAPP = Channel("whatsapp", "+447700900831")
NEW = person("bluebird", "ci-blu-001")


def begin(tenant_id: str = "bluebird", token: str = "one", who=NEW) -> None:
    onboarding.begin(tenant_id, "Bluebird Books", token, who)


def drafted(**more) -> Draft:
    """A complete draft, saved."""
    typed = Draft(ADMIN, (BOT, WHATSAPP), ("ci-blu-001",), version=1, token="one")
    onboarding.save_draft("bluebird", replace(typed, **more), NEW)
    return onboarding.load_draft("bluebird", NEW)


@pytest.fixture
def olga(store):
    return member("olga.novak", "onboarding", ["bluebird", "ci-blu-001"])


def test_the_first_step_reserves_the_id(store, olga):
    begin()
    stored = of(store, "bluebird")
    assert set(stored) == {"META"}
    assert {name: stored["META"][name] for name in ("tenant_id", "name", "status")} == {
        "tenant_id": "bluebird",
        "name": "Bluebird Books",
        "status": "onboarding",
    }
    assert trail(store, "bluebird") == ["tenant.created"]


def test_who_creates_a_tenant_gains_its_scope(store):
    member("olga.novak", "onboarding", ["acme"])
    begin(who=OLGA)
    [account] = store.all("STAFF")
    assert account["scope"] == ["acme", "tenant:bluebird"]
    [entry] = [each for each in store.all("AUDIT") if each["conversation_id"] == "STAFF#olga.novak"]
    assert (entry["action_type"], entry["actor"]) == ("staff.changed", "olga.novak")


def test_an_id_of_something_else_is_never_gained(store):
    """A company's id as a tenant's would open the company's conversations."""
    member("olga.novak", "onboarding", ["acme"])
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": "ci-cuc-001", "name": "Cucumber"})
    store.put("TENANTS", user("admin", "half"))  # a tenant without META
    for taken in ("ci-cuc-001", "half"):
        with pytest.raises(Conflict, match="This id is taken"):
            begin(taken, who=OLGA)
    assert store.all("STAFF")[0]["scope"] == ["acme"]


def test_an_id_with_conversations_of_an_assistant_is_never_gained(store):
    """They may outlive the tenant whose they are: who gets its id would read them."""
    member("olga.novak", "onboarding", ["acme"])
    store.put("TENANT_CONVERSATIONS", {"pk": "bluebird", "sk": "conv-1", "messages": "[]"})
    with pytest.raises(Conflict, match="This id is taken"):
        begin(who=OLGA)
    assert of(store, "bluebird") == {}
    assert store.all("STAFF")[0]["scope"] == ["acme"]


def test_an_id_with_threads_of_an_organisation_is_never_gained(store):
    member("olga.novak", "onboarding", ["acme"])
    thread = {"PK": "bluebird#u-1", "SK": "THREAD#t-1", "org_id": "bluebird", "updated_at": "2026-01-31T10:00:00Z"}
    store.put("THREADS", thread)
    with pytest.raises(Conflict, match="This id is taken"):
        begin(who=OLGA)
    assert of(store, "bluebird") == {}
    assert store.all("STAFF")[0]["scope"] == ["acme"]


def test_an_id_that_the_trail_names_is_never_gained(store):
    """Its entries outlive what they tell of: who gets the id would read them."""
    member("olga.novak", "onboarding", ["acme"])
    entry = {"conversation_id": "TENANT#bluebird", "ts_action_id": f"{clock.to_iso(clock.now())}#1"}
    store.put("AUDIT", {**entry, "company_id": "bluebird", "gsi_company_id": "bluebird"})
    with pytest.raises(Conflict, match="This id is taken"):
        begin(who=OLGA)
    assert of(store, "bluebird") == {}


def test_an_id_is_not_gained_where_threads_cannot_be_told_by_it(bare_store):
    bare_store.create_tables(*(key for key in TABLES if key != "THREADS"))
    request = create_table_request("THREADS")
    [index] = [each for each in request["GlobalSecondaryIndexes"] if each["IndexName"] == "org-id-updated-at-index"]
    request["GlobalSecondaryIndexes"].remove(index)
    of_index = {each["AttributeName"] for each in index["KeySchema"]}
    request["AttributeDefinitions"] = [
        each for each in request["AttributeDefinitions"] if each["AttributeName"] not in of_index
    ]
    bare_store.client.create_table(**request)
    presence.forget()
    member("olga.novak", "onboarding", ["acme"])
    with pytest.raises(Conflict, match="org-id-updated-at-index"):
        begin(who=OLGA)
    assert of(bare_store, "bluebird") == {}
    begin()
    assert set(of(bare_store, "bluebird")) == {"META"}


def test_the_first_step_sent_twice_is_one_tenant_for_who_gains_it(store):
    member("olga.novak", "onboarding", ["acme"])
    begin(who=OLGA)
    begin(who=OLGA)
    assert trail(store, "bluebird") == ["tenant.created"]
    assert store.all("STAFF")[0]["scope"] == ["acme", "tenant:bluebird"]


def test_an_id_is_not_gained_while_its_conversations_cannot_be_asked_for(store):
    member("olga.novak", "onboarding", ["acme"])
    with (
        faults.fail_before("Query", table_key="TENANT_CONVERSATIONS", times=faults.ALWAYS),
        pytest.raises(StoreUnavailable),
    ):
        begin(who=OLGA)
    assert of(store, "bluebird") == {}
    assert store.all("STAFF")[0]["scope"] == ["acme"]


def test_a_taken_id_is_told_and_nothing_is_written(store, olga):
    put_tenants(store, "bluebird")
    with pytest.raises(Conflict, match="This id is taken"):
        begin()
    assert trail(store, "bluebird") == []


def test_the_first_step_sent_twice_is_one_tenant(store, olga):
    begin()
    begin()
    assert trail(store, "bluebird") == ["tenant.created"]
    with pytest.raises(Conflict):
        begin(token="of somebody else")


def test_two_people_who_want_one_id_are_told_apart(store):
    people = [person("bluebird"), person("bluebird")]
    member("olga.novak", "onboarding", ["bluebird"])
    gate = threading.Barrier(2)

    def attempt(number: int) -> str:
        gate.wait()
        try:
            begin(token=f"token {number}", who=people[number])
        except Conflict:
            return "taken"
        return "reserved"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, range(2))) == ["reserved", "taken"]
    assert trail(store, "bluebird") == ["tenant.created"]


@pytest.mark.parametrize("tenant_id", ["", "A b", "a#b", "a\x00b", "../x", "x" * 101, "447700900123"])
def test_ids_that_cannot_be_are_refused(store, tenant_id):
    with pytest.raises(Invalid):
        begin(tenant_id, who=replace(NEW))
    assert store.all("TENANTS") == []


def test_a_draft_keeps_what_was_typed(store, olga):
    begin()
    found = drafted()
    assert (found.admin, found.channels, found.companies) == (ADMIN, (BOT, WHATSAPP), ("ci-blu-001",))
    assert set(of(store, "bluebird")) == {"META"}


def test_a_step_of_another_tab_is_not_written_over(store, olga):
    begin()
    stale = onboarding.load_draft("bluebird", NEW)
    drafted()
    with pytest.raises(DraftChanged):
        onboarding.save_draft("bluebird", replace(stale, companies=()), NEW)
    assert onboarding.load_draft("bluebird", NEW).channels == (BOT, WHATSAPP)


def test_the_last_step_writes_everything(store, olga):
    begin()
    onboarding.finish("bluebird", drafted(), NEW)
    stored = of(store, "bluebird")
    assert set(stored) == {"META", "USER#robin", "USERS", BOT.key, WHATSAPP.key, "COMPANY#ci-blu-001"}
    assert stored["USER#robin"]["role"] == "admin"
    assert guard(store) == guard(store, WHATSAPP) == "bluebird"
    assert trail(store, "bluebird") == ["tenant.created", "tenant.onboarded"]
    assert onboarding.load_draft("bluebird", NEW) == Draft()
    assert stored["META"]["status"] == "onboarding"


def test_finished_twice_says_so_and_writes_once(store, olga):
    begin()
    draft = drafted()
    onboarding.finish("bluebird", draft, NEW)
    with pytest.raises(Conflict):
        onboarding.finish("bluebird", draft, NEW)
    assert trail(store, "bluebird") == ["tenant.created", "tenant.onboarded"]


def test_a_channel_taken_meanwhile_is_told_and_nothing_is_written(store, olga):
    begin()
    draft = drafted()
    put_tenants(store, "acme")
    channels.claim("acme", BOT, OLGA)
    with pytest.raises(Conflict, match="Another tenant has this channel"):
        onboarding.finish("bluebird", draft, NEW)
    assert set(of(store, "bluebird")) == {"META"}
    assert guard(store, WHATSAPP) == ""
    assert onboarding.load_draft("bluebird", NEW) == draft
    assert list(onboarding.problems_of("bluebird", draft, NEW)) == ["channels"]


def test_what_is_missing_is_named_by_step(store, olga):
    begin()
    assert list(onboarding.problems_of("bluebird", Draft(), NEW)) == ["admin", "channels"]
    with pytest.raises(Conflict, match="not complete"):
        onboarding.finish("bluebird", onboarding.load_draft("bluebird", NEW), NEW)


def test_a_company_out_of_scope_cannot_be_linked(store, olga):
    begin()
    with pytest.raises(Invalid, match="in your scope"):
        onboarding.finish("bluebird", drafted(companies=("ci-other",)), NEW)


def test_killed_at_any_call_of_the_first_step(store):
    def set_up() -> None:
        member("olga.novak", "onboarding", ["acme"])

    def check(finished: bool) -> None:
        written = bool(of(store, "bluebird"))
        assert written == bool(store.all("CONSOLE")) == (trail(store, "bluebird") == ["tenant.created"])
        [account] = store.all("STAFF")
        assert ("tenant:bluebird" in account["scope"]) == written
        assert written or not finished

    assert kill_at_each_call(store, set_up, lambda: begin(who=OLGA), check) >= 4


@pytest.mark.slow
def test_killed_at_any_call_of_the_last_step(store):
    found: list[Draft] = []

    def set_up() -> None:
        member("olga.novak", "onboarding", ["bluebird", "ci-blu-001"])
        begin()
        found[:] = [drafted()]

    def check(finished: bool) -> None:
        stored = of(store, "bluebird")
        done = "USER#robin" in stored
        assert len(stored) == (6 if done else 1)
        assert (guard(store) == "bluebird") == (guard(store, WHATSAPP) == "bluebird") == done
        assert (mappers(store) == {"bluebird"}) == done == ("tenant.onboarded" in trail(store, "bluebird"))
        assert (onboarding.load_draft("bluebird", NEW) == Draft()) == done
        assert done or not finished

    calls = kill_at_each_call(store, set_up, lambda: onboarding.finish("bluebird", found[0], NEW), check)
    assert calls >= 6


@pytest.mark.parametrize("who", [AUDITOR, AGENT], ids=["auditor", "agent"])
def test_who_may_not_is_refused(store, who):
    with pytest.raises(Forbidden):
        begin(who=who)
    put_tenants(store, "bluebird")
    with pytest.raises(Forbidden):
        onboarding.load_draft("bluebird", who)


def test_a_tenant_out_of_scope_is_not_there(store):
    store.put("TENANTS", tenant("bluebird", status="onboarding"))
    with pytest.raises(NotFound):
        onboarding.load_draft("bluebird", OLGA)
    with pytest.raises(NotFound):
        onboarding.finish("bluebird", Draft(ADMIN, (BOT,)), OLGA)
