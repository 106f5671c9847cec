"""Lists of chats over time: a user's messages, the images made for them, and the images of a prompt."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from console import clock
from console.errors import NotAccepted, TableMissing
from console.forms import DaysForm
from console.permissions import Staff
from console.redaction import excerpt
from console.store.paging import RESTARTED, PageRead, PageSource, read_page
from console.templatetags.components import zone_of
from conversations.records import Speaker
from conversations.stores.adapter import ListParameters
from conversations.stores.chats import queries
from conversations.stores.chats.images import COLUMNS as IMAGE_COLUMNS
from conversations.stores.chats.images import image_row
from conversations.stores.chats.keys import moment, position_of, session_place, short, short_session, tabs
from conversations.stores.chats.messages import image_id_of
from conversations.stores.chats.models import PROMPT, USER_CONVERSATION, ChatEvent, Image
from conversations.stores.chats.queries import M
from conversations.stores.chats.reading import flaws_of
from conversations.stores.items import UNKNOWN_SENDER, speaker_of
from conversations.stores.reading import capture_errors, is_missing_by_design, notice_of
from conversations.stores.records import Cell, Listing, RecordRow

Rows = tuple[tuple[RecordRow, ...], tuple[str, ...]]
WANTED = ("UserId", "SessionId", "TimestampCreated", "ChatAgent", "ImageId")
IMAGE_WANTED = ("ImageId", "UserId", "Prompt", "ImageURI", "TimestampCreated")
_TONES = {Speaker.CUSTOMER: "human", Speaker.AI: "ai"}
_LATEST = Decimal(10**13)
_TICK = timedelta(microseconds=1)


def list_chats(user_id: str, staff: Staff, parameters: ListParameters) -> Listing:
    """List a user's messages on the chosen days, newest first. One Query. Raises the store's errors."""
    form = DaysForm(parameters.data)
    form.is_valid()
    listing = Listing(
        title=f"User {short(user_id)}",
        columns=("When", "Who", "Session", "Image"),
        rows=(),
        about="Times and images only. Texts are kept only while their session runs.",
        tabs=tabs(user_id, "chats"),
        filters=form,
        empty="No chats",
        empty_text="Nothing was written on those days." if form.is_bound and form.has_changed() else "",
    )
    since, until = form.instants(zone_of(staff))
    source = _source(user_id)
    if since or until:
        low = Decimal(clock.to_epoch(since)) if since else Decimal(0)
        # Up to but not including midnight.
        high = Decimal(repr((until - _TICK).timestamp())) if until else _LATEST
        source = replace(source, ranges=((low, high),))
    return _listed(
        listing,
        source,
        staff,
        parameters.cursor,
        "The chats over time could not be read",
        lambda read: (tuple(_row(event, user_id, staff) for event in read.items), ()),
    )


def list_images(user_id: str, staff: Staff, parameters: ListParameters) -> Listing:
    """List the images of a user's chats, newest first: a few Queries at most, and one BatchGetItem.

    Raises the store's errors for the chats; if the images cannot be read, the rows say so.
    """
    listing = Listing(
        title=f"User {short(user_id)}",
        columns=IMAGE_COLUMNS,
        rows=(),
        about="Images that were answers in this user's chats.",
        tabs=tabs(user_id, "images"),
        empty="No images",
        empty_text="None of the messages searched has one.",
    )

    def rows(read: PageRead[ChatEvent]) -> Rows:
        ids = [image_id_of(event) for event in read.items]
        images = capture_errors(lambda: queries.images(ids), dict[str, Image]())()
        lost = notice_of(images.error, "The images could not be read", "IMAGE_RESPONSES")
        made = tuple(
            image_row(each, images.value.get(each), clock.parse_instant(event.plain("TimestampCreated")), bool(lost))
            for each, event in zip(ids, read.items, strict=True)
        )
        return made, (*lost, *_looked(read))

    source = replace(_source(user_id), keep=lambda event: bool(image_id_of(event)), binding=("images",))
    return _listed(listing, source, staff, parameters.cursor, "The chats over time could not be read", rows)


def list_of_prompt(prompt: str, staff: Staff, parameters: ListParameters) -> Listing:
    """List the images of one prompt, newest first. One Query. Raises the store's errors."""
    listing = Listing(
        title="Images of one prompt",
        columns=IMAGE_COLUMNS,
        rows=(),
        about=excerpt(prompt, 200),
        empty="No images",
        empty_text="There is no longer an image with exactly that prompt.",
    )
    return _listed(
        listing,
        PageSource(model=Image, partition=prompt, attributes=IMAGE_WANTED, index=PROMPT, descending=True),
        staff,
        parameters.cursor,
        "Images could not be found by their prompt",
        lambda read: (tuple(image_row(item.ImageId, item, None) for item in read.items), ()),
    )


def _source(user_id: str) -> PageSource[ChatEvent]:
    return PageSource(
        model=ChatEvent,
        partition=user_id,
        attributes=WANTED,
        index=USER_CONVERSATION,
        descending=True,
        binding=("chats",),
    )


def _listed(
    listing: Listing,
    source: PageSource[M],
    staff: Staff,
    cursor: str,
    failed: str,
    rows_of: Callable[[PageRead[M]], Rows],
) -> Listing:
    """Return the list with one page of rows; without rows, but with a notice, if its table or index is missing.

    Raises the store's other errors.
    """
    table_key = source.model.Meta.table_key
    try:
        read = read_page(source, staff.username, cursor)
    except (TableMissing, NotAccepted) as error:
        if not is_missing_by_design(error, table_key, source.index):
            raise
        return replace(listing, notices=notice_of(error, failed, table_key, source.index))
    rows, notices = rows_of(read)
    notices = (*((RESTARTED,) if read.restarted else ()), *notices)
    return replace(listing, rows=rows, next=read.next, back=read.back, notices=notices)


def _looked(read: PageRead[ChatEvent]) -> tuple[str, ...]:
    if not read.looked_at:
        return ()
    which = "latest" if read.from_start else "next"
    goes_on = " There are more to look at." if read.thin else ""
    return (f"Looked for images among the {which} {read.looked_at} messages.{goes_on}",)


def _row(event: ChatEvent, user_id: str, staff: Staff) -> RecordRow:
    speaker, name, flaws = speaker_of(event.plain("ChatAgent"), "ChatAgent")
    at = clock.parse_instant(event.plain("TimestampCreated"))
    return RecordRow(
        name=moment(at, staff),
        place=session_place(user_id, event.SessionId, position_of(event)),
        cells=(
            Cell(name if speaker in _TONES else UNKNOWN_SENDER, tone=_TONES.get(speaker, "")),
            Cell(short_session(event.SessionId), mono=True),
            Cell("with an image" if image_id_of(event) else ""),
        ),
        flaws=(*flaws_of(event), *flaws),
    )
