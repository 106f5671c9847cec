"""What TTL removed from the stage: an empty stage then does not tell that no worker is at it.

An item of the console's own table for each conversation: `pk = STAGE_EXPIRED#{digest}`, `sk = LAST`.
"""

import hashlib
from datetime import datetime, timedelta

from console import clock
from console.store.models import InstantAttribute, LenientItem, WholeNumberAttribute
from conversations.receiving.recording import STAGE
from conversations.workers.beats import STALE_AFTER
from conversations.workers.lease import LAMBDA, STREAM, read_heartbeats

KEPT = timedelta(days=1)


class StageExpiry(LenientItem):
    """When TTL last removed a staged row of a conversation."""

    at = InstantAttribute(null=True)
    expires_at = WholeNumberAttribute(null=True)


def note_expired(conversation_id: str, at: datetime) -> None:
    """Note that TTL removed a staged row of a conversation. Raises the store's errors; safe to repeat."""
    expires_at = clock.to_epoch(clock.now() + KEPT)
    StageExpiry(*_key(conversation_id), at=at, expires_at=expires_at).save()


def may_have_expired(conversation_id: str, since: datetime, now: datetime) -> bool:
    """Return whether TTL removed a staged row since then, or may have: nobody follows the stage's stream.

    A BatchGetItem and a GetItem. Raises the store's errors.
    """
    noted = read_heartbeats([STAGE])[STAGE]
    beat_at, missed_at = (clock.parse_instant(noted.get(each)) for each in ("beat_at", "missed_at"))
    is_alive = beat_at is not None and now - beat_at <= STALE_AFTER
    # A Lambda has no heartbeat while nothing is staged.
    follows = noted.get("mode") == LAMBDA or (noted.get("mode") == STREAM and is_alive)
    is_behind = float(noted.get("lag") or 0) > STALE_AFTER.total_seconds()
    if not follows or is_behind or (missed_at is not None and missed_at >= since):
        return True
    last = StageExpiry.find(*_key(conversation_id))
    return last is not None and last.at is not None and last.at >= since


def _key(conversation_id: str) -> tuple[str, str]:
    digest = hashlib.sha256(conversation_id.encode(errors="replace")).hexdigest()[:32]
    return f"STAGE_EXPIRED#{digest}", "LAST"
