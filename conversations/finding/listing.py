"""Reading of lists of conversations: one page, one row, or the neighbour of a row, in the way that each list allows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from console.errors import NotAccepted, StoreUnavailable, TableMissing
from console.permissions import Staff
from console.store.models import key_names
from console.store.paging import PAGE_SIZE, RESTARTED, PageRead, PageSource, read_neighbour, read_page
from console.store.presence import index_absent, known_without
from console.store.sorting import (
    PartlySortedSource,
    SortedSource,
    is_known_large,
    is_place_of,
    read_partly_sorted,
    read_partly_sorted_neighbour,
    read_sorted,
    sorted_page,
)
from conversations.converting import summary_of
from conversations.models import Conversation
from conversations.records import ConversationSummary, Page

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConversationList:
    """A list and how to read it. If the index of `source` is missing, `fallback` is read, with its `notice`.

    `tail` are the items that lack the index's key; they are read after the last page. `in_memory` is the same list
    sorted in memory, which is read instead of all others unless it is too large. `partly_sorted` begins with its newest
    rows and is then read instead of `source`.
    """

    source: PageSource[Conversation]
    fallback: "ConversationList | None" = None
    notice: str = ""
    tail: SortedSource[Conversation] | None = None
    in_memory: SortedSource[Conversation] | None = None
    partly_sorted: PartlySortedSource[Conversation] | None = None

    @property
    def whole(self) -> "ConversationList":
        """The same conversations as one list, in any order."""
        return self.fallback if self.tail is not None and self.fallback is not None else self


def read_list(listed: ConversationList, staff: Staff, cursor: str = "") -> Page:
    """Read one page of a list as records, with a notice about its limits. Raises the store's errors."""
    found = _with_fallback(listed, lambda each: _read_page(each, staff.username, cursor, PAGE_SIZE))
    return Page(
        rows=tuple(summary_of(item, staff) for item in found.read.items),
        next=found.read.next,
        back=found.read.back,
        notice=" ".join(filter(None, (found.notice, _notice(found.read, newest=found.is_newest)))),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A page that was read, and what to say about the list. `is_newest`: it is in the order of time."""

    read: PageRead[Conversation]
    notice: str = ""
    is_newest: bool = False


def _read_page(listed: ConversationList, username: str, cursor: str, size: int) -> _Found:
    """Read one page in the way that the size of the list allows, and in the way that the pages before it were read."""
    is_followed = listed.partly_sorted is not None and is_place_of(listed.partly_sorted, username, cursor)
    if listed.in_memory is not None and not is_followed and (rows := read_sorted(listed.in_memory)) is not None:
        return _Found(sorted_page(listed.in_memory, rows, username, cursor, size))
    if listed.partly_sorted is not None:
        return _Found(read_partly_sorted(listed.partly_sorted, username, cursor, size), listed.notice)
    read = read_page(listed.source, username, cursor, size)
    if listed.tail is None or read.next:
        return _Found(read, listed.notice, listed.source.descending)
    if (tail := read_sorted(listed.tail)) is None:
        return _Found(read, TAIL_UNREAD, listed.source.descending)
    return _Found(replace(read, items=(*read.items, *tail.rows)), listed.notice, listed.source.descending)


TAIL_UNREAD = "Conversations without a date may be missing: this list is too long to search for them."


def first_visible_row(listed: ConversationList, staff: Staff) -> ConversationSummary | None:
    """Return one row of a list, or None if this person sees none within the read budget."""
    read = first_page(listed.whole, staff, PAGE_SIZE)
    return summary_of(read.items[0]) if read.items else None


def first_page(listed: ConversationList, staff: Staff, size: int) -> PageRead[Conversation]:
    """Read the first rows of a list. Raises the store's errors; `StoreUnavailable` if the index is missing."""
    return _with_fallback(listed, lambda each: _read_page(each, staff.username, "", size)).read


def neighbour_of(listed: ConversationList, item: Conversation, *, back: bool) -> ConversationSummary | None:
    """Return the row after (or before) an item of a list; None at the end.

    One small Query, or a few with filters; as many as a page takes for a list that is sorted in memory.
    """
    found = _with_fallback(listed, lambda each: _read_neighbour(each, item, back=back))
    return None if found is None else summary_of(found)


def _read_neighbour(listed: ConversationList, item: Conversation, *, back: bool) -> Conversation | None:
    if listed.in_memory is not None and (rows := read_sorted(listed.in_memory)) is not None:
        return rows.beside(item, back=back)
    if listed.partly_sorted is not None:
        return read_partly_sorted_neighbour(listed.partly_sorted, item, back=back)
    is_in_tail = not set(key_names(Conversation, listed.source.index)) <= set(item.raw)
    found = None if is_in_tail else read_neighbour(listed.source, item, back=back)
    if listed.tail is None or found is not None or (back and not is_in_tail):
        return found
    if (tail := read_sorted(listed.tail)) is None:
        return None
    if not is_in_tail:
        return tail.rows[0] if tail.rows else None
    found = tail.beside(item, back=back)
    if found is not None or not back:
        return found
    from_end = replace(listed.source, descending=not listed.source.descending)
    return next(iter(read_page(from_end, "", size=1).items), None)


def _with_fallback(listed: ConversationList, read: Callable[[ConversationList], T]) -> T:
    """Return the result of `read`: of the list, or of its fallback if the index is missing."""
    needs_index = listed.in_memory is None or is_known_large(listed.in_memory)
    if listed.fallback is not None and needs_index and known_without("CONVERSATIONS", listed.source.index):
        return read(listed.fallback)
    try:
        return read(listed)
    except (NotAccepted, TableMissing) as error:
        # DynamoDB refuses a missing index, so checking only now keeps the usual page at one call.
        index = listed.source.index
        if not index or not index_absent("CONVERSATIONS", index):
            raise
        if listed.fallback is None:
            message = f"This list needs the index {index}, which is missing in this environment."
            raise StoreUnavailable(message) from error
        return _with_fallback(listed.fallback, read)


def _notice(read: PageRead[Conversation], *, newest: bool) -> str:
    parts = []
    if read.restarted:
        parts.append(RESTARTED)
    if read.thin:
        which = ("newest" if newest else "first") if read.from_start else "next"
        parts.append(say_searched(f"{which} {read.looked_at} conversations", len(read.items)))
    return " ".join(parts)


def say_searched(what: str, found: int) -> str:
    """Say how many of the rows that were searched match, when there are more to search."""
    words = {0: "none of them matches", 1: "1 of them matches"}.get(found, f"{found} of them match")
    return f"Searched the {what}: {words}. There are more to search."
