"""What looks like personal data and is none stays; what hides behind a harmless word does not."""

import json

import pytest

from console.redaction import redact, redact_value

SHA = "3f786850e387550fdab836ed7e6dc881de23001b"
DIGEST = SHA + "a1b2c3d4e5f60718293a4b5c"

HARMLESS = [
    # revisions and packages
    *("uses: actions/checkout@v4", "actions/setup-python@v5.1.0", f"org/repo@{SHA}", "acme/tools@3f78685"),
    *(f"image@sha256:{DIGEST}", f"registry.example.com/team/app@sha256:{DIGEST}", "foo@git+https://git.example/foo"),
    *(
        "0.0.0.4567",
        "4.18.0-553.el8",
        "4.18.0-553.el8_10.x86_64",
        "5.15.0-1051-aws",
        "commit 3f78685",
        "commit 2712345",
    ),
    # times
    *("2024-01-01/2024-02-01", "2024-01-01T00:00:00Z/2024-02-01T00:00:00Z", "20240101T000000Z/20240201T000000Z"),
    # amounts and sizes
    *("1.234.567,89 €", "€ 1.234.567,89", "1 234 567,89 €", "USD 1234567", "1234567 EUR", "GBP 1,234,567.89"),
    *(
        "1234567 B",
        "1234567 bytes",
        "10485760B",
        "12345678 bytes",
        "1234567 KiB",
        "12345678 MiB",
        "123456789 tokens",
        "1234567 ms",
    ),
    # ids of Teams and AWS, books
    *("19:meeting_ZjY5M2Y@thread.v2", "19:a1b2c3d4e5f64789a1b2c3d4e5f64789@thread.tacv2"),
    *("19:ed283a3ac4ac049f88d00985184705e5@thread.v2", "19:meeting_fc8f277013279a6e1f65d7f7@thread.v2"),
    *("https://sqs.eu-west-2.amazonaws.com/123456789012/handoff", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app:1"),
    *("subnet-0a1b2c3d4e5f67890", "subnet-12345678", "sg-0123456789abcdef0", "vpc-87654321", "i-0123456789abcdef0"),
    *("ISBN 978-3-16-148410-0", "ISBN-13: 9783161484100", "ISBN 0-306-40615-2", "0x7ffee1234567"),
]

# Text, and what of it must be gone.
PERSONAL = [
    # orders, in the languages of customers
    *(
        ("#JR08091", "JR08091"),
        ("#AB255787", "255787"),
        ("where is #ORD030651?", "030651"),
        ("ORD-48213", "48213"),
        ("ord 48213", "48213"),
    ),
    *(("order_confirmation: 48213", "48213"), ("أين طلبي رقم 48213", "48213"), ("رقم الطلب: 48213", "48213")),
    *(("मेरा ऑर्डर 48213 कहाँ है", "48213"), ("주문번호 48213", "48213"), ("주문 48213 언제 오나요", "48213")),
    *(("คำสั่งซื้อ 48213", "48213"), ("หมายเลขคำสั่งซื้อ 48213", "48213"), ("đơn hàng 48213", "48213")),
    *(
        ("mã đơn hàng: 48213", "48213"),
        ("订单号 48213", "48213"),
        ("我的订单48213在哪", "48213"),
        ("單號 48213", "48213"),
    ),
    # numbers with something beside them
    *(("let 07700900123 us know", "07700900123"), ("tell 07700900123 ms Smith", "07700900123")),
    *(
        ("07700900123 records", "07700900123"),
        ("pay 7700900123 EUR", "7700900123"),
        ("call 07700\t900\t123", "900\t123"),
    ),
    *(("07700\t900123", "900123"), ("call07700 900 123", "900 123"), ("ring07700 900123", "900123")),
    *(("sg-87654321", "87654321"), ("19:447700900123@thread.v2", "7700900123")),
    # local parts with characters of RFC 5321 that are rare
    *(("jo!def@mail.example", "jo"), ("jo^def@mail.example", "jo"), ("jo`def@mail.example", "jo")),
    *(("x{y}@mail.example", "x{y"), ("jo~def@mail.example", "jo"), ("jo$def@mail.example", "jo")),
    # secrets in links
    *(("https://x.example/r?token=abc123def&x=1", "abc123def"), ("https://x.example/r?a=1&otp=7731", "7731")),
    # names in text
    *(("name=Ann Lee, ok", "Ann Lee"), ("customer: María-José O'Neill", "María")),
]

NAMES = [
    *({key: "Olivia Brown"} for key in ("name", "real_name", "display_name", "candidate_name", "displayName")),
    *({key: "Jean van der Berg"} for key in ("patient", "customer", "recipient", "contact", "guest", "caller")),
    *({"name": "伊藤"}, {"list": [{"name": "Ann Lee"}]}, {"name": "olivia", "phone": "07700900123"}),
    *({"email": "a@b.example", "name": "acme ltd"}, {"customer": {"M": {"name": {"S": "Ann"}}}}),
    *({"otp": "123456"}, {"pin": 4821}, {"token": "abcdef"}, {"nino": "QQ123456C"}, {"private_key": "-----BEGIN"}),
    *({"orderId": {"S": "48213"}}, {"order": {"M": {"id": {"S": "48213"}}}}, {"order": {"id": {"N": "48213"}}}),
    *({"phone": {"N": "12345"}}, {"order_confirmation": "48213"}),
]

NOBODY = [
    *({"name": "lookup_order"}, {"name": "get_order", "arguments": "{}"}, {"name": "gpt-4o"}, {"name": "WhatsApp"}),
    *({"product": {"name": "Blue Shirt"}}, {"tool": {"name": "Lookup"}}, {"tenants": [{"name": "Acme Ltd"}]}),
    *({"company_name": "Acme Ltd"}, {"project_name": "Returns Desk"}, {"customer": "cus_123"}, {"contact": "yes"}),
    *({"max_tokens": 400}, {"next_token": "abc"}, {"prompt_tokens": 5}, {"pinned": True}, {"agent": "ann.lee"}),
    *({"S": "abc"}, {"N": 123456}, {"recipient": "internal"}),
]


def forms(text):
    yield text
    yield json.dumps({"text": text})
    yield json.dumps({"text": text}, ensure_ascii=False)
    yield json.dumps({"body": json.dumps({"text": text})})


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_personal_data_stays(text):
    for form in (*forms(text), *forms(f"saw {text} now")):
        assert redact(form) == form


@pytest.mark.parametrize(("text", "secret"), PERSONAL)
def test_what_hides_behind_a_harmless_word_or_sign_is_masked(text, secret):
    for form in forms(text):
        redacted = redact(form)
        assert secret not in redacted
        assert json.dumps(secret)[1:-1] not in redacted
        assert redact(redacted) == redacted


@pytest.mark.parametrize("value", NAMES, ids=json.dumps)
def test_names_and_secrets_are_masked_by_their_keys_however_they_are_read(value):
    text = json.dumps(value)
    secret = json.loads(text, object_pairs_hook=lambda pairs: pairs[-1][1])
    redacted = redact(text)
    assert "***" in redacted
    assert json.dumps(secret) not in redacted
    assert redact(redacted) == redacted
    assert redact_value(value) == json.loads(redacted)
    # The walk over what stands in other text says the same.
    assert redact(f"x {text}") == f"x {redacted}"


@pytest.mark.parametrize("value", NOBODY, ids=json.dumps)
def test_what_has_a_name_and_is_nobody_stays(value):
    assert redact_value(value) == value
    assert redact(json.dumps(value)) == json.dumps(value)
    assert redact(f"x {json.dumps(value)}") == f"x {json.dumps(value)}"


def test_a_sentence_behind_a_word_for_people_stays():
    for text in ("Customer: Thanks for coming", "name: get_order", "Recipient: Yes", "contact: see below"):
        assert redact(text) == text
