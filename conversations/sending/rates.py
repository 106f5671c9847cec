"""How fast one number or address of a company may send: a token bucket each, and pauses that providers ask for."""

import threading
from datetime import datetime, timedelta

from django.conf import settings

from console import clock

# What may go at once, in seconds of the rate.
BURST_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
KEPT = 10_000


class Rates:
    """Of one process. `settings.REPLIES_PER_SECOND` replies go from each sender; several processes add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By sender: when it is paid for until (GCRA), as an instant.
        self._paid_until: dict[str, datetime] = {}

    def wait_for(self, sender: str, now: datetime) -> float:
        """Take a token of that sender: 0.0, or so many seconds until there is one."""
        cost = timedelta(seconds=1 / settings.REPLIES_PER_SECOND)
        with self._lock:
            paid = max(self._paid_until.get(sender, now), now)
            ahead = (paid + cost - now).total_seconds() - max(BURST_SECONDS, cost.total_seconds())
            if ahead > 0:
                return ahead
            if len(self._paid_until) > KEPT:
                self._paid_until = {name: until for name, until in self._paid_until.items() if until > now}
            self._paid_until[sender] = paid + cost
        return 0.0

    def pause(self, sender: str, seconds: float) -> None:
        """Let nothing go from that sender for so many seconds."""
        until = clock.now() + timedelta(seconds=min(seconds, LONGEST_PAUSE_SECONDS) + BURST_SECONDS)
        with self._lock:
            self._paid_until[sender] = max(self._paid_until.get(sender, until), until)
