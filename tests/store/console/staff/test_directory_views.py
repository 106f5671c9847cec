"""`/staff/`: what administrators see and change, who may not, and what happens when something fails on the way."""

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from console.errors import Invalid, StoreUnavailable
from console.permissions import OPENID_CONNECT, Role
from console.refs import seal
from console.staff import accounts, known_companies, password_links, passwords, second_factor, services, sessions
from console.store import presence
from console.trail.recording import Actor, staff_trail
from tests import faults, people
from tests.people import admin, signed_in
from tests.store.console.staff.conftest import ADMIN, PASSWORD

pytestmark = pytest.mark.pages

HTMX = {"HTTP_HX_REQUEST": "true"}
PAGES = (
    "staff-account",
    "staff-change",
    "staff-disable",
    "staff-enable",
    "staff-password",
    "staff-second-factor-remove",
)
ACCOUNT_ACTIONS = ("staff-disable", "staff-enable", "staff-password", "staff-second-factor-remove")
POSTED = (*ACCOUNT_ACTIONS, "staff-change", "staff-sessions-end")
COMPANY, OTHER_COMPANY = f"company:{people.COMPANY}", f"company:{people.OTHER_COMPANY}"
FORM = {
    "username": "new.person",
    "display_name": "New Person",
    "role": "agent",
    "companies": [COMPANY],
    "other": "",
    "time_zone": "Europe/London",
}
CHANGE = {"display_name": "Amira H.", "role": "auditor", "other": OTHER_COMPANY, "time_zone": "Asia/Tokyo"}


def member(username="amira.haddad", role="agent", scope=(COMPANY,), **more):
    return people.member(username, role, scope, **more)


@pytest.fixture(autouse=True)
def _whole_console(settings) -> None:
    settings.ROOT_URLCONF = "console.urls"


@pytest.fixture(autouse=True)
def _known(monkeypatch) -> None:
    names = {people.COMPANY: "Aardvark Ltd", people.OTHER_COMPANY: "Badger Ltd"}

    def within_scope(staff):
        return {each: name for each, name in names.items() if staff.scope.covers_company(each)}

    monkeypatch.setattr(known_companies, "_sources", {within_scope: "company:"})


@pytest.fixture
def ada(store):
    return signed_in(admin())


@pytest.fixture
def lena(store):
    """An administrator of one company."""
    return signed_in(member("lena.local", "admin", [COMPANY]))


@pytest.fixture(scope="module")
def password_hash() -> str:
    return passwords.hash_password(PASSWORD)


@pytest.fixture
def amira(store, password_hash):
    """An agent of one company, with a password."""
    member("amira.haddad")
    store.update("STAFF", {"username": "amira.haddad"}, password_hash=password_hash)
    return accounts.get("amira.haddad")


def url(name: str, username: str = "amira.haddad") -> str:
    return reverse(name, args=[username])


def stored(store, username: str = "amira.haddad") -> dict:
    return store.get("STAFF", username=username)


def entries(store, username: str = "amira.haddad") -> list[tuple[str, dict]]:
    found = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail(username)]
    return [(item["action_type"], json.loads(item["action_payload_redacted"])) for item in found]


def everything(store) -> list:
    return [store.all(key) for key in ("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")]


def text_of(response) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def seen(store, username: str = "amira.haddad") -> dict:
    return {"seen": stored(store, username)["updated_at"]}


def fields_in(page: str) -> dict:
    """What a browser sends of the account's form as it is shown."""
    form = re.search(r'<form class="form account-form".*?</form>', page, re.S)[0]
    found: dict = {"companies": []}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = (re.search(rf'{each}="([^"]*)"', tag) for each in ("name", "value"))
        if 'type="checkbox"' in tag or 'type="radio"' in tag:
            if "checked" not in tag:
                continue
            if name[1] == "companies":
                found["companies"].append(unescape(value[1]))
                continue
        found[name[1]] = unescape(value[1]) if value else "on"
    for name, text in re.findall(r'<textarea name="([^"]+)"[^>]*>(.*?)</textarea>', form, re.S):
        found[name] = unescape(text).strip()
    for name, options in re.findall(r'<select name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = unescape(chosen[1]) if chosen else ""
    return found


def link_in(response) -> str:
    found = re.search(r'<code id="password-link">([^<]+)</code>', response.content.decode())
    return unescape(found[1]) if found else ""


def second_factor_on(store, username: str = "amira.haddad") -> None:
    store.update(
        "STAFF",
        {"username": username},
        totp_secret=second_factor.sealed_secret(username, second_factor.new_secret()),
        second_factor_at="2026-01-01T00:00:00.000Z",
        recovery_codes={"a", "b"},
    )


# --- Who gets in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["agent", "onboarding", "auditor"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_other_roles_are_refused_every_page_and_it_changes_nothing(store, amira, role, method):
    client = signed_in(member(f"some.{role}", role, ["*"]))
    before = store.all("STAFF")
    for address in (*map(url, PAGES), url("staff-sessions-end"), reverse("staff"), reverse("staff-new")):
        assert getattr(client, method)(address, {**FORM, "session": "all"}).status_code == 403, address
    assert store.all("STAFF") == before


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [*(("get", name) for name in PAGES), *(("post", name) for name in POSTED)])
@pytest.mark.parametrize("username", ["wider", "everywhere", "nowhere", "absent", "Inside", "%00", "a@b.example"])
def test_outside_the_scope_is_not_found_like_what_is_absent(store, lena, name, method, username):
    member("wider", scope=[COMPANY, OTHER_COMPANY])
    member("everywhere", "admin", scope=["*"])
    member("nowhere", scope=[])
    member("inside")
    before = everything(store)
    data = {**CHANGE, "session": "all", "seen": (stored(store, username) or {"updated_at": "x"})["updated_at"]}
    answer = getattr(lena, method)(f"/staff/{username}/{url(name, 'x').removeprefix('/staff/x/')}", data)
    assert answer.status_code == 404
    assert everything(store) == before


def test_wrong_methods_are_refused(ada, amira):
    for address in (reverse("staff"), url("staff-account")):
        assert ada.post(address).status_code == 405
    assert ada.get(url("staff-sessions-end"))["Location"] == url("staff-account")
    for address in (*map(url, PAGES), reverse("staff"), reverse("staff-new"), url("staff-sessions-end")):
        assert ada.put(address).status_code == 405
        assert ada.delete(address).status_code == 405


@pytest.mark.slow
def test_looking_changes_nothing(store, ada, amira):
    second_factor_on(store)
    before = everything(store)
    for address in (*map(url, PAGES), reverse("staff"), reverse("staff-new"), f"{reverse('staff')}?open=amira.haddad"):
        assert ada.get(address).status_code in (200, 302), address
        assert ada.head(address).status_code in (200, 302)
    assert everything(store) == before


def test_pages_hold_no_secret(store, ada, amira):
    second_factor_on(store)
    item = stored(store)
    for address in (*map(url, PAGES), reverse("staff")):
        page = ada.get(address).content.decode()
        for secret in (item["password_hash"], item["totp_secret"]):
            assert secret not in page


# --- The list ---------------------------------------------------------------------------------------------------------


def test_list_shows_accounts_as_rows_for_the_keyboard(ada, amira):
    page = ada.get(reverse("staff"))
    assert page.status_code == 200
    rows = re.findall(r'<tr data-row id="row-([^"]+)".*?<a data-open href="([^"]+)"', page.content.decode(), re.DOTALL)
    assert rows == [("ada.admin", url("staff-account", "ada.admin")), ("amira.haddad", url("staff-account"))]
    assert "Amira Haddad" in text_of(page)
    assert people.COMPANY in text_of(page)
    assert "never signed in" in text_of(page)


def test_filters_are_in_the_address_and_the_fragment_is_the_list_alone(ada, amira):
    fragment = ada.get(reverse("staff"), {"name": "AM", "role": "agent"}, **HTMX)
    assert fragment.content.decode().lstrip().startswith('<div id="people">')
    assert "Amira" in text_of(fragment)
    assert "Ada" not in text_of(fragment)
    assert "No account matches" in text_of(ada.get(reverse("staff"), {"name": "zzz"}))


def test_junk_in_filters_is_named_and_left_out(ada, amira):
    page = ada.get(reverse("staff"), {"name": "a%", "role": "boss", "state": "x", "page": "junk"})
    assert page.status_code == 200
    assert "No username starts like that." in text_of(page)
    assert "Choose one of the listed roles." in text_of(page)
    assert "Amira Haddad" in text_of(page)


def test_next_page_keeps_the_filters(store, ada):
    for number in range(52):
        member(f"p{number:02}")
    page = ada.get(reverse("staff"), {"role": "agent"})
    following = unescape(re.search(r'rel="next" href="([^"]+)"', page.content.decode())[1])
    assert following.startswith("/staff/?role=agent&page=")
    second = ada.get(following)
    assert "p51" in text_of(second)
    assert "p00" not in text_of(second)


def test_without_the_index_accounts_are_opened_by_username(store, ada, amira, monkeypatch):
    monkeypatch.setattr(presence, "_indexes", lambda key: frozenset())
    page = ada.get(reverse("staff"))
    assert page.status_code == 200
    assert "cannot be listed" in text_of(page)
    assert 'name="open"' in page.content.decode()
    assert ada.get(url("staff-account")).status_code == 200
    assert ada.get(reverse("staff"), {"open": " Amira.Haddad "}).url == url("staff-account")
    answer = ada.get(reverse("staff"), {"open": "nobody"}, follow=True)
    assert "No account in your scope has that username" in text_of(answer)


def test_admin_without_scope_is_told_so(store):
    client = signed_in(member("lost.admin", "admin", []))
    page = client.get(reverse("staff"))
    assert page.status_code == 200
    assert "Nothing is in your scope yet" in text_of(page)
    assert client.get(url("staff-account", "lost.admin")).status_code == 200


@pytest.mark.parametrize(("code", "status"), [("ThrottlingException", 429), ("InternalServerError", 503)])
def test_list_that_cannot_be_read_says_so(ada, amira, code, status):
    ada.get(reverse("staff"))
    with faults.refuse("Query", code=code, status=400 if status == 429 else 500, times=faults.ALWAYS):
        answer = ada.get(reverse("staff"))
    assert answer.status_code == status


# --- A new account ----------------------------------------------------------------------------------------------------


def test_new_account_is_made_with_a_link_that_is_shown_once(store, ada):
    answer = ada.post(reverse("staff-new"), FORM)
    assert answer.status_code == 200
    link = link_in(answer)
    address, _, code = link.partition("#")
    assert address in ("http://testserver/set-password/", "https://testserver/set-password/")
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Shown only once" in text_of(answer)
    item = stored(store, "new.person")
    assert (item["role"], item["scope"], item["display_name"]) == ("agent", [COMPANY], "New Person")
    assert (item["time_zone"], item["signs_in_with"]) == ("Europe/London", "password")
    [(action, payload)] = entries(store, "new.person")
    assert action == "staff.created"
    assert code
    for where in (str(everything(store)), str(ada.cookies), str(dict(answer.headers)), str(payload)):
        assert code not in where
    # And nowhere on any later page.
    for later in (ada.get(url("staff-account", "new.person")), ada.get(reverse("staff"))):
        assert code not in later.content.decode()
    assert "not used yet, valid until" in text_of(ada.get(url("staff-account", "new.person")))


def test_the_link_sets_the_password(store, ada):
    code = link_in(ada.post(reverse("staff-new"), FORM)).partition("#")[2]
    password_links.redeem(code, "a password of their own")
    assert passwords.verify("a password of their own", stored(store, "new.person")["password_hash"])[0]


def test_extra_fields_are_never_stored(store, ada):
    extra = {
        "epoch": "99",
        "disabled": "true",
        "password_hash": "x",
        "password": "correct horse battery",
        "oidc_subject": "x",
        "totp_secret": "x",
        "signs_in_with": OPENID_CONNECT,
        "favourite": "x",
        "last_sign_in_at": "2026-01-01T00:00:00Z",
    }
    assert ada.post(reverse("staff-new"), FORM | extra).status_code == 200
    item = stored(store, "new.person")
    assert (item["epoch"], item["disabled"], item["signs_in_with"]) == (1, False, "password")
    assert item["password_hash"].startswith("!")
    assert not {"oidc_subject", "totp_secret", "favourite", "password", "last_sign_in_at"} & set(item)
    before = stored(store, "new.person")
    posted = FORM | extra | seen(store, "new.person") | {"display_name": "Other", "username": "somebody.else"}
    assert ada.post(url("staff-change", "new.person"), posted).status_code == 302
    after = stored(store, "new.person")
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"display_name", "updated_at"}
    assert stored(store, "somebody.else") is None


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("username", "a@b.example", "not an email address"),
        ("username", "", "Enter a username."),
        ("username", "new", "is reserved"),
        ("role", "", "Choose a role."),
        ("role", "boss", "Choose one of these roles."),
        ("time_zone", "Mars/Olympus", "Choose one of these time zones."),
        ("other", "STAFF#x", "is not a company or tenant id"),
        ("companies", ["x" * 201], "is not a company or tenant id"),
        ("display_name", "x" * 81, "too many: up to 80 characters."),
        ("display_name", "a\u202eb", "printable"),
    ],
)
def test_what_cannot_be_is_said_beside_the_field_and_the_form_is_intact(store, ada, field, value, words):
    answer = ada.post(reverse("staff-new"), FORM | {"display_name": "Kept Name", field: value})
    assert answer.status_code == 422
    assert words in text_of(answer)
    if field != "display_name":
        assert 'value="Kept Name"' in answer.content.decode()
    assert [item["username"] for item in store.all("STAFF")] == ["ada.admin"]


def test_taken_username_is_said_and_the_form_is_intact(store, ada, amira):
    before = stored(store)
    answer = ada.post(reverse("staff-new"), FORM | {"username": "Amira.Haddad", "display_name": "Another Amira"})
    assert answer.status_code == 409
    assert "There is already an account" in text_of(answer)
    page = answer.content.decode()
    assert 'value="Another Amira"' in page
    assert re.search(rf'value="{COMPANY}"[^>]*checked', page)
    assert stored(store) == before
    assert link_in(answer) == ""


def test_scope_of_a_new_account_comes_from_ticks_and_typed_ids(store, ada):
    ada.post(
        reverse("staff-new"),
        FORM | {"companies": [COMPANY, OTHER_COMPANY], "other": "tenant:t-9, tenant:t-8\ntenant:t-7;tenant:t-9"},
    )
    assert stored(store, "new.person")["scope"] == [COMPANY, OTHER_COMPANY, "tenant:t-7", "tenant:t-8", "tenant:t-9"]


def test_all_companies(store, ada):
    ada.post(reverse("staff-new"), FORM | {"everything": "on", "companies": []})
    assert stored(store, "new.person")["scope"] == ["*"]


@pytest.mark.parametrize("also", [{"companies": [COMPANY]}, {"companies": [], "other": "tenant:t-9"}])
def test_all_companies_together_with_single_ones_are_refused(store, ada, also):
    member("inside")
    before = stored(store, "inside")
    contradiction = {"everything": "on"} | also
    answers = [
        ada.post(reverse("staff-new"), FORM | contradiction),
        ada.post(url("staff-change", "inside"), CHANGE | contradiction | seen(store, "inside")),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "Tick this, or choose companies and tenants below, but not both." in text_of(answer)
    assert stored(store, "new.person") is None
    assert stored(store, "inside") == before


@pytest.mark.parametrize("field", ["companies", "other"])
@pytest.mark.parametrize("word", ["all", "ALL", "*", "everything", "company:*", "tenant:*"])
def test_no_word_in_a_field_means_all(store, ada, field, word):
    assert ada.post(reverse("staff-new"), FORM | {field: word}).status_code == 422
    assert stored(store, "new.person") is None


@pytest.mark.parametrize("scope", [["tenant:all"], ["all"], ["company:ALL", "tenant:all"]])
def test_a_tenant_called_all_stays_one_tenant_whatever_else_is_changed(store, ada, scope):
    """Somebody has the tenant `all` in scope, and an administrator changes their time zone by the form as shown."""
    member("olga.novak", "onboarding", scope)
    page = ada.get(url("staff-change", "olga.novak"))
    data = fields_in(page.content.decode()) | {"time_zone": "Asia/Tokyo"}
    assert ada.post(url("staff-change", "olga.novak"), data).status_code == 302
    item = stored(store, "olga.novak")
    assert (item["scope"], item["time_zone"], item["epoch"]) == (scope, "Asia/Tokyo", 1)


def test_an_old_entry_opens_both_until_an_administrator_says_what_it_means(store, ada, monkeypatch):
    monkeypatch.setattr(known_companies, "_sources", {lambda staff: {"outlocks": "Outlocks"}: "tenant:"})
    member("amira.haddad", scope=["outlocks", "x-1", "x-2", "x-3"])
    assert "confirm scope" in text_of(ada.get(reverse("staff")))
    assert "Part of this scope needs confirming" in text_of(ada.get(url("staff-account")))
    page = ada.get(url("staff-change"))
    assert "Known here: tenant Outlocks." in text_of(page)
    data = fields_in(page.content.decode())
    data |= {"meant:outlocks": "tenant", "meant:x-1": "company", "meant:x-2": "both", "meant:x-3": "neither"}
    assert ada.post(url("staff-change"), data).status_code == 302
    meant = ["company:x-1", "company:x-2", "tenant:outlocks", "tenant:x-2"]
    assert stored(store)["scope"] == meant
    assert "confirm" not in text_of(ada.get(reverse("staff"))) + text_of(ada.get(url("staff-account")))
    assert [payload["to"] for action, payload in entries(store) if action == "staff.changed"] == [{"scope": meant}]


def test_an_id_alone_is_never_given_anew(store, ada):
    answer = ada.post(reverse("staff-new"), FORM | {"other": "ci-x"})
    assert "company:ci-x or tenant:ci-x" in text_of(answer)
    assert stored(store, "new.person") is None
    member()
    data = {"display_name": "A", "role": "agent", "time_zone": "UTC", "other": COMPANY, "meant:ci-x": "both"}
    ada.post(url("staff-change"), data | seen(store))
    assert stored(store)["scope"] == [COMPANY]


def test_nothing_in_scope_is_allowed_and_is_nothing(store, ada):
    ada.post(reverse("staff-new"), FORM | {"companies": []})
    assert stored(store, "new.person")["scope"] == []


def test_unknown_ids_are_allowed_and_said(store, ada):
    assert "Not known here: company:ci-typo-1." in text_of(
        ada.post(reverse("staff-new"), FORM | {"other": "company:ci-typo-1"})
    )
    assert "ci-typo-1, not known here" in text_of(ada.get(url("staff-account", "new.person")))


def test_companies_that_cannot_be_read_do_not_keep_from_giving_scope(store, ada, monkeypatch):
    def failing(staff):
        raise StoreUnavailable

    monkeypatch.setattr(known_companies, "_sources", {failing: "company:"})
    page = ada.get(reverse("staff-new"))
    assert page.status_code == 200
    assert "could not be read" in text_of(page)
    answer = ada.post(reverse("staff-new"), FORM | {"other": "company:ci-x"})
    assert "Not known here" not in text_of(answer)
    assert "company:ci-x" in stored(store, "new.person")["scope"]


def test_company_sign_in_is_offered_where_it_is_configured(store, ada, settings):
    assert "signs_in_with" not in ada.get(reverse("staff-new")).content.decode()
    settings.OIDC_ISSUER, settings.OIDC_NAME = "https://login.example", "Example account"
    assert "Example account" in text_of(ada.get(reverse("staff-new")))
    answer = ada.post(reverse("staff-new"), FORM | {"signs_in_with": OPENID_CONNECT})
    assert answer.url == url("staff-account", "new.person")
    item = stored(store, "new.person")
    assert item["signs_in_with"] == OPENID_CONNECT
    assert "password_link_hash" not in item
    assert "has no password here" in text_of(ada.get(url("staff-password", "new.person")))


def test_what_the_company_sign_in_decides_is_said_on_the_page_that_changes_it(store, ada, settings):
    member("jonas.weber")
    store.update("STAFF", {"username": "jonas.weber"}, signs_in_with=OPENID_CONNECT)
    settings.OIDC_ISSUER, settings.OIDC_ROLE_CLAIM = "https://login.example", "groups"
    assert "sets this account's role. What you choose" in text_of(ada.get(url("staff-change", "jonas.weber")))
    settings.OIDC_SCOPE_CLAIM = "companies"
    assert "sets this account's role and scope" in text_of(ada.get(url("staff-change", "jonas.weber")))
    member("amira.haddad")
    assert "What you choose here lasts until the next sign-in" not in text_of(ada.get(url("staff-change")))


# --- What limited administrators may give -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scope",
    [
        {"everything": "on"},
        {"other": "all"},
        {"other": "*"},
        {"other": OTHER_COMPANY},
        {"companies": [COMPANY, OTHER_COMPANY]},
        {"companies": []},
    ],
)
def test_limited_admin_gives_no_scope_that_they_lack(store, lena, scope):
    member("inside")
    answer = lena.post(reverse("staff-new"), FORM | scope)
    assert answer.status_code == 422
    assert "cannot give" in text_of(answer) or "at least one" in text_of(answer)
    assert stored(store, "new.person") is None
    before = stored(store, "inside")
    answer = lena.post(url("staff-change", "inside"), FORM | scope | seen(store, "inside"))
    assert answer.status_code == 422
    assert stored(store, "inside") == before


def test_limited_admin_makes_accounts_within_their_scope_and_is_offered_no_other_company(store, lena):
    page = lena.get(reverse("staff-new"))
    assert "Aardvark" in text_of(page)
    assert "Badger" not in text_of(page)
    assert "everything" not in page.content.decode()
    assert lena.post(reverse("staff-new"), FORM | {"role": "admin"}).status_code == 200
    assert stored(store, "new.person")["role"] == "admin"


def test_limited_admin_cannot_touch_a_full_one(store, lena):
    admin()
    before = stored(store, "ada.admin")
    for name in (*ACCOUNT_ACTIONS, "staff-change", "staff-sessions-end"):
        data = FORM | {"session": "all"} | seen(store, "ada.admin")
        assert lena.post(url(name, "ada.admin"), data).status_code == 404
    assert stored(store, "ada.admin") == before
    assert "ada.admin" not in text_of(lena.get(reverse("staff")))
    assert "No account in your scope has that username" in text_of(
        lena.get(reverse("staff"), {"open": "ada.admin"}, follow=True)
    )


def test_trail_of_others_is_linked_only_where_it_can_be_read(store, ada, lena, amira):
    assert ">Trail<" in re.sub(r"\s+", "", re.sub(r"<svg.*?</svg>", "", ada.get(url("staff-account")).content.decode()))
    assert "/audit/trails/" not in lena.get(url("staff-account")).content.decode()
    link = re.search(r'href="(/audit/trails/[^"]+)"', ada.get(url("staff-account")).content.decode())[1]
    assert ada.get(link).status_code == 200


# --- Changing ---------------------------------------------------------------------------------------------------------


def test_change_of_everything_is_one_write_with_one_entry_that_says_before_and_after(store, ada, amira):
    before = stored(store)
    with store.calls() as calls:
        answer = ada.post(url("staff-change"), CHANGE | seen(store))
    assert answer.url == url("staff-account")
    after = stored(store)
    assert (after["role"], after["scope"]) == ("auditor", [OTHER_COMPANY])
    assert (after["display_name"], after["time_zone"]) == ("Amira H.", "Asia/Tokyo")
    assert after["epoch"] == before["epoch"] + 1
    assert [call.operation for call in calls if "Write" in call.operation] == ["TransactWriteItems"]
    action, payload = entries(store)[-1]
    assert action == "staff.changed"
    assert set(payload["changed"].split(", ")) == {"role", "scope", "display_name", "time_zone"}
    assert payload["from"] == {"role": "agent", "scope": [COMPANY], "time_zone": "UTC"}
    assert payload["to"] == {"role": "auditor", "scope": [OTHER_COMPANY], "time_zone": "Asia/Tokyo"}
    assert "signed out everywhere" in text_of(ada.get(url("staff-account")))


def test_new_name_and_zone_leave_the_person_signed_in(store, ada, amira):
    person = signed_in(amira)
    data = {"display_name": "Amira H.", "role": "agent", "companies": [COMPANY], "time_zone": "Asia/Tokyo"}
    ada.post(url("staff-change"), data | seen(store))
    assert (stored(store)["display_name"], stored(store)["epoch"]) == ("Amira H.", 1)
    assert person.get("/queue/").status_code == 200
    ada.post(url("staff-change"), data | seen(store) | {"role": "auditor"})
    assert person.get("/queue/").status_code == 302


def test_form_holds_what_is_stored(store, ada):
    member("amira.haddad", scope=[COMPANY, "tenant:t-unknown"])
    page = ada.get(url("staff-change")).content.decode()
    assert 'value="Amira Haddad"' in page
    assert re.search(r'value="agent"[^>]*checked', page)
    assert re.search(rf'value="{COMPANY}"[^>]*checked', page)
    assert not re.search(rf'value="{OTHER_COMPANY}"[^>]*checked', page)
    assert "t-unknown</textarea>" in page
    # Saved as it is, it changes nothing and writes nothing.
    data = {"display_name": "Amira Haddad", "role": "agent", "companies": [COMPANY], "other": "tenant:t-unknown"}
    before = everything(store)
    assert ada.post(url("staff-change"), data | {"time_zone": "UTC"} | seen(store)).status_code == 302
    assert everything(store) == before
    assert "Nothing to change" in text_of(ada.get(url("staff-account")))


def test_open_link_ends_with_another_access_and_both_pages_say_so(store, ada, amira):
    told = "cancels their password link"
    assert told not in text_of(ada.get(url("staff-change")))
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    assert told in text_of(ada.get(url("staff-change")))
    answer = ada.post(url("staff-change"), CHANGE | seen(store), follow=True)
    assert "Its password link has expired" in text_of(answer)
    with pytest.raises(Invalid):
        password_links.redeem(code, "another fine password")


def test_stale_form_is_told_with_both_versions_and_saved_only_when_sent_again(store, ada, amira):
    stale = seen(store)
    services.change("amira.haddad", role=Role.ONBOARDING, display_name="Meanwhile", actor=ADMIN)
    before = everything(store)
    answer = ada.post(url("staff-change"), CHANGE | stale)
    assert answer.status_code == 409
    assert everything(store) == before
    said = text_of(answer)
    assert "Somebody else changed this account in the meantime" in said
    assert re.search(r"Role onboarding auditor", said)
    assert re.search(r"Name Meanwhile Amira H\.", said)
    page = answer.content.decode()
    assert 'value="Amira H."' in page
    assert re.search(r'value="auditor"[^>]*checked', page)
    fresh = re.search(r'name="seen" value="([^"]+)"', page)[1]
    assert ada.post(url("staff-change"), CHANGE | {"seen": fresh}).status_code == 302
    assert stored(store)["role"] == "auditor"


def test_invalid_form_stays_stale(store, ada, amira):
    """A form that is sent twice, first with a mistake, must not forget that the account changed in between."""
    stale = seen(store)
    services.change("amira.haddad", role=Role.ONBOARDING, actor=ADMIN)
    answer = ada.post(url("staff-change"), CHANGE | stale | {"other": "a#b"})
    assert answer.status_code == 422
    carried = re.search(r'name="seen" value="([^"]+)"', answer.content.decode())[1]
    assert ada.post(url("staff-change"), CHANGE | {"seen": carried}).status_code == 409
    assert stored(store)["role"] == "onboarding"


def test_race_with_another_admin_is_told_and_loses(store, ada, amira):
    def meanwhile():
        services.change("amira.haddad", role=Role.ONBOARDING, actor=ADMIN)

    with faults.before("TransactWriteItems", meanwhile):
        answer = ada.post(url("staff-change"), CHANGE | seen(store))
    assert answer.status_code == 409
    assert stored(store)["role"] == "onboarding"


def test_account_that_leaves_the_scope_meanwhile_is_not_found(store, lena):
    member("inside")

    def meanwhile():
        services.change("inside", scope=["*"], actor=ADMIN)

    data = CHANGE | {"other": COMPANY} | seen(store, "inside")
    with faults.before("TransactWriteItems", meanwhile):
        assert lena.post(url("staff-change", "inside"), data).status_code == 404
    assert stored(store, "inside")["scope"] == ["*"]


def test_own_role_and_scope_stay_whatever_is_sent(store, ada):
    page = ada.get(url("staff-change", "ada.admin")).content.decode()
    assert 'name="role"' not in page
    assert 'name="other"' not in page
    data = CHANGE | {"everything": "on", "companies": [COMPANY]} | seen(store, "ada.admin")
    assert ada.post(url("staff-change", "ada.admin"), data).status_code == 302
    item = stored(store, "ada.admin")
    assert (item["role"], item["scope"], item["epoch"]) == ("admin", ["*"], 1)
    assert (item["display_name"], item["time_zone"]) == ("Amira H.", "Asia/Tokyo")


@pytest.mark.parametrize("name", ACCOUNT_ACTIONS)
def test_own_account_is_not_locked_out_in_these_pages(store, ada, name):
    second_factor_on(store, "ada.admin")
    before = stored(store, "ada.admin")
    page = ada.get(url(name, "ada.admin"))
    assert "own account" in text_of(page)
    assert 'name="seen"' not in page.content.decode()
    assert ada.post(url(name, "ada.admin"), seen(store, "ada.admin")).status_code == 422
    assert ada.post(url("staff-sessions-end", "ada.admin"), {"session": "all"}).status_code == 400
    assert stored(store, "ada.admin") == before


def test_last_full_admin_stays(store):
    """Two full admins who take each other's place at once cannot both succeed; here the other is gone already."""
    ada = signed_in(admin())
    admin("eva.admin")
    store.update("STAFF", {"username": "ada.admin"}, role="admin", scope=["*"])

    def meanwhile():
        store.update("STAFF", {"username": "ada.admin"}, scope=[COMPANY])

    with faults.before("TransactWriteItems", meanwhile):
        answer = ada.post(url("staff-change", "eva.admin"), CHANGE | seen(store, "eva.admin"))
    assert answer.status_code == 422
    assert "last administrator" in text_of(answer)
    assert stored(store, "eva.admin")["role"] == "admin"


# --- What is asked first ----------------------------------------------------------------------------------------------


def test_reset_voids_the_password_and_shows_the_link_once(store, ada, amira):
    person = signed_in(amira)
    assert "The password and any earlier link stop working now" in text_of(ada.get(url("staff-password")))
    answer = ada.post(url("staff-password"), seen(store))
    assert answer.status_code == 200
    address, _, code = link_in(answer).partition("#")
    assert address.endswith("/set-password/")
    assert code
    assert code not in str(everything(store)) + str(ada.cookies) + str(dict(answer.headers))
    assert passwords.verify(PASSWORD, stored(store)["password_hash"])[0] is False
    assert person.get("/queue/").status_code == 302
    assert entries(store)[-1][0] == "staff.password_link"
    assert ada.post(url("staff-password"), seen(store)).status_code == 200  # another link: the first stops working
    with pytest.raises(Invalid):
        password_links.redeem(code, "a password of their own")


def test_disabling_says_what_happens_and_does_it(store, ada, amira, monkeypatch):
    released = []
    monkeypatch.setattr(services, "on_disabled", [lambda *told: released.append(told)])
    person = signed_in(amira)
    assert "goes back to the queue" in text_of(ada.get(url("staff-disable")))
    answer = ada.post(url("staff-disable"), seen(store))
    assert answer.url == url("staff-account")
    assert stored(store)["disabled"] is True
    assert released == [("amira.haddad", Actor("ada.admin", "admin"))]
    assert person.get("/queue/").status_code == 302
    assert entries(store)[-1][0] == "staff.disabled"
    assert "disabled since" in text_of(ada.get(url("staff-account")))
    assert ada.post(url("staff-enable"), seen(store)).status_code == 302
    assert stored(store)["disabled"] is False
    assert entries(store)[-1][0] == "staff.enabled"


def test_partial_release_is_told_with_a_button_that_tries_again(store, ada, amira, monkeypatch):
    tried = []

    def release(username, actor):
        tried.append(username)
        if len(tried) == 1:
            raise StoreUnavailable

    monkeypatch.setattr(services, "on_disabled", [release])
    answer = ada.post(url("staff-disable"), seen(store))
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert "Some of what it holds could not be returned to the queue" in text_of(answer)
    assert "enabled" not in text_of(answer)
    assert "Return the rest" in text_of(answer)
    assert stored(store)["disabled"] is True
    again = re.search(r'name="seen" value="([^"]*)"', answer.content.decode())[1]
    assert ada.post(url("staff-disable"), {"seen": again}).url == url("staff-account")
    assert tried == ["amira.haddad", "amira.haddad"]
    assert [action for action, _ in entries(store)] == ["staff.disabled"]


def test_second_factor_is_removed(store, ada, amira):
    second_factor_on(store)
    assert "lost phone" in text_of(ada.get(url("staff-account")))
    assert ada.post(url("staff-second-factor-remove"), seen(store)).status_code == 302
    assert not {"totp_secret", "second_factor_at", "recovery_codes"} & set(stored(store))
    assert stored(store)["epoch"] == 2
    assert entries(store)[-1][0] == "staff.second_factor_removed"


@pytest.mark.parametrize("name", ACCOUNT_ACTIONS)
def test_deed_on_an_account_that_changed_meanwhile_is_asked_again(store, ada, amira, name):
    second_factor_on(store)
    if name == "staff-enable":
        services.disable("amira.haddad", actor=ADMIN)
    stale = seen(store)
    services.change("amira.haddad", display_name="Meanwhile", actor=ADMIN)
    before = everything(store)
    for data in (stale, {}):
        answer = ada.post(url(name), data)
        assert answer.status_code == 409
        assert "changed this account in the meantime" in text_of(answer)
        assert everything(store) == before
    fresh = re.search(r'name="seen" value="([^"]+)"', answer.content.decode())[1]
    assert ada.post(url(name), {"seen": fresh}).status_code in (200, 302)


def test_deed_that_makes_no_sense_is_refused_in_words(store, ada, amira):
    for name, words in (("staff-enable", "is enabled"), ("staff-second-factor-remove", "no second factor")):
        before = everything(store)
        answer = ada.post(url(name), seen(store))
        assert answer.status_code == 422
        assert words in text_of(answer)
        assert everything(store) == before


# --- Sessions ---------------------------------------------------------------------------------------------------------


def test_one_session_is_ended_and_the_others_go_on(store, ada, amira):
    one, other = signed_in(amira), signed_in(amira)
    references = re.findall(r'name="session" value="([^"]+)"', ada.get(url("staff-account")).content.decode())
    assert len(references) == 3  # two sessions and "all"
    answer = ada.post(url("staff-sessions-end"), {"session": references[0]})
    assert answer.url == url("staff-account")
    assert sorted([one.get("/queue/").status_code, other.get("/queue/").status_code]) == [200, 302]
    assert [action for action, _ in entries(store)].count("staff.session_ended") == 1
    again = ada.post(url("staff-sessions-end"), {"session": references[0]}, follow=True)
    assert "That session has already ended" in text_of(again)
    assert [action for action, _ in entries(store)].count("staff.session_ended") == 1


def test_all_sessions_are_ended(store, ada, amira):
    browsers = [signed_in(amira), signed_in(amira)]
    ada.post(url("staff-sessions-end"), {"session": "all"})
    assert [browser.get("/queue/").status_code for browser in browsers] == [302, 302]
    assert entries(store)[-1][0] == "staff.sessions_ended"


@pytest.mark.parametrize("reference", ["", "junk", "ALL"])
def test_junk_ends_no_session(store, ada, amira, reference):
    signed_in(amira)
    before = everything(store)
    assert ada.post(url("staff-sessions-end"), {"session": reference}).status_code == 404
    assert everything(store) == before


def test_session_of_another_account_is_not_ended_under_this_ones_name(store, ada, amira):
    other = member("tom.becker")
    tom = signed_in(other)
    [running] = sessions.running(other)
    for username in ("amira.haddad", "tom.becker"):
        reference = seal("staff-session", username, running.session_id)
        ada.post(url("staff-sessions-end"), {"session": reference})
        assert tom.get("/queue/").status_code == 200


def test_sessions_that_cannot_be_listed_leave_the_rest_of_the_page(store, ada, amira):
    ada.get(url("staff-account"))
    with faults.fail_before("Query", table_key="STAFF_SESSIONS"):
        page = ada.get(url("staff-account"))
    assert page.status_code == 200
    assert "could not be read" in text_of(page)
    assert "End all sessions, including any not listed" in text_of(page)


# --- What fails -------------------------------------------------------------------------------------------------------

POSTS = {
    "new": (reverse("staff-new"), FORM, "new.person"),
    "change": (url("staff-change"), CHANGE, "amira.haddad"),
    "disable": (url("staff-disable"), {}, "amira.haddad"),
    "enable": (url("staff-enable", "left.person"), {}, "left.person"),
    "password": (url("staff-password"), {}, "amira.haddad"),
    "second factor": (url("staff-second-factor-remove"), {}, "amira.haddad"),
    "sessions": (url("staff-sessions-end"), {"session": "all"}, "amira.haddad"),
}
KINDS = {
    "lost before": lambda n: faults.fail_before(nth=n),
    "lost after": lambda n: faults.fail_after(nth=n),
    "throttled": lambda n: faults.refuse(nth=n, code="ThrottlingException", times=faults.ALWAYS),
    "unavailable": lambda n: faults.refuse(nth=n, code="InternalServerError", status=500, times=faults.ALWAYS),
    "broken": lambda n: faults.answer(nth=n, body=b"<html>"),
}


@pytest.fixture
def scene(store, ada, amira):
    second_factor_on(store)
    member("left.person")
    services.disable("left.person", actor=ADMIN)
    ada.get(reverse("staff"))
    return ada


@pytest.mark.slow
@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("kind", KINDS)
def test_fault_at_each_call_is_a_designed_answer_and_no_change_without_its_entry(store, scene, post, kind):
    """With the calls of a POST numbered, one after the other is struck until none is left to strike."""
    address, data, username = POSTS[post]
    for nth in range(1, 12):
        known = stored(store, username)
        data = data | ({"seen": known["updated_at"]} if known else {})
        before, trail = known, entries(store, username)
        with KINDS[kind](nth) as fault:
            answer = scene.post(address, data)
        if not fault.struck:
            assert answer.status_code in (200, 302)
            return
        assert answer.status_code in (200, 302, 429, 503), (nth, answer.status_code)
        after, told = stored(store, username), entries(store, username)
        assert (after != before) == (told != trail), (nth, fault.struck)
        if after != before:
            break  # done, and recorded: what follows would be another change
        if answer.status_code in (429, 503):
            assert answer.headers["Retry-After"]
            assert link_in(answer) == ""
    else:
        pytest.fail("the calls did not end")


def test_form_is_intact_after_a_failure_and_says_what_is_known(store, ada, amira):
    with faults.fail_before("TransactWriteItems"):
        answer = ada.post(url("staff-change"), CHANGE | seen(store))
    assert answer.status_code == 503
    assert "The console does not know whether this was done" in text_of(answer)
    assert 'value="Amira H."' in answer.content.decode()
    with faults.refuse("TransactWriteItems", code="ThrottlingException", times=faults.ALWAYS):
        answer = ada.post(reverse("staff-new"), FORM)
    assert answer.status_code == 429
    assert "Nothing was changed" in text_of(answer)
    assert 'value="new.person"' in answer.content.decode()


def test_answer_lost_after_a_change_is_told_when_the_form_is_sent_again(store, ada, amira):
    data = CHANGE | seen(store)
    with faults.fail_after("TransactWriteItems"):
        assert ada.post(url("staff-change"), data).status_code == 503
    assert stored(store)["role"] == "auditor"
    answer = ada.post(url("staff-change"), data)
    assert answer.status_code == 409
    assert "What is stored now already matches your form" in text_of(answer)
    assert len(entries(store)) == 1


def test_absent_trail_does_not_keep_from_managing_accounts(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS")
    client = signed_in(admin())
    assert client.post(reverse("staff-new"), FORM).status_code == 200
    assert stored(bare_store, "new.person")["role"] == "agent"
    assert client.get(url("staff-account", "new.person")).status_code == 200
