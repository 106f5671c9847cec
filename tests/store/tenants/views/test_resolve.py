"""`/channels/resolve/`: nothing that was pasted stands in an address, and what is not in scope is not named."""

from html import unescape

import pytest

from console.refs import seal_data
from tenants import channels
from tenants.keys import Channel
from tests.support.tenants.items import mapping, tenant
from tests.support.tenants.kit import ADMIN, BOT, put_tenants

pytestmark = pytest.mark.pages

URL = "/channels/resolve/"
NUMBER = Channel("whatsapp", "+447700900831")


def ask(browser, carried: str, kind: str = "") -> str:
    form = {"carried": carried, "type": kind, "reason": "complaint 4711"}
    return unescape(browser.post(URL, form, follow=True).content.decode())


def test_the_tenant_its_status_and_how_it_is_found(store, olga):
    put_tenants(store)
    channels.claim("outlocks", BOT, ADMIN)
    page = ask(olga, "CHANNEL#teams#azure-bot-app-id")
    for words in ("would be served", "CHANNEL#teams#azure-bot-app-id", "Outlocks", "found by the index of channels"):
        assert words in page
    store.put("TENANTS", tenant(status="suspended"))
    assert "found, but would not be served" in ask(olga, "CHANNEL#teams#azure-bot-app-id")


def test_what_was_pasted_is_sealed_in_the_address(store, olga):
    answer = olga.post(URL, {"carried": "+44 7700 900831", "type": "whatsapp"})
    assert answer.status_code == 302
    assert "900831" not in answer["Location"]
    assert "+447700900831" in unescape(olga.get(answer["Location"]).content.decode())


def test_what_somebody_has_comes_first(store, olga):
    put_tenants(store, "acme")
    store.put("TENANTS", mapping("sms", "+447700900831", "acme"))
    page = ask(olga, "+447700900831")
    assert page.index("Acme") < page.index("No tenant has it")


def test_a_clash_and_nobody_are_said(store, olga):
    put_tenants(store)
    assert "No tenant has it" in ask(olga, "CHANNEL#teams#azure-bot-app-id")
    store.put_all("TENANTS", [mapping(), mapping(tenant_id="acme")])
    page = ask(olga, "CHANNEL#teams#azure-bot-app-id")
    assert "Release it from all but one" in page
    assert "Acme" in page


def test_a_tenant_out_of_scope_is_not_named(store, olga):
    put_tenants(store, "secret")
    channels.claim("secret", BOT, ADMIN)
    page = ask(olga, "CHANNEL#teams#azure-bot-app-id")
    assert "Another tenant, outside your scope" in page
    assert "secret" not in page.lower()


def test_auditors_see_it_masked_and_agents_nothing(store, aiko, amira):
    put_tenants(store)
    channels.claim("outlocks", NUMBER, ADMIN)
    page = ask(aiko, "+447700900831", "whatsapp")
    assert "Outlocks" in page
    assert "447700900831" not in page
    assert amira.get(URL).status_code == 403


@pytest.mark.parametrize("carried", ["", "???", "{", "x" * 20_001, "a\x00b"])
def test_what_means_nothing_is_said_with_the_form_intact(store, olga, carried):
    answer = olga.post(URL, {"carried": carried, "type": ""})
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode()


def test_a_number_without_its_country_code_is_explained_and_stays_in_the_box(store, olga, aiko):
    page = ask(olga, "07700900777")
    assert "It was not looked up on WhatsApp or SMS. Enter the number with its country code" in page
    assert ">\n07700900777</textarea>" in page
    page = ask(olga, "447700900777")
    assert "The plus before the country code is missing. Should it be +447700900777?" in page
    assert "447700900777" not in ask(aiko, "447700900777")
    for sure in ("+447700900777", "8603294417750921", "azure-bot-app-id"):
        assert "not looked up" not in ask(olga, sure)


def test_a_long_text_is_resolved_without_being_kept(store, olga):
    body = '{"api_app_id": "A024BE7LD", "text": "' + "x" * 5_000 + '"}'
    answer = olga.post(URL, {"carried": body, "type": ""})
    assert len(answer["Location"]) < 1_000
    assert "CHANNEL#slack#A024BE7LD" in unescape(olga.get(answer["Location"]).content.decode())


@pytest.mark.parametrize("typed", ["junk", seal_data("resolve-typed", ["odd"])])
def test_what_was_typed_is_taken_from_our_own_address_only(store, olga, typed):
    assert olga.get(URL, {"typed": typed}).status_code == 200


def test_an_address_that_is_not_ours_asks_nothing(store, olga):
    answer = olga.get(URL, {"asked": "junk"})
    assert answer.status_code == 200
    assert "Asked for" not in answer.content.decode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whatsapp", "telegram"])
@pytest.mark.parametrize("digest", ["3fa94c21d0e8b7a6", "8603294417750921", "c6f1a70e99b25d34"])
def test_what_the_platform_makes_of_a_token_is_added_resolved_and_searched(store, olga, aiko, kind, digest):
    put_tenants(store)
    typed = {"type": kind, "id": digest.upper()}
    assert olga.post("/tenants/outlocks/channels/new/", typed)["Location"] == "/tenants/outlocks/channels/"
    for browser in (olga, aiko):
        for given, of_type in ((digest, kind), (f"CHANNEL#{kind}#{digest}", ""), (digest, "")):
            page = ask(browser, given, of_type)
            assert "would be served" in page
            assert f"CHANNEL#{kind}#{digest}" in page
        assert digest in unescape(browser.get("/tenants/outlocks/channels/").content.decode())
    for searched in (digest, f"{kind}:{digest}"):
        page = unescape(olga.post("/search/", {"typed": searched}, follow=True).content.decode())
        assert "/tenants/outlocks/channels/" in page
