"""Reading the threads of an organisation or a user. Scope is checked before anything is read, and on each item.

Except in `exists`, which checks that an id is unused before it becomes part of a scope.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from console import clock
from console.errors import Conflict, NotAccepted, TableMissing
from console.permissions import Staff
from console.refs import seal_cursor, unseal_cursor
from console.store import presence
from console.store.calls import parallel
from console.store.models import ForeignModel
from console.store.paging import PAGE_SIZE, RESTARTED, PageRead, PageSource, read_page
from console.store.presence import any_item
from console.trees import text_of
from conversations.finding.filters import ConversationFilters
from conversations.finding.queries import created_ranges
from conversations.stores.reading import Attempted, capture_errors, index_absent
from conversations.stores.threads.keys import (
    END_OF_KEYS,
    THREAD,
    ThreadKey,
    check,
    instant_of,
    organisation_of,
    user_partition,
)
from conversations.stores.threads.models import TABLE, OrganisationIndex, Thread, ThreadTimeIndex

ORGANISATION_INDEX = OrganisationIndex.Meta.index_name
TIME_INDEX = ThreadTimeIndex.Meta.index_name
LIST_ATTRIBUTES = tuple(attribute.attr_name for attribute in Thread.get_attributes().values())
ABSENT = "which is missing in this environment"

Days = tuple[datetime | None, datetime | None]
ALWAYS: Days = (None, None)
Read = Attempted[PageRead[Thread] | None]


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """One page of threads. `notices` say how much was searched, and what could not be read.

    `missing`: the index does not exist, so nothing was read.
    """

    items: tuple[Thread, ...]
    next: str = ""
    back: str = ""
    notices: tuple[str, ...] = ()
    missing: bool = False


def belongs(item: ForeignModel, organisation: str, staff: Staff) -> bool:
    """Return whether an item belongs to the organisation by its key, and its attribute, if any, is in scope."""
    named = item.plain("org_id")
    return organisation_of(text_of(item.plain("PK"))) == organisation and (
        named in (None, "") or (isinstance(named, str) and staff.scope.covers_company(named))
    )


def exists(organisation: str) -> bool:
    """Return whether an organisation has any thread, in any scope. One Query of the organisation's index.

    An expired one counts until it is removed; without the table there is none. Raises `Conflict` if the index is
    missing, as only it can tell, and the store's errors.
    """
    try:
        return any_item(TABLE, "org_id", organisation, ORGANISATION_INDEX)
    except (NotAccepted, TableMissing) as error:
        if not presence.table_ready(TABLE):
            return False
        if not presence.index_absent(TABLE, ORGANISATION_INDEX):
            raise
        raise Conflict(
            f"The console cannot tell whether there are threads under this id: the index {ORGANISATION_INDEX} is "
            "missing in this environment. Ask an administrator of all companies to create it."
        ) from error


def key_of_thread(item: Thread) -> ThreadKey:
    """Return the thread of a metadata item."""
    user = item.plain("user_id")
    return ThreadKey.of_metadata(
        text_of(item.plain("PK")), text_of(item.plain("SK")), user if isinstance(user, str) else ""
    )


def updated(item: Thread) -> float:
    """Return when a thread last changed, in epoch seconds; 0 if unknown."""
    at = clock.parse_instant(item.plain("updated_at"))
    return at.timestamp() if at else 0.0


def started(item: Thread) -> datetime | None:
    """Return when a thread began."""
    return instant_of(item, text_of(item.plain("SKTimestampThread")))


# --- An organisation's ----------------------------------------------------------------------------------------------


def of_organisation(
    organisation: str, staff: Staff, days: Days = ALWAYS, cursor: str = "", size: int = PAGE_SIZE
) -> ThreadPage:
    """List an organisation's threads, latest activity first. One Query of the organisation's index; a few if filtered.

    Raises `Forbidden`, `NotFound` if it is out of scope, and the store's errors except for a missing index.
    """
    check(organisation, staff)
    source = replace(
        _source(organisation, staff, organisation, ORGANISATION_INDEX),
        ranges=created_ranges(ConversationFilters(since=days[0], until=days[1])) if any(days) else (),
        keep=(lambda item: _within(days, clock.parse_instant(item.plain("updated_at")))) if any(days) else None,
        binding=("threads", *_spelled(days)),
    )
    try:
        read = read_page(source, staff.username, cursor, size)
    except (NotAccepted, TableMissing):
        if not presence.index_absent(TABLE, ORGANISATION_INDEX):
            raise
        words = (
            f"Listing an organisation's threads needs the index {ORGANISATION_INDEX}, {ABSENT}. "
            "Look them up by user or by thread instead."
        )
        return ThreadPage((), notices=(words,), missing=True)
    items = tuple(sorted(read.items, key=updated, reverse=True))
    return ThreadPage(items, read.next, read.back, (*((RESTARTED,) if read.restarted else ()), *_searched(read)))


def _source(organisation: str, staff: Staff, partition: str, index: str) -> PageSource[Thread]:
    return PageSource(
        model=Thread,
        partition=partition,
        attributes=LIST_ATTRIBUTES,
        index=index,
        descending=True,
        visible=lambda item: text_of(item.plain("SK")).startswith(THREAD) and belongs(item, organisation, staff),
    )


def _spelled(days: Days) -> list[str]:
    return [each.isoformat() if each else "" for each in days]


def _within(days: Days, at: datetime | None) -> bool:
    since, until = days
    if since is None and until is None:
        return True
    return at is not None and (since is None or at >= since) and (until is None or at < until)


def _searched(read: PageRead[Thread]) -> tuple[str, ...]:
    if not read.thin:
        return ()
    which = "newest" if read.from_start else "next"
    return (f"Searched the {which} {read.looked_at:,} threads: {len(read.items):,} match. There are more to search.",)


# --- A user's -------------------------------------------------------------------------------------------------------


def of_user(
    organisation: str, tenant: str, user: str, staff: Staff, days: Days = ALWAYS, cursor: str = ""
) -> ThreadPage:
    """List a user's threads, newest first: those under the user's partition key, and those under keys of their own.

    The first are in the index of times: one Query, as a rule. The others are only in the organisation's index: a page's
    budget of reads. If one index is missing or fails, list what the other one returns. Raises the errors of
    `of_organisation`.
    """
    check(organisation, staff)
    base = user_partition(organisation, tenant, user)
    binding = ("threads of a user", base, tenant, *_spelled(days))
    # Where each of the two sources continues; None once it has ended.
    places: list[str | None] = ["", ""]
    match unseal_cursor(cursor, *binding, staff.username) if cursor else None:
        case [str() | None as own_place, str() | None as apart_place]:
            places = [own_place, apart_place]

    def read(source: PageSource[Thread], place: str | None) -> Callable[[], Read]:
        bound = replace(source, binding=binding)
        return capture_errors(lambda: None if place is None else read_page(bound, staff.username, place), None)

    source = _own(organisation, base, staff, days)
    own, apart = parallel(
        read(source, places[0]), read(_other_keys(organisation, base, tenant, user, staff, days), places[1])
    )
    words: tuple[str, ...] = ()
    if own.is_denied and index_absent(TABLE, TIME_INDEX):
        words = (f"The index {TIME_INDEX} is missing in this environment, so threads are in the order of their ids.",)
        own = read(replace(source, index="", ranges=((THREAD, f"{THREAD}{END_OF_KEYS}"),)), places[0])()
    if own.error and (apart.error or apart.value is None):
        raise own.error
    if own.error:
        words = ("The threads under the user's own key could not be read just now.",)
    resume_at = [_onward(own, places[0]), None if apart.error else _onward(apart, None)]
    items = [item for each in (own, apart) if each.value for item in each.value.items]
    return ThreadPage(
        tuple(sorted(items, key=lambda item: at.timestamp() if (at := started(item)) else 0.0, reverse=True)),
        next=seal_cursor(resume_at, *binding, staff.username) if resume_at != [None, None] else "",
        notices=(
            *words,
            *(_searched(own.value) if own.value else ()),
            *_looked_apart(apart),
            *((RESTARTED,) if cursor and places == ["", ""] else ()),
        ),
    )


def _own(organisation: str, base: str, staff: Staff, days: Days) -> PageSource[Thread]:
    """Return the source of a user's threads under the user's own partition key, from the index of times."""
    keep = (lambda item: _within(days, started(item))) if any(days) else None
    return replace(_source(organisation, staff, base, TIME_INDEX), keep=keep)


def _other_keys(organisation: str, base: str, tenant: str, user: str, staff: Staff, days: Days) -> PageSource[Thread]:
    """Return the source of a user's threads that `_own` does not list, from the organisation's index."""

    def keep(item: Thread) -> bool:
        key = key_of_thread(item)
        listed = base == item.PK and text_of(item.plain("SKTimestampThread")).startswith(THREAD)
        theirs = key.base == base if tenant else user in (key.user, item.plain("user_id"))
        return theirs and not listed and _within(days, started(item))

    return replace(_source(organisation, staff, organisation, ORGANISATION_INDEX), keep=keep)


def _onward(read: Read, place: str | None) -> str | None:
    """Return where a source continues; `place` again if it could not be read."""
    if read.error is not None:
        return place
    return (read.value.next or None) if read.value else None


def _looked_apart(read: Read) -> tuple[str, ...]:
    """Return how far threads under keys of their own were searched, or why they were not."""
    if read.error is not None:
        why = "they could not be read. Try again in a moment."
        if read.is_denied and index_absent(TABLE, ORGANISATION_INDEX):
            why = f"that needs the index {ORGANISATION_INDEX}, {ABSENT}."
        return (f"Threads under keys of their own are not listed: {why} Look them up by thread.",)
    if read.value is None or not read.value.next:
        return ()
    which = "newest" if read.value.from_start else "next"
    return (
        f"Threads under keys of their own were looked for among the organisation's {which} "
        f"{read.value.looked_at:,}. There are more to search.",
    )
