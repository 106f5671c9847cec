"""The hand-off panel: who has the conversation, what this person may do, and what has changed."""

from dataclasses import dataclass, replace
from datetime import datetime

from console import clock
from console.context import read_only_reason
from console.permissions import Permission, Staff
from console.redaction import redact
from console.refs import is_digest_of, keyed_digest
from console.trees import text_of
from conversations.attention.causes import Cause, causes_of
from conversations.handoff import HandOffAction, allowed_actions, intent_for, seal_intent
from conversations.handoff.actions import GIVES
from conversations.handoff.stored import ROUTING_BEFORE, RULE, SWITCH, goes_to_people, has_inbound_source
from conversations.messages import StoredMessages
from conversations.models import Conversation
from conversations.queries import load_row
from conversations.reading import hand_off_of, words
from conversations.receiving.rows import MARKS, can_leave, latest_replies, messages_of
from conversations.records import Family, HandOff, HandOffState, family_of
from conversations.replying import AnswerChannel, answer_of


@dataclass(frozen=True, slots=True)
class Button:
    """One action of the panel: `token` is the sealed intent of its form, `key` its keyboard shortcut."""

    action: str
    label: str
    token: str
    key: str = ""
    primary: bool = False
    requires_reason: bool = False
    asks_note: bool = False
    hint: str = ""
    # The reason that its form submits without asking.
    reason: str = ""

    @property
    def asks_first(self) -> bool:
        """Whether its shortcut asks first: a key is easily hit, and the conversation may then go to somebody else."""
        return self.action == HandOffAction.HAND_BACK


@dataclass(frozen=True, slots=True)
class Panel:
    """The content of the panel. `holds`: the person has the conversation and sees how to answer.

    `why` says why people have it; `is_silent`: the customer's messages go to people, so the AI does not answer.
    """

    title: str
    state: HandOffState
    lines: tuple[str, ...]
    reason: str
    note: str
    holds: bool
    forgotten: bool
    buttons: tuple[Button, ...]
    taken_at: datetime | None = None
    why: str = ""
    is_silent: bool = False
    # Whether the person may give the conversation to a colleague or a group.
    gives: bool = False
    is_urgent: bool = False

    @property
    def asks_note(self) -> bool:
        """Whether a note can be left with one of the buttons."""
        return any(button.asks_note for button in self.buttons)


# The reason of a take-over that undoes a hand-back.
UNDONE = "The hand-back was undone."
_LABELS = {
    HandOffAction.REQUEST: "Ask for a human",
    HandOffAction.TAKE_OVER: "Take over",
    HandOffAction.TAKE: "Take",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Take from {agent}",
    HandOffAction.RELEASE: "Release",
    HandOffAction.HAND_BACK: "Hand back to the AI",
    HandOffAction.ACKNOWLEDGE: "Leave it with the AI",
    HandOffAction.LEAVE_TO_AI: "Let the AI answer",
    HandOffAction.MARK_URGENT: "Mark as urgent",
    HandOffAction.MARK_NOT_URGENT: "Not urgent",
    HandOffAction.LEAVE: "Leave it with the AI",
}
# Shorter, for rows.
_IN_ROWS = {
    HandOffAction.ACKNOWLEDGE: "Leave it",
    HandOffAction.LEAVE_TO_AI: "Let the AI try again",
    HandOffAction.LEAVE: "Leave it",
}
_HINTS = {
    HandOffAction.REQUEST: "Adds it to the queue for a human.",
    HandOffAction.TAKE_OVER: "You answer from now on. The AI is asked to stop.",
    HandOffAction.TAKE_FROM_COLLEAGUE: "Say why. Your colleague will see it, and it is recorded.",
    HandOffAction.RELEASE: "Back to the queue. The waiting time continues.",
    HandOffAction.HAND_BACK: "The AI continues from here.",
    HandOffAction.LEAVE_TO_AI: "The AI answers what the customer has written, and continues from there.",
    HandOffAction.MARK_URGENT: "Moves it to the front of the queue, before everything that is not urgent.",
    HandOffAction.LEAVE: "Takes it off Needs attention until something changes.",
    HandOffAction.ACKNOWLEDGE: "Accept that the platform gave it back to the AI.",
}
_KEYS = {
    HandOffAction.TAKE: "t",
    HandOffAction.TAKE_OVER: "t",
    HandOffAction.HAND_BACK: "r",
}


def panel_for(
    item: Conversation, hand_off: HandOff, staff: Staff, now: datetime, began: str = "", *, can_undo: bool = False
) -> Panel:
    """Build the panel of one conversation for one person. Each button seals a fresh action id.

    `began` says how people came to have it, from the trail ("" if it was not read). `can_undo`: this person has just
    given it to the AI, so taking it over again undoes that.
    """
    is_mine = hand_off.agent == staff.username
    actions = () if read_only_reason() else allowed_actions(hand_off, staff)
    gives = any(action in GIVES for action in actions)
    hidden = {*GIVES, HandOffAction.MARK_URGENT if hand_off.urgent else HandOffAction.MARK_NOT_URGENT}
    if not can_leave(item, hand_off):
        hidden.add(HandOffAction.LEAVE_TO_AI)
    if not item.hand_off_attention:
        hidden.add(HandOffAction.LEAVE)
    actions = tuple(action for action in actions if action not in hidden)
    return Panel(
        title=_title(hand_off, is_mine=is_mine),
        state=hand_off.state,
        lines=(*_lines(hand_off, now), *attention_lines(item, hand_off, now)),
        reason=hand_off.reason if hand_off.flag else "",
        # Free text between colleagues, only for those who may hand off (data model).
        note=hand_off.note if staff.can(Permission.HAND_OFF) else "",
        holds=holds(hand_off, staff),
        forgotten=is_forgotten(hand_off, now),
        buttons=tuple(_button(action, item, hand_off, staff, undoes=can_undo) for action in actions),
        taken_at=hand_off.taken_at,
        why=_why(item, hand_off, began),
        is_silent=goes_to_people(item.raw),
        gives=gives,
        is_urgent=bool(hand_off.urgent) and hand_off.state is not HandOffState.AI,
    )


def _why(item: Conversation, hand_off: HandOff, began: str) -> str:
    """Say why people have a conversation; "" if the AI has it or the reason is unknown."""
    if hand_off.state is HandOffState.AI:
        return ""
    if family_of(status := text_of(item.plain("conversation_status") or "")) is Family.FAILED:
        failure = redact(text_of(item.plain("failure_reason") or ""))[:200]
        return f"The platform could not answer: {failure or words(redact(status))}."
    if hand_off.reason.startswith(RULE):
        return "One of the project's rules sends this customer's replies to people."
    return f"{began}." if began else ""


def holds(hand_off: HandOff, staff: Staff) -> bool:
    """Return whether a person holds a conversation and the platform has not overridden them."""
    return hand_off.state is HandOffState.HELD and hand_off.agent == staff.username


def primary_button(item: Conversation, hand_off: HandOff, staff: Staff) -> Button | None:
    """Return the button of the usual action for a list row, or None if there is none or it needs a reason."""
    if read_only_reason():
        return None
    for action in allowed_actions(hand_off, staff):
        if _is_primary(action, hand_off, staff):
            return _button(action, item, hand_off, staff)
    return None


def attention_buttons(item: Conversation, hand_off: HandOff, staff: Staff) -> tuple[Button, ...]:
    """Return the extra buttons of a row that needs attention: leave it with the AI, or let the AI try again.

    A conversation that people hold has neither, because its holder answers.
    """
    is_left = hand_off.state is HandOffState.AI and bool(item.hand_off_attention)
    if read_only_reason() or not (is_left or hand_off.state is HandOffState.OVERRIDDEN):
        return ()
    wanted = [HandOffAction.LEAVE, HandOffAction.ACKNOWLEDGE]
    if can_leave(item, hand_off):
        wanted.append(HandOffAction.LEAVE_TO_AI)
    allowed = allowed_actions(hand_off, staff)
    return tuple(
        replace(_button(each, item, hand_off, staff), label=_IN_ROWS[each]) for each in wanted if each in allowed
    )


def _is_primary(action: HandOffAction, hand_off: HandOff, staff: Staff) -> bool:
    return action in (HandOffAction.TAKE, HandOffAction.TAKE_OVER) or (
        action is HandOffAction.HAND_BACK and hand_off.agent == staff.username
    )


def is_forgotten(hand_off: HandOff, now: datetime) -> bool:
    """Return whether somebody has held it for more than 12 hours, so most likely forgot it overnight."""
    return bool(hand_off.agent) and hand_off.taken_at is not None and (now - hand_off.taken_at).total_seconds() > 43_200


def _title(hand_off: HandOff, *, is_mine: bool) -> str:
    match hand_off.state:
        case HandOffState.AI:
            return "The AI has this conversation"
        case HandOffState.WAITING:
            return "Waiting for a human"
        case HandOffState.HELD:
            return "You have this conversation" if is_mine else f"{hand_off.agent_shown} has this conversation"
        case HandOffState.OVERRIDDEN:
            whose = "your" if is_mine else f"{hand_off.agent_shown}'s"
            return f"The platform overrode {whose} take-over"


def _lines(hand_off: HandOff, now: datetime) -> list[str]:
    lines = []
    if hand_off.state is HandOffState.OVERRIDDEN:
        lines.append(
            "The platform gave it back to the AI while a reply was being written. Take it over again, or leave "
            "it with the AI."
        )
    waited = hand_off.waited(now)
    if waited is not None and hand_off.state is not HandOffState.AI:
        at_least = "at least " if hand_off.wait_at_least else ""
        lines.append(f"The customer has waited {at_least}{clock.format_span(waited)}.")
    return lines


def attention_lines(item: Conversation, hand_off: HandOff, now: datetime) -> list[str]:
    """Return a sentence for each cause that needs attention; [] for none."""
    causes = causes_of(item.raw, now)
    if hand_off.state is not HandOffState.AI:
        return [_ATTENTION[each] for each in causes if each in _ATTENTION]
    since = clock.parse_instant(item.plain("hand_off_requested_at"))
    when = "" if since is None else f", for {clock.format_span(now - since)}"
    return [f"Needs attention: {each.label}{when}." for each in causes]


_ATTENTION = {
    Cause.REPLY_FAILED: "A reply did not reach the customer.",
    Cause.EXPIRING: "The conversation expires within a day. Then nobody can answer it any more.",
}


def _button(
    action: HandOffAction, item: Conversation, hand_off: HandOff, staff: Staff, *, undoes: bool = False
) -> Button:
    was_mine = hand_off.state is HandOffState.OVERRIDDEN and hand_off.agent == staff.username
    label, hint, undoes = _LABELS[action], _HINTS.get(action, ""), undoes and action is HandOffAction.TAKE_OVER
    if action is HandOffAction.TAKE_OVER and (was_mine or undoes):
        label = "Undo: take it back" if undoes else "Take over again"
    if action is HandOffAction.LEAVE_TO_AI and hand_off.state is HandOffState.AI:
        label, hint = "Let the AI try again", "The AI is asked once more to answer what the customer wrote."
    return Button(
        action=action.value,
        label=label.format(agent=hand_off.agent_shown) if "{" in label else label,
        token=seal_intent(intent_for(action, item, hand_off), staff),
        key=_KEYS.get(action, ""),
        primary=_is_primary(action, hand_off, staff),
        requires_reason=action is HandOffAction.TAKE_FROM_COLLEAGUE,
        asks_note=action in (HandOffAction.RELEASE, HandOffAction.HAND_BACK),
        hint=hint,
        reason=UNDONE if undoes else "",
    )


# The attributes that the panel needs in addition to a row's.
_OF_PANEL = (
    "hand_off_note",
    "channel_config",
    "failure_reason",
    "allowed_channels",
    "comms_consent",
    "recipient_tel",
    "recipient_email",
    *MARKS,
    SWITCH,
    ROUTING_BEFORE,
)
APART = "apart"
# How often an open page polls for updates. The holder's polls more often, because customers write to them. Each poll
# reads the item, which may be large.
POLL_SECONDS, HOLDER_POLL_SECONDS = 12, 4


@dataclass(frozen=True, slots=True)
class Updates:
    """The news for an open page. `since` is the page's next state, `messages` a count, `hand_off` a sentence.

    `panel` is set when the hand-off changed; `answer` and `item` then too, and for the holder also with new messages.
    `holds`: the person has it, so the page shows messages by itself. `heard_at` is when the customer last wrote.
    `changed`: the status of a reply changed.
    """

    since: str
    seconds: int
    holds: bool = False
    messages: int = 0
    hand_off: str = ""
    panel: Panel | None = None
    answer: AnswerChannel | None = None
    changed: bool = False
    item: Conversation | None = None
    heard_at: datetime | None = None


def poll_seconds(hand_off: HandOff, staff: Staff) -> int:
    """Return the seconds between the polls of this person's open page."""
    return HOLDER_POLL_SECONDS if holds(hand_off, staff) and has_inbound_source() else POLL_SECONDS


def since_of(item: Conversation, hand_off: HandOff, replies: str = "") -> str:
    """Return digests of what a page knows: the hand-off, the item's last change, and `replies` (see `replies_known`).

    A mark between them says whether messages are stored apart from the item.
    """
    digests = [keyed_digest(each)[:16] for each in _known(item, hand_off)]
    known = keyed_digest(replies)[:16] if replies else ""
    return "-".join([*digests, APART if item.hand_off_messages_apart else "", known])


def _known(item: Conversation, hand_off: HandOff) -> tuple[str, str]:
    return "\0".join((hand_off.state, hand_off.agent, hand_off.action_id)), str(item.plain("updated_at"))


def updates_of(reference: str, staff: Staff, since: str, shown: int | None) -> Updates | None:
    """Return the updates after `since` for a page that shows `shown` messages, or None if there are none.

    Without `shown`, messages are not counted. One GetItem without the messages, and a Query for the statuses of replies
    if there may be any. If anything changed, one GetItem with the messages, and a Query if some are stored apart.
    Raises as `load_row` does.
    """
    known_hand_off, known_change, apart, known_replies = (*since.split("-"), "", "", "", "")[:4]
    more = ("messages",) if apart and shown is not None else ()
    item = load_row(reference, staff, *_OF_PANEL, *more)
    hand_off = hand_off_of(item)
    state, change = _known(item, hand_off)
    replies = latest_replies(item)
    is_changed, has_come = not is_digest_of(known_hand_off, state), not is_digest_of(known_change, change)
    is_told = bool(known_replies) if not replies else not is_digest_of(known_replies, replies)
    if not is_changed and not has_come and not is_told:
        return None
    is_holder, counts, now = holds(hand_off, staff), shown is not None and (has_come or is_told), clock.now()
    stored = StoredMessages()
    if counts or (is_changed and is_holder):
        whole = item if more else load_row(reference, staff, "messages", *MARKS)
        stored = messages_of(whole, whole.raw.get("messages"))
    came = max(0, len(stored) - (shown or 0)) if counts else 0
    shows_answer = is_changed or (came > 0 and is_holder)
    return Updates(
        since=since_of(item, hand_off, replies),
        seconds=poll_seconds(hand_off, staff),
        holds=is_holder,
        messages=came,
        hand_off=_news(hand_off, staff) if is_changed and known_hand_off else "",
        panel=panel_for(item, hand_off, staff, now) if is_changed else None,
        answer=answer_of(item, staff, stored.last_by_customer, now) if shows_answer else None,
        changed=is_told,
        item=item if shows_answer else None,
        heard_at=stored.last_by_customer,
    )


def _news(hand_off: HandOff, staff: Staff) -> str:
    is_mine = hand_off.agent == staff.username
    match hand_off.state:
        case HandOffState.HELD:
            return "You took this conversation" if is_mine else f"{hand_off.agent_shown} took this conversation"
        case HandOffState.WAITING:
            return "This conversation waits for a human"
        case HandOffState.AI:
            return "The AI has this conversation again"
        case HandOffState.OVERRIDDEN:
            whose = "your" if is_mine else f"{hand_off.agent_shown}'s"
            return f"The platform overrode {whose} take-over"
