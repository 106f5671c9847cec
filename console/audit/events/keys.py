"""Idempotency keys in words: the middleware's formats (schema middleware, section A.1) and the console's own.

A key joins a namespace, a conversation and what identifies the action with colons. Ids may contain colons themselves,
so a key is parsed from both ends: the conversation from the left (the platform's ids contain `#`), the message from the
right. If the record names the conversation, no guess is needed.
"""

import re
from dataclasses import dataclass, field

from django.utils.text import capfirst

from console.redaction import redact
from console.redaction.masks import mask_order
from console.trees import clean, format_message_id, isolated

CONVERSATION, MESSAGE, HASH, REST = "Conversation", "Message", "Hash of the text", "Rest"
TAG, TEAM, ORDER, ACTION = "Tag", "Team", "Order", "Action"

_BRACKET = re.compile(r"\[(.*?)\]")
_SHA256 = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """One format of keys. `middle` and `last` label the parts after the conversation ("" for no middle).

    `words` describes it with `{conversation}`, `{middle}` and `{last}`; text in brackets is left out where the page
    already names the conversation.
    """

    namespace: str
    meaning: str
    words: str
    middle: str = ""
    last: str = MESSAGE

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the parts after the namespace."""
        return (CONVERSATION, self.middle, self.last) if self.middle else (CONVERSATION, self.last)

    @property
    def pattern(self) -> str:
        """The format as the schema writes it: `act:rp_tag:{conversation}:{tag}:{message or hash}`."""
        names = ("message or hash" if label == MESSAGE else label.lower() for label in self.labels)
        return ":".join((self.namespace, *(f"{{{name}}}" for name in names)))


_OF = "[ of conversation {conversation}]"
FORMATS = (
    KeyFormat("evt:rp", "A message that came in", f"{{last}}{_OF} came in"),
    KeyFormat("act:rp_reply", "An automatic reply", f"Reply to {{last}}{_OF}"),
    KeyFormat("act:rp_tag", "A tag set", f"Tag {{middle}} for {{last}}{_OF}", middle=TAG),
    KeyFormat(
        "act:rp_assign",
        "An assignment to a team or a person",
        f"Assignment to {{middle}} for {{last}}{_OF}",
        middle=TEAM,
    ),
    KeyFormat(
        "act:shopify_lookup",
        "A look-up of an order",
        "Look-up of {last}[ for conversation {conversation}]",
        last=ORDER,
    ),
    KeyFormat("act:hand_off", "A hand-off action of the console", f"Hand-off {{last}}{_OF}", last=ACTION),
)
UNKNOWN = "A kind of key that the console does not know"


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A part of a key: `text` as stored, which may contain personal data, and `shown` without any."""

    label: str
    text: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The part without personal data; of an order number, the last four characters."""
        if self.label == MESSAGE:
            return format_message_id(self.text)
        text = clean(self.text)
        return redact(mask_order(text) if self.label == ORDER and text else text)


@dataclass(frozen=True, slots=True)
class DecodedKey:
    """A parsed key. `format` is None for an unknown kind.

    `complete`: it has all parts of its format. `certain`: there was only one way to parse it.
    """

    key: str = field(repr=False)
    format: KeyFormat | None = None
    parts: tuple[KeyPart, ...] = ()
    complete: bool = False
    certain: bool = True

    @property
    def conversation(self) -> str:
        """The conversation's id as stored; "" if the key has none."""
        return self.parts[0].text if self.parts else ""

    @property
    def shown(self) -> str:
        """The whole key without personal data: `redact` alone does not know which part is an order number."""
        if self.format is None:
            return redact(clean(self.key))
        return redact(":".join((self.format.namespace, *(part.shown for part in self.parts))))

    @property
    def meaning(self) -> str:
        """The kind of event or action."""
        return self.format.meaning if self.format else "An unknown kind of event or action"

    @property
    def between(self) -> str:
        """The parts between the conversation and the message: a tag, a team."""
        return ", ".join(f"{part.label}: {isolated(part.shown)}" for part in self.parts[1:-1])

    @property
    def description(self) -> str:
        """What the key is about, as a sentence without personal data."""
        return self._describe(r"\1")

    @property
    def in_brief(self) -> str:
        """The description without the conversation."""
        return self._describe("")

    def _describe(self, bracketed: str) -> str:
        if self.format is None:
            return UNKNOWN
        if not self.complete:
            return f"{self.format.meaning}, with a key that does not match the schema"
        conversation, middle = (isolated(part.shown) for part in self.parts[:2])
        last = self.parts[-1]
        phrase = f"{last.label.lower()} {isolated(last.shown)}"
        if last.label == HASH:
            phrase = "a message (known by the hash of its text)"
        pattern = _BRACKET.sub(bracketed, self.format.words)
        words = pattern.format(conversation=conversation, middle=middle, last=phrase)
        return capfirst(words)


def decode(key: str, conversation: str = "") -> DecodedKey:
    """Parse a key. Never raises.

    `conversation` is the id in the key's record, if known: it resolves the ambiguity of ids with colons.
    """
    found = next((each for each in FORMATS if key.startswith(f"{each.namespace}:")), None)
    if found is None:
        return DecodedKey(key)
    texts, certain = _split(key.removeprefix(f"{found.namespace}:"), found, conversation)
    complete = len(texts) == len(found.labels) and all(texts)
    labels = found.labels if len(texts) == len(found.labels) else (CONVERSATION, REST)
    parts = tuple(
        KeyPart(HASH if label == MESSAGE and _SHA256.fullmatch(text) else label, text)
        for label, text in zip(labels, texts, strict=False)
    )
    return DecodedKey(key, found, parts, complete, certain)


def _split(rest: str, found: KeyFormat, conversation: str) -> tuple[list[str], bool]:
    """Split what follows the namespace into the format's parts; also return whether that split is certain."""
    if conversation and rest.startswith(f"{conversation}:"):
        after = rest.removeprefix(f"{conversation}:")
        if not found.middle:
            return [conversation, after], True
        middle, colon, last = after.rpartition(":")
        return ([conversation, middle, last] if colon else [conversation, after]), ":" not in middle
    texts = rest.split(":")
    wanted = len(found.labels)
    if len(texts) <= wanted:
        return texts, True
    # The conversation extends to the last text with a # that leaves enough parts after it.
    ends = max((place for place in range(len(texts) - wanted + 1) if "#" in texts[place]), default=None)
    if found.middle:
        end = (ends or 0) + 1
        return [":".join(texts[:end]), ":".join(texts[end:-1]), texts[-1]], False
    end = len(texts) - 1 if ends is None else ends + 1
    return [":".join(texts[:end]), ":".join(texts[end:])], end == len(texts) - 1 and ends is not None
