"""An item told in episodes: by silence, by who wrote, in every spelling, and whatever is in it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.insight.episodes import GAP, MOST_EPISODES, episodes_of, has_same_facts
from tests.dynamodb import to_dynamodb
from tests.growth import check_growth, cpu_seconds
from tests.unit.conversations.insight.kit import BEGUN, DAY, HOUR, MINUTE, after, item, said, storable
from tests.unit.conversations.messages.test_messages import JSON_LIKE

SECOND = timedelta(seconds=1)


def test_a_week_of_silence_ends_an_episode_and_a_second_less_does_not():
    quiet = item(said("user", MINUTE), said("user", MINUTE + GAP - SECOND), said("user", MINUTE + GAP + GAP))
    first, second = episodes_of(quiet).episodes
    assert (first.by["customer"], second.by["customer"]) == (2, 1)
    assert second.started == BEGUN + MINUTE + GAP + GAP


def test_the_first_message_may_come_a_week_after_the_conversation():
    first, second = episodes_of(item(said("assistant", GAP))).episodes
    assert first.active == BEGUN
    assert not first.by
    assert second.by["ai"] == 1


def test_what_comes_late_with_an_early_time_begins_nothing():
    assert len(episodes_of(item(said("user", 20 * DAY), said("user", MINUTE), said("user", 21 * DAY))).episodes) == 2


def test_the_prompt_is_nobodys_words():
    prompt = {"role": "user", "content": "You are", "timestamp": after()}
    (only,) = episodes_of(item(prompt, said("assistant", MINUTE))).episodes
    assert dict(only.by) == {"ai": 1}
    assert only.spoke_last == "ai"


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-03-02T09:05:00Z",
        "2026-03-02T09:05:00.000000+00:00Z",
        "2026-03-02 09:05:00",
        "2026-03-02T11:05:00+02:00",
        1772442300,
        1772442300000,
        1772442300000000,
        "1772442300",
        "1772442300.0",
    ],
)
def test_every_spelling_of_a_time_is_the_same_time(spelling):
    (only,) = episodes_of(item(said("assistant", MINUTE, timestamp=spelling))).episodes
    assert only.active == BEGUN + 5 * MINUTE
    assert only.first_answer == 5 * MINUTE


def test_who_wrote_how_fast_and_at_what_cost():
    answer = {"ai_prompt_tokens": "150", "completion_tokens": 50, "ai_total_tokens": 200, "processing_time_ms": 850}
    (only,) = episodes_of(
        item(said("user", MINUTE), said("assistant", 2 * MINUTE, **answer), said("ana", HOUR), said("system", 2 * HOUR))
    ).episodes
    assert dict(only.by) == {"customer": 1, "ai": 1, "human": 1}
    assert dict(only.tokens) == {"prompt": 150, "completion": 50, "total": 200}
    assert dict(only.answered_by) == {"ana": 1}
    assert (only.spoke_last, only.active) == ("human", BEGUN + 2 * HOUR)
    assert sum(only.processing.values()) == 1
    assert (only.ai_at, only.human_at) == ([BEGUN + 2 * MINUTE], [BEGUN + HOUR])


def test_a_later_episode_waits_from_its_own_first_words():
    _, second = episodes_of(item(said("user", 10 * DAY), said("assistant", 10 * DAY + MINUTE))).episodes
    assert second.first_answer == MINUTE
    _, second = episodes_of(item(said("system", 10 * DAY), said("assistant", 10 * DAY + MINUTE))).episodes
    assert second.first_answer is None


def test_without_a_time_of_its_own_it_begins_with_its_first_message():
    assert episodes_of(item(said("user", HOUR), created_at=...)).episodes[0].started == BEGUN + HOUR
    assert episodes_of(item({"role": "user", "message_id": "m"}, created_at="soon")).episodes[0].started is None


def test_messages_as_text_are_read_like_a_list():
    text = '[{"message_id": "1", "role": "user", "timestamp": "2026-03-02T09:05:00Z"}]'
    assert episodes_of(item(messages=text)).episodes[0].by["customer"] == 1


def test_an_item_has_so_many_episodes_and_the_last_goes_on():
    found = episodes_of(item(*(said("user", number * GAP) for number in range(MOST_EPISODES + 30)))).episodes
    assert len(found) == MOST_EPISODES
    assert found[-1].by["customer"] == 31


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ({"model": "gpt-4o"}, "gpt-4o"),
        ({"openai": {"deployment_name": "gpt-4o-2024-08-06"}}, "gpt-4o-2024-08-06"),
        ({"model": " ", "deep": {"ai_model": "claude-3-5-sonnet-20241022"}}, "claude-3-5-sonnet-20241022"),
        ({"model": "the model of Jo Doe"}, "other"),
        ({"model": 4}, "unknown"),
        ("gpt-4o", "unknown"),
    ],
)
def test_the_model_is_named_in_several_ways(config, model):
    assert episodes_of(item(ai_config=config)).model == model


@pytest.mark.parametrize(
    ("stored", "version"),
    [("1.4.2", "1.4.2"), ("1.0.1-dev", "1.0.1-dev"), ("v2", "v2"), (2, "unknown"), ("call 07700 900123", "other")],
)
def test_versions_are_named_as_services_name_them(stored, version):
    assert episodes_of(item(processor_version=stored)).processor == version


@pytest.mark.parametrize(
    ("status", "reason", "told"),
    [
        ("failed_unknown", "provider_down", ("failed_unknown", "provider_down")),
        ("Failed_To_Send", None, ("failed_to_send", "unknown")),
        ("error", "Zebedee", ("error", "other")),
        ("error", "Timeout", ("error", "Timeout")),
        ("error", "No answer from +447700900123", ("error", "other")),
        ("retry", "provider_down", ("", "")),
    ],
)
def test_what_failed_and_why(status, reason, told):
    found = episodes_of(item(conversation_status=status, failure_reason=reason))
    assert (found.failed, found.failed_why) == told


def test_only_what_facts_are_made_of_is_a_change():
    before = item(said("user", MINUTE))
    for change in ({"updated_at": after(DAY)}, {"gsi_hand_off_queue": "waiting#x"}, {"conversation_status": "retry"}):
        assert has_same_facts(before | to_dynamodb(change), before)
    for change in (
        {"messages": []},
        {"hand_off_to_human": True},
        {"hand_off_action_id": "a"},
        {"conversation_status": "failed_unknown"},
        {"conversation_status": "completed"},
        {"ttl": 1772442300},
        {"project_id": "p2"},
        {"ai_config": {"model": "m"}},
    ):
        assert not has_same_facts(before | to_dynamodb(change), before)


ATTRIBUTES = (
    *("messages", "created_at", "updated_at", "initial_request_timestamp", "ai_config", "conversation_status", "ttl"),
    *("channel_method", "project_id", "company_id", "processor_version", "failure_reason", "hand_off_message_ids"),
    *("hand_off_to_human", "hand_off_to_human_reason"),
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(ATTRIBUTES), JSON_LIKE, max_size=8))
def test_any_item_whatever_gives_episodes_that_count_each_message_once(attributes):
    found = episodes_of(storable(attributes))
    assert 1 <= len(found.episodes) <= MOST_EPISODES
    for episode in found.episodes:
        assert sum(episode.by.values()) >= len(episode.ai_at) + len(episode.human_at)
        assert episode.by["human"] == sum(episode.answered_by.values())
        assert sum(episode.processing.values()) <= episode.by["ai"]
        assert episode.started is None or episode.active is None or episode.active >= episode.started
    begun = [each.started for each in found.episodes[1:]]
    assert begun == sorted(begun)


MESSAGES = st.lists(
    st.builds(
        said,
        st.sampled_from(["user", "assistant", "ana", "system"]),
        st.integers(0, 40 * 24).map(lambda hours: timedelta(hours=hours)),
    ),
    max_size=12,
)


@given(MESSAGES)
def test_no_message_is_lost_or_counted_twice(messages):
    found = episodes_of(item(*messages))
    assert sum(sum(each.by.values()) for each in found.episodes) == sum(each["role"] != "system" for each in messages)


@pytest.mark.slow
def test_an_item_of_ten_thousand_messages_takes_time_in_proportion():
    def seconds(many: int) -> float:
        roles = ("user", "assistant", "ana")
        long = item(
            *(said(roles[number % 3], number * HOUR) for number in range(many)),
            hand_off_message_ids=[f"m{number * 3600}" for number in range(0, many, 3)],
        )
        return cpu_seconds(lambda: episodes_of(long))

    check_growth(seconds, 2_500, most=8)
