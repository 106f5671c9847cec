"""What colleagues did about a conversation: attributes of the item, trail entries and idempotency records.

The console's own hand-off code determines what an action changes and records.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from console import clock
from console.clock import parse_instant, to_iso
from console.store.models import plain_item
from console.trail.actions import Action, Result, outcome
from console.trail.recording import PLATFORM, Actor, TrailEntry, build
from conversations.handoff.actions import HandOffAction, Intent, effect_of, ends_for_people
from conversations.handoff.protocol import HandOffAct, record_of
from conversations.handoff.stored import ROUTING_BEFORE, SWITCH, describe_routing_change
from conversations.indexer.entries import HumanRequest, sort_key
from demo.dialogues import DialogueError, Turn
from demo.staff import ROLES

_HOUR = timedelta(hours=1)
_serialize = TypeSerializer().serialize
# Turns that begin with how long ago they were; turns after which the customer waits; all turns that are not messages.
TIMED = {"human", "asked", "taken", "too-late", "released", "back", "revealed"}
WAITING = {"human", "asked", "released"}
EVENTS = TIMED | {"noted", "overridden"}


@dataclass(slots=True)
class HandOffs:
    """The hand-off of one item, event by event. Each event changes the item and adds to `records` (table key, item).

    `asked` is when a human was first requested. Agents have the item's company in scope (`staff.toml`).
    """

    item: dict[str, Any]
    rng: Random
    records: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: datetime | None = None
    _previous: str = ""

    def apply(self, turn: Turn, at: datetime) -> None:
        """Apply one event of a dialogue. Raises `DialogueError` for an agent who is not in `staff.toml`."""
        agent, text = _agent(turn) if turn.kind in TIMED - {"human"} else ("", "")
        match turn.kind:
            case "human":
                self.asked = self.asked or at
                self.item |= {"hand_off_to_human": True, "hand_off_to_human_reason": turn.words(1)[1] or None}
            case "asked":
                self.asked = self.asked or at
                self._act(HandOffAction.REQUEST, agent, at, reason=text)
            case "taken":
                self._taken(agent, at, text)
            case "too-late":
                self._too_late(agent, at)
            case "released":
                self._act(HandOffAction.RELEASE, agent, at, note=text)
            case "back":
                self._act(HandOffAction.HAND_BACK, agent, at, note=text)
            case "revealed":
                self._looked(Action.RECIPIENT_REVEALED, agent, at, {"fields": ["number"]}, self._new_id())
            case "noted":
                self.item["hand_off_note"] = turn.text
            case "overridden":
                # A service overwrites flag and reason with what it read before the last action.
                self.item |= {"hand_off_to_human": False, "hand_off_to_human_reason": None}

    def _taken(self, agent: str, at: datetime, reason: str) -> None:
        """Record that an agent opens a conversation that waits or that a colleague holds, and takes it."""
        if "hand_off_requested_at" not in self.item and self.asked:
            self._record_request(self.asked + timedelta(seconds=2))
        opened = at - timedelta(seconds=75)
        # Opening is recorded once an hour for each person.
        about, payload = f"{Action.TRANSCRIPT_OPENED.value}.{agent}", {"shown": "raw", "at": to_iso(opened)}
        self._looked(Action.TRANSCRIPT_OPENED, agent, clock.floored(opened, _HOUR), payload, about)
        is_held = "hand_off_agent" in self.item
        self._act(HandOffAction.TAKE_FROM_COLLEAGUE if is_held else HandOffAction.TAKE, agent, at, reason=reason)

    def _too_late(self, agent: str, at: datetime) -> None:
        """Record a take that lost the race against the holder; it does not change the item."""
        lost = replace(self._intent(HandOffAction.TAKE), agent_seen="", last_action_seen=self._previous)
        result = f"{Result.CONFLICT}: {self.item['hand_off_agent']} was first"
        self._record(lost, agent, at + timedelta(milliseconds=380), {}, result)

    def _act(self, action: HandOffAction, agent: str, at: datetime, *, reason: str = "", note: str = "") -> None:
        intent, updated = self._intent(action), parse_instant(self.item["updated_at"])
        self._previous = intent.last_action_seen
        stored = {name: _serialize(self.item[name]) for name in (SWITCH, ROUTING_BEFORE) if name in self.item}
        change = effect_of(intent, agent, at, stored, reason=reason, note=note)
        self.item |= plain_item(change.if_absent) | self.item | plain_item(change.values)
        # The item may already contain messages that came later.
        self.item["updated_at"] = to_iso(max(at, updated or at))
        for name in change.removed:
            self.item.pop(name, None)
        payload = {"reason": reason} if reason else {}
        if intent.agent_seen not in ("", agent):
            payload["held by"] = intent.agent_seen
        if routing := describe_routing_change(stored, for_people=ends_for_people(intent)):
            payload["routing"] = routing
        self._record(intent, agent, at, payload, Result.SUCCESS)

    def _intent(self, action: HandOffAction) -> Intent:
        item = self.item
        return Intent(
            action=action,
            primary_channel=item["primary_channel"],
            conversation_id=item["conversation_id"],
            company_id=item["company_id"],
            action_id=self._new_id(),
            flag_seen=item["hand_off_to_human"],
            agent_seen=item.get("hand_off_agent", ""),
            last_action_seen=item.get("hand_off_action_id", ""),
            requested_seen=item.get("hand_off_requested_at", ""),
        )

    def _record(self, intent: Intent, agent: str, at: datetime, payload: dict[str, Any], result: str) -> None:
        """Record an action of the console: its entry and its idempotency record."""
        act = HandOffAct(
            action=intent.action.audited_as,
            actor=Actor(agent, ROLES[agent]),
            primary_channel=intent.primary_channel,
            conversation_id=intent.conversation_id,
            company_id=intent.company_id,
            action_id=intent.action_id,
            previous=intent.last_action_seen,
            seen={},
            payload=payload,
        )
        entry = act.entry(at, result)
        record = record_of(act, entry, at)
        record.status, record.last_processed_at = outcome(result), to_iso(at + timedelta(milliseconds=40))
        self.records += [("AUDIT", plain(entry)), ("IDEMPOTENCY", plain(record))]

    def _record_request(self, at: datetime) -> None:
        """Record the platform's request for a human as the indexer does."""
        self.item["hand_off_requested_at"] = to_iso(at)
        key = sort_key(HumanRequest(self.item["conversation_id"], self.item["company_id"], "", to_iso(at), to_iso(at)))
        payload = {"reason": self.item["hand_off_to_human_reason"]}
        entry = self._entry(Action.HAND_OFF_REQUEST, PLATFORM, at, payload, key.partition("#")[2])
        del entry["action_id"]
        self.records.append(("AUDIT", entry | {"edge_at": to_iso(at)}))

    def _looked(self, action: Action, agent: str, at: datetime, payload: dict[str, Any], action_id: str) -> None:
        entry = self._entry(action, Actor(agent, ROLES[agent]), at, payload, action_id)
        if all(entry["ts_action_id"] != record.get("ts_action_id") for _, record in self.records):
            self.records.append(("AUDIT", entry))

    def _entry(self, action: Action, actor: Actor, at: datetime, payload: dict[str, Any], action_id: str) -> Any:
        trail, company_id = self.item["conversation_id"], self.item["company_id"]
        entry = TrailEntry(trail, action, actor, company_id=company_id, payload=payload, action_id=action_id)
        return plain(build(entry, at))

    def _new_id(self) -> str:
        return f"{self.rng.getrandbits(128):032x}"


def plain(model: Any) -> dict[str, Any]:
    """Return the item of a model in plain Python, for boto3's serializer."""
    return {name: value for name, value in model.attribute_values.items() if value is not None}


def _agent(turn: Turn) -> tuple[str, str]:
    """Parse the agent and the note or reason after the time. Raises `DialogueError`."""
    _, agent, text = turn.words(2)
    if agent not in ROLES:
        raise DialogueError(turn.place, f"nobody named “{agent}” in staff.toml")
    return agent, text
