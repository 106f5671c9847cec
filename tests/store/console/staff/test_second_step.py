"""The second step of signing in: a code after the password, once and in time, or nobody is signed in."""

import re
from concurrent.futures import ThreadPoolExecutor

import pyotp
import pytest
from django.test import Client
from django.views.debug import ExceptionReporter

from console import clock, refs
from console.permissions import Staff
from console.staff import second_factor, services, sessions
from console.staff.models import StaffAccount
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD

pytestmark = pytest.mark.pages

RECOVERY_CODES = ("aaaaa-bbbbb-ccccc", "ddddd-eeeee-fffff")
NAME = "amira.haddad"
RIGHT = {"username": NAME, "password": PASSWORD}


@pytest.fixture
def secret(store, agent) -> str:
    """The agent's second factor, with two recovery codes."""
    made = second_factor.new_secret()
    agent.update(
        actions=[
            StaffAccount.totp_secret.set(second_factor.sealed_secret(NAME, made)),
            StaffAccount.recovery_codes.set(second_factor.hashed(NAME, RECOVERY_CODES)),
            StaffAccount.second_factor_at.set(clock.to_iso(clock.now())),
        ]
    )
    return made


@pytest.fixture
def code(secret, later) -> str:
    """The code of this moment, at which the clock stands."""
    later(stands=True)
    return pyotp.TOTP(secret).at(clock.now())


def pending_of(answer) -> str:
    return re.search(r'name="pending" value="([^"]+)"', answer.content.decode()).group(1)


def first_step(client: Client, **more: str) -> str:
    return pending_of(client.post("/sign-in/", {**RIGHT, **more}))


def second_step(client: Client, pending: str, code: str, **more: str):
    return client.post("/sign-in/code/", {"pending": pending, "code": code, **more})


def actions(store) -> list[str]:
    found = [item["action_type"] for item in store.all("AUDIT") if item["conversation_id"] == staff_trail(NAME)]
    found.remove("staff.created")
    return found


def test_password_alone_opens_nothing_and_asks_for_the_code(store, secret, client):
    answer = client.post("/sign-in/", {**RIGHT, "next": "/queue/"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert 'autocomplete="one-time-code"' in page
    assert 'inputmode="numeric"' in page
    assert 'action="/sign-in/code/"' in page
    assert 'name="next" value="/queue/"' in page
    assert PASSWORD not in page
    assert not {"session", "browser"} & set(client.cookies)
    assert store.all("STAFF_SESSIONS") == []
    assert actions(store) == ["staff.code_asked"]


def test_right_code_opens_a_session_and_leads_on(store, client, code):
    answer = second_step(client, first_step(client), code, next="/queue/?tab=mine")
    assert (answer.status_code, answer["Location"]) == (302, "/queue/?tab=mine")
    assert client.get("/").content == b"home of amira.haddad"
    [session] = store.all("STAFF_SESSIONS")
    assert session["method"] == "password and code"
    assert actions(store) == ["staff.code_asked", "staff.sign_in"]
    assert store.get("STAFF", username=NAME)["last_sign_in_at"]


def test_second_step_leads_only_to_paths_of_this_console(client, code):
    assert second_step(client, first_step(client), code, next="//evil.example/")["Location"] == "/"


def test_previous_session_of_the_browser_ends_with_the_second_step_not_before(store, agent, client, code):
    services.create("tom.becker", PASSWORD, role=Staff.of(agent).role, actor=ADMIN)
    client.post("/sign-in/", {"username": "tom.becker", "password": PASSWORD})
    earlier, csrf = client.cookies["session"].value, client.cookies["csrf"].value
    pending = first_step(client)
    assert sessions.authenticate_request(earlier).username == "tom.becker"
    second_step(client, pending, code)
    assert sessions.authenticate_request(earlier) is None
    assert [item["username"] for item in store.all("STAFF_SESSIONS")] == [NAME]
    assert client.cookies["csrf"].value != csrf


def test_recovery_code_opens_once_is_recorded_and_says_how_many_are_left(store, client, secret):
    assert second_step(client, first_step(client), " AAAAA bbbbb-CCCCC ").status_code == 302
    assert "staff.recovery_code_used" in actions(store)
    assert store.all("STAFF_SESSIONS")[0]["method"] == "password and recovery code"
    client.post("/sign-out/")
    page = client.get("/sign-in/").content.decode()
    assert "You signed in with a recovery code. It will not work again. 1 is left." in page
    again = Client()
    assert second_step(again, first_step(again), RECOVERY_CODES[0]).status_code == 422
    assert second_step(again, first_step(again), RECOVERY_CODES[1]).status_code == 302
    again.post("/sign-out/")
    assert "last recovery code" in again.get("/sign-in/").content.decode()
    assert store.get("STAFF", username=NAME).get("recovery_codes") is None


def test_wrong_code_is_said_recorded_and_keeps_the_second_step(store, client, code):
    pending = first_step(client, next="/queue/")
    answer = second_step(client, pending, "wrong", next="/queue/")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "This code is wrong, expired or already used" in page
    assert pending_of(answer) == pending
    assert 'name="next" value="/queue/"' in page
    [entry] = [item for item in store.all("AUDIT") if item["action_type"] == "staff.sign_in_failed"]
    assert (entry["conversation_id"], entry["result"]) == (staff_trail(NAME), "failed: wrong code")
    assert second_step(client, pending, code).status_code == 302


def test_code_works_once(store, client, code):
    assert second_step(client, first_step(client), code).status_code == 302
    other = Client()
    assert second_step(other, first_step(other), code).status_code == 422
    assert len(store.all("STAFF_SESSIONS")) == 1


def test_same_code_twice_at_once_opens_one_session(store, client, code):
    pending = first_step(client)
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda _: second_step(Client(), pending, code).status_code, range(6)))
    assert sorted(seen) == [302] + [422] * 5
    assert len(store.all("STAFF_SESSIONS")) == 1
    assert actions(store).count("staff.sign_in") == 1


def test_same_recovery_code_twice_at_once_opens_one_session(store, client, secret):
    pending = first_step(client)
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda _: second_step(Client(), pending, RECOVERY_CODES[0]).status_code, range(6)))
    assert seen.count(302) == 1
    assert len(store.all("STAFF_SESSIONS")) == 1
    assert actions(store).count("staff.recovery_code_used") == 1


@pytest.mark.parametrize("minutes", [5, 60])
def test_second_step_is_over_after_five_minutes(store, client, secret, later, minutes):
    later(stands=True)
    pending = first_step(client)
    later(minutes=minutes)
    with store.calls() as calls:
        answer = second_step(client, pending, pyotp.TOTP(secret).at(clock.now()), next="/queue/")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Start again." in page
    assert 'autocomplete="current-password"' in page
    assert 'name="next" value="/queue/"' in page
    assert "Enter your" not in page
    assert calls == []


def test_second_step_lasts_almost_five_minutes(client, secret, later):
    later(stands=True)
    pending = first_step(client)
    later(seconds=299)
    assert second_step(client, pending, pyotp.TOTP(secret).at(clock.now())).status_code == 302


@pytest.mark.parametrize(
    "change",
    [
        lambda: services.reset_password(NAME, "another fine password", actor=ADMIN),
        lambda: services.disable(NAME, actor=ADMIN),
        lambda: services.remove_second_factor(NAME, actor=ADMIN),
        lambda: services.end_sessions(NAME, actor=ADMIN),
    ],
    ids=["password", "disabled", "second factor removed", "signed out everywhere"],
)
def test_change_of_the_account_ends_the_second_step(store, client, code, change):
    pending = first_step(client)
    change()
    answer = second_step(client, pending, code)
    assert answer.status_code == 422
    assert "Start again." in answer.content.decode()
    assert store.all("STAFF_SESSIONS") == []


@pytest.mark.parametrize("pending", ["", "junk", "x" * 900, lambda: refs.seal("session", NAME, "1", "1")])
def test_forged_second_step_costs_no_read(store, client, code, pending):
    with store.calls() as calls:
        answer = second_step(client, pending() if callable(pending) else pending, code)
    assert answer.status_code == 422
    assert "Start again." in answer.content.decode()
    assert calls == []


def test_second_step_of_another_epoch_cannot_be_made_from_this_one(store, client, code):
    pending = first_step(client)
    store.update("STAFF", {"username": NAME}, epoch=7)
    assert second_step(client, pending, code).status_code == 422


@pytest.mark.parametrize("typed", ["", "   ", "9" * 101, "12\x00456"])
def test_unusable_code_asks_again_without_a_read(store, client, secret, typed):
    pending = first_step(client)
    with store.calls() as calls:
        answer = second_step(client, pending, typed)
    assert answer.status_code == 422
    assert pending_of(answer) == pending
    assert calls == []


def test_address_of_the_second_step_leads_to_the_first(client):
    assert client.get("/sign-in/code/")["Location"] == "/sign-in/"


def test_second_step_needs_a_csrf_token(store, client, code):
    pending = first_step(client)
    assert second_step(Client(enforce_csrf_checks=True), pending, code).status_code == 403
    assert store.all("STAFF_SESSIONS") == []


def test_codes_are_counted_as_attempts_and_the_right_password_forgives_nothing(store, client, code, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 6
    for _ in range(3):
        assert second_step(client, first_step(client), "000000").status_code == 422
    answer = client.post("/sign-in/", RIGHT)
    assert answer.status_code == 429
    assert "Try again in" in answer.content.decode()


def test_throttled_code_is_told_when_and_keeps_the_second_step(store, client, code, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 2
    pending = first_step(client)
    second_step(client, pending, "000000")
    answer = second_step(client, pending, code)
    assert answer.status_code == 429
    assert answer["Retry-After"] == "450"
    assert "Too many attempts. Try again in 8 minutes." in answer.content.decode()
    assert pending_of(answer) == pending
    assert store.all("STAFF_SESSIONS") == []
    assert "staff.sign_in_throttled" in actions(store)
    assert store.get("STAFF", username=NAME).get("totp_last_step") is None


def test_success_forgives_what_was_mistyped(client, secret, later, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 4
    later(stands=True)
    for _ in range(4):
        browser = Client()
        pending = first_step(browser)
        second_step(browser, pending, "000000")
        assert second_step(browser, pending, pyotp.TOTP(secret).at(clock.now())).status_code == 302
        later(seconds=30)


def test_owner_gets_in_from_a_known_browser_while_codes_are_guessed(client, secret, later, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 4
    later(stands=True)
    second_step(client, first_step(client), pyotp.TOTP(secret).at(clock.now()))
    attacker = Client()
    pending = first_step(attacker)
    assert [second_step(attacker, pending, "000000").status_code for _ in range(4)] == [422, 422, 422, 429]
    later(seconds=30)
    assert second_step(client, first_step(client), pyotp.TOTP(secret).at(clock.now())).status_code == 302


def session_entries(store) -> list[str]:
    return [item for item in store.all("AUDIT") if item["action_type"] == "staff.sign_in"]


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["code", "recovery code"])
@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after], ids=["not sent", "answer lost"])
@pytest.mark.parametrize("nth", range(1, 9))
def test_whatever_call_fails_no_session_is_without_its_entry_and_the_next_code_works(
    store, client, secret, later, typed, fault, nth
):
    later(stands=True)
    pending = first_step(client)
    now = pyotp.TOTP(secret).at(clock.now())
    with fault(nth=nth) as struck:
        answer = second_step(client, pending, RECOVERY_CODES[0] if typed == "recovery code" else now)
    assert answer.status_code in (302, 503)
    assert len(store.all("STAFF_SESSIONS")) == len(session_entries(store))
    if answer.status_code == 503:
        assert struck.struck
        assert "session" not in client.cookies
    else:
        assert client.get("/").status_code == 200
    used = len(RECOVERY_CODES) - len(store.get("STAFF", username=NAME).get("recovery_codes", ()))
    assert used == actions(store).count("staff.recovery_code_used")
    later(seconds=30)
    next_code = RECOVERY_CODES[1] if typed == "recovery code" else pyotp.TOTP(secret).at(clock.now())
    assert second_step(client, first_step(client), next_code).status_code == 302
    assert client.get("/").content == b"home of amira.haddad"


def test_secret_that_cannot_be_read_is_said_and_a_recovery_code_still_opens(store, client, secret):
    store.update("STAFF", {"username": NAME}, totp_secret="junk")
    pending = first_step(client)
    answer = second_step(client, pending, "123456")
    assert answer.status_code == 503
    assert "Use a recovery code, or ask an administrator to remove the second factor" in answer.content.decode()
    assert pending_of(answer) == pending
    assert second_step(client, pending, RECOVERY_CODES[0]).status_code == 302


def test_crash_report_of_the_second_step_hides_the_code(client, code, monkeypatch):
    def crash(*_args, **_kwargs):
        raise RuntimeError("no console error")

    pending = first_step(client)
    monkeypatch.setattr(sessions, "start", crash)
    with pytest.raises(RuntimeError) as caught:
        second_step(client, pending, code)
    frames = ExceptionReporter(None, caught.type, caught.value, caught.tb).get_traceback_frames()
    ours = [frame for frame in frames if "/console/staff/" in frame["filename"] and "/tests/" not in frame["filename"]]
    assert {frame["function"] for frame in ours} >= {"code", "finish_second_step"}
    held = str([frame["vars"] for frame in ours])
    assert code not in held
    assert pending not in held


def test_page_of_the_code_holds_nothing_secret(store, client, secret):
    page = client.post("/sign-in/", RIGHT).content.decode()
    assert secret not in page
    assert NAME not in page


def test_company_account_with_a_left_over_second_factor_is_not_asked_for_it(store, client, secret):
    store.update("STAFF", {"username": NAME}, signs_in_with="openid-connect")
    assert client.post("/sign-in/", RIGHT).status_code == 422


def test_right_password_alone_is_in_the_trail(store, secret, client):
    first_step(client)
    first_step(client)
    [entry] = [item for item in store.all("AUDIT") if item["action_type"] == "staff.code_asked"]
    assert (entry["conversation_id"], entry["actor"]) == (staff_trail("amira.haddad"), "unknown")
