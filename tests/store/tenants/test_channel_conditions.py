"""What a claim, a completion, a release and a move check before they write, and again while they write."""

import json

import pytest

from console.errors import Conflict, Invalid, NotFound
from tenants import channels
from tenants.channels import ChannelTaken, Claims, NotMapped
from tenants.keys import Channel
from tests import faults
from tests.support.tenants.items import mapping
from tests.support.tenants.kit import BOT, OLGA, guard, mappers, of, onboarding, put_tenants, rows, trail

MAP, BARE = mapping(), mapping(gsi1pk=..., label="of the platform")
NOTHING_FOUND = {"Items": [], "Count": 0, "ScannedCount": 0}


@pytest.fixture(autouse=True)
def tenants(store):
    put_tenants(store, "outlocks", "acme", "third")


def owned_by(tenant_id: str) -> dict[str, str]:
    return {"pk": BOT.key, "sk": "OWNER", "tenant_id": tenant_id}


def delete(store, tenant_id: str, sk: str) -> None:
    store.delete("TENANTS", pk=f"TENANT#{tenant_id}", sk=sk)


def snapshot(store) -> tuple[list[dict], list[dict]]:
    return store.all("TENANTS"), store.all("AUDIT")


def meanwhile(do):
    """Somebody else does this between what is read and what is written."""
    return faults.before("TransactWriteItems", do)


def payloads(store, tenant_id: str = "outlocks") -> list[dict]:
    entries = [each for each in store.all("AUDIT") if each["conversation_id"] == f"TENANT#{tenant_id}"]
    return [json.loads(each["action_payload_redacted"]) for each in entries]


# --- Who has it ------------------------------------------------------------------------------------------------------


def test_an_owner_that_only_the_guard_names_is_honoured_while_the_indexes_lag(store):
    store.put_all("TENANTS", [mapping(tenant_id="acme"), owned_by("acme")])
    with faults.answer("Query", body=NOTHING_FOUND, times=faults.ALWAYS), pytest.raises(ChannelTaken) as taken:
        channels.claim("outlocks", BOT, OLGA)
    assert taken.value.owner == "acme"
    assert mappers(store) == {"acme"}


def test_who_has_it_and_of_these_whom_webhooks_find(store):
    store.put_all("TENANTS", [mapping(tenant_id="acme"), BARE])
    claims = channels.claims_of(BOT)
    assert (sorted(claims.tenants), claims.guard, claims.found) == (["acme", "outlocks"], "", ("acme",))


@pytest.mark.parametrize("act", [channels.claim, channels.complete, channels.release], ids=lambda each: each.__name__)
def test_what_a_decision_rests_on_is_read_strongly_consistent(store, act):
    if act is not channels.claim:
        store.put("TENANTS", MAP)
    with store.calls() as calls:
        act("outlocks", BOT, OLGA)
    reads = [each.request for each in calls if each.operation == "GetItem"]
    reads += [
        batch for each in calls if each.operation == "BatchGetItem" for batch in each.request["RequestItems"].values()
    ]
    assert reads
    assert all(each["ConsistentRead"] for each in reads)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (Claims((), "", ()), False),
        (Claims((), "outlocks", ()), False),
        (Claims(("acme",), "acme", ()), False),
        (Claims((), "acme", ()), True),
    ],
    ids=["no guard", "its own", "in use", "of another, unused"],
)
def test_a_guard_is_left_over_where_another_tenant_s_mapping_is_gone(seen, expected):
    assert channels.is_stale_guard(seen, "outlocks") is expected


# --- Claiming --------------------------------------------------------------------------------------------------------


def test_a_key_that_is_too_long_is_refused_before_any_call(store):
    with store.calls() as calls, pytest.raises(Invalid, match="too long"):
        channels.claim("outlocks", Channel("slack", "x" * 1_100), OLGA)
    assert calls == []


def test_a_claim_says_in_guard_and_trail_what_and_when(store):
    channels.claim("outlocks", BOT, OLGA)
    assert rows(store, BOT.key)["OWNER"]["claimed_at"] > "2026"
    assert payloads(store) == [{"channel": "Teams azure-bot-app-id"}]


def test_a_tenant_deleted_meanwhile_gets_no_channel(store):
    with meanwhile(lambda: delete(store, "outlocks", "META")), pytest.raises(NotFound):
        channels.claim("outlocks", BOT, OLGA)
    assert (guard(store), mappers(store), trail(store)) == ("", set(), [])


def test_a_mapping_of_the_platform_that_comes_meanwhile_is_not_written_over(store):
    with (
        meanwhile(lambda: store.put("TENANTS", BARE)),
        pytest.raises(Conflict, match="The tenant already has this channel"),
    ):
        channels.claim("outlocks", BOT, OLGA)
    assert of(store, "outlocks")[BOT.key] == BARE
    assert trail(store) == []


def test_a_guard_that_was_left_over_counts_again_when_its_mapping_comes_back_meanwhile(store):
    store.put("TENANTS", owned_by("acme"))
    back = mapping(tenant_id="acme")
    with meanwhile(lambda: store.put("TENANTS", back)), pytest.raises(ChannelTaken) as taken:
        channels.claim("outlocks", BOT, OLGA)
    assert taken.value.owner == "acme"
    assert (guard(store), mappers(store), trail(store)) == ("acme", {"acme"}, [])


def test_a_tenant_claims_again_what_its_own_guard_is_left_of(store):
    store.put("TENANTS", owned_by("outlocks"))
    channels.claim("outlocks", BOT, OLGA)
    assert (guard(store), mappers(store)) == ("outlocks", {"outlocks"})


# --- Completing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stored",
    [[BARE], [mapping(gsi1sk="TENANT#outlocks")], [BARE, owned_by("outlocks")]],
    ids=["bare", "unguarded", "guarded"],
)
def test_completing_writes_what_is_missing_on_record(store, stored):
    store.put_all("TENANTS", stored)
    assert channels.complete("outlocks", BOT, OLGA) is True
    assert of(store, "outlocks")[BOT.key]["gsi1sk"] == "TENANT#outlocks"
    assert guard(store) == "outlocks"
    assert trail(store) == ["channel.completed"]
    assert payloads(store) == [{"channel": "Teams azure-bot-app-id"}]


def test_completing_what_is_complete_writes_nothing(store):
    channels.claim("outlocks", BOT, OLGA)
    before = snapshot(store)
    assert channels.complete("outlocks", BOT, OLGA) is False
    assert snapshot(store) == before


@pytest.mark.parametrize("act", [channels.complete, channels.release], ids=lambda each: each.__name__)
def test_a_channel_that_the_tenant_does_not_have_is_not_mapped(store, act):
    before = snapshot(store)
    with pytest.raises(NotMapped):
        act("outlocks", BOT, OLGA)
    assert snapshot(store) == before


@pytest.mark.parametrize("act", [channels.complete, channels.release], ids=lambda each: each.__name__)
def test_a_mapping_deleted_meanwhile_is_not_mapped_and_leaves_no_trace(store, act):
    store.put("TENANTS", BARE)
    with meanwhile(lambda: delete(store, "outlocks", BOT.key)), pytest.raises(NotMapped):
        act("outlocks", BOT, OLGA)
    assert (guard(store), mappers(store), trail(store)) == ("", set(), [])


def test_a_channel_that_another_tenant_has_too_is_not_completed(store):
    store.put_all("TENANTS", [BARE, mapping(tenant_id="acme")])
    before = snapshot(store)
    with pytest.raises(ChannelTaken):
        channels.complete("outlocks", BOT, OLGA)
    assert snapshot(store) == before


def test_nothing_is_completed_for_a_tenant_deleted_meanwhile(store):
    store.put("TENANTS", BARE)
    with (
        meanwhile(lambda: delete(store, "outlocks", "META")),
        pytest.raises(NotFound, match="This tenant no longer exists"),
    ):
        channels.complete("outlocks", BOT, OLGA)
    assert of(store, "outlocks")[BOT.key] == BARE
    assert (guard(store), trail(store)) == ("", [])


# --- Releasing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after", "left"), [("outlocks", "acme", "acme"), ("", "outlocks", "")])
def test_a_guard_that_changes_meanwhile_is_judged_as_it_is_then(store, before, after, left):
    store.put_all("TENANTS", [MAP, *([owned_by(before)] if before else [])])
    with meanwhile(lambda: store.put("TENANTS", owned_by(after))):
        channels.release("outlocks", BOT, OLGA)
    assert (guard(store), mappers(store)) == (left, set())
    assert payloads(store) == [{"channel": "Teams azure-bot-app-id"}]


# --- Moving ----------------------------------------------------------------------------------------------------------


def test_nobody_moves_a_channel_away_from_a_tenant_out_of_scope(store):
    channels.claim("outlocks", BOT, OLGA)
    with pytest.raises(NotFound):
        channels.move("outlocks", BOT, "acme", onboarding("acme"))
    assert mappers(store) == {"outlocks"}


def test_a_channel_is_not_moved_to_where_it_is(store):
    channels.claim("outlocks", BOT, OLGA)
    before = snapshot(store)
    with pytest.raises(Conflict, match="The tenant already has this channel"):
        channels.move("outlocks", BOT, "outlocks", OLGA)
    assert snapshot(store) == before


def test_what_the_tenant_does_not_have_is_not_moved(store):
    with pytest.raises(NotMapped):
        channels.move("outlocks", BOT, "acme", OLGA)
    assert mappers(store) == set()


def test_what_a_third_tenant_has_too_is_not_moved(store):
    store.put_all("TENANTS", [MAP, mapping(tenant_id="third")])
    before = snapshot(store)
    with pytest.raises(ChannelTaken):
        channels.move("outlocks", BOT, "acme", OLGA)
    assert snapshot(store) == before


@pytest.mark.parametrize(
    ("gone", "error"), [(("acme", "META"), NotFound), (("outlocks", BOT.key), NotMapped)], ids=["tenant", "mapping"]
)
def test_a_move_of_what_is_deleted_meanwhile_moves_nothing(store, gone, error):
    channels.claim("outlocks", BOT, OLGA)
    with meanwhile(lambda: delete(store, *gone)), pytest.raises(error):
        channels.move("outlocks", BOT, "acme", OLGA)
    assert mappers(store) == {"outlocks"} - {gone[0]}
    assert (trail(store), trail(store, "acme")) == (["channel.claimed"], [])


def test_a_move_to_a_tenant_that_has_it_as_well_leaves_it_there_alone(store):
    store.put_all("TENANTS", [MAP, mapping(tenant_id="acme", gsi1pk=...)])
    channels.move("outlocks", BOT, "acme", OLGA)
    assert (guard(store), mappers(store)) == ("acme", {"acme"})


def test_a_mapping_that_the_new_tenant_gets_meanwhile_is_seen_before_it_is_replaced(store):
    channels.claim("outlocks", BOT, OLGA)
    with meanwhile(lambda: store.put("TENANTS", mapping(tenant_id="acme"))), store.calls() as calls:
        channels.move("outlocks", BOT, "acme", OLGA)
    assert [each.operation for each in calls].count("TransactWriteItems") == 2
    assert (guard(store), mappers(store)) == ("acme", {"acme"})


def test_a_move_says_in_both_trails_from_where_to_where(store):
    channels.claim("outlocks", BOT, OLGA)
    channels.move("outlocks", BOT, "acme", OLGA)
    told = {"channel": "Teams azure-bot-app-id", "from": {"tenant": "outlocks"}, "to": {"tenant": "acme"}}
    assert (payloads(store)[-1], payloads(store, "acme")) == (told, [told])
