"""Whether a page that is open somewhere still shows the queue as it is: its tag changes with what it shows."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from conversations.queue.entries import QueueEntry

# Each row has a tag of its own; json.dumps would make an encoder for each.
_written = json.JSONEncoder(sort_keys=True, default=str).encode


def tag_of(entries: Iterable[QueueEntry], *shown: Any) -> str:
    """A short digest of rows and of whatever else is shown (any JSON value); ages in words are left to the browser."""
    rows = [
        [
            entry.mark,
            entry.since,
            entry.hand_off.state,
            entry.hand_off.agent,
            entry.hand_off.action_id,
            entry.hand_off.reason,
            entry.summary.company_name,
            entry.summary.project_name,
        ]
        for entry in entries
    ]
    text = _written([rows, shown])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
