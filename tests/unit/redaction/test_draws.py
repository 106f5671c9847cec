"""Drawn texts of every kind: nothing leaks, in whatever coding, and what is harmless stays."""

import html
import json
import re
from urllib.parse import unquote, unquote_plus

import pytest

from console.redaction import redact, redact_value
from tests.support.redaction.draws import Draws

PER_SEED = 360


def decodings(text):
    """The text as it is, and as it reads after JSON, URL and HTML decoding, in any order, up to three times."""
    known, latest = {text}, {text}
    for _ in range(3):
        latest = {decoded for one in latest for decoded in decoded_once(one)} - known
        known |= latest
    return known


def decoded_once(text):
    yield html.unescape(text)
    yield unquote(text)
    yield unquote_plus(text)
    yield text.replace('\\"', '"').replace("\\\\", "\\")
    yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_leaks_from_a_draw_and_the_rest_of_it_stays(seed):
    leaks, lost, kept = [], [], 0
    for draw in Draws(seed).take(PER_SEED):
        redacted = redact(draw.text)
        assert redact(redacted) == redacted, draw
        shown = decodings(redacted)
        leaks += [(secret, draw.text, redacted) for secret in draw.secrets if any(secret in text for text in shown)]
        lost += [(value, draw.text, redacted) for value in draw.kept if value not in redacted]
        kept += len(draw.kept) - sum(value not in redacted for value in draw.kept)
    assert not leaks
    assert len(lost) <= 0.005 * (kept + len(lost)), lost


@pytest.mark.parametrize("seed", range(2))
def test_parsed_json_is_redacted_as_its_text_is(seed):
    compared = 0
    for draw in Draws(seed).take(PER_SEED):
        try:
            document = json.loads(draw.text)
        except ValueError:
            continue
        compared += 1
        assert redact_value(document) == json.loads(redact(draw.text)), draw
    assert compared > PER_SEED // 5


def beginning_of(secret):
    """So much of a secret as tells what it is: an address up to its @, seven digits of a number, half of a name."""
    if "@" in secret:
        return secret[: secret.index("@") + 1]
    seventh = [place for place, char in enumerate(secret) if char.isdigit()][6:7]
    return secret[: seventh[0] + 1] if seventh else secret[: len(secret) // 2 + 1]


def test_a_payload_cut_at_any_place_leaks_nothing():
    for draw in [draw for draw in Draws(7).take(90) if draw.kind == "payload"]:
        beginnings = [beginning_of(secret) for secret in draw.secrets]
        for cut in range(len(draw.text)):
            redacted = redact(draw.text[:cut])
            leaked = [beginning for beginning in beginnings if beginning in redacted]
            assert not leaked, (leaked, draw.text[:cut][-60:], redacted[-80:])
