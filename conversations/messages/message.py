"""The `messages` attribute of a conversation, read entry by entry (schema platform-conversations, `messages`).

Ten thousand entries open fast because only those shown become records; of the others only the id, time or role is
read. Writers drift (a list or JSON text, structured content); an unreadable value becomes one flagged message.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from django.conf import settings

from console import clock
from console.redaction import redact, without_names
from console.refs import as_letters
from console.store.models import TYPE_WORDS, plain
from console.trees import clean, text_of, well_formed
from conversations.messages.content import SHOWN, entries_of_text, first_blocks_of, first_of, whole_number
from conversations.messages.entry_notes import notes_of
from conversations.messages.questions import ends_in_question
from conversations.records import Message, ReplyStatus, Speaker

# The schema's name first, then that of the service that replies.
TIME = ("message_timestamp", "timestamp")
IDENTITY = ("entry_id", "message_id")
_SPEAKERS = {
    "user": Speaker.CUSTOMER,
    "assistant": Speaker.AI,
    "agent": Speaker.HUMAN,
    **dict.fromkeys(("system", "developer", "tool"), Speaker.SYSTEM),
}
# The attribute names that writers use for each count. Cached tokens are part of the prompt tokens.
TOKENS = {
    "prompt": ("ai_prompt_tokens", "prompt_tokens", "input_tokens"),
    "completion": ("ai_completion_tokens", "completion_tokens", "output_tokens"),
    "total": ("ai_total_tokens", "total_tokens"),
    "cached": ("ai_cached_tokens", "cached_tokens"),
}
PROCESSING = "processing_time_ms"
_TOKEN_NAMES = frozenset(name for names in TOKENS.values() for name in names)
_COUNTED = frozenset(("role", "sent_by", "agent", PROCESSING, *TIME, *IDENTITY)) | _TOKEN_NAMES
_LOOKED_BACK = 50
# The `sent_by` of a person's reply, whose role is "assistant" for the platform.
BY_HUMAN = "human"
# The `kind` of a reaction that needs no answer.
REACTION = "reaction"
INSTRUCTION = "Instruction to the AI"
GIVEN_AGAIN = "Given to the AI again"
_NAMES = {Speaker.CUSTOMER: "Customer", Speaker.AI: "AI", Speaker.HUMAN: "Human", Speaker.SYSTEM: "System"}


@dataclass(frozen=True, slots=True)
class MessageFigures:
    """The figures of one message, without its content. The keys of `tokens` are those of `TOKENS`.

    `is_prompt`: it is the platform's initial instruction. `reply` is the status of a person's reply, `agent` the
    username of the colleague who wrote it, if stored.
    """

    speaker: Speaker
    at: datetime | None
    tokens: Mapping[str, int]
    processing_ms: int | None
    is_prompt: bool = False
    reply: ReplyStatus | None = None
    agent: str = ""


@dataclass(frozen=True)
class StoredMessages:
    """The stored entries, oldest first, not yet parsed. `typed`: DynamoDB JSON instead of plain Python from JSON text.

    `notice` tells the reader about a flaw of the whole attribute, `drift` how it differs from the schema's list (""
    for none). `names` are the recipient's names, which redacted messages mask.
    """

    entries: Sequence[Any] = ()
    typed: bool = False
    notice: str = ""
    drift: str = ""
    names: tuple[str, ...] = ()
    # The status of people's replies, by entry id.
    replies: Mapping[str, ReplyStatus] = field(default_factory=dict)
    # Numbers of the entries that replace an earlier one.
    edited: frozenset[int] = frozenset()
    # Numbers of entries that only repeat messages for the AI.
    folded: frozenset[int] = frozenset()
    # Until when a person said that no answer is needed.
    excused_until: datetime | None = None

    @classmethod
    def of(cls, stored: dict[str, Any] | None, names: tuple[str, ...] = ()) -> "StoredMessages":
        """Read the attribute from DynamoDB JSON (None if absent). Never raises."""
        if not stored:
            return cls(drift="missing")
        kind = next(iter(stored))
        if kind == "L":
            return cls(stored["L"], typed=True, names=names)
        if kind == "NULL":
            return cls(drift="NULL")
        drift = f"{TYPE_WORDS.get(kind, kind)} instead of list"
        if kind == "S":
            entries, notice = entries_of_text(stored["S"])
            return cls(entries, notice=notice, drift=drift, names=names)
        if kind == "M":
            return cls([stored], typed=True, notice="A single message, not a list.", drift=drift, names=names)
        content = plain(stored)
        entries = content if isinstance(content, list) else [content]
        return cls(entries, notice="The messages are not a list of messages.", drift=drift, names=names)

    def joined(self, kept_apart: Sequence[dict[str, Any]]) -> "StoredMessages":
        """Merge plain messages stored apart from the item, in order of time."""
        if not kept_apart:
            return self
        entries = list(self.entries)
        for message in sorted(kept_apart, key=lambda each: str(first_of(each, *TIME)), reverse=True):
            at, place = clock.parse_instant(first_of(message, *TIME)), len(self)
            while place and at is not None and (earlier := self.at(place)) is not None and earlier > at:
                place -= 1
            entries.insert(place, TypeSerializer().serialize(message) if self.typed else message)
        return replace(self, entries=entries)

    def in_order(self, appended: Collection[str]) -> "StoredMessages":
        """Put the messages that the console appended (by id) where their times belong; the platform's stay in order.

        None moves before an answer that was written without it: it would look answered.
        """
        order: list[int] = []
        for number in range(1, len(self) + 1) if appended else ():
            place = len(order)
            if str(self._peek(number, *IDENTITY)) in appended and (at := self.at(number)) is not None:
                while place and not self._is_answer(order[place - 1]) and (self.at(order[place - 1]) or at) > at:
                    place -= 1
            order.insert(place, number)
        is_moved = order != sorted(order)
        return replace(self, entries=[self.entries[number - 1] for number in order]) if is_moved else self

    def customer_id(self, number: int) -> str | None:
        """Return the id under which the platform has a customer's message; None for any other entry."""
        fields = self._fields(number, ("role", "sent_by", "message_id"))
        is_customer = "message_id" in fields and _speaker_of(fields) is Speaker.CUSTOMER
        return str(fields["message_id"]) if is_customer else None

    def text(self, number: int) -> str:
        """Return the text of an entry as the platform and the console write it; "" for structured content."""
        content = self._peek(number, "content")
        return content if isinstance(content, str) else ""

    def with_text(self, entry: Any, text: str) -> Any:
        """Return a stored entry with another text."""
        if self.typed:
            return {"M": entry["M"] | {"content": {"S": text}}}
        return entry | {"content": text}

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, number: int) -> Any:
        """Return one entry as plain Python; `number` counts from 1."""
        stored = self.entries[number - 1]
        return plain(stored) if self.typed else well_formed(stored)

    def _peek(self, number: int, *names: str) -> Any:
        """Return the value of the first of these fields that is not empty, without parsing the rest of the entry."""
        return first_of(self._fields(number, names), *names)

    def _fields(self, number: int, names: Collection[str]) -> dict[str, Any]:
        """Return those of these fields that the entry has, as plain Python; {} for an entry that is a bare value."""
        stored = self.entries[number - 1]
        if self.typed:
            stored = stored.get("M")
        if not isinstance(stored, dict):
            return {}
        found = {name: value for name, value in stored.items() if name in names}
        return {name: plain(value) for name, value in found.items()} if self.typed else found

    def _role(self, number: int) -> Speaker:
        if number in self.folded:
            return Speaker.SYSTEM
        return _speaker_of(self._fields(number, ("sent_by", "role")))

    def at(self, number: int) -> datetime | None:
        """Return the time of an entry, or None."""
        return clock.parse_instant(self._peek(number, *TIME))

    def last_time_before(self, number: int) -> datetime | None:
        """Return the time of the nearest of the `_LOOKED_BACK` earlier entries that has one."""
        for earlier in range(number - 1, max(0, number - _LOOKED_BACK), -1):
            if (moment := self.at(earlier)) is not None:
                return moment
        return None

    @property
    def last_by_customer(self) -> datetime | None:
        """The time of the customer's latest entry, if it is among the last `_LOOKED_BACK`."""
        for number in range(len(self), max(0, len(self) - _LOOKED_BACK), -1):
            if self.is_by_customer(number):
                return self.at(number)
        return None

    @property
    def first_unanswered(self) -> int:
        """Number of the first unanswered customer entry among the last `_LOOKED_BACK`; 0 for none.

        Only an entry of the AI or of a person counts as an answer; a system entry does not, nor does a reply that the
        customer may not have got.
        """
        first = 0
        for number in range(len(self), max(0, len(self) - _LOOKED_BACK), -1):
            if self._needs_answer(number):
                first = number
            elif self._is_answer(number):
                break
        return first

    def excused(self, until: datetime | None) -> "StoredMessages":
        """Return the messages, of which those until that time need no answer."""
        return replace(self, excused_until=until)

    def _needs_answer(self, number: int) -> bool:
        """Return whether the customer wrote an entry that a person has not excused, and that is no mere reaction."""
        if (at := self.at(number) if self.excused_until else None) and self.excused_until and at <= self.excused_until:
            return False
        return self.is_by_customer(number) and self._peek(number, "kind") != REACTION

    @property
    def asks_customer(self) -> bool:
        """Whether the last message, reactions aside, is a person's question to the customer."""
        last = next((n for n in range(len(self), 0, -1) if self._peek(n, "kind") != REACTION), 0)
        return bool(last) and self._role(last) is Speaker.HUMAN and ends_in_question(self.text(last))

    def answers_since(self, since: datetime) -> bool:
        """Return whether one of the last `_LOOKED_BACK` entries is an answer after that time."""
        last = range(len(self), max(0, len(self) - _LOOKED_BACK), -1)
        return any(self._is_answer(number) and (self.at(number) or since) > since for number in last)

    def _is_answer(self, number: int) -> bool:
        if self._role(number) not in (Speaker.AI, Speaker.HUMAN):
            return False
        status = self.replies.get(str(self._peek(number, *IDENTITY))) if self.replies else None
        return status is None or not status.is_undelivered

    def unanswered(self) -> list[int]:
        """Return the numbers of the customer's entries from `first_unanswered` on."""
        first = self.first_unanswered or len(self) + 1
        return [number for number in range(first, len(self) + 1) if self._needs_answer(number)]

    @property
    def unanswered_mark(self) -> str:
        """A mark of what is unanswered, which another message changes; "" for nothing."""
        numbers = self.unanswered()
        at = self.at(numbers[-1]) if numbers else None
        # No digest: a form outlives the key of an open page.
        return f"{len(numbers)}-{numbers[-1]}-{at.timestamp() if at else ''}" if numbers else ""

    def by_customer(self) -> Iterator[dict[str, Any]]:
        """Return the customer's entries among the last `_LOOKED_BACK`, oldest first, as plain Python."""
        for number in range(max(0, len(self) - _LOOKED_BACK) + 1, len(self) + 1):
            if self.is_by_customer(number) and isinstance(entry := self.entry(number), dict):
                yield entry

    @property
    def ids(self) -> set[str]:
        """The ids of all entries that have one."""
        return {str(self._peek(number, *IDENTITY)) for number in range(1, len(self) + 1)} - {"None"}

    def figures(self) -> Iterator[MessageFigures]:
        """Yield the figures of each message, oldest first. Never raises."""
        for number in range(1, len(self) + 1):
            entry = self._fields(number, _COUNTED)
            speaker = Speaker.SYSTEM if number in self.folded else _speaker_of(entry)
            yield MessageFigures(
                speaker=speaker,
                at=clock.parse_instant(first_of(entry, *TIME)),
                tokens=_tokens(entry),
                processing_ms=whole_number(entry.get(PROCESSING)),
                is_prompt=number == 1 and speaker is Speaker.CUSTOMER and first_of(entry, "message_id") is None,
                reply=self.replies.get(str(first_of(entry, *IDENTITY))) if self.replies else None,
                agent=text_of(entry.get("agent") or "")[:64] if speaker is Speaker.HUMAN else "",
            )

    def is_by_customer(self, number: int) -> bool:
        """Return whether the customer wrote an entry: the platform's initial prompt has the role of the user too."""
        if self._role(number) is not Speaker.CUSTOMER:
            return False
        return number != 1 or self._peek(1, "message_id") is not None

    @cached_property
    def first_by_ai(self) -> int:
        """Number of the AI's first entry; 0 for none."""
        return next((number for number in range(1, len(self) + 1) if self._role(number) is Speaker.AI), 0)

    @cached_property
    def _identities(self) -> list[str]:
        """What each anchor is derived from: the id (numbered if it repeats), or else the number of the entry."""
        seen: dict[str, int] = {}
        identities = []
        for number in range(1, len(self) + 1):
            value = self._peek(number, *IDENTITY)
            if not isinstance(value, str | int) or isinstance(value, bool):
                identities.append(f"number {number}")
                continue
            text = f"id {text_of(value)}"
            seen[text] = seen.get(text, 0) + 1
            identities.append(text if seen[text] == 1 else f"{text}\0{seen[text]}")
        return identities

    def anchor(self, number: int) -> str:
        """Return a short name for permalinks, unique and stable for the entry."""
        return _digest(self._identities[number - 1], settings.SECRET_KEY)

    def number_of(self, anchor: str) -> int:
        """Return the number of the entry with that anchor, or 0. Anchors made with an earlier key still work."""
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
            for number, identity in enumerate(self._identities, 1):
                if _digest(identity, secret) == anchor:
                    return number
        return 0

    def message(self, number: int, *, raw: bool, whole: bool = True) -> Message:
        """Return one entry as a record, redacted unless `raw`, and only the beginning of a long one unless `whole`.

        Never raises.
        """
        entry = self.entry(number)
        names = () if raw else self.names
        is_bare = not isinstance(entry, dict)
        if is_bare:
            entry = {"content": entry}
        speaker, name, flaws = _speaker(entry.get("role"))
        author = ""
        if entry.get("sent_by") == BY_HUMAN:
            speaker, flaws = Speaker.HUMAN, ()
            author = redact(text_of(first_of(entry, "agent_name", "agent") or ""))[:80]
        at = clock.parse_instant(first_of(entry, *TIME))
        if at is None:
            flaws += ("its time cannot be read" if first_of(entry, *TIME) is not None else "it has no time",)
        blocks, content_flaws, left_out = first_blocks_of(entry, None if whole else SHOWN, raw=raw)
        # The platform's initial prompt has the role of the user. Only messages from a channel have a `message_id`.
        is_prompt = number == 1 and speaker is Speaker.CUSTOMER and "message_id" not in entry
        is_repetition = number in self.folded
        if is_repetition:
            speaker, name = Speaker.SYSTEM, GIVEN_AGAIN
        elif is_prompt:
            name = INSTRUCTION
        else:
            name = author or _NAMES.get(speaker) or without_names(redact(name), names)[:80] or "Unknown sender"
        return Message(
            number=number,
            anchor=self.anchor(number),
            speaker=speaker,
            speaker_name=name,
            at=at,
            blocks=without_names(blocks, names),
            left_out=left_out,
            is_initial_prompt=is_prompt,
            is_repetition=is_repetition,
            tokens=_tokens(entry),
            processing_ms=whole_number(entry.get(PROCESSING)),
            notes=notes_of(entry, is_edit=number in self.edited),
            reply=self.replies.get(str(first_of(entry, *IDENTITY))) if self.replies else None,
            drift=("not a message but a bare value",) if is_bare else (*flaws, *content_flaws),
        )


def _speaker_of(entry: dict[str, Any]) -> Speaker:
    return Speaker.HUMAN if entry.get("sent_by") == BY_HUMAN else _speaker(entry.get("role"))[0]


def _speaker(role: Any) -> tuple[Speaker, str, tuple[str, ...]]:
    """Return the speaker of a role, the role as text, and its flaws."""
    if role is None or role == "":
        return Speaker.UNKNOWN, "", ("it does not say who wrote it",)
    name = text_of(role).strip()[:200]
    speaker = _SPEAKERS.get(name.lower())
    return (speaker, name, ()) if speaker else (Speaker.UNKNOWN, name, ("its sender is not of a known kind",))


def _digest(identity: str, secret: str) -> str:
    return as_letters(hashlib.blake2b(clean(identity).encode(), key=_anchor_key(secret), digest_size=8).digest())


@lru_cache(maxsize=4)
def _anchor_key(secret: str) -> bytes:
    """Return a key for the digests, because WhatsApp derives message ids from phone numbers."""
    return hashlib.sha256(b"message anchor\0" + secret.encode()).digest()


def _tokens(entry: dict[str, Any]) -> dict[str, int]:
    if _TOKEN_NAMES.isdisjoint(entry):
        return {}
    found = {kind: whole_number(first_of(entry, *names)) for kind, names in TOKENS.items()}
    return {kind: count for kind, count in found.items() if count is not None}


def message_number(text: str) -> int | None:
    """Parse a message number from the query string; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else None
