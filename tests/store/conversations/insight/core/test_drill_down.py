"""The facts behind a number are those that add to it: all of them, each once, over however many pages."""

from collections import Counter
from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from conversations.insight import drill_down
from conversations.insight.drill_down import CountedNumber, read_drill_down
from conversations.insight.facts import FactDay, FactKind, InsightFact, StoredFact, facts_of, write_fact
from conversations.insight.measures import ANY, TOPICS, Topic, counts_of
from conversations.insight.rolling import roll
from conversations.insight.sums import Slice

pytestmark = pytest.mark.usefixtures("time", "key_is_there")

KIND, OWNER, FIRST = FactKind.CONVERSATIONS, "ci-aaa-001", date(2026, 3, 1)
DAYS = st.integers(0, 6).map(lambda number: (FIRST + timedelta(days=number)).isoformat())
NAMES = st.sampled_from(["p1", "p2"])
DATA = st.fixed_dictionaries(
    {"project": NAMES, "channel": st.sampled_from(["email", "sms"]), "customer": st.integers(0, 2)},
    optional={
        "asked": st.integers(1, 2),
        "reason": st.sampled_from(["payment", "other"]),
        "intent": st.sampled_from(["refund", "unknown"]),
        "failed": st.just("failed_unknown"),
        "tokens": st.just({"total": 5}),
        "model": st.sampled_from(["m1", "m2"]),
        "agents": st.just({"ana": [1, 0, 2]}),
        "started": st.integers(0, 3).map("2026-03-01T0{}:00:00+00:00".format),
    },
)
SLICES = st.builds(Slice, st.none() | NAMES, st.none() | st.sampled_from(["email", "sms"]))


@pytest.mark.slow
@given(
    stored=st.lists(st.tuples(DAYS, DATA), max_size=14),
    topic=st.sampled_from(list(TOPICS[KIND])),
    where=SLICES,
    data=st.data(),
    rows=st.integers(1, 6),
    reads=st.integers(1, 4),
)
@hypothesis_settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_facts_behind_a_number_are_those_that_brute_force_finds(
    store, monkeypatch, stored, topic, where, data, rows, reads
):
    store.empty()
    monkeypatch.setattr(drill_down, "READS", reads)
    facts = [InsightFact(FactDay(KIND, OWNER, day), f"c{n:02}#000", each) for n, (day, each) in enumerate(stored)]
    for fact in facts:
        assert write_fact(fact, StoredFact())
    for day in {fact.day.day for fact in facts}:
        roll(FactDay(KIND, OWNER, day))
    measures = sorted({measure for fact in facts for measure in counts_of(KIND, topic, fact.data)}) or [("none",)]
    measure = data.draw(st.sampled_from(measures))
    pattern = tuple(ANY if data.draw(st.booleans()) else part for part in measure)
    first, last = sorted((data.draw(DAYS), data.draw(DAYS)))
    amounts = {
        (fact.day.day, fact.id): sum(
            count
            for found, count in counts_of(KIND, topic, fact.data).items()
            if len(found) == len(pattern) and all(one in ("*", two) for one, two in zip(pattern, found, strict=True))
        )
        for fact in facts
        if first <= fact.day.day <= last
        and where.project in (None, fact.data["project"])
        and where.channel in (None, fact.data["channel"])
    }
    expected = sorted(place for place, amount in amounts.items() if amount)
    source = CountedNumber(KIND, OWNER, topic, where, pattern, date.fromisoformat(first), date.fromisoformat(last))
    shown, after = Counter(), None
    order: list[tuple[str, str, str]] = []
    in_parts = False
    for _ in range(60):
        page = read_drill_down(source, after, rows)
        assert page.amount == sum(amounts.values())
        assert len(page.facts) <= max(rows, 60)
        shown.update((fact.day.day, fact.id) for fact in page.facts)
        order += [(fact.day.day, fact.data.get("started", ""), fact.id) for fact in page.facts]
        in_parts = in_parts or page.in_parts
        if (after := page.next) is None:
            break
    assert sorted(shown.elements()) == expected
    assert in_parts or order == sorted(order, reverse=True)
    assert in_parts == (reads == 1 and bool(expected))


def test_a_page_ends_after_so_many_reads_and_says_where(store, monkeypatch):
    monkeypatch.setattr(drill_down, "READS", 2)
    for number in range(5):
        day = FactDay(KIND, OWNER, (FIRST + timedelta(days=number)).isoformat())
        assert write_fact(InsightFact(day, "c#000", {"customer": 1}), StoredFact())
        roll(day)
    source = CountedNumber(KIND, OWNER, Topic.OUTCOMES, Slice(), ("episodes",), FIRST, FIRST + timedelta(days=9))
    with store.calls() as calls:
        page = read_drill_down(source)
    assert (len(page.facts), page.amount, page.reached) == (2, 5, FIRST + timedelta(days=3))
    assert len(calls) == 3


def test_a_day_of_many_facts_is_read_in_parts(store, monkeypatch):
    day = FactDay(KIND, OWNER, FIRST.isoformat())
    text = "x" * 300_000
    for number in range(8):
        assert write_fact(InsightFact(day, f"c{number}#000", {"customer": number % 2, "padding": text}), StoredFact())
    assert len(list(facts_of(day))) > 1
    roll(day)
    source = CountedNumber(KIND, OWNER, Topic.OUTCOMES, Slice(), ("wrote",), FIRST, FIRST)
    monkeypatch.setattr(drill_down, "READS", 1)
    found, after = [], None
    while True:
        page = read_drill_down(source, after, 50)
        found += [fact.id for fact in page.facts]
        if (after := page.next) is None:
            break
        assert page.in_parts
    assert sorted(found) == [f"c{number}#000" for number in (1, 3, 5, 7)]


def test_facts_of_a_day_are_listed_newest_first_over_pages(store):
    day = FactDay(KIND, OWNER, FIRST.isoformat())
    for number, hour in enumerate((9, 23, 1, 14, 23)):
        began = f"2026-03-01T{hour:02}:00:00+00:00"
        assert write_fact(InsightFact(day, f"c{number}#000", {"customer": 1, "started": began}), StoredFact())
    roll(day)
    source = CountedNumber(KIND, OWNER, Topic.OUTCOMES, Slice(), ("wrote",), FIRST, FIRST)
    first = read_drill_down(source, None, 2)
    second = read_drill_down(source, first.next, 2)
    third = read_drill_down(source, second.next, 2)
    shown = [[fact.id[:2] for fact in page.facts] for page in (first, second, third)]
    assert shown == [["c4", "c1"], ["c3", "c0"], ["c2"]]
    assert third.next is None
