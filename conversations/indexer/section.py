"""The indexer on the system page."""

from datetime import datetime

from console import system_sections
from console.system_sections import SystemSection
from console.trees import Fact, instant_fact
from conversations.workers.beats import IndexerHealth, read_health
from conversations.workers.lease import LAMBDA, STREAM, SWEEP

TITLE = "Index of the queue"
_MODES = {
    STREAM: "a worker on the table's stream",
    SWEEP: "sweeps of the table",
    LAMBDA: "a Lambda on the stream",
}
_COUNTS = {
    "read": "Records and items read",
    "repaired": "Repaired",
    "requested": "Requests recorded",
    "reasserted": "Decisions restored",
    "failed": "Failed",
}


def section(now: datetime) -> SystemSection:
    """Return the indexer's section of the system page. One GetItem; raises the store's errors."""
    health = read_health(now)
    if not health.ran:
        return SystemSection(
            TITLE, "not running", health.describe(now), "human", hints=("manage.py work --only indexer",)
        )
    state, tone = (
        ("ready", "good") if health.is_reliable else ("stale", "bad") if health.is_stale else ("begun", "human")
    )
    return SystemSection(TITLE, state, health.describe(now), tone, _facts(health, now))


def _facts(health: IndexerHealth, now: datetime) -> tuple[Fact, ...]:
    lag = "" if health.lag_seconds is None else f"{health.lag_seconds:.1f} s"
    counts = [Fact(label, f"{health.counts[name]:,}") for name, label in _COUNTS.items() if name in health.counts]
    return (
        Fact("Kept by", _MODES.get(health.mode, health.mode)),
        instant_fact("Last heard of", health.beat_at and health.beat_at.isoformat(), "ago", now),
        Fact("Lag", lag, note="from a change to its handling"),
        instant_fact("Last sweep", health.last_sweep_at and health.last_sweep_at.isoformat(), "ago", now),
        Fact("Looked at everything", "yes" if health.backfilled else "not yet"),
        *counts,
    )


def register_with_base() -> None:
    """Register the section of the system page. Called once at start-up."""
    system_sections.register(TITLE, section)
