"""Signing in and out through the pages."""

import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client
from django.views.debug import ExceptionReporter

from console import clock, refs
from console import settings as console_settings
from console.permissions import Staff
from console.staff import authentication, passwords, services, sessions
from console.trail.recording import staff_trail
from tests import faults
from tests.people import sign_in_entry
from tests.store.console.staff.conftest import ADMIN, PASSWORD

pytestmark = pytest.mark.pages

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
    services.create("gone.person", PASSWORD, role=Staff.of(agent).role, actor=ADMIN)
    services.disable("gone.person", actor=ADMIN)
    role = Staff.of(agent).role
    services.create_for_company_sign_in("company.person", role=role, actor=ADMIN)
    services.invite("invited.person", role=role, actor=ADMIN)
    # A password that was there before the account went over to the company's sign-in.
    services.create("half.person", PASSWORD, role=role, actor=ADMIN)
    store.update("STAFF", {"username": "half.person"}, signs_in_with="openid-connect")
    hashed = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *args: hashed.append(1) or encode(*args))
    seen = []
    for username, password in [
        ("nobody.here", PASSWORD),
        ("amira.haddad", "wrong password!!"),
        ("gone.person", PASSWORD),
        ("gone.person", "wrong password!!"),
        ("company.person", PASSWORD),
        ("invited.person", PASSWORD),
        ("half.person", PASSWORD),
    ]:
        hashed.clear()
        for count in store.all("CONSOLE"):
            store.delete("CONSOLE", pk=count["pk"], sk=count["sk"])
        with store.calls() as calls:
            answer = client.post("/sign-in/", {"username": username, "password": password})
        operations = [call.operation for call in calls]
        seen.append((answer.status_code, visible(answer), len(hashed), operations, sorted(answer.cookies)))
    assert REFUSED in seen[0][1]
    assert seen[0][0] == 422
    assert seen[0][2] == 1
    assert seen[0][3] == ["UpdateItem", "UpdateItem", "GetItem", "PutItem"]
    assert seen.count(seen[0]) == 7
    assert store.all("STAFF_SESSIONS") == []


def test_failed_sign_ins_are_in_the_trail_with_their_reason(store, agent, client):
    client.post("/sign-in/", {"username": "amira.haddad", "password": "wrong password!!"})
    services.disable("amira.haddad", actor=ADMIN)
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    found = entries(store, staff_trail("amira.haddad"), "staff.sign_in_failed")
    assert [entry["result"] for entry in found] == ["failed: wrong password", "failed: disabled account"]
    assert {entry["actor"] for entry in found} == {"unknown"}


def sign_in_from(forwarded: str, username: str = "amira.haddad", password: str = PASSWORD) -> Client:
    """A browser that signs in, with what the proxies and it say about where it is."""
    client = Client()
    client.post("/sign-in/", {"username": username, "password": password}, headers={"X-Forwarded-For": forwarded})
    return client


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    ("forwarded", "shown"),
    [
        ("203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("203.0.113.9, 177.234.210.155", "177.234.210.155"),
        ("2001:db8:1234:5678:9012:3456:7890:1234", "2001:db8:1234:5678::/64"),
    ],
)
def test_the_address_that_a_trusted_proxy_gives_is_with_the_session_and_in_the_trail(store, settings, forwarded, shown):
    settings.TRUSTED_PROXIES, settings.ROOT_URLCONF = 1, "console.urls"
    page = sign_in_from(forwarded).get("/account/").content.decode()
    assert f"from <bdi>{shown}</bdi>" in page
    [session] = store.all("STAFF_SESSIONS")
    assert session["address"] == shown
    sign_in_from(forwarded, password="wrong password!!")
    sign_in_from(forwarded, "nobody.here")
    trail, action = staff_trail("amira.haddad"), "action_payload_redacted"
    found = [
        *entries(store, trail, "staff.sign_in"),
        *entries(store, trail, "staff.sign_in_failed"),
        *entries(store, "SYSTEM", "staff.sign_in_failed"),
    ]
    assert [json.loads(each[action])["ip"] for each in found] == [shown] * 3
    assert "203.0.113.9" not in str(store.all("STAFF_SESSIONS") + store.all("AUDIT"))


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    ("proxies", "forwarded"),
    [(0, "198.51.100.1"), (1, "198.51.100.1, <script>"), (1, ""), (2, "198.51.100.1"), (1, "9" * 5000)],
)
def test_an_address_that_no_trusted_proxy_gives_is_neither_stored_nor_shown(store, settings, proxies, forwarded):
    settings.TRUSTED_PROXIES, settings.ROOT_URLCONF = proxies, "console.urls"
    page = sign_in_from(forwarded).get("/account/").content.decode()
    [session] = store.all("STAFF_SESSIONS")
    assert "address" not in session
    [entry] = entries(store, staff_trail("amira.haddad"), "staff.sign_in")
    assert "ip" not in json.loads(entry["action_payload_redacted"])
    assert "198.51.100.1" not in page + str(store.all("AUDIT"))
    assert "127.0.0.1" not in page + str(store.all("AUDIT"))


def test_unknown_name_is_in_the_trail_only_as_a_keyed_digest(store, agent, client):
    for name in ("my secret pass phrase", "my secret pass phrase", "other"):
        client.post("/sign-in/", {"username": name, "password": "whatever it was"})
    found = entries(store, "SYSTEM", "staff.sign_in_failed")
    assert "secret" not in str(found)
    digests = [json.loads(entry["action_payload_redacted"])["name_hmac"] for entry in found]
    assert len(digests) == len(set(digests)) == 2
    assert all(re.fullmatch("[a-p]{32}", digest) for digest in digests)


@pytest.mark.slow
def test_unknown_names_cannot_flood_the_trail(store, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 1000
    quarter = clock.now().replace(minute=0, second=0, microsecond=0)
    for number in range(60):
        with mock.patch.object(clock, "now", return_value=quarter):
            client.post("/sign-in/", {"username": f"name{number}", "password": "whatever"})
    assert 16 < len(entries(store, "SYSTEM", "staff.sign_in_failed")) <= authentication.UNKNOWN_NAMES_KEPT
    with mock.patch.object(clock, "now", return_value=quarter + timedelta(minutes=15)):
        client.post("/sign-in/", {"username": "name1", "password": "whatever"})
    assert len(entries(store, "SYSTEM", "staff.sign_in_failed")) > 16


def test_throttled_name_is_told_when_and_keeps_what_was_typed_but_the_password(store, agent, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 3
    form = {"username": "amira.haddad", "password": "typed-by-mistake", "next": "/queue/"}
    assert [client.post("/sign-in/", form).status_code for _ in range(3)] == [422, 422, 422]
    answer = client.post("/sign-in/", {**form, "password": PASSWORD})
    page = answer.content.decode()
    assert answer.status_code == 429
    assert 295 <= int(answer["Retry-After"]) <= 300
    assert "Too many attempts. Try again in 5 minutes." in page
    assert 'value="amira.haddad"' in page
    assert 'value="/queue/"' in page
    assert PASSWORD not in page
    assert "session" not in client.cookies
    assert store.all("STAFF_SESSIONS") == []


def test_throttled_unknown_name_looks_and_costs_the_same(store, agent, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    seen = []
    for name in ("nobody.here", "amira.haddad"):
        client.post("/sign-in/", {"username": name, "password": "no"})
        with store.calls() as calls:
            answer = client.post("/sign-in/", {"username": name, "password": PASSWORD})
        seen.append((answer.status_code, visible(answer), [call.operation for call in calls]))
    assert seen[0] == seen[1]
    assert seen[0][0] == 429


def test_throttled_attempts_are_in_the_trail_once(store, agent, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 2
    quarter = clock.now().replace(minute=0, second=0, microsecond=0)
    with mock.patch.object(clock, "now", return_value=quarter):
        for _ in range(6):
            client.post("/sign-in/", {"username": "amira.haddad", "password": "no"})
            client.post("/sign-in/", {"username": "nobody.here", "password": "no"})
    [entry] = entries(store, staff_trail("amira.haddad"), "staff.sign_in_throttled")
    assert (entry["actor"], entry["result"]) == ("unknown", "failed: too many attempts")
    assert len(entries(store, "SYSTEM", "staff.sign_in_throttled")) == 1
    assert len(entries(store, staff_trail("amira.haddad"), "staff.sign_in_failed")) == 2


def test_right_passwords_behind_one_address_are_no_attack(store, agent, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    form = {"username": "amira.haddad", "password": PASSWORD}
    assert {Client().post("/sign-in/", form).status_code for _ in range(10)} == {302}


def test_success_forgives_what_was_mistyped(store, agent, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 3
    for password in ("no", "no", PASSWORD, "no", "no", PASSWORD):
        last = Client().post("/sign-in/", {"username": "amira.haddad", "password": password})
    assert last.status_code == 302


def test_forged_header_does_not_give_new_attempts(store, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    seen = [
        client.post(
            "/sign-in/",
            {"username": f"name{number}", "password": "no"},
            headers={"X-Forwarded-For": f"198.51.100.{number}"},
        ).status_code
        for number in range(5)
    ]
    assert seen == [422, 422, 422, 429, 429]


def test_attack_on_a_name_does_not_lock_out_the_browser_of_its_owner(store, agent, client, sign_in, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 3
    sign_in(client)
    client.post("/sign-out/")
    attacker = Client()
    form = {"username": "amira.haddad", "password": "no"}
    assert [attacker.post("/sign-in/", form).status_code for _ in range(4)] == [422, 422, 422, 429]
    sign_in(client)
    # It has no more attempts than others, and what it got right does not help the attacker.
    assert attacker.post("/sign-in/", form).status_code == 429
    assert [client.post("/sign-in/", form).status_code for _ in range(4)] == [422, 422, 422, 429]


def test_cookie_that_names_the_browser_says_nothing_and_opens_nothing(store, agent, client, sign_in):
    sign_in(client)
    cookie = client.cookies["browser"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")
    assert "amira" not in cookie.value
    other = Client()
    other.cookies["browser"] = cookie.value
    assert other.get("/").status_code == 302
    assert other.post("/sign-in/", {"username": "amira.haddad", "password": "no"}).status_code == 422


def test_known_browser_gets_no_attempts_of_its_own_at_another_name(store, agent, client, sign_in, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 2
    services.create("tom.becker", PASSWORD, role=Staff.of(agent).role, actor=ADMIN)
    form = {"username": "tom.becker", "password": "no"}
    assert [Client().post("/sign-in/", form).status_code for _ in range(3)] == [422, 422, 429]
    sign_in(client)
    assert client.post("/sign-in/", form).status_code == 429


@pytest.mark.parametrize("cookie", ["junk", "x" * 5000, refs.seal("session", "amira.haddad", "x")])
def test_forged_cookie_of_a_browser_gives_no_new_attempts(store, agent, settings, cookie):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    form = {"username": "amira.haddad", "password": "no"}
    assert Client().post("/sign-in/", form).status_code == 422
    forger = Client()
    forger.cookies["browser"] = cookie
    assert forger.post("/sign-in/", form).status_code == 429


@pytest.mark.parametrize("nth", [1, 2])
def test_sign_in_fails_closed_when_attempts_cannot_be_counted(store, agent, client, nth):
    uncounted = faults.fail_before("UpdateItem", nth=nth, table_key="CONSOLE")
    with uncounted, mock.patch.object(passwords, "verify") as verify:
        answer = client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert "The database did not answer" in answer.content.decode()
    verify.assert_not_called()
    assert store.all("STAFF_SESSIONS") == []


def test_throttled_attempt_that_cannot_be_recorded_is_503(store, agent, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    form = {"username": "amira.haddad", "password": "no"}
    client.post("/sign-in/", form)
    with faults.fail_before("PutItem", table_key="AUDIT"):
        assert client.post("/sign-in/", form).status_code == 503


def test_guesses_at_once_do_not_overrun_the_limit(store, agent, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 4
    form = {"username": "amira.haddad", "password": "no"}
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: Client().post("/sign-in/", form).status_code, range(12)))
    assert sorted(seen) == [422] * 4 + [429] * 8


def test_company_sign_in_is_offered_only_where_it_is_set_up(store, client, settings):
    assert "/sign-in/company/" not in client.get("/sign-in/").content.decode()
    settings.OIDC_ISSUER, settings.OIDC_NAME = "https://login.example", "Example & Co"
    page = client.get("/sign-in/?next=/queue/%3Fa=1%26b=2").content.decode()
    assert 'href="/sign-in/company/?next=%2Fqueue%2F%3Fa%3D1%26b%3D2"' in page
    assert "Sign in with Example &amp; Co" in page
    assert "Ask an administrator" in page


def test_sign_out_goes_on_to_the_company_only_for_sessions_that_began_there(store, agent, settings):
    settings.OIDC_ISSUER = "https://login.example"
    for method, goes_to in ((sessions.PASSWORD, "/sign-in/"), (sessions.COMPANY_SIGN_IN, "/sign-out/company/")):
        browser = Client()
        browser.cookies["session"] = sessions.start(agent, sign_in_entry(agent), method=method)
        assert browser.post("/sign-out/")["Location"] == goes_to
    assert store.all("STAFF_SESSIONS") == []


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
    token = sessions.start(agent, sign_in_entry(agent))
    client.cookies["session"] = token
    assert client.post("/sign-out/").status_code == 403
    assert client.get("/sign-out/")["Location"] == "/"
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


@pytest.mark.slow
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
    with faults.fail_before("UpdateItem", table_key="STAFF"):
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
    services.create("tom.becker", PASSWORD, role=Staff.of(agent).role, actor=ADMIN)
    first = sign_in(client)
    client.post("/sign-in/", {"username": "tom.becker", "password": PASSWORD})
    assert client.get("/").content == b"home of tom.becker"
    assert sessions.authenticate_request(first) is None
    assert [item["username"] for item in store.all("STAFF_SESSIONS")] == ["tom.becker"]


def test_who_comes_when_too_many_sign_in_is_told_so_and_loses_no_attempt(store, agent, client, monkeypatch, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    taken = [passwords._places.acquire(blocking=False) for _ in range(passwords.AT_ONCE + passwords.WAITING)]
    assert all(taken)
    try:
        for name in ("amira.haddad", "nobody.at.all"):
            for _ in range(3):
                answer = client.post("/sign-in/", {"username": name, "password": PASSWORD})
                assert (answer.status_code, answer["Retry-After"]) == (429, "3")
                assert "Too many people are signing in right now" in answer.content.decode()
    finally:
        for _ in taken:
            passwords._places.release()
    assert not store.all("CONSOLE")
    assert client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 302


@pytest.mark.slow
def test_a_sign_in_makes_a_hash_of_other_cost_anew(store, agent, client, settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    agent.password_hash = passwords.hash_password(PASSWORD)
    agent.save()
    settings.PASSWORD_HASHERS = console_settings.PASSWORD_HASHERS
    assert client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 302
    assert "$m=19456,t=2,p=1$" in store.get("STAFF", username="amira.haddad")["password_hash"]


def test_browser_forgets_what_it_kept_at_sign_out_but_not_its_cookies(client, sign_in):
    sign_in(client)
    assert client.post("/sign-out/")["Clear-Site-Data"] == '"cache", "storage"'
    assert "Clear-Site-Data" not in client.get("/sign-in/")
