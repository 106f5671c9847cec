"""Services that open a conversation: authorised when loaded, and recorded before shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from console import clock
from console.audit.queries import hand_off_entries
from console.audit.records import HandOffEntry
from console.audit.state import StatePanel, read_state, read_switches
from console.errors import ConsoleError, NotFound, TableMissing
from console.lookups.personal_searches import count_reveal
from console.permissions import Permission, Staff
from console.redaction import cut, excerpt, without_names
from console.refs import unseal
from console.store.calls import parallel, table_name
from console.store.connection import call
from console.store.models import plain
from console.trail.actions import Action
from console.trail.recording import (
    Actor,
    NoTrail,
    TrailEntry,
    conversation_trail,
    record,
    record_once_an_hour,
)
from console.trees import spelled_out
from conversations.conversation.reply_box import may_reply
from conversations.conversation.timeline.lines import LineKind
from conversations.conversation.timeline.reading import Timeline, read_timeline
from conversations.conversation.updates import replies_known
from conversations.converting import hand_off_of, is_gone, names_of
from conversations.finding.queries import load_row
from conversations.handoff.full_items import is_nearly_full
from conversations.lists.looking_up import REVEALED
from conversations.messages.facts import redact_and_mask
from conversations.messages.message import StoredMessages
from conversations.messages.older_messages import messages_in, read_older
from conversations.messages.transcript import HandOffHistory, story_of
from conversations.models import Conversation
from conversations.outbox.at_work import PlatformWork, may_still_answer, work_on
from conversations.outbox.replying import AnswerChannel, Revealed, answer_of, reveal_recipient
from conversations.outbox.rows import MARKS, OTHER, joined, may_have_replies, messages_of, rows_only_in_messages
from conversations.queue.presence import note_seen
from conversations.receiving.opt_outs import is_opted_out
from conversations.receiving.other_conversations import words_in
from conversations.receiving.to_place import MessageToPlace, messages_for
from conversations.records import HandOff, Message, agent_shown


@dataclass(frozen=True, slots=True)
class OpenedConversation:
    """A conversation opened by one person. `is_raw`: recorded, and the role may read it without redaction.

    `is_full`: its item has too little room for the next write. `trail_notice` says what could not be read from the
    trail. `said_elsewhere` is what the customer said in other conversations with the same number.
    """

    reference: str
    item: Conversation
    stored: StoredMessages
    hand_off: HandOff
    story: HandOffHistory
    state: StatePanel
    now: datetime
    is_recorded: bool
    is_raw: bool
    is_full: bool = False
    trail_notice: str = ""
    replies_known: str = ""
    to_place: tuple[MessageToPlace, ...] = ()
    work: PlatformWork = field(default_factory=PlatformWork)
    said_elsewhere: Sequence[Message] = ()
    # Whether the customer wants no more messages, for who may reply
    is_opted_out: bool = False

    @property
    def heard_at(self) -> datetime | None:
        """When the customer last wrote, whether to people or to the AI; None if that is unknown."""
        return max(filter(None, (self.stored.last_by_customer, self.work.heard_at)), default=None)


def load_conversation(reference: str, staff: Staff) -> Conversation:
    """Load the conversation of a sealed reference, without its messages.

    One strongly consistent GetItem. Raises `Forbidden` (role), `NotFound` (alike for a bad reference, a missing item,
    and one past its TTL or out of scope), and the store's errors.
    """
    return _load(reference, staff)[0]


def load_with_messages(reference: str, staff: Staff) -> tuple[Conversation, StoredMessages]:
    """Load a conversation and its messages. Another Query if some may be apart. Raises as `load_conversation`."""
    item, messages = _load(reference, staff)
    return item, messages_of(item, messages, names_of(item))


def _load(reference: str, staff: Staff) -> tuple[Conversation, dict[str, Any] | None]:
    staff.require(Permission.CONVERSATION_READ)
    primary_channel, conversation_id = unseal("conversation", reference, 2)
    answer = call(
        "GetItem",
        TableName=table_name("CONVERSATIONS"),
        Key={"primary_channel": {"S": primary_channel}, "conversation_id": {"S": conversation_id}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    raw = dict(answer.get("Item") or {})
    if not raw:
        raise NotFound
    # Parsing thousands of messages costs more than everything else, so each is only parsed when it is shown.
    messages = raw.pop("messages", None)
    item = Conversation.from_raw_data(raw)
    if is_gone(item, clock.now()) or not staff.scope.covers_company(item.company_id):
        raise NotFound
    return item, messages


def open_conversation(reference: str, staff: Staff, *, with_state: bool = True) -> OpenedConversation:
    """Open a conversation to read it, and record that in the trail.

    One GetItem; then, in parallel, the new entry, the trail, the messages stored apart or moved and, `with_state`, the
    state and the switches; then what is staged, if the platform is at work. The entry (one for each person,
    conversation and hour) is written before anything is returned. If that fails, this raises; without a trail table,
    everything is redacted. Raises as `load_conversation` does.
    """
    item, messages = _load(reference, staff)
    now = clock.now()
    hand_off = hand_off_of(item)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    work: list[Callable[[], Any]] = [partial(_record_opened, item, staff, raw=may_see), partial(_hand_offs, item)]
    if with_state:
        work += [partial(read, item.conversation_id, now) for read in (read_state, read_switches)]
    work += [
        partial(rows_only_in_messages, item, messages, staged=True),
        partial(read_older, item.raw),
        partial(messages_for, item, staff),
    ]
    if answers := may_reply(item, staff):
        work.append(partial(is_opted_out, item))
    # What has no answer yet stays marked as new where answers are given here.
    if hand_off.agent == staff.username and not (answers and StoredMessages.of(messages).first_unanswered):
        work.append(partial(note_seen, staff.username, reference))
    results: list[Any] = parallel(*work)
    entries, notice = results[1]
    beside, older, to_place, *rest = results[4:] if with_state else results[2:]
    stored = joined(item, messages_in(item.raw, messages, older, names_of(item)), beside)
    is_raw = results[0] and may_see
    is_said_elsewhere = any(row.direction == OTHER for row in beside)
    return OpenedConversation(
        reference=reference,
        item=item,
        stored=stored,
        # Polls look for the same.
        replies_known=replies_known(beside) if may_have_replies(item) else "",
        to_place=to_place,
        work=work_on(item, stored, beside),
        hand_off=hand_off,
        story=story_of(entries, hand_off, staff.username),
        state=replace(without_names(results[2], names_of(item)), switches=results[3]) if with_state else StatePanel(),
        now=now,
        is_recorded=results[0],
        is_raw=is_raw,
        said_elsewhere=words_in(beside, item, raw=is_raw) if is_said_elsewhere else (),
        is_opted_out=answers and rest[0],
        is_full=is_nearly_full(item.raw | ({"messages": messages} if messages else {})),
        trail_notice=notice,
    )


def _record_opened(item: Conversation, staff: Staff, *, raw: bool) -> bool:
    """Record that a transcript was opened. Return False if there is no trail, so nothing may be shown raw."""
    payload = {"shown": "raw" if raw else "redacted"}
    try:
        record_once_an_hour(_entry(item, staff, Action.TRANSCRIPT_OPENED, payload))
    except TableMissing:
        return False
    return True


def _entry(item: Conversation, staff: Staff, action: Action, payload: dict[str, Any]) -> TrailEntry:
    return TrailEntry(
        trail=conversation_trail(item.conversation_id),
        action=action,
        actor=Actor.of(staff),
        company_id=item.company_id or "",
        payload=payload,
    )


def _hand_offs(item: Conversation) -> tuple[tuple[HandOffEntry, ...], str]:
    """Return the hand-off entries, and a notice if some or all could not be read."""
    try:
        entries, complete = hand_off_entries(item.conversation_id, item.company_id or "")
    except ConsoleError:
        return (), "The trail could not be read just now: only hand-offs stored with the conversation are shown."
    names = names_of(item)
    entries = tuple(replace(entry, reason=without_names(entry.reason, names)) for entry in entries)
    return entries, "" if complete else "Only the latest hand-offs are shown. Earlier ones are in the trail."


def reveal(reference: str, staff: Staff) -> tuple[Conversation, AnswerChannel, Revealed, bool]:
    """Count and record a reveal, then return the item, how this person answers, and the recipient in full.

    Also whether the AI may still answer.

    Raises as `load_conversation` does, `Forbidden` without the permission, `TooManyAttempts` after too many in a day,
    and `NoTrail`.
    """
    staff.require(Permission.PII_REVEAL)
    item, messages = _load(reference, staff)
    beside = rows_only_in_messages(item, staged=True)
    answer = answer_of(item, staff, joined(item, StoredMessages.of(messages), beside).last_by_customer, clock.now())
    shown = reveal_recipient(item)
    fields = [name for name in ("number", "email", "name") if getattr(shown, name)]
    entry = _entry(item, staff, Action.RECIPIENT_REVEALED, {"fields": fields})
    count_reveal(staff, entry)
    try:
        record(entry)
    except TableMissing as missing:
        raise NoTrail(*REVEALED) from missing
    return item, answer, shown, may_still_answer(item, beside)


def open_raw(reference: str, staff: Staff) -> tuple[Conversation, str]:
    """Return the whole item as JSON text without personal data and credentials; recorded as opened redacted."""
    staff.require(Permission.SYSTEM_READ)
    item, messages = _load(reference, staff)
    _record_opened(item, staff, raw=False)
    whole = {name: item.plain(name) for name in item.raw}
    if messages is not None:
        whole["messages"] = plain(messages)
    if isinstance(agent := whole.get("hand_off_agent"), str):
        whole["hand_off_agent"] = agent_shown(agent)
    shown = without_names(redact_and_mask(whole), names_of(item))
    text = json.dumps(shown, indent=2, ensure_ascii=False, sort_keys=True, default=str)
    return item, spelled_out(text)


def timeline(
    reference: str, staff: Staff, kinds: Sequence[LineKind], cursor: str = "", at: str = ""
) -> tuple[Conversation, Timeline]:
    """Read one page of a conversation's timeline. A page with messages is recorded as a transcript opened.

    Raises as `load_conversation` does, and `Forbidden` without `audit:read`.
    """
    staff.require(Permission.AUDIT_READ)
    item, messages = _load(reference, staff)
    stored = messages_of(item, messages, names_of(item))
    record_opened = partial(_record_opened, item, staff, raw=staff.can(Permission.TRANSCRIPT_RAW))
    return item, read_timeline(item, stored, staff, kinds, record_opened=record_opened, cursor=cursor, at=at)


# Maximum characters shown in a row; the conversation's page has the whole message.
RAW_LENGTH = 280


@dataclass(frozen=True, slots=True)
class LastMessage:
    """The last message for a row, redacted unless the role may read transcripts. `text` is "" for none."""

    text: str
    speaker: str = ""
    at: datetime | None = None


def last_message(reference: str, staff: Staff) -> LastMessage:
    """Load the last message for a list row. One GetItem, and a trail entry for roles that read transcripts.

    The entry is written before the text is returned; without a trail everybody gets the redacted excerpt. Raises
    `NotFound` (absent, past its TTL or out of scope) and the store's errors.
    """
    item = load_row(reference, staff, "messages", *MARKS)
    stored = messages_of(item, item.raw.get("messages"))
    if not len(stored):
        return LastMessage("")
    message = stored.message(len(stored), raw=True)
    if staff.can(Permission.TRANSCRIPT_RAW) and _record_opened(item, staff, raw=True):
        return LastMessage(cut(message.line, RAW_LENGTH), message.speaker_name, message.at)
    return LastMessage(excerpt(message.line, names=names_of(item)), message.speaker_name, message.at)
