"""Writing the facts of conversations: always made again from the current item and its trail.

A change of attributes that facts are made from costs: a read of the item, of its trail if people had it, and a read and
write of the fact (one write unit, two if it is new; a change of a later episode writes the first fact too). Other
changes cost nothing. Everything may happen twice, late and concurrently.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from cachetools import LRUCache

from console.errors import NotConfigured, NotFound, TableMissing, Throttled
from console.store.calls import table_name
from console.store.presence import table_ready
from console.trail.models import ConversationState
from conversations.handoff.protocol import read_raw
from conversations.handoff.stored import LAST_ACTION, Raw, flag_in, text_in
from conversations.insight.conversation_facts import expires_in, facts_of_item, places_of, pseudonym_in
from conversations.insight.episodes import READ, ItemEpisodes, episodes_of, has_same_facts
from conversations.insight.facts import InsightFact, StoredFact, mark_changed, read_fact, remove_fact, write_fact
from conversations.insight.hand_offs import HandOffPeriod, read_periods
from conversations.insight.identity import forget_link, save_link
from conversations.insight.subjects import TOO_BUSY, Place, hash_content
from conversations.messages.older_messages import with_older

logger = logging.getLogger(__name__)
T = TypeVar("T")

TRIES = 8
# The state in which this process last saw each item: a sweep skips items that have not changed.
_seen: LRUCache[str, int] = LRUCache(100_000)


def note_change(new: Raw, old: Raw | None) -> bool:
    """Write the facts that a change of an item affects; return whether any changed. Raises the store's errors."""
    if old is not None and has_same_facts(new, old):
        return False
    return _if_facts_enabled(lambda: _FactWrite(new, old, is_new=old is None, is_last_word=True).write())


def note_seen(stored: Raw, *, again: bool = False) -> bool:
    """Write the facts of an item found by a sweep, unless this process has seen it unchanged; `again` writes anyway."""
    return _if_facts_enabled(lambda: _note_seen(stored, again))


def _note_seen(stored: Raw, again: bool) -> bool:
    name, state = f"{table_name('INSIGHT')}#{stored['conversation_id']}{stored['primary_channel']}", _state_of(stored)
    if _seen.get(name) == state and not again:
        return False
    # If this fails, the next sweep tries again.
    _seen.pop(name, None)
    changed = _FactWrite(stored, is_last_word=again).write()
    _seen[name] = state
    return changed


def forget_seen() -> None:
    """Forget which items were seen: for tests, each of which has its own database."""
    _seen.clear()


def _state_of(stored: Raw) -> int:
    messages = stored.get("messages", {}).get("L") or ()
    return hash_content([stored.get(name) for name in READ if name not in ("messages", "ai_config")], len(messages))


def note(image: Raw) -> bool:
    """Write the current facts of a conversation; return whether any changed. `image` identifies it, and may be old.

    Always read its trail. Raises the store's errors.
    """
    return _FactWrite(image, reads_trail=True).write()


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


class _FactWrite:
    """One write of a conversation's facts.

    Read the stored facts, in every place where they may be, then the item; then write, on condition that the facts are
    unchanged. The first fact lists all others while they exist, and is written last: a writer that was overtaken fails
    there, and starts again.

    `old` is the image before `image`: its facts may be elsewhere. `is_new`: the item was just created. `is_last_word`:
    no later notice may come for this state of the item, so that earlier readers must not write after it.
    """

    def __init__(
        self,
        image: Raw,
        old: Raw | None = None,
        *,
        is_new: bool = False,
        is_last_word: bool = False,
        reads_trail: bool = False,
    ) -> None:
        images = [image] if old is None else [image, old]
        self._image, self._is_new, self._is_last_word = image, is_new, is_last_word
        self._had_people = reads_trail or any(_tells_of_people(each) for each in images)
        self._seen: dict[Place, StoredFact | None] = {place: None for each in images for place in _places_in(each)}
        # The stored expiry of the link, once known.
        self._linked: tuple[int | None] | None = None

    def write(self) -> bool:
        """Write the facts; return whether anything changed. Raises the store's errors."""
        key = {name: self._image[name] for name in ("primary_channel", "conversation_id")}
        if self._is_new:
            # The link of a previous item with the same key may be gone.
            self._link(self._image)
        for _ in range(TRIES):
            self._read_facts()
            stored = read_raw(key, READ)
            if stored is None:
                if self._linked is not None:
                    forget_link(pseudonym_in(self._image))
                return False
            found = episodes_of(with_older(stored))
            places = places_of(stored, found)
            if not self._is_ready(stored, places):
                continue
            written = self._write(self._facts(stored, found, places))
            if written is not None:
                return written
            self._seen = dict.fromkeys(self._seen)
        raise Throttled(TOO_BUSY)

    def _read_facts(self) -> None:
        """Read every place that was not read yet, and those that the first facts list."""
        while unread := [place for place, seen in self._seen.items() if seen is None]:
            for day, fact_id in unread:
                seen = self._seen[day, fact_id] = read_fact(day, fact_id)
                for named, other_id in (seen.data or {}).get("later", ()):
                    self._seen.setdefault((replace(day, day=named), other_id), None)

    def _is_ready(self, stored: Raw, places: Sequence[Place]) -> bool:
        """Return whether the item was read after every fact that it replaces, and after its link was saved."""
        if any(place not in self._seen for place in places):
            self._seen |= {place: None for place in places if place not in self._seen}
            return False
        before, expires = self._data_at(places[0]), expires_in(stored)
        if self._linked is None and before is not None:
            self._linked = (before.get("expires"),)
        if self._linked != (expires,):
            self._link(stored)
            return False
        return True

    def _link(self, stored: Raw) -> None:
        expires = expires_in(stored)
        save_link(pseudonym_in(stored), (stored["primary_channel"]["S"], stored["conversation_id"]["S"]), expires)
        self._linked = (expires,)

    def _facts(self, stored: Raw, found: ItemEpisodes, places: Sequence[Place]) -> list[InsightFact]:
        """Make the current facts; the trail is only read if people had the conversation."""
        known = [seen.data for seen in self._seen.values() if seen is not None and seen.data is not None]
        had_people = self._had_people or _tells_of_people(stored)
        periods: list[HandOffPeriod] = []
        if had_people or any(each.get("asked") or each.get("over") for each in known):
            periods = read_periods(stored["conversation_id"]["S"], text_in(stored, LAST_ACTION))
        state = _middleware_state(stored) if periods else {}
        return facts_of_item(stored, found, periods, state, [self._data_at(place) for place in places])

    def _write(self, facts: Sequence[InsightFact]) -> bool | None:
        """Write what changed; return whether anything did, or None if another writer was faster."""
        first, *later = facts
        places = {(fact.day, fact.id): fact for fact in facts}
        before = self._data_at((first.day, first.id))
        named = [*(before or {}).get("later", ())]
        new = [[fact.day.day, fact.id] for fact in later if [fact.day.day, fact.id] not in named]
        if new and not self._put(InsightFact(first.day, first.id, {**first.data, "later": [*named, *new]})):
            return None
        changed = bool(new) or before != first.data
        for place in [each for each in self._seen if each not in places]:
            removed = self._remove(place)
            if removed is None:
                return None
            changed = changed or removed
        for fact in later:
            if self._data_at((fact.day, fact.id)) == fact.data:
                # The process that wrote it may have died before the day was summed up.
                mark_changed(fact.day)
            elif not self._put(fact):
                return None
            else:
                changed = True
        if not changed and not self._is_last_word:
            mark_changed(first.day)
        elif not self._put(first):
            return None
        return changed

    def _remove(self, place: Place) -> bool | None:
        """Remove a fact that no longer exists; return whether there was one, or None if another writer was faster."""
        seen = self._seen[place] or StoredFact()
        if seen.revision and seen.data is None:
            return False
        return seen.data is not None if remove_fact(*place, seen) else None

    def _put(self, fact: InsightFact) -> bool:
        seen = self._seen[fact.day, fact.id] or StoredFact()
        self._seen[fact.day, fact.id] = StoredFact(fact.data, seen.revision + 1)
        return write_fact(fact, seen)

    def _data_at(self, place: Place) -> Mapping[str, Any] | None:
        seen = self._seen[place]
        return None if seen is None else seen.data


def _places_in(stored: Raw) -> list[Place]:
    return places_of(stored, episodes_of(with_older(stored)))


def _tells_of_people(stored: Raw) -> bool:
    """Return whether an item shows that people had it, so that its trail has more."""
    return flag_in(stored) or any(name in stored for name in (LAST_ACTION, "hand_off_requested_at"))


def _middleware_state(stored: Raw) -> dict[str, Any]:
    try:
        state = ConversationState.get(stored["conversation_id"]["S"])
    except (NotFound, TableMissing):
        return {}
    return {name: state.plain(name) for name in ("last_intent", "last_routing_confidence")}
