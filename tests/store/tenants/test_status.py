"""A tenant becomes active behind its readiness list, and is suspended and reactivated with a reason."""

import json

import pytest

from console.errors import Conflict, Forbidden, Invalid
from tenants import channels, status
from tenants.queries import load_tenant
from tenants.readiness import readiness_of
from tenants.status import StatusStep
from tests.support.tenants.items import SETTINGS, mapping, tenant, user
from tests.support.tenants.kit import AUDITOR, BOT, OLGA, of, put_tenants, trail

TEAMS = json.dumps(SETTINGS | {"enabled_channels": ["dashboard", "teams"]})


def put_ready(store, **more) -> None:
    store.put_all("TENANTS", [tenant(status="onboarding", settings=TEAMS, **more), user("admin")])
    channels.claim("outlocks", BOT, OLGA)


def missing(store) -> list[str]:
    return [point.label for point in readiness_of(load_tenant("outlocks", OLGA), OLGA).points if not point.met]


def test_a_ready_tenant_becomes_active(store):
    put_ready(store)
    assert missing(store) == []
    status.change("outlocks", StatusStep.ACTIVATE, "", "onboarding", OLGA)
    assert of(store, "outlocks")["META"]["status"] == "active"
    assert trail(store)[-1] == "tenant.activated"


@pytest.mark.parametrize(
    ("stored", "users", "mappings", "points"),
    [
        (..., [user("admin")], [mapping()], ["Settings", "AI model", "Enabled channels"]),
        ("{broken", [user("admin")], [mapping()], ["Settings", "AI model", "Enabled channels"]),
        (json.dumps({"enabled_channels": ["teams"]}), [user("admin")], [mapping()], ["AI model"]),
        (TEAMS, [], [mapping()], ["Administrator"]),
        (TEAMS, [user("mara")], [mapping()], ["Administrator"]),
        (TEAMS, [user("admin", email=...)], [mapping()], ["Administrator"]),
        (TEAMS, [user("admin"), user("mara", channel_identities="{")], [mapping()], ["Administrator"]),
        (TEAMS, [user("admin")], [], ["Channels", "Enabled channels"]),
        (TEAMS, [user("admin")], [mapping(gsi1pk=...)], ["Channels"]),
        (json.dumps(SETTINGS), [user("admin")], [mapping()], ["Enabled channels"]),
        (TEAMS.replace("4096", '"many"'), [user("admin")], [mapping()], ["Settings"]),
    ],
)
def test_what_is_missing_keeps_it_from_being_active(store, stored, users, mappings, points):
    store.put_all("TENANTS", [tenant(status="onboarding", settings=stored), *users, *mappings])
    assert missing(store) == points
    with pytest.raises(Invalid, match="not ready"):
        status.change("outlocks", StatusStep.ACTIVATE, "", "onboarding", OLGA)
    assert of(store, "outlocks")["META"]["status"] == "onboarding"


def test_a_channel_that_another_tenant_maps_too_keeps_it_from_being_active(store):
    put_ready(store)
    store.put_all("TENANTS", [tenant("acme"), mapping(tenant_id="acme")])
    with pytest.raises(Invalid, match="The tenant acme has this channel"):
        status.change("outlocks", StatusStep.ACTIVATE, "", "onboarding", OLGA)


def test_suspended_and_reactivated_with_a_reason(store):
    put_tenants(store)
    with pytest.raises(Invalid, match="Say why"):
        status.change("outlocks", StatusStep.SUSPEND, "", "active", OLGA)
    status.change("outlocks", StatusStep.SUSPEND, "the contract ended", "active", OLGA)
    assert of(store, "outlocks")["META"]["status"] == "suspended"
    status.change("outlocks", StatusStep.REACTIVATE, "they signed again", "suspended", OLGA)
    assert of(store, "outlocks")["META"]["status"] == "active"
    assert trail(store) == ["tenant.suspended", "tenant.reactivated"]
    reasons = [json.loads(each["action_payload_redacted"])["reason"] for each in store.all("AUDIT")]
    assert sorted(reasons) == ["the contract ended", "they signed again"]


def test_a_status_that_somebody_else_changed_is_said(store):
    put_tenants(store)
    status.change("outlocks", StatusStep.SUSPEND, "first", "active", OLGA)
    with pytest.raises(Conflict, match="suspended now"):
        status.change("outlocks", StatusStep.SUSPEND, "second", "active", OLGA)
    assert trail(store) == ["tenant.suspended"]


@pytest.mark.parametrize("step", StatusStep)
def test_what_the_platform_deleted_stays_deleted(store, step):
    store.put_all("TENANTS", [tenant(status="deleted"), user()])
    before = store.all("TENANTS")
    assert status.steps_from("deleted") == ()
    with pytest.raises(Conflict, match="was deleted"):
        status.change("outlocks", step, "why", "deleted", OLGA)
    assert (store.all("TENANTS"), store.all("AUDIT")) == (before, [])
    assert load_tenant("outlocks", OLGA).flaws == ()


def test_a_step_that_does_not_follow_is_refused(store):
    put_tenants(store)
    with pytest.raises(Conflict):
        status.change("outlocks", StatusStep.REACTIVATE, "why", "active", OLGA)


def test_who_may_not_is_refused(store):
    put_tenants(store)
    with pytest.raises(Forbidden):
        status.change("outlocks", StatusStep.SUSPEND, "why", "active", AUDITOR)
