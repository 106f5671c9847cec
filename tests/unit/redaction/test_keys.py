"""What a key says about its value."""

import json

import pytest

from console.redaction import redact, redact_value
from console.redaction.keys import KeyKind, key_kinds, words_of


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("customerOrderId", ("customer", "order", "id")),
        ("wa_id", ("wa", "id")),
        ("customer-phone", ("customer", "phone")),
        ("SMSNumber", ("sms", "number")),
        ("address1", ("address",)),
        ("+447123454821", ()),
        ("jo@example.com", ()),
    ],
)
def test_keys_are_split_into_words(key, words):
    assert words_of(key) == words


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        *(
            (key, KeyKind.PHONE)
            for key in ("phone", "customer_phone", "mobileNumber", "tel", "wa_id", "waId", "msisdn")
        ),
        *(
            (key, KeyKind.PHONE)
            for key in ("phoneE164", "phones[0]", "line2.phone", "Telefonnummer", "téléphone", "celular")
        ),
        *((key, KeyKind.EMAIL) for key in ("email", "customerEmail", "email_address", "mail")),
        *((key, KeyKind.TRACKING) for key in ("tracking_number", "trackingUrl", "awb", "shipment_number", "tracking")),
        *((key, KeyKind.ORDER) for key in ("order_number", "customerOrderId", "orderId", "orders", "order_ref")),
        *((key, KeyKind.ORDER) for key in ("bestellnummer", "pedido", "po_number", "orderGid")),
        *((key, KeyKind.PERSONAL) for key in ("first_name", "lastName", "customer_name", "default_address", "zip")),
        *((key, KeyKind.PERSONAL) for key in ("birth_date", "name_first", "Nachname", "refresh_token", "billing_city")),
        *((key, KeyKind.SAFE) for key in ("ts", "prompt_tokens", "amount_minor", "createdAt", "content_length")),
        *((key, KeyKind.ID) for key in ("product_id", "id", "threadId")),
        *((key, KeyKind.OTHER) for key in ("customer_id", "product_name", "text", "ip_address", "next_token")),
        *((key, KeyKind.NAME) for key in ("name", "recipient", "patient", "customer", "contact")),
        *(
            (key, KeyKind.PERSONAL)
            for key in ("real_name", "displayName", "candidate_name", "otp", "pin", "token", "nino")
        ),
        *(
            (key, KeyKind.PERSONAL)
            for key in ("private_key", "secretKey", "aws_access_key_id", "national_insurance_number")
        ),
    ],
)
def test_words_decide_the_kind(key, kind):
    assert key_kinds().classify(key) is kind


@pytest.mark.parametrize(
    "key",
    [
        "tracking_status",
        "phone_verified",
        "sort_order",
        "order_status",
        "email_sent",
        "has_phone",
        "order_total",
        "display_order",
    ],
)
def test_descriptors_are_not_sensitive(key):
    assert not key_kinds().classify(key).is_sensitive


@pytest.mark.parametrize(
    ("parent", "key", "kind"),
    [
        ("order", "id", KeyKind.ORDER),
        ("order", "name", KeyKind.ORDER),
        ("order", "currency", KeyKind.OTHER),
        ("tracking", "url", KeyKind.TRACKING),
        ("customer", "name", KeyKind.PERSONAL),
        ("customer", "id", KeyKind.OTHER),
        ("product", "name", KeyKind.OTHER),
        ("product", "id", KeyKind.ID),
    ],
)
def test_the_parent_decides_where_the_key_is_vague(parent, key, kind):
    assert key_kinds(parent).classify(key) is kind


def test_a_container_passes_its_kind_on_but_not_to_descriptors():
    inside_phone = key_kinds("phone", KeyKind.PHONE)
    assert inside_phone.classify("number") is KeyKind.PHONE
    assert inside_phone.classify("country") is KeyKind.OTHER
    assert key_kinds("address", KeyKind.PERSONAL).classify("country") is KeyKind.PERSONAL


def test_a_key_that_is_personal_data_is_not_remembered():
    kinds = key_kinds()
    for key in ("447123454821", "jo@example.com"):
        kinds.remember(key, kinds.classify(key))
        assert key not in kinds
    kinds.remember("cart_total", kinds.classify("cart_total"))
    assert kinds["cart_total"] is KeyKind.SAFE


def test_the_memory_of_keys_is_bounded_and_never_stays_full():
    kinds = key_kinds("a parent of many")
    for first in "abcdefghijklmnopqrstuvwxyz":
        for second in "abcdefghijklmnopqrstuvwxyz":
            kinds.remember(f"{first}{second}_size", KeyKind.SAFE)
            assert f"{first}{second}_size" in kinds
    assert len(kinds) == len(kinds.harmless) < 600


@pytest.mark.parametrize("key", ["order a1b2c3d4e5", "tracking a1b2c3d4e5", "wamid.HBgM", "+44 71 23 45 48 21"])
def test_a_key_is_masked_the_second_time_as_the_first(key):
    text = json.dumps({key: 1})
    assert redact(text) == redact(text) != text


def test_what_is_in_a_name_is_judged_by_what_stands_beside_it_whatever_was_read_before():
    alone, beside = {"name": {"text": "anna"}}, {"phone": "07700900123", "name": {"text": "anna"}}
    for value in (alone, beside, alone, beside):
        shown = "anna" if value is alone else "***"
        assert redact_value(value)["name"]["text"] == shown
        assert json.loads(redact(json.dumps(value)))["name"]["text"] == shown
