"""The scenario of two companies as one person sees it whose scope is one of them, and how two answers are compared."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from html import escape
from itertools import islice
from typing import Any
from urllib.parse import quote

from django.conf import settings

from console import caching, clock
from console.schema.tables import TABLES
from console.staff.models import StaffAccount
from tests.crawl.hostile.crawl import Crawler, Visit
from tests.crawl.hostile.stored import drop
from tests.crawl.hostile.twins import twin
from tests.dynamodb import Store
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, member, signed_in
from tests.scenario import Scenario, Side, both_of, build, tenant_conversations
from tests.scenario.audit import event_key, event_ref, sealed
from tests.scenario.requests import ref

# Tokens against forgery and signatures differ from one rendering to the next; where a page goes on is sealed.
TOKENS = re.compile(
    r"(csrfmiddlewaretoken\" value=\"|X-CSRFToken(?:\"|&quot;): (?:\"|&quot;)|\bcsrf=|\bpage=|\bq="
    r"|\b(?:messages|notices)=[^:;]*:)[\w:-]+"
)
EXPIRY = re.compile(r"expires=[^;]+;")
# The part of the queue's tag that digests what was asked, and by whom: it follows from the address alone.
ASKED = re.compile(r"((?:\"|&quot;)\d{0,20}\.\d{1,12}\.)\w{32}(?=\.\w{32}(?:\"|&quot;))")
# More than a page of a list, and than a look-up reads: what is left out must not shorten, lengthen or date a page.
SHARED = 90
Calls = Counter[tuple[str, tuple[str, ...], str]]
Pairs = Iterable[tuple[str, str]]


@dataclass
class Scene:
    """The scenario, and a person whose scope is our company alone, with a browser."""

    store: Store
    scenario: Scenario
    account: StaffAccount
    browser: Crawler

    @property
    def ours(self) -> Side:
        """The company in scope."""
        return self.scenario.ours

    @property
    def theirs(self) -> Side:
        """The other one."""
        return self.scenario.theirs

    def ask(
        self, method: str, url: str, data: dict[str, Any] | None = None, *, htmx: bool = False
    ) -> tuple[Visit, Calls]:
        """The answer, and the calls to the store that it took."""
        # A message of an answer before this one is not part of this one.
        for name in ("messages", "notices", settings.NOTICE_COOKIE_NAME):
            self.browser.client.cookies.pop(name, None)
        # Nor is anything remembered of it; and a use that is counted takes one write, not two soon after the last one.
        caching.invalidate_all()
        drop(self.store, "CONSOLE", "THROTTLE#")
        with self.store.calls() as seen:
            if method == "GET":
                visit = self.browser.get(url, htmx=htmx)
            else:
                visit = self.browser.post(url, (data or {}).items(), htmx=htmx)
        # Which tables there are is asked once in a while, whatever the request.
        calls = (call for call in seen if call.operation != "DescribeTable")
        return visit, Counter((call.operation, call.tables, call.index) for call in calls)


def scene(store: Store, role: str) -> Scene:
    """The scenario with a person of that role whose scope is our company alone."""
    scenario = build(store)
    share(store, scenario)
    account = (
        scenario.people[role] if role in ("agent", "onboarding") else member(f"scoped.{role}", role, both_of(COMPANY))
    )
    browser = Crawler(signed_in(account))
    # What is written only once in a while is written now.
    browser.get("/")
    return Scene(store, scenario, account, browser)


def share(store: Store, scenario: Scenario) -> None:
    """Their conversations with the same recipient, number and project as ours, and said to be held by our agent."""
    ours, moment = scenario.ours, clock.now()
    store.put_all(
        "CONVERSATIONS",
        [
            conversation(
                primary_channel=ours.recipient,
                company_id=OTHER_COMPANY,
                project_id=ours.project_id,
                company_name="theirs.shared.company",
                project_name="theirs.shared.project",
                request_id=f"theirs-shared-{number:03}",
                conversation_status="theirs.shared.status" if number % 2 else "reply_sent",
                gsi_company_whatsapp_number=ours.our_number,
                hand_off_to_human=True,
                hand_off_to_human_reason="theirs.shared.reason",
                hand_off_agent=scenario.people["agent"].username,
                hand_off_wanted=True,
                created_at=clock.to_iso(moment - timedelta(minutes=number)),
                updated_at=clock.to_iso(moment - timedelta(minutes=number)),
            )
            for number in range(SHARED)
        ],
    )


def is_theirs(item: dict[str, Any]) -> bool:
    """Whether a stored item has anything of theirs in it."""
    return "theirs" in repr(item) or OTHER_COMPANY in repr(item)


def stored(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Everything that is stored."""
    return {key: store.all(key) for key in TABLES}


def put_back(store: Store, items: dict[str, list[dict[str, Any]]]) -> None:
    """Only these are stored."""
    store.empty()
    for key, found in items.items():
        store.put_all(key, found)


def known_pairs(side: Side) -> list[tuple[str, str]]:
    """Their identifiers and the twins of these, longest first: an id may be part of another."""
    values = (
        *(side.company_id, side.project_id, side.recipient, side.email_recipient, side.our_number, side.username),
        *(side.conversation_id, side.conversation_ref, side.recipient_ref, side.replies_ref, side.trail_ref),
        event_ref(event_key(side)),
        *sealed(side),
        *tenant_conversations.refs(side),
        *(ref(side, purpose) for purpose in side.keys),
        *(key for keys in side.keys.values() for key in keys),
    )
    return sorted(((value, twin(value)) for value in dict.fromkeys(values)), key=lambda pair: -len(pair[0]))


@lru_cache(maxsize=256)
def _words(pairs: tuple[tuple[str, str], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """The same word for both of each pair, in every spelling, and what finds them."""
    words: dict[str, str] = {}
    for number, pair in enumerate(pairs):
        for value in pair:
            for spelling in (value, escape(value), quote(value), quote(value, safe="")):
                words.setdefault(spelling, f"<{number}>")
    found = re.compile("|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True))) or r"(?!)")
    return words, found


def told(visit: Visit, pairs: Pairs = ()) -> tuple[Any, ...]:
    """All that an answer says, but for tokens. What was asked with, or its twin, is the same word."""
    words, pattern = _words(tuple(pairs))

    def plain(text: str) -> str:
        text = ASKED.sub(r"\1", EXPIRY.sub("expires=;", TOKENS.sub(r"\1", text)))
        return pattern.sub(lambda found: words[found[0]], text)

    # How long a body is follows from the body.
    headers = tuple((name, plain(value)) for name, value in visit.headers if name != "Content-Length")
    return visit.status, headers, tuple(map(plain, visit.cookies)), plain(visit.body)


def assert_same(one: Visit, other: Visit, pairs: Pairs = ()) -> None:
    """Nothing in two answers tells them apart."""
    pairs = tuple(pairs)
    for said, as_well in zip(told(one, pairs), told(other, pairs), strict=True):
        if said != as_well:
            before, after = (re.sub("(?=<)", "\n", str(each)).splitlines() for each in (said, as_well))
            lines = difflib.unified_diff(before, after, n=1)
            raise AssertionError(f"{one}\nis told from\n{other}\n" + "\n".join(islice(lines, 40)))
