"""The facts of a thread of the assistant: one, on the day it began, from its metadata and its messages.

The fields of `data`, each absent if empty:

- `channel`: its origin, as the assistant names it; `expires`: when the last of its items expires, in epoch seconds;
- `days`: counts by the day of the messages, in UTC (`_count_message` lists the names).

A day that has lost messages since keeps its previous counts. Schema thread-history.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlsplit

from console import clock
from console.store.connection import batch_get
from console.store.models import ForeignModel
from conversations.converting import model_in
from conversations.handoff.stored import Raw
from conversations.insight.facts import FactDay, FactKind, fact_data
from conversations.insight.identity import pseudonym_of
from conversations.insight.sources import (
    OneFactSource,
    SourceReference,
    counted_day,
    hash_content,
    latest_expiry,
    latest_items,
)
from conversations.insight.words import OTHER, UNKNOWN, code_of, host_name
from conversations.messages.content import whole_number
from conversations.records import Speaker
from conversations.stores.items import speaker_of
from conversations.stores.threads.keys import END_OF_KEYS, LLM, MESSAGES, MSG, THREAD, ThreadKey, instant_of
from conversations.stores.threads.messages import SOURCES_SHOWN, VERSOS, comment_of, is_answer, origins_of, verso_of
from conversations.stores.threads.models import TABLE, Thread, ThreadMessage
from conversations.stores.threads.queries import key_of_thread, started

THREAD_WORD = "thread"
# Never the text of messages.
READ = (
    *("PK", "SK", "SKTimestampThread", "ExpiryTime", "org_id", "user_id", "origin", "role", "timestamp", "created_at"),
    *("updated_at", "verso", "feedback", "sources", "stop_reason", "response_metadata"),
)
MOST_HOSTS = 20
_USERS = {Speaker.CUSTOMER: "user", Speaker.AI: "assistant"}
_TOKENS = {
    "prompt": ("prompt_tokens", "input_tokens", "inputTokens", "prompt_token_count", "inputTokenCount"),
    "completion": (
        *("completion_tokens", "output_tokens", "outputTokens", "candidates_token_count", "outputTokenCount"),
        "generated_token_count",
    ),
    "total": ("total_tokens", "totalTokens", "total_token_count", "totalTokenCount"),
}
# Some providers count these tokens separately from the prompt's, others include them.
_CACHE_READ, _CACHE_WRITTEN = (
    ("cache_read_input_tokens", "cacheReadInputTokens", "cacheReadInputTokenCount"),
    ("cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWriteInputTokenCount"),
)
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_READ_IN_DETAILS = ("cached_tokens", "cache_read")
_STOPS = ("stop_reason", "stopReason", "finish_reason", "finishReason")
# Bounds on the search through a response's metadata.
_MAPS, _VALUES = 40, 30

Counted = dict[str, int]


@dataclass
class ThreadSource(OneFactSource):
    """A thread. `metadata` and `messages`, latest first, are its unexpired items, once read."""

    kind = FactKind.THREADS

    key: ThreadKey
    metadata: tuple[Thread, ...] = ()
    messages: tuple[ThreadMessage, ...] = ()
    is_read: bool = field(default=False, compare=False)

    def first_day(self) -> FactDay | None:
        """Return the day on which it began, and its owner."""
        read = self if self.is_read else self.read()
        return None if read is None else FactDay(self.kind, read.owner, counted_day(read.begun))

    def read(self) -> Self | None:
        """Read the unexpired items; None if there are none. One BatchGetItem, and a Query for each MB."""
        now = clock.now()
        keys = [{"PK": partition, "SK": sort_key} for partition, sort_key in self.key.places]
        metadata = _alive([Thread.from_raw_data(raw) for raw in batch_get(TABLE, keys, consistent=True)], now)
        both_kinds = ThreadMessage.SK.between(LLM, MSG + END_OF_KEYS)
        found = latest_items(ThreadMessage, self.key.partition, both_kinds, limit=1000, attributes=READ)
        kept = [raw for raw in found if str(raw["SK"].get("S", "")).startswith(MESSAGES)]
        messages = _alive([ThreadMessage.from_raw_data(raw) for raw in kept], now)
        if not metadata and not messages:
            return None
        return replace(self, metadata=tuple(metadata), messages=tuple(messages), is_read=True)

    @property
    def owner(self) -> str:
        """The organisation of its key; "" if an item names another one."""
        named = {each.plain("org_id") for each in self._items if isinstance(each.plain("org_id"), str)} - {""}
        return self.key.organisation if named <= {self.key.organisation} else ""

    @property
    def begun(self) -> datetime | None:
        """When it began, from its metadata, else its first message."""
        times = [started(each) for each in self.metadata] or [_at(each) for each in self.messages]
        return min((each for each in times if each is not None), default=None)

    def data(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Count the messages by day; a day that has lost some keeps its previous counts."""
        days: dict[str, Counted] = {}
        for message in reversed(self.messages):
            _add(days.setdefault(counted_day(_at(message)), {}), _count_message(message))
        origins = [each.plain("origin") for each in self.metadata]
        channel = next((code_of(each).lower() for each in origins if each), "") or before.get("channel", "")
        return fact_data(channel=channel, days=kept_days(days, before.get("days")), expires=self._expires)

    def reference(self) -> SourceReference:
        """Return the parts that name its page."""
        return SourceReference(self.pseudonym, (self.key.base, self.key.thread_id), self._expires)

    @property
    def _expires(self) -> int | None:
        return latest_expiry([each.plain("ExpiryTime") for each in self._items])

    @property
    def _items(self) -> tuple[ForeignModel, ...]:
        return (*self.metadata, *self.messages)

    @property
    def pseudonym(self) -> str:
        """The pseudonym of its organisation, user and id."""
        return pseudonym_of(THREAD_WORD, self.key.base, self.key.thread_id)


def threads_in(items: list[Raw]) -> Iterator[ThreadSource]:
    """Yield the threads that have unexpired items in a page of the table."""
    now = clock.now()
    found: dict[ThreadKey, list[Raw]] = {}
    for raw in items:
        key = _key_of(raw)
        if key is not None and key.is_one and not clock.is_expired(Thread.from_raw_data(raw).plain("ExpiryTime"), now):
            found.setdefault(key, []).append(raw)
    for key, parts in found.items():
        name = ("thread", key.base, key.thread_id, parts[0]["PK"]["S"], parts[0]["SK"]["S"])
        yield ThreadSource(key, name=name, state=hash_content(parts))


def _key_of(raw: Raw) -> ThreadKey | None:
    partition, sort_key = str(raw["PK"].get("S", "")), str(raw["SK"].get("S", ""))
    if sort_key.startswith(MESSAGES):
        return ThreadKey.of_partition(partition)
    return key_of_thread(Thread.from_raw_data(raw)) if sort_key.startswith(THREAD) else None


def kept_days(now: dict[str, Counted], before: Any) -> dict[str, Counted]:
    """Return the counts of each day: the previous ones where there were more messages then."""
    for day, counts in (before if isinstance(before, dict) else {}).items():
        if isinstance(counts, dict) and _messages(counts) > _messages(now.get(day, {})):
            now[day] = counts
    return now


def _messages(counts: Mapping[str, int]) -> int:
    return sum(counts.get(each, 0) for each in ("user", "assistant", "other"))


def _add(counts: Counted, more: Counted) -> None:
    """Add up counts; a day's sources beyond `MOST_HOSTS` are counted together."""
    hosts = {name.split("|")[1] for name in counts if name.startswith("source|")} - {OTHER}
    for name, count in more.items():
        what, *rest = name.split("|")
        if what == "source" and rest[0] not in hosts:
            if len(hosts) >= MOST_HOSTS:
                name = "|".join((what, OTHER, *rest[1:]))
            else:
                hosts.add(rest[0])
        counts[name] = counts.get(name, 0) + count


# --- One message ----------------------------------------------------------------------------------------------------


def _count_message(item: ThreadMessage) -> Counted:
    """Return what one message adds, by name. Never raises.

    `user`, `assistant`, `other`: who wrote it. For answers: `up`, `down`, `unclear`: their feedback; `comment|up`,
    `|down` and `|none`: there is a comment; `sources|with` and `|without`, and the same with `|up` or `|down`;
    `source|HOST`, and the same with `|up` or `|down`; `stop|REASON`; `answers|MODEL`; and numbers of tokens:
    `prompt|MODEL`, `completion|MODEL`, `cached|MODEL` (included in the prompt's) and `unpriced|MODEL` (of unknown
    kind).
    """
    if not is_answer(item):
        speaker, _, _ = speaker_of(item.plain("role") or "user", "role")
        return {_USERS.get(speaker, OTHER): 1}
    verso = verso_of(item).lower()
    rating = verso if verso in VERSOS else ""
    found: Counted = {"assistant": 1}
    if verso:
        found[rating or "unclear"] = 1
    if comment_of(item).strip():
        found[f"comment|{rating or 'none'}"] = 1
    hosts = hosts_of(item)
    for name in (f"sources|{'with' if hosts else 'without'}", *(f"source|{each}" for each in hosts)):
        found |= {name: 1} | ({f"{name}|{rating}": 1} if rating else {})
    metadata = item.plain("response_metadata")
    stop = next((code for each in _stops(item, metadata) if (code := code_of(each)) != UNKNOWN), UNKNOWN)
    return found | {f"stop|{stop.lower()}": 1} | _usage(metadata)


def hosts_of(item: ThreadMessage) -> list[str]:
    """Return the distinct hosts of an answer's sources; `other` for those without one, or with personal data."""
    origins, _ = origins_of(item, raw=True)
    return sorted({host_name(urlsplit(each.url).hostname if each.url else "") for each in origins[:SOURCES_SHOWN]})


def _usage(metadata: Any) -> Counted:
    model, tokens = code_of(model_in(metadata)), tokens_in(metadata)
    rest = tokens["total"] - tokens["prompt"] - tokens["completion"]
    more = {"answers": 1, "unpriced": max(0, rest), **tokens}
    return {f"{what}|{model}": count for what, count in more.items() if count and what != "total"}


def tokens_in(metadata: Any) -> Counter[str]:
    """Return the tokens in a response's metadata by kind, from the first map in it that has any.

    `cached` are those of `prompt` that were read from a cache.
    """
    for values in _maps(metadata):
        found = {kind: _first(values, names) for kind, names in _TOKENS.items()}
        if any(each is not None for each in found.values()):
            tokens = Counter({kind: count for kind, count in found.items() if count is not None})
            apart = _first(values, _CACHE_READ) or 0
            details: Mapping[str, Any] = next(
                (values[name] for name in _DETAILS if isinstance(values.get(name), Mapping)), {}
            )
            tokens["cached"] = apart or _first(details, _READ_IN_DETAILS) or 0
            tokens["prompt"] += apart + (_first(values, _CACHE_WRITTEN) or 0)
            return tokens
    return Counter()


def _first(values: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := whole_number(values.get(name))) is not None), None)


def _stops(item: ThreadMessage, metadata: Any) -> Iterator[Any]:
    yield item.plain("stop_reason")
    for values in _maps(metadata):
        yield from (values[name] for name in _STOPS if name in values)


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a map and those nested in it, outer ones first, within bounds."""
    waiting = [value]
    for _ in range(_MAPS):
        if not waiting:
            return
        current = waiting.pop(0)
        if isinstance(current, Mapping):
            yield current
            waiting += list(current.values())[:_VALUES]
        elif isinstance(current, list):
            waiting += current[:_VALUES]


def _at(item: ThreadMessage) -> datetime | None:
    return instant_of(item, str(item.plain("SK")))


def _alive(items: list[Any], now: datetime) -> list[Any]:
    return [each for each in items if not clock.is_expired(each.plain("ExpiryTime"), now)]
