"""Accounts of the demo (`staff.toml`): one sign-in for each role, and others, as in a real company."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from console import clock
from console.permissions import Role
from console.staff import passwords, services
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, record, staff_trail
from demo import read_toml

DEMO = Actor("demo", "operator")
# The same for everybody. It is too weak for the password rules, which are not applied here.
PASSWORD = "demo-pass"  # noqa: S105  # nosec B105
# Earlier than every entry in their trails.
EMPLOYED = timedelta(days=196)

_STAFF = read_toml("staff")
PEOPLE: list[dict[str, Any]] = _STAFF["person"]
PAST: list[dict[str, Any]] = _STAFF["past"]
ROLES: dict[str, str] = {person["username"]: person["role"] for person in PEOPLE}
# The accounts whose sign-in is printed: the first of each role, and a second agent.
SIGN_INS: dict[str, str] = {person["role"]: person["username"] for person in reversed(PEOPLE)} | {"colleague": "tom"}
_MAKE: dict[str, Callable[..., Any]] = {
    "invited": services.invite,
    "company sign-in": services.create_for_company_sign_in,
}


def create_staff(password: str = PASSWORD, *, agent_scope: Sequence[str] = ()) -> None:
    """Create the accounts, all with one password, and their trails. Raises the store's errors.

    `agent_scope` replaces the scope of the agent whose sign-in is printed.
    """
    hashed = passwords.hash_password(password)
    now = clock.now()
    for person in PEOPLE:
        is_shown_agent = person["username"] == SIGN_INS[Role.AGENT.value]
        _create(person | {"scope": agent_scope} if agent_scope and is_shown_agent else person, hashed)
    for past in PAST:
        about, who = past.get("about", past["who"]), past["who"]
        entry = TrailEntry(staff_trail(about), Action(past["action"]), Actor(who, ROLES[who]), payload=past["payload"])
        record(entry, now - timedelta(hours=past["hours"]))


def _create(person: dict[str, Any], hashed: str) -> None:
    described = {
        "role": Role(person["role"]),
        "scope": person["scope"],
        "display_name": person["name"],
        "time_zone": person["time_zone"],
        "actor": DEMO,
    }
    if make := _MAKE.get(person.get("kind", "")):
        make(person["username"], **described)
        return
    now = clock.now()
    services.invite(person["username"], **described)
    StaffAccount(person["username"]).update(
        actions=[
            StaffAccount.password_hash.set(hashed),
            StaffAccount.password_link_hash.remove(),
            StaffAccount.password_link_expires_at.remove(),
            StaffAccount.created_at.set(clock.to_iso(now - EMPLOYED)),
            StaffAccount.last_sign_in_at.set(clock.to_iso(now - timedelta(hours=person["seen"]))),
        ],
        condition=StaffAccount.username.exists(),
    )
    if person.get("kind") == "left":
        services.disable(person["username"], actor=DEMO)


def sign_ins() -> dict[str, dict[str, str]]:
    """Return the sign-in for each role, and of a second agent: `{role or "colleague": {"username", "password"}}`."""
    return {each: {"username": SIGN_INS[each], "password": PASSWORD} for each in (*map(str, Role), "colleague")}
