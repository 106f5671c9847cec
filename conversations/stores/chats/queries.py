"""Reads of the chatbot's tables, each one call of a bounded size. Items past their `SessionTTL` are treated as absent.

Callers check the scope (`keys.check`). All functions raise the store's errors.
"""

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

from pynamodb.expressions.condition import Condition

from console import clock
from console.store.connection import batch_get
from console.store.models import PARTITION_KEY_BYTES, SORT_KEY_BYTES, ForeignModel, Key, fits, query
from console.store.presence import has_known_key, table_keys
from conversations.stores.chats.keys import is_usable
from conversations.stores.chats.models import (
    PROMPT,
    USER_CONVERSATION,
    USERS_LAST_MESSAGE,
    ChatEvent,
    Image,
    Session,
)
from conversations.stores.reading import OtherKey, get_item

M = TypeVar("M", bound=ForeignModel)

# A user has one session at a time, and each is removed within days: by design there are never more.
MOST_SESSIONS = 100
# Enough to find an unexpired session: DynamoDB may list a few expired ones before it.
PROBED = 5
# Small items of about 250 bytes: one call of some 16 read units.
EVENTS_READ = 500
# How many are compared to find a user's latest message: the index has no order.
COMPARED = 100
WINDOW = 100
# A number that DynamoDB accepts as a key: the seconds when a session began, with or without decimals.
_EPOCH = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,17})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part(Generic[M]):
    """The result of one Query, in its order. `last` is where DynamoDB stopped, None at the end."""

    items: tuple[M, ...] = ()
    last: Key | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """The position of a window in a session: before a time, after it, or up to it; None: the latest messages."""

    way: Literal["before", "after", "to"] = "before"
    position: Decimal | None = None


def _first_part(
    model: type[M], partition: str, condition: Condition | None = None, *, forward: bool = False, **more: Any
) -> Part[M]:
    """Return the first page of a Query; `more` are options of `query`."""
    found, last = query(model, partition, condition, forward=forward, **more)
    return Part(tuple(model.from_raw_data(raw) for raw in found), last)


def is_session_expired(item: ForeignModel) -> bool:
    """Return whether an item's `SessionTTL` has passed: DynamoDB may return it for days."""
    return clock.is_expired(item.plain("SessionTTL"), clock.now())


# --- Sessions -------------------------------------------------------------------------------------------------------


def key_of_session(user_id: str, session_id: str) -> Key | None:
    """Return a session's key in the existing table; None for an id that can have none.

    The schema's table is sorted by `SessionId`, the public chatbot's own by the `TimestampCreated` at the end of the
    id. Raises `OtherKey` for a table with another key, and the store's errors.
    """
    if not fits(user_id) or not fits(session_id, SORT_KEY_BYTES):
        return None
    key: Key = {"UserId": {"S": user_id}}
    if _is_sorted_by_time():
        number = session_id.removeprefix(f"{user_id}:")
        return {**key, "TimestampCreated": {"N": number}} if _EPOCH.fullmatch(number) else None
    return {**key, "SessionId": {"S": session_id}}


def _is_sorted_by_time() -> bool:
    """Return whether sessions are sorted by `TimestampCreated`, else by `SessionId`.

    Raises the errors of `key_of_session`.
    """
    names = table_keys("SESSIONS")
    if not has_known_key("SESSIONS"):
        raise OtherKey(
            f"Its key is {' and '.join(sorted(names))}. The console reads sessions by UserId with SessionId or "
            "TimestampCreated."
        )
    return "TimestampCreated (N)" in names


def session(user_id: str, session_id: str) -> Session | None:
    """Return a current, unexpired session; None for an invalid key. One strongly consistent GetItem."""
    found = stored_session(user_id, session_id)
    return None if found is None or is_session_expired(found) else found


def stored_session(user_id: str, session_id: str) -> Session | None:
    """Return a session that may have expired but is not removed yet: only the item shows how it ended."""
    key = key_of_session(user_id, session_id)
    raw = get_item("SESSIONS", key) if key else None
    found = session_in(raw) if raw else None
    return None if found is None or found.SessionId != session_id else found


def session_in(raw: Key) -> Session:
    """Return a session; if the table is sorted by time, derive a missing id from the key."""
    if "SessionId" not in raw and raw.get("TimestampCreated", {}).get("N"):
        raw = {**raw, "SessionId": {"S": f"{raw['UserId']['S']}:{raw['TimestampCreated']['N']}"}}
    return Session.from_raw_data(raw)


def sessions_of(user_id: str) -> Part[Session]:
    """Return a user's unexpired sessions in the order of their ids, which is not that of time."""
    _is_sorted_by_time()  # raises for a table with another key
    part = _first_part(Session, user_id, limit=MOST_SESSIONS)
    return Part(tuple(session_in(item.raw) for item in part.items if not is_session_expired(item)), part.last)


def has_session(user_id: str) -> bool:
    """Return whether a user has an unexpired session."""
    wanted = ("UserId", "SessionTTL")
    part = _first_part(Session, user_id, limit=PROBED, attributes=wanted)
    return any(not is_session_expired(item) for item in part.items)


# --- Chats and their texts ------------------------------------------------------------------------------------------


def has_chatted(user_id: str) -> bool:
    """Return whether a user ever wrote or was answered."""
    return bool(_first_part(ChatEvent, user_id, limit=1, index=USERS_LAST_MESSAGE, attributes=("UserId",)).items)


def last_messages(user_id: str) -> Part[ChatEvent]:
    """Return some of a user's messages, unordered."""
    wanted = ("UserId", "TimestampCreated")
    return _first_part(ChatEvent, user_id, limit=COMPARED, index=USERS_LAST_MESSAGE, attributes=wanted)


def events_of(user_id: str, start: Key | None = None) -> Part[ChatEvent]:
    """Return a user's chats over time, newest first, after `start`."""
    return _first_part(ChatEvent, user_id, limit=EVENTS_READ, index=USER_CONVERSATION, start=start)


def user_in(session_id: str) -> str | None:
    """Return the user named by an event of a session, "" if it names none; None if there is no event."""
    found = _first_part(ChatEvent, session_id, limit=1, attributes=("SessionId", "UserId")).items
    if not found:
        return None
    user_id = found[0].plain("UserId")
    return user_id if isinstance(user_id, str) else ""


def read_near(model: type[M], session_id: str, spot: Spot) -> Part[M]:
    """Return events or texts next to a spot, nearest first, one more than a window shows; texts may have expired."""
    compare = {"before": operator.lt, "after": operator.gt, "to": operator.le}[spot.way]
    time = model.TimestampCreated  # type: ignore[attr-defined]
    condition = None if spot.position is None else compare(time, spot.position)
    forward = spot.way == "after"
    return _first_part(model, session_id, condition, limit=WINDOW + 1, forward=forward, consistent=True)


# --- Images ---------------------------------------------------------------------------------------------------------


def image(image_id: str) -> Image | None:
    """Return an image; None for an invalid key. One GetItem."""
    raw = get_item("IMAGE_RESPONSES", {"ImageId": {"S": image_id}}) if fits(image_id) else None
    return Image.from_raw_data(raw) if raw else None


def images(image_ids: Iterable[Any]) -> dict[str, Image]:
    """Return images by their ids, a hundred at most. One BatchGetItem, or none without usable ids."""
    wanted = list(dict.fromkeys(each for each in image_ids if is_usable(each)))[:WINDOW]
    if not wanted:
        return {}
    found = [Image.from_raw_data(raw) for raw in batch_get("IMAGE_RESPONSES", [{"ImageId": each} for each in wanted])]
    return {item.ImageId: item for item in found}


def is_prompt(text: str) -> bool:
    """Return whether images can be found by a prompt: longer ones are in no index."""
    return fits(text, PARTITION_KEY_BYTES)


def has_image_of(prompt: str) -> bool:
    """Return whether there is an image of exactly that prompt."""
    if not is_prompt(prompt):
        return False
    return bool(_first_part(Image, prompt, limit=1, index=PROMPT, attributes=("ImageId",)).items)
