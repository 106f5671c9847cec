"""A tenant's conversations: listed, opened with a trail entry before anything is shown, and cleared with a trail entry.

The scope is checked before anything is read, except in `exists`, which checks that an id is unused before it becomes
part of a scope.
"""

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from console import clock
from console.errors import BadReference, Conflict, ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest, unseal
from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.store.models import fits, sendable
from console.store.paging import PageRead, PageSource, read_page
from console.store.presence import any_item, table_ready
from console.trail.actions import Action
from console.trail.recording import Actor, NoTrail, TrailEntry, build, tenant_trail
from conversations.stores.adapter import Subject
from conversations.stores.reading import fingerprint, get_item
from conversations.stores.services import record_opened
from conversations.stores.tenant_conversations.reading import (
    KIND,
    StoredTenantConversation,
    TenantConversation,
    name_of,
    reference_of,
)
from tenants.queries import check_tenant

# Never the messages: they may be 400 KB, and listing a conversation does not open it.
LIST_ATTRIBUTES = ("updated_at", "ttl")


class ConversationGone(ConsoleError):
    """The conversation no longer exists: it was cleared or has expired."""

    status = 409


# --- Reading: a page of a tenant's, or one of them ------------------------------------------------------------------


def check(tenant_id: str, staff: Staff) -> None:
    """Raise `Forbidden` without permission to read conversations, `NotFound` for a tenant out of scope."""
    staff.require(Permission.CONVERSATION_READ)
    check_tenant(tenant_id, staff)
    if not fits(tenant_id):
        raise NotFound


def list_conversations(tenant_id: str, staff: Staff, cursor: str = "") -> PageRead[TenantConversation]:
    """Return one page of a tenant's conversations in the order of their ids, including expired ones.

    One Query. Raises the errors of `check`, `TableMissing` and the store's errors.
    """
    check(tenant_id, staff)
    source = PageSource(
        model=TenantConversation,
        partition=tenant_id,
        attributes=LIST_ATTRIBUTES,
        binding=("tenant conversations",),
        with_expired=True,
    )
    return read_page(source, staff.username, cursor)


def exists(tenant_id: str) -> bool:
    """Return whether there is any conversation under an id, in any scope. One Query. Raises the store's errors.

    An expired one counts: until DynamoDB removes it, people with the id as their scope can see it.
    """
    try:
        return any_item("TENANT_CONVERSATIONS", "pk", tenant_id)
    except TableMissing:
        return False


def conversation_id_of(tenant_id: str, reference: str, staff: Staff) -> str:
    """Return the id in a sealed reference of that tenant. Reads nothing.

    Raises the errors of `check`, and `BadReference` for any other reference.
    """
    check(tenant_id, staff)
    owner, conversation_id = unseal(KIND, reference, 2)
    if owner != tenant_id:
        raise BadReference
    return conversation_id


def load(tenant_id: str, reference: str, staff: Staff) -> TenantConversation:
    """Return the current state of a tenant's conversation.

    One strongly consistent GetItem. Raises the errors of `conversation_id_of`, `NotFound` and the store's errors.
    """
    conversation_id = conversation_id_of(tenant_id, reference, staff)
    found = get_item("TENANT_CONVERSATIONS", {"pk": {"S": tenant_id}, "sk": {"S": conversation_id}})
    if found is None:
        raise NotFound
    return TenantConversation.from_raw_data(found)


def open_conversation(tenant_id: str, reference: str, staff: Staff) -> tuple[TenantConversation, bool]:
    """Open a conversation to read it; return it, and whether to show it raw.

    One GetItem, then an entry in the tenant's trail (once per person, conversation and hour). If the entry cannot be
    written, nothing is returned; without a trail, everything is redacted. Raises the errors of `load`.
    """
    item = load(tenant_id, reference, staff)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    is_recorded = record_opened(_subject(item), staff, raw=may_see, part=keyed_digest(item.sk)[:16])
    return item, is_recorded and may_see


def _subject(item: TenantConversation) -> Subject:
    return Subject(tenant_trail(item.pk), item.pk, {"tenant_conversation": name_of(item.sk)})


# --- Clearing -------------------------------------------------------------------------------------------------------


def seen_of(item: TenantConversation) -> str:
    """Return a digest of a conversation as it was shown, which differs after every change."""
    return keyed_digest(_as_seen(item))


def _as_seen(item: TenantConversation) -> str:
    return fingerprint(item, *_AS_SEEN)


def clear(item: TenantConversation, seen: str, staff: Staff) -> None:
    """Remove a conversation that is unchanged since the person saw it, together with an entry in the tenant's trail.

    `item` is from `load_to_clear`. Raises `Forbidden`, `ConversationGone`, `Conflict` if it has changed since it was
    shown, `NoTrail`, and the store's errors.
    """
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    if not is_digest_of(seen, _as_seen(item)):
        raise Conflict
    stored = StoredTenantConversation.of(item)
    updated_at = clock.parse_instant(item.plain("updated_at"))
    subject = _subject(item)
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


_AS_SEEN = ("messages", "updated_at")


def _unchanged(item: TenantConversation) -> Condition:
    """Return the condition that the item exists, with exactly the values that were read, of any type.

    The platform writes times in whole seconds, so `updated_at` alone would miss a turn within the same second.
    """
    condition: Condition = TenantConversation.pk.exists()
    for name in _AS_SEEN:
        value = item.raw.get(name)
        condition &= Path(name).does_not_exist() if value is None else Path(name) == sendable(value)
    return condition
