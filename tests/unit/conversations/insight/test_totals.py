"""The totals of one conversation: what each means, that drift leaves out a part and breaks nothing, and growth."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from conversations.converting import model_in
from conversations.insight.episodes import episodes_of
from conversations.insight.prices import Tokens, cost
from conversations.insight.totals import in_dollars, totals_of
from conversations.messages.message import IDENTITY, TIME, TOKENS, StoredMessages
from conversations.models import Conversation
from conversations.records import ReplyStatus
from tests.dynamodb import to_dynamodb
from tests.items import conversation
from tests.model.redaction.test_growth import check_text
from tests.unit.conversations.messages.test_messages import JSON_LIKE

START = datetime(2026, 1, 15, 10, tzinfo=UTC)
MINI = {"model": "gpt-4o-mini"}
MESSAGE_FIELDS = {"processing_time_ms", "sent_by", *TIME, *IDENTITY, *chain.from_iterable(TOKENS.values())}


def at(seconds: float) -> str:
    return clock.to_iso(START + timedelta(seconds=seconds))


def says(role, seconds=None, **more):
    time = {} if seconds is None else {"message_timestamp": at(seconds)}
    return {"role": role, "content": "hello", "message_id": f"SM{seconds}", **time, **more}


def used(prompt, completion, **more):
    return {"ai_prompt_tokens": prompt, "ai_completion_tokens": completion, **more}


def totals(*messages, handed_off=None, replies=None, **item):
    raw = to_dynamodb(conversation(messages=list(messages), created_at=at(0)) | {"ai_config": MINI} | item)
    stored = StoredMessages.of(raw.pop("messages"))
    stored = StoredMessages(stored.entries, stored.typed, replies=replies or {})
    moment = None if handed_off is None else START + timedelta(seconds=handed_off)
    return totals_of(Conversation.from_raw_data(raw), stored, moment)


def seconds(*spans):
    return tuple(timedelta(seconds=each) for each in spans)


# --- Messages and tokens ----------------------------------------------------------------------------------------------


def test_people_and_the_ai_write_messages_and_systems_do_not():
    prompt = {"role": "user", "content": "Sell the customer a bicycle.", "message_timestamp": at(0)}
    found = totals(prompt, says("assistant", 1), says("system", 2), says("user", 3), says("agent", 4), says("?", 5))
    assert found.messages == 4
    # With an id it came from the channel.
    assert totals(says("user", 0), says("assistant", 1)).messages == 2


@pytest.mark.parametrize(
    "spelled",
    [
        {"ai_prompt_tokens": 150, "ai_completion_tokens": 50, "ai_total_tokens": 200},
        {"prompt_tokens": "150", "completion_tokens": 50.0, "total_tokens": 200},
        {"input_tokens": 150, "output_tokens": 50},
        {"prompt_tokens": 150, "total_tokens": 200},
        {"completion_tokens": 50, "total_tokens": 200},
    ],
)
def test_tokens_are_counted_in_every_spelling(spelled):
    found = totals(says("assistant", 1, **json.loads(json.dumps(spelled), parse_float=Decimal)))
    assert (found.tokens, found.cost) == (200, cost("gpt-4o-mini", Tokens(150, 50), START.date()))


def test_every_message_with_tokens_counts_whoever_wrote_it():
    prompt = {"role": "user", "content": "x", **used(1000, 0)}
    assert totals(prompt, says("tool", 1, **used(10, 5)), says("assistant", 2, **used(100, 50))).tokens == 1165


def test_cached_tokens_cost_less():
    fresh, cached = (totals(says("assistant", 1, **used(1000, 10), **more)) for more in ({}, {"ai_cached_tokens": 900}))
    assert cached.tokens == fresh.tokens
    assert cached.cost < fresh.cost


def test_tokens_that_are_not_told_apart_have_no_known_cost():
    found = totals(says("assistant", 1, **used(100, 50)), says("assistant", 2, ai_total_tokens=200))
    assert (found.tokens, found.cost) == (350, None)
    assert found.describe()[1] == "350 tokens"


def test_each_day_has_its_price(settings):
    settings.INSIGHT_PRICES = json.dumps(
        [
            {"model": "house", "from": f"2026-01-{day}", "input": price, "output": "0"}
            for day, price in ((14, 1), (16, 5))
        ]
    )
    one, day = used(1_000_000, 0), 24 * 3600
    house = {"ai_config": {"model": "house"}}
    assert totals(says("assistant", 0, **one), says("assistant", day, **one), **house).cost == 6
    # What has no time is of the message before it, or of the item's own day.
    assert totals(says("assistant", day, **one), says("assistant", **one), **house).cost == 10
    assert totals(says("assistant", **one), says("assistant", day, **one), **house).cost == 6
    assert totals(says("assistant", **one), says("assistant", 0, **one), **house).cost == 2


# --- The model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        {"model": " m "},
        {"ai_model": "m"},
        {"model_id": "m", "temperature": 1},
        {"openai": {"deployment_name": "m"}},
        {"model_name": "m", "model_id": "arn"},
        {"whatsapp": {"model": "m"}, "model": "other"},
        {"whatsapp": {"azure": {"model": "m"}}, "model": "other"},
        {"a": {"b": {"c": {"d": {"model": "m"}}}}},
        {"first": {"in": {"model": "other"}}, "second": {"model": "m"}},
        {str(number): number for number in range(100)} | {"openai": {"model": "m"}},
        {"openai_config": {"model": "m"}},
        {"openai_config": {"whatsapp": {"model_name": "m"}, "sms": {"model": "other"}}},
        {"sms": {"model": "other"}, "openai_config": {"replies": {"model": "m"}}},
        json.dumps({"openai_config": {"whatsapp": {"model": "m"}}}),
    ],
)
def test_the_page_and_insight_find_the_model_where_writers_put_it(config):
    raw = to_dynamodb(conversation(ai_config=config))
    assert totals(says("assistant", 1, **used(100, 50)), ai_config=config).model == "m"
    assert episodes_of(raw).model == "m"


@pytest.mark.parametrize("channel", [..., None, "", "teams", 7])
def test_of_another_channel_or_of_none_no_channels_model_counts(channel):
    item = conversation(ai_config={"sms": {"model": "x"}}, channel_method=channel)
    raw = to_dynamodb(item)
    assert totals_of(Conversation.from_raw_data(raw), StoredMessages.of(None), None).model == ""
    assert episodes_of(raw).model == "unknown"
    # What has no channels at all, such as a thread, has maps of any name.
    assert model_in({"sms": {"model": "x"}}) == "x"


@pytest.mark.parametrize(
    "config",
    [None, [], {}, "gpt-4o", "{", "[" * 50_000, {"model": 4}, {"model": {"model": 4}}, {"sms": {"model": "x"}}],
)
def test_without_a_model_the_cost_is_left_out(config):
    found = totals(says("assistant", 1, **used(100, 50)), ai_config=config)
    assert (found.model, found.cost) == ("", None)
    assert episodes_of(to_dynamodb(conversation(ai_config=config))).model == "unknown"
    assert found.describe() == ("1 message", "150 tokens")


def test_an_unknown_model_is_named_and_its_price_said_to_be_unknown():
    found = totals(says("assistant", 1, **used(100, 50)), ai_config={"model": "our-deployment"})
    assert found.describe()[1] == "150 tokens, price of our-deployment unknown"


def test_what_others_call_a_model_is_masked_and_kept_in_its_place():
    hostile = "ada@example.com \u202e" + "x" * 300
    [_, words] = totals(says("assistant", 1, **used(100, 50)), ai_config={"model": hostile}).describe()
    assert "ada@" not in words
    assert len(words) < 120
    assert words.index("\u2068") < words.index("\u202e") < words.index("\u2069")


# --- Turns and answers ------------------------------------------------------------------------------------------------


def test_a_turn_is_what_the_customer_writes_and_the_ai_answers():
    talk = [
        says("assistant", 0),  # answers nobody
        *(says("user", 10), says("user", 11), says("assistant", 15), says("assistant", 16)),
        *(says("user", 20), says("assistant", 22)),
        says("user", 30),  # nobody answers before the hand-off
        says("assistant", 90),
    ]
    assert totals(*talk, handed_off=40).turns == 2
    assert totals(*talk, handed_off=5).turns == 0
    assert totals(*talk).turns is None


def test_what_has_no_time_is_as_old_as_the_message_before_it():
    talk = [says("user"), says("assistant"), says("user", 20), says("assistant"), says("user", 60), says("assistant")]
    assert totals(*talk, handed_off=40).turns == 2
    assert totals(says("user"), says("assistant"), handed_off=40).turns is None


def test_the_ai_answers_from_the_first_message_that_nobody_answered():
    found = totals(
        *(says("user", 10), says("user", 14), says("assistant", 15), says("assistant", 16)),
        *(says("user", 20), says("assistant", 21)),
        *(says("user", 30), says("agent", 31), says("assistant", 39)),
        *(says("user", 40), says("assistant", 43)),
    )
    assert found.ai_answers == seconds(5, 1, 3)
    assert found.usual_ai_answer == timedelta(seconds=3)


def test_an_answer_takes_at_least_as_long_as_writing_it():
    """The platform may store both messages at once, and some have no time."""
    writing = {"processing_time_ms": 2100}
    found = totals(
        *(says("user", 10), says("assistant", 10, **writing)),
        *(says("user"), says("assistant", **writing)),
        *(says("user", 20), says("assistant", 30, **writing)),
        *(says("user", 40), says("assistant", 35, **writing)),
        *(says("user"), says("assistant")),
        *(says("user", 60), says("assistant", 55)),
    )
    assert found.ai_answers == seconds(2.1, 2.1, 10, 2.1)


def test_people_answer_from_the_hand_off_on():
    talk = [says("user", 0), says("agent", 5), says("user", 10), says("agent", 70, entry_id="e1"), says("agent", 90)]
    assert totals(*talk, handed_off=10).human_answer == timedelta(seconds=60)
    assert totals(*talk).human_answer is None
    assert totals(*talk, handed_off=100).human_answer is None


@pytest.mark.parametrize(("state", "after"), [("failed", 80), ("not sent", 80), ("unknown", 80), ("read", 60)])
def test_a_reply_that_did_not_arrive_is_no_answer(state, after):
    replies = {"e1": ReplyStatus(state, "", "", None, "", "amira")}
    mine = {"sent_by": "human"}
    talk = [says("assistant", 70, entry_id="e1", **mine), says("assistant", 90, entry_id="e2", **mine)]
    assert totals(*talk, handed_off=10, replies=replies).human_answer == timedelta(seconds=after)


def test_a_reply_of_a_person_is_none_of_the_ai():
    found = totals(says("user", 0), says("assistant", 4, sent_by="human"), handed_off=2)
    assert (found.turns, found.ai_answers, found.human_answer) == (0, (), timedelta(seconds=2))


# --- In words ---------------------------------------------------------------------------------------------------------


def test_totals_in_words():
    found = totals(
        *(says("user", 0), says("assistant", 2.1, **used(2000, 150))),
        *(says("user", 10), says("assistant", 12.3, **used(200, 60))),
        *(says("user", 30), says("agent", 750)),
        handed_off=30,
    )
    assert found.describe() == (
        "6 messages",
        "2,410 tokens, about $0.00046 (gpt-4o-mini)",
        "2 turns until the hand-off",
        "AI answers in 2.2 s (median)",
        "first human answer after 12 min",
    )


def test_what_is_unknown_is_left_out():
    assert totals().describe() == ("0 messages",)
    assert totals(says("user", 0), says("assistant", 1), handed_off=9).describe() == (
        "2 messages",
        "1 turn until the hand-off",
        "AI answered in 1.0 s",
    )


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "$0.00"),
        ("0.00004", "less than $0.0001"),
        ("0.00424", "about $0.0042"),
        ("0.0527", "about $0.053"),
        ("0.42", "about $0.42"),
        ("1.2349", "about $1.23"),
        ("12345.6", "about $12,345.60"),
    ],
)
def test_small_amounts_keep_two_digits_that_count(amount, words):
    assert in_dollars(Decimal(amount)) == words


# --- Drift and growth -------------------------------------------------------------------------------------------------


def check(item, stored, handed_off_at):
    found = totals_of(item, stored, handed_off_at)
    assert found.tokens >= 0
    assert found.cost is None or found.cost >= 0
    assert all(each >= timedelta(0) for each in found.ai_answers)
    assert "".join(found.describe()).encode()


@pytest.mark.slow
@given(JSON_LIKE, JSON_LIKE, st.none() | st.datetimes(timezones=st.just(UTC)))
def test_nothing_that_is_stored_breaks_the_totals(messages, config, handed_off_at):
    raw = to_dynamodb(conversation()) | {"ai_config": {"S": json.dumps(config)}}
    check(Conversation.from_raw_data(raw), StoredMessages.of({"S": json.dumps(messages)}), handed_off_at)


FIGURES = st.sampled_from(
    [{"N": each} for each in ("0", "7", "-1", "1e125", "1e-130", "NaN", "9" * 38)]
    + [{"S": each} for each in ("", "12", "many", "Infinity", "9" * 400, "\ud800", at(0), at(-5), "human", "e1")]
    + [{"BOOL": True}, {"NULL": True}, {"L": [{"N": "1"}]}, {"M": {"x": {"N": "1"}}}, {"SS": ["a"]}, {"B": "AA=="}]
)
FIELDS = st.sampled_from(sorted(MESSAGE_FIELDS))
ROLES = st.sampled_from([{"S": each} for each in ("user", "assistant", "agent", "tool", "")] + [{"N": "3"}])
ENTRIES = st.builds(
    lambda role, more: {"M": {"role": role} | more}, ROLES, st.dictionaries(FIELDS, FIGURES, max_size=6)
)


@given(st.lists(ENTRIES | FIGURES, max_size=8), FIGURES, FIGURES)
def test_figures_of_any_kind_break_nothing(messages, model, updated_at):
    drift = {"ai_config": {"M": {"model": model}}, "created_at": updated_at, "channel_method": updated_at}
    item = Conversation.from_raw_data(to_dynamodb(conversation()) | drift)
    check(item, StoredMessages.of({"L": messages}), START)


@pytest.mark.slow
def test_totals_take_time_in_proportion_to_the_messages():
    item = Conversation.from_raw_data(to_dynamodb(conversation(ai_config=MINI)))

    def talk(count):
        roles = ("user", "assistant", "agent")
        entries = [says(roles[number % 3], number, **used(100, 5)) for number in range(count)]
        return StoredMessages.of(to_dynamodb({"messages": entries})["messages"])

    check_text(talk, size=500, read=lambda stored: totals_of(item, stored, START))
