"""The facts beside a conversation: every attribute of the schema, redacted, and no credential in full."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console import clock
from console.redaction.credentials import is_credential_key, mask_credentials
from console.schema.tables import TABLES
from conversations.messages.facts import facts_of, redact_and_mask
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from tests.dynamodb import to_dynamodb
from tests.items import conversation

SECRET = "wh-live-0123456789-Zq9x"


def loaded(**overrides) -> tuple[Conversation, StoredMessages]:
    raw = to_dynamodb(conversation(**overrides))
    messages = raw.pop("messages", None)
    return Conversation.from_raw_data(raw), StoredMessages.of(messages)


def words_of(facts) -> str:
    return repr(facts)


def lines(facts) -> dict[str, str]:
    groups = (facts.main, *facts.helpful, *facts.technical)
    return {
        fact.label: fact.value or (fact.at and clock.to_iso(fact.at, "seconds")) for g in groups for fact in g.facts
    }


def test_status_and_channel_are_said_in_the_words_of_the_lists():
    shown = lines(facts_of(*loaded(conversation_status="reply_sent", channel_method="whatsapp")))
    assert (shown["AI’s status"], shown["Channel"]) == ("reply sent", "WhatsApp")
    shown = lines(facts_of(*loaded(conversation_status=["odd"], channel_method="carrier_pigeon")))
    assert shown["Channel"] == "carrier_pigeon"


def full_item() -> dict:
    """Every attribute of the schema with a value that can be found again."""
    marked: dict[str, Any] = {
        name: f"value-of-{name.replace('_', '-')}"
        for name, attribute in Conversation.get_attributes().items()
        if attribute.attr_type == "S" and not name.endswith(("_at", "_timestamp", "_tel", "_email"))
    }
    marked |= {"project_data": {"job": "x-project-data"}, "company_rep": {"desk": "x-company-rep"}}
    marked |= {"ai_config": {"model": "x-ai-config"}, "channel_config": {"mode": "x-channel-config"}}
    marked |= {"allowed_channels": ["x-allowed-channels"]}
    # Names are masked in the other values: these have no word in common with them.
    marked |= {"recipient_first_name": "Zebedee", "recipient_last_name": "Quackenbush"}
    for kind in ("initial", "reply"):
        for what in ("number", "email"):
            marked[f"auto_queue_{kind}_message_from_{what}"] = [f"x-{kind}-{what}"]
    return marked


def test_every_attribute_of_the_schema_is_shown():
    item, stored = loaded(**full_item())
    shown = words_of(facts_of(item, stored))
    named_elsewhere = {"messages", "primary_channel", "conversation_id", "hand_off_note"}
    masked = {"recipient_first_name", "recipient_last_name", "email_id", "gsi_recipient_tel", "gsi_recipient_email"}
    masked |= {name for name in full_item() if name.startswith("gsi_company")}
    for name, value in full_item().items():
        if name in named_elsewhere | masked:
            continue
        text = value if isinstance(value, str) else next(iter(value.values() if isinstance(value, dict) else value))
        assert text in shown, name


def test_times_flags_and_durations_are_in_words():
    moment = clock.now()
    item, stored = loaded(
        comms_consent=True,
        task_complete=1,
        function_call=False,
        auto_queue_reply_message=True,
        processing_time_ms=1500,
        initial_request_timestamp="2026-01-01T10:00:00Z",
        messages=[
            {"role": "user", "message_timestamp": "2026-01-01T10:00:00Z"},
            {"role": "assistant", "message_timestamp": "2026-01-01T10:00:04.500Z"},
        ],
        ttl=clock.to_epoch(moment + timedelta(days=3)),
    )
    shown = lines(facts_of(item, stored))
    assert shown["Consent"] == "given"
    assert shown["Task complete"] == "yes"
    assert shown["Function call"] == "no"
    assert shown["Queue replies"] == "yes"
    assert shown["Processing"] == "1.5 s"
    assert shown["First answer after"] == "4.5 s"
    assert shown["Expires"].startswith(clock.to_iso(moment + timedelta(days=3))[:10])


def test_the_recipient_is_masked_everywhere():
    item, stored = loaded(
        recipient_email="jo@doe.example",
        recipient_first_name="Zebedee",
        recipient_last_name="Quackenbush",
        project_data={"note": "call +447700900123 or jo@doe.example"},
        unexpected={"phone": "+447700900123"},
    )
    shown = words_of(facts_of(item, stored))
    for personal in ("7700900123", "jo@doe.example", "Zebedee", "Quackenbush"):
        assert personal not in shown


DRIFTED = [
    {"comms_consent": "yes"},
    {"processing_time_ms": "fast"},
    {"processing_time_ms": {"a": 1}},
    {"created_at": 1700000000},
    {"created_at": None},
    {"company_id": ...},
    {"task_complete": "1"},
    {"project_data": "text"},
    {"ai_config": json.dumps({"api_key": SECRET})},
    {"channel_config": ["x"]},
    {"allowed_channels": {"whatsapp", "email"}},
    {"auto_queue_initial_message_from_number": "+441234567890"},
    {"ttl": "soon"},
    {"function_call": 3},
    {"conversation_status": {"nested": True}},
    {"thread_id": None},
    {"brand_new": {"deep": [1, {"x": None}]}},
]


@pytest.mark.parametrize("overrides", DRIFTED, ids=lambda overrides: next(iter(overrides)))
def test_a_drifted_attribute_is_shown_and_named_and_never_an_error(overrides):
    item, stored = loaded(**overrides)
    facts = facts_of(item, stored)
    name, value = next(iter(overrides.items()))
    if value is None and Conversation.get_attributes()[name].null:
        return
    if name != "ttl" or not isinstance(value, int):
        assert any(name in flaw for flaw in facts.drift), facts.drift
    assert SECRET not in words_of(facts)


def test_what_drifts_in_messages_is_named_too():
    item, stored = loaded(messages="not a list")
    assert "messages: text instead of list" in facts_of(item, stored).drift


# --- Credentials --------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(
    sorted(
        {
            "api_key",
            "apiKey",
            "secret",
            "client_secret",
            "accessToken",
            "token",
            "auth_token",
            "credentials",
            "secretArn",
        }
        | {"whatsapp_credentials_id", "password", "db-password", "API_KEY", "openai_api_key_reference", "clientsecret"}
        | {"twilio_auth_token", "x-api-key"}
    )
)
SECRETS = st.text("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ-_/", min_size=2, max_size=40).map("Zq9".__add__)
PLACES = st.recursive(
    st.just(...),
    lambda inner: (
        st.dictionaries(st.sampled_from(["a", "whatsapp", "config"]), inner, min_size=1, max_size=2)
        | st.lists(inner, min_size=1, max_size=2)
    ),
    max_leaves=4,
)


def filled(place, value):
    if place is ...:
        return value
    if isinstance(place, dict):
        return {name: filled(each, value) for name, each in place.items()}
    return [filled(each, value) for each in place]


@pytest.mark.slow
@hypothesis_settings(deadline=None)
@given(PLACES, KEYS, PLACES, SECRETS)
def test_a_credential_is_never_shown_in_full_wherever_it_is(outside, key, inside, secret):
    config = {"config": filled(outside, {key: filled(inside, secret)})}
    assert secret not in json.dumps(mask_credentials(config))
    assert secret not in json.dumps(mask_credentials({"as_text": json.dumps(config)}))
    item, stored = loaded(
        ai_config=config, channel_config=json.dumps(config), project_data=config, unknown_thing=config
    )
    assert secret not in words_of(facts_of(item, stored))
    assert secret not in json.dumps(redact_and_mask({"ai_config": config}), default=str)


@given(SECRETS)
def test_at_most_four_characters_of_a_credential_are_kept(secret):
    shown = mask_credentials({"api_key": secret})["api_key"]
    assert shown.startswith("***")
    assert len(shown) <= 7


@pytest.mark.parametrize(
    "value",
    [
        "arn:aws:secretsmanager:eu-west-2:123456789012:secret:openai/key-AbCdEf",
        "sk-abcdefghijklmnopqrstuvwx",
        "Bearer abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    ],
)
def test_what_looks_like_a_credential_is_masked_under_any_key(value):
    assert value not in json.dumps(mask_credentials({"reference": value, "text": f"use {value} now"}))


def test_counts_of_tokens_and_flags_stay():
    config = {"max_tokens": 400, "ai_total_tokens": 200, "key_rotation": True, "model": "gpt-4o", "secret": None}
    assert mask_credentials(config) == config


@pytest.mark.parametrize("key", ["project_id", "model", "company_name", "temperature", "turkey_recipe"])
def test_harmless_keys_are_no_credentials(key):
    assert not is_credential_key(key)


def test_the_schema_names_every_key_attribute_of_the_table():
    spec = TABLES["CONVERSATIONS"]
    keys = {spec.hash.name, spec.range.name, *(each.hash.name for each in (*spec.gsis, *spec.lsis))}
    assert keys <= set(Conversation.get_attributes())


def test_project_data_is_as_it_is_for_who_answers_and_redacted_for_everybody_else():
    data = {"candidate": "Zebedee Quackenbush", "phone": "+447700900123", "api_key": SECRET, "notes": ["call me"]}
    item, stored = loaded(project_data=data, other={"phone": "+447700900123"})

    def project_data(facts) -> str:
        return repr(facts.helpful[0])

    shown = project_data(facts_of(item, stored, raw=True))
    assert "+447700900123" in shown
    assert "Zebedee Quackenbush" in shown
    assert SECRET not in shown
    assert "+447700900123" not in project_data(facts_of(item, stored))
    facts = facts_of(item, stored, raw=True)
    rest = [*facts.helpful[1:], *facts.technical]
    assert "7700900123" not in repr(rest), "only what the project sent is for who answers"


@pytest.mark.parametrize("drifted", ["call +447700900123", ["+447700900123"], 7, True, '{"phone": "+447700900123"}'])
def test_project_data_of_another_type_is_shown_all_the_same(drifted):
    item, stored = loaded(project_data=drifted)
    shown = words_of(facts_of(item, stored, raw=True))
    assert ("+447700900123" in shown) == ("+44" in str(drifted))
    assert "7700900123" not in words_of(facts_of(item, stored))


def test_what_the_sender_writes_beside_the_schema_is_known_and_in_words():
    item, stored = loaded(
        conversation_status="failed_to_send_message",
        failure_reason="63016: +447700900123 has not written for 24 hours",
        initial_processing_time_ms=2_340,
    )
    facts = facts_of(item, stored)
    shown = lines(facts)
    assert shown["AI’s status"] == "failed to send message"
    assert shown["First message took"] == "2.3 s"
    assert shown["Why it failed"].startswith("63016: ")
    assert "7700900123" not in words_of(facts)
    assert not [flaw for flaw in facts.drift if "unknown" in flaw]
    assert "Unknown attributes" not in [group.title for group in facts.technical]
