"""Save a tenant's name and settings with compare-and-swap, and show what the platform has overwritten since.

The platform writes META as a whole, so it may overwrite what the console saved a moment ago. The console stores a copy
of what it saved and shows the difference; it does not write it again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, Invalid
from console.permissions import Permission, Staff
from console.store.calls import TransactionRefused
from console.trail.actions import Action
from console.trees import text_of
from tenants import settings_text
from tenants.console_items import SavedSettings
from tenants.keys import META, checked_name, partition_of
from tenants.models import TenantMeta
from tenants.records import DELETED
from tenants.writing import (
    NOT_CHANGEABLE,
    as_read,
    check_not_deleted,
    check_writer,
    current_meta,
    entry_of,
    not_deleted,
    write,
)

# Characters of a value in the trail; longer values are cut.
IN_TRAIL = 2_000


class SettingsChanged(Conflict):
    """The settings changed since the person saw them."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed these settings in the meantime.")


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """Name, settings and status as stored. `seen` is a digest of name and settings, which forms carry."""

    name: str
    settings: settings_text.Settings
    seen: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """What changed outside the console since it saved. `differences`: key to JSON text as saved and as stored now."""

    saved_by: str
    saved_at: datetime | None
    differences: Mapping[str, tuple[str, str]]


def load(tenant_id: str, staff: Staff) -> StoredSettings:
    """Return name and settings for changing them, strongly consistent. Raises `Forbidden`, `NotFound`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    return _stored(current_meta(tenant_id))


def _stored(meta: TenantMeta) -> StoredSettings:
    text = meta.plain("settings")
    name = meta.plain("name")
    raw = repr([meta.raw.get("name"), meta.raw.get("settings")])
    seen = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
    stored = settings_text.read(text if isinstance(text, str) else None)
    return StoredSettings("" if name is None else text_of(name), stored, seen, text_of(meta.plain("status") or ""))


def save(
    tenant_id: str, name: str, known: Mapping[str, Any], others: Mapping[str, str], seen: str, staff: Staff
) -> bool:
    """Save name and settings with their entry in one transaction. Return False if nothing changed.

    `known` and `others` as in `settings_text.changed`. Raises `SettingsChanged` unless they are as `seen`, `Conflict`
    for a deleted tenant, `Invalid`, `NotFound`, `Forbidden`.
    """
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    meta = current_meta(tenant_id)
    stored = _stored(meta)
    if stored.status == DELETED:
        raise Conflict(NOT_CHANGEABLE)
    if stored.seen != seen:
        raise SettingsChanged
    text = settings_text.changed(stored.settings, known, others)
    if name != stored.name:
        name = checked_name(name)
    if text == stored.settings.text and name == stored.name:
        return False
    after = settings_text.read(text)
    changes = settings_text.differences(stored.settings, after)
    if name != stored.name:
        changes["name"] = (stored.name, name)
    entry = entry_of(
        tenant_id,
        Action.TENANT_CHANGED,
        staff,
        changed=", ".join(changes),
        **{side: {key: pair[at][:IN_TRAIL] for key, pair in changes.items()} for at, side in enumerate(("from", "to"))},
    )

    def add(writes: TransactWrite) -> None:
        actions: list[UpdateAction] = [TenantMeta.settings.set(text), TenantMeta.name.set(name)]
        writes.update(TenantMeta(partition_of(tenant_id), META), actions=actions, condition=_as_read(meta))
        writes.save(saved_settings(tenant_id, name, text, staff))

    try:
        write(add, entry)
    except TransactionRefused as error:
        check_not_deleted(tenant_id)
        raise SettingsChanged from error
    return True


def saved_settings(tenant_id: str, name: str, text: str, staff: Staff) -> SavedSettings:
    """Return the unsaved item with the console's copy of what it saves."""
    at = clock.to_iso(clock.now())
    return SavedSettings(partition_of(tenant_id), name=name, settings=text, saved_at=at, saved_by=staff.username)


def overwritten(tenant_id: str) -> Overwritten | None:
    """Return what differs in meaning from what the console last saved; None if nothing does, or it never saved.

    Two GetItem, the tenant first, so that a save between them can only hide a difference briefly. Raises `NotFound`.
    """
    stored = _stored(current_meta(tenant_id))
    now = stored.settings
    saved = SavedSettings.find(partition_of(tenant_id), SavedSettings.SORT_KEY)
    if saved is None or saved.settings is None:
        return None
    before = settings_text.read(saved.settings)
    differing = settings_text.differences(before, now)
    found = {key: pair for key, pair in differing.items() if not settings_text.means_the_same(*pair)}
    if now.problem and not before.problem:
        found = {"settings": (saved.settings, now.text)}
    if saved.name is not None and saved.name != stored.name:
        found = {"name": (saved.name, stored.name)} | found
    if not found:
        return None
    return Overwritten(saved.saved_by or "", clock.parse_instant(saved.saved_at), found)


def _as_read(meta: TenantMeta) -> Condition:
    names = ("settings", "name")
    for name in names:
        if "S" not in meta.raw.get(name, {"S": ""}):
            # Other types cannot be compared here, so the console never overwrites them.
            raise Invalid(f"The stored {name} is not text. Only the platform can fix it.")
    unchanged: Condition = as_read(meta, names) & not_deleted()
    return unchanged
