"""Services that open a conversation or look a person up: authorised when loaded, and recorded before shown.

Also the reply box of the holder: whether it accepts text, over which channel, and until when.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from console import clock
from console.audit.queries import hand_off_entries
from console.audit.records import HandOffEntry
from console.audit.state import StatePanel, read_state, read_switches
from console.errors import ConsoleError, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.personal_searches import count_reveal, pseudonym_of
from console.redaction import cut, excerpt, without_names
from console.refs import unseal
from console.search.meanings import Meaning, MeaningKind
from console.search.service import Results, search
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
    record_once,
    record_once_an_hour,
    staff_trail,
)
from console.trees import spelled_out
from conversations.facts import redact_and_mask
from conversations.messages import StoredMessages
from conversations.models import Conversation
from conversations.panel import holds
from conversations.presence import note_seen
from conversations.queries import ConversationFilters, first_visible_row, load_row, of_recipient
from conversations.reading import hand_off_of, identifier_for, is_gone, names_of
from conversations.receiving.rows import MARKS, is_configured, joined, messages_of, replies_known, rows_only_in_messages
from conversations.records import HandOff, agent_shown
from conversations.replying import (
    MAX_CHARACTERS,
    AnswerChannel,
    Obstacle,
    ReplyFacts,
    Revealed,
    answer_of,
    channel_words,
    check_reply,
    explain_obstacle,
    reveal_recipient,
)
from conversations.sending.outbox import obstacles_in, seal_form
from conversations.sending.templates import CHANNEL, StoredTemplate, read_template
from conversations.timeline.lines import LineKind
from conversations.timeline.reading import Timeline, read_timeline
from conversations.transcript import HandOffHistory, story_of

# The arguments of `NoTrail` where a reveal needs a trail.
REVEALED = "Personal data can be shown", "you cannot reveal anything"


@dataclass(frozen=True, slots=True)
class OpenedConversation:
    """A conversation opened by one person. `is_raw`: recorded, and the role may read it without redaction.

    `trail_notice` says what could not be read from the trail.
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
    trail_notice: str = ""
    replies_known: str = ""


def load_conversation(reference: str, staff: Staff) -> Conversation:
    """Load the conversation of a sealed reference, without its messages.

    One strongly consistent GetItem. Raises `Forbidden` (role), `NotFound` (alike for a bad reference, a missing item,
    and one past its TTL or out of scope), and the store's errors.
    """
    return _load(reference, staff)[0]


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

    One GetItem; then, in parallel, the new entry, the trail, the messages stored apart and, `with_state`, the state and
    the switches. The entry (one for each person, conversation and hour) is written before anything is returned. If that
    fails, this raises; without a trail table, everything is redacted. Raises as `load_conversation` does.
    """
    item, messages = _load(reference, staff)
    now = clock.now()
    hand_off = hand_off_of(item)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    work: list[Callable[[], Any]] = [partial(_record_opened, item, staff, raw=may_see), partial(_hand_offs, item)]
    if with_state:
        work += [partial(read, item.conversation_id, now) for read in (read_state, read_switches)]
    work.append(partial(rows_only_in_messages, item))
    if hand_off.agent == staff.username:
        work.append(partial(note_seen, staff.username, reference))
    results: list[Any] = parallel(*work)
    entries, notice = results[1]
    beside = results[4] if with_state else results[2]
    return OpenedConversation(
        reference=reference,
        item=item,
        stored=joined(item, StoredMessages.of(messages, names_of(item)), beside),
        replies_known=replies_known(beside),
        hand_off=hand_off,
        story=story_of(entries, hand_off, staff.username),
        state=replace(results[2], switches=results[3]) if with_state else StatePanel(),
        now=now,
        is_recorded=results[0],
        is_raw=results[0] and may_see,
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


def reveal(reference: str, staff: Staff) -> tuple[Conversation, AnswerChannel, Revealed]:
    """Count and record a reveal, then return the item, how this person answers, and the recipient in full.

    Raises as `load_conversation` does, `Forbidden` without the permission, `TooManyAttempts` after too many in a day,
    and `NoTrail`.
    """
    staff.require(Permission.PII_REVEAL)
    item, messages = _load(reference, staff)
    answer = answer_of(item, staff, messages_of(item, messages).last_by_customer, clock.now())
    shown = reveal_recipient(item)
    fields = [name for name in ("number", "email", "name") if getattr(shown, name)]
    entry = _entry(item, staff, Action.RECIPIENT_REVEALED, {"fields": fields})
    count_reveal(staff, entry)
    try:
        record(entry)
    except TableMissing as missing:
        raise NoTrail(*REVEALED) from missing
    return item, answer, shown


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


HOUR = timedelta(hours=1)
# Where a person was looked up, as the trail names it.
ALL_STORES, CONVERSATIONS = "all stores", "conversations"


def record_lookup(recipient: str, staff: Staff, stores: str) -> None:
    """Record that somebody looked a person up in `stores`, under a keyed pseudonym, at most once an hour.

    A look-up in all stores counts as a reveal. Raises `TooManyAttempts`, `NoTrail`, and the store's errors.
    """
    person = pseudonym_of(recipient)
    payload = {"person": person, "stores": stores}
    entry = TrailEntry(staff_trail(staff.username), Action.PERSON_LOOKED_UP, Actor.of(staff), payload=payload)
    if stores == ALL_STORES:
        count_reveal(staff, entry)
    try:
        record_once(entry, person if stores == ALL_STORES else f"{stores}.{person}", HOUR)
    except TableMissing as missing:
        raise NoTrail(*REVEALED) from missing


def look_up(reference: str, staff: Staff) -> tuple[str, Results]:
    """Search every store that the person may read for a recipient; return the masked recipient and the results.

    The entry (one for each person, recipient and hour, in the person's own trail, under a keyed pseudonym) is written
    first and counts as a reveal. Raises `Forbidden` without `pii:reveal`, `NotFound` for a recipient without a
    conversation in scope, `TooManyAttempts`, `NoTrail`, and the store's errors before the search.
    """
    staff.require(Permission.CONVERSATION_READ)
    staff.require(Permission.PII_REVEAL)
    (recipient,) = unseal("recipient", reference, 1)
    if first_visible_row(of_recipient(recipient, ConversationFilters(), staff), staff) is None:
        raise NotFound
    record_lookup(recipient, staff, ALL_STORES)
    kind = MeaningKind.EMAIL if "@" in recipient else MeaningKind.PHONE
    return identifier_for(recipient, staff), search([Meaning(kind, recipient)], staff)


# --- The reply box ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReplyBox:
    """The reply box of the holder of a conversation.

    `token` is the sealed form, `limit` the maximum of characters, `until` when free text is no longer accepted.
    `obstacles` are sentences about what prevents any reply, `warnings` about what does not. With `template`, only that
    can be sent; `values` fill its blanks. `typed` is the text so far; `draft_key` encrypts the draft in the browser.
    """

    token: str
    channel: str
    limit: int
    counts_parts: bool
    until: datetime | None
    obstacles: tuple[str, ...]
    warnings: tuple[str, ...]
    template: StoredTemplate | None
    draft_key: str
    typed: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def blanks(self) -> list[tuple[str, str, str]]:
        """The blanks of the template as (name, example, value)."""
        template = self.template.template if self.template else None
        return [
            (name, each, self.values.get(name, "")) for name, each in (template.variables if template else {}).items()
        ]

    @property
    def undo_seconds(self) -> int:
        """How many seconds a reply can be taken back."""
        return max(0, int(settings.REPLY_UNDO_SECONDS))


def reply_box(
    item: Conversation, staff: Staff, heard_at: datetime | None, now: datetime, typed: str = ""
) -> ReplyBox | None:
    """Return a person's reply box; None if they do not hold the conversation or replies are not configured.

    `heard_at` is when the customer last wrote. One GetItem if only a template can be sent; raises the store's errors.
    """
    if not is_configured() or not holds(hand_off_of(item), staff):
        return None
    facts = ReplyFacts.of(item, heard_at)
    found, channel = obstacles_in(facts, now, None), channel_words(item)
    if facts.channel not in MAX_CHARACTERS:
        found = (Obstacle.LENGTH,)
    hard = tuple(explain_obstacle(each, channel) for each in found if each is not Obstacle.WINDOW)
    is_closed = Obstacle.WINDOW in found
    warnings = (
        [explain_obstacle(Obstacle.CONSENT, channel)] if not facts.has_consent and Obstacle.CONSENT not in found else []
    )
    return ReplyBox(
        token=seal_form(item.primary_channel, item.conversation_id, staff),
        channel=channel,
        limit=MAX_CHARACTERS.get(facts.channel, 0),
        counts_parts=facts.channel == "sms",
        until=None if is_closed else check_reply(facts, now).until,
        obstacles=hard,
        warnings=tuple(warnings),
        template=read_template(facts.credentials) if is_closed and not hard and facts.channel == CHANNEL else None,
        draft_key=_draft_key(item, staff),
        typed=typed,
    )


def _draft_key(item: Conversation, staff: Staff) -> str:
    """Return a key, 64 hex digits, for this person's drafts in this conversation. It never leaves their pages."""
    about = "\n".join((staff.username, item.primary_channel, item.conversation_id))
    return salted_hmac("reply draft", about, algorithm="sha256").hexdigest()
