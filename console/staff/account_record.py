"""One account for its pages: in words, without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.permissions import Scope, Staff, has_password, id_of
from console.staff import second_factor
from console.staff.directory import AccountAction, AccountState, reason_against, state_of
from console.staff.known_companies import KnownCompanies
from console.staff.models import StaffAccount

IDS_LISTED = 40


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account. `seen` goes into forms about it, to detect changes since they were rendered.

    `scope` lists its companies and tenants in words; `unconfirmed`: old entries may mean either. `link_expires_at` is
    of the last unused link to set a password; `link_is_open`: it still works. `tied`: the account is linked to a person
    of the company's own sign-in. `against` maps each action's name, with underscores, to why it is not possible ("" if
    it is).
    """

    username: str
    name: str
    role: str
    scope: tuple[str, ...]
    scope_label: str
    unconfirmed: bool
    time_zone: str
    state: AccountState
    disabled_at: datetime | None
    company_sign_in: bool
    tied: bool
    second_factor: bool
    second_factor_at: datetime | None
    link_expires_at: datetime | None
    link_is_open: bool
    last_sign_in_at: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    is_own: bool
    seen: str
    against: Mapping[str, str]


def record_of(account: StaffAccount, staff: Staff, known: KnownCompanies | None = None) -> AccountRecord:
    """Build the record of an account for this administrator's page; `known` names the companies of its scope."""
    scope, at = Scope.of(account.scope or []), clock.parse_instant
    link_expires_at = at(account.password_link_expires_at) if account.password_link_hash else None
    return AccountRecord(
        username=account.username,
        name=account.display_name or account.username,
        role=account.role,
        scope=tuple(scope_words(scope, known or KnownCompanies())),
        scope_label=scope.label,
        unconfirmed=bool(scope.unconfirmed) and not scope.everything,
        time_zone=account.time_zone or "UTC",
        state=state_of(account),
        disabled_at=at(account.disabled_at),
        company_sign_in=not has_password(account),
        tied=bool(account.oidc_subject),
        second_factor=second_factor.is_on(account),
        second_factor_at=at(account.second_factor_at),
        link_expires_at=link_expires_at,
        link_is_open=link_expires_at is not None and clock.now() < link_expires_at and not account.disabled,
        last_sign_in_at=at(account.last_sign_in_at),
        created_at=at(account.created_at),
        updated_at=at(account.updated_at),
        is_own=account.username == staff.username,
        seen=account.updated_at,
        against={action.value.replace(" ", "_"): reason_against(action, account, staff) for action in AccountAction},
    )


def scope_words(scope: Scope, known: KnownCompanies, limit: int = IDS_LISTED) -> list[str]:
    """List a scope in words: names with ids; unknown ids are marked if the names could be read."""
    if scope.everything or scope.is_empty:
        return [scope.label]
    entries = sorted(scope.stored(), key=lambda each: (known.names.get(each, id_of(each)).casefold(), each))
    words = [_entry_words(each, known) for each in entries[:limit]]
    return words + ([f"and {len(entries) - limit} more"] if len(entries) > limit else [])


def _entry_words(entry: str, known: KnownCompanies) -> str:
    owner_id = id_of(entry)
    if entry == owner_id:
        return f"{owner_id}, read as both a company and a tenant until an administrator confirms which"
    kind, name = entry.removesuffix(f":{owner_id}"), known.names.get(entry)
    if name is None:
        return f"{kind} {owner_id}, not known here" if known.names and not known.failed else f"{kind} {owner_id}"
    return f"{kind} {owner_id}" if name == owner_id else f"{kind} {name} ({owner_id})"


@dataclass(frozen=True, slots=True)
class AccountDifference:
    """One field whose value in the form differs from the stored one."""

    label: str
    stored: str
    typed: str


def differences(record: AccountRecord, typed: Mapping[str, str]) -> tuple[AccountDifference, ...]:
    """Return the fields whose typed value differs from the stored one; `typed` maps labels to words."""
    stored = {
        "Name": record.name,
        "Role": record.role,
        "Scope": ", ".join(record.scope),
        "Time zone": record.time_zone,
    }
    return tuple(
        AccountDifference(label, stored[label], words) for label, words in typed.items() if words != stored[label]
    )
