"""Finding conversations from what a person typed: a recipient, our number and a recipient, or a conversation id.

Phones and emails are stored as the platform's writers spelled them, and looked up by exact key: a typed one is tried
in a few usual spellings, three at most.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import partial

from console.dynamodb.calls import parallel
from console.dynamodb.keys import SORT_KEY_BYTES, fits
from console.dynamodb.paging import Source, read_page
from console.dynamodb.presence import index_absent
from console.errors import NotAccepted, TableMissing
from console.refs import seal
from console.staff.permissions import Staff
from conversations.filters import Filters
from conversations.models import CompanyProjectIndex, Conversation, ConversationIdIndex
from conversations.queries import (
    ConversationList,
    first_page,
    is_visible,
    load_key,
    of_recipient,
    of_reply,
)
from conversations.reading import summary_of
from conversations.records import Summary

ROWS_PER_HIT = 20
# The same conversation id under several recipients does not happen by design; drift is bounded.
ITEMS_PER_ID = 10
_PREFIX = re.compile(r"(?:whatsapp|tel|sms|mailto|smsto)\s*:\s*", re.IGNORECASE)
_PHONE = re.compile(r"(?:\+|00)?\d{5,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hit:
    """One list in which something was found. `kind` and `reference` name its page: recipient, replies, or "" for none.

    `who` is masked; `more` says that the list goes on after these rows.
    """

    kind: str
    reference: str
    who: str
    rows: tuple[Summary, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look-up found within the person's scope; `notice` says how far it looked where that was not to the end."""

    hits: tuple[Hit, ...] = ()
    notice: str = ""

    @property
    def rows(self) -> tuple[Summary, ...]:
        """All rows of all hits, in order."""
        return tuple(row for hit in self.hits for row in hit.rows)


def spellings(typed: str) -> tuple[str, ...]:
    """The ways in which a writer may have stored a typed phone, email or other identifier, likeliest first.

    Phones lose spaces, punctuation, look-alike digits, `00` and a bracketed trunk zero, and are tried with and without
    `+`; emails are tried as typed and in lower case; anything else only as typed.
    """
    text = unicodedata.normalize("NFKC", typed)
    # Invisible marks come along when a number is copied from a page or a chat.
    text = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Cc")).strip()
    text = text.removeprefix(found[0]) if (found := _PREFIX.match(text)) else text
    if not fits(text, SORT_KEY_BYTES):
        return ()
    if "@" in text:
        address = text[text.rfind("<") + 1 :].split(">")[0].strip() if "<" in text else text
        return tuple(dict.fromkeys((address, address.lower()))) if address else ()
    digits = "".join(
        str(unicodedata.digit(char)) if unicodedata.digit(char, None) is not None else char for char in text
    )
    number = re.sub(r"\(0\)", "", digits) if digits.lstrip("( ").startswith(("+", "00")) else digits
    number = re.sub(r"[\s().\-/‐-―·]", "", number)
    if not _PHONE.fullmatch(number):
        return (text,)
    bare = number.removeprefix("+")
    if number.startswith("00"):
        return f"+{bare[2:]}", bare[2:], bare
    return f"+{bare}", bare


def find_recipient(typed: str, staff: Staff) -> Finding:
    """A recipient's conversations under each spelling, at once: one Query per spelling."""
    found = parallel(*(partial(_recipient_hit, spelling, staff) for spelling in spellings(typed)))
    return Finding(tuple(hit for hit in found if hit.rows))


def find_replies(channel: str, ours: str, recipient: str, staff: Staff) -> Finding:
    """The conversations between our number or address and a recipient: one Query per pair of spellings."""
    pairs = [(one, other) for one in spellings(ours) for other in spellings(recipient)]
    found = parallel(*(partial(_reply_hit, channel, one, other, staff) for one, other in pairs))
    return Finding(tuple(hit for hit in found if hit.rows))


def find_by_id(conversation_id: str, staff: Staff) -> Finding:
    """Conversations of that id: by the id index; where that is absent or finds nothing, through company and project."""
    wanted = conversation_id.strip()
    keys = _keys_by_index(wanted, staff)
    notice = ""
    if not keys:
        keys, notice = _keys_by_project(wanted, staff)
    loaded = parallel(*(partial(load_key, channel, wanted, staff) for channel in keys)) if keys else []
    rows = tuple(summary_of(item) for item in loaded if item is not None)
    return Finding((Hit("", "", "", rows),) if rows else (), notice)


def _recipient_hit(primary_channel: str, staff: Staff) -> Hit:
    listed = of_recipient(primary_channel, Filters(), staff).whole
    return _hit("recipient", seal("recipient", primary_channel), listed, staff)


def _reply_hit(channel: str, ours: str, recipient: str, staff: Staff) -> Hit:
    listed = of_reply(channel, ours, recipient, staff)
    return _hit("replies", seal("replies", channel, ours, recipient), listed, staff)


def _hit(kind: str, reference: str, listed: ConversationList, staff: Staff) -> Hit:
    read = first_page(listed, staff, ROWS_PER_HIT)
    rows = tuple(summary_of(item) for item in read.items)
    # Of a page that is not full only the budget ended, perhaps over what others have: that is nobody's business here.
    more = bool(read.next) and len(rows) == ROWS_PER_HIT
    return Hit(kind, reference, rows[0].who if rows else "", rows, more)


def _keys_by_index(conversation_id: str, staff: Staff) -> list[str]:
    """`primary_channel` of the items with that id in scope; none where the index is absent or still being filled."""
    query = Conversation.conversation_id_index.query(
        conversation_id,
        page_size=ITEMS_PER_ID,
        attributes_to_get=["primary_channel", "conversation_id", "company_id"],
    )
    try:
        answer = next(query.page_iter)
    except (NotAccepted, TableMissing):
        if not index_absent("CONVERSATIONS", ConversationIdIndex.Meta.index_name):
            raise
        return []
    items = [Conversation.from_raw_data(raw) for raw in answer["Items"]]
    return [item.primary_channel for item in items if is_visible(item, staff)]


def _keys_by_project(conversation_id: str, staff: Staff) -> tuple[list[str], str]:
    """As `_keys_by_index`, from the company and project that the id begins with, within one page's budget of reads."""
    company_id, _, rest = conversation_id.partition("#")
    project_id = rest.partition("#")[0]
    if not company_id or not project_id or not staff.scope.covers_company(company_id):
        return [], ""
    source = Source(
        model=Conversation,
        partition=company_id,
        attributes=(),
        index=CompanyProjectIndex.Meta.index_name,
        ranges=((project_id, project_id),),
        keep=lambda item: item.conversation_id == conversation_id,
    )
    read = read_page(source, staff.username, size=ITEMS_PER_ID)
    notice = ""
    if not read.items and read.thin:
        notice = f"Looked at {read.looked_at} conversations of that project; it has more than one look-up may read."
    return [item.primary_channel for item in read.items], notice
