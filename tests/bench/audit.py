"""What the review across conversations costs with few entries and with many, on dynoxide.

    python -m tests.bench.audit [--json] [--quick] [--repeats N]

Builds trails of 1,000 and of 100,000 entries (with --quick of 200 and 2,000) over a twentieth as many conversations,
and asks both in turn for the first page of the same reviews. Prints for each: calls, capacity units, the median of the
milliseconds and what was found, and the ratio of many to few.
"""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from console.trail.actions import REVIEW_PARTITION_OF
from tests.bench.side_by_side import Bench, Item, Question, main

COMPANY = "ci-cuc-001"
KINDS = (
    *("route", "route", "route", "route", "tag", "tag", "auto_reply", "auto_reply", "escalate"),
    *("hand_off.take_over", "hand_off.hand_back", "transcript.opened"),
)


def items(total: int) -> Iterator[Item]:
    """So many entries, newest first, one a second."""
    return (item(number, total) for number in range(total))


def item(number: int, total: int) -> Item:
    """One entry, as many seconds old as its number; those of the console name actor and company."""
    at = datetime.now(UTC) - timedelta(seconds=number)
    kind = KINDS[number % len(KINDS)]
    conversation = _conversation(number % max(1, total // 20))
    entry = {
        "conversation_id": conversation,
        "ts_action_id": f"{at.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}#{number:08}",
        "action_type": kind,
        "action_payload_redacted": json.dumps({"team": "Returns", "confidence": 0.87, "note": "x" * 300}),
        "idempotency_key": f"act:rp_reply:{conversation}:m{number}",
        "result": "success" if number % 50 else "failed: no team",
        "expires_at": int(time.time()) + 5_000_000,
    }
    if "." in kind:
        names = {"actor": f"agent.{number % 30}", "actor_role": "agent", "company_id": COMPANY}
        entry |= names | {
            "gsi_actor": names["actor"],
            "gsi_company_id": COMPANY,
            "gsi_review": REVIEW_PARTITION_OF.get(kind) or "",
        }
    return entry


def _conversation(number: int) -> str:
    return f"{COMPANY}#pi-cuc-001#req-{number:06}"


def questions() -> dict[str, Question]:
    """The first page of reviews, by name."""
    from console.audit.review.plan import Review
    from console.audit.review.reading import read_review
    from console.permissions import Role, Scope, Staff
    from console.trail.actions import DEFAULT_ACTIONS

    staff = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))

    def first_page(review: Review) -> Question:
        return lambda: {"entries": len(read_review(review, staff).entries)}

    return {
        "one action type": first_page(Review(("route",))),
        f"what a review begins with: {len(DEFAULT_ACTIONS)} action types": first_page(Review(DEFAULT_ACTIONS)),
        "one actor": first_page(Review(actor="agent.9")),
        "one conversation": first_page(Review(conversation=_conversation(0))),
    }


BENCH = Bench(__doc__, "entries", "AUDIT", items, questions, sizes=(1_000, 100_000), quick=(200, 2_000))

if __name__ == "__main__":
    main(BENCH)
