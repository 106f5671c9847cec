"""Repair users whose items lack what the platform needs: it loads all of a tenant's users or none.

The platform's WhatsApp webhook takes from these items who may write to a bot, so one unreadable item blocks everyone.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pynamodb.transactions import TransactWrite

from console.store.calls import TransactionRefused
from console.trail.actions import Action
from console.trail.recording import COMMAND_LINE
from console.trees import text_of
from tenants.keys import ItemKind
from tenants.models import TenantUser, item_of
from tenants.reading import REQUIRED, USER_WRITTEN
from tenants.users import key_attributes
from tenants.walking import Progress, walk
from tenants.writing import as_read, entry_of, write

# The platform's own defaults.
_DEFAULTS = {"display_name": "", "role": "member"}


def all_users(progress: Progress) -> Iterator[TenantUser]:
    """Yield the users of all tenants. For commands only: scans the whole table. Raises the store's errors."""
    for kind, item in map(item_of, walk(progress)):
        if kind is ItemKind.USER and isinstance(item, TenantUser):
            yield item


def repairs_of(item: TenantUser) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the missing attributes that can be filled in, and the names of those that only a person can fill in."""
    given = {name: value for name, value in key_attributes(item).items() if item.plain(name) != value}
    given |= {name: value for name, value in _DEFAULTS.items() if item.plain(name) is None}
    left = [name for name in REQUIRED if name not in given and not isinstance(item.plain(name), str)]
    identities = item.plain("channel_identities")
    if isinstance(identities, dict):
        given["channel_identities"] = json.dumps(identities, ensure_ascii=False, default=text_of)
    elif not _is_readable(identities):
        left.append("channel_identities")
    return given, tuple(left)


def _is_readable(identities: Any) -> bool:
    """Return whether the platform can read channel identities: they may be absent, but must be a JSON object."""
    try:
        return identities is None or (isinstance(identities, str) and isinstance(json.loads(identities), dict))
    except (ValueError, RecursionError):
        return False


def repair(item: TenantUser, given: Mapping[str, str]) -> bool:
    """Write what `repairs_of` returned, with its entry. Return False if the user changed. Raises the store's errors."""
    user_id, tenant_id = key_attributes(item).values()

    def add(writes: TransactWrite) -> None:
        actions = [getattr(TenantUser, name).set(value) for name, value in given.items()]
        bare = TenantUser(item.plain("pk"), item.plain("sk"))
        writes.update(bare, actions=actions, condition=as_read(item, USER_WRITTEN))

    changed = ", ".join(given)
    try:
        write(add, entry_of(tenant_id, Action.USER_CHANGED, COMMAND_LINE, user=user_id, changed=changed))
    except TransactionRefused:
        return False
    return True
