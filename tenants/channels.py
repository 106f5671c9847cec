"""Channels of tenants. A channel belongs to one tenant; claiming, releasing and moving it are one transaction each.

A claim writes the mapping that webhooks find, and a guard under the channel's own key that refuses a second claim.
Other writers create mappings without a guard, so every claim looks for those first and respects them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, NotFound
from console.permissions import Permission, Staff
from console.store.connection import BATCH, batch_get
from console.trail.actions import Action
from tenants.keys import OWNER, Channel, check_key, label_of, partition_of
from tenants.models import ChannelGuard, ChannelMapping
from tenants.queries import owners_among, read_guard, read_guards
from tenants.writing import check_exists, check_not_deleted, check_writer, entry_of, write_attempts

GONE = "This channel no longer belongs to the tenant. Somebody released or moved it."


class NotMapped(NotFound):
    """The tenant, which is in the person's scope, does not have the channel, or no longer has it."""

    def __init__(self) -> None:
        super().__init__(GONE)


class ChannelTaken(Conflict):
    """Another tenant has the channel. `owner` is its id if it is in the person's scope, otherwise "".

    `field` is the form field that shows the error.
    """

    field = "id"

    def __init__(self, owner: str) -> None:
        self.owner = owner
        somebody = "Another tenant has this channel. Ask an administrator."
        super().__init__(f"The tenant {owner} has this channel." if owner else somebody)


@dataclass(frozen=True, slots=True)
class Claims:
    """Who has a channel, strongly consistent. `guard` is the tenant that the guard names; its mapping may be gone."""

    tenants: tuple[str, ...]
    guard: str
    # The subset of `tenants` that webhooks find.
    found: tuple[str, ...]

    def others(self, *mine: str) -> tuple[str, ...]:
        """Return the tenants that have the channel, except these."""
        return tuple(each for each in self.tenants if each not in mine)


def claims_of(channel: Channel) -> Claims:
    """Return who has a channel now. Raises the store's errors."""
    return claims_among([channel])[0]


def claims_by_guard(channels: Sequence[Channel], tenants: Sequence[str]) -> list[Claims]:
    """Return who has each channel, as far as its guard knows: the tenant in the same place of `tenants`, or another.

    Far cheaper than `claims_among`, but mappings of other writers without a guard are not found. Two BatchGetItems for
    each 100 channels.
    """
    guards = read_guards(channels)
    named = [guards.get(each, "") for each in channels]
    there = _mapped([pair for pair in zip(channels, named, strict=True) if pair[1]])
    return [
        Claims((mine, guard) if guard != mine and (channel, guard) in there else (mine,), guard, ())
        for channel, mine, guard in zip(channels, tenants, named, strict=True)
    ]


def claims_among(channels: Sequence[Channel]) -> list[Claims]:
    """Return who has each channel now. The indexes lag behind a release, so every hit is checked in the table."""
    owners = owners_among(channels)
    named = [dict.fromkeys((*each.tenants, *([each.guard] if each.guard else []))) for each in owners]
    pairs = [
        (channel, each) for channel, tenants in zip(channels, named, strict=True) for each in list(tenants)[:BATCH]
    ]
    there = _mapped(pairs)
    return [
        Claims(mine, each.guard, tuple(tenant for tenant in mine if tenant in each.found))
        for channel, each, tenants in zip(channels, owners, named, strict=True)
        for mine in [tuple(tenant for tenant in tenants if (channel, tenant) in there)]
    ]


def _mapped(pairs: Sequence[tuple[Channel, str]]) -> set[tuple[Channel, str]]:
    """Return the pairs of channel and tenant that have a mapping, strongly consistent."""
    keys = [{"pk": partition_of(tenant), "sk": channel.key} for channel, tenant in dict.fromkeys(pairs)]
    found = {(raw["pk"]["S"], raw["sk"]["S"]) for raw in batch_get("TENANTS", keys, ("pk", "sk"), consistent=True)}
    return {(channel, tenant) for channel, tenant in pairs if (partition_of(tenant), channel.key) in found}


def claim(tenant_id: str, channel: Channel, staff: Staff) -> None:
    """Give a channel to a tenant. Raises `ChannelTaken`, `Conflict` if the tenant has it, `NotFound`, `Forbidden`."""
    check_writer(Permission.CHANNEL_WRITE, tenant_id, staff)
    check_key(channel.key, channel.key)
    for attempt in write_attempts():
        check_not_deleted(tenant_id)
        claims = claims_of(channel)
        check_free(claims, staff, tenant_id)
        if tenant_id in claims.tenants:
            raise Conflict("The tenant already has this channel.")

        def add(writes: TransactWrite, claims: Claims = claims) -> None:
            check_exists(writes, tenant_id)
            add_claim(writes, tenant_id, channel, claims)

        if attempt(add, [entry_of(tenant_id, Action.CHANNEL_CLAIMED, staff, channel=format_channel(channel))]):
            return


def complete(tenant_id: str, channel: Channel, staff: Staff) -> bool:
    """Add to another writer's mapping what webhooks need, and its guard. Return False if nothing was missing.

    Raises as `claim`, and `NotMapped`.
    """
    check_writer(Permission.CHANNEL_WRITE, tenant_id, staff)
    wanted = _mapping_values(tenant_id, channel)
    for attempt in write_attempts():
        check_not_deleted(tenant_id)
        claims = claims_of(channel)
        check_free(claims, staff, tenant_id)
        mapping = _mapping_as_stored(tenant_id, channel)
        if claims.guard == tenant_id and all(mapping.plain(name) == value for name, value in wanted.items()):
            return False

        def add(writes: TransactWrite, claims: Claims = claims) -> None:
            check_exists(writes, tenant_id)
            actions = [getattr(ChannelMapping, name).set(value) for name, value in wanted.items()]
            bare = ChannelMapping(partition_of(tenant_id), channel.key)
            writes.update(bare, actions=actions, condition=ChannelMapping.pk.exists())
            add_guard(writes, tenant_id, channel, claims)

        if attempt(add, [entry_of(tenant_id, Action.CHANNEL_COMPLETED, staff, channel=format_channel(channel))]):
            return True
    return False


def _mapping_as_stored(tenant_id: str, channel: Channel) -> ChannelMapping:
    try:
        return ChannelMapping.get(partition_of(tenant_id), channel.key, consistent_read=True)
    except NotFound as error:
        raise NotMapped from error


def release(tenant_id: str, channel: Channel, staff: Staff) -> None:
    """Take a channel from a tenant, so that its webhooks find no tenant. Raises `NotMapped` if it is already gone."""
    check_writer(Permission.CHANNEL_WRITE, tenant_id, staff)
    for attempt in write_attempts():
        guard = read_guard(channel)
        if not _mapped([(channel, tenant_id)]):
            raise NotMapped

        def add(writes: TransactWrite, guard: str = guard) -> None:
            add_release(writes, tenant_id, channel, guard)

        if attempt(add, [entry_of(tenant_id, Action.CHANNEL_RELEASED, staff, channel=format_channel(channel))]):
            return


def move(tenant_id: str, channel: Channel, to: str, staff: Staff) -> None:
    """Move a channel to another tenant, both in scope, in one transaction.

    Raises `ChannelTaken` if a third tenant has it too, `Conflict`, `NotFound`, `Forbidden`.
    """
    check_writer(Permission.CHANNEL_WRITE, tenant_id, staff)
    check_writer(Permission.CHANNEL_WRITE, to, staff)
    if to == tenant_id:
        raise Conflict("The tenant already has this channel.")
    for attempt in write_attempts():
        check_not_deleted(to)
        claims = claims_of(channel)
        if tenant_id not in claims.tenants:
            raise NotMapped
        check_free(claims, staff, tenant_id, to)

        def add(writes: TransactWrite, claims: Claims = claims) -> None:
            check_exists(writes, to)
            writes.delete(ChannelMapping(partition_of(tenant_id), channel.key), condition=ChannelMapping.pk.exists())
            taken = ChannelMapping.pk.exists() if to in claims.tenants else ChannelMapping.pk.does_not_exist()
            writes.save(_mapping(to, channel), condition=taken)
            add_guard(writes, to, channel, claims)

        payload = {"channel": format_channel(channel), "from": {"tenant": tenant_id}, "to": {"tenant": to}}
        if attempt(add, [entry_of(each, Action.CHANNEL_MOVED, staff, **payload) for each in (tenant_id, to)]):
            return


def check_free(claims: Claims, staff: Staff, *mine: str) -> None:
    """Raise `ChannelTaken` if another tenant has the channel; name it only if it is in the person's scope."""
    if others := claims.others(*mine):
        raise ChannelTaken(next((each for each in others if staff.scope.covers_tenant(each)), ""))


def format_channel(channel: Channel) -> str:
    """Format a channel for the trail, which masks numbers and addresses."""
    return f"{label_of(channel.type)} {channel.id}"


def add_claim(writes: TransactWrite, tenant_id: str, channel: Channel, claims: Claims) -> None:
    """Add a mapping and its guard to a transaction; `claims` are those read when the channel was free."""
    writes.save(_mapping(tenant_id, channel), condition=ChannelMapping.pk.does_not_exist())
    add_guard(writes, tenant_id, channel, claims)


def add_release(writes: TransactWrite, tenant_id: str, channel: Channel, guard: str) -> None:
    """Add to a transaction the removal of a mapping, and of its guard if that names the tenant; `guard` is as read."""
    writes.delete(ChannelMapping(partition_of(tenant_id), channel.key), condition=ChannelMapping.pk.exists())
    if guard == tenant_id:
        writes.delete(ChannelGuard(channel.key, OWNER), condition=ChannelGuard.tenant_id == tenant_id)
    elif not guard:
        writes.condition_check(ChannelGuard, channel.key, OWNER, condition=ChannelGuard.tenant_id.does_not_exist())


def is_stale_guard(claims: Claims, tenant_id: str) -> bool:
    """Return whether the guard names another tenant whose mapping is gone."""
    return bool(claims.guard) and claims.guard not in (tenant_id, *claims.tenants)


def add_guard(writes: TransactWrite, tenant_id: str, channel: Channel, claims: Claims) -> None:
    """Add a tenant's guard to a transaction, on condition that the guard still names the tenant in `claims`."""
    named, seen = ChannelGuard.tenant_id, claims.guard
    as_seen = named.does_not_exist() if not seen else (named == seen)
    guard = ChannelGuard(channel.key, OWNER, tenant_id=tenant_id, claimed_at=clock.to_iso(clock.now()))
    writes.save(guard, condition=as_seen)
    if is_stale_guard(claims, tenant_id):
        # The mapping of the tenant that the guard names must still be gone when this is written.
        writes.condition_check(
            ChannelMapping, partition_of(seen), channel.key, condition=ChannelMapping.pk.does_not_exist()
        )


def _mapping(tenant_id: str, channel: Channel) -> ChannelMapping:
    mapping = ChannelMapping(partition_of(tenant_id), channel.key)
    for name, value in _mapping_values(tenant_id, channel).items():
        setattr(mapping, name, value)
    return mapping


def _mapping_values(tenant_id: str, channel: Channel) -> dict[str, str]:
    return {
        "gsi1pk": channel.key,
        "gsi1sk": partition_of(tenant_id),
        "channel_type": channel.type,
        "channel_specific_id": channel.id,
    }
