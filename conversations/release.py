"""Releasing what a person holds: at the person's wish, and when an account is disabled."""

from collections.abc import Sequence
from dataclasses import replace

from console.errors import StoreUnavailable
from console.permissions import Staff
from console.staff import accounts
from console.trail.recording import Actor
from conversations.companies import companies_for
from conversations.handoff import ReleaseReport, release_all
from conversations.queue.filtered import READS_PER_COMPANY
from conversations.queue.held import keys_held_by

# Nothing of a disabled account may be left: look through a company to its end, within reason. What the deadline of a
# page keeps from being released is told there, to be repeated; the command has none.
THOROUGH_READS = 500
# Companies that are looked through for a page, in batches one after the other.
COMPANIES_OF_PAGE = 500


def release_mine(staff: Staff) -> ReleaseReport:
    """Release everything that a person holds in the companies of their scope, within what a page may read."""
    companies = [company.company_id for company in companies_for(staff)]
    asked = companies[:COMPANIES_OF_PAGE]
    report = _release(staff.username, Actor.of(staff), asked, READS_PER_COMPANY)
    return replace(report, unread=report.unread + len(companies) - len(asked))


def release_everything_of(username: str, actor: Actor) -> None:
    """Release, in the name of who disabled it, what an account holds in any known company.

    Raises `StoreUnavailable` if something is left.

    Its scope may have been narrowed since it took something: every company of the registry is looked through too.
    """
    staff = accounts.get(username).as_staff()
    anywhere = replace(staff, scope=replace(staff.scope, everything=True))
    companies = [company.company_id for company in companies_for(anywhere)]
    report = _release(username, actor, companies, THOROUGH_READS)
    if report.failed or report.unread:
        raise StoreUnavailable("Not everything that the account holds could be released.")


def _release(username: str, actor: Actor, companies: Sequence[str], reads_per_company: int) -> ReleaseReport:
    """Release what is found in these companies, as it is found. Raises the store's errors of the reads."""
    released: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    unread = 0
    for keys, incomplete in keys_held_by(username, companies, reads_per_company):
        report = release_all(username, actor, keys)
        released += report.released
        failed += report.failed
        unread += incomplete
    return ReleaseReport(tuple(released), tuple(failed), unread)
