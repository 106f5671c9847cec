"""Review partitions: what the write of an entry says, which of them a review reads, and the back-fill of older ones."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from console import caching
from console.audit import backfill
from console.audit.archive import walk
from console.audit.backfill import COMMAND, backfill_entries, section
from console.audit.review.plan import BackfillState, Review, is_backfill_done, known_actions, plan_for
from console.audit.review.reading import every_page, read_review
from console.errors import StoreUnavailable
from console.permissions import Role, Scope, Staff
from console.store import calls, presence
from console.trail.actions import DEFAULT_ACTIONS, GROUPS, MIDDLEWARE, Action
from console.trail.recording import Actor, TrailEntry, record, record_counted
from tests import items

AUDITOR = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
KEY = dict(zip(("pk", "sk"), BackfillState.KEY, strict=True))
OURS, THEIRS = "ci-cuc-001", "ci-nwe-002"


def entry(number: int, action: str, trail: str = "c1", **more) -> dict:
    """One entry, `number` minutes old; `gsi_review=...` is one of an earlier version."""
    return items.entry(NOW - timedelta(minutes=number), action, trail, tie=f"{number:05}", **more)


def old(number: int, action: str, **more) -> dict:
    return entry(number, action, actor="amira.haddad", gsi_review=..., **more)


def shown(review: Review, staff: Staff = AUDITOR) -> list[str]:
    return [str(each.ts_action_id).partition("#")[2] for page in every_page(review, staff, 1000) for each in page]


def run_backfill(**options) -> int:
    found = backfill_entries(options.get("units", 10_000), options.get("writes", 10_000), lambda *_: None)
    caching.invalidate_all()
    return found


def queries(review: Review, staff: Staff = AUDITOR) -> list[str]:
    """The indexes that a first page reads."""
    presence.forget()
    caching.invalidate_all()
    with calls.budget(8) as budget:
        read_review(review, staff)
    return [each.index for each in budget.calls if each.operation == "Query"]


def test_each_entry_of_the_console_is_written_with_its_review_partition(store):
    staff = Actor.of(AUDITOR)
    record(TrailEntry("c1", Action.TRANSCRIPT_OPENED, staff))
    record(TrailEntry("c1", Action.REPLY_SEND, staff))
    record_counted(TrailEntry("STAFF#aiko.mori", Action.ACCESS_DENIED, staff), "queue")
    found = {each["action_type"]: (each["gsi_review"], "is_backfilled" in each) for each in store.all("AUDIT")}
    assert found == {
        "transcript.opened": ("first", False),
        "reply.send": ("replies-and-notes", False),
        "staff.denied": ("signing-in", False),
    }


def test_the_first_page_reads_one_review_partition_and_each_type_of_the_middleware(store):
    store.put_all("AUDIT", [entry(n, action) for n, action in enumerate(known_actions())])
    assert queries(Review()) == ["action-type-index"] * len(DEFAULT_ACTIONS)
    found = shown(Review())
    run_backfill()
    assert sorted(queries(Review())) == ["action-type-index"] * len(MIDDLEWARE) + ["review-index"]
    assert shown(Review()) == found
    assert len(found) == len(DEFAULT_ACTIONS)


def test_a_review_partition_is_read_only_for_all_of_its_types(store):
    run_backfill()
    for group, indexes in {
        "Signing in": ["review-index"],
        "Accounts": ["action-type-index"] * len(GROUPS["Accounts"]),
    }.items():
        assert queries(Review(GROUPS[group])) == indexes
    assert queries(Review((Action.SIGN_IN,))) == ["action-type-index"]
    every = plan_for(Review(known_actions()), AUDITOR).partitions
    assert len(every) == len(set(every)) == 9 + len(MIDDLEWARE)


def test_older_entries_are_shown_before_during_and_after_their_backfill(store, monkeypatch):
    store.put_all("AUDIT", [old(n, Action.HAND_OFF_TAKE, trail=f"c{n % 9}") for n in range(40)])
    store.put_all("AUDIT", [entry(100 + n, Action.ROUTE) for n in range(5)])
    expected = [*(f"{n:05}" for n in range(40)), *(f"{n:05}" for n in range(100, 105))]
    assert shown(Review()) == expected
    monkeypatch.setattr(walk, "PAGE_ITEMS", 7)
    seen = []

    def look(*_: int) -> None:
        caching.invalidate_all()
        seen.append(shown(Review()))

    assert backfill_entries(10_000, 10_000, look) == 40
    assert seen == [expected] * 7
    assert is_backfill_done()
    assert sorted(set(queries(Review()))) == ["action-type-index", "review-index"]
    by_service = {each["ts_action_id"] for each in store.all("AUDIT") if "gsi_review" not in each}
    assert len(by_service) == 5


def test_backfill_continues_where_it_was_interrupted_and_changes_nothing_twice(store, monkeypatch):
    monkeypatch.setattr(walk, "PAGE_ITEMS", 10)
    store.put_all("AUDIT", [old(n, Action.HAND_OFF_TAKE, trail=f"+4477009{n:05}") for n in range(35)])
    rounds = []

    def stop(*_: int) -> None:
        rounds.append(1)
        if len(rounds) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill_entries(10_000, 10_000, stop)
    state = store.get("CONSOLE", **KEY)
    assert (state["written"], "done_at" in state) == (20, False)
    assert "4477009" not in str(state)
    assert not is_backfill_done()
    before = {each["ts_action_id"]: each for each in store.all("AUDIT") if "gsi_review" in each}
    with calls.budget(None) as budget:
        assert run_backfill() == 35
    made = [each.operation for each in budget.calls]
    assert (made.count("UpdateItem"), made.count("Scan")) == (15, 2)
    after = {each["ts_action_id"]: each for each in store.all("AUDIT")}
    assert {key: after[key] for key in before} == before
    assert {each["gsi_review"] for each in after.values()} == {"first"}


def test_second_backfill_finds_what_an_earlier_version_wrote_meanwhile(store, monkeypatch):
    monkeypatch.setattr(walk, "PAGE_ITEMS", 1)
    store.put("AUDIT", old(9, Action.HAND_OFF_TAKE, trail="c2"))
    assert run_backfill() == 1
    store.put("AUDIT", old(1, Action.HAND_OFF_TAKE))
    assert shown(Review()) == ["00009"]
    seen = []
    assert backfill_entries(10_000, 10_000, lambda *_: seen.append(store.get("CONSOLE", **KEY))) == 1
    caching.invalidate_all()
    assert shown(Review()) == ["00001", "00009"]
    # While it runs, reviews do without review partitions.
    assert ["done_at" in each for each in seen] == [False] * (len(seen) - 1) + [True]
    assert len(seen) > 1


def test_an_entry_that_was_removed_meanwhile_is_not_made_again(store, monkeypatch):
    stored = old(1, Action.HAND_OFF_TAKE)
    store.put("AUDIT", stored)
    found = backfill._write_missing
    key = {name: stored[name] for name in ("conversation_id", "ts_action_id")}
    monkeypatch.setattr(backfill, "_write_missing", lambda *args: (store.delete("AUDIT", **key), found(*args))[1])
    assert run_backfill() == 0
    assert store.all("AUDIT") == []


def test_a_reader_of_some_companies_gets_full_pages_from_a_review_partition(store):
    limited = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(companies=frozenset({OURS})))
    opened = [
        entry(n, Action.TRANSCRIPT_OPENED, f"c{n}", actor="tom.becker", company=OURS if n % 8 == 0 else THEIRS)
        for n in range(480)
    ]
    store.put_all("AUDIT", opened)
    run_backfill()
    page = read_review(Review(), limited)
    assert len(page.entries) == 50
    assert {each.company_id for each in page.entries} == {OURS}


def test_a_review_without_the_console_s_table_reads_type_by_type(store):
    run_backfill()
    assert is_backfill_done()
    caching.invalidate_all()
    store.drop_table("CONSOLE")
    assert not is_backfill_done()
    assert read_review(Review(), AUDITOR).entries == ()
    store.create_tables("CONSOLE")


def test_the_system_page_says_whether_entries_are_prepared(store):
    before = section(NOW)
    assert (before.state, before.hints) == ("slower", (COMMAND,))
    run_backfill()
    assert section(NOW).state == "ready"


def test_the_command_reports_and_refuses(store):
    with pytest.raises(CommandError, match="above 0"):
        call_command("audit", "backfill", "--writes", "0")
    store.put_all("AUDIT", [old(n, Action.HAND_OFF_TAKE) for n in range(3)])
    call_command("audit", "backfill", "--writes", "1000")
    assert store.get("CONSOLE", **KEY)["written"] == 3
    out = io.StringIO()
    call_command("audit", "backfill", stdout=out)
    assert out.getvalue().startswith("Read 3 entries; 0 had to be prepared.")


def test_a_backfill_that_is_stopped_says_how_to_go_on(store, monkeypatch):
    store.put_all("AUDIT", [old(n, Action.HAND_OFF_TAKE) for n in range(3)])

    def stop(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(backfill, "_write_partition", stop)
    with pytest.raises(CommandError, match="Run it again to go on from there"):
        call_command("audit", "backfill")
    monkeypatch.undo()
    call_command("audit", "backfill")
    assert store.get("CONSOLE", **KEY)["written"] == 3


def test_a_fault_leaves_the_backfill_unfinished(store, monkeypatch):
    store.put_all("AUDIT", [old(n, Action.HAND_OFF_TAKE) for n in range(3)])

    def fail(*_: object) -> int:
        raise StoreUnavailable

    monkeypatch.setattr(backfill, "_write_partition", fail)
    with pytest.raises(StoreUnavailable):
        run_backfill()
    monkeypatch.undo()
    caching.invalidate_all()
    assert not is_backfill_done()
    assert len(shown(Review())) == 3
