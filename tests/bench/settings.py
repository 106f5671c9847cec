"""Settings of the benched console: as in production, but over plain http on this machine and on dynoxide.

The endpoint, the environment and the directory of static files come with the process's environment.
"""

from console.settings import *  # noqa: F403
from console.settings import MIDDLEWARE as CONSOLE_MIDDLEWARE

# Within the request's budget, so that it sees what was spent.
_BUDGET = CONSOLE_MIDDLEWARE.index("console.middleware.RequestBudgetMiddleware")
MIDDLEWARE = [
    *CONSOLE_MIDDLEWARE[: _BUDGET + 1],
    "tests.bench.recording.costs",
    *CONSOLE_MIDDLEWARE[_BUDGET + 1 :],
]

# The engine counts a table's items to describe it, and is busy long after 111,000 were written.
DYNAMODB_READ_TIMEOUT_SECONDS, REQUEST_DEADLINE_SECONDS = 60.0, 120.0
