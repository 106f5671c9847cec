"""Redaction of one piece of plain text: the rules and their order."""

import re

from console.redaction.claims import Claim, Rule, blank
from console.redaction.contexts import hash_numbers, numbers_behind_words
from console.redaction.decoding import Decoded
from console.redaction.fields import field_pairs
from console.redaction.identifiers import (
    conversation_ids,
    credentials,
    emails,
    existing_masks,
    tracking_links,
    whatsapp_ids,
)
from console.redaction.masks import FULL_MASK, is_mask
from console.redaction.numbers import lone_number, long_numbers
from console.redaction.shapes import (
    amazon_resources,
    harmless_shapes,
    is_harmless_shape,
    package_versions,
    phone_word_near,
)

# Text without any of these holds nothing that a rule could find.
is_suspicious = re.compile(r"[0-9@%&\\=:\u0080-\U0010ffff]|wamid").search
_has_digit = re.compile(r"[0-9]").search
# Three digits, next to each other or nearly.
_has_number = re.compile(r"[0-9][ .\-/()+]{0,3}[0-9][ .\-/()+]{0,3}[0-9]").search
_may_hold_key = re.compile(r"A[KS]IA[A-Z0-9]|(?:[sr]k|xox[a-z]|gh[pousr])[\-_]").search
_ROUNDS = 4


def redact_text(text: str) -> str:
    """Mask personal data in plain text. A second call changes nothing."""
    if not is_suspicious(text) or is_harmless_shape(text):
        return text
    if text.isascii() and text.isdigit():
        return lone_number(text)
    for _ in range(_ROUNDS):
        # What one round has masked can bring the words around it nearer to a number, so ask again until it rests.
        reading = _Reading(text)
        redacted = reading.redacted()
        if redacted == text or reading.is_final(redacted):
            return redacted
        text = redacted
    return FULL_MASK


class _Reading:
    """One reading of a text: each rule claims what it explains, and what one has claimed the next cannot see."""

    def __init__(self, text: str) -> None:
        self._original = text
        self._decoded = Decoded(text)
        self._text = self._decoded.text
        self._claims: list[Claim] = []
        self._keeps_shapes = False
        self._read_words()
        if _has_digit(self._text):
            self._read_numbers()

    def _read_words(self) -> None:
        text = self._text
        if "***" in text:
            self._apply(existing_masks)
        if _may_hold_key(text):
            self._apply(credentials)
        if "wamid." in text or "HBg" in text:
            self._apply(whatsapp_ids)
        if "=" in text or ":" in text:
            self._apply(field_pairs)
        if "://" in text:
            self._apply(tracking_links)
        if "@" in text:
            self._apply(package_versions)
            self._apply(emails)

    def _read_numbers(self) -> None:
        # The phone number in a conversation id can look like an epoch: before the harmless shapes.
        if self._text.count("#") > 1:
            self._apply(conversation_ids)
        if "arn:" in self._text:
            self._apply(amazon_resources)
        if _has_number(self._text):
            self._keeps_shapes = self._apply(harmless_shapes)
        # A date is no order number: after the harmless shapes.
        if _has_digit(self._text):
            self._apply(numbers_behind_words)
        if not _has_number(self._text):
            return
        if "#" in self._text:
            self._apply(hash_numbers)
        self._apply(long_numbers)

    def _apply(self, rule: Rule) -> bool:
        found = list(rule(self._text))
        if found:
            self._claims += found
            self._text = blank(self._text, found)
        return bool(found)

    def redacted(self) -> str:
        """The text with the masks in place."""
        masked = sorted((claim for claim in self._claims if claim.replacement is not None), key=_outermost_first)
        if not masked:
            return self._original
        pieces: list[str] = []
        end, done = 0, 0
        for claim in masked:
            if claim.start >= done:
                pieces += (self._original[end : self._decoded.original_start(claim.start)], claim.replacement or "")
                end, done = self._decoded.original_end(claim.end), claim.end
        pieces.append(self._original[end:])
        return "".join(pieces)

    def is_final(self, redacted: str) -> bool:
        """Whether reading the redacted text again can find nothing more.

        It could where digits stayed, where a value ends elsewhere once there are masks in it, or where a phone word has
        moved nearer to a harmless shape.
        """
        if is_mask(redacted):
            return True
        if "=" in redacted or ":" in redacted or _has_digit(self._text):
            return False
        return not (self._keeps_shapes and phone_word_near(redacted, 0, len(redacted)))


def _outermost_first(claim: Claim) -> tuple[int, int]:
    return claim.start, -claim.end
