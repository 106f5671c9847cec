"""Recording a command's run in the trail of the system: pending at its start, its outcome at its end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from console import clock
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry
from console.trail.recording import COMMAND_LINE, SYSTEM_TRAIL, TrailEntry, build


@dataclass(slots=True)
class Run:
    """A run's record: `payload` contains counts and ids, no personal data, and may grow until the run ends.

    `entry` is the `ts_action_id` of its entry in the trail of the system.
    """

    payload: dict[str, Any] = field(default_factory=dict)
    entry: str = ""


@contextmanager
def audited_run(action: Action, **payload: Any) -> Iterator[Run]:
    """Write the entry before the block and its result afterwards: success, or failed with the exception's type.

    Raises the store's errors before the block: without the trail, nothing is changed. A killed run stays pending.
    """
    now = clock.now()
    entry = TrailEntry(SYSTEM_TRAIL, action, COMMAND_LINE, result=Result.PENDING, payload=payload)
    item = build(entry, now)
    item.save()
    run = Run(dict(payload), str(item.ts_action_id))
    result = "failed: interrupted"
    try:
        yield run
        result = Result.SUCCESS.value
    except Exception as error:
        result = f"failed: {type(error).__name__}"
        raise
    finally:
        done = build(replace(entry, payload=run.payload, action_id=item.action_id), now)
        item.update(
            actions=[
                AuditEntry.result.set(result),
                AuditEntry.action_payload_redacted.set(done.action_payload_redacted),
            ],
            condition=AuditEntry.result == Result.PENDING.value,
        )
