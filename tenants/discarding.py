"""What is removed with a tenant that was reserved by mistake, in the transaction that marks it as deleted.

Its META stays, so that nobody else can get the id, and so does its history. Only a tenant that was never put to use can
be discarded: it is still being onboarded, and neither the platform nor a conversation knows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pynamodb.transactions import TransactWrite

from console.errors import Conflict
from console.permissions import TENANT, Permission, Staff
from console.staff import known_companies
from tenants.channels import add_release, format_channel
from tenants.console_items import OnboardingDraft
from tenants.keys import COMPANY, Channel, ItemKind, partition_of
from tenants.models import TenantItem
from tenants.queries import TenantPartition, exists, list_memories, read_guards, read_partition
from tenants.users import add_version_check, users_among
from tenants.writing import check_writer

# A transaction has at most 100 writes: besides these, the status, the draft, the version of the users and the entry.
MOST_WRITES = 96
USED = "Something already uses this tenant, so it cannot be discarded."
TOO_MUCH = "It has too many channels and users to be discarded at once. Remove some of them first."


@dataclass(frozen=True, slots=True)
class TenantRemoval:
    """The items of a tenant to remove, as read. `guards`: whom the guard of each channel names."""

    tenant_id: str
    partition: TenantPartition
    guards: Mapping[Channel, str]

    @property
    def payload(self) -> dict[str, Any]:
        """What the trail says about it."""
        return {
            "channels": [format_channel(each) for each in self._channels],
            "companies": [str(item.plain("sk")).removeprefix(COMPANY) for item in self._of(ItemKind.COMPANY)],
            "users": len(self._of(ItemKind.USER)),
        }

    @property
    def writes(self) -> int:
        """How many writes it adds."""
        return 2 * len(self._channels) + len(self._of(ItemKind.USER)) + len(self._of(ItemKind.COMPANY))

    def add_to(self, writes: TransactWrite) -> None:
        """Add the removals to a transaction, on condition that users and channels are as read."""
        writes.delete(OnboardingDraft(partition_of(self.tenant_id)))
        for channel in self._channels:
            add_release(writes, self.tenant_id, channel, self.guards.get(channel, ""))
        for item in (*self._of(ItemKind.USER), *self._of(ItemKind.COMPANY)):
            writes.delete(TenantItem(item.plain("pk"), item.plain("sk")), condition=TenantItem.pk.exists())
        version = users_among(item.raw for _, item in self.partition.items).version
        add_version_check(writes, self.tenant_id, version)

    @property
    def _channels(self) -> list[Channel]:
        keys = (str(item.plain("sk")) for item in self._of(ItemKind.CHANNEL))
        return [channel for key in keys if (channel := Channel.of(key))]

    def _of(self, wanted: ItemKind) -> list[Any]:
        return [item for kind, item in self.partition.items if kind is wanted]


def removal_of(tenant_id: str, staff: Staff) -> TenantRemoval:
    """Return what goes with a tenant. Raises `Conflict` if it is used or too large, `Forbidden`, the store's errors."""
    for permission in (Permission.USER_WRITE, Permission.CHANNEL_WRITE):
        check_writer(permission, tenant_id, staff)
    partition = read_partition(tenant_id)
    known = {ItemKind.META, ItemKind.USERS, ItemKind.USER, ItemKind.CHANNEL, ItemKind.COMPANY}
    is_used = partition.more or any(kind not in known for kind, _ in partition.items)
    if is_used or list_memories(tenant_id, staff)[0] or known_companies.is_in_use(tenant_id, TENANT, besides=exists):
        raise Conflict(USED)
    channels = [Channel.of(str(item.plain("sk"))) for kind, item in partition.items if kind is ItemKind.CHANNEL]
    found = TenantRemoval(tenant_id, partition, read_guards(each for each in channels if each))
    if found.writes > MOST_WRITES:
        raise Conflict(TOO_MUCH)
    return found
