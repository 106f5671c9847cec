"""The list of accounts that administrators and auditors see, and who may change which accounts.

An administrator of all companies manages every account. One with a limited scope sees and changes only accounts whose
scope is within theirs, and grants only what they have; accounts with an empty scope are for the former only.
Administrators cannot change their own role or scope here, or disable themselves: another one must.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from console import clock
from console.errors import Conflict, Invalid, NotFound, TableMissing
from console.permissions import COMPANY, TENANT, Role, Scope, Staff, has_password, id_of
from console.refs import seal_cursor, unseal_cursor
from console.search.meanings import called
from console.staff import accounts, known_companies, second_factor
from console.staff.models import RoleIndex, StaffAccount
from console.store.calls import parallel, run_alongside, table_name
from console.store.connection import batch_get, call
from console.store.presence import index_ready

PAGE_SIZE = 50
# A page with filters reads this many accounts of each role in a round, for this many rounds.
FILTERED_LIMIT, ROUNDS = 200, 4
UNUSED_AFTER = timedelta(days=90)
# How many people of the same name an error lists.
NAMED = 10
# Sort before and after every character of a username: the bounds of ranges.
BEFORE_ALL, AFTER_ALL = "!", "~"


class AccountState(StrEnum):
    """The state of an account."""

    ENABLED = "enabled"
    NEVER = "never signed in"
    DISABLED = "disabled"


class AccountAction(StrEnum):
    """An action on an account that asks for confirmation."""

    DISABLE = "disable"
    ENABLE = "enable"
    PASSWORD = "password"  # the name of a page  # noqa: S105  # nosec B105
    SECOND_FACTOR = "second factor"
    END_SESSIONS = "end sessions"


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One account of the list.

    `companies` are (id, name) of the first companies and tenants of its scope ("" for an unknown name), `more` the
    number of others. `unconfirmed`: the scope has old entries that may mean either. `recovery_codes_left` is None if
    it was not asked for.
    """

    username: str
    name: str
    role: str
    scope_label: str
    companies: tuple[tuple[str, str], ...]
    more: int
    unconfirmed: bool
    state: AccountState
    disabled_at: datetime | None
    second_factor: bool
    company_sign_in: bool
    last_sign_in_at: datetime | None
    recovery_codes_left: int | None = None

    @property
    def lacks_second_factor(self) -> bool:
        """Whether the account has no second factor here, though its role needs one; an administrator's always does."""
        is_needed = self.role == Role.ADMIN or second_factor.is_required(self.role)
        return is_needed and not (self.second_factor or self.company_sign_in)

    @property
    def is_unused(self) -> bool:
        """Whether nobody has signed in to it for `UNUSED_AFTER`."""
        seen = self.last_sign_in_at
        return seen is not None and clock.now() - seen > UNUSED_AFTER


@dataclass(frozen=True, slots=True)
class AccountFilters:
    """Filters of the list; empty ones match everything. `prefix` is the beginning of the username."""

    prefix: str = ""
    role: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class DirectoryPage:
    """Accounts by username. `next` is a sealed cursor ("" at the end); `thin`: the page ended before it was full.

    `names_missing`: the names of companies could not be read, and ids stand in for them.
    """

    rows: tuple[AccountRow, ...] = ()
    next: str = ""
    thin: bool = False
    index_missing: bool = False
    names_missing: bool = False


def within(scope: Scope, staff: Staff) -> bool:
    """Return whether this administrator may see and change an account with that scope."""
    if staff.scope.everything:
        return True
    return not scope.is_empty and not scope.beyond(staff.scope)


def _may_see(account: StaffAccount, staff: Staff) -> bool:
    """Return whether this administrator may see an account: their own, or one within their scope."""
    return account.username == staff.username or within(Scope.of(account.scope or []), staff)


def load(username: str, staff: Staff) -> StaffAccount:
    """Read the account named in a page's URL, strongly consistent.

    Raises `NotFound`, both for an absent account and for one that this administrator may not see.
    """
    account = accounts.find(username)
    if account is None or account.username != username or not _may_see(account, staff):
        raise NotFound
    return account


def check_seen(account: StaffAccount, seen: str) -> None:
    """Raise `Conflict` if the account changed since the form was rendered: `seen` is its `updated_at` then."""
    if seen != account.updated_at:
        raise Conflict(accounts.CHANGED_MEANWHILE)


def check_grant(scope: Scope, staff: Staff) -> None:
    """Raise `Invalid` unless this administrator may grant that scope."""
    if staff.scope.everything:
        return
    if scope.everything:
        raise Invalid("You cannot give all companies, because your own scope is limited.")
    if beyond := scope.beyond(staff.scope):
        raise Invalid(f"You can only give what is in your own scope, not: {known_companies.listed(beyond)}.")
    if scope.is_empty:
        raise Invalid(
            "Give at least one of your companies. Only administrators of all companies can leave the scope empty."
        )


def reason_against(action: AccountAction, account: StaffAccount, staff: Staff) -> str:
    """Return, in words, why this administrator cannot perform the action on the account; "" if they can."""
    if account.username == staff.username:
        if action in (AccountAction.DISABLE, AccountAction.ENABLE):
            return "This is your own account. Only another administrator can disable it."
        return "This is your own account. Change your password, second factor and sessions on your account page."
    if action is AccountAction.PASSWORD and not has_password(account):
        return "This account uses company sign-in and has no password here."
    if action is AccountAction.PASSWORD and account.disabled:
        return "This account is disabled. Enable it first."
    if action is AccountAction.ENABLE and not account.disabled:
        return "This account is enabled."
    if action is AccountAction.SECOND_FACTOR and not second_factor.is_on(account):
        return "This account has no second factor."
    return ""


def check_action(action: AccountAction, account: StaffAccount, staff: Staff) -> None:
    """Raise `Invalid` with the reason against the action, if there is one."""
    if reason := reason_against(action, account, staff):
        raise Invalid(reason)


def state_of(account: StaffAccount) -> AccountState:
    """Return the state of an account."""
    if account.disabled:
        return AccountState.DISABLED
    return AccountState.ENABLED if account.last_sign_in_at else AccountState.NEVER


def read_page(
    staff: Staff, filters: AccountFilters, cursor: str = "", *, with_recovery_codes: bool = False
) -> DirectoryPage:
    """Return a page of 50 accounts by username.

    One Query of the role index for each role, in parallel; up to four times that if filters or the person's own scope
    leave accounts out. In addition, names of companies and tenants are read, and recovery codes counted if wanted: a
    BatchGetItem. A foreign or stale cursor gives the first page. Raises the store's errors.
    """
    if staff.scope.is_empty:
        return DirectoryPage()
    if not index_ready("STAFF", RoleIndex.Meta.index_name):
        return DirectoryPage(index_missing=True)
    binding = ("staff", filters.prefix, filters.role, filters.state, staff.username)
    start = unseal_cursor(cursor, *binding) if cursor else None
    after: str | None = start if isinstance(start, str) else ""
    roles = [filters.role] if filters.role else [role.value for role in Role]
    everyone = staff.scope.everything and not filters.state
    limit = PAGE_SIZE + 1 if everyone else FILTERED_LIMIT
    found: list[StaffAccount] = []
    for _ in range(ROUNDS):
        accounts_read, after = _read(roles, filters.prefix, after or "", limit)
        found += [each for each in accounts_read if filters.state in ("", state_of(each)) and _may_see(each, staff)]
        if after is None or len(found) > PAGE_SIZE:
            break
    if len(found) > PAGE_SIZE:
        found, after = found[:PAGE_SIZE], found[PAGE_SIZE - 1].username
    limited = any(account.scope and not Scope.of(account.scope).everything for account in found)
    with run_alongside(count_recovery_codes, found if with_recovery_codes else ()) as counting:
        known = known_companies.known_to(staff) if limited else known_companies.KnownCompanies()
    left = counting.result()
    rows = tuple(_row(account, known.names, left.get(account.username)) for account in found)
    is_thin = bool(after) and len(rows) < PAGE_SIZE
    return DirectoryPage(rows, seal_cursor(after, *binding) if after else "", is_thin, names_missing=known.failed)


def accounts_in_scope(staff: Staff) -> Iterator[list[StaffAccount]]:
    """Yield all accounts that this person may see, by username, in pieces as the role index has them.

    One Query for each role and piece. Raises `TableMissing` without the index, and the store's errors, also between
    pieces.
    """
    if not index_ready("STAFF", RoleIndex.Meta.index_name):
        raise TableMissing("STAFF")
    after: str | None = "" if not staff.scope.is_empty else None
    while after is not None:
        found, after = _read([role.value for role in Role], "", after, FILTERED_LIMIT)
        yield [each for each in found if _may_see(each, staff)]


def count_recovery_codes(found: Sequence[StaffAccount]) -> dict[str, int]:
    """Return how many unused recovery codes each account has, by username: the index does not have them.

    One BatchGetItem for each 100 accounts with a second factor. Raises the store's errors.
    """
    keys = [{"username": each.username} for each in found if second_factor.is_on(each)]
    stored = map(StaffAccount.from_raw_data, batch_get("STAFF", keys, ("username", "recovery_codes")))
    return {each.username: second_factor.codes_left(each) for each in stored}


def username_of(name: str) -> str:
    """Return the username of the person with that name, in full or by the beginnings of its words.

    One Query of the role index for each role, of `FILTERED_LIMIT` accounts. Raises `Invalid`, in words, if the name
    matches no one or several people, and the store's errors.
    """
    guess = accounts.normal_username(name.replace(" ", "."))
    if not index_ready("STAFF", RoleIndex.Meta.index_name):
        if not guess:
            raise Invalid("Names cannot be looked up in this environment. Enter a username.")
        return guess
    everybody, _ = _read([role.value for role in Role], "", "", FILTERED_LIMIT)
    shown = {each.username: each.display_name or each.username for each in everybody}
    found = called(name, shown)
    if len(found) > 1:
        which = ", ".join(f"{shown[each]} ({each})" for each in found[:NAMED])
        raise Invalid(f"Several have that name: {which}. Enter a username.")
    if found or accounts.find(guess):
        return found[0] if found else guess
    raise Invalid("No member of staff has that name. Enter a username or a name.")


def _read(roles: Iterable[str], prefix: str, after: str, limit: int) -> tuple[list[StaffAccount], str | None]:
    """Return the next accounts by username, and the username to continue after (None at the end)."""
    low, high = (after + BEFORE_ALL if after else prefix or BEFORE_ALL), prefix + AFTER_ALL
    answers = parallel(*(partial(_query, role, low, high, limit) for role in roles))
    # A role's Query that stopped at its limit says nothing about later usernames, so stop at the first such end.
    ends = [found[-1].username for found, stopped in answers if stopped and found]
    end = min(ends, default=None)
    by_name: dict[str, StaffAccount] = {}
    for account in (each for found, _ in answers for each in found):
        known = by_name.get(account.username)
        # The index lags: for a moment, an account may also be listed under its old role.
        if (end is None or account.username <= end) and (known is None or known.updated_at < account.updated_at):
            by_name[account.username] = account
    return [by_name[name] for name in sorted(by_name)], end


def _query(role: str, low: str, high: str, limit: int) -> tuple[list[StaffAccount], bool]:
    answer = call(
        "Query",
        TableName=table_name("STAFF"),
        IndexName=RoleIndex.Meta.index_name,
        KeyConditionExpression="#role = :role AND #name BETWEEN :low AND :high",
        ExpressionAttributeNames={"#role": "role", "#name": "username"},
        ExpressionAttributeValues={":role": {"S": role}, ":low": {"S": low}, ":high": {"S": high}},
        Limit=limit,
        ReturnConsumedCapacity="TOTAL",
    )
    found = [StaffAccount.from_raw_data(raw) for raw in answer.get("Items", [])]
    return found, "LastEvaluatedKey" in answer


IDS_SHOWN = 3


def _named(entry: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Return an entry's id and the name of its company or tenant ("" if unknown)."""
    owner_id = id_of(entry)
    found = (names.get(each, "") for each in (entry, COMPANY + owner_id, TENANT + owner_id))
    return owner_id, next((name for name in found if name not in ("", owner_id)), "")


def _row(account: StaffAccount, names: Mapping[str, str], recovery_codes_left: int | None) -> AccountRow:
    scope = Scope.of(account.scope or [])
    entries = [] if scope.everything else scope.stored()
    return AccountRow(
        username=account.username,
        name=account.display_name or account.username,
        role=account.role,
        scope_label=scope.label,
        companies=tuple(_named(each, names) for each in entries[:IDS_SHOWN]),
        more=max(0, len(entries) - IDS_SHOWN),
        unconfirmed=bool(scope.unconfirmed) and not scope.everything,
        state=state_of(account),
        disabled_at=clock.parse_instant(account.disabled_at),
        second_factor=second_factor.is_on(account),
        company_sign_in=not has_password(account),
        last_sign_in_at=clock.parse_instant(account.last_sign_in_at),
        recovery_codes_left=recovery_codes_left,
    )
