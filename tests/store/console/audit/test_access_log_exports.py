"""Exports across conversations at one of them: which may hold it, how far they were read, and what is unknown."""

from datetime import datetime, timedelta

import pytest
from django.urls import reverse

from console import clock, refs
from console.audit.access_log import exports as looks_exports
from console.audit.access_log.exports import NO_INDEX, NOT_IN_SCOPE
from console.audit.access_log.reading import access_log_of_conversation
from console.clock import to_epoch, to_iso
from console.trail.actions import EXPORTS
from tests.items import conversation, entry
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, signed_in

ID = f"{COMPANY}#pi-aaa-001#req1#447700900123"
SHOWN = f"{COMPANY}#pi-aaa-001#req1#***-***-0123"
DAY = timedelta(days=1)
MAY = "1 export may contain it"
REASSURING = "Nobody opened it"


def put(store, at: datetime, action: str, trail: str = ID, company: str = "", key: str = "", **payload) -> None:
    item = entry(at, action, trail, actor="aiko.mori", role="auditor", company=company, payload=payload)
    store.put("AUDIT", item | {"ts_action_id": f"{key or to_iso(at)}#{action}"})


def exported(store, at: datetime, *filters: str, company: str = "", trail: str = "STAFF#aiko.mori") -> None:
    put(store, at, "audit.exported", trail, company, format="csv", filters=list(filters), limit=100_000)


@pytest.fixture
def stored(store):
    """A conversation of ours, with entries of twenty to ten days ago that name the company."""
    for days in (20, 10):
        put(store, clock.now() - days * DAY, "hand_off.take", company=COMPANY)
    return store


def found(conversation_id: str = ID):
    return access_log_of_conversation(conversation_id, as_staff(admin()))


def page(conversation_id: str = ID, account=None) -> str:
    url = reverse("access-log-conversation", args=[refs.seal("trail", conversation_id)])
    return signed_in(account or auditor()).get(url).content.decode()


def on(days: int) -> str:
    """The day so many days ago."""
    return (clock.now() - days * DAY).date().isoformat()


@pytest.mark.parametrize(
    ("filters", "company", "may_hold"),
    [
        ((), "", True),
        (("Action types: hand-off",), "", True),
        (("Action types: accounts",), "", False),
        (("Action types: accounts, tenant.changed, staff.sign_in",), "", False),
        (("Action types: accounts, route",), "", True),
        (("Action types: accounts, another.services",), "", True),
        ((f"Company: {COMPANY}",), COMPANY, True),
        ((f"Company: {OTHER_COMPANY}",), OTHER_COMPANY, False),
        ((f"Conversation {SHOWN}",), "", True),
        (("Conversation ci-other#1",), "", False),
        ((f"From {on(15)}",), "", True),
        ((f"From {on(5)}",), "", False),
        ((f"From {on(15)} (Europe/London)",), "", True),
        ((f"From {on(5)} (Europe/London)",), "", False),
        ((f"To {on(15)}",), "", True),
        ((f"To {on(25)}",), "", False),
        ((f"From {on(25)}", f"To {on(5)}"), "", True),
        # Of which zone a day is, nobody knows.
        ((f"From {on(9)}",), "", True),
        ((f"To {on(21)}",), "", True),
        (("From the beginning",), "", True),
    ],
)
def test_an_export_may_hold_what_its_filters_let_through(stored, filters, company, may_hold):
    exported(stored, clock.now() - DAY, *filters, company=company)
    rows = [(row.name, dict(row.what)) for row in found().rows]
    assert rows == ([("aiko.mori", {MAY: 1})] if may_hold else [])
    assert ("may contain it" in page()) == may_hold
    assert (REASSURING in page()) != may_hold


def test_an_export_from_before_its_first_entry_holds_nothing_of_it(stored):
    exported(stored, clock.now() - 30 * DAY)
    assert found().rows == ()


def test_an_export_of_another_conversation_stands_in_its_trail_and_not_here(stored):
    exported(stored, clock.now(), "Conversation ci-other#1", trail="ci-other#1")
    assert found().rows == ()


def test_whose_the_conversation_is_may_be_known_by_the_conversation_alone(store):
    put(store, clock.now() - DAY, "route")
    exported(store, clock.now(), f"Company: {OTHER_COMPANY}", company=OTHER_COMPANY)
    # As long as nobody knows, it may be theirs.
    assert [dict(row.what) for row in found().rows] == [{MAY: 1}]
    store.put("CONVERSATIONS", conversation(conversation_id=ID, company_id=COMPANY))
    assert found().rows == ()


def test_a_trail_keyed_by_epochs_has_its_dates_too(store):
    at = clock.now() - 10 * DAY
    put(store, at, "route", key=str(to_epoch(at)))
    exported(store, clock.now() - 11 * DAY)
    assert found().rows == ()
    exported(store, clock.now())
    assert len(found().rows) == 1


@pytest.mark.parametrize("payload", ["no json", "[]", '{"filters": 1}', '{"filters": [1, {"a": 2}]}'])
def test_an_export_of_which_nothing_can_be_read_may_hold_it(stored, payload):
    exported(stored, clock.now())
    key = next(each for each in stored.all("AUDIT") if each["conversation_id"] == "STAFF#aiko.mori")
    stored.put("AUDIT", key | {"action_payload_redacted": payload})
    assert [row.times for row in found().rows] == [1]


@pytest.mark.slow
def test_what_an_export_records_is_what_is_read_here(stored):
    """The entry's words are those of the review: another spelling there has to fail here."""
    client = signed_in(auditor())
    put(stored, clock.now(), "hand_off.take", "ci-bbb-002#1", OTHER_COMPANY)
    excluded = (f"company={OTHER_COMPANY}", f"until={on(30)}", f"since={on(1)}", "group=accounts")
    for query in (f"company={COMPANY}&since={on(15)}", *excluded):
        assert client.post(f"/audit/export/?{query}", {"format": "csv"}).status_code == 200
    (row,) = found().rows
    assert dict(row.what) == {MAY: 1}


def test_it_costs_few_queries_whatever_was_exported(stored):
    for number in range(30):
        exported(stored, clock.now() - number * timedelta(minutes=1))
    auditing = as_staff(admin())
    with stored.calls() as calls:
        access_log_of_conversation(ID, auditing)
    assert sum(each.index == "action-type-index" for each in calls) == len(EXPORTS)
    assert sum(each.operation == "Query" for each in calls) <= 7


def test_a_bounded_reading_says_that_earlier_exports_are_not_counted(stored, monkeypatch):
    monkeypatch.setattr(looks_exports, "EXPORTS_READ", 3)
    for number in range(5):
        exported(stored, clock.now() - number * DAY)
    assert [row.times for row in found().rows] == [3]
    assert "earlier ones are not counted here" in page()
    # What lies behind the bound holds nothing of a conversation that began later.
    put(stored, clock.now() - DAY, "hand_off.take", "ci-late#1", COMPANY)
    assert "not counted here" not in page("ci-late#1")


def test_without_the_index_exports_across_are_said_not_to_be_counted(stored, monkeypatch):
    exported(stored, clock.now())
    monkeypatch.setattr("console.audit.review.plan.index_ready", lambda *_: False)
    shown = page()
    assert NO_INDEX in shown
    assert REASSURING not in shown
    assert "No access is recorded in its trail" in shown


def test_who_sees_some_companies_only_is_told_that_they_are_not_counted(stored):
    exported(stored, clock.now())
    limited = auditor("lea.limited", scope=[COMPANY])
    with stored.calls() as calls:
        shown = page(account=limited)
    assert NOT_IN_SCOPE in shown
    assert "aiko.mori" not in shown
    assert REASSURING not in shown
    assert not any(each.index == "action-type-index" for each in calls)


# --- An id of which nothing is recorded -------------------------------------------------------------------------------


def test_an_id_of_which_nothing_is_recorded_is_not_called_unseen(store):
    exported(store, clock.now())
    shown = page("ci-mistyped#1")
    assert "The console knows no conversation with this id" in shown
    assert "Open the trail" not in shown
    assert "Check the spelling" in shown
    assert REASSURING not in shown
    assert "looked through" not in shown


@pytest.mark.parametrize("what", ["entry", "conversation"])
def test_what_is_there_and_was_not_looked_at_is(store, what):
    if what == "entry":
        put(store, clock.now(), "route")
    else:
        store.put("CONVERSATIONS", conversation(conversation_id=ID, company_id=COMPANY))
    shown = page()
    assert REASSURING in shown
    assert "The console knows no conversation with this id" not in shown


# --- Without the audit table's indexes --------------------------------------------------------------------------------


@pytest.fixture
def no_index(stored, monkeypatch):
    monkeypatch.setattr("console.audit.review.plan.index_ready", lambda *_: False)
    put(stored, clock.now(), "transcript.opened", company=COMPANY, shown="raw")


@pytest.mark.usefixtures("no_index")
def test_what_a_person_looked_at_cannot_be_told_without_an_index():
    shown = signed_in(auditor()).get("/audit/looks/people/aiko.mori/").content.decode()
    assert "What they looked at across conversations is not available here" in shown
    assert shown.count("check --cloudformation") == 1
    for claim in ("Nothing looked at", "looked through", "only the newest entries are searched"):
        assert claim not in shown


@pytest.mark.usefixtures("no_index")
@pytest.mark.parametrize("query", ["actor=aiko.mori", f"company={COMPANY}", f"actor=aiko.mori&company={COMPANY}"])
def test_the_review_has_one_notice_without_an_index(query):
    shown = signed_in(auditor()).get(f"/audit/?{query}").content.decode()
    assert shown.count("check --cloudformation") == 1
    assert "only the newest entries are searched" not in shown
