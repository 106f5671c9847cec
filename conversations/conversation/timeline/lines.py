"""Timeline lines, redacted: from a message, an entry of the trail, an idempotency record or a dated fact."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from console import clock
from console.audit.events.keys import decode
from console.audit.records import TrailRow
from console.audit.state import StateMoment, first_processed_at, words_of
from console.redaction import MARGIN, beginning_of, redact, redact_value, without_names
from console.redaction.masks import cut
from console.refs import keyed_digest, seal
from console.trail.actions import HAND_OFF_PREFIX, outcome
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trees import Node, clean, text_of, tree_of, well_formed
from conversations.messages.content import SHOWN
from conversations.messages.message import StoredMessages
from conversations.messages.transcript import HandOffChange
from conversations.records import HandOffState, Speaker

EXCERPT = 160
_SPEAKER_TONES = {Speaker.AI: "ai", Speaker.HUMAN: "human"}


class LineKind(StrEnum):
    """What a line shows. The values are part of addresses."""

    MESSAGE = "message"
    HAND_OFF = "hand-off"
    ACTION = "action"
    RECORD = "record"
    STATE = "state"


KIND_WORDS = {
    LineKind.MESSAGE: "Messages",
    LineKind.HAND_OFF: "Hand-off",
    LineKind.ACTION: "Actions",
    LineKind.RECORD: "Idempotency",
    LineKind.STATE: "State",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `at` is None if its time cannot be read; `anchor` is its permanent name, in letters.

    `words` describe the event, `who` is muted next to them, `text` is one line of a message or note. `message`, `entry`
    and `record` lead to the original: the anchor of a message, the sealed references of an entry and a record. `place`
    is the sealed place at which a page begins with this line.
    """

    kind: LineKind
    at: datetime | None
    anchor: str
    words: str
    who: str = ""
    text: str = ""
    tone: str = ""
    outcome: str = ""
    action: str = ""
    key: str = ""
    key_record: str = ""
    payload: Node | None = None
    drift: tuple[str, ...] = ()
    message: str = ""
    entry: str = ""
    record: str = ""
    place: str = ""

    @property
    def kind_word(self) -> str:
        """The kind in the singular."""
        return _ONE[self.kind]


_ONE = {
    LineKind.MESSAGE: "message",
    LineKind.HAND_OFF: "hand-off",
    LineKind.ACTION: "action",
    LineKind.RECORD: "idempotency",
    LineKind.STATE: "state",
}


def of_message(stored: StoredMessages, number: int, *, raw: bool) -> Line:
    """Show a message as one line, redacted unless `raw`."""
    # Raw first: a number that is split over lines or parts can only be masked once it is on one line.
    message = stored.message(number, raw=True, whole=False)
    text = message.line
    if not raw:
        # Of a long message, the end of its beginning may be part of a number.
        text = without_names(beginning_of(text, SHOWN - MARGIN if message.left_out else len(text)), stored.names)
    return Line(
        kind=LineKind.MESSAGE,
        at=message.at,
        anchor=f"m-{message.anchor}",
        words=message.speaker_name,
        who=" · ".join((f"message {number}", *message.notes)),
        text=cut(text, EXCERPT) or "no text",
        tone=_SPEAKER_TONES.get(message.speaker, ""),
        drift=message.drift if raw else tuple(redact(flaw) for flaw in message.drift),
        message=message.anchor,
    )


def of_entry(entry: AuditEntry, row: TrailRow) -> Line:
    """Show an entry of the trail; `row` is its row in the trail."""
    return Line(
        kind=LineKind.HAND_OFF if is_hand_off(entry) else LineKind.ACTION,
        at=row.at,
        anchor=_anchor("e", text_of(entry.plain("ts_action_id"))),
        words=row.sentence,
        who=row.role or row.who,
        text=row.note,
        tone=row.tone,
        outcome="" if row.outcome == "success" else row.outcome,
        action=row.action,
        key=row.key,
        key_record=row.record,
        payload=row.payload,
        drift=row.drift,
        entry=row.reference,
    )


def is_hand_off(entry: AuditEntry) -> bool:
    """Return whether an entry belongs to the hand-off."""
    action = entry.plain("action_type")
    return isinstance(action, str) and action.startswith(HAND_OFF_PREFIX)


def of_record(record: IdempotencyRecord) -> Line:
    """Show an idempotency record: the meaning of its key, and all of its attributes."""
    key, conversation = text_of(record.plain("event_id")), record.plain("conversation_id")
    decoded = decode(key, conversation if isinstance(conversation, str) else "")
    status, mode = _text(record, "status") or "unknown", _text(record, "mode")
    own = ("event_id", "conversation_id", "reference")
    facts = {clean(name): record.plain(name) for name in sorted(record.raw) if name not in own}
    at = first_processed_at(record)
    drift = [f"{name}: {what}" for name, what in sorted(record.drift.items())]
    return Line(
        kind=LineKind.RECORD,
        at=at,
        anchor=_anchor("r", key),
        words=decoded.meaning,
        who=words_of(mode),
        # The tag or team; the conversation and the message are shown elsewhere.
        text=decoded.between,
        tone={"failed": "bad", "pending": "pending", "conflict": "bad"}.get(outcome(status), ""),
        outcome="" if status == "processed" else status[:40],
        key=decoded.shown,
        payload=tree_of(redact_value(well_formed(facts))),
        drift=(*drift, *(() if at else ("its time cannot be read",))),
        record=seal("event", key),
    )


def of_state(moment: StateMoment) -> Line:
    """Show a dated fact of the middleware's state."""
    return Line(
        kind=LineKind.STATE,
        at=moment.at,
        anchor=f"s-{moment.name}",
        words=moment.words,
        who="Middleware",
        text=moment.note,
        drift=() if moment.at else ("its time cannot be read",),
    )


def of_event(event: HandOffChange) -> Line:
    """Show a hand-off that is known from the conversation, without an entry."""
    return Line(
        kind=LineKind.HAND_OFF,
        at=event.at,
        anchor=_anchor("h", f"{event.state} {clock.to_iso(event.at)}"),
        words=event.text,
        who="" if event.actor else "Platform",
        text=event.detail,
        tone="ai" if event.state is HandOffState.AI else "human",
    )


def _text(record: IdempotencyRecord, name: str) -> str:
    value = record.plain(name)
    return "" if value is None else redact(text_of(value))[:120]


def _anchor(prefix: str, identity: str) -> str:
    """Return a keyed anchor, because keys of records contain phone numbers."""
    return f"{prefix}-{keyed_digest(clean(identity))[:16]}"
