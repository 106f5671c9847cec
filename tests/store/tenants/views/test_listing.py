"""`/tenants/`: the list, its filter, and what it costs."""

import html
import json
import re
from urllib.parse import urlencode

import pytest

from console.store import calls
from tenants import channels
from tests.people import member, signed_in
from tests.support.tenants.items import SETTINGS, mapping, tenant, user
from tests.support.tenants.kit import BOT, OLGA, put_tenants

pytestmark = pytest.mark.pages


def body(response) -> str:
    return response.content.decode()


def test_the_list_has_name_id_status_and_day(store, olga):
    put_tenants(store)
    store.put("TENANTS", tenant("acme", status="suspended"))
    page = body(olga.get("/tenants/"))
    for words in ("Outlocks", "<code>outlocks</code>", "active", "suspended", "21 Feb"):
        assert words in page
    assert page.index("Acme") < page.index("Outlocks")


def test_tenants_out_of_scope_are_not_listed(store, olga):
    put_tenants(store, "outlocks", "secret-customer")
    page = body(olga.get("/tenants/"))
    assert "outlocks" in page
    assert "secret" not in page


def test_the_status_filter_lists_that_status_only(store, olga):
    put_tenants(store)
    store.put("TENANTS", tenant("acme", status="suspended"))
    page = body(olga.get("/tenants/?status=suspended"))
    assert "Acme" in page
    assert "Outlocks" not in page
    assert "No tenant has this status" in body(olga.get("/tenants/?status=onboarding"))


def test_a_filter_that_is_none_is_named_and_left_out(store, olga):
    put_tenants(store)
    page = body(olga.get("/tenants/?status=junk"))
    assert "This filter was ignored" in page
    assert "Outlocks" in page


def test_htmx_gets_the_list_alone(store, olga):
    put_tenants(store)
    page = body(olga.get("/tenants/", HTTP_HX_REQUEST="true"))
    assert page.lstrip().startswith('<div id="tenants">')
    assert "<html" not in page


def test_pages_go_on_and_back(store):
    browser = signed_in(member("ada.admin", "admin", ["*"]))
    store.put_all("TENANTS", [tenant(f"t{number:03}") for number in range(70)])
    first = body(browser.get("/tenants/"))
    assert "t049" in first
    assert "t050" not in first
    following = first.split('rel="next" href="')[1].split('"')[0]
    second = body(browser.get(following))
    assert "t050" in second
    assert "t049" not in second


def test_the_list_costs_one_request_beside_the_session(store, olga):
    put_tenants(store)
    calls.recent_costs.clear()
    olga.get("/tenants/")
    assert calls.recent_costs[-1].calls == 2


def readiness_in(page: str) -> list[str]:
    """What each cell says, in the order of the rows."""
    cells = re.findall(r'<span id="ready-[0-9a-f]{16}" hx-swap-oob="true">(.*?)</span>\n', page)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).split()) for each in cells]


def test_the_rows_say_how_ready_each_tenant_is(store, olga):
    ready = json.dumps(SETTINGS | {"enabled_channels": ["dashboard", "teams"]})
    store.put_all("TENANTS", [tenant("acme", settings=ready), user("admin", "acme"), tenant("outlocks", settings="{")])
    channels.claim("acme", BOT, OLGA)
    listed = body(olga.get("/tenants/"))
    address = html.unescape(re.search(r'hx-get="([^"]*)" hx-trigger="load"', listed)[1])
    page = body(olga.get(address, HTTP_HX_REQUEST="true"))
    assert readiness_in(page) == ["Ready", "5 things to fix"]
    assert re.findall(r'id="(ready-[0-9a-f]*)"', page) == re.findall(r'id="(ready-[0-9a-f]*)"', listed)


def test_a_clash_is_said_in_the_row_and_names_no_tenant_out_of_scope(store, olga):
    put_tenants(store, "outlocks", "secret-customer")
    store.put_all("TENANTS", [mapping(), mapping(tenant_id="secret-customer")])
    store.put("TENANTS", {"pk": BOT.key, "sk": "OWNER", "tenant_id": "secret-customer"})
    page = body(olga.get("/tenants/?readiness=1", HTTP_HX_REQUEST="true"))
    assert readiness_in(page)[0].startswith("clash")
    assert "secret-customer" not in page


def test_a_guard_without_its_mapping_is_no_clash(store, olga):
    put_tenants(store, "outlocks")
    store.put_all("TENANTS", [mapping(), {"pk": BOT.key, "sk": "OWNER", "tenant_id": "acme"}])
    assert "clash" not in body(olga.get("/tenants/?readiness=1", HTTP_HX_REQUEST="true"))


def test_readiness_of_a_whole_page_costs_two_queries_for_each_tenant(store):
    browser = signed_in(member("ada.admin", "admin", ["*"]))
    store.put_all("TENANTS", [each for n in range(60) for each in (tenant(f"t{n:03}"), mapping(tenant_id=f"t{n:03}"))])
    browser.get("/tenants/")
    with store.calls() as seen:
        page = body(browser.get("/tenants/?readiness=1", HTTP_HX_REQUEST="true"))
    assert len(readiness_in(page)) == 50
    # The session, the list, two for each tenant, the guards of a channel.
    assert len(seen) == 1 + 1 + 100 + 1


def test_a_deleted_tenant_has_no_readiness(store, olga):
    store.put_all("TENANTS", [tenant("outlocks", status="deleted"), user("admin")])
    assert "ready-" not in body(olga.get("/tenants/"))
    assert readiness_in(body(olga.get("/tenants/?readiness=1", HTTP_HX_REQUEST="true"))) == []


def test_nothing_in_scope_offers_a_beginning(store):
    browser = signed_in(member("new.person", "onboarding", []))
    page = body(browser.get("/tenants/"))
    assert "No tenants in your scope" in page
    assert 'href="/tenants/new/"' in page


def test_an_auditor_reads_and_is_offered_nothing_to_write(store, aiko):
    put_tenants(store)
    page = body(aiko.get("/tenants/"))
    assert "Outlocks" in page
    assert "/tenants/new/" not in page


def test_agents_see_none_of_it(store, amira):
    put_tenants(store)
    answer = amira.get("/tenants/")
    assert answer.status_code == 403
    assert "Outlocks" not in body(answer)
    assert "/tenants/" not in body(amira.get("/account/"))


def test_open_leads_to_a_tenant(store, olga):
    assert olga.get("/tenants/?" + urlencode({"open": " outlocks "}))["Location"] == "/tenants/outlocks/"


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_other_methods_are_refused(store, olga, method):
    assert getattr(olga, method)("/tenants/").status_code == 405


@pytest.mark.parametrize("tenant_id", ["447700900123", "new", "a/b", "ü", "~x", "a b"])
def test_ids_that_no_address_can_hold_are_sealed(store, tenant_id):
    browser = signed_in(member("ada.admin", "admin", ["*"]))
    store.put("TENANTS", tenant(tenant_id, name="Odd"))
    page = body(browser.get("/tenants/"))
    url = page.split('data-open href="')[1].split('"')[0]
    assert url.startswith("/tenants/~")
    assert tenant_id not in url
    assert browser.get(url).status_code == 200
