"""The AWS Lambda handler for work that a schedule starts, because no stream or queue triggers it.

The handler is `conversations.work.scheduled.lambda_handler`. The event names the work, one of
`conversations.work.parts.SCHEDULED`: `{"work": "timers"}`.
"""

from collections.abc import Mapping
from typing import Any

from console.startup import start

# Time reserved at the end of a Lambda's run to finish the current step and give back its lease.
MARGIN_SECONDS = 15.0


def lambda_handler(event: Mapping[str, Any], context: Any = None) -> dict[str, int]:
    """Do the work until nothing is left or the Lambda's time is nearly up, and return counts of what was done.

    Raises `KeyError` for unknown work, and `WorkFailed` if the last try failed, so that Lambda counts an error.
    """
    start()
    from conversations.work.parts import run_scheduled

    left = context.get_remaining_time_in_millis() / 1_000 if context is not None else 2 * MARGIN_SECONDS
    return run_scheduled(str(event["work"]), left - MARGIN_SECONDS)
