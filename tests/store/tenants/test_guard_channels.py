"""`manage.py tenants guard-channels`: guards for what others mapped, and what of it cannot be guarded."""

import json

import pytest

from tenants import channels
from tenants.keys import Channel
from tests import faults
from tests.support.tenants import kit
from tests.support.tenants.items import mapping
from tests.support.tenants.kit import BOT, OLGA, guard, kill_at_each_call, mappers, put_tenants, trail
from tests.support.tenants.stored import PHONE, run, snapshot

NUMBER = Channel("whatsapp", PHONE)


def owner(channel: Channel, tenant_id: str) -> dict:
    return {"pk": channel.key, "sk": "OWNER", "tenant_id": tenant_id, "claimed_at": "2026-01-01T00:00:00Z"}


def test_a_mapping_of_another_writer_is_guarded_on_record(store):
    put_tenants(store)
    store.put_all("TENANTS", [mapping(), mapping("whatsapp", PHONE, "acme")])
    out, err, well = run("guard-channels")
    assert well, err
    assert guard(store) == "outlocks"
    assert guard(store, NUMBER) == "acme"
    [entry] = [each for each in store.all("AUDIT") if each["conversation_id"] == "TENANT#acme"]
    assert (entry["action_type"], entry["actor"], entry["company_id"]) == ("channel.guarded", "command-line", "acme")
    assert "WhatsApp" in json.loads(entry["action_payload_redacted"])["channel"]
    assert "2 guarded now, 0 not guarded, 0 guarded already, 0 clashes" in out
    assert "guarded: CHANNEL#teams#azure-bot-app-id (outlocks)" in out
    assert PHONE not in out + err + entry["action_payload_redacted"]


def test_run_twice_it_writes_once(store):
    put_tenants(store)
    store.put("TENANTS", mapping())
    run("guard-channels")
    before = snapshot(store)
    out, _, well = run("guard-channels")
    assert well
    assert snapshot(store) == before
    assert "0 guarded now, 0 not guarded, 1 guarded already" in out


def test_a_guard_by_it_keeps_others_out(store):
    put_tenants(store)
    store.put("TENANTS", mapping())
    run("guard-channels")
    with pytest.raises(channels.ChannelTaken):
        channels.claim("acme", BOT, OLGA)
    channels.release("outlocks", BOT, OLGA)
    assert guard(store) == ""


def everything_amiss(store) -> None:
    put_tenants(store)
    store.put_all(
        "TENANTS",
        [
            mapping(),
            mapping(tenant_id="acme"),
            mapping("whatsapp", PHONE, gsi1pk=...),
            mapping("slack", "T1", gsi1pk="CHANNEL#slack#T2"),
            owner(Channel("slack", "T1"), "acme"),
            owner(Channel("teams", "gone"), "acme"),
            {"pk": "CHANNEL#teams#nobody", "sk": "OWNER"},
            mapping("email", "help@outlocks.example"),
            owner(Channel("email", "help@outlocks.example"), "outlocks"),
        ],
    )


def test_what_is_amiss_is_reported_and_left(store):
    everything_amiss(store)
    before = store.all("TENANTS")
    out, err, well = run("guard-channels")
    assert not well
    assert "more than one tenant" in err
    assert [each for each in store.all("TENANTS") if each["pk"] != NUMBER.key] == before
    lines = out.splitlines()
    assert "CLASH: more than one tenant has it: CHANNEL#teams#azure-bot-app-id (acme, outlocks)" in lines
    assert any(line.startswith("webhooks cannot find it: CHANNEL#whatsapp#") for line in lines)
    assert "webhooks cannot find it: CHANNEL#slack#T1 (outlocks)" in lines
    assert "the guard names acme, not who has it: CHANNEL#slack#T1 (outlocks)" in lines
    assert "the mapping is gone, its guard is left: CHANNEL#teams#gone (acme)" in lines
    assert "the mapping is gone, its guard is left: CHANNEL#teams#nobody ()" in lines
    assert lines[-1] == (
        "1 guarded now, 0 not guarded, 1 guarded already, 1 clashes, 2 that webhooks cannot find, "
        "2 guards without a mapping, 1 guards of another tenant."
    )
    assert PHONE not in out
    assert "help@outlocks.example" not in out


def test_a_dry_run_writes_nothing(store):
    everything_amiss(store)
    before = snapshot(store)
    out, _, well = run("guard-channels", "--dry-run")
    assert not well
    assert snapshot(store) == before
    assert "would guard: CHANNEL#whatsapp#" in out
    assert "0 guarded now, 1 not guarded" in out


def test_a_mapping_released_meanwhile_is_not_guarded(store):
    put_tenants(store)
    store.put("TENANTS", mapping())
    with faults.before("TransactWriteItems", lambda: channels.release("outlocks", BOT, OLGA)):
        out, _, well = run("guard-channels")
    assert well
    assert "changed in the meantime, run it again: CHANNEL#teams#azure-bot-app-id (outlocks)" in out
    assert guard(store) == ""
    assert trail(store) == ["channel.released"]


def test_a_channel_claimed_meanwhile_keeps_its_guard(store):
    put_tenants(store)
    store.put("TENANTS", mapping())

    def moved() -> None:
        channels.move("outlocks", BOT, "acme", OLGA)

    with faults.before("TransactWriteItems", moved):
        out, _, _ = run("guard-channels")
    assert "changed in the meantime" in out
    assert guard(store) == "acme"


def test_all_pages_are_read(store, monkeypatch):
    from tenants import walking

    real = walking.pages
    monkeypatch.setattr(walking, "pages", lambda operation, **wanted: real(operation, **wanted, Limit=2))
    put_tenants(store)
    store.put_all("TENANTS", [mapping("slack", f"T{n}") for n in range(5)])
    out, _, _ = run("guard-channels")
    assert "5 guarded now" in out


def test_killed_at_any_call_and_run_again(store, monkeypatch):
    monkeypatch.setattr(kit, "MOST_CALLS", 40)
    number = Channel("whatsapp", PHONE)

    def set_up() -> None:
        put_tenants(store)
        store.put_all("TENANTS", [mapping(), mapping("whatsapp", PHONE, "acme")])

    def check(finished: bool) -> None:
        for channel, tenant_id in ((BOT, "outlocks"), (number, "acme")):
            assert (guard(store, channel) == tenant_id) == (trail(store, tenant_id) == ["channel.guarded"])
        run("guard-channels")
        for channel, tenant_id in ((BOT, "outlocks"), (number, "acme")):
            assert mappers(store, channel) == {guard(store, channel)} == {tenant_id}
            assert trail(store, tenant_id) == ["channel.guarded"]

    assert kill_at_each_call(store, set_up, lambda: run("guard-channels"), check) >= 3
