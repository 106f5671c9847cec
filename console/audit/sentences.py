"""The trail in words: one sentence for each entry, in the tense that fits its outcome, with its causes.

The schema leaves a payload's keys to its writers: a cause that is missing or of another type is left out.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.utils.text import capfirst

from console.redaction import redact
from console.trail.actions import COLLEAGUES, HAND_OFF_PREFIX, UNDONE, Action, Result
from console.trees import format_code_name, isolated, per_cent, share_of, text_of

MAX_WORDS = 80
MAX_FLAGS = 5
# What was done, what was attempted. {…} is filled from the payload; a part in [] is omitted if its value is missing.
_PHRASES: dict[str, tuple[str, str]] = {
    Action.ROUTE: ("routed[ to {team}]", "route[ to {team}]"),
    Action.TAG: ("tagged[ {tag}]", "tag[ {tag}]"),
    Action.AUTO_REPLY: ("sent an automatic reply", "send an automatic reply"),
    Action.ESCALATE: ("escalated[ to {team}]", "escalate[ to {team}]"),
    Action.RP_REPLY: ("sent a reply", "send a reply"),
    Action.RP_TAG: ("set a tag[: {tag}]", "set a tag[: {tag}]"),
    Action.RP_ASSIGN: ("assigned[ to {team}]", "assign[ to {team}]"),
    Action.SHOPIFY_LOOKUP: ("looked up an order", "look up an order"),
    Action.HAND_OFF_REQUEST: ("asked for a human", "ask for a human"),
    Action.HAND_OFF_TAKE_OVER: ("took over", "take over"),
    Action.HAND_OFF_TAKE: ("took it from the queue", "take it from the queue"),
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: ("took it from [{colleague}]", "take it from [{colleague}]"),
    Action.HAND_OFF_RELEASE: ("returned it to the queue", "return it to the queue"),
    Action.HAND_OFF_HAND_BACK: ("returned it to the AI", "return it to the AI"),
    Action.HAND_OFF_ACKNOWLEDGE: ("returned it to the AI", "return it to the AI"),
    Action.HAND_OFF_LEAVE_TO_AI: ("let the AI answer", "let the AI answer"),
    Action.HAND_OFF_ASSIGN: ("transferred it[ to {receiver}]", "transfer it[ to {receiver}]"),
    Action.HAND_OFF_HAND_OVER: ("transferred it[ to the group {group}]", "transfer it[ to the group {group}]"),
    Action.HAND_OFF_MARK_URGENT: ("marked it as urgent", "mark it as urgent"),
    Action.HAND_OFF_MARK_NOT_URGENT: ("marked it as not urgent", "mark it as not urgent"),
    Action.HAND_OFF_LEAVE: ("dismissed it", "dismiss it"),
    Action.TARGET_MISSED: ("an answer became overdue", "note that an answer is overdue"),
    Action.LOCK_ENDED: ("ended the lock that the AI had left behind", "end the lock that the AI had left behind"),
    Action.LEVELS_CHANGED: ("changed the service levels[ of {levels}]", "change the service levels[ of {levels}]"),
    Action.BUDGET_CHANGED: ("changed the budget[ of {company}]", "change the budget[ of {company}]"),
    Action.GROUP_CHANGED: ("changed the group[ {group}]", "change the group[ {group}]"),
    Action.DESTINATION_CHANGED: (
        "changed where notifications go[: {destination}]",
        "change where notifications go[: {destination}]",
    ),
    Action.DESTINATION_SECRET_SHOWN: (
        "looked at the signing secret[ of {destination}]",
        "look at the signing secret[ of {destination}]",
    ),
    Action.DESTINATION_TESTED: ("sent a test[ to {destination}]", "send a test[ to {destination}]"),
    Action.NOTIFICATION_SENT_AGAIN: (
        "sent a notification[ to {destination}] again",
        "send a notification[ to {destination}] again",
    ),
    Action.STAFF_AVAILABLE: ("is available again", "become available again"),
    Action.STAFF_AWAY: ("is away", "be away"),
    Action.HAND_OFF_FENCE: ("closed an action that never arrived", "close an action that never arrived"),
    Action.HAND_OFF_REASSERT: ("restored a person's decision", "restore a person's decision"),
    Action.ANSWER_FOUND: ("found an answer of the AI at the provider", "find an answer of the AI at the provider"),
    Action.MESSAGE_RECEIVED: ("received a message from the customer", "receive a message from the customer"),
    Action.MESSAGE_NOT_PLACED: (
        "received a message that could not be placed[: {why}]",
        "receive a message that could not be placed",
    ),
    Action.MESSAGE_PLACED: ("placed a message in its conversation", "place a message in its conversation"),
    Action.MESSAGE_NOT_HERE: ("said that a message does not belong here", "say that a message does not belong here"),
    Action.MESSAGE_DISCARDED: (
        "discarded a message that could not be placed[: {why}]",
        "discard a message that could not be placed",
    ),
    Action.OPTED_OUT: ("recorded the customer's opt-out[: {why}]", "record the customer's opt-out"),
    Action.OPTED_IN: ("lifted the customer's opt-out[: {why}]", "lift the customer's opt-out"),
    Action.NO_ANSWER_NEEDED: ("said that no answer is needed", "say that no answer is needed"),
    Action.ANSWER_NEEDED: ("said that an answer is needed after all", "say that an answer is needed after all"),
    Action.REPLY_SEND: ("answered the customer[ over {channel}]", "answer the customer[ over {channel}]"),
    Action.REPLY_DELIVERY: ("recorded the status of a reply[: {state}]", "deliver a reply"),
    Action.ROOM_MADE: (
        "made room in the full conversation[: {moved} messages moved]",
        "make room in the full conversation",
    ),
    Action.NOTE_SAVED: ("saved a note for the next person", "save a note for the next person"),
    Action.INITIAL_APPROVE: ("approved a first message", "approve a first message"),
    Action.INITIAL_REJECT: ("rejected a first message[: {why}]", "reject a first message"),
    Action.SAVED_REPLY_CREATED: ("added the saved reply[ {saved_reply}]", "add the saved reply[ {saved_reply}]"),
    Action.SAVED_REPLY_CHANGED: ("changed the saved reply[ {saved_reply}]", "change the saved reply[ {saved_reply}]"),
    Action.SAVED_REPLY_DELETED: ("deleted the saved reply[ {saved_reply}]", "delete the saved reply[ {saved_reply}]"),
    Action.SAVED_VIEW_CREATED: ("saved the view[ {saved_view}]", "save the view[ {saved_view}]"),
    Action.SAVED_VIEW_CHANGED: ("renamed a view[ to {saved_view}]", "rename a view[ to {saved_view}]"),
    Action.SAVED_VIEW_DELETED: ("deleted the view[ {saved_view}]", "delete the view[ {saved_view}]"),
    Action.TRANSCRIPT_OPENED: ("opened the transcript[ of {conversation}]", "open the transcript[ of {conversation}]"),
    Action.RECIPIENT_REVEALED: ("revealed the recipient", "reveal the recipient"),
    Action.PERSON_LOOKED_UP: ("looked up one person[ in {stores}]", "look up one person[ in {stores}]"),
    Action.PERSON_SEARCHED: ("searched for personal data[: {why}]", "search for personal data"),
    Action.CONVERSATIONS_EXPORTED: ("exported conversations[ of {list}]", "export conversations[ of {list}]"),
    Action.AUDIT_EXPORTED: ("exported the audit review", "export the audit review"),
    Action.AUDIT_ARCHIVED: ("archived the trail", "archive the trail"),
    Action.TENANT_CONVERSATION_CLEARED: ("cleared the conversation[ {conversation}]", "clear the conversation"),
    Action.CHAT_ENDED: ("ended the running session", "end the running session"),
    Action.FEEDBACK_CHANGED: ("changed the feedback on an answer", "change the feedback on an answer"),
    Action.SIGN_IN: ("signed in[ from {ip}]", "sign in"),
    Action.SIGN_IN_FAILED: ("could not sign in[ from {ip}]", "sign in"),
    Action.SIGN_OUT: ("signed out", "sign out"),
    Action.ACCESS_DENIED: ("tried something that the role does not allow", "do something that the role does not allow"),
    Action.STAFF_CREATED: ("created the account[ {account}]", "create the account[ {account}]"),
    Action.STAFF_CHANGED: ("changed the account[ {account}]", "change the account[ {account}]"),
    Action.STAFF_DISABLED: ("disabled the account[ {account}]", "disable the account[ {account}]"),
    Action.STAFF_ENABLED: ("enabled the account[ {account}]", "enable the account[ {account}]"),
    Action.SIGN_IN_THROTTLED: ("tried to sign in too often", "sign in"),
    Action.CODE_ASKED: ("gave the right password and was asked for a code", "ask for a code"),
    Action.SESSION_ENDED: ("ended a session[ on {browser}]", "end a session[ on {browser}]"),
    Action.SESSIONS_ENDED: ("ended all sessions[ of {account}]", "end all sessions[ of {account}]"),
    Action.PASSWORD_LINK: ("made a link to set a password[ for {account}]", "make a link to set a password"),
    Action.PASSWORD_CHANGED: ("changed the password", "change the password"),
    Action.SECOND_FACTOR_ADDED: ("set up a second factor", "set up a second factor"),
    Action.SECOND_FACTOR_REMOVED: ("removed the second factor[ of {account}]", "remove the second factor"),
    Action.RECOVERY_CODES_MADE: ("made new recovery codes", "make new recovery codes"),
    Action.RECOVERY_CODE_USED: ("signed in with a recovery code", "sign in with a recovery code"),
    Action.ACCESS_REVIEWED: ("reviewed who has access", "review who has access"),
    Action.ACCOUNTS_EXPORTED: ("exported the accounts of staff", "export the accounts of staff"),
    Action.PASSWORD_RESET: ("set a new password[ for {account}]", "set a new password[ for {account}]"),
    Action.COMPANIES_DISCOVERED: ("looked for companies in the tables", "look for companies in the tables"),
    Action.CONVERSATIONS_LOADED: ("loaded conversations from a file", "load conversations from a file"),
    Action.TENANT_CREATED: ("began to onboard the tenant", "begin to onboard the tenant"),
    Action.TENANT_ONBOARDED: ("onboarded the tenant", "onboard the tenant"),
    Action.TENANT_CHANGED: ("changed the tenant's settings[: {settings}]", "change the tenant's settings"),
    Action.TENANT_ACTIVATED: ("activated the tenant", "activate the tenant"),
    Action.TENANT_SUSPENDED: ("suspended the tenant[: {why}]", "suspend the tenant"),
    Action.TENANT_REACTIVATED: ("reactivated the tenant[: {why}]", "reactivate the tenant"),
    Action.TENANT_DISCARDED: ("discarded the tenant[: {why}]", "discard the tenant"),
    Action.USER_ADDED: ("added the user[ {user}]", "add the user[ {user}]"),
    Action.USER_CHANGED: ("changed the user[ {user}]", "change the user[ {user}]"),
    Action.USER_REMOVED: ("removed the user[ {user}]", "remove the user[ {user}]"),
    Action.CHANNEL_CLAIMED: ("added the channel[ {channel}]", "add the channel[ {channel}]"),
    Action.CHANNEL_COMPLETED: ("made the channel[ {channel}] findable", "make the channel[ {channel}] findable"),
    Action.CHANNEL_GUARDED: ("guarded the channel[ {channel}]", "guard the channel[ {channel}]"),
    Action.CHANNEL_MOVED: ("moved the channel[ {channel}]", "move the channel[ {channel}]"),
    Action.CHANNEL_RELEASED: ("released the channel[ {channel}]", "release the channel[ {channel}]"),
    Action.COMPANY_LINKED: ("linked the company[ {company}]", "link the company[ {company}]"),
    Action.COMPANY_UNLINKED: ("unlinked the company[ {company}]", "unlink the company[ {company}]"),
}
# The payload's keys for each placeholder; writers differ.
_FIELDS = {
    "team": ("team", "routed_team", "to_team", "destination_team", "destination", "to", "assignee", "queue"),
    "tag": ("tag", "tag_name", "tags", "name"),
    "colleague": COLLEAGUES,
    "receiver": ("colleague",),
    "account": ("username", "account", "name"),
    "browser": ("browser",),
    "ip": ("ip",),
    "why": ("reason",),
    "user": ("user",),
    "channel": ("channel",),
    "company": ("company",),
    # Older entries have only the id of the company.
    "levels": ("of", "company"),
    "conversation": ("tenant_conversation",),
    "stores": ("stores",),
    "list": ("list",),
    "state": ("state",),
    "saved_reply": ("saved_reply",),
    "saved_view": ("saved_view",),
    "group": ("group",),
    "moved": ("messages",),
    "settings": ("changed",),
    "destination": ("destination",),
}
# What was added or removed, if the payload of an action that also changes it says so.
_ADDED_OR_REMOVED: dict[str, str] = {
    Action.GROUP_CHANGED: "the group[ {group}]",
    Action.DESTINATION_CHANGED: "the destination[ {destination}]",
}
# Names of a tenant's settings in entries, and what the form calls them.
_setting_labels: dict[str, str] = {}
# Labels of actions whose words without their object are those of another action.
_LABELS: dict[str, str] = {
    Action.HAND_OFF_ACKNOWLEDGE: "Accepted its return to the AI",
    Action.HAND_OFF_ASSIGN: "Transferred it to a colleague",
    Action.HAND_OFF_HAND_OVER: "Transferred it to a group",
}
_FALLBACKS = {"colleague": "a colleague"}
_CHANNELS = {"whatsapp": "WhatsApp", "sms": "SMS"}
# Actions that are failures themselves: their words already say so.
_FAILURES = (Action.SIGN_IN_FAILED, Action.SIGN_IN_THROTTLED, Action.ACCESS_DENIED)
_TONES: dict[str, str] = {
    Action.AUTO_REPLY: "ai",
    Action.RP_REPLY: "ai",
    Action.HAND_OFF_HAND_BACK: "ai",
    Action.HAND_OFF_ACKNOWLEDGE: "ai",
    Action.HAND_OFF_LEAVE_TO_AI: "ai",
    Action.HAND_OFF_LEAVE: "ai",
    Action.TARGET_MISSED: "bad",
    Action.ESCALATE: "human",
    Action.SIGN_IN_FAILED: "bad",
    Action.SIGN_IN_THROTTLED: "bad",
    Action.ACCESS_DENIED: "bad",
    Action.MESSAGE_NOT_PLACED: "bad",
    Action.TENANT_SUSPENDED: "bad",
    Action.TENANT_DISCARDED: "bad",
}
# Sentences without a person.
_IMPERSONAL = {_PHRASES[Action.TARGET_MISSED][0]}
_ROUTING = ("reason", "intent", "confidence", "priority", "flags")
_REPLY = ("type", "reason", "intent", "confidence")
_TAGGING = ("reason", "intent", "confidence")
# The causes added to an action's sentence, in that order.
_CAUSES_OF: dict[str, tuple[str, ...]] = {
    Action.ROUTE: _ROUTING,
    Action.ESCALATE: _ROUTING,
    Action.RP_ASSIGN: _ROUTING,
    Action.AUTO_REPLY: _REPLY,
    Action.RP_REPLY: _REPLY,
    Action.TAG: _TAGGING,
    Action.RP_TAG: _TAGGING,
    Action.SHOPIFY_LOOKUP: ("order", "found", "reason"),
}
# The payload's keys for each cause.
_CAUSES = {
    "reason": ("reason", "escalation_reason", "routing_reason", "cause"),
    "intent": ("intent", "primary_intent", "detected_intent"),
    "confidence": ("confidence", "routing_confidence"),
    "priority": ("priority",),
    "flags": ("flags", "risk_flags", "risks"),
    "type": ("type", "reply_type", "template", "template_id"),
    "order": ("order", "order_id", "order_number"),
    "found": ("found",),
}


def register_settings(labels: Mapping[str, str]) -> None:
    """Register what forms call a tenant's settings, by their stored names. The app calls this once at start-up."""
    _setting_labels.update(labels)


def sentence(action: str, who: str, outcome: str, payload: Any) -> str:
    """Describe an entry: "Amira Haddad took over", "Routed to Returns team: reschedule, 56 %", "Tried to tag vip".

    `payload` is the redacted payload; `who` is "" for a service without a name.
    """
    done, attempted = _PHRASES.get(action, ("", ""))
    if not done:
        words = _unnamed(action)
        return f"{who}: {words}" if who else capfirst(words)
    fields = payload if isinstance(payload, dict) else {}
    if (what := _ADDED_OR_REMOVED.get(action)) and (fields.get("added") or fields.get("deleted")):
        verb = "remove" if fields.get("deleted") else "add"
        done, attempted = f"{verb.removesuffix('e')}ed {what}", f"{verb} {what}"
    if outcome in (Result.CONFLICT, Result.FAILED) and action not in _FAILURES:
        words = f"tried to {_fill(attempted, fields)}"
    elif outcome == UNDONE:
        words = f"began to {_fill(attempted, fields)}, then undid it"
    elif outcome == Result.PENDING:
        words = f"is about to {_fill(attempted, fields)}" if who else f"about to {_fill(attempted, fields)}"
    else:
        words = _fill(done, fields)
    if causes := dict.fromkeys(cause for kind in _CAUSES_OF.get(action, ()) for cause in _causes(kind, fields)):
        words += f"{', ' if ': ' in words else ': '}{', '.join(causes)}"
    return f"{who} {words}" if who and words not in _IMPERSONAL else capfirst(words)


# Pages have all that there are to choose from, and each takes as long as a sentence.
@lru_cache(maxsize=512)
def label_of(action: str) -> str:
    """Return an action type in words, as a choice's label: "Took over", "Shopify lookup"."""
    words = _LABELS.get(action) or (_fill(_PHRASES[action][0], {}) if action in _PHRASES else _unnamed(action))
    return capfirst(words)


def tone(action: str, outcome: str) -> str:
    """Return the tone of an entry's mark: bad for a failure, pending for an open one, else that of who acts now."""
    if outcome == Result.PENDING:
        return "pending"
    if outcome in (Result.CONFLICT, Result.FAILED):
        return "bad"
    return _TONES.get(action) or ("human" if action.startswith(HAND_OFF_PREFIX) else "")


def _unnamed(action: str) -> str:
    return action.replace("_", " ").replace(".", ": ").strip() or "did something that the entry does not name"


def _fill(phrase: str, payload: dict[str, Any]) -> str:
    start, bracket, rest = phrase.partition("[")
    if not bracket:
        return phrase
    part, _, end = rest.partition("]")
    before, _, inner = part.partition("{")
    name, _, after = inner.partition("}")
    if name == "settings":
        names = text_of(payload.get("changed") or "").split(", ")
        payload = {"changed": ", ".join(_setting_labels.get(each, each) for each in names)}
    value = next((words for field in _FIELDS[name] if (words := _words(payload.get(field)))), "")
    if name == "channel":
        value = _CHANNELS.get(value, value)
    value = value or _FALLBACKS.get(name, "")
    return f"{start}{before}{value}{after}{end}" if value else f"{start}{end}".strip()


def _words(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(text_of(each) for each in value[:5] if not isinstance(each, dict | list))
    if value is None or isinstance(value, bool | dict):
        return ""
    return isolated(text_of(value)[:MAX_WORDS])


def _causes(kind: str, payload: dict[str, Any]) -> list[str]:
    value = next((payload[name] for name in _CAUSES[kind] if payload.get(name) not in (None, "", [])), None)
    match kind:
        case "confidence":
            share = share_of(value)
            words = [per_cent(share)] if share is not None else []
        case "priority":
            text = _plain_words(value)
            words = [text if not text or "priority" in text.lower() else f"{text} priority"]
        case "flags":
            words = [_plain_words(each) for each in (value if isinstance(value, list) else [value])[:MAX_FLAGS]]
        case "found":
            words = [{True: "found", False: "not found"}[value]] if isinstance(value, bool) else []
        case "order" | "type" if isinstance(value, int) and not isinstance(value, bool):
            words = [redact(text_of(value))]
        case _:
            words = [_plain_words(value)]
    return [each for each in words if each]


def _plain_words(value: Any) -> str:
    return isolated(format_code_name(text_of(value).strip())[:MAX_WORDS]) if isinstance(value, str) else ""
