"""Messages that could not be placed and may belong to a company's conversation, for those who may read it.

They show on these conversations and in *Needs attention*. A person puts one where it belongs, or says that it does not
belong there; one that belongs nowhere goes to the administrators of all companies.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, Invalid, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.redaction import excerpt
from console.refs import seal_data, unseal, unseal_data
from console.store.calls import TransactionRefused, parallel
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, conversation_trail, write_with_entry
from conversations.converting import identifier_for, is_gone, names_of, reference_of
from conversations.handoff.partitions import SINCE_EVER, QueueState, announce_news, look_soon
from conversations.messages.bodies import InboundMessage, NotUnderstood, message_for, parsed
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.rows import NOT_PLACED, MessageRow, conversation_of, key_in, partition_of, to_place_partition
from conversations.queue_index.refreshing import PartitionContent
from conversations.receiving import recording
from conversations.receiving.handling import written_at
from conversations.receiving.unplaced import unmark

# Of one company on a page, and the companies whose messages a page shows.
SHOWN_AT_MOST, COMPANIES_SHOWN = 20, 20
COUNTED_AT_MOST = 100
# Of a message to place: who decides needs its words.
SHOWN_CHARACTERS = 1_000
_KIND = "message to place"
GONE = "Somebody else has already dealt with this message."


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation to which a message may belong: its reference, and the customer as the reader may see them."""

    reference: str
    who: str


@dataclass(frozen=True, slots=True)
class MessageToPlace:
    """A message that a person puts where it belongs. `text` is redacted, `sender` masked ("" if it is not known)."""

    token: str
    reason: str
    at: datetime | None
    text: str
    sender: str
    places: tuple[Place, ...]


def messages_in(company_ids: Iterable[str], staff: Staff) -> tuple[MessageToPlace, ...]:
    """Return companies' messages to place, oldest first. A Query for each company; raises the store's errors."""
    reads = [partial(_rows, company_id, SHOWN_AT_MOST) for company_id in list(company_ids)[:COMPANIES_SHOWN]]
    rows = sorted((row for found in parallel(*reads) for row in found), key=lambda row: row.position)
    return tuple(_shown(row, staff) for row in rows)


def messages_for(item: Conversation, staff: Staff) -> tuple[MessageToPlace, ...]:
    """Return the messages that may belong to a conversation. One Query if it is marked, else none.

    The recipient's names are masked for who reads transcripts masked.
    """
    if not item.hand_off_to_place_at or not item.company_id:
        return ()
    here = partition_of(item.primary_channel, item.conversation_id)
    rows = _rows(item.company_id, COUNTED_AT_MOST)
    names = () if staff.can(Permission.TRANSCRIPT_RAW) else names_of(item)
    return tuple(_shown(row, staff, names) for row in rows if here in (row.candidates or ()))[:SHOWN_AT_MOST]


def _rows(company_id: str, limit: int) -> list[MessageRow]:
    try:
        return list(MessageRow.query(to_place_partition(company_id), limit=limit, consistent_read=True))
    except TableMissing:
        return []


def read_content(company_id: str) -> PartitionContent:
    """Return how many messages of a company are to be placed, and since when. One Query. Raises the store's errors."""
    rows = _rows(company_id, COUNTED_AT_MOST)
    times = [each.received_at or SINCE_EVER for each in rows]
    return PartitionContent(
        keys={(company_id, each.position) for each in rows},
        first=min(times, default=None),
        last=max(times, default=None),
        has_more=len(rows) == COUNTED_AT_MOST,
        count=len(rows),
    )


def _shown(row: MessageRow, staff: Staff, names: tuple[str, ...] = ()) -> MessageToPlace:
    keys = sorted(map(key_in, row.candidates or ()))
    message = _message(row, keys[0] if keys else ("", ""))
    return MessageToPlace(
        token=seal_data(_KIND, [row.conversation, row.position]),
        reason=row.not_placed_because or "",
        at=clock.parse_instant(row.received_at),
        text=excerpt(" ".join(message.content.split()), SHOWN_CHARACTERS, names),
        sender=identifier_for(message.sender, staff) if message.sender else "",
        places=tuple(Place(reference_of(*key), identifier_for(key[0], staff)) for key in keys),
    )


def _message(row: MessageRow, key: tuple[str, str]) -> InboundMessage:
    try:
        return message_for(parsed(row.body or ""), key)
    except NotUnderstood:
        return message_for({}, key)


def put(token: str, reference: str, staff: Staff) -> None:
    """Put a message into a conversation, with an entry in its trail. The message sweep finishes what is left.

    Raises `Forbidden`, `NotFound` (not in scope, or it does not belong there), `Conflict` (somebody else has dealt with
    it), `Invalid` (the conversation has expired), and the store's errors; it is safe to submit again then.
    """
    row, item = _load(token, reference, staff)
    if item is None or is_gone(item, clock.now()):
        raise Invalid("This conversation has expired. Say that the message does not belong here.")
    message = _message(row, (item.primary_channel, item.conversation_id))
    sent_at = clock.parse_instant(row.received_at) or clock.now()
    take_in_by_hand(message, item, row, written_at(message.received_at, sent_at), partial(_remove, row, item, staff))


def take_in_by_hand(
    message: InboundMessage, item: Conversation, left: MessageRow, at: datetime, remove: Callable[[], None]
) -> None:
    """Record a message that was not placed, as said at that time, and append it; then `remove` what was `left` of it.

    The sweep asks for a person where nobody has been asked. Raises the store's errors.
    """
    name, source = left.position.partition("#")[2], left.source or ""
    recorded, _ = recording.record(message, item, at, source, name)
    work: list[Callable[[], object]] = [remove, announce_news]
    if recorded.gsi_due is not None:
        work.append(partial(appending.append, recorded, item))
    parallel(*work)


def dismiss(token: str, reference: str, staff: Staff) -> None:
    """Note that a message does not belong to a conversation; if it belongs to no other, administrators decide.

    Raises as `put`.
    """
    row, _ = _load(token, reference, staff)
    here = partition_of(*_key(reference))
    rest = (row.candidates or set()) - {here}
    as_read = MessageRow.candidates == row.candidates
    entry = build(
        TrailEntry(
            conversation_trail(key_in(here)[1]),
            Action.MESSAGE_NOT_HERE,
            Actor.of(staff),
            row.company_id or "",
            payload={"why it was not placed": row.not_placed_because or ""},
        ),
        clock.now(),
    )
    moved = MessageRow(**row.attribute_values | {"conversation": NOT_PLACED, "candidates": None, "company_id": None})

    def add(writes: TransactWrite) -> None:
        if rest:
            writes.update(row, [MessageRow.candidates.set(rest)], condition=as_read)
        else:
            writes.delete(row, condition=as_read)
            writes.save(moved)

    try:
        write_with_entry(entry, add)
    except TransactionRefused as refused:
        raise Conflict(GONE) from refused
    _tidy(row)
    announce_news()


def _key(reference: str) -> tuple[str, str]:
    primary_channel, conversation_id = unseal("conversation", reference, 2)
    return primary_channel, conversation_id


def _load(token: str, reference: str, staff: Staff) -> tuple[MessageRow, Conversation | None]:
    """Return a message to place and the conversation, complete. Raises `Forbidden`, `NotFound` and `Conflict`."""
    staff.require(Permission.HAND_OFF)
    key, data = _key(reference), unseal_data(_KIND, token)
    if not isinstance(data, list) or len(data) != 2:
        raise NotFound
    partition, position = map(str, data)
    if not staff.scope.covers_company(partition.removeprefix(to_place_partition(""))):
        raise NotFound
    here = MessageRow(partition_of(*key), position)
    found: list[Any] = parallel(partial(MessageRow.find, partition, position), partial(conversation_of, here))
    row, item = found
    if row is None:
        raise Conflict(GONE)
    if partition_of(*key) not in (row.candidates or ()) or (item is not None and item.company_id != row.company_id):
        raise NotFound
    return row, item


def _remove(row: MessageRow, item: Conversation, staff: Staff) -> None:
    """Delete a message's row in one transaction with the entry that says where it was put; then what points to it."""
    entry = TrailEntry(
        conversation_trail(item.conversation_id),
        Action.MESSAGE_PLACED,
        Actor.of(staff),
        item.company_id or "",
        payload={"why it was not placed": row.not_placed_because or ""},
    )
    delete_with_entry(row, entry)
    _tidy(row)


def delete_with_entry(row: MessageRow, entry: TrailEntry) -> None:
    """Delete a message's row in one transaction with an entry in the trail.

    Raises `Conflict` if somebody else has, and the store's errors.
    """
    try:
        write_with_entry(
            build(entry, clock.now()), lambda writes: writes.delete(row, condition=MessageRow.conversation.exists())
        )
    except TransactionRefused as gone:
        raise Conflict(GONE) from gone


def _tidy(row: MessageRow) -> None:
    unmark(row)
    look_soon(QueueState.PLACE.of(row.company_id or ""))
