"""Reads of the chatbot's tables, each one call of a bounded size. Items past their `SessionTTL` are not there.

None checks scope: whoever calls has (`keys.check`). All raise the store's errors.
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

# A user has one session at a time, and each is removed within days: more than these are not by design.
MOST_SESSIONS = 100
# To find whether there is one that has not expired: DynamoDB may leave a few expired ones before it.
PROBED = 5
# Small items, 250 bytes or so: one call of some 16 read units.
EVENTS_READ = 500
# Compared to find when somebody last wrote: the index has no order.
COMPARED = 100
WINDOW = 100
# A number as DynamoDB takes it for a key: the seconds when a session began, with decimals or without.
_EPOCH = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,17})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part(Generic[M]):
    """What one Query gave, in its order. `last` is where DynamoDB stopped, None at the end."""

    items: tuple[M, ...] = ()
    last: Key | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in a session's time a window lies: those before a time, after it, or up to it; None: the latest."""

    way: Literal["before", "after", "to"] = "before"
    position: Decimal | None = None


def _first_part(
    model: type[M], partition: str, condition: Condition | None = None, *, forward: bool = False, **more: Any
) -> Part[M]:
    """The first page of a Query; `more` as of `streams.query`."""
    found, last = query(model, partition, condition, forward=forward, **more)
    return Part(tuple(model.from_raw_data(raw) for raw in found), last)


def is_gone(item: ForeignModel) -> bool:
    """Whether an item's `SessionTTL` lies in the past: DynamoDB may give it out for days."""
    return clock.is_expired(item.plain("SessionTTL"), clock.now())


# --- Sessions -------------------------------------------------------------------------------------------------------


def key_of_session(user_id: str, session_id: str) -> Key | None:
    """A session's key in the table that is there; None for an id that can have none.

    The schema's table is sorted by `SessionId`, the public chatbot's own by the `TimestampCreated` with which the id
    ends. Raises `TableMissing`, which says so, for a table with another key, and the store's errors.
    """
    if not fits(user_id) or not fits(session_id, SORT_KEY_BYTES):
        return None
    key: Key = {"UserId": {"S": user_id}}
    if _is_sorted_by_time():
        number = session_id.removeprefix(f"{user_id}:")
        return {**key, "TimestampCreated": {"N": number}} if _EPOCH.fullmatch(number) else None
    return {**key, "SessionId": {"S": session_id}}


def _is_sorted_by_time() -> bool:
    """Whether sessions are sorted by `TimestampCreated` here, else by `SessionId`. Raises as `key_of_session`."""
    names = table_keys("SESSIONS")
    if not has_known_key("SESSIONS"):
        raise OtherKey(
            f"Its key is {' and '.join(sorted(names))}. The console reads sessions by UserId with SessionId or "
            "TimestampCreated."
        )
    return "TimestampCreated (N)" in names


def session(user_id: str, session_id: str) -> Session | None:
    """A session that has not expired, as it is now: one strongly consistent GetItem; none for what is no key."""
    found = stored_session(user_id, session_id)
    return None if found is None or is_gone(found) else found


def stored_session(user_id: str, session_id: str) -> Session | None:
    """As `session`, also one that has expired and is not removed yet: nothing else tells how it ended."""
    key = key_of_session(user_id, session_id)
    raw = get_item("SESSIONS", key) if key else None
    found = session_in(raw) if raw else None
    return None if found is None or found.SessionId != session_id else found


def session_in(raw: Key) -> Session:
    """A session; one that is sorted by its time may lack its id, which says the same."""
    if "SessionId" not in raw and raw.get("TimestampCreated", {}).get("N"):
        raw = {**raw, "SessionId": {"S": f"{raw['UserId']['S']}:{raw['TimestampCreated']['N']}"}}
    return Session.from_raw_data(raw)


def sessions_of(user_id: str) -> Part[Session]:
    """A user's sessions that have not expired, in the order of their ids, which is not that of time."""
    _is_sorted_by_time()  # by another key nothing of the list could be opened
    part = _first_part(Session, user_id, limit=MOST_SESSIONS)
    return Part(tuple(session_in(item.raw) for item in part.items if not is_gone(item)), part.last)


def has_session(user_id: str) -> bool:
    """Whether a user has a session that has not expired."""
    wanted = ("UserId", "SessionTTL")
    part = _first_part(Session, user_id, limit=PROBED, attributes=wanted)
    return any(not is_gone(item) for item in part.items)


# --- Chats and their texts ------------------------------------------------------------------------------------------


def has_chatted(user_id: str) -> bool:
    """Whether a user ever wrote or was answered."""
    return bool(_first_part(ChatEvent, user_id, limit=1, index=USERS_LAST_MESSAGE, attributes=("UserId",)).items)


def last_messages(user_id: str) -> Part[ChatEvent]:
    """Some of a user's messages, in no order."""
    wanted = ("UserId", "TimestampCreated")
    return _first_part(ChatEvent, user_id, limit=COMPARED, index=USERS_LAST_MESSAGE, attributes=wanted)


def events_of(user_id: str, start: Key | None = None) -> Part[ChatEvent]:
    """A user's chats over time, newest first, after `start`."""
    return _first_part(ChatEvent, user_id, limit=EVENTS_READ, index=USER_CONVERSATION, start=start)


def user_in(session_id: str) -> str | None:
    """The user whom an event of a session names, "" where it names none; None where there is no event."""
    found = _first_part(ChatEvent, session_id, limit=1, attributes=("SessionId", "UserId")).items
    if not found:
        return None
    user_id = found[0].plain("UserId")
    return user_id if isinstance(user_id, str) else ""


def around(model: type[M], session_id: str, spot: Spot) -> Part[M]:
    """A session's events or texts next to a spot, nearest first, one more than a window shows; expired texts too."""
    compare = {"before": operator.lt, "after": operator.gt, "to": operator.le}[spot.way]
    time = model.TimestampCreated  # type: ignore[attr-defined]
    condition = None if spot.position is None else compare(time, spot.position)
    forward = spot.way == "after"
    return _first_part(model, session_id, condition, limit=WINDOW + 1, forward=forward, consistent=True)


# --- Images ---------------------------------------------------------------------------------------------------------


def image(image_id: str) -> Image | None:
    """An image: one GetItem; none for what is no key."""
    raw = get_item("IMAGE_RESPONSES", {"ImageId": {"S": image_id}}) if fits(image_id) else None
    return Image.from_raw_data(raw) if raw else None


def images(image_ids: Iterable[Any]) -> dict[str, Image]:
    """Images by their ids, a hundred at most: one BatchGetItem, or none where there is nothing to ask for."""
    wanted = list(dict.fromkeys(each for each in image_ids if is_usable(each)))[:WINDOW]
    if not wanted:
        return {}
    found = [Image.from_raw_data(raw) for raw in batch_get("IMAGE_RESPONSES", [{"ImageId": each} for each in wanted])]
    return {item.ImageId: item for item in found}


def is_prompt(text: str) -> bool:
    """Whether images can be found by that prompt: longer ones are in no index."""
    return fits(text, PARTITION_KEY_BYTES)


def has_image_of(prompt: str) -> bool:
    """Whether there is an image of exactly that prompt."""
    if not is_prompt(prompt):
        return False
    return bool(_first_part(Image, prompt, limit=1, index=PROMPT, attributes=("ImageId",)).items)
