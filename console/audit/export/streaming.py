"""Exporting the audit trail: recorded first, then sent in pieces."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from django.conf import settings

from console import clock
from console.audit.export.rows import COLUMNS, rows_of_piece
from console.audit.review.forms import ReviewForm
from console.audit.review.page import describe_filters
from console.audit.review.plan import Review
from console.audit.review.reading import every_page, gather
from console.audit.scoping import is_conversation_trail
from console.exports import FORMATS, Export, ExportBounds, file_name, send
from console.permissions import Permission, Staff
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, conversation_trail, record, staff_trail

PIECE = 200
# Filters can leave a piece empty: stop after this many times the pieces that the limit needs.
PIECES_PER_FULL_ONE = 5
# Read to check whether the one conversation or key exists at all.
ENTRIES_OF_IT, PIECES_OF_IT = 20, 3


def export(form: ReviewForm, review: Review, format_name: str, staff: Staff) -> Export:
    """Read the first piece, write the trail entry, and return what to send.

    The entry has the filters of the form in words, without personal data. Raises `Forbidden`, `TableMissing` and the
    store's other errors: then nothing is exported. Later failures are noted at the end of the file.
    """
    staff.require(Permission.AUDIT_EXPORT)
    limit = settings.AUDIT_EXPORT_LIMIT
    # One entry beyond the limit shows that there are more.
    pieces = every_page(review, staff, limit + 1, PIECE)
    first = next(pieces, ())
    now = clock.now()
    of_it = _entries_of_it(review, staff)
    opened = staff.scope.everything or bool(of_it)
    payload = {"format": format_name, "filters": list(describe_filters(form, review, opened=opened)), "limit": limit}
    record(_entry(review, payload, of_it, staff), now)
    made = FORMATS[format_name](COLUMNS)
    bounds = ExportBounds(limit, PIECES_PER_FULL_ONE * (limit // PIECE + 1), "entries", "Older entries")
    rows = (rows_of_piece(each) for each in chain((first,), pieces))
    return Export(send(made, rows, bounds), made.media_type, file_name("audit", made, now))


def _entries_of_it(review: Review, staff: Staff) -> tuple[AuditEntry, ...]:
    """Return some entries in scope of the one conversation or key that a review is about, ignoring its filters."""
    if not (review.conversation or review.key):
        return ()
    return gather(Review(conversation=review.conversation, key=review.key), staff, ENTRIES_OF_IT, PIECES_OF_IT).entries


def _entry(review: Review, payload: dict[str, Any], of_it: Sequence[AuditEntry], staff: Staff) -> TrailEntry:
    """Build the entry for the trail of the one conversation exported, else (or if it is empty) for the person's own."""
    trail, company = staff_trail(staff.username), review.company
    if of_it and review.conversation and is_conversation_trail(review.conversation):
        trail = conversation_trail(review.conversation)
        named = {str(each.plain("company_id")) for each in of_it if each.plain("company_id")}
        company = named.pop() if len(named) == 1 else company
    return TrailEntry(
        trail=trail,
        action=Action.AUDIT_EXPORTED,
        actor=Actor.of(staff),
        company_id=company,
        payload=payload,
    )
