"""Every kind of answer, under the settings of production: headers, cookies, and no inline code anywhere.

The settings are those that `console/settings.py` makes of a production environment, static files collected; only the
tables are the test's. Answers are collected once, by every person from every address and by every form.
"""

import importlib
import re
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from django.conf import settings as current
from django.core.management import call_command
from django.test import Client

from console.schema.tables import TABLES
from console.store.calls import table_name
from tests import faults
from tests.answers import body_of
from tests.crawl.hostile import header_scan
from tests.crawl.hostile.header_scan import Answer, findings, morsels, policy_of, score
from tests.crawl.hostile.inline import inline_code
from tests.people import signed_in
from tests.scenario import HTMX, Scenario, build, posts, urls

HOST = "console.example.com"
ORIGIN = "https://elsewhere.example"
ENVIRONMENT = {
    "CONSOLE_ENV": "prod",
    "SECRET_KEY": "a key of production, long enough for everything that is derived from it 0123456789",
    "ALLOWED_HOSTS": HOST,
    "PLAIN_HTTP": "false",
    "BEHIND_TLS_PROXY": "true",
    "STATIC_MANIFEST": "true",
    "DEBUG": "false",
}
# Of these names the tests keep their own.
KEPT = {"DATABASES", "DYNAMODB_ENDPOINT", "TABLE_NAMES", "PASSWORD_HASHERS", "LOGGING", "STATIC_ROOT", "ROOT_URLCONF"}
# Read once, when the module is imported.
MODULES_WITH_NAMES = ("console.staff.cookies",)


@dataclass(frozen=True)
class Seen:
    """An answer and what it was an answer to."""

    kind: str
    label: str
    answer: Answer
    is_signed_in: bool = False


@pytest.fixture(scope="module")
def static_root(tmp_path_factory) -> str:
    return str(tmp_path_factory.mktemp("collected"))


@pytest.fixture
def production(store, settings, monkeypatch, static_root) -> Iterator[None]:
    """The settings of production, on the test's tables."""
    names = {key: table_name(key) for key in TABLES}
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    made = runpy.run_path(str(current.BASE_DIR / "console" / "settings.py"))
    for name, value in made.items():
        if name.isupper() and name not in KEPT and getattr(current, name, None) != value:
            setattr(settings, name, value)
    settings.TABLE_NAMES, settings.STATIC_ROOT = names, static_root
    modules = [importlib.reload(importlib.import_module(name)) for name in MODULES_WITH_NAMES]
    yield
    settings.PLAIN_HTTP = True
    for module in modules:
        importlib.reload(module)


_collected: list[Seen] = []


@pytest.fixture
def seen(store, production, static_root) -> list[Seen]:
    """Every answer, collected by the first test that asks."""
    if not _collected:
        call_command("collectstatic", "--noinput", verbosity=0)
        collector = Collector(build(store))
        collector.pages()
        collector.static_files()
        collector.refusals()
        collector.failures()
        collector.forms()
        _collected.extend(collector.seen)
    return _collected


class Collector:
    """Asks for everything, and keeps the answers."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario, self.seen = scenario, list[Seen]()
        self.clients = {role: signed_in(account) for role, account in scenario.people.items()}
        self.clients[""] = Client()

    def ask(self, kind: str, role: str, url: str, ask: Callable[..., Any] | None = None, **more) -> Answer:
        """One request, over https unless told otherwise, that names a foreign origin."""
        client = self.clients[role]
        client.raise_request_exception = False
        secure = more.pop("secure", True)
        headers = {"Host": HOST, "Origin": ORIGIN, **more.pop("headers", {})}
        response = (ask or client.get)(url, secure=secure, headers=headers, **more)
        body = body_of(response)
        answer = Answer(
            url=f"http{'s' * secure}://{HOST}{url}",
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            cookies=tuple(morsel.OutputString() for morsel in response.cookies.values()),
            body=body.decode() if "html" in response.headers.get("Content-Type", "") else "",
            origin=ORIGIN,
        )
        self.seen.append(Seen(kind, f"{role or 'nobody'} {url[:80]}", answer, bool(role)))
        return answer

    def pages(self) -> None:
        """Every address as the admin, who may open all, as page and fragment; one of each route by the others."""
        for role in self.clients:
            for side in (
                (self.scenario.ours, self.scenario.theirs) if role in ("agent", "admin") else (self.scenario.ours,)
            ):
                for addresses in urls(side, self.scenario, self.scenario.people.get(role)).values():
                    for url in addresses if role == "admin" and side is self.scenario.ours else addresses[:1]:
                        self.ask("page", role, url)
                        if role in ("admin", ""):
                            self.ask("fragment", role, url, headers=HTMX)
        for path in ("/healthz", "/readyz"):
            self.ask("probe", "", path)
            self.ask("probe", "", path, headers={"Host": "10.0.0.7"})

    def static_files(self) -> None:
        """Each static file that a page names, as any browser asks for it, and once more with what it has cached."""
        page = self.ask("page", "", "/sign-in/").body
        names = sorted(set(re.findall(r'"(/static/[^"#]+)', page)))
        assert {name.rpartition(".")[2] for name in names} >= {"css", "js", "svg"}
        for name in names:
            etag = self.ask("static", "", name).headers["etag"]
            assert self.ask("static", "", name, headers={"If-None-Match": etag}).status == 304
            assert self.ask("static", "", name, self.clients[""].post).status == 405

    def refusals(self) -> None:
        """What Django and its middlewares refuse before any view."""
        path = "/conversations/find/"
        enforcing = Client(enforce_csrf_checks=True)
        enforcing.cookies = self.clients["agent"].cookies
        assert self.ask("refusal", "", "/no/such/page/").status == 404
        assert self.ask("refusal", "", "/static/no-such-file.css").status == 404
        assert self.ask("refusal", "agent", path, enforcing.post, data={"look": "id"}).status == 403
        assert self.ask("refusal", "agent", path, self.clients["agent"].delete).status == 405
        assert self.ask("refusal", "", path, self.clients[""].post, data={}).status == 401
        assert self.ask("refusal", "", path, headers=HTMX).status == 401
        for secure in (True, False):
            bad_host = self.ask("refusal", "", path, secure=secure, headers={"Host": "evil.example"})
            assert bad_host.status == 400
        too_many = {f"field-{number}": "" for number in range(501)}
        assert self.ask("refusal", "agent", path, self.clients["agent"].post, data=too_many).status == 400
        assert self.ask("redirect", "", path, secure=False).status == 301
        assert self.ask("redirect", "", path).status == 302

    def failures(self) -> None:
        """What the store does to us, and what we do to ourselves."""
        url = urls(self.scenario.ours, self.scenario)["conversation"][0]
        throttled: dict[str, Any] = {"code": "ProvisionedThroughputExceededException", "times": faults.ALWAYS}
        for headers in ({}, HTMX):
            with faults.refuse("", table_key="CONVERSATIONS", **throttled):
                assert self.ask("failure", "agent", url, headers=headers).status == 429
            with faults.fail_before("", table_key="CONVERSATIONS", times=faults.ALWAYS):
                assert self.ask("failure", "agent", url, headers=headers).status == 503
            with mock.patch(
                "conversations.conversation.views.conversation.opening.open_conversation", side_effect=RuntimeError
            ):
                assert self.ask("failure", "agent", url, headers=headers).status == 500
        with faults.fail_before("", times=faults.ALWAYS):
            assert self.ask("probe", "", "/readyz").status == 503

    def forms(self) -> None:
        """Every form, by who may send it; first as nobody would, with nothing in it."""
        for role in ("admin", "agent"):
            last = ("queue-release-mine", "sign-out")
            forms = posts(self.scenario.ours, self.scenario, self.scenario.people[role])
            for name in (*(each for each in forms if each not in last), *last):
                for url, data in forms[name]:
                    client = self.clients[role]
                    if name not in last:
                        self.ask("form", role, url, client.post, data={})
                    self.ask("form", role, url, client.post, data=data)
                    # The page after it shows, and deletes, the notice of what was done.
                    self.ask("page", role, "/")


# --- The score ----------------------------------------------------------------------------------------------------


def test_every_kind_of_answer_was_looked_at(seen):
    statuses = {each.answer.status for each in seen}
    assert statuses >= {200, 301, 302, 304, 400, 401, 403, 404, 405, 422, 429, 500, 503}, statuses
    assert {each.kind for each in seen} == {
        "page", "fragment", "probe", "static", "refusal", "redirect", "failure", "form"
    }  # fmt: skip
    assert len(seen) > 300


def test_no_answer_loses_a_point(seen):
    found = [(each, findings(each.answer)) for each in seen]
    lost = {
        f"{each.label} ({each.answer.status}): {word} {modifier}"
        for each, words in found
        for word, modifier in words.items()
        if modifier < 0
    }
    assert not lost, "\n".join(sorted(lost)[:40])
    assert min(score(words) for _, words in found) >= 125


def test_plain_http_leads_to_https_on_the_same_host_and_nowhere_else(seen):
    for each in seen:
        if not each.answer.is_secure and each.kind == "redirect":
            assert (
                header_scan.redirection([each.answer.url, each.answer.headers["location"]]) == "redirection: to https"
            )
        elif not each.answer.is_secure:
            assert each.answer.status == 400


# --- Beyond the score ---------------------------------------------------------------------------------------------


def test_policy_allows_this_origin_only_and_nothing_unsafe(seen):
    for policy in {each.answer.headers["content-security-policy"] for each in seen}:
        directives = policy_of(policy)
        assert directives is not None
        assert {source for sources in directives.values() for source in sources} <= {"'none'", "'self'"}, policy
        assert {"default-src", "base-uri", "form-action", "frame-ancestors"} <= set(directives)
        assert {directives["default-src"].pop(), directives["base-uri"].pop()} == {"'none'"}
        assert not {"report-uri", "report-to"} & set(directives), "nobody reads reports, and they would carry addresses"
    assert not [each.label for each in seen if "content-security-policy-report-only" in each.answer.headers]


def test_answers_carry_what_no_score_asks_for(seen):
    for each in seen:
        headers = each.answer.headers
        assert headers["cross-origin-opener-policy"] == "same-origin", each.label
        assert headers["cross-origin-resource-policy"] == "same-origin", each.label
        assert {"camera=()", "microphone=()", "geolocation=()"} <= set(headers["permissions-policy"].split(", "))
        assert headers["x-frame-options"] == "DENY", each.label
        assert headers["referrer-policy"] == "same-origin", each.label
        if each.answer.is_secure:
            assert headers["strict-transport-security"] == "max-age=63072000; includeSubDomains; preload", each.label
        assert not {"server", "x-powered-by", "via", "access-control-allow-origin"} & set(headers), each.label


def test_nothing_but_static_files_is_kept_by_any_cache(seen):
    for each in seen:
        directives = set(each.answer.headers.get("cache-control", "").split(", "))
        vary = {name.lower() for name in each.answer.headers.get("vary", "").split(", ")}
        if each.kind != "static":
            assert "no-store" in directives, each.label
            assert {"cookie", "hx-request"} <= vary, each.label
        elif each.answer.status == 200:
            assert directives >= {"public", "immutable"}, each.label
            assert "cookie" not in vary
            assert not each.answer.cookies, each.label


def test_every_cookie_is_locked_to_this_host(seen):
    names = set()
    for each in seen:
        for raw in each.answer.cookies:
            (morsel,) = morsels(raw)
            names.add(morsel.key)
            assert morsel.key.startswith("__Host-"), raw
            assert morsel["secure"], raw
            assert morsel["path"] == "/", raw
            assert not morsel["domain"], raw
            assert morsel["samesite"] in ("Lax", "Strict"), raw
            # What deletes a cookie has nothing in it that a script could read.
            assert morsel["httponly"] or (morsel["max-age"] == 0 or morsel["max-age"] == "0"), raw
    assert names >= {"__Host-session", "__Host-csrf", "__Host-notices"}


def test_no_html_has_code_inside(seen):
    bodies = {each.answer.body: each.label for each in seen if each.answer.body}
    assert len(bodies) > 100
    assert not {label: found for body, label in bodies.items() if (found := inline_code(body))}
