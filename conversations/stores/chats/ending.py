"""Ending a running session: set only `TimestampFinished`, if the session still runs as it was shown."""

from functools import partial

from django import forms
from django.http import QueryDict

from console import clock
from console.errors import Conflict, NotFound
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest
from console.trail import actions
from console.trees import Fact, instant_fact
from conversations.stores.adapter import NothingToDo, RecordActionHandler
from conversations.stores.chats import queries
from conversations.stores.chats.keys import check, short, user_link
from conversations.stores.chats.models import Session
from conversations.stores.chats.reading import is_finished, quota_of
from conversations.stores.chats.session import name_of, subject_of
from conversations.stores.items import fingerprint
from conversations.stores.records import ActionResult, Confirmation, record_place
from conversations.stores.services import carry_out, update_as_read

CHANGED = "The session changed since you opened it, so nothing was done. Check it again."
FINISHED = "This session is already finished."
_FINISHED = "TimestampFinished"
EXPIRED = "This session has already expired."


class EndSession(RecordActionHandler):
    """End a session before it expires."""

    permission = Permission.CHAT_END

    def ask(self, parts: tuple[str, ...], staff: Staff, data: QueryDict | None) -> Confirmation:
        """See `RecordActionHandler.ask`. One GetItem."""
        item = _running(parts, staff)
        now = clock.now()
        return Confirmation(
            title="End this session?",
            form=forms.Form(data),
            button="End session",
            back=record_place(*parts),
            record=name_of(item.SessionId, item, staff),
            crumbs=(user_link(item.UserId),),
            facts=(
                Fact("User", short(item.UserId), mono=True),
                instant_fact("Started", item.plain("TimestampCreated"), "ago", now),
                instant_fact("Expires", item.plain("SessionTTL"), "in", now),
                Fact("Quota", quota_of(item)),
            ),
            consequences=(
                "The chatbot treats the session as finished. The user's next message starts a new one.",
                "You cannot undo this.",
                "Its messages stay until the session expires. The trail records who ended it and when.",
            ),
            seen=seen_of(item),
            danger=True,
        )

    def do(self, parts: tuple[str, ...], staff: Staff, form: forms.Form, seen: str) -> ActionResult:
        """See `RecordActionHandler.do`. GetItem, the entry, UpdateItem, and the entry's outcome."""
        item = _running(parts, staff)
        if not is_digest_of(seen, _as_seen(item)):
            raise Conflict(CHANGED)
        carry_out(subject_of(item.SessionId), actions.Action.CHAT_ENDED, staff, partial(_end, item))
        return ActionResult("The session is ended.", record_place(*parts))


def seen_of(item: Session) -> str:
    """Return a digest of a session as it was shown, which differs once another value was written."""
    return keyed_digest(_as_seen(item))[:32]


def _as_seen(item: Session) -> str:
    return fingerprint(item, "SessionId", _FINISHED)


def _running(parts: tuple[str, ...], staff: Staff) -> Session:
    """Return the current session. Raises `NothingToDo` unless it runs, `NotFound` if nothing is known about it."""
    check(staff)
    staff.require(Permission.CHAT_END)
    match parts:
        case ("session", user_id, session_id):
            item = queries.session(user_id, session_id)
        case _:
            raise NotFound
    if item is None:
        if queries.user_in(session_id) is None:
            raise NotFound
        raise NothingToDo(EXPIRED, record_place(*parts))
    if is_finished(item):
        raise NothingToDo(FINISHED, record_place(*parts))
    return item


def _end(item: Session) -> None:
    """End a session if it exists, has not expired, and is as it was seen: writers may store 0 for not finished."""
    now = {"N": str(clock.to_epoch(clock.now()))}
    key = queries.key_of_session(item.UserId, item.SessionId)
    update_as_read("SESSIONS", key or {}, item, {_FINISHED: now}, unchanged=[_FINISHED], expiry="SessionTTL")
