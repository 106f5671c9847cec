"""Actions on the queue as a whole: take the longest waiting, and release everything that a person holds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from console import context
from console.errors import NotFound, StoreUnavailable
from console.permissions import Permission, Staff
from console.staff import accounts, services
from console.store.calls import parallel
from console.trail.recording import Actor
from conversations.companies import names_for
from conversations.handoff import HandOffAction, LostRace, ReleaseReport, intent_for, perform, release_all
from conversations.handoff.partitions import QueueState, read_partitions
from conversations.handoff.stored import held_in
from conversations.models import Conversation
from conversations.queue import counting
from conversations.queue.pages import MINE, WAITING, QueueEntry, QueueFilters
from conversations.queue.reading import partitions_in_scope, read_tab
from conversations.queue_index.readiness import is_indexed

# Maximum reads of the head of the queue, which is read again if colleagues took everything in it first.
ROUNDS = 3


def take_longest(filters: QueueFilters, action_id: str, staff: Staff) -> QueueEntry | None:
    """Take the conversation that has waited longest among those that match the filters; None if nobody waits.

    `action_id` is the form's: the same form submitted again returns what it took. Raises `Forbidden` and the store's
    errors; if one leaves the outcome open, submitting the form again settles it.
    """
    staff.require(Permission.HAND_OFF)
    mine = read_tab(MINE, staff, filters)
    taken = next((entry for entry in mine.entries if entry.hand_off.action_id == action_id), None)
    if taken is not None:
        return taken
    for number in range(ROUNDS):
        head = read_tab(WAITING, staff, filters, known=None if number else mine.partitions)
        for entry in head.entries:
            if _take(entry, action_id, staff):
                return entry
        if not head.entries:
            return None
    return None


def _take(entry: QueueEntry, action_id: str, staff: Staff) -> bool:
    """Take a conversation; return False if somebody else was faster, or it is gone."""
    intent = replace(intent_for(HandOffAction.TAKE, entry.item, entry.hand_off), action_id=action_id)
    try:
        perform(intent, staff)
    except (LostRace, NotFound):
        return False
    counting.count_again({entry.summary.company_id})
    return True


Keys = list[tuple[str, str]]
# Maximum rows of one read, reads of a company by a page, and by the disabling of an account. A disabled account may not
# hold anything; if a page's deadline ends that search, the page asks to repeat it, and the command has no deadline.
_ROWS = 1000
READS, THOROUGH_READS = 4, 500
# Companies that are read in parallel.
AT_ONCE = 16


def keys_held_by(username: str, company_ids: Iterable[str], reads: int = READS) -> Iterator[tuple[Keys, int]]:
    """Yield the keys of what a person holds, and how many companies were not read to the end, some companies at a time.

    Raises the store's errors.
    """
    wanted = list(dict.fromkeys(company_ids))
    read = _held_in_index if is_indexed() else _held_in_table
    for start in range(0, len(wanted), AT_ONCE):
        found = parallel(*(partial(read, username, each, reads) for each in wanted[start : start + AT_ONCE]))
        yield [key for keys, _ in found for key in keys], sum(not complete for _, complete in found)


def _held_in_index(username: str, company_id: str, reads: int) -> tuple[Keys, bool]:
    return _read_keys(Conversation.hand_off_queue_index, held_in(company_id), username, reads)


def _held_in_table(username: str, company_id: str, reads: int) -> tuple[Keys, bool]:
    return _read_keys(Conversation.company_project_index, company_id, username, reads)


def _read_keys(index: Any, partition: str, username: str, reads: int) -> tuple[Keys, bool]:
    pages = index.query(
        partition,
        filter_condition=Conversation.hand_off_agent == username,
        attributes_to_get=["primary_channel", "conversation_id"],
        page_size=_ROWS,
    ).page_iter
    items = [raw for page in islice(pages, reads) for raw in page["Items"]]
    return [(raw["primary_channel"]["S"], raw["conversation_id"]["S"]) for raw in items], not pages.last_evaluated_key


def release_mine(staff: Staff) -> ReleaseReport:
    """Release everything that a person holds in their scope, within the read budget of a page."""
    partitions = partitions_in_scope(staff, read_partitions()) if is_indexed() else ()
    companies = [
        each.company_id
        for each in partitions
        if each.state == QueueState.HELD and not (each.is_certain and staff.username not in (each.holders or {}))
    ]
    report = _release(staff.username, Actor.of(staff), companies, READS)
    counting.count_again(set(companies))
    return report


def release_everything_of(username: str, actor: Actor) -> None:
    """Release what an account holds in any known company, in the name of `actor`, who disabled it.

    Searches every company of the registry, because the scope may have been narrowed since the account took something.
    Raises `StoreUnavailable` if something is left.
    """
    staff = Staff.of(accounts.get(username))
    anywhere = replace(staff, scope=replace(staff.scope, everything=True))
    report = _release(username, actor, names_for(anywhere), THOROUGH_READS)
    if report.failed or report.unread:
        raise StoreUnavailable("Some of what the account holds could not be returned to the queue.")


def _release(username: str, actor: Actor, companies: Iterable[str], reads: int) -> ReleaseReport:
    """Release what a person holds in these companies, batch by batch. Raises the store's errors of the reads."""
    released: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    unread = routing_left = 0
    for keys, incomplete in keys_held_by(username, companies, reads):
        report = release_all(username, actor, keys)
        released += report.released
        failed += report.failed
        unread += incomplete
        routing_left += report.routing_left
    return ReleaseReport(tuple(released), tuple(failed), unread, routing_left)


def register_with_base() -> None:
    """Register the navigation's count, and the release of what a disabled account holds. Called once at start-up."""
    context.register_count("queue", "queue-count")
    services.on_disabled.append(release_everything_of)
