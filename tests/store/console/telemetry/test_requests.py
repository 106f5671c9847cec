"""Each request: its id, its line in the log, and its place in the metrics."""

import json
import logging
import re

import pytest
from django.test import Client
from django.urls import get_resolver

from console.errors import StoreUnavailable
from console.logs import without_secrets
from console.middleware import POLL_HEADER
from console.store.calls import submit
from console.store.connection import call
from tests import faults
from tests.people import COMPANY, member, signed_in
from tests.store.console.telemetry.kit import counting, lines_of
from tests.unit.test_architecture import routes

GIVEN = "0123456789abcdef0123456789abcdef"
UUID = "123E4567-e89b-12d3-a456-426614174000"


def line_of(client, *asked, method="get", **given):
    """The one line of a request, as JSON, and its answer."""
    with lines_of("console.request") as found:
        answer = getattr(client, method)(*asked, **given)
    [line] = found
    return line, answer


def test_a_line_says_by_which_route_for_which_role_and_what_it_cost(store):
    client = signed_in(member("amira.haddad"))
    client.get("/queue/")
    line, answer = line_of(client, "/queue/?channel=sms", headers={POLL_HEADER: "1", "HX-Request": "true"})
    assert answer.status_code == 200
    assert {name: line[name] for name in ("method", "route", "role", "status", "htmx", "poll", "deadline_missed")} == {
        **{"method": "GET", "route": "/queue/", "role": "agent", "status": 200},
        **{"htmx": True, "poll": True, "deadline_missed": False},
    }
    assert line["dynamodb_calls"] > 0
    assert line["dynamodb_units"] > 0
    assert line["ms"] >= line["dynamodb_ms"] / 10 > 0
    assert (line["retries"], line["throttles"]) == (0, 0)
    assert line["request_id"] == answer.headers["X-Request-ID"]
    assert "amira" not in json.dumps(line)
    assert without_secrets(json.dumps(line)) == json.dumps(line), "the line is written as it is"


def test_no_route_has_a_word_that_would_be_masked():
    lines = [f"GET /{route} 200" for route, _ in routes(get_resolver().url_patterns)]
    assert len(lines) > 100
    assert [each for each in lines if without_secrets(each) != each] == []


@pytest.mark.parametrize("path", ["/sign-in/?next=/queue/heliotrope", "/conversations/heliotrope/", "/heliotrope"])
def test_no_address_is_in_a_line(store, path):
    line, _ = line_of(signed_in(member()), path)
    assert "heliotrope" not in json.dumps(line)
    assert line["route"] in ("/sign-in/", "/conversations/<str:ref>/", "/conversations/<ref>/", "unmatched")


def test_a_public_page_has_no_role_and_an_unknown_method_no_name(client):
    line, answer = line_of(client, "/sign-in/")
    assert (line["role"], answer.status_code) == ("", 200)
    with counting("console_http_requests_total", route="/sign-in/", method="OTHER", status="405") as grown:
        line, _ = line_of(client, "HELIOTROPE", "/sign-in/", method="generic")
    assert (line["method"], grown()) == ("OTHER", 1)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_and_scrapes_are_neither_told_nor_counted(store, client, path, settings):
    settings.METRICS_TOKEN = "x" * 40
    with lines_of("console.request") as found:
        answer = client.get(path)
    assert found == []
    assert "X-Request-ID" not in answer.headers


def test_static_files_are_one_route(client):
    with counting("console_http_requests_total", route="static", method="GET", status="200") as grown:
        assert line_of(client, "/static/css/base.css")[0]["route"] == "static"
    assert grown() == 1


@pytest.mark.parametrize(
    ("proxies", "given", "taken"),
    [
        (1, GIVEN, GIVEN),
        (1, UUID, UUID.lower()),
        (0, GIVEN, None),
        (1, "", None),
        (1, "447123454821", None),
        (1, "0" * 33, None),
        (1, f"{GIVEN}\n", None),
        (1, "heliotrope", None),
        (1, "０" * 32, None),
    ],
)
def test_an_id_is_taken_from_our_own_proxy_alone_and_only_if_it_is_one(client, settings, proxies, given, taken):
    settings.TRUSTED_PROXIES = proxies
    answer = client.get("/sign-in/", HTTP_X_REQUEST_ID=given)
    found = answer.headers["X-Request-ID"]
    assert re.fullmatch(r"[0-9a-f-]{32,36}", found)
    if taken:
        assert found == taken
    else:
        assert found not in (given, given.strip())


@pytest.mark.parametrize("failure", [RuntimeError("heliotrope"), StoreUnavailable("The database did not answer.")])
def test_of_an_answer_that_failed_the_log_has_the_route_and_no_address(store, monkeypatch, failure):
    def fail(*_, **__):
        raise failure

    client = signed_in(member(scope=[COMPANY]))
    client.raise_request_exception = False
    monkeypatch.setattr("conversations.lists.views.lists.read_list", fail)
    with lines_of("django.request") as told:
        answer = client.get(f"/conversations/companies/{COMPANY}/")
    route = "/conversations/companies/<str:company_id>/"
    if answer.status_code == 500:
        assert [each["message"] for each in told] == [f"Not answered: {route}"]
        assert told[0]["request_id"] == answer.headers["X-Request-ID"]
    else:
        # The request's own line says it.
        assert (answer.status_code, told) == (503, [])


def test_all_lines_of_a_request_have_its_id_those_of_other_threads_too(store, monkeypatch):
    logger = logging.getLogger("console.test.within")

    def fail(*_):
        logger.warning("within")
        submit(logger.warning, "beside").result()
        raise RuntimeError("heliotrope")

    client = signed_in(member())
    client.raise_request_exception = False
    monkeypatch.setattr("console.help.render", fail)
    with lines_of(logger.name) as within, lines_of("django.request") as failed:
        answer = client.get("/help/")
        logger.warning("after")
    assert [each.get("request_id") for each in (*within, *failed)] == [answer.headers["X-Request-ID"]] * 2 + [
        None,
        answer.headers["X-Request-ID"],
    ]
    assert "RuntimeError" in failed[0]["exception"]


def test_retries_throttles_and_missed_deadlines_are_in_the_line_and_counted(store, settings):
    client = signed_in(member())
    code = "ProvisionedThroughputExceededException"
    where = {"operation": "BatchGetItem", "table": "STAFF"}
    with (
        counting("console_dynamodb_throttles_total", **where) as throttles,
        counting("console_dynamodb_retries_total", **where) as retries,
        counting("console_dynamodb_failures_total", **where) as failures,
        faults.refuse("BatchGetItem", code=code, times=2),
    ):
        line, answer = line_of(client, "/account/")
    assert (answer.status_code, line["retries"], line["throttles"]) == (200, 2, 2)
    assert (throttles(), retries(), failures()) == (2, 2, 0)
    settings.REQUEST_DEADLINE_SECONDS = 1.0
    with counting("console_deadlines_missed_total") as missed:
        line, answer = line_of(client, "/account/")
    assert (answer.status_code, line["deadline_missed"], missed()) == (503, True, 1)


def test_calls_and_their_units_are_counted_by_the_key_of_each_table(store):
    where = {"operation": "BatchGetItem", "table": "STAFF_SESSIONS"}
    client = signed_in(member())
    with (
        counting("console_dynamodb_calls_total", **where) as calls,
        counting("console_dynamodb_consumed_units_total", **where) as units,
    ):
        client.get("/account/")
    assert calls() == 1
    assert units() > 0


def test_what_fails_for_good_is_counted_and_a_condition_is_not(store):
    where = {"operation": "GetItem", "table": "CONSOLE"}
    key = {"TableName": store.name("CONSOLE"), "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}
    with counting("console_dynamodb_failures_total", **where) as failed:
        with faults.fail_before("GetItem", times=faults.ALWAYS), pytest.raises(Exception, match="did not answer"):
            call("GetItem", **key)
        with (
            faults.refuse("GetItem", code="ConditionalCheckFailedException"),
            pytest.raises(Exception, match="changed"),
        ):
            call("GetItem", **key)
    assert failed() == 1


def test_an_error_of_ours_is_counted_as_the_500_that_people_see(store, monkeypatch):
    client = signed_in(member())
    client.raise_request_exception = False
    monkeypatch.setattr("console.help.render", lambda *_: 1 / 0)
    line, answer = line_of(client, "/help/")
    assert (answer.status_code, line["status"], line["route"]) == (500, 500, "/help/")


def test_a_refused_host_has_its_line_too():
    line, answer = line_of(Client(), "/", headers={"host": "heliotrope.example"})
    assert (answer.status_code, line["route"]) == (400, "unmatched")
    assert "heliotrope" not in json.dumps(line)
