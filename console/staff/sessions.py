"""Sessions as items in DynamoDB, checked together with the account on every request.

The cookie's token is sealed and contains the username and a random part; the table stores only the token's SHA-256.
The username lets account and session be read together, in one strongly consistent BatchGetItem, so that sign-out, a
change of password, role or scope, and disabling take effect with the next request.
"""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock, refs
from console.errors import BadReference, ConsoleError, NotFound, StoreUnavailable, TableMissing
from console.permissions import Staff
from console.staff import second_factor
from console.staff.models import StaffAccount, StaffSession, UsernameIndex
from console.staff.oidc import configuration
from console.store.calls import TransactionRefused
from console.store.connection import call
from console.store.models import StoreModel
from console.store.presence import index_ready
from console.trail.models import AuditEntry
from console.trail.recording import write_with_entry

logger = logging.getLogger(__name__)

# The precision of `last_seen_at`: one small write per session and five minutes, not one per request.
TOUCH_EVERY = timedelta(minutes=5)
MAX_TOKEN_LENGTH = 400
# More than anybody has, so that the list of sessions is one read.
SESSIONS_READ = 100
# Ways to sign in (`StaffSession.method`).
PASSWORD = "password"  # not a password, the name of a method  # noqa: S105  # nosec B105
PASSWORD_AND_CODE = "password and code"  # noqa: S105  # nosec B105
PASSWORD_AND_RECOVERY_CODE = "password and recovery code"  # noqa: S105  # nosec B105
COMPANY_SIGN_IN = "company sign-in"

Model = TypeVar("Model", bound=StoreModel)


@dataclass(frozen=True, slots=True)
class Visitor:
    """The content of a browser's token: its session's key and the username."""

    username: str
    session_id: str


def token_of(cookies: Mapping[str, str]) -> str:
    """Return the token among a request's cookies; "" if there is none."""
    return cookies.get(settings.SESSION_COOKIE_NAME, "")


def read_token(token: str) -> Visitor | None:
    """Return the visitor of a cookie's token, without a read; None for one that this console did not seal."""
    if not token or len(token) > MAX_TOKEN_LENGTH:
        return None
    try:
        username, _random = refs.unseal("session", token, 2)
    except BadReference:
        return None
    return Visitor(username, hashlib.sha256(token.encode()).hexdigest())


def prepare(
    username: str, epoch: int, *, user_agent: str = "", address: str = "", method: str = PASSWORD
) -> tuple[str, StaffSession]:
    """Return the token for the cookie, and a session of that epoch, not yet stored."""
    token = refs.seal("session", username, secrets.token_urlsafe(32))
    moment = clock.now()
    session = StaffSession(
        session_id=hashlib.sha256(token.encode()).hexdigest(),
        username=username,
        epoch=epoch,
        created_at=clock.to_iso(moment),
        last_seen_at=clock.to_iso(moment),
        expires_at=clock.to_epoch(moment + timedelta(hours=settings.SESSION_ABSOLUTE_HOURS)),
        user_agent=user_agent or None,
        address=address or None,
        method=method,
    )
    return token, session


def start(
    account: StaffAccount,
    entry: AuditEntry,
    *,
    user_agent: str = "",
    address: str = "",
    previous_token: str = "",
    method: str = PASSWORD,
    second_factor_stated: bool = False,
) -> str:
    """Start a session and return its token for the cookie.

    One transaction: the session, its trail entry, and the end of the browser's previous session. The session has the
    epoch that `account` had when the password was checked, so that a change since then ends it.
    `address` is the browser's, "" if unknown. `second_factor_stated`: the company's own sign-in said that the person
    used one.
    """
    token, session = prepare(
        account.username, int(account.epoch), user_agent=user_agent, address=address, method=method
    )
    session.second_factor = second_factor_stated or None
    session.lacks_second_factor = (method == PASSWORD and second_factor.is_required(account.role)) or None
    previous = read_token(previous_token)

    def swap(writes: TransactWrite) -> None:
        writes.save(session)
        if previous is not None:
            writes.delete(StaffSession(previous.session_id))

    write_with_entry(entry, swap)
    return token


def end(session_id: str, entry: AuditEntry) -> None:
    """End one session, together with its trail entry; copies of its cookie stop working too."""
    write_with_entry(entry, lambda writes: writes.delete(StaffSession(session_id)))


def end_of(username: str, session_id: str, entry: AuditEntry) -> None:
    """End one session of that account, with its trail entry. Raises `NotFound` if it has ended or is another's."""
    is_theirs = StaffSession.username == username
    try:
        write_with_entry(entry, lambda writes: writes.delete(StaffSession(session_id), condition=is_theirs))
    except TransactionRefused as error:
        raise NotFound("That session has already ended.") from error


def running(account: StaffAccount) -> tuple[StaffSession, ...]:
    """Return the account's valid sessions, newest first: one Query of at most `SESSIONS_READ`.

    Raises `TableMissing` without the index.
    """
    if not index_ready("STAFF_SESSIONS", UsernameIndex.Meta.index_name):
        raise TableMissing("STAFF_SESSIONS")
    now = clock.now()
    found = StaffSession.by_username.query(account.username, scan_index_forward=False, limit=SESSIONS_READ)
    return tuple(session for session in found if is_valid(account, session, now))


def end_all(username: str, entry: AuditEntry) -> None:
    """End every session of an account, together with the trail entry. Raises `Conflict` if there is no such account."""
    actions: list[UpdateAction] = [StaffAccount.epoch.add(1), StaffAccount.updated_at.set(clock.to_iso(clock.now()))]
    exists = StaffAccount.username.exists()
    write_with_entry(entry, lambda writes: writes.update(StaffAccount(username), actions=actions, condition=exists))


def authenticate_request(token: str, *, is_activity: bool = True) -> Staff | None:
    """Return the person who sends this token; None if the session has ended or never existed.

    One BatchGetItem, and at most every five minutes a write of `last_seen_at`. `is_activity` is False for polling,
    which does not keep a session alive. Raises `StoreUnavailable` or `Throttled` if they could not be read.
    """
    visitor = read_token(token)
    if visitor is None:
        return None
    account, session = _read(visitor)
    moment = clock.now()
    if account is None or session is None or not is_valid(account, session, moment):
        return None
    must_add = bool(session.lacks_second_factor) and second_factor.is_required(account.role)
    staff = replace(Staff.of(account, session.session_id), must_add_second_factor=must_add)
    if is_activity:
        _touch(session, moment)
    return staff


def is_valid(account: StaffAccount, session: StaffSession, at: datetime) -> bool:
    """Return whether a session is valid at that instant: same person, same epoch, enabled, within both limits.

    One that began before a second factor was required, and without one, has ended.
    """
    created, seen = clock.parse_instant(session.created_at), clock.parse_instant(session.last_seen_at)
    return (
        session.username == account.username
        and session.epoch == account.epoch
        and not account.disabled
        and not (second_factor.is_required(account.role) and _began_without_second_factor(account, session))
        and not clock.is_expired(session.expires_at, at)
        and created is not None
        and at < created + timedelta(hours=settings.SESSION_ABSOLUTE_HOURS)
        and seen is not None
        and at < seen + timedelta(minutes=settings.SESSION_IDLE_MINUTES)
    )


def _began_without_second_factor(account: StaffAccount, session: StaffSession) -> bool:
    """Tell whether the session began without a second factor, and may not be used to add one."""
    if session.method == COMPANY_SIGN_IN:
        return configuration.current().states_second_factor and not session.second_factor
    return not (second_factor.is_on(account) or session.lacks_second_factor)


def _touch(session: StaffSession, at: datetime) -> None:
    seen = clock.parse_instant(session.last_seen_at)
    if seen is not None and at - seen < TOUCH_EVERY:
        return
    try:
        session.update(
            actions=[StaffSession.last_seen_at.set(clock.to_iso(at))], condition=StaffSession.session_id.exists()
        )
    except ConsoleError as error:
        # The request itself succeeds; the next one tries again. The condition keeps an ended session ended.
        logger.warning("Could not note when a session was last seen: %s", type(error).__name__)


def _read(visitor: Visitor) -> tuple[StaffAccount | None, StaffSession | None]:
    """Read account and session in one strongly consistent BatchGetItem; unprocessed keys are retried once."""
    keys = {
        StaffAccount.Meta.table_name: {"username": {"S": visitor.username}},
        StaffSession.Meta.table_name: {"session_id": {"S": visitor.session_id}},
    }
    wanted: dict[str, Any] = {name: {"Keys": [key], "ConsistentRead": True} for name, key in keys.items()}
    found: dict[str, dict[str, Any]] = {}
    for _attempt in range(2):
        answer = call("BatchGetItem", RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
        responses = answer.get("Responses")
        if not isinstance(responses, dict):
            raise StoreUnavailable("The database gave an incomplete answer.")
        found.update({name: items[0] for name, items in responses.items() if items})
        wanted = answer.get("UnprocessedKeys") or {}
        if not wanted:
            break
    else:
        raise StoreUnavailable("The database could not read everything.")
    return (
        _instance(StaffAccount, found.get(StaffAccount.Meta.table_name)),
        _instance(StaffSession, found.get(StaffSession.Meta.table_name)),
    )


def _instance(model: type[Model], raw: dict[str, Any] | None) -> Model | None:
    if raw is None:
        return None
    try:
        return model.from_raw_data(raw)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        logger.error("An item of %s cannot be read: %s", model.__name__, type(error).__name__)
        raise StoreUnavailable("Your account could not be read.") from error
