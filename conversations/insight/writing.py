"""Writing the facts of conversations: always made again from the current item and its trail.

A change of attributes that facts are made from costs: a read of the item, of its trail if people had it, and a read and
write of the fact (one write unit, two if it is new; a change of a later episode writes the first fact too). Other
changes cost nothing. Everything may happen twice, late and concurrently.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeVar

from cachetools import LRUCache

from console.errors import NotConfigured, NotFound, TableMissing
from console.store.calls import table_name
from console.store.presence import table_ready
from console.trail.models import ConversationState
from conversations.handoff.protocol import read_raw
from conversations.handoff.stored import LAST_ACTION, Raw, flag_in, text_in
from conversations.insight.conversation_facts import expires_in, facts_of_item, keys_of, pseudonym_in
from conversations.insight.episodes import READ, ItemEpisodes, episodes_of, has_same_facts
from conversations.insight.facts import FactKey, InsightFact, StoredFact
from conversations.insight.hand_offs import HandOffPeriod, read_periods
from conversations.insight.identity import forget_link, save_link
from conversations.insight.sources import (
    FactSource,
    FactWrite,
    KnownFacts,
    SourceReference,
    hash_content,
    write_facts,
)
from conversations.messages.older_messages import with_older

logger = logging.getLogger(__name__)
T = TypeVar("T")

# The state in which this process last saw each item: a sweep skips items that have not changed.
_seen: LRUCache[str, int] = LRUCache(100_000)


def note_change(new: Raw, old: Raw | None) -> bool:
    """Write the facts that a change of an item affects; return whether any changed. Raises the store's errors."""
    if old is not None and has_same_facts(new, old):
        return False
    return _if_facts_enabled(lambda: _note_change(new, old))


def _note_change(new: Raw, old: Raw | None) -> bool:
    source = EpisodeSource((new,) if old is None else (new, old), is_last_word=True)
    if old is None:
        # The link of a previous item with the same key may be gone.
        source.link()
    return write_facts(source, again=True)


def note_seen(stored: Raw, *, again: bool = False) -> bool:
    """Write the facts of an item found by a sweep, unless this process has seen it unchanged; `again` writes anyway."""
    return _if_facts_enabled(lambda: _note_seen(stored, again))


def _note_seen(stored: Raw, again: bool) -> bool:
    name, state = f"{table_name('INSIGHT')}#{stored['conversation_id']}{stored['primary_channel']}", _state_of(stored)
    if _seen.get(name) == state and not again:
        return False
    # If this fails, the next sweep tries again.
    _seen.pop(name, None)
    changed = write_facts(EpisodeSource((stored,), is_last_word=again), again=True)
    _seen[name] = state
    return changed


def forget_seen() -> None:
    """Forget which items were seen: for tests, each of which has its own database."""
    _seen.clear()


def _state_of(stored: Raw) -> int:
    messages = stored.get("messages", {}).get("L") or ()
    return hash_content([stored.get(name) for name in READ if name not in ("messages", "ai_config")], len(messages))


def remove(image: Raw) -> None:
    """Remove the link to a conversation that is gone; its facts stay. Raises the store's errors."""
    _if_facts_enabled(lambda: forget_link(pseudonym_in(image)))


def _if_facts_enabled(work: Callable[[], T]) -> T | Literal[False]:
    """Do the work if this environment stores facts. Only log a missing key, so that the queue still works."""
    try:
        return table_ready("INSIGHT") and work()
    except NotConfigured as error:
        logger.error("No facts are kept: %s", error.detail or error)
        return False


@dataclass
class EpisodeSource(FactSource):
    """A conversation. The first of `images` identifies it; its facts may be where any of them says.

    The first fact lists all others while they exist, and is written last: a writer that was overtaken fails there, and
    starts again. `stored` is the item once read, with its `episodes` and the keys of their facts (`present`); `former`
    are all other keys that its facts may have. `is_last_word`: no later notice may come for this state of the item, so
    that earlier readers must not write after it. `linked`: the stored expiry of the link, once known.
    """

    name: tuple[str, ...] = field(default=("conversation",), kw_only=True)
    images: tuple[Raw, ...]
    reads_trail: bool = False
    is_last_word: bool = False
    linked: tuple[int | None] | None = None
    former: tuple[FactKey, ...] | None = None
    stored: Raw = field(default_factory=dict)
    episodes: ItemEpisodes | None = None
    present: tuple[FactKey, ...] = ()

    def keys(self) -> list[FactKey]:
        """Return every key that its facts have or may have."""
        if self.former is None:
            self.former = tuple(key for each in self.images for key in keys_of(each, episodes_of(with_older(each))))
        return list(dict.fromkeys((*self.former, *self.present)))

    def related(self, key: FactKey, seen: StoredFact) -> list[FactKey]:
        """Return the facts that the first one lists."""
        day, _ = key
        return [(replace(day, day=named), fact_id) for named, fact_id in (seen.data or {}).get("later", ())]

    def read(self) -> Self | None:
        """Read the item, and the messages stored apart from it."""
        stored = read_raw({name: self.images[0][name] for name in ("primary_channel", "conversation_id")}, READ)
        if stored is None:
            return None
        episodes = episodes_of(with_older(stored))
        present = tuple(keys_of(stored, episodes))
        return replace(self, stored=stored, episodes=episodes, present=present, former=tuple(self.keys()))

    def is_ready(self, known: KnownFacts) -> bool:
        """Return whether the item was read after its link was saved; save it if not."""
        before = known[self.present[0]]
        if self.linked is None and before is not None:
            self.linked = (before.get("expires"),)
        if self.linked == (expires_in(self.stored),):
            return True
        self.link()
        return False

    def link(self) -> None:
        """Save the link back."""
        reference = self.reference()
        save_link(reference.pseudonym, reference.parts, reference.expires)
        self.linked = (reference.expires,)

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Make one fact for each episode; the trail is only read if people had the conversation."""
        counted = any(each and (each.get("asked") or each.get("over")) for each in known.values())
        periods: list[HandOffPeriod] = []
        if counted or self.reads_trail or any(map(_tells_of_people, (*self.images, self.stored))):
            periods = read_periods(self.stored["conversation_id"]["S"], text_in(self.stored, LAST_ACTION))
        state = _middleware_state(self.stored) if periods else {}
        episodes = self.episodes or episodes_of(with_older(self.stored))
        return facts_of_item(self.stored, episodes, periods, state, [known[each] for each in self.present])

    def writes(self, known: KnownFacts) -> Iterator[FactWrite]:
        """Yield the first fact with those that it must list, then all others, then the first one again."""
        first, *later = self.facts(known)
        before = known[first.key]
        listed = [*(before or {}).get("later", ())]
        new = [[each.day.day, each.id] for each in later if [each.day.day, each.id] not in listed]
        stale = [key for key in known if key not in self.present]
        if new:
            yield FactWrite(first.key, {**first.data, "later": [*listed, *new]})
        yield from (FactWrite(key, None) for key in stale)
        yield from (FactWrite(each.key, each.data) for each in later)
        changed = before != first.data or any(known[each.key] != each.data for each in later)
        changed = changed or any(known[key] is not None for key in stale)
        yield FactWrite(first.key, first.data, always=changed or self.is_last_word)

    def prepare(self, changed: Sequence[InsightFact], seen: Mapping[FactKey, StoredFact]) -> None:
        """Do nothing: companies are known, and the link was saved before the item was read."""

    def reference(self) -> SourceReference:
        """Return the key of the item."""
        image, *_ = self.images
        parts = (image["primary_channel"]["S"], image["conversation_id"]["S"])
        return SourceReference(pseudonym_in(image), parts, expires_in(self.stored or image))

    def forget(self) -> None:
        """Remove the link if it was saved for an item that is gone."""
        if self.linked is not None:
            forget_link(pseudonym_in(self.images[0]))


def conversations_in(items: list[Raw]) -> Iterator[EpisodeSource]:
    """Yield the conversations of a page of the table, each with its trail: to write all facts again."""
    return (EpisodeSource((each,), reads_trail=True) for each in items)


def _tells_of_people(stored: Raw) -> bool:
    """Return whether an item shows that people had it, so that its trail has more."""
    return flag_in(stored) or any(name in stored for name in (LAST_ACTION, "hand_off_requested_at"))


def _middleware_state(stored: Raw) -> dict[str, Any]:
    try:
        state = ConversationState.get(stored["conversation_id"]["S"])
    except (NotFound, TableMissing):
        return {}
    return {name: state.plain(name) for name in ("last_intent", "last_routing_confidence")}
