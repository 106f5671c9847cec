"""Saved replies as stored: who may write which, what the trail says of it, and that no change is lost unseen."""

import json
import re

import pytest

from console.errors import Conflict, Forbidden, Invalid, NotFound
from console.permissions import FOR_ALL, Owner, OwnerKind, Role, Scope
from console.trail.items import ItemChanged, ItemGone
from conversations.team.saved_replies import service
from conversations.team.saved_replies.service import MOST, new_token, partition_of
from tests import faults
from tests.people import COMPANY, OTHER_COMPANY
from tests.support.conversations.handoff.kit import ADMIN, ANA, BEN, staff
from tests.support.conversations.saved_replies import TEXT, added, entries, saved, version

OF_COMPANY, OF_OTHER = Owner(OwnerKind.COMPANY, COMPANY), Owner(OwnerKind.COMPANY, OTHER_COMPANY)
OF_ANA, OF_BEN = Owner(OwnerKind.STAFF, "ana"), Owner(OwnerKind.STAFF, "ben")
LIMITED = staff("lea", Role.ADMIN, Scope.of([f"company:{COMPANY}"]))
AUDITOR = staff("aiko", Role.AUDITOR, Scope(everything=True))
OF_AUDITOR = Owner(OwnerKind.STAFF, "aiko")


@pytest.mark.parametrize(
    ("owner", "by", "partition", "trail"),
    [
        (FOR_ALL, ADMIN, "SAVED_REPLIES#all", "SYSTEM"),
        (OF_COMPANY, ADMIN, f"SAVED_REPLIES#company#{COMPANY}", "SYSTEM"),
        (OF_COMPANY, LIMITED, f"SAVED_REPLIES#company#{COMPANY}", "SYSTEM"),
        (OF_ANA, ANA, "SAVED_REPLIES#staff#ana", "STAFF#ana"),
    ],
)
def test_each_is_stored_with_its_owner_and_recorded_without_its_text(store, owner, by, partition, trail):
    reference = added(owner, by)
    [item] = saved(store)
    assert (item["pk"], item["name"], item["text"], item["updated_by"]) == (partition, "Greeting", TEXT, by.username)
    assert len(item["sk"]) == 32
    service.change(reference, "Greeting 2", "Hello", version(reference, by), by)
    [item] = saved(store)
    assert (item["name"], item["text"]) == ("Greeting 2", "Hello")
    service.delete(reference, version(reference, by), by)
    assert not saved(store)
    said = ["saved_reply.created", "saved_reply.changed", "saved_reply.deleted"]
    assert entries(store) == [(trail, each, by.username, "success") for each in said]
    payloads = [json.loads(entry["action_payload_redacted"]) for entry in store.all("AUDIT")]
    assert sorted((each["saved_reply"], each["characters"]) for each in payloads) == [
        (item["sk"], 5),
        (item["sk"], 5),
        (item["sk"], len(TEXT)),
    ]
    assert not re.search("green-heron|Greeting", str(store.all("AUDIT")))


@pytest.mark.parametrize(
    ("owner", "by", "error"),
    [
        (FOR_ALL, ANA, Forbidden),
        (FOR_ALL, LIMITED, Forbidden),
        (OF_COMPANY, ANA, Forbidden),
        (OF_OTHER, LIMITED, NotFound),
        (OF_BEN, ANA, NotFound),
        (OF_BEN, ADMIN, NotFound),
        (OF_AUDITOR, AUDITOR, Forbidden),
    ],
)
def test_who_may_not_write_changes_nothing(store, owner, by, error):
    with pytest.raises(error):
        service.add(new_token(owner), "Greeting", TEXT, by)
    writer = {"all": ADMIN, "company": ADMIN, "staff": BEN}[owner.kind]
    if owner == OF_AUDITOR:
        return
    reference = added(owner, writer)
    seen, before = version(reference, writer), (saved(store), store.all("AUDIT"))
    with pytest.raises(error):
        service.change(reference, "Mine", "now", seen, by)
    with pytest.raises(error):
        service.delete(reference, seen, by)
    assert (saved(store), store.all("AUDIT")) == before


def test_agents_read_those_for_all_and_of_companies_in_scope_and_their_own(store):
    for owner, by in ((FOR_ALL, ADMIN), (OF_COMPANY, ADMIN), (OF_ANA, ANA), (OF_BEN, BEN)):
        added(owner, by, f"of {partition_of(owner)}")
    for owner in (FOR_ALL, OF_COMPANY, OF_ANA):
        assert [each.name for each in service.listed(owner, ANA)] == [f"of {partition_of(owner)}"]
    for owner in (OF_OTHER, OF_BEN):
        with pytest.raises(NotFound):
            service.listed(owner, ANA)


def test_search_finds_name_and_text_in_any_case(store):
    for name, text in (("Opening hours", "We open at 9."), ("Bye", "Good BYE and thanks")):
        added(FOR_ALL, ADMIN, name, text)
    found = {q: [each.name for each in service.listed(FOR_ALL, ANA, q)] for q in ("OPEN", "bye", "thanks", "", "zzz")}
    assert found == {
        "OPEN": ["Opening hours"],
        "bye": ["Bye"],
        "thanks": ["Bye"],
        "": ["Bye", "Opening hours"],
        "zzz": [],
    }


def test_who_saw_another_version_overwrites_nothing(store):
    reference = added(OF_COMPANY, ADMIN)
    seen = version(reference, LIMITED)
    service.change(reference, "Greeting", "Theirs", seen, ADMIN)
    before = (saved(store), store.all("AUDIT"))
    with pytest.raises(ItemChanged):
        service.change(reference, "Greeting", "Mine", seen, LIMITED)
    with pytest.raises(ItemChanged):
        service.delete(reference, seen, LIMITED)
    assert (saved(store), store.all("AUDIT")) == before


@pytest.mark.parametrize(
    "do",
    [
        lambda reference, seen: service.change(reference, "Greeting", "Mine", seen, ADMIN),
        lambda reference, seen: service.delete(reference, seen, ADMIN),
    ],
    ids=["change", "delete"],
)
def test_who_loses_at_the_last_moment_overwrites_nothing(store, do):
    reference = added(OF_COMPANY, ADMIN)
    seen = version(reference, ADMIN)
    [item] = saved(store)
    key = {"pk": item["pk"], "sk": item["sk"]}
    meanwhile = faults.before("TransactWriteItems", lambda: store.update("CONSOLE", key, text="Theirs", version=2))
    with meanwhile, pytest.raises(ItemChanged):
        do(reference, seen)
    assert [each["text"] for each in saved(store)] == ["Theirs"]
    assert [each[1] for each in entries(store)] == ["saved_reply.created"]


def test_what_was_deleted_stays_deleted(store):
    reference = added(FOR_ALL, ADMIN)
    seen = version(reference, ADMIN)
    service.delete(reference, seen, ADMIN)
    with pytest.raises(ItemGone):
        service.change(reference, "Greeting", "Mine", seen, ADMIN)
    assert not saved(store)


def test_a_form_sent_twice_adds_one(store):
    token = new_token(OF_ANA)
    service.add(token, "Greeting", TEXT, ANA)
    service.add(token, "Greeting", TEXT, ANA)
    assert len(saved(store)) == len(entries(store)) == 1
    with pytest.raises(Conflict):
        service.add(token, "Greeting", "another text", ANA)
    assert [each["text"] for each in saved(store)] == [TEXT]


def test_nothing_changed_is_not_recorded(store):
    reference = added(FOR_ALL, ADMIN)
    assert not service.change(reference, "Greeting", TEXT, version(reference, ADMIN), ADMIN)
    assert len(entries(store)) == 1


def test_two_hundred_of_each_owner_are_the_most(store):
    full = OF_ANA
    items = [{"pk": partition_of(full), "sk": f"{n:032x}", "name": f"N{n}", "text": "T"} for n in range(MOST)]
    store.put_all("CONSOLE", items)
    with pytest.raises(Invalid, match="You can have up to 200 saved replies"):
        service.add(new_token(full), "One more", TEXT, ANA)
    assert len(service.listed(full, ANA)) == len(saved(store)) == MOST
    added(OF_BEN, BEN)


def test_an_item_without_its_attributes_breaks_nothing(store):
    store.put("CONSOLE", {"pk": partition_of(FOR_ALL), "sk": "0" * 32})
    [found] = service.listed(FOR_ALL, ANA)
    assert (found.name, found.text, found.updated_by, found.updated_at, found.version) == ("", "", "", None, 0)
