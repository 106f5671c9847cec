"""Trail entries of the platform's requests for a human: one per request, whichever worker writes it.

An entry's key derives from the time since when a human is wanted, so all workers that know that time write the same
entry. `edge_at` is the platform's time of the flip of the flag that the entry records; a sweep, which sees no flips,
leaves it empty. A platform that does not update its time can request twice at the same time, before and after an action
of the console. Only the stream can tell the two apart, and the key of the second also derives from that action. These
entries have no `action_id`: they are not actions of the console, and no link in the chain by which actions are settled.
"""

import hashlib
from dataclasses import dataclass, replace

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.store.calls import ConditionFailed
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trail.recording import PLATFORM, TrailEntry, build, conversation_trail, save_once
from conversations.converting import redact_about
from conversations.handoff.stored import Raw, reason_in
from conversations.models import Conversation
from conversations.queue_index.states import hand_off_marks

REASON_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class HumanRequest:
    """A request of the platform. `at` and `edge_at` are ISO strings from `clock.to_iso`; `edge_at` is "" while unknown.

    `previous` is the console's last action before the request. `key` is the sort key of its entry, "" to derive it from
    `at`.
    """

    conversation_id: str
    company_id: str
    previous: str
    at: str
    edge_at: str = ""
    reason: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRequests:
    """The requests in a trail, oldest first, and for each fence the id of the action before it.

    A fence only changes the item's last action, so a request before it and one after it are the same.
    """

    requests: list[HumanRequest]
    fences: dict[str, str]

    def after(self, action_id: str) -> list[HumanRequest]:
        """Return the requests that follow an action of the console ("": before all of them)."""
        return [each for each in self.requests if self.is_same(each.previous, action_id)]

    def is_same(self, action_id: str, other: str) -> bool:
        """Return whether two action ids are equal once fences are skipped."""
        return self._before_fences(action_id) == self._before_fences(other)

    def to_write(self, request: HumanRequest) -> HumanRequest:
        """Return an unrecorded request with a key that no request after another action uses."""
        taken = {each.key for each in self.requests if not self.is_same(each.previous, request.previous)}
        if sort_key(request) not in taken:
            return request
        return replace(request, key=_key(request.conversation_id, request.at, request.previous))

    def _before_fences(self, action_id: str) -> str:
        # Bounded: entries are foreign data and may form a cycle.
        for _ in self.fences:
            action_id = self.fences.get(action_id, action_id)
        return action_id


def request_in(stored: Raw, at: str, edge_at: str = "") -> HumanRequest:
    """Return the request that an item, or an image of it, describes; its reason without the recipient's names."""
    marks = hand_off_marks(stored)
    conversation_id = stored["conversation_id"]["S"]
    reason = redact_about(Conversation.from_raw_data(stored), reason_in(stored)[:REASON_LENGTH])
    return HumanRequest(conversation_id, marks.company_id, marks.last_action, at, edge_at, reason)


def sort_key(request: HumanRequest) -> str:
    """Return the sort key of a request's entry within its trail."""
    return request.key or _key(request.conversation_id, request.at)


def _key(conversation_id: str, at: str, *more: str) -> str:
    named = "\n".join((conversation_id, at, *more)).encode(errors="replace")
    return f"{at}#{hashlib.sha256(named).hexdigest()[:32]}"


def recorded_since(conversation_id: str, since: str) -> RecordedRequests:
    """Return the requests and fences in the trail from `since` on. Strongly consistent. Raises the store's errors."""
    recorded = RecordedRequests([], {})
    is_request = (AuditEntry.action_type == Action.HAND_OFF_REQUEST.value) & (AuditEntry.actor == PLATFORM.name)
    for entry in AuditEntry.query(
        conversation_trail(conversation_id),
        AuditEntry.ts_action_id >= since,
        consistent_read=True,
        filter_condition=is_request | (AuditEntry.action_type == Action.HAND_OFF_FENCE.value),
    ):
        previous = entry.previous_action_id or ""
        if entry.action_type == Action.HAND_OFF_FENCE.value:
            recorded.fences[entry.action_id or ""] = previous
        else:
            at = entry.ts_action_id.partition("#")[0]
            found = HumanRequest(conversation_id, "", previous, at, entry.edge_at or "", key=entry.ts_action_id)
            recorded.requests.append(found)
    return recorded


def save_request_once(request: HumanRequest) -> bool:
    """Write a request's entry unless it exists; return whether this call wrote it. Raises the store's errors."""
    at = clock.parse_instant(request.at)
    if at is None:
        raise ValueError("a request has a time")
    payload = {"reason": request.reason} if request.reason else {}
    item = build(
        TrailEntry(
            trail=conversation_trail(request.conversation_id),
            action=Action.HAND_OFF_REQUEST,
            actor=PLATFORM,
            company_id=request.company_id,
            payload=payload,
            action_id=sort_key(request).partition("#")[2],
            previous_action_id=request.previous,
        ),
        at,
    )
    item.edge_at = request.edge_at or None
    return save_once(item)


def claim(found: HumanRequest, request: HumanRequest) -> bool:
    """Assign a recorded request to another flip; return False if it changed meanwhile. Raises the store's errors."""
    open_or_same = AuditEntry.edge_at == found.edge_at if found.edge_at else AuditEntry.edge_at.does_not_exist()
    claimed = build(TrailEntry("", Action.HAND_OFF_REQUEST, PLATFORM, payload={"reason": request.reason}), clock.now())
    actions: list[UpdateAction] = [AuditEntry.edge_at.set(request.edge_at)]
    if request.reason:
        actions.append(AuditEntry.action_payload_redacted.set(claimed.action_payload_redacted))
    entry = AuditEntry(conversation_id=found.conversation_id, ts_action_id=sort_key(found))
    try:
        entry.update(actions=actions, condition=AuditEntry.conversation_id.exists() & open_or_same)
    except ConditionFailed:
        return False
    return True


def entry_for_earlier_flip(found: HumanRequest, request: HumanRequest) -> HumanRequest:
    """Return a separate entry for the earlier flip that `found` recorded before `request` claimed it."""
    return replace(request, at=found.edge_at, edge_at=found.edge_at, reason="")
