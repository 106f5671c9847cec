"""Members of staff for tests, signed in without a password."""

from collections.abc import Iterable

from django.conf import settings
from django.test import Client

from console import clock
from console.permissions import ALL, Staff
from console.staff import sessions
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trail.recording import Actor, TrailEntry, build, staff_trail
from tests.dynamodb import Store

COMPANY = "ci-aaa-001"
OTHER_COMPANY = "ci-bbb-002"


def member(
    username: str = "amira.haddad", role: str = "agent", scope: Iterable[str] = (COMPANY,), time_zone: str = "UTC"
) -> StaffAccount:
    """An account in the store. It has no usable password: sign in with `signed_in`."""
    moment = clock.to_iso(clock.now())
    account = StaffAccount(
        username=username,
        password_hash="!",
        display_name=username.replace(".", " ").title(),
        role=role,
        scope=list(scope),
        time_zone=time_zone,
        created_at=moment,
        updated_at=moment,
    )
    account.save()
    return account


def admin(username: str = "ada.admin") -> StaffAccount:
    """An admin of everything."""
    return member(username, "admin", [ALL])


def auditor(username: str = "aiko.mori", scope: Iterable[str] = (ALL,)) -> StaffAccount:
    """An auditor."""
    return member(username, "auditor", scope)


def sign_in_entry(account: StaffAccount) -> AuditEntry:
    """The entry with which a session of that person begins."""
    return build(TrailEntry(staff_trail(account.username), Action.SIGN_IN, Actor.of(Staff.of(account))), clock.now())


def signed_in(account: StaffAccount) -> Client:
    """A browser in which that person is signed in."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = sessions.start(account, sign_in_entry(account))
    return client


def signed_in_before(store: Store, account: StaffAccount) -> Client:
    """A browser in which that person has long been signed in: the trail no longer has it."""
    client = signed_in(account)
    keys = ("conversation_id", "ts_action_id")
    entries = (each for each in store.all("AUDIT") if each["action_type"] == Action.SIGN_IN)
    store.delete_all("AUDIT", [{name: each[name] for name in keys} for each in entries])
    return client


def as_staff(account: StaffAccount) -> Staff:
    """The person as services see them."""
    return Staff.of(account, "test-session")
