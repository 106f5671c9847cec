"""Reading tenants' conversations: a page of a tenant's, or one of them. Scope is checked before anything is read.

`exists` alone knows no scope: by it an id is found to be free before anybody gets it as scope.
"""

from console import clock
from console.errors import BadReference, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.refs import unseal
from console.schema.tables import table_name
from console.store.connection import call
from console.store.existence import any_item
from console.store.keys import fits
from console.store.paging import PageRead, PageSource, read_page
from conversations.stores.tenant_conversations.models import TenantConversation
from conversations.stores.tenant_conversations.reading import KIND, row_of
from conversations.stores.tenant_conversations.records import ListPage
from tenants.queries import check_tenant

# Never the messages: they may be 400 KB, and who lists them has not opened any.
LIST_ATTRIBUTES = ("updated_at", "ttl")


def check(tenant_id: str, staff: Staff) -> None:
    """Raise `Forbidden` for who may not read tenants' conversations, `NotFound` for a tenant out of scope."""
    staff.require(Permission.CONVERSATION_READ)
    check_tenant(tenant_id, staff)
    if not fits(tenant_id):
        raise NotFound


def list_conversations(tenant_id: str, staff: Staff, cursor: str = "") -> ListPage:
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
    page: PageRead[TenantConversation] = read_page(source, staff.username, cursor)
    now = clock.now()
    return ListPage(tuple(row_of(item, now) for item in page.items), page.next, page.back)


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
    answer = call(
        "GetItem",
        TableName=table_name("TENANT_CONVERSATIONS"),
        Key={"pk": {"S": tenant_id}, "sk": {"S": conversation_id}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    if not answer.get("Item"):
        raise NotFound
    return TenantConversation.from_raw_data(answer["Item"])
