"""An export: recorded first, then sent in pieces, so that no more than one piece is in memory."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Protocol

from django.conf import settings

from console import clock
from console.audit.export.formats import FORMATS, ExportFormat, rows_of_piece
from console.audit.review.plan import Review
from console.audit.review.reading import every_page, gather
from console.audit.scoping import is_conversation_trail, recipient_names
from console.errors import ConsoleError
from console.permissions import Permission, Staff
from console.store.calls import budget
from console.trail.actions import Action, conversation_trail, staff_trail
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, record

logger = logging.getLogger(__name__)

PIECE = 200
# Filters can leave a piece empty: stop after so many times the pieces that the limit needs.
PIECES_PER_FULL_ONE = 5
# Read to see whether the one conversation or key exists at all.
ENTRIES_OF_IT, PIECES_OF_IT = 20, 3


class Words(Protocol):
    """The filters of a review, and whether they name the one conversation or key that it is of."""

    def __call__(self, *, opened: bool) -> tuple[str, ...]:
        """One line for each."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file to send, which is recorded already. `content` gives its bytes once."""

    content: Iterator[bytes] = field(repr=False)
    media_type: str
    file_name: str


def export(review: Review, filters: Words, format_name: str, staff: Staff) -> Export:
    """Read the first piece, write the entry, and return what to send.

    `filters` gives the review's filters in words without personal data. Raises `Forbidden`, `TableMissing` and the
    store's other errors: then nothing is exported. The end of the file tells of later failures.
    """
    staff.require(Permission.AUDIT_EXPORT)
    limit = settings.AUDIT_EXPORT_LIMIT
    # One entry more than the limit tells that there are more.
    pieces = every_page(review, staff, limit + 1, PIECE)
    first = next(pieces, ())
    now = clock.now()
    of_it = _entries_of_it(review, staff)
    recipient = recipient_names(review.conversation) if of_it and review.conversation else ()
    opened = staff.scope.everything or bool(of_it)
    payload = {"format": format_name, "filters": list(filters(opened=opened)), "limit": limit}
    record(_entry(review, payload, of_it, staff), now)
    made = FORMATS[format_name]()
    return Export(
        content=_content(made, first, pieces, limit, recipient),
        media_type=made.media_type,
        file_name=file_name(made, now),
    )


def file_name(made: ExportFormat, at: datetime) -> str:
    """Environment and time, but nothing of the search: file names get around."""
    return f"audit-{settings.CONSOLE_ENV}-{at:%Y%m%dT%H%M%SZ}.{made.extension}"


def _entries_of_it(review: Review, staff: Staff) -> tuple[AuditEntry, ...]:
    """Some entries of the one conversation or key that a review is about, whatever the filters; none out of scope."""
    if not (review.conversation or review.key):
        return ()
    return gather(Review(conversation=review.conversation, key=review.key), staff, ENTRIES_OF_IT, PIECES_OF_IT).entries


def _entry(review: Review, payload: dict[str, Any], of_it: Sequence[AuditEntry], staff: Staff) -> TrailEntry:
    """Record it in the trail of the one conversation exported, else (or if that has no entries) in the person's own."""
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


def _content(
    made: ExportFormat,
    first: Sequence[AuditEntry],
    others: Iterator[Sequence[AuditEntry]],
    limit: int,
    recipient: tuple[str, ...],
) -> Iterator[bytes]:
    """The file. Each piece has its own budget, because the request's ended with the view."""
    sent, left = 0, PIECES_PER_FULL_ONE * (limit // PIECE + 1)
    pieces = chain((first,), others)
    try:
        yield made.head()
        while left > 0:
            with budget(settings.REQUEST_DEADLINE_SECONDS):
                piece = next(pieces, None)
                if piece is None:
                    return
                data = made.rows(rows_of_piece(piece[: limit - sent], recipient))
            if data:
                yield data
            if sent + len(piece) > limit:
                yield made.incomplete(f"This file stops at {limit:,} entries. Older entries are not in it.")
                return
            sent, left = sent + len(piece), left - 1
        yield made.incomplete("Few entries match the filters. Older entries were not searched.")
    except ConsoleError as error:
        yield made.incomplete(
            f"The export stopped early: {str(error) or type(error).__name__} Older entries are missing."
        )
    except Exception:
        # An error page can no longer follow, and the part that was sent must not pass for the whole.
        logger.exception("An export broke off")
        yield made.incomplete("Reading stopped early because of an error in the console. Older entries are missing.")
