"""A tenant that was reserved by mistake is discarded: marked as deleted, its id taken for good, its channels free."""

import json

import pytest

from console.errors import Conflict, Forbidden, Invalid
from tenants import channels, companies, onboarding, settings, status, users
from tenants.channels import ChannelTaken
from tenants.onboarding import Draft
from tenants.reading import form_digest
from tenants.status import StatusStep
from tenants.users import UserValues
from tests.support.tenants.items import mapping, tenant, user
from tests.support.tenants.kit import AUDITOR, BOT, OLGA, guard, kill_at_each_call, mappers, of, put_tenants, trail
from tests.support.tenants.kit import onboarding as somebody

ADMINISTRATOR = UserValues("mara", "mara@example.com", "Mara", "admin")


def reserve(store) -> None:
    """A tenant in its last step: with an administrator, a channel and a company."""
    put_tenants(store, "acme")
    store.put_all("TENANTS", [tenant(status="onboarding"), {"pk": "TENANT#outlocks", "sk": "COMPANY#ci-aaa-001"}])
    channels.claim("outlocks", BOT, OLGA)
    users.add("outlocks", ADMINISTRATOR, OLGA)
    onboarding.save_draft("outlocks", Draft(), OLGA)


def discard(by=OLGA) -> None:
    status.change("outlocks", StatusStep.DISCARD, "reserved by mistake", "onboarding", by)


def test_a_discarded_tenant_keeps_its_id_and_gives_up_its_channels(store):
    reserve(store)
    assert status.steps_from("onboarding") == (StatusStep.ACTIVATE, StatusStep.DISCARD)
    discard()
    left = of(store, "outlocks")
    assert set(left) == {"META", "USERS"}
    assert left["META"]["status"] == "deleted"
    assert (mappers(store), guard(store)) == (set(), "")
    assert [each for each in store.all("CONSOLE") if each["sk"] == "ONBOARDING"] == []
    channels.claim("acme", BOT, OLGA)
    assert mappers(store) == {"acme"}
    with pytest.raises(Conflict, match="This id is taken"):
        onboarding.begin("outlocks", "Outlocks again", "another-form", OLGA)


def test_the_trail_says_who_discarded_what_and_why(store):
    reserve(store)
    discard()
    assert trail(store)[-1] == "tenant.discarded"
    (entry,) = (each for each in store.all("AUDIT") if each["action_type"] == "tenant.discarded")
    said = json.loads(entry["action_payload_redacted"])
    assert (said["reason"], said["to"], said["users"]) == ("reserved by mistake", {"status": "deleted"}, 1)
    assert said["companies"] == ["ci-aaa-001"]
    assert len(said["channels"]) == 1


@pytest.mark.parametrize("stored", ["active", "suspended", "trial"])
def test_a_tenant_that_was_put_to_use_is_not_discarded(store, stored):
    store.put_all("TENANTS", [tenant(status=stored), user(), mapping()])
    before = store.all("TENANTS")
    with pytest.raises(Conflict):
        status.change("outlocks", StatusStep.DISCARD, "why", stored, OLGA)
    assert store.all("TENANTS") == before


@pytest.mark.parametrize(
    ("table", "item"),
    [
        ("TENANTS", {"pk": "TENANT#outlocks", "sk": "MEMORY#mara#s1", "summary": "likes tea"}),
        ("TENANTS", {"pk": "TENANT#outlocks", "sk": "PLAN#gold"}),
        ("TENANT_CONVERSATIONS", {"pk": "outlocks", "sk": "conv-abc-123", "messages": "[]"}),
    ],
)
def test_a_tenant_that_something_uses_is_not_discarded(store, table, item):
    reserve(store)
    store.put(table, item)
    with pytest.raises(Conflict, match="already uses this tenant"):
        discard()
    assert of(store, "outlocks")["META"]["status"] == "onboarding"
    assert guard(store) == "outlocks"


def test_more_than_one_transaction_can_remove_is_refused(store):
    reserve(store)
    store.put_all("TENANTS", [user(f"user-{number}") for number in range(95)])
    with pytest.raises(Conflict, match="too many channels and users"):
        discard()
    assert len(of(store, "outlocks")) > 95


def test_a_channel_of_another_tenants_guard_keeps_that_guard(store):
    put_tenants(store, "acme")
    store.put_all("TENANTS", [tenant(status="onboarding"), mapping(), mapping(tenant_id="acme")])
    store.put("TENANTS", {"pk": BOT.key, "sk": "OWNER", "tenant_id": "acme"})
    discard()
    assert (mappers(store), guard(store)) == ({"acme"}, "acme")


def test_it_needs_a_reason_and_the_right(store):
    reserve(store)
    with pytest.raises(Invalid, match="Say why"):
        status.change("outlocks", StatusStep.DISCARD, "", "onboarding", OLGA)
    with pytest.raises(Forbidden):
        discard(AUDITOR)
    assert of(store, "outlocks")["META"]["status"] == "onboarding"


def test_nothing_can_be_changed_on_a_deleted_tenant(store):
    put_tenants(store, "acme")
    store.put_all("TENANTS", [tenant(status="deleted"), mapping(tenant_id="acme"), user("left")])
    before = of(store, "outlocks")
    stored, left = settings.load("outlocks", OLGA), form_digest(users.read_users("outlocks").items["left"])
    somebody_else = somebody("outlocks", "acme", "ci-aaa-001")
    for add in (
        lambda: channels.claim("outlocks", channels.Channel("teams", "another-bot"), OLGA),
        lambda: channels.move("acme", BOT, "outlocks", OLGA),
        lambda: users.add("outlocks", ADMINISTRATOR, OLGA),
        lambda: companies.link("outlocks", "ci-aaa-001", somebody_else),
        lambda: users.change("outlocks", UserValues("left", "new@outlocks.example", "", "member"), left, OLGA),
        lambda: settings.save("outlocks", "New name", {}, {}, stored.seen, OLGA),
    ):
        with pytest.raises(Conflict, match="was deleted, so nothing can be changed on it"):
            add()
    assert of(store, "outlocks") == before
    assert mappers(store) == {"acme"}


def test_a_process_that_dies_leaves_all_of_it_or_nothing(store):
    def check(finished: bool) -> None:
        meta = of(store, "outlocks")["META"]["status"]
        there = {"META", "USERS", "USER#mara", BOT.key, "COMPANY#ci-aaa-001"}
        assert set(of(store, "outlocks")) == ({"META", "USERS"} if meta == "deleted" else there)
        assert guard(store) == ("" if meta == "deleted" else "outlocks")
        assert ("tenant.discarded" in trail(store)) == (meta == "deleted")
        assert not finished or meta == "deleted"

    assert kill_at_each_call(store, lambda: reserve(store), discard, check) >= 5


def test_a_channel_taken_by_another_tenant_is_still_refused(store):
    reserve(store)
    with pytest.raises(ChannelTaken):
        channels.claim("acme", BOT, OLGA)
