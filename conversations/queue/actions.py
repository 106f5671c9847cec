"""Actions on the queue as a whole: take the longest waiting, and release everything that a person holds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from console.errors import NotFound, StoreUnavailable
from console.permissions import Permission, Staff
from console.staff import accounts
from console.store.calls import parallel
from console.trail.recording import Actor
from conversations.companies import names_for
from conversations.handoff import HandOffAction, LostRace, ReleaseReport, intent_for, perform, release_all
from conversations.handoff.stored import held_in
from conversations.models import Conversation
from conversations.queue import counting
from conversations.queue.pages import COMPANIES_AT_ONCE, MINE, WAITING, QueueEntry, QueueFilters
from conversations.queue.reading import READS_PER_COMPANY, is_indexed, read_queue, read_tab

# Maximum reads of the head of the queue, which is read again if colleagues took everything in it first.
ROUNDS = 3


def take_longest(company_ids: Iterable[str], filters: QueueFilters, action_id: str, staff: Staff) -> QueueEntry | None:
    """Take the conversation that has waited longest among those that match the filters; None if nobody waits.

    `action_id` is the form's: the same form submitted again returns what it took. Raises `Forbidden` and the store's
    errors; if one leaves the outcome open, submitting the form again settles it.
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


# Maximum rows of one read.
_ROWS = 1000

Keys = list[tuple[str, str]]


def keys_held_by(
    username: str, company_ids: Iterable[str], reads_per_company: int = READS_PER_COMPANY
) -> Iterator[tuple[Keys, int]]:
    """Yield the keys of what a person holds, and how many companies were not read to the end.

    Reads `COMPANIES_AT_ONCE` companies at a time. Raises the store's errors.
    """
    wanted = list(dict.fromkeys(company_ids))
    indexed = is_indexed()
    for start in range(0, len(wanted), COMPANIES_AT_ONCE):
        companies = wanted[start : start + COMPANIES_AT_ONCE]
        if indexed:
            reads = parallel(*(partial(_held, username, company_id, reads_per_company) for company_id in companies))
            yield [key for keys, _ in reads for key in keys], sum(not complete for _, complete in reads)
        else:
            found = read_queue(companies, reads_per_company)
            yield [entry.key for entry in found.of_tab(MINE, username)], len(found.incomplete)


def _held(username: str, company_id: str, reads: int) -> tuple[Keys, bool]:
    pages = Conversation.hand_off_queue_index.query(
        held_in(company_id),
        filter_condition=Conversation.hand_off_agent == username,
        attributes_to_get=["primary_channel", "conversation_id"],
        page_size=_ROWS,
    ).page_iter
    items = [raw for page in islice(pages, reads) for raw in page["Items"]]
    return [(raw["primary_channel"]["S"], raw["conversation_id"]["S"]) for raw in items], not pages.last_evaluated_key


# A disabled account may not hold anything, so each company is searched to the end, within this limit of reads. If a
# page's deadline ends the search, the page asks to repeat it; the command has no deadline.
THOROUGH_READS = 500
# Maximum companies that one page searches, in batches.
COMPANIES_OF_PAGE = 500


def release_mine(staff: Staff) -> ReleaseReport:
    """Release everything that a person holds in their scope, within the read budget of a page."""
    companies = list(names_for(staff))
    asked = companies[:COMPANIES_OF_PAGE]
    report = _release(staff.username, Actor.of(staff), asked, READS_PER_COMPANY)
    return replace(report, unread=report.unread + len(companies) - len(asked))


def release_everything_of(username: str, actor: Actor) -> None:
    """Release what an account holds in any known company, in the name of `actor`, who disabled it.

    Searches every company of the registry, because the scope may have been narrowed since the account took something.
    Raises `StoreUnavailable` if something is left.
    """
    staff = Staff.of(accounts.get(username))
    anywhere = replace(staff, scope=replace(staff.scope, everything=True))
    report = _release(username, actor, names_for(anywhere), THOROUGH_READS)
    if report.failed or report.unread:
        raise StoreUnavailable("Some of what the account holds could not be released.")


def _release(username: str, actor: Actor, companies: Iterable[str], reads_per_company: int) -> ReleaseReport:
    """Release what a person holds in these companies, batch by batch. Raises the store's errors of the reads."""
    released: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    unread = routing_left = 0
    for keys, incomplete in keys_held_by(username, companies, reads_per_company):
        report = release_all(username, actor, keys)
        released += report.released
        failed += report.failed
        unread += incomplete
        routing_left += report.routing_left
    return ReleaseReport(tuple(released), tuple(failed), unread, routing_left)
