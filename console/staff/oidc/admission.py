"""Which account somebody of the identity provider gets, and that it is as the claims say.

Who somebody is, is the provider's `sub`; an item beside the account (`OIDC#<subject>`) leads from it to the username,
written together with the account. So a name that changes at the provider changes nothing here, and nobody gets an
account by bearing its name: an account with a password, or of another subject, is never tied to anybody.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pynamodb.attributes import UnicodeAttribute
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, Invalid, NotFound
from console.permissions import ALL, Role, Scope, id_of
from console.staff import accounts, second_factor, services, sessions
from console.staff.models import OPENID_CONNECT, StaffAccount
from console.staff.oidc import claims as claims_of
from console.staff.oidc.claims import Person
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.refusals import NotAdmitted
from console.store.models import StoreModel, TableMeta
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail

# Whose word it is when an account is made or changed by what the provider says of a person.
PROVIDER = Actor("company sign-in", "service")
# Rounds against somebody else's change at the same moment, such as a second window signing in.
ROUNDS = 3

NAME_TAKEN = (
    "Your company's sign-in worked, but an account with your username already exists here and is not tied to it. "
    "Ask an administrator."
)
NO_USERNAME = (
    "Your company's sign-in worked, but your name there cannot be a username here: those have 1 to 64 letters "
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


class SubjectLink(StoreModel):
    """Which account a person of the provider has. Written with the account and never changed."""

    class Meta(TableMeta):
        table_key = "CONSOLE"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True, default="ACCOUNT")
    username = UnicodeAttribute()
    created_at = UnicodeAttribute()


def admit(subject: str, claims: Mapping[str, Any], configuration: Configuration) -> StaffAccount:
    """The account that the person signs in to, as the claims say it is to be. Raises `NotAdmitted`, in words.

    Who has an account and is refused for what the claims say is signed out everywhere.
    """
    for _round in range(ROUNDS - 1):
        try:
            return _admit(subject, claims, configuration)
        except Conflict:
            continue  # look again at how things stand now
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


def _linked(subject: str) -> StaffAccount | None:
    """The account that the person has already, or None. Raises `NotAdmitted` where the link leads astray."""
    try:
        link = SubjectLink.get(f"OIDC#{subject}", "ACCOUNT", consistent_read=True)
    except NotFound:
        return None
    account = accounts.find(link.username)
    if account is None or account.oidc_subject != subject or account.signs_in_with != OPENID_CONNECT:
        raise NotAdmitted("the account is no longer this person's")
    return account


def _first_time(subject: str, person: Person) -> StaffAccount:
    """The account that was prepared for the person, tied to them now, or a new one where the claims give a role."""
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
    # The account changes its epoch, so that of two people who bear the name only one can win.
    return accounts.apply(
        account,
        [StaffAccount.oidc_subject.set(subject)],
        Action.STAFF_CHANGED,
        {"changed": "company sign-in", "to": "tied to one person"},
        PROVIDER,
        also=lambda writes: _link(writes, subject, account.username),
    )


def _make(subject: str, person: Person, role: Role) -> StaffAccount:
    scope = _as_meant(person.scope or (), Scope())
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
    """The account with role and scope of the claims, where they decide; a change ends its sessions."""
    if account.disabled:
        raise NotAdmitted("disabled account")
    scope = None if person.scope is None else _as_meant(person.scope, Scope.of(account.scope or []))
    try:
        return services.change(account, role=person.role, scope=scope, actor=PROVIDER)
    except Invalid as error:
        raise NotAdmitted("last administrator of everything", LAST_ADMIN) from error


def _as_meant(claimed: Iterable[str], stored: Scope) -> list[str]:
    """The claimed scope, where an id alone means what the account's scope says of that id already.

    An id that says not what it is of never opens anything new: raises `NotAdmitted`.
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
