"""Rates of a company's numbers, addresses or accounts: a token bucket each, and pauses that providers ask for."""

import threading
from datetime import datetime, timedelta

from django.conf import settings

from console import clock

# Size of a burst, in seconds of the rate.
BURST_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
KEPT = 10_000


class Rates:
    """The rates of one process per sender: `settings.REPLIES_PER_SECOND` by default. Several processes add up."""

    def __init__(self, per_second: float = 0.0) -> None:
        self._per_second = per_second
        self._lock = threading.Lock()
        # By sender: the instant until which it has used up its rate (GCRA).
        self._paid_until: dict[str, datetime] = {}

    def wait_for(self, sender: str, now: datetime) -> float:
        """Take a token of that sender; return 0.0, or the seconds until there is one."""
        cost = timedelta(seconds=1 / (self._per_second or settings.REPLIES_PER_SECOND))
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
        """Send nothing from that sender for some seconds."""
        until = clock.now() + timedelta(seconds=min(seconds, LONGEST_PAUSE_SECONDS) + BURST_SECONDS)
        with self._lock:
            self._paid_until[sender] = max(self._paid_until.get(sender, until), until)
