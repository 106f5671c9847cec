"""Hostile input of 100 KB: every piece comes back, redacted, and nothing raises.

Time is not asserted. A rule that is worse than linear shows here as a test run that does not end.
"""

import json

import pytest

from console.redaction import redact

SIZE = 100_000


def nested_strings():
    text = "447123456789"
    while len(text) < SIZE:
        text = json.dumps({"a": text})
    return text


REPEATED = [
    *("1", "@", "a@", "a", "+", "%", "\\", '"', "'", "*", "#", "=", "(", "[", "{", "é", "٣"),
    *("a@b.c ", "1 ", "1-", "a'", "a+/", "a.", "%40", "%25", "&#64;", "&amp;", "\\u0040", '{"a":', '[{"', '{"a" x '),
    *('phone="', "name: a ", "address=", "order 1,", "order 1 ", "tracking A 1 ", "https://track/", "ci-a#pi-a#"),
    *("1715642626 ", "10:10 ", "a1b2c3d4 ", "12345678-", "phone 12345 ", "1\u200b", "HBgM", "arn:aws:", "email=a@b.c&"),
]


@pytest.mark.parametrize("piece", REPEATED)
def test_repeated_pieces_come_back_redacted(piece):
    redacted = redact(piece * (SIZE // len(piece)))
    assert isinstance(redacted, str)
    assert "1" * 16 not in redacted


def test_nested_json_comes_back_redacted():
    assert "4471234" not in redact(nested_strings())


def test_colliding_keys_come_back_redacted():
    text = json.dumps({f"u{number}@x.io": number for number in range(SIZE // 15)})
    assert "@x.io" not in redact(text)
    assert redact(text).count("***@***") == SIZE // 15
