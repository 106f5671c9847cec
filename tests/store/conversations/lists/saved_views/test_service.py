"""Saved views as services keep them: whose they are, who sees and changes them, limits, races and hostile items."""

import pytest

from console.errors import BadReference, Forbidden, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Scope
from console.refs import seal
from console.trail.items import ItemChanged, ItemGone
from conversations.lists.saved_views import records, service
from conversations.lists.saved_views.records import (
    REFERENCE,
    SHARED,
    FilteredList,
    load,
    views_for,
)
from conversations.lists.saved_views.service import delete, rename, save
from tests import faults
from tests.people import COMPANY, OTHER_COMPANY
from tests.support.conversations.handoff.kit import ADMIN, conversation, staff
from tests.support.conversations.saved_replies import entries

QUEUE, CONVERSATIONS = FilteredList.QUEUE, FilteredList.CONVERSATIONS
ANA, BEN = staff("ana"), staff("ben")
OF_OTHER = staff("carl", scope=Scope.of([f"company:{OTHER_COMPANY}"]))
AUDITOR = staff("aiko", Role.AUDITOR)
LEAD = staff("lea", Role.ADMIN)
WAITING_SMS = {"tab": "waiting", "channel": "sms"}
OF_COMPANY = {"tab": "waiting", "company": COMPANY, "channel": "sms"}
FAILED = {"company": COMPANY, "status": "is:failed"}


def names(person) -> list[str]:
    return [each.name for each in views_for(person)]


def own(name="Texts", by=ANA, filters=WAITING_SMS, of=QUEUE):
    return save(name, of, filters, by, shared=False)


def stored(store) -> list[dict]:
    found = [item for item in store.all("CONSOLE") if item["pk"].startswith("VIEWS#")]
    return [item for item in found if item["sk"] != "#changed"]


@pytest.fixture(autouse=True)
def company(store):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    store.put("CONVERSATIONS", conversation())


# --- Own --------------------------------------------------------------------------------------------------------------


def test_an_own_view_is_there_for_its_owner_alone_and_on_record(store):
    own("  Texts   of today ")
    [view] = views_for(ANA)
    assert (view.name, view.url, view.version) == ("Texts of today", "/queue/?tab=waiting&channel=sms", 1)
    assert views_for(BEN) == views_for(LEAD) == views_for(ADMIN) == []
    rename(load(view.reference, ANA), "Texts", 1, ANA)
    assert names(ANA) == ["Texts"]
    [renamed] = views_for(ANA)
    assert (renamed.url, renamed.version) == (view.url, 1)
    delete(load(renamed.reference, ANA), 1, ANA)
    assert views_for(ANA) == stored(store) == []
    of_staff = [each for each in entries(store) if each[1].startswith("saved_view.")]
    assert of_staff == [
        ("STAFF#ana", f"saved_view.{deed}", "ana", "success") for deed in ("created", "changed", "deleted")
    ]


def test_the_same_name_again_is_told_and_the_same_view_again_is_no_error(store):
    own()
    with pytest.raises(ItemChanged, match="already exists") as told:
        own(" tExTs ", filters=WAITING_SMS | {"waited": "1h"})
    assert told.value.field == "name"
    assert own().id == views_for(ANA)[0].id
    own("Others", filters=WAITING_SMS | {"waited": "1h"})
    own("Texts", by=BEN)
    [others] = [each for each in views_for(ANA) if each.name == "Others"]
    with pytest.raises(ItemChanged, match="already exists"):
        rename(others, "TEXTS", others.version, ANA)
    assert names(ANA) == ["Others", "Texts"]
    rename(others, "OTHERS", others.version, ANA)
    assert names(ANA) == ["OTHERS", "Texts"]
    assert len([each for each in entries(store) if each[1] == "saved_view.created"]) == 3


def test_two_forms_sent_at_once_save_one_view(store):
    """The second reads before the first has written."""
    seen = records.read_own(ANA)
    own()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "read_own", lambda _: seen)
        with pytest.raises(ItemChanged, match="already exists"):
            own(filters=WAITING_SMS | {"waited": "1h"})
    assert len(stored(store)) == 1
    assert names(staff("ana", scope=Scope())) == []


def test_a_lost_race_changes_nothing(store):
    view = own()
    seen = load(view.reference, ANA)
    rename(seen, "TEXTS", seen.version, ANA)
    for lost in (lambda: rename(seen, "texts", seen.version, ANA), lambda: delete(seen, seen.version, ANA)):
        with pytest.raises(ItemChanged, match="Somebody else changed"):
            lost()
    with pytest.raises(ItemChanged, match="Somebody else changed"):
        rename(seen, "Another", seen.version, ANA)
    assert names(ANA) == ["TEXTS"]
    rename(load(view.reference, ANA), "Another", 2, ANA)
    with pytest.raises(ItemGone):
        load(view.reference, ANA)


def test_a_full_owner_is_told_and_loses_nothing(store, monkeypatch):
    monkeypatch.setattr(service, "MOST", 2)
    own("one")
    own("two")
    with pytest.raises(Invalid, match="You can have up to 2 views here"):
        own("three")
    # The same form again is no error.
    own("two")
    own("three", by=BEN)
    delete(views_for(ANA)[0], 1, ANA)
    own("three")
    assert names(ANA) == ["three", "two"]


def test_no_more_is_written_than_is_read(store, monkeypatch):
    monkeypatch.setattr(service, "MOST_SHARED", 1)
    save("one", QUEUE, OF_COMPANY, LEAD, shared=True)
    with pytest.raises(Invalid, match="cannot keep more"):
        save("two", QUEUE, OF_COMPANY, LEAD, shared=True)
    monkeypatch.setattr(service, "MOST_READ", 2)
    own("three")
    with pytest.raises(Invalid, match="cannot keep more"):
        own("four")


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "Rory +447700900123", "r.smith@example.com"])
def test_a_name_is_short_and_holds_nothing_of_a_customer(store, name):
    with pytest.raises(Invalid):
        own(name)
    assert stored(store) == []


# --- Shared -----------------------------------------------------------------------------------------------------------


def test_what_a_lead_shares_is_there_for_who_sees_the_company(store):
    view = save("Cucumber", QUEUE, OF_COMPANY, LEAD, shared=True)
    own("zebra")
    assert names(ANA) == ["zebra", "Cucumber"]
    assert names(BEN) == names(LEAD) == names(ADMIN) == ["Cucumber"]
    assert names(OF_OTHER) == names(AUDITOR) == []
    for who, error in ((ANA, Forbidden), (OF_OTHER, NotFound), (staff("lara", Role.ADMIN, OF_OTHER.scope), NotFound)):
        for act in (
            lambda who=who: load(view.reference, who),
            lambda who=who: rename(view, "x", 1, who),
            lambda who=who: delete(view, 1, who),
            lambda who=who: save("x", QUEUE, OF_COMPANY, who, shared=True),
        ):
            with pytest.raises(error):
                act()
    shared = [each for each in store.all("AUDIT") if each["conversation_id"] == "SYSTEM"]
    assert [(each["action_type"], each["company_id"]) for each in shared] == [("saved_view.created", COMPANY)]
    rename(load(view.reference, LEAD), "Texts", 1, LEAD)
    assert names(BEN) == ["Texts"]
    delete(views_for(LEAD)[0], 1, LEAD)
    assert names(BEN) == []


def test_only_who_sees_all_companies_shares_a_view_for_all(store):
    with pytest.raises(Forbidden):
        save("Texts", QUEUE, WAITING_SMS, LEAD, shared=True)
    view = save("Texts", QUEUE, WAITING_SMS, ADMIN, shared=True)
    assert names(ANA) == names(OF_OTHER) == ["Texts"]
    assert names(AUDITOR) == []
    with pytest.raises(Forbidden):
        load(view.reference, LEAD)
    assert load(view.reference, ADMIN).url == view.url


def test_views_of_the_queue_are_for_who_hands_off_and_those_of_lists_for_who_reads(store):
    with pytest.raises(Forbidden):
        own(by=AUDITOR)
    own("Failed", by=AUDITOR, of=CONVERSATIONS, filters=FAILED)
    save("For all of us", CONVERSATIONS, FAILED, LEAD, shared=True)
    assert names(AUDITOR) == ["Failed", "For all of us"]
    with pytest.raises(Forbidden):
        own(by=staff("olga", Role.ONBOARDING), of=CONVERSATIONS, filters=FAILED)


def test_a_view_of_a_company_that_left_the_scope_is_not_shown_and_comes_back_with_it(store):
    view = own(filters=OF_COMPANY)
    moved = staff("ana", scope=OF_OTHER.scope)
    assert views_for(moved) == []
    with pytest.raises(ItemGone):
        load(view.reference, moved)
    assert names(ANA) == ["Texts"]


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_kept_of_a_company_exists_there(store, shared):
    for filters, error in (
        (OF_COMPANY | {"company": OTHER_COMPANY}, NotFound),
        (OF_COMPANY | {"company": "ci-none"}, NotFound),
        (OF_COMPANY | {"project": "447700900123"}, Invalid),
        (OF_COMPANY | {"group": "447700900123"}, Invalid),
        (WAITING_SMS | {"project": "pi-aaa-001"}, Invalid),
        (WAITING_SMS | {"group": "a1b2"}, Invalid),
    ):
        with pytest.raises(error):
            save("x", QUEUE, filters, LEAD, shared=shared)
    with pytest.raises(NotFound):
        save("x", QUEUE, OF_COMPANY | {"company": "ci-none"}, ADMIN, shared=shared)
    assert stored(store) == []
    store.put("CONSOLE", {"pk": f"GROUPS#{COMPANY}", "sk": "a1b2", "name": "Managers", "members": [], "version": 1})
    save("x", QUEUE, OF_COMPANY | {"project": "pi-aaa-001", "group": "a1b2"}, LEAD, shared=shared)
    assert len(stored(store)) == 1


# --- Cost and freshness -----------------------------------------------------------------------------------------------


def test_a_page_costs_one_query_and_one_more_in_a_while(store):
    own()
    save("Cucumber", QUEUE, OF_COMPANY, LEAD, shared=True)
    counts = []
    for person in (ANA, BEN, ANA):
        with store.calls() as seen:
            views_for(person)
        counts.append([call.operation for call in seen])
    assert counts == [["Query", "Query"], ["Query"], ["Query"]]


def test_what_a_lead_changes_shows_at_once_to_them_in_every_worker(store):
    assert names(LEAD) == names(BEN) == []
    # Another worker's cache is not dropped.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records.shared_views, "cache_clear", lambda: None)
        save("Cucumber", QUEUE, OF_COMPANY, LEAD, shared=True)
    assert names(LEAD) == ["Cucumber"]
    assert names(BEN) == []
    records.shared_views.cache_clear()
    assert names(BEN) == ["Cucumber"]


def test_a_change_is_made_though_its_author_may_see_it_later(store):
    with faults.fail_before("PutItem", table_key="CONSOLE", times=faults.ALWAYS):
        save("Cucumber", QUEUE, OF_COMPANY, LEAD, shared=True)
    assert names(BEN) == ["Cucumber"]


def test_the_stores_errors_are_raised(store):
    with faults.fail_before("Query", table_key="CONSOLE", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        views_for(ANA)


# --- Stored by others -------------------------------------------------------------------------------------------------

HOSTILE = [
    {},
    {"list": "nothing"},
    {"list": 7},
    {"list": "queue"},
    {"list": "queue", "filters": "text"},
    {"list": "queue", "filters": ["tab"]},
    {"list": "queue", "filters": {"tab": "waiting"}},
    {"list": "queue", "filters": {"channel": "447700900123"}},
    {"list": "queue", "filters": {"channel": {"sms": 1}}},
    {"list": "queue", "filters": {"channel": "sms", "next": "//evil.example"}},
    {"list": "conversations", "filters": {"status": "is:failed"}},
    {"list": "conversations", "filters": {"company": "../../x", "status": "is:failed"}, "name": "path"},
    {"list": "queue", "filters": {"channel": "sms"}, "name": {"a": 1}, "version": "x"},
    {"list": "queue", "filters": {"channel": "sms"}, "name": "+447700900123"},
    {"list": "queue", "filters": {"channel": "sms"}, "name": "<script>" * 1000},
]


@pytest.mark.parametrize("person", [ANA, ADMIN], ids=["agent", "admin"])
def test_hostile_items_break_nothing_and_lead_nowhere(store, person):
    for number, item in enumerate(HOSTILE):
        store.put("CONSOLE", {"pk": f"VIEWS#STAFF#{person.username}", "sk": f"h{number:02}", **item})
        for owner in ({}, {"company_id": COMPANY}, {"company_id": ""}, {"company_id": {"x": 1}}):
            store.put("CONSOLE", {"pk": SHARED, "sk": f"h{number:02}{owner}", **item, **owner})
    store.put("CONSOLE", {"pk": f"VIEWS#STAFF#{person.username}", "sk": "#changed", "change": {"x": 1}})
    found = views_for(person)
    assert found
    for each in found:
        assert len(each.name) <= records.LONGEST_NAME
        assert "447700900123" not in each.name + each.url
        assert each.url == "" or each.url.startswith(("/queue/?", "/conversations/"))
        assert each.reference


def test_a_view_whose_filters_cannot_be_read_can_be_deleted_only(store):
    store.put("CONSOLE", {"pk": "VIEWS#STAFF#ana", "sk": "h", "list": "queue", "name": "old", "version": 3})
    [view] = views_for(ANA)
    assert view.url == ""
    with pytest.raises(Invalid, match="Delete it"):
        rename(view, "new", 3, ANA)
    delete(view, 3, ANA)
    assert views_for(ANA) == []


def test_what_is_shared_for_a_company_is_about_that_company(store):
    """Else a drifted item would show one company's people another one's id."""
    item = {"list": "queue", "name": "odd", "filters": {"company": OTHER_COMPANY, "channel": "sms"}}
    store.put("CONSOLE", {"pk": SHARED, "sk": "a", "company_id": COMPANY, **item})
    store.put("CONSOLE", {"pk": SHARED, "sk": "b", **item})
    assert [(each.name, each.url) for each in views_for(ADMIN)] == [("odd", ""), ("odd", "")]


@pytest.mark.parametrize("key", ["VIEWS#ALL#x", "VIEWS#COMPANY", "VIEWS#STAFF", "VIEWS#SHARED", "VIEWS#", "ALL", ""])
def test_a_reference_to_nobodys_views_is_none(store, key):
    with pytest.raises(BadReference):
        load(seal(REFERENCE, key, "a" * 32), ADMIN)
