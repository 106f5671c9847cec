"""Reading threads: an organisation's, and a user's. Scope is checked before anything is read, and on each item.

`exists` alone knows no scope: by it an id is found to be free before anybody gets it as scope.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from console import clock
from console.errors import Conflict, ConsoleError, NotAccepted, TableMissing
from console.permissions import Staff
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import submit
from console.store.existence import any_item
from console.store.models import ForeignModel
from console.store.paging import PAGE_SIZE, RESTARTED, PageRead, PageSource, read_page
from console.store.presence import index_absent, table_ready
from console.trees import text_of
from conversations.queries import ConversationFilters, created_ranges
from conversations.stores.threads import merging
from conversations.stores.threads.cursors import packed, unpacked
from conversations.stores.threads.key_formats import instant_of
from conversations.stores.threads.key_ranges import KeyRange, KeySource
from conversations.stores.threads.keys import THREAD, ThreadKey, check, organisation_of, user_partition
from conversations.stores.threads.models import TABLE, OrganisationIndex, Thread, ThreadTimeIndex

ORGANISATION_INDEX = OrganisationIndex.Meta.index_name
TIME_INDEX = ThreadTimeIndex.Meta.index_name
LIST_ATTRIBUTES = tuple(attribute.attr_name for attribute in Thread.get_attributes().values())

Days = tuple[datetime | None, datetime | None]
ALWAYS: Days = (None, None)


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """One page of threads. `notices` say how far it looked, and what could not be read. `missing`: the index is not
    there, so that nothing was read.
    """

    items: tuple[Thread, ...]
    next: str = ""
    back: str = ""
    notices: tuple[str, ...] = ()
    missing: bool = False


def belongs(item: ForeignModel, organisation: str, staff: Staff) -> bool:
    """Whether an item is the organisation's by its key, and by its attribute where it has one."""
    named = item.plain("org_id")
    return organisation_of(text_of(item.plain("PK"))) == organisation and (
        named in (None, "") or (isinstance(named, str) and staff.scope.covers_company(named))
    )


def exists(organisation: str) -> bool:
    """Whether an organisation has any thread, whosever it is: one Query of one key of the organisation's index.

    One that has expired counts, until it is removed. Raises `Conflict` where the index is not there, which alone can
    tell, and the store's errors; without the table there is none.
    """
    try:
        return any_item(TABLE, "org_id", organisation, ORGANISATION_INDEX)
    except (NotAccepted, TableMissing) as error:
        if not table_ready(TABLE):
            return False
        if not index_absent(TABLE, ORGANISATION_INDEX):
            raise
        raise Conflict(
            f"Whether threads are kept under this id cannot be told: the index {ORGANISATION_INDEX} is not there in "
            "this environment. Ask an administrator of all companies to create it."
        ) from error


def key_of_thread(item: Thread) -> ThreadKey:
    """The thread that a metadata item is of."""
    user = item.plain("user_id")
    return ThreadKey.of_metadata(
        text_of(item.plain("PK")), text_of(item.plain("SK")), user if isinstance(user, str) else ""
    )


def of_organisation(
    organisation: str, staff: Staff, days: Days = ALWAYS, cursor: str = "", size: int = PAGE_SIZE
) -> ThreadPage:
    """An organisation's threads, latest activity first: one Query of the organisation's index; filtered, a few.

    Raises `Forbidden`, `NotFound` for one out of scope, and the store's errors but for an absent index.
    """
    check(organisation, staff)
    try:
        read = read_page(_organisation_source(organisation, staff, days), staff.username, cursor, size)
    except (NotAccepted, TableMissing):
        if not index_absent(TABLE, ORGANISATION_INDEX):
            raise
        words = (
            f"An organisation's threads are listed by the index {ORGANISATION_INDEX}, which is not there in this "
            "environment. Look them up by user or by thread instead."
        )
        return ThreadPage((), notices=(words,), missing=True)
    items = tuple(sorted(read.items, key=_updated, reverse=True))
    return ThreadPage(items, read.next, read.back, _notices(read))


def _organisation_source(organisation: str, staff: Staff, days: Days) -> PageSource[Thread]:
    since, until = days
    dated = since is not None or until is not None
    return PageSource(
        model=Thread,
        partition=organisation,
        attributes=LIST_ATTRIBUTES,
        index=ORGANISATION_INDEX,
        ranges=created_ranges(ConversationFilters(since=since, until=until)) if dated else (),
        descending=True,
        visible=lambda item: _is_thread(item) and belongs(item, organisation, staff),
        keep=partial(_updated_within, days) if dated else None,
        binding=("threads", *(each.isoformat() if each else "" for each in days)),
    )


def _is_thread(item: Thread) -> bool:
    return text_of(item.plain("SK")).startswith(THREAD)


def _updated(item: Thread) -> float:
    at = clock.parse_instant(item.plain("updated_at"))
    return at.timestamp() if at else 0.0


def _updated_within(days: Days, item: Thread) -> bool:
    return _within(days, clock.parse_instant(item.plain("updated_at")))


def _within(days: Days, at: datetime | None) -> bool:
    since, until = days
    if since is None and until is None:
        return True
    return at is not None and (since is None or at >= since) and (until is None or at < until)


def _notices(read: PageRead[Thread]) -> tuple[str, ...]:
    words = []
    if read.restarted:
        words.append(RESTARTED)
    if read.thin:
        which = "newest" if read.from_start else "next"
        words.append(
            f"Searched the {which} {read.looked_at:,} threads: {len(read.items):,} fit. There are more to search."
        )
    return tuple(words)


# --- A user's --------------------------------------------------------------------------------------------------------


def of_user(
    organisation: str, tenant: str, user: str, staff: Staff, days: Days = ALWAYS, cursor: str = ""
) -> ThreadPage:
    """A user's threads, newest first: those under the user's partition key, and those under keys of their own.

    The first by the index of times: one Query, as a rule. The others only the organisation's index can tell: within
    the budget of reads of a page. An index that is absent, or fails, leaves what the other one gives. Raises as
    `of_organisation`.
    """
    check(organisation, staff)
    base = user_partition(organisation, tenant, user)
    binding = ("threads of a user", base, tenant, *(each.isoformat() if each else "" for each in days), staff.username)
    position = unseal_cursor(cursor, *binding) if cursor else None
    first = position is None
    ranges, others = (None, "") if position is None else (unpacked(position[0]), position[1])
    wanted = first or bool(others)
    source = _others(organisation, base, tenant, user, staff, days)
    apart = submit(read_page, source, staff.username, others) if wanted else None
    try:
        window, words = _by_time(base, organisation, staff, days, ranges)
        failed: ConsoleError | None = None
    except ConsoleError as error:
        failed, window = error, None
        words = ["The threads under the user's own key could not be read just now."]
    found, more, notices = _looked(apart.result if apart else None, failed, first=first)
    items = [entry.item for entry in window.items] if window else []
    # Where they could not be read just now, the next page tries again.
    left = packed(window.rest if window else ranges or ())
    return ThreadPage(
        tuple(sorted((*items, *found), key=_started, reverse=True)),
        next=seal_cursor([left, more], *binding) if left or more else "",
        notices=(
            *words,
            *notices,
            *(("That page no longer exists. This is the first.",) if cursor and first else ()),
        ),
    )


def _by_time(
    base: str, organisation: str, staff: Staff, days: Days, ranges: Sequence[KeyRange] | None
) -> tuple[merging.MessageWindow[Thread], list[str]]:
    since, until = days
    source = KeySource(
        Thread,
        base,
        (THREAD,),
        "SKTimestampThread",
        LIST_ATTRIBUTES,
        TIME_INDEX,
        lambda item: _is_thread(item) and belongs(item, organisation, staff),
        since,
        until,
    )

    def read(source: KeySource[Thread]) -> merging.MessageWindow[Thread]:
        if ranges is None:
            return merging.latest(source, PAGE_SIZE)
        return merging.window(source, ranges, PAGE_SIZE)

    try:
        return read(source), []
    except (NotAccepted, TableMissing):
        if not index_absent(TABLE, TIME_INDEX):
            raise
    words = f"The index {TIME_INDEX} is not there in this environment: threads were read in the order of their ids."
    plain = KeySource(Thread, base, (THREAD,), "SK", LIST_ATTRIBUTES, "", source.visible, since, until)
    return read(plain), [words]


def _others(organisation: str, base: str, tenant: str, user: str, staff: Staff, days: Days) -> PageSource[Thread]:
    """A user's threads that the index of times does not list under the user's own partition key."""

    def visible(item: Thread) -> bool:
        return _is_thread(item) and belongs(item, organisation, staff)

    def keep(item: Thread) -> bool:
        key = key_of_thread(item)
        listed = base == item.PK and text_of(item.plain("SKTimestampThread")).startswith(THREAD)
        theirs = key.base == base if tenant else user in (key.user, item.plain("user_id"))
        return theirs and not listed and _within(days, _start(item))

    return PageSource(
        model=Thread,
        partition=organisation,
        attributes=LIST_ATTRIBUTES,
        index=ORGANISATION_INDEX,
        descending=True,
        visible=visible,
        keep=keep,
        binding=("threads of a user", base, tenant, *(each.isoformat() if each else "" for each in days)),
    )


def _looked(
    result: Callable[[], PageRead[Thread]] | None, failed: ConsoleError | None, *, first: bool
) -> tuple[tuple[Thread, ...], str, list[str]]:
    """The threads under keys of their own, where to go on, and how far that was. Raises `failed` if all failed."""
    if result is None:
        if failed is not None:
            raise failed
        return (), "", []
    try:
        read = result()
    except ConsoleError as error:
        if failed is not None:
            raise failed from error
        if isinstance(error, NotAccepted | TableMissing) and index_absent(TABLE, ORGANISATION_INDEX):
            why = f"that needs the index {ORGANISATION_INDEX}, which is not there in this environment."
        else:
            why = "they could not be read. Try again in a moment."
        return (), "", [f"Threads under keys of their own are not listed: {why} Look them up by thread."]
    if not read.next:
        return read.items, "", []
    which = "newest" if first else "next"
    words = (
        f"Threads under keys of their own were looked for among the organisation's {which} {read.looked_at:,}. "
        "There are more to search."
    )
    return read.items, read.next, [words]


def _start(item: Thread) -> datetime | None:
    return instant_of(item, text_of(item.plain("SKTimestampThread")))


def _started(item: Thread) -> float:
    at = _start(item)
    return at.timestamp() if at else 0.0
