"""A company as it grows: a quiet project beside a busy one, among thirty-three other companies; and what lists show."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from conversations.finding.filters import ConversationFilters
from conversations.handoff.stored import held_in, urgent_in, waiting_in
from tests.items import conversation

COMPANY, QUIET, BUSY = "ci-skewed", "pi-quiet", "pi-busy"
OTHERS = [f"ci-other-{number:02}" for number in range(33)]
QUIET_ROWS = 20
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

Item = dict[str, Any]
_HAND_OFFS = (
    {"hand_off_to_human": False},
    {"hand_off_to_human": True, "gsi_hand_off_queue": waiting_in(COMPANY)},
    {"hand_off_to_human": False},
    {"hand_off_to_human": True, "hand_off_agent": "jon", "gsi_hand_off_queue": held_in(COMPANY)},
    {"hand_off_to_human": True, "gsi_hand_off_queue": urgent_in(COMPANY), "hand_off_urgent": "by hand"},
    # Overridden: the platform cleared the flag of a conversation that somebody holds.
    {"hand_off_to_human": False, "hand_off_agent": "amira", "gsi_hand_off_queue": held_in(COMPANY)},
    {"hand_off_to_human": None},
)
_STATUSES = ("completed", "awaiting_reply", "failed_to_send_message", "retry")
_CHANNELS = ("whatsapp", "sms", "email")
FAILED = {"failed_to_send_message"}

# Each filter, and whether it selects an item, in other words than the product's.
FILTERS: dict[str, tuple[ConversationFilters, Callable[[Item], bool]]] = {
    "none": (ConversationFilters(), lambda item: True),
    "status": (ConversationFilters(status="retry"), lambda item: item["conversation_status"] == "retry"),
    "family": (ConversationFilters(status="is:failed"), lambda item: item["conversation_status"] in FAILED),
    "channel": (ConversationFilters(channel="sms"), lambda item: item["channel_method"] == "sms"),
    "task": (ConversationFilters(task=True), lambda item: item["task_complete"] == 1),
    "waiting": (
        ConversationFilters(hand_off="waiting"),
        lambda item: item["hand_off_to_human"] is True and "hand_off_agent" not in item,
    ),
    "held": (ConversationFilters(hand_off="held"), lambda item: "hand_off_agent" in item),
    "ai": (
        ConversationFilters(hand_off="ai"),
        lambda item: not item["hand_off_to_human"] and "hand_off_agent" not in item,
    ),
    "nothing": (ConversationFilters(status="never"), lambda item: False),
}


def row(number: int, project_id: str, at: datetime | None, company_id: str = COMPANY, **more: Any) -> Item:
    """One conversation; its number says what it is like. Without a time it has no `updated_at`."""
    hand_off = dict(_HAND_OFFS[number % len(_HAND_OFFS)]) if company_id == COMPANY else {}
    if "gsi_hand_off_queue" in hand_off:
        hand_off["hand_off_requested_at"] = clock.to_iso(BEGAN + timedelta(seconds=number))
    values = {
        "primary_channel": f"+4477{number:08}",
        "request_id": f"r{number}",
        "company_id": company_id,
        "project_id": project_id,
        "project_name": project_id,
        "conversation_status": _STATUSES[number % len(_STATUSES)],
        "channel_method": _CHANNELS[number % len(_CHANNELS)],
        "task_complete": number % 2,
        "updated_at": ... if at is None else clock.to_iso(at),
        **hand_off,
    }
    return conversation(**(values | more))


def quiet_rows() -> list[Item]:
    """The rows of the quiet project: older than all others, one without a time, one expired."""
    rows = [row(number, QUIET, BEGAN + timedelta(minutes=number)) for number in range(QUIET_ROWS)]
    gone = row(QUIET_ROWS, QUIET, BEGAN, ttl=clock.to_epoch(BEGAN))
    return [*rows, row(QUIET_ROWS + 1, QUIET, None), gone]


def busy_rows(siblings: int) -> Iterable[Item]:
    """The rows of the busy project, all newer, and a few of each other company, newer still."""
    first = BEGAN + timedelta(days=1)
    for number in range(siblings):
        yield row(1000 + number, BUSY, first + timedelta(seconds=number))
    for number, company_id in enumerate(OTHERS):
        for each in range(number % 3 + 1):
            yield row(90_000_000 + 10 * number + each, QUIET, first + timedelta(days=9), company_id)


def expected(items: Iterable[Item], project_id: str, chosen: Callable[[Item], bool]) -> list[str]:
    """The ids that a list shows: latest activity first, then what has no time that can be read."""
    now = clock.now()
    shown = [
        item
        for item in items
        if item["company_id"] == COMPANY
        and project_id in ("", item["project_id"])
        and chosen(item)
        and not clock.is_expired(item.get("ttl"), now)
    ]
    dated = [item for item in shown if "updated_at" in item]
    undated = [item for item in shown if "updated_at" not in item]
    dated.sort(key=lambda item: str(item["updated_at"]), reverse=True)
    return [str(item["conversation_id"]) for item in (*dated, *(undated if project_id else ()))]
