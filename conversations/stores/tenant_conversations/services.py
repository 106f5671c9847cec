"""A tenant's conversations: listed, opened on record before anything is shown, and cleared together with the entry.

Scope is checked before anything is read. `exists` alone knows no scope: by it an id is found to be free before anybody
gets it as scope.
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

# Never the messages: they may be 400 KB, and who lists them has not opened any.
LIST_ATTRIBUTES = ("updated_at", "ttl")


class ConversationGone(ConsoleError):
    """The conversation is not there any more: it was cleared, or its time to live ended."""

    status = 409


# --- Reading: a page of a tenant's, or one of them ------------------------------------------------------------------


def check(tenant_id: str, staff: Staff) -> None:
    """Raise `Forbidden` for who may not read tenants' conversations, `NotFound` for a tenant out of scope."""
    staff.require(Permission.CONVERSATION_READ)
    check_tenant(tenant_id, staff)
    if not fits(tenant_id):
        raise NotFound


def list_conversations(tenant_id: str, staff: Staff, cursor: str = "") -> PageRead[TenantConversation]:
    """One page of a tenant's conversations, in the order of their ids; those that have expired are among them.

    One Query. Raises as `check`, `TableMissing` and the store's errors.
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
    """Whether there is any conversation under an id, whosever it is. One Query. Raises the store's errors.

    One that has expired counts: until DynamoDB removes it, who has the id as scope is shown it.
    """
    try:
        return any_item("TENANT_CONVERSATIONS", "pk", tenant_id)
    except TableMissing:
        return False


def conversation_id_of(tenant_id: str, reference: str, staff: Staff) -> str:
    """The id in a sealed reference of that tenant. Reads nothing. Raises as `check`; `NotFound` for any other one."""
    check(tenant_id, staff)
    owner, conversation_id = unseal(KIND, reference, 2)
    if owner != tenant_id:
        raise BadReference
    return conversation_id


def load(tenant_id: str, reference: str, staff: Staff) -> TenantConversation:
    """A conversation of a tenant, as it is now.

    One strongly consistent GetItem. Raises as `conversation_id_of`, `NotFound` and the store's errors.
    """
    conversation_id = conversation_id_of(tenant_id, reference, staff)
    found = get_item("TENANT_CONVERSATIONS", {"pk": {"S": tenant_id}, "sk": {"S": conversation_id}})
    if found is None:
        raise NotFound
    return TenantConversation.from_raw_data(found)


def open_conversation(tenant_id: str, reference: str, staff: Staff) -> tuple[TenantConversation, bool]:
    """Open a conversation to read it: one GetItem, then the entry in the tenant's trail. Whether it is shown raw.

    The entry (once per person, conversation and hour) is written before anything is returned; where it cannot be
    written, nothing is; where there is no trail at all, everything is redacted. Raises as `load`.
    """
    item = load(tenant_id, reference, staff)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    is_recorded = record_opened(_subject(item), staff, raw=may_see, part=keyed_digest(item.sk)[:16])
    return item, is_recorded and may_see


def _subject(item: TenantConversation) -> Subject:
    return Subject(tenant_trail(item.pk), item.pk, {"tenant_conversation": name_of(item.sk)})


# --- Clearing -------------------------------------------------------------------------------------------------------


def seen_of(item: TenantConversation) -> str:
    """What a form keeps of a conversation as it was shown: another one for every change of it."""
    return keyed_digest(_as_seen(item))


def _as_seen(item: TenantConversation) -> str:
    return fingerprint(item, *_AS_SEEN)


def clear(item: TenantConversation, seen: str, staff: Staff) -> None:
    """Remove a conversation that is as the person saw it, together with its entry in the tenant's trail.

    `item` is as `load_to_clear` gave it. Raises `Forbidden`, `ConversationGone`, `Conflict` where it changed
    since it was shown, `NoTrail`, and the store's errors.
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
        # Gone, or changed: whichever it is, a fresh look tells.
        load_to_clear(item.pk, reference_of(item.pk, item.sk), staff)
        raise Conflict from error
    except TableMissing as missing:
        if table_ready("AUDIT"):
            raise
        raise NoTrail("A conversation is cleared", "nothing was cleared") from missing


def load_to_clear(tenant_id: str, reference: str, staff: Staff) -> TenantConversation:
    """As `load` for who may clear it; raises `ConversationGone` where a reference of this tenant leads to nothing."""
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    conversation_id_of(tenant_id, reference, staff)
    try:
        return load(tenant_id, reference, staff)
    except NotFound as error:
        raise ConversationGone from error


_AS_SEEN = ("messages", "updated_at")


def _unchanged(item: TenantConversation) -> Condition:
    """That the item is there, and holds exactly what was read, of whichever type.

    The platform writes times in whole seconds, so that `updated_at` alone would let a turn of that second be lost.
    """
    condition: Condition = TenantConversation.pk.exists()
    for name in _AS_SEEN:
        value = item.raw.get(name)
        condition &= Path(name).does_not_exist() if value is None else Path(name) == sendable(value)
    return condition
