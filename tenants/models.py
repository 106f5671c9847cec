"""Items of the tenants table (schema tenants).

The tenant platform writes these items too, and META whole: read tolerantly, by key prefix, and write by conditions.
"""

from typing import Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, TableMeta
from console.store.presence import index_keys
from tenants.keys import ItemKind, kind_of


class ChannelMappingIndex(GlobalSecondaryIndex["ChannelMapping"]):
    """Which tenants map a channel: `gsi1pk = CHANNEL#{type}#{id}`.

    The schema names `gsi1sk` as its range key; as deployed it has none. With it, mappings that lack it are not found.
    """

    class Meta:
        index_name = "channel-mapping"
        projection = AllProjection()

    gsi1pk = UnicodeAttribute(hash_key=True)


class InvertedIndex(GlobalSecondaryIndex["TenantItem"]):
    """All items of one sort key: all tenants (`META`), a channel's mappings, a user id across tenants. Ours."""

    class Meta:
        index_name = "sk-pk-index"
        projection = AllProjection()

    sk = UnicodeAttribute(hash_key=True)
    pk = UnicodeAttribute(range_key=True)


class TenantItem(ForeignModel):
    """Any item of the table, told from others by its keys."""

    class Meta(TableMeta):
        table_key = "TENANTS"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    by_sort_key = InvertedIndex()


class TenantMeta(TenantItem):
    """A tenant: `TENANT#{tenant_id}`, `META`. `settings` is JSON text; `created_at` ISO 8601."""

    tenant_id = UnicodeAttribute(null=True)
    name = UnicodeAttribute(null=True)
    status = UnicodeAttribute(null=True)
    created_at = UnicodeAttribute(null=True)
    settings = UnicodeAttribute(null=True)


class TenantUser(TenantItem):
    """A user: `USER#{user_id}`. `channel_identities`, `preferences` and `custom_properties` are JSON text.

    The schema's table lacks `tenant_id`, but the platform cannot read a tenant's users while one of them has none.
    """

    user_id = UnicodeAttribute(null=True)
    tenant_id = UnicodeAttribute(null=True)
    email = UnicodeAttribute(null=True)
    display_name = UnicodeAttribute(null=True)
    role = UnicodeAttribute(null=True)
    channel_identities = UnicodeAttribute(null=True)
    preferences = UnicodeAttribute(null=True)
    custom_properties = UnicodeAttribute(null=True)
    memory_summary = UnicodeAttribute(null=True)
    memory_updated_at = UnicodeAttribute(null=True)


class ChannelMapping(TenantItem):
    """A tenant's channel: `CHANNEL#{type}#{id}`. The platform's have no `gsi1sk`; others may lack more."""

    gsi1pk = UnicodeAttribute(null=True)
    gsi1sk = UnicodeAttribute(null=True)
    channel_type = UnicodeAttribute(null=True)
    channel_specific_id = UnicodeAttribute(null=True)
    by_channel = ChannelMappingIndex()

    def is_found(self) -> bool:
        """Whether webhooks find it: the index of channels, with the key that it has here, holds it under its own key.

        Raises the store's errors where the index is looked at for the first time in a minute.
        """
        keys = index_keys("TENANTS", ChannelMappingIndex.Meta.index_name)
        there = all(isinstance(self.plain(name), str) for name in keys)
        return bool(keys) and there and self.plain("gsi1pk") == self.plain("sk")


class ChannelGuard(TenantItem):
    """Who owns a channel: `pk = CHANNEL#{type}#{id}`, `sk = OWNER`. Ours; in no index."""

    tenant_id = UnicodeAttribute(null=True)
    claimed_at = UnicodeAttribute(null=True)


class TenantCompany(TenantItem):
    """A company whose conversations are the tenant's: `COMPANY#{company_id}`. Ours."""

    linked_at = UnicodeAttribute(null=True)


class UsersGuard(TenantItem):
    """`USERS`: counts the changes of a tenant's users. Ours."""

    version = NumberAttribute(null=True)


class UserMemory(TenantItem):
    """What the platform remembers of a user's session: `MEMORY#{user_id}#{session_id}`. `key_facts` may be anything."""

    summary = UnicodeAttribute(null=True)
    created_at = UnicodeAttribute(null=True)


CLASSES: dict[ItemKind, type[ForeignModel]] = {
    ItemKind.META: TenantMeta,
    ItemKind.USER: TenantUser,
    ItemKind.CHANNEL: ChannelMapping,
    ItemKind.COMPANY: TenantCompany,
    ItemKind.MEMORY: UserMemory,
    ItemKind.USERS: UsersGuard,
    ItemKind.GUARD: ChannelGuard,
    ItemKind.UNKNOWN: TenantItem,
}


def item_of(raw: dict[str, dict[str, Any]]) -> tuple[ItemKind, ForeignModel]:
    """An item as DynamoDB JSON in the class that its keys tell. Never raises."""
    kind = kind_of(str(raw["pk"].get("S", "")), str(raw["sk"].get("S", "")))
    return kind, CLASSES[kind].from_raw_data(raw)
