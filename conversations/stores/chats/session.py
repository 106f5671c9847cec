"""One session: its item in Sessions if it still exists, its messages over time, and their images."""

from dataclasses import dataclass, replace
from functools import partial

from console import clock
from console.context import read_only_reason
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.store.calls import run_alongside
from console.templatetags.components import dated
from console.trail.recording import chat_trail
from console.trees import Fact, instant_fact
from conversations.messages.facts import unknown_names, unknown_tree
from conversations.messages.transcript import with_breaks
from conversations.stores.adapter import ListParameters, Subject
from conversations.stores.chats import queries
from conversations.stores.chats.images import COLUMNS, image_row
from conversations.stores.chats.keys import anchor_of, begun_at, is_usable, short, short_session, user_link
from conversations.stores.chats.messages import (
    ChatWindow,
    MessageContext,
    image_id_of,
    messages_of,
    read_window,
    sealed,
    spot_of,
    user_of,
)
from conversations.stores.chats.models import Image, Session
from conversations.stores.chats.queries import Spot
from conversations.stores.chats.reading import (
    LIFE,
    SessionState,
    config_of,
    config_tree,
    created_at,
    flaws_of,
    quota_of,
    state_cell,
    state_of,
)
from conversations.stores.reading import Attempted, capture_errors, notice_of
from conversations.stores.records import Listing, MessageList, RecordAction, RecordPage, RecordRow

_ABOUT = {
    SessionState.FINISHED: "It was ended early.",
    SessionState.EXPIRED: "It has expired. What you see is rebuilt from the chats over time.",
}


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """A session as it is stored: its item until it expires, a window of its messages, and their images."""

    user_id: str
    session_id: str
    item: Attempted[Session | None]
    window: ChatWindow
    images: Attempted[dict[str, Image]]

    @property
    def state(self) -> SessionState:
        """The current state of the session."""
        return state_of(self.item.value, is_readable=self.item.error is None)


def load_session(user_id: str, session_id: str, staff: Staff, parameters: ListParameters) -> LoadedSession:
    """Load a session: GetItem and two Queries in parallel, then one BatchGetItem if there are images.

    Raises `NotFound` if nothing of it exists, and the store's error if that cannot be known.
    """
    if not is_usable(session_id):
        raise NotFound
    spot = spot_of(parameters.before, *_binding(session_id, staff)) or Spot()
    item, found = _read(user_id, session_id, spot, parameters.at)
    if not found.entries and spot != Spot():
        # There are no messages at this spot, or they were removed.
        item, found = _read(user_id, session_id, Spot(), "")
    if item.value is None and not found.entries:
        for error in (item.error, found.events.error, found.texts.error):
            if error is not None:
                raise error
        raise NotFound
    ids = [each for entry in found.entries if (each := image_id_of(entry.event))]
    images = capture_errors(partial(queries.images, ids), dict[str, Image]())()
    return LoadedSession(user_id or user_of(found.entries), session_id, item, found, images)


def _read(user_id: str, session_id: str, spot: Spot, at: str) -> tuple[Attempted[Session | None], ChatWindow]:
    item = capture_errors(partial(queries.session, user_id, session_id), None)
    with run_alongside(item) as reading:
        found = read_window(session_id, spot, at)
    return reading.result(), found


def _binding(session_id: str, staff: Staff) -> tuple[str, ...]:
    return "chats window", session_id, staff.username


def subject_of(session_id: str) -> Subject:
    """Return what trail entries say about a session."""
    return Subject(chat_trail(session_id), payload={"chat": short_session(session_id)})


# --- The page -------------------------------------------------------------------------------------------------------


def session_page(loaded: LoadedSession, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
    """Return the page of a session, redacted unless `raw`. Reads nothing and never raises."""
    item, found = loaded.item.value, loaded.window
    return RecordPage(
        title=name_of(loaded.session_id, item, staff),
        about=_ABOUT.get(loaded.state, ""),
        state=state_cell(loaded.state),
        facts=_facts(loaded),
        talk=_talk(loaded, staff, parameters, raw=raw),
        notices=(
            *notice_of(loaded.item.error, "The state of the session could not be read", "SESSIONS"),
            *notice_of(found.events.error, "The senders and times of the messages could not be read", "CHATS"),
            *notice_of(found.texts.error, "The texts could not be read", "CHAT_MESSAGES"),
            *notice_of(loaded.images.error, "The images could not be read", "IMAGE_RESPONSES"),
        ),
        flaws=(*flaws_of(item), *config_of(item)[1], *unknown_names(item)) if item is not None else (),
        unknown=unknown_tree(item) if item is not None else None,
        config=config_tree(item, raw=raw) if item is not None else None,
        actions=_actions(loaded, staff),
        tables=_images(loaded),
        crumbs=(user_link(loaded.user_id),) if loaded.user_id else (),
    )


def name_of(session_id: str, item: Session | None, staff: Staff) -> str:
    """Return the name of a session: when it began, with the date, as pages are saved and printed."""
    begun = (created_at(item) if item is not None else None) or begun_at(session_id)
    return f"Session of {dated(begun, staff)}" if begun else f"Session {short(session_id)}"


def _facts(loaded: LoadedSession) -> tuple[Fact, ...]:
    item, now = loaded.item.value, clock.now()
    user = Fact("User", short(loaded.user_id), mono=True)
    if item is None:
        began = begun_at(loaded.session_id)
        expired = Fact("Expired", LIFE) if loaded.state is SessionState.EXPIRED else Fact("Expires")
        return user, Fact("Started", at=began), expired, Fact("Messages", _count(loaded.window))
    begun = item.plain("TimestampCreated")
    started = instant_fact("Started", begun, "ago", now) if begun else Fact("Started", at=begun_at(loaded.session_id))
    return (
        user,
        started,
        instant_fact("Expires", item.plain("SessionTTL"), "in", now),
        instant_fact("Finished", item.plain("TimestampFinished"), "ago", now)
        if loaded.state is SessionState.FINISHED
        else Fact("Finished", "not ended by anybody"),
        Fact("Quota", _quota(item)),
        Fact("Messages", _count(loaded.window)),
    )


def _quota(item: Session) -> str:
    quota = quota_of(item)
    return f"{quota} messages" if quota.isdigit() else quota


def _count(found: ChatWindow) -> str:
    """Return the number of messages, if known."""
    if found.events.error is not None:
        return ""
    shown = len(found.entries)
    if found.is_from_start and found.is_to_end:
        return str(shown)
    return f"more than {shown}"


def _talk(loaded: LoadedSession, staff: Staff, parameters: ListParameters, *, raw: bool) -> MessageList:
    found, binding = loaded.window, _binding(loaded.session_id, staff)
    images = None if loaded.images.error is not None else loaded.images.value
    context = MessageContext(
        loaded.user_id, loaded.state is SessionState.EXPIRED, images, parameters.show, raw, parameters.at
    )
    ends = [anchor_of(each.position) for each in (*found.entries[:1], *found.entries[-1:])]
    return MessageList(
        items=with_breaks(messages_of(found, context), staff),
        earlier=sealed("before", ends[0], *binding) if ends and not found.is_from_start else "",
        later=sealed("after", ends[-1], *binding) if ends and not found.is_to_end else "",
        empty_text="Nothing was written in this session yet.",
    )


def _actions(loaded: LoadedSession, staff: Staff) -> tuple[RecordAction, ...]:
    if loaded.state is not SessionState.RUNNING or not staff.can(Permission.CHAT_END) or read_only_reason():
        return ()
    return (RecordAction("end", "End session", "The chatbot starts again with the user's next message.", danger=True),)


def _images(loaded: LoadedSession) -> tuple[Listing, ...]:
    """Return the images of the messages shown as a short table; none if there are none."""
    rows: dict[str, RecordRow] = {}
    is_lost = loaded.images.error is not None
    for entry in loaded.window.entries:
        image_id = image_id_of(entry.event)
        if image_id and image_id not in rows:
            at = clock.parse_instant(entry.position)
            rows[image_id] = image_row(image_id, loaded.images.value.get(image_id), at, is_lost)
    if not rows:
        return ()
    listing = Listing("Images", COLUMNS, tuple(reversed(rows.values())))
    is_whole = loaded.window.is_from_start and loaded.window.is_to_end
    return (listing if is_whole else replace(listing, about="From the messages shown above."),)
