"""Onboarding of a tenant: the first step reserves the id, the last one writes everything else in one transaction.

Between them, what was typed is stored as a draft in the console's own table, so that people can leave and come back.
Settings are saved directly: the tenant has settings from the beginning.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, NotFound
from console.permissions import TENANT, Permission, Staff
from console.staff import known_companies
from console.staff.models import StaffAccount
from console.store.calls import ConditionFailed, TransactionRefused, run_alongside
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, staff_trail
from tenants import settings_text
from tenants.channels import Claims, add_claim, check_free, claims_among
from tenants.companies import add_company, check_company
from tenants.console_items import OnboardingDraft
from tenants.keys import COMPANY, META, Channel, ItemKind, checked_name, checked_tenant_id, partition_of
from tenants.models import TenantMeta
from tenants.queries import read_partition
from tenants.records import ONBOARDING
from tenants.settings import saved_settings
from tenants.users import UserValues, add_user, add_version_check, check_unique, read_users
from tenants.writing import check_writer, current_meta, entry_of, write

KEPT = timedelta(days=90)
# The last step is one transaction of at most 100 writes, two of them for each channel.
MAX_CHANNELS = MAX_COMPANIES = 20
ID_TAKEN = "This id is taken. Choose another one."


@dataclass(frozen=True, slots=True)
class Draft:
    """What was typed so far. `version` is that of the stored draft, 0 if none is stored."""

    admin: UserValues | None = None
    channels: tuple[Channel, ...] = ()
    companies: tuple[str, ...] = ()
    version: int = 0
    token: str = field(default="", repr=False)


class DraftChanged(Conflict):
    """Somebody else, or another tab, saved another step meanwhile."""

    def __init__(self) -> None:
        super().__init__(
            "Somebody else, or another of your tabs, saved a step in the meantime. Check it, then save yours."
        )


def begin(tenant_id: str, name: str, token: str, staff: Staff) -> None:
    """Reserve an id: write META with status onboarding, the draft, the person's scope and the trail in one transaction.

    A repeated call with the same token has no effect. Raises `Forbidden`, `Invalid`, `Conflict` for an id in use,
    `Throttled`.
    """
    staff.require(Permission.TENANT_WRITE)
    tenant_id, name = checked_tenant_id(tenant_id), checked_name(name)
    # The tenant is added to the person's scope, which must not give access to anything that already uses the id.
    gains = not staff.scope.covers_tenant(tenant_id)
    in_use = (gains and known_companies.is_in_use(tenant_id)) or read_partition(tenant_id).items
    # If the same form was sent before, the id is in use because of it.
    if in_use and not _is_own(tenant_id, token):
        raise Conflict(ID_TAKEN)
    text = settings_text.default_text()
    meta = TenantMeta(partition_of(tenant_id), META)
    meta.tenant_id, meta.name, meta.status, meta.settings = tenant_id, name, ONBOARDING, text
    meta.created_at = clock.to_iso(clock.now(), "seconds")

    def add(writes: TransactWrite) -> None:
        writes.save(meta, condition=TenantMeta.pk.does_not_exist())
        draft = OnboardingDraft(partition_of(tenant_id), token=token, expires_at=_expiry())
        writes.save(draft)
        writes.save(saved_settings(tenant_id, name, text, staff))
        if gains:
            _gain(writes, tenant_id, staff)

    payload = {"name": name} | ({"scope_of": staff.username} if gains else {})
    entries = [entry_of(tenant_id, Action.TENANT_CREATED, staff, **payload)]
    if gains:
        payload = {"changed": "scope", "gained": TENANT + tenant_id}
        entries.append(TrailEntry(staff_trail(staff.username), Action.STAFF_CHANGED, Actor.of(staff), payload=payload))
    try:
        write(add, *entries)
    except TransactionRefused as error:
        if not _is_own(tenant_id, token):
            raise Conflict(ID_TAKEN) from error


def _gain(writes: TransactWrite, tenant_id: str, staff: Staff) -> None:
    """Add the new tenant to the scope of its creator, but not a company with the same id.

    Sessions stay valid, because the scope only grows.
    """
    account = StaffAccount(username=staff.username)
    actions: list[UpdateAction] = [
        StaffAccount.scope.set(StaffAccount.scope.append([TENANT + tenant_id])),
        StaffAccount.updated_at.set(clock.to_iso(clock.now())),
    ]
    writes.update(account, actions=actions, condition=StaffAccount.username.exists())


def _is_own(tenant_id: str, token: str) -> bool:
    try:
        return bool(token) and OnboardingDraft.get(partition_of(tenant_id), OnboardingDraft.SORT_KEY).token == token
    except NotFound:
        return False


def load_draft(tenant_id: str, staff: Staff) -> Draft:
    """Return a tenant's draft, empty if none is stored. Raises `Forbidden`, `NotFound` out of scope."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    try:
        stored = OnboardingDraft.get(partition_of(tenant_id), OnboardingDraft.SORT_KEY, consistent_read=True)
    except NotFound:
        return Draft()
    return replace(_typed(stored.typed or "{}"), version=int(stored.version or 0), token=stored.token or "")


def save_draft(tenant_id: str, draft: Draft, staff: Staff) -> None:
    """Save a draft if the stored one still has its version. Raises `DraftChanged`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    current_meta(tenant_id)
    stored = OnboardingDraft(partition_of(tenant_id))
    stored.typed = json.dumps(_stored(draft), ensure_ascii=False)
    stored.version, stored.token, stored.expires_at = draft.version + 1, draft.token or None, _expiry()
    as_read = OnboardingDraft.version == draft.version if draft.version else OnboardingDraft.pk.does_not_exist()
    try:
        stored.save(condition=as_read)
    except ConditionFailed as error:
        raise DraftChanged from error


def problems_of(tenant_id: str, draft: Draft, staff: Staff) -> dict[str, list[str]]:
    """Return what prevents finishing a draft: messages by step ("admin", "channels", "companies").

    What the tenant already has need not be in the draft.
    """
    found: dict[str, list[str]] = {"admin": [], "channels": [], "companies": []}
    users = read_users(tenant_id)
    if draft.admin is not None:
        try:
            check_unique(users, draft.admin, is_new=True)
        except Conflict as error:
            found["admin"].append(str(error))
    elif not users.admins():
        found["admin"].append("There is no first administrator yet.")
    if not draft.channels and not _ids(tenant_id, ItemKind.CHANNEL):
        found["channels"].append("There is no channel yet, so no webhook would find this tenant.")
    found["channels"] += [f"{each.type} {each.id}: {why}" for each, why in clashes_of(tenant_id, draft.channels, staff)]
    return {step: words for step, words in found.items() if words}


def clashes_of(tenant_id: str, channels: Sequence[Channel], staff: Staff) -> list[tuple[Channel, str]]:
    """Return the channels that this tenant cannot have now, and why. Raises the store's errors."""
    found = []
    for channel, claims in zip(channels, claims_among(channels), strict=True):
        try:
            _check_claims(tenant_id, [claims], staff)
        except Conflict as error:
            found.append((channel, str(error)))
    return found


def finish(tenant_id: str, draft: Draft, staff: Staff) -> None:
    """Write the first user, channels with guards, and companies, and delete the draft, in one transaction.

    Raises `Conflict`, which names what was taken meanwhile, `DraftChanged`, `NotFound`, `Forbidden`.
    """
    for permission in (Permission.TENANT_WRITE, Permission.USER_WRITE, Permission.CHANNEL_WRITE):
        check_writer(permission, tenant_id, staff)
    admin = draft.admin
    if (admin is None or not draft.channels) and (found := problems_of(tenant_id, draft, staff)):
        raise Conflict("It is not complete yet: " + " ".join(_words(found)))
    for company_id in draft.companies:
        check_company(company_id, staff)
    with run_alongside(read_users, tenant_id) as reading:
        claims = dict(zip(draft.channels, claims_among(draft.channels), strict=True))
    users = reading.result()
    if admin is not None:
        check_unique(users, admin, is_new=True)
    _check_claims(tenant_id, claims.values(), staff)
    linked = _ids(tenant_id, ItemKind.COMPANY) if draft.companies else set()

    def add(writes: TransactWrite) -> None:
        onboarding = (TenantMeta.status == ONBOARDING) & TenantMeta.pk.exists()
        writes.condition_check(TenantMeta, partition_of(tenant_id), META, condition=onboarding)
        stored = OnboardingDraft(partition_of(tenant_id))
        writes.delete(stored, condition=OnboardingDraft.version == draft.version)
        if admin is not None:
            add_user(writes, tenant_id, admin)
            add_version_check(writes, tenant_id, users.version)
        for channel, found in claims.items():
            add_claim(writes, tenant_id, channel, found)
        for company_id in draft.companies:
            if company_id not in linked:
                add_company(writes, tenant_id, company_id)

    payload = {
        "channels": [f"{channel.type} {channel.id}" for channel in draft.channels],
        "companies": list(draft.companies),
    } | ({"user": admin.user_id} if admin else {})
    try:
        write(add, entry_of(tenant_id, Action.TENANT_ONBOARDED, staff, **payload))
    except TransactionRefused as error:
        if found := problems_of(tenant_id, draft, staff):
            raise Conflict(" ".join(_words(found))) from error
        raise DraftChanged from error


def _check_claims(tenant_id: str, found: Iterable[Claims], staff: Staff) -> None:
    for claims in found:
        check_free(claims, staff, tenant_id)
        if tenant_id in claims.tenants:
            raise Conflict("The tenant already has this channel.")


def _ids(tenant_id: str, wanted: ItemKind) -> set[str]:
    """Return the sort keys of the tenant's items of a kind; for companies, their ids."""
    items = read_partition(tenant_id).items
    return {str(item.plain("sk")).removeprefix(COMPANY) for kind, item in items if kind is wanted}


def _words(problems: Mapping[str, list[str]]) -> list[str]:
    return [each for words in problems.values() for each in words]


def _expiry() -> int:
    return clock.to_epoch(clock.now() + KEPT)


def _stored(draft: Draft) -> dict[str, Any]:
    admin = draft.admin
    return {
        "admin": [admin.user_id, admin.email, admin.name, admin.role, list(admin.identities)] if admin else None,
        "channels": [[channel.type, channel.id] for channel in draft.channels],
        "companies": list(draft.companies),
    }


def _typed(text: str) -> Draft:
    """Parse a draft from its JSON text; return an empty one if the text is malformed."""
    try:
        stored = json.loads(text)
        admin = stored.get("admin")
        user = None
        if admin:
            user_id, email, name, role, identities = admin
            user = UserValues(user_id, email, name, role, tuple((kind, each) for kind, each in identities))
        channels = tuple(Channel(kind, each) for kind, each in stored.get("channels", []))
        return Draft(user, channels, tuple(stored.get("companies", [])))
    except (ValueError, TypeError, AttributeError):
        return Draft()
