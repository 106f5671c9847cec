"""A model of what is staged: routing × stage × lock × clock, small enough that all of it can be tried.

Beside the hand-off's model, and joined to it only by who has the conversation. A customer says something at about the
time of a take or a return. The platform stages it in whole seconds of its own clock, routes it a moment later by the
switch on the item, and its worker answers ten seconds later, or dies under its lock; a later trigger takes whatever is
still staged. Our receiver reads the item and the trail some time later, each change as far as it has got. What is
concluded is decided by the console's own `changes_of`, `side_of`, `held_by_platform` and `judge`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from console.trail.models import AuditEntry
from conversations.attention.causes import Cause, judge
from conversations.attention.levels import DEFAULTS
from conversations.handoff.stored import AGENT, FLAG, ROUTED_AT, ROUTING_BEFORE, SWITCH, TO_PEOPLE, Raw
from conversations.messages.message import StoredMessages
from conversations.outbox.merged import AwaitedWords, held_by_platform
from conversations.outbox.routing import Side, changes_of, side_of
from tests.dynamodb import to_dynamodb

START = datetime(2026, 2, 1, 10, tzinfo=UTC)
WORDS, OTHER = "I also lost the key", "and my card"
NEVER = 10_000.0


class Change(NamedTuple):
    """A change of the routing: seconds of its intent and of its write (`NEVER`: it was not written)."""

    intent: float
    write: float
    to_people: bool


@dataclass(frozen=True)
class Staged:
    """A message: when it is said and routed, by how much the platform's clock is ahead, and what the console does."""

    said: float
    routed: float
    ahead: float
    changes: tuple[Change, ...]

    @property
    def begins_with_people(self) -> bool:
        return not self.changes[0].to_people

    def is_routed_to_people(self, at: float) -> bool:
        """Whether the switch is set at that time."""
        written = [each for each in self.changes if each.write <= at]
        return written[-1].to_people if written else self.begins_with_people

    @property
    def stamp(self) -> datetime:
        """The time in the stage's row: the platform's, rounded down."""
        return time_of(self.said + self.ahead).replace(microsecond=0)

    def seen_at(self, read: float) -> Side:
        """For whom the receiver takes it to be if it reads at that time."""
        entries = [_entry(each) for each in self.changes if each.intent <= read]
        written = [each for each in self.changes if each.write <= read]
        stored = _item(self.is_routed_to_people(read), written[-1].write if written else None)
        return side_of(self.stamp, changes_of(entries, stored), goes_to_people=SWITCH in stored)


def time_of(second: float) -> datetime:
    """The instant of a second of the model."""
    return START + timedelta(seconds=second)


@cache
def _entry(change: Change) -> AuditEntry:
    """The entry of the trail that an action leaves before it writes."""
    routing = TO_PEOPLE if change.to_people else "as before"
    at = time_of(change.intent).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return AuditEntry("c", f"{at}#a", result="pending", action_payload_redacted=json.dumps({"routing": routing}))


@cache
def _item(for_people: bool, routed: float | None) -> Raw:
    """The item's routing as stored, and when the console wrote it last."""
    item: dict[str, Any] = {SWITCH: True, ROUTING_BEFORE: []} if for_people else {}
    return to_dynamodb(item | ({} if routed is None else {ROUTED_AT: time_of(routed).isoformat()}))


def messages() -> Iterator[Staged]:
    """Every message of the model: clocks, fractions of a second, changes, and the platform's and our delays."""
    said, ahead = (0.0, 0.5), (-4.0, -0.5, 0.0, 0.5, 4.0)
    intents = [*(number / 2 for number in range(-16, 17)), -20.0, 20.0]
    lengths, delays = (0.0, 0.5, 2.0), (0.0, 0.5, 1.0)
    for at, skew, intent, lasts, to_people, delay in product(said, ahead, intents, lengths, (True, False), delays):
        first = Change(intent, intent + lasts, to_people)
        yield Staged(at, at + delay, skew, (first,))
        for pause in (0.5, 3.0, 20.0):
            begun = intent + lasts + pause
            yield Staged(at, at + delay, skew, (first, Change(begun, begun + lasts, not to_people)))


# --- What becomes of it ---


class Fate(NamedTuple):
    """What the platform's workers do: the one whose trigger this message is, and one of a later message."""

    dies: bool
    later: bool


FATES = [Fate(*each) for each in product((False, True), repeat=2)]


class End(NamedTuple):
    """What is seen in the end: how often the words are in the transcript, and whose turn it is."""

    shown: int
    turn: str


def end_of(side: Side, *, routed_to_people: bool, held: bool, fate: Fate) -> End:
    """Let everything happen that is left: the worker, the look after a minute, *stuck after*, and the timers."""
    has_ai = not routed_to_people
    entries: list[dict[str, Any]] = [
        {"role": "assistant", "entry_id": "m1", "content": "Hello", "timestamp": _iso(-60)}
    ]
    status = "reply_sent"
    if has_ai and fate.dies:
        status = "processing_reply"
    answered = has_ai and not fate.dies
    # A later worker takes whatever is staged. Under a dead one's lock, none is triggered.
    merged = fate.later and status != "processing_reply" and not answered
    if answered or merged:
        words = f"{OTHER}\n{WORDS}" if merged else WORDS
        entries += [_of_platform("SM0" if merged else "SM1", "user", words), _of_platform("A1", "assistant", "Here.")]
    stored = StoredMessages.of(to_dynamodb({"messages": entries})["messages"])
    awaited = [AwaitedWords("SM1", time_of(0), WORDS)]
    still_staged = not (answered or merged)
    if side is Side.AI and not still_staged:
        # Nothing was left after a minute: the platform has it.
        is_ours = False
    elif side is Side.PEOPLE:
        is_ours = True
    else:
        is_ours = not held_by_platform(awaited, stored, ())
    if is_ours:
        entries.insert(1, {"message_id": "SM1", "role": "user", "content": WORDS, "timestamp": _iso(0)})
    of_platform = any(
        WORDS in str(each["content"]).split("\n") for each in entries if each is not entries[1] or not is_ours
    )
    # What a person has and the AI is given again is folded as a repetition, and not counted.
    shown = int(is_ours) + int(of_platform and not (is_ours and side is Side.PEOPLE))
    return End(shown, _turn(entries, status, held=held, is_ours=is_ours))


def _turn(entries: list[dict[str, Any]], status: str, *, held: bool, is_ours: bool) -> str:
    """Return whose turn it is an hour later: the holder's, nobody's because it was answered, or attention's."""
    if held and is_ours:
        return "holder"
    item = {"messages": entries, "conversation_status": status, "updated_at": _iso(20), "company_id": "c"}
    found = judge(to_dynamodb({**item, FLAG: held, **({AGENT: "ana"} if held else {})}), DEFAULTS, time_of(3_600))
    if found.cause in (Cause.UNANSWERED, Cause.STUCK):
        return "attention"
    return "answered" if entries[-1]["role"] == "assistant" and len(entries) > 1 else "nobody"


def _of_platform(name: str, role: str, content: str) -> dict[str, Any]:
    return {"message_id": name, "role": role, "content": content, "timestamp": _iso(20)}


def _iso(second: float) -> str:
    return time_of(second).isoformat()
