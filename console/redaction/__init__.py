"""Redaction of personal data: pure, idempotent, linear in time, no input or output.

How a text is redacted:

1. `documents` walks JSON, also JSON in strings, cut off or inside other text. Keys decide first (`keys`, `fields`).
2. `text` decodes what remains (`decoding`) and lets each rule of `rules` claim what it explains.
3. The masks (`masks`) are put into the original text, everything around them keeps its characters.

To change what is masked, change a word in `keys`, a shape in `shapes` or a pattern in `identifiers` and `contexts`,
and raise RULESET_VERSION.
"""

from console.redaction.documents import redact_document
from console.redaction.excerpts import cut
from console.redaction.masks import mask_email, mask_identifier, mask_phone, pseudonym
from console.redaction.memo import RedactedMemo
from console.redaction.values import redact_value

__all__ = [
    "RULESET_VERSION",
    "excerpt",
    "mask_email",
    "mask_identifier",
    "mask_phone",
    "pseudonym",
    "redact",
    "redact_value",
]

# Stored with what was redacted, so that a reader knows by which rules.
RULESET_VERSION = "2"

_remembered = RedactedMemo(redact_document, capacity=2048, shortest=128, longest=65536)


def redact(text: str) -> str:
    """Return text with every piece of personal data masked; a second call changes nothing.

    Text may be plain, JSON, or JSON inside text or strings, whole or cut off. Raises TypeError for anything but str:
    structured values go to redact_value.
    """
    if not isinstance(text, str):
        raise TypeError(f"redact takes str, not {type(text).__name__}")
    return _remembered(text)


def excerpt(text: str, length: int = 80) -> str:
    """Return at most length characters of the redacted text: redacted first, cut after, the ellipsis included."""
    return cut(redact(text), length)
