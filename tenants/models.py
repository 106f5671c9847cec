"""Items of the tenants table (schema tenants).

The tenant platform writes them too, and overwrites META as a whole: read tolerantly, by key prefix, and write with
conditions.
"""

from typing import Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from console.store.models import ForeignModel, TableMeta
from console.store.presence import index_keys
from tenants.keys import ItemKind, kind_of


class ChannelMappingIndex(GlobalSecondaryIndex["ChannelMapping"]):
    """Which tenants map a channel: `gsi1pk = CHANNEL#{type}#{id}`.

    The schema names `gsi1sk` as its range key; the deployed index has none. With that key, the index would skip
    mappings without `gsi1sk`.
    """

    class Meta:
        index_name = "channel-mapping"
        projection = AllProjection()

    gsi1pk = UnicodeAttribute(hash_key=True)


class InvertedIndex(GlobalSecondaryIndex["TenantItem"]):
    """All items with one sort key: all tenants (`META`), a channel's mappings, a user id across tenants. Ours."""

    class Meta:
        index_name = "sk-pk-index"
        projection = AllProjection()

    sk = UnicodeAttribute(hash_key=True)
    pk = UnicodeAttribute(range_key=True)


class TenantItem(ForeignModel):
    """Any item of the table; its keys say what it is."""

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

    `tenant_id` is not in the schema, but the platform cannot read any user of a tenant if one of them lacks it.
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
        """Return whether webhooks find it: it has the keys of the deployed index, and `gsi1pk` is its own key.

        The index's keys are cached for a minute; reading them raises the store's errors.
        """
        keys = index_keys("TENANTS", ChannelMappingIndex.Meta.index_name)
        there = all(isinstance(self.plain(name), str) for name in keys)
        return bool(keys) and there and self.plain("gsi1pk") == self.plain("sk")


class ChannelGuard(TenantItem):
    """The owner of a channel: `pk = CHANNEL#{type}#{id}`, `sk = OWNER`. Ours; not in `channel-mapping`."""

    tenant_id = UnicodeAttribute(null=True)
    claimed_at = UnicodeAttribute(null=True)


class TenantCompany(TenantItem):
    """A company linked to the tenant: `COMPANY#{company_id}`. Ours."""

    linked_at = UnicodeAttribute(null=True)


class UsersGuard(TenantItem):
    """`USERS`: counts the changes of a tenant's users. Ours."""

    version = NumberAttribute(null=True)


class UserMemory(TenantItem):
    """The platform's memory of a user's session: `MEMORY#{user_id}#{session_id}`. `key_facts` may be of any type."""

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
    """Return the kind of an item in DynamoDB JSON, and the item in the class for that kind. Never raises."""
    kind = kind_of(str(raw["pk"].get("S", "")), str(raw["sk"].get("S", "")))
    return kind, CLASSES[kind].from_raw_data(raw)
