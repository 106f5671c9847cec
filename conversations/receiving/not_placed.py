"""Messages that could not be placed. Administrators of all companies read them redacted, retry or discard them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.errors import Forbidden, Invalid, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.redaction import cut, redact
from console.refs import seal, seal_cursor, unseal, unseal_cursor
from console.store.calls import TransactionRefused, table_name
from console.store.connection import call
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, build, write_with_entry
from console.trees import Node, tree_of
from conversations.facts import redact_and_mask
from conversations.receiving.bodies import NotUnderstood, parsed
from conversations.receiving.handling import take_in
from conversations.receiving.rows import NOT_PLACED, MessageRow

PAGE_SIZE = 50
COUNTED = 100
SHOWN = 2_000
MAX_REASON = 300
_KIND = "not placed"


@dataclass(frozen=True, slots=True)
class NotPlacedMessage:
    """One message without a conversation: its redacted content as a tree, or as shortened text."""

    reference: str
    reason: str
    source: str
    received_at: datetime | None
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
    return [_shown(row) for row in shown], following


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


def may_resolve(staff: Staff) -> bool:
    """Return whether a person may see these messages: only those who see all companies, as their company is unknown."""
    return staff.can(Permission.SYSTEM_READ) and staff.scope.everything


def retry(reference: str, staff: Staff) -> None:
    """Try to place a message again, and record that it was placed.

    Raises `Forbidden`, `NotFound`, `Invalid` (it still cannot be placed, and why), and the store's errors.
    """
    row = _load(reference, staff)
    if row.is_cut:
        raise Invalid("Only the beginning of this message was kept, so it cannot be placed. You can discard it.")
    name = row.position.partition("#")[2]
    try:
        take_in(row.body or "", clock.parse_instant(row.received_at) or clock.now(), row.source or "", name)
    except NotUnderstood as reason:
        raise Invalid(f"It still cannot be placed. {reason}") from reason
    _remove(row, Action.MESSAGE_PLACED, staff)


def discard(reference: str, staff: Staff, reason: str) -> None:
    """Delete a message permanently, with an entry in the trail.

    Raises `Forbidden`, `NotFound`, `Invalid` (no reason, too long), and the store's errors.
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
    """Delete a row in one transaction with the entry that says why. Raises `NotFound` if somebody else has."""
    payload = {"why it was not placed": row.not_placed_because or ""} | ({"reason": reason} if reason else {})
    entry = build(TrailEntry(SYSTEM_TRAIL, action, Actor.of(staff), payload=payload), clock.now())
    try:
        write_with_entry(entry, lambda writes: writes.delete(row, condition=MessageRow.conversation.exists()))
    except TransactionRefused as gone:
        raise NotFound from gone


def _shown(row: MessageRow) -> NotPlacedMessage:
    try:
        tree = tree_of(redact_and_mask(parsed(row.body or "")))
    except NotUnderstood:
        tree = None
    return NotPlacedMessage(
        reference=seal(_KIND, row.position),
        reason=row.not_placed_because or "",
        source=row.source or "",
        received_at=clock.parse_instant(row.received_at),
        tree=tree,
        text=cut(redact(row.body or ""), SHOWN) if tree is None else "",
        can_be_retried=not row.is_cut,
    )
