"""Resolving what a webhook carried: the key that is asked, who is found, and what the person may know of it."""

import json

import pytest

from console.errors import Forbidden, Invalid
from tenants import channels
from tenants.keys import Channel
from tenants.queries import load_tenant
from tenants.resolving import resolve
from tenants.webhooks import candidates
from tests.support.tenants.items import mapping, tenant
from tests.support.tenants.kit import ADMIN, AGENT, AUDITOR, BOT, OLGA, onboarding, put_tenants

APP = "2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11"


@pytest.mark.parametrize(
    ("pasted", "kind", "expected"),
    [
        ("CHANNEL#teams#azure-bot-app-id", "", [("teams", "azure-bot-app-id")]),
        (json.dumps({"type": "message", "recipient": {"id": f"28:{APP}"}}), "", [("teams", APP)]),
        (
            json.dumps({"api_app_id": "A0123ABCD", "team_id": "T024BE7LD"}),
            "",
            [("slack", "A0123ABCD"), ("slack", "T024BE7LD")],
        ),
        (
            "From=whatsapp%3A%2B447700900123&To=whatsapp%3A%2B447700900831&Body=hi",
            "",
            [("whatsapp", "+447700900831")],
        ),
        ("From=%2B447700900123&To=%2B447700900832&Body=hi", "sms", [("sms", "+447700900832")]),
        (
            json.dumps(
                {"entry": [{"changes": [{"value": {"metadata": {"display_phone_number": "+44 7700 900831"}}}]}]}
            ),
            "",
            [("whatsapp", "+447700900831")],
        ),
        (
            json.dumps({"entry": [{"changes": [{"value": {"metadata": {"display_phone_number": "447700900831"}}}]}]}),
            "",
            [("whatsapp", "+447700900831")],
        ),
        ("whatsapp:+44 7700 900831", "", [("whatsapp", "+447700900831")]),
        ("sms:+447700900831", "", [("sms", "+447700900831")]),
        ("To=whatsapp%3A%2B447700900831", "", [("whatsapp", "+447700900831")]),
        ("+44 7700 900831", "", [("whatsapp", "+447700900831"), ("sms", "+447700900831")]),
        ("Hello@Lumen.example", "", [("email", "hello@lumen.example")]),
        ("web-7", "web_widget", [("web_widget", "web-7")]),
        (APP.upper(), "teams", [("teams", APP)]),
        (
            "8603294417750921",
            "",
            [("whatsapp", "8603294417750921"), ("teams", "8603294417750921"), ("telegram", "8603294417750921")],
        ),
        ("CHANNEL#telegram#3fa94c21d0e8b7a6", "", [("telegram", "3fa94c21d0e8b7a6")]),
    ],
)
def test_what_webhooks_carry_is_understood(pasted, kind, expected):
    assert [(each.type, each.id) for each in candidates(pasted, kind)] == expected


@pytest.mark.parametrize("pasted", ["", "  ", "{", '{"a": 1}', "[" * 5_000, "x" * 20_001, "???", '{"to": {"a": []}}'])
def test_what_means_no_channel_is_said(pasted):
    with pytest.raises(Invalid):
        candidates(pasted)


@pytest.mark.parametrize(
    ("status", "outcome"), [("active", "served"), ("suspended", "not-served"), ("onboarding", "not-served")]
)
def test_one_tenant_is_found_and_served_if_active(store, status, outcome):
    store.put("TENANTS", tenant(status=status))
    channels.claim("outlocks", BOT, OLGA)
    found = resolve(BOT, OLGA)
    assert (found.outcome, found.asked, found.guard) == (outcome, BOT.key, "")
    assert [each.row.tenant_id for each in found.claimants] == ["outlocks"]


def test_nobody_a_clash_and_an_unseen_mapping_are_told_apart(store):
    put_tenants(store)
    assert resolve(BOT, OLGA).outcome == "nobody"
    store.put("TENANTS", mapping(gsi1pk=...))
    assert resolve(BOT, OLGA).outcome == "unseen"
    store.put("TENANTS", mapping(tenant_id="acme"))
    assert resolve(BOT, OLGA).outcome == "clash"
    assert "isn't protected yet" in resolve(BOT, OLGA).guard


def test_a_tenant_out_of_scope_is_not_named(store):
    put_tenants(store)
    channels.claim("acme", BOT, ADMIN)
    found = resolve(BOT, onboarding("outlocks"))
    assert (found.outcome, found.claimants[0].row) == ("elsewhere", None)
    assert "acme" not in repr(found)


def test_a_guard_that_is_left_over_is_named_within_scope_only(store):
    put_tenants(store)
    store.put("TENANTS", {"pk": BOT.key, "sk": "OWNER", "tenant_id": "acme"})
    assert "acme" in resolve(BOT, OLGA).guard
    assert "acme" not in resolve(BOT, onboarding("outlocks")).guard


@pytest.mark.parametrize("digest", ["3fa94c21d0e8b7a6", "8603294417750921", "86e5014965866131"])
def test_what_is_made_of_a_token_is_no_number_to_hide(store, digest):
    put_tenants(store)
    store.put("TENANTS", mapping("whatsapp", digest))
    found = resolve(Channel("whatsapp", digest), AUDITOR)
    assert found.asked == f"CHANNEL#whatsapp#{digest}"
    assert [each.row.tenant_id for each in found.claimants] == ["outlocks"]
    [channel] = load_tenant("outlocks", AUDITOR).channels
    assert channel.shown == digest


def test_auditors_see_it_redacted_and_agents_not_at_all(store):
    channel = Channel("whatsapp", "+447700900831")
    assert "447700900831" not in repr(resolve(channel, AUDITOR))
    with pytest.raises(Forbidden):
        resolve(channel, AGENT)
