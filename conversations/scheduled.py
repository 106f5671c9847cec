"""What has neither a stream nor a queue, as AWS Lambdas that a schedule starts.

The handler is `conversations.scheduled.lambda_handler`. The event says which work: `{"work": "timers"}`, one of
`conversations.work.SCHEDULED`.
"""

from collections.abc import Mapping
from typing import Any

from console.startup import start

# What is left of a Lambda's time when it ends what it is at, and gives its lease back.
MARGIN_SECONDS = 15.0


def lambda_handler(event: Mapping[str, Any], context: Any = None) -> dict[str, int]:
    """Do the work until nothing is left for now, or the Lambda's time is nearly up; what was done, in numbers.

    Raises `KeyError` for work that there is not, and `WorkFailed` where the last try failed: Lambda counts that.
    """
    start()
    from conversations.work import run_scheduled

    left = context.get_remaining_time_in_millis() / 1_000 if context is not None else 2 * MARGIN_SECONDS
    return run_scheduled(str(event["work"]), left - MARGIN_SECONDS)
