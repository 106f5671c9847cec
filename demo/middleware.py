"""The middleware's records of a conversation (schema middleware, tables A to C): events, state and audit.

Their texts come from `middleware.toml`.
"""

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from django.conf import settings

from console.clock import parse_instant, to_epoch, to_iso
from console.trail.actions import Action, Result
from demo import read_toml

Item = dict[str, Any]
Record = tuple[str, Item]

STATE_DAYS = 90
_LATEST_EVENTS = 3
# DynamoDB removes an item some time after its TTL. Items that expired longer ago than this are left out.
_REMOVED_AFTER = timedelta(days=2)
_WORDS: dict[str, list[str]] = read_toml("middleware")


def new_id(rng: Random) -> str:
    """Return a random UUID (version 4) from the seeded generator."""
    return str(UUID(int=rng.getrandbits(128), version=4))


def records(item: Item, project: Item, asked: datetime | None, now: datetime, rng: Random) -> Iterator[Record]:
    """Yield all records of one conversation of a project of `companies.toml`; `asked`: when a human was requested."""
    writer = _MiddlewareRecords(item, project, rng)
    replies = [entry["message_timestamp"] for entry in item["messages"][1:] if entry["role"] == "user"]
    for text in replies[-_LATEST_EVENTS:] or [item["created_at"]]:
        if at := parse_instant(text):
            writer.message_came_in(at)
    if asked is not None:
        writer.human_asked_for(asked)
    for table, record in [*writer.made, ("CONVERSATION_STATE", writer.state)]:
        if record["expires_at"] > to_epoch(now - _REMOVED_AFTER):
            yield table, record


class _MiddlewareRecords:
    """Collects records in `made` as messages come in. The `state` repeats what the latest entries say."""

    def __init__(self, item: Item, project: Item, rng: Random) -> None:
        self.item, self.project, self.rng = item, project, rng
        self.made: list[Record] = []
        self.received: list[tuple[datetime, str]] = []
        self.state: Item = {"conversation_id": item["conversation_id"], "version": rng.randint(1, 14)}

    def message_came_in(self, at: datetime) -> None:
        """Record an inbound message: the event, where it was routed, and other actions."""
        rng, message_id = self.rng, self._message_id()
        self.received.append((at, message_id))
        key = f"evt:rp:{self.item['conversation_id']}:{message_id}"
        processed_at = self._event(at, message_id, key)
        route = {
            "team": self.project["team"],
            "intent": self.project["intent"],
            "confidence": round(rng.uniform(0.41, 0.99), 2),
            "message_bytes": rng.randint(8, 600),
        }
        self._entry(at + timedelta(seconds=1), "route", route, key)
        self.state |= {
            "updated_at": max(to_iso(at + timedelta(seconds=2)), processed_at),
            "expires_at": to_epoch(at + timedelta(days=STATE_DAYS)),
            "last_processed_at": processed_at,
            "last_processed_message_id": message_id,
            "last_routed_team": route["team"],
            "last_routing_confidence": Decimal(str(route["confidence"])),
            "last_intent": route["intent"],
        }
        if rng.random() < 0.35:
            tag = rng.choice(_WORDS["tags"])
            self._act(at, 1.2, "tag", {"tag": tag}, self._key("rp_tag", tag, message_id), message_id)
        if rng.random() < 0.4:
            self._reply(at, message_id)
        if self.project["id"] == "pi-lum-aft" and rng.random() < 0.5:
            order = rng.randint(1000, 9999)
            payload, key = {"order": f"***{order}", "found": True}, self._key("shopify_lookup", f"{order}")
            self._act(at, 1.4, "shopify_lookup", payload, key, message_id)
        if rng.random() < 0.25:
            flow = {"type": rng.choice(_WORDS["pending"]), "requested_at": to_iso(at), "attempts": rng.randint(1, 3)}
            self.state["pending_flow"] = flow
        if rng.random() < 0.1:
            self.state["risk_flags"] = set(rng.sample(_WORDS["risks"], rng.randint(1, 3)))

    def human_asked_for(self, at: datetime) -> None:
        """Record the escalation of the latest message up to `at`."""
        message_id = [self._message_id(), *(each for received, each in self.received if received <= at)][-1]
        # Only a few escalations have risk flags.
        flags = self.rng.sample(_WORDS["risks"], max(0, self.rng.randint(-6, 2)))
        payload = {"team": "human", "flags": flags, "priority": "high" if flags else "normal"}
        self._act(at, 1.0, Action.ESCALATE, payload, self._key("rp_assign", "human", message_id), message_id)
        self.state["updated_at"] = max(self.state["updated_at"], to_iso(at + timedelta(seconds=1)))
        self.state.pop("risk_flags", None)
        if flags:
            self.state["risk_flags"] = set(flags)

    def _reply(self, at: datetime, message_id: str) -> None:
        """Record an automatic reply. If it was sent, the state refers to it."""
        excerpt = self.rng.choice(_WORDS["excerpts"]).format(self.rng.randint(1000, 9999))
        payload = {"template": self.rng.choice(_WORDS["templates"]), "excerpt": excerpt}
        key = self._key("rp_reply", message_id)
        if self._act(at, 1.6, Action.AUTO_REPLY, payload, key, message_id) == Result.SUCCESS:
            sent_at = to_iso(at + timedelta(seconds=1.6))
            reply = {"type": payload["template"], "sent_at": sent_at, "source_message_id": message_id}
            self.state["last_auto_reply"] = reply

    def _key(self, kind: str, *about: str) -> str:
        return ":".join(("act", kind, self.item["conversation_id"], *about))

    def _act(self, at: datetime, seconds: float, action: str, payload: Item, key: str, message_id: str) -> str:
        """Record an action: its idempotency record and its entry. Return the result."""
        self._event(at, message_id, key)
        return self._entry(at + timedelta(seconds=seconds), action, payload, key)

    def _event(self, at: datetime, message_id: str, key: str) -> str:
        """Add a record to table A, of an inbound event or an action. Return when it was processed."""
        rng = self.rng
        automatic, has_id = rng.random() < 0.45, len(message_id) < 64
        # After everything that was done about it.
        processed_at = to_iso(at + timedelta(milliseconds=rng.randint(1650, 3100)))
        record: Item = {
            "event_id": key,
            "created_at": to_iso(at + timedelta(milliseconds=rng.randint(80, 900))),
            "last_processed_at": processed_at,
            "received_at": to_iso(at),
            "expires_at": to_epoch(at + timedelta(days=settings.IDEMPOTENCY_RETENTION_DAYS)),
            "status": "processed",
            "mode": "automation_candidate" if automatic else "route_only",
            "conversation_id": self.item["conversation_id"],
            "safe_mode": rng.random() < 0.06,
            "automation_enabled": automatic,
            # Providers without message ids use an older version of the middleware, which names the digest differently.
            "payload_sha256" if has_id else "payload_hash": f"{rng.getrandbits(256):064x}",
            "payload_bytes": rng.randint(310, 2900),
        }
        if has_id:
            record["source_message_id"] = message_id
        if rng.random() < 0.7:
            record["intent"] = self.project["intent"]
        self.made.append(("IDEMPOTENCY", record))
        return processed_at

    def _entry(self, at: datetime, action: str, payload: Item, key: str) -> str:
        """Add an entry to table C and return its result. Some middleware versions begin the sort key with an epoch."""
        early = self.rng.random() < 0.08
        moment = str(int(at.timestamp() * 1000)) if early else at.isoformat(timespec="milliseconds")
        result = self.rng.choice(_WORDS["failures"]) if self.rng.random() < 0.05 else Result.SUCCESS.value
        entry = {
            "conversation_id": self.item["conversation_id"],
            "ts_action_id": f"{moment}#{new_id(self.rng)}",
            "action_type": str(action),
            "action_payload_redacted": json.dumps(payload, ensure_ascii=False),
            "idempotency_key": key,
            "result": result,
            "expires_at": to_epoch(at + timedelta(days=settings.AUDIT_RETENTION_DAYS)),
        }
        self.made.append(("AUDIT", entry))
        return result

    def _message_id(self) -> str:
        """Return a provider's message id, or a hash where there is none."""
        draw = self.rng.random()
        if draw < 0.12:
            return f"{self.rng.getrandbits(256):064x}"
        if self.item["channel_method"] == "email":
            return new_id(self.rng)
        if self.item["channel_method"] == "whatsapp" and draw < 0.4:
            body = self.item["primary_channel"].lstrip("+").encode() + self.rng.getrandbits(72).to_bytes(9, "big")
            return "wamid." + base64.b64encode(b"\x1d\x14\x0c" + body).decode()
        return f"SM{self.rng.getrandbits(128):032x}"
