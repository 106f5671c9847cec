"""How many messages of the hand-off queue each receiver has, so that the system page can say which nobody has.

Each process notes that in an item of its own (`pk` of the queue's heartbeat, `sk = HOLDING#…`), rarely: what it noted
counts for a minute, and SQS's own numbers lag behind as well.
"""

import logging
import secrets
from datetime import datetime, timedelta

from console import clock
from console.errors import ConsoleError
from console.store.models import InstantAttribute, LenientItem, WholeNumberAttribute
from conversations.receiving.recording import QUEUE
from conversations.workers.beats import STALE_AFTER
from conversations.workers.lease import write_heartbeat

logger = logging.getLogger(__name__)

HOLDING = "HOLDING#"
NOTED_EVERY = STALE_AFTER / 2
KEPT = timedelta(days=1)


class HeldMessages(LenientItem):
    """How many messages a process noted, and when."""

    beat_at = InstantAttribute(null=True)
    held = WholeNumberAttribute(default=0)


class Holding:
    """The messages that this process has."""

    def __init__(self) -> None:
        self._name = HOLDING + secrets.token_hex(8)
        self._count, self._noted_at = 0, clock.now() - STALE_AFTER

    def note(self, count: int) -> None:
        """Note that this process has so many messages, unless it noted as many a moment ago. A failure is logged."""
        now = clock.now()
        is_fresh = now - self._noted_at < NOTED_EVERY
        if not count or (is_fresh and count <= self._count):
            return
        try:
            write_heartbeat(QUEUE, self._name, beat_at=now, held=count, expires_at=clock.to_epoch(now + KEPT))
        except ConsoleError as error:
            logger.warning("How many messages are being handled could not be noted: %s", type(error).__name__)
        else:
            self._count, self._noted_at = count, now


def held_by_receivers(now: datetime) -> int:
    """Return how many messages all receivers had in the last minute. One Query; raises the store's errors."""
    noted = HeldMessages.query(QUEUE, HeldMessages.sk.startswith(HOLDING))
    return sum(each.held for each in noted if each.beat_at is not None and now - each.beat_at <= STALE_AFTER)
