"""The services that views call: carry out the intent of a form, and release what a person holds."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import datetime

from console import clock
from console.errors import ConsoleError, Invalid, ItemFull, NotAccepted, NotFound, StoreUnavailable, Throttled
from console.permissions import Staff
from console.trail.actions import Result
from console.trail.recording import Actor
from conversations.converting import hand_off_of, is_gone, redact_about
from conversations.handoff.actions import (
    GIVES,
    HandOffAction,
    Intent,
    check_allowed,
    effect_of,
    ends_for_people,
    intent_for,
    update_of,
)
from conversations.handoff.full_items import note_full
from conversations.handoff.outcomes import HandOffOutcome, LostRace, ReleaseReport, lost_race
from conversations.handoff.partitions import announce_news, note_arrival
from conversations.handoff.protocol import (
    HandOffAct,
    RecordedAction,
    Sent,
    announce_resend,
    begin,
    close_quietly,
    event_key,
    lookup,
    read_raw,
    send,
)
from conversations.handoff.receivers import check_receiver
from conversations.handoff.resolution import ChainLink, Resolution, resolution_of, trail_links
from conversations.handoff.stored import (
    ATTRIBUTES,
    Raw,
    describe_routing_change,
    last_action_of,
    text,
    was_switch_changed,
)
from conversations.models import Conversation
from conversations.records import HandOffState, agent_shown

MAX_TEXT = 2_000
UNKNOWN_OUTCOME = "The database did not answer in time. The action may have worked. This page shows the current state."
RELEASE_TRIES = 3


def perform(
    intent: Intent,
    staff: Staff,
    *,
    reason: str = "",
    note: str = "",
    to: str = "",
    item: Conversation | None = None,
    owed_at: str = "",
    as_read: tuple[str, ...] = (),
) -> HandOffOutcome:
    """Carry out the intent of a form once, however often it is submitted.

    `to` is the colleague or the group that gets the conversation. `item` is the conversation if it was just read,
    `as_read` names further attributes that must be unchanged since. `owed_at`: see `effect_of`. Raises `Forbidden`
    (role, or held by a colleague), `Invalid` (reason or receiver missing, texts too long, no such action in this
    state), `NotFound` (no such conversation in scope), `LostRace` (no longer as seen), `Throttled`, and
    `StoreUnavailable`, whose message says if the outcome is not known yet.
    """
    reason, note = reason.strip(), note.strip()
    check_allowed(intent, staff)
    _check_texts(intent, reason, note)
    item = item or _load(intent.primary_channel, intent.conversation_id)
    if not staff.scope.covers_company(item.company_id):
        raise NotFound
    if intent.action in GIVES:
        check_receiver(intent, to)
        # The same form submitted for another receiver is another action, which loses to the first one.
        intent = replace(intent, action_id=derive_action_id(intent.action_id, to))
    performance = _Performance(intent, Actor.of(staff), staff.time_zone, to=to, owed_at=owed_at, as_read=as_read)
    return performance.run(item, reason, note)


def derive_action_id(action_id: str, what: str) -> str:
    """Derive the id of one of several actions of a form; `what` is its receiver or its name."""
    return hashlib.sha256(f"{action_id}\n{what}".encode(errors="replace")).hexdigest()[: len(action_id)]


def perform_as(
    actor: Actor,
    intent: Intent,
    item: Conversation,
    *,
    reason: str,
    since: datetime | None = None,
    as_read: tuple[str, ...] = (),
) -> HandOffOutcome:
    """Carry out an intent in the name of a service instead of a person's form, once for each action id.

    For a request, `since` is when the customer began to wait. `as_read`: further attributes that must be unchanged
    since `item` was read. Raises as `perform` does, except for rights and texts.
    """
    return _Performance(intent, actor, since=since, as_read=as_read).run(item, reason[:MAX_TEXT], "")


def release_all(username: str, actor: Actor, held: Iterable[tuple[str, str]]) -> ReleaseReport:
    """Release what `username` holds among these conversations (primary_channel, conversation_id), in `actor`'s name.

    The caller checks the authorisation. Conversations that they no longer hold are skipped; those that could not be
    released are reported, not raised.
    """
    released, failed = [], []
    routing_left = 0
    for key in held:
        try:
            outcome = _release(username, actor, key)
        except NotFound:
            continue
        except ConsoleError:
            failed.append(key)
            continue
        if outcome is not None:
            released.append(key)
            routing_left += outcome.routing_left
    return ReleaseReport(tuple(released), tuple(failed), routing_left=routing_left)


def _release(username: str, actor: Actor, key: tuple[str, str]) -> HandOffOutcome | None:
    """Release one conversation; return None if the person does not hold it."""
    for attempt in range(1, RELEASE_TRIES + 1):
        item = _load(*key)
        hand_off = hand_off_of(item)
        if hand_off.agent != username:
            return None
        overridden = hand_off.state is HandOffState.OVERRIDDEN
        action = HandOffAction.ACKNOWLEDGE if overridden else HandOffAction.RELEASE
        try:
            return _Performance(intent_for(action, item, hand_off), actor).run(item, "", "")
        except LostRace:
            if attempt == RELEASE_TRIES:
                raise
    return None


def _check_texts(intent: Intent, reason: str, note: str) -> None:
    if intent.action is HandOffAction.TAKE_FROM_COLLEAGUE and not reason:
        raise Invalid("Say why you are taking it from a colleague.")
    if intent.action is HandOffAction.ASSIGN and not reason:
        raise Invalid("Say why you are assigning it. Your colleague will see it.")
    if (over := max(len(reason), len(note)) - MAX_TEXT) > 0:
        raise Invalid(f"{over:,} too many: a reason or note can have up to {MAX_TEXT:,} characters.")


def _load(primary_channel: str, conversation_id: str) -> Conversation:
    """Load a conversation's hand-off attributes, strongly consistent. Raises `NotFound`, also for one past its TTL."""
    item = Conversation.get(primary_channel, conversation_id, consistent_read=True, attributes_to_get=list(ATTRIBUTES))
    if is_gone(item, clock.now()):
        raise NotFound
    return item


class _Performance:
    """One submission of one intent, on its way through the protocol."""

    def __init__(
        self,
        intent: Intent,
        actor: Actor,
        time_zone: str = "UTC",
        *,
        to: str = "",
        since: datetime | None = None,
        owed_at: str = "",
        as_read: tuple[str, ...] = (),
    ) -> None:
        self.intent = intent
        self.actor = actor
        self.time_zone = time_zone
        self.at = clock.now()
        self.to, self.since, self.owed_at, self.as_read = to, since, owed_at, as_read

    def run(self, item: Conversation, reason: str, note: str) -> HandOffOutcome:
        """Record, send and close the action, or continue an earlier submission of the same form."""
        change = effect_of(
            self.intent,
            self.actor.name,
            self.at,
            item.raw,
            reason=reason,
            note=note,
            to=self.to,
            since=self.since,
            owed_at=self.owed_at,
        )
        # First of all: if the queue cannot know of it, nothing is changed.
        note_arrival(item.raw, change)
        recorded, is_new = begin(self._act(reason, item), self.at)
        if not is_new:
            resumed = announce_resend(recorded, self.at) if recorded.is_pending else None
            if resumed is None:
                return self._outcome_of_earlier(recorded)
            recorded = resumed
        self.leaves_routing = was_switch_changed(item.raw) and not ends_for_people(self.intent)
        sent = send(update_of(self.intent, change, item.raw, self.as_read))
        if sent.accepted and sent.item is not None:
            return self._succeeded(recorded, sent.item, replayed=not is_new)
        return self._settle(recorded, sent, replayed=not is_new)

    @property
    def _person(self) -> str:
        """The username of the actor; "" for a service."""
        return "" if self.actor.role == "service" else self.actor.name

    def _act(self, reason: str, item: Conversation) -> HandOffAct:
        intent = self.intent
        payload = {"reason": redact_about(item, reason)} if reason else {}
        if self.to:
            payload["colleague" if intent.action is HandOffAction.ASSIGN else "group"] = self.to
        if intent.agent_seen and intent.agent_seen != self.actor.name:
            payload["held by"] = agent_shown(intent.agent_seen)
        if routing := describe_routing_change(item.raw, for_people=ends_for_people(intent)):
            payload["routing"] = routing
        return HandOffAct(
            action=intent.action.audited_as,
            actor=self.actor,
            primary_channel=intent.primary_channel,
            conversation_id=intent.conversation_id,
            company_id=intent.company_id,
            action_id=intent.action_id,
            previous=intent.last_action_seen,
            seen=asdict(intent),
            payload=payload,
            item=item.raw,
        )

    def _succeeded(self, recorded: RecordedAction, raw: Raw, *, replayed: bool) -> HandOffOutcome:
        close_quietly(recorded, Result.SUCCESS)
        announce_news()
        self._close_previous()
        return HandOffOutcome(self.intent.action, Conversation.from_raw_data(raw), replayed, self.leaves_routing)

    def _close_previous(self) -> None:
        """Close the action that this one replaced as the last action: it took effect, even if it is still pending."""
        if not self.intent.last_action_seen:
            return
        try:
            previous = lookup(event_key(self.intent.conversation_id, self.intent.last_action_seen))
        except ConsoleError:
            return
        if previous is not None and previous.is_pending:
            close_quietly(previous, Result.SUCCESS)

    def _settle(self, recorded: RecordedAction, sent: Sent, *, replayed: bool) -> HandOffOutcome:
        """Resolve a refusal, or a write without an answer, from the last action and the trail."""
        if sent.accepted is None and sent.item is None:
            raise self._unknown(sent)
        last_action = None if sent.item is None else last_action_of(sent.item)
        moved = last_action not in (self.intent.last_action_seen, self.intent.action_id)
        try:
            # If the last action is still as seen, nobody acted and the trail need not be read.
            links = trail_links(recorded.trail) if moved else {}
        except ConsoleError as error:
            raise StoreUnavailable(UNKNOWN_OUTCOME) from error
        found = resolution_of(self.intent.action_id, self.intent.last_action_seen, last_action, links)
        if found is Resolution.APPLIED:
            return self._succeeded(recorded, sent.item or {}, replayed=replayed)
        if found is not Resolution.REFUSED and sent.accepted is None:
            raise self._unknown(sent)
        raise self._refused(recorded, sent, links, final=found is Resolution.REFUSED)

    def _refused(
        self, recorded: RecordedAction, sent: Sent, links: dict[str, ChainLink], *, final: bool
    ) -> ConsoleError:
        """Return the error to raise, and write the result if no write of this action can still arrive."""
        error: ConsoleError
        if isinstance(sent.error, ItemFull):
            if not self._person:
                # It stays pending: a service does the same again once there is room.
                return sent.error
            error, result = sent.error, f"{Result.FAILED}: the conversation has no room left"
            if sent.item is not None:
                note_full(sent.item)
        elif isinstance(sent.error, NotAccepted):
            error, result = sent.error, f"{Result.FAILED}: the database refused it as invalid"
        elif sent.item is None:
            error, result = NotFound(), f"{Result.FAILED}: the conversation is gone"
        else:
            item = Conversation.from_raw_data(sent.item)
            lost = lost_race(self.intent, item, links, loser=self._person, time_zone=self.time_zone)
            error, result = lost, f"{Result.CONFLICT}: {lost.winner} was first"
        if final:
            close_quietly(recorded, result)
        elif sent.only_write and recorded.attempts == 1:
            close_quietly(recorded, result, only_write=True)
        return error

    def _unknown(self, sent: Sent) -> ConsoleError:
        """Return the error for an unknown outcome; the action stays pending until it is settled."""
        if isinstance(sent.error, Throttled):
            return sent.error
        unknown = StoreUnavailable(UNKNOWN_OUTCOME)
        unknown.__cause__ = sent.error
        return unknown

    def _outcome_of_earlier(self, recorded: RecordedAction) -> HandOffOutcome:
        """Return the outcome of a form that was submitted before and is closed. Raises `NotFound` and `LostRace`."""
        closed = lookup(recorded.event_id) if recorded.is_pending else recorded
        raw = read_raw({"primary_channel": text(self.intent.primary_channel), "conversation_id": text(recorded.trail)})
        if raw is None:
            raise NotFound
        item = Conversation.from_raw_data(raw)
        if closed is not None and closed.status == Result.SUCCESS:
            return HandOffOutcome(self.intent.action, item, replayed=True)
        links = trail_links(recorded.trail)
        raise lost_race(self.intent, item, links, loser=self._person, time_zone=self.time_zone)
