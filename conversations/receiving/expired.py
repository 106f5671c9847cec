"""What TTL removed from the stage: an empty stage then does not tell that no worker is at it.

An item of the console's own table for each conversation: `pk = STAGE_EXPIRED#{digest}`, `sk = LAST`.
"""

import hashlib
from datetime import datetime, timedelta

from console import clock
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import plain_item
from conversations.handoff.stored import Raw, text
from conversations.receiving.recording import STAGE
from conversations.workers.beats import STALE_AFTER
from conversations.workers.lease import LAMBDA, STREAM, read_heartbeats

KEPT = timedelta(days=1)


def note_expired(conversation_id: str, at: datetime) -> None:
    """Note that TTL removed a staged row of a conversation. Raises the store's errors; safe to repeat."""
    more = {"at": text(clock.to_iso(at)), "expires_at": {"N": str(clock.to_epoch(clock.now() + KEPT))}}
    call("PutItem", TableName=table_name("CONSOLE"), Item=_key(conversation_id) | more)


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
    answer = call("GetItem", TableName=table_name("CONSOLE"), Key=_key(conversation_id), ConsistentRead=True)
    last = clock.parse_instant(plain_item(answer.get("Item") or {}).get("at"))
    return last is not None and last >= since


def _key(conversation_id: str) -> Raw:
    digest = hashlib.sha256(conversation_id.encode(errors="replace")).hexdigest()[:32]
    return {"pk": text(f"STAGE_EXPIRED#{digest}"), "sk": text("LAST")}
