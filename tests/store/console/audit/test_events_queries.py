"""Reading idempotency records: by key and by conversation, their entries in the trail, drift, scope and failures."""

from datetime import timedelta

import pytest

from console import clock
from console.audit import queries as trails
from console.audit import scoping
from console.audit.events import queries
from console.audit.events.queries import check_conversation, events_of, find_event, read_event
from console.audit.events.records import UnrecordedKey
from console.clock import to_epoch, to_iso
from console.errors import Forbidden, NotFound, StoreUnavailable, TableMissing
from console.permissions import Role, Scope, Staff
from console.store import calls
from console.trail.actions import Action
from tests import faults, items
from tests.people import member

NOW = clock.now().replace(microsecond=0)
OURS, THEIRS = "ci-aaa-001", "ci-bbb-002"
CONVERSATION = "ci-aaa-001#pi-aaa-001#req1#447700900123"
KEY = f"evt:rp:{CONVERSATION}:m1"
AUDITOR = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))
LIMITED = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(companies=frozenset({OURS})))


def event(key: str = KEY, **more):
    return items.event(NOW, **{"event_id": key, "conversation_id": CONVERSATION} | more)


def entry(at, key: str = KEY, **more):
    more = {"expires_at": to_epoch(NOW + timedelta(days=60))} | more
    return items.entry(at, trail=CONVERSATION, tie="e1", payload={"team": "Returns"}, idempotency_key=key, **more)


# --- One record -----------------------------------------------------------------------------------------------------


def test_a_record_is_found_by_its_key(store):
    store.put_all("IDEMPOTENCY", [event(), event("evt:rp:c2:m2", conversation_id="c2")])
    assert read_event("evt:rp:c2:m2", AUDITOR).record.words == "Message m2 of conversation c2 came in"


@pytest.mark.parametrize("key", ["evt:rp:nobody:m1", "", "x" * 2049])
def test_a_key_without_a_record_is_not_there(store, key):
    store.put("IDEMPOTENCY", event())
    with pytest.raises(NotFound):
        find_event(key, AUDITOR)


def test_an_expired_record_is_gone(store):
    store.put("IDEMPOTENCY", event(expires_at=to_epoch(NOW) - 1))
    with pytest.raises(NotFound):
        find_event(KEY, AUDITOR)
    assert events_of(CONVERSATION, AUDITOR).rows == ()


def test_the_record_is_read_as_it_is_now(store):
    store.put("IDEMPOTENCY", event())
    with store.calls() as seen:
        find_event(KEY, AUDITOR)
    assert [(call.operation, call.request["ConsistentRead"]) for call in seen] == [("GetItem", True)]


def test_a_key_without_a_record_tells_what_it_is_about_and_which_entries_bear_it(store):
    at = NOW - timedelta(days=40)
    for number, spelled in enumerate((to_iso(at), str(to_epoch(at)))):
        store.put("AUDIT", entry(at, ts_action_id=f"{spelled}#e{number}"))
    store.put("AUDIT", entry(at, "evt:rp:other", ts_action_id=f"{to_iso(at)}#x"))
    found = read_event(KEY, AUDITOR)
    assert found.words == "Message m1 of conversation ci-aaa-001#pi-aaa-001#req1#***-***-0123 came in"
    assert sentences(found) == ["Routed to Returns"] * 2
    assert [(part.label, part.value) for part in found.parts][1] == ("Message", "m1")


@pytest.mark.parametrize("key", ["", "nobody", "k" * 2049, "evt:rp:", "evt:rp:STAFF#tom.becker:m1", "evt:rp:SYSTEM:m"])
def test_a_key_that_names_no_conversation_and_has_no_record_is_nothing(store, key):
    with pytest.raises(NotFound):
        read_event(key, AUDITOR)


# --- Scope ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def owners(monkeypatch):
    known = {CONVERSATION: frozenset({OURS}), "c2": frozenset({THEIRS}), "c3": frozenset({OURS, THEIRS})}
    asked = []
    monkeypatch.setattr(scoping, "companies_of", lambda trail: asked.append(trail) or known.get(trail, frozenset()))
    return asked


def test_a_record_belongs_to_the_companies_of_its_conversation(store, owners):
    store.put_all("IDEMPOTENCY", [event(), *(event(f"evt:rp:c{n}:m", conversation_id=f"c{n}") for n in (2, 3, 4))])
    assert find_event(KEY, LIMITED)
    check_conversation(CONVERSATION, LIMITED)
    for n in (2, 3, 4):
        with pytest.raises(NotFound):
            find_event(f"evt:rp:c{n}:m", LIMITED)
        with pytest.raises(NotFound):
            events_of(f"c{n}", LIMITED)
        assert find_event(f"evt:rp:c{n}:m", AUDITOR)


def test_a_key_without_a_record_belongs_to_the_companies_of_its_conversation(store, owners):
    assert read_event(KEY, LIMITED).trail == CONVERSATION
    for n in (2, 3, 4):
        with pytest.raises(NotFound):
            read_event(f"evt:rp:c{n}:m", LIMITED)
        assert read_event(f"evt:rp:c{n}:m", AUDITOR)


def test_a_record_without_a_conversation_is_for_scope_all_only(store, owners):
    store.put("IDEMPOTENCY", event(conversation_id=...))
    assert find_event(KEY, AUDITOR)
    with pytest.raises(NotFound):
        find_event(KEY, LIMITED)


def test_a_record_of_another_conversation_than_its_key_s_is_as_none_for_who_sees_only_the_key_s(store, owners):
    store.put("IDEMPOTENCY", event(conversation_id="c2"))
    found = read_event(KEY, LIMITED)
    assert isinstance(found, UnrecordedKey)
    assert found.trail == CONVERSATION
    with pytest.raises(NotFound):
        find_event(KEY, LIMITED)


def test_what_is_not_there_costs_what_is_out_of_scope_costs(store, owners):
    store.put_all("IDEMPOTENCY", [event("evt:rp:c2:m", conversation_id="c2"), event("odd", conversation_id="c2")])
    costs = []
    for key in ("evt:rp:c2:m", "evt:rp:c9:m", "odd", "nothing"):
        owners.clear()
        with store.calls() as seen, pytest.raises(NotFound):
            read_event(key, LIMITED)
        costs.append(([call.operation for call in seen], len(owners)))
    assert costs == [(["GetItem"], 1)] * 4


def test_trails_of_staff_tenants_and_the_system_have_no_records(store):
    for trail in ("STAFF#aiko.mori", "TENANT#t1", "THREAD#x", "SYSTEM", "", "c" * 2049):
        with pytest.raises(NotFound):
            events_of(trail, AUDITOR)


def test_who_may_not_review_is_refused_before_anything_is_read(store):
    agent = Staff("amira.haddad", "Amira", Role.AGENT, Scope(everything=True))
    with calls.budget(8) as budget:
        for refused in (lambda: find_event(KEY, agent), lambda: events_of(CONVERSATION, agent)):
            with pytest.raises(Forbidden):
                refused()
    assert budget.calls == []


# --- The records of a conversation ----------------------------------------------------------------------------------


def test_records_of_a_conversation_come_newest_first_and_page_by_page(store):
    store.put_all(
        "IDEMPOTENCY",
        [
            event(
                f"evt:rp:{CONVERSATION}:m{n:03}", created_at=to_iso(NOW - timedelta(minutes=n)), payload_hash="ab" * 32
            )
            for n in range(120)
        ]
        + [event("evt:rp:c2:m1", conversation_id="c2")],
    )
    events_of(CONVERSATION, AUDITOR)
    with calls.budget(8) as budget:
        first = events_of(CONVERSATION, AUDITOR)
    assert [(each.operation, each.index) for each in budget.calls] == [("Query", "conversation-id-index")]
    second = events_of(CONVERSATION, AUDITOR, first.next)
    third = events_of(CONVERSATION, AUDITOR, second.next)
    pages = (first, second, third)
    assert [len(page.rows) for page in pages] == [50, 50, 20]
    assert [row.brief for page in pages for row in page.rows] == [f"Message m{n:03} came in" for n in range(120)]
    assert (third.next, events_of(CONVERSATION, AUDITOR, second.back).rows) == ("", first.rows)
    assert first.conversation == "Conversation ci-aaa-001#pi-aaa-001#req1#***-***-0123"


def test_records_of_older_writers_are_not_flagged_for_the_other_name_of_their_digest(store):
    store.put("IDEMPOTENCY", event(payload_sha256=..., payload_hash="ab" * 32))
    assert [row.flaws for row in events_of(CONVERSATION, AUDITOR).rows] == [()]


def test_a_cursor_of_another_conversation_or_person_begins_anew(store):
    for conversation in (CONVERSATION, "c2"):
        store.put_all(
            "IDEMPOTENCY", [event(f"evt:rp:{conversation}:{n}", conversation_id=conversation) for n in range(60)]
        )
    cursor = events_of(CONVERSATION, AUDITOR).next
    other = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
    assert len(events_of(CONVERSATION, AUDITOR, cursor).rows) == 10
    assert len(events_of(CONVERSATION, other, cursor).rows) == 50
    assert len(events_of("c2", AUDITOR, cursor).rows) == 50
    assert len(events_of(CONVERSATION, AUDITOR, "junk").rows) == 50


def test_without_the_index_it_says_so_and_records_are_found_by_key_only(store, monkeypatch):
    store.put("IDEMPOTENCY", event())
    assert queries.has_index()
    monkeypatch.setattr(trails, "index_ready", lambda table, name: False)
    page = events_of(CONVERSATION, AUDITOR)
    assert (page.rows, page.notice, queries.has_index()) == ((), queries.NO_INDEX, False)
    assert read_event(KEY, AUDITOR).record.words


# --- The entries beside it ------------------------------------------------------------------------------------------


def sentences(found):
    return [row.sentence for row in found.entries.rows]


def test_the_console_s_record_names_its_entry(store):
    member()
    key, sort_key = f"act:hand_off:{CONVERSATION}:a1", f"{to_iso(NOW)}#a1"
    ours = {"actor": "amira.haddad", "actor_role": "agent", "action_type": Action.HAND_OFF_TAKE.value}
    store.put("AUDIT", entry(NOW, key, ts_action_id=sort_key, company_id=OURS, **ours))
    store.put("IDEMPOTENCY", event(key, mode="console", ts_action_id=sort_key))
    with store.calls() as seen:
        found = read_event(key, AUDITOR)
    assert (sentences(found), found.note) == (["Amira Haddad took it from the queue"], "")
    # The last one: the names of the recipient.
    assert [call.operation for call in seen] == ["GetItem", "GetItem", "BatchGetItem", "Query"]
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=sort_key)
    assert read_event(key, AUDITOR).note == queries.ENTRY_GONE


@pytest.mark.parametrize("spelled", [to_iso, lambda at: str(to_epoch(at)), lambda at: str(to_epoch(at) * 1000)])
def test_the_middleware_s_entry_is_found_in_the_trail_by_the_key(store, spelled):
    at = NOW - timedelta(hours=3)
    store.put_all(
        "AUDIT",
        [entry(at, "evt:rp:other", ts_action_id=f"{spelled(at)}#{n}", action_type="tag") for n in range(30)],
    )
    store.put("AUDIT", entry(at, ts_action_id=f"{spelled(at + timedelta(seconds=2))}#e1"))
    store.put("IDEMPOTENCY", event())
    with calls.budget(8) as budget:
        found = read_event(KEY, AUDITOR)
    assert (sentences(found), found.note) == (["Routed to Returns"], "")
    # The last one: the names of the recipient.
    assert [each.operation for each in budget.calls] == ["GetItem", "Query", "Query", "Query"]


def test_the_search_begins_when_the_event_came_in_however_long_the_trail_is(store, monkeypatch):
    monkeypatch.setattr(queries, "PER_READ", 10)
    at = NOW - timedelta(hours=3)
    long_before = [entry(at - timedelta(hours=1, minutes=n), "evt:rp:older") for n in range(60)]
    long_after = [entry(at + timedelta(minutes=n + 1), "evt:rp:newer") for n in range(60)]
    store.put_all("AUDIT", [*long_before, entry(at + timedelta(seconds=1)), *long_after])
    store.put("IDEMPOTENCY", event())
    assert sentences(read_event(KEY, AUDITOR)) == ["Routed to Returns"]


def test_a_search_that_ends_before_the_trail_says_how_far_it_looked(store, monkeypatch):
    monkeypatch.setattr(queries, "PER_READ", 5)
    store.put_all("AUDIT", [entry(NOW + timedelta(minutes=n), "evt:rp:other") for n in range(40)])
    store.put("IDEMPOTENCY", event())
    with calls.budget(8) as budget:
        found = read_event(KEY, AUDITOR)
    assert found.note == "None of the 15 trail entries searched has this key."
    # Three rounds, of which the range of epochs ended with the first, and the names of the recipient.
    assert [each.operation for each in budget.calls] == ["GetItem"] + ["Query"] * 5
    store.empty()
    store.put("IDEMPOTENCY", event())
    assert read_event(KEY, AUDITOR).note == queries.NO_ENTRY


def test_entries_that_are_expired_or_of_another_company_are_left_out(store, owners):
    at = NOW - timedelta(hours=3)
    store.put("AUDIT", entry(at, ts_action_id=f"{to_iso(at)}#1", expires_at=to_epoch(NOW) - 1))
    store.put("AUDIT", entry(at, ts_action_id=f"{to_iso(at)}#2", company_id=THEIRS))
    store.put("IDEMPOTENCY", event())
    assert (read_event(KEY, LIMITED).entries.rows, read_event(KEY, LIMITED).note) == ((), queries.NO_ENTRY)
    assert len(read_event(KEY, AUDITOR).entries.rows) == 1
    store.put("AUDIT", entry(at, ts_action_id=f"{to_iso(at)}#3", company_id=OURS))
    assert len(read_event(KEY, LIMITED).entries.rows) == 1


def test_a_record_that_names_no_conversation_has_no_trail(store):
    store.put("IDEMPOTENCY", event(conversation_id=...))
    assert "names no conversation" in read_event(KEY, AUDITOR).note


def test_a_record_without_any_time_is_searched_from_the_beginning(store):
    store.put("AUDIT", entry(NOW - timedelta(days=20)))
    store.put("IDEMPOTENCY", event(created_at=..., received_at="?"))
    assert sentences(read_event(KEY, AUDITOR)) == ["Routed to Returns"]


# --- What fails -----------------------------------------------------------------------------------------------------


def test_a_failing_store_is_never_an_absence(store):
    store.put("IDEMPOTENCY", event())
    events_of(CONVERSATION, AUDITOR)
    with faults.refuse(code="InternalServerError", status=500, times=99):
        with pytest.raises(StoreUnavailable):
            find_event(KEY, AUDITOR)
        with pytest.raises(StoreUnavailable):
            events_of(CONVERSATION, AUDITOR)


def test_a_record_stands_without_a_trail_that_fails(store):
    store.put("IDEMPOTENCY", event())
    with faults.refuse("Query", table_key="AUDIT", code="InternalServerError", status=500, times=99):
        assert read_event(KEY, AUDITOR).note == queries.TRAIL_UNREADABLE


def test_a_missing_table_says_so(bare_store):
    with pytest.raises(TableMissing):
        find_event(KEY, AUDITOR)
    with pytest.raises(TableMissing):
        events_of(CONVERSATION, AUDITOR)
    assert queries.has_index()
    bare_store.create_tables("IDEMPOTENCY")
    bare_store.put("IDEMPOTENCY", event())
    assert read_event(KEY, AUDITOR).note == queries.NO_TRAIL
