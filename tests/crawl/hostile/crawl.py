"""Going everywhere as a browser would: every link, filter, fragment and redirect, and forms where asked to.

A crawl is bounded, deterministic and without duplicates; each answer is kept with all that it said: headers, cookies,
body, and the log lines written meanwhile, as the console's own formatter writes them.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from django.conf import settings
from django.test import Client
from django.urls import Resolver404, resolve

from console.logs import RedactingFormatter
from tests.answers import body_of
from tests.crawl.hostile.pages import Fields, Page, read, submissions, variations

ORIGIN = "http://testserver"


@dataclass(frozen=True)
class Visit:
    """One request and all of its answer. `url` is path and query as sent; `logs` are formatted lines."""

    method: str
    url: str
    is_htmx: bool
    sent: Fields
    status: int
    headers: Fields
    cookies: tuple[str, ...]
    body: str
    logs: tuple[str, ...]

    @property
    def request_line(self) -> str:
        """What an access log holds."""
        return f"{self.method} {self.url} HTTP/1.1"

    @property
    def route(self) -> str:
        """Name of the route; "" for none."""
        return route_of(self.url)

    def header(self, name: str) -> str:
        """A header's value, "" where it is absent."""
        return dict(self.headers).get(name, "")

    @property
    def is_html(self) -> bool:
        """Whether the answer is a page or a fragment."""
        return self.header("Content-Type").startswith("text/html")

    @property
    def page(self) -> Page:
        """What the answer holds; nothing where it is no HTML."""
        return read(self.body if self.is_html else "")

    def __str__(self) -> str:
        return f"{'htmx ' if self.is_htmx else ''}{self.request_line} → {self.status}"


def route_of(url: str) -> str:
    """Name of the route of a URL; "" for none."""
    return _route_of_path(urlsplit(url).path, settings.ROOT_URLCONF)


@lru_cache(maxsize=10_000)
def _route_of_path(path: str, urlconf: str) -> str:
    """Of every link that a crawl comes upon it is asked which route it leads to; most links are on every page."""
    try:
        return resolve(path, urlconf).view_name
    except Resolver404:
        return ""


@contextmanager
def log_lines() -> Iterator[list[str]]:
    """The lines that the console logs meanwhile, formatted as it formats them."""
    lines: list[str] = []
    formatter = RedactingFormatter(settings.LOGGING["formatters"]["line"]["format"])

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(formatter.format(record))

    handler = Keep()
    logging.getLogger().addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger().removeHandler(handler)


def own_url(target: str, base: str) -> str:
    """A link's path and query, if it leads to this console; else ""."""
    if not target:
        return ""
    parts = urlsplit(urljoin(ORIGIN + base, target))
    own = f"{parts.scheme}://{parts.netloc}" == ORIGIN and not parts.path.startswith("/static/")
    return parts.path + (f"?{parts.query}" if parts.query else "") if own else ""


@dataclass
class Crawler:
    """One person's browser, which forged forms do not fool (CSRF is checked) and errors do not stop.

    `each` bounds how many URLs of one kind (route, names in the query, page or fragment) are visited beyond the seeds,
    and six times as many of one route; `limit` how many in all. `fill` gives what is typed into a field of that name.
    """

    client: Client
    each: int = 1
    limit: int = 600
    fill: Callable[[str], str] = lambda name: "1"
    visits: list[Visit] = field(default_factory=list)
    _seen: set[tuple[str, bool]] = field(default_factory=set)
    _kinds: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.client.raise_request_exception = False
        self.client.handler.enforce_csrf_checks = True

    def get(
        self, url: str, *, htmx: bool = False, referer: str = "/", headers: Mapping[str, str] | None = None
    ) -> Visit:
        """One GET, kept."""
        return self._ask("GET", url, (), htmx, referer, headers)

    def post(self, url: str, data: Iterable[tuple[str, str]], *, htmx: bool = False, referer: str = "/") -> Visit:
        """One POST of a form, kept. The token against forgery is added where the data has none."""
        fields = tuple(data)
        if "csrfmiddlewaretoken" not in dict(fields):
            fields += (("csrfmiddlewaretoken", self.token()),)
        return self._ask("POST", url, fields, htmx, referer, None)

    def token(self) -> str:
        """The token against forgery that the browser's cookie holds."""
        name = settings.CSRF_COOKIE_NAME
        if name not in self.client.cookies:
            self.client.cookies[name] = "a" * 32
        return self.client.cookies[name].value

    def _ask(
        self, method: str, url: str, sent: Fields, htmx: bool, referer: str, more: Mapping[str, str] | None
    ) -> Visit:
        headers = {"referer": ORIGIN + referer, **(more or {})}
        if htmx:
            headers |= {"hx-request": "true", "hx-current-url": ORIGIN + referer}
        return self.send(method, url, body=urlencode(sent) if sent else "", headers=headers, htmx=htmx, sent=sent)

    def send(
        self,
        method: str,
        url: str,
        *,
        body: str = "",
        content_type: str = "application/x-www-form-urlencoded",
        headers: Mapping[str, str] | None = None,
        htmx: bool = False,
        sent: Fields = (),
    ) -> Visit:
        """One request exactly as given, kept."""
        with log_lines() as lines:
            answer = self.client.generic(method, url, body, content_type, headers=headers)
        content = body_of(answer)
        visit = Visit(
            method=method,
            url=url,
            is_htmx=htmx,
            sent=sent,
            status=answer.status_code,
            headers=tuple(answer.headers.items()),
            cookies=tuple(morsel.OutputString() for morsel in answer.cookies.values()),
            body=content.decode("utf-8", "replace"),
            logs=tuple(lines),
        )
        self.visits.append(visit)
        return visit

    def crawl(self, seeds: Iterable[str] = ()) -> list[Visit]:
        """Breadth first from `/` and all the seeds, some of these as fragments too: the visits of this crawl."""
        started = len(self.visits)
        waiting: deque[tuple[str, bool, str]] = deque()
        for url in dict.fromkeys(("/", *seeds)):
            for htmx in (False, True):
                self._enqueue(waiting, url, htmx, "/", is_seed=not htmx)
        while waiting and len(self.visits) - started < self.limit:
            url, htmx, referer = waiting.popleft()
            visit = self.get(url, htmx=htmx, referer=referer)
            for target, as_fragment in targets_of(visit):
                self._enqueue(waiting, target, as_fragment, url)
        assert not waiting, f"the crawl was cut off at {self.limit} answers"
        return self.visits[started:]

    def _enqueue(self, waiting: deque[Any], url: str, htmx: bool, referer: str, *, is_seed: bool = False) -> None:
        route, names = route_of(url), tuple(sorted(name for name, _ in parse_qsl(urlsplit(url).query)))
        kinds = {(route, names, htmx): self.each, (route, htmx): self.each * 6}
        full = any(self._kinds[kind] >= most for kind, most in kinds.items())
        if (url, htmx) in self._seen or (full and not is_seed):
            return
        self._seen.add((url, htmx))
        self._kinds.update(() if is_seed else kinds.keys())
        waiting.append((url, htmx, referer))

    def submit(self, visits: Iterable[Visit], *, wanted: Callable[[str], bool]) -> list[Visit]:
        """Submit the POST forms of those answers, every button of each, as a browser with and one without scripts.

        At most `each` of one kind (route, what it sends, with scripts or without); `wanted` says which routes.
        Redirects are followed once.
        """
        started, done = len(self.visits), Counter[Any]()
        for visit in list(visits):
            for form in visit.page.forms:
                url = own_url(form.htmx or form.action or visit.url, visit.url)
                if form.method != "post" or not url or not wanted(route_of(url)):
                    continue
                for data, htmx in product(submissions(form, self.fill), (False, True) if form.htmx else (False,)):
                    # Short values say which form it is; long ones are sealed and differ from page to page.
                    kind = (
                        route_of(url),
                        htmx,
                        tuple((name, value if len(value) < 20 else "") for name, value in data),
                    )
                    if done[kind] < self.each:
                        done[kind] += 1
                        self._submit(url, data, htmx, visit.url)
        return self.visits[started:]

    def _submit(self, url: str, data: Fields, htmx: bool, referer: str) -> None:
        # With today's token: another form's answer may have changed it since the page was read.
        fields = (pair for pair in data if pair[0] != "csrfmiddlewaretoken")
        answer = self.post(url, fields, htmx=htmx, referer=referer)
        if location := own_url(answer.header("Location"), url):
            self.get(location, referer=referer)


def targets_of(visit: Visit) -> list[tuple[str, bool]]:
    """Where an answer leads by GET, and whether as a fragment: links, redirects, and GET forms with each choice."""
    page = visit.page
    found = [(link, False) for link in page.links]
    found += [(visit.header(name), False) for name in ("Location", "HX-Redirect", "HX-Push-Url")]
    found += [(url, True) for method, url in page.fragments if method == "get"]
    for form in page.forms:
        if form.method == "get":
            action = (form.action or visit.url).partition("?")[0]
            for number, fields in enumerate(variations(form)):
                found.append((f"{action}?{urlencode(fields)}", bool(form.htmx) and number % 2 == 1))
    own = ((own_url(url, visit.url), htmx) for url, htmx in found if url)
    return list(dict.fromkeys((url, htmx) for url, htmx in own if url))
