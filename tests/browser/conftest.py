"""The demo in a process of its own, and chromium: what a person does, in a real browser."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from console.staff.models import StaffAccount
from tests import people
from tests.browser.hostile import Visitor
from tests.support.processes import running_demo

ROOT = Path(__file__).resolve().parent.parent.parent
# The one without a window of its own takes a third less of the processor.
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None
)
ARGUMENTS = [
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Demo:
    """A running `manage.py demo --json`: its addresses and sign-ins."""

    def __init__(self, told: dict) -> None:
        self.url: str = told["url"]
        self.staff: dict[str, dict[str, str]] = told["staff"]
        self.tables: dict[str, str] = told["tables"]
        self.endpoint: str = told["dynamodb_endpoint"]
        self.region: str = told["region"]
        self.sqs_endpoint: str = told["sqs_endpoint"]
        self.queues: dict[str, str] = told["queues"]
        self.provider: str = told["provider"]
        self.provider_account: str = told["provider_account"]
        self.provider_token: str = told["provider_token"]


@contextmanager
def pages(browser: Browser, problems: list[str] | None = None) -> Iterator[Callable[..., Page]]:
    """What opens pages, each in a browser context of its own: `open_page(width=…, dark=…, base_url=…)`.

    Fails the test when a page logs a CSP violation or an uncaught error, or has them added to `problems`.
    """
    contexts: list[BrowserContext] = []
    problems = [] if problems is None else problems

    def open_(*, width: int = 1280, height: int = 860, dark: bool = False, **options) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(f"uncaught: {error}"))
        page.on(
            "console",
            lambda message: problems.append(message.text) if "Content Security Policy" in message.text else None,
        )
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not problems, problems


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    """One demo for all browser tests of a run."""
    # Nobody waits for the provider before a conversation returns, which takes seconds on a busy machine.
    with running_demo(PROVIDER_WITNESS="false") as told:
        yield Demo(told)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless."""
    if not CHROMIUM:
        pytest.skip("chromium is not installed (Debian package chromium, or set CHROMIUM to its path)")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *sandbox])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def signed_in(browser: Browser, demo: Demo) -> Callable[[str], dict]:
    """The cookies of a role's session: each role signs in once a run, by the form, as a person does."""
    states: dict[str, Any] = {}

    def state_of(role: str) -> dict:
        if role not in states:
            context = browser.new_context(base_url=demo.url)
            sign_in(context.new_page(), demo, role)
            states[role] = context.storage_state()
            context.close()
        return states[role]

    return state_of


@pytest.fixture
def open_page(browser: Browser, demo: Demo, signed_in: Callable[[str], dict]) -> Iterator[Callable[..., Page]]:
    """Open a page of the demo: `open_page("agent")` is signed in as that role, `open_page(None)` is not."""
    with pages(browser) as open_:
        yield lambda role, **options: open_(
            base_url=demo.url, storage_state=signed_in(role) if role else None, **options
        )


@pytest.fixture(scope="module")
def _kept_pages(browser: Browser) -> Iterator[tuple[Callable[..., Page], list[str], dict[str | None, Page]]]:
    problems: list[str] = []
    with pages(browser, problems) as open_:
        yield open_, problems, {}


@pytest.fixture
def kept_page(_kept_pages, demo: Demo, signed_in: Callable[[str], dict]) -> Iterator[Callable[[str | None], Page]]:
    """As `open_page`, but each role keeps one page for all tests of a file: `kept_page("agent")`.

    What every page has in it, styles, scripts and axe, is then fetched and compiled for the first one only.
    """
    open_, problems, kept = _kept_pages

    def page_of(role: str | None) -> Page:
        state = signed_in(role) if role else {"cookies": []}
        if role not in kept:
            kept[role] = open_(base_url=demo.url, storage_state=signed_in(role) if role else None)
        page = kept[role]
        # Nothing of the test before this one: the console keeps nothing in a browser but cookies.
        page.context.clear_cookies()
        page.context.add_cookies(state["cookies"])
        page.set_viewport_size({"width": 1280, "height": 860})
        page.emulate_media(color_scheme="light")
        return page

    yield page_of
    found = problems.copy()
    problems.clear()
    assert not found, found


def without_polls(page: Page, addresses: str = "**/*") -> None:
    """What the page asks of these addresses by itself is not answered from now on."""
    page.route(addresses, lambda route: route.abort() if "x-poll" in route.request.headers else route.continue_())


def sign_in(page: Page, demo: Demo, role: str) -> None:
    """Sign in by the form, as a person does."""
    page.goto("/sign-in/")
    page.get_by_label("Username").fill(demo.staff[role]["username"])
    page.get_by_label("Password").fill(demo.staff[role]["password"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in/" not in url)


@pytest.fixture
def platform(demo: Demo):
    """The conversations table as another service sees it: plain boto3."""
    credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    resource = boto3.resource("dynamodb", endpoint_url=demo.endpoint, region_name=demo.region, **credentials)
    return resource.Table(demo.tables["CONVERSATIONS"])


@pytest.fixture
def visit(browser: Browser, live_server, settings) -> Iterator[Callable[..., Visitor]]:
    """Open a browser context, signed in as that account: `visit(account)`; fails the test for what went wrong there."""
    visitors: list[Visitor] = []

    def open_(account: StaffAccount | None = None, *, widths: tuple[int, ...] = (360,)) -> Visitor:
        context = browser.new_context(base_url=live_server.url, viewport={"width": widths[0], "height": 860})
        context.set_default_timeout(20_000)
        if account is not None:
            token = people.signed_in(account).cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": token, "url": live_server.url}])
        visitor = Visitor(context, context.new_page(), live_server.url.partition("//")[2], widths)
        visitor.watch()
        visitors.append(visitor)
        return visitor

    yield open_
    for visitor in visitors:
        visitor.context.close()
    problems = [problem for visitor in visitors for problem in visitor.problems]
    assert not problems, f"{len(problems)} problems\n" + "\n".join(dict.fromkeys(problems))[:20_000]
