"""The sessions of an account as records, for people's own pages and for administrators."""

from dataclasses import dataclass
from datetime import datetime

from console import clock, refs
from console.errors import BadReference, NotFound, StoreUnavailable, TableMissing, Throttled
from console.staff import sessions
from console.staff.models import StaffAccount, StaffSession

KIND = "staff-session"
# Sent by a form instead of a reference: all sessions (on people's own page: all others).
ALL = "all"
UNKNOWN_BROWSER = "Unknown browser"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One signed-in browser. `reference` is what a form sends to end it; `address` is "" if unknown."""

    reference: str
    browser: str
    address: str
    method: str
    started_at: datetime | None
    last_seen_at: datetime | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class SessionList:
    """Sessions, newest first; `notice` says in words why they cannot be listed, or that there may be more."""

    rows: tuple[SessionRow, ...] = ()
    notice: str = ""

    @property
    def others(self) -> int:
        """The number of sessions other than this browser's."""
        return sum(not row.is_current for row in self.rows)


def rows(account: StaffAccount, current_session_id: str = "") -> tuple[SessionRow, ...]:
    """Return the account's valid sessions, this browser's first, then the newest. At most `sessions.SESSIONS_READ`.

    Raises `TableMissing` without the index, and the store's errors.
    """
    found = [_row(each, current_session_id) for each in sessions.running(account)]
    return tuple(sorted(found, key=lambda row: not row.is_current))


def load(account: StaffAccount, current_session_id: str = "") -> SessionList:
    """Return `rows` as a list; an error becomes a notice, so that the rest of the page is shown."""
    try:
        found = rows(account, current_session_id)
    except TableMissing:
        return SessionList(
            notice="Sessions cannot be listed, because their index is missing (manage.py tables create)."
        )
    except (StoreUnavailable, Throttled):
        return SessionList(notice="The sessions could not be read. Reload the page to try again.")
    return SessionList(found, "There may be more sessions than these." if len(found) >= sessions.SESSIONS_READ else "")


def session_id_of(username: str, reference: str) -> str:
    """Return the session that a form names. Raises `NotFound` for an invalid reference or another account's."""
    try:
        owner, session_id = refs.unseal(KIND, reference, 2)
    except BadReference as error:
        raise NotFound from error
    if owner != username:
        raise NotFound
    return session_id


def _row(session: StaffSession, current_session_id: str) -> SessionRow:
    return SessionRow(
        reference=refs.seal(KIND, session.username, session.session_id),
        browser=session.user_agent or UNKNOWN_BROWSER,
        address=session.address or "",
        method=session.method or sessions.PASSWORD,
        started_at=clock.parse_instant(session.created_at),
        last_seen_at=clock.parse_instant(session.last_seen_at),
        is_current=session.session_id == current_session_id,
    )
