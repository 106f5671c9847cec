"""Loading a thread: its metadata under either key, and a window of its messages; and one message by its id."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from pynamodb.expressions.operand import Path

from console import clock
from console.errors import NotAccepted, NotFound, TableMissing
from console.permissions import Staff
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel, run_alongside
from console.store.connection import batch_get
from console.store.models import SORT_KEY_BYTES, fits, query
from console.store.presence import index_absent
from console.store.streams import BEGINNING, END, Candidate, Chunk, Place, Stream, merge, read_on
from console.trees import text_of
from conversations.messages.transcript import WINDOW
from conversations.stores.adapter import ListParameters
from conversations.stores.threads.keys import END_OF_KEYS, MESSAGES, ThreadKey, key_of, sort_key_of
from conversations.stores.threads.models import TABLE, MessageIdIndex, Thread, ThreadMessage
from conversations.stores.threads.queries import belongs, updated

MESSAGE_INDEX = MessageIdIndex.Meta.index_name
# An item may have 400 KB, and a page 1 MB: the most reads of each kind of message for one window.
READS = 4
# An id should name one message; if it names several, the first ones are enough to find one that has not expired.
SAME_ID = 10
_FOUND = ("PK", "SK", "ExpiryTime", "org_id")

# The position of a message among those of both kinds: the part of its sort key after the kind, and the kind.
Order = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MessageWindow:
    """Adjacent messages, newest first. `is_from_start`, `is_to_end`: there are none before, or after.

    `reached` is how far it was read towards the start.
    """

    items: tuple[ThreadMessage, ...] = ()
    reached: Order | None = None
    is_from_start: bool = True
    is_to_end: bool = True


@dataclass(frozen=True, slots=True)
class LoadedThread:
    """A thread as it is stored. `metadata` are the unexpired copies, latest first; `notice` says what is missing."""

    key: ThreadKey
    metadata: tuple[Thread, ...]
    messages: MessageWindow
    notice: str = ""


def load(parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> LoadedThread:
    """Load a thread with its latest messages; those before or after a cursor; or those around one message.

    One BatchGetItem, and two Queries as a rule; strongly consistent. Raises `Forbidden`, `NotFound` (nothing stored,
    all expired, out of scope) and the store's errors.
    """
    key = key_of(parts, staff)
    with run_alongside(metadata_of, key, staff) as reading:
        window, notice = _messages(key, staff, parameters)
    metadata, foreign = reading.result()
    if foreign or not (metadata or window.items or not window.is_from_start):
        raise NotFound
    return LoadedThread(key, metadata, window, notice)


def metadata_of(key: ThreadKey, staff: Staff) -> tuple[tuple[Thread, ...], bool]:
    """Return the unexpired metadata items of a thread, latest first; and whether any of them is out of scope."""
    places = [{"PK": partition, "SK": sort_key} for partition, sort_key in key.places]
    now = clock.now()
    found = [Thread.from_raw_data(raw) for raw in batch_get(TABLE, places, consistent=True)]
    alive = [each for each in found if not clock.is_expired(each.plain("ExpiryTime"), now)]
    alive.sort(key=updated, reverse=True)
    return tuple(alive), any(not belongs(each, key.organisation, staff) for each in found)


# --- Windows --------------------------------------------------------------------------------------------------------


def order_of(sort_key: str) -> Order:
    """Return the position of a sort key: one order for both kinds, which is that of time."""
    kind, _, rest = sort_key.partition("#")
    return rest, f"{kind}#"


def earlier_cursor(loaded: LoadedThread, staff: Staff) -> str:
    """Return a cursor to the messages before those loaded; "" if there are none."""
    window = loaded.messages
    if window.is_from_start or window.reached is None:
        return ""
    return seal_cursor(["before", *window.reached], *_binding(loaded.key, staff))


def later_cursor(loaded: LoadedThread, staff: Staff) -> str:
    """Return a cursor to the messages after those loaded; "" if there are none."""
    window = loaded.messages
    if window.is_to_end or not window.items:
        return ""
    return seal_cursor(["after", *_behind(order_of(window.items[0].SK))], *_binding(loaded.key, staff))


def _behind(order: Order) -> Order:
    """Return the position right after that of a message."""
    return order[0], f"{order[1]}{END_OF_KEYS}"


def _binding(key: ThreadKey, staff: Staff) -> tuple[str, ...]:
    return ("messages of a thread", key.partition, staff.username)


def _messages(key: ThreadKey, staff: Staff, parameters: ListParameters) -> tuple[MessageWindow, str]:
    match unseal_cursor(parameters.before, *_binding(key, staff)) if parameters.before else None:
        case ["before", str() as rest, str() as kind]:
            return read_window(key, staff, (rest, kind)), ""
        case ["after", str() as rest, str() as kind]:
            return _around(key, staff, (rest, kind), WINDOW), ""
    window = read_window(key, staff)
    if not parameters.at:
        return window, ""
    wanted = sort_key_of(parameters.at)
    if wanted and not window.is_from_start and not _holds(window, wanted):
        window = _around(key, staff, order_of(wanted), WINDOW // 2)
        if not _holds(window, wanted):
            window = read_window(key, staff)
    return window, "" if _holds(window, wanted) else "That message no longer exists. These are the latest."


def _holds(window: MessageWindow, sort_key: str) -> bool:
    return sort_key in [item.SK for item in window.items]


def read_window(key: ThreadKey, staff: Staff, top: Order | None = None, size: int = WINDOW) -> MessageWindow:
    """Read the latest messages, or those below `top`. One Query for each kind as a rule. Raises the store's errors."""
    page = merge(_streams(key, staff, top, size, descending=True), size)
    items = tuple(item for item, _ in page.items)
    return MessageWindow(items, page.reached, page.after is None, top is None)


def _around(key: ThreadKey, staff: Staff, start: Order, newer: int) -> MessageWindow:
    """Return a whole window with up to `newer` messages from a position on; near the end, the latest window."""
    page = merge(_streams(key, staff, start, newer, descending=False), newer, descending=False)
    if page.after is None or page.reached is None:
        return read_window(key, staff)
    return read_window(key, staff, _behind(page.reached))


def _streams(
    key: ThreadKey, staff: Staff, bound: Order | None, size: int, *, descending: bool
) -> list[Stream[ThreadMessage]]:
    """Read both kinds of messages below a position (exclusive) or upwards from it, as many as a window needs."""
    now = clock.now()

    def read(kind: str, start: Place) -> Chunk[ThreadMessage]:
        near = f"{kind}{bound[0]}" if bound else f"{kind}{END_OF_KEYS}"
        low, high = (kind, near) if descending else (near, f"{kind}{END_OF_KEYS}")
        found, last = query(
            ThreadMessage,
            key.partition,
            ThreadMessage.SK.between(low, high),
            # One more shows whether there are others; another may be the bound itself.
            limit=size + 2,
            forward=not descending,
            start=start or None,
            consistent=True,
        )
        candidates = []
        for item in (ThreadMessage.from_raw_data(raw) for raw in found):
            order = order_of(item.SK)
            # Messages of both kinds may have the same time, and only one of them may be on this side of the bound.
            if bound is None or (order < bound) == descending:
                candidates.append(Candidate(order, order, item if _alive(item, key, staff, now) else None))
        return Chunk(candidates, last if last else END)

    stretches = parallel(*(partial(read_on, partial(read, kind), BEGINNING, size + 1, READS) for kind in MESSAGES))
    return [Stream(kind, chunk=chunk) for kind, chunk in zip(MESSAGES, stretches, strict=True)]


# --- One message ----------------------------------------------------------------------------------------------------


def message_at(key: ThreadKey, sort_key: str, staff: Staff) -> ThreadMessage:
    """Return the current state of one message. Raises `NotFound` if it is missing, expired or out of scope."""
    if not sort_key.startswith(MESSAGES) or not fits(sort_key, SORT_KEY_BYTES):
        raise NotFound
    found = batch_get(TABLE, [{"PK": key.partition, "SK": sort_key}], consistent=True)
    items = [ThreadMessage.from_raw_data(raw) for raw in found]
    if not items or not _alive(items[0], key, staff, clock.now()):
        raise NotFound
    return items[0]


def _alive(item: ThreadMessage, key: ThreadKey, staff: Staff, now: Any) -> bool:
    return not clock.is_expired(item.plain("ExpiryTime"), now) and belongs(item, key.organisation, staff)


def find_message(key: ThreadKey, message_id: str, staff: Staff) -> str:
    """Return the sort key of the message with an id in its thread. Raises `NotFound`, and the store's errors.

    Two small Queries of the index of ids in parallel; without that index, search the messages within bounds.
    """
    if not message_id or not fits(f"{MESSAGES[0]}{message_id}", SORT_KEY_BYTES):
        raise NotFound
    try:
        found = parallel(*(partial(_by_id, key, f"{kind}{message_id}") for kind in MESSAGES))
    except (NotAccepted, TableMissing):
        if not index_absent(TABLE, MESSAGE_INDEX):
            raise
        found = parallel(*(partial(_looked_for, key, kind, message_id) for kind in MESSAGES))
    for item in (ThreadMessage.from_raw_data(raw) for part in found for raw in part):
        if _alive(item, key, staff, clock.now()) and text_of(item.plain("SK")).startswith(MESSAGES):
            return text_of(item.plain("SK"))
    raise NotFound


def _by_id(key: ThreadKey, named: str) -> list[dict[str, Any]]:
    condition = ThreadMessage.SKMessage == named
    return query(ThreadMessage, key.partition, condition, limit=SAME_ID, index=MESSAGE_INDEX, attributes=_FOUND)[0]


def _looked_for(key: ThreadKey, kind: str, message_id: str) -> list[dict[str, Any]]:
    """Return messages of one kind with an id, newest first, with at most `READS` reads."""
    named = (Path("SKMessage") == f"{kind}{message_id}") | (Path("message_id") == message_id)
    start = None
    for _ in range(READS):
        found, start = query(
            ThreadMessage,
            key.partition,
            ThreadMessage.SK.startswith(kind),
            only=named,
            limit=1000,
            forward=False,
            start=start,
            attributes=_FOUND,
        )
        if found or not start:
            return found
    return []
