"""The `messages` attribute of a conversation, read entry by entry (schema platform-conversations, `messages`).

Ten thousand entries open fast because only those shown are turned into records; of the others only an identity, a
time or a role is looked at. Writers drift: a list or JSON text, other names inside entries, structured content. What
cannot be understood becomes one flagged message and never an error.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from django.conf import settings

from console import clock
from console.redaction import redact, without_names
from console.refs import as_letters
from console.store.models import TYPE_WORDS
from console.store.values import plain
from console.trees import clean, text_of, well_formed
from conversations.content import blocks_of, first_of
from conversations.records import Message, Speaker

_TIME = ("message_timestamp", "timestamp", "created_at", "createdAt", "sent_at", "sentAt", "time", "ts", "date", "at")
_ROLE = ("role", "sender", "author", "from", "speaker")
_IDENTITY = ("entry_id", "id", "message_id", "messageId", "uuid")
_TOKENS = {
    "prompt": ("ai_prompt_tokens", "prompt_tokens", "input_tokens"),
    "completion": ("ai_completion_tokens", "completion_tokens", "output_tokens"),
    "total": ("ai_total_tokens", "total_tokens"),
}
_SPEAKERS = {
    **dict.fromkeys(("user", "customer", "client", "recipient", "contact", "human", "inbound"), Speaker.CUSTOMER),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "chatbot", "chatgpt", "gpt", "claude"), Speaker.AI),
    **dict.fromkeys(("agent", "human_agent", "staff", "operator", "representative", "rep", "advisor"), Speaker.HUMAN),
    **dict.fromkeys(("system", "developer", "tool", "function", "platform", "event"), Speaker.SYSTEM),
}
_LOOKED_BACK = 50
INSTRUCTION = "Instruction to the AI"
_NAMES = {Speaker.CUSTOMER: "Customer", Speaker.AI: "AI", Speaker.HUMAN: "Human", Speaker.SYSTEM: "System"}


@dataclass(frozen=True)
class StoredMessages:
    """The stored entries, oldest first, unread. `typed`: they are DynamoDB JSON; else plain Python out of JSON text.

    `notice` says what a reader must know of the attribute as a whole ("" for nothing), `drift` how it differs from the
    schema's list. `recipients` are the recipient's own identifiers, by which a writer that names senders by number or
    address is understood; `names` are the recipient's names, masked in what is shown redacted.
    """

    entries: Sequence[Any] = ()
    typed: bool = False
    notice: str = ""
    drift: str = ""
    recipients: frozenset[str] = field(default_factory=frozenset)
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, stored: dict[str, Any] | None, recipients: frozenset[str] = frozenset(), names: tuple[str, ...] = ()
    ) -> "StoredMessages":
        """From the attribute as DynamoDB JSON (None where absent). Never raises."""
        return replace(cls._read(stored), recipients=recipients, names=names)

    @classmethod
    def _read(cls, stored: dict[str, Any] | None) -> "StoredMessages":
        if not stored:
            return cls(drift="missing")
        kind = next(iter(stored))
        content: Any = stored[kind]
        if kind == "L":
            return cls(content, typed=True)
        if kind == "NULL":
            return cls(drift="NULL")
        drift = f"{TYPE_WORDS.get(kind, kind)} instead of list"
        if kind == "S":
            entries, notice = _from_text(content)
            return cls(entries, notice=notice, drift=drift)
        if kind == "M":
            return cls([stored], typed=True, notice="A single message, not a list.", drift=drift)
        content = plain(stored)
        entries = content if isinstance(content, list) else [content]
        return cls(entries, notice="The messages are not a list of messages.", drift=drift)

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, number: int) -> Any:
        """One entry as plain Python; `number` counts from 1."""
        stored = self.entries[number - 1]
        return plain(stored) if self.typed else well_formed(stored)

    def _peek(self, number: int, names: tuple[str, ...]) -> Any:
        """The first of these fields that an entry has, without reading the rest of it."""
        stored = self.entries[number - 1]
        if self.typed:
            stored = stored.get("M")
        if not isinstance(stored, dict):
            return None
        for name in names:
            value = stored.get(name)
            if value is not None:
                value = plain(value) if self.typed else value
            if value is not None and value != "":
                return value
        return None

    def at(self, number: int) -> datetime | None:
        """When an entry was written, where it says so."""
        return clock.parse_instant(self._peek(number, _TIME))

    def last_time_before(self, number: int) -> datetime | None:
        """The time of the nearest entry before this one that has a time; looks back a little way only."""
        for earlier in range(number - 1, max(0, number - _LOOKED_BACK), -1):
            if (moment := self.at(earlier)) is not None:
                return moment
        return None

    @property
    def last_by_customer(self) -> datetime | None:
        """When the customer last wrote, as far as the last `_LOOKED_BACK` entries tell."""
        for number in range(len(self), max(0, len(self) - _LOOKED_BACK), -1):
            if self._speaker(self._peek(number, _ROLE), self._peek(number, ("type",)))[0] is Speaker.CUSTOMER:
                return self.at(number)
        return None

    @cached_property
    def first_by_ai(self) -> int:
        """Number of the first entry by the AI; 0 where there is none."""
        for number in range(1, len(self) + 1):
            if self._speaker(self._peek(number, _ROLE), self._peek(number, ("type",)))[0] is Speaker.AI:
                return number
        return 0

    @cached_property
    def _identities(self) -> list[str]:
        """What each anchor is made of: its `entry_id`, told apart from the same id before it; else its number."""
        seen: dict[str, int] = {}
        identities = []
        for number in range(1, len(self) + 1):
            value = self._peek(number, _IDENTITY)
            if not isinstance(value, str | int) or isinstance(value, bool):
                identities.append(f"number {number}")
                continue
            text = f"id {text_of(value)}"
            seen[text] = seen.get(text, 0) + 1
            identities.append(text if seen[text] == 1 else f"{text}\0{seen[text]}")
        return identities

    def anchor(self, number: int) -> str:
        """A short name for permalinks: the same as long as the entry is there, and no other's."""
        return _digest(self._identities[number - 1], settings.SECRET_KEY)

    def number_of(self, anchor: str) -> int:
        """The number of the entry with that anchor, or 0. Anchors made before the last change of key are found too."""
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            for number, identity in enumerate(self._identities, 1):
                if _digest(identity, secret) == anchor:
                    return number
        return 0

    def message(self, number: int, *, raw: bool) -> Message:
        """One entry as a record; everything in it is redacted unless `raw`. Never raises."""
        entry = self.entry(number)
        names = () if raw else self.names
        protect: Callable[[str], str] = (lambda text: text) if raw else redact
        if not isinstance(entry, dict):
            return self._of_bare_value(number, entry, raw=raw)
        speaker, name, flaws = self._speaker(first_of(entry, _ROLE), entry.get("type"))
        at = clock.parse_instant(first_of(entry, _TIME))
        if at is None:
            flaws += ("its time cannot be read" if first_of(entry, _TIME) is not None else "it has no time",)
        blocks, content_flaws = blocks_of(entry, raw=raw)
        is_prompt = self._is_prompt(number, entry, speaker)
        if is_prompt:
            name = INSTRUCTION
        else:
            name = _NAMES.get(speaker) or without_names(redact(name), names)[:80] or "Unknown sender"
        return Message(
            number=number,
            anchor=self.anchor(number),
            speaker=speaker,
            speaker_name=name,
            at=at,
            blocks=without_names(blocks, names),
            is_initial_prompt=is_prompt,
            tokens=_tokens(entry),
            processing_ms=_whole(first_of(entry, ("processing_time_ms", "processing_ms", "latency_ms"))),
            drift=without_names(tuple(protect(flaw) for flaw in (*flaws, *content_flaws)), names),
        )

    def _of_bare_value(self, number: int, value: Any, *, raw: bool) -> Message:
        blocks, _ = blocks_of({"content": value}, raw=raw)
        return Message(
            number=number,
            anchor=self.anchor(number),
            speaker=Speaker.UNKNOWN,
            speaker_name="Unknown sender",
            at=None,
            blocks=without_names(blocks, () if raw else self.names),
            drift=("not a message but a bare value",),
        )

    def _is_prompt(self, number: int, entry: dict[str, Any], speaker: Speaker) -> bool:
        """The platform begins with a prompt, as the user's. What came over a channel bears its provider's id."""
        if number != 1 or speaker is not Speaker.CUSTOMER or "message_id" in entry:
            return False
        return text_of(first_of(entry, _ROLE)).strip().lower() == "user"

    def _speaker(self, value: Any, kind: Any) -> tuple[Speaker, str, tuple[str, ...]]:
        """Who wrote an entry, the name where that is nobody known, and what was odd about it.

        `kind` is the entry's `type`, which some writers use for the role and others for the form of the content.
        """
        if isinstance(value, dict):  # {"role": "user", "name": …}
            value = first_of(value, ("role", "type", "name", "id"))
        if value is None and isinstance(kind, str) and kind.lower() in _SPEAKERS:
            value = kind
        if value is None:
            return Speaker.UNKNOWN, "", ("it does not say who wrote it",)
        name = text_of(value).strip()[:200]
        if name in self.recipients:
            return Speaker.CUSTOMER, name, ()
        speaker = _SPEAKERS.get(name.lower().replace("-", "_").replace(" ", "_"))
        if speaker is None:
            return Speaker.UNKNOWN, name, ("its sender is of no known kind",)
        return speaker, name, ()


def _from_text(text: str) -> tuple[list[Any], str]:
    """The entries of JSON text, and what was wrong with it ("" for nothing)."""
    notice = "The messages are text that is not a list of messages."
    if not text.strip():
        return [], ""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return [text], notice
    if isinstance(content, list):
        return content, ""
    inner = content.get("messages") if isinstance(content, dict) else None
    return (inner, "") if isinstance(inner, list) else ([content], notice)


def _digest(identity: str, secret: str) -> str:
    return as_letters(hashlib.blake2b(clean(identity).encode(), key=_anchor_key(secret), digest_size=8).digest())


@lru_cache(maxsize=4)
def _anchor_key(secret: str) -> bytes:
    """Keyed, because message ids of WhatsApp are telephone numbers in disguise."""
    return hashlib.sha256(b"message anchor\0" + secret.encode()).digest()


def _tokens(entry: dict[str, Any]) -> dict[str, int]:
    usage = entry.get("usage")
    counts = {}
    for kind, names in _TOKENS.items():
        value = first_of(entry, names)
        if value is None and isinstance(usage, dict):
            value = first_of(usage, names)
        if (count := _whole(value)) is not None:
            counts[kind] = count
    return counts


def _whole(value: Any) -> int | None:
    """A count as int, also from text; None for what is none or absurd."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return int(number) if 0 <= number < 1e12 else None
