"""Facts follow the item: whoever comes in between, whatever is lost, and wherever it dies."""

from datetime import timedelta

import pytest

from console.errors import StoreUnavailable, Throttled
from conversations.handoff import perform
from conversations.indexer.handling import handle
from conversations.insight import writing
from conversations.insight.facts import FactKind
from conversations.insight.walking import walk_all
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.model.conversations.insight.writers import entry_of
from tests.store.conversations.insight.core.kit import (
    KEY,
    NOW,
    WHEN,
    begin_anew,
    facts,
    interrupted,
    links,
    put,
    roll_until_quiet,
)
from tests.support.conversations.handoff.kit import ANA, WAITING, form
from tests.support.conversations.handoff.kit import conversation as platforms
from tests.support.conversations.indexer.kit import Stream
from tests.support.conversations.insight.kit import rebuild
from tests.support.tenants.kit import kill_at_each_call
from tests.unit.conversations.insight.kit import BEGUN, HOUR, MINUTE, item, said

pytestmark = pytest.mark.usefixtures("time", "key_is_there")

FIRST, SECOND = ("ci-aaa-001#2026-03-02", "000"), ("ci-aaa-001#2026-03-12", "001")
WEEK = timedelta(days=7)
ASKED, ANSWERED = said("user", MINUTE), said("assistant", 2 * MINUTE)
CAME_BACK, BETWEEN = said("user", 10 * timedelta(days=1)), said("user", 5 * timedelta(days=1))


def test_a_fact_for_each_episode_and_the_first_names_the_others(store):
    writing.note_change(put(store, ASKED, ANSWERED, CAME_BACK), None)
    found = facts(store)
    assert set(found) == {FIRST, SECOND}
    assert [day for day, _ in found[FIRST]["later"]] == ["2026-03-12"]
    assert (found[FIRST]["ai"], found[SECOND]["customer"]) == (1, 1)


@pytest.mark.parametrize("company", ["c" * 900, "c" * 2_000, "å" * 400])
def test_a_company_of_whatever_length_keeps_nothing_from_being_counted(store, time, company):
    writing.note_change(put(store, ASKED, company_id=company), None)
    roll_until_quiet(time)
    (where,) = facts(store)
    assert where[0].startswith("c" * 900 if len(company) == 900 else "#2026")


def test_what_facts_are_not_made_of_costs_nothing(store):
    before = put(store, ASKED)
    writing.note_change(before, None)
    after = put(store, ASKED, updated_at="2026-03-03T00:00:00Z", gsi_hand_off_queue="waiting#x")
    with store.calls() as calls:
        assert not writing.note_change(after, before)
    assert calls == []


def test_an_old_record_tells_what_the_item_is_now(store):
    old = put(store, ASKED)
    put(store, ASKED, ANSWERED)
    writing.note_change(old, None)
    assert facts(store)[FIRST]["ai"] == 1


@pytest.mark.parametrize("nth", range(1, 8))
@pytest.mark.parametrize("when", WHEN)
def test_whoever_read_the_item_later_has_the_last_word(store, when, nth):
    """Between any two calls of one writer the item changes, and another writes what it then is."""
    old = put(store, ASKED)
    writing.note_change(old, None)
    new = put(store, ASKED, ANSWERED)

    def meanwhile() -> None:
        writing.note_change(put(store, ASKED, ANSWERED, said("ana", HOUR)), new)

    interrupted(when, nth, lambda: writing.note_change(new, old), meanwhile)
    assert facts(store)[FIRST]["human"] == 1


@pytest.mark.parametrize("nth", range(1, 8))
@pytest.mark.parametrize("when", WHEN)
def test_who_was_held_up_does_not_bring_back_what_was_for_a_moment(store, when, nth):
    """A rebuild reads the item as it is for a moment; when the indexer comes by, it is as before, and no change."""
    old = put(store, ASKED)
    writing.note_change(old, None)
    failed = put(store, ASKED, conversation_status="failed_unknown")

    def meanwhile() -> None:
        now = put(store, ASKED)
        begin_anew()
        writing.note_change(failed, old)
        writing.note_change(now, failed)

    interrupted(when, nth, lambda: rebuild(failed), meanwhile)
    assert "failed" not in facts(store)[FIRST]


@pytest.mark.parametrize("nth", range(1, 12))
@pytest.mark.parametrize("when", WHEN)
def test_episodes_that_a_late_message_merged_stay_merged(store, when, nth):
    old = put(store, ASKED)
    writing.note_change(old, None)
    apart = put(store, ASKED, CAME_BACK)

    def meanwhile() -> None:
        writing.note_change(put(store, ASKED, BETWEEN, CAME_BACK), apart)

    interrupted(when, nth, lambda: writing.note_change(apart, old), meanwhile)
    assert set(facts(store)) == {FIRST}
    assert facts(store)[FIRST]["customer"] == 3
    assert "later" not in facts(store)[FIRST]


def test_who_died_while_episodes_merged_left_nothing_behind(store):
    def set_up() -> None:
        begin_anew()
        writing.note_change(put(store, ASKED), None)
        put(store, ASKED, CAME_BACK)

    def check(_) -> None:
        begin_anew()
        rebuild(put(store, ASKED, BETWEEN, CAME_BACK))
        assert set(facts(store)) == {FIRST}

    apart = item(ASKED, CAME_BACK)
    assert kill_at_each_call(store, set_up, lambda: rebuild(apart), check) > 5


@pytest.mark.parametrize("change", [{"company_id": "ci-bbb-002"}, {"created_at": "2026-03-01T09:00:00Z"}])
@pytest.mark.parametrize("nth", range(1, 10))
def test_facts_move_with_what_they_are_named_for(store, change, nth):
    old = put(store, ASKED, CAME_BACK)
    writing.note_change(old, None)
    move = lambda: writing.note_change(put(store, ASKED, CAME_BACK, **change), old)  # noqa: E731
    interrupted(faults.before, nth, lambda: rebuild(old), move)
    company, day = change.get("company_id", "ci-aaa-001"), "2026-03-01" if "created_at" in change else "2026-03-02"
    # A day more of silence makes another episode of none.
    assert {where for where, _ in facts(store)} == {f"{company}#{day}", f"{company}#2026-03-12"}
    assert sum(each.get("customer", 0) for each in facts(store).values()) == 2


@pytest.mark.parametrize("nth", range(1, 10))
def test_an_item_that_goes_and_comes_between_companies_is_counted_where_it_is(store, nth):
    here, there = put(store, ASKED), put(store, ASKED, company_id="ci-bbb-002")
    here = put(store, ASKED)
    writing.note_change(here, None)

    def meanwhile() -> None:
        put(store, ASKED)
        writing.note_change(here, there)

    put(store, ASKED, company_id="ci-bbb-002")
    interrupted(faults.before, nth, lambda: writing.note_change(there, here), meanwhile)
    assert set(facts(store)) == {FIRST}


@pytest.mark.parametrize("retried", [True, False])
@pytest.mark.parametrize("nth", range(1, 8))
def test_answers_that_are_lost_change_nothing(store, retried, nth):
    stored = put(store, ASKED, CAME_BACK)
    with faults.fail_after("", retried=retried, nth=nth) as fault:
        try:
            writing.note_change(stored, None)
        except StoreUnavailable:
            assert fault.struck
            writing.note_change(stored, None)
    assert set(facts(store)) == {FIRST, SECOND}
    assert len(links(store)) == 1


def test_killed_at_each_call_then_begun_again(store):
    stored = item(ASKED, CAME_BACK, ttl=1_800_000_000)

    def set_up() -> None:
        begin_anew()
        put(store, ASKED, CAME_BACK, ttl=1_800_000_000)

    def check(is_done: bool) -> None:
        if not is_done:
            begin_anew()
            writing.note_change(stored, None)
        assert set(facts(store)) == {FIRST, SECOND}
        assert len(links(store)) == 1
        marked = {each["sk"] for each in store.all("INSIGHT") if each["pk"] == "CHANGED"}
        assert marked == {"conversations#ci-aaa-001#2026-03-02", "conversations#ci-aaa-001#2026-03-12"}

    assert kill_at_each_call(store, set_up, lambda: writing.note_change(stored, None), check) > 5


def test_who_is_overtaken_all_the_time_says_so(store):
    old = put(store, ASKED)
    writing.note_change(old, None)
    new = put(store, ASKED, ANSWERED)

    def overtake() -> None:
        revision = next(each for each in store.all("INSIGHT") if "fact" in each)
        store.put("INSIGHT", revision | {"revision": revision["revision"] + 1})

    with (
        faults.before("PutItem", overtake, table_key="INSIGHT", where=_writes_fact, times=faults.ALWAYS),
        pytest.raises(Throttled),
    ):
        writing.note_change(new, old)


def _writes_fact(request) -> bool:
    return "fact" in request["Item"]


def test_facts_outlive_a_conversation_and_old_records_of_it_change_nothing(store):
    first = put(store, ASKED)
    writing.note_change(first, None)
    last = put(store, ASKED, ANSWERED)
    writing.note_change(last, first)
    store.delete("CONVERSATIONS", **KEY)
    handle(StreamChange(last, None, NOW))
    before = facts(store)
    assert before[FIRST]["ai"] == 1
    writing.note_change(last, first)
    rebuild(first)
    assert facts(store) == before
    assert links(store) == []


def test_a_request_that_was_over_before_the_indexer_came_is_counted(store):
    quiet = put(store, ASKED)
    asks = put(store, ASKED, hand_off_to_human=True, hand_off_to_human_reason="a refund")
    over = put(store, ASKED)
    store.put("AUDIT", entry_of("c1", BEGUN + HOUR, "hand_off.request", "platform", reason="a refund"))
    writing.note_change(quiet, None)
    assert "asked" not in facts(store)[FIRST]
    writing.note_change(asks, quiet)
    writing.note_change(over, asks)
    assert (facts(store)[FIRST]["asked"], facts(store)[FIRST]["reason"]) == (1, "payment")
    # Nothing of the item tells of it any more: a rebuild reads each trail.
    for each in store.all("INSIGHT"):
        store.delete("INSIGHT", pk=each["pk"], sk=each["sk"])
    list(walk_all(FactKind.CONVERSATIONS))
    assert facts(store)[FIRST]["asked"] == 1


def test_a_request_that_was_seen_late_is_of_when_the_flag_rose(store):
    """Another record comes before that of the flag, when the platform has written to the item again."""
    quiet = put(store, ASKED)
    asks = put(store, ASKED, hand_off_to_human=True, updated_at="2026-03-02T10:00:00Z")
    later = put(store, ASKED, hand_off_to_human=True, updated_at="2026-03-12T10:00:00Z", failure_reason="x")
    handle(StreamChange(asks, later, NOW))
    handle(StreamChange(quiet, asks, NOW))
    (entry,) = store.all("AUDIT")
    assert entry["ts_action_id"] > entry["edge_at"]
    assert facts(store)[FIRST]["people"] == "2026-03-02T10:00:00Z"


def test_a_missed_target_is_noted_though_the_item_stays_as_it_is(store):
    stored = put(store, ASKED, hand_off_to_human=True)
    store.put("AUDIT", entry_of("c1", BEGUN + HOUR, "hand_off.request", "platform"))
    assert writing.note_seen(stored)
    store.put("AUDIT", entry_of("c1", BEGUN + 2 * HOUR, "target.missed", "timer"))
    with store.calls() as calls:
        assert not writing.note_seen(stored)
    assert calls == []
    with faults.fail_before("PutItem", table_key="INSIGHT", where=_writes_fact), pytest.raises(StoreUnavailable):
        writing.note_seen(stored, again=True)
    # Whoever comes by then does what could not be done.
    assert writing.note_seen(stored)
    assert facts(store)[FIRST]["missed"] == 1


def test_rebuilding_leaves_out_what_cannot_be_counted_and_counts_the_rest(store, monkeypatch):
    put(store, ASKED)
    store.put("CONVERSATIONS", {**platforms(), "conversation_id": "c2", "company_id": "x"})
    real = writing.EpisodeSource.facts

    def failing(self, known):
        if self.stored["conversation_id"]["S"] == "c2":
            raise ValueError("something personal")
        return real(self, known)

    monkeypatch.setattr(writing.EpisodeSource, "facts", failing)
    (done,) = walk_all(FactKind.CONVERSATIONS)
    assert (done["read"], done["counted"], done["failed"]) == (2, 1, 1)
    assert set(facts(store)) == {FIRST}


def test_the_indexer_and_the_consoles_own_actions_are_counted(store):
    stream = Stream()
    store.put("CONVERSATIONS", platforms())
    store.update("CONVERSATIONS", {name: platforms()[name] for name in KEY}, **WAITING)
    stream.handle_all()
    perform(form("take"), ANA)
    perform(form("hand_back"), ANA)
    stream.handle_all()
    (only,) = facts(store).values()
    assert (only["asked"], len(only["waits"]), "open" in only) == (1, 1, False)
    assert list(only["agents"].values()) == [[1, 0, 1]]


@pytest.mark.parametrize("why", ["absent", "forbidden"])
def test_where_facts_are_not_kept_the_indexer_works_as_before(bare_store, why, caplog):
    bare_store.create_tables(*({"CONVERSATIONS", "AUDIT", "IDEMPOTENCY", "CONSOLE", "CONVERSATION_STATE"}))
    bare_store.put("CONVERSATIONS", platforms(**WAITING))
    stored = bare_store.raw("CONVERSATIONS", **{name: platforms()[name] for name in KEY})
    change = StreamChange(None, stored, NOW)
    if why == "absent":
        done = handle(change)
    else:
        with faults.refuse("DescribeTable", code="AccessDeniedException", table_key="INSIGHT"):
            done = handle(change)
        assert "No facts are kept" in caplog.text
    assert done["requested"] == 1
    assert not writing.note_seen(stored)
    handle(StreamChange(stored, None, NOW))
