"""Releasing what a person holds: at the person's wish, and when an account is disabled."""

from dataclasses import replace

from console.audit.recording import PLATFORM, Actor
from console.errors import StoreUnavailable
from console.staff import accounts
from console.staff.permissions import Scope, Staff
from conversations.companies import companies_for
from conversations.handoff import ReleaseReport, release_all
from conversations.queue.held import keys_held_by

# Nobody waits for a page when an account is disabled: look through a company to its end, within reason.
THOROUGH_READS = 500


def release_mine(staff: Staff) -> ReleaseReport:
    """Release everything that a person holds, as far as the queue's bounded read finds it."""
    keys, _ = next(keys_held_by(staff.username, (company.company_id for company in companies_for(staff))), ([], 0))
    return release_all(staff.username, Actor.of(staff), keys)


def release_everything_of(username: str) -> None:
    """Release what a disabled account holds in any known company. Raises `StoreUnavailable` if something is left.

    Its scope may have been narrowed since it took something: every company of the registry is looked through too.
    """
    staff = accounts.get(username).as_staff()
    anywhere = replace(staff, scope=Scope(everything=True, ids=staff.scope.ids))
    companies = [company.company_id for company in companies_for(anywhere)]
    failed = 0
    for keys, incomplete in keys_held_by(username, companies, THOROUGH_READS):
        failed += len(release_all(username, PLATFORM, keys).failed) + incomplete
    if failed:
        raise StoreUnavailable("Not everything that the account holds could be released.")
