"""Where a company's notifications go: items of the console's own table.

`pk = DESTINATIONS#{company_id}`, `sk` an id. Destinations of no company (`pk = DESTINATIONS`) get the notifications of
all companies and those of none; people with scope "all" manage them. The signing secret of a webhook is sealed, as
second factors are.
"""

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from pynamodb.attributes import BooleanAttribute, UnicodeAttribute

from console import clock, refs
from console.caching import cached_for
from console.errors import BadReference, Conflict, Forbidden, Invalid
from console.permissions import Permission, Staff
from console.store.models import InstantAttribute, TextListAttribute
from console.trail.actions import Action
from console.trail.items import ItemChanged, VersionedItem
from console.trail.recording import COMMAND_LINE, SYSTEM_TRAIL, Actor, TrailEntry, new_action_id, record
from console.trees import isolated
from conversations.companies import check_team_lead
from conversations.notifications.addresses import DestinationKind, address_problem
from conversations.notifications.notification import OF_COMPANIES, NotificationType

MOST, LONGEST_NAME = 20, 60
SECONDS = 20  # maximum age of the cached list of destinations
# After a secret is renewed, the previous one signs too for this long.
BOTH_SIGN_FOR = timedelta(hours=24)
SECRET_BYTES = 32
NOTIFIER = Actor("notifier", "service")


class StoredDestination(VersionedItem):
    """A destination as it is stored; `secrets` are sealed."""

    CHANGED = "Somebody else changed this destination in the meantime."
    name = UnicodeAttribute(default="")
    kind = UnicodeAttribute(default="")
    address = UnicodeAttribute(default="")
    types = TextListAttribute(default=list)
    is_on = BooleanAttribute(default=False)
    created_at = InstantAttribute(null=True)
    secrets = TextListAttribute(default=list)
    both_until = InstantAttribute(null=True)


@dataclass(frozen=True, slots=True)
class DestinationValues:
    """The settings that people make for a destination."""

    name: str
    kind: DestinationKind
    address: str
    types: tuple[NotificationType, ...]
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class Destination:
    """A destination. `company_id` is "" for all companies; `version` is for the conditional write.

    `secrets` sign a webhook: the current one first, and the previous one until `both_until`; `sealed` are the secrets
    as they are stored. `updated_by` is the username of who stored it last.
    """

    id: str
    company_id: str
    values: DestinationValues
    created_at: datetime | None
    secrets: tuple[str, ...] = ()
    both_until: datetime | None = None
    sealed: tuple[str, ...] = ()
    version: int = 0
    updated_by: str = ""

    @property
    def host(self) -> str:
        """The address for lists: only the host of a webhook, as its path may be a secret."""
        if self.values.kind is not DestinationKind.WEBHOOK:
            return self.values.address
        try:
            return urlsplit(self.values.address).hostname or ""
        except ValueError:
            return ""

    def wants(self, type_: NotificationType, at: datetime) -> bool:
        """Return whether it gets notifications of a type that happened at `at`; never those before it was created."""
        is_new = self.created_at is not None and at >= self.created_at
        return self.values.is_on and type_ in self.values.types and is_new


def kinds() -> list[DestinationKind]:
    """Return the kinds available here: emails need a sender's address."""
    return [each for each in DestinationKind if each != DestinationKind.EMAIL or settings.NOTIFICATIONS_FROM_EMAIL]


def types_for(company_id: str) -> tuple[NotificationType, ...]:
    """Return the types for a destination; events of no company only for destinations of all companies."""
    return OF_COMPANIES if company_id else (*OF_COMPANIES, NotificationType.NOT_PLACED)


def check_manager(company_id: str, staff: Staff) -> None:
    """Raise `Forbidden` or `NotFound` unless a person manages the destinations of that company ("": of all)."""
    if company_id:
        check_team_lead(company_id, staff)
        return
    staff.require(Permission.TEAM_LEAD)
    if not staff.scope.everything:
        raise Forbidden("Only leads of all companies can do this.")


# --- Reading ----------------------------------------------------------------------------------------------------------


def list_destinations(company_id: str) -> list[Destination]:
    """Return the destinations of a company ("": of all) by name. One Query; raises the store's errors."""
    found = StoredDestination.list_in(partition_of(company_id), MOST)
    return sorted((_read(each, company_id) for each in found), key=lambda each: each.values.name.casefold())


@cached_for(SECONDS)
def destinations_of(company_id: str) -> tuple[Destination, ...]:
    """Return the destinations of a company's events, at most `SECONDS` old. Raises the store's errors."""
    return (*list_destinations(""), *(list_destinations(company_id) if company_id else ()))


def find(company_id: str, destination_id: str) -> Destination | None:
    """Return a destination, None if it does not exist. Strongly consistent. Raises the store's errors."""
    found = StoredDestination.find(partition_of(company_id), destination_id)
    return None if found is None else _read(found, company_id)


def _read(item: StoredDestination, company_id: str) -> Destination:
    """Read a stored destination; one of an unknown kind is switched off."""
    known = item.kind in set(DestinationKind)
    values = DestinationValues(
        name=item.name or item.sk,
        kind=DestinationKind(item.kind) if known else DestinationKind.WEBHOOK,
        address=item.address,
        types=tuple(each for each in NotificationType if each.value in item.types),
        is_on=item.is_on and known,
    )
    return Destination(
        item.sk,
        company_id,
        values,
        item.created_at,
        _unsealed(item),
        item.both_until,
        tuple(item.secrets),
        item.version,
        item.updated_by,
    )


# --- Writing ----------------------------------------------------------------------------------------------------------


def add(company_id: str, values: DestinationValues, staff: Staff, destination_id: str = "") -> str:
    """Add a destination, with an entry in the trail; return its id. Repeating a form, which has the id, is no error.

    Raises `Forbidden`, `NotFound` (out of scope), `Invalid`, `Conflict`, and the store's errors.
    """
    check_manager(company_id, staff)
    values, destination_id = _checked(company_id, values), destination_id or new_action_id()
    known = {each.id: each for each in list_destinations(company_id)}
    if (there := known.get(destination_id)) is not None:
        if there.values == values:
            return destination_id
        raise Conflict("This form has already added a destination. Check the list.")
    _check_address(values, known.values())
    if len(known) >= MOST:
        raise Invalid(f"You can have up to {MOST} destinations. Delete one first.")
    seen = Destination(destination_id, company_id, values, clock.now())
    _put(seen, values, (_new_secret(),), None, _entry(company_id, values, Actor.of(staff), added=True))
    return destination_id


def change(seen: Destination, values: DestinationValues, staff: Staff) -> None:
    """Change a destination if it is still as `seen`, with an entry in the trail. Raises as `add`."""
    check_manager(seen.company_id, staff)
    values = _checked(seen.company_id, values)
    if (values.kind, values.address) != (seen.values.kind, seen.values.address):
        _check_address(values, (each for each in list_destinations(seen.company_id) if each.id != seen.id))
    signing = seen.secrets or (_new_secret(),)
    _put(seen, values, signing, seen.both_until, _entry(seen.company_id, values, Actor.of(staff)))


def renew_secret(seen: Destination, staff: Staff) -> None:
    """Give a webhook a new secret; the previous one signs too for `BOTH_SIGN_FOR`. Raises as `add`."""
    check_manager(seen.company_id, staff)
    entry = _entry(seen.company_id, seen.values, Actor.of(staff), new_secret=True)
    _put(seen, seen.values, (_new_secret(), *seen.secrets[:1]), clock.now() + BOTH_SIGN_FOR, entry)


def show_secret(seen: Destination, staff: Staff) -> str:
    """Record that a webhook's signing secret is shown, and return it. Raises as `add`.

    Returns "" if it can no longer be unsealed, as after a change of SECRET_KEY.
    """
    check_manager(seen.company_id, staff)
    payload = {"destination": seen.values.name}
    entry = TrailEntry(SYSTEM_TRAIL, Action.DESTINATION_SECRET_SHOWN, Actor.of(staff), seen.company_id, payload=payload)
    record(entry)
    return seen.secrets[0] if seen.secrets else ""


def switch_off(seen: Destination) -> None:
    """Switch off a destination whose receiver is gone, with a trail entry. Raises `Conflict`, the store's errors."""
    values = replace(seen.values, is_on=False)
    entry = _entry(seen.company_id, values, NOTIFIER, reason="Its receiver answered that it is gone.")
    _put(seen, values, seen.secrets, seen.both_until, entry)


def seal_again(seen: Destination) -> bool:
    """Seal secrets of an earlier SECRET_KEY with the current one, with a trail entry; return whether it was needed.

    Raises `BadReference` if no key opens them, and as `switch_off`.
    """
    if seen.sealed and not seen.secrets:
        raise BadReference
    if tuple(_sealed(seen.id, seen.secrets)) == seen.sealed[: len(seen.secrets)]:
        return False
    entry = _entry(seen.company_id, seen.values, COMMAND_LINE, sealed_again=True)
    _put(seen, seen.values, seen.secrets, seen.both_until, entry)
    return True


def delete(seen: Destination, staff: Staff) -> None:
    """Delete a destination if it is still as `seen`, with an entry in the trail. Raises as `add`."""
    check_manager(seen.company_id, staff)
    entry = _entry(seen.company_id, seen.values, Actor.of(staff), deleted=True)
    StoredDestination(partition_of(seen.company_id), seen.id).discard(seen.version, entry)
    destinations_of.cache_clear()


def _put(
    seen: Destination,
    values: DestinationValues,
    signing: tuple[str, ...],
    both_until: datetime | None,
    entry: TrailEntry,
) -> None:
    """Store a destination in place of `seen`, whose version is 0 if it is new."""
    StoredDestination(
        partition_of(seen.company_id),
        seen.id,
        name=values.name,
        kind=values.kind.value,
        address=values.address,
        types=[each.value for each in values.types],
        is_on=values.is_on,
        created_at=seen.created_at or clock.now(),
        secrets=_sealed(seen.id, signing),
        both_until=both_until,
    ).put(seen.version, entry)
    destinations_of.cache_clear()


def _entry(company_id: str, values: DestinationValues, actor: Actor, **more: Any) -> TrailEntry:
    """Return the trail's entry, without the address, which may contain a secret."""
    types = [each.value for each in values.types]
    payload = {"destination": values.name, "kind": values.kind.value, "on": values.is_on, "types": types}
    return TrailEntry(SYSTEM_TRAIL, Action.DESTINATION_CHANGED, actor, company_id, payload=payload | more)


def partition_of(company_id: str) -> str:
    """Return the partition of a company's destinations ("": of those for all)."""
    return f"DESTINATIONS#{company_id}" if company_id else "DESTINATIONS"


def _checked(company_id: str, values: DestinationValues) -> DestinationValues:
    """Return the values to store. Raises `Invalid`; forms check their fields before."""
    name, address = " ".join(values.name.split()), values.address.strip()
    types = tuple(each for each in types_for(company_id) if each in values.types)
    if not name or len(name) > LONGEST_NAME:
        raise Invalid(f"Enter a name of up to {LONGEST_NAME} characters.")
    if values.kind not in kinds():
        raise Invalid("Choose one of the listed kinds.")
    if problem := address_problem(values.kind, address):
        raise Invalid(problem)
    if not types:
        raise Invalid("Choose at least one event.")
    return replace(values, name=name, address=address, types=types)


def _check_address(values: DestinationValues, others: Iterable[Destination]) -> None:
    """Raise `ItemChanged` if another destination of the same owner has this kind and address."""
    for each in others:
        if (each.values.kind, each.values.address) == (values.kind, values.address):
            raise ItemChanged(f"This address is already a destination: {isolated(each.values.name)}.", "address")


# --- Secrets ----------------------------------------------------------------------------------------------------------


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def _sealed(destination_id: str, signing: tuple[str, ...]) -> list[str]:
    """Return a webhook's secrets as they are stored: sealed, for this destination only."""
    return [refs.seal_data(_sealed_as(destination_id), each) for each in signing]


def _sealed_as(destination_id: str) -> str:
    return f"webhook secret {destination_id}"


def _unsealed(item: StoredDestination) -> tuple[str, ...]:
    """Return the secrets that sign now; () if they cannot be unsealed, as after a change of SECRET_KEY."""
    signing = None if item.both_until is not None and item.both_until > clock.now() else 1
    try:
        return tuple(str(refs.unseal_data(_sealed_as(item.sk), each)) for each in item.secrets[:signing])
    except BadReference:
        return ()
