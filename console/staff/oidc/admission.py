"""Finding or creating the account of a person from the identity provider, and updating it from the claims.

The provider's `sub` identifies a person; an item (`OIDC#<subject>`) maps it to the username and is written together
with the account. So a renamed person keeps their account, and a name alone opens none: an account with a password, or
of another subject, is never linked.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pynamodb.attributes import UnicodeAttribute
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, Invalid
from console.permissions import ALL, OPENID_CONNECT, Role, Scope, id_of
from console.staff import accounts, second_factor, services, sessions
from console.staff.models import StaffAccount
from console.staff.oidc import claims as claims_of
from console.staff.oidc.claims import Person
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.refusals import NotAdmitted
from console.store.models import ConsoleItem
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail

# The actor of changes that follow from the provider's claims.
PROVIDER = Actor("company sign-in", "service")
# Attempts in case of a concurrent change, such as a second window signing in.
ROUNDS = 3

NAME_TAKEN = (
    "Your company's sign-in worked, but an account with your username already exists here and is not tied to it. "
    "Ask an administrator."
)
NO_USERNAME = (
    "Your company's sign-in worked, but your name there cannot be a username here: usernames have 1 to 64 letters "
    "without accents, digits, dots, dashes or underscores. Ask an administrator."
)
NO_SECOND_FACTOR = (
    "Your company's sign-in worked, but without a second factor, which your role here needs. Set one up there, then "
    "sign in again. If you have one already, ask an administrator of the console."
)
LAST_ADMIN = (
    "Your company's sign-in worked, but it no longer makes you an administrator of all companies, and you are the last "
    "one here. You were not signed in. Make another administrator first (manage.py staff create), then sign in again."
)


class SubjectLink(ConsoleItem):
    """The account of a person of the provider. Written with the account and never changed."""

    sk = UnicodeAttribute(range_key=True, default="ACCOUNT")
    username = UnicodeAttribute()
    created_at = UnicodeAttribute()


def admit(subject: str, claims: Mapping[str, Any], configuration: Configuration) -> StaffAccount:
    """Return the person's account, updated from the claims. Raises `NotAdmitted`, in words.

    A person who has an account and is refused because of the claims is signed out everywhere.
    """
    for _round in range(ROUNDS - 1):
        try:
            return _admit(subject, claims, configuration)
        except Conflict:
            continue  # read everything again
    return _admit(subject, claims, configuration)


def _admit(subject: str, claims: Mapping[str, Any], configuration: Configuration) -> StaffAccount:
    account = _linked(subject)
    try:
        person = claims_of.person(claims, configuration)
        if account is None:
            account = _first_time(subject, person)
        account = _as_claimed(account, person)
        if second_factor.is_required(account.role) and not claims_of.has_second_factor(claims, configuration):
            raise NotAdmitted("no second factor", NO_SECOND_FACTOR)
        return account
    except NotAdmitted as refusal:
        if account is not None:
            refusal.username = account.username
            if not account.disabled:
                _sign_out_everywhere(account, refusal)
        raise


def find_linked(subject: str) -> StaffAccount | None:
    """Return the account linked to the person, or None if there is none, or it is no longer theirs."""
    try:
        return _linked(subject)
    except NotAdmitted:
        return None


def _linked(subject: str) -> StaffAccount | None:
    """Return the account linked to the person, or None. Raises `NotAdmitted` if the link does not fit the account."""
    link = SubjectLink.find(f"OIDC#{subject}", "ACCOUNT")
    if link is None:
        return None
    account = accounts.find(link.username)
    if account is None or account.oidc_subject != subject or account.signs_in_with != OPENID_CONNECT:
        raise NotAdmitted("the account is no longer this person's")
    return account


def _first_time(subject: str, person: Person) -> StaffAccount:
    """Link the account prepared for the person and return it, or create one if the claims give a role."""
    if not person.username:
        raise NotAdmitted("no name that can be a username", NO_USERNAME)
    account = accounts.find(person.username)
    if account is None:
        if person.role is None:
            raise NotAdmitted("no account")
        return _make(subject, person, person.role)
    if account.signs_in_with != OPENID_CONNECT or account.oidc_subject is not None:
        raise NotAdmitted("username of another account", NAME_TAKEN)
    if account.disabled:
        raise NotAdmitted("disabled account")
    # The change increments the epoch, so of two people with that name only one can win.
    return accounts.apply(
        account,
        [StaffAccount.oidc_subject.set(subject)],
        Action.STAFF_CHANGED,
        {"changed": "company sign-in", "to": "tied to one person"},
        PROVIDER,
        also=lambda writes: _link(writes, subject, account.username),
    )


def _make(subject: str, person: Person, role: Role) -> StaffAccount:
    scope = _resolve_scope_ids(person.scope or (), Scope())
    try:
        return services.create_for_company_sign_in(
            person.username,
            role=role,
            scope=scope,
            display_name=person.display_name,
            time_zone=person.time_zone,
            subject=subject,
            actor=PROVIDER,
            also=lambda writes: _link(writes, subject, person.username),
        )
    except Invalid as error:
        raise NotAdmitted("no account could be made", NO_USERNAME) from error


def _link(writes: TransactWrite, subject: str, username: str) -> None:
    link = SubjectLink(f"OIDC#{subject}", "ACCOUNT", username=username, created_at=clock.to_iso(clock.now()))
    writes.save(link, condition=SubjectLink.pk.does_not_exist())


def _as_claimed(account: StaffAccount, person: Person) -> StaffAccount:
    """Return the account with the claims' role and scope, if they decide them; a change ends its sessions."""
    if account.disabled:
        raise NotAdmitted("disabled account")
    scope = None if person.scope is None else _resolve_scope_ids(person.scope, Scope.of(account.scope or []))
    try:
        return services.change(account, role=person.role, scope=scope, actor=PROVIDER)
    except Invalid as error:
        raise NotAdmitted("last administrator of everything", LAST_ADMIN) from error


def _resolve_scope_ids(claimed: Iterable[str], stored: Scope) -> list[str]:
    """Return the claimed scope, in which an id without its kind means the entries of that id already stored.

    Such an id never grants anything new: raises `NotAdmitted` if no stored entry has it.
    """
    known = stored.stored()
    entries: list[str] = []
    for each in claimed:
        meant = [each] if each == ALL or id_of(each) != each else [entry for entry in known if id_of(entry) == each]
        if not meant:
            raise NotAdmitted("scope claim has an id without company: or tenant:", claims_of.BAD_SCOPE)
        entries += meant
    return entries


def _sign_out_everywhere(account: StaffAccount, refusal: NotAdmitted) -> None:
    payload = {"reason": refusal.reason}
    entry = TrailEntry(staff_trail(account.username), Action.SESSIONS_ENDED, PROVIDER, payload=payload)
    sessions.end_all(account.username, build(entry, clock.now()))
