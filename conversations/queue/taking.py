"""Take the longest waiting: whoever presses first has it, everyone else gets the next one."""

from collections.abc import Iterable
from dataclasses import replace

from console.errors import NotFound
from console.permissions import Permission, Staff
from conversations.handoff import HandOffAction, LostRace, intent_for, perform
from conversations.queue import counting
from conversations.queue.entries import MINE, WAITING, QueueEntry
from conversations.queue.filters import QueueFilters
from conversations.queue.reading import read_tab

# How often the head of the queue is read anew when colleagues were faster with all that it held.
ROUNDS = 3


def take_longest(company_ids: Iterable[str], filters: QueueFilters, action_id: str, staff: Staff) -> QueueEntry | None:
    """Take the conversation that has waited longest among those that the filters let through; None if nobody waits.

    `action_id` comes with the form: the same form sent again finds what it took. Raises `Forbidden`, and the store's
    errors; after one that leaves open what happened, sending the form again settles it.
    """
    staff.require(Permission.HAND_OFF)
    companies = list(company_ids)
    mine = read_tab(MINE, companies, staff.username, filters)
    taken = next((entry for entry in mine.entries if entry.hand_off.action_id == action_id), None)
    if taken is not None:
        return taken
    for _ in range(ROUNDS):
        head = read_tab(WAITING, companies, staff.username, filters)
        for entry in head.entries:
            if _taken(entry, action_id, staff):
                return entry
        if not head.entries:
            return None
    return None


def _taken(entry: QueueEntry, action_id: str, staff: Staff) -> bool:
    intent = replace(intent_for(HandOffAction.TAKE, entry.item, entry.hand_off), action_id=action_id)
    try:
        perform(intent, staff)
    except (LostRace, NotFound):
        return False
    finally:
        counting.forget(entry.summary.company_id)
    return True
