"""Health, home, system and error pages, and the headers that every answer carries."""

import pytest
from botocore.exceptions import NoCredentialsError
from django.conf import settings
from django.test import Client

from console.schema.tables import TABLES
from console.store import calls
from tests import faults
from tests.people import admin, auditor, member, signed_in


def test_liveness_needs_no_store_and_no_sign_in():
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_readiness_follows_the_store(store):
    assert Client().get("/readyz").status_code == 200
    with faults.fail_before("BatchGetItem", times=faults.ALWAYS):
        assert Client().get("/readyz").status_code == 503


@pytest.mark.parametrize(
    ("person", "url"),
    [
        (lambda: member(), "/queue/"),
        (lambda: member("ola", "onboarding"), "/tenants/"),
        (lambda: auditor(), "/audit/"),
        (lambda: admin(), "/queue/"),
    ],
)
def test_home_is_where_the_work_of_the_role_begins(store, person, url):
    answer = signed_in(person()).get("/")
    assert (answer.status_code, answer["Location"]) == (302, url)


def test_every_answer_carries_the_security_headers(store):
    for answer in (Client().get("/sign-in/"), Client().get("/nowhere/"), signed_in(member()).get("/conversations/")):
        assert answer["Cache-Control"] == "no-store"
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert "camera=()" in answer["Permissions-Policy"]
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_unknown_pages_and_wrong_methods_have_designed_answers(store):
    client = signed_in(member())
    missing = client.get("/nowhere/")
    assert missing.status_code == 404
    assert b"Page not found" in missing.content
    wrong = client.post("/conversations/")
    assert wrong.status_code == 405
    assert b"does not work that way" in wrong.content
    assert wrong["Allow"] == "GET, HEAD"


def test_a_forged_form_is_refused_with_words(store):
    account = member()
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in(account).cookies
    answer = strict.post("/queue/release-mine/")
    assert answer.status_code == 403
    assert b"This form is no longer valid" in answer.content


def test_a_role_without_the_permission_is_told(store):
    answer = signed_in(member()).get("/system/")
    assert answer.status_code == 403
    assert b"not part of your role" in answer.content
    # Nothing failed, so there is nothing to look for in the log.
    assert b"Reference" not in answer.content


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("ProvisionedThroughputExceededException", 429, b"busy"),
        ("InternalServerError", 503, b"did not answer"),
        ("AccessDeniedException", 503, b"lacks the rights"),
        ("ExpiredTokenException", 503, b"lacks the rights or credentials"),
    ],
)
def test_a_failing_store_is_said_and_never_taken_for_absence(store, code, status, words):
    client = signed_in(member())
    with faults.refuse("Query", code=code, times=faults.ALWAYS):
        answer = client.get("/conversations/companies/ci-aaa-001/")
    assert answer.status_code == status
    assert words in answer.content
    assert f"Reference <code>{answer['X-Request-ID']}</code>" in answer.content.decode()
    # Of what stays so until somebody sets it right, no time is told.
    assert answer.headers.get("Retry-After") == (None if b"lacks" in words else "5")
    assert (b"Tell an administrator" in answer.content) == (b"lacks" in words)


def test_a_fragment_gets_a_fragment(store):
    client = signed_in(member())
    with faults.refuse("Query", code="InternalServerError"):
        answer = client.get("/conversations/companies/ci-aaa-001/", headers={"HX-Request": "true"})
    assert answer.status_code == 503
    assert b"<html" not in answer.content
    assert answer["X-Request-ID"] in answer.content.decode()
    assert answer["HX-Retarget"] == "#problem"


def test_the_system_page_shows_tables_and_costs_without_personal_data(store):
    client = signed_in(admin())
    client.get("/conversations/companies/ci-aaa-001/")
    answer = client.get("/system/")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "conversations-test" in text
    assert "GET /conversations/companies/&lt;str:company_id&gt;/" in text
    assert calls.recent_costs[-1].calls >= 1


def test_the_system_page_names_what_is_absent(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")
    text = signed_in(admin()).get("/system/").content.decode()
    assert text.count("absent</") >= 10


def test_an_absent_table_is_a_designed_state_of_its_section(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")
    answer = signed_in(member()).get("/conversations/companies/ci-aaa-001/")
    assert answer.status_code == 200
    assert b"is not available in this environment" in answer.content


def test_the_system_page_describes_each_table_by_itself(store):
    client = signed_in(admin())
    lacks = {"where": lambda asked: asked["TableName"] == "Chats-test"}
    with faults.refuse("DescribeTable", code="AccessDeniedException", times=faults.ALWAYS, **lacks):
        text = client.get("/system/").content.decode()
    assert text.count("lacks dynamodb:DescribeTable on Chats-test: see manage.py tables policy") == 1
    assert text.count("<tr>\n      <th") == len(TABLES)
    assert "unknown" in text


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda: faults.refuse("DescribeTable", code="InternalServerError", times=faults.ALWAYS), "could not answer"),
        (lambda: no_credentials("DescribeTable"), "There are no AWS credentials"),
    ],
)
def test_the_system_page_says_once_what_all_tables_have_in_common(store, fault, words):
    client = signed_in(admin())
    with fault():
        text = client.get("/system/").content.decode()
    assert text.count(words) == 1
    assert "The tables could not be described" in text


def no_credentials(operation):
    def fail():
        raise NoCredentialsError

    return faults.before(operation, fail, times=faults.ALWAYS)


def test_missing_rights_and_credentials_are_logged_once_each_with_what_is_missing(store, caplog, monkeypatch):
    monkeypatch.setattr("console.store.connection._reported", set())
    client = signed_in(member())
    for fault in (faults.refuse("Query", code="AccessDeniedException", times=faults.ALWAYS), no_credentials("Query")):
        with fault:
            for _ in range(3):
                answer = client.get("/conversations/companies/ci-aaa-001/")
                assert answer.status_code == 503
                assert "dynamodb:" not in answer.content.decode()
    lines = [record.getMessage() for record in caplog.records if record.name == "console.store.connection"]
    assert [line for line in lines if "lacks dynamodb:Query on conversations-test" in line] == lines[:1]
    assert [line for line in lines if "no AWS credentials" in line] == lines[1:]
    assert len(lines) == 2


def test_why_the_store_failed_is_in_the_log_without_keys(store, caplog, monkeypatch):
    monkeypatch.setattr("console.store.connection._reported", set())
    client = signed_in(member())
    with faults.refuse("Query", code="AccessDeniedException", message="key +447700900123", times=faults.ALWAYS):
        assert client.get("/queue/").status_code == 503
    assert "(AccessDeniedException)" in caplog.text
    assert "447700900123" not in caplog.text


def test_a_refused_host_is_told_in_a_page_and_never_printed_unredacted():
    answer = Client().get("/sign-in/", headers={"host": "jo@example.com"})
    assert answer.status_code == 400
    assert "Bad request" in answer.content.decode()
    logger = settings.LOGGING["loggers"]["django.security"]
    # A logger without any handler falls back to Python's own, which prints message and traceback as they are.
    assert logger["handlers"] or logger["propagate"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_by_address_and_plain_http_are_answered(store, settings, path):
    settings.SECURE_SSL_REDIRECT = True
    answer = Client(SERVER_NAME="10.1.2.3").get(path)
    assert answer.status_code == 200
    assert Client(SERVER_NAME="10.1.2.3").post(path).status_code == 405
