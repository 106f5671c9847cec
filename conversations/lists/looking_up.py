"""Looking a person up: recorded before anything is shown."""

from datetime import timedelta

from console.errors import NotFound, TableMissing
from console.lookups.personal_searches import count_reveal, pseudonym_of
from console.permissions import Permission, Staff
from console.refs import unseal
from console.search.meanings import Meaning, MeaningKind
from console.search.service import Results, search
from console.trail.actions import Action
from console.trail.recording import Actor, NoTrail, TrailEntry, record_once, staff_trail
from conversations.converting import identifier_for
from conversations.finding.filters import ConversationFilters
from conversations.finding.listing import first_visible_row
from conversations.finding.queries import of_recipient

HOUR = timedelta(hours=1)
# Where a person was looked up, as the trail names it.
ALL_STORES, CONVERSATIONS = "all stores", "conversations"
# The arguments of `NoTrail` where a reveal needs a trail.
REVEALED = "Personal data can be shown", "you cannot reveal anything"


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
