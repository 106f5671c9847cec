"""What the console writes is what the tenant platform reads, whichever way it was written."""

import json

import pytest

from console import clock
from demo import tenants as demo
from tenants import onboarding, settings, users
from tenants.keys import Channel
from tenants.onboarding import Draft
from tenants.users import UserValues
from tests.people import member
from tests.store.tenants.test_users import changed, seen
from tests.support.tenants import platform
from tests.support.tenants.items import SETTINGS, signed_in_user, tenant, user
from tests.support.tenants.kit import ADMIN, OLGA, of, put_tenants
from tests.support.tenants.stored import run

BOT = Channel("whatsapp", "3fa94c21d0e8b7a6")
NUMBER = "447700900831"
MARA = UserValues("mara", "mara@outlocks.example", "", "member", (("whatsapp", NUMBER),))


def test_an_onboarded_tenant_and_its_users_are_read(store):
    member("ada.admin", "admin", ["*"])
    robin = UserValues("robin", "robin@outlocks.example", "Robin Keller", "admin", (("whatsapp", NUMBER),))
    onboarding.begin("outlocks", "Outlocks", "token", ADMIN)
    onboarding.save_draft("outlocks", Draft(robin, (BOT,), (), version=1, token="token"), ADMIN)
    onboarding.finish("outlocks", onboarding.load_draft("outlocks", ADMIN), ADMIN)
    assert platform.get_tenant(store, "outlocks").ai_provider == "bedrock"
    assert platform.list_users(store, "outlocks") == {"robin": {"whatsapp": [NUMBER]}}
    assert platform.is_let_in(store, "outlocks", NUMBER)
    assert platform.tenants_of_channel(store, BOT.type, BOT.id) == ["outlocks"]
    assert platform.channels_of(store, "outlocks") == [("whatsapp", BOT.id)]


def test_an_added_and_a_changed_user_are_read(store):
    put_tenants(store)
    users.add("outlocks", MARA, OLGA)
    assert platform.list_users(store, "outlocks")["mara"] == {"whatsapp": [NUMBER]}
    users.change("outlocks", changed("mara", name="Mara", identities=()), seen("mara"), OLGA)
    assert platform.list_users(store, "outlocks")["mara"] == {}


@pytest.mark.parametrize(
    "lacking",
    [
        {"tenant_id": ...},
        {"tenant_id": "acme"},
        {"tenant_id": None},
        {"user_id": ..., "tenant_id": ..., "display_name": ...},
        {"channel_identities": {"whatsapp": NUMBER}},
        {"channel_identities": "{'whatsapp': 1}"},
        {"channel_identities": ""},
    ],
    ids=str,
)
def test_saving_a_user_gives_it_what_the_platform_needs(store, lacking):
    store.put_all("TENANTS", [tenant(), {name: v for name, v in (signed_in_user() | lacking).items() if v is not ...}])
    with pytest.raises((KeyError, ValueError, TypeError, AssertionError)):
        platform.list_users(store, "outlocks")
    before = of(store, "outlocks")["USER#admin"]
    name = before.get("display_name", "")
    values = UserValues("admin", "admin@outlocks.example", name, "admin", (("whatsapp", NUMBER),))
    assert users.change("outlocks", values, seen(), OLGA)
    assert platform.list_users(store, "outlocks") == {"admin": {"whatsapp": [NUMBER]}}
    mended = dict.fromkeys(("user_id", "tenant_id", "display_name", "channel_identities"))
    assert of(store, "outlocks")["USER#admin"] | mended == before | mended


def test_a_save_keeps_all_that_the_platform_has_of_a_user(store):
    store.put_all("TENANTS", [tenant(), signed_in_user()])
    before = of(store, "outlocks")["USER#admin"]
    users.change("outlocks", changed(name="Robin Keller"), seen(), OLGA)
    assert of(store, "outlocks")["USER#admin"] == before | {"display_name": "Robin Keller"}


def test_several_ids_on_one_channel_are_a_list(store):
    store.put_all("TENANTS", [tenant(), user(channel_identities=json.dumps({"slack": ["U1", "U2"], "teams": "aad"}))])
    rows = (("slack", "U1"), ("slack", "U2"), ("teams", "aad"))
    assert not users.change("outlocks", changed(identities=rows), seen(), OLGA)
    users.change("outlocks", changed(identities=(("slack", "U2"), ("teams", "aad"), ("teams", "b"))), seen(), OLGA)
    stored = json.loads(of(store, "outlocks")["USER#admin"]["channel_identities"])
    assert stored == {"slack": ["U2"], "teams": ["aad", "b"]}
    two = UserValues("two", "two@outlocks.example", "", "member", (("slack", "U1"), ("slack", "U3")))
    users.add("outlocks", two, OLGA)
    assert platform.list_users(store, "outlocks")["two"] == {"slack": ["U1", "U3"]}


def test_the_demo_is_read(store):
    items = [item for key, item in demo.items(clock.now()) if key == "TENANTS"]
    store.put_all("TENANTS", items)
    tenants = {item["tenant_id"] for item in items if item["pk"] == f"TENANT#{item.get('tenant_id')}"}
    assert len(tenants) > 5
    for tenant_id in tenants:
        assert platform.list_users(store, tenant_id) or tenant_id in ("bluebird-books", "harbour-cafe")
    # One was broken by hand.
    for tenant_id in tenants - {"pickle-and-sons"}:
        assert platform.get_tenant(store, tenant_id)


def test_saved_settings_are_read(store):
    put_tenants(store)
    stored = settings.load("outlocks", OLGA)
    more = {"whatsapp_restrict_to_users": False, "channel_routing_overrides": {f"whatsapp:{NUMBER}": "sales"}}
    settings.save("outlocks", "Renamed", dict(stored.settings.known) | more, stored.settings.others, stored.seen, OLGA)
    read = platform.get_tenant(store, "outlocks")
    assert read.channel_routing_overrides == {f"whatsapp:{NUMBER}": "sales"}
    assert platform.is_let_in(store, "outlocks", "447700900000")
    assert json.loads(of(store, "outlocks")["META"]["settings"]) == SETTINGS | more


# --- manage.py tenants repair-users -----------------------------------------------------------------------------------


def test_users_are_repaired_by_a_command_which_says_what_it_would_do_first(store):
    bare = signed_in_user("mara", display_name=..., role=..., channel_identities={"whatsapp": NUMBER})
    del bare["tenant_id"]
    store.put_all("TENANTS", [tenant(), user(), bare, tenant("acme"), user(tenant_id="acme")])
    before = store.all("TENANTS")
    assert not platform.is_let_in(store, "outlocks", NUMBER)
    out, _, well = run("repair-users", "--dry-run")
    told = "USER#mara of TENANT#outlocks (tenant_id, display_name, role, channel_identities)"
    assert well
    assert f"would repair: {told}" in out
    assert (store.all("TENANTS"), store.all("AUDIT")) == (before, [])
    out, _, well = run("repair-users")
    assert well
    assert f"\nrepaired: {told}\n3 users: 1 repaired now, 0 not repaired, 0 left." in f"\n{out}"
    assert platform.is_let_in(store, "outlocks", NUMBER)
    repaired = {"tenant_id": "outlocks", "display_name": "", "role": "member"}
    repaired["channel_identities"] = json.dumps({"whatsapp": NUMBER})
    assert of(store, "outlocks")["USER#mara"] == bare | repaired
    [entry] = store.all("AUDIT")
    assert (entry["action_type"], entry["actor"], entry["company_id"]) == ("user.changed", "command-line", "outlocks")
    assert NUMBER not in entry["action_payload_redacted"]
    assert "0 repaired now" in run("repair-users")[0]


def test_what_only_a_person_knows_is_left_and_said(store):
    store.put_all("TENANTS", [tenant(), user("zoe", email=...), user("ian", channel_identities="{'a'")])
    out, _, well = run("repair-users")
    assert not well
    assert "USER#zoe of TENANT#outlocks (fill in email in the console)" in out
    assert "USER#ian of TENANT#outlocks (fill in channel_identities in the console)" in out
    assert store.all("AUDIT") == []
