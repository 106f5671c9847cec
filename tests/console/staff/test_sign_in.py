"""Signing in and out through the pages."""

import logging
import re

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.views.debug import ExceptionReporter

from console.audit.actions import staff_trail
from console.staff import passwords, services, sessions
from tests import faults
from tests.console.staff.conftest import ADMIN, PASSWORD

REFUSED = "Username and password do not match"


def entries(store, trail: str, action: str) -> list[dict]:
    return [item for item in store.all("AUDIT") if (item["conversation_id"], item["action_type"]) == (trail, action)]


def visible(answer) -> str:
    """What a page shows, without what differs by chance (the CSRF token) or was typed."""
    text = re.sub(r'value="[^"]*"|"X-CSRFToken": "[^"]*"', "", answer.content.decode())
    return re.sub(r"\s+", " ", text)


def test_sign_in_page_offers_password_managers_their_fields(store, client):
    page = client.get("/sign-in/").content.decode()
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
    assert "csrfmiddlewaretoken" in page
    assert "Ask an administrator" in page


def test_right_password_opens_a_session_and_leads_home(store, agent, client):
    answer = client.post("/sign-in/", {"username": " Amira.Haddad ", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").content == b"home of amira.haddad"
    [session] = store.all("STAFF_SESSIONS")
    assert session["username"] == "amira.haddad"
    assert store.get("STAFF", username="amira.haddad")["last_sign_in_at"]
    [entry] = entries(store, staff_trail("amira.haddad"), "staff.sign_in")
    assert (entry["actor"], entry["actor_role"], entry["result"]) == ("amira.haddad", "agent", "success")


def test_table_holds_no_token_and_no_password(store, agent, client, sign_in):
    token = sign_in(client)
    everything = str([store.all(key) for key in ("STAFF", "STAFF_SESSIONS", "AUDIT")])
    assert token not in everything
    assert PASSWORD not in everything


def test_unknown_name_wrong_password_and_disabled_account_look_and_cost_the_same(store, agent, client, monkeypatch):
    services.create("gone.person", PASSWORD, role=agent.as_staff().role, actor=ADMIN)
    services.disable("gone.person", actor=ADMIN)
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *args: hashed.append(1) or encode(*args))
    seen = []
    for username, password in [
        ("nobody.here", PASSWORD),
        ("amira.haddad", "wrong password!!"),
        ("gone.person", PASSWORD),
        ("gone.person", "wrong password!!"),
    ]:
        hashed.clear()
        with store.calls() as calls:
            answer = client.post("/sign-in/", {"username": username, "password": password})
        operations = [call.operation for call in calls]
        seen.append((answer.status_code, visible(answer), len(hashed), operations, sorted(answer.cookies)))
    assert REFUSED in seen[0][1]
    assert seen[0][0] == 422
    assert seen[0][2] == 1
    assert seen[0][3] == ["GetItem", "PutItem"]
    assert seen.count(seen[0]) == 4
    assert store.all("STAFF_SESSIONS") == []


def test_failed_sign_ins_are_in_the_trail_with_their_reason(store, agent, client):
    client.post("/sign-in/", {"username": "amira.haddad", "password": "wrong password!!"})
    services.disable("amira.haddad", actor=ADMIN)
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    found = entries(store, staff_trail("amira.haddad"), "staff.sign_in_failed")
    assert [entry["result"] for entry in found] == ["failed: wrong password", "failed: disabled account"]
    assert {entry["actor"] for entry in found} == {"unknown"}


def test_unknown_name_is_in_the_trail_only_as_a_keyed_digest(store, agent, client):
    for name in ("my secret pass phrase", "my secret pass phrase", "other"):
        client.post("/sign-in/", {"username": name, "password": "whatever it was"})
    found = entries(store, "SYSTEM", "staff.sign_in_failed")
    assert "secret" not in str(found)
    payloads = [entry["action_payload_redacted"] for entry in found]
    assert len(payloads) == 3
    assert len(set(payloads)) == 2
    assert all(re.search(r'"name_hmac": "[a-p]{32}"', payload) for payload in payloads)


@pytest.mark.parametrize(
    "data", [{}, {"username": "amira.haddad"}, {"password": "x"}, {"username": "a\0b", "password": "c"}]
)
def test_incomplete_form_asks_again_without_a_read(store, agent, client, data):
    with store.calls() as calls:
        answer = client.post("/sign-in/", data)
    assert answer.status_code == 422
    assert calls == []


def test_password_is_never_sent_back(store, agent, client):
    answer = client.post("/sign-in/", {"username": "amira.haddad", "password": "typed-by-mistake"})
    assert b"typed-by-mistake" not in answer.content


def test_sign_in_makes_a_new_session_and_ends_the_old_one(store, client, sign_in):
    first = sign_in(client)
    csrf = client.cookies["csrf"].value
    second = sign_in(client)
    assert first != second
    assert csrf != client.cookies["csrf"].value
    assert [item["session_id"] for item in store.all("STAFF_SESSIONS")] == [sessions.read_token(second).session_id]
    copied = Client()
    copied.cookies["session"] = first
    assert copied.get("/")["Location"] == "/sign-in/"


def test_token_planted_before_sign_in_is_worth_nothing_after(store, agent, client):
    client.cookies["session"] = "planted"
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert client.cookies["session"].value != "planted"


def test_cookie_has_the_flags_of_the_settings(store, agent, client, settings):
    settings.SESSION_COOKIE_NAME = "__Host-session"
    settings.SESSION_COOKIE_SECURE = True
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}, secure=True)
    cookie = client.cookies["__Host-session"]
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")
    assert (cookie["path"], cookie["domain"], cookie["max-age"]) == ("/", "", 12 * 3600)
    client.post("/sign-out/", secure=True)
    cookie = client.cookies["__Host-session"]
    assert (cookie.value, cookie["max-age"], cookie["secure"]) == ("", 0, True)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    ("wanted", "led_to"),
    [
        ("/queue/?company=ci-cuc-001", "/queue/?company=ci-cuc-001"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("///evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("http://testserver/queue/", "/"),
        ("queue/", "/"),
        ("/queue/\r\nSet-Cookie: a=b", "/"),
        ("/" + "a" * 9000, "/"),
    ],
)
def test_sign_in_leads_only_to_paths_of_this_console(store, client, sign_in, agent, wanted, led_to, method):
    if method == "get":
        sign_in(client)
        answer = client.get("/sign-in/", {"next": wanted})
    else:
        answer = client.post("/sign-in/", {"username": agent.username, "password": PASSWORD, "next": wanted})
    assert (answer.status_code, answer["Location"]) == (302, led_to)


def test_destination_survives_a_wrong_password(store, agent, client):
    answer = client.post("/sign-in/", {"username": "amira.haddad", "password": "no", "next": "/queue/?a=1&b=2"})
    assert b'name="next" value="/queue/?a=1&amp;b=2"' in answer.content


def test_sign_in_needs_a_csrf_token(store, agent):
    client = Client(enforce_csrf_checks=True)
    form = {"username": "amira.haddad", "password": PASSWORD}
    assert client.post("/sign-in/", form).status_code == 403
    assert store.all("STAFF_SESSIONS") == []
    page = client.get("/sign-in/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page).group(1)
    assert client.post("/sign-in/", {**form, "csrfmiddlewaretoken": token}).status_code == 302


def test_sign_out_needs_a_csrf_token_and_a_post(store, agent):
    client = Client(enforce_csrf_checks=True)
    token = sessions.start(agent, _entry(agent))
    client.cookies["session"] = token
    assert client.post("/sign-out/").status_code == 403
    assert client.get("/sign-out/").status_code == 405
    assert client.get("/").status_code == 200


def test_sign_out_ends_copies_of_the_cookie_too(store, client, sign_in):
    copied = Client()
    copied.cookies["session"] = sign_in(client)
    assert copied.get("/").status_code == 200
    answer = client.post("/sign-out/")
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    assert client.cookies["session"].value == ""
    assert copied.get("/")["Location"] == "/sign-in/"
    assert store.all("STAFF_SESSIONS") == []
    assert len(entries(store, staff_trail("amira.haddad"), "staff.sign_out")) == 1
    assert "You are signed out." in client.get("/sign-in/").content.decode()


def test_sign_out_without_a_session_only_forgets_the_cookie(store, client):
    with store.calls() as calls:
        answer = client.post("/sign-out/")
    assert answer["Location"] == "/sign-in/"
    assert calls == []
    assert store.all("AUDIT") == []


def test_sign_out_that_could_not_be_written_says_so_and_keeps_the_session(store, client, sign_in):
    sign_in(client)
    with faults.fail_before("TransactWriteItems"):
        assert client.post("/sign-out/").status_code == 503
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("operation", ["GetItem", "TransactWriteItems"])
def test_sign_in_while_the_store_fails_is_503_and_no_session(store, agent, client, operation):
    with faults.fail_before(operation):
        answer = client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert answer.status_code == 503
    assert "session" not in client.cookies
    assert store.all("STAFF_SESSIONS") == []


def test_failed_sign_in_that_cannot_be_recorded_is_503(store, agent, client):
    with faults.fail_before("PutItem", table_key="AUDIT"):
        answer = client.post("/sign-in/", {"username": "amira.haddad", "password": "wrong password!!"})
    assert answer.status_code == 503


def test_sign_in_stands_when_only_the_note_on_the_account_fails(store, agent, client):
    with faults.fail_before("UpdateItem", table_key="STAFF"):
        answer = client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert answer.status_code == 302
    assert client.get("/").status_code == 200


def test_account_disabled_between_check_and_session_stays_out(store, agent, client):
    with faults.before("TransactWriteItems", lambda: services.disable("amira.haddad", actor=ADMIN)):
        client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert client.get("/").status_code == 302


def test_hash_of_an_older_method_is_replaced_at_sign_in_and_the_session_holds(store, agent, client, settings):
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.ScryptPasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert store.get("STAFF", username="amira.haddad")["password_hash"].startswith("scrypt$")
    assert client.get("/").status_code == 200
    assert passwords.verify(PASSWORD, store.get("STAFF", username="amira.haddad")["password_hash"]) == (True, False)


def test_passwords_and_tokens_are_in_no_log(store, agent, client, caplog):
    caplog.set_level(logging.DEBUG)
    client.post("/sign-in/", {"username": "amira.haddad", "password": "wrong-and-private"})
    with faults.fail_before("TransactWriteItems"):
        client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    with faults.fail_before("UpdateItem"):
        client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    token = client.cookies["session"].value
    client.get("/")
    assert caplog.records, "at least the warning about the account's note"
    for secret in (PASSWORD, "wrong-and-private", token):
        assert secret not in caplog.text


def test_crash_report_of_sign_in_hides_the_password(store, agent, client, monkeypatch):

    def crash(*_args, **_kwargs):
        raise RuntimeError("no console error")

    monkeypatch.setattr(sessions, "start", crash)
    with pytest.raises(RuntimeError) as caught:
        client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    frames = ExceptionReporter(None, caught.type, caught.value, caught.tb).get_traceback_frames()
    ours = [frame for frame in frames if "/console/staff/" in frame["filename"] and "/tests/" not in frame["filename"]]
    assert {frame["function"] for frame in ours} >= {"_sign_in", "sign_in"}
    assert PASSWORD not in str([frame["vars"] for frame in ours])


def test_old_session_of_another_account_in_the_same_browser_ends(store, agent, client, sign_in):
    services.create("tom.becker", PASSWORD, role=agent.as_staff().role, actor=ADMIN)
    first = sign_in(client)
    client.post("/sign-in/", {"username": "tom.becker", "password": PASSWORD})
    assert client.get("/").content == b"home of tom.becker"
    assert sessions.authenticate_request(first) is None
    assert [item["username"] for item in store.all("STAFF_SESSIONS")] == ["tom.becker"]


def _entry(agent):
    from console import clock
    from console.audit.actions import Action
    from console.audit.recording import Actor, Entry, build

    return build(Entry(staff_trail(agent.username), Action.SIGN_IN, Actor.of(agent.as_staff())), clock.now())
