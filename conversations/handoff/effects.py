"""What each action writes: one UpdateItem of named attributes, on condition that all is as the person saw it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from console import clock
from console.store.calls import table_name
from console.store.models import plain, sendable
from conversations import statuses
from conversations.handoff.intents import BEGINS, ENDS_WITH_AI, URGENCY, HandOffAction, Intent
from conversations.handoff.routing import BEFORE, SWITCH, is_for_people, matters, routing_change
from conversations.models import NOT_URGENT, held_in, urgent_in, waiting_in
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


@dataclass(slots=True)
class Expression:
    """An UpdateItem in the making: `values` as DynamoDB JSON by attribute; `if_absent` keeps what is there."""

    values: Raw = field(default_factory=dict)
    if_absent: Raw = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def text(value: str) -> dict[str, Any]:
    """A text as DynamoDB JSON."""
    return {"S": value}


def effect_of(
    intent: Intent,
    by: str,
    at: datetime,
    stored: Raw,
    *,
    reason: str = "",
    note: str = "",
    to: str = "",
    since: datetime | None = None,
) -> Expression:
    """The table of effects (data model, section 4). `by` is who acts, `stored` the item as read just before.

    `to` is who or which group gets it. `since` is when a request's customer began to wait, `at` where nothing is known
    of that.
    """
    now = clock.to_iso(at)
    change = Expression({LAST_ACTION: text(intent.action_id), "updated_at": text(now)})
    change.values[WANTED] = {"BOOL": intent.action not in ENDS_WITH_AI}
    begins = intent.action in BEGINS and not intent.flag_seen and not intent.agent_seen
    held, waiting = text(held_in(intent.company_id)), text(waiting_key({} if begins else stored, intent.company_id))
    if note:
        change.values[NOTE] = text(note)
    match intent.action:
        case HandOffAction.REQUEST | HandOffAction.TAKE_OVER:
            _raise_flag(change, intent, now if since is None else clock.to_iso(since), stored, reason)
            if intent.action is HandOffAction.TAKE_OVER:
                change.values |= {AGENT: text(by), TAKEN_AT: text(now), QUEUE: held}
            else:
                change.values[QUEUE] = waiting
                change.removed = (AGENT, TAKEN_AT)
        case HandOffAction.TAKE | HandOffAction.TAKE_FROM_COLLEAGUE:
            change.values |= {AGENT: text(by), TAKEN_AT: text(now), QUEUE: held}
            change.removed = (GROUP,)
            _keep_timer(change, intent, now, stored)
        case HandOffAction.ASSIGN:
            if intent.flag_seen:
                _keep_timer(change, intent, now, stored)
            else:
                _raise_flag(change, intent, now, stored, reason)
            change.values |= {AGENT: text(to), TAKEN_AT: text(now), QUEUE: held}
            change.removed = (GROUP,)
        case HandOffAction.RELEASE | HandOffAction.HAND_OVER:
            change.values[QUEUE] = waiting
            change.removed = (AGENT, TAKEN_AT)
            if intent.action is HandOffAction.HAND_OVER:
                change.values[GROUP] = text(to)
            _keep_timer(change, intent, now, stored)
        case HandOffAction.MARK_URGENT | HandOffAction.MARK_NOT_URGENT:
            is_urgent = intent.action is HandOffAction.MARK_URGENT
            change.values[URGENT] = text(BY_HAND if is_urgent else NOT_URGENT)
            key = urgent_in if is_urgent else waiting_in
            change.values[QUEUE] = held if intent.agent_seen else text(key(intent.company_id))
            _keep_timer(change, intent, now, stored)
        case _:
            _leave_with_ai(change, intent, now, stored)
    values, removed = routing_change(stored, for_people=ends_for_people(intent))
    change.values |= values
    change.removed += (ATTENTION, *removed)
    if begins:
        change.removed = tuple(dict.fromkeys((*change.removed, *OF_LAST_TIME)))
    return change


def _leave_with_ai(change: Expression, intent: Intent, now: str, stored: Raw) -> None:
    """What was said and failed before is nothing that needs attention, unless the AI is to answer it."""
    has_it = intent.asks_again or intent.action is HandOffAction.LEAVE
    change.values[TO_AI_AT if intent.action is HandOffAction.LEAVE_TO_AI else LEFT_AT] = text(now)
    change.removed = (QUEUE, REQUESTED_AT) if has_it else GONE_WITH_THE_AI
    if intent.action is HandOffAction.ACKNOWLEDGE:
        change.values[WANTED] = {"BOOL": intent.flag_seen}
    elif intent.asks_again and statuses.is_given_up(status_in(stored), text_in(stored, ATTENTION)):
        # A service that gave up, or died at work, keeps others from answering until its status is another.
        change.values[STATUS] = text(statuses.RETRY)
    elif not has_it:
        change.values |= {FLAG: {"BOOL": False}, REASON: {"NULL": True}}


def waiting_key(stored: Raw, company_id: str) -> str:
    """The partition of the queue's index in which a conversation waits."""
    return urgent_in(company_id) if is_urgent(stored) else waiting_in(company_id)


def is_urgent(stored: Raw) -> bool:
    """Whether it is urgent: by hand, by what the platform notes of it, or by what was said."""
    return text_in(stored, URGENT) not in ("", NOT_URGENT)


def ends_for_people(intent: Intent) -> bool:
    """Whether the state that an action leads to is routed to people."""
    action = intent.action
    if action in URGENCY:
        return is_for_people(flag=True, agent=intent.agent_seen)
    to_ai = action in ENDS_WITH_AI or action is HandOffAction.ACKNOWLEDGE
    waits = action in (HandOffAction.REQUEST, HandOffAction.RELEASE, HandOffAction.HAND_OVER)
    return is_for_people(flag=not to_ai, agent="" if to_ai or waits else "somebody")


def _raise_flag(change: Expression, intent: Intent, now: str, stored: Raw, reason: str) -> None:
    change.values[FLAG] = {"BOOL": True}
    if intent.agent_seen:
        # Taken again after the platform cleared the flag: the customer has waited since the first request.
        _keep_timer(change, intent, now, stored)
        if reason:
            change.values[REASON] = text(reason)
    else:
        change.values[REQUESTED_AT] = text(now)
        change.values[REASON] = text(reason) if reason else {"NULL": True}


def _keep_timer(change: Expression, intent: Intent, now: str, stored: Raw) -> None:
    """Since when a human is wanted stays; where nothing says so, it is at least as long as was seen."""
    since = text(intent.requested_seen or now)
    if set(stored.get(REQUESTED_AT, {"S": ""})) == {"S"} and ATTENTION not in stored:
        change.if_absent[REQUESTED_AT] = since
    else:
        # Present but no text, which a sort key has to be; or the time of what needed attention.
        change.values[REQUESTED_AT] = since


def update_of(intent: Intent, change: Expression, stored: Raw, as_read: tuple[str, ...] = ()) -> dict[str, Any]:
    """The UpdateItem of an action: everything as seen, nothing but named attributes written."""
    conditions = as_seen(intent.flag_seen, intent.agent_seen, intent.last_action_seen, stored)
    for attribute in as_read:
        conditions.as_read(attribute, stored)
    if intent.asks_again:
        conditions.as_read(ATTENTION, stored)
        conditions.as_read(STATUS, stored)
    if matters(stored):
        conditions.as_read(SWITCH, stored)
        conditions.as_read(BEFORE, stored)
    return update_item(intent.primary_channel, intent.conversation_id, change, conditions)


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


STATUS_LENGTH = 60


def status_in(stored: Raw) -> str:
    """The conversation's status, "" where it is no text."""
    return text_in(stored, STATUS)[:STATUS_LENGTH]


def is_processing(stored: Raw) -> bool:
    """Whether a service is at work on it."""
    return statuses.is_processing(status_in(stored))


def reason_digest(conversation_id: str, stored: Raw, *, secret: str | None = None) -> str:
    """A keyed digest by which the reason can be compared later: reasons may hold what customers wrote."""
    salt = f"hand-off reason {conversation_id}"
    return salted_hmac(salt, reason_in(stored), secret=secret, algorithm="sha256").hexdigest()


def is_same_reason(digest: str | None, conversation_id: str, stored: Raw) -> bool:
    """Whether that is the digest of the reason that is stored, made with the key of today or one of its fallbacks."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(digest == reason_digest(conversation_id, stored, secret=secret) for secret in secrets)
