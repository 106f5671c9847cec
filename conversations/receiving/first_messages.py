"""First messages that wait for approval, as pages show them: what is known of them, and a page of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial, reduce
from typing import Any

from console import clock
from console.redaction import cut, redact
from console.refs import seal
from console.store.calls import parallel
from console.trees import flatten_to_line
from conversations.converting import from_config
from conversations.messages.bodies import CALLERS_PART, FIRST_PARTS, NotUnderstood, parsed
from conversations.outbox.rows import MessageRow, approvals_partition

# First messages of a page.
SHOWN_AT_MOST = 20
LONGEST_NAME, LONGEST_DETAIL, MOST_DETAILS = 80, 300, 20


class Approval(StrEnum):
    """State of a first message's row."""

    HELD = "held"
    APPROVING = "approving"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """A first message that waits for approval. `content` is the router's context object, `size` that of its body.

    `approved_by`: who approved it, so that it is sent in a moment; "" for nobody. `is_unknown`: an earlier approval did
    not finish, so the message may have been sent.
    """

    position: str
    reference: str
    company_id: str
    project_id: str
    channel: str
    received_at: datetime | None
    content: Mapping[str, Any]
    size: int = 0
    approved_by: str = ""
    is_unknown: bool = False

    @property
    def credentials(self) -> str:
        """The name of the credentials that it will be sent with, "" if the body has none."""
        return credentials_in(self.content, self.channel)

    @property
    def details(self) -> dict[str, str]:
        """What the AI writes it from, by name: the project's own data, as lines of text."""
        found: Any = next((each["project_data"] for each in _parts(self.content) if "project_data" in each), {})
        pairs = list(found.items())[:MOST_DETAILS] if isinstance(found, dict) else []
        return {cut(str(name), LONGEST_NAME): cut(flatten_to_line(value), LONGEST_DETAIL) for name, value in pairs}

    @property
    def recipient(self) -> str:
        """The recipient's number or address, "" if the body names none."""
        names = ["recipient_tel", "recipient_email"]
        ordered = names[::-1] if self.channel == "email" else names
        return next((found for name in ordered if (found := found_in(self.content, name))), "")

    @property
    def name(self) -> str:
        """The recipient's first name."""
        return cut(found_in(self.content, "recipient_first_name"), LONGEST_NAME)

    @property
    def project_name(self) -> str:
        """The project's name, or its id."""
        return redact(cut(found_in(self.content, "project_name") or self.project_id, LONGEST_NAME))

    @property
    def rule(self) -> str:
        """The rule that holds the message, in words."""
        if any(part.get("auto_queue_initial_message") is True for part in _parts(self.content)):
            return "All first messages of this project wait for approval."
        if self.recipient:
            return "First messages to this recipient wait for approval."
        return "The platform holds it for approval."


@dataclass(frozen=True, slots=True)
class FirstMessages:
    """First messages, oldest first. `until`: the position up to which these are all there are; "" for no end."""

    rows: tuple[FirstMessage, ...] = ()
    until: str = ""

    def joined(self, other: "FirstMessages") -> "FirstMessages":
        """Return both, as far as both are known."""
        rows = tuple(sorted((*self.rows, *other.rows), key=lambda row: row.position))
        return FirstMessages(rows, self.until).before(other.until)

    def before(self, position: str) -> "FirstMessages":
        """Return those up to a position."""
        until = min(filter(None, (self.until, position)), default="")
        return FirstMessages(tuple(row for row in self.rows if not until or row.position <= until), until)

    def first(self, number: int) -> "FirstMessages":
        """Return so many of them."""
        return self if len(self.rows) <= number else FirstMessages(self.rows[:number], self.rows[number - 1].position)


def read_first_messages(company_ids: Iterable[str], after: str = "") -> FirstMessages:
    """Return these companies' first messages at positions after `after` that wait for a decision.

    One Query per company, of at most `SHOWN_AT_MOST` rows and 1 MB. Raises the store's errors.
    """
    found = parallel(*(partial(_waiting_in, company_id, after) for company_id in company_ids))
    return reduce(FirstMessages.joined, found, FirstMessages())


def _waiting_in(company_id: str, after: str) -> FirstMessages:
    condition = MessageRow.position > after if after else None
    pages = MessageRow.query(approvals_partition(company_id), condition, page_size=SHOWN_AT_MOST).page_iter
    rows = [first_message_of(MessageRow.from_raw_data(each)) for each in next(pages)["Items"]]
    return FirstMessages(tuple(rows), rows[-1].position if pages.last_evaluated_key and rows else "")


def first_message_of(row: MessageRow) -> FirstMessage:
    """Return a first message from its row; one whose body cannot be parsed has no content."""
    try:
        content = parsed(row.body or "")
    except NotUnderstood:
        content = {}
    is_approving = row.state == Approval.APPROVING.value
    return FirstMessage(
        position=row.position,
        reference=seal("first message", row.conversation, row.position),
        company_id=row.company_id or "",
        project_id=row.project_id or "",
        channel=row.channel or "",
        received_at=clock.parse_instant(row.received_at),
        content=content,
        size=len(row.body or ""),
        approved_by=(row.decided_by or "") if is_approving and row.gsi_due else "",
        is_unknown=is_approving and not row.gsi_due,
    )


def credentials_in(content: Mapping[str, Any], channel: str) -> str:
    """Return the name of a channel's credentials in the context object, "" if it has none."""
    configs = (part["channel_config"] for part in _parts(content) if "channel_config" in part)
    return next(filter(None, (from_config(each, channel, f"{channel}_credentials_id") for each in configs)), "")


def found_in(content: Mapping[str, Any], name: str) -> str:
    """Return a text of the context object from any of its parts, "" if none has it."""
    return next(_texts(content, name), "")


def owner_of(content: Mapping[str, Any]) -> str:
    """Return the company that the platform's parts of a first message name, "" for none; the caller's never decide.

    Raises `NotUnderstood` if any two parts name different ones.
    """
    if len(set(_texts(content, "company_id"))) > 1:
        raise NotUnderstood("The message's parts name different companies.")
    return found_in({name: part for name, part in content.items() if name != CALLERS_PART}, "company_id")


def _texts(content: Mapping[str, Any], name: str) -> Iterator[str]:
    values = (part.get(name) for part in _parts(content))
    return (value.strip() for value in values if isinstance(value, str) and value.strip())


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the context object, its parts, and the objects one level below them."""
    parts = [content, *(part for each in FIRST_PARTS if isinstance(part := content.get(each), dict))]
    return [*parts, *(each for part in parts for each in part.values() if isinstance(each, dict))]
