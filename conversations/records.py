"""Records of conversations for views and templates: frozen, and already redacted for their reader."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from console.redaction import mask_identifier, redact
from console.staff.accounts import USERNAME
from console.staff.colleagues import name_of
from console.trees import Node


class HandOffState(StrEnum):
    """Who has the conversation."""

    AI = "ai"
    WAITING = "waiting"
    HELD = "held"
    OVERRIDDEN = "overridden"

    @classmethod
    def of(cls, flag: bool, agent: str) -> "HandOffState":
        """Return the state for a flag and a holder ("" for none).

        Overridden: somebody holds it, but the platform wrote the flag back to false. After a hand-back, a flag that is
        true again cannot be told from a new request, so the conversation waits.
        """
        if flag:
            return cls.HELD if agent else cls.WAITING
        return cls.OVERRIDDEN if agent else cls.AI


def agent_shown(agent: str) -> str:
    """Return a stored holder for display: a username redacted, a name or address from another writer masked."""
    return redact(agent) if USERNAME.fullmatch(agent) else mask_identifier(agent)


def name_shown(agent: str) -> str:
    """Return the display name of a stored holder: a colleague's name; masked if it is not a username."""
    return name_of(agent) if USERNAME.fullmatch(agent) else mask_identifier(agent)


@dataclass(frozen=True, slots=True)
class HandOff:
    """The hand-off of one conversation as stored (docs/hand-off.md).

    `flag` is only true for a true value. `requested_at` and `taken_at` are instants; `wait_at_least`: the platform
    stored no time, so the wait is counted from its last update. `reason` is redacted. `action_id` is the last action
    ("" for none), which the next write requires unchanged.
    """

    state: HandOffState
    flag: bool
    agent: str = ""
    reason: str = ""
    requested_at: datetime | None = None
    wait_at_least: bool = False
    taken_at: datetime | None = None
    note: str = ""
    note_by: str = ""
    note_at: datetime | None = None
    action_id: str = ""
    urgent: str = ""
    group: str = ""

    @property
    def agent_shown(self) -> str:
        """The holder's name as pages show it."""
        return name_shown(self.agent)


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """One row of a list. `who` is the customer as the reader may see them (`customer_of`): `***-***-4821`, or more.

    `reference` is sealed; `drift` names the flaws of the item.
    """

    reference: str
    who: str
    company_id: str
    company_name: str
    project_id: str
    project_name: str
    channel: str
    status: str
    created_at: datetime | None
    updated_at: datetime | None
    hand_off: HandOff
    short_id: str
    drift: tuple[str, ...] = ()
    # Why it needs attention, as stored, if the AI has it.
    attention: str = ""


class Speaker(StrEnum):
    """Who wrote a message."""

    CUSTOMER = "customer"
    AI = "ai"
    HUMAN = "human"
    SYSTEM = "system"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a message. `kind`: text, code, image, tool_use, tool_result, function_call, data (unknown: a tree).

    `text` is already redacted for readers who must not see it raw; `quoted` is what an email quotes below it. `data` is
    a tree, or the `Picture` of an image that can be loaded.
    """

    kind: str
    text: str = ""
    label: str = ""
    data: Any = None
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image stored elsewhere. The browser loads it only when a person asks for it.

    `reference` identifies it in the console's URL, `uri` is its https address on `host`, `text` describes it. `shown`:
    the person asked for it.
    """

    reference: str
    uri: str
    host: str
    text: str = ""
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """A source of an answer. `url` is an http(s) address or ""; `text` is an excerpt."""

    title: str
    url: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The reader's feedback on an answer. `verdict` is up, down, another stored word, or ""."""

    verdict: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """What some stores have of a message in addition to its content.

    `note` is a line below, or instead of, its text; `more` is a tree of its other members, titled `more_title`; `act`
    is the name and the parts of an action on this message, labelled `act_label`.
    """

    note: str = ""
    stop_reason: str = ""
    feedback: Feedback | None = None
    origins: tuple[Origin, ...] = ()
    more: Node | None = None
    more_title: str = "More of this message"
    act: tuple[str, tuple[str, ...]] | None = None
    act_label: str = ""


@dataclass(frozen=True, slots=True)
class ReplyStatus:
    """The delivery status of a person's reply. `at` is since when; `error` says why it failed.

    `is_undelivered`: the customer may not have got it. Only `author`, who wrote it, may use the tokens: `undo` takes it
    back within `undo_seconds`, `again` sends its text as another reply.
    """

    state: str
    label: str
    tone: str
    at: datetime | None
    error: str
    author: str
    is_undelivered: bool = False
    undo_seconds: int = 0
    undo: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `number` counts from 1 in stored order, or is 0 in stores that are read in pieces.

    `anchor` is for permalinks.
    """

    number: int
    anchor: str
    speaker: Speaker
    speaker_name: str
    at: datetime | None
    blocks: tuple[Block, ...]
    is_initial_prompt: bool = False
    # Whether it only repeats, for the AI, what the transcript already has.
    is_repetition: bool = False
    # "" | "held": the AI wrote while a human held it | "waiting": while the customer waited for one
    during_hand_off: str = ""
    # Who had taken it over by then: "you" or a colleague, "" if that is unknown.
    taken_by: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    processing_ms: int | None = None
    drift: tuple[str, ...] = ()
    # What a reader should know of it, such as that it is an edit.
    notes: tuple[str, ...] = ()
    extra: Extra | None = None
    reply: ReplyStatus | None = None
    # The reference of the customer's other conversation in which it was said.
    said_in: str = ""
    # How many of its characters a page with other messages leaves out.
    left_out: int = 0
    is_message = True

    @property
    def line(self) -> str:
        """The text of all blocks in one line."""
        return " ".join(" ".join(block.text or block.label for block in self.blocks).split())

    @property
    def cost(self) -> str:
        """What it took, "" if nothing is stored: `850 ms · 1180 prompt (96 cached) + 96 completion = 1276 tokens`."""
        words = {"prompt": "{} prompt", "cached": "({} cached)", "completion": "+ {} completion", "total": "= {}"}
        counts = [text.format(self.tokens[kind]) for kind, text in words.items() if kind in self.tokens]
        took = "" if self.processing_ms is None else f"{self.processing_ms} ms"
        return " · ".join(part for part in (took, " ".join([*counts, "tokens"]) if counts else "") if part)

    @property
    def plain_text(self) -> str:
        """Its text, if it has nothing else; else ""."""
        block = self.blocks[0] if len(self.blocks) == 1 else None
        return block.text if block and block.kind == "text" and not block.quoted else ""


@dataclass(frozen=True, slots=True)
class Marker:
    """A line between messages: `kind` is day, gap or event (hand-off start, take-over, end …)."""

    kind: str
    text: str
    at: datetime | None = None
    detail: str = ""
    tone: str = ""
    is_message = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """A window of a conversation's messages with the markers between them, oldest first."""

    items: tuple[Message | Marker, ...]
    total: int
    first_number: int
    last_number: int
    notices: tuple[str, ...] = ()

    @property
    def earlier(self) -> int:
        """The number of messages before this window."""
        return max(0, self.first_number - 1)

    @property
    def later(self) -> int:
        """The number of messages after this window."""
        return self.total - self.last_number


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. `next` and `back` are sealed cursors ("" for none); `notice` says how far the search went."""

    rows: tuple[ConversationSummary, ...]
    next: str = ""
    back: str = ""
    notice: str = ""


# --- Statuses ---------------------------------------------------------------------------------------------------------
#
# The statuses that services write, including some not in the schema (platform-replies), grouped by who has to act next.
# A status that is not listed belongs to no family and is shown as stored.


class Family(StrEnum):
    """What a status means for people. The value is its name in URLs."""

    FAILED = "failed"
    STUCK = "stuck"
    RETRYING = "retrying"
    WAITING_FOR_AI = "waiting-for-ai"
    WAITING_FOR_CUSTOMER = "waiting-for-customer"
    DONE = "done"

    @property
    def label(self) -> str:
        """The family in words."""
        return _LABELS[self]

    @property
    def tone(self) -> str:
        """The tone for components/_tag.html."""
        return _TONES.get(self, "")


_LABELS = {
    Family.FAILED: "failed",
    Family.STUCK: "stuck",
    Family.RETRYING: "retrying",
    Family.WAITING_FOR_AI: "waiting for the AI",
    Family.WAITING_FOR_CUSTOMER: "waiting for the customer",
    Family.DONE: "done",
}
_TONES = {Family.FAILED: "bad", Family.STUCK: "bad", Family.RETRYING: "human", Family.DONE: "good"}

# The status that services write before they retry.
RETRY = "retry"
# The status with which the service that answers for the AI keeps others away.
LOCKED = "processing_reply"
# A status belongs to a family if it is listed or begins with the prefix: services write `failed_…`.
_PROCESSING = "processing"
PREFIXES = {Family.FAILED: "failed_", Family.WAITING_FOR_AI: f"{_PROCESSING}_"}
STATUSES: dict[Family, tuple[str, ...]] = {
    Family.FAILED: ("failed", "error"),
    Family.RETRYING: (RETRY, "retrying"),
    Family.WAITING_FOR_AI: (_PROCESSING, LOCKED, "received", "queued"),
    Family.WAITING_FOR_CUSTOMER: ("initial_message_sent", "awaiting_reply", "reply_sent"),
    Family.DONE: ("completed", "complete", "done", "closed"),
}
_FAMILIES = {status: family for family, statuses in STATUSES.items() for status in statuses}
# Processing for longer than any service runs means that the service gave up, and nobody else will answer.
STUCK_AFTER = timedelta(minutes=15)


def family_of(status: Any) -> Family | None:
    """Return the family of a stored status, from the status alone; None for an unknown one."""
    if not isinstance(status, str):
        return None
    lowered = status.strip().lower()
    found = _FAMILIES.get(lowered)
    return found or next((family for family, prefix in PREFIXES.items() if lowered.startswith(prefix)), None)


def is_abandoned(status: Any, found: str) -> bool:
    """Return whether no service works on a conversation any more. `found`: why it needs attention, "" if it does not.

    A processing or retrying conversation was only given up if it was found stuck.
    """
    is_failed = family_of(status) is Family.FAILED
    return bool(found) and (is_failed or (found == Family.STUCK and can_get_stuck(status)))


def can_get_stuck(status: Any) -> bool:
    """Return whether a status says that a service is processing or retrying, and may have given up after a while."""
    return is_processing(status) or family_of(status) is Family.RETRYING


def is_processing(status: Any) -> bool:
    """Return whether a status says that a service is at work: `processing`, or one that contains it."""
    return isinstance(status, str) and _PROCESSING in status.lower()


def current_family(
    status: Any, updated_at: datetime | None, now: datetime, stuck_after: timedelta = STUCK_AFTER, attention: str = ""
) -> Family | None:
    """Return the family at a time; processing counts as stuck after `stuck_after`.

    `updated_at` does not tell since when the platform has locked a conversation; it is stuck once its `attention` is.
    """
    if isinstance(status, str) and status.strip().lower() == LOCKED:
        return Family.STUCK if attention == Family.STUCK else Family.WAITING_FOR_AI
    if is_processing(status):
        is_stuck = updated_at is not None and now - updated_at >= stuck_after
        return Family.STUCK if is_stuck else Family.WAITING_FOR_AI
    return family_of(status)
