"""Loading a thread: its metadata under either key, and a window of its messages; and one message by its id."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from pynamodb.expressions.operand import Path

from console import clock
from console.errors import NotAccepted, NotFound, TableMissing
from console.permissions import Staff
from console.store.batches import batch_get
from console.store.calls import beside, parallel
from console.store.keys import SORT_KEY_BYTES, fits
from console.store.presence import index_absent
from console.trees import text_of
from conversations.stores.adapter import ListParameters
from conversations.stores.threads import merging
from conversations.stores.threads.cursors import ThreadPosition, sort_key_of
from conversations.stores.threads.key_formats import instant_in, instant_of, second_of
from conversations.stores.threads.key_ranges import READS, KeySource
from conversations.stores.threads.keys import MESSAGES, ThreadKey, key_of
from conversations.stores.threads.models import TABLE, MessageIdIndex, Thread, ThreadMessage
from conversations.stores.threads.queries import belongs
from conversations.transcript import WINDOW

MESSAGE_INDEX = MessageIdIndex.Meta.index_name
# An id should name one message; where it does not, the first ones are enough to find one that is alive.
SAME_ID = 10


@dataclass(frozen=True, slots=True)
class LoadedThread:
    """A thread as it is stored. `metadata` are the living copies, latest first; `later`: there are later messages.

    `notice` says what was asked for and is not there.
    """

    key: ThreadKey
    metadata: tuple[Thread, ...]
    messages: merging.MessageWindow[ThreadMessage]
    later: bool = False
    notice: str = ""


def load(parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> LoadedThread:
    """A thread with the latest of its messages; those before a cursor; or those around one.

    One BatchGetItem, and two Queries as a rule; strongly consistent. Raises `Forbidden`, `NotFound` (nothing there,
    all expired, out of scope) and the store's errors.
    """
    key = key_of(parts, staff)
    with beside(metadata_of, key, staff) as reading:
        window, later, notice = _messages(key, staff, parameters)
    metadata, foreign = reading.result()
    if foreign or not (metadata or window.items or window.rest or later):
        raise NotFound
    return LoadedThread(key, metadata, window, later, notice)


def binding_of(key: ThreadKey, staff: Staff) -> tuple[str, ...]:
    """What a cursor of a thread's messages belongs to."""
    return ("messages of a thread", key.partition, staff.username)


def metadata_of(key: ThreadKey, staff: Staff) -> tuple[tuple[Thread, ...], bool]:
    """The living metadata items of a thread, latest first; and whether one says that it is out of scope."""
    places = [{"PK": partition, "SK": sort_key} for partition, sort_key in key.places]
    now = clock.now()
    found = [Thread.from_raw_data(raw) for raw in batch_get(TABLE, places, consistent=True)]
    alive = [each for each in found if not clock.is_expired(each.plain("ExpiryTime"), now)]
    alive.sort(key=lambda each: second_of(clock.parse_instant(each.plain("updated_at"))) or 0, reverse=True)
    return tuple(alive), any(not belongs(each, key.organisation, staff) for each in found)


def source_of(key: ThreadKey, staff: Staff) -> KeySource[ThreadMessage]:
    """The messages of a thread."""
    visible = partial(belongs, organisation=key.organisation, staff=staff)
    return KeySource(ThreadMessage, key.partition, MESSAGES, "SK", visible=visible)


def _messages(
    key: ThreadKey, staff: Staff, parameters: ListParameters
) -> tuple[merging.MessageWindow[ThreadMessage], bool, str]:
    source = source_of(key, staff)
    position = ThreadPosition.sealed_in(parameters.before, *binding_of(key, staff))
    if position is not None:
        if position.second is None:
            return merging.window(source, position.ranges, WINDOW, position.formats), True, ""
        return (*merging.upwards(source, position.formats, position.second, WINDOW, WINDOW), "")
    window = merging.latest(source, WINDOW)
    if not parameters.at:
        return window, False, ""
    wanted = sort_key_of(parameters.at)
    if _holds(window, wanted):
        return window, False, ""
    second = _second_of_message(key, wanted, staff) if window.rest and wanted else None
    if second is not None:
        around, more = merging.upwards(source, window.formats, second, WINDOW // 2, WINDOW)
        if _holds(around, wanted):
            return around, more, ""
    return window, False, "That message no longer exists. These are the latest."


def _holds(window: merging.MessageWindow[ThreadMessage], sort_key: str) -> bool:
    return any(each.sort_key == sort_key for each in window.items)


def _second_of_message(key: ThreadKey, sort_key: str, staff: Staff) -> int | None:
    """When a message was written: its key tells, or the message itself."""
    at = instant_in(sort_key)
    if at is None:
        try:
            at = instant_of(message_at(key, sort_key, staff), sort_key)
        except NotFound:
            return None
    return second_of(at)


def message_at(key: ThreadKey, sort_key: str, staff: Staff) -> ThreadMessage:
    """One message as it is now. Raises `NotFound` for one that is not there, gone or not theirs."""
    if not sort_key.startswith(MESSAGES) or not fits(sort_key, SORT_KEY_BYTES):
        raise NotFound
    found = batch_get(TABLE, [{"PK": key.partition, "SK": sort_key}], consistent=True)
    items = [ThreadMessage.from_raw_data(raw) for raw in found]
    if not items or not _alive(items[0], key, staff):
        raise NotFound
    return items[0]


def _alive(item: ThreadMessage, key: ThreadKey, staff: Staff) -> bool:
    return not clock.is_expired(item.plain("ExpiryTime"), clock.now()) and belongs(item, key.organisation, staff)


def find_message(key: ThreadKey, message_id: str, staff: Staff) -> str:
    """The sort key of the message with that id in its thread. Raises `NotFound`, and the store's errors.

    Two small Queries of the index of ids at once; without that index, the messages are looked through, within bounds.
    """
    if not message_id or not fits(f"{MESSAGES[0]}{message_id}", SORT_KEY_BYTES):
        raise NotFound
    try:
        found = [
            each
            for part in parallel(*(partial(_by_id, key, f"{kind}{message_id}") for kind in MESSAGES))
            for each in part
        ]
    except (NotAccepted, TableMissing):
        if not index_absent(TABLE, MESSAGE_INDEX):
            raise
        found = [
            each
            for part in parallel(*(partial(_looked_for, key, kind, message_id) for kind in MESSAGES))
            for each in part
        ]
    for item in found:
        if _alive(item, key, staff) and text_of(item.plain("SK")).startswith(MESSAGES):
            return text_of(item.plain("SK"))
    raise NotFound


def _by_id(key: ThreadKey, named: str) -> list[ThreadMessage]:
    pages = ThreadMessage.message_id_index.query(
        key.partition, ThreadMessage.SKMessage == named, page_size=SAME_ID, attributes_to_get=list(_FOUND)
    ).page_iter
    return [ThreadMessage.from_raw_data(raw) for raw in next(pages)["Items"]]


_FOUND = ("PK", "SK", "ExpiryTime", "org_id")


def _looked_for(key: ThreadKey, kind: str, message_id: str) -> list[ThreadMessage]:
    """Messages of one kind with that id, newest first: in at most `READS` answers."""
    named = (Path("SKMessage") == f"{kind}{message_id}") | (Path("message_id") == message_id)
    start: Any = None
    for _ in range(READS):
        pages = ThreadMessage.query(
            key.partition,
            ThreadMessage.SK.startswith(kind),
            named,
            scan_index_forward=False,
            page_size=1000,
            last_evaluated_key=start,
            attributes_to_get=list(_FOUND),
        ).page_iter
        answer = next(pages)
        if answer["Items"] or not answer.get("LastEvaluatedKey"):
            return [ThreadMessage.from_raw_data(raw) for raw in answer["Items"]]
        start = answer["LastEvaluatedKey"]
    return []
