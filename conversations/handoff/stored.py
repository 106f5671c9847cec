"""A conversation's hand-off as stored: reading its attributes, its routing, and the conditional write."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from console import clock
from console.schema.tables import RECIPIENT_NAMES
from console.store.calls import table_name
from console.store.models import plain, sendable
from console.trail.recording import Actor
from conversations import records
from conversations.converting import is_true
from conversations.models import NOT_URGENT

Raw = dict[str, dict[str, Any]]

FLAG = "hand_off_to_human"
REASON = "hand_off_to_human_reason"
REQUESTED_AT = "hand_off_requested_at"
AGENT = "hand_off_agent"
TAKEN_AT = "hand_off_taken_at"
# The note, who wrote it, and when.
NOTE, NOTE_BY, NOTE_AT = "hand_off_note", "hand_off_note_by", "hand_off_note_at"
WANTED = "hand_off_wanted"
LAST_ACTION = "hand_off_action_id"
STATUS = "conversation_status"
MESSAGES = "messages"
QUEUE = "gsi_hand_off_queue"
# Why a conversation that the AI has needs attention; `REQUESTED_AT` then says since when.
ATTENTION = "hand_off_attention"
# Failures before `LEFT_AT` need no attention; the AI was last given it at `TO_AI_AT`. Of these, a return writes both, a
# dismissal `LEFT_AT`, asking the AI to answer `TO_AI_AT`.
LEFT_AT, TO_AI_AT = "hand_off_left_at", "hand_off_to_ai_at"
# Since when the customer has waited whose messages went to the AI unanswered; removed once the AI has written them.
OWED_AT = "hand_off_owed_at"
# Why it is urgent, or `NOT_URGENT` if a person marked it as not urgent.
URGENT, BY_HAND = "hand_off_urgent", "by hand"
# When people last answered, since when the customer waits again, when they last wrote, when a reply failed.
ANSWERED_AT, UNANSWERED_AT = "hand_off_answered_at", "hand_off_unanswered_at"
HEARD_AT, REPLY_FAILED_AT = "hand_off_heard_at", "hand_off_reply_failed_at"
# Until when the customer's messages need no answer, who said so, and `ANSWERED_AT` before that.
NO_ANSWER_AT, NO_ANSWER_BY = "hand_off_no_answer_at", "hand_off_no_answer_by"
ANSWERED_BEFORE = "hand_off_answered_before"
# The group that it waits for.
GROUP = "hand_off_group"

# The platform's routing switch, by which a customer's next message goes to people or the AI; its value before ours; and
# when the console last wrote it: messages of about that time are in doubt.
SWITCH, ROUTING_BEFORE, ROUTED_AT = "auto_queue_reply_message", "hand_off_routing_before", "hand_off_routed_at"

# Attributes of the last time that people had it.
OF_LAST_TIME = (URGENT, GROUP, ANSWERED_AT, UNANSWERED_AT, HEARD_AT, REPLY_FAILED_AT)
# Attributes to remove once the AI has it again.
GONE_WITH_THE_AI = (AGENT, TAKEN_AT, REQUESTED_AT, QUEUE, *OF_LAST_TIME)

# The attributes read of an item: ours, the flag and reason, those for scope, age, expiry and whether a service is at
# work on it, and the recipient's names, which the trail masks.
ATTRIBUTES = (
    "primary_channel",
    "conversation_id",
    "company_id",
    "created_at",
    "updated_at",
    STATUS,
    "ttl",
    FLAG,
    REASON,
    REQUESTED_AT,
    AGENT,
    TAKEN_AT,
    NOTE,
    NOTE_BY,
    NOTE_AT,
    WANTED,
    LAST_ACTION,
    QUEUE,
    ATTENTION,
    *(LEFT_AT, TO_AI_AT, OWED_AT, NO_ANSWER_AT),
    *RECIPIENT_NAMES,
    *OF_LAST_TIME,
    SWITCH,
    ROUTING_BEFORE,
    ROUTED_AT,
)


def waiting_in(company_id: str) -> str:
    """Return the partition of a company's conversations that wait for a human (`gsi_hand_off_queue`)."""
    return f"waiting#{company_id}"


def held_in(company_id: str) -> str:
    """Return the partition of a company's conversations that people hold (`gsi_hand_off_queue`)."""
    return f"held#{company_id}"


def urgent_in(company_id: str) -> str:
    """Return the partition of a company's urgent conversations that wait for a human (`gsi_hand_off_queue`)."""
    return f"urgent#{company_id}"


def attention_in(company_id: str) -> str:
    """Return the partition of a company's conversations with the AI that need attention (`gsi_hand_off_queue`)."""
    return f"attention#{company_id}"


def text(value: str) -> dict[str, Any]:
    """Return a text as DynamoDB JSON."""
    return {"S": value}


def text_in(stored: Raw, attribute: str) -> str:
    """Return the text of an attribute; "" if it is absent or of another type."""
    return str(stored.get(attribute, {}).get("S", ""))


def flag_in(stored: Raw) -> bool:
    """Return the platform's flag, read with `is_true`."""
    return FLAG in stored and is_true(plain(stored[FLAG]))


def has_people(stored: Raw) -> bool:
    """Return whether people have a conversation or are requested for it."""
    return bool(text_in(stored, AGENT)) or flag_in(stored)


def is_over(stored: Raw, now: datetime) -> bool:
    """Return whether an item is past its TTL."""
    return "ttl" in stored and clock.is_expired(plain(stored["ttl"]), now)


def reason_in(stored: Raw) -> str:
    """Return the platform's reason for the flag as text, whatever its type; "" for none."""
    return str(plain(stored[REASON]) or "") if REASON in stored else ""


def last_action_of(stored: Raw) -> str:
    """Return the id of the console's last action on an item; "" for none."""
    return text_in(stored, LAST_ACTION)


STATUS_LENGTH = 60


def status_in(stored: Raw) -> str:
    """Return the conversation's status; "" if it is not text."""
    return text_in(stored, STATUS)[:STATUS_LENGTH]


def is_processing(stored: Raw) -> bool:
    """Return whether a service is at work on the conversation."""
    return records.is_processing(status_in(stored))


def reason_digest(conversation_id: str, stored: Raw, *, secret: str | None = None) -> str:
    """Return a keyed digest to compare the reason with later, because reasons may quote customers."""
    salt = f"hand-off reason {conversation_id}"
    return salted_hmac(salt, reason_in(stored), secret=secret, algorithm="sha256").hexdigest()


def is_same_reason(digest: str | None, conversation_id: str, stored: Raw) -> bool:
    """Return whether a digest is of the stored reason, made with the current key or one of its fallbacks."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(digest == reason_digest(conversation_id, stored, secret=secret) for secret in secrets)


def is_urgent(stored: Raw) -> bool:
    """Return whether a conversation is urgent: by hand, by what the platform noted, or by words."""
    return text_in(stored, URGENT) not in ("", NOT_URGENT)


def waiting_key(stored: Raw, company_id: str) -> str:
    """Return the partition of the queue's index for a conversation that waits."""
    return urgent_in(company_id) if is_urgent(stored) else waiting_in(company_id)


# --- Routing ----------------------------------------------------------------------------------------------------------
#
# The platform routes replies by `auto_queue_reply_message` and never reads the flag. So the write that takes a
# conversation also sets the switch and stores its earlier value; the write that gives it back restores that, unless
# somebody else has changed the switch in between. The indexer corrects the switch after changes that are not actions of
# ours (the platform clears its own flag).

FROM_NUMBERS, FROM_EMAILS = f"{SWITCH}_from_number", f"{SWITCH}_from_email"
# The actor of a request made because a rule routed a message to people, and the prefix of its reason.
BY_RULE = Actor("rule", "service")
RULE = "Rule: "
OFF, HELD, WAITING = "off", "held", "waiting"
# The routing in the trail entry of an action that routed a conversation to people.
TO_PEOPLE = "to people"
_ON = {"BOOL": True}


def has_inbound_source() -> bool:
    """Return whether the console receives the messages that the platform routes to people."""
    return bool(settings.HANDOFF_QUEUE_URL) or has_stage()


def has_stage() -> bool:
    """Return whether the table in which the platform stages customers' messages is configured."""
    return bool(settings.TABLE_NAMES.get("CONVERSATIONS_STAGE"))


def goes_to_people(stored: Raw) -> bool:
    """Return whether the platform sends the next message of this conversation's customer to people."""
    return stored.get(SWITCH) == _ON


def went_to_people(stored: Raw) -> bool:
    """Return whether the platform's own routing sends messages to people, regardless of what the console set."""
    if ROUTING_BEFORE in stored:
        return stored[ROUTING_BEFORE].get("L") == [_ON]
    return goes_to_people(stored)


def is_set_by_console(stored: Raw) -> bool:
    """Return whether the console set the switch and nobody has changed it since."""
    return ROUTING_BEFORE in stored and not was_switch_changed(stored)


def leads_back_to_ai() -> bool:
    """Return whether messages to people can be passed to the AI, which needs the stage table and a channel's queue."""
    return has_stage() and any(settings.CHANNEL_QUEUE_URLS.values())


def is_for_people(*, flag: bool, agent: str) -> bool:
    """Return whether the console routes this state to people; if not, the platform's own routing applies."""
    mode = settings.HAND_OFF_ROUTING
    return bool(agent and mode != OFF) or bool(flag and mode == WAITING)


def involves_routing(stored: Raw) -> bool:
    """Return whether an action on an item involves routing: it is configured, or the console has set the switch."""
    return settings.HAND_OFF_ROUTING != OFF or ROUTING_BEFORE in stored


def was_switch_changed(stored: Raw) -> bool:
    """Return whether somebody else changed the switch after the console set it."""
    return ROUTING_BEFORE in stored and stored.get(SWITCH) != _ON


def describe_routing_change(stored: Raw, *, for_people: bool) -> str:
    """Say for the trail what an action does to an item's routing; "" for nothing."""
    values, removed = routing_change(stored, for_people=for_people)
    if not values and not removed:
        return ""
    if for_people:
        return TO_PEOPLE
    return "kept as changed in the meantime" if was_switch_changed(stored) else "as before"


def routing_change(stored: Raw, *, for_people: bool) -> tuple[Raw, tuple[str, ...]]:
    """Return the attributes to set, as DynamoDB JSON, and to remove, so that an item's routing is right."""
    if for_people:
        if ROUTING_BEFORE in stored and not was_switch_changed(stored):
            return {}, ()
        # A list keeps the type of the earlier value; an empty one means that there was none.
        return {SWITCH: _ON, ROUTING_BEFORE: {"L": [sendable(stored[SWITCH])] if SWITCH in stored else []}}, ()
    if ROUTING_BEFORE not in stored:
        return {}, ()
    if was_switch_changed(stored):
        return {}, (ROUTING_BEFORE,)
    stood = stored[ROUTING_BEFORE].get("L")
    if not stood:
        return {}, (SWITCH, ROUTING_BEFORE)
    return {SWITCH: sendable(stood[0])}, (ROUTING_BEFORE,)


# --- Writing ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Expression:
    """The changes of an UpdateItem: `values` as DynamoDB JSON by attribute; `if_absent` sets only absent ones."""

    values: Raw = field(default_factory=dict)
    if_absent: Raw = field(default_factory=dict)
    removed: tuple[str, ...] = ()


class Conditions:
    """Builds the condition of an UpdateItem, which must match every spelling of what was seen and nothing else."""

    def __init__(self) -> None:
        self.clauses = ["attribute_exists(primary_channel)"]
        self.names: dict[str, str] = {}
        self.values: Raw = {}

    def flag(self, seen: bool, stored: Raw) -> None:
        """Require the flag as seen. Absent, NULL and false are equal; a drifted value only matches if it is stored."""
        name = f"#{FLAG}"
        self.names[name] = FLAG
        self.values[":seen_flag"] = {"BOOL": seen}
        ways = [f"{name} = :seen_flag"]
        if not seen:
            ways += self._nothing(name)
        value = stored.get(FLAG)
        if value is not None and not {"BOOL", "NULL"} & set(value) and is_true(plain(value)) == seen:
            self.values[":drifted_flag"] = value
            ways.append(f"{name} = :drifted_flag")
        self.clauses.append(f"({' OR '.join(ways)})")

    def text(self, attribute: str, seen: str, stored: Raw) -> None:
        """Require a text as seen; for "": absent, NULL, empty, or the stored value of another type."""
        name, value = f"#{attribute}", f":seen_{attribute}"
        self.names[name] = attribute
        self.values[value] = text(seen)
        ways = [f"{name} = {value}"]
        if not seen:
            ways += self._nothing(name)
            found = stored.get(attribute)
            if found is not None and not {"S", "NULL"} & set(found):
                self.values[f":drifted_{attribute}"] = found
                ways.append(f"{name} = :drifted_{attribute}")
        self.clauses.append(f"({' OR '.join(ways)})")

    def as_read(self, attribute: str, stored: Raw) -> None:
        """Require exactly the value that was read, of any type, or that the attribute is still absent."""
        name, found = f"#{attribute}", stored.get(attribute)
        self.names[name] = attribute
        if found is None:
            self.clauses.append(f"attribute_not_exists({name})")
        elif "NULL" in found:
            self.values[":null"] = text("NULL")
            self.clauses.append(f"attribute_type({name}, :null)")
        else:
            self.values[f":read_{attribute}"] = sendable(found)
            self.clauses.append(f"{name} = :read_{attribute}")

    def as_long_as_read(self, attribute: str, stored: Raw) -> None:
        """Require a list or text of the length that was read, whatever its content; otherwise as `as_read`."""
        name, found = f"#{attribute}", stored.get(attribute, {})
        kind = next(iter(found), "")
        if kind not in ("L", "S"):
            self.as_read(attribute, stored)
            return
        self.names[name] = attribute
        self.values[f":length_{attribute}"] = {"N": str(_size_of(found[kind]))}
        self.clauses.append(f"size({name}) = :length_{attribute}")

    def _nothing(self, name: str) -> list[str]:
        self.values[":null"] = text("NULL")
        return [f"attribute_not_exists({name})", f"attribute_type({name}, :null)"]


def _size_of(value: Any) -> int:
    """Return the `size` that DynamoDB computes for a list or a text."""
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else len(value)


def as_seen(flag: bool, agent: str, last_action: str, stored: Raw) -> "Conditions":
    """Return the condition that nobody acted since: flag, holder and last action are as seen."""
    conditions = Conditions()
    conditions.flag(flag, stored)
    conditions.text(AGENT, agent, stored)
    conditions.text(LAST_ACTION, last_action, stored)
    return conditions


def fence_of(
    primary_channel: str, conversation_id: str, last_action: str, fence_id: str, stored: Raw
) -> dict[str, Any]:
    """Build the UpdateItem that replaces only the last action, so that a late write of an action is refused."""
    conditions = Conditions()
    conditions.text(LAST_ACTION, last_action, stored)
    return update_item(primary_channel, conversation_id, Expression({LAST_ACTION: text(fence_id)}), conditions)


def update_item(
    primary_channel: str, conversation_id: str, change: Expression, conditions: Conditions, *, returns: str = "ALL_NEW"
) -> dict[str, Any]:
    """Build an UpdateItem; `returns`: its `ReturnValues`, "" for no item. A write of the switch leaves its time."""
    names, values = dict(conditions.names), dict(conditions.values)
    assignments = []
    routed: Raw = {ROUTED_AT: text(clock.to_iso(clock.now()))} if SWITCH in (*change.values, *change.removed) else {}
    for attribute, value in (change.values | change.if_absent | routed).items():
        names[f"#{attribute}"] = attribute
        values[f":{attribute}"] = value
        kept = attribute in change.if_absent
        assignments.append(
            f"#{attribute} = " + (f"if_not_exists(#{attribute}, :{attribute})" if kept else f":{attribute}")
        )
    clauses = ["SET " + ", ".join(assignments)] if assignments else []
    if change.removed:
        names |= {f"#{attribute}": attribute for attribute in change.removed}
        clauses.append("REMOVE " + ", ".join(f"#{attribute}" for attribute in change.removed))
    request = {
        "TableName": table_name("CONVERSATIONS"),
        "Key": {"primary_channel": text(primary_channel), "conversation_id": text(conversation_id)},
        "UpdateExpression": " ".join(clauses),
        "ConditionExpression": " AND ".join(conditions.clauses),
        "ExpressionAttributeNames": names,
    }
    if returns:
        request |= {"ReturnValues": returns, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    # DynamoDB refuses empty values.
    return request | ({"ExpressionAttributeValues": values} if values else {})


def key_in(stored: Raw) -> Raw:
    """Return the key of an item."""
    return {name: stored[name] for name in ("primary_channel", "conversation_id")}
