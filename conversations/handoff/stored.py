"""A conversation's hand-off as stored: its attributes and how they are read, its routing, and the conditional write."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from console import clock
from console.store.calls import table_name
from console.store.models import plain, sendable
from console.trail.recording import Actor
from conversations import records
from conversations.models import NOT_URGENT
from conversations.reading import is_true

Raw = dict[str, dict[str, Any]]

FLAG = "hand_off_to_human"
REASON = "hand_off_to_human_reason"
REQUESTED_AT = "hand_off_requested_at"
AGENT = "hand_off_agent"
TAKEN_AT = "hand_off_taken_at"
NOTE = "hand_off_note"
WANTED = "hand_off_wanted"
LAST_ACTION = "hand_off_action_id"
STATUS = "conversation_status"
QUEUE = "gsi_hand_off_queue"
# Why a conversation that the AI has needs attention; its `REQUESTED_AT` is then since when.
ATTENTION = "hand_off_attention"
# What was before is nothing that needs attention; and the AI is to answer since.
LEFT_AT, TO_AI_AT = "hand_off_left_at", "hand_off_to_ai_at"
# Why it is urgent, or `NOT_URGENT` where a person says that it is not.
URGENT, BY_HAND = "hand_off_urgent", "by hand"
# When people last answered, since when the customer waits for more, last wrote to them, and an answer did not arrive.
ANSWERED_AT, UNANSWERED_AT = "hand_off_answered_at", "hand_off_unanswered_at"
HEARD_AT = "hand_off_heard_at"
REPLY_FAILED_AT = "hand_off_reply_failed_at"
# The group of people that it waits for.
GROUP = "hand_off_group"

# The platform's routing switch: whether a customer's next message goes to people or to the AI. What stood there before.
SWITCH, BEFORE = "auto_queue_reply_message", "hand_off_routing_before"

# What is said of the last time that people had it.
OF_LAST_TIME = (URGENT, GROUP, ANSWERED_AT, UNANSWERED_AT, HEARD_AT, REPLY_FAILED_AT)
# What an item no longer has once the AI has it again.
GONE_WITH_THE_AI = (AGENT, TAKEN_AT, REQUESTED_AT, QUEUE, *OF_LAST_TIME)

# What is read of an item: our attributes, the flag and reason, what tells scope, age and expiry, and whether a service
# is at work on it.
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
    WANTED,
    LAST_ACTION,
    QUEUE,
    ATTENTION,
    LEFT_AT,
    TO_AI_AT,
    URGENT,
    GROUP,
    ANSWERED_AT,
    UNANSWERED_AT,
    HEARD_AT,
    REPLY_FAILED_AT,
    SWITCH,
    BEFORE,
)


def waiting_in(company_id: str) -> str:
    """Return the partition of those who wait for a human in a company (`gsi_hand_off_queue`)."""
    return f"waiting#{company_id}"


def held_in(company_id: str) -> str:
    """Return the partition of what people hold in a company (`gsi_hand_off_queue`)."""
    return f"held#{company_id}"


def urgent_in(company_id: str) -> str:
    """Return the partition of those who wait for a human in a company and are urgent (`gsi_hand_off_queue`)."""
    return f"urgent#{company_id}"


def attention_in(company_id: str) -> str:
    """Return the partition of what the AI has in a company and needs attention (`gsi_hand_off_queue`)."""
    return f"attention#{company_id}"


def text(value: str) -> dict[str, Any]:
    """A text as DynamoDB JSON."""
    return {"S": value}


def text_in(stored: Raw, attribute: str) -> str:
    """An attribute's text; "" where it is absent or of another type."""
    return str(stored.get(attribute, {}).get("S", ""))


def flag_in(stored: Raw) -> bool:
    """The platform's flag, read as everywhere (`is_true`)."""
    return FLAG in stored and is_true(plain(stored[FLAG]))


def has_people(stored: Raw) -> bool:
    """Whether people have a conversation or are wanted for it."""
    return bool(text_in(stored, AGENT)) or flag_in(stored)


def is_over(stored: Raw, now: datetime) -> bool:
    """Whether an item is past its TTL."""
    return "ttl" in stored and clock.is_expired(plain(stored["ttl"]), now)


def reason_in(stored: Raw) -> str:
    """The platform's reason for the flag, of whatever type; "" for none."""
    return str(plain(stored[REASON]) or "") if REASON in stored else ""


def last_action_of(stored: Raw) -> str:
    """Id of the console's last action on an item, "" for none."""
    return text_in(stored, LAST_ACTION)


STATUS_LENGTH = 60


def status_in(stored: Raw) -> str:
    """The conversation's status, "" where it is no text."""
    return text_in(stored, STATUS)[:STATUS_LENGTH]


def is_processing(stored: Raw) -> bool:
    """Whether a service is at work on it."""
    return records.is_processing(status_in(stored))


def reason_digest(conversation_id: str, stored: Raw, *, secret: str | None = None) -> str:
    """A keyed digest by which the reason can be compared later: reasons may hold what customers wrote."""
    salt = f"hand-off reason {conversation_id}"
    return salted_hmac(salt, reason_in(stored), secret=secret, algorithm="sha256").hexdigest()


def is_same_reason(digest: str | None, conversation_id: str, stored: Raw) -> bool:
    """Whether that is the digest of the reason that is stored, made with the key of today or one of its fallbacks."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(digest == reason_digest(conversation_id, stored, secret=secret) for secret in secrets)


def is_urgent(stored: Raw) -> bool:
    """Whether it is urgent: by hand, by what the platform notes of it, or by what was said."""
    return text_in(stored, URGENT) not in ("", NOT_URGENT)


def waiting_key(stored: Raw, company_id: str) -> str:
    """The partition of the queue's index in which a conversation waits."""
    return urgent_in(company_id) if is_urgent(stored) else waiting_in(company_id)


# --- Routing ----------------------------------------------------------------------------------------------------------
#
# The platform routes replies by `auto_queue_reply_message` and never looks at the flag. So the write that takes a
# conversation also sets the switch and keeps what stood there; the write that gives it back restores that. What
# somebody else changed in between is left. The indexer puts right what no action of ours did (the platform clears its
# own flag).

FROM_NUMBERS, FROM_EMAILS = f"{SWITCH}_from_number", f"{SWITCH}_from_email"
# Who asks for a human where a rule routed a message to people, and what the reason of such a request begins with.
BY_RULE = Actor("rule", "service")
RULE = "Rule: "
OFF, HELD, WAITING = "off", "held", "waiting"
# What the trail says of an action that routed a conversation to people; of others it says what became of that.
TO_PEOPLE = "to people"
_ON = {"BOOL": True}


def has_inbound_source() -> bool:
    """Whether messages that the platform routes to people arrive here."""
    return bool(settings.HANDOFF_QUEUE_URL) or has_stage()


def has_stage() -> bool:
    """Whether the table is named in which the platform stages what customers write."""
    return bool(settings.TABLE_NAMES.get("CONVERSATIONS_STAGE"))


def goes_to_people(stored: Raw) -> bool:
    """Whether the platform sends whatever this conversation's customer writes next to people."""
    return stored.get(SWITCH) == _ON


def went_to_people(stored: Raw) -> bool:
    """Whether the platform's own routing sends it to people, whatever the console has set meanwhile."""
    if BEFORE in stored:
        return stored[BEFORE].get("L") == [_ON]
    return goes_to_people(stored)


def is_set_by_console(stored: Raw) -> bool:
    """Whether the console set the switch when people took the conversation, and nobody has changed it since."""
    return BEFORE in stored and not is_left(stored)


def leads_back_to_ai() -> bool:
    """Whether messages that came to people can be brought to the AI: by the stage table and a channel's queue."""
    return has_stage() and any(settings.CHANNEL_QUEUE_URLS.values())


def is_for_people(*, flag: bool, agent: str) -> bool:
    """Whether the console routes a conversation in that state to people; False: the platform's own routing applies."""
    mode = settings.HAND_OFF_ROUTING
    return bool(agent and mode != OFF) or bool(flag and mode == WAITING)


def matters(stored: Raw) -> bool:
    """Whether routing is part of an action on an item: it is switched on, or was when somebody took the item."""
    return settings.HAND_OFF_ROUTING != OFF or BEFORE in stored


def is_left(stored: Raw) -> bool:
    """Whether somebody else changed the switch after the console had set it."""
    return BEFORE in stored and stored.get(SWITCH) != _ON


def what_becomes_of_routing(stored: Raw, *, for_people: bool) -> str:
    """What an action on an item does to its routing, for the trail; "" for nothing."""
    values, removed = routing_change(stored, for_people=for_people)
    if not values and not removed:
        return ""
    if for_people:
        return TO_PEOPLE
    return "kept as changed in the meantime" if is_left(stored) else "as before"


def routing_change(stored: Raw, *, for_people: bool) -> tuple[Raw, tuple[str, ...]]:
    """The attributes to set, as DynamoDB JSON, and to remove, for an item as stored. Nothing where it is right."""
    if for_people:
        if BEFORE in stored and not is_left(stored):
            return {}, ()
        # A list of what stood there, if anything did: its type is kept, and that there was nothing.
        return {SWITCH: _ON, BEFORE: {"L": [sendable(stored[SWITCH])] if SWITCH in stored else []}}, ()
    if BEFORE not in stored:
        return {}, ()
    if is_left(stored):
        return {}, (BEFORE,)
    stood = stored[BEFORE].get("L")
    if not stood:
        return {}, (SWITCH, BEFORE)
    return {SWITCH: sendable(stood[0])}, (BEFORE,)


# --- Writing ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Expression:
    """An UpdateItem in the making: `values` as DynamoDB JSON by attribute; `if_absent` keeps what is there."""

    values: Raw = field(default_factory=dict)
    if_absent: Raw = field(default_factory=dict)
    removed: tuple[str, ...] = ()


class Conditions:
    """Collects the condition of an UpdateItem. It must hold for every spelling of what was seen, and for no other."""

    def __init__(self) -> None:
        self.clauses = ["attribute_exists(primary_channel)"]
        self.names: dict[str, str] = {}
        self.values: Raw = {}

    def flag(self, seen: bool, stored: Raw) -> None:
        """True is only true; absent, NULL and false are one. A drifted spelling counts where it is what is stored."""
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
        """That text, or for "" nothing: absent, NULL, empty, or the value of another type that is stored."""
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
        """Exactly the value that was read, of whatever type; absent where it was absent."""
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
        """A list or text of the length that was read, whatever stands in it; absent where it was absent."""
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
    """What DynamoDB's `size` says of a list or a text."""
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else len(value)


def as_seen(flag: bool, agent: str, last_action: str, stored: Raw) -> "Conditions":
    """On condition that nobody acted since: flag, holder and last action are as seen."""
    conditions = Conditions()
    conditions.flag(flag, stored)
    conditions.text(AGENT, agent, stored)
    conditions.text(LAST_ACTION, last_action, stored)
    return conditions


def fence_of(
    primary_channel: str, conversation_id: str, last_action: str, fence_id: str, stored: Raw
) -> dict[str, Any]:
    """The UpdateItem that replaces the last action and nothing else: a late write of an action then finds it moved."""
    conditions = Conditions()
    conditions.text(LAST_ACTION, last_action, stored)
    return update_item(primary_channel, conversation_id, Expression({LAST_ACTION: text(fence_id)}), conditions)


def update_item(
    primary_channel: str, conversation_id: str, change: Expression, conditions: Conditions, *, returns: str = "ALL_NEW"
) -> dict[str, Any]:
    """The request of an UpdateItem; `returns` is what DynamoDB answers when it succeeds."""
    names, values = dict(conditions.names), dict(conditions.values)
    assignments = []
    for attribute, value in (change.values | change.if_absent).items():
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
        "ReturnValues": returns,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    # DynamoDB refuses empty values.
    return request | ({"ExpressionAttributeValues": values} if values else {})
