"""Nothing personal and nothing secret in a URL, a log line, a header, a cookie or an error page, whatever happens."""

import base64
import re
from collections.abc import Iterable, Iterator
from html import unescape
from urllib.parse import unquote_plus

import pytest
from django.conf import settings as django_settings
from django.core.handlers.base import BaseHandler
from django.test import Client

from console import clock
from console.redaction import redact
from console.refs import seal
from console.schema.tables import TABLES
from console.store.calls import table_name
from tests import faults
from tests.crawl.hostile.crawl import ORIGIN, Crawler, Visit
from tests.people import signed_in
from tests.scenario import Scenario, build, posts, urls

PHONE, EMAIL = "+447700900777", "leak.canary@example.net"
ACCESS_KEY, API_KEY = "AKIAZ7CANARY7LEAK9QX", "sk-canary-Zx81hQ0vLeak77"
ARN = "arn:aws:secretsmanager:eu-west-2:123456789012:secret:canary-leak"
PASSWORD = "Canary-Passphrase-9081"
TYPED_PHONE, TYPED_EMAIL = "+447700900888", "typed.canary@example.net"
STORED = (PHONE, EMAIL, ACCESS_KEY, API_KEY, ARN)
# What identifies a purchase is for those who may read conversations as they are.
ORDER, PARCEL = "83159927", "1Z999AA10123456784"
TYPED = (TYPED_PHONE, TYPED_EMAIL, PASSWORD)
# In configurations these are masked for everyone.
CONFIGURED = ("AKIAZ7CONFIG7LEAK9QX", "sk-config-Qw72kL0vLeak88")
CONFIGURATIONS = ("ai_config", "channel_config")
# What everyone sees of an account, a company or a tenant stays as it is; names of attributes are not personal.
NOT_STUFFED = ("display_name", "registry.", "tenant.name", "company_name", "project_name", " key", " attribute")
# What opens another application with the recipient.
EXTERNAL = ("https://wa.me/", "sms:", "mailto:")
# Forms after which one may be signed out begin with these.
ENDING = ("account", "sign-out", "oidc")
# Attributes of an account that say nothing secret.
OPEN_ATTRIBUTES = {"username", "display_name", "role", "scope", "time_zone"}
# Browsers keep titles in their history. Of what is stored, only what companies, tenants and staff are called is in one.
TITLE = re.compile("<title>(.*?)</title>", re.DOTALL)
CANARY = re.compile(r"\b(?:ours|theirs)\.[\w.-]+")
# A dataclass that a template did not take apart, or any other object.
OBJECT = re.compile(r"\b[A-Z][A-Za-z]+\(\w+=|object at 0x")
IN_TITLES = re.compile(r"\w+\.(conversation\.(company|project)_name|tenant\.name(\.\w+)?|[\w-]+\.display_name)")
URL_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")


def stuffed(name: str) -> str:
    """Free text with personal data and credentials in it."""
    if any(each in name for each in NOT_STUFFED):
        return name
    if any(each in name for each in CONFIGURATIONS):
        return f"{name} {' '.join(CONFIGURED)}"
    return f"{name} {PHONE} or {EMAIL}, {ACCESS_KEY} {API_KEY} {ARN}, order no. {ORDER}, tracking {PARCEL}"


def personal(scenario: Scenario) -> tuple[str, ...]:
    """Everybody's numbers and addresses."""
    return (
        tuple(value for side in (scenario.ours, scenario.theirs) for value in (side.recipient, side.email_recipient))
        + STORED
    )


def secrets(store, client: Client) -> tuple[str, ...]:
    """What nobody may ever be told: keys, hashes, tokens, and whatever else an account holds in secret."""
    held = [
        value
        for item in store.all("STAFF")
        for name, value in item.items()
        if name not in OPEN_ATTRIBUTES and isinstance(value, str) and len(value) > 15 and not clock.parse_instant(value)
    ]
    sessions = [item["session_id"] for item in store.all("STAFF_SESSIONS") if len(item["session_id"]) == 64]
    cookie = client.cookies.get(django_settings.SESSION_COOKIE_NAME)
    return (
        django_settings.SECRET_KEY,
        PASSWORD,
        *CONFIGURED,
        *held,
        *sessions,
        *([cookie.value] if cookie and cookie.value else []),
    )


def tables() -> tuple[str, ...]:
    return tuple(table_name(key) for key in TABLES)


def readings(url: str) -> Iterator[str]:
    """A URL as it stands, decoded, and what is base64 in it."""
    yield url
    yield (decoded := unquote_plus(url))
    for token in URL_TOKEN.findall(decoded):
        yield base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode("latin-1") if len(token) % 4 != 1 else ""


def spellings(needles: Iterable[str]) -> dict[str, str]:
    """How each may be written; numbers without their plus too."""
    return {spelling.lower(): each for each in needles for spelling in (each, each.lstrip("+"))}


def addresses(visit: Visit) -> list[str]:
    """Every URL of an answer, but what opens another application with the number that was just revealed."""
    found = [value for _, value in visit.page.addresses]
    if visit.route == "conversation-reveal" and visit.status == 200:
        found = [value for value in found if not value.startswith(EXTERNAL)]
    return [visit.url, *found]


def places(visit: Visit) -> Iterator[tuple[str, str]]:
    """Where nothing may ever be, whoever asks."""
    for address in addresses(visit):
        for reading in readings(address):
            yield "a URL", reading
    yield "the request line", visit.request_line
    for name, value in visit.headers:
        yield f"the header {name}", value
        if name in ("Location", "HX-Redirect", "HX-Push-Url", "HX-Location"):
            yield from ((f"the header {name}", reading) for reading in readings(value))
    for cookie in visit.cookies:
        yield from (("a cookie", reading) for reading in readings(cookie))
    for line in visit.logs:
        yield "a log line", line


def assert_free(where: str, text: str, needles: dict[str, str], visit: Visit) -> None:
    lowered = text.lower()
    for needle, meant in needles.items():
        assert needle not in lowered, f"{meant} is in {where} of {visit}: …{around(lowered, needle)}…"


def around(text: str, needle: str) -> str:
    at = text.index(needle)
    return text[max(0, at - 60) : at + len(needle) + 60]


def assert_nothing_leaks(visits: Iterable[Visit], store, scenario: Scenario, client: Client, role: str) -> None:
    never = spellings((*secrets(store, client), *tables()))
    outside = spellings((*personal(scenario), *TYPED)) | never
    in_errors = spellings(STORED) | never
    for visit in visits:
        for where, text in places(visit):
            assert_free(where, text, outside, visit)
        allowed = set(map(str.lower, tables())) if visit.route == "system" and role == "admin" else set()
        body = {needle: meant for needle, meant in never.items() if needle not in allowed}
        if role == "auditor":
            # An ARN names something and opens nothing: in what a customer wrote it stays.
            body |= spellings((*(each for each in personal(scenario) if each != ARN), ORDER, PARCEL))
        elif visit.status >= 400 and not shows_again(visit):
            body |= in_errors
        assert_free("the body", visit.body, body, visit)
        assert not OBJECT.search(visit.body), f"an object of Python's is in {visit}: {OBJECT.search(visit.body)}"


def assert_titles_name_no_customer(visits: Iterable[Visit], scenario: Scenario) -> None:
    everybody = spellings((*personal(scenario), *TYPED, ORDER, PARCEL))
    named = set()
    for visit in visits:
        for title in map(unescape, TITLE.findall(visit.body)):
            assert_free("the title", title, everybody, visit)
            found = CANARY.findall(title)
            assert all(IN_TITLES.fullmatch(each) for each in found), f"the title {title!r} of {visit}"
            named |= set(found)
    assert named, "titles have to name something"


def shows_again(visit: Visit) -> bool:
    """Whether a refusal shows what the page is about to who may see it: the conversation, or what its form changes.

    A reply that may not go again is there to be copied, for its author.
    """
    about_conversation = ("conversation-hand-off", "conversation-reply-again", "conversation-reply-undo")
    has_form = visit.route.startswith("tenant") or visit.route in ("destination-change", "agent-groups")
    return visit.route in about_conversation or (has_form and visit.status in (409, 422))


def typed(name: str) -> str:
    return {"password": PASSWORD, "ours": TYPED_EMAIL}.get(name, TYPED_PHONE)


# --- A crawl ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["agent", "onboarding", "auditor", "admin", "nobody"])
def test_no_answer_to_a_crawl_leaks(store, role):
    scenario = build(store, stuffed)
    account = scenario.people.get(role)
    client = signed_in(account) if account else Client()
    browser = Crawler(client, fill=typed)
    seeds = [url for found in urls(scenario.ours, scenario, by=account).values() for url in found[:4]]
    visits = browser.crawl(seeds)
    # What may end the session comes last.
    browser.submit(visits, wanted=lambda route: not route.startswith(ENDING))
    browser.submit(visits, wanted=lambda route: route.startswith(ENDING))
    found = {visit.status for visit in browser.visits}
    assert {"agent": {200, 302, 403, 409}, "nobody": {200, 302}}.get(role, {200}) <= found
    if role == "agent":
        assert any(PHONE in visit.body for visit in browser.visits), "the transcript has to hold what may not leak"
        # People answer on the page: nothing opens their own applications.
        assert not any(each in url for visit in browser.visits for _, url in visit.page.addresses for each in EXTERNAL)
    assert_nothing_leaks(browser.visits, store, scenario, client, role)
    if account:
        assert_titles_name_no_customer(browser.visits, scenario)


# --- Failures ---------------------------------------------------------------------------------------------------


def hidden(store, client: Client) -> str:
    """One message with everything in it that shows by its shape, or to this process, that it may not leak."""
    hashes = [item["password_hash"] for item in store.all("STAFF")]
    token = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    return " ".join((*STORED, *CONFIGURED, django_settings.SECRET_KEY, *hashes, token, *tables()))


def test_a_view_that_breaks_leaks_nothing(store, monkeypatch):
    scenario = build(store, stuffed)
    account = scenario.people["admin"]
    client = signed_in(account)
    browser, message = Crawler(client), hidden(store, client)
    forms = posts(scenario.ours, scenario, by=account)

    def broken(*_: object, **__: object) -> None:
        try:
            raise ValueError(f"could not read {message}")
        except ValueError as error:
            raise RuntimeError({"item": message}, message.encode()) from error

    monkeypatch.setattr(BaseHandler, "make_view_atomic", lambda self, view: broken)
    for found in urls(scenario.ours, scenario, by=account).values():
        browser.get(found[0])
        browser.get(found[0], htmx=True)
    for (url, data), *_ in forms.values():
        browser.post(url, data.items())
    assert {visit.status for visit in browser.visits} == {500}
    assert all(any("RuntimeError" in line for line in visit.logs) for visit in browser.visits)
    assert_nothing_leaks(browser.visits, store, scenario, client, "admin")


@pytest.mark.parametrize(
    ("code", "status"),
    [("ProvisionedThroughputExceededException", 429), ("InternalServerError", 503), ("ResourceNotFoundException", 503)],
)
def test_a_store_that_fails_leaks_nothing(store, code, status):
    scenario = build(store, stuffed)
    account = scenario.people["agent"]
    client = signed_in(account)
    browser, message = Crawler(client, fill=typed), hidden(store, client)
    browser.get("/")

    pages = [found[0] for found in urls(scenario.ours, scenario).values()]
    forms = {
        route: sent for route, sent in posts(scenario.ours, scenario).items() if route not in ("sign-in", "sign-out")
    }
    # Who asks is known all the same: else every answer would be about that.
    admitted = faults.refuse(
        code=code, message=message, times=faults.ALWAYS, where=lambda sent: "RequestItems" not in sent
    )
    with admitted:
        for url in pages:
            browser.get(url)
            browser.get(url, htmx=True)
        for sent in forms.values():
            for url, data in sent[:2]:
                browser.post(url, {**data, "note": TYPED_PHONE, "reason": TYPED_EMAIL}.items())
    assert status in {visit.status for visit in browser.visits}
    assert_nothing_leaks(browser.visits, store, scenario, client, "agent")


# --- Requests that are refused ----------------------------------------------------------------------------------

FIELDS = "application/x-www-form-urlencoded"
MANY = "&".join(f"look={TYPED_PHONE}" for _ in range(600))
TORN = f'--edge\r\nContent-Disposition: form-data; name="note"; filename="{TYPED_PHONE}"\r\n\r\n{TYPED_EMAIL}'
LOST = "/conversations/find/"
# What is sent, and what the answer may be: method, URL, headers, body, content type, statuses.
REFUSED = {
    "no token against forgery": ("POST", LOST, {}, f"look=recipient&recipient={TYPED_PHONE}", FIELDS, {403}),
    "a wrong token": ("POST", LOST, {}, f"csrfmiddlewaretoken={PASSWORD}&recipient={TYPED_PHONE}", FIELDS, {403}),
    "a foreign origin": ("POST", LOST, {"origin": f"https://{TYPED_EMAIL}"}, TYPED_PHONE, FIELDS, {403}),
    "too many fields": ("POST", LOST, {}, MANY, FIELDS, {400, 413}),
    "too large a body": ("POST", LOST, {}, "look=" + TYPED_PHONE * 120_000, FIELDS, {400, 413}),
    "a torn multipart body": ("POST", LOST, {}, TORN, "multipart/form-data; boundary=edge", {400, 403}),
    "a multipart body without an edge": ("POST", LOST, {}, TORN, "multipart/form-data", {400, 403}),
    "an unknown charset": ("POST", LOST, {}, TYPED_PHONE, f"{FIELDS}; charset={PASSWORD}", {400, 403}),
    "a foreign host": ("GET", "/queue/", {"host": TYPED_EMAIL}, "", FIELDS, {400}),
    "no host at all": ("GET", "/queue/", {"host": f"{PASSWORD} {TYPED_PHONE}"}, "", FIELDS, {400}),
    "a role's limit": ("GET", "/system/", {"referer": f"{ORIGIN}/{TYPED_PHONE}"}, "", FIELDS, {403}),
    "no such page": ("GET", "/nowhere/", {"referer": f"{ORIGIN}/{TYPED_PHONE}"}, "", FIELDS, {404}),
    "no such reference": ("GET", "/conversations/" + "A" * 90 + "/", {"user-agent": TYPED_PHONE}, "", FIELDS, {404}),
    "a wrong method": ("DELETE", LOST, {"x-forwarded-for": TYPED_PHONE}, TYPED_EMAIL, "text/plain", {403, 405}),
    "a form's address, read": ("GET", "/sign-out/", {"accept": TYPED_PHONE}, "", FIELDS, {302}),
    "control characters": ("GET", "/conversations/%00%0a/", {"accept-language": TYPED_PHONE}, "", FIELDS, {404}),
    "bytes that are no text": (
        "GET",
        "/conversations/%ff%fe/?page=%ff",
        {"cookie": f"a={PASSWORD}"},
        "",
        FIELDS,
        {302, 404},
    ),
    "a forged session": ("GET", "/queue/", {"cookie": f"session={PASSWORD}; csrf={TYPED_EMAIL}"}, "", FIELDS, {302}),
    "forged notices": ("GET", "/conversations/", {"cookie": f"messages={TYPED_PHONE}:a:b"}, "", FIELDS, {302}),
}


@pytest.mark.parametrize("is_signed_in", [True, False], ids=["signed in", "signed out"])
def test_a_refused_request_leaks_nothing_of_what_it_sent(store, is_signed_in):
    scenario = build(store, stuffed)
    for refusal, (method, url, headers, body, content_type, statuses) in REFUSED.items():
        client = signed_in(scenario.people["agent"]) if is_signed_in else Client()
        browser = Crawler(client)
        browser.token()
        visit = browser.send(method, url, body=body, content_type=content_type, headers=headers)
        assert visit.status in statuses | (set() if is_signed_in else {302, 401}), f"{refusal}: {visit}"
        assert_nothing_leaks([visit], store, scenario, client, "agent")
        # What was sent stays with who sent it: it is not repeated in a page that says no.
        assert_free("the body", visit.body, spellings(TYPED), visit)


def test_what_was_typed_into_the_sign_in_page_is_in_no_log_and_no_trail(store):
    scenario = build(store, stuffed)
    browser = Crawler(Client())
    for username in (scenario.people["agent"].username, TYPED_PHONE, PASSWORD):
        visit = browser.post("/sign-in/", {"username": username, "password": PASSWORD}.items())
        assert visit.status == 422
        for where, text in places(visit):
            assert_free(where, text, spellings((*TYPED, *secrets(store, browser.client))), visit)
    for key in TABLES:
        for item in store.all(key):
            assert PASSWORD not in repr(item), key


def test_a_reference_in_a_log_line_stays_and_a_session_token_does_not(store):
    """Both are sealed and look alike; the one serves to find what broke, the other would open the door."""
    from console.logs import without_credentials

    reference = seal("conversation", "+447700900123", "ci-aaa-001#pi-aaa-001#req123#447700900123")
    token = signed_in(build(store).people["agent"]).cookies[django_settings.SESSION_COOKIE_NAME].value
    assert without_credentials(f"GET /conversations/{reference}/ {token}") == f"GET /conversations/{reference}/ ***"


@pytest.mark.parametrize(
    "text", ["sk-learn-contrib-and-other-packages", "risk-management-2026-review", "AKIA is a prefix"]
)
def test_what_only_begins_like_a_key_stays(text):
    assert redact(text) == text


@pytest.mark.parametrize("key", [ACCESS_KEY, API_KEY, "ghp_0aB1cD2eF3gH4iJ5kL6m", "sk_live_51HxQ9kLmNoPqRsT"])
def test_a_key_in_what_somebody_wrote_is_masked(key):
    assert redact(f"use {key}, please") == "use ***, please"
