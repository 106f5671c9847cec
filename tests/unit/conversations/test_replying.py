"""May the customer be answered now: channel, consent and WhatsApp's 24 hours, for any facts and at any instant."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.models import Conversation
from conversations.replying import WINDOW, Obstacle, ReplyFacts, check_reply
from tests.dynamodb import to_dynamodb
from tests.items import conversation

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNELS = st.sampled_from(["whatsapp", "sms", "email", "teams", ""])
INSTANTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))
FACTS = st.builds(
    ReplyFacts,
    channel=CHANNELS,
    allowed=st.frozensets(st.sampled_from(["whatsapp", "sms", "email"])),
    has_consent=st.booleans(),
    heard_at=st.none() | INSTANTS,
)


def facts(heard_at: datetime | None = NOW, **overrides) -> ReplyFacts:
    return ReplyFacts.of(Conversation.from_raw_data(to_dynamodb(conversation(**overrides))), heard_at)


@pytest.mark.parametrize(
    ("waited", "is_open"),
    [
        (timedelta(0), True),
        (WINDOW - timedelta(seconds=1), True),
        (WINDOW, False),
        (timedelta(days=9), False),
        # The provider's clock is ahead of ours.
        (-timedelta(minutes=3), True),
    ],
)
def test_whatsapp_takes_free_text_for_24_hours_after_the_customer_wrote(waited, is_open):
    check = check_reply(facts(NOW - waited), NOW)
    assert check.until == NOW - waited + timedelta(hours=24)
    assert check.obstacles == (() if is_open else (Obstacle.WINDOW,))


def test_where_the_customer_never_wrote_whatsapp_takes_none():
    assert check_reply(facts(None), NOW).obstacles == (Obstacle.WINDOW,)
    assert check_reply(facts(None, channel_method="sms"), NOW).obstacles == ()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"comms_consent": False}, (Obstacle.CONSENT,)),
        ({"comms_consent": None}, (Obstacle.CONSENT,)),
        ({"comms_consent": "false"}, (Obstacle.CONSENT,)),
        ({"comms_consent": "true"}, ()),
        ({"allowed_channels": ["email"]}, (Obstacle.CHANNEL,)),
        ({"allowed_channels": [" WhatsApp ", 7, None]}, ()),
        ({"allowed_channels": {"whatsapp", "sms"}}, ()),
        # Nothing is said, or nothing that can be read: no channel is excluded.
        ({"allowed_channels": []}, ()),
        ({"allowed_channels": "email"}, ()),
        ({"allowed_channels": ["email"], "comms_consent": False}, (Obstacle.CHANNEL, Obstacle.CONSENT)),
        ({"channel_method": "WhatsApp "}, ()),
    ],
)
def test_what_the_item_says_decides_in_whatever_spelling(overrides, expected):
    assert check_reply(facts(**overrides), NOW).obstacles == expected


@given(FACTS, INSTANTS, st.timedeltas(timedelta(0), timedelta(days=60)))
def test_time_never_opens_what_it_has_closed(about, now, later):
    before, after = check_reply(about, now), check_reply(about, now + later)
    assert set(before.obstacles) <= set(after.obstacles)
    assert before.until == after.until


@given(FACTS, INSTANTS)
def test_each_obstacle_has_its_one_cause(about, now):
    check = check_reply(about, now)
    assert (Obstacle.CONSENT in check.obstacles) is (not about.has_consent)
    assert (Obstacle.CHANNEL in check.obstacles) is (bool(about.allowed) and about.channel not in about.allowed)
    is_over = about.heard_at is None or about.heard_at + WINDOW <= now
    assert (Obstacle.WINDOW in check.obstacles) is (about.channel == "whatsapp" and is_over)
    assert check.until is None or about.channel == "whatsapp"
