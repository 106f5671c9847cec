"""Setting a password with a link: once, in time, and without telling anybody anything."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client
from django.views.debug import ExceptionReporter

from console import refs
from console.permissions import Role
from console.staff import accounts, password_links, passwords, services, sessions
from console.trail.recording import staff_trail
from tests import faults
from tests.people import sign_in_entry
from tests.store.console.staff.conftest import ADMIN

NEW = "entirely new passphrase"
REFUSED = "This link has expired or was already used."


@pytest.fixture
def link(store) -> str:
    """The code of a link for a new account."""
    _account, code = services.invite("new.person", role=Role.AGENT, actor=ADMIN)
    return code


def set_password(client: Client, code: str, password: str = NEW, repeated: str | None = None):
    data = {"code": code, "password": password, "repeated": password if repeated is None else repeated}
    return client.post("/set-password/", data)


def has_password(username: str = "new.person", password: str = NEW) -> bool:
    return passwords.verify(password, accounts.get(username).password_hash)[0]


def test_page_says_the_rules_and_what_to_do_without_scripts(client, store):
    with store.calls() as calls:
        page = client.get("/set-password/").content.decode()
    assert "At least 12 characters" in page
    assert "If this is empty, paste the part of your link after the" in page
    assert page.count('autocomplete="new-password"') == 2
    assert "data-from-fragment" in page
    assert calls == []


def test_link_sets_the_password_and_signs_nobody_in(store, client, link):
    answer = set_password(client, f" {link} ")
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    assert "session" not in client.cookies
    assert client.get("/").status_code == 302
    assert "Your password is set. Sign in with it." in client.get("/sign-in/").content.decode()
    assert client.post("/sign-in/", {"username": "new.person", "password": NEW}).status_code == 302
    changes = [item for item in store.all("AUDIT") if item["action_type"] == "staff.password_changed"]
    assert [(item["conversation_id"], item["actor"]) for item in changes] == [(staff_trail("new.person"), "new.person")]


def test_whole_link_may_be_pasted_too(client, link):
    assert set_password(client, f"https://console.example/set-password/#{link}").status_code == 302


def test_opening_the_page_uses_nothing_up(client, link):
    for _ in range(3):
        client.get("/set-password/", {"code": link})
    assert link not in client.get("/set-password/", {"code": link}).content.decode()
    assert set_password(client, link).status_code == 302


def test_link_works_once(client, link):
    assert set_password(client, link).status_code == 302
    answer = set_password(client, link, "another fine password")
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()
    assert has_password()


def test_link_used_twice_at_once_works_once(store, link):
    chosen = [f"entirely new passphrase {number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda password: set_password(Client(), link, password).status_code, chosen))
    assert sorted(seen) == [302] + [422] * 5
    assert has_password(password=chosen[seen.index(302)])
    assert [item["action_type"] for item in store.all("AUDIT")].count("staff.password_changed") == 1


def test_link_is_over_after_its_time(client, link, later, settings):
    later(hours=settings.PASSWORD_LINK_HOURS)
    assert REFUSED in set_password(client, link).content.decode()
    assert not has_password()


def test_later_link_ends_the_earlier_one(client, link):
    _account, later_link = services.issue_password_link("new.person", actor=ADMIN)
    assert set_password(client, link).status_code == 422
    assert set_password(client, later_link).status_code == 302


def test_link_of_a_disabled_account_does_not_work(client, link):
    services.disable("new.person", actor=ADMIN)
    assert REFUSED in set_password(client, link).content.decode()


@pytest.mark.parametrize(
    "code",
    [
        "junk",
        "x" * 1000,
        lambda: refs.seal(password_links.KIND, "new.person", "guess"),
        lambda: "https://x/#" + "y" * 9,
    ],
)
def test_forged_links_do_not_work_and_look_like_used_ones(store, client, link, code):
    answer = set_password(client, code() if callable(code) else code)
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()
    assert not has_password()


def test_setting_the_password_ends_all_sessions(client, agent, sign_in):
    sign_in(client)
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    client.cookies["session"] = token = sessions.start(accounts.get("amira.haddad"), sign_in_entry(agent))
    assert sessions.authenticate_request(token) is not None
    assert set_password(Client(), code).status_code == 302
    assert sessions.authenticate_request(token) is None


@pytest.mark.parametrize(
    ("password", "words"),
    [
        ("short", "too short: at least 12 characters"),
        ("new.person", "too short"),
        ("aaaaaaaaaaaaaaa", "too easy to guess"),
        ("password123456", "too common"),
    ],
)
def test_unfit_password_is_refused_in_words_and_the_link_still_works(client, link, password, words):
    answer = set_password(client, link, password)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert f'value="{link}"' in page
    assert f'value="{password}"' not in page
    assert set_password(client, link).status_code == 302


def test_two_different_passwords_are_refused_before_anything_is_read(store, client, link):
    with store.calls() as calls:
        answer = set_password(client, link, NEW, "entirely new passphrase?")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "The passwords do not match" in page
    assert f'value="{link}"' in page
    assert NEW not in page
    assert calls == []


@pytest.mark.parametrize("missing", ["code", "password", "repeated"])
def test_incomplete_form_asks_again(store, client, link, missing):
    data = {"code": link, "password": NEW, "repeated": NEW, missing: ""}
    with store.calls() as calls:
        assert client.post("/set-password/", data).status_code == 422
    assert calls == []


def test_spaces_at_the_ends_belong_to_the_password(client, link):
    assert set_password(client, link, f"  {NEW} ").status_code == 302
    assert has_password(password=f"  {NEW} ")
    assert not has_password()


def test_attempts_are_counted_by_address_and_success_takes_its_own_back(store, client, link, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    for _ in range(2):
        assert set_password(client, "junk").status_code == 422
    assert set_password(client, link).status_code == 302
    assert set_password(client, "junk").status_code == 422
    _account, code = services.issue_password_link("new.person", actor=ADMIN)
    answer = set_password(client, code)
    page = answer.content.decode()
    assert answer.status_code == 429
    assert 295 <= int(answer["Retry-After"]) <= 300
    assert "Try again in 5 minutes." in page
    assert f'value="{code}"' in page
    throttled = [item["conversation_id"] for item in store.all("AUDIT") if item["action_type"].endswith("throttled")]
    assert throttled == [staff_trail("new.person")]


def test_attack_on_a_name_does_not_stop_its_owner_from_setting_a_password(client, link, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    for _ in range(3):
        Client().post("/sign-in/", {"username": "new.person", "password": "no"})
    assert set_password(client, link).status_code == 302


@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after], ids=["not sent", "answer lost"])
@pytest.mark.parametrize("nth", range(1, 6))
def test_whatever_call_fails_the_password_is_set_and_recorded_or_the_link_still_works(store, client, link, fault, nth):
    with fault(nth=nth):
        status = set_password(client, link).status_code
    assert status in (302, 503)
    changed = [item["action_type"] for item in store.all("AUDIT")].count("staff.password_changed")
    assert changed == has_password()
    assert changed or status == 503
    assert set_password(client, link).status_code == (422 if changed else 302)


def test_form_needs_a_csrf_token(client, link):
    assert set_password(Client(enforce_csrf_checks=True), link).status_code == 403
    assert set_password(client, link).status_code == 302


def test_password_stays_out_of_logs_crash_reports_and_the_trail(store, client, link, caplog, monkeypatch):
    caplog.set_level("DEBUG", logger="console")
    with faults.fail_before("TransactWriteItems"):
        set_password(client, link)
    set_password(client, link)
    assert caplog.records
    for secret in (NEW, link):
        assert secret not in caplog.text
        assert secret not in str([store.all(key) for key in ("STAFF", "AUDIT", "CONSOLE")])

    def crash(*_args, **_kwargs):
        raise RuntimeError("no console error")

    monkeypatch.setattr(accounts, "find", crash)
    with pytest.raises(RuntimeError) as caught:
        set_password(client, link)
    frames = ExceptionReporter(None, caught.type, caught.value, caught.tb).get_traceback_frames()
    ours = [frame for frame in frames if "/console/staff/" in frame["filename"] and "/tests/" not in frame["filename"]]
    assert {frame["function"] for frame in ours} >= {"set_password", "redeem"}
    held = str([frame["vars"] for frame in ours])
    assert NEW not in held
    assert link not in held


def test_company_account_has_no_link_and_none_that_was_there_before_works(store, client, agent):
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    store.update("STAFF", {"username": "amira.haddad"}, signs_in_with="openid-connect")
    set_password(client, code)
    answer = client.post("/sign-in/", {"username": "amira.haddad", "password": NEW})
    assert answer.status_code == 422


def test_second_factor_is_still_asked_for_after_a_new_password(store, client, link):
    store.update("STAFF", {"username": "new.person"}, second_factor_at="2026-01-01T00:00:00.000Z")
    assert set_password(client, link).status_code == 302
    answer = client.post("/sign-in/", {"username": "new.person", "password": NEW})
    assert "Enter your code" in answer.content.decode()
