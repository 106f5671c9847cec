"""A tenant's conversations: listed, and opened with a trail entry before anything is shown.

The scope is checked before anything is read, except in `exists`, which checks that an id is unused before it becomes
part of a scope.
"""

from console.errors import BadReference, NotFound, TableMissing
from console.permissions import TENANT, Permission, Staff
from console.refs import keyed_digest, unseal
from console.staff import known_companies
from console.store.models import fits
from console.store.paging import PageRead, PageSource, read_page
from console.store.presence import any_item
from console.trail.recording import tenant_trail
from conversations.stores.adapter import Subject
from conversations.stores.reading import get_item
from conversations.stores.services import record_opened
from conversations.stores.tenant_conversations.reading import KIND, TenantConversation, name_of
from tenants.queries import check_tenant

# Never the messages: they may be 400 KB, and listing a conversation does not open it.
LIST_ATTRIBUTES = ("updated_at", "ttl")


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
    is_recorded = record_opened(subject_of(item), staff, raw=may_see, part=keyed_digest(item.sk)[:16])
    return item, is_recorded and may_see


def subject_of(item: TenantConversation) -> Subject:
    """Return the trail entries' subject: the conversation, in its tenant's trail."""
    return Subject(tenant_trail(item.pk), item.pk, {"tenant_conversation": name_of(item.sk)})


def register_with_base() -> None:
    """Register which ids of tenants have conversations, for scopes. Called once at start-up."""
    known_companies.register_existence(exists, TENANT)
