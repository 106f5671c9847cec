"""The stored items of one company: conversations in every state, their trail, records and state, and the registry."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pynamodb.attributes import UnicodeAttribute

from console.clock import to_epoch, to_iso
from console.staff import password_links
from console.store.models import PlainListAttribute, PlainMapAttribute
from console.trail.actions import MIDDLEWARE, REVIEW_PARTITION_OF, Action
from console.trail.recording import SYSTEM_TRAIL, staff_trail
from conversations.models import Conversation
from tests.scenario import chats, saved_replies, saved_views, team, tenant_conversations, tenants, threads
from tests.scenario import messages as messages_received
from tests.scenario.staff import account_items, session_item

Item = dict[str, Any]
RECIPIENTS = {
    "ours": {"first": "+447700900101", "second": "+447700900102", "email": "first.ours@example.com"},
    "theirs": {"first": "+447700900201", "second": "+447700900202", "email": "first.theirs@example.com"},
}
OUR_NUMBERS = {
    "ours": {"whatsapp": "+447588713811", "sms": "+447588713812", "email": "desk.ours@example.org"},
    "theirs": {"whatsapp": "+447588713821", "sms": "+447588713822", "email": "desk.theirs@example.org"},
}
# What each conversation is there for: (recipient, channel, state). One for each action of the hand-off panel.
CONVERSATIONS = {
    "ai": ("first", "whatsapp", "ai"),
    "to ask": ("second", "whatsapp", "ai"),
    "waiting": ("first", "whatsapp", "waiting"),
    # Longest of all.
    "to take": ("second", "whatsapp", "waiting"),
    "to hand back": ("second", "sms", "waiting"),
    "mine": ("first", "whatsapp", "mine"),
    "to release": ("second", "sms", "mine"),
    "admin's": ("second", "whatsapp", "admin"),
    "colleague": ("first", "whatsapp", "colleague"),
    "overridden": ("second", "whatsapp", "overridden"),
    "email": ("email", "email", "ai"),
    # Selected in the queue, two and two.
    "to select": ("first", "whatsapp", "waiting"),
    "to select too": ("second", "sms", "waiting"),
    # An older one with the same number that somebody takes too.
    "to take too": ("second", "whatsapp", "ai"),
    "to share": ("first", "whatsapp", "waiting"),
    "to share too": ("second", "sms", "waiting"),
}
# More than a page of the trail holds, so that it has a next one.
FILLERS = 52
# Entries of no known action.
OTHERS = 12
# What DynamoDB takes for a partition key.
KEY_BYTES = 2048
# The action id in the key of the console's own record.
TAKEN = "taken"


class Texts:
    """Hands out the free texts of one side and remembers them."""

    def __init__(self, side: str, text: Callable[[str], str]) -> None:
        self.side, self._text, self.given = side, text, dict[str, None]()

    def __call__(self, name: str) -> str:
        """The text of an attribute of that dotted name."""
        return self.stored(f"{self.side}.{name}")

    def stored(self, name: str) -> str:
        """The text of a whole name."""
        text = self._text(name)
        self.given[text] = None
        return text


@dataclass
class SideItems:
    """What is to be stored, by the registry's table keys."""

    project_id: str
    # The link of the account that is invited: its code is stored nowhere.
    link: password_links.PasswordLink
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    by_table: dict[str, list[Item]] = field(default_factory=lambda: defaultdict(list))


def side_items(side: str, company_id: str, holders: dict[str, str], texts: Texts, now: datetime) -> SideItems:
    """All items of one company. `holders` are the usernames of who has its `mine` and its `colleague` conversations."""
    made = SideItems(project_id=f"pi-{side}-canary", link=password_links.make(f"{side}.invited"))
    for number, (purpose, (recipient, channel, state)) in enumerate(CONVERSATIONS.items()):
        tag = purpose.replace(" ", "-")
        key = (
            RECIPIENTS[side][recipient],
            f"{company_id}#{made.project_id}#req-{side}-{tag}#{RECIPIENTS[side][recipient].lstrip('+')}",
        )
        made.keys[purpose] = key
        item = conversation_item(side, key, company_id, channel, texts, now - timedelta(minutes=number))
        asked = now - timedelta(hours=5 if purpose == "to take" else 0, minutes=30)
        apart = {"hand_off_messages_apart": True} if purpose == "mine" else {}
        made.by_table["CONVERSATIONS"].append(item | apart | hand_off(state, company_id, holders, texts, now, asked))
        made.by_table["CONVERSATION_STATE"].append(state_item(key[1], texts, now))
    trail(made, company_id, holders["colleague"], texts, now)
    made.by_table["CONSOLE"].append(
        {
            "pk": "COMPANIES",
            "sk": company_id,
            "name": texts("registry.name"),
            "source": texts("registry.source"),
            "seen_at": to_iso(now),
        }
    )
    made.by_table["CONSOLE"] += saved_replies.items(company_id, holders["mine"], texts)
    made.by_table["CONSOLE"] += saved_views.items(company_id, made.project_id, holders["mine"], texts)
    made.by_table["CONSOLE"] += team.items(company_id, holders["mine"], made.keys["mine"], texts)
    for table, written in tenants.items(side, company_id, texts, now).items():
        made.by_table[table] += written
    made.by_table["STAFF_SESSIONS"].append(session_item(holders["colleague"], texts("session.user_agent"), now))
    made.by_table["STAFF"] += account_items(side, company_id, made.link, texts, now)
    made.by_table["TENANT_CONVERSATIONS"] += tenant_conversations.items(company_id, texts, now)
    for table, written in chats.items(side, texts, now).items():
        made.by_table[table] += written
    made.by_table["MESSAGES"] += messages_received.items(company_id, made.keys, holders, texts, now)
    made.by_table["THREADS"] += threads.items(company_id, texts, now)
    return made


def conversation_item(
    side: str, key: tuple[str, str], company_id: str, channel: str, texts: Texts, at: datetime
) -> Item:
    """A conversation with every attribute of the schema, and some that no schema knows."""
    recipient, conversation_id = key
    _company, project_id, request_id, _ = conversation_id.split("#")
    item: Item = {
        name: free_value(attribute, texts, f"conversation.{name}")
        for name, attribute in Conversation.get_attributes().items()
        if not name.startswith(("gsi_", "hand_off_")) and isinstance(attribute, FREE)
    }
    item |= {
        "primary_channel": recipient,
        "conversation_id": conversation_id,
        "company_id": company_id,
        "project_id": project_id,
        "request_id": request_id,
        "channel_method": channel,
        "conversation_status": "reply_sent",
        "recipient_tel": None if channel == "email" else recipient,
        "recipient_email": RECIPIENTS[side]["email"],
        "messages": messages(recipient, texts, at),
        "created_at": to_iso(at - timedelta(days=1)),
        "updated_at": to_iso(at),
        "initial_request_timestamp": to_iso(at - timedelta(days=1)),
        "allowed_channels": ["whatsapp", "sms", "email", texts("conversation.allowed_channels")],
        "task_complete": 0,
        "processing_time_ms": 850,
        "comms_consent": True,
        "function_call": False,
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "ttl": to_epoch(at + timedelta(days=90)),
        texts("conversation.unknown attribute"): {texts("conversation.unknown key"): texts("conversation.unknown")},
    }
    kind = {"whatsapp": "whatsapp_number", "sms": "sms_number", "email": "email"}[channel]
    item[f"gsi_company_{kind}"] = OUR_NUMBERS[side][channel]
    item["channel_config"] |= {f"{channel}_credentials_id": f"{channel}/{side}/project/twilio"}
    item["gsi_recipient_email" if channel == "email" else "gsi_recipient_tel"] = recipient
    return {name: value for name, value in item.items() if value is not None or name == "hand_off_to_human_reason"}


FREE = (UnicodeAttribute, PlainListAttribute, PlainMapAttribute)


def free_value(attribute: Any, texts: Texts, name: str) -> Any:
    """Free text where the attribute takes text; a list or a map of such where it takes these."""
    if isinstance(attribute, PlainListAttribute):
        return [texts(f"{name}.0"), {"name": texts(f"{name}.1")}]
    if isinstance(attribute, PlainMapAttribute):
        return {"title": texts(f"{name}.title"), texts(f"{name} key"): [texts(f"{name}.deep")]}
    return texts(name)


def messages(recipient: str, texts: Texts, at: datetime) -> list[Item]:
    """Messages of every speaker and kind of content."""
    contents: list[tuple[str, Any]] = [
        ("assistant", texts("message.text")),
        ("user", texts("message.customer")),
        ("assistant", [{"type": "text", "text": texts("message.block")}]),
        ("assistant", [{"type": "tool_use", "name": texts("message.tool"), "input": {"q": texts("message.input")}}]),
        ("user", [{"type": "tool_result", "content": texts("message.tool_result")}]),
        ("assistant", [{"type": "code", "code": texts("message.code")}]),
        ("user", [{"type": "image_url", "image_url": {"url": texts("message.image")}}]),
        ("assistant", [{"type": "hologram", "beam": texts("message.unknown_kind")}]),
        ("system", texts("message.system")),
        ("agent", {"nested": {texts("message.tree key"): texts("message.tree")}}),
        (texts("message.role"), texts("message.odd_role")),
        ("user", texts("message.last")),
    ]
    return [
        {
            "entry_id": f"entry-{number}",
            "message_timestamp": to_iso(at - timedelta(hours=2) + timedelta(minutes=number)),
            "role": role,
            "content": content,
            "sender": recipient if role == "user" else texts("message.sender"),
            "ai_total_tokens": 200,
            "processing_time_ms": 850,
        }
        for number, (role, content) in enumerate(contents, 1)
    ]


# When the holder last said that no answer is needed.
EXCUSED_AT = "2026-01-05T11:00:00.000Z"


def hand_off(
    state: str, company_id: str, holders: dict[str, str], texts: Texts, now: datetime, asked: datetime
) -> Item:
    """The hand-off attributes of a conversation in that state, as platform and console leave them."""
    if state == "ai":
        return {}
    wants = {
        "hand_off_to_human": state != "overridden",
        "hand_off_to_human_reason": texts("hand_off.reason"),
        "hand_off_requested_at": to_iso(asked),
        "hand_off_note": texts("hand_off.note"),
        "gsi_hand_off_queue": f"waiting#{company_id}",
    }
    if state == "waiting":
        return wants | {"hand_off_to_place_at": to_iso(asked)}
    return wants | {
        "hand_off_agent": holders[state if state in holders else "mine"],
        "hand_off_taken_at": to_iso(now - timedelta(minutes=20)),
        "hand_off_wanted": True,
        "hand_off_action_id": f"{texts.side}-action",
        "gsi_hand_off_queue": f"held#{company_id}",
        "hand_off_answered_at": EXCUSED_AT,
        "hand_off_no_answer_at": EXCUSED_AT,
    }


def state_item(conversation_id: str, texts: Texts, now: datetime) -> Item:
    """What the middleware keeps of a conversation."""
    return {
        "conversation_id": conversation_id,
        "updated_at": to_iso(now),
        "expires_at": to_epoch(now + timedelta(days=90)),
        "last_processed_at": to_iso(now),
        "last_processed_message_id": texts("state.message_id"),
        "last_routed_team": texts("state.team"),
        "last_routing_confidence": 0.5,
        "last_intent": texts("state.intent"),
        "risk_flags": {texts("state.risk_flag")},
        "pending_flow": {"type": texts("state.pending_flow"), "requested_at": to_iso(now), "attempts": 1},
        "last_auto_reply": {"type": texts("state.auto_reply"), "sent_at": to_iso(now)},
        "version": 3,
        texts("state.unknown attribute"): texts("state.unknown"),
    }


def trail(made: SideItems, company_id: str, username: str, texts: Texts, now: datetime) -> None:
    """Entries of every action in the trails of one conversation, the colleague and the system, with their records."""
    entries, records = made.by_table["AUDIT"], made.by_table["IDEMPOTENCY"]
    for purpose, (_, conversation_id) in made.keys.items():
        # Once all there is; the other conversations need something in their trails only.
        actions = tuple(Action) if purpose == "mine" else (Action.ROUTE, Action.HAND_OFF_RELEASE)
        for number, action in enumerate(actions):
            entry = entry_item(conversation_id, action, number, username, company_id, texts, now)
            entry["conversation_id"] = _trail_of(action, username, conversation_id)
            entry["ts_action_id"] += f"-{texts.side}"
            entries.append(entry)
        records.append(record_item(f"evt:rp:{conversation_id}:m1", conversation_id, texts, now))
        records.append(record_item(f"act:rp_tag:{conversation_id}:m1", conversation_id, texts, now))
    conversation_id = made.keys["mine"][1]
    taken = next(each for each in entries if each["action_type"] == Action.HAND_OFF_TAKE)
    ours = record_item(f"act:hand_off:{conversation_id}:{TAKEN}", conversation_id, texts, now)
    records.append(ours | {"mode": "console", "ts_action_id": taken["ts_action_id"], "attempts": 1})
    for number in range(FILLERS):
        entries.append(entry_item(conversation_id, Action.ROUTE, 100 + number, "", "", texts, now))
    oldest = entry_item(conversation_id, Action.TAG, 999, "", "", texts, now)
    # Some services begin their sort keys with an epoch, and name no known action (which is a key of an index).
    for number in range(OTHERS):
        unknown = texts("entry.action").encode()[:KEY_BYTES].decode(errors="ignore")
        entries.append(
            oldest | {"ts_action_id": f"{to_epoch(now) * 1000 - number}#old-{texts.side}", "action_type": unknown}
        )


def _trail_of(action: Action, username: str, conversation_id: str) -> str:
    if action.startswith(("staff.", "audit.")):
        return staff_trail(username)
    return SYSTEM_TRAIL if action.startswith("companies.") else conversation_id


def entry_item(
    partition: str, action: Action, number: int, username: str, company_id: str, texts: Texts, now: datetime
) -> Item:
    """One entry; without a username it is a service's."""
    by_service = not username or action in MIDDLEWARE
    payload = {
        "reason": texts("entry.reason"),
        "team": texts("entry.team"),
        "tag": texts("entry.tag"),
        "type": texts("entry.type"),
        "from": texts("entry.from"),
        texts("entry.payload key"): [texts("entry.payload")],
    }
    entry = {
        "conversation_id": partition,
        "ts_action_id": f"{to_iso(now - timedelta(minutes=number))}#{number:04}",
        "action_type": action.value,
        "action_payload_redacted": json.dumps(payload),
        "idempotency_key": f"act:rp_tag:{partition}:m1" if by_service else None,
        "result": "success" if number % 3 else f"failed: {texts('entry.result')}",
        "expires_at": to_epoch(now + timedelta(days=60)),
        "company_id": company_id or None,
        "gsi_company_id": company_id or None,
        "actor": None if by_service else username,
        "gsi_actor": None if by_service else username,
        "actor_role": None if by_service else "agent",
        "gsi_review": None if by_service else REVIEW_PARTITION_OF.get(action),
        "action_id": f"{number:04}",
    }
    return {name: value for name, value in entry.items() if value is not None}


def record_item(event_id: str, conversation_id: str, texts: Texts, now: datetime) -> Item:
    """An idempotency record of the middleware."""
    return {
        "event_id": event_id,
        "created_at": to_iso(now),
        "last_processed_at": to_iso(now),
        "received_at": to_iso(now),
        "expires_at": to_epoch(now + timedelta(days=30)),
        "status": "processed",
        "mode": texts("record.mode"),
        "conversation_id": conversation_id,
        "safe_mode": False,
        "automation_enabled": True,
        "source_message_id": texts("record.source"),
        "payload_sha256": "0" * 64,
        "payload_bytes": 100,
        "intent": texts("record.intent"),
        texts("record.unknown attribute"): texts("record.unknown"),
    }
