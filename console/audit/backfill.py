"""The back-fill of review partitions (`console.trail.actions.REVIEW_PARTITIONS`) on entries of earlier versions.

The write of an entry says its review partition. Older entries get theirs from `manage.py audit backfill`; until it has
come to the end of the table, a review partition may lack some of them, and reviews read each action type by itself.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action

from console import clock
from console.audit.archive.walk import next_page, walk_on
from console.audit.review.plan import REVIEW, BackfillState, is_backfill_done
from console.caching import invalidate
from console.errors import BadReference, Invalid, TableMissing
from console.refs import seal_data, unseal_data
from console.store.calls import ConditionFailed, parallel
from console.store.models import Key
from console.store.presence import index_ready, table_ready
from console.system_sections import SystemSection
from console.trail.actions import REVIEW_PARTITION_OF
from console.trail.models import AuditEntry

TITLE = "Audit review"
COMMAND = "manage.py audit backfill"
# Entries that are written at once.
AT_ONCE = 20
_PLACE = "audit backfill"
_READ = ("conversation_id", "ts_action_id", "action_type", "gsi_review")
# Called after each page with the entries read in it, and those written in it.
Progress = Callable[[int, int], None]


def backfill_entries(units: float, writes: float, progress: Progress) -> int:
    """Write the review partition of entries that lack it; return how many an interrupted run and this one have written.

    Reads the table once, from where an interrupted run stopped, at about `units` read units a second, and writes at
    most `writes` entries a second. It may run beside everything that writes entries with their review partition, and
    again at any time: until it is done, reviews do without. Raises `Invalid` without the index, and the store's errors.
    """
    if not table_ready("AUDIT"):
        raise TableMissing("AUDIT")
    if not index_ready("AUDIT", REVIEW):
        raise Invalid(
            f"The audit table has no {REVIEW}. manage.py tables check --cloudformation prints the change for its owner."
        )
    state = BackfillState.read()
    if state.done_at is not None:
        state = BackfillState()
    # What is done again counts as undone: entries may lack their review partition.
    state.save()
    scan = walk_on(_opened(state.place), _READ, units)
    is_at_end = False
    while not is_at_end:
        page = next_page(scan)
        written = _write_missing(page["Items"], writes)
        place = page.get("LastEvaluatedKey")
        is_at_end = place is None
        state.written += written
        state.place = None if is_at_end else seal_data(_PLACE, json.dumps(place))
        state.done_at = clock.to_iso(clock.now()) if is_at_end else None
        state.save()
        progress(len(page["Items"]), written)
    invalidate(is_backfill_done)
    return int(state.written)


def _opened(place: str | None) -> Key | None:
    """Return the key to continue after; None (from the beginning) without one, or if the key of the seal is gone."""
    try:
        return json.loads(str(unseal_data(_PLACE, place))) if place else None
    except BadReference:
        return None


def _write_missing(items: list[Key], writes: float) -> int:
    """Write the review partition of those of these entries that lack it or have another; return how many."""
    entries = map(AuditEntry.from_raw_data, items)
    found = ((each, REVIEW_PARTITION_OF.get(str(each.plain("action_type") or ""))) for each in entries)
    misplaced = [(entry, partition) for entry, partition in found if partition and entry.gsi_review != partition]
    written = 0
    for start in range(0, len(misplaced), AT_ONCE):
        began, some = time.monotonic(), misplaced[start : start + AT_ONCE]
        written += sum(parallel(*(partial(_write_partition, *each) for each in some)))
        time.sleep(max(0.0, len(some) / writes - (time.monotonic() - began)))
    return written


def _write_partition(entry: AuditEntry, partition: str) -> bool:
    """Write an entry's review partition, unless it has expired or got one meanwhile; return whether this call did."""
    actions: list[Action] = [AuditEntry.gsi_review.set(partition)]
    as_read: Condition = AuditEntry.conversation_id.exists()
    if entry.gsi_review:
        as_read &= AuditEntry.gsi_review == entry.gsi_review
    else:
        as_read &= AuditEntry.gsi_review.does_not_exist()
        actions.append(AuditEntry.is_backfilled.set(True))
    try:
        entry.update(actions=actions, condition=as_read)
    except ConditionFailed:
        return False
    return True


def section(now: datetime) -> SystemSection:
    """Return the review's section of the system page: whether it reads review partitions. Raises the store's errors."""
    if not table_ready("AUDIT"):
        return SystemSection(TITLE, "no table", "The audit table is missing, so there is no review.")
    if not index_ready("AUDIT", REVIEW):
        words = f"It reads each action type by itself, because the audit table has no {REVIEW}."
        return SystemSection(TITLE, "slower", words, hints=("manage.py tables check --cloudformation",))
    state = BackfillState.read()
    if state.done_at is None:
        words = f"It reads each action type by itself until {COMMAND} has prepared older entries."
        return SystemSection(TITLE, "slower", words, "human", hints=(COMMAND,))
    return SystemSection(TITLE, "ready", "It reads the console’s own entries together.", "good")
