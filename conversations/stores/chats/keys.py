"""Keys of the chatbot's tables: users are SHA-256 digests of phone numbers, sessions are `<user>:<epoch seconds>`.

Writers drift: an id may be anything, even a phone number in clear, so ids are only shown shortened and redacted.
"""

import hashlib
import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings

from console import clock
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.redaction import excerpt
from console.refs import keyed_digest
from console.store.models import SORT_KEY_BYTES, ForeignModel, fits
from console.templatetags.components import day, zone_of
from console.trees import clean
from conversations.stores.records import RecordLink, RecordPlace, list_place, record_place

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII | re.IGNORECASE)
_DIGITS, _LETTERS = "0123456789.-+E", "abcdefghijkmpx"
_AS_LETTERS, _AS_DIGITS = str.maketrans(_DIGITS, _LETTERS), str.maketrans(_LETTERS, _DIGITS)
_ANCHOR = re.compile(rf"[{_LETTERS}]{{1,60}}", re.ASCII)


def check(staff: Staff) -> None:
    """Raise `Forbidden` without permission to read conversations, `NotFound` unless all companies are in scope.

    Chats belong to no company.
    """
    staff.require(Permission.CONVERSATION_READ)
    if not staff.scope.everything:
        raise NotFound


# --- Ids ------------------------------------------------------------------------------------------------------------


def user_ids_of(phone: str) -> tuple[str, ...]:
    """Return the possible ids of the user with a phone number: SHA-256 of the number and the chatbot's own secret.

    The schema has no secret: users stored before it was introduced, or without it, have the digest of the number alone.
    """
    secrets = dict.fromkeys((settings.CHATBOT_USER_ID_SECRET, ""))
    return tuple(hashlib.sha256((phone + each).encode("utf-8", "surrogatepass")).hexdigest() for each in secrets)


def owner_of(session_id: str) -> str:
    """Return the user id at the start of a session id; "" if there is none."""
    return session_id.rpartition(":")[0]


def begun_at(session_id: str) -> datetime | None:
    """Return when a session began, from its id; None if it does not say."""
    _, colon, time = session_id.rpartition(":")
    return clock.parse_instant(time) if colon else None


def is_digest(text: str) -> bool:
    """Return whether a text is a SHA-256 digest in hex."""
    return _DIGEST.fullmatch(text) is not None


def short(key: str) -> str:
    """Return a user's or image's id in the form shown to everybody."""
    return f"{key[:8]}…" if is_digest(key) else excerpt(clean(key), 24)


def short_session(session_id: str) -> str:
    """Return a session's id in the form shown to everybody: its user's, shortened, and its time."""
    owner, colon, time = session_id.rpartition(":")
    return f"{short(owner)}:{short(time)}" if colon else short(session_id)


def is_usable(key: Any) -> bool:
    """Return whether a value can be the key of an item that the console opens."""
    # It must also fit into a trail's key, after a prefix.
    return isinstance(key, str) and fits(key, SORT_KEY_BYTES)


def reference_of(image_id: str) -> str:
    """Return a keyed digest that names an image to show in an address."""
    return keyed_digest(image_id)[:20]


# --- Times as keys --------------------------------------------------------------------------------------------------


def position_of(item: ForeignModel) -> Decimal:
    """Return the exact `TimestampCreated` of an item whose key includes it."""
    return Decimal(item.raw["TimestampCreated"]["N"])


def anchor_of(position: Decimal) -> str:
    """Return the anchor of a position: its digits as letters, since digits can look like a phone number."""
    return str(position).translate(_AS_LETTERS)


def position_at(anchor: str) -> Decimal | None:
    """Return the position of an anchor; None if it is not an anchor."""
    if not _ANCHOR.fullmatch(anchor):
        return None
    try:
        found = Decimal(anchor.translate(_AS_DIGITS))
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) < 38 and len(found.as_tuple().digits) <= 38 else None


# --- Places ---------------------------------------------------------------------------------------------------------


def session_place(user_id: str, session_id: str, position: Decimal | None = None) -> RecordPlace | None:
    """Return the place of a session's page, at the message of `position`; None for an id that is too long or empty."""
    if not is_usable(session_id):
        return None
    return record_place("session", user_id, session_id, at=anchor_of(position) if position is not None else "")


def image_place(image_id: Any) -> RecordPlace | None:
    """Return the place of an image's page; None for an unusable id."""
    return record_place("image", image_id) if is_usable(image_id) else None


def user_link(user_id: str) -> RecordLink:
    """Return a link from a user to the list of their sessions."""
    place = list_place("sessions", user_id) if is_usable(user_id) else None
    return RecordLink(f"User {short(user_id)}" if user_id else "Unknown user", place)


def tabs(user_id: str, current: str) -> tuple[RecordLink, ...]:
    """Return links to the lists of one user."""
    names = {"sessions": "Sessions", "chats": "Chats over time", "images": "Images"}
    return tuple(RecordLink(title, list_place(name, user_id), current=name == current) for name, title in names.items())


def moment(at: datetime | None, staff: Staff) -> str:
    """Format a time in the person's zone as a name: `Today, 16:02`."""
    return f"{day(at, staff)}, {at.astimezone(zone_of(staff)):%H:%M}" if at else "Unknown time"
