"""A channel belongs to one tenant: claimed, moved, released, made findable; at once, killed, and out of scope."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.errors import Conflict, Forbidden, NotFound
from tenants import channels
from tenants.channels import ChannelTaken
from tenants.keys import Channel
from tenants.queries import owners_of
from tests.support.tenants.items import mapping, tenant
from tests.support.tenants.kit import (
    ADMIN,
    AGENT,
    AUDITOR,
    BOT,
    OLGA,
    guard,
    kill_at_each_call,
    mappers,
    of,
    onboarding,
    put_tenants,
    trail,
)

ROUNDS = 20


def test_a_claim_writes_mapping_guard_and_entry(store):
    put_tenants(store)
    channels.claim("outlocks", BOT, OLGA)
    stored = of(store, "outlocks")[BOT.key]
    assert stored == {
        "pk": "TENANT#outlocks",
        "sk": "CHANNEL#teams#azure-bot-app-id",
        "gsi1pk": "CHANNEL#teams#azure-bot-app-id",
        "gsi1sk": "TENANT#outlocks",
        "channel_type": "teams",
        "channel_specific_id": "azure-bot-app-id",
    }
    assert guard(store) == "outlocks"
    assert trail(store) == ["channel.claimed"]
    assert owners_of(BOT).found == ("outlocks",)


def test_claimed_again_by_its_owner_is_said(store):
    put_tenants(store)
    channels.claim("outlocks", BOT, OLGA)
    with pytest.raises(Conflict, match="The tenant already has this channel"):
        channels.claim("outlocks", BOT, OLGA)
    assert trail(store) == ["channel.claimed"]


def test_a_refusal_names_the_owner_within_scope_only(store):
    put_tenants(store)
    channels.claim("acme", BOT, OLGA)
    with pytest.raises(ChannelTaken, match="The tenant acme has this channel") as seen:
        channels.claim("outlocks", BOT, OLGA)
    assert seen.value.owner == "acme"
    with pytest.raises(ChannelTaken) as unseen:
        channels.claim("outlocks", BOT, onboarding("outlocks"))
    assert unseen.value.owner == ""
    assert str(unseen.value) == "Another tenant has this channel. Ask an administrator."
    assert mappers(store) == {"acme"}


@pytest.mark.parametrize("more", [{}, {"gsi1sk": ...}, {"gsi1sk": ..., "gsi1pk": ...}], ids=["whole", "no sk", "bare"])
def test_mappings_of_other_writers_are_honoured(store, more):
    put_tenants(store)
    store.put("TENANTS", mapping(tenant_id="acme", **more))
    with pytest.raises(ChannelTaken):
        channels.claim("outlocks", BOT, OLGA)
    assert mappers(store) == {"acme"}


def test_a_guard_whose_mapping_is_gone_can_be_claimed(store):
    put_tenants(store)
    store.put("TENANTS", {"pk": BOT.key, "sk": "OWNER", "tenant_id": "acme"})
    channels.claim("outlocks", BOT, OLGA)
    assert guard(store) == "outlocks"
    assert mappers(store) == {"outlocks"}


def test_release_then_claim_works(store):
    put_tenants(store)
    for owner in ("outlocks", "acme", "outlocks"):
        channels.claim(owner, BOT, OLGA)
        assert (guard(store), mappers(store)) == (owner, {owner})
        channels.release(owner, BOT, OLGA)
        assert (guard(store), mappers(store)) == ("", set())
    assert trail(store) == ["channel.claimed", "channel.released"] * 2


def test_release_leaves_the_guard_of_another_tenant(store):
    """Both map it, as other writers can make it: the guard is of the one that stays."""
    put_tenants(store)
    channels.claim("acme", BOT, OLGA)
    store.put("TENANTS", mapping(tenant_id="outlocks"))
    channels.release("outlocks", BOT, OLGA)
    assert (guard(store), mappers(store)) == ("acme", {"acme"})


def test_released_twice_says_that_it_is_gone(store):
    put_tenants(store)
    channels.claim("outlocks", BOT, OLGA)
    channels.release("outlocks", BOT, OLGA)
    with pytest.raises(NotFound, match="no longer"):
        channels.release("outlocks", BOT, OLGA)


def test_move_is_one_step_with_an_entry_in_both_trails(store):
    put_tenants(store)
    channels.claim("outlocks", BOT, OLGA)
    channels.move("outlocks", BOT, "acme", OLGA)
    assert (guard(store), mappers(store)) == ("acme", {"acme"})
    assert owners_of(BOT).found == ("acme",)
    assert trail(store)[-1] == trail(store, "acme")[-1] == "channel.moved"


def test_move_wants_both_tenants_in_scope_and_there(store):
    put_tenants(store)
    channels.claim("outlocks", BOT, OLGA)
    with pytest.raises(NotFound):
        channels.move("outlocks", BOT, "acme", onboarding("outlocks"))
    with pytest.raises(NotFound):
        channels.move("outlocks", BOT, "nobody", ADMIN)
    assert mappers(store) == {"outlocks"}


def test_a_bare_mapping_is_made_findable_and_guarded(store):
    put_tenants(store)
    store.put("TENANTS", mapping(gsi1pk=..., label="of the platform"))
    assert owners_of(BOT).found == ()
    channels.complete("outlocks", BOT, OLGA)
    assert owners_of(BOT).found == ("outlocks",)
    assert guard(store) == "outlocks"
    assert of(store, "outlocks")[BOT.key]["label"] == "of the platform"


def test_nothing_is_written_beside_a_tenant_that_is_not_there(store):
    with pytest.raises(NotFound):
        channels.claim("outlocks", BOT, OLGA)
    assert store.all("TENANTS") == []


@pytest.mark.parametrize("who", [AUDITOR, AGENT], ids=["auditor", "agent"])
def test_who_may_not_write_channels_is_refused_before_any_read(store, who):
    put_tenants(store)
    for deed in (channels.claim, channels.release, channels.complete):
        with pytest.raises(Forbidden):
            deed("outlocks", BOT, who)
    with pytest.raises(Forbidden):
        channels.move("outlocks", BOT, "acme", who)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_two_claims_at_once_have_one_winner(store, round_):
    put_tenants(store)
    gate = threading.Barrier(2)

    def claim(tenant_id: str) -> str:
        gate.wait()
        try:
            channels.claim(tenant_id, BOT, OLGA)
        except ChannelTaken as taken:
            return f"taken by {taken.owner}"
        return "claimed"

    with ThreadPoolExecutor(2) as pool:
        told = dict(zip(("outlocks", "acme"), pool.map(claim, ("outlocks", "acme")), strict=True))
    [winner] = [tenant_id for tenant_id, words in told.items() if words == "claimed"]
    [loser] = set(told) - {winner}
    assert told[loser] == f"taken by {winner}"
    assert (guard(store), mappers(store)) == (winner, {winner})
    assert (trail(store, winner), trail(store, loser)) == (["channel.claimed"], [])


def whole(store, owners: set[str]) -> None:
    """Mapping, guard and trail tell the same."""
    [owner] = mappers(store) or {""}
    assert owner in owners
    assert guard(store) == owner


def test_killed_at_any_call_of_claiming(store):
    def check(finished: bool) -> None:
        whole(store, {"outlocks", ""})
        assert trail(store) == (["channel.claimed"] if mappers(store) else [])
        assert not finished or mappers(store)

    calls = kill_at_each_call(store, lambda: put_tenants(store), lambda: channels.claim("outlocks", BOT, OLGA), check)
    assert calls >= 4


@pytest.mark.parametrize("deed", ["move", "release"])
def test_killed_at_any_call_of_moving_and_releasing(store, deed):
    def set_up() -> None:
        put_tenants(store)
        channels.claim("outlocks", BOT, OLGA)

    def act() -> None:
        if deed == "move":
            channels.move("outlocks", BOT, "acme", OLGA)
        else:
            channels.release("outlocks", BOT, OLGA)

    def check(finished: bool) -> None:
        whole(store, {"outlocks", "acme"} if deed == "move" else {"outlocks", ""})
        assert ("outlocks" in mappers(store)) == (len(trail(store)) == 1)
        assert not finished or "outlocks" not in mappers(store)

    assert kill_at_each_call(store, set_up, act, check) >= 2


def test_numbers_and_addresses_stay_out_of_the_trail(store):
    put_tenants(store)
    channels.claim("outlocks", Channel("whatsapp", "+447700900831"), OLGA)
    channels.claim("outlocks", Channel("email", "hello@outlocks.example"), OLGA)
    payloads = " ".join(each["action_payload_redacted"] for each in store.all("AUDIT"))
    assert "447700900831" not in payloads
    assert "hello@" not in payloads


def test_a_tenant_of_another_status_can_have_channels(store):
    store.put("TENANTS", tenant(status="suspended"))
    channels.claim("outlocks", BOT, OLGA)
    assert mappers(store) == {"outlocks"}
