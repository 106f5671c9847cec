"""Accounts for the demo: one sign-in per role, a colleague who holds conversations, and others as a staff has them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from console import clock
from console.audit.actions import Action, staff_trail
from console.audit.recording import Actor, Entry, record
from console.staff import passwords, services
from console.staff.models import StaffAccount
from console.staff.permissions import Role

DEMO = Actor("demo", "operator")
CUCUMBER, NORTHWIND, LUMEN = "company:ci-cuc-001", "company:ci-nwe-002", "company:ci-lum-003"
# Tenants that the onboarding person looks after: all of the demo's but one.
TENANTS = (
    "tenant:outlocks",
    "tenant:lumen-dental",
    "tenant:northwind-energy",
    "tenant:kestrel-freight",
    "tenant:bluebird-books",
    "tenant:cucumber-recruitment",
)


@dataclass(frozen=True, slots=True)
class Person:
    """One made-up member of staff."""

    username: str
    display_name: str
    role: Role
    scope: tuple[str, ...]
    time_zone: str


# One per role, whose sign-in the demo prints.
PEOPLE = (
    Person("amira.haddad", "Amira Haddad", Role.AGENT, (CUCUMBER, NORTHWIND), "Europe/London"),
    Person("olga.novak", "Olga Novak", Role.ONBOARDING, (CUCUMBER, NORTHWIND, LUMEN, *TENANTS), "Europe/Prague"),
    Person("aiko.mori", "Aiko Mori", Role.AUDITOR, ("*",), "Asia/Tokyo"),
    Person("ada.admin", "Ada Lindqvist", Role.ADMIN, ("*",), "UTC"),
)
COLLEAGUE = Person("tom.becker", "Tom Becker", Role.AGENT, (CUCUMBER, NORTHWIND, LUMEN), "Europe/Berlin")


# Nobody signs in as these: they make the list of staff what it is in a company.
LOCAL_ADMIN = Person("nadia.okafor", "Nadia Okafor", Role.ADMIN, (CUCUMBER, NORTHWIND), "Africa/Lagos")
INVITED = Person("priya.raman", "Priya Raman", Role.AGENT, (LUMEN,), "Asia/Kolkata")
WITH_COMPANY_SIGN_IN = Person("jonas.weber", "Jonas Weber", Role.AUDITOR, (NORTHWIND,), "Europe/Berlin")
LEFT = Person("marco.ricci", "Marco Ricci", Role.AGENT, (CUCUMBER,), "Europe/Rome")
OTHERS = (COLLEAGUE, LOCAL_ADMIN, LEFT)
# How many hours ago they last signed in.
SEEN = {
    PEOPLE[0]: 0.4,
    PEOPLE[1]: 4.3,
    PEOPLE[2]: 72.0,
    PEOPLE[3]: 26.4,
    COLLEAGUE: 1.2,
    LOCAL_ADMIN: 27.0,
    LEFT: 24.0 * 41,
}
# Longer than anything that a trail tells of them.
EMPLOYED = timedelta(days=196)
AMIRA, ADA, NADIA = PEOPLE[0], PEOPLE[3], LOCAL_ADMIN
FIREFOX, SAFARI = "Firefox on Linux", "Safari on iPhone"
# What the trail tells of the last days: how many hours ago, who did what to whose account, and its payload. A change of
# role or scope lies before the first thing that the person did with it.
PAST: tuple[tuple[float, Person, Action, Person, dict[str, Any]], ...] = (
    (0.4, PEOPLE[0], Action.SIGN_IN, PEOPLE[0], {"browser": FIREFOX, "with": "password"}),
    (1.2, COLLEAGUE, Action.SIGN_IN, COLLEAGUE, {"browser": FIREFOX, "with": "password"}),
    (3.1, PEOPLE[1], Action.ACCESS_DENIED, PEOPLE[1], {"route": "conversations/<str:ref>/", "method": "GET"}),
    (4.3, PEOPLE[1], Action.SIGN_IN, PEOPLE[1], {"browser": SAFARI, "with": "password"}),
    (
        26.2,
        NADIA,
        Action.STAFF_CHANGED,
        AMIRA,
        {"changed": "time_zone", "from": {"time_zone": "UTC"}, "to": {"time_zone": "Europe/London"}},
    ),
    (26.4, ADA, Action.SIGN_IN, ADA, {"browser": FIREFOX, "with": "password and code"}),
    (27.0, NADIA, Action.SIGN_IN, NADIA, {"browser": FIREFOX, "with": "password and code"}),
    (49.5, COLLEAGUE, Action.SESSION_ENDED, COLLEAGUE, {"browser": SAFARI}),
    (72.0, PEOPLE[2], Action.SIGN_IN, PEOPLE[2], {"browser": FIREFOX, "with": "password"}),
    (121.3, ADA, Action.PASSWORD_LINK, LEFT, {}),
    (121.6, ADA, Action.SIGN_IN, ADA, {"browser": FIREFOX, "with": "password and code"}),
    (166.0, NADIA, Action.SECOND_FACTOR_ADDED, NADIA, {}),
    (
        337.6,
        ADA,
        Action.STAFF_CHANGED,
        COLLEAGUE,
        {
            "changed": "role, scope",
            "from": {"role": "onboarding", "scope": [CUCUMBER, NORTHWIND]},
            "to": {"role": "agent", "scope": [CUCUMBER, LUMEN, NORTHWIND]},
        },
    ),
    (338.0, ADA, Action.SIGN_IN, ADA, {"browser": FIREFOX, "with": "password and code"}),
)


def create_demo_staff() -> dict[str, dict[str, str]]:
    """Make the demo's accounts, with random passwords; `{role: {"username", "password"}}` of one per role."""
    made = {person.role.value: {"username": person.username, "password": _create(person)} for person in PEOPLE}
    for person in OTHERS:
        _create(person)
    for person, hours in SEEN.items():
        _note_past(person, timedelta(hours=hours))
    services.invite(**_described(INVITED))
    services.create_for_company_sign_in(**_described(WITH_COMPANY_SIGN_IN))
    services.disable(LEFT.username, actor=DEMO)
    for hours, person, action, about, payload in PAST:
        actor = Actor(person.username, person.role.value)
        entry = Entry(staff_trail(about.username), action, actor, payload=payload)
        record(entry, clock.now() - timedelta(hours=hours))
    return made


def _create(person: Person) -> str:
    password = passwords.generate()
    services.create(password=password, **_described(person))
    return password


def _described(person: Person) -> Any:
    return {
        "username": person.username,
        "role": person.role,
        "scope": person.scope,
        "display_name": person.display_name,
        "time_zone": person.time_zone,
        "actor": DEMO,
    }


def _note_past(person: Person, since_sign_in: timedelta) -> None:
    now = clock.now()
    StaffAccount(person.username).update(
        actions=[
            StaffAccount.created_at.set(clock.to_iso(now - EMPLOYED)),
            StaffAccount.last_sign_in_at.set(clock.to_iso(now - since_sign_in)),
        ],
        condition=StaffAccount.username.exists(),
    )
