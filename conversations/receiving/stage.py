"""Messages that the platform stages for all customers: those routed to people are taken in as from the queue.

The platform stages a message before it routes it, and does not say where it went. So the conversation decides: a
message is for people if the conversation is routed to them, or was when the customer wrote. The trail has each routing
change that the console made.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.errors import TableMissing
from console.store.models import plain_item
from console.store.presence import index_ready
from console.trail.actions import HAND_OFF_PREFIX, Result
from console.trail.models import AuditEntry
from console.trail.recording import conversation_trail
from conversations.handoff.stored import LAST_ACTION, TO_PEOPLE, Raw, goes_to_people, text_in, went_to_people
from conversations.indexer.handling import WorkCounts, WorkOutcome
from conversations.indexer.lease import STREAM
from conversations.indexer.leased import LeasedWorker
from conversations.indexer.streams.following import StreamFollower
from conversations.indexer.streams.records import StreamChange, change_of
from conversations.models import Conversation
from conversations.receiving import appending, placing, recording
from conversations.receiving.bodies import NotUnderstood, address
from conversations.receiving.handling import Handled, handle, is_listed, written_at

logger = logging.getLogger(__name__)

# Name of the lease, of the rows' source, and of the stream's positions.
STAGE = "stage"
NOT_FOR_PEOPLE = "not for people"
NOT_HANDLED = "The console could not handle it."
# A stream's times are whole seconds, rounded down; the platform's are more precise.
SECOND = timedelta(seconds=1)
_TAKEN_OVER = ("conversation_id", "message_sid", "body", "received_at")


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
    """Take in a staged message if it is for people. Safe to repeat. Raises the store's errors: repeat it then."""
    done: WorkCounts = Counter({WorkOutcome.READ: 1})
    if change.new is None:
        return done
    fragment, staged_at = plain_item(change.new), change.at + SECOND
    name = _name(change.new)
    try:
        item = _conversation(fragment)
    except NotUnderstood as reason:
        recording.note_not_placed(_text(fragment), str(reason), staged_at, STAGE, name)
        return done + Counter({Handled.NOT_PLACED: 1})
    sender = next((each for each in sorted(placing.recipients(item)) if is_listed(item.raw, each)), "")
    at = written_at(fragment.get("received_at"), staged_at)
    is_answered = appending.is_of_platform(item.raw, str(fragment["message_sid"]))
    if is_answered or not (sender or _was_for_people(item, at)):
        return done + Counter({NOT_FOR_PEOPLE: 1})
    return done + Counter({handle(_body(fragment, item, sender), staged_at, STAGE, name): 1})


def keep(record: Mapping[str, Any]) -> None:
    """Store a record that cannot be handled as a message not placed. Raises the store's errors."""
    try:
        change = change_of(record)
        image, at = change.new or {}, change.at + SECOND
    except (KeyError, TypeError, AttributeError):
        image, at = {}, clock.now()
    body = _text(plain_item(image)) if image else "{}"
    recording.note_not_placed(body, NOT_HANDLED, at, STAGE, _name(image or record))


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


def _was_for_people(item: Conversation, at: datetime) -> bool:
    """Return whether the platform routed a message of that time to people: by the current routing, or the one then.

    One Query where the console ever acted on the conversation, else none.
    """
    changed = _next_change(item.conversation_id, at) if text_in(item.raw, LAST_ACTION) else ""
    if not changed:
        return goes_to_people(item.raw)
    return went_to_people(item.raw) if changed == TO_PEOPLE else True


def _next_change(conversation_id: str, since: datetime) -> str:
    """Return the routing effect of the first action at or after that time, as in the trail; "" for none."""
    for entry in AuditEntry.query(
        conversation_trail(conversation_id),
        AuditEntry.ts_action_id >= clock.to_iso(since),
        filter_condition=AuditEntry.action_type.startswith(HAND_OFF_PREFIX),
        consistent_read=True,
    ):
        if entry.result not in (Result.SUCCESS.value, Result.PENDING.value):
            continue
        try:
            payload = json.loads(entry.action_payload_redacted or "{}")
        except ValueError:
            continue
        if isinstance(payload, dict) and (routing := payload.get("routing")):
            return str(routing)
    return ""


def _body(fragment: Mapping[str, Any], item: Conversation, sender: str) -> str:
    """Return the fragment in the shape of the queue's messages."""
    content = {name: fragment[name] for name in _TAKEN_OVER if name in fragment}
    content |= {"primary_channel": item.primary_channel, "channel_type": item.plain("channel_method"), "from": sender}
    return _text(content)


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, default=str)


def _name(content: Raw | Mapping[str, Any]) -> str:
    """Return an id of a fragment: stable across deliveries, and without any of its content."""
    key = {name: content.get(name) for name in ("conversation_id", "message_sid")}
    named = key if any(key.values()) else content
    return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()[:32]
