"""Hand-offs told from a trail: who was asked for, who came, how long it took, and when the AI had it again."""

import pytest

from console.trail.actions import Action
from conversations.insight.hand_offs import periods_of
from tests.growth import check_growth, cpu_seconds
from tests.unit.conversations.insight.kit import BEGUN, DAY, HOUR, MINUTE, Trail, after

TAKE, TAKE_OVER, STEAL = "hand_off.take", "hand_off.take_over", "hand_off.take_from_colleague"
HAND_BACK, RELEASE, ASSIGN, REQUEST = "hand_off.hand_back", "hand_off.release", "hand_off.assign", "hand_off.request"


def told(trail: Trail):
    return periods_of(trail.entries, trail.last_action)


def test_asked_taken_and_handed_back():
    (only,) = told(Trail().asks(MINUTE, "a refund").add(TAKE, 5 * MINUTE).add(HAND_BACK, HOUR))
    assert (only.begun, only.asked, only.taken, only.ended) == (
        BEGUN + MINUTE,
        BEGUN + MINUTE,
        BEGUN + 5 * MINUTE,
        BEGUN + HOUR,
    )
    assert (only.takers, only.enders, only.reason) == (["ana"], ["ana"], "a refund")


def test_nobody_asked_for_who_takes_over():
    (only,) = told(Trail().add(TAKE_OVER, MINUTE))
    assert (only.begun, only.asked, only.taken, only.ended) == (BEGUN + MINUTE, None, BEGUN + MINUTE, None)


def test_colleagues_take_turns_within_one_hand_off():
    trail = Trail().add(REQUEST, MINUTE).add(TAKE, 2 * MINUTE).add(STEAL, 3 * MINUTE, "ben").add(RELEASE, HOUR, "ben")
    trail.add(TAKE, 2 * HOUR).add(ASSIGN, 3 * HOUR, "ada").add(HAND_BACK, 4 * HOUR, "ben")
    (only,) = told(trail)
    assert (only.takers, only.enders) == (["ana", "ben", "ana"], ["ben"])
    assert only.taken == BEGUN + 2 * MINUTE


def test_who_is_given_it_did_not_take_it_but_waits_are_over():
    (only,) = told(Trail().asks(MINUTE).add(ASSIGN, 3 * MINUTE, "ada"))
    assert (only.takers, only.taken) == ([], BEGUN + 3 * MINUTE)


@pytest.mark.parametrize("action", ["hand_off.leave_to_ai", "hand_off.acknowledge"])
def test_the_ai_has_it_again_without_a_hand_back(action):
    first, second = told(Trail().asks(MINUTE).add(TAKE, 2 * MINUTE).add(action, HOUR).asks(2 * HOUR))
    assert (first.ended, first.enders) == (BEGUN + HOUR, [])
    assert second.asked == BEGUN + 2 * HOUR


def test_what_the_platform_withdrew_ends_where_it_asks_again():
    first, second = told(Trail().asks(MINUTE).asks(HOUR).add(TAKE, 2 * HOUR))
    assert (first.taken, first.ended) == (None, BEGUN + HOUR)
    assert second.taken == BEGUN + 2 * HOUR


def test_who_takes_over_what_the_platform_withdrew_was_not_asked():
    first, second = told(Trail().asks(MINUTE).add(TAKE_OVER, HOUR))
    assert (first.asked, first.taken, second.asked, second.taken) == (BEGUN + MINUTE, None, None, BEGUN + HOUR)
    released = Trail().asks(MINUTE).add(TAKE, 2 * MINUTE).add(RELEASE, 3 * MINUTE).add(TAKE_OVER, HOUR, "ben")
    assert [each.takers for each in told(released)] == [["ana"], ["ben"]]


def test_who_holds_what_the_platform_overrode_takes_it_again_within_the_same_hand_off():
    (only,) = told(Trail().asks(MINUTE).add(TAKE, 2 * MINUTE).add(TAKE_OVER, HOUR))
    assert only.takers == ["ana", "ana"]


@pytest.mark.parametrize("result", ["conflict: ben was faster", "failed: no item", "pending"])
def test_what_did_not_take_effect_is_not_told(result):
    (only,) = told(Trail().asks(MINUTE).refused(TAKE, 2 * MINUTE, result).add(TAKE, HOUR))
    assert (only.takers, only.taken) == (["ana"], BEGUN + HOUR)


def test_what_took_effect_is_told_though_nobody_came_to_say_so():
    (only,) = told(Trail().asks(MINUTE).add(TAKE, HOUR, result="pending").add(HAND_BACK, 2 * HOUR, result="pending"))
    assert (only.taken, only.ended) == (BEGUN + HOUR, BEGUN + 2 * HOUR)


def test_actions_count_in_the_order_in_which_they_replaced_each_other():
    """Servers' clocks differ, and some of the platform's writers tell only seconds."""
    trail = Trail().add(TAKE_OVER, HOUR).add(HAND_BACK, HOUR - MINUTE).asks(HOUR - 2 * MINUTE)
    first, second = told(trail)
    assert first.enders == ["ana"]
    assert (second.asked, second.taken) == (BEGUN + HOUR - 2 * MINUTE, None)


@pytest.mark.parametrize(
    "action",
    sorted(
        each.value
        for each in Action
        if each.startswith("hand_off.")
        and each.value not in {TAKE, TAKE_OVER, STEAL, ASSIGN, REQUEST, HAND_BACK, RELEASE}
        and each.value not in {"hand_off.leave_to_ai", "hand_off.acknowledge", "hand_off.hand_over"}
    ),
)
def test_all_other_actions_change_no_hand_off(action):
    trail = Trail().asks(MINUTE).add(TAKE, 2 * MINUTE)
    before = told(trail)
    assert told(trail.add(action, HOUR, "ben")) == before
    assert told(Trail().add(action, MINUTE)) == []


def test_a_request_is_of_when_the_flag_rose_not_of_when_somebody_saw_it():
    trail = Trail().add(TAKE_OVER, MINUTE).add(HAND_BACK, HOUR).asks(10 * DAY)
    trail.entries[-1].edge_at = after(2 * HOUR)
    assert told(trail)[1].asked == BEGUN + 2 * HOUR


def test_late_answers_count_where_they_were_late():
    trail = Trail().misses(MINUTE).asks(HOUR).misses(2 * HOUR).misses(3 * HOUR).add(HAND_BACK, 4 * HOUR)
    assert [each.missed for each in told(trail.misses(5 * HOUR))] == [2]


def test_drifted_entries_are_left_out():
    trail = Trail().asks(MINUTE)
    trail.entries[0].action_payload_redacted = '{"reason": 5'
    (only,) = told(trail)
    assert only.reason == ""
    trail.entries[0].ts_action_id = "yesterday"
    trail.entries[0].result = None
    assert told(trail) == []


def test_a_chain_that_bites_its_tail_ends():
    trail = Trail().add(TAKE, MINUTE).add(HAND_BACK, HOUR)
    trail.entries[0].previous_action_id = "a1"
    assert len(told(trail)) == 1


@pytest.mark.slow
def test_long_trails_take_time_in_proportion():
    def seconds(many: int) -> float:
        trail = Trail()
        for number in range(many):
            trail.asks(number * DAY).add(TAKE, number * DAY + MINUTE).add(HAND_BACK, number * DAY + HOUR)
        assert len(told(trail)) == many
        return cpu_seconds(lambda: told(trail))

    check_growth(seconds, 300, most=8)
