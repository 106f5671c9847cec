"""What the facts of an item hold: its hand-offs in their episodes, what was forgotten, and nothing of its words."""

from datetime import timedelta

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console import clock
from conversations.insight.conversation_facts import facts_of_item
from conversations.insight.episodes import episodes_of
from conversations.insight.facts import serialize_fact
from conversations.insight.hand_offs import periods_of
from conversations.insight.measures import TOPICS, Outcome, Topic, counts_of, outcome_of
from tests.unit.conversations.insight.kit import BEGUN, DAY, HOUR, MINUTE, Trail, after, item, said, storable
from tests.unit.conversations.insight.test_episodes import ATTRIBUTES
from tests.unit.conversations.messages.test_messages import JSON_LIKE

SURE = {"last_intent": "refund", "last_routing_confidence": 0.95}


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: BEGUN + 30 * DAY)
    monkeypatch.setattr(
        "conversations.insight.conversation_facts.pseudonym_of",
        lambda *parts: "~".join(parts[:1]) + str(sum(map(len, parts))),
    )


def facts(stored, trail=None, state=None, before=None):
    """The data of an item's facts, oldest episode first."""
    found, trail = episodes_of(stored), trail or Trail()
    known = before or [None] * len(found.episodes)
    periods = periods_of(trail.entries, trail.last_action)
    return [each.data for each in facts_of_item(stored, found, periods, state or {}, known)]


def test_a_hand_off_belongs_to_the_episode_in_which_it_began():
    stored = item(said("user", MINUTE), said("assistant", HOUR), said("user", 10 * DAY), said("user", 20 * DAY))
    trail = Trail().add("hand_off.take_over", 2 * HOUR).add("hand_off.hand_back", 3 * HOUR)
    trail.asks(10 * DAY + HOUR, "a refund")
    first, second, third = facts(stored, trail, SURE)
    assert (first["over"], first["turns"], "asked" in first) == (1, 2, False)
    assert (second["asked"], second["reason"], second["intent"]) == (1, "payment", "refund")
    assert not {"asked", "over", "intent"} & set(third)


def test_what_the_middleware_says_is_of_the_latest_hand_off_only():
    stored = item(said("user", MINUTE), said("user", 10 * DAY), hand_off_to_human_reason="a refund")
    trail = Trail().asks(2 * MINUTE).add("hand_off.hand_back", HOUR).asks(10 * DAY)
    first, second = facts(stored, trail, SURE)
    assert (first["intent"], first["sure"], first["reason"]) == ("unknown", "unknown", "unknown")
    assert (second["intent"], second["sure"], second["reason"]) == ("refund", "0.9 and more", "payment")


def test_why_is_what_was_said_first():
    stored, trail = item(said("user", MINUTE)), Trail().asks(2 * MINUTE)
    before = facts(stored, trail, SURE)
    assert facts(stored, trail, {"last_intent": "thanks", "last_routing_confidence": 0.2}, before) == before
    assert facts(stored, trail, {}, before) == before


def test_an_answer_after_more_than_a_week_is_one():
    stored = item(said("user", MINUTE), said("ana", 9 * DAY))
    first, _ = facts(stored, Trail().asks(2 * MINUTE).add("hand_off.take", 9 * DAY - MINUTE))
    assert first["answers"] == [int((9 * DAY - 2 * MINUTE).total_seconds())]


def test_an_answer_to_a_later_request_answers_no_earlier_one():
    stored = item(said("user", MINUTE), said("ana", 2 * HOUR))
    trail = Trail().asks(MINUTE).add("hand_off.leave_to_ai", HOUR).asks(HOUR + MINUTE).add("hand_off.take", 2 * HOUR)
    assert facts(stored, trail)[0]["answers"] == [59 * 60]


def test_what_the_trail_forgot_is_kept(monkeypatch):
    stored = item(said("user", MINUTE))
    before = facts(stored, Trail().asks(2 * MINUTE, "a refund").add("hand_off.take", HOUR), SURE)
    later = BEGUN + timedelta(days=settings.AUDIT_RETENTION_DAYS + 1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert facts(stored, before=before) == before
    # Told again of nothing but what came after, it is not told less of.
    again = facts(stored, Trail().add("hand_off.take_over", 50 * DAY), before=before)
    assert (again[0]["asked"], again[0]["people"]) == (1, before[0]["people"])


def test_a_hand_off_that_proves_to_be_of_a_later_episode_is_no_longer_of_the_earlier_one():
    trail = Trail().asks(10 * DAY + MINUTE)
    before = facts(item(said("user", MINUTE)), trail)
    assert before[0]["asked"] == 1
    first, second = facts(item(said("user", MINUTE), said("user", 10 * DAY)), trail, before=[before[0], None])
    assert ("asked" in first, second["asked"]) == (False, 1)


def test_when_it_failed_is_when_that_was_first_seen():
    failed = {"conversation_status": "failed_unknown", "failure_reason": "provider_down"}
    before = facts(item(updated_at=after(), **failed))
    assert before[0]["hour"] == BEGUN.hour + 1
    answered = item(said("assistant", HOUR), updated_at=after(5 * HOUR), **failed)
    assert facts(answered, before=before)[0]["hour"] == BEGUN.hour + 6
    assert facts(item(updated_at=after(5 * HOUR), **failed), before=before)[0]["hour"] == BEGUN.hour + 1
    failed["failure_reason"] = "timed_out"
    assert facts(item(updated_at=after(5 * HOUR), **failed), before=before)[0]["hour"] == BEGUN.hour + 6


@pytest.mark.parametrize("project", ["pi-447700900123", "Jo Doe", "jo@doe.example", "a\x1fb", "p" * 200])
def test_a_project_whose_id_may_be_personal_has_a_pseudonym(project):
    assert facts(item(project_id=project))[0]["project"].startswith("project")
    assert facts(item(project_id="pi-aaa-001"))[0]["project"] == "pi-aaa-001"


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(ATTRIBUTES), JSON_LIKE, max_size=8), st.booleans())
@hypothesis_settings(max_examples=60)
def test_any_item_whatever_gives_facts_that_every_topic_can_count(attributes, had_people):
    stored = storable(attributes)
    trail = Trail().asks(MINUTE, "call 07700 900123").add("hand_off.take", HOUR) if had_people else Trail()
    found = episodes_of(stored)
    made = facts_of_item(
        stored, found, periods_of(trail.entries, trail.last_action), SURE, [None] * len(found.episodes)
    )
    assert len(made) == len(found.episodes)
    for fact in made:
        assert serialize_fact(fact.data)
        for topic in TOPICS[fact.day.kind]:
            assert ("unreadable",) not in counts_of(fact.day.kind, topic, fact.data)
    counted = [counts_of(each.day.kind, Topic.OUTCOMES, each.data) for each in made]
    assert all(each[("episodes",)] == 1 for each in counted)
    assert sum(sum(n for measure, n in each.items() if measure[0] == "outcome") for each in counted) == len(made)


T = "2026-03-02T09:00:00Z"


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        ({"customer": 1, "ai": 1, "last": "ai"}, Outcome.AI),
        ({"customer": 1, "ai": 1, "last": "customer"}, Outcome.UNANSWERED),
        ({"customer": 1}, Outcome.UNANSWERED),
        ({"customer": 2, "ai": 1, "last": "customer", "done": True}, Outcome.AI),
        ({"customer": 2, "human": 1, "last": "customer", "active": T, "done": True}, Outcome.PERSON),
        ({"customer": 1, "last": "customer", "done": True}, Outcome.UNANSWERED),
        ({}, Outcome.NO_REPLY),
        ({"ai": 2, "last": "ai"}, Outcome.NO_REPLY),
        ({"customer": 1, "ai": 1, "last": "ai", "failed": "failed_unknown", "open": True}, Outcome.FAILED),
        ({"customer": 1, "ai": 1, "last": "ai", "open": True, "human": 1}, Outcome.WITH_PEOPLE),
        ({"customer": 1, "human": 1, "last": "human"}, Outcome.PERSON),
        ({"customer": 1, "ai": 1, "human": 1, "last": "ai"}, Outcome.PERSON),
        ({"customer": 1, "human": 1, "last": "customer", "active": T}, Outcome.UNANSWERED),
        ({"customer": 1, "last": "customer", "active": T, "back": T}, Outcome.PERSON),
        ({"customer": 2, "last": "customer", "active": T, "back": "2026-03-02T08:59:59Z"}, Outcome.UNANSWERED),
        ({"ai": 1, "last": "ai", "back": T, "active": T}, Outcome.PERSON),
    ],
)
def test_how_it_ended(data, outcome):
    assert outcome_of(data) is outcome
    assert outcome.label
