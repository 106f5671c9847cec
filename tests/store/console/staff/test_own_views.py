"""The pages of one's own account: what they show, what they change, and what a browser keeps afterwards."""

import logging
import re

import pyotp
import pytest
import segno
from django.test import Client
from django.urls import reverse

from console import clock, refs
from console.permissions import Role
from console.staff import accounts, second_factor, services, sessions
from console.staff.own_forms import zone_choices
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD
from tests.store.console.staff.test_session_list import begin

pytestmark = pytest.mark.pages

NEW = "a wholly different passphrase"
PAGES = [
    "account",
    "account-password",
    "account-second-factor",
    "account-second-factor-remove",
    "account-recovery-codes",
]
FORMS = [*PAGES[1:], "account-time-zone", "account-sessions-end"]


@pytest.fixture(autouse=True)
def _real_routes(_routes, settings) -> None:
    settings.ROOT_URLCONF = "console.urls"


@pytest.fixture(autouse=True)
def _still(later) -> None:
    """The clock stands, so that a code stays the code of now."""
    later(stands=True)


def browser_of(account, **options) -> Client:
    """A browser in which that person is signed in."""
    token, session = sessions.prepare(account.username, int(account.epoch), user_agent="Firefox on Linux")
    session.save()
    client = Client(**options)
    client.cookies["session"] = token
    return client


@pytest.fixture
def client(agent) -> Client:
    """The agent's browser."""
    return browser_of(agent)


def text_of(answer) -> str:
    """What a page says: no tags, one space between words."""
    body = re.sub(r"(?s).*<main", "", answer.content.decode(), count=1)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


def stored(store) -> dict:
    return store.get("STAFF", username="amira.haddad")


def everything(store) -> dict:
    return {key: store.all(key) for key in ("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")}


def key_and_pending(page) -> tuple[str, str]:
    html = page.content.decode()
    pending = re.search(r'name="pending" value="([^"]+)"', html).group(1)
    return re.search(r'id="key">([A-Z2-7 ]+)<', html).group(1).replace(" ", ""), pending


def code_of(key: str) -> str:
    return pyotp.TOTP(key).generate_otp(clock.to_epoch(clock.now()) // 30)


def set_up(client: Client, **typed):
    """Switch the second factor on through the page; the answer of its form, and the key."""
    key, pending = key_and_pending(client.get(reverse("account-second-factor")))
    form = {"pending": pending, "code": code_of(key), "current_password": PASSWORD} | typed
    return client.post(reverse("account-second-factor"), form), key


def codes_in(answer) -> list[str]:
    return re.findall(r"^[a-z2-9]{5}-[a-z2-9]{5}-[a-z2-9]{5}$", answer.content.decode(), re.MULTILINE)


def change(client: Client, **typed):
    form = {"current_password": PASSWORD, "new_password": NEW, "repeated": NEW} | typed
    return client.post(reverse("account-password"), form)


# --- Who, and by which method


@pytest.mark.parametrize("name", PAGES)
def test_pages_want_somebody_signed_in(store, name):
    answer = Client().get(reverse(name))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("name", FORMS)
def test_forms_want_somebody_signed_in_and_a_csrf_token(store, agent, name):
    assert Client().post(reverse(name)).status_code == 401
    before = everything(store)
    strict = browser_of(agent, enforce_csrf_checks=True)
    assert strict.post(reverse(name), {"session": "all", "current_password": PASSWORD}).status_code == 403
    assert {**everything(store), "STAFF_SESSIONS": before["STAFF_SESSIONS"]} == before


@pytest.mark.parametrize("role", list(Role))
def test_every_role_has_the_page(store, agent, role):
    account = services.create("some.body", PASSWORD, role=role, scope=["company:ci-cuc-001"], actor=ADMIN)
    for name in PAGES[:3]:
        assert browser_of(account).get(reverse(name)).status_code == 200


@pytest.mark.parametrize("has_factor", [False, True])
def test_get_and_head_change_nothing(store, client, has_factor):
    if has_factor:
        set_up(client)
    before = everything(store)
    for name in [*PAGES, "account-time-zone", "account-sessions-end"]:
        for method in (client.get, client.head):
            answer = method(reverse(name), {"session": "all", "current_password": PASSWORD, "time_zone": "Asia/Tokyo"})
            assert answer.status_code in (200, 302), name
    assert everything(store) == before


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
@pytest.mark.parametrize("name", [*PAGES, "account-time-zone", "account-sessions-end"])
def test_other_methods_are_not_allowed(store, client, name, method):
    assert getattr(client, method)(reverse(name)).status_code == 405


def test_no_page_is_kept_by_caches(store, client):
    for name in PAGES[:3]:
        assert client.get(reverse(name))["Cache-Control"] == "no-store"
    answer, _key = set_up(client)
    assert answer["Cache-Control"] == "no-store"


# --- The account's page


def test_page_says_who_one_is_and_whom_to_ask(store, client):
    said = text_of(client.get("/account/"))
    for words in (
        "amira.haddad",
        "Amira Haddad",
        "agent",
        "company ci-cuc-001",
        "company ci-nwe-002",
        "An administrator",
    ):
        assert words in said
    assert "off Your password alone" in said


def test_administrators_are_sent_to_another_one(store, agent):
    admin = services.create("ada.admin", PASSWORD, role=Role.ADMIN, scope=["*"], actor=ADMIN)
    said = text_of(browser_of(admin).get("/account/"))
    assert "Another administrator" in said
    assert "all companies" in said


def test_page_leads_to_ones_own_trail(store, client):
    url = reverse("trail", args=[refs.seal("trail", staff_trail("amira.haddad"))])
    assert f'href="{url}"' in client.get("/account/").content.decode()
    assert client.get(url).status_code == 200


@pytest.mark.slow
def test_accounts_of_the_company_sign_in_are_told_and_can_change_neither(store, agent):
    account = services.create_for_company_sign_in("olga.novak", role=Role.AGENT, actor=ADMIN)
    client = browser_of(account)
    said = text_of(client.get("/account/"))
    assert "no password here" in said
    assert "Your company’s sign-in asks for a second factor if it needs one" in said
    before = everything(store)
    for name in PAGES[1:]:
        assert reverse(name) not in client.get("/account/").content.decode()
        for answer in (
            client.get(reverse(name)),
            client.post(
                reverse(name),
                {"current_password": PASSWORD, "code": "1", "pending": "", "new_password": NEW, "repeated": NEW},
            ),
        ):
            assert (answer.status_code, answer["Location"]) == (302, "/account/")
        assert "no password and no second factor here" in text_of(client.get("/account/"))
    assert everything(store) == before


def test_page_is_shown_where_sessions_cannot_be_listed(store, client):
    with faults.fail_before("Query", table_key="STAFF_SESSIONS", times=faults.ALWAYS):
        answer = client.get("/account/")
    assert answer.status_code == 200
    assert "could not be read" in text_of(answer)
    # They may still be ended, all of them.
    assert "Sign out in all other browsers" in text_of(answer)


def test_page_tells_of_few_and_no_recovery_codes_and_of_a_second_factor_that_cannot_be_read(store, client):
    answer, _key = set_up(client)
    codes = codes_in(answer)
    assert "10 recovery codes are left" in text_of(client.get("/account/"))
    for code in codes[:7]:
        second_factor.verify(accounts.get("amira.haddad"), code)
    assert "few recovery codes 3 of them are left" in text_of(client.get("/account/"))
    for code in codes[7:]:
        second_factor.verify(accounts.get("amira.haddad"), code)
    assert "no recovery codes left" in text_of(client.get("/account/"))
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret="junk")
    assert "cannot be read" in text_of(client.get("/account/"))


# --- Password


def test_form_tells_password_managers_and_people_what_it_wants(store, client):
    page = client.get("/account/password/").content.decode()
    assert page.count('autocomplete="current-password"') == 1
    assert page.count('autocomplete="new-password"') == 2
    assert 'autocomplete="username" value="amira.haddad"' in page
    assert "At least 12 characters" in page


def test_changed_password_goes_on_here_and_nowhere_else(store, agent, client):
    client.get("/account/")
    old, csrf = client.cookies["session"].value, client.cookies["csrf"].value
    elsewhere, copied = browser_of(agent), Client()
    copied.cookies["session"] = old
    answer = change(client)
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    assert client.cookies["session"].value != old
    assert client.cookies["session"]["httponly"]
    assert client.cookies["csrf"].value != csrf
    said = text_of(client.get("/account/"))
    assert "Your password is changed. You are signed out in every other browser." in said
    assert said.count("Signed in with password") == 1
    for other in (elsewhere, copied):
        assert other.get("/account/").status_code == 302
    assert Client().post("/sign-in/", {"username": "amira.haddad", "password": NEW}).status_code == 302
    assert Client().post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 422


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"current_password": "wrong password!!"}, "current_password", "not your current password"),
        ({"current_password": ""}, "current_password", "Enter your current password"),
        ({"new_password": "short", "repeated": "short"}, "new_password", "too short"),
        ({"new_password": PASSWORD, "repeated": PASSWORD}, "new_password", "That is your current password"),
        ({"repeated": NEW + "!"}, "repeated", "do not match"),
        ({"repeated": ""}, "repeated", "Enter the new password again"),
        ({"new_password": "amira.haddad", "repeated": "amira.haddad"}, "new_password", "username"),
    ],
)
def test_refused_password_says_why_at_its_field_and_sends_nothing_back(store, client, typed, field, words):
    before = stored(store)
    answer = change(client, **typed)
    assert answer.status_code == 422
    errors = re.search(rf'id="id_{field}_error".*?</ul>', answer.content.decode(), re.DOTALL)
    assert errors is not None
    assert words in errors.group()
    for each in (PASSWORD, NEW, "wrong password!!"):
        assert each not in answer.content.decode()
    assert stored(store) == before


def test_too_many_guesses_are_told_with_when_to_come_back(store, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ACCOUNT = 1
    assert change(client, current_password="wrong password!!").status_code == 422
    for answer in (change(client), set_up(client)[0]):
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        assert "Try again in" in text_of(answer)
        assert "<form" in answer.content.decode()


def test_guesses_are_counted_by_address_too(store, agent, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 1
    colleague = services.create("tom.becker", PASSWORD, role=Role.AGENT, actor=ADMIN)
    assert change(client, current_password="wrong password!!").status_code == 422
    assert change(browser_of(colleague)).status_code == 429
    away = browser_of(colleague, REMOTE_ADDR="192.0.2.99")
    assert change(away).status_code == 302


def test_change_by_somebody_else_in_between_is_told_on_the_form(store, client, later):
    def meanwhile() -> None:
        later(seconds=1)
        services.change("amira.haddad", time_zone="Asia/Tokyo", actor=ADMIN)

    with faults.before("TransactWriteItems", meanwhile):
        answer = change(client)
    assert answer.status_code == 409
    assert "changed this account in the meantime" in text_of(answer)
    assert 'name="new_password"' in answer.content.decode()
    assert change(client).status_code == 302


@pytest.mark.parametrize("fault", [faults.fail_before, faults.fail_after])
def test_store_that_fails_is_503_and_says_nothing_of_success(store, client, fault):
    with fault("TransactWriteItems"):
        answer = change(client)
    assert answer.status_code == 503
    assert "is changed" not in text_of(answer)


# --- Second factor


def modules_of(svg: str) -> list[list[int]]:
    """The dark modules of a QR code's inline SVG: its one path of horizontal strokes ("M4 4.5h7m1 0h2…")."""
    size = int(re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).group(1))
    path = re.search(r'<path stroke="#000" d="([^"]+)"', svg).group(1)
    found = [[0] * size for _ in range(size)]
    x = y = 0.0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        if command == "h":
            for column in range(int(x), int(x + values[0])):
                found[int(y)][column] = 1
            x += values[0]
        else:
            x, y = (values[0], values[1]) if command == "M" else (x + values[0], y + values[1])
    return found


def test_qr_code_is_the_key_for_this_console_and_account_on_white(store, client, settings):
    page = client.get("/account/second-factor/")
    key, _pending = key_and_pending(page)
    svg = re.search(r"<svg viewBox.*?</svg>", page.content.decode()).group()
    uri = f"otpauth://totp/Conversation%20Console%20%28test%29:amira.haddad?secret={key}&issuer=Conversation%20Console%20%28test%29"
    expected = [[int(module) for module in row] for row in segno.make_qr(uri, error="m").matrix_iter(border=4)]
    assert modules_of(svg) == expected
    size = len(expected)
    assert f'<path fill="#fff" d="M0 0h{size}v{size}h-{size}z"/>' in svg
    # Four light modules on each side, as scanners want it.
    assert not any(any(row) for row in [*expected[:4], *expected[-4:]])
    assert "style" not in svg
    assert key not in svg


def test_set_up_shows_the_codes_once_and_asks_for_a_code_from_then_on(store, agent, client):
    old, elsewhere = client.cookies["session"].value, browser_of(agent)
    answer, key = set_up(client)
    codes = codes_in(answer)
    assert answer.status_code == 200
    assert len(set(codes)) == 10
    assert "Conversation Console (test), amira.haddad" in answer.content.decode()
    assert client.cookies["session"].value != old
    assert elsewhere.get("/account/").status_code == 302
    said = text_of(client.get("/account/"))
    assert "10 recovery codes are left" in said
    assert not [code for code in [*codes, key] if code in said]
    # The page of the form answers nothing about them any more.
    again = client.get("/account/second-factor/")
    assert (again.status_code, again["Location"]) == (302, "/account/")
    assert "already has a second factor" in text_of(client.get("/account/"))
    signed = Client().post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD})
    assert "session" not in signed.cookies


def test_page_of_the_codes_has_working_forms(store, agent):
    strict = browser_of(agent, enforce_csrf_checks=True)
    page = strict.get("/account/second-factor/")
    key, pending = key_and_pending(page)
    form = {
        "pending": pending,
        "code": code_of(key),
        "current_password": PASSWORD,
        "csrfmiddlewaretoken": csrf_of(page),
    }
    answer = strict.post("/account/second-factor/", form)
    assert codes_in(answer)
    assert strict.post("/sign-out/", {"csrfmiddlewaretoken": csrf_of(page)}).status_code == 403
    assert strict.post("/sign-out/", {"csrfmiddlewaretoken": csrf_of(answer)}).status_code == 302


def csrf_of(page) -> str:
    return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.content.decode()).group(1)


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"code": "000 00"}, "code", "not the code for this key"),
        ({"code": ""}, "code", "Enter the code"),
        ({"code": "😀" * 6}, "code", "not the code for this key"),
        ({"current_password": "wrong password!!"}, "current_password", "not your current password"),
        ({"current_password": ""}, "current_password", "Enter your password"),
    ],
)
def test_refused_set_up_keeps_the_key_that_was_scanned(store, client, typed, field, words):
    key, pending = key_and_pending(client.get("/account/second-factor/"))
    form = {"pending": pending, "code": code_of(key), "current_password": PASSWORD} | typed
    answer = client.post("/account/second-factor/", form)
    assert answer.status_code == 422
    errors = re.search(rf'id="id_{field}_error".*?</ul>', answer.content.decode(), re.DOTALL)
    assert errors is not None
    assert words in errors.group()
    assert key_and_pending(answer) == (key, pending)
    assert "totp_secret" not in stored(store)
    assert PASSWORD not in answer.content.decode()


@pytest.mark.parametrize("which", ["old", "junk", "absent", "too long"])
def test_key_that_is_over_is_replaced_with_words(store, client, later, which):
    key, pending = key_and_pending(client.get("/account/second-factor/"))
    if which == "old":
        later(minutes=16)
    pending = {"old": pending, "junk": "x" * 40, "absent": "", "too long": "x" * 3000}[which]
    form = {"pending": pending, "code": code_of(key), "current_password": PASSWORD}
    answer = client.post("/account/second-factor/", form)
    assert answer.status_code == 422
    assert "Remove the entry from your app, scan again, and enter the code your app shows" in text_of(answer)
    fresh, sealed = key_and_pending(answer)
    assert fresh != key
    retyped = {"pending": sealed, "code": code_of(fresh), "current_password": PASSWORD}
    assert codes_in(client.post("/account/second-factor/", retyped))


def test_new_recovery_codes_need_the_password_and_are_shown_once(store, client):
    old = codes_in(set_up(client)[0])
    refused = client.post("/account/recovery-codes/", {"current_password": "wrong password!!"})
    assert refused.status_code == 422
    assert not codes_in(refused)
    assert second_factor.codes_left(accounts.get("amira.haddad")) == 10
    answer = client.post("/account/recovery-codes/", {"current_password": PASSWORD})
    fresh = codes_in(answer)
    assert len(fresh) == 10
    assert not codes_in(client.get("/account/recovery-codes/"))
    account = accounts.get("amira.haddad")
    assert [second_factor.verify(account, code) for code in (old[0], fresh[0])] == ["", "recovery code"]


def test_second_factor_is_removed_by_the_password_only(store, agent, client):
    set_up(client)
    assert client.post("/account/second-factor/remove/", {"current_password": "wrong password!!"}).status_code == 422
    assert second_factor.is_on(accounts.get("amira.haddad"))
    elsewhere = browser_of(accounts.get("amira.haddad"))
    answer = client.post("/account/second-factor/remove/", {"current_password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    assert not second_factor.is_on(accounts.get("amira.haddad"))
    assert "your password alone opens your account" in text_of(client.get("/account/"))
    assert elsewhere.get("/account/").status_code == 302


def test_pages_of_a_second_factor_that_is_not_there_lead_back_with_words(store, client):
    for name in ("account-second-factor-remove", "account-recovery-codes"):
        answer = client.get(reverse(name))
        assert (answer.status_code, answer["Location"]) == (302, "/account/")
        assert "has no second factor" in text_of(client.get("/account/"))


# --- Time zone


def test_time_zone_is_saved_and_shown_at_once(store, client):
    answer = client.post("/account/time-zone/", {"time_zone": "Asia/Tokyo"})
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    page = client.get("/account/")
    assert "Times are now shown in Asia/Tokyo" in text_of(page)
    assert '<option value="Asia/Tokyo" selected>Tokyo (UTC+9)</option>' in page.content.decode()
    assert stored(store)["time_zone"] == "Asia/Tokyo"


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../../etc/passwd", "x" * 5000, "Asia/Tokyo\0"])
def test_zone_that_is_none_is_refused_with_words(store, client, zone):
    before = stored(store)
    answer = client.post("/account/time-zone/", {"time_zone": zone})
    assert answer.status_code == 422
    assert 'class="errorlist"' in answer.content.decode()
    assert stored(store) == before


def test_zones_are_grouped_by_region_and_named_by_place(later):
    at = clock.parse_instant("2026-07-01T12:00:00Z")
    choices = dict(zone_choices(at))
    assert next(iter(choices)) == "UTC"
    assert ("Europe/London", "London (UTC+1)") in choices["Europe"]
    assert ("America/Argentina/Buenos_Aires", "Buenos Aires, Argentina (UTC−3)") in choices["America"]
    assert ("Asia/Kolkata", "Kolkata (UTC+5:30)") in choices["Asia"]
    assert ("America/St_Johns", "St Johns (UTC−2:30)") in choices["America"]
    assert ("US/Eastern", "Eastern, US (UTC−4)") in choices["Other names"]
    assert list(choices["Europe"]) == sorted(choices["Europe"], key=lambda zone: zone[1])


def test_zone_that_this_machine_does_not_know_stays_chosen(store, agent, client):
    store.update("STAFF", {"username": "amira.haddad"}, time_zone="Mars/Base")
    page = client.get("/account/").content.decode()
    assert '<option value="Mars/Base" selected>' in page


# --- Sessions


def test_sessions_are_listed_and_one_can_be_ended(store, agent, client):
    key = begin(agent, "Chrome on Android")
    said = text_of(client.get("/account/"))
    assert said.count("this browser") == 1
    assert "Chrome on Android" in said
    reference = refs.seal("staff-session", "amira.haddad", key)
    assert reference in client.get("/account/").content.decode()
    ending = {"session": reference, "current_password": PASSWORD}
    answer = client.post("/account/sessions/end/", ending)
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    said = text_of(client.get("/account/"))
    assert "The session in Chrome on Android has ended." in said
    client.post("/account/sessions/end/", ending)
    assert "That session has already ended" in text_of(client.get("/account/"))


@pytest.mark.parametrize("all_others", [True, False])
def test_sessions_elsewhere_end_with_the_password_only(store, agent, client, all_others):
    elsewhere, key = browser_of(agent), begin(agent, "Chrome on Android")
    reference = "all" if all_others else refs.seal("staff-session", "amira.haddad", key)
    before = store.all("STAFF_SESSIONS")
    asked = client.post("/account/sessions/end/", {"session": reference})
    assert (asked.status_code, "Enter your password, so that" in text_of(asked)) == (200, True)
    assert f'name="session" value="{reference}"' in asked.content.decode()
    for wrong, words in (("", "Enter your password."), ("a wrong password", "That is not your current password.")):
        answer = client.post("/account/sessions/end/", {"session": reference, "current_password": wrong})
        assert answer.status_code == 422
        assert words in text_of(answer)
        assert store.all("STAFF_SESSIONS") == before
        assert elsewhere.get("/account/").status_code == 200
    [tried] = [each for each in store.all("AUDIT") if str(each["action_type"]).startswith("staff.session")]
    assert tried["result"] == "failed: wrong password"


@pytest.mark.parametrize("reference", ["", "junk", "all ", "ä"])
def test_junk_and_foreign_references_are_404(store, agent, client, reference):
    colleague = services.create("tom.becker", PASSWORD, role=Role.AGENT, actor=ADMIN)
    theirs = refs.seal("staff-session", "tom.becker", begin(colleague))
    before = store.all("STAFF_SESSIONS")
    for each in (reference, theirs):
        assert client.post("/account/sessions/end/", {"session": each}).status_code == 404
    assert client.post("/account/sessions/end/").status_code == 404
    assert store.all("STAFF_SESSIONS") == before


def test_ending_this_session_signs_out(store, client):
    copied = Client()
    copied.cookies["session"] = client.cookies["session"].value
    key = sessions.read_token(client.cookies["session"].value).session_id
    answer = client.post("/account/sessions/end/", {"session": refs.seal("staff-session", "amira.haddad", key)})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    assert client.cookies["session"].value == ""
    assert copied.get("/account/").status_code == 302
    assert "You are signed out." in text_of(client.get("/sign-in/"))


def test_all_other_sessions_end_and_this_one_goes_on_under_another_cookie(store, agent, client):
    old, elsewhere, copied = client.cookies["session"].value, browser_of(agent), Client()
    copied.cookies["session"] = old
    answer = client.post("/account/sessions/end/", {"session": "all", "current_password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    assert client.cookies["session"].value != old
    assert "signed out in every other browser" in text_of(client.get("/account/"))
    for other in (elsewhere, copied):
        assert other.get("/account/").status_code == 302
    assert len([item for item in store.all("AUDIT") if item["action_type"] == "staff.sessions_ended"]) == 1


# --- What must not get out


@pytest.mark.slow
def test_no_secret_is_in_urls_logs_trail_or_notices(store, client, caplog):
    caplog.set_level(logging.DEBUG)
    answer, key = set_up(client)
    codes = codes_in(answer)
    with faults.fail_before("TransactWriteItems"):
        client.post("/account/recovery-codes/", {"current_password": PASSWORD})
    fresh = codes_in(client.post("/account/recovery-codes/", {"current_password": PASSWORD}))
    changed = change(client)
    token = client.cookies["session"].value
    secrets = [key, *codes, *fresh, PASSWORD, NEW, token]
    notices = "".join(morsel.value for name, morsel in client.cookies.items() if name != "session")
    places = caplog.text + str(store.all("AUDIT")) + str(store.all("CONSOLE")) + notices + changed["Location"]
    assert caplog.records
    assert not [secret for secret in secrets if secret in places or secret.replace("-", "") in places]


def test_pages_hold_no_inline_script_or_style(store, client):
    answer, _key = set_up(client)
    for page in (answer, *[client.get(reverse(name)) for name in PAGES]):
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", page.content.decode())
