"""What is new for an open page of a conversation: who has it, what came, and what the platform is at."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.permissions import Staff
from console.refs import is_digest_of, keyed_digest
from conversations.attention.panel import Panel, holds, panel_for
from conversations.converting import hand_off_of
from conversations.finding.queries import load_row
from conversations.handoff.locked import is_locked
from conversations.handoff.stored import ROUTING_BEFORE, STATUS, SWITCH, has_inbound_source
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.outbox.at_work import may_still_answer, says_staged
from conversations.outbox.replying import AnswerChannel, answer_of
from conversations.outbox.rows import (
    MARKS,
    OTHER,
    TO_AWAIT,
    TO_CHECK,
    MessageRow,
    may_have_replies,
    messages_of,
    partition_of,
)
from conversations.outbox.states import OUTBOUND
from conversations.records import HandOff, HandOffState

# The attributes that the panel needs in addition to a row's.
_OF_PANEL = (
    STATUS,
    "hand_off_note",
    "hand_off_note_by",
    "hand_off_note_at",
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
APART, LOCKED = "apart", "locked"
# Number of a conversation's latest replies that may still change.
LATEST_REPLIES = 30
# How often an open page polls for updates. The holder's polls more often, because customers write to them. Each poll
# reads the item, which may be large.
POLL_SECONDS, HOLDER_POLL_SECONDS = 12, 4


@dataclass(frozen=True, slots=True)
class Updates:
    """The news for an open page. `since` is the page's next state, `messages` a count, `hand_off` a sentence.

    `panel` is set when the hand-off changed; `answer` and `item` then too, and for the holder also with new messages.
    `holds`: the person has it, so the page shows messages by itself. `heard_at` is when the customer last wrote.
    `changed`: the status of a reply changed, or the platform's work. `returning` is a panel of which only the return to
    the AI has changed, or whether the AI is silent.
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
    returning: Panel | None = None


def poll_seconds(hand_off: HandOff, staff: Staff) -> int:
    """Return the seconds between the polls of this person's open page."""
    return HOLDER_POLL_SECONDS if holds(hand_off, staff) and has_inbound_source() else POLL_SECONDS


def since_of(item: Conversation, hand_off: HandOff, replies: str = "") -> str:
    """Return digests of what a page knows: the hand-off, the item's last change, and `replies` (see `replies_known`).

    A mark between them says whether messages are stored apart from the item, one at the end whether the platform has
    locked it: the lock changes nothing but the status.
    """
    digests = [keyed_digest(each)[:16] for each in _known(item, hand_off)]
    known = keyed_digest(replies)[:16] if replies else ""
    return "-".join([*digests, APART if item.hand_off_messages_apart else "", known, _lock_of(item)])


def _lock_of(item: Conversation) -> str:
    return LOCKED if is_locked(item.raw) else ""


def _known(item: Conversation, hand_off: HandOff) -> tuple[str, str]:
    return "\0".join((hand_off.state, hand_off.agent, hand_off.action_id)), str(item.plain("updated_at"))


def updates_of(reference: str, staff: Staff, since: str, shown: int | None) -> Updates | None:
    """Return the updates after `since` for a page that shows `shown` messages, or None if there are none.

    Without `shown`, messages are not counted. One GetItem without the messages, and a Query for the statuses of replies
    if there may be any. If anything changed, one GetItem with the messages, and a Query if some are stored apart.
    Raises as `load_row` does.
    """
    known_hand_off, known_change, apart, known_replies, lock = (*since.split("-"), *[""] * 5)[:5]
    more = ("messages",) if apart and shown is not None else ()
    item = load_row(reference, staff, *_OF_PANEL, *more)
    hand_off = hand_off_of(item)
    state, change = _known(item, hand_off)
    rows = latest_replies(item)
    replies = replies_known(rows)
    is_changed, has_come = not is_digest_of(known_hand_off, state), not is_digest_of(known_change, change)
    is_told = bool(known_replies) if not replies else not is_digest_of(known_replies, replies)
    is_told = is_told or lock != _lock_of(item)
    if not is_changed and not has_come and not is_told:
        return None
    is_holder, counts, now = holds(hand_off, staff), shown is not None and (has_come or is_told), clock.now()
    stored = StoredMessages()
    if counts or (is_changed and is_holder):
        whole = item if more else load_row(reference, staff, "messages", *MARKS)
        stored = messages_of(whole, whole.raw.get("messages"))
    came = max(0, len(stored) - (shown or 0)) if counts else 0
    shows_answer = is_changed or (came > 0 and is_holder)
    panel = panel_for(
        item,
        hand_off,
        staff,
        now,
        stored=stored if is_holder else None,
        may_answer=may_still_answer(item, rows),
    )
    return Updates(
        since=since_of(item, hand_off, replies),
        seconds=poll_seconds(hand_off, staff),
        holds=is_holder,
        messages=came,
        hand_off=_news(hand_off, staff) if is_changed and known_hand_off else "",
        panel=panel if is_changed else None,
        returning=panel if counts and is_holder else None,
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


def replies_known(rows: Iterable[MessageRow]) -> str:
    """Return a fingerprint of a conversation's latest replies and words apart from it; "" for none."""
    latest = sorted(
        (row for row in rows if row.direction in (OUTBOUND, OTHER) or says_staged(row)), key=lambda row: row.position
    )
    states = [f"{row.position} {row.state} {row.retried_by}" for row in latest[-LATEST_REPLIES:]]
    return "\n".join(states)


def latest_replies(item: Conversation) -> list[MessageRow]:
    """Return the stored rows of `replies_known`. One Query where there may be any; raises the store's errors."""
    if not may_have_replies(item):
        return []
    rows = MessageRow.query(
        partition_of(item.primary_channel, item.conversation_id),
        filter_condition=MessageRow.direction.is_in(OUTBOUND, OTHER) | MessageRow.gsi_due.is_in(TO_CHECK, TO_AWAIT),
        scan_index_forward=False,
        limit=LATEST_REPLIES,
        consistent_read=True,
        attributes_to_get=["conversation", "position", "direction", "state", "retried_by", "gsi_due"],
    )
    return list(rows)
