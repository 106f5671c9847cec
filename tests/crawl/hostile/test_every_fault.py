"""Every page and every form, with every kind of failure at each of their calls: designed answers, and no lie.

What cannot be read is said to be unreadable, never to be absent; what failed halfway is either done with its entry in
the trail or not done, and sending the form again, or `manage.py reconcile`, settles it. The pages and forms are those
of `tests.scenario`: a new route is covered by its rows there. One case in `FAULT_STEP` is tried, over all kinds and
calls; `FAULT_STEP=1` tries them all, in half an hour.
"""

import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import botocore.endpoint
import pytest
from botocore.exceptions import ReadTimeoutError
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from console import caching, clock
from console import settings as console_settings
from console.search import service as search
from console.staff import throttling
from console.staff.models import StaffAccount
from console.store import calls, presence
from console.store.calls import table_name
from conversations.handoff import settle
from tests import faults
from tests.answers import body_of
from tests.crawl.access.routes import ROUTES
from tests.crawl.hostile.fault_kinds import Strike, strikes
from tests.crawl.hostile.markup import Markup
from tests.crawl.hostile.stored import Stored, keep_only, put_back, taken
from tests.dynamodb import SeenCall, Store, from_dynamodb
from tests.people import signed_in
from tests.scenario import HTMX, Scenario, build, posts, urls

STEP = int(os.environ.get("FAULT_STEP", 127))
# Addresses of a route that are struck: all of them where all cases are tried.
ADDRESSES = None if STEP == 1 else 3
SHOWN = 8
DESIGNED = (b'<section class="error"', b'<main id="main"')
PROBLEM = re.compile(
    r"could not be|did not answer|could not answer|(is|are) not there (yet|in this environment)"
    r"|is missing in this environment|is busy|[Rr]ead-only"
    r"|cannot be shown|refused the request|may have happened|was under way|incomplete answer"
)
# Closed where no identity provider is configured.
OFF = {"oidc-start", "oidc-return", "oidc-back-channel-logout", "oidc-sign-out"}
# Reads that a page does without, in ways that are true: usernames and ids stand in for names.
NAMES_ONLY = {("BatchGetItem", "STAFF"), ("Query", "CONSOLE")}
ABSENT = re.compile(r"\b(no|none|nobody|nothing|empty|unknown|not found|0 conversations)\b", re.IGNORECASE)

# Where some lines of a page cannot be read, older ones move up, and these are some of them.
OF_OLDER = ("its sender is not of a known kind", "ours.colleague said that no answer is needed")

Addresses = dict[str, list[str]]

MOMENT = clock.now()
# Each store's scenario, built once: putting it back costs a tenth of that. And its addresses as the agent and as the
# admin (whose cursors are others): as long as it stays as it was built, and time stands still, they stay the same.
_built: dict[str, tuple[Scenario, Stored, tuple[Addresses, Addresses]]] = {}


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch):
    """Time stands still, so that two answers differ by the failure alone."""
    monkeypatch.setattr(clock, "now", lambda: MOMENT)


@pytest.fixture
def scenario(store, _one_moment) -> Scenario:
    """The scenario as it was built, in the test's store."""
    if store.endpoint not in _built:
        built = build(store)
        stored = taken(store)
        as_agent, as_admin = (urls(built.ours, built, built.people[role]) for role in ("agent", "admin"))
        _built[store.endpoint] = built, stored, (as_agent, as_admin)
    built, stored, _ = _built[store.endpoint]
    put_back(store, stored)
    return built


@dataclass(frozen=True)
class Answer:
    """What a person gets: `lines` are the pieces of text of the page, `notices` the messages kept for the next."""

    status: int
    location: str
    body: bytes
    lines: frozenset[str]
    notices: tuple[str, ...]
    headers: dict[str, str]
    calls: tuple[SeenCall, ...] = ()


class Person:
    """Somebody signed in whose every request is the first one: the same cookie, nothing remembered of tables."""

    def __init__(self, store: Store, scenario: Scenario, role: str) -> None:
        self.store = store
        self.account = StaffAccount.get(scenario.people[role].username)
        self.cookies = signed_in(self.account).cookies.output(header="", sep=";")

    def ask(self, url: str, form: dict[str, Any] | None = None, *, fragment: bool = False) -> Answer:
        """One request and its answer, with the calls that were made for it."""
        presence.forget()
        client = Client(raise_request_exception=False)
        client.cookies.load(self.cookies)
        headers = HTMX if fragment else {}
        with self.store.calls() as seen:
            response = client.get(url, headers=headers) if form is None else client.post(url, form, headers=headers)
            body = body_of(response)
        return Answer(
            response.status_code,
            response.headers.get("Location", ""),
            body,
            frozenset(_lines(body.decode())),
            tuple(f"{each.level_tag}: {each}" for each in get_messages(response.wsgi_request)),
            dict(response.headers),
            tuple(seen),
        )


class _Text(Markup):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden += tag in ("head", "template", "script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("head", "template", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and (piece := " ".join(data.split())):
            self.pieces.append(piece)


# Made at random: recovery codes and links to set a password. And numbers: what earlier requests cost, for one.
CHANCE = re.compile(r"(\b[a-z0-9]{5}-){2}[a-z0-9]{5}\b|(?<=/#)[\w-]{20,}|\d+([.,]\d+)?")


def _lines(page: str) -> Iterable[str]:
    """The pieces of text of a page, without what differs from run to run."""
    parser = _Text()
    parser.feed(page)
    return (CHANCE.sub("0", piece) for piece in parser.pieces if not re.match(r"(GET|POST) /", piece))


def _chosen(cases: list[Strike], turn: int, turns: int) -> list[Strike]:
    """Every address of a route takes its turn, so that together they try every case; without CI one in STEP."""
    return [case for number, case in enumerate(cases) if (number + turn) % (turns * STEP) == 0]


def _certain(calls: Iterable[SeenCall]) -> list[SeenCall]:
    """Those that a request makes each time: of threads that ask at once whether a table is there, each may look."""
    looked: set[tuple[str, ...]] = set()
    certain = []
    for call in calls:
        if call.operation == "DescribeTable":
            if call.tables in looked:
                continue
            looked.add(call.tables)
        certain.append(call)
    return certain


def _report(failures: list[str]) -> None:
    assert not failures, f"{len(failures)} cases failed, such as:\n" + "\n".join(failures[:SHOWN])


# --- Pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", sorted(row.name for row in ROUTES if "GET" in row.accepts))
def test_no_failure_makes_a_page_break_or_lie(store, scenario, route):
    readers = _readers(store, scenario, route)
    both = STEP == 1 or len(_addresses(store, route)) == 1
    asked = [
        (who, url, fragment)
        for number, (who, url) in enumerate(readers)
        for fragment in ((False, True) if both else (number % 2 == 1,))
    ][:ADDRESSES]
    failures = []
    for turn, (person, url, fragment) in enumerate(asked):
        # What is cached for seconds is cached anew, and so still is when it comes to the failures.
        caching.invalidate_all()
        person.ask(url, fragment=fragment)
        sound = person.ask(url, fragment=fragment)
        assert sound.status in (200, 204, 302) or route in OFF, (url, sound.body)
        for strike in _chosen(strikes(_certain(sound.calls)), turn, len(asked)):
            with strike() as fault:
                answer = person.ask(url, fragment=fragment)
            assert fault.struck, strike
            for problem in _problems_of_page(sound, answer, names_only=strike.call_of in NAMES_ONLY):
                failures.append(f"{strike}, {url} {'fragment' if fragment else ''}: {problem}")
    _report(failures)


def _addresses(store: Store, route: str) -> list[tuple[str, str]]:
    """Every address of a route in the scenario as it was built: the agent's and the admin's."""
    *_, (as_agent, as_admin) = _built[store.endpoint]
    return list(zip(as_agent[route], as_admin[route], strict=True))


def _readers(store: Store, scenario: Scenario, route: str) -> list[tuple[Person, str]]:
    """The addresses of a route that are struck, with who may read each: the agent, or the admin."""
    agent, admin = Person(store, scenario, "agent"), Person(store, scenario, "admin")
    both = _addresses(store, route)[:ADDRESSES]
    return [(admin, hers) if agent.ask(his).status == 403 else (agent, his) for his, hers in both]


def _problems_of_page(sound: Answer, answer: Answer, *, names_only: bool) -> Iterator[str]:
    yield from _problems_of_answer(answer, {sound.status, 200, 429, 503})
    if answer.status == 302 and answer.location != sound.location:
        yield f"leads to {answer.location} instead of {sound.location}, {answer.notices}"
    if answer.status == 200:
        yield from _lies(sound, answer, names_only=names_only)


def _problems_of_answer(answer: Answer, allowed: set[int]) -> Iterator[str]:
    """What an answer has to be, whatever failed: of a designed status, with a designed page."""
    if answer.status not in allowed:
        yield f"status {answer.status}"
    if answer.status >= 400 and not any(each in answer.body for each in DESIGNED):
        yield f"no designed page: {answer.body[:200]!r}"
    # Credentials and policies are mended by an operator: no time is named after which it would work, and only then.
    is_of_use = b"Trying again will not help" not in answer.body
    if answer.status in (429, 503) and is_of_use != ("Retry-After" in answer.headers):
        yield f"Retry-After: {answer.headers.get('Retry-After')}, {is_of_use=}"


def _lies(sound: Answer, answer: Answer, *, names_only: bool = False) -> Iterator[str]:
    """What a page shows less than without the failure it has to explain, and not as if it were not there."""
    lost, new = sound.lines - answer.lines, answer.lines - sound.lines
    explained = [line for line in new if PROBLEM.search(line)]
    if lost and not explained and not names_only:
        yield f"without a word on why, lacks {sorted(lost)[:5]}, has {sorted(new)[:5]}"
    lies = [line for line in new if ABSENT.search(line) and line not in (*explained, *OF_OLDER)]
    if lies:
        yield f"says {lies}"


# --- Forms -----------------------------------------------------------------------------------------------------------

# What may be written without an entry in the trail: when somebody was last seen, how often they tried to sign in, and
# which code of theirs was used, before it is believed.
QUIET = {
    # What the queue's partitions hold, and that there is news: counted again by the indexer.
    ("CONSOLE", "QUEUE"),
    ("CONSOLE", "QUEUE_REVISION"),
    ("STAFF", "last_sign_in_at"),
    ("STAFF", "totp_last_step"),
    ("STAFF_SESSIONS", "last_seen_at"),
    ("CONSOLE", "THROTTLE"),
}
# Forms that may do again what they did: each time is on record.
REPEATABLE = {
    "sign-in",
    "audit-export",
    "conversations-export",
    "conversation-reveal",
    "account-recovery-codes",
    "account-sessions-end",
    "staff-password",
    "staff-sessions-end",
}
# Forms that count once, whatever came of it: a code of a second factor, which is used up before it is believed.
ONE_TIME = {"sign-in-code"}
# Forms about what other services own, which nothing reconciles: where no answer came, their entry says so for good. And
# replies, which are pending until a sender has sent them.
NOT_RECONCILED = {"store-action", "conversation-note", "conversation-reply", "conversation-reply-again"}
# Forms about several objects, of which some may be done and others not.
OF_MANY = {"queue-release-mine", "queue-selected", "queue-selected-give"}
# Forms that have something to act on only after those of another route.
AFTER = {
    "account-recovery-codes": ("account-second-factor",),
    "account-second-factor-remove": ("account-second-factor",),
}
# What happened before is no part of a form; without it a trial costs a tenth.
HISTORY = ("AUDIT", "IDEMPOTENCY", "CONVERSATION_STATE")
DOMAIN = (
    "CONVERSATIONS",
    "CONVERSATION_STATE",
    "STAFF",
    "STAFF_SESSIONS",
    "CONSOLE",
    "TENANTS",
    "TENANT_CONVERSATIONS",
)


@pytest.mark.parametrize("route", sorted(row.name for row in ROUTES if "POST" in row.accepts and not row.absent))
def test_no_failure_leaves_a_form_half_done(store, scenario, route):
    person = _sender(store, scenario, route)
    keep_only(store, lambda table, item: table not in HISTORY and item.get("company_id") != scenario.theirs.company_id)
    forms = posts(scenario.ours, scenario, person.account)[route]
    before = taken(store)
    failures = []
    for turn, (url, form) in enumerate(forms):
        sound, done = _sent(store, person, before, url, form)
        assert sound.status in (200, 302), (url, sound.body)
        for strike in _chosen(strikes(sound.calls), turn, len(forms)):
            trial = _Trial(route, strike, sound, changes(before, done))
            put_back(store, before)
            with strike():
                trial.first = person.ask(url, form)
            trial.after_first = taken(store)
            trial.second = person.ask(url, form)
            trial.after_second = _settled(store)
            name = form.get("look") or url
            failures += [f"{strike}, {name}: {problem}" for problem in trial.problems(before)]
    _report(failures)


def _sender(store: Store, scenario: Scenario, route: str) -> Person:
    """Who sends the forms of a route: the agent, or the admin for what agents may not. What comes first is done."""
    for first in AFTER.get(route, ()):
        for url, form in posts(scenario.ours, scenario)[first]:
            assert Person(store, scenario, "agent").ask(url, form).status in (200, 302)
    agent = Person(store, scenario, "agent")
    before = taken(store)
    refused = agent.ask(*posts(scenario.ours, scenario)[route][0]).status == 403
    put_back(store, before)
    return Person(store, scenario, "admin") if refused else agent


def _sent(store: Store, person: Person, before: Stored, url: str, form: dict[str, Any]) -> tuple[Answer, Stored]:
    put_back(store, before)
    return person.ask(url, form), taken(store)


def _settled(store: Store) -> Stored:
    """What is stored once `reconcile` has been over what is still pending."""
    stored = taken(store)
    pending = {each["conversation_id"] for each in stored.plain("IDEMPOTENCY") if each["status"] == "pending"}
    for conversation_id in pending:
        settle(conversation_id, older_than=timedelta(0))
    return taken(store) if pending else stored


def changes(before: Stored, after: Stored) -> Counter[tuple[Any, ...]]:
    """What differs, without what differs from run to run: (table, what happened, to what)."""
    found: Counter[tuple[Any, ...]] = Counter()
    for table in before.tables:
        old, new = before.by_key(table), after.by_key(table)
        for key in old.keys() | new.keys():
            if (table, key[0].partition("#")[0]) in QUIET:
                continue
            if key not in old:
                found[(table, "new", *_named(table, key, from_dynamodb(new[key])))] += 1
            elif key not in new:
                found[(table, "gone", *key)] += 1
            elif old[key] != new[key]:
                names = {name for name in {*old[key], *new[key]} if old[key].get(name) != new[key].get(name)}
                if names := {name for name in names if (table, name) not in QUIET}:
                    found[(table, "changed", *key, *sorted(names))] += 1
    return found


def _named(table: str, key: tuple[str, ...], item: dict[str, Any]) -> tuple[str, ...]:
    match table:
        case "AUDIT":
            return item["conversation_id"], item["action_type"], item["result"].partition(":")[0]
        case "IDEMPOTENCY":
            return item["event_id"].rpartition(":")[0], item["status"]
        case "STAFF_SESSIONS":
            return (item["username"],)
    return key


@dataclass
class _Trial:
    """One form sent with a failure and then again without, `wanted` being what it changes when nothing fails."""

    route: str
    strike: Strike
    sound: Answer
    wanted: Counter[tuple[Any, ...]]
    first: Any = None
    after_first: Any = None
    second: Any = None
    after_second: Any = None

    def problems(self, before: Stored) -> Iterator[str]:
        """Everything that is wrong with it."""
        statuses = {self.sound.status, 409, 429, 503}
        if self.strike.kind.refuses:
            # Told that a link or code was used meanwhile, the console says so.
            statuses.add(422)
        for each in _problems_of_answer(self.first, statuses):
            yield f"{each}, {self.first.lines if each.startswith('status') else ''}"
        done = changes(before, self.after_first)
        yield from self._half_done(done)
        yield from self._false_claims(done)
        again = {self.sound.status, 409}
        if self.route in ONE_TIME or _domain(done):
            # It is done: the form is of an older state, its link or code is used up, or one has been signed out by it.
            again |= {401, 422}
        yield from (f"sent again: {each}" for each in _problems_of_answer(self.second, again))
        final = changes(before, self.after_second)
        yield from self._unsettled(final)

    def _half_done(self, done: Counter[tuple[Any, ...]]) -> Iterator[str]:
        """A change without its entry, or an entry of a success without its change."""
        if _domain(done) and not any(change[:2] == ("AUDIT", "new") for change in done):
            yield f"changed without an entry in the trail: {_domain(done)}"
        if self.route not in OF_MANY and _at_once(done) not in ({}, _at_once(self.wanted)):
            yield f"half done: {_at_once(done)} of {_at_once(self.wanted)}"
        stamps = {item.get("hand_off_action_id") for item in self.after_first.plain("CONVERSATIONS")}
        for entry in self.after_first.plain("AUDIT"):
            is_success = entry["action_type"].startswith("hand_off.") and entry["result"] == "success"
            if is_success and entry["action_id"] not in stamps:
                yield f"an entry of what was not done: {entry['action_type']}"

    def _false_claims(self, done: Counter[tuple[Any, ...]]) -> Iterator[str]:
        """Success said of what was not done; or something said to be absent."""
        first = self.first
        is_success = (first.status, first.location, first.notices) == (
            self.sound.status,
            self.sound.location,
            self.sound.notices,
        )
        if is_success and _at_once(done) != _at_once(self.wanted):
            yield f"claims success, but changed {_at_once(done)} instead of {_at_once(self.wanted)}"
        if first.status == 200 or (self.sound.status == 200 and first.status < 400):
            yield from _lies(self.sound, first)
        warned = any(not each.startswith(("success", "info")) for each in first.notices)
        if first.status == 302 and not is_success and not warned and not self.strike.kind.refuses:
            yield f"leads to {first.location}, {first.notices}, instead of {self.sound.location}"

    def _unsettled(self, final: Counter[tuple[Any, ...]]) -> Iterator[str]:
        pending = [change for change in final if "pending" in change]
        if self.route in NOT_RECONCILED:
            if sum(_successes(final).values()) + len(pending) > max(1, sum(_successes(self.wanted).values())) + 1:
                yield f"entries of one form: {_successes(final)}, {pending}"
            return
        if self.strike.kind.refuses:
            # Told that the record is gone, the console closes the entry alone.
            pending = [change for change in pending if change[0] != "IDEMPOTENCY"]
        if pending:
            yield f"stays pending: {pending}"
        if (self.strike.kind.refuses or self.route in ONE_TIME) and not _domain(final):
            return
        if self.route in REPEATABLE:
            if missing := set(self.wanted) - set(final):
                yield f"sent again, it did not do {missing}"
        elif _domain(final) != _domain(self.wanted):
            yield f"sent again, it did {_domain(final)} instead of {_domain(self.wanted)}"
        elif _successes(final) != _successes(self.wanted):
            yield f"entries of success {_successes(final)} instead of {_successes(self.wanted)}"


def _domain(found: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    return {change: count for change, count in found.items() if change[0] in DOMAIN}


def _at_once(found: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """What is done before the answer: who could not be told of a conversation is told when its action is settled."""
    return {change: count for change, count in _domain(found).items() if not str(change[2]).startswith("TOLD#")}


def _successes(found: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    return {change: count for change, count in found.items() if change[0] == "AUDIT" and change[-1] == "success"}


# --- Time ------------------------------------------------------------------------------------------------------------


class _Clock:
    """The clock that deadlines are measured by, moved on by what calls would have taken. Parallel calls overlap."""

    def __init__(self) -> None:
        self.latest = 0.0
        self.mine = threading.local()

    def monotonic(self) -> float:
        """What time it is for this thread: read when it asks whether there is time for another attempt."""
        self.mine.now = self.latest
        return self.latest

    def pass_by(self, seconds: float) -> None:
        """This thread waits."""
        self.mine.now += seconds
        self.latest = max(self.latest, self.mine.now)


@pytest.mark.parametrize(("slow", "answered"), [(0.0, 0), (4.0, 99), (3.9, 1)], ids=["never", "slowly", "only once"])
def test_a_store_that_keeps_everyone_waiting_holds_no_page_beyond_the_deadline(
    store, scenario, monkeypatch, settings, slow, answered
):
    settings.REQUEST_DEADLINE_SECONDS = 8.0
    admin = Person(store, scenario, "admin")
    attempt = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS
    waited = []
    for route, addresses in urls(scenario.ours, scenario, admin.account).items():
        moving = _Clock()
        # So many calls are answered after `slow` seconds, the others never.
        left = iter([slow] * answered)

        def wait(moving: _Clock = moving, left: Iterator[float] = left) -> None:
            seconds = next(left, None)
            moving.pass_by(attempt if seconds is None else seconds)
            if seconds is None:
                raise ReadTimeoutError(endpoint_url="https://dynamodb.example")

        monkeypatch.setattr(calls, "time", moving)
        # Who asks is found out at once; what the page then reads keeps it waiting.
        with faults.before("", wait, times=faults.ALWAYS, where=_is_not_the_session) as fault:
            # A second is the longest pause before the first retry.
            pause = SimpleNamespace(sleep=lambda _, moving=moving: moving.pass_by(1.0))
            monkeypatch.setattr(botocore.endpoint, "time", pause)
            answer = admin.ask(addresses[0])
        problems = list(_problems_of_answer(answer, {200, 302, 503} | ({404} if route in OFF else set())))
        assert not problems, (route, problems)
        assert moving.latest <= settings.REQUEST_DEADLINE_SECONDS, (route, moving.latest)
        waited += fault.struck
    assert len(waited) > 20


class _Slow:
    """A clock that deadlines are measured by, which calls alone move on. What is submitted to a pool runs at once and
    ends at its time, and who asks for its result goes on from there: so waits in parallel overlap, always alike."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rounds = 0

    def monotonic(self) -> float:
        """What time it is where something is being done just now."""
        return self.now

    def pass_by(self, seconds: float) -> None:
        """One call. `rounds` are how many of them have to follow each other."""
        self.now += seconds
        self.rounds = max(self.rounds, round(self.now / seconds))

    def submit(self, work: Any, *args: Any, **kwargs: Any) -> "Future[Any]":
        """In place of the pools."""
        started, ended = self.now, _Ended(self)
        try:
            ended.set_result(work(*args, **kwargs))
        except Exception as error:
            ended.set_exception(error)
        ended.at, self.now = self.now, started
        return ended


class _Ended(Future[Any]):
    def __init__(self, slow: _Slow) -> None:
        super().__init__()
        self.slow, self.at = slow, 0.0

    def result(self, timeout: float | None = None) -> Any:
        self.slow.now = max(self.slow.now, self.at)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.slow.now = max(self.slow.now, self.at)
        return super().exception(timeout)


# A bit more than two seconds: the console has something to do between calls.
SLOW_SECONDS = 2.01


def _asked_slowly(person: Person, url: str, form: dict[str, Any] | None = None, **more: Any) -> tuple[Answer, _Slow]:
    slow = _Slow()
    with (
        mock.patch.object(calls, "time", slow),
        mock.patch.object(calls, "_pool", slow),
        mock.patch.object(search, "_pool", slow),
        faults.before("", lambda: slow.pass_by(SLOW_SECONDS), times=faults.ALWAYS),
    ):
        return person.ask(url, form, **more), slow


@pytest.mark.parametrize("route", sorted(row.name for row in ROUTES if "GET" in row.accepts))
def test_two_seconds_for_every_call_give_every_page(store, scenario, settings, route):
    settings.REQUEST_DEADLINE_SECONDS = console_settings.REQUEST_DEADLINE_SECONDS
    for person, url in _readers(store, scenario, route):
        for fragment in (False, True):
            answer, slow = _asked_slowly(person, url, fragment=fragment)
            assert answer.status in (200, 204, 302) or route in OFF, (url, slow.rounds, answer.body)
            assert b"did not answer" not in answer.body, (url, slow.rounds)


@pytest.mark.parametrize("route", sorted(row.name for row in ROUTES if "POST" in row.accepts and not row.absent))
def test_two_seconds_for_every_call_let_every_form_through(store, scenario, settings, route):
    settings.REQUEST_DEADLINE_SECONDS = console_settings.REQUEST_DEADLINE_SECONDS
    person = _sender(store, scenario, route)
    # Whoever tried to sign in just before is counted by two writes instead of one.
    for each in store.all("STAFF"):
        throttling.count(each["username"], "127.0.0.1")
    before = taken(store)
    for url, form in posts(scenario.ours, scenario, person.account)[route]:
        put_back(store, before)
        sound = person.ask(url, form)
        put_back(store, before)
        answer, slow = _asked_slowly(person, url, form)
        said = (answer.status, answer.location.partition("?")[0])
        assert said == (sound.status, sound.location.partition("?")[0]), (url, slow.rounds, answer.lines)
        assert b"did not answer" not in answer.body, (url, slow.rounds, answer.lines)


NEEDED_WHEN_SLOW = {
    "agent": ("home", "queue", "conversation", "conversation-timeline", "company", "recipient", "store-list"),
    "admin": ("staff", "audit", "trail", "tenants", "tenant"),
}


@pytest.mark.parametrize("role", list(NEEDED_WHEN_SLOW))
def test_two_seconds_for_every_call_still_give_pages_and_let_people_act(store, scenario, settings, role):
    """With the deadline of production, ten times faster than there."""
    scale = 0.1
    person = Person(store, scenario, role)
    addresses = urls(scenario.ours, scenario, person.account)
    asked = [(route, addresses[route][0], None) for route in NEEDED_WHEN_SLOW[role]]
    if role == "agent":
        asked += [("conversation-hand-off", *posts(scenario.ours, scenario)["conversation-hand-off"][0])]
    for name in ("REQUEST_DEADLINE", "DYNAMODB_CONNECT_TIMEOUT", "DYNAMODB_READ_TIMEOUT"):
        setattr(settings, f"{name}_SECONDS", getattr(console_settings, f"{name}_SECONDS") * scale)
    for route, url, form in asked:
        with faults.before("", lambda: time.sleep(2.0 * scale), times=faults.ALWAYS):
            answer = person.ask(url, form)
        assert answer.status in (200, 302), route
        assert b"did not answer" not in answer.body, route


def _is_not_the_session(content: dict[str, Any]) -> bool:
    return table_name("STAFF_SESSIONS") not in content.get("RequestItems", ())


def test_a_store_that_takes_connections_and_never_answers_is_given_up(store, scenario, settings, monkeypatch):
    agent = Person(store, scenario, "agent")
    settings.REQUEST_DEADLINE_SECONDS = 0.5
    settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS, settings.DYNAMODB_READ_TIMEOUT_SECONDS = 0.1, 0.15
    monkeypatch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _: None))
    taken_up: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.DYNAMODB_ENDPOINT = f"http://127.0.0.1:{server.getsockname()[1]}"
        thread = threading.Thread(target=_take_up, args=(server, taken_up), daemon=True)
        thread.start()
        answer = agent.ask(reverse("queue"))
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert not list(_problems_of_answer(answer, {503}))
    # Each attempt needs a quarter of a second of the half.
    assert 1 <= len(taken_up) <= 2
    for connection in taken_up:
        connection.close()


def _take_up(server: socket.socket, taken_up: list[socket.socket]) -> None:
    while True:
        try:
            taken_up.append(server.accept()[0])
        except OSError:
            return
