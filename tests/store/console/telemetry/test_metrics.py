"""`/metrics`: who may scrape it, what it says of everything, and that it holds nothing of anybody."""

import re
import socket
import time
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from console import instrumentation
from console.provisioning.policies import POLICIES
from console.store import calls
from console.telemetry import exposition, state
from console.telemetry.starting import working
from conversations.companies import register
from conversations.outbox.rows import NOT_PLACED, MessageRow
from tests import faults
from tests.items import put_conversation
from tests.people import admin, member, signed_in
from tests.queue import filled
from tests.store.console.telemetry.kit import CANARIES, EMAIL, PHONE, TOKEN, WORDS, counting, lines_of, value

AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def scraped(settings, client, monkeypatch):
    """Scrape, with nothing remembered of scrapes before."""
    settings.METRICS_TOKEN = TOKEN

    def scrape():
        monkeypatch.setattr(exposition, "_state", state.StateCollector())
        answer = client.get("/metrics", headers=AUTHORIZED)
        assert answer.status_code == 200
        return answer.content.decode()

    return scrape


def samples(text):
    """Values by name and labels."""
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_without_a_token_there_is_no_such_address(store, client, settings):
    settings.METRICS_TOKEN = ""
    absent = client.get("/metrics", headers=AUTHORIZED)
    nothing = client.get("/another", headers=AUTHORIZED)
    assert absent.status_code == nothing.status_code == 404
    pages = [re.sub(rb'"X-CSRFToken": "\w+"', b"", each.content) for each in (absent, nothing)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer é\udc80", TOKEN, f"Basic {TOKEN}"],
)
def test_who_does_not_have_the_token_learns_nothing(client, settings, given):
    settings.METRICS_TOKEN = TOKEN
    answer = client.get("/metrics", HTTP_AUTHORIZATION=given)
    assert (answer.status_code, answer.content) == (401, b"unauthorized\n")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_other_methods_than_reading_are_refused(client, settings):
    settings.METRICS_TOKEN = TOKEN
    assert client.post("/metrics", headers=AUTHORIZED).status_code == 405


def test_a_scrape_comes_by_any_host_over_http(store, client, settings):
    settings.METRICS_TOKEN, settings.SECURE_SSL_REDIRECT = TOKEN, True
    answer = client.get("/metrics", headers={**AUTHORIZED, "host": "10.1.2.3"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


def test_every_metric_is_there_and_nothing_personal_in_it(store, scraped):
    """Canaries in addresses, forms, headers and items; and in what labels are made of."""
    put_conversation(
        store,
        primary_channel=PHONE,
        company_id=WORDS[0],
        recipient_email=EMAIL,
        hand_off_to_human=True,
        hand_off_to_human_reason=WORDS[1],
        gsi_hand_off_queue=f"waiting#{WORDS[0]}",
        conversation_id=WORDS[2],
    )
    client = signed_in(admin(WORDS[3]))
    client.raise_request_exception = False
    for path in ("/queue/", f"/{WORDS[4]}", f"/conversations/{WORDS[4]}/", f"/search/?q={PHONE}", "/system/"):
        client.get(path, headers={"X-Request-ID": WORDS[5], "User-Agent": EMAIL}, HTTP_COOKIE=WORDS[5])
        client.post(path, {"q": EMAIL, "username": WORDS[5]})
        client.generic(WORDS[5].upper(), path)
    client.post("/sign-in/", {"username": WORDS[5], "password": PHONE})
    text = scraped()
    assert not [canary for canary in CANARIES if canary.lower() in text.lower()]
    assert "console_http_requests_total{" in text
    assert {name for (name, _) in samples(text) if name.startswith("console_queue")} <= {
        each.name for each in state.gauges()
    }


def test_the_work_and_the_queue_are_read_at_most_every_half_minute(store, client, settings, monkeypatch):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(exposition, "_state", state.StateCollector())
    with store.calls() as first:
        client.get("/metrics", headers=AUTHORIZED)
    with store.calls() as again:
        client.get("/metrics", headers=AUTHORIZED)
    assert first
    assert again == []
    later = time.monotonic() + state.SECONDS + 1
    monkeypatch.setattr("console.telemetry.state.time.monotonic", lambda: later)
    with store.calls() as anew:
        client.get("/metrics", headers=AUTHORIZED)
    assert anew


def test_a_scrape_does_what_the_policy_of_the_web_servers_allows(store, scraped):
    filled(store)
    register("ci-aaa-001", "A", "test", "2026-01-01T00:00:00Z")
    with store.calls() as made:
        scraped()
    allowed = {each.table: each for each in POLICIES["web"]}
    assert {each.operation for each in made} == {"Query", "BatchGetItem", "DescribeTable"}
    for each in made:
        for table in each.tables:
            assert each.index in allowed[table].indexes if each.index else each.operation in allowed[table].actions, (
                each
            )


def test_a_scrape_never_fails_and_says_what_could_not_be_read(store, scraped):
    filled(store)
    before = {each: value("console_scrape_errors_total", source=each) for each in ("work", "messages")}
    with faults.fail_before("", times=faults.ALWAYS), lines_of("console.telemetry.state") as lines:
        text = scraped()
    found = samples(text)
    assert not [name for name, _ in found if name.startswith(("console_worker_last", "console_work_overdue"))]
    for source, count in before.items():
        assert found["console_scrape_errors_total", (("source", source),)] == count + 1
    assert lines == []
    assert ("console_worker_last_seen_timestamp_seconds", (("worker", "indexer"),)) in samples(scraped())


def test_a_mistake_in_a_source_costs_its_numbers_alone_and_is_logged(store, scraped, monkeypatch):
    monkeypatch.setitem(state._sources, "work", (lambda: 1 / 0, ()))
    with lines_of("console.telemetry.state") as lines, counting("console_scrape_errors_total", source="work") as failed:
        text = scraped()
    assert "console_work_overdue_seconds{" in text
    assert failed() == 1
    assert "ZeroDivisionError" in lines[0]["exception"]


def test_a_scrape_waits_for_a_database_that_hangs_no_longer_than_prometheus_does(store, scraped):
    """Of all sources together an attempt begins only while its time-outs fit into what is left."""
    left = []

    def hang():
        left.append(calls.current_budget().remaining())
        calls.current_budget().deadline -= 4

    with faults.before("", hang), faults.fail_before("", retried=True, times=faults.ALWAYS):
        scraped()
    assert 1 <= len(left) <= 2
    assert state.DEADLINE_SECONDS + 4 <= 10


@pytest.mark.parametrize(
    ("form", "kind"),
    [({"username": "nobody.here"}, "unknown_name"), ({"username": "amira.haddad"}, "wrong_password")],
)
def test_refused_sign_ins_are_counted_by_why(store, client, form, kind):
    member("amira.haddad")
    with counting("console_sign_in_failures_total", kind=kind) as grown:
        client.post("/sign-in/", {**form, "password": "not the password"})
    assert grown() == 1


def test_sign_ins_that_are_too_many_are_counted(store, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 1
    with counting("console_sign_in_failures_total", kind="too_many_attempts") as grown:
        for _ in range(3):
            client.post("/sign-in/", {"username": "nobody.here", "password": "not the password"})
    assert grown() == 2


# --- The port of a worker ---------------------------------------------------------------------------------------------


def ask(port, path="/metrics", **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""


@pytest.fixture
def port(settings):
    with socket.create_server(("127.0.0.1", 0)) as found:
        settings.METRICS_PORT = found.getsockname()[1]
    return settings.METRICS_PORT


@pytest.mark.slow
def test_a_worker_has_a_port_for_as_long_as_it_works(port):
    with working("sender"):
        status, text = ask(port)
        assert (status, "console_replies_total" in text) == (200, True)
        assert ask(port, "/")[0] == 404
    with pytest.raises(OSError, match="refused"):
        ask(port)


@pytest.mark.slow
def test_a_worker_asks_for_the_token_too(port, settings):
    settings.METRICS_TOKEN = TOKEN
    with working("sender"):
        assert ask(port)[0] == 401
        assert ask(port, **AUTHORIZED)[0] == 200


def test_what_is_done_once_opens_no_port(port):
    with working("sender", once=True), pytest.raises(OSError, match="refused"):
        ask(port)


@pytest.mark.slow
def test_a_port_that_is_taken_stops_no_work(port):
    with working("sender"), lines_of("console.telemetry.exposition") as lines, working("timers"):
        assert ask(port)[0] == 200
    [line] = lines
    assert f"127.0.0.1:{port}" in line["message"]
    assert line["part"] == "timers"


def test_labels_of_two_tables_are_counted_for_each():
    with (
        counting("console_dynamodb_calls_total", operation="Test", table="STAFF") as one,
        counting("console_dynamodb_consumed_units_total", operation="Test", table="CONSOLE") as other,
    ):
        instrumentation.count_call("Test", ("STAFF", "CONSOLE"), 0.1, (1.0, 2.5))
    assert (one(), other()) == (1, 2.5)


def test_messages_that_were_not_placed_are_told(store, scraped):
    MessageRow(NOT_PLACED, "2026-01-01T00:00:00Z#a", body=PHONE).save()
    assert samples(scraped())["console_messages_not_placed", ()] == 1
