"""The facts of a chatbot session: one, on the day it began, from Chats and the session's item.

The fields of `data`, each absent if not known:

- `how`: `running`, `forced` (somebody ended it), `expired`, or `unknown`: its item was never seen;
- `user`, `assistant`, `other`: numbers of messages; `images`: number of images generated;
- `quota`: how many messages could be sent (plus one, so that 0 is stored too); `model`: the AI's, from its
  configuration;
- `seconds`: from its beginning to its last message (plus one).

Chats are stored permanently. A session's item disappears some hours after it began, so what it said is carried over
from the previous fact. Sessions belong to no company. Schema chatbot-sessions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from console import clock
from console.errors import TableMissing
from conversations.converting import model_in
from conversations.handoff.stored import Raw
from conversations.insight.facts import FactDay, FactKey, FactKind, fact_data
from conversations.insight.identity import pseudonym_of
from conversations.insight.sources import (
    OneFactSource,
    SourceReference,
    counted_day,
    hash_content,
    latest_items,
)
from conversations.insight.words import OTHER, UNKNOWN, code_of
from conversations.messages.content import whole_number
from conversations.records import Speaker
from conversations.stores.chats import queries
from conversations.stores.chats.keys import begun_at, is_usable, owner_of
from conversations.stores.chats.messages import image_id_of
from conversations.stores.chats.models import ChatEvent, Session
from conversations.stores.chats.reading import config_of, created_at, is_finished
from conversations.stores.items import speaker_of

SESSION = "chat session"
RUNNING, FORCED, EXPIRED = "running", "forced", "expired"
EVENTS_READ = ("SessionId", "TimestampCreated", "UserId", "ChatAgent", "ImageId")
# No session lives longer (they last about 3 hours), whether or not its item was seen.
OVER_AFTER = timedelta(days=1)
_AGENTS = {Speaker.CUSTOMER: "user", Speaker.AI: "assistant"}


@dataclass
class SessionSource(OneFactSource):
    """A session. `item` is its item in Sessions and `events` its chats in Chats, once read."""

    kind = FactKind.CHATS

    user_id: str
    session_id: str
    item: Session | None = None
    events: tuple[ChatEvent, ...] = ()

    def keys(self) -> list[FactKey]:
        """Return its one key: from the time in its id, or where it was first counted."""
        begun = begun_at(self.session_id)
        return super().keys() if begun is None else [(FactDay(self.kind, "", counted_day(begun)), self.pseudonym)]

    def first_day(self) -> FactDay | None:
        """Return the day on which it began."""
        read = self.read()
        return None if read is None else FactDay(self.kind, "", counted_day(read.begun))

    def read(self) -> Self | None:
        """Read the item and its chats; None if there are neither. A missing table counts as empty.

        One GetItem, and a Query for each MB.
        """
        item, events = None, list[ChatEvent]()
        with suppress(TableMissing):
            item = queries.stored_session(self.user_id, self.session_id) if self.user_id else None
        with suppress(TableMissing):
            found = latest_items(ChatEvent, self.session_id, limit=5000, attributes=EVENTS_READ)
            events = [ChatEvent.from_raw_data(each) for each in found]
        if item is None and not events:
            return None
        return replace(self, item=item, events=tuple(events))

    @property
    def begun(self) -> datetime | None:
        """When it began, from its id, its item, or its first message."""
        named = begun_at(self.session_id) or (created_at(self.item) if self.item is not None else None)
        return named or min(self._times, default=None)

    def data(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Count what its messages and its item say; keep what an item said that is gone."""
        quota = None if self.item is None else whole_number(self.item.plain("MessagesQuota"))
        quota = before.get("quota", 0) if quota is None else max(quota + 1, before.get("quota", 0))
        begun, last = self.begun, max(self._times, default=None)
        model = code_of(model_in(config_of(self.item)[0])) if self.item is not None else UNKNOWN
        return fact_data(
            how=self._how(before),
            **Counter(_AGENTS.get(speaker_of(each.plain("ChatAgent"), "ChatAgent")[0], OTHER) for each in self.events),
            images=sum(bool(image_id_of(each)) for each in self.events),
            quota=quota,
            model=before.get("model") if model == UNKNOWN else model,
            seconds=int((last - begun).total_seconds()) + 1 if begun and last and last >= begun else None,
        )

    def _how(self, before: Mapping[str, Any]) -> str:
        """Return how it ended, if any source has shown it."""
        was = before.get("how")
        if self.item is not None and is_finished(self.item):
            return FORCED
        if self.item is not None:
            return EXPIRED if queries.is_session_expired(self.item) else RUNNING
        if was in (FORCED, EXPIRED):
            return str(was)
        return EXPIRED if was == RUNNING and is_over(self.begun) else str(was or UNKNOWN)

    def reference(self) -> SourceReference:
        """Return the parts that name its page. The link never expires, as chats are stored permanently."""
        return SourceReference(self.pseudonym, ("session", self.user_id, self.session_id))

    @property
    def _times(self) -> list[datetime]:
        times = (clock.parse_instant(each.plain("TimestampCreated")) for each in self.events)
        return [each for each in times if each is not None]

    @property
    def pseudonym(self) -> str:
        """The pseudonym of its id."""
        return pseudonym_of(SESSION, self.session_id)


def is_over(begun: datetime | None) -> bool:
    """Return whether a session must have ended by now, given when it began; True if that is unknown."""
    return begun is None or clock.now() - begun >= OVER_AFTER


def sessions_in(items: list[Raw]) -> Iterator[SessionSource]:
    """Yield the sessions of a page of Sessions, including expired ones."""
    for item in map(queries.session_in, items):
        session_id = item.plain("SessionId")
        if is_usable(session_id):
            state = hash_content(item.raw, queries.is_session_expired(item), is_over(created_at(item)))
            user_id = item.plain("UserId")
            yield SessionSource(user_id, session_id, name=("session", user_id, session_id), state=state)


def chats_in(items: list[Raw]) -> Iterator[SessionSource]:
    """Yield the sessions that have messages in a page of Chats."""
    found: dict[str, list[ChatEvent]] = {}
    for item in map(ChatEvent.from_raw_data, items):
        found.setdefault(item.plain("SessionId"), []).append(item)
    for session_id, events in found.items():
        users = [owner_of(session_id), *(each.plain("UserId") for each in events)]
        user_id = next((each for each in users if is_usable(each)), "")
        first = events[0].raw["TimestampCreated"]["N"]
        over = is_over(begun_at(session_id))
        state = hash_content([each.raw for each in events], over)
        yield SessionSource(user_id, session_id, name=("chat", session_id, first), state=state)
