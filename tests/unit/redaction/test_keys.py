"""What a key says about its value."""

import json

import pytest

from console.redaction import redact, redact_value
from console.redaction.keys import KeyKind, key_kinds, looks_like_name, mask_value, words_of
from console.redaction.masks import EMAIL_MASK


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


WHOSE = ("contact", "caller", "cell", "sms", "wa", "whatsapp", "recipient", "sender", "from", "to", "dialed")
SHIPPED = ("shipment", "parcel", "consignment", "package", "track")


@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("number", ["number", "numbers", "no", "msisdn"])
def test_a_number_of_somebody_is_a_phone(whose, number):
    assert key_kinds().classify(f"{whose}_{number}") is KeyKind.PHONE


@pytest.mark.parametrize("key", ["wa_id", "whatsapp_id", "caller_id", "phonenr", "handynr", "mobilnr"])
def test_other_words_for_a_phone_are_known(key):
    assert key_kinds().classify(key) is KeyKind.PHONE
    assert key_kinds().classify(f"the_{key}") is KeyKind.PHONE


@pytest.mark.parametrize("key", ["number", "room_number", "caller_note", "app_id", "wa_note"])
def test_a_number_of_nobody_is_no_phone(key):
    assert not key_kinds().classify(key).is_sensitive


@pytest.mark.parametrize("what", SHIPPED)
@pytest.mark.parametrize("named", ["number", "no", "id", "ref", "code", "url", "link"])
def test_the_number_and_the_link_of_what_is_shipped_are_for_tracking(what, named):
    assert key_kinds().classify(f"{what}_{named}") is KeyKind.TRACKING
    assert not key_kinds().classify(f"{what}_name").is_sensitive
    assert key_kinds().classify(f"{what}_key") is not KeyKind.TRACKING
    assert not key_kinds().classify(what).is_sensitive


@pytest.mark.parametrize("key", ["number", "id", "link", "name", "key"])
def test_what_is_vague_within_a_tracking_is_for_tracking(key):
    assert key_kinds("tracking").classify(key) is KeyKind.TRACKING
    assert key_kinds("tracking").classify("weather") is KeyKind.OTHER
    assert key_kinds("tracking_page").classify(key) is not KeyKind.TRACKING


@pytest.mark.parametrize(
    "key",
    ["order", "my_order", "order_gid", "order_id", "order_name", "po_number", "po_no", "the_po_number", "orderid"],
)
def test_words_for_an_order_are_known(key):
    assert key_kinds().classify(key) is KeyKind.ORDER


@pytest.mark.parametrize("key", ["display_order", "render_order", "tab_order", "z_order", "order_colour", "po_box"])
def test_what_is_sorted_or_beside_an_order_is_none(key):
    assert key_kinds().classify(key) is not KeyKind.ORDER


@pytest.mark.parametrize(("parent", "key"), [("order", "number"), ("orders", "id"), ("my_order", "reference")])
def test_what_is_vague_within_an_order_is_an_order(parent, key):
    assert key_kinds(parent).classify(key) is KeyKind.ORDER
    assert key_kinds(parent).classify(f"item_{key}") is not KeyKind.ORDER
    assert key_kinds(f"{parent}_page").classify(key) is not KeyKind.ORDER


@pytest.mark.parametrize(
    "key",
    [
        "postal_code",
        "post_code",
        "code_postal",
        "the_postal_code",
        "home_address",
        "first_name",
        "given_names",
        "customer_name",
        "customer_city",
        "name_first",
        "names_last",
    ],
)
def test_words_for_a_person_are_known(key):
    assert key_kinds().classify(key) is KeyKind.PERSONAL


@pytest.mark.parametrize(
    "key", ["area_code", "ip_address", "server_address", "queue_name", "city", "depot_city", "first"]
)
def test_words_for_no_person_are_known(key):
    assert not key_kinds().classify(key).is_sensitive


def test_the_parts_of_a_name_are_personal_within_a_name_only():
    assert key_kinds("name").classify("first") is key_kinds("names").classify("last") is KeyKind.PERSONAL
    assert key_kinds("row").classify("first") is key_kinds("name").classify("shade") is KeyKind.OTHER


@pytest.mark.parametrize("kind", [KeyKind.ORDER, KeyKind.PHONE])
@pytest.mark.parametrize("type_name", ["S", "N", "SS", "M", "L"])
def test_a_type_of_dynamodb_is_of_the_kind_of_the_key_above_it(kind, type_name):
    assert key_kinds("anything", kind).classify(type_name) is kind
    assert key_kinds("", KeyKind.ORDER).classify(type_name) is KeyKind.OTHER
    assert key_kinds("anything", KeyKind.ORDER).classify("SHADE") is KeyKind.OTHER


@pytest.mark.parametrize(
    ("parent", "kind"),
    [("", KeyKind.NAME), ("reply", KeyKind.NAME), ("product", KeyKind.OTHER), ("products", KeyKind.OTHER)],
)
def test_a_name_is_a_persons_unless_it_is_a_things(parent, kind):
    assert key_kinds(parent).classify("name") is kind


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("created_note", KeyKind.SAFE),
        ("note_created", KeyKind.SAFE),
        ("a_created_note", KeyKind.OTHER),
        ("thread_ids", KeyKind.ID),
        ("thread_pk", KeyKind.ID),
        ("customer_ids", KeyKind.OTHER),
        ("id_thread", KeyKind.OTHER),
        ("is_birth", KeyKind.OTHER),
        ("birth_date", KeyKind.PERSONAL),
    ],
)
def test_the_first_or_last_word_says_what_is_plain(key, kind):
    assert key_kinds().classify(key) is kind


@pytest.mark.parametrize(
    "text",
    ["Ann", "Ann Lee", "Ann van der Berg", "J. Lee", f"A{'n' * 79}", "Ann-Marie O'Neill", "ANN LEE", "McCoy"],
)
def test_what_looks_like_a_name_is_told(text):
    assert looks_like_name(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "ann", "ANN", "van der", "iPhone", "DeVitO", "Ann 7", "A B C D E F", f"A{'n' * 80}", "blue Shirt"],
)
def test_what_does_not_look_like_a_name_is_told(text):
    assert not looks_like_name(text)


@pytest.mark.parametrize(
    ("kind", "value", "mask"),
    [
        (KeyKind.PHONE, "07700 900123", "***-***-0123"),
        (KeyKind.PHONE, "jo@doe.example", EMAIL_MASK),
        (KeyKind.PHONE, "7" * 41, "***"),
        (KeyKind.PHONE, f"{'-' * 28}07700 900123", "***-***-0123"),
        (KeyKind.PHONE, f"{'-' * 29}07700 900123", "***"),
        (KeyKind.EMAIL, "anything", EMAIL_MASK),
        (KeyKind.ORDER, "x" * 65, "***"),
        (KeyKind.ORDER, "asc", "asc"),
        (KeyKind.ORDER, " Descending ", " Descending "),
        (KeyKind.PERSONAL, "asc", "***"),
        (KeyKind.PERSONAL, "***-***-0123", "***-***-0123"),
        (KeyKind.PERSONAL, "*not a mask", "***"),
        (KeyKind.PERSONAL, "  ", "  "),
    ],
)
def test_the_kind_decides_the_mask(kind, value, mask):
    assert mask_value(kind, value) == mask


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
    redact_value({"once_met_total": 1})
    assert key_kinds()["once_met_total"] is KeyKind.SAFE
    kinds.remember("cart_total", kinds.classify("cart_total"))
    assert kinds["cart_total"] is KeyKind.SAFE


def test_what_stands_under_a_key_that_is_personal_data_is_not_remembered():
    assert key_kinds("cart") is key_kinds("cart")
    assert key_kinds("+447123454821") is not key_kinds("+447123454821")


def test_what_stands_under_a_key_is_remembered_for_its_usual_kind_only():
    kinds = key_kinds("a parent of one")
    kinds.remember("cart", KeyKind.OTHER)
    usual = kinds.kinds_inside("cart", KeyKind.OTHER)
    assert kinds.inside == {"cart": usual}
    assert kinds.kinds_inside("cart", KeyKind.PERSONAL).classify("note") is KeyKind.PERSONAL
    assert kinds.kinds_inside("cart", KeyKind.OTHER) is usual


def test_what_stands_under_a_key_that_is_no_text_is_redacted():
    value = {7: {"a": "07700 900123", "phone": "12"}, None: {"a": ["07700 900123"]}}
    assert redact_value(value) == {7: {"a": "***-***-0123", "phone": "***"}, None: {"a": ["***-***-0123"]}}


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


@pytest.mark.parametrize("letter", ["م", "ना", "ไ", "ä", "Ä", "a", "ё"])
@pytest.mark.parametrize("end", ["!", "", "9999"])
def test_a_key_of_many_letters_is_judged_at_once_whatever_its_script(letter, end):
    """Letters that two parts of a pattern match took twice as long for each further one: minutes for thirty."""
    text = json.dumps({"input": json.dumps({letter * 60 + end: "a key"}, ensure_ascii=False)}, ensure_ascii=False)
    assert "a key" in redact(text)
