"""Guards for channels that other writers mapped: which are missing, and which channels cannot be guarded."""

from dataclasses import dataclass, field

from pynamodb.transactions import TransactWrite

from console.store.calls import TransactionRefused
from console.trail.actions import Action
from console.trail.recording import COMMAND_LINE
from console.trees import text_of
from tenants.channels import Claims, add_guard, format_channel
from tenants.keys import Channel, ItemKind, partition_of, tenant_of
from tenants.models import ChannelMapping, item_of
from tenants.queries import read_guard
from tenants.walking import Progress, walk
from tenants.writing import entry_of, write

# A channel and a tenant.
Pair = tuple[Channel, str]


@dataclass(slots=True)
class Survey:
    """The channels of all tenants, grouped by what to do about them. Each group is in key order.

    `strays`: mappings that webhooks cannot find. `left_over`: guards whose mapping is gone, with the tenant they name.
    `contrary`: channels with the tenant that maps them and the different one that their guard names.
    """

    unguarded: list[Pair] = field(default_factory=list)
    guarded: list[Pair] = field(default_factory=list)
    clashes: list[tuple[Channel, tuple[str, ...]]] = field(default_factory=list)
    strays: list[Pair] = field(default_factory=list)
    left_over: list[Pair] = field(default_factory=list)
    contrary: list[tuple[Channel, str, str]] = field(default_factory=list)


def survey(progress: Progress) -> Survey:
    """Scan the whole table and sort its channels. For commands only. Raises the store's errors."""
    found = Survey()
    mapped: dict[Channel, set[str]] = {}
    guards: dict[Channel, str | None] = {}
    for kind, item in map(item_of, walk(progress)):
        pk, sk = str(item.plain("pk")), str(item.plain("sk"))
        if isinstance(item, ChannelMapping) and (channel := Channel.of(sk)):
            mapped.setdefault(channel, set()).add(tenant_of(pk))
            if not item.is_found():
                found.strays.append((channel, tenant_of(pk)))
        elif kind is ItemKind.GUARD and (channel := Channel.of(pk)):
            # A guard without a tenant guards nothing: the next claim overwrites it.
            named = item.plain("tenant_id")
            guards[channel] = None if named is None else text_of(named)
    found.strays.sort(key=lambda pair: (pair[0].key, pair[1]))
    for channel in sorted(mapped.keys() | guards.keys(), key=lambda each: each.key):
        _sort_in(found, channel, sorted(mapped.get(channel, ())), guards.get(channel))
    return found


def _sort_in(found: Survey, channel: Channel, tenants: list[str], guard: str | None) -> None:
    if len(tenants) > 1:
        found.clashes.append((channel, tuple(tenants)))
    elif not tenants:
        found.left_over.append((channel, guard or ""))
    elif guard is None:
        found.unguarded.append((channel, tenants[0]))
    elif guard == tenants[0]:
        found.guarded.append((channel, guard))
    else:
        found.contrary.append((channel, tenants[0], guard))


def guard(channel: Channel, tenant_id: str) -> bool:
    """Write the guard of a mapped channel, with its entry. Return False if the mapping or guard changed meanwhile.

    Raises the store's errors.
    """

    def add(writes: TransactWrite) -> None:
        exists = ChannelMapping.pk.exists()
        writes.condition_check(ChannelMapping, partition_of(tenant_id), channel.key, condition=exists)
        add_guard(writes, tenant_id, channel, Claims((tenant_id,), "", ()))

    try:
        write(add, entry_of(tenant_id, Action.CHANNEL_GUARDED, COMMAND_LINE, channel=format_channel(channel)))
    except TransactionRefused:
        # This write may have succeeded at an earlier attempt whose response was lost.
        return read_guard(channel) == tenant_id
    return True
