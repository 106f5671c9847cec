"""What lies in a user's chats over time (index UserConverationGlobalIndex): the messages, and the images of them."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from console import clock
from console.errors import ConsoleError, NotAccepted, TableMissing
from console.forms import DaysForm
from console.permissions import Staff
from console.store.paging import RESTARTED, PageRead, PageSource, read_page
from console.templatetags.console import zone_of
from conversations.stores.adapter import ListParameters
from conversations.stores.chats import queries
from conversations.stores.chats.flaws import flaws_of
from conversations.stores.chats.images import COLUMNS as IMAGE_COLUMNS
from conversations.stores.chats.images import image_row
from conversations.stores.chats.keys import moment, position_of, session_place, short, short_session, tabs
from conversations.stores.chats.models import USER_CONVERSATION, ChatEvent, Image
from conversations.stores.chats.tolerance import attempt, is_designed, notice_of
from conversations.stores.chats.window import image_id_of
from conversations.stores.records import Cell, Listing, RecordRow

WANTED = ("UserId", "SessionId", "TimestampCreated", "ChatAgent", "ImageId")
_AGENTS = {"user": ("User", "human"), "assistant": ("Assistant", "ai")}
_LATEST = Decimal(10**13)
_TICK = timedelta(microseconds=1)


def list_chats(user_id: str, staff: Staff, parameters: ListParameters) -> Listing:
    """A user's messages, newest first, of the days that were chosen: one Query. Raises the store's errors."""
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
        empty_text="Nothing was written in those days." if form.is_bound and form.has_changed() else "",
    )
    read = _page(_source(user_id, form, staff), staff, parameters.cursor)
    if isinstance(read, ConsoleError):
        return replace(listing, notices=_absent(read))
    rows = tuple(_row(event, user_id, staff) for event in read.items)
    return replace(listing, rows=rows, next=read.next, back=read.back, notices=_restarted(read))


def list_images(user_id: str, staff: Staff, parameters: ListParameters) -> Listing:
    """The images of a user's chats, newest first: a few Queries at most, and one BatchGetItem.

    Raises the store's errors of the chats; where the images cannot be read, the rows say so.
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
    source = replace(_source(user_id, None, staff), keep=lambda event: bool(image_id_of(event)), binding=("images",))
    read = _page(source, staff, parameters.cursor)
    if isinstance(read, ConsoleError):
        return replace(listing, notices=_absent(read))
    ids = [image_id_of(event) for event in read.items]
    images = attempt(lambda: queries.images(ids), dict[str, Image]())()
    lost = notice_of(images.error, "The images could not be read", "IMAGE_RESPONSES")
    rows = tuple(
        image_row(each, images.value.get(each), clock.parse_instant(event.plain("TimestampCreated")), bool(lost))
        for each, event in zip(ids, read.items, strict=True)
    )
    notices = (*_restarted(read), *lost, *_looked(read))
    return replace(listing, rows=rows, next=read.next, back=read.back, notices=notices)


def _source(user_id: str, form: DaysForm | None, staff: Staff) -> PageSource[ChatEvent]:
    ranges: tuple[tuple[Any, Any], ...] = ()
    since, until = form.instants(zone_of(staff)) if form is not None else (None, None)
    if since or until:
        low = Decimal(clock.to_epoch(since)) if since else Decimal(0)
        # Up to the midnight, and not at it.
        high = Decimal(repr((until - _TICK).timestamp())) if until else _LATEST
        ranges = ((low, high),)
    return PageSource(
        model=ChatEvent,
        partition=user_id,
        attributes=WANTED,
        index=USER_CONVERSATION,
        ranges=ranges,
        descending=True,
        binding=("chats",),
    )


def _page(source: PageSource[ChatEvent], staff: Staff, cursor: str) -> PageRead[ChatEvent] | ConsoleError:
    """A page, or why there is none by design. Raises what else the store raises."""
    try:
        return read_page(source, staff.username, cursor)
    except (TableMissing, NotAccepted) as error:
        if not is_designed(error, "CHATS", USER_CONVERSATION):
            raise
        return error


def _absent(error: ConsoleError) -> tuple[str, ...]:
    return notice_of(error, "The chats over time could not be read", "CHATS", USER_CONVERSATION)


def _restarted(read: PageRead[ChatEvent]) -> tuple[str, ...]:
    return (RESTARTED,) if read.restarted else ()


def _looked(read: PageRead[ChatEvent]) -> tuple[str, ...]:
    if not read.looked_at:
        return ()
    which = "latest" if read.from_start else "next"
    goes_on = " There are more to look at." if read.thin else ""
    return (f"Looked for images among the {which} {read.looked_at} messages.{goes_on}",)


def _row(event: ChatEvent, user_id: str, staff: Staff) -> RecordRow:
    agent = event.plain("ChatAgent")
    known = _AGENTS.get(agent.strip().lower()) if isinstance(agent, str) else None
    name, tone = known or ("Unknown sender", "")
    at = clock.parse_instant(event.plain("TimestampCreated"))
    flaws = flaws_of(event)
    if known is None and agent not in (None, ""):
        flaws += ("ChatAgent: none that the schema knows",)
    return RecordRow(
        name=moment(at, staff),
        place=session_place(user_id, event.SessionId, position_of(event)),
        cells=(
            Cell(name, tone=tone),
            Cell(short_session(event.SessionId), mono=True),
            Cell("with an image" if image_id_of(event) else ""),
        ),
        flaws=flaws,
    )
