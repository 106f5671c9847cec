"""The trail's entries of what the platform asked for: one for each request, whoever comes to write it.

An entry's key is made of the time since when a human is wanted and of the console's last action before that, so that
all who read the item write the same entry, and a platform that does not move its time asks anew after a hand-back.
`edge_at` says for which flip of the flag it stands, by the platform's time of that; a sweep, which sees no flips,
leaves it open. Such an entry has no `action_id`: it is nothing that the console did, and no link of the chain by which
actions are settled.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.audit.actions import Action, conversation_trail
from console.audit.models import AuditEntry
from console.audit.recording import PLATFORM, Entry, build
from console.dynamodb.translation import ConditionFailed
from conversations.handoff.effects import Raw, reason_in
from conversations.indexing.states import marks_of

REASON_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the platform. `at` and `edge_at` are ISO as `clock.to_iso` writes it, `edge_at` "" where open."""

    conversation_id: str
    company_id: str
    previous: str
    at: str
    edge_at: str = ""
    reason: str = ""


def request_in(stored: Raw, at: str, edge_at: str = "") -> Request:
    """The request that an item, or an image of it, tells of."""
    marks = marks_of(stored)
    conversation_id, reason = stored["conversation_id"]["S"], reason_in(stored)[:REASON_LENGTH]
    return Request(conversation_id, marks.company_id, marks.stamp, at, edge_at, reason)


def sort_key(request: Request) -> str:
    """Key of a request's entry within its trail."""
    return f"{request.at}#{_id_of(request)}"


def _id_of(request: Request) -> str:
    named = "\n".join(filter(None, (request.conversation_id, request.at, request.previous))).encode(errors="replace")
    return hashlib.sha256(named).hexdigest()[:32]


def found_since(conversation_id: str, previous: str, since: str) -> list[Request]:
    """The recorded requests after the console action `previous` ("" for none), from `since` on, oldest first.

    Strongly consistent. Raises the store's errors.
    """
    entries = AuditEntry.query(
        conversation_trail(conversation_id),
        AuditEntry.ts_action_id >= since,
        consistent_read=True,
        filter_condition=(AuditEntry.action_type == Action.HAND_OFF_REQUEST.value)
        & (AuditEntry.actor == PLATFORM.name),
    )
    return [
        Request(conversation_id, "", previous, entry.ts_action_id.partition("#")[0], entry.edge_at or "")
        for entry in entries
        if (entry.previous_action_id or "") == previous
    ]


def ensure(request: Request) -> bool:
    """Write a request's entry if it is not there; whether it was this that wrote it. Raises the store's errors."""
    at = clock.parse_instant(request.at)
    if at is None:
        raise ValueError("a request has a time")
    payload = {"reason": request.reason} if request.reason else {}
    item = build(
        Entry(
            trail=conversation_trail(request.conversation_id),
            action=Action.HAND_OFF_REQUEST,
            actor=PLATFORM,
            company_id=request.company_id,
            payload=payload,
            action_id=_id_of(request),
            previous_action_id=request.previous,
        ),
        at,
    )
    item.action_id = None
    item.edge_at = request.edge_at or None
    # Who waits for very long still has a living entry.
    item.expires_at = clock.to_epoch(clock.now() + timedelta(days=settings.AUDIT_RETENTION_DAYS))
    try:
        item.save(condition=AuditEntry.conversation_id.does_not_exist())
    except ConditionFailed:
        return False
    return True


def claim(found: Request, request: Request) -> bool:
    """Let a recorded request stand for another flip; False if it changed meanwhile. Raises the store's errors."""
    open_or_same = AuditEntry.edge_at == found.edge_at if found.edge_at else AuditEntry.edge_at.does_not_exist()
    claimed = build(Entry("", Action.HAND_OFF_REQUEST, PLATFORM, payload={"reason": request.reason}), clock.now())
    actions: list[UpdateAction] = [AuditEntry.edge_at.set(request.edge_at)]
    if request.reason:
        actions.append(AuditEntry.action_payload_redacted.set(claimed.action_payload_redacted))
    entry = AuditEntry(conversation_id=found.conversation_id, ts_action_id=sort_key(found))
    try:
        entry.update(actions=actions, condition=AuditEntry.conversation_id.exists() & open_or_same)
    except ConditionFailed:
        return False
    return True


def of_earlier_flip(found: Request, request: Request) -> Request:
    """The entry that the flip gets for which `found` stood before `request` proved to be the one."""
    return replace(request, at=found.edge_at, edge_at=found.edge_at, reason="")
