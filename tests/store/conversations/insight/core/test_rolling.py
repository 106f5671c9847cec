"""Days are summed up, by several at once, late, and wherever they die: the sums are those of the facts as they are."""

from collections import Counter
from datetime import date, timedelta
from functools import partial

import pytest

from console.errors import StoreUnavailable, Throttled
from conversations.insight import facts as stored_facts
from conversations.insight.facts import InsightFact, StoredFact, changed_days, mark_changed, remove_fact, write_fact
from conversations.insight.measures import Topic
from conversations.insight.rolling import roll, roll_changed
from conversations.insight.sums import Slice, read_sums, write_sums
from conversations.work.parts import insight_worker
from tests import faults
from tests.store.conversations.insight.core.kit import DAY, NOW, WHEN, begin_anew, roll_until_quiet, sums
from tests.support.tenants.kit import MOST_CALLS, kill_at_each_call

pytestmark = pytest.mark.usefixtures("time", "key_is_there")

ONE = {"project": "p1", "channel": "email", "customer": 1, "ai": 1, "last": "ai", "started": "2026-03-02T09:00:00Z"}
OTHER = ONE | {"project": "p2", "channel": "sms"}


def write(number: int, data=ONE) -> None:
    assert write_fact(InsightFact(DAY, f"c{number}#000", data), StoredFact())


def episodes(where: Slice = Slice()) -> int:  # noqa: B008
    found = read_sums(DAY.kind, DAY.owner, Topic.OUTCOMES, where, date(2026, 3, 1), date(2026, 3, 31))
    return sum(each.counts[("episodes",)] for each in found)


def test_a_day_is_summed_up_by_slice(store, time):
    write(1)
    write(2, OTHER)
    rolled = roll(DAY)
    assert rolled.facts == 2
    assert [episodes(where) for where in (Slice(), Slice("p1"), Slice(None, "sms"), Slice("p1", "sms"))] == [2, 1, 1, 0]
    (found,) = read_sums(DAY.kind, DAY.owner, Topic.OUTCOMES, Slice("p1"), date(2026, 3, 2), date(2026, 3, 2))
    assert (found.day, found.at) == (date(2026, 3, 2), NOW)


def test_what_no_fact_adds_to_any_more_is_nothing(store):
    write(1)
    write(2, OTHER)
    roll(DAY)
    assert remove_fact(DAY, "c2#000", StoredFact(OTHER, 1))
    roll(DAY)
    assert (episodes(), episodes(Slice("p2"))) == (1, 0)


def test_who_began_earlier_does_not_replace_what_a_later_one_wrote(store):
    write(1)
    assert write_sums(DAY, Topic.OUTCOMES, Slice(), Counter({("episodes",): 5}), 7, NOW)
    assert not write_sums(DAY, Topic.OUTCOMES, Slice(), Counter({("episodes",): 4}), 6, NOW)
    # The client sends again what had no answer.
    assert write_sums(DAY, Topic.OUTCOMES, Slice(), Counter({("episodes",): 5}), 7, NOW)
    assert episodes() == 5


@pytest.mark.parametrize("nth", range(1, 5))
@pytest.mark.parametrize("when", WHEN)
def test_rows_of_who_is_overtaken_do_not_stay(store, when, nth):
    """A fact vanishes, and another comes to sum up, while one who has read the fact has not written yet."""
    write(1)
    write(2, OTHER)

    def meanwhile() -> None:
        assert remove_fact(DAY, "c2#000", StoredFact(OTHER, 1))
        roll(DAY)

    # Within the pool nobody may wait for others of the pool: the writes there are the last calls.
    with when("", meanwhile, nth=nth, where=lambda request: "counts" not in request.get("Item", {})) as fault:
        roll(DAY)
    if not fault.struck:
        meanwhile()
    assert (episodes(), episodes(Slice("p2"))) == (1, 0)


@pytest.mark.slow
def test_killed_at_each_call_then_summed_up_by_another(store, time):
    def set_up() -> None:
        begin_anew()
        time.now = NOW
        write(1)
        roll(DAY)
        assert remove_fact(DAY, "c1#000", StoredFact(ONE, 1))
        write(2, OTHER)
        time.now += timedelta(minutes=5)

    def check(_) -> None:
        begin_anew()
        roll_until_quiet(time)
        assert (episodes(), episodes(Slice("p1")), episodes(Slice("p2"))) == (1, 0, 1)
        assert changed_days() == []

    assert kill_at_each_call(store, set_up, lambda: list(roll_changed({})), check, 4 * MOST_CALLS) > 8


def test_a_day_stays_marked_while_its_facts_may_change(store, time):
    write(1)
    rolled: dict = {}
    assert len(list(roll_changed(rolled))) == 1
    # Not again at once, but as long as somebody may write under the same mark.
    assert list(roll_changed(rolled)) == []
    write(2)
    time.now += timedelta(minutes=3)
    assert [each.facts for each in roll_changed(rolled)] == [2]
    assert changed_days() == []
    assert rolled == {}


def test_a_mark_that_is_set_again_meanwhile_stays(store, time):
    write(1)
    time.now += timedelta(minutes=3)
    with faults.before("DeleteItem", lambda: mark_changed(DAY, again=True), table_key="INSIGHT"):
        list(roll_changed({}))
    assert len(changed_days()) == 1


def test_many_writers_of_one_process_mark_a_day_once_a_minute(store, time):
    with store.calls() as calls:
        for number in range(5):
            write(number)
        time.now += timedelta(seconds=61)
        write(6)
    marks = [each for each in calls if each.request.get("Item", {}).get("pk") == {"S": "CHANGED"}]
    assert len(marks) == 2


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("when", WHEN)
def test_who_was_held_up_marks_the_day_again(store, time, when, call):
    """Meanwhile the day was summed up without what comes now."""

    def held_up() -> None:
        time.now += timedelta(minutes=5)
        stored_facts.forget_marks()
        roll_until_quiet(time)

    with when("PutItem", held_up, table_key="INSIGHT", nth=call):
        write(1)
    roll_until_quiet(time)
    assert episodes() == 1


def test_who_is_held_up_and_has_no_answer_marks_the_day_too(store, time):
    def held_up() -> None:
        time.now += timedelta(minutes=5)
        roll_until_quiet(time)

    with (
        faults.before("PutItem", held_up, table_key="INSIGHT", nth=2),
        faults.fail_after("PutItem", table_key="INSIGHT", nth=2),
        pytest.raises(StoreUnavailable),
    ):
        write(1)
    roll_until_quiet(time)
    assert episodes() == 1


def test_what_has_expired_is_neither_counted_nor_shown(store, time, settings):
    write(1)
    roll(DAY)
    time.now += timedelta(days=settings.INSIGHT_RETENTION_DAYS + 1)
    assert episodes() == 0
    assert roll(DAY).facts == 0
    assert sums(store)


def test_the_worker_sums_up_what_has_changed(store, time):
    write(1)
    worker = insight_worker(now=lambda: time.now, wait=lambda _: True)
    worker.run()
    assert episodes() == 1


def test_without_a_table_nothing_is_summed_up(bare_store, time):
    bare_store.create_tables("CONSOLE")
    worker = insight_worker(now=lambda: time.now, wait=lambda _: True)
    worker.run()


def test_a_day_that_others_sum_up_all_the_time_is_left_to_them(store):
    write(1)

    def begun() -> None:
        item = {"pk": f"DAYS#{DAY.kind}#{DAY.owner}", "sk": DAY.day}
        store.put("INSIGHT", item | {"epoch": store.get("INSIGHT", **item)["epoch"] + 1})

    overtaken = partial(faults.before, "Query", begun, table_key="INSIGHT", times=faults.ALWAYS)
    with overtaken(), pytest.raises(Throttled):
        roll(DAY)
