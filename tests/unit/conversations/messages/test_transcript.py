"""A conversation as one reads it: windows, days, gaps, hand-offs inline, and where the AI spoke during one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console import clock
from console.audit.records import HandOffEntry
from conversations.messages.message import StoredMessages
from conversations.messages.transcript import ANNOUNCEMENT, WINDOW, HandOffChange, HandOffHistory, story_of, transcript
from conversations.records import HandOff, HandOffState, Marker, Message
from tests.unit.conversations.messages.test_messages import AGENT

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
AI, WAITING, HELD = HandOffState.AI, HandOffState.WAITING, HandOffState.HELD


def minutes(count: float) -> datetime:
    return START + timedelta(minutes=count)


def messages(*at: datetime, role: str = "assistant") -> StoredMessages:
    return StoredMessages(
        [
            {"entry_id": f"e{n}", "message_timestamp": m.isoformat(), "role": role, "content": f"m{n}"}
            for n, m in enumerate(at, 1)
        ]
    )


def many(count: int) -> StoredMessages:
    return messages(*(START + timedelta(seconds=number) for number in range(count)))


def outline(shown) -> list[str]:
    return [f"m{item.number}" if isinstance(item, Message) else f"{item.kind}: {item.text}" for item in shown.items]


def entry(action: str, at: datetime, actor: str = "tom.becker", outcome: str = "success", **kwargs) -> HandOffEntry:
    values = {"is_staff": actor != "platform", "action_id": f"{action}-{at}", **kwargs}
    return HandOffEntry(at=at, action=f"hand_off.{action}", actor=actor, outcome=outcome, **values)


# --- Windows ------------------------------------------------------------------------------------------------------


def test_the_latest_hundred_come_first_and_the_rest_is_counted():
    shown = transcript(many(250), HandOffHistory(), AGENT)
    assert (shown.first_number, shown.last_number, shown.earlier, shown.later) == (151, 250, 150, 0)


def test_earlier_windows_lead_to_the_beginning_without_gap_or_overlap():
    stored, numbers, before = many(250), [], None
    while True:
        shown = transcript(stored, HandOffHistory(), AGENT, before=before)
        numbers = [item.number for item in shown.items if isinstance(item, Message)] + numbers
        if not shown.earlier:
            break
        before = shown.first_number
    assert numbers == list(range(1, 251))


def test_a_permalink_opens_the_window_that_holds_its_message():
    stored = many(500)
    shown = transcript(stored, HandOffHistory(), AGENT, around=stored.anchor(200))
    assert shown.first_number <= 200 <= shown.last_number
    assert shown.last_number - shown.first_number + 1 == WINDOW


@pytest.mark.parametrize("query", [{"before": 0}, {"before": 1}, {"before": 900}, {"around": "nothing"}])
def test_a_place_that_is_not_there_is_the_latest_window(query):
    assert transcript(many(120), HandOffHistory(), AGENT, **query).last_number == 120


def test_no_messages_are_an_empty_window():
    shown = transcript(StoredMessages(), HandOffHistory(), AGENT)
    assert (shown.items, shown.total, shown.earlier, shown.later) == ((), 0, 0, 0)


def test_ten_thousand_messages_are_not_all_read(monkeypatch):
    stored, read = many(10_000), []
    original = StoredMessages.entry
    monkeypatch.setattr(StoredMessages, "entry", lambda self, number: read.append(number) or original(self, number))
    shown = transcript(stored, HandOffHistory(), AGENT)
    assert shown.total == 10_000
    assert sorted(read) == list(range(9_901, 10_001))


# --- Days and gaps ------------------------------------------------------------------------------------------------


@pytest.fixture
def same_year(monkeypatch):
    """Days of another year are told with it."""
    monkeypatch.setattr(clock, "now", lambda: START + timedelta(days=30))


def test_a_new_day_and_a_long_silence_have_a_marker(same_year):
    shown = transcript(messages(minutes(0), minutes(10), minutes(10 + 17 * 60 + 4)), HandOffHistory(), AGENT)
    assert outline(shown) == [
        "day: Monday 2 March", "m1", "m2", "gap: 17 h without a message", "day: Tuesday 3 March", "m3",
    ]  # fmt: skip


def test_days_are_those_of_the_readers_zone(same_year):
    late = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    stored = messages(late, late + timedelta(hours=1))
    in_utc = transcript(stored, HandOffHistory(), AGENT)
    in_karachi = transcript(stored, HandOffHistory(), replace(AGENT, time_zone="Asia/Karachi"))
    assert outline(in_utc) == ["day: Monday 2 March", "m1", "day: Tuesday 3 March", "m2"]
    assert outline(in_karachi) == ["day: Tuesday 3 March", "m1", "m2"]


def test_the_first_day_of_an_earlier_window_is_not_told_twice(same_year):
    stored = many(150)
    assert outline(transcript(stored, HandOffHistory(), AGENT))[0] == "m51"
    assert outline(transcript(stored, HandOffHistory(), AGENT, before=51))[0] == "day: Monday 2 March"


def test_messages_without_a_time_stay_where_they_are():
    stored = StoredMessages(
        [{"role": "user", "text": "a"}, *messages(minutes(1)).entries, {"role": "user", "text": "b"}]
    )
    assert [item.number for item in transcript(stored, HandOffHistory(), AGENT).items if isinstance(item, Message)] == [
        1,
        2,
        3,
    ]


# --- Hand-offs ----------------------------------------------------------------------------------------------------

TAKEN = HandOff(HELD, flag=True, agent="tom.becker", requested_at=minutes(10), taken_at=minutes(30), reason="asked")
WITH_AI = HandOff(AI, flag=False)


def cycle() -> list[HandOffEntry]:
    return [
        entry("request", minutes(10), "platform", reason="User requested agent"),
        entry("take", minutes(30)),
        entry("release", minutes(50)),
        entry("take", minutes(60), "amira.haddad"),
        entry("hand_back", minutes(90), "amira.haddad"),
    ]


def test_hand_offs_stand_between_the_messages_in_order_of_time():
    story = story_of(reversed(cycle()), WITH_AI, "amira.haddad")
    shown = transcript(messages(minutes(0), minutes(40), minutes(100)), story, AGENT)
    assert outline(shown)[1:] == [
        "m1", "event: A human was requested", "event: tom.becker took over", "m2",
        "event: tom.becker returned it to the queue", "event: You took over",
        "event: You returned it to the AI", "m3",
    ]  # fmt: skip
    details = [item.detail for item in shown.items if isinstance(item, Marker) and item.kind == "event"]
    assert details == ["User requested agent", "(customer had waited 20 min)", "", "(customer had waited 50 min)", ""]


def test_each_event_is_in_exactly_one_window():
    stored = many(300)
    events = tuple(
        HandOffChange(START + timedelta(seconds=s), HELD, f"at {s}") for s in (-5, 0, 99, 100, 150, 199, 200, 299, 999)
    )
    texts, before = [], None
    while True:
        shown = transcript(stored, HandOffHistory(events), AGENT, before=before)
        texts = [item.text for item in shown.items if isinstance(item, Marker) and item.kind == "event"] + texts
        if not shown.earlier:
            break
        before = shown.first_number
    assert texts == [event.text for event in events]


@pytest.mark.parametrize(
    ("at", "during"),
    [
        (9, ""), (10, ""), (11, ""), (11.1, "waiting"), (30, "waiting"), (30.1, "held"), (50, "held"), (55, "waiting"),
        (61, "held"), (89.9, "held"), (90, ""), (91, ""),
    ],
)  # fmt: skip
def test_the_ai_is_marked_strictly_after_the_beginning_and_before_the_end(at, during):
    story = story_of(cycle(), WITH_AI, "x")
    shown = transcript(messages(minutes(at)), story, AGENT)
    assert [item.during_hand_off for item in shown.items if isinstance(item, Message)] == [during]


def test_only_the_ai_is_marked():
    shown = transcript(messages(minutes(40), role="user"), story_of(cycle(), WITH_AI, "x"), AGENT)
    assert [item.during_hand_off for item in shown.items if isinstance(item, Message)] == [""]


def test_without_entries_the_item_itself_tells():
    story = story_of([], TAKEN, "x")
    assert [(event.at, event.state, event.text) for event in story.events] == [
        (minutes(10), WAITING, "A human was requested"),
        (minutes(30), HELD, "tom.becker took over"),
    ]
    assert [story.during(minutes(20)), story.during(minutes(31))] == ["waiting", "held"]


def test_the_item_adds_nothing_that_the_trail_tells_already():
    entries = [entry("request", minutes(10) + timedelta(milliseconds=40), "platform"), entry("take", minutes(30))]
    assert len(story_of(entries, TAKEN, "x").events) == 2


def test_a_rule_asked_when_the_customer_wrote_and_not_when_the_message_was_received():
    entries = [entry("request", minutes(24), "rule", is_staff=False), entry("take", minutes(30))]
    assert [(event.at, event.text) for event in story_of(entries, TAKEN, "x").events] == [
        (minutes(10), "A human was requested"),
        (minutes(30), "tom.becker took over"),
    ]
    again = [*entries, entry("hand_back", minutes(40)), entry("request", minutes(55), "rule", is_staff=False)]
    waits = HandOff(WAITING, flag=True, requested_at=minutes(50))
    assert [event.at for event in story_of(again, waits, "x").events] == [
        minutes(24),
        minutes(30),
        minutes(40),
        minutes(50),
    ]


def test_a_time_that_only_bounds_the_wait_says_so():
    hand_off = HandOff(WAITING, flag=True, requested_at=minutes(10), wait_at_least=True)
    assert "or earlier" in story_of([], hand_off, "x").events[0].detail


def test_what_did_not_succeed_did_not_happen():
    entries = [
        entry("take_over", minutes(5), outcome=outcome) for outcome in ("conflict", "failed", "unknown", "pending")
    ]
    assert story_of(entries, WITH_AI, "x").events == ()


def test_a_pending_action_whose_id_the_item_bears_did_happen():
    pending = entry("hand_back", minutes(60), outcome="pending", action_id="the-stamp")
    entries = [entry("take_over", minutes(5)), pending]
    story = story_of(entries, replace(WITH_AI, action_id="the-stamp"), "x")
    assert [event.state for event in story.events] == [HELD, AI]
    assert story.during(minutes(70)) == ""


def test_where_the_platform_ended_a_hand_off_unnoted_nothing_is_said_of_what_came_after():
    story = story_of([entry("take_over", minutes(5))], WITH_AI, "x")
    assert story.during(minutes(50)) == ""


@hypothesis_settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([AI, WAITING, HELD])), max_size=8), st.integers(0, 60))
def test_a_mark_agrees_with_who_had_it_at_that_instant(changes, at):
    events = tuple(HandOffChange(minutes(m), state, "") for m, state in sorted(changes, key=lambda change: change[0]))
    during = HandOffHistory(events).during(minutes(at))
    before = [event for event in events if event.at < minutes(at)]
    earlier = [event.state for event in before]
    if during:
        assert earlier[-1].value == during
    elif earlier and earlier[-1] is not AI:
        announced = (
            earlier[-1] is WAITING and earlier[-2:-1] in ([], [AI]) and minutes(at) - before[-1].at <= ANNOUNCEMENT
        )
        assert announced or any(event.at == minutes(at) and event.state is AI for event in events)
