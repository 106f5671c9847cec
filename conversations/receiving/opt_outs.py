"""Opt-outs: customers who want no more messages from one of our numbers or addresses.

The mark belongs to our number and the recipient, so it holds in every conversation of the two. It has no expiry. START
lifts it, or a person with a reason. A later word wins, whichever order they come in.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.errors import Invalid, NotFound, TableMissing, Throttled
from console.permissions import Staff
from console.store.calls import TransactionRefused, is_in_pool, parallel
from console.store.connection import transaction
from console.trail.actions import Action
from console.trail.recording import PLATFORM, Actor, TrailEntry, build, conversation_trail
from conversations.converting import channel_of, redact_about
from conversations.handoff.partitions import announce_news
from conversations.messages.bodies import CHANNELS, InboundMessage, address
from conversations.models import Conversation
from conversations.outbox import placing
from conversations.outbox.replying import recipient_of, sender_of
from conversations.outbox.rows import LATEST, MessageRow, expiry, key_in, latest_partition, partition_of

# The words that carriers and Twilio take alone, in any case. "Yes" only lifts an opt-out that there is.
STOP_WORDS = frozenset(["stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"])
START_WORDS = frozenset(["start", "unstop"])
YES = "yes"
# Twilio's code for a recipient who has opted out.
REFUSED_CODE = "21610"
POSITION = "opt-out"
MAX_REASON = 300
TRIES = 5


class OptOut(StrEnum):
    """What a message, or a mark, says. A hint is for people to judge."""

    OUT = "out"
    IN = "in"
    YES = "yes"
    HINT = "hint"


def opt_out_in(message: InboundMessage, channel: str) -> OptOut | None:
    """Return what a message says about further messages, None for nothing. Pure.

    On SMS the carrier's words count. On other channels they are ordinary words, but for STOP alone.
    """
    match message.opt_out_type.strip().lower():
        case "stop":
            return OptOut.OUT
        case "start":
            return OptOut.IN
    word = message.text.strip(" \t\r\n.!\"'").lower()
    if word in START_WORDS:
        return OptOut.IN
    if channel == "sms" and word == YES:
        return OptOut.YES
    if word == "stop" or (channel == "sms" and word in STOP_WORDS):
        return OptOut.OUT
    return OptOut.HINT if word in STOP_WORDS else None


@dataclass(frozen=True, slots=True)
class Pair:
    """Our number or address on a channel, and the recipient's, both normalised."""

    channel: str
    ours: str
    recipient: str

    @classmethod
    def of(cls, item: Conversation) -> "Pair | None":
        """Return the pair of a conversation, None if it does not name both."""
        channel = channel_of(item)
        return cls.made(channel, sender_of(item, channel), recipient_of(item, channel))

    @classmethod
    def made(cls, channel: str, ours: str, recipient: str) -> "Pair | None":
        """Return the pair of two addresses as written, None if one is missing or the channel is unknown."""
        return cls(channel, address(ours), address(recipient)) if ours and recipient and channel in CHANNELS else None

    @property
    def partition(self) -> str:
        """The partition of its mark."""
        return f"opted out\n{self.ours}\n{self.recipient}"


def is_opted_out(item: Conversation) -> bool:
    """Return whether a conversation's customer wants no more messages. One GetItem; raises the store's errors."""
    pair = Pair.of(item)
    mark = _mark_of(pair) if pair else None
    return mark is not None and mark.state == OptOut.OUT


def note_said(said: str | None, at: datetime, item: Conversation) -> None:
    """Note what a customer's message of that time says about further messages: a value of `OptOut`, None for nothing.

    Safe to repeat. Raises the store's errors.
    """
    pair = Pair.of(item) if said in (OptOut.OUT, OptOut.IN, OptOut.YES) else None
    if said is not None and pair is not None:
        here = partition_of(item.primary_channel, item.conversation_id)
        _note(pair, OptOut(said), at, here, item.company_id or "", PLATFORM, "the customer wrote it")


def note_refused(row: MessageRow) -> None:
    """Note that the provider refused a reply, because the customer has opted out. Raises the store's errors."""
    pair = Pair.made(row.channel or "", row.sender or "", row.recipient or "")
    if pair is not None:
        why = "the provider refused a reply"
        _note(pair, OptOut.OUT, clock.now(), row.conversation, row.company_id or "", PLATFORM, why)


def lift(item: Conversation, staff: Staff, reason: str) -> None:
    """Lift an opt-out for a person's reason. Raises `Invalid` (no reason, too long), and the store's errors."""
    reason, pair = reason.strip(), Pair.of(item)
    if not reason or len(reason) > MAX_REASON:
        raise Invalid(f"Say why the customer can get messages again, in up to {MAX_REASON} characters.")
    if pair is None:
        raise Invalid("The conversation does not name both numbers or addresses.")
    here = partition_of(item.primary_channel, item.conversation_id)
    _note(pair, OptOut.IN, clock.now(), here, item.company_id or "", Actor.of(staff), redact_about(item, reason))


def _mark_of(pair: Pair) -> MessageRow | None:
    with suppress(NotFound, TableMissing):
        return MessageRow.get(pair.partition, POSITION, consistent_read=True)
    return None


def _note(pair: Pair, said: OptOut, at: datetime, here: str, company_id: str, actor: Actor, why: str) -> None:
    """Write the mark if this is the latest word, with an entry in the conversation's trail.

    What customers and providers say again has no entry.
    """
    now = clock.to_iso(at)
    for _ in range(TRIES):
        mark = _mark_of(pair)
        was_out = mark is not None and mark.state == OptOut.OUT
        is_out = said is OptOut.OUT
        if (mark is not None and (mark.received_at or "") >= now) or (said is OptOut.YES and not was_out):
            is_out = was_out
            break
        state = OptOut.OUT if is_out else OptOut.IN
        as_read = MessageRow.received_at == mark.received_at if mark else MessageRow.conversation.does_not_exist()
        entry = TrailEntry(
            conversation_trail(key_in(here)[1]),
            Action.OPTED_OUT if is_out else Action.OPTED_IN,
            actor,
            company_id,
            payload={"channel": pair.channel, "reason": why},
        )
        new = MessageRow(
            pair.partition, POSITION, state=state.value, received_at=now, channel=pair.channel, company_id=company_id
        )
        try:
            with transaction() as writes:
                writes.save(new, condition=as_read)
                if is_out != was_out or actor is not PLATFORM:
                    writes.save(build(entry, clock.now()))
        except TransactionRefused:
            continue
        break
    else:
        raise Throttled("The opt-out changes too often.")
    _show_in_lists(pair, here, is_out=is_out)


def _show_in_lists(pair: Pair, here: str, *, is_out: bool) -> None:
    """Note on the rows that lists read whether the customer has opted out, for each conversation of the two.

    Of a new conversation, only its page knows. Raises the store's errors; safe to repeat.
    """
    found = placing.with_sender(pair.channel, pair.recipient, pair.ours)
    partitions = {here, *(partition_of(each.primary_channel, each.conversation_id) for each in found)}
    shown, expires = MessageRow.is_opted_out, MessageRow.expires_at
    actions: list[UpdateAction] = [shown.set(is_out), expires.set(expires | expiry(clock.now()))]
    work: list[Callable[[], object]] = [announce_news]
    for partition in sorted(partitions):
        work.append(partial(MessageRow(latest_partition(partition), LATEST).update, actions=actions))
    # A receiver handles senders in parallel already.
    parallel(*work) if not is_in_pool() else [each() for each in work]
