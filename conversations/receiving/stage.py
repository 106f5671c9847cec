"""The receiver of what the platform stages: one at a time under a lease of its own, on the stage table's stream."""

import logging
from collections import Counter
from typing import Any

from console.errors import TableMissing
from conversations.indexer.handling import WorkCounts
from conversations.indexer.lease import STREAM
from conversations.indexer.leased import LeasedWorker
from conversations.indexer.streams.following import Following
from conversations.receiving.fragments import STAGE, keep, take_fragment

logger = logging.getLogger(__name__)


class StageReceiver(LeasedWorker):
    """Counts are by `Handled`, and what was read and was not for people."""

    name, title, table_key = STAGE, "The receiver of the stage table", "CONVERSATIONS_STAGE"

    def _find_place(self) -> None:
        arn = self._find_stream()
        self.mode = STREAM if arn else ""
        self._following = Following(arn, self.lease, self._now, take_fragment, keep) if arn else None
        if self._following is not None and self.lease.state.get("beat_at") is None:
            # The first start has missed nothing: all that the stream still has is read.
            self._following.owes_sweep = False
        self._say("Receiving from the stage table." if arn else "The stage table has no stream to receive from.")

    def _find_stream(self) -> str:
        try:
            return super()._find_stream()
        except TableMissing:
            self._arn = ""
            return ""

    def _work(self) -> WorkCounts:
        done: WorkCounts = Counter()
        if self._is_another_stream() or self._following is None:
            return done
        done += self._following.step()
        if self._following.owes_sweep:
            logger.error("Messages may be missing: the stage table's stream no longer has all of them.")
            self.lease.renew(missed_at=self._now())
            self._following.owes_sweep = False
        self.counts += done
        return done

    def _details(self) -> dict[str, Any]:
        lag = self._following.lag_seconds if self._following is not None else None
        return {"lag": lag, "mode": self.mode}
