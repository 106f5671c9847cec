"""Ids of channels: as webhooks carry them, whatever people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Invalid
from tenants.keys import TYPES, Channel, ItemKind, checked_channel, kind_of, label_of, partition_of
from tenants.row_forms import IdentityRow


@pytest.mark.parametrize(
    ("kind", "typed", "stored"),
    [
        ("whatsapp", "+44 20 7946 0018", "+442079460018"),
        ("whatsapp", "0044 (20) 7946-0018", "+442079460018"),
        ("whatsapp", "whatsapp:+44 7700 900821", "+447700900821"),
        ("whatsapp", " WhatsApp: +447700900821", "+447700900821"),
        ("sms", "tel:+44 7700 900821", "+447700900821"),
        ("email", "mailto:help@example.com", "help@example.com"),
        ("SMS", "+1.212.555.0100", "+12125550100"),
        ("email", " Help@Example.COM ", "help@example.com"),
        ("teams", "2F6F0C2E-8A1B-4C59-9A52-0D2A4C1F7B11", "2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11"),
        ("teams", "azure-bot-app-id", "azure-bot-app-id"),
        ("slack", "t024be7ld", "T024BE7LD"),
        ("telegram", "@Acme_support_bot", "acme_support_bot"),
        ("telegram", "123456789", "123456789"),
        ("telegram", "3fa94c21d0e8b7a6", "3fa94c21d0e8b7a6"),
        ("whatsapp", " 3FA94C21D0E8B7A6", "3fa94c21d0e8b7a6"),
        ("whatsapp", "8603294417750921", "8603294417750921"),
        ("dashboard", "main", "main"),
        ("web_widget", "Any Thing/1", "Any Thing/1"),
    ],
)
def test_an_id_is_stored_as_webhooks_carry_it(kind, typed, stored):
    assert checked_channel(kind, typed) == Channel(kind.lower(), stored)


@pytest.mark.parametrize(
    ("kind", "typed", "problem"),
    [
        ("whatsapp", "07700 900123", "country code"),
        ("whatsapp", "447700 900821", r"plus .* is missing\. Should it be \+447700900821\?"),
        ("sms", "7700900821", r"Should it be \+7700900821\?"),
        ("sms", "44", "country code, such as"),
        ("whatsapp", "+0 7700 900123", "country code"),
        ("whatsapp", "+44 7700 900123 123456", "country code"),
        ("sms", "help@example.com", "country code"),
        ("sms", "3fa94c21d0e8b7a6", "country code"),
        ("whatsapp", "3fa94c21d0e8b7a", "country code"),
        ("whatsapp", "3fa94c21d0e8b7ag", "country code"),
        ("sms", "", "country code"),
        ("sms", "+٤٤٧٧٠٠٩٠٠١٢٣", "country code"),
        ("email", "help", "one email address"),
        ("email", "a@example.com, b@example.com", "one email address"),
        ("email", "a@-example.com", "one email address"),
        ("email", f"a@{'x' * 320}.com", "one email address"),
        ("teams", "not an id", "app id"),
        ("slack", "acme", "T024BE7LD"),
        ("telegram", "a b", "bot's name"),
        ("web", "a#b", "cannot contain #"),
        ("web", "a\x00b", "control or invisible characters"),
        ("web", "", "cannot be empty"),
        ("web", "x" * 321, "at most 320"),
        ("", "x", "word of lower-case"),
        ("a#b", "x", "word of lower-case"),
        ("a" * 41, "x", "word of lower-case"),
    ],
)
def test_what_is_wrong_is_said_of_that_type(kind, typed, problem):
    with pytest.raises(Invalid, match=problem):
        checked_channel(kind, typed)


@pytest.mark.parametrize(
    ("kind", "typed", "stored"),
    [
        ("whatsapp", "whatsapp:+44 7700 900821", "+447700900821"),
        ("WhatsApp", "+44 7700 900821", "+447700900821"),
        ("sms", "tel:0044 7700 900821", "+447700900821"),
        ("teams", "29:1XJKJMvc5GBtc2JwZq0oj8tHZmzrQgFmB39ATiQWA", "29:1XJKJMvc5GBtc2JwZq0oj8tHZmzrQgFmB39ATiQWA"),
        ("dashboard", "tel:x", "tel:x"),
    ],
)
def test_an_identity_is_stored_as_a_channels_id_is(kind, typed, stored):
    data = {"type": kind, "id": typed}
    row = IdentityRow(data)
    assert row.is_valid()
    assert row.cleaned_data["id"] == stored


@pytest.mark.parametrize(
    ("kind", "typed", "problem"),
    [
        ("sms", "07700 900123", "Enter the number with its country code, such as +44 20 7946 0018."),
        ("whatsapp", "447700900821", "The plus before the country code is missing. Should it be +447700900821?"),
        ("slack", " ", "Enter an id."),
        ("slack", "U\u202e1", "Remove the control characters from the id."),
    ],
)
def test_an_identity_that_no_channel_would_accept_is_refused_in_the_same_words(kind, typed, problem):
    assert IdentityRow({"type": kind, "id": typed}).errors["id"] == [problem]


def test_a_stored_identity_without_a_country_code_stays():
    stored = {"type": "whatsapp", "id": "447700900821"}
    row = IdentityRow(dict(stored), initial=stored)
    assert row.is_valid()
    assert row.cleaned_data == stored


@given(st.sampled_from([*TYPES, "web"]), st.text(max_size=60))
def test_whatever_is_accepted_is_a_key_of_one_channel_and_stays_as_it_is(kind, typed):
    try:
        channel = checked_channel(kind, typed)
    except Invalid:
        return
    assert kind_of(partition_of("t"), channel.key) is ItemKind.CHANNEL
    assert Channel.of(channel.key) == channel
    assert checked_channel(channel.type, channel.id) == channel


def test_types_have_names_for_people():
    assert (label_of("whatsapp"), label_of("web_widget")) == ("WhatsApp", "web_widget")
