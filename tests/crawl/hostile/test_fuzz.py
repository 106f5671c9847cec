"""Thousands of damaged requests over every route, as every role and as nobody: none breaks the console.

A failure prints the seed and the number of the request; `FUZZ_SEED=… FUZZ_ONLY=number pytest -k role` sends it again
alone. `FUZZ_REQUESTS` is how many are sent over all roles.
"""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.signals import got_request_exception
from django.urls import Resolver404, resolve

from console.wsgi import application
from tests.crawl.hostile.fuzz import Maker, Request, Start, routes
from tests.dynamodb import SeenCall, Store
from tests.people import signed_in
from tests.scenario import Scenario, build, posts, urls
from tests.support.processes import ending

ROLES = ("agent", "onboarding", "auditor", "admin", "nobody")
SEED = os.environ.get("FUZZ_SEED", "20261121")
REQUESTS = int(os.environ.get("FUZZ_REQUESTS", 3_000))
SHOWN = 5
ONLY = os.environ.get("FUZZ_ONLY", "")

# The most calls that one request may make of DynamoDB, whatever it asks for: two to see who asks, then what the page
# reads. A look-up tries nine pairs of spellings, the system page describes every table two or three times.
MOST_CALLS = 24
MOST_CALLS_OF = {
    # a Query for each type of action, the names of each company's projects, and whose each conversation is
    "audit-export": 75,
    "system": 80,
    "audit": 110,
    "audit-chart": 75,
    "conversation-find": 32,
    # What it exports is read by the functions of that page, a look-up among them.
    "conversations-export": 36,
    "conversation-step": 32,
    "queue-release-mine": 60,
    "queue-selected-give": 36,
    # Of 25 threads, a Query each for their feedback.
    "store-list": 60,
    # Users of 20 tenants, three reads for each type of channel that it could be, and two for each spelling of a number.
    "search": 70,
    "recipient-elsewhere": 70,
}

HEADERS = {
    "Cache-Control": "no-store",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# The session, the token of forms, messages, and the browser that somebody signed in with before.
COOKIES = {"session", "csrf", "notices", "browser"}
PROBES = ("/healthz", "/readyz")
# Where junk would end a tag or an attribute, had it not been escaped.
UNESCAPED = re.compile(rb"""<fuzz|["'] onfuzz=|<script>alert""")
FRAME = b'<main id="main"'
FRAGMENT = b'<section class="error"'


@dataclass
class Answer:
    """What came back. `route` is the name of the route that the path belongs to, "" for none; `broke` a traceback."""

    status: int
    headers: dict[str, str]
    cookies: dict[str, Any]
    body: bytes
    calls: list[SeenCall]
    route: str
    broke: str


class Sender:
    """One person's browser, as far as there is one: sends requests straight into the application."""

    def __init__(self, store: Store, scenario: Scenario, role: str) -> None:
        self.store, self.role = store, role
        self.account = scenario.people.get(role)
        self.stored = store.raw("STAFF", username=self.account.username) if self.account else None
        self.cookie = self._sign_in()
        self.broke = ""
        got_request_exception.connect(self._note, weak=False, dispatch_uid=f"fuzz {role}")

    def close(self) -> None:
        got_request_exception.disconnect(dispatch_uid=f"fuzz {self.role}")

    def _note(self, **_: Any) -> None:
        self.broke = traceback.format_exc()

    def _sign_in(self) -> str:
        return signed_in(self.account).cookies[settings.SESSION_COOKIE_NAME].value if self.account else ""

    def revive(self) -> None:
        """Sign in anew: a request ended the session, as some are meant to."""
        if self.account is not None and self.stored is not None:
            self.store.client.put_item(TableName=self.store.name("STAFF"), Item=self.stored)
            self.cookie = self._sign_in()

    def send(self, request: Request) -> Answer:
        """Send one request and collect everything about its answer. What escapes the application fails the test."""
        environ = request.environ()
        route = _route(environ["PATH_INFO"])
        self.broke = ""
        with self.store.calls() as calls:
            response = application(environ, lambda *_: None)  # type: ignore[arg-type]
            try:
                body = b"".join(response)
            finally:
                response.close()
        return Answer(
            response.status_code,
            dict(response.headers),
            dict(response.cookies),
            body,
            calls,
            route,
            self.broke,
        )


def _route(path_info: str) -> str:
    try:
        return str(resolve(path_info.encode("latin-1").decode("utf-8", "replace")).url_name)
    except Resolver404:
        return ""


@pytest.mark.parametrize("role", ROLES)
def test_no_request_breaks_the_console(store, role):
    scenario = build(store)
    starts = _starts(scenario, role)
    maker = Maker(f"{SEED}/{role}", starts, _tokens(scenario, starts))
    sender = Sender(store, scenario, role)
    seen: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    failures: list[str] = []
    numbers = [int(ONLY)] if ONLY else range(REQUESTS // len(ROLES))
    try:
        for number in numbers:
            request = maker.make(number, sender.cookie)
            line = f"FUZZ_SEED={SEED} FUZZ_ONLY={number} as {role}: {request}"
            try:
                answer = sender.send(request)
            except Exception:
                failures.append(f"an exception escaped the application\n{line}\n{traceback.format_exc()}")
                continue
            if problems := list(_problems(request, answer)):
                failures.append(f"{problems}\n{line}\n{answer.broke or answer.body[:2_000]!r}")
            seen[answer.route] += 1
            statuses[answer.status] += 1
            if settings.SESSION_COOKIE_NAME in answer.cookies or _led_to_sign_in(answer):
                sender.revive()
    finally:
        sender.close()
    assert not failures, f"{len(failures)} requests failed, such as:\n\n" + "\n\n".join(failures[:SHOWN])
    if len(numbers) >= 20 * len(maker.starts):
        assert not set(routes()) - set(seen), "routes that no request came to"
    if not ONLY:
        # Most damage is refused, but not all: what is never let in tests nothing behind the door.
        assert statuses[200] >= len(numbers) // (20 if role in ("agent", "auditor", "admin") else 200)
        # Of nobody only the few public routes say which methods they take.
        assert {302, 400, 404, *([] if role == "nobody" else [405])} <= set(statuses)


def _starts(scenario: Scenario, role: str) -> list[Start]:
    """Every address and form of both companies, made for this person (for nobody: for the agent)."""
    person = scenario.people.get(role) or scenario.people["agent"]
    found = [
        Start(url)
        for side in (scenario.ours, scenario.theirs)
        for each in urls(side, scenario, person).values()
        for url in each
    ]
    forms = posts(scenario.ours, scenario, person)
    return found + [Start(url, form) for each in forms.values() for url, form in each]


def _tokens(scenario: Scenario, starts: list[Start]) -> list[str]:
    """Sealed values of every kind: references, cursors, list contexts, intents."""
    sides = (scenario.ours, scenario.theirs)
    found = [
        token
        for each in sides
        for token in (each.conversation_ref, each.recipient_ref, each.replies_ref, each.trail_ref)
    ]
    for start in starts:
        found += re.findall(r"(?:page|in|found)=([\w-]{40,})", start.url)
        found += [value for _, value in start.fields if re.fullmatch(r"[\w-]{40,}", value)]
    return list(dict.fromkeys(found))


def _led_to_sign_in(answer: Answer) -> bool:
    return answer.status in (302, 401) and "/sign-in/" in answer.headers.get("Location", "") + answer.headers.get(
        "HX-Redirect", "/sign-in/" if answer.status == 401 else ""
    )


# --- What every answer has to be --------------------------------------------------------------------------------------


def _problems(request: Request, answer: Answer) -> Iterator[str]:
    if answer.broke:
        yield "an exception was left to Django"
    if answer.status >= 500 and not _is_prefetch(request, answer):
        yield f"status {answer.status}"
    if answer.status == 429 and not answer.route.startswith(("sign-in", "set-password", "account")):
        yield "429 without a limit"
    if len(answer.calls) > MOST_CALLS_OF.get(answer.route, MOST_CALLS):
        yield f"{len(answer.calls)} calls of DynamoDB"
    yield from _problems_of_headers(request, answer)
    if UNESCAPED.search(answer.body):
        yield f"junk came back unescaped: {UNESCAPED.search(answer.body)}"
    if answer.status >= 400 and not _is_designed(request, answer):
        yield "an error without a designed page"


def _is_prefetch(request: Request, answer: Answer) -> bool:
    return answer.status == 503 and any(name in ("Purpose", "Sec-Purpose") for name, _ in request.headers)


def _problems_of_headers(request: Request, answer: Answer) -> Iterator[str]:
    path = request.environ()["PATH_INFO"]
    wanted = HEADERS
    if path in PROBES:
        wanted = {name: HEADERS[name] for name in ("Cache-Control", "X-Content-Type-Options")}
    elif path.startswith("/static/") and answer.status in (200, 206, 304, 405, 416):
        wanted = {}
    for name, value in wanted.items():
        if value not in answer.headers.get(name, ""):
            yield f"{name}: {answer.headers.get(name)}"
    if len(wanted) == len(HEADERS) and "default-src 'none'" not in answer.headers.get("Content-Security-Policy", ""):
        yield "no Content-Security-Policy"
    for name, value in answer.headers.items():
        if "\r" in value or "\n" in value or UNESCAPED.search(value.encode("utf-8", "replace")):
            yield f"junk in the header {name}: {value!r}"
    for name in ("Location", "HX-Redirect", "HX-Location"):
        target = answer.headers.get(name, "/")
        parts = urlsplit(target.replace("\\", "/"))
        if parts.netloc or parts.scheme or not target.startswith("/"):
            yield f"{name} leads away: {target!r}"
    if odd := set(answer.cookies) - COOKIES:
        yield f"cookies {odd}"


def _is_designed(request: Request, answer: Answer) -> bool:
    path = request.environ()["PATH_INFO"]
    if path in PROBES or (path.startswith("/static/") and answer.status in (405, 416)):
        return len(answer.body) < 20
    if answer.status == 401 and "HX-Redirect" in answer.headers:
        return True
    return FRAME in answer.body or FRAGMENT in answer.body or request.method == "HEAD" or _is_prefetch(request, answer)


# --- On the wire, through the server of production --------------------------------------------------------------------

HOST = b"Host: 127.0.0.1\r\n"
GET = b"GET /sign-in/ HTTP/1.1\r\n"
POST = b"POST /sign-in/ HTTP/1.1\r\n" + HOST + b"Content-Type: application/x-www-form-urlencoded\r\n"
WIRE = {
    "nothing": b"",
    "an empty line": b"\r\n\r\n",
    "no request at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
    "HTTP/0.9": b"GET /sign-in/\r\n\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9.9": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "no path": b"GET  HTTP/1.1\r\n" + HOST + b"\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a proxy's request": b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "a broken IPv6 target": b"GET http://[ HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "an odd method": b"G\x00T / HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the path": b"GET /\xff\xfe\x00/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "bad escapes": b"GET /%zz%c0%af%00%ed%a0%80/?%=%zz HTTP/1.1\r\n" + HOST + b"\r\n",
    "the longest line": b"GET /" + b"a" * 8_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a line too long": b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a header too long": GET + HOST + b"X-Junk: " + b"a" * 70_000 + b"\r\n\r\n",
    "too many headers": GET + HOST + b"X-Junk: a\r\n" * 300 + b"\r\n",
    "no Host": GET + b"\r\n",
    "two Hosts": GET + HOST + b"Host: evil.example\r\n\r\n",
    "a header without colon": GET + HOST + b"Junk\r\n\r\n",
    "a header without name": GET + HOST + b": junk\r\n\r\n",
    "a folded header": GET + HOST + b"X-Junk: a\r\n b\r\n\r\n",
    "NUL in a header": GET + HOST + b"X-Junk: a\x00b\r\n\r\n",
    "underscores in a header": GET + HOST + b"X_Forwarded_Proto: https\r\n\r\n",
    "a lone line end": GET + HOST + b"X-Junk: a\nX-Other: b\r\n\r\n",
    "a charset that is none": GET + HOST + b"Content-Type: text/html; charset=base64\r\n\r\n",
    "a broken page of htmx": GET + HOST + b"HX-Request: true\r\nHX-Current-URL: http://[\r\n\r\n",
    "a script name": GET + HOST + b"Script-Name: /evil\r\nPath-Info: /system/\r\n\r\n",
    "a script name as servers spell it": GET + HOST + b"SCRIPT_NAME: /evil\r\nPATH_INFO: /system/\r\n\r\n",
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\na=b&c",
    "two lengths in one": POST + b"Content-Length: 5, 50\r\n\r\na=b&c",
    "length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x",
    "chunks, spelled oddly": POST + b"Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\na=b",
    "chunks, with a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk's size that is none": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\na=b\r\n0\r\n\r\n",
    "a chunk's negative size": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\na=b\r\n0\r\n\r\n",
    "a huge chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\na=b",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length in words": POST + b"Content-Length: many\r\n\r\na=b",
    "a length in other digits": POST + "Content-Length: \u00b2\r\n\r\na=b".encode("latin-1"),
    "a length of many digits": POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\na=b",
    "a body that never comes": POST + b"Content-Length: 500\r\n\r\na=b",
    "an expectation": POST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\na=b",
    "two requests in one": GET + HOST + b"\r\n" + GET + HOST + b"\r\n",
    "half a request": GET + HOST,
}


@pytest.fixture(scope="module")
def server(_all_tables) -> Iterator[tuple[str, int]]:
    """Address of gunicorn as docs/install.md starts it, on a free port."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    page = (Path(settings.BASE_DIR) / "docs" / "install.md").read_text()
    command = shlex.split(next(line for line in page.splitlines() if line.startswith("gunicorn ")))
    assert "python:console.gunicorn" in command
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: tuple[str, int] = probe.getsockname()
    command += ["--bind", f"127.0.0.1:{address[1]}"]
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=_all_tables.environment(),
        cwd=settings.BASE_DIR,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with ending(process):
        _wait_for(address, process)
        yield address


def _wait_for(address: tuple[str, int], process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            if _is_alive(address):
                return
        except OSError:
            pass
        time.sleep(0.1)
    pytest.fail(f"gunicorn did not start (exit status {process.poll()})")


def _is_alive(address: tuple[str, int]) -> bool:
    return b" 200 OK" in _sent(address, b"GET /healthz HTTP/1.0\r\n\r\n")[:20]


def _sent(address: tuple[str, int], data: bytes) -> bytes:
    """Everything that the server says before it closes the connection, once we have closed our half of it."""
    with socket.create_connection(address, timeout=20) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = b""
        try:
            while received := connection.recv(65_536):
                answer += received
        except ConnectionResetError:
            # Closed while there was more to read: the answer may be lost on the way, but the connection is not hung.
            pass
        return answer


@pytest.mark.store
@pytest.mark.parametrize("data", WIRE.values(), ids=WIRE.keys())
def test_junk_on_the_wire_is_answered_or_the_connection_closed(server, data):
    answer = _sent(server, data)
    statuses = [int(each) for each in re.findall(rb"^HTTP/1\.[01] (\d{3})", answer, re.MULTILINE)]
    # An encoding of the transfer that the server does not know is 501 by the standard.
    allowed = {501} if b"Transfer-Encoding" in data else set()
    assert all(status < 500 or status in allowed for status in statuses), answer[:500]
    assert not answer or statuses, f"an answer without a status: {answer[:500]!r}"
    assert _is_alive(server)
