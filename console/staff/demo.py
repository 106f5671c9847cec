"""Accounts for the demo: one sign-in per role, and a colleague who holds conversations."""

from dataclasses import dataclass

from console.audit.recording import Actor
from console.staff import passwords, services
from console.staff.permissions import Role

DEMO = Actor("demo", "operator")
CUCUMBER, NORTHWIND, LUMEN = "ci-cuc-001", "ci-nwe-002", "ci-lum-003"


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
    Person("olga.novak", "Olga Novak", Role.ONBOARDING, (CUCUMBER, NORTHWIND, LUMEN), "Europe/Prague"),
    Person("aiko.mori", "Aiko Mori", Role.AUDITOR, ("*",), "Asia/Tokyo"),
    Person("ada.admin", "Ada Lindqvist", Role.ADMIN, ("*",), "UTC"),
)
COLLEAGUE = Person("tom.becker", "Tom Becker", Role.AGENT, (CUCUMBER, NORTHWIND, LUMEN), "Europe/Berlin")


def create_demo_staff() -> dict[str, dict[str, str]]:
    """Make the demo's accounts, with random passwords; `{role: {"username", "password"}}` of one per role."""
    made = {person.role.value: {"username": person.username, "password": _create(person)} for person in PEOPLE}
    _create(COLLEAGUE)
    return made


def _create(person: Person) -> str:
    password = passwords.generate()
    services.create(
        person.username,
        password,
        role=person.role,
        scope=person.scope,
        display_name=person.display_name,
        time_zone=person.time_zone,
        actor=DEMO,
    )
    return password
