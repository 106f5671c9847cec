"""What colleagues did about a conversation: the item's attributes, the trail's entries and the idempotency records.

They are as the console itself writes them (data model, sections 4 and 5).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from random import Random
from typing import Any

from console import clock
from console.clock import parse_instant, to_epoch, to_iso
from console.trail.actions import Action, Result
from console.trail.recording import PLATFORM, Actor, TrailEntry, build
from conversations.indexer.entries import HumanRequest, sort_key
from demo.dialogues import DialogueError, Turn
from demo.staff import ROLES

_HOUR = timedelta(hours=1)
IDEMPOTENCY_DAYS = 30


@dataclass(slots=True)
class HandOffs:
    """The hand-off of one item, event by event. Each changes the item and adds to `records` (table key, item).

    `asked` is when a human was wanted first. Whoever acts has the item's company in scope (`staff.toml`).
    """

    item: dict[str, Any]
    rng: Random
    records: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: datetime | None = None
    _is_recorded: bool = False

    def apply(self, turn: Turn, at: datetime) -> None:
        """One event of a dialogue. Raises `DialogueError` for an agent that `staff.toml` does not have."""
        EVENTS[turn.kind].apply(self, turn, at)

    def human(self, turn: Turn, at: datetime) -> None:
        """The assistant asks for a human, with a reason or without."""
        _, reason = turn.words(1)
        self._flag(reason, at)

    def requested(self, turn: Turn, at: datetime) -> None:
        """An agent asks for a colleague."""
        agent, reason = _agent(turn)
        self._flag(reason, at)
        self.item["hand_off_requested_at"] = to_iso(at)
        self._queue("waiting")
        self._is_recorded = True
        self._act(Action.HAND_OFF_REQUEST, agent, at, {"from": "ai", "to": "waiting"})

    def taken(self, turn: Turn, at: datetime) -> None:
        """An agent reads what waits, or what a colleague holds, and takes it."""
        agent, _ = _agent(turn)
        self._record_request()
        self._opened(agent, at - timedelta(seconds=75))
        before = self.item.get("hand_off_agent")
        self.item |= {"hand_off_agent": agent, "hand_off_taken_at": to_iso(at)}
        self._queue("held")
        if before:
            told = {"from": before, "to": agent, "reason_given": True}
            self._act(Action.HAND_OFF_TAKE_FROM_COLLEAGUE, agent, at, told)
        else:
            self._act(Action.HAND_OFF_TAKE, agent, at, {"from": "waiting", "to": agent})

    def too_late(self, turn: Turn, at: datetime) -> None:
        """An agent's take that the holder's was faster than: on record, and no change of the item."""
        agent, _ = _agent(turn)
        chain = [entry["action_id"] for table, entry in self.records if table == "AUDIT" and "idempotency_key" in entry]
        result = f"{Result.CONFLICT}: taken by {self.item['hand_off_agent']}"
        before = chain[-2] if len(chain) > 1 else ""
        told = {"from": "waiting", "to": agent}
        self._record(Action.HAND_OFF_TAKE, agent, at + timedelta(milliseconds=380), told, result, before)

    def released(self, turn: Turn, at: datetime) -> None:
        """The holder gives it back to the queue with a note; the customer's wait goes on."""
        agent, self.item["hand_off_note"] = _agent(turn)
        del self.item["hand_off_agent"], self.item["hand_off_taken_at"]
        self._queue("waiting")
        self._act(Action.HAND_OFF_RELEASE, agent, at, {"from": agent, "to": "waiting", "note": True})

    def back(self, turn: Turn, at: datetime) -> None:
        """The holder gives it back to the assistant with a note."""
        agent, note = _agent(turn)
        for name in ("hand_off_agent", "hand_off_taken_at", "hand_off_requested_at", "gsi_hand_off_queue"):
            self.item.pop(name, None)
        self.item |= {"hand_off_to_human": False, "hand_off_to_human_reason": None, "hand_off_note": note}
        self._act(Action.HAND_OFF_HAND_BACK, agent, at, {"from": agent, "to": "ai", "note": True})

    def revealed(self, turn: Turn, at: datetime) -> None:
        """An agent looks at the recipient in full, to call them back."""
        agent, _ = _agent(turn)
        self._looked(Action.RECIPIENT_REVEALED, agent, at, {"fields": ["number"]}, f"{self.rng.getrandbits(128):032x}")

    def noted(self, turn: Turn, at: datetime) -> None:
        """The holder leaves a note."""
        self.item["hand_off_note"] = turn.text

    def overridden(self, turn: Turn, at: datetime) -> None:
        """A service writes back the flag and reason that it read before the last action."""
        self.item |= {"hand_off_to_human": False, "hand_off_to_human_reason": None}

    def _flag(self, reason: str, at: datetime) -> None:
        self.asked = self.asked or at
        self.item |= {"hand_off_to_human": True, "hand_off_to_human_reason": reason or None}

    def _record_request(self) -> None:
        """The platform's request as the indexer records it, if that is not done: since when a human is wanted."""
        if self._is_recorded or self.asked is None:
            return
        self._is_recorded = True
        at = self.asked + timedelta(seconds=2)
        self.item["hand_off_requested_at"] = to_iso(at)
        key = sort_key(HumanRequest(self.item["conversation_id"], self.item["company_id"], "", to_iso(at), to_iso(at)))
        payload = {"reason": self.item["hand_off_to_human_reason"]}
        entry = self._built(Action.HAND_OFF_REQUEST, PLATFORM, at, payload, action_id=key.partition("#")[2])
        del entry["action_id"]
        self.records.append(("AUDIT", entry | {"edge_at": to_iso(at)}))

    def _opened(self, agent: str, at: datetime) -> None:
        """An opened transcript, as it is on record: once an hour for each person."""
        action_id = f"{Action.TRANSCRIPT_OPENED.value}.{agent}"
        payload = {"shown": "raw", "at": to_iso(at)}
        self._looked(Action.TRANSCRIPT_OPENED, agent, clock.floored(at, _HOUR), payload, action_id)

    def _looked(self, action: Action, agent: str, at: datetime, payload: dict[str, Any], action_id: str) -> None:
        entry = self._built(action, Actor(agent, ROLES[agent]), at, payload, action_id=action_id)
        if all(entry["ts_action_id"] != record.get("ts_action_id") for _, record in self.records):
            self.records.append(("AUDIT", entry))

    def _queue(self, state: str) -> None:
        self.item["gsi_hand_off_queue"] = f"{state}#{self.item['company_id']}"

    def _act(self, action: Action, agent: str, at: datetime, payload: dict[str, Any]) -> None:
        previous = self.item.get("hand_off_action_id", "")
        self.item["hand_off_action_id"] = self._record(action, agent, at, payload, Result.SUCCESS, previous)
        self.item["hand_off_wanted"] = self.item["hand_off_to_human"]
        updated = parse_instant(self.item["updated_at"])
        if updated is None or updated < at:
            self.item["updated_at"] = to_iso(at)

    def _record(
        self, action: Action, agent: str, at: datetime, payload: dict[str, Any], result: str, previous: str
    ) -> str:
        """An action of the console: its entry and its idempotency record. Returns the action's id."""
        action_id, conversation_id = f"{self.rng.getrandbits(128):032x}", self.item["conversation_id"]
        key = f"act:hand_off:{conversation_id}:{action_id}"
        ids = {"action_id": action_id, "idempotency_key": key, "previous_action_id": previous}
        entry = self._built(action, Actor(agent, ROLES[agent]), at, payload, result=str(result), **ids)
        text = entry["action_payload_redacted"].encode()
        record = {
            "event_id": key,
            "created_at": to_iso(at),
            "last_processed_at": to_iso(at + timedelta(milliseconds=40)),
            "received_at": to_iso(at),
            "expires_at": to_epoch(at + timedelta(days=IDEMPOTENCY_DAYS)),
            "status": "processed" if result == Result.SUCCESS else result.split(":")[0],
            "mode": "console",
            "conversation_id": conversation_id,
            "safe_mode": False,
            "automation_enabled": False,
            "payload_sha256": sha256(text).hexdigest(),
            "payload_bytes": len(text),
            "intent": action.value,
            "ts_action_id": entry["ts_action_id"],
            "attempts": 1,
        }
        self.records += [("AUDIT", entry), ("IDEMPOTENCY", record)]
        return action_id

    def _built(
        self, action: Action, actor: Actor, at: datetime, payload: dict[str, Any], **more: str
    ) -> dict[str, Any]:
        trail, company = self.item["conversation_id"], self.item["company_id"]
        return plain(TrailEntry(trail, action, actor, company_id=company, payload=payload, **more), at)


def plain(entry: TrailEntry, at: datetime) -> dict[str, Any]:
    """The item of a trail's entry in plain Python, as boto3's serializer takes it."""
    return {name: value for name, value in build(entry, at).attribute_values.items() if value is not None}


def _agent(turn: Turn) -> tuple[str, str]:
    """Who did it, and the note or reason: what follows the time."""
    _, agent, text = turn.words(2)
    if agent not in ROLES:
        raise DialogueError(turn.place, f"nobody named “{agent}” in staff.toml")
    return agent, text


@dataclass(frozen=True, slots=True)
class HandOffEvent:
    """A kind of turn. `has_time`: its text begins with how long ago it was; `waits`: the customer waits after it."""

    apply: Callable[[HandOffs, Turn, datetime], None]
    has_time: bool = True
    waits: bool = False


EVENTS = {
    "human": HandOffEvent(HandOffs.human, waits=True),
    "asked": HandOffEvent(HandOffs.requested, waits=True),
    "taken": HandOffEvent(HandOffs.taken),
    "too-late": HandOffEvent(HandOffs.too_late),
    "released": HandOffEvent(HandOffs.released, waits=True),
    "back": HandOffEvent(HandOffs.back),
    "revealed": HandOffEvent(HandOffs.revealed),
    "noted": HandOffEvent(HandOffs.noted, has_time=False),
    "overridden": HandOffEvent(HandOffs.overridden, has_time=False),
}
