"""Idempotency keys in words: the middleware's formats (schema middleware, section A.1) and the console's own.

A key is a namespace, a conversation and what else makes the action one of its kind, with colons between them. Ids may
hold colons themselves, so a key is read from both ends: the conversation from the left (the platform's ids hold `#`),
the message from the right. Where the record says which conversation it is, nothing is left to guess.
"""

import re
from dataclasses import dataclass, field

from console.bidi import isolated
from console.redaction import redact
from console.redaction.masks import FULL_MASK, mask_order
from console.refs import keyed_pseudonym
from console.trees import clean

CONVERSATION, MESSAGE, HASH, REST = "Conversation", "Message", "Hash of the text", "Rest"
TAG, TEAM, ORDER, ACTION = "Tag", "Team", "Order", "Action"

_BRACKET = re.compile(r"\[(.*?)\]")
_SHA256 = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """One format of keys. `pattern` is as the schema writes it; `middle` and `last` label what follows the
    conversation ("" for nothing between); `words` says it, of `{conversation}`, `{middle}` and `{last}`: what stands in
    brackets falls away where the conversation is told already."""

    namespace: str
    pattern: str
    meaning: str
    words: str
    middle: str = ""
    last: str = MESSAGE

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the parts behind the namespace."""
        return (CONVERSATION, self.middle, self.last) if self.middle else (CONVERSATION, self.last)


FORMATS = (
    KeyFormat(
        "evt:rp",
        "evt:rp:{conversation}:{message or hash}",
        "A message that came in",
        "{last}[ of conversation {conversation}] came in",
    ),
    KeyFormat(
        "act:rp_reply",
        "act:rp_reply:{conversation}:{message or hash}",
        "An automatic reply",
        "Reply to {last}[ of conversation {conversation}]",
    ),
    KeyFormat(
        "act:rp_tag",
        "act:rp_tag:{conversation}:{tag}:{message or hash}",
        "A tag set",
        "Tag {middle} for {last}[ of conversation {conversation}]",
        middle=TAG,
    ),
    KeyFormat(
        "act:rp_assign",
        "act:rp_assign:{conversation}:{team}:{message or hash}",
        "An assignment to a team or a person",
        "Assignment to {middle} for {last}[ of conversation {conversation}]",
        middle=TEAM,
    ),
    KeyFormat(
        "act:shopify_lookup",
        "act:shopify_lookup:{conversation}:{order}",
        "A look-up of an order",
        "Look-up of {last}[ for conversation {conversation}]",
        last=ORDER,
    ),
    KeyFormat(
        "act:hand_off",
        "act:hand_off:{conversation}:{action}",
        "A hand-off action of the console",
        "Hand-off {last}[ of conversation {conversation}]",
        last=ACTION,
    ),
)
UNKNOWN = "A key of a kind that the console does not know"


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A part of a key: `text` as stored, which may hold personal data, and `shown`, which does not."""

    label: str
    text: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The part without personal data; of an order number the last four characters.

        A message's id of which nothing is left has a keyed pseudonym, by which its events are told from others.
        """
        text = clean(self.text)
        shown = redact(mask_order(text) if self.label == ORDER and text else text)
        is_gone = self.label == MESSAGE and shown != text and not any(map(str.isalnum, shown))
        return f"{FULL_MASK}-{keyed_pseudonym(self.text)}" if is_gone else shown


@dataclass(frozen=True, slots=True)
class DecodedKey:
    """A key taken apart. `format` is None for an unknown kind.

    `complete`: it has the parts of its format. `certain`: there was one way to read it. `key` and the parts' texts are
    as stored; `shown`, `description`, `in_brief` and the parts' `shown` are for people.
    """

    key: str = field(repr=False)
    format: KeyFormat | None = None
    parts: tuple[KeyPart, ...] = ()
    complete: bool = False
    certain: bool = True

    @property
    def conversation(self) -> str:
        """The conversation's id as stored; "" where the key tells none."""
        return self.parts[0].text if self.parts else ""

    @property
    def shown(self) -> str:
        """The whole key without personal data."""
        if self.format is None:
            return redact(clean(self.key))
        return redact(":".join((self.format.namespace, *(part.shown for part in self.parts))))

    @property
    def meaning(self) -> str:
        """Of what kind the event or action is."""
        return self.format.meaning if self.format else "An event or action of a kind unknown here"

    @property
    def between(self) -> str:
        """Which tag, team or the like: what stands between the conversation and the message."""
        return ", ".join(f"{part.label}: {isolated(part.shown)}" for part in self.parts[1:-1])

    @property
    def description(self) -> str:
        """What the key is about, as a sentence without personal data."""
        return self._words(_BRACKET.sub(r"\1", self.format.words) if self.format else "")

    @property
    def in_brief(self) -> str:
        """The same without the conversation."""
        return self._words(_BRACKET.sub("", self.format.words) if self.format else "")

    def _words(self, pattern: str) -> str:
        if self.format is None:
            return UNKNOWN
        if not self.complete:
            return f"{self.format.meaning}, by a key that is not as the schema writes it"
        conversation, middle = (isolated(part.shown) for part in self.parts[:2])
        words = pattern.format(conversation=conversation, middle=middle, last=_phrase(self.parts[-1]))
        return words[:1].upper() + words[1:]


def shown_key(key: str, conversation: str = "") -> str:
    """A key as people see it: `redact` alone does not know which part of it is an order number."""
    return decode(key, conversation).shown


def shown_message(message_id: str) -> str:
    """A message's id as the keys that name it show it, without personal data."""
    return KeyPart(MESSAGE, message_id).shown


def decode(key: str, conversation: str = "") -> DecodedKey:
    """Take a key apart. Total: never raises.

    `conversation` is the id that the key's record names, if it is known: it decides where ids hold colons.
    """
    found = next((each for each in FORMATS if key.startswith(f"{each.namespace}:")), None)
    if found is None:
        return DecodedKey(key)
    texts, certain = _split(key.removeprefix(f"{found.namespace}:"), found, conversation)
    complete = len(texts) == len(found.labels) and all(texts)
    labels = found.labels if len(texts) == len(found.labels) else (CONVERSATION, REST)
    parts = tuple(KeyPart(_label(label, text), text) for label, text in zip(labels, texts, strict=False))
    return DecodedKey(key, found, parts, complete, certain)


def _label(label: str, text: str) -> str:
    return HASH if label == MESSAGE and _SHA256.fullmatch(text) else label


def _split(rest: str, found: KeyFormat, conversation: str) -> tuple[list[str], bool]:
    """The texts behind the namespace, as many as the format has where there are enough, and whether that is certain."""
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
    # The conversation goes on to the last text with a # that leaves enough behind it.
    ends = max((place for place in range(len(texts) - wanted + 1) if "#" in texts[place]), default=None)
    if found.middle:
        end = (ends or 0) + 1
        return [":".join(texts[:end]), ":".join(texts[end:-1]), texts[-1]], False
    end = len(texts) - 1 if ends is None else ends + 1
    return [":".join(texts[:end]), ":".join(texts[end:])], end == len(texts) - 1 and ends is not None


def _phrase(part: KeyPart) -> str:
    """The last part within a sentence."""
    shown = isolated(part.shown)
    if part.label == HASH:
        return "a message (known by the hash of its text)"
    return f"{part.label.lower()} {shown}"
