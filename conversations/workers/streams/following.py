"""Following a stream: handles records in their shard's order, notes positions, and skips no record silently."""

import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from console.store.calls import submit
from conversations.handoff.stored import Raw
from conversations.workers.counts import WorkCounts, WorkOutcome, is_kept, is_transient
from conversations.workers.lease import Lease, positions
from conversations.workers.streams.records import StreamChange, change_of
from conversations.workers.streams.shards import Shard, Shards

logger = logging.getLogger(__name__)

# A stream stores its records for this long: a longer absence misses some.
KEPT = timedelta(hours=24)
LOOK_FOR_SHARDS = timedelta(seconds=10)
# Positions of quiet shards are noted this often, so that their age shows how long the stream was not read.
NOTE_EVERY = timedelta(minutes=1)
# A record that fails because of the store is retried in this many rounds, with growing pauses: some minutes. Then the
# others proceed, and a sweep is owed.
ROUNDS = 10


@dataclass(slots=True)
class _Stuck:
    sequence: str = ""
    rounds: int = 0


class StreamFollower:
    """One stream, followed under a lease. `owes_sweep`: records were missed or skipped; only a sweep makes up for it.

    `handle` processes a record. `keep` gets a record that could not be handled, before it is skipped; if `keep` fails
    too, the record is retried. `settle` does what remains after the records of a read, before their position is noted.
    All raise the store's errors.
    """

    def __init__(
        self,
        arn: str,
        lease: Lease,
        now: Callable[[], datetime],
        handle: Callable[[StreamChange], WorkCounts],
        keep: Callable[[Raw], None] | None = None,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self.handle = handle
        self._settle = settle
        self._keep = keep
        known = positions(arn, lease.name)
        latest = max((each.noted_at for each in known if each.noted_at), default=None)
        self.owes_sweep = latest is None or now() - latest > KEPT
        self.lag_seconds = 0.0
        self.is_stuck = False
        # Records after positions this old are trimmed: start without positions, and read all that is left.
        self._shards = Shards(arn, () if self.owes_sweep else (each.shard for each in known))
        self._lease, self._now = lease, now
        self._looked_at: datetime | None = None
        self._noted: dict[str, datetime] = {}
        self._stuck: dict[str, _Stuck] = {}

    def step(self) -> WorkCounts:
        """Read each ready shard once. Raises the store's errors."""
        now, done = self._now(), Counter[str]()
        if self._looked_at is None or now - self._looked_at >= LOOK_FOR_SHARDS:
            self._shards.refresh()
            self._looked_at = now
        lags, self.is_stuck = [0.0], False
        for shard in self._shards.ready():
            counts, last = self._read(shard)
            done += counts
            if last is not None:
                lags.append(max(0.0, (self._now() - last).total_seconds()))
            if shard.done:
                # Look for its children in the next round.
                self._looked_at = None
            if not self._lease.is_held:
                break
        self.lag_seconds = max(lags)
        if self._shards.lost:
            self.owes_sweep, self._shards.lost = True, False
        return done

    def _read(self, shard: Shard) -> tuple[WorkCounts, datetime | None]:
        """Handle the records of one read; return the counts, and the time of the last handled record."""
        done, last = Counter[str](), None
        records = self._shards.read(shard)
        for record, outcome in zip(records, _all_handled(records, self.handle), strict=True):
            counts = self._passed(shard, record, outcome)
            if counts is None:
                # Later records of other items, handled already, are handled again; that changes nothing.
                self.is_stuck = True
                self._shards.stopped_at(shard)
                break
            done += counts
            last = outcome.at or last
        self._settle()
        noted_at = self._noted.get(shard.shard_id)
        if records or shard.done or noted_at is None or self._now() - noted_at >= NOTE_EVERY:
            self._lease.note_position(self._shards.arn, shard)
            self._noted[shard.shard_id] = self._now()
        return done, last

    def _passed(self, shard: Shard, record: Raw, outcome: "_Outcome") -> WorkCounts | None:
        """Move the position past a record and return its counts; None if the record must be retried later."""
        sequence = str(record.get("dynamodb", {}).get("SequenceNumber", ""))
        done = outcome.counts
        if outcome.error is not None:
            if is_transient(outcome.error) and not self._is_given_up(shard, sequence):
                return None
            if self._keep is not None and not is_kept(record, self._keep):
                return None
            done = Counter({WorkOutcome.READ: 1, WorkOutcome.FAILED: 1})
            self.owes_sweep = self.owes_sweep or (self._keep is None and is_transient(outcome.error))
        self._stuck.pop(shard.shard_id, None)
        shard.sequence = sequence or shard.sequence
        return done

    def _is_given_up(self, shard: Shard, sequence: str) -> bool:
        stuck = self._stuck.setdefault(shard.shard_id, _Stuck())
        if stuck.sequence != sequence:
            stuck.sequence, stuck.rounds = sequence, 0
        stuck.rounds += 1
        return stuck.rounds >= ROUNDS


@dataclass(slots=True)
class _Outcome:
    counts: WorkCounts
    at: datetime | None = None
    error: Exception | None = None


def _all_handled(records: list[Raw], handle: Callable[[StreamChange], WorkCounts]) -> list[_Outcome]:
    """Handle records: in order within a conversation, conversations in parallel. An error stops its conversation."""
    by_conversation: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        keys = record.get("dynamodb", {}).get("Keys") or {}
        about = json.dumps(keys.get("conversation_id"), default=str)
        by_conversation.setdefault(about, []).append(number)
    outcomes: list[_Outcome | None] = [None] * len(records)

    def handle_chain(numbers: list[int]) -> None:
        error: Exception | None = None
        for number in numbers:
            outcome = _Outcome(Counter(), error=error) if error else _handled(records[number], handle)
            error = outcome.error if outcome.error is not None and is_transient(outcome.error) else None
            outcomes[number] = outcome

    chains = list(by_conversation.values())
    if len(chains) < 2:
        for numbers in chains:
            handle_chain(numbers)
    else:
        for future in [submit(handle_chain, numbers) for numbers in chains]:
            future.result()
    return [outcome for outcome in outcomes if outcome is not None]


def _handled(record: Raw, handle: Callable[[StreamChange], WorkCounts]) -> _Outcome:
    try:
        change = change_of(record)
        return _Outcome(handle(change), change.at)
    except Exception as error:
        # No message: it may quote a key.
        logger.warning("A record of the stream could not be handled: %s", type(error).__name__)
        return _Outcome(Counter(), error=error)
