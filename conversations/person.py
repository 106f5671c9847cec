"""One person across conversations and stores: what is held of a recipient's number or address, on record first."""

from datetime import timedelta

from console.errors import NotFound, TableMissing
from console.permissions import Permission, Staff
from console.personal_searches import count_reveal, pseudonym_of
from console.refs import unseal
from console.search.meanings import Meaning, MeaningKind
from console.search.service import Results, search
from console.trail.actions import Action, staff_trail
from console.trail.recording import Actor, NoTrail, TrailEntry, record_once
from conversations.filters import ConversationFilters
from conversations.queries import any_of, of_recipient
from conversations.reading import identifier_for
from conversations.services import REVEALED

HOUR = timedelta(hours=1)
# Where a person is looked up, as the trail says it.
ALL_STORES, CONVERSATIONS = "all stores", "conversations"


def note_look(recipient: str, staff: Staff, stores: str) -> None:
    """Put on record that somebody looked a person up in `stores`: once an hour, under a keyed pseudonym.

    In all stores it counts as a reveal. Raises `TooManyAttempts`, `NoTrail`, and the store's errors.
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
    """The recipient of a sealed reference as `identifier_for` shows it, and what every store that the person may read
    holds of it.

    The entry (once per person, recipient and hour, in the person's own trail, under a keyed pseudonym) is written
    first, and it counts as a reveal. Raises `Forbidden` without `pii:reveal`, `NotFound` for a recipient without a
    conversation in scope, `TooManyAttempts`, `NoTrail`, and the store's errors of what goes before the search.
    """
    staff.require(Permission.CONVERSATION_READ)
    staff.require(Permission.PII_REVEAL)
    (recipient,) = unseal("recipient", reference, 1)
    if any_of(of_recipient(recipient, ConversationFilters(), staff), staff) is None:
        raise NotFound
    note_look(recipient, staff, ALL_STORES)
    kind = MeaningKind.EMAIL if "@" in recipient else MeaningKind.PHONE
    return identifier_for(recipient, staff), search([Meaning(kind, recipient)], staff)
