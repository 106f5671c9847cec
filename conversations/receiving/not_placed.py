"""Messages that could not be placed. Administrators of all companies read them redacted, retry or discard them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from console import clock, system_sections
from console.errors import Forbidden, Invalid, TableMissing
from console.permissions import Permission, Staff
from console.redaction import cut, excerpt, redact
from console.refs import seal, seal_cursor, unseal, unseal_cursor
from console.store.calls import table_name
from console.store.connection import call
from console.system_sections import SystemSection
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry
from console.trees import Node, tree_of
from conversations.converting import identifier_for
from conversations.handoff.partitions import QueueState
from conversations.messages.bodies import NotUnderstood, inbound_message, is_first_message, message_for, parsed
from conversations.messages.facts import redact_and_mask
from conversations.outbox.placing import place
from conversations.outbox.rows import NOT_PLACED, MessageRow
from conversations.queue_index import refreshing
from conversations.receiving import approvals, to_place
from conversations.receiving.handling import written_at
from conversations.receiving.to_place import SHOWN_CHARACTERS, delete_with_entry, take_in_by_hand

PAGE_SIZE = 50
COUNTED = 100
SHOWN = 2_000
MAX_REASON = 300
_KIND = "not placed"
TITLE = "Messages not placed"


@dataclass(frozen=True, slots=True)
class NotPlacedMessage:
    """One message without a conversation: its redacted words, and all that came as a tree, or as shortened text.

    `sender` is masked; "" if it is not known.
    """

    reference: str
    reason: str
    source: str
    received_at: datetime | None
    sender: str
    words: str
    tree: Node | None
    text: str
    can_be_retried: bool


def page(staff: Staff, cursor: str = "") -> tuple[Sequence[NotPlacedMessage], str]:
    """Return a page, latest first, and the cursor of the next page ("" at the end). One Query.

    Raises `Forbidden`, and the store's errors.
    """
    _check(staff)
    before = unseal_cursor(cursor, _KIND, staff.username) if cursor else None
    older = MessageRow.position < before if isinstance(before, str) and before else None
    rows = list(MessageRow.query(NOT_PLACED, older, scan_index_forward=False, limit=PAGE_SIZE + 1))
    shown = rows[:PAGE_SIZE]
    following = seal_cursor(shown[-1].position, _KIND, staff.username) if len(rows) > PAGE_SIZE else ""
    return [_shown(row, staff) for row in shown], following


def count() -> tuple[int, bool]:
    """Count the messages that could not be placed; return the count and whether there are more. One Query.

    Raises the store's errors, except for an absent table.
    """
    try:
        answer = call(
            "Query",
            TableName=table_name("MESSAGES"),
            KeyConditionExpression="conversation = :partition",
            ExpressionAttributeValues={":partition": {"S": NOT_PLACED}},
            Select="COUNT",
            Limit=COUNTED,
        )
    except TableMissing:
        return 0, False
    return answer["Count"], "LastEvaluatedKey" in answer


def section(_: datetime) -> SystemSection:
    """Return the system page's section on these messages: one Query. Raises the store's errors."""
    number, more = count()
    if not number:
        return SystemSection(TITLE, "none", "Every message is placed, or shown to those who can place it.", "good")
    one = number == 1 and not more
    words = (
        f"{number}{'+' if more else ''} customers’ {'message waits' if one else 'messages wait'} for an administrator."
    )
    return SystemSection(TITLE, "waiting", words.replace("1 customers’", "1 customer’s") if one else words, "human")


def may_resolve(staff: Staff) -> bool:
    """Return whether a person may see these messages: only those who see all companies, as their company is unknown."""
    return staff.can(Permission.SYSTEM_READ) and staff.scope.everything


def retry(reference: str, staff: Staff) -> None:
    """Try to place a message again, and record that it was placed.

    Raises `Forbidden`, `NotFound`, `Conflict` (somebody else has dealt with it), `Invalid` (it still cannot be placed,
    and why), and the store's errors.
    """
    row = _load(reference, staff)
    if row.is_cut:
        raise Invalid("Only the beginning of this message was kept, so it cannot be placed. You can discard it.")
    sent_at, remove = clock.parse_instant(row.received_at) or clock.now(), partial(_remove, row, Action.MESSAGE_PLACED)
    try:
        content = parsed(row.body or "")
        if is_first_message(content):
            approvals.hold(content, row.body or "", sent_at, row.position.partition("#")[2])
            remove(staff)
            return
        message = inbound_message(content)
        item = place(message, {})
    except NotUnderstood as reason:
        raise Invalid(f"It still cannot be placed. {reason}") from reason
    take_in_by_hand(message, item, row, written_at(message.received_at, sent_at), partial(remove, staff))


def discard(reference: str, staff: Staff, reason: str) -> None:
    """Delete a message permanently, with an entry in the trail.

    Raises `Forbidden`, `NotFound`, `Conflict`, `Invalid` (no reason, too long), and the store's errors.
    """
    row = _load(reference, staff)
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON:
        raise Invalid(f"Say why you are discarding it, in up to {MAX_REASON} characters.")
    _remove(row, Action.MESSAGE_DISCARDED, staff, reason)


def _check(staff: Staff) -> None:
    """Raise `Forbidden` unless the person may resolve these messages."""
    staff.require(Permission.SYSTEM_READ)
    if not may_resolve(staff):
        raise Forbidden("Only administrators of all companies see messages that could not be placed.")


def _load(reference: str, staff: Staff) -> MessageRow:
    _check(staff)
    (position,) = unseal(_KIND, reference, 1)
    return MessageRow.get(NOT_PLACED, position, consistent_read=True)


def _remove(row: MessageRow, action: Action, staff: Staff, reason: str = "") -> None:
    """Delete a row in one transaction with the entry that says why. Raises `Conflict` if somebody else has."""
    payload = {"why it was not placed": row.not_placed_because or ""} | ({"reason": reason} if reason else {})
    entry = TrailEntry(SYSTEM_TRAIL, action, Actor.of(staff), payload=payload)
    delete_with_entry(row, entry)


def _shown(row: MessageRow, staff: Staff) -> NotPlacedMessage:
    try:
        content = parsed(row.body or "")
    except NotUnderstood:
        content = None
    message = message_for(content or {}, ("", ""))
    tree = tree_of(redact_and_mask(content)) if content is not None else None
    return NotPlacedMessage(
        reference=seal(_KIND, row.position),
        reason=row.not_placed_because or "",
        source=row.source or "",
        received_at=clock.parse_instant(row.received_at),
        sender=identifier_for(message.sender, staff) if message.sender else "",
        words=excerpt(" ".join(message.content.split()), SHOWN_CHARACTERS),
        tree=tree,
        text=cut(redact(row.body or ""), SHOWN) if tree is None else "",
        can_be_retried=not row.is_cut,
    )


def register_with_base() -> None:
    """Register the section of the system page, and who reads the queue's messages to approve and to place."""
    system_sections.register(TITLE, section)
    refreshing.register_reader(QueueState.APPROVE, approvals.read_content)
    refreshing.register_reader(QueueState.PLACE, to_place.read_content)
