"""Messages that the platform stages for all customers: those routed to people are taken in as from the queue.

The platform stages a message before it routes it, and does not say where it went. So the conversation decides: a
message is for people if the conversation is routed to them, or was when the customer wrote (`routing`). The trail has
each change of the routing that a person made, the item the time of the last one.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.errors import TableMissing
from console.store.models import plain_item
from console.store.presence import index_ready
from console.trail.actions import HAND_OFF_PREFIX
from console.trail.models import AuditEntry
from console.trail.recording import conversation_trail
from conversations.converting import channel_of
from conversations.handoff.stored import LAST_ACTION, Raw, goes_to_people, text_in, went_to_people
from conversations.messages.bodies import NotUnderstood, address, digits_of, staged_message
from conversations.messages.older_messages import stored_messages, with_older
from conversations.models import Conversation
from conversations.outbox import appending, placing
from conversations.outbox.merged import AwaitedWords, is_written
from conversations.outbox.routing import Side, changes_of, earliest_change, side_of
from conversations.outbox.rows import TO_CHECK, MessageRow, expiry, partition_of
from conversations.receiving import opt_outs, other_conversations
from conversations.receiving.expired import note_expired
from conversations.receiving.handling import Handled, held_on, is_listed, take_in_placed, written_at
from conversations.receiving.recording import STAGE
from conversations.receiving.unplaced import note_not_placed
from conversations.workers.counts import WorkCounts, WorkOutcome
from conversations.workers.lease import STREAM
from conversations.workers.leased import LeasedWorker
from conversations.workers.streams.following import StreamFollower
from conversations.workers.streams.records import StreamChange, change_of

logger = logging.getLogger(__name__)

# `STAGE` is the name of the lease, of the rows' source, and of the stream's positions.
NOT_FOR_PEOPLE = "not for people"
NOT_HANDLED = "The console could not handle it."
# A stream's times are whole seconds, rounded down; the platform's are more precise.
SECOND = timedelta(seconds=1)
# The AI has usually answered by then, and DynamoDB may remove the staged row soon after.
LEFT_AFTER = timedelta(minutes=1)


class StageReceiver(LeasedWorker):
    """Follows the stage table's stream, one process at a time. `counts` are by `Handled`, and NOT_FOR_PEOPLE."""

    name, title, table_key = STAGE, "The receiver of the stage table", "CONVERSATIONS_STAGE"

    def _find_place(self) -> None:
        arn = self._find_stream()
        self.mode = STREAM if arn else ""
        self._following = StreamFollower(arn, self.lease, self._now, take_fragment, keep) if arn else None
        if self._following is not None and self.lease.state.get("beat_at") is None:
            # The first start has missed nothing: it reads everything that the stream still has.
            self._following.owes_sweep = False
        self._say("Receiving from the stage table." if arn else "The stage table has no stream to receive from.")

    def _find_stream(self) -> str:
        try:
            return super()._find_stream()
        except TableMissing:
            self._arn = ""
            return ""

    def _work(self) -> WorkCounts:
        if self._is_another_stream() or self._following is None:
            return Counter()
        done = self._following.step()
        if self._following.owes_sweep:
            logger.error("Messages may be missing: the stage table's stream no longer has all of them.")
            self.lease.renew(missed_at=self._now())
            self._following.owes_sweep = False
        self.counts += done
        return done

    def _details(self) -> dict[str, Any]:
        lag = self._following.lag_seconds if self._following is not None else None
        return {"lag": lag, "mode": self.mode}


def take_fragment(change: StreamChange) -> WorkCounts:
    """Take in a staged message if it is for people, or may be. Safe to repeat.

    What the AI is to answer is kept for a minute, to look whether the platform has written it to the item by then.
    Raises the store's errors: repeat it then.
    """
    done: WorkCounts = Counter({WorkOutcome.READ: 1})
    if change.new is None:
        if change.expired is not None:
            note_expired(str(plain_item(change.expired)["conversation_id"]), change.at)
        return done
    fragment, staged_at = plain_item(change.new), change.at + SECOND
    try:
        outcome = _take(fragment, staged_at)
    except NotUnderstood as reason:
        note_not_placed(_text(fragment), str(reason), staged_at, STAGE, _name(change.new))
        outcome = Handled.NOT_PLACED
    return done + Counter({outcome: 1})


def _take(fragment: Mapping[str, Any], staged_at: datetime, *, is_left: bool = False) -> str:
    """Take in a staged message; return the outcome. `is_left`: the AI has had its time. Raises `NotUnderstood`."""
    item = _conversation(fragment)
    key = item.primary_channel, item.conversation_id
    listed = (each for each in sorted(placing.recipients(item)) if is_listed(item.raw, each))
    message = staged_message(fragment, key, channel_of(item), next(listed, ""))
    placing.check(item, message)
    at = written_at(message.received_at, staged_at)
    if appending.is_of_platform(with_older(item.raw), message.message_id):
        if is_written(message.content, message.message_id, stored_messages(item.raw)):
            return NOT_FOR_PEOPLE
        message = message.as_edit()
    side = Side.PEOPLE if message.sender else side_at(item, at)
    if side is Side.AI:
        other_conversations.note_words(message, item, at)
    if side is Side.AI and not is_left:
        opt_outs.note_said(opt_outs.opt_out_in(message, channel_of(item)), at, item)
        _look_again(item, fragment, staged_at)
        return NOT_FOR_PEOPLE
    # The platform writes the words to the item before it removes what is staged.
    if side is Side.AI and held_on(item, [AwaitedWords(message.message_id, at, message.content)]):
        return NOT_FOR_PEOPLE
    return take_in_placed(message, item, at, STAGE, message.message_id, side=side)


def _look_again(item: Conversation, fragment: Mapping[str, Any], staged_at: datetime) -> None:
    """Keep a staged message of the AI's to look at again: it may expire, or another may take its place."""
    body = _text(fragment)
    MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        f"{TO_CHECK}#{fragment['message_sid']}:{digits_of(body)}",
        body=body,
        received_at=clock.to_iso(staged_at),
        expires_at=expiry(clock.now()),
        gsi_due=TO_CHECK,
        due_at=clock.to_iso(staged_at + LEFT_AFTER),
    ).save()


def check_staged(row: MessageRow, item: Conversation | None) -> None:
    """Record a message that the AI has not answered within a minute. Raises the store's errors."""
    if item is not None:
        with suppress(NotUnderstood):
            _take(json.loads(row.body or "{}"), clock.parse_instant(row.received_at) or clock.now(), is_left=True)
    row.delete()


def keep(record: Mapping[str, Any]) -> None:
    """Store a record that cannot be handled as a message not placed. Raises the store's errors."""
    try:
        change = change_of(record)
        image, at = change.new or {}, change.at + SECOND
    except (KeyError, TypeError, AttributeError):
        image, at = {}, clock.now()
    body = _text(plain_item(image)) if image else "{}"
    note_not_placed(body, NOT_HANDLED, at, STAGE, _name(image or record))


def _conversation(fragment: Mapping[str, Any]) -> Conversation:
    """Return the complete conversation, strongly consistent. Raises `NotUnderstood` and the store's errors.

    If the fragment does not name the channel, the recipient at the end of its id does, or else our index.
    """
    conversation_id, primary_channel = str(fragment["conversation_id"]), fragment.get("primary_channel")
    if isinstance(primary_channel, str) and primary_channel:
        return placing.by_key(conversation_id, primary_channel, "")
    try:
        return placing.by_key(conversation_id, "", address(conversation_id.rpartition("#")[2]))
    except NotUnderstood:
        if not index_ready("CONVERSATIONS", "conversation-id-index"):
            raise
    found = list(Conversation.conversation_id_index.query(conversation_id, limit=2))
    if len(found) != 1:
        raise NotUnderstood("Several conversations have this id." if found else "There is no such conversation.")
    return placing.by_key(conversation_id, found[0].primary_channel, "")


def side_at(item: Conversation, at: datetime) -> Side:
    """Return for whom a message of that time is: by the platform's own routing, or the console's then.

    One Query where the console ever acted on the conversation, else none.
    """
    if went_to_people(item.raw):
        return Side.PEOPLE
    entries = _routing_entries(item.conversation_id, at) if text_in(item.raw, LAST_ACTION) else []
    return side_of(at, changes_of(entries, item.raw), goes_to_people=goes_to_people(item.raw))


def _routing_entries(conversation_id: str, at: datetime) -> list[AuditEntry]:
    """Return the hand-off's entries in the trail that may concern a message of that time, oldest first."""
    return list(
        AuditEntry.query(
            conversation_trail(conversation_id),
            AuditEntry.ts_action_id >= clock.to_iso(earliest_change(at)),
            filter_condition=AuditEntry.action_type.startswith(HAND_OFF_PREFIX),
            consistent_read=True,
        )
    )


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, default=str)


def _name(content: Raw | Mapping[str, Any]) -> str:
    """Return an id of a fragment: stable across deliveries, and without any of its content."""
    key = {name: content.get(name) for name in ("conversation_id", "message_sid")}
    named = key if any(key.values()) else content
    return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()[:32]
