"""One page of a conversation's timeline: reads all sources in parallel, merges them, and makes lines of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from console import clock, refs
from console.audit.queries import hand_off_entries
from console.audit.records import HandOffEntry, TrailRow
from console.audit.rows import rows_and_records
from console.audit.state import NOTHING, StateMoment, StatePanel, read_state
from console.errors import ConsoleError, TableMissing
from console.permissions import Permission, Staff
from console.redaction import without_names
from console.store.calls import parallel
from console.store.streams import BEGINNING, END, Merged, Places, Stream, merge
from console.trail.models import AuditEntry, IdempotencyRecord
from conversations.conversation.timeline import lines, sources
from conversations.conversation.timeline.lines import Line, LineKind
from conversations.conversation.timeline.sources import Item, MessageAt
from conversations.converting import hand_off_of, reference_of
from conversations.messages.message import StoredMessages
from conversations.messages.transcript import events_of_item
from conversations.models import Conversation
from conversations.records import HandOffState

# How many records shown with an entry are remembered, so that older entries do not show them again.
REMEMBERED = 100
_MARK_LENGTH = 14

NO_TRAIL = "This environment has no trail table, so hand-offs and actions are missing here."
NO_RECORDS = "This environment has no idempotency table, so its records are missing here."
HAND_OFFS_UNREAD = "Hand-offs stored only in the conversation could not be read. Try again in a moment."
RECORDS_UNREAD = "The idempotency records could not be read. Try again in a moment."
NO_INDEX = (
    "The idempotency table has no index by conversation, so only records that the trail names are shown, beside their "
    "entries."
)


@dataclass(frozen=True, slots=True)
class Timeline:
    """One page, newest line first; lines without a readable time come last.

    `next` is a sealed cursor ("" at the end); `from_start`: the page begins with the newest line. `notices` say what is
    missing; `is_masked`: messages are redacted.
    """

    lines: tuple[Line, ...]
    next: str = ""
    from_start: bool = True
    notices: tuple[str, ...] = ()
    is_masked: bool = False


def read_timeline(
    item: Conversation,
    stored: StoredMessages,
    staff: Staff,
    kinds: Sequence[LineKind],
    *,
    record_opened: Callable[[], bool],
    cursor: str = "",
    at: str = "",
) -> Timeline:
    """Read one page of these kinds. The caller has checked role and scope.

    `record_opened` records that messages are shown, before anything is returned; it returns False if there is no trail,
    and messages are then redacted. `cursor` continues a page, `at` is a link to a line; an invalid or stale one gives
    the newest lines, with a notice for a link.

    In parallel at most a PutItem, a GetItem and five Queries, then a BatchGetItem. Without the index of
    records and without entries two more Queries. Raises the store's errors; a missing table adds a notice.
    """
    places = _places_of(item, staff, kinds, cursor, at)
    reader = _TimelineReader(item, stored, staff, kinds, places or {})
    if at and places is None:
        reader.notices["The linked line no longer exists. These are the newest."] = None
    return reader.read(record_opened)


def _bindings(item: Conversation, staff: Staff, kinds: Sequence[LineKind]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the bindings of cursors and of links to a line. Links are not bound to one person: people share them."""
    own = (item.primary_channel, item.conversation_id, *kinds)
    return ("timeline", *own, staff.username), ("timeline line", *own)


def _places_of(item: Conversation, staff: Staff, kinds: Sequence[LineKind], cursor: str, at: str) -> Places | None:
    for_pages, for_links = _bindings(item, staff, kinds)
    found = refs.unseal_cursor(cursor, *for_pages) if cursor else None
    if found is None and at:
        found = refs.unseal_cursor(at, *for_links)
    return dict(found) if isinstance(found, dict) else None


class _TimelineReader:
    def __init__(
        self, item: Conversation, stored: StoredMessages, staff: Staff, kinds: Sequence[LineKind], places: Places
    ) -> None:
        self.item, self.stored, self.staff, self.kinds = item, stored, staff, kinds
        self.places = places
        self.now = clock.now()
        self.hand_off = hand_off_of(item)
        self.reference = reference_of(item.primary_channel, item.conversation_id)
        self.wants_entries = LineKind.HAND_OFF in kinds or LineKind.ACTION in kinds
        self.notices: dict[str, None] = {}

    def read(self, record_opened: Callable[[], bool]) -> Timeline:
        found = self._at_once(record_opened)
        raw = bool(found.get("opened")) and self.staff.can(Permission.TRANSCRIPT_RAW)
        merged_from, named = self._sources(found)
        page = merge(merged_from, sources.PAGE_SIZE)
        placed, marks = self._lines(page, raw=raw, named=named)
        if page.after is not None and not placed:
            self.notices["No lines of these kinds so far. Continue on the next page."] = None
        for_pages, for_links = _bindings(self.item, self.staff, self.kinds)
        after = page.after and {**page.after, **({"told": marks} if marks else {})}
        return Timeline(
            lines=tuple(replace(line, place=refs.seal_cursor(place, *for_links)) for line, place in _in_order(placed)),
            next=refs.seal_cursor(after, *for_pages) if after else "",
            from_start=not self.places,
            notices=tuple(self.notices),
            is_masked=LineKind.MESSAGE in self.kinds and not raw,
        )

    # --- Reading ------------------------------------------------------------------------------------------------------

    def _at_once(self, record_opened: Callable[[], bool]) -> dict[str, Any]:
        """Run all reads, and the entry for opening messages, in parallel."""
        work: dict[str, Callable[[], Any]] = {}
        if LineKind.MESSAGE in self.kinds:
            work["opened"] = record_opened
        if LineKind.STATE in self.kinds and self._start("state") is not END:
            work["state"] = partial(read_state, self.item.conversation_id, self.now)
        if LineKind.HAND_OFF in self.kinds and self._start("hand-off") is not END:
            work["hand-off"] = self._hand_off_entries
        if self.wants_entries:
            work |= self._entries()
        if LineKind.RECORD in self.kinds:
            work |= {name: partial(self._records, name, epochs=name == "old records") for name in _RECORDS}
        return dict(zip(work, parallel(*work.values()), strict=True)) if work else {}

    def _entries(self) -> dict[str, Callable[[], Any]]:
        both = {LineKind.HAND_OFF, LineKind.ACTION} <= set(self.kinds) or not self.wants_entries
        hand_off = None if both else LineKind.HAND_OFF in self.kinds
        return {
            name: partial(self._entries_of, name, epochs=name == "old entries", hand_off=hand_off) for name in _ENTRIES
        }

    def _entries_of(self, name: str, *, epochs: bool, hand_off: bool | None) -> Stream[Item]:
        start, trail, company = self._start(name), self.item.conversation_id, self.item.company_id or ""
        try:
            return sources.entries(name, start, trail, company, epochs=epochs, hand_off=hand_off)
        except TableMissing:
            self.notices[NO_TRAIL] = None
            return Stream(name)

    def _hand_off_entries(self) -> tuple[HandOffEntry, ...] | None:
        if self.hand_off.state is HandOffState.AI:
            return ()
        try:
            return hand_off_entries(self.item.conversation_id, self.item.company_id or "")[0]
        except TableMissing:
            return ()
        except ConsoleError:
            self.notices[HAND_OFFS_UNREAD] = None
            return None

    def _records(self, name: str, *, epochs: bool) -> Stream[Item] | None:
        start = self._start(name)
        try:
            return sources.records(name, start, self.item.conversation_id, self.reference, epochs=epochs)
        except TableMissing:
            self.notices[NO_RECORDS] = None
            return Stream(name)
        except ConsoleError:
            self.notices[RECORDS_UNREAD] = None
            return Stream(name, start, failed=True)

    def _hand_offs_of_item(self, found: dict[str, Any]) -> Stream[Item]:
        """Return the stream of hand-offs that are known from the item, without an entry."""
        start = self._start("hand-off")
        if "hand-off" not in found:
            return Stream("hand-off", start)
        if (entries := found["hand-off"]) is None:
            return Stream("hand-off", start, failed=True)
        return sources.hand_off_stream(start, events_of_item(entries, self.hand_off, self.staff.username))

    def _start(self, name: str) -> Any:
        return self.places.get(name, BEGINNING)

    def _sources(self, found: dict[str, Any]) -> tuple[list[Stream[Item]], bool]:
        """Return the streams, those of the latest step first, and whether records come with their entries."""
        by_index = [found.get(name) for name in _RECORDS]
        named = LineKind.RECORD in self.kinds and None in by_index
        if named:
            self.notices[NO_INDEX] = None
            if not self.wants_entries:
                work = self._entries()
                found |= dict(zip(work, parallel(*work.values()), strict=True))
        panel: StatePanel = found.get("state", StatePanel())
        if panel.notice and panel.notice != NOTHING:
            self.notices[panel.notice] = None
        # A finished stream stays in the places, or the page after next would start it again.
        merged: list[Stream[Item] | None] = [
            sources.moments(self._start("state"), panel.moments),
            self._hand_offs_of_item(found),
        ]
        merged += [found.get(name) for name in _ENTRIES]
        merged += [] if named else by_index
        if LineKind.MESSAGE in self.kinds:
            merged.append(sources.messages(self._start("messages"), self.stored))
        return [stream for stream in merged if stream is not None], named

    # --- Lines --------------------------------------------------------------------------------------------------------

    def _lines(self, page: Merged[Item], *, raw: bool, named: bool) -> tuple[list[tuple[Line, Places]], list[str]]:
        """Return each item's line with its place, and the marks of records shown with entries, for the next page."""
        entries = [(item, place) for item, place in page.items if isinstance(item, AuditEntry)]
        rows, records, missing = (
            rows_and_records([entry for entry, _ in entries], self.stored.names) if entries else ([], (), "")
        )
        if missing and not self.notices.keys() & {NO_RECORDS, RECORDS_UNREAD}:
            self.notices[missing] = None
        row_of = {id(entry): row for (entry, _), row in zip(entries, rows, strict=True)}
        placed = [
            (self._line(item, row_of, raw=raw), place)
            for item, place in page.items
            if self.wants_entries or not isinstance(item, AuditEntry)
        ]
        stored_marks = self.places.get("told")
        marks: list[str] = list(stored_marks) if isinstance(stored_marks, list) else []
        if LineKind.RECORD in self.kinds:
            for record, place in self._beside(entries, records, named=named):
                line = self._record_line(record)
                if (mark := line.anchor[:_MARK_LENGTH]) not in marks:
                    placed.append((line, place))
                    marks.append(mark)
        return placed, marks[-REMEMBERED:]

    def _beside(
        self, entries: Sequence[tuple[AuditEntry, Places]], records: Iterable[IdempotencyRecord], *, named: bool
    ) -> Iterable[tuple[IdempotencyRecord, Places]]:
        """Yield records that these entries name and the index lacks, each at the place of its newest entry."""
        place_of: dict[Any, Places] = {}
        for entry, place in entries:
            place_of.setdefault(entry.plain("idempotency_key"), place)
        for record in records:
            if (named or not self._is_in_index(record)) and sources.is_shown(record, self.reference, self.now):
                yield record, place_of.get(record.plain("event_id"), {})

    def _is_in_index(self, record: IdempotencyRecord) -> bool:
        created = record.plain("created_at")
        return (
            isinstance(created, str) and bool(created) and record.plain("conversation_id") == self.item.conversation_id
        )

    def _line(self, item: Item, row_of: dict[int, TrailRow], *, raw: bool) -> Line:
        match item:
            case MessageAt(number):
                return lines.of_message(self.stored, number, raw=raw)
            case AuditEntry():
                return self._without_names(lines.of_entry(item, row_of[id(item)]))
            case IdempotencyRecord():
                return self._record_line(item)
            case StateMoment():
                return self._without_names(lines.of_state(item))
        return lines.of_event(item)

    def _record_line(self, record: IdempotencyRecord) -> Line:
        line = self._without_names(lines.of_record(record))
        return replace(line, words=without_names(line.words, self.stored.names))

    def _without_names(self, line: Line) -> Line:
        """Mask the recipient's names, except in `words`: those are names of staff."""
        text, payload = without_names((line.text, line.payload), self.stored.names)
        return replace(line, text=text, payload=payload)


_ENTRIES = ("entries", "old entries")
_RECORDS = ("records", "old records")


def _in_order(placed: Sequence[tuple[Line, Places]]) -> list[tuple[Line, Places]]:
    """Sort newest first, lines without a readable time last."""
    timed = [each for each in placed if each[0].at is not None]
    timed.sort(key=lambda each: each[0].at or datetime.min, reverse=True)
    return timed + [each for each in placed if each[0].at is None]
