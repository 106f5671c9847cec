"""An export: put on record, then sent piece by piece, so that no more than a piece is ever in memory."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Protocol

from django.conf import settings

from console import clock
from console.audit.export.formats import FORMATS, ExportFormat
from console.audit.export.rows import rows_of_piece
from console.audit.review.filters import Review
from console.audit.review.gathering import gather
from console.audit.review.reading import every_page
from console.audit.scoping import is_conversation_trail, recipient_names
from console.errors import ConsoleError
from console.permissions import Permission, Staff
from console.store.calls import budget
from console.trail.actions import Action, conversation_trail, staff_trail
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, record

logger = logging.getLogger(__name__)

PIECE = 200
# Filters can leave a piece empty: so many times what the limit would take is looked through, and no further.
PIECES_PER_FULL_ONE = 5
# What is read to see whether the one conversation or key is there at all.
ENTRIES_OF_IT, PIECES_OF_IT = 20, 3


class Words(Protocol):
    """The filters of a review, and whether they name the one conversation or key that it is of."""

    def __call__(self, *, opened: bool) -> tuple[str, ...]:
        """One line for each."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file that can be sent: on record already. `content` gives its bytes once."""

    content: Iterator[bytes] = field(repr=False)
    media_type: str
    file_name: str


def export(review: Review, filters: Words, format_name: str, staff: Staff) -> Export:
    """Read the first piece, write the one entry, and give what is to be sent.

    `filters` gives those of the review in words without personal data. Raises `Forbidden`, the store's errors, and
    `TableMissing`: then nothing is exported. Later failures are told at the end of the file.
    """
    staff.require(Permission.AUDIT_EXPORT)
    limit = settings.AUDIT_EXPORT_LIMIT
    # One entry more than may be sent tells that there are more.
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
    """Environment and time: nothing of what was looked for, for names of files go far."""
    return f"audit-{settings.CONSOLE_ENV}-{at:%Y%m%dT%H%M%SZ}.{made.extension}"


def _entries_of_it(review: Review, staff: Staff) -> tuple[AuditEntry, ...]:
    """Something of the one conversation or key that a review is of, whatever the filters: none where it is not there.

    What is out of scope is not there either.
    """
    if not (review.conversation or review.key):
        return ()
    return gather(Review(conversation=review.conversation, key=review.key), staff, ENTRIES_OF_IT, PIECES_OF_IT).entries


def _entry(review: Review, payload: dict[str, Any], of_it: Sequence[AuditEntry], staff: Staff) -> TrailEntry:
    """In the trail of the one conversation that is exported; else, and where nothing of it is there, in one's own."""
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
    """The file. Each piece has a budget of its own: the request's ended with the view."""
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
                yield made.incomplete(f"The limit of {limit:,} entries is reached: older ones are not in this file.")
                return
            sent, left = sent + len(piece), left - 1
        yield made.incomplete("Few entries match the filters. Older entries were not searched.")
    except ConsoleError as error:
        yield made.incomplete(f"Reading broke off: {str(error) or type(error).__name__} Older entries are missing.")
    except Exception:
        # The answer is under way, and no error page can follow: what was sent must not pass for all there is.
        logger.exception("An export broke off")
        yield made.incomplete("Reading stopped early because of an error in the console. Older entries are missing.")
