"""The export of a list of conversations, which is recorded first and then streamed."""

from itertools import chain

from django.conf import settings

from console import clock
from console.errors import TableMissing
from console.exports import FORMATS, Export, ExportBounds, file_name, send
from console.permissions import Permission, Staff
from console.store.paging import PAGE_SIZE
from console.trail.actions import Action
from console.trail.recording import Actor, NoTrail, TrailEntry, record, staff_trail
from conversations.lists.exporting.reading import ListToExport
from conversations.lists.exporting.rows import COLUMNS
from conversations.lists.saved_views.records import describe

# Filters can leave pages empty, so stop after this multiple of the pages that the limit needs, and after this time.
PAGES_PER_FULL_ONE = 5
MOST_SECONDS = 60.0


def export(listed: ListToExport, format_name: str, staff: Staff) -> Export:
    """Read the first page, record the export, and return the response to stream.

    Raises `Forbidden`, `NoTrail` and the store's other errors, before anything is exported. Later failures are noted at
    the end of the file.
    """
    staff.require(Permission.CONVERSATION_EXPORT)
    pages = listed.pages()
    first = next(pages, ())
    now, limit = clock.now(), settings.CONVERSATION_EXPORT_LIMIT
    payload = {"list": listed.what, "format": format_name, "filters": describe(listed.filters, {}), "limit": limit}
    entry = TrailEntry(
        trail=staff_trail(staff.username),
        action=Action.CONVERSATIONS_EXPORTED,
        actor=Actor.of(staff),
        company_id=listed.company_id,
        payload=payload | ({"person": listed.person} if listed.person else {}),
    )
    try:
        record(entry, now)
    except TableMissing as missing:
        raise NoTrail("Lists can be exported", "nothing was exported") from missing
    made = FORMATS[format_name](COLUMNS)
    most_pages = PAGES_PER_FULL_ONE * (limit // PAGE_SIZE + 1)
    bounds = ExportBounds(limit, most_pages, "rows", "Further rows", MOST_SECONDS)
    return Export(
        send(made, chain((first,), pages), bounds), made.media_type, file_name("conversation-list", made, now)
    )
