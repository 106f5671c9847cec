"""What the tests of tenants share: people, what is stored afterwards, and death at any call."""

from collections.abc import Callable

from console.permissions import Role, Scope, Staff
from console.store.connection import client
from tenants.keys import Channel
from tests import faults
from tests.support.tenants.items import tenant, user

ADMIN = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
AUDITOR = Staff("aiko.mori", "Aiko", Role.AUDITOR, Scope(everything=True))
AGENT = Staff("amira.haddad", "Amira", Role.AGENT, Scope(everything=True))
BOT = Channel("teams", "azure-bot-app-id")
MOST_CALLS = 25


def onboarding(*ids: str) -> Staff:
    """Somebody who onboards these tenants."""
    return Staff(
        "olga.novak",
        "Olga",
        Role.ONBOARDING,
        Scope.of([f"company:{each}" if each.startswith("ci-") else f"tenant:{each}" for each in ids]),
    )


OLGA = onboarding("outlocks", "acme")


def put_tenants(store, *ids: str) -> None:
    """Tenants with one administrator each."""
    for tenant_id in ids or ("outlocks", "acme"):
        store.put_all("TENANTS", [tenant(tenant_id), user("admin", tenant_id)])


def rows(store, pk: str) -> dict[str, dict]:
    """The items of a partition of the tenants table by their sort keys."""
    return {each["sk"]: each for each in store.all("TENANTS") if each["pk"] == pk}


def of(store, tenant_id: str) -> dict[str, dict]:
    """A tenant's items by their sort keys."""
    return rows(store, f"TENANT#{tenant_id}")


def guard(store, channel: Channel = BOT) -> str:
    """Whom a channel's guard names; "" for nobody."""
    return rows(store, channel.key).get("OWNER", {}).get("tenant_id", "")


def mappers(store, channel: Channel = BOT) -> set[str]:
    """The tenants that map a channel."""
    return {each["pk"].removeprefix("TENANT#") for each in store.all("TENANTS") if each["sk"] == channel.key}


def trail(store, tenant_id: str = "outlocks") -> list[str]:
    """The actions in a tenant's trail, oldest first."""
    entries = [each for each in store.all("AUDIT") if each["conversation_id"] == f"TENANT#{tenant_id}"]
    return [each["action_type"] for each in sorted(entries, key=lambda each: each["ts_action_id"])]


class Killed(BaseException):
    """The process died here: nothing of the console catches it."""


def kill_at_each_call(
    store,
    set_up: Callable[[], None],
    act: Callable[[], object],
    check: Callable[[bool], None],
    most: int = MOST_CALLS,
) -> int:
    """Die before and after each call of an action, each time from a fresh store; `check` is told whether it finished.

    Returns how many calls the action makes.
    """

    def die() -> None:
        raise Killed

    for when in (faults.before, faults.after):
        for nth in range(1, most):
            store.empty()
            set_up()
            client()
            try:
                with when("", die, nth=nth):
                    act()
            except Killed:
                check(False)
                continue
            check(True)
            break
        else:
            raise AssertionError("it makes more calls than were tried")
    return nth - 1
