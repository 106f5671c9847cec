"""The provider as witness: what its list has of a customer's messages to people, and neither the platform nor we do.

Read in this order: the provider's list, the stage, the items. A row that the platform takes from the stage meanwhile is
then found in the entry that it became. What is in none of them was dropped, and is taken in like any other message.
"""

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from console import clock
from console.store.calls import ConditionFailed
from console.store.connection import batch_get
from console.store.models import plain_item
from conversations.attention.planning import levels_in
from conversations.converting import appended_ids
from conversations.handoff.stored import ROUTED_AT, has_people, has_stage, is_processing, text_in
from conversations.messages.bodies import InboundMessage, NotUnderstood, inbound_message
from conversations.messages.kinds import WITHOUT_WORDS, MessagePart
from conversations.messages.message import StoredMessages
from conversations.messages.older_messages import with_older
from conversations.models import Conversation
from conversations.numbers import forms_on
from conversations.outbox import placing
from conversations.outbox.merged import AwaitedWords
from conversations.outbox.routing import Side
from conversations.outbox.rows import PROVIDER, TO_WITNESS, MessageRow
from conversations.outbox.staging import read_staged
from conversations.providers import (
    CannotAsk,
    CredentialsRejected,
    ListedMessage,
    NoAnswer,
    NotReached,
    Provider,
    Rejected,
    credentials,
)
from conversations.receiving import recording, unplaced
from conversations.receiving.answers import find_missing, record_answer
from conversations.receiving.handling import is_listed, take_in_placed
from conversations.receiving.listed import merged_ids
from conversations.receiving.stage import side_at
from conversations.receiving.witnessing import WitnessedPair, is_on, is_routed
from conversations.sending.delivering import provider_of
from conversations.sending.rates import Rates

logger = logging.getLogger(__name__)

# How often to look: while a person has the conversation or it waits, and while nobody is there.
PERIOD, RARELY = timedelta(seconds=90), timedelta(hours=1)
# Once more after a return, and again after a failure.
AFTER_RETURN, AGAIN_AFTER = timedelta(minutes=2), timedelta(seconds=15)
# A look that takes longer is repeated by another process.
CLAIMED_FOR = timedelta(minutes=1)
# A list lags: read what is older than the newest message that both have, and the last hour every ten minutes.
READ_BACK = timedelta(minutes=10)
READ_AGAIN_EVERY, READ_AGAIN = timedelta(minutes=10), timedelta(hours=1)
# How long the platform may take from the provider's acceptance to its own record; the AI's worker writes it later.
ON_THE_WAY, ANSWER_ON_THE_WAY = timedelta(minutes=1), timedelta(minutes=2)
# Without a message that both have and a time of the conversation's beginning.
FIRST_LOOK = timedelta(days=1)
MOST_LISTED, MOST_RECORDED = 1_000, 100
LISTS_PER_SECOND = 5.0
NOT_READ_WHOLE = "The provider's list was too long to be read whole."
NOT_SAID = f"{WITHOUT_WORDS} (a location, contact or reaction: the provider does not say which)"


@dataclass(slots=True)
class WitnessState:
    """What a pair's row keeps between looks.

    `known_until` is the provider's own time of the newest message whose id both have, `again_at` when the last hour is
    read again, `digest` that of what the list had.
    """

    known_until: datetime | None = None
    again_at: datetime | None = None
    digest: str = ""

    @classmethod
    def of(cls, row: MessageRow) -> "WitnessState":
        """Read the state in a row; the one of a first look if there is none."""
        stored = json.loads(row.body or "{}")
        known_until, again_at = (clock.parse_instant(stored.get(name)) for name in ("known_until", "again_at"))
        return cls(known_until, again_at, stored.get("digest", ""))

    def as_text(self) -> str:
        """Return the state as stored."""
        times = {"known_until": self.known_until, "again_at": self.again_at}
        return json.dumps({name: clock.to_iso(at) for name, at in times.items() if at} | {"digest": self.digest})


def look(row: MessageRow, rates: Rates) -> None:
    """Ask the provider about a pair, take in what only it has, and set when to look next. Safe to repeat.

    Raises the store's errors, and `Conflict` if another process looks.
    """
    if not is_on():
        row.delete()
        return
    if (row.due_at or "") > clock.to_iso(clock.now()):
        # Another process has begun to look.
        return
    now, pair, account = clock.now(), WitnessedPair.in_row(row), ""
    try:
        provider = provider_of(pair.channel, pair.credentials, pair.company_id)
        account = provider.account
        if wait := rates.wait_for(account, now):
            _look_later(row, timedelta(seconds=wait))
            return
        row.update(
            actions=[MessageRow.due_at.set(clock.to_iso(now + CLAIMED_FOR))], condition=MessageRow.due_at == row.due_at
        )
        _Look(row, pair, provider, now).run()
    except NotReached as error:
        if account:
            rates.pause(account, error.retry_after)
        _look_later(row, timedelta(seconds=max(1.0, min(error.retry_after, AGAIN_AFTER.total_seconds()))))
    except NoAnswer:
        _look_later(row, AGAIN_AFTER)
    except (Rejected, CannotAsk) as error:
        if isinstance(error, CredentialsRejected) and error.code != credentials.UNUSABLE:
            credentials.forget_secret(pair.credentials)
            credentials.note_problem(pair.credentials, "the provider does not accept what is in it")
        _look_later(row, RARELY, MessageRow.error.set(getattr(error, "words", "") or "The provider has no list."))


def _look_later(row: MessageRow, after: timedelta, *changes: Any) -> None:
    """Set when to look next, unless somebody has asked for a look meanwhile."""
    with suppress(ConditionFailed):
        row.update(
            actions=[*changes, MessageRow.due_at.set(clock.to_iso(clock.now() + after))],
            condition=(MessageRow.gsi_due == TO_WITNESS) & (MessageRow.due_at == row.due_at),
        )


class _Look:
    """One look at the provider's list of a pair."""

    def __init__(self, row: MessageRow, pair: WitnessedPair, provider: Provider, now: datetime) -> None:
        self.row, self.pair, self.provider, self.now = row, pair, provider, now
        self.state = WitnessState.of(row)
        self.is_whole = True
        # The pair as a message names it, without one.
        self.about = InboundMessage("", pair.channel, pair.customer, pair.ours, "", "", "", company_id=pair.company_id)
        self.keys = placing.keys_of(self.about)

    def run(self) -> None:
        """Look, and write when to look next."""
        items = self._read_items()
        reads_again = self.state.again_at is None or self.state.again_at <= self.now
        listed = self._list(items, reads_again=reads_again)
        digest = hashlib.sha256(
            repr([(each.message_id, each.text, each.media) for each in listed]).encode()
        ).hexdigest()
        is_done = True
        if reads_again or digest != self.state.digest or any(is_processing(each.raw) for each in items):
            staged = {name for each in items for name in _staged_ids(each)}
            items = self._read_items()
            is_done = self._take_in(listed, staged, items)
            if reads_again or any(is_processing(each.raw) for each in items):
                self._add_answers(items)
        if is_done:
            self.state.digest = digest
        if reads_again and is_done:
            self.state.again_at = self.now + READ_AGAIN_EVERY
        self._finish(items, is_done=is_done)

    def _read_items(self) -> list[Conversation]:
        """Return the pair's complete conversations of the company, with moved messages, strongly consistent."""
        keys = [dict(zip(("primary_channel", "conversation_id"), each, strict=True)) for each in self.keys]
        stored = map(with_older, batch_get("CONVERSATIONS", keys, consistent=True))
        found = map(Conversation.from_raw_data, stored)
        return [each for each in found if each.company_id == self.pair.company_id]

    def _list(self, items: Sequence[Conversation], *, reads_again: bool) -> list[ListedMessage]:
        """Return what the provider lists of the customer's messages in the window, oldest first."""
        known = set[str]() if self.state.known_until else {name for each in items for name in _ids_on(each)}
        found: dict[str, ListedMessage] = {}
        for customer in forms_on(self.pair.channel, self.pair.customer):
            listed = self.provider.list_messages(self.pair.channel, customer, self.pair.ours)
            found |= {each.message_id: each for each in self._window(listed, known, items, reads_again=reads_again)}
        return sorted(found.values(), key=lambda each: each.at)

    def _window(
        self,
        listed: Iterator[ListedMessage],
        known: Collection[str],
        items: Sequence[Conversation],
        *,
        reads_again: bool,
    ) -> Iterator[ListedMessage]:
        """Yield the messages of a list, newest first, from ten minutes before the newest that both have.

        Nothing from before the conversations: it was said in one that is over.
        """
        begins = self.state.known_until
        floor: datetime | None = None
        for each in islice(listed, MOST_LISTED):
            if floor is None:
                # Only an answer of the provider's tells its clock.
                floor = self._begin_of(items)
            if begins is None and each.message_id in known:
                begins = each.at
            since = floor if begins is None else begins - READ_BACK
            if reads_again:
                since = min(since, self.now + self.provider.ahead - READ_AGAIN)
            if each.at < max(since, floor):
                return
            yield each
        self.is_whole = self.is_whole and next(listed, None) is None

    def _begin_of(self, items: Sequence[Conversation]) -> datetime:
        """Return when the pair's first conversation began, in the provider's time."""
        begun = [clock.parse_instant(each.plain("created_at")) for each in items]
        known = [each for each in begun if each is not None]
        earliest = min(known) if known and len(known) == len(begun) else self.now - FIRST_LOOK
        return earliest - ON_THE_WAY + self.provider.ahead

    def _take_in(self, listed: Sequence[ListedMessage], staged: Collection[str], items: Sequence[Conversation]) -> bool:
        """Take in the messages of the list that nobody has; return False if some are left for the next look."""
        known = {name for each in items for name in _ids_on(each)} | {*staged}
        words = [AwaitedWords(each.message_id, self._our_time(each), each.text) for each in listed]
        known |= {
            name
            for each in items
            for name in merged_ids(words, StoredMessages.of(each.raw.get("messages")), appended_ids(each))
        }
        unknown = [each for each in listed if each.message_id not in known]
        ours = _recorded([each.message_id for each in unknown], items)
        unknown = [each for each in unknown if each.message_id not in ours]
        for each in unknown[:MOST_RECORDED]:
            self._record(each)
        if unknown[MOST_RECORDED:]:
            return False
        if listed:
            self.state.known_until = max(listed[-1].at, self.state.known_until or listed[-1].at)
        return True

    def _our_time(self, listed: ListedMessage) -> datetime:
        return listed.at - self.provider.ahead

    def _record(self, listed: ListedMessage) -> None:
        """Take in one message that only the provider has, or store it as not placed."""
        content, at = self._content_of(listed), min(self._our_time(listed), self.now)
        try:
            message = inbound_message(content)
            if not listed.text.strip() and not listed.media:
                message = replace(message, parts=(MessagePart(NOT_SAID),))
            item = placing.place(message, {})
            take_in_placed(message, item, at, PROVIDER, listed.message_id, side=self._side_of(item, message, at))
        except NotUnderstood as reason:
            unplaced.note_not_placed(json.dumps(content), str(reason), at, PROVIDER, listed.message_id)

    def _content_of(self, listed: ListedMessage) -> dict[str, Any]:
        """Return a listed message as the provider's webhook sends it."""
        media = self.provider.list_media(listed.message_id) if listed.media else []
        content: dict[str, Any] = {
            "MessageSid": listed.message_id,
            "channel_type": self.pair.channel,
            "company_id": self.pair.company_id,
            "From": listed.sender,
            "To": listed.recipient,
            "Body": listed.text,
            "NumMedia": max(len(media), listed.media),
        }
        for number, each in enumerate(media):
            content |= {f"MediaContentType{number}": each.content_type, f"MediaUrl{number}": each.url}
        return content

    def _side_of(self, item: Conversation, message: InboundMessage, at: datetime) -> Side:
        """Return for whom a message is that the platform has dropped, or not yet got.

        What was said to the AI before people took over is theirs now: the AI has had its time.
        """
        if is_listed(item.raw, message.sender):
            return Side.PEOPLE
        side = side_at(item, at)
        is_dropped = side is Side.AI and is_routed(item) and self.now - at > ON_THE_WAY
        return Side.PEOPLE if is_dropped else side

    def _add_answers(self, items: Sequence[Conversation]) -> None:
        """Add what the provider lists as the AI's answer and no transcript of the pair has."""
        listed = self.provider.list_messages(self.pair.channel, self.pair.ours, self.pair.customer)
        until = self.now + self.provider.ahead - ANSWER_ON_THE_WAY
        since = max(self._begin_of(items), self.now + self.provider.ahead - READ_AGAIN)
        sent: list[ListedMessage] = []
        for each in islice(listed, MOST_LISTED):
            if each.at < since:
                break
            if each.is_answer and each.at <= until:
                sent.append(each)
        lacking = find_missing([(each.message_id, each.text) for each in reversed(sent)], items)
        for each in sent:
            if each.message_id in lacking:
                with suppress(NotUnderstood):
                    record_answer(placing.place(self.about, {}), each.message_id, each.text, self._our_time(each))

    def _finish(self, items: Sequence[Conversation], *, is_done: bool) -> None:
        """Write when to look next, or end if people have had none of the conversations for some time."""
        after = self._next_after(items) if is_done else timedelta(0)
        if after is None:
            with suppress(ConditionFailed):
                self.row.delete(condition=MessageRow.due_at == self.row.due_at)
            return
        looked = [MessageRow.state_at.set(clock.to_iso(self.now)), MessageRow.body.set(self.state.as_text())]
        problem = MessageRow.error.remove() if self.is_whole else MessageRow.error.set(NOT_READ_WHOLE)
        self.row.update(actions=[*looked, problem], condition=MessageRow.conversation.exists())
        _look_later(self.row, after)

    def _next_after(self, items: Iterable[Conversation]) -> timedelta | None:
        """Return after how long to look again, None for never."""
        waits: list[timedelta] = []
        for each in items:
            hours = levels_in(each.raw).hours
            is_open = hours is None or any(begin <= self.now for begin, _ in islice(hours.spans(self.now), 1))
            if is_routed(each):
                waits.append(PERIOD if has_people(each.raw) and is_open else RARELY)
            elif (routed := clock.parse_instant(text_in(each.raw, ROUTED_AT))) is not None:
                left = routed + AFTER_RETURN - self.now
                waits += [left] if left > timedelta(0) else []
        return min(waits, default=None)


def _ids_on(item: Conversation) -> set[str]:
    """Return the ids of an item's messages."""
    return StoredMessages.of(item.raw.get("messages")).ids | appended_ids(item)


def _staged_ids(item: Conversation) -> set[str]:
    return {text_in(each, "message_sid") for each in read_staged(item)} if has_stage() else set()


def _recorded(names: Sequence[str], items: Iterable[Conversation]) -> set[str]:
    """Return which of these ids the console has recorded in one of the conversations, on its item or not."""
    keys = {recording.event_key(item.conversation_id, name): name for item in items for name in names}
    asked = [{"event_id": each} for each in keys]
    found = map(plain_item, batch_get("IDEMPOTENCY", asked, ("event_id", "mode"), consistent=True))
    return {keys[each["event_id"]] for each in found if each.get("mode") == recording.MODE}
