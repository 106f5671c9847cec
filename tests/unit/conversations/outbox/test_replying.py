"""May the customer be answered now: who holds it, channel, consent, 24 hours, addresses, credentials, length."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.models import Conversation
from conversations.outbox.replying import (
    CUSTOMER_OBSTACLES,
    MAX_CHARACTERS,
    WINDOW,
    Obstacle,
    ReplyDraft,
    ReplyFacts,
    check_reply,
    explain_obstacle,
    length_of,
)
from tests.dynamodb import to_dynamodb
from tests.items import conversation

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNELS = st.sampled_from(["whatsapp", "sms", "email", "teams", ""])
INSTANTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))
PEOPLE = st.sampled_from(["", "ana", "ben"])
FACTS = st.builds(
    ReplyFacts,
    channel=CHANNELS,
    allowed=st.frozensets(st.sampled_from(["whatsapp", "sms", "email"])),
    has_consent=st.booleans(),
    heard_at=st.none() | INSTANTS,
    holder=PEOPLE,
    sender=st.sampled_from(["", "+441134960000"]),
    recipient=st.sampled_from(["", "+447700900123"]),
    credentials=st.sampled_from(["", "whatsapp/a/b/twilio"]),
)
DRAFTS = st.builds(
    ReplyDraft,
    author=st.sampled_from(["ana", "ben"]),
    text=st.text(max_size=20) | st.sampled_from(["x" * 1600, "x" * 1601, "🙂" * 801, "x" * 20_001]),
    is_template=st.booleans(),
    is_accepted=st.booleans(),
)


def facts(heard_at: datetime | None = NOW, **overrides) -> ReplyFacts:
    return ReplyFacts.of(Conversation.from_raw_data(to_dynamodb(conversation(**overrides))), heard_at)


def of_the_customer(about: ReplyFacts, now: datetime = NOW) -> tuple[Obstacle, ...]:
    return tuple(each for each in check_reply(about, now).obstacles if each in CUSTOMER_OBSTACLES)


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
    about = facts(NOW - waited)
    assert check_reply(about, NOW).until == NOW - waited + timedelta(hours=24)
    assert of_the_customer(about) == (() if is_open else (Obstacle.WINDOW,))


def test_where_the_customer_never_wrote_whatsapp_takes_none():
    assert of_the_customer(facts(None)) == (Obstacle.WINDOW,)
    assert of_the_customer(facts(None, channel_method="sms")) == ()


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
    assert of_the_customer(facts(**overrides)) == expected


NESTED = {"whatsapp": {"company_whatsapp_number": "+441134960000", "whatsapp_credentials_id": " a/b "}}
FLAT = {"company_whatsapp_number": "+441134960000", "whatsapp_credentials_id": "a/b"}


@pytest.mark.parametrize("config", [NESTED, FLAT])
def test_addresses_and_credentials_stand_in_the_channels_own_map_or_beside_it(config):
    about = facts(channel_config=config, gsi_company_whatsapp_number=...)
    assert (about.sender, about.credentials, about.recipient) == ("+441134960000", "a/b", "+447700900123")


@pytest.mark.parametrize("config", [{}, None, [], {"whatsapp": None}, {"whatsapp": {"whatsapp_credentials_id": 7}}])
def test_what_is_not_named_stands_in_the_way(config):
    about = facts(channel_config=config, gsi_company_whatsapp_number=...)
    assert {Obstacle.SENDER, Obstacle.CREDENTIALS} <= set(check_reply(about, NOW).obstacles)


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ("+44 7700 900123", "+447700900123"),
        ("447700900123", "+447700900123"),
        # Whose country that is, nobody says: the conversation's own key does.
        ("07700 900123", "+447700900999"),
        ("not a number", "+447700900999"),
        (None, "+447700900999"),
    ],
)
def test_a_number_needs_its_country_code(stored, found):
    assert facts(recipient_tel=stored, primary_channel="+447700900999").recipient == found


def test_a_national_number_alone_cannot_be_written_to():
    about = facts(recipient_tel="07700900123", primary_channel="07700900123")
    assert Obstacle.RECIPIENT in check_reply(about, NOW).obstacles


@pytest.mark.parametrize("stored", ["jo@doe.example", " jo@doe.example "])
def test_an_email_goes_to_the_customers_address(stored):
    about = facts(channel_method="email", recipient_email=stored, gsi_company_email="us@x.example")
    assert (about.recipient, about.sender) == ("jo@doe.example", "us@x.example")


@given(FACTS, INSTANTS, st.timedeltas(timedelta(0), timedelta(days=60)), st.none() | DRAFTS)
def test_time_never_opens_what_it_has_closed(about, now, later, draft):
    before, after = check_reply(about, now, draft), check_reply(about, now + later, draft)
    assert set(before.obstacles) <= set(after.obstacles)
    assert before.until == after.until


@given(FACTS, INSTANTS, st.none() | DRAFTS)
def test_each_obstacle_has_its_one_cause(about, now, draft):
    check = check_reply(about, now, draft)
    is_over = about.channel == "whatsapp" and (about.heard_at is None or about.heard_at + WINDOW <= now)
    causes = {
        Obstacle.CONSENT: not about.has_consent,
        Obstacle.CHANNEL: bool(about.allowed) and about.channel not in about.allowed,
        Obstacle.WINDOW: is_over and not (draft and draft.is_template),
        Obstacle.SENDER: not about.sender,
        Obstacle.RECIPIENT: not about.recipient,
        Obstacle.CREDENTIALS: not about.credentials,
    }
    if draft is not None:
        nobody = draft.is_accepted and not about.holder
        causes[Obstacle.HOLDER] = about.holder != draft.author and not nobody
        causes[Obstacle.EMPTY] = not draft.text.strip()
        causes[Obstacle.LENGTH] = length_of(draft.text) > MAX_CHARACTERS.get(about.channel, 0)
    assert {each for each, stands in causes.items() if stands} == set(check.obstacles)
    assert check.until is None or about.channel == "whatsapp"


@given(FACTS, INSTANTS, DRAFTS)
def test_what_was_accepted_is_refused_for_less_and_never_for_more(about, now, draft):
    """Between form and sender nothing becomes an obstacle but by time or change."""
    fresh = ReplyDraft(draft.author, draft.text, draft.is_template)
    accepted = ReplyDraft(draft.author, draft.text, draft.is_template, is_accepted=True)
    assert set(check_reply(about, now, accepted).obstacles) <= set(check_reply(about, now, fresh).obstacles)


@given(st.text())
def test_lengths_are_those_of_browsers(text):
    assert length_of(text) == sum(2 if ord(each) > 0xFFFF else 1 for each in text)


@pytest.mark.parametrize("obstacle", Obstacle)
@pytest.mark.parametrize("channel", ["WhatsApp", "SMS", "email", ""])
def test_every_obstacle_is_said_in_a_sentence(obstacle, channel):
    words = explain_obstacle(obstacle, channel)
    assert words[0].isupper()
    assert words.endswith(".")
    assert "  " not in words
