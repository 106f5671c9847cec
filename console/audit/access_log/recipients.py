"""Who looked at one person: at each conversation of their number or address, and in searches and look-ups for them.

The base knows no conversations: the app that does registers how a number's are found.
"""

from collections.abc import Callable
from functools import partial

from console import clock
from console.audit.access_log.exports import Across
from console.audit.access_log.reading import OF_PERSONS, Looks, person_in, rows_by_person
from console.audit.history import read_entries
from console.audit.queries import is_of
from console.audit.review.filters import LOOKS, Review
from console.audit.review.gathering import gather
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.personal_searches import pseudonym_of
from console.store.calls import parallel
from console.trail.models import AuditEntry

# From a typed number or address and who asks to the id and company of each conversation in their scope, and whether
# there are more: bounded reads. Raises the store's errors.
Find = Callable[[str, Staff], tuple[tuple[tuple[str, str], ...], bool]]

_finds: list[Find] = []
# Of each conversation's trail so many entries are read.
ENTRIES_EACH = 200
SEARCHES_READ, PIECES = 400, 4
NO_EXPORTS = "Exports across conversations are not counted here. See each conversation instead."
ONLY_OWN = "Only people with all companies in scope can see searches for this person."


def register(find: Find) -> None:
    """Called once at start-up by an app that knows conversations."""
    if find not in _finds:
        _finds.append(find)


def conversations_of(recipient: str, staff: Staff) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Id and company of each conversation of a typed number or address in the person's scope; whether there are more.

    Raises `Forbidden`, `NotFound` for none, and the store's errors.
    """
    staff.require(Permission.AUDIT_REVIEW)
    staff.require(Permission.CONVERSATION_READ)
    found = [find(recipient, staff) for find in _finds]
    conversations = tuple(dict.fromkeys(pair for pairs, _ in found for pair in pairs))
    if not conversations:
        raise NotFound
    return conversations, any(more for _, more in found)


def looks_of_recipient(recipient: str, staff: Staff) -> tuple[Looks, tuple[str, ...]]:
    """Who looked at a person, and the ids of the conversations whose trails were read. Raises as `conversations_of`.

    One Query of each trail, side by side; searches and look-ups in all stores are read in the index by action type, for
    who has all companies in scope.
    """
    conversations, more = conversations_of(recipient, staff)
    read = parallel(*(partial(_looks_in, *each) for each in conversations))
    entries = [entry for looks, _ in read for entry in looks]
    is_all = not more and all(whole for _, whole in read)
    notices: tuple[str, ...] = (ONLY_OWN,)
    if staff.scope.everything:
        gathered = gather(Review(OF_PERSONS), staff, SEARCHES_READ, PIECES)
        person = pseudonym_of(recipient)
        entries += [entry for entry in gathered.entries if person_in(entry) == person]
        is_all, notices = is_all and gathered.is_all, ()
    rows = rows_by_person(entries)
    looks = Looks(rows, len(entries), is_all, None, notices, across=Across(why_not=NO_EXPORTS))
    return looks, tuple(conversation_id for conversation_id, _ in conversations)


def _looks_in(conversation_id: str, company_id: str) -> tuple[list[AuditEntry], bool]:
    """The looks among the newest entries of a conversation's trail, and whether that was all of it."""
    entries, end = read_entries(conversation_id, epochs=False, limit=ENTRIES_EACH)
    now = clock.now()
    looks = [
        entry
        for entry in entries
        if entry.plain("action_type") in LOOKS
        and is_of(entry, company_id)
        and not clock.is_expired(entry.plain("expires_at"), now)
    ]
    return looks, end is None
