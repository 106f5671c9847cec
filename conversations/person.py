"""One person across the stores: what each holds of a recipient's number or address. On record before it is shown."""

from datetime import timedelta

from console.audit.actions import Action, staff_trail
from console.audit.recording import Actor, Entry, NoTrail, record_once
from console.errors import NotFound, TableMissing
from console.personal_searches import count_reveal, pseudonym_of
from console.redaction import mask_identifier
from console.refs import unseal
from console.search.meanings import Kind, Meaning
from console.search.service import Results, search
from console.staff.permissions import Permission, Staff
from conversations.filters import Filters
from conversations.queries import any_of, of_recipient
from conversations.services import REVEALED

HOUR = timedelta(hours=1)


def look_up(reference: str, staff: Staff) -> tuple[str, Results]:
    """The masked recipient of a sealed reference, and what every store that the person may read holds of it.

    The entry (once per person, recipient and hour, in the person's own trail, under a keyed pseudonym) is written
    first, and it counts as a reveal. Raises `Forbidden` without `pii:reveal`, `NotFound` for a recipient without a
    conversation in scope, `TooManyAttempts`, `NoTrail`, and the store's errors of what goes before the search.
    """
    staff.require(Permission.CONVERSATION_READ)
    staff.require(Permission.PII_REVEAL)
    (recipient,) = unseal("recipient", reference, 1)
    if any_of(of_recipient(recipient, Filters(), staff), staff) is None:
        raise NotFound
    person = pseudonym_of(recipient)
    entry = Entry(staff_trail(staff.username), Action.PERSON_LOOKED_UP, Actor.of(staff), payload={"person": person})
    count_reveal(staff, entry)
    try:
        record_once(entry, person, HOUR)
    except TableMissing as missing:
        raise NoTrail(*REVEALED) from missing
    kind = Kind.EMAIL if "@" in recipient else Kind.PHONE
    return mask_identifier(recipient), search([Meaning(kind, recipient)], staff)
