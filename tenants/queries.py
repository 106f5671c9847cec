"""Queries of tenants: the list by the inverted index, one tenant's partition, and the owners of a channel.

Nothing here scans the table. Every row is checked against the scope; what belongs to no tenant needs scope "all".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from console import clock
from console.errors import NotFound, TableMissing
from console.permissions import Permission, Staff
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel, table_name
from console.store.connection import BATCH, batch_get, call, pages
from console.store.models import SORT_KEY_BYTES, ForeignModel, fits
from console.store.paging import PAGE_SIZE, PageRead, PageSource, read_page
from console.store.presence import index_absent, index_ready, table_ready
from tenants.keys import (
    INVITE,
    MEMORY,
    MEMORY_END,
    META,
    OWNER,
    Channel,
    ItemKind,
    company_key,
    partition_of,
    tenant_of,
)
from tenants.models import ChannelGuard, ChannelMappingIndex, InvertedIndex, TenantItem, TenantMeta, UserMemory, item_of
from tenants.reading import invitation_of, memory_of, redactor_for, row_of, tenant_record
from tenants.records import Invitations, Memory, Tenant, TenantPage, TenantRow

INDEX = InvertedIndex.Meta.index_name
LIST_ATTRIBUTES = ("pk", "sk", "tenant_id", "name", "status", "created_at")
NO_INDEX = (
    "Tenants cannot be listed, because the tenants table has no index by sort key. Open one by its id. "
    "To add the index, run manage.py tables check --cloudformation."
)
NO_INVITATIONS = "Invitations cannot be listed here: the tenants table has no index by sort key."
# Pages of 1 MB. Invitations expire, so there are few.
INVITATION_PAGES = 4
NO_MAPPING_INDEX = "The index webhooks use is missing, so no webhook finds a tenant."
NO_SORT_KEY_INDEX = "Without the index by sort key, the console cannot find mappings that webhooks cannot find."


def list_tenants(staff: Staff, status: str = "", cursor: str = "") -> TenantPage:
    """Return one page of the tenants in a person's scope, ordered by id.

    Scope "all": one Query of the inverted index. Otherwise: one BatchGetItem of the next ids of the scope. Neither
    depends on the number of tenants. Raises `Forbidden`, `TableMissing` and the store's errors.
    """
    staff.require(Permission.TENANT_READ)
    if staff.scope.is_empty:
        return TenantPage()
    if not staff.scope.everything:
        return _of_scope(staff, status, cursor)
    if not index_ready("TENANTS", INDEX):
        if not table_ready("TENANTS"):
            raise TableMissing("TENANTS")
        return TenantPage(notice=NO_INDEX)
    source = PageSource(
        model=TenantItem,
        partition=META,
        index=INDEX,
        attributes=LIST_ATTRIBUTES,
        visible=lambda item: bool(tenant_of(item.plain("pk"))),
        keep=(lambda item: item.plain("status") == status) if status else None,
        binding=("tenants", status),
    )
    page: PageRead[TenantItem] = read_page(source, staff.username, cursor)
    rows = tuple(row_of(TenantMeta.from_raw_data(item.raw), redactor_for(staff)) for item in page.items)
    return TenantPage(rows, page.next, page.back, page.thin)


def tenant_names(staff: Staff) -> dict[str, str]:
    """Return the first tenants in a person's scope: id to name; {} without permission. At most two reads."""
    if not staff.can(Permission.TENANT_READ):
        return {}
    return {row.tenant_id: row.name for row in list_first_tenants(staff)[0]}


def list_first_tenants(staff: Staff) -> tuple[tuple[TenantRow, ...], bool]:
    """Return the first tenants in scope, and whether there are more. At most two reads. Raises as `list_tenants`."""
    page = list_tenants(staff)
    if not page.next:
        return page.rows, False
    second = list_tenants(staff, cursor=page.next)
    return page.rows + second.rows, bool(second.next)


def _of_scope(staff: Staff, status: str, cursor: str) -> TenantPage:
    """Read the tenants of the scope's next ids; ids without a tenant are skipped."""
    binding = ("tenants of a scope", status, staff.username)
    ids = sorted(each for each in staff.scope.tenant_ids if fits(partition_of(each)))
    start = unseal_cursor(cursor, *binding) if cursor else 0
    start = start if isinstance(start, int) and 0 <= start < len(ids) else 0
    found = load_metas(ids[start : start + BATCH])
    rows: list[TenantRow] = []
    end = start
    for tenant_id in ids[start : start + BATCH]:
        if len(rows) == PAGE_SIZE:
            break
        end += 1
        if (meta := found.get(tenant_id)) and (not status or meta.plain("status") == status):
            rows.append(row_of(meta, redactor_for(staff)))
    onward = seal_cursor(end, *binding) if end < len(ids) else ""
    return TenantPage(tuple(rows), onward, "", len(rows) < PAGE_SIZE and bool(onward))


def load_metas(ids: Sequence[str]) -> dict[str, TenantMeta]:
    """Return the tenants that exist, by id. One BatchGetItem for each 100 ids. Raises the store's errors."""
    found = batch_get("TENANTS", [{"pk": partition_of(each), "sk": META} for each in ids], LIST_ATTRIBUTES)
    return {tenant_of(raw["pk"]["S"]): TenantMeta.from_raw_data(raw) for raw in found}


def exists(tenant_id: str) -> bool:
    """Return whether a tenant exists, without checking any scope. One small read. Raises the store's errors."""
    try:
        return fits(partition_of(tenant_id)) and bool(load_metas([tenant_id]))
    except TableMissing:
        return False


def row_for(tenant_id: str, staff: Staff) -> TenantRow | None:
    """Return a tenant as a row of the list; None if it does not exist. One small read; raises the store's errors.

    The caller must check the scope.
    """
    meta = load_metas([tenant_id]).get(tenant_id) if fits(partition_of(tenant_id)) else None
    return row_of(meta, redactor_for(staff)) if meta else None


# --- One tenant -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TenantPartition:
    """The items of a tenant's partition with their kinds, by sort key; `more`: not everything was read."""

    items: tuple[tuple[ItemKind, ForeignModel], ...]
    more: bool


def load_tenant(tenant_id: str, staff: Staff) -> Tenant:
    """Return a tenant with everything in its partition except memories.

    Two strongly consistent Queries in parallel, which skip the memories, because there can be many. Raises `Forbidden`,
    `NotFound` (out of scope or not there, indistinguishably), `TableMissing` and the store's errors.
    """
    check_tenant(tenant_id, staff)
    partition = read_partition(tenant_id)
    if not partition.items:
        raise NotFound
    return tenant_record(tenant_id, partition.items, staff, more=partition.more)


def check_tenant(tenant_id: str, staff: Staff) -> None:
    """Raise `Forbidden` without `tenant:read`, `NotFound` for an id out of scope. Reads nothing."""
    staff.require(Permission.TENANT_READ)
    if not (tenant_id and staff.scope.covers_tenant(tenant_id) and fits(partition_of(tenant_id))):
        raise NotFound


def read_partition(tenant_id: str) -> TenantPartition:
    """Read the items before and after the memories. Two strongly consistent Queries in parallel."""
    return read_partitions([tenant_id])[tenant_id]


def read_partitions(ids: Sequence[str]) -> dict[str, TenantPartition]:
    """Read partitions as `read_partition`, by id. Two Queries for each, all in parallel."""
    ranges = (("sk < :edge", MEMORY), ("sk >= :edge", MEMORY_END))
    found = parallel(*(partial(_range, each, *bounds) for each in ids for bounds in ranges))
    return {
        each: TenantPartition((*before, *behind), more or more_behind)
        for each, (before, more), (behind, more_behind) in zip(ids, found[::2], found[1::2], strict=True)
    }


def _range(tenant_id: str, condition: str, edge: str) -> tuple[list[tuple[ItemKind, ForeignModel]], bool]:
    answer = call(
        "Query",
        TableName=table_name("TENANTS"),
        KeyConditionExpression=f"pk = :pk AND {condition}",
        ExpressionAttributeValues={":pk": {"S": partition_of(tenant_id)}, ":edge": {"S": edge}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    return [item_of(raw) for raw in answer["Items"]], "LastEvaluatedKey" in answer


def load_invitations(tenant_id: str, staff: Staff) -> Invitations:
    """Return the platform's invitations to a tenant. One Query for each page of all invitations in the inverted index.

    Reads at most `INVITATION_PAGES` pages. Raises `Forbidden`, `NotFound` out of scope, and the store's errors.
    """
    check_tenant(tenant_id, staff)
    if not index_ready("TENANTS", INDEX):
        return Invitations(notice=NO_INVITATIONS)
    asked = pages(
        "Query",
        TableName=table_name("TENANTS"),
        IndexName=INDEX,
        KeyConditionExpression="sk = :meta AND begins_with(pk, :invite)",
        FilterExpression="tenant_id = :tenant",
        ExpressionAttributeValues={":meta": {"S": META}, ":invite": {"S": INVITE}, ":tenant": {"S": tenant_id}},
        ReturnConsumedCapacity="TOTAL",
    )
    answers = list(islice(asked, INVITATION_PAGES))
    found = [TenantItem.from_raw_data(raw) for answer in answers for raw in answer["Items"]]
    more = "Only the platform's first invitations were searched." if "LastEvaluatedKey" in answers[-1] else ""
    now = clock.to_epoch(clock.now())
    kept = [item for item in found if not isinstance(ttl := item.plain("ttl"), int) or ttl > now]
    return Invitations(tuple(invitation_of(item, redactor_for(staff)) for item in kept), more)


# --- Owners of a channel --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owners:
    """The tenants that claim a channel. `asked` is the key that webhooks look up in the index of channels.

    `found`: the tenants that webhooks find. `unseen`: those whose mapping lacks what the index needs. `guard`: the
    tenant that the console's guard names, or "". `unasked`: messages about lookups that were not possible.
    """

    asked: str
    found: tuple[str, ...]
    unseen: tuple[str, ...]
    guard: str
    unasked: tuple[str, ...] = ()

    @property
    def tenants(self) -> tuple[str, ...]:
        """All tenants with a mapping."""
        return tuple(dict.fromkeys((*self.found, *self.unseen)))


def owners_of(channel: Channel) -> Owners:
    """Return who claims a channel; see `owners_among`."""
    return owners_among([channel])[0]


def owners_among(channels: Sequence[Channel]) -> list[Owners]:
    """Return who claims each channel. Two Queries and a GetItem for each, all in parallel.

    Raises `TableMissing` and the store's errors.
    """
    asked = [each for each in channels if fits(each.key) and fits(each.key, SORT_KEY_BYTES)]
    answers: list[Any] = parallel(
        *(
            ask
            for each in asked
            for ask in (
                partial(_keys_in, ChannelMappingIndex.Meta.index_name, "gsi1pk", each.key),
                partial(_keys_in, INDEX, "sk", each.key),
                partial(read_guard, each),
            )
        )
    )
    found = {each: _owners(each, *answers[3 * at : 3 * at + 3]) for at, each in enumerate(asked)}
    return [found.get(each) or Owners(each.key, (), (), "") for each in channels]


def _owners(channel: Channel, found: list[str] | None, mapped: list[str] | None, guard: str) -> Owners:
    unasked = [NO_MAPPING_INDEX] if found is None else []
    unasked += [NO_SORT_KEY_INDEX] if mapped is None else []
    seen = tuple(found or ())
    return Owners(channel.key, seen, tuple(each for each in mapped or () if each not in seen), guard, tuple(unasked))


def unfound_channels() -> str:
    """Return why webhooks cannot find any channel; "" if they can."""
    return NO_MAPPING_INDEX if index_absent("TENANTS", ChannelMappingIndex.Meta.index_name) else ""


def tenants_linked_to(company_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the tenants that each company is linked to, without checking any scope; {} without the index by sort key.

    One Query for each company, all in parallel. Raises `TableMissing` and the store's errors.
    """
    found = parallel(*(partial(_keys_in, INDEX, "sk", company_key(each)) for each in company_ids))
    return {each: tenants for each, tenants in zip(company_ids, found, strict=True) if tenants}


def _keys_in(index: str, attribute: str, value: str) -> list[str] | None:
    """Return the tenants with an item under a key of an index; None without that index."""
    if not index_ready("TENANTS", index):
        if not table_ready("TENANTS"):
            raise TableMissing("TENANTS")
        return None
    answer = call(
        "Query",
        TableName=table_name("TENANTS"),
        IndexName=index,
        KeyConditionExpression=f"{attribute} = :value",
        ExpressionAttributeValues={":value": {"S": value}},
        ReturnConsumedCapacity="TOTAL",
    )
    owners = (tenant_of(raw["pk"]["S"]) for raw in answer["Items"])
    return list(dict.fromkeys(owner for owner in owners if owner))


def read_guard(channel: Channel) -> str:
    """Return the tenant that a channel's guard names, strongly consistent; "" if there is none."""
    try:
        return _named_in(ChannelGuard.get(channel.key, OWNER, consistent_read=True))
    except NotFound:
        return ""


def read_guards(channels: Iterable[Channel]) -> dict[Channel, str]:
    """Return the tenants that the guards of channels name, strongly consistent. One BatchGetItem for each 100."""
    keys = {channel.key: channel for channel in channels if fits(channel.key)}
    found = batch_get("TENANTS", [{"pk": key, "sk": OWNER} for key in keys], consistent=True)
    return {keys[raw["pk"]["S"]]: _named_in(ChannelGuard.from_raw_data(raw)) for raw in found}


def _named_in(guard: ChannelGuard) -> str:
    named = guard.plain("tenant_id")
    return named if isinstance(named, str) else ""


# --- Memories of the platform ---------------------------------------------------------------------------------------


def list_memories(
    tenant_id: str, staff: Staff, cursor: str = "", names: tuple[str, ...] = ()
) -> tuple[tuple[Memory, ...], str]:
    """Return one page of the platform's memories of a tenant's users, and the next cursor. One Query.

    `names` are those of the users, to mask. Raises `Forbidden`, `NotFound` out of scope, and the store's errors.
    """
    check_tenant(tenant_id, staff)
    source = PageSource(
        model=UserMemory,
        partition=partition_of(tenant_id),
        attributes=("pk", "sk", "summary", "created_at", "key_facts"),
        ranges=((MEMORY, MEMORY_END),),
        binding=("memories",),
    )
    page: PageRead[UserMemory] = read_page(source, staff.username, cursor)
    show = redactor_for(staff).knowing(names)
    return tuple(memory_of(item, show) for item in page.items), page.next
