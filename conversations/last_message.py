"""The last message of a conversation, for a list row on demand."""

from dataclasses import dataclass
from datetime import datetime

from console.errors import TableMissing
from console.permissions import Permission, Staff
from console.redaction import excerpt
from console.trail.actions import Action, conversation_trail
from console.trail.recording import Actor, TrailEntry, record_once_an_hour
from conversations.messages import StoredMessages
from conversations.models import Conversation
from conversations.queries import load_row
from conversations.reading import names_of

# A row shows a glance; the whole of it is on the conversation's page.
RAW_LENGTH = 280


@dataclass(frozen=True, slots=True)
class LastMessage:
    """What a row shows of the last message: redacted, unless the reader's role may see transcripts. "" for none."""

    text: str
    speaker: str = ""
    at: datetime | None = None


def last_message(reference: str, staff: Staff) -> LastMessage:
    """One GetItem; for roles that see transcripts raw also the entry in the trail that opening one makes.

    The entry is written before the text is returned. Where there is no trail, everyone gets the redacted excerpt.
    Raises `NotFound` (absent, gone or out of scope) and the store's errors.
    """
    item = load_row(reference, staff, "messages", "recipient_tel", "recipient_email")
    stored = StoredMessages.of(item.raw.get("messages"))
    if not len(stored):
        return LastMessage("")
    message = stored.message(len(stored), raw=True)
    text = " ".join(" ".join(block.text or block.label for block in message.blocks).split())
    shown = text if len(text) <= RAW_LENGTH else text[: RAW_LENGTH - 1] + "…"
    if not (staff.can(Permission.TRANSCRIPT_RAW) and _recorded(item, staff)):
        shown = excerpt(text, names=names_of(item))
    return LastMessage(shown, message.speaker_name, message.at)


def _recorded(item: Conversation, staff: Staff) -> bool:
    entry = TrailEntry(
        trail=conversation_trail(item.conversation_id),
        action=Action.TRANSCRIPT_OPENED,
        actor=Actor.of(staff),
        company_id=item.company_id or "",
        payload={"shown": "raw"},
    )
    try:
        record_once_an_hour(entry)
    except TableMissing:
        return False
    return True
