"""What the receiver keeps of one company: a message beside its item, last words, what is to be approved or placed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from console.clock import to_epoch, to_iso
from console.permissions import Staff
from console.refs import seal, seal_data
from console.staff.models import StaffAccount
from conversations.converting import reference_of
from conversations.outbox.rows import (
    LATEST,
    NOT_PLACED,
    approvals_partition,
    latest_partition,
    partition_of,
    to_place_partition,
)
from conversations.sending.replies import seal_form

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Item, Texts

# Instants of the rows that the forms are about: the same for all tests, as references are made of them.
WRITTEN_AT = {state: f"2026-01-05T10:00:0{at}.000000Z" for at, state in enumerate(("queued", "failed", "read"))}
# In which conversations there are replies, and by whom.
ANSWERED = {"mine": "mine", "admin's": "admin"}
HELD_AT, LOST_AT = "2026-01-05T08:00:00.000Z", "2026-01-05T09:00:00.000Z"


def items(
    company_id: str, keys: dict[str, tuple[str, str]], holders: dict[str, str], texts: Texts, now: datetime
) -> list[Item]:
    """All rows of MESSAGES for one company. `holders` are the usernames of who has which conversation."""
    rows = [
        _apart(keys["mine"], company_id, texts, now),
        *(
            _reply(keys[purpose], company_id, holders[who], texts, state, now)
            for purpose, who in ANSWERED.items()
            for state in WRITTEN_AT
        ),
        *(_latest(keys[each], texts, now) for each in ("waiting", "mine")),
    ]
    rows += [_first(company_id, purpose, texts) for purpose in ("to approve", "to reject")]
    rows += [_not_placed(keys["waiting"], purpose, texts) for purpose in ("to retry", "to discard")]
    rows += [_to_place(keys["waiting"], company_id, texts, purpose) for purpose in ("to place", "to put away")]
    return [row | {"expires_at": to_epoch(now + timedelta(days=90))} for row in rows]


def _apart(key: tuple[str, str], company_id: str, texts: Texts, now: datetime) -> Item:
    at = to_iso(now - timedelta(minutes=1))
    return {
        "conversation": partition_of(*key),
        "position": f"{at}#{texts.side}-apart",
        "company_id": company_id,
        "direction": "in",
        "message_id": f"{texts.side}-apart",
        "channel": "whatsapp",
        "content": texts("received.content"),
        "state": "received",
        "source": "queue",
        "on_item": False,
        "received_at": at,
    }


def _reply(key: tuple[str, str], company_id: str, holder: str, texts: Texts, state: str, now: datetime) -> Item:
    """A reply: one that can be taken back, one that can be sent again, one that was read."""
    row = {
        "conversation": partition_of(*key),
        "position": _position(texts.side, state),
        "company_id": company_id,
        "direction": "out",
        "message_id": f"{texts.side}-{state}",
        "channel": "whatsapp",
        "content": texts(f"reply.{state}"),
        "state": state,
        "state_at": to_iso(now),
        "author": holder,
        "author_name": texts("reply.author_name"),
        "on_item": False,
        "received_at": WRITTEN_AT[state],
        "not_before": to_iso(now + timedelta(minutes=30)),
        "ts_action_id": f"{WRITTEN_AT[state]}#{texts.side}-{state}",
        "event_id": f"act:reply:{key[1]}:{texts.side}-{state}",
    }
    return row | ({"error": texts("reply.error"), "error_code": "30003"} if state == "failed" else {})


def _position(side: str, state: str) -> str:
    return f"{WRITTEN_AT[state]}#{side}-{state}"


def _latest(key: tuple[str, str], texts: Texts, now: datetime) -> Item:
    return {
        "conversation": latest_partition(partition_of(*key)),
        "position": LATEST,
        "content": texts("received.last"),
        "received_at": to_iso(now),
        "unanswered": 2,
    }


def _first(company_id: str, purpose: str, texts: Texts) -> Item:
    body = {
        "frontend_payload": {
            "company_data": {"company_id": company_id, "project_id": texts("first.project")},
            "recipient_data": {"recipient_first_name": texts("first.name"), "recipient_tel": "+447700900150"},
        },
        "company_data_payload": {
            "company_id": company_id,
            "project_name": texts("first.project_name"),
            texts("first key"): texts("first.value"),
        },
        "conversation_data": {"channel_method": "whatsapp"},
    }
    return {
        "conversation": approvals_partition(company_id),
        "position": f"{HELD_AT}#{purpose}",
        "company_id": company_id,
        "project_id": texts("first.project"),
        "channel": "whatsapp",
        "state": "held",
        "body": json.dumps(body),
        "received_at": HELD_AT,
    }


def _not_placed(key: tuple[str, str], purpose: str, texts: Texts) -> Item:
    recipient, conversation_id = key
    body = {
        "message_sid": f"{texts.side}-{purpose}",
        "from": recipient,
        "channel_type": "whatsapp",
        "primary_channel": recipient,
        "conversation_id": conversation_id,
        "body": texts("not_placed.text"),
    }
    return {
        "conversation": NOT_PLACED,
        "position": f"{LOST_AT}#{texts.side}-{purpose}",
        "state": NOT_PLACED,
        "source": texts("not_placed.source"),
        "not_placed_because": texts("not_placed.reason"),
        "body": json.dumps(body),
        "received_at": LOST_AT,
    }


def _to_place(key: tuple[str, str], company_id: str, texts: Texts, purpose: str) -> Item:
    """A message that may belong to a conversation, and that a person puts there."""
    return _not_placed(key, purpose, texts) | {
        "conversation": to_place_partition(company_id),
        "company_id": company_id,
        "source": "queue",
        "candidates": {partition_of(*key)},
    }


def references(side: Side) -> dict[str, list[str]]:
    """What stands in the addresses of the forms about them."""
    found = posts(side)
    # Those below a conversation have its reference.
    ours = [name for name in found if not name.startswith("conversation-")]
    return {name: [url.rstrip("/").rpartition("/")[2] for url, _ in found[name]] for name in ours}


def urls() -> dict[str, list[str]]:
    """The pages of these messages."""
    return {name: [reverse(name)] for name in ("queue-to-approve", "messages-not-placed")}


def replies(side: Side, by: StaffAccount) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What somebody does with replies in a conversation that they hold, if they are the agent or the admin."""
    key = side.keys["admin's" if by.role == "admin" else "mine"]
    sealed = reference_of(*key)
    rows = {state: seal_data("sent reply", [partition_of(*key), _position(side.name, state)]) for state in WRITTEN_AT}
    form = {"reply": seal_form(*key, Staff.of(by))}
    found: dict[str, tuple[str, dict[str, Any]]] = {
        "conversation-reply": (sealed, {**form, "text": "It is on its way."}),
        "conversation-reply-undo": (sealed, {"reply": rows["queued"]}),
        "conversation-reply-again": (sealed, {"reply": rows["failed"]}),
        "conversation-reply-template": (sealed, {}),
        "conversation-no-answer": (sealed, {"undo": "1"}),
        "conversation-opt-in": (sealed, {"reason": "asked on the phone to go on"}),
        "conversation-note": (sealed, {"note": "wants a call"}),
        "conversation-room": (sealed, {}),
    }
    return {name: [(reverse(name, args=[reference]), data)] for name, (reference, data) in found.items()}


def _sealed(partition: str, side: str, purpose: str) -> str:
    return seal_data("message to place", [partition, f"{LOST_AT}#{side}-{purpose}"])


def posts(side: Side) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What is decided about them. Approving needs a queue, which a page does not: it is tested by itself."""
    first = seal("first message", approvals_partition(side.company_id), f"{HELD_AT}#to reject")
    lost = {purpose: seal(NOT_PLACED, f"{LOST_AT}#{side.name}-{purpose}") for purpose in ("to retry", "to discard")}
    partition = to_place_partition(side.company_id)
    decided = {"to place": "put", "to put away": "not-here"}
    waits = reverse("conversation-place", args=[reference_of(*side.keys["waiting"])])
    return {
        "conversation-place": [
            (waits, {"message": _sealed(partition, side.name, purpose), "decision": each})
            for purpose, each in decided.items()
        ],
        "queue-decide": [(reverse("queue-decide", args=[first]), {"decision": "reject", "reason": "wrong person"})],
        "messages-resolve": [
            (reverse("messages-resolve", args=[lost["to retry"]]), {"decision": "retry"}),
            (reverse("messages-resolve", args=[lost["to discard"]]), {"decision": "discard", "reason": "spam"}),
        ],
    }
