"""Reading trails: newest first as instants, page by page, bounded, with the idempotency records beside them."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.audit.queries import hand_off_entries, trail_page
from console.errors import Forbidden, NotFound
from tests.items import conversation, entry
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, member

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def put(store, number: int, *, trail: str = "c1", epoch: bool = False, **attributes) -> None:
    at = START + timedelta(seconds=number)
    stamp = str(clock.to_epoch(at)) if epoch else clock.to_iso(at)
    item = entry(at, "tag", trail, company=COMPANY, payload={"tag": f"t{number}"})
    store.put("AUDIT", item | {"ts_action_id": f"{stamp}#{number}"} | attributes)


def whole_trail(staff, trail: str = "c1") -> list[str]:
    sentences, cursor = [], ""
    while True:
        page = trail_page(trail, staff, cursor)
        sentences += [row.sentence for row in page.rows]
        cursor = page.next
        if not cursor:
            return sentences


def test_entries_of_all_spellings_come_newest_first_and_each_once_over_all_pages(store):
    for number in range(130):
        put(store, number, epoch=number % 3 == 0)
    assert whole_trail(as_staff(member())) == [f"Tagged t{number}" for number in reversed(range(130))]


def test_an_entry_without_a_time_holds_nothing_up(store):
    store.put("AUDIT", {"conversation_id": "c1", "ts_action_id": "zzz", "action_type": "odd", "company_id": COMPANY})
    for number in range(60):
        put(store, number, epoch=True)
    said = whole_trail(as_staff(member()))
    assert "Odd" in said
    assert len(said) == 61


def test_a_page_is_bounded_and_costs_two_queries_and_a_batch_and_one_query_for_names(store):
    for number in range(60):
        put(store, number, idempotency_key=f"evt:{number}", actor="amira.haddad", actor_role="agent")
    staff = as_staff(member())
    with store.calls() as seen:
        page = trail_page("c1", staff)
    assert len(page.rows) == 50
    assert sorted(call.operation for call in seen) == ["BatchGetItem", "Query", "Query", "Query"]
    assert page.rows[0].sentence == "Amira Haddad tagged t59"


def test_a_foreign_cursor_is_the_first_page(store):
    for number in range(60):
        put(store, number)
    amira, tom = as_staff(member()), as_staff(member("tom.becker"))
    cursor = trail_page("c1", amira).next
    assert trail_page("c1", tom, cursor).rows[0].sentence == "Tagged t59"
    assert trail_page("c1", amira, cursor).rows[0].sentence == "Tagged t9"


def test_expired_entries_and_records_are_gone(store):
    past = clock.to_epoch(clock.now()) - 5
    put(store, 1, expires_at=past)
    put(store, 2, idempotency_key="evt:2")
    store.put("IDEMPOTENCY", {"event_id": "evt:2", "status": "processed", "expires_at": past})
    page = trail_page("c1", as_staff(member()))
    assert [row.sentence for row in page.rows] == ["Tagged t2"]
    assert page.rows[0].record == "no idempotency record, or it has expired"


def test_a_missing_idempotency_table_is_one_line(bare_store):
    bare_store.create_tables("AUDIT", "STAFF", "STAFF_SESSIONS")
    put(bare_store, 1, idempotency_key="evt:1")
    page = trail_page("c1", as_staff(member()))
    assert [row.sentence for row in page.rows] == ["Tagged t1"]
    assert "no idempotency table" in page.notices[0]


# --- Scope --------------------------------------------------------------------------------------------------------


def test_the_company_of_the_entries_decides(store):
    put(store, 1, company_id=OTHER_COMPANY)
    with pytest.raises(NotFound):
        trail_page("c1", as_staff(member()))
    assert trail_page("c1", as_staff(member("tom.becker", scope=[OTHER_COMPANY]))).rows


def test_entries_of_two_companies_need_both(store):
    put(store, 1)
    put(store, 2, company_id=OTHER_COMPANY)
    with pytest.raises(NotFound):
        trail_page("c1", as_staff(member()))
    assert trail_page("c1", as_staff(member("tom.becker", scope=[COMPANY, OTHER_COMPANY]))).rows


def test_where_entries_name_no_company_the_conversation_does(store):
    item = conversation()
    store.put("CONVERSATIONS", item)
    store.put("AUDIT", {"conversation_id": item["conversation_id"], "ts_action_id": "2026-03-02T09:00:00Z#1"})
    assert trail_page(item["conversation_id"], as_staff(member())).rows
    with pytest.raises(NotFound):
        trail_page(item["conversation_id"], as_staff(member("tom.becker", scope=[OTHER_COMPANY])))


def test_a_trail_of_an_unknown_conversation_is_for_scope_all_only(store):
    store.put("AUDIT", {"conversation_id": "who", "ts_action_id": "2026-03-02T09:00:00Z#1"})
    with pytest.raises(NotFound):
        trail_page("who", as_staff(member()))
    assert trail_page("who", as_staff(auditor())).rows


@pytest.mark.parametrize(
    ("trail", "role", "scope", "refused"),
    [
        ("STAFF#tom.becker", "agent", [COMPANY], Forbidden),
        ("STAFF#amira.haddad", "agent", [COMPANY], None),
        ("SYSTEM", "agent", ["*"], Forbidden),
        ("STAFF#tom.becker", "auditor", [COMPANY], NotFound),
        ("SYSTEM", "auditor", [COMPANY], NotFound),
        ("SYSTEM", "auditor", ["*"], None),
        ("STAFF#tom.becker", "admin", ["*"], None),
        ("TENANT#t1", "agent", ["*"], Forbidden),
        ("TENANT#t1", "onboarding", ["t1"], None),
        ("TENANT#t1", "onboarding", ["t2"], NotFound),
        ("c1", "onboarding", ["*"], Forbidden),
        ("THREAD#x", "agent", [COMPANY], NotFound),
    ],
)
def test_each_kind_of_trail_has_its_readers(store, trail, role, scope, refused):
    staff = as_staff(member("amira.haddad", role, scope))
    if refused is None:
        trail_page(trail, staff)
        return
    with pytest.raises(refused):
        trail_page(trail, staff)


# --- Hand-offs -----------------------------------------------------------------------------------------------------


def test_hand_offs_are_found_among_everything_else(store):
    put(store, 1)
    put(store, 2, action_type="hand_off.take_over", actor="amira.haddad", actor_role="agent", action_id="a2",
        action_payload_redacted='{"reason": "angry"}')  # fmt: skip
    put(store, 3, action_type="hand_off.hand_back", result="pending")
    put(store, 4, action_type="hand_off.novelty")
    put(store, 5, action_type="hand_off.take", expires_at=5)
    entries, complete = hand_off_entries("c1")
    assert [(entry.action, entry.outcome, entry.is_staff) for entry in entries] == [
        ("hand_off.hand_back", "pending", False),
        ("hand_off.take_over", "success", True),
    ]
    assert (entries[1].actor, entries[1].reason, entries[1].action_id) == ("amira.haddad", "angry", "a2")
    assert complete


def test_admin_reads_everything(store):
    put(store, 1, company_id=OTHER_COMPANY)
    assert trail_page("c1", as_staff(admin())).rows
