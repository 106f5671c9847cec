"""The access review: who has which access, as a file, and when somebody last reviewed it.

A review is an entry in the trail of the person who made it, so it is as old, as redacted and as safe as other entries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import chain
from typing import Any

from django.conf import settings

from console import clock
from console.audit.review.plan import TRAIL_BY_TRAIL, Review
from console.audit.review.reading import gather, preview_plan
from console.audit.rows import display_names
from console.exports import FORMATS, Export, ExportBounds, file_name, iso_cell, send
from console.permissions import Permission, Scope, Staff, has_password
from console.redaction import redact
from console.staff import directory, second_factor
from console.staff.account_record import scope_words
from console.staff.known_companies import KnownCompanies, known_to
from console.staff.models import StaffAccount
from console.trail.actions import Action, happened_at, payload_of, text_in
from console.trail.recording import Actor, TrailEntry, record, staff_trail
from console.trees import text_of

REVIEWS_SHOWN = 10
# More than any number of accounts fills: rows bound the file.
PIECES = 10_000


@dataclass(frozen=True, slots=True)
class AccessReview:
    """One review. `accounts` is how many the person could see, None if unknown, and `scope` their scope in words."""

    at: datetime | None
    who: str
    accounts: int | None
    scope: str


def past_reviews(staff: Staff) -> tuple[tuple[AccessReview, ...], str]:
    """Return the newest reviews that this person may see, and why they cannot be listed, in words, or "".

    People with all companies in scope see every review, others their own. Raises as `read_review`.
    """
    review = Review((Action.ACCESS_REVIEWED,))
    if TRAIL_BY_TRAIL in preview_plan(review, staff).notices:
        return (), "Earlier reviews cannot be listed, because the audit table has no index by action type."
    entries = gather(review, staff, REVIEWS_SHOWN, 1).entries
    names = display_names(entries)
    found = []
    for entry in entries:
        actor, payload = text_in(entry, "actor"), payload_of(entry)
        seen = payload.get("accounts")
        found.append(
            AccessReview(
                at=happened_at(entry),
                who=redact(names.get(actor) or actor),
                accounts=seen if isinstance(seen, int) and not isinstance(seen, bool) else None,
                scope=text_of(payload.get("scope") or "")[:80],
            )
        )
    return tuple(found), ""


def record_review(staff: Staff) -> int:
    """Record that this person has reviewed the accounts they may see, and return how many these are.

    Raises `Forbidden`, `TableMissing` and the store's other errors: then nothing is recorded.
    """
    staff.require(Permission.AUDIT_REVIEW)
    count = sum(map(len, directory.accounts_in_scope(staff)))
    _record(staff, Action.ACCESS_REVIEWED, {"accounts": count, "scope": staff.scope_label})
    return count


def export(format_name: str, staff: Staff) -> Export:
    """Record the export and return the file of all accounts that this person may see. Raises as `record_review`."""
    staff.require(Permission.AUDIT_EXPORT)
    pieces, now = _account_rows(staff), clock.now()
    # Read before it is recorded: what cannot be read is not exported.
    first = next(pieces, ())
    _record(staff, Action.ACCOUNTS_EXPORTED, {"format": format_name, "scope": staff.scope_label})
    made = FORMATS[format_name](COLUMNS)
    bounds = ExportBounds(settings.AUDIT_EXPORT_LIMIT, PIECES, "accounts", "Others")
    return Export(send(made, chain((first,), pieces), bounds), made.media_type, file_name("accounts", made, now))


def _record(staff: Staff, action: Action, payload: dict[str, Any]) -> None:
    record(TrailEntry(staff_trail(staff.username), action, Actor.of(staff), payload=payload))


# --- The file ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReviewedAccount:
    """One row of the file; its fields are the columns. Times are ISO 8601 in UTC, "" if there is none.

    `recovery_codes_left` is "" for an account without a second factor here.
    """

    username: str
    name: str
    role: str
    scope: str
    state: str
    disabled: str
    signs_in_with: str
    second_factor: str
    recovery_codes_left: str
    last_sign_in: str
    created: str
    changed: str


COLUMNS = tuple(each.name for each in fields(ReviewedAccount))


def _account_rows(staff: Staff) -> Iterator[Sequence[ReviewedAccount]]:
    """Yield the rows of all accounts that this person may see, in pieces. Raises as `directory.accounts_in_scope`."""
    known = known_to(staff)
    for accounts in directory.accounts_in_scope(staff):
        left = directory.count_recovery_codes(accounts)
        yield [_row(each, left.get(each.username), known) for each in accounts]


def _row(account: StaffAccount, codes_left: int | None, known: KnownCompanies) -> ReviewedAccount:
    by_company = not has_password(account)
    scope = Scope.of(account.scope or [])
    return ReviewedAccount(
        username=account.username,
        name=account.display_name or account.username,
        role=account.role,
        scope="; ".join(scope_words(scope, known, limit=len(account.scope or []))),
        state=directory.state_of(account).value,
        disabled=iso_cell(clock.parse_instant(account.disabled_at)),
        signs_in_with="company sign-in" if by_company else "password",
        second_factor="on" if second_factor.is_on(account) else "elsewhere" if by_company else "off",
        recovery_codes_left="" if codes_left is None else str(codes_left),
        last_sign_in=iso_cell(clock.parse_instant(account.last_sign_in_at)),
        created=iso_cell(clock.parse_instant(account.created_at)),
        changed=iso_cell(clock.parse_instant(account.updated_at)),
    )
