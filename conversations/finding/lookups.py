"""Look-ups of conversations by a recipient, by our number and a recipient, or by a conversation id.

Phone numbers and emails are stored as the platform's writers spelled them and read by exact key, so a typed one is
tried in up to three usual spellings.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from console.audit.scoping import KnownConversation
from console.caching import cached_for
from console.errors import BadReference, NotAccepted, TableMissing
from console.permissions import Staff
from console.redaction import redact
from console.refs import seal, unseal
from console.search.meanings import is_national, tried_with, with_code
from console.store.calls import parallel
from console.store.models import SORT_KEY_BYTES, fits
from console.store.paging import PageRead, PageSource, read_page
from console.store.presence import index_absent
from conversations.companies import companies_for
from conversations.converting import names_of, summary_of
from conversations.finding.filters import ConversationFilters
from conversations.finding.listing import ConversationList, first_page
from conversations.finding.queries import is_visible, load_key, of_company, of_recipient, of_reply
from conversations.models import CompanyProjectIndex, Conversation, ConversationIdIndex
from conversations.numbers import other_form
from conversations.records import ConversationSummary

ROWS_PER_HIT = 20
# By design an id belongs to one recipient; this limits the reads where it drifted.
ITEMS_PER_ID = 20
# Maximum companies searched for a request, or read for the country codes of their numbers.
COMPANIES_AT_ONCE = 10
CODES_TRIED, NUMBERS_READ = 4, 10
CODES_CACHED_SECONDS = 600
# E.164: country codes of one digit, of two, and all others, of three.
_COUNTRY_CODE = re.compile(
    r"\+(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9][0-9]{2})(?=[0-9]{6})", re.ASCII
)
BY_EMAIL = "An email address finds conversations by email. Find conversations over WhatsApp or SMS by phone number."
COPY_THE_ID = "To find another one, copy its whole id with the button on its page."
# The address of a conversation's page, or of a page below it.
_PAGE = re.compile(r"\S*/conversations/([\w\-]{20,})(?:[/?#]\S*)?", re.ASCII)
_PREFIX = re.compile(r"(?:whatsapp|tel|sms|mailto|smsto)\s*:\s*", re.IGNORECASE)
_PHONE = re.compile(r"(?:\+|00)?\d{5,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LookupHit:
    """A list with matches. `kind` and `reference` name its page: recipient, replies, or "" for none.

    `who` is masked; `more`: the list has more rows than these.
    """

    kind: str
    reference: str
    who: str
    rows: tuple[ConversationSummary, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class LookupFinding:
    """The result of a look-up in scope; `notice` says how far it searched, or how to search further."""

    hits: tuple[LookupHit, ...] = ()
    notice: str = ""

    @property
    def rows(self) -> tuple[ConversationSummary, ...]:
        """All rows of all hits, in order."""
        return tuple(row for hit in self.hits for row in hit.rows)


def spellings(typed: str) -> tuple[str, ...]:
    """Return the spellings under which writers may have stored a typed identifier, likeliest first.

    Phone numbers lose spaces, punctuation, look-alike digits and a bracketed trunk zero, and are tried with and without
    `+` (and with `00` if typed so); emails are tried as typed and in lower case; anything else only as typed.
    """
    text = unicodedata.normalize("NFKC", typed)
    # A number copied from a page or a chat may contain invisible marks.
    text = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Cc")).strip()
    text = text.removeprefix(found[0]) if (found := _PREFIX.match(text)) else text
    if not fits(text, SORT_KEY_BYTES):
        return ()
    if "@" in text:
        address = text[text.rfind("<") + 1 :].split(">")[0].strip() if "<" in text else text
        return tuple(dict.fromkeys((address, address.lower()))) if address else ()
    digits = re.sub(r"\d", lambda digit: str(int(digit[0])), text)
    number = re.sub(r"\(0\)", "", digits) if digits.lstrip("( ").startswith(("+", "00")) else digits
    number = re.sub(r"[\s().\-/‐-―·]", "", number)
    if not _PHONE.fullmatch(number):
        return (text,)
    bare = number.removeprefix("+")
    if number.startswith("00"):
        return f"+{bare[2:]}", bare[2:], bare
    return f"+{bare}", bare


def find_recipient(typed: str, staff: Staff, codes: Sequence[str] = ()) -> LookupFinding:
    """Find a recipient's conversations with one Query for each spelling, in parallel.

    `codes` are the country codes to try a national number with.
    """
    found = parallel(*(partial(_recipient_hit, spelling, staff) for spelling in _spellings_with(typed, codes)))
    notice = BY_EMAIL if "@" in typed else tried_with(codes) if is_national(typed) else ""
    return LookupFinding(tuple(hit for hit in found if hit.rows), notice)


def _spellings_with(typed: str, codes: Sequence[str]) -> tuple[str, ...]:
    """Return the spellings of a typed identifier; those of a national number with each of the country codes, too."""
    meant = [typed, *(with_code(typed, code) for code in codes if is_national(typed))]
    known = [spelling for each in meant for spelling in spellings(each)]
    # WhatsApp may have the number in another form.
    known += [spelling for each in known if (other := other_form(each)) for spelling in spellings(other)]
    return tuple(dict.fromkeys(known))


def country_codes(staff: Staff) -> tuple[str, ...]:
    """Return the country codes of the first companies' own numbers in scope, the most frequent first.

    One small Query for each company, cached for ten minutes.
    """
    companies = companies_for(staff)[:COMPANIES_AT_ONCE]
    found = parallel(*(partial(_codes_of, company.company_id) for company in companies))
    return tuple(code for code, _ in Counter(chain.from_iterable(found)).most_common(CODES_TRIED))


@cached_for(CODES_CACHED_SECONDS)
def _codes_of(company_id: str) -> frozenset[str]:
    names = ("gsi_company_whatsapp_number", "gsi_company_sms_number")
    query = Conversation.company_project_index.query(company_id, page_size=NUMBERS_READ, attributes_to_get=list(names))
    try:
        items = next(query.page_iter)["Items"]
    except (NotAccepted, TableMissing):
        return frozenset()
    numbers = (spellings(raw[name]["S"])[:1] for raw in items for name in names if "S" in raw.get(name, {}))
    return frozenset(code[0] for each in numbers if each and (code := _COUNTRY_CODE.match(each[0])))


def conversations_of(typed: str, staff: Staff) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Return the id and company of a recipient's conversations in scope, and whether there are more.

    One Query per spelling. A national number is tried with the country codes of the companies' numbers.
    """
    codes = country_codes(staff) if is_national(typed) else ()
    lists = [of_recipient(each, ConversationFilters(), staff).whole for each in _spellings_with(typed, codes)]
    read = parallel(*(partial(first_page, listed, staff, ROWS_PER_HIT) for listed in lists))
    pairs = ((item.conversation_id, item.company_id or "") for page in read for item in page.items)
    return tuple(dict.fromkeys(pairs)), any(page.next for page in read)


def find_replies(channel: str, ours: str, recipient: str, staff: Staff) -> LookupFinding:
    """Find the conversations between our number or address and a recipient. One Query per pair of spellings."""
    pairs = [(one, other) for one in spellings(ours) for other in spellings(recipient)]
    found = parallel(*(partial(_reply_hit, channel, one, other, staff) for one, other in pairs))
    return LookupFinding(tuple(hit for hit in found if hit.rows))


def find_by_id(conversation_id: str, staff: Staff) -> LookupFinding:
    """Find conversations by id: in the id index, or else in the company and project that the id begins with.

    Also finds an id whose recipient is masked, left out or spelled in another usual way, the address of the
    conversation's page, and the request part alone, which is searched among the newest conversations of each company.
    """
    keys, notice = _keys_by_id(conversation_id.strip(), staff)
    loaded = parallel(*(partial(load_key, *key, staff) for key in keys)) if keys else []
    rows = tuple(summary_of(item, staff) for item in loaded if item is not None)
    return LookupFinding((LookupHit("", "", "", rows),) if rows else (), notice)


def ids_of(shown: str, staff: Staff) -> tuple[str, ...]:
    """Return the ids of the conversations in scope that pages show as this text, as `find_by_id`."""
    keys, _ = _keys_by_id(shown, staff)
    return tuple(dict.fromkeys(conversation_id for _, conversation_id in keys))


def _keys_by_id(wanted: str, staff: Staff) -> tuple[list[tuple[str, str]], str]:
    """Return the keys of the conversations that `find_by_id` finds, and its notice."""
    if page := _PAGE.fullmatch(wanted):
        return _keys_of_page(page[1], staff), ""
    before, _, recipient = wanted.rpartition("#")
    others = (f"{before}#{each}" for each in spellings(recipient)) if before else ()
    for each in dict.fromkeys((wanted, *others)):
        if keys := [(channel, each) for channel in _keys_by_index(each, staff)]:
            return keys, ""
    return _keys_by_project(wanted, staff) if before else _keys_of_request(wanted, staff)


def _keys_of_page(reference: str, staff: Staff) -> list[tuple[str, str]]:
    """Return the key of the conversation that a page's address names, if it is in scope."""
    try:
        primary_channel, conversation_id = unseal("conversation", reference, 2)
    except BadReference:
        return []
    is_there = load_key(primary_channel, conversation_id, staff) is not None
    return [(primary_channel, conversation_id)] if is_there else []


def _recipient_hit(primary_channel: str, staff: Staff) -> LookupHit:
    listed = of_recipient(primary_channel, ConversationFilters(), staff).whole
    return _hit("recipient", seal("recipient", primary_channel), listed, staff)


def _reply_hit(channel: str, ours: str, recipient: str, staff: Staff) -> LookupHit:
    listed = of_reply(channel, ours, recipient, staff)
    return _hit("replies", seal("replies", channel, ours, recipient), listed, staff)


def _hit(kind: str, reference: str, listed: ConversationList, staff: Staff) -> LookupHit:
    read = first_page(listed, staff, ROWS_PER_HIT)
    rows = tuple(summary_of(item, staff) for item in read.items)
    # A page that is not full ended with the read budget, perhaps on conversations out of scope, which must not show.
    more = bool(read.next) and len(rows) == ROWS_PER_HIT
    return LookupHit(kind, reference, rows[0].who if rows else "", rows, more)


def _keys_by_index(conversation_id: str, staff: Staff) -> list[str]:
    """Return `primary_channel` of the items in scope with this id; [] if the index is missing or still being built."""
    try:
        items = _with_id(conversation_id, "primary_channel", "conversation_id", "company_id")
    except (NotAccepted, TableMissing):
        if not index_absent("CONVERSATIONS", ConversationIdIndex.Meta.index_name):
            raise
        return []
    return [item.primary_channel for item in items if is_visible(item, staff)]


def _with_id(conversation_id: str, *attributes: str) -> list[Conversation]:
    """Read these attributes (default: all) of the conversations with this id. Raises the store's errors."""
    if not fits(conversation_id, SORT_KEY_BYTES):
        return []
    query = Conversation.conversation_id_index.query(
        conversation_id, page_size=ITEMS_PER_ID, attributes_to_get=list(attributes) or None
    )
    return [Conversation.from_raw_data(raw) for raw in next(query.page_iter)["Items"]]


def _keys_by_project(conversation_id: str, staff: Staff) -> tuple[list[tuple[str, str]], str]:
    """Return the keys of an id, whole, masked or without its recipient, and a notice if not everything was searched.

    Reads the company and project that the id begins with, within the budget of one page.
    """
    company_id, _, rest = conversation_id.partition("#")
    project_id = rest.partition("#")[0]
    if not company_id or not project_id or not staff.scope.covers_company(company_id):
        return [], ""
    source = PageSource(
        model=Conversation,
        partition=company_id,
        attributes=(),
        index=CompanyProjectIndex.Meta.index_name,
        ranges=((project_id, project_id),),
        keep=lambda item: (
            conversation_id in (item.conversation_id, item.conversation_id.rpartition("#")[0])
            or redact(item.conversation_id) == conversation_id
        ),
    )
    read = read_page(source, staff.username, size=ITEMS_PER_ID)
    notice = ""
    if not read.items and read.thin:
        notice = f"Looked at {read.looked_at} conversations of that project. It has more than one look-up can read."
    return [(item.primary_channel, item.conversation_id) for item in read.items], notice


def _keys_of_request(request: str, staff: Staff) -> tuple[list[tuple[str, str]], str]:
    """Return the keys of the conversations whose id contains this request, and a notice of how far the search went.

    Searches the newest conversations of the first companies in scope, in parallel, with the budget of one page each.
    """
    companies = companies_for(staff)
    asked = companies[:COMPANIES_AT_ONCE]
    pages = parallel(*(partial(_of_request, company.company_id, request, staff) for company in asked))
    keys = [(item.primary_channel, item.conversation_id) for page in pages for item in page.items]
    looked_at, number = sum(page.looked_at for page in pages), len(asked)
    where = f"conversations of {number} compan{'y' if number == 1 else 'ies'}"
    if any(page.thin for page in pages) or number < len(companies):
        return keys, f"Looked for that request among the newest {looked_at} {where}. {COPY_THE_ID}"
    return keys, f"Looked for that request among the {looked_at} {where}."


def _of_request(company_id: str, request: str, staff: Staff) -> PageRead[Conversation]:
    wanted = request.casefold()

    def keep(item: Conversation) -> bool:
        segments = item.conversation_id.split("#")
        return wanted in ("#".join(segments[2:-1]).casefold(), str(item.plain("request_id")).casefold())

    def narrowed(listed: ConversationList) -> ConversationList:
        fallback = listed.fallback and narrowed(listed.fallback)
        return ConversationList(replace(listed.source, keep=keep), fallback)

    return first_page(narrowed(of_company(company_id, ConversationFilters(), staff)), staff, ITEMS_PER_ID)


def known_conversation(conversation_id: str) -> KnownConversation:
    """Return the companies and recipients' names of the conversations with this id; empty for an unknown id.

    One Query of the conversation-id index. Raises the store's errors, except for a missing table or index.
    """
    try:
        # DynamoDB refuses named attributes that the index does not project.
        items = _with_id(conversation_id)
    except (TableMissing, NotAccepted):
        return KnownConversation()
    # One item without a readable company makes the owner of the whole trail unknown.
    owners = frozenset(item.company_id or "" for item in items)
    names = tuple(dict.fromkeys(name for item in items for name in names_of(item)))
    return KnownConversation(frozenset() if "" in owners else owners, names)
