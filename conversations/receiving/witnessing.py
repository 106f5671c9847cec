"""The customers about whom the provider is asked: those whose messages the platform sends to people.

The platform drops messages: those without text, and all while it is at work. Only the provider has them then. The
sender, which has the credentials, reads the provider's list (`sending.witness`); here is who asks for that. A row for
each customer, number and account says when to look next; its state is in `body`.
"""

import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from console import clock
from console.store.calls import parallel
from conversations.handoff.stored import (
    AGENT,
    FROM_EMAILS,
    FROM_NUMBERS,
    SWITCH,
    Raw,
    goes_to_people,
    has_people,
    text_in,
)
from conversations.messages.bodies import Key, address
from conversations.models import Conversation, read_conversations
from conversations.outbox.placing import recipients
from conversations.outbox.replying import BETWEEN, ReplyFacts
from conversations.outbox.rows import TO_WITNESS, MessageRow, is_configured
from conversations.providers.choice import provider_name
from conversations.receiving.handling import is_listed

# The only provider that lists what customers write.
LISTS = "twilio"
POSITION = "look"
KEPT = timedelta(days=30)
# How long somebody who returns a conversation waits for the provider, if it was asked in the last hour.
LONGEST_WAIT, ASKED_EVERY, RECENT = timedelta(seconds=5), timedelta(seconds=0.25), timedelta(minutes=65)

# What tells whether, and about whom, the provider is asked.
_OF_WITNESSED = (*BETWEEN, SWITCH, FROM_NUMBERS, FROM_EMAILS)

# Pauses for some seconds.
wait = threading.Event().wait


@dataclass(frozen=True, slots=True)
class WitnessedPair:
    """A customer and a company's number, both normalised, with the name of the credentials for the provider's list."""

    channel: str
    ours: str
    customer: str
    credentials: str
    company_id: str

    @property
    def partition(self) -> str:
        """The partition of the pair's row."""
        return "\n".join((TO_WITNESS, self.credentials, self.channel, self.ours, self.customer))

    @classmethod
    def in_row(cls, row: MessageRow) -> "WitnessedPair":
        """Read a pair from its row."""
        _, credentials, channel, ours, customer = row.conversation.split("\n")
        return cls(channel, ours, customer, credentials, row.company_id or "")


def is_on() -> bool:
    """Return whether the provider is asked: replies are set up, and it is not switched off."""
    return bool(settings.PROVIDER_WITNESS) and is_configured()


def pair_of(item: Conversation) -> WitnessedPair | None:
    """Return the pair of a conversation, None if no provider lists what its customer writes. No I/O."""
    facts = ReplyFacts.of(item, None)
    found = WitnessedPair(
        facts.channel, address(facts.sender), address(facts.recipient), facts.credentials, item.company_id or ""
    )
    is_known = found.ours and found.customer and found.credentials and found.company_id
    # Another line in a part would make it another pair.
    if not is_on() or provider_name(facts.channel) != LISTS or not is_known or found.partition.count("\n") != 4:
        return None
    return found


def is_routed(item: Conversation) -> bool:
    """Return whether the platform sends the customer's messages to people."""
    return goes_to_people(item.raw) or any(is_listed(item.raw, each) for each in recipients(item))


def note_routing(new: Raw, old: Raw) -> None:
    """Have the provider asked as people get a conversation, or it goes back. Raises the store's errors."""
    if not is_on() or _state_in(new) == _state_in(old):
        return
    pair = pair_of(Conversation.from_raw_data(new))
    if pair is not None:
        request_look(pair)


def _state_in(stored: Raw) -> tuple[bool, bool, str]:
    """Return whether a conversation is routed to people, and whether and who of them has it then."""
    if not stored or not is_routed(Conversation.from_raw_data(stored)):
        return False, False, ""
    return True, has_people(stored), text_in(stored, AGENT)


def request_look(pair: WitnessedPair) -> datetime:
    """Have the sender ask the provider about a pair now; return when that was requested. Raises the store's errors."""
    now = clock.now()
    MessageRow(pair.partition, POSITION).update(
        actions=[
            MessageRow.company_id.set(pair.company_id),
            MessageRow.credentials.set(pair.credentials),
            MessageRow.gsi_due.set(TO_WITNESS),
            MessageRow.due_at.set(clock.to_iso(now)),
            MessageRow.expires_at.set(clock.to_epoch(now + KEPT)),
        ]
    )
    return now


def ask_ahead(keys: Iterable[Key]) -> dict[Key, datetime]:
    """Have the provider asked about several conversations at once; return when, by the key of each it is asked about.

    Raises the store's errors.
    """
    if not is_on():
        return {}
    pairs = {
        (item.primary_channel, item.conversation_id): pair
        for item in read_conversations(keys, _OF_WITNESSED)
        if is_routed(item) and (pair := pair_of(item)) is not None
    }
    return dict(zip(pairs, parallel(*(partial(request_look, pair) for pair in pairs.values())), strict=True))


def ask_first(item: Conversation, requested: datetime | None = None) -> bool | None:
    """Have the provider asked before a conversation returns; return whether it was, within `LONGEST_WAIT`.

    `requested` is when that was requested already. None if no provider can be asked about this conversation. If nobody
    looks any more, nobody is waited for. Raises the store's errors.
    """
    pair = pair_of(item) if is_routed(item) else None
    if pair is None:
        return None
    requested = requested or request_look(pair)
    left = LONGEST_WAIT - (clock.now() - requested)
    for _ in range(max(1, math.ceil(left / ASKED_EVERY))):
        looked = _looked_at(pair)
        if looked is None or requested - looked > RECENT:
            return False
        if looked >= requested:
            return True
        wait(ASKED_EVERY.total_seconds())
    return False


def _looked_at(pair: WitnessedPair) -> datetime | None:
    """Return when the provider last answered about a pair, None if never. One GetItem."""
    row = MessageRow.find(pair.partition, POSITION)
    return None if row is None else clock.parse_instant(row.state_at)
