"""Keeping the facts of conversations: written anew from the item and its trail, as they are then.

Cost of a change of what facts are made of: the item read once more, its trail where people had it, the fact read and
written (one write unit, two where it is new; a later episode's change writes the first fact too). Changes of anything
else cost nothing. Everything may be done twice, late, and by several at once.
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
from conversations.insight.episodes import READ, ItemEpisodes, episodes_of, is_same
from conversations.insight.facts import (
    FactDay,
    InsightFact,
    StoredFact,
    mark_changed,
    read_fact,
    remove_fact,
    write_fact,
)
from conversations.insight.hand_offs import HandOffPeriod, read_periods
from conversations.insight.identity import forget_link, save_link

logger = logging.getLogger(__name__)
T = TypeVar("T")

TRIES = 8
TOO_BUSY = "These facts change too fast to be written."
# What this process has seen of items: a sweep that comes by again asks nothing about what has not changed.
_seen: LRUCache[str, int] = LRUCache(100_000)


def note_change(new: Raw, old: Raw | None) -> bool:
    """Write the facts that a change of an item changes; whether any changed. Raises the store's errors."""
    if old is not None and is_same(new, old):
        return False
    return _where_kept(lambda: _Note(new, old, is_new=old is None, is_last_word=True).write())


def note_seen(stored: Raw, *, again: bool = False) -> bool:
    """As `note`, of an item that a sweep comes by: nothing where this process has seen it so, unless `again`."""
    return _where_kept(lambda: _note_seen(stored, again))


def _note_seen(stored: Raw, again: bool) -> bool:
    name, state = f"{table_name('INSIGHT')}#{stored['conversation_id']}{stored['primary_channel']}", _state_of(stored)
    if _seen.get(name) == state and not again:
        return False
    # What fails now is done the next time.
    _seen.pop(name, None)
    changed = _Note(stored, is_last_word=again).write()
    _seen[name] = state
    return changed


def forget_seen() -> None:
    """Look at every item anew: for tests, each of which has a database of its own."""
    _seen.clear()


def _state_of(stored: Raw) -> int:
    messages = stored.get("messages", {}).get("L") or ()
    return hash(repr([stored.get(name) for name in READ if name not in ("messages", "ai_config")]) + str(len(messages)))


def note(image: Raw) -> bool:
    """Write the facts of a conversation as it is now; `image` says which, and may be old. Whether any changed.

    Its trail is read whatever the item tells. Raises the store's errors.
    """
    return _Note(image, reads_trail=True).write()


def remove(image: Raw) -> None:
    """The conversation is gone: its facts stay, the way back to it does not. Raises the store's errors."""
    _where_kept(lambda: forget_link(pseudonym_in(image)))


def _where_kept(work: Callable[[], T]) -> T | Literal[False]:
    """Do something where this environment keeps facts, and may: nobody stays out of the queue because it may not."""
    try:
        return table_ready("INSIGHT") and work()
    except NotConfigured as error:
        logger.error("No facts are kept: %s", error.detail or error)
        return False


Place = tuple[FactDay, str]


class _Note:
    """One writing of a conversation's facts.

    First is read what is stored, wherever a fact of it may be; then the item; then is written, on condition that what
    was read is there still. The first fact names all others for as long as they are there, and is written last: whoever
    was overtaken finds out there, and begins anew.

    `old` is the image before `image`: its facts may be elsewhere. `is_new`: the item has just come. `is_last_word`:
    nothing may tell again what the item is now, so that who read it before this must not write after it.
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
        # Until when the way back is kept, once that is known.
        self._linked: tuple[int | None] | None = None

    def write(self) -> bool:
        """Whether anything changed. Raises the store's errors."""
        key = {name: self._image[name] for name in ("primary_channel", "conversation_id")}
        if self._is_new:
            # That of an item before it may be gone.
            self._link(self._image)
        for _ in range(TRIES):
            self._read_facts()
            stored = read_raw(key, READ)
            if stored is None:
                if self._linked is not None:
                    forget_link(pseudonym_in(self._image))
                return False
            found = episodes_of(stored)
            places = places_of(stored, found)
            if not self._is_ready(stored, places):
                continue
            written = self._write(self._facts(stored, found, places))
            if written is not None:
                return written
            self._seen = dict.fromkeys(self._seen)
        raise Throttled(TOO_BUSY)

    def _read_facts(self) -> None:
        """Read every place that was not read yet, and those that first facts name."""
        while unread := [place for place, seen in self._seen.items() if seen is None]:
            for day, fact_id in unread:
                seen = self._seen[day, fact_id] = read_fact(day, fact_id)
                for named, other_id in (seen.data or {}).get("later", ()):
                    self._seen.setdefault((replace(day, day=named), other_id), None)

    def _is_ready(self, stored: Raw, places: Sequence[Place]) -> bool:
        """Whether the item was read after all that it replaces, and after the way back was kept, which goes with it."""
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
        """What the facts are now; the trail is read only where people had it."""
        known = [seen.data for seen in self._seen.values() if seen is not None and seen.data is not None]
        had_people = self._had_people or _tells_of_people(stored)
        periods: list[HandOffPeriod] = []
        if had_people or any(each.get("asked") or each.get("over") for each in known):
            periods = read_periods(stored["conversation_id"]["S"], text_in(stored, LAST_ACTION))
        state = _middleware_state(stored) if periods else {}
        return facts_of_item(stored, found, periods, state, [self._data_at(place) for place in places])

    def _write(self, facts: Sequence[InsightFact]) -> bool | None:
        """Write what changed; None where another was faster."""
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
                # Whoever wrote it may have died before it was summed up.
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
        """Remove what is no fact any more; whether there was one, None where another was faster."""
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
    return places_of(stored, episodes_of(stored))


def _tells_of_people(stored: Raw) -> bool:
    """Whether an item says that people had it, so that its trail has more."""
    return flag_in(stored) or any(name in stored for name in (LAST_ACTION, "hand_off_requested_at"))


def _middleware_state(stored: Raw) -> dict[str, Any]:
    try:
        state = ConversationState.get(stored["conversation_id"]["S"])
    except (NotFound, TableMissing):
        return {}
    return {name: state.plain(name) for name in ("last_intent", "last_routing_confidence")}
