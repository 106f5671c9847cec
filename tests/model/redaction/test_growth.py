"""Redaction takes time in proportion to what strangers send, never to its square: growth is asserted, not time."""

import random

import pytest

from console.redaction import excerpt
from console.redaction.credentials import mask_text
from console.redaction.documents import redact_document
from conversations.messages.message import StoredMessages
from tests.answers import text_of
from tests.growth import check_growth, cpu_seconds
from tests.items import url_of
from tests.people import auditor, member, signed_in
from tests.queue import swept
from tests.store.conversations.queue.test_queue import waiting
from tests.support.redaction.hostile import REPEATED

pytestmark = pytest.mark.slow

SIZE = 12_000
# Below this a measurement says more about the machine than about the text.
SHORTEST_SECONDS = 0.02

CUT = {
    "an at sign among many in a cut string": lambda n: '{"a":"' + "@" * n + " x",
    "digits that end in a letter": lambda n: '{"a":' + "1" * n + "x",
    "digits that end in a letter, negative": lambda n: '{"a":-' + "1" * n + "x",
    "a fraction that ends in a letter": lambda n: '{"a":1.' + "1" * n + "x",
    "an encoded at sign among many": lambda n: '{"a":"' + "%40" * n + " x",
    "groups of digits": lambda n: '{"a":"' + "1 - " * n + "x",
    "a cut word behind stars": lambda n: '{"a":"' + "*@" * n + " x",
    "an escape at the end": lambda n: '{"a":"' + "a\\" * n,
    "a cut array": lambda n: '["' + "@" * n + " x",
}


def check_text(make, size=SIZE, read=redact_document):
    """Assert that reading takes time in proportion to the text; `make` gives text of about n characters."""

    def seconds_of(n):
        text = make(n)
        return cpu_seconds(lambda: read(text))

    while (first := seconds_of(size)) < SHORTEST_SECONDS and size < 400_000:
        size *= 2
        if first * 4 * 4 < SHORTEST_SECONDS:
            size *= 2
    if first >= SHORTEST_SECONDS:
        check_growth(seconds_of, size)


@pytest.mark.parametrize("name", CUT)
def test_cut_json_takes_time_in_proportion_to_its_length(name):
    check_text(CUT[name])


@pytest.mark.parametrize("seed", range(6))
def test_mixed_pieces_take_time_in_proportion_to_their_length(seed):
    pick = random.Random(seed)
    pieces = pick.choices(REPEATED, k=7)
    pattern = "".join(piece * pick.randint(1, 3) for piece in pieces)
    check_text(lambda n: pattern * (n // len(pattern) + 1), 4_000)
    check_text(lambda n: '{"a":"' + pattern * (n // len(pattern) + 1) + " x", 4_000)


STRANGERS = ["an at sign among many in a cut string", "digits that end in a letter"]


def as_transcript(text):
    """What an auditor's transcript makes of a customer's message."""
    stored = {"L": [{"M": {"role": {"S": "user"}, "content": {"S": text}}}]}
    return StoredMessages.of(stored, names=("Anna-Maria", "van der Berg")).message(1, raw=False)


@pytest.mark.parametrize("read", [excerpt, as_transcript])
@pytest.mark.parametrize("name", STRANGERS)
def test_what_a_stranger_writes_reaches_pages_in_time_in_proportion_to_its_length(name, read):
    # Longer than what is remembered of redacted texts.
    check_text(CUT[name], 70_000, read)


def stored_as_message(text):
    said = {"role": "user", "content": text, "message_timestamp": "2026-11-23T09:00:00Z"}
    return waiting(5, request_id="hostile", messages=[said])


def stored_as_reason(text):
    return waiting(5, request_id="hostile", hand_off_to_human_reason=text)


# The real store holds no item that long; what is measured is the page.
@pytest.mark.pages
@pytest.mark.parametrize(("place", "stored"), [("conversation", stored_as_message), ("queue", stored_as_reason)])
@pytest.mark.parametrize("name", STRANGERS)
def test_pages_with_what_a_stranger_writes_take_time_in_proportion_to_its_length(store, place, stored, name):
    item = stored("")
    url = {"conversation": url_of(item), "queue": "/queue/"}[place]
    swept(store)
    # Auditors have no queue; agents get excerpts of what is redacted there as well.
    client = signed_in(auditor() if place == "conversation" else member())

    def page(text):
        answer = client.get(url)
        assert answer.status_code == 200
        assert text[:5] in text_of(answer)

    def page_seconds(text):
        store.put("CONVERSATIONS", stored(text))
        return cpu_seconds(lambda: page(text))

    # An item holds no more than 400 KB; shorter ones are remembered once they were redacted.
    without = page_seconds("Hello")
    check_growth(lambda n: max(page_seconds(CUT[name](n)) - without, SHORTEST_SECONDS), 70_000)


@pytest.mark.parametrize("piece", ["token=", "password: a ", "pwd=a b=", "otp:'", "sk_"])
def test_credentials_of_a_log_or_a_configuration_take_time_in_proportion_to_its_length(piece):
    check_text(lambda n: piece * (n // len(piece)), 40_000, mask_text)
