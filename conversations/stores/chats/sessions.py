"""A user's sessions, newest first: those in Sessions, and past ones that only the chats over time still show.

The two are joined page by page: a page reads a number of the user's chats and lists the sessions in them.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from console import clock
from console.permissions import Staff
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel
from console.store.models import Key, key_of_item
from console.store.paging import RESTARTED
from console.templatetags.components import dated
from console.trees import Fact, distance
from conversations.stores.chats import queries
from conversations.stores.chats.keys import begun_at, is_digest, is_usable, moment, session_place, short, tabs
from conversations.stores.chats.models import USER_CONVERSATION, USERS_LAST_MESSAGE, ChatEvent, Session
from conversations.stores.chats.queries import Part
from conversations.stores.chats.reading import (
    SessionState,
    config_in_row,
    config_of,
    created_at,
    flaws_of,
    quota_of,
    state_cell,
    state_of,
)
from conversations.stores.reading import Attempted, capture_errors, notice_of
from conversations.stores.records import Cell, Listing, RecordRow

ROWS = 50
_EVER = datetime.min.replace(tzinfo=UTC)
COLUMNS = ("Session", "State", "Last message", "Quota", "Configuration")


@dataclass(frozen=True, slots=True)
class SessionsLooked:
    """What a page found among the chats: the latest and the earliest instant of each session's messages.

    `key` is that of the last event if there are more; `since` its instant; `count` how many were read.
    """

    spans: dict[str, tuple[datetime | None, datetime | None]] = field(default_factory=dict)
    key: Key | None = None
    since: datetime | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Listed:
    """One session of the list."""

    session_id: str
    state: SessionState
    begun: datetime | None
    last: datetime | None = None
    item: Session | None = None


def list_sessions(user_id: str, staff: Staff, cursor: str) -> Listing:
    """Return one page. Parallel Queries of Sessions, of the chats, and on the first page of the last messages.

    Failures become notices. Raises the store's error if neither sessions nor chats could be read.
    """
    binding = ("chats sessions", user_id, staff.username)
    start: Key | None = None
    shown: frozenset[str] = frozenset()
    match unseal_cursor(cursor, *binding) if cursor else None:
        case [dict() as start, list() as digests]:
            shown = frozenset(str(each) for each in digests)
    nothing: Part[Any] = Part()
    alive, events, latest = parallel(
        capture_errors(partial(queries.sessions_of, user_id), nothing),
        capture_errors(partial(queries.events_of, user_id, start), nothing),
        capture_errors(partial(queries.last_messages, user_id), nothing)
        if start is None
        else lambda: Attempted(nothing),
    )
    if alive.error and events.error:
        raise alive.error
    looked = search_sessions(events.value, shown | {digest(item.SessionId) for item in alive.value.items})
    rows = merged(alive, looked, shown, is_first=start is None)
    resume_at = [looked.key, sorted(digest(each) for each in looked.spans)]
    return Listing(
        title=f"User {short(user_id)}",
        columns=COLUMNS,
        rows=tuple(_row(each, user_id, staff) for each in rows),
        next=seal_cursor(resume_at, *binding) if looked.key else "",
        notices=(
            *((RESTARTED,) if cursor and start is None else ()),
            *_notices(alive, events, latest),
            *_reach(looked, staff, "latest" if start is None else "next"),
        ),
        facts=_facts(user_id, latest, events.value) if start is None else (),
        tabs=tabs(user_id, "sessions"),
        empty="No sessions",
        empty_text="This user has no running session and no earlier chats.",
    )


def digest(session_id: str) -> str:
    """Return a short hash of a session's id for cursors, which may contain hundreds of them."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]


# --- Joining --------------------------------------------------------------------------------------------------------


def search_sessions(part: Part[ChatEvent], no_rows: frozenset[str]) -> SessionsLooked:
    """Scan chats, newest first, until they end or contain as many ended sessions as a page has rows.

    `no_rows` are the digests of sessions that get no row: running ones, and those of the page before.
    """
    spans: dict[str, tuple[datetime | None, datetime | None]] = {}
    rows = count = 0
    for event in part.items:
        session_id = event.SessionId
        if session_id not in spans and digest(session_id) not in no_rows:
            if rows == ROWS:
                break
            rows += 1
        at = clock.parse_instant(event.plain("TimestampCreated"))
        latest, earliest = spans.get(session_id, (at, at))
        spans[session_id] = (latest or at, at or earliest)
        count += 1
    if not count or (count == len(part.items) and part.last is None):
        return SessionsLooked(spans, count=count)
    last = part.items[count - 1]
    key = key_of_item(ChatEvent, last.raw, USER_CONVERSATION)
    return SessionsLooked(spans, key, clock.parse_instant(last.plain("TimestampCreated")), count)


def merged(
    alive: Attempted[Part[Session]],
    looked: SessionsLooked,
    shown: frozenset[str] = frozenset(),
    *,
    is_first: bool = True,
) -> list[Listed]:
    """Return the sessions of one page, newest first by instant; those without one come last.

    Running sessions are on the first page: a user has one at a time, and it lasts some hours.
    """
    by_id = {item.SessionId: item for item in alive.value.items}
    listed = [
        Listed(each, state_of(item), created_at(item), looked.spans.get(each, (None, None))[0], item)
        for each, item in by_id.items()
        if is_first
    ]
    # A session is only known to be gone if all of Sessions was read.
    is_known = alive.error is None and alive.value.last is None
    listed += [
        Listed(each, state_of(None, is_readable=is_known), begun_at(each) or earliest, latest)
        for each, (latest, earliest) in looked.spans.items()
        if each not in by_id and digest(each) not in shown
    ]
    return sorted(listed, key=lambda each: (each.begun or _EVER, each.session_id), reverse=True)


# --- Showing --------------------------------------------------------------------------------------------------------


def _row(listed: Listed, user_id: str, staff: Staff) -> RecordRow:
    item = listed.item
    flaws = (*flaws_of(item), *config_of(item)[1]) if item is not None else ()
    if not is_usable(listed.session_id):
        flaws += ("its id is too long to be opened",)
    return RecordRow(
        name=moment(listed.begun, staff) if listed.begun else short(listed.session_id),
        place=session_place(user_id, listed.session_id),
        cells=(
            state_cell(listed.state),
            Cell(at=listed.last) if listed.last else Cell(),
            Cell(quota_of(item) if item is not None else ""),
            Cell(config_in_row(item) if item is not None else ""),
        ),
        flaws=flaws,
    )


def _facts(user_id: str, latest: Attempted[Part[ChatEvent]], events: Part[ChatEvent]) -> tuple[Fact, ...]:
    digest = "the SHA-256 digest of a phone number"
    note = digest if is_digest(user_id) else "not a SHA-256 digest, which the schema requires"
    user = Fact("User", short(user_id), mono=True, note=note)
    if latest.error is not None:
        return (user,)
    compared = (*latest.value.items, *events.items[:1])
    instants = [at for each in compared if (at := clock.parse_instant(each.plain("TimestampCreated")))]
    if not instants:
        return user, Fact("Ever chatted", "yes" if compared else "no")
    last = max(instants)
    # The chats over time begin with the last one; without them, only the compared messages count.
    bounded = latest.value.last is not None and not events.items
    said = f"of {len(latest.value.items)} messages that were compared; there are more" if bounded else ""
    words = distance(last, "ago", clock.now())
    return user, Fact("Ever chatted", "yes"), Fact("Last message", words, at=last, relative="ago", note=said)


def _notices(
    alive: Attempted[Part[Session]], events: Attempted[Part[ChatEvent]], latest: Attempted[Part[ChatEvent]]
) -> tuple[str, ...]:
    found = [
        *notice_of(alive.error, "The running sessions could not be read", "SESSIONS"),
        *notice_of(events.error, "Earlier sessions could not be read", "CHATS", USER_CONVERSATION),
    ]
    if events.error is None:
        found += notice_of(
            latest.error, "The time of this user's last chat could not be read", "CHATS", USERS_LAST_MESSAGE
        )
    if alive.value.last is not None:
        found.append(
            f"This user has more sessions in Sessions than the console reads at once: {queries.MOST_SESSIONS}."
        )
    return tuple(found)


def _reach(looked: SessionsLooked, staff: Staff, which: str) -> tuple[str, ...]:
    if looked.key is not None:
        since = f", back to {dated(looked.since, staff)}" if looked.since else ""
        return (f"Looked at the {which} {looked.count} messages{since}. Earlier sessions are on the next page.",)
    return (f"Looked at {looked.count} messages, back to the first.",) if looked.count else ()
