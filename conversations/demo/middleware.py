"""The middleware's records of a conversation (schema middleware, tables A to C): events, state and audit."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from console.audit.actions import Action, Result
from console.clock import parse_instant, to_epoch, to_iso
from conversations.demo.conversation import Item, new_id
from conversations.demo.trail import AUDIT_DAYS, IDEMPOTENCY_DAYS, Record

STATE_DAYS = 90
_LATEST_EVENTS = 3
# DynamoDB removes an item some time after its TTL; what is longer past is not there any more.
_REMOVED_AFTER = timedelta(days=2)
# How long after a message its reply is sent, and after a request for a human that is recorded.
_REPLIED, _ESCALATED = timedelta(seconds=1.6), timedelta(seconds=1)

_TEAMS = {
    "pi-cuc-cv": ("recruiting", "cv_question"), "pi-cuc-int": ("scheduling", "interview_date"),
    "pi-cuc-onb": ("onboarding", "document_upload"), "pi-nwe-bil": ("billing", "bill_too_high"),
    "pi-nwe-mtr": ("metering", "meter_reading"), "pi-nwe-mov": ("home-move", "change_of_address"),
    "pi-nwe-out": ("network", "power_cut"), "pi-lum-apt": ("front-desk", "reschedule"),
    "pi-lum-aft": ("clinical", "aftercare"), "pi-lum-pay": ("finance", "payment_plan"),
}  # fmt: skip
_RISKS = ("chargeback", "fraud_suspected", "vulnerable_customer", "medical", "legal_threat", "repeat_contact")
_FAILURES = (
    "fail: 429 from messaging provider after 3 tries",
    "failure: template not approved",
    "fail: conversation locked by processor",
    "failure: timeout after 10 s",
)
_PENDING = ("need_order_number", "need_meter_photo", "confirm_identity", "choose_date")
_EXCERPTS = (
    "you can also ring me ***-***-{}",
    "please write to ***@*** instead, thanks",
    "order ***{} still hasn't arrived",
    "the parcel with tracking *** was sent back",
    "thanks, that works for me",
    "can I speak to somebody please",
)


@dataclass(slots=True)
class _Latest:
    """What the state of a conversation goes by: the latest message, what was decided about it, and what was done."""

    message_id: str
    at: datetime
    event: Item
    route: Item
    # An automatic reply that was sent, when, and for which message
    reply: tuple[Item, datetime, str] | None
    escalation: tuple[Item, datetime] | None = None


def records(item: Item, asked: datetime | None, now: datetime, rng: Random) -> Iterator[Record]:
    """All records of one conversation; `asked` is when its assistant asked for a human, if it did."""
    events, latest = _events(item, rng), None
    for at, message_id in events:
        event = _event(item, at, message_id, "evt:rp", rng)
        yield from _kept("IDEMPOTENCY", event, now)
        route = _route(item, at, message_id, rng)
        yield from _kept("AUDIT", route, now)
        latest = _Latest(message_id, at, event, route, latest.reply if latest else None)
        for entry in _side_effects(item, at, message_id, rng):
            yield from _action(item, entry, at, message_id, now, rng)
            if entry["action_type"] == Action.AUTO_REPLY and entry["result"] == Result.SUCCESS:
                latest.reply = entry, at + _REPLIED, message_id
    if latest is None:
        return
    if asked is not None:
        message_id = _asking(item, events, asked)
        payload = {
            "team": "human",
            "flags": rng.sample(_RISKS, rng.randint(0, 2)),
            "priority": rng.choice(("normal", "high")),
        }
        key = f"act:rp_assign:{item['conversation_id']}:human:{message_id}"
        entry = _entry(item, asked + _ESCALATED, Action.ESCALATE, payload, key, rng)
        yield from _action(item, entry, asked, message_id, now, rng)
        latest.escalation = entry, asked + _ESCALATED
    yield from _kept("CONVERSATION_STATE", _state(item, latest, rng), now)


def _asking(item: Item, events: list[tuple[datetime, str]], asked: datetime) -> str:
    """The message after which a human was asked for: the latest until then, or one before all that are on record."""
    until = [message_id for at, message_id in events if at <= asked]
    # Its own generator: nothing else moves with it.
    return until[-1] if until else _message_id(item, Random(item["conversation_id"]))  # nothing secret  # nosec B311


def _action(item: Item, entry: Item, at: datetime, message_id: str, now: datetime, rng: Random) -> Iterator[Record]:
    """An action: its entry, and its own idempotency record."""
    yield from _kept("AUDIT", entry, now)
    yield from _kept("IDEMPOTENCY", _event(item, at, message_id, entry["idempotency_key"], rng), now)


def _kept(table: str, record: Item, now: datetime) -> Iterator[Record]:
    if record["expires_at"] > to_epoch(now - _REMOVED_AFTER):
        yield table, record


def _events(item: Item, rng: Random) -> list[tuple[datetime, str]]:
    """When the latest customer messages came in, with the provider's message ids; the request where there are none."""
    replies = [entry for entry in item["messages"][1:] if entry["role"] == "user"][-_LATEST_EVENTS:]
    moments = [parse_instant(entry["message_timestamp"]) for entry in replies] or [parse_instant(item["created_at"])]
    return [(at, _message_id(item, rng)) for at in moments if at is not None]


def _message_id(item: Item, rng: Random) -> str:
    draw = rng.random()
    if draw < 0.12:  # no stable id from the provider: a hash of the text
        return f"{rng.getrandbits(256):064x}"
    if item["channel_method"] == "email":
        return new_id(rng)
    if item["channel_method"] == "whatsapp" and draw < 0.4:
        body = item["primary_channel"].lstrip("+").encode() + rng.getrandbits(72).to_bytes(9, "big")
        return "wamid." + base64.b64encode(b"\x1d\x14\x0c" + body).decode()
    return f"SM{rng.getrandbits(128):032x}"


def _event(item: Item, at: datetime, message_id: str, key: str, rng: Random) -> Item:
    """A record of table A: of an inbound event (`key` is its namespace), or of an action (`key` is the whole key)."""
    conversation_id = item["conversation_id"]
    automatic = rng.random() < 0.45
    record: Item = {
        "event_id": f"{key}:{conversation_id}:{message_id}" if key == "evt:rp" else key,
        "created_at": to_iso(at + timedelta(milliseconds=rng.randint(80, 900))),
        # After all that was done about it
        "last_processed_at": to_iso(at + timedelta(milliseconds=700 + rng.randint(950, 2400))),
        "received_at": to_iso(at),
        "expires_at": to_epoch(at + timedelta(days=IDEMPOTENCY_DAYS)),
        "status": "processed",
        "mode": "automation_candidate" if automatic else "route_only",
        "conversation_id": conversation_id,
        "safe_mode": rng.random() < 0.06,
        "automation_enabled": automatic,
        # Where the provider has no ids, an older version of the middleware runs, which names the digest otherwise.
        "payload_sha256" if len(message_id) < 64 else "payload_hash": f"{rng.getrandbits(256):064x}",
        "payload_bytes": rng.randint(310, 2900),
    }
    if len(message_id) < 64:
        record["source_message_id"] = message_id
    if rng.random() < 0.7:
        record["intent"] = _TEAMS[item["project_id"]][1]
    return record


def _route(item: Item, at: datetime, message_id: str, rng: Random) -> Item:
    team, intent = _TEAMS[item["project_id"]]
    payload = {
        "team": team,
        "intent": intent,
        "confidence": round(rng.uniform(0.41, 0.99), 2),
        "message_bytes": rng.randint(8, 600),
    }
    return _entry(
        item, at + timedelta(seconds=1), "route", payload, f"evt:rp:{item['conversation_id']}:{message_id}", rng
    )


def _side_effects(item: Item, at: datetime, message_id: str, rng: Random) -> Iterator[Item]:
    cid = item["conversation_id"]
    if rng.random() < 0.35:
        tag = rng.choice(
            ("vip", "repeat-contact", "language-" + rng.choice(("ar", "pl", "es")), "order-status", "complaint")
        )
        yield _entry(
            item, at + timedelta(seconds=1.2), "tag", {"tag": tag}, f"act:rp_tag:{cid}:{tag}:{message_id}", rng
        )
    if rng.random() < 0.4:
        excerpt = rng.choice(_EXCERPTS).format(rng.randint(1000, 9999))
        payload = {
            "template": rng.choice(("order_status", "opening_hours", "next_steps", "received")),
            "excerpt": excerpt,
        }
        yield _entry(item, at + _REPLIED, Action.AUTO_REPLY, payload, f"act:rp_reply:{cid}:{message_id}", rng)
    if item["project_id"] == "pi-lum-aft" and rng.random() < 0.2:
        order = rng.randint(1000, 9999)
        yield _entry(
            item,
            at + timedelta(seconds=1.4),
            "shopify_lookup",
            {"order": f"***{order}", "found": True},
            f"act:shopify_lookup:{cid}:{order}",
            rng,
        )


def _entry(item: Item, at: datetime, action: str, payload: dict[str, Any], key: str, rng: Random) -> Item:
    """An entry of table C. Some of the middleware's versions begin the sort key with an epoch."""
    moment = str(int(at.timestamp() * 1000)) if rng.random() < 0.08 else at.isoformat(timespec="milliseconds")
    return {
        "conversation_id": item["conversation_id"],
        "ts_action_id": f"{moment}#{new_id(rng)}",
        "action_type": str(action),
        "action_payload_redacted": json.dumps(payload, ensure_ascii=False),
        "idempotency_key": key,
        "result": rng.choice(_FAILURES) if rng.random() < 0.05 else "success",
        "expires_at": to_epoch(at + timedelta(days=AUDIT_DAYS)),
    }


def _state(item: Item, latest: _Latest, rng: Random) -> Item:
    """The item of table B: it repeats what the latest entries and the record of the latest message say.

    What is drawn for what entries say is not used, but for risks that were seen without asking for a human: each
    conversation needs as many draws as ever, so that those after it keep their records.
    """
    route = json.loads(latest.route["action_payload_redacted"])
    processed = latest.event["last_processed_at"]
    updated = max(latest.at + timedelta(seconds=2), latest.escalation[1] if latest.escalation else latest.at)
    rng.randint(41, 99)
    state: Item = {
        "conversation_id": item["conversation_id"],
        "updated_at": max(to_iso(updated), processed),
        "expires_at": to_epoch(latest.at + timedelta(days=STATE_DAYS)),
        "last_processed_at": processed,
        "last_processed_message_id": latest.message_id,
        "last_routed_team": route["team"],
        "last_routing_confidence": Decimal(str(route["confidence"])),
        "last_intent": route["intent"],
        "version": rng.randint(1, 14),
    }
    flags = rng.sample(_RISKS, rng.randint(1, 3)) if item["hand_off_to_human"] or rng.random() < 0.15 else []
    if latest.escalation:
        flags = json.loads(latest.escalation[0]["action_payload_redacted"])["flags"]
    if flags:
        state["risk_flags"] = set(flags)
    if rng.random() < 0.25:
        state["pending_flow"] = {
            "type": rng.choice(_PENDING),
            "requested_at": to_iso(latest.at),
            "attempts": rng.randint(1, 3),
        }
    if rng.random() < 0.4:
        rng.choice(range(3))
    if latest.reply:
        entry, sent, message_id = latest.reply
        state["last_auto_reply"] = {
            "type": json.loads(entry["action_payload_redacted"])["template"],
            "sent_at": to_iso(sent),
            "source_message_id": message_id,
        }
    return state
