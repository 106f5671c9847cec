"""Hand-off actions of demo colleagues: the item's attributes, the audit entries and the idempotency records.

They follow data model sections 4 and 5 as the console itself writes them.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from random import Random
from typing import Any

from console.audit.actions import Action, Result
from console.audit.recording import PLATFORM
from console.clock import parse_instant, to_epoch, to_iso
from console.redaction import redact
from console.staff.demo import OTHERS, PEOPLE
from conversations.indexing import entries

Record = tuple[str, dict[str, Any]]

AUDIT_DAYS = 60
IDEMPOTENCY_DAYS = 30

_ROLES = {person.username: person.role.value for person in (*PEOPLE, *OTHERS)}


@dataclass(slots=True)
class HandOffTrail:
    """The actions on one conversation item, in order. Each changes the item and appends to `records`.

    Whoever acts has the item's company in scope (`console.staff.demo`).
    """

    item: dict[str, Any]
    rng: Random
    records: list[Record] = field(default_factory=list)

    def platform_asked(self, at: datetime) -> None:
        """The platform's request as the indexer records it: one entry, and since when a human is wanted."""
        self.item["hand_off_requested_at"] = to_iso(at)
        self._queue("waiting")
        self.rng.getrandbits(128)  # as for each other step: the rest of the story does not hang on who asked
        request = entries.Request(self.item["conversation_id"], self.item["company_id"], "", to_iso(at), to_iso(at))
        payload = {"reason": redact(self.item["hand_off_to_human_reason"])}
        actor = PLATFORM.name, PLATFORM.role
        self._entry(
            Action.HAND_OFF_REQUEST, actor, entries.sort_key(request), at, Result.SUCCESS, payload, edge_at=to_iso(at)
        )

    def request(self, agent: str, reason: str, at: datetime) -> None:
        """An agent asks for a colleague."""
        self.item |= {
            "hand_off_to_human": True,
            "hand_off_to_human_reason": reason,
            "hand_off_requested_at": to_iso(at),
        }
        self._queue("waiting")
        self._act(Action.HAND_OFF_REQUEST, agent, at, {"from": "ai", "to": "waiting"})

    def take(self, agent: str, at: datetime) -> None:
        """An agent reads a waiting conversation and takes it."""
        self._opened(agent, at - timedelta(seconds=75))
        self._hold(agent, at)
        self._act(Action.HAND_OFF_TAKE, agent, at, {"from": "waiting", "to": agent})

    def take_from_colleague(self, agent: str, at: datetime) -> None:
        """An agent reads what a colleague holds, and takes it."""
        self._opened(agent, at - timedelta(minutes=4))
        before = self.item["hand_off_agent"]
        self._hold(agent, at)
        self._act(Action.HAND_OFF_TAKE_FROM_COLLEAGUE, agent, at, {"from": before, "to": agent, "reason_given": True})

    def take_too_late(self, agent: str, winner: str, previous: str | None, at: datetime) -> None:
        """An agent's take that a colleague's was faster than: an entry and a record, no change of the item."""
        payload = {"from": "waiting", "to": agent}
        result = f"{Result.CONFLICT}: taken by {winner}"
        # Its own generator: who loses a race, and where, moves nothing else.
        seed = f"{self.item['conversation_id']} {to_iso(at)}"
        rng = Random(seed)  # nothing secret  # nosec B311
        self._record(Action.HAND_OFF_TAKE, agent, at, payload, result, previous, rng)

    def release(self, agent: str, note: str, at: datetime) -> None:
        """The holder gives it back to the queue; the customer's wait goes on."""
        del self.item["hand_off_agent"], self.item["hand_off_taken_at"]
        self.item["hand_off_note"] = note
        self._queue("waiting")
        self._act(Action.HAND_OFF_RELEASE, agent, at, {"from": agent, "to": "waiting", "note": True})

    def hand_back(self, agent: str, note: str, at: datetime) -> None:
        """The holder gives it back to the assistant."""
        for name in ("hand_off_agent", "hand_off_taken_at", "hand_off_requested_at", "gsi_hand_off_queue"):
            self.item.pop(name, None)
        self.item |= {"hand_off_to_human": False, "hand_off_to_human_reason": None, "hand_off_note": note}
        self._act(Action.HAND_OFF_HAND_BACK, agent, at, {"from": agent, "to": "ai", "note": True})

    def reveal(self, agent: str, at: datetime) -> None:
        """An agent looks at the recipient in full, to call them back."""
        action_id = sha256(f"{self.item['conversation_id']} {to_iso(at)}".encode()).hexdigest()[:32]
        self._looked(Action.RECIPIENT_REVEALED, agent, f"{to_iso(at)}#{action_id}", {"fields": ["number"]}, at)

    def override(self) -> None:
        """What a service leaves that writes back the flag and reason it read before the last action."""
        self.item |= {"hand_off_to_human": False, "hand_off_to_human_reason": None}

    def _hold(self, agent: str, at: datetime) -> None:
        self.item |= {"hand_off_agent": agent, "hand_off_taken_at": to_iso(at)}
        self.item.setdefault("hand_off_requested_at", to_iso(at))
        self._queue("held")

    def _opened(self, agent: str, at: datetime) -> None:
        """An opened transcript, as it is on record: once an hour for each person."""
        hour, action = at.replace(minute=0, second=0, microsecond=0), Action.TRANSCRIPT_OPENED
        sort_key = f"{to_iso(hour)}#{action.value}.{agent}"
        if not any(record.get("ts_action_id") == sort_key for _, record in self.records):
            self._looked(action, agent, sort_key, {"shown": "raw", "at": to_iso(at)}, at)

    def _looked(self, action: Action, agent: str, sort_key: str, payload: dict[str, Any], at: datetime) -> None:
        entry = {
            "conversation_id": self.item["conversation_id"],
            "ts_action_id": sort_key,
            "action_type": action.value,
            "action_payload_redacted": json.dumps(payload, sort_keys=True),
            "result": Result.SUCCESS.value,
            "expires_at": to_epoch(at + timedelta(days=AUDIT_DAYS)),
            "actor": agent,
            "actor_role": _ROLES[agent],
            "company_id": self.item["company_id"],
            "gsi_actor": agent,
            "gsi_company_id": self.item["company_id"],
            "action_id": sort_key.partition("#")[2],
        }
        self.records.append(("AUDIT", entry))

    def _queue(self, state: str) -> None:
        self.item["gsi_hand_off_queue"] = f"{state}#{self.item['company_id']}"

    def _act(self, action: Action, agent: str, at: datetime, payload: dict[str, Any]) -> None:
        previous = self.item.get("hand_off_action_id")
        self.item["hand_off_action_id"] = self._record(action, agent, at, payload, Result.SUCCESS, previous, self.rng)
        self.item["hand_off_wanted"] = self.item["hand_off_to_human"]
        updated = parse_instant(self.item["updated_at"])
        if updated is None or updated < at:
            self.item["updated_at"] = to_iso(at)

    def _record(
        self,
        action: Action,
        agent: str,
        at: datetime,
        payload: dict[str, Any],
        result: str,
        previous: str | None,
        rng: Random,
    ) -> str:
        action_id = f"{rng.getrandbits(128):032x}"
        conversation_id = self.item["conversation_id"]
        key = f"act:hand_off:{conversation_id}:{action_id}"
        sort_key = f"{to_iso(at)}#{action_id}"
        own = {"action_id": action_id, "idempotency_key": key}
        linked = {"previous_action_id": previous} if previous else {}
        self._entry(action, (agent, _ROLES[agent]), sort_key, at, result, payload, **own, **linked)
        text = json.dumps(payload, sort_keys=True).encode()
        self.records.append(
            (
                "IDEMPOTENCY",
                {
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
                    "ts_action_id": sort_key,
                    "attempts": 1,
                },
            )
        )
        return action_id

    def _entry(
        self,
        action: Action,
        actor: tuple[str, str],
        key: str,
        at: datetime,
        result: str,
        payload: dict[str, Any],
        **more: str,
    ) -> None:
        entry = {
            "conversation_id": self.item["conversation_id"],
            "ts_action_id": key,
            "action_type": action.value,
            "action_payload_redacted": json.dumps(payload, sort_keys=True),
            "result": str(result),
            "expires_at": to_epoch(at + timedelta(days=AUDIT_DAYS)),
            "actor": actor[0],
            "actor_role": actor[1],
            "company_id": self.item["company_id"],
            "gsi_actor": actor[0],
            "gsi_company_id": self.item["company_id"],
        }
        self.records.append(("AUDIT", entry | more))
