"""Health of the indexer, for pages that rely on the index and for `/system/`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from console import clock
from conversations.workers.lease import INDEXER, LAMBDA, read_heartbeats

# A worker beats every five seconds; after this long without a beat it is dead or cut off from the store. A Lambda runs
# only when something changes, so its silence means nothing.
STALE_AFTER = timedelta(seconds=60)
# Scheduled work runs every few minutes and beats only then.
SCHEDULED_STALE_AFTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class IndexerHealth:
    """Health of the indexer. `ran`: ever; `backfilled`: a sweep covered everything, and no change was missed since.

    Only then does the index contain everything that waits. `has_partitions`: the rows of the index's partitions are
    kept, so pages know which to read. `lag_seconds`: time from the last handled change to its handling, 0 if all are
    handled, None if unknown. `mode`: stream, sweep, lambda, or "" before the first run.
    """

    ran: bool = False
    backfilled: bool = False
    has_partitions: bool = False
    is_stale: bool = False
    beat_at: datetime | None = None
    lag_seconds: float | None = None
    mode: str = ""
    last_sweep_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def is_reliable(self) -> bool:
        """Whether pages may rely on the index in its current state."""
        return self.ran and self.backfilled and not self.is_stale

    @property
    def is_behind(self) -> bool:
        """Whether people would notice the lag, as they wait for a request that they know of."""
        return self.lag_seconds is not None and self.lag_seconds >= STALE_AFTER.total_seconds()

    def describe(self, now: datetime) -> str:
        """Return a one-line description for people."""
        if not self.ran:
            return "The queue's indexer has never run."
        if self.is_stale:
            since = "" if self.beat_at is None else f" for {clock.format_span(now - self.beat_at)}"
            return f"No sign of the queue's indexer{since}. New requests may be missing."
        if not self.backfilled:
            return "The queue's indexer is looking through all conversations. Older requests may be missing."
        if self.is_behind:
            return f"The queue's indexer is {clock.format_span(timedelta(seconds=self.lag_seconds or 0))} behind."
        return "The queue's indexer is up to date."


def read_health(now: datetime | None = None) -> IndexerHealth:
    """Read the indexer's health; without the console's table it never ran. One BatchGetItem; raises the store's
    errors.
    """
    return health_of(read_heartbeats([INDEXER], consistent=True)[INDEXER], now or clock.now())


def health_of(stored: dict[str, Any], now: datetime) -> IndexerHealth:
    """Return the health in the lease's item, given as plain Python values."""
    swept_at = clock.parse_instant(stored.get("last_sweep_at"))
    # Sweeps run by hand or by a timer, without a worker, count as beats too.
    beats = [each for each in (clock.parse_instant(stored.get("beat_at")), swept_at) if each is not None]
    beat_at, mode, lag = max(beats, default=None), str(stored.get("mode") or ""), stored.get("lag")
    counts = stored.get("counts")
    return IndexerHealth(
        ran=beat_at is not None,
        backfilled=bool(stored.get("backfilled_at")),
        has_partitions=bool(stored.get("partitions_at")),
        is_stale=mode != LAMBDA and beat_at is not None and now - beat_at > STALE_AFTER,
        beat_at=beat_at,
        lag_seconds=None if lag is None or isinstance(lag, str) else float(lag),
        mode=mode,
        last_sweep_at=swept_at,
        counts={str(name): int(count) for name, count in counts.items()} if isinstance(counts, dict) else {},
    )


def stale_after(noted: Mapping[str, Any]) -> timedelta:
    """Return how long a process that writes heartbeats may be silent before it counts as stale."""
    return SCHEDULED_STALE_AFTER if noted.get("scheduled") else STALE_AFTER


def describe_beat(noted: Mapping[str, Any], now: datetime, who: str, does: str) -> tuple[bool | None, str]:
    """Return whether a process that writes heartbeats runs (None: it never has), and a sentence without a full stop.

    `who` names the process, and `does` says what a Lambda in its place does: "its receiver", "receives".
    """
    beat_at = clock.parse_instant(noted.get("beat_at"))
    if beat_at is None:
        return None, f"{who[0].upper()}{who[1:]} has never run"
    since = clock.format_span(now - beat_at)
    if noted.get("mode") == LAMBDA:
        return True, f"A Lambda {does}; it last ran {since} ago"
    if now - beat_at > stale_after(noted):
        return False, f"There has been no sign of {who} for {since}"
    if noted.get("scheduled"):
        return True, f"A scheduler runs {who}; it last ran {since} ago"
    return True, f"{who[0].upper()}{who[1:]} runs"
