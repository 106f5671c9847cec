"""The guard in front of every view."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client

from console.audit.queries import trail_page
from console.permissions import Role
from console.staff import accounts, services
from console.staff.authentication import record_denial
from console.trail.recording import staff_trail
from tests import faults
from tests.people import as_staff
from tests.store.console.staff.conftest import ADMIN, PASSWORD


def denials(store) -> list[dict]:
    return [item for item in store.all("AUDIT") if item["action_type"] == "staff.denied"]


def test_view_that_declares_nothing_is_closed_to_everyone(store, agent, client, sign_in):
    assert client.get("/undeclared/").status_code == 403
    sign_in(client)
    services.create("ada.admin", PASSWORD, role=Role.ADMIN, scope=["*"], actor=ADMIN)
    admin = Client()
    admin.post("/sign-in/", {"username": "ada.admin", "password": PASSWORD})
    assert admin.get("/").status_code == 200
    for each in (client, admin):
        answer = each.get("/undeclared/")
        assert answer.status_code == 403
        assert b"should never be seen" not in answer.content


def test_public_view_reads_nothing_even_with_a_session(store, client, sign_in):
    sign_in(client)
    with store.calls() as calls:
        assert client.get("/about/").content == b"staff: None"
    assert calls == []


def test_guarded_view_costs_one_batch_read(store, client, sign_in):
    sign_in(client)
    with store.calls() as calls:
        assert client.get("/queue/").content == b"queue of amira.haddad"
    assert [call.operation for call in calls] == ["BatchGetItem"]


def test_guest_is_led_to_sign_in_and_back(store, agent, client):
    answer = client.get("/queue/?company=ci-cuc-001&tab=mine")
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/sign-in/?next=%2Fqueue%2F%3Fcompany%3Dci-cuc-001%26tab%3Dmine",
    )
    page = client.get(answer["Location"]).content.decode()
    assert 'value="/queue/?company=ci-cuc-001&amp;tab=mine"' in page


def test_guest_who_sends_a_form_is_told_that_nothing_was_done(store, client):
    answer = client.post("/queue/", headers={"Referer": "http://testserver/queue/?tab=mine"})
    assert answer.status_code == 401
    assert "Nothing you just sent was saved" in answer.content.decode()
    assert 'href="/sign-in/?next=%2Fqueue%2F%3Ftab%3Dmine"' in answer.content.decode()


@pytest.mark.parametrize(
    "referer", ["http://evil.example/queue/", "http://testserver.evil.example/", "http://testserver//evil.example/"]
)
def test_foreign_referer_leads_nowhere(store, client, referer):
    answer = client.post("/queue/", headers={"Referer": referer})
    assert 'href="/sign-in/"' in answer.content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_guest_with_a_page_open_is_led_to_sign_in_by_htmx(store, client, method):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/queue/?tab=mine"}
    answer = getattr(client, method)("/queue/", headers=headers)
    assert (answer.status_code, answer["HX-Redirect"]) == (401, "/sign-in/?next=%2Fqueue%2F%3Ftab%3Dmine")


def test_htmx_request_from_a_foreign_page_leads_only_to_sign_in(store, client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://evil.example/queue/"}
    assert client.get("/queue/", headers=headers)["HX-Redirect"] == "/sign-in/"


def test_stale_cookie_is_forgotten(store, client, sign_in):
    sign_in(client)
    services.end_sessions("amira.haddad", actor=ADMIN)
    assert client.get("/queue/").status_code == 302
    assert client.cookies["session"].value == ""


@pytest.mark.parametrize("headers", [{"X-Poll": "1"}, {"X-Poll": "1", "HX-Request": "true"}])
def test_what_a_page_asks_by_itself_leaves_the_cookie_which_may_be_a_newer_session_s(store, client, sign_in, headers):
    sign_in(client)
    services.end_sessions("amira.haddad", actor=ADMIN)
    assert client.get("/queue/", headers=headers).status_code in (302, 401)
    assert client.cookies["session"].value


def test_role_without_the_permission_is_refused_and_that_is_in_the_trail(store, client, sign_in):
    sign_in(client)
    assert client.get("/system/").status_code == 403
    [entry] = denials(store)
    assert entry["conversation_id"] == staff_trail("amira.haddad")
    assert '"system/"' in entry["action_payload_redacted"]
    assert entry["result"] == "failed: the role agent lacks system:read"


def test_refusal_by_a_view_is_in_the_trail_by_its_route_not_its_url(store, client, sign_in):
    sign_in(client)
    assert client.get("/refused-inside/personal-key/").status_code == 403
    [entry] = denials(store)
    assert "refused-inside/<str:ref>/" in entry["action_payload_redacted"]
    assert "personal-key" not in str(entry)
    assert entry["result"].startswith("failed: the role agent")


def test_refusal_stands_when_it_cannot_be_recorded(store, client, sign_in):
    sign_in(client)
    with faults.fail_before("UpdateItem", table_key="AUDIT") as fault:
        assert client.get("/system/").status_code == 403
    assert fault.struck


@pytest.mark.parametrize("method", ["get", "post"])
def test_failing_store_is_503_and_leaves_the_person_signed_in(store, client, sign_in, method):
    sign_in(client)
    with faults.fail_before("BatchGetItem"):
        answer = getattr(client, method)("/queue/")
    assert answer.status_code == 503
    assert client.cookies["session"].value
    assert client.get("/queue/").status_code == 200


def test_failing_store_is_a_fragment_for_htmx(store, client, sign_in):
    sign_in(client)
    with faults.fail_before("BatchGetItem"):
        answer = client.get("/queue/", headers={"HX-Request": "true"})
    assert answer.status_code == 503
    assert b"<html" not in answer.content
    assert "HX-Redirect" not in answer


def test_absent_tables_are_503(bare_store, client):
    bare_store.create_tables("STAFF")
    from console import refs

    client.cookies["session"] = refs.seal("session", "amira.haddad", "x")
    assert client.get("/queue/").status_code == 503


def test_polling_does_not_touch_the_session(store, client, sign_in, later):
    sign_in(client)
    later(minutes=10)
    with store.calls() as calls:
        client.get("/queue/", headers={"HX-Request": "true", "X-Poll": "1"})
        assert [call.operation for call in calls] == ["BatchGetItem"]
        client.get("/queue/", headers={"HX-Request": "true"})
    assert [call.operation for call in calls] == ["BatchGetItem", "BatchGetItem", "UpdateItem"]


def test_post_needs_a_csrf_token_before_anything_is_read(store, agent):
    client = Client(enforce_csrf_checks=True)
    with store.calls() as calls:
        assert client.post("/queue/").status_code == 403
    assert calls == []


def test_unknown_address_is_404_without_a_read(store, client, sign_in):
    sign_in(client)
    with store.calls() as calls:
        assert client.get("/nothing/").status_code == 404
    assert calls == []


def test_who_has_an_empty_scope_can_sign_in(store, client):
    services.create("new.person", PASSWORD, role=Role.AGENT, actor=ADMIN)
    client.post("/sign-in/", {"username": "new.person", "password": PASSWORD})
    assert client.get("/").content == b"home of new.person"


def test_empty_scope_is_told_kindly():
    from django.template.loader import render_to_string

    text = render_to_string("staff/_empty_scope.html")
    assert "Nothing is in your scope yet" in text
    assert "administrator" in text


@pytest.mark.parametrize(("zone", "shown"), [("Asia/Tokyo", b"Asia/Tokyo"), ("Mars/Olympus", b"UTC"), ("../x", b"UTC")])
def test_times_are_in_the_zone_of_the_person_who_asks_only(store, client, sign_in, zone, shown):
    store.update("STAFF", {"username": "amira.haddad"}, time_zone=zone)
    sign_in(client)
    assert client.get("/clock/").content == shown
    assert client.get("/public-clock/").content == b"UTC"


def test_refusals_of_one_person_and_route_in_a_minute_are_one_entry_that_counts(store, client, sign_in, later):
    later(seconds=0, stands=True)
    sign_in(client)
    for _ in range(12):
        assert client.get("/undeclared/").status_code == 403
        assert client.get("/staff/").status_code == 403
    counted = {json.loads(each["action_payload_redacted"])["route"]: each for each in denials(store)}
    assert {route: each.get("times") for route, each in counted.items()} == {"staff/": 12}
    assert len(denials(store)) == 1
    later(seconds=60, stands=True)
    assert client.get("/staff/").status_code == 403
    assert sorted(each.get("times", 1) for each in denials(store)) == [1, 12]
    page = trail_page(staff_trail("amira.haddad"), as_staff(accounts.find("amira.haddad")))
    told = [row.sentence for row in page.rows if row.action == "staff.denied"]
    assert [words.partition(", ")[2] for words in told] == ["", "12 times"]


@pytest.mark.slow
def test_refusals_at_the_same_moment_are_all_counted(store, agent):
    staff = as_staff(accounts.find("amira.haddad"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: record_denial(staff, "staff/", "GET"), range(40)))
    assert sum(each.get("times", 1) for each in denials(store)) == 40
    assert len(denials(store)) <= 2
