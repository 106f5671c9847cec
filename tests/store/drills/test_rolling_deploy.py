"""Two versions of the console run beside each other behind nginx, and one is replaced by the other.

The older one is this one with other static files, or that of the revision in ROLLING_FROM (`git archive` has it).
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings

from conversations.converting import reference_of
from tests.crawl.hostile.pages import Form, read
from tests.dynamodb import Store
from tests.people import member, signed_in
from tests.store.console.test_deployment import (
    HOST,
    ROOT,
    Server,
    behind_proxy,
    environment,
    free_port,
    needs_nginx,
    nginx,
    running,
    web_command,
)
from tests.support.conversations.handoff.kit import KEY, WAITING, put, stored

__all__ = ["environment"]
PRODUCT = ("manage.py", "console", "conversations", "tenants", "templates", "static", "deploy")
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Path, Path]:
    """The older and the newer one, each in a folder of its own as it is installed."""
    older, newer = tmp_path / "older", tmp_path / "newer"
    if revision := os.environ.get("ROLLING_FROM"):
        archive = subprocess.run(["git", "archive", revision, *PRODUCT], cwd=ROOT, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(older, filter="data")
    else:
        copied(older)
    copied(newer)
    for style in (older / "static").rglob("*.css"):
        style.write_text(f"{style.read_text()}/* Older. */\n")
    return older, newer


def copied(folder: Path) -> None:
    folder.mkdir()
    for name in PRODUCT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


@contextmanager
def installed(folder: Path, given: dict[str, str]) -> Iterator[tuple[Server, Any]]:
    """A version with its static files collected, as its own unit starts it."""
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"],
        cwd=folder,
        env={**os.environ, **given},
        check=True,
    )
    server = Server(free_port())
    command = [sys.executable, "-m", *web_command(folder), "--bind", f"127.0.0.1:{server.port}"]
    with running(command, server, given, folder) as process:
        yield server, process


class Browser:
    """Somebody at the proxy, with a session; `statuses` counts what was answered."""

    def __init__(self, proxy: Server, session: str) -> None:
        self.proxy, self.cookies, self.statuses = proxy, {"__Host-session": session}, Counter[int]()

    def ask(self, method: str, path: str, form: dict[str, str] | None = None) -> Any:
        """The answer, redirects not followed."""
        said = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if form is not None:
            said |= {"Content_Type": FORM, "Referer": f"https://{HOST}{path}"}
        answer = self.proxy.ask(method, path, urlencode(form or {}), **said)
        for each in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value
        self.statuses[answer.status] += 1
        return answer

    def taking(self, page: str) -> Form:
        """The form with which to take the conversation, on its page as rendered now."""
        forms = read(self.ask("GET", page).content).forms
        return next(each for each in forms if each.action.endswith("/hand-off/"))


@pytest.mark.slow
@needs_nginx
def test_nobody_notices_that_one_version_replaces_the_other(store: Store, environment, versions, tmp_path):
    session = signed_in(member()).cookies[settings.SESSION_COOKIE_NAME].value
    put(store, **WAITING)
    page = f"/conversations/{reference_of(*KEY.values())}/"
    given = behind_proxy(environment) | {"STATIC_MANIFEST": "true"}
    older, newer = versions
    with (
        installed(older, given) as (first, process),
        installed(newer, given) as (second, _),
        nginx(first, tmp_path, second) as proxy,
    ):
        browser = Browser(proxy, session)
        styles = set()
        for number in range(8):
            files = re.findall(r'(?:href|src)="(/static/[^"]+)"', browser.ask("GET", page).content)
            styles |= {each for each in files if "/base." in each}
            # nginx takes turns: one file fewer now and then, so that both versions are asked for the page.
            for file in files[number % 2 :]:
                assert browser.ask("GET", file).status == 200, file
        assert len(styles) == 2, styles
        # A form that one has rendered is sent to the other, which is next.
        for _ in range(4):
            put(store, **WAITING)
            form = browser.taking(page)
            assert browser.ask("POST", form.action, dict(form.fields)).status == 302
            assert stored(store)["hand_off_agent"] == "amira.haddad"
        over = threading.Event()
        colleagues = [Browser(proxy, session) for _ in range(3)]
        with ThreadPoolExecutor(len(colleagues)) as pool:
            reading = [pool.submit(go_on, each, page, over) for each in colleagues]
            process.terminate()
            process.wait(30)
            for _ in range(10):
                browser.ask("GET", page)
            over.set()
            for each in reading:
                each.result()
    found = sum((each.statuses for each in colleagues), browser.statuses)
    assert set(found) <= {200, 204, 302}, found


def go_on(colleague: Browser, page: str, over: threading.Event) -> None:
    """Read on all the while."""
    while not over.is_set():
        colleague.ask("GET", page)
