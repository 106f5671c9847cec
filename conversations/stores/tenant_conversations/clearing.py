"""Clearing a tenant's conversation, with a trail entry."""

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from console import clock
from console.errors import Conflict, ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest
from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.store.models import sendable
from console.store.presence import table_ready
from console.trail.actions import Action
from console.trail.recording import Actor, NoTrail, TrailEntry, build
from conversations.stores.items import fingerprint
from conversations.stores.tenant_conversations.reading import StoredTenantConversation, TenantConversation, reference_of
from conversations.stores.tenant_conversations.services import conversation_id_of, load, subject_of

_AS_SEEN = ("messages", "updated_at")


class ConversationGone(ConsoleError):
    """The conversation no longer exists: it was cleared or has expired."""

    status = 409


def seen_of(item: TenantConversation) -> str:
    """Return a digest of a conversation as it was shown, which differs after every change."""
    return keyed_digest(fingerprint(item, *_AS_SEEN))


def clear(item: TenantConversation, seen: str, staff: Staff) -> None:
    """Remove a conversation that is unchanged since the person saw it, together with an entry in the tenant's trail.

    `item` is from `load_to_clear`. Raises `Forbidden`, `ConversationGone`, `Conflict` if it has changed since it was
    shown, `NoTrail`, and the store's errors.
    """
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    if not is_digest_of(seen, fingerprint(item, *_AS_SEEN)):
        raise Conflict
    stored = StoredTenantConversation.of(item)
    updated_at = clock.parse_instant(item.plain("updated_at"))
    subject = subject_of(item)
    payload = subject.payload | {
        "messages": len(stored.entries),
        "bytes": stored.size,
        "last_activity": clock.to_iso(updated_at) if updated_at else None,
    }
    action = Action.TENANT_CONVERSATION_CLEARED
    entry = build(TrailEntry(subject.trail, action, Actor.of(staff), item.pk, payload=payload), clock.now())
    try:
        with transaction() as writes:
            writes.delete(item, condition=_unchanged(item))
            writes.save(entry)
    except TransactionRefused as error:
        # Reading it again tells whether it is gone or has changed.
        load_to_clear(item.pk, reference_of(item.pk, item.sk), staff)
        raise Conflict from error
    except TableMissing as missing:
        if table_ready("AUDIT"):
            raise
        raise NoTrail("A conversation is cleared", "nothing was cleared") from missing


def load_to_clear(tenant_id: str, reference: str, staff: Staff) -> TenantConversation:
    """Load a conversation for a person who may clear it. Raises `ConversationGone` if it no longer exists."""
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    conversation_id_of(tenant_id, reference, staff)
    try:
        return load(tenant_id, reference, staff)
    except NotFound as error:
        raise ConversationGone from error


def _unchanged(item: TenantConversation) -> Condition:
    """Return the condition that the item exists, with exactly the values that were read, of any type.

    The platform writes times in whole seconds, so `updated_at` alone would miss a turn within the same second.
    """
    condition: Condition = TenantConversation.pk.exists()
    for name in _AS_SEEN:
        value = item.raw.get(name)
        condition &= Path(name).does_not_exist() if value is None else Path(name) == sendable(value)
    return condition
