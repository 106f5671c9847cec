"""JSON text: whole, nested in strings, inside other text, cut off."""

import json

import pytest

from console.redaction import redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"phone": 38730212558, "attempt": 2}', '{"phone": "***-***-2558", "attempt": 2}'),
        ('{"phones": ["0700 12", 7123456789]}', '{"phones": ["***-***-0012", "***-***-6789"]}'),
        ('{"recipient": 508554896}', '{"recipient": "***-***-4896"}'),
        ('{"customer_id": 447123456789}', '{"customer_id": "***-***-6789"}'),
        ('{"first_name": "Ottilie", "name": "Blue shirt"}', '{"first_name": "***", "name": "Blue shirt"}'),
        ('{"customer": {"name": "Jo"}}', '{"customer": {"name": "***"}}'),
        ('{"address": {"city": "Trowbridge", "zip": 1234}}', '{"address": {"city": "***", "zip": "***"}}'),
        ('{"order": {"id": 406725928, "currency": "GBP"}}', '{"order": {"id": "***5928", "currency": "GBP"}}'),
        ('{"tracking_number": "D1", "tracking_status": "x"}', '{"tracking_number": "***", "tracking_status": "x"}'),
        ('{"+35696966551": {"state": "open"}}', '{"***-***-6551": {"state": "open"}}'),
        ('{"jo@example.com": "active"}', '{"***@***": "active"}'),
        ('{"to": "jo\\u0040example.com", "ok": 1}', '{"to": "***@***", "ok": 1}'),
        ('{"tokens": "call 447123456789"}', '{"tokens": "call ***-***-6789"}'),
        ('{"phone": null, "email": "", "mobile": true}', '{"phone": null, "email": "", "mobile": true}'),
        ("[1, 2, 447123456789]", '[1, 2, "***-***-6789"]'),
    ],
)
def test_keys_decide_first(text, expected):
    assert redact(text) == expected
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"product_id": 447123456789, "ts": 1715642626, "amount_minor": 1434936, "n":  3}',
        '{ "é": "\\u00e9", "a" : [1.50, -0, 1e5, null, {"b": []}] }',
        '{"price": 1.10, "price": 1.20}',
        '{"ts": 44712345678e-6, "x": 1.5e-7, "y": 12.500000}',
    ],
)
def test_what_is_harmless_keeps_every_character(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"x": 44712345678e-6}', '{"x": "***"}'),
        ("[1, 44712345678E-6]", '[1, "***"]'),
        ('{"x": [{"y": 1.0000000000000000447123456789}]}', '{"x": [{"y": "***"}]}'),
    ],
)
def test_a_number_is_judged_by_how_it_is_written_not_by_what_it_is_parsed_to(text, expected):
    assert redact(text) == expected
    assert redact(redact(text)) == redact(text)


def test_json_in_strings_is_walked():
    inner = json.dumps({"customer": {"name": "Jo", "tel": "222 5934"}, "seq": 7})
    redacted = json.loads(redact(json.dumps({"detail": json.dumps({"raw": inner})})))
    assert json.loads(json.loads(redacted["detail"])["raw"]) == {
        "customer": {"name": "***", "tel": "***-***-5934"},
        "seq": 7,
    }


def test_json_inside_a_log_line_is_walked():
    line = 'INFO payload={"customer": {"name": "Jo"}, "order": {"id": 4959436}} phone=0700122 status=ok'
    assert redact(line) == (
        'INFO payload={"customer": {"name": "***"}, "order": {"id": "***9436"}} phone=***-***-0122 status=ok'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"event": "msg", "customer_phone": "02 2123 9296", "text": "hel', '"customer_phone": "***-***-9296"'),
        ('{"a": "{\\"phone\\": \\"0700 1', '\\"phone\\": \\"***'),
        ('{"to": "joe@exam', '{"to": "***@***'),
        ('{"ts": 1, "4471234567', '{"ts": 1, "***-***-4567'),
        ('{"ts": 1, "447123456789"', '{"ts": 1, "***-***-6789"'),
        ('{"note": "from 44712', '{"note": "from ***'),
        ('{"at": "2025-07-24', '{"at": "2025-07-24'),
        ('{"id": "wamid.HBgMMj", "n": 1', '{"id": "***", "n": 1'),
        ('{"first_name": "Otti', '{"first_name": "***'),
        ('{"x": 44712345', '{"x": "***-***-2345'),
        ('{"x": 02 2123 9296, "y": 1}', '{"x": ***-***-9296, "y": 1}'),
    ],
)
def test_a_cut_document_is_walked_as_far_as_it_goes(text, expected):
    assert expected in redact(text)
    assert redact(redact(text)) == redact(text)


def test_text_that_only_begins_like_json_is_plain_text():
    assert redact("[INFO] phone 57859, {not json} jo@x.com") == "[INFO] phone ***-***-7859, {not json} ***@***"


def test_deep_nesting_is_redacted_too():
    deep = '{"a": ' * 1000 + '{"phone": "0700 122"}' + "}" * 1000
    assert "0700" not in redact(deep)


def test_deeply_nested_strings_fail_closed():
    text = "447123456789"
    for _ in range(8):
        text = json.dumps({"a": text})
    assert "4471234" not in redact(text)
