"""Children that are killed while they note what happened, or bring it (see tests/support/victims.py; run with `-m`).

`job` is "announce" or "bring"; `kill` and `nth` are as in the victims of replies. It is done on the store that the
environment names, and with whatever its destinations lead to.
"""

from typing import Any

from tests.support.conversations.sending_victims import kill_at

from tests.support.conversations.notifications import happened, notifier  # isort: skip (needs what the above sets up)
from conversations.notifications.deliveries import announce  # isort: skip
from tests.support.victims import serve  # isort: skip


def child(told: dict[str, Any]) -> None:
    if told["kill"]:
        kill_at(told["nth"], told["kill"])
    if told["job"] == "announce":
        announce([happened(name="1"), happened(name="2")])
    else:
        # Whoever had the lease has died.
        notifier().run(once=True)


if __name__ == "__main__":
    serve(child)
