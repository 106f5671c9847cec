"""Opening a tenant's conversation, on record before anything is shown; and clearing it, together with its entry."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from console import clock
from console.errors import Conflict, ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest
from console.store.connection import transaction
from console.store.errors import TransactionRefused
from console.store.models import sendable
from console.store.presence import table_ready
from console.trail.actions import Action, tenant_trail
from console.trail.recording import Actor, NoTrail, TrailEntry, build, record_once
from conversations.stores.tenant_conversations.models import TenantConversation
from conversations.stores.tenant_conversations.queries import conversation_id_of, load
from conversations.stores.tenant_conversations.reading import StoredTenantConversation, name_of, reference_of

HOUR = timedelta(hours=1)


class ConversationGone(ConsoleError):
    """The conversation is not there any more: it was cleared, or its time to live ended."""

    status = 409


@dataclass(frozen=True, slots=True)
class OpenedTenantConversation:
    """A conversation opened by one person. `is_raw`: on record, and the role may see it as it is; else redacted."""

    item: TenantConversation
    stored: StoredTenantConversation
    now: datetime
    is_raw: bool


def open_conversation(tenant_id: str, reference: str, staff: Staff) -> OpenedTenantConversation:
    """Open a conversation to read it: one GetItem, then the entry in the tenant's trail.

    The entry (once per person, conversation and hour) is written before anything is returned; where it cannot be
    written, nothing is; where there is no trail at all, everything is redacted. Raises as `queries.load`.
    """
    item = load(tenant_id, reference, staff)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    is_recorded = _record_opened(item, staff, raw=may_see)
    return OpenedTenantConversation(
        item, StoredTenantConversation.of(item), clock.now(), is_raw=is_recorded and may_see
    )


def _record_opened(item: TenantConversation, staff: Staff, *, raw: bool) -> bool:
    """Put on record that it is opened; False where this environment has no trail."""
    entry = _entry(item, Action.TRANSCRIPT_OPENED, staff, {"shown": "raw" if raw else "redacted"})
    try:
        record_once(entry, f"{keyed_digest(item.sk)[:16]}.{staff.username}", HOUR)
    except TableMissing:
        return False
    return True


def seen_of(item: TenantConversation) -> str:
    """What a form keeps of a conversation as it was shown: another one for every change of it."""
    return keyed_digest(_as_seen(item))


def _as_seen(item: TenantConversation) -> str:
    return json.dumps([item.raw.get(name) for name in _AS_SEEN], sort_keys=True)


def clear(item: TenantConversation, seen: str, staff: Staff) -> None:
    """Remove a conversation that is as the person saw it, together with its entry in the tenant's trail.

    `item` is as `load_to_clear` gave it. Raises `Forbidden`, `Gone`, `Conflict` when it changed since it was shown,
    `NoTrail`, and the store's errors.
    """
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    if not is_digest_of(seen, _as_seen(item)):
        raise Conflict
    stored = StoredTenantConversation.of(item)
    updated_at = clock.parse_instant(item.plain("updated_at"))
    payload = {
        "messages": len(stored.entries),
        "bytes": stored.size,
        "last_activity": clock.to_iso(updated_at) if updated_at else None,
    }
    entry = build(_entry(item, Action.TENANT_CONVERSATION_CLEARED, staff, payload), clock.now())
    try:
        with transaction() as writes:
            writes.delete(item, condition=_unchanged(item))
            writes.save(entry)
    except TransactionRefused as error:
        # Gone, or changed: whichever it is, a fresh look tells.
        load_to_clear(item.pk, reference_of(item.pk, item.sk), staff)
        raise Conflict from error
    except TableMissing as missing:
        if table_ready("AUDIT"):
            raise
        raise NoTrail("A conversation is cleared", "nothing was cleared") from missing


def load_to_clear(tenant_id: str, reference: str, staff: Staff) -> TenantConversation:
    """As `queries.load` for who may clear it; raises `Gone` where a reference of this tenant leads to nothing."""
    staff.require(Permission.TENANT_CONVERSATION_CLEAR)
    conversation_id_of(tenant_id, reference, staff)
    try:
        return load(tenant_id, reference, staff)
    except NotFound as error:
        raise ConversationGone from error


_AS_SEEN = ("messages", "updated_at")


def _unchanged(item: TenantConversation) -> Condition:
    """That the item is there, and holds exactly what was read, of whichever type.

    The platform writes times in whole seconds, so that `updated_at` alone would let a turn of that second be lost.
    """
    condition: Condition = TenantConversation.pk.exists()
    for name in _AS_SEEN:
        value = item.raw.get(name)
        condition &= Path(name).does_not_exist() if value is None else Path(name) == sendable(value)
    return condition


def _entry(item: TenantConversation, action: Action, staff: Staff, payload: dict[str, Any]) -> TrailEntry:
    return TrailEntry(
        trail=tenant_trail(item.pk),
        action=action,
        actor=Actor.of(staff),
        company_id=item.pk,
        payload={"tenant_conversation": name_of(item.sk), **payload},
    )
