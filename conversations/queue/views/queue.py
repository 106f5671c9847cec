"""`/queue/`: who waits for a human, longest wait first; what I hold; what colleagues hold; what needs attention."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, HttpResponseNotModified, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.context import read_only_reason, wants_fragment
from console.middleware import POLL_HEADER
from console.permissions import Permission, Staff
from console.refs import seal
from console.store.presence import index_ready
from console.store.streams import Keyset
from console.trail.recording import new_action_id
from conversations.attention.levels import note_levels
from conversations.companies import names_for
from conversations.converting import export_url, seal_list_context
from conversations.finding.listing import say_searched
from conversations.handoff.partitions import QueueState
from conversations.insight.budgets import reached_budgets
from conversations.notices import notices_for
from conversations.queue import counting, presence
from conversations.queue.form import TAB_LABELS, QueueForm
from conversations.queue.pages import (
    APPROVE,
    ATTENTION,
    COLLEAGUES,
    MINE,
    TABS,
    WAITING,
    Count,
    QueueFilters,
    QueuePage,
    count_tab,
)
from conversations.queue.presence import unread_of
from conversations.queue.reading import QueuePulse, read_pulse, read_tab
from conversations.queue.views.queue_rows import (
    bulk_actions_of,
    changes_at,
    longest_of,
    rows_of,
    tag_of,
    waits_of,
    words_of,
)
from conversations.queue_index.readiness import INDEX, indexer_health, is_indexed
from conversations.receiving import not_placed
from conversations.receiving.to_place import MessageToPlace, messages_in
from conversations.workers.beats import IndexerHealth

# How often an open page polls.
POLL_SECONDS = 8


@requires(Permission.HAND_OFF)
@require_safe
def queue(request: StaffRequest) -> HttpResponseBase:
    """Show the queue of the companies in scope. GET filters: tab, company, project, channel, reason, waited; `page`.

    For htmx and polls, only the list. A poll with the current ETag gets 304: without news, after one read.
    """
    staff = request.staff
    pulse = read_pulse(staff)
    polls = POLL_HEADER in request.headers
    known = PollTag.parse(request.headers.get("If-None-Match", "")) if polls else None
    scope = staff.scope.everything or sorted(staff.scope.company_ids)
    reader = _digest(staff.username, staff.role, scope, request.GET.urlencode())
    if known is not None and known.is_current(pulse, reader, clock.now()):
        return HttpResponseNotModified(headers={"ETag": str(known)})
    names = names_for(staff, pulse.companies_revision)
    form = QueueForm(request.GET)
    filters = form.filters()
    binding = ("queue", form.chosen_tab, repr(filters), staff.username)
    place = Keyset.unsealed(request.GET.get("page", ""), *binding)
    page = read_tab(form.chosen_tab, staff, filters, place=place, health=pulse.health)
    note_levels((each.summary.company_id, each.summary.project_id) for each in page.entries)
    to_place = _to_place(page, filters, staff) if form.chosen_tab == ATTENTION and place is None else ()
    shown: dict[str, Any] = {
        "is_first": place is None,
        "to_place": to_place,
        "is_away": pulse.is_away,
        "numbers": _numbers(page, form, staff, first=place is None, more=len(to_place)),
        "words": words_of(page),
        "unread": unread_of(page.entries, staff.username) if form.chosen_tab == MINE else frozenset(),
        "notice": page_notice(page, names),
        "indexer": indexer_notice(pulse.health, indexed=page.indexed, now=clock.now()) if names else None,
        "not_placed": counting.not_placed_for(staff) if form.chosen_tab == ATTENTION else None,
        "full": counting.full_for(staff) if form.chosen_tab == ATTENTION else [],
    }
    shown["waits"] = waits_of(page)
    # These do not move the revision: what a person has seen, what was not placed, and what is full.
    is_told = not (shown["unread"] or shown["full"] or (form.chosen_tab == ATTENTION and not_placed.may_resolve(staff)))
    until = changes_at(page, clock.now())
    tag = PollTag(pulse.revision if is_told else "", until, reader, _digest_of(page, shown))
    if known is not None and known.shows_the_same(tag):
        return HttpResponseNotModified(headers={"ETag": str(tag)})
    form.offer(page.entries, names)
    following = page.following
    context = _context(request, page, form, shown) | {
        "tag": str(tag),
        "next_url": form.url_of(form.chosen_tab, page=following.sealed(*binding)) if following else "",
    }
    as_list = polls or wants_fragment(request)
    if not as_list:
        context["names"] = names
        # Outside the part that polls replace, so a poll does not read the budgets.
        context["budgets"] = reached_budgets(names, staff) if form.chosen_tab == ATTENTION else []
    response = render(request, "conversations/_queue.html" if as_list else "conversations/queue.html", context)
    if place is None:
        response.headers["ETag"] = str(tag)
    return response


@dataclass(frozen=True, slots=True)
class PollTag:
    """The ETag of a page of the queue. `content` digests what it shows, `reader` who sees it, and with which filters.

    While the queue's revision is the same, and until the instant `until` (seconds of the epoch), the page is the same
    too. A page without a `revision` shows something that does not move it.
    """

    revision: str
    until: int
    reader: str
    content: str

    def __str__(self) -> str:
        return f'"{self.revision}.{self.until}.{self.reader}.{self.content}"'

    @classmethod
    def parse(cls, text: str) -> "PollTag | None":
        """Return the tag in a header; None for anything else."""
        found = _TAG.fullmatch(text.removeprefix("W/"))
        return cls(found[1], int(found[2]), found[3], found[4]) if found else None

    def is_current(self, pulse: QueuePulse, reader: str, now: datetime) -> bool:
        """Return whether nothing can have changed since a reader got the page."""
        is_same = pulse.tells_changes and self.revision == pulse.revision and self.reader == reader
        return is_same and now.timestamp() < self.until

    def shows_the_same(self, other: "PollTag") -> bool:
        """Return whether two pages show the same to the same reader."""
        return (self.reader, self.content) == (other.reader, other.content)


_TAG = re.compile(r'"(\d{0,20})\.(\d{1,12})\.(\w{32})\.(\w{32})"')


def _digest(*shown: object) -> str:
    return hashlib.sha256(json.dumps(shown).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def queue_tabs(numbers: Mapping[str, Count], current: str, form: QueueForm | None = None) -> list[dict[str, Any]]:
    """Return the tabs of the queue, with the filters of `form`. Without a hand-off queue there is no "To approve"."""
    form = form or QueueForm(QueryDict())
    tabs = [(name, label, form.url_of(name)) for name, label in TAB_LABELS.items()]
    if settings.HANDOFF_QUEUE_URL or current == APPROVE:
        tabs.append((APPROVE, "To approve", reverse("queue-to-approve")))
    return [
        {"name": name, "label": label, "count": numbers.get(name), "url": url, "current": name == current}
        for name, label, url in tabs
    ]


def _digest_of(page: QueuePage, shown: dict[str, Any]) -> str:
    """Return the digest of what the page shows."""
    tones = [(wait["tone"], wait["answered"]) for wait in shown["waits"] if wait]
    numbers = {tab: str(count) for tab, count in shown["numbers"].items()}
    said = [str(shown[each]) for each in ("notice", "indexer", "not_placed", "is_away")]
    said += [each.reference for each in shown["full"]] + [each.text for each in shown["to_place"]]
    words = sorted((reference, str(each)) for reference, each in shown["words"].items())
    return tag_of(page.entries, numbers, tones, sorted(shown["unread"]), words, said)


def _context(request: StaffRequest, page: QueuePage, form: QueueForm, shown: dict[str, Any]) -> dict[str, Any]:
    staff, tab, numbers = request.staff, form.chosen_tab, shown["numbers"]
    list_context = seal_list_context({"list": "queue", "tab": tab, "filters": form.values()})
    longest = longest_of(page, shown["waits"]) if tab == WAITING and shown["is_first"] else None
    rows = rows_of(page, tab, list_context, staff, shown)
    return shown | {
        "tab": tab,
        "tabs": queue_tabs(numbers, tab, form),
        "rows": rows,
        "bulk": bulk_actions_of(rows),
        "list_context": list_context,
        "export_url": export_url(list_context, staff),
        "heading": heading(
            tab,
            numbers.get(tab, Count() if tab == WAITING else None),
            partial=bool(shown["notice"] or shown["indexer"]),
            filtered=bool(form.values()),
        ),
        "waiting": numbers.get(WAITING, Count()),
        "form": form,
        "page": page,
        "first_url": form.url_of(tab),
        "poll_seconds": POLL_SECONDS,
        "longest": longest,
        "is_away": shown["is_away"],
        "take_token": "" if read_only_reason() else seal("take", staff.username, new_action_id()),
    }


@requires(Permission.HAND_OFF)
@require_safe
def queue_count(request: StaffRequest) -> HttpResponseBase:
    """Return as JSON how many wait and what is new for this person; every open page polls it. Counts may be cached.

    GET `reading`: the conversation that the page shows (`presence.token_for`); `writing`: the person is typing a reply;
    `opened`: they have just opened it, so that its notices are done.
    """
    username, token = request.staff.username, request.GET.get("reading", "")
    count, awaited = counting.waiting(request.staff), counting.awaited(request.staff)
    opened = token if "opened" in request.GET else ""
    left = notices_for(username, lambda reference: bool(opened) and presence.names(opened, reference, request.staff))
    notices = [{"id": each.id, "who": each.who, "words": each.words, "url": each.url} for each in left]
    here = presence.report_presence(token, request.staff, writes="writing" in request.GET) if token else []
    said = {
        "waiting": str(count) if count.number or count.more else "",
        "mine": awaited,
        "notices": notices,
        "here": presence.describe_presence(here),
    }
    tag = quote_etag(hashlib.sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest()[:32])
    unchanged = get_conditional_response(request, etag=tag)
    response = unchanged or JsonResponse(said)
    response.headers["ETag"] = tag
    return response


@requires(Permission.HAND_OFF)
@require_safe
def waiting_times(request: StaffRequest) -> HttpResponse:
    """Show how long people currently wait in each company and project in scope."""
    names = names_for(request.staff)
    form = QueueForm(request.GET)
    found, left_out = counting.longest_waits(request.staff)
    context = {
        "companies": [
            (names.get(each.company_id, each.company_id), form.url_of(WAITING, company=each.company_id), each)
            for each in found
        ],
        "are_known": bool(names),
        "left_out": left_out,
        "indexer": indexer_notice(indexer_health(), indexed=is_indexed(), now=clock.now()) if names else None,
    }
    return render(request, "conversations/waiting_times.html", context)


def _to_place(page: QueuePage, filters: QueueFilters, staff: Staff) -> tuple[MessageToPlace, ...]:
    """Return the messages that may belong to conversations of the companies shown, if no other filter is set.

    A Query for each company that has any. Raises the store's errors.
    """
    if filters.narrows_rows or filters.waited:
        return ()
    found = [each for each in page.partitions if each.state == QueueState.PLACE]
    wanted = [each for each in found if each.company_id == (filters.company or each.company_id)]
    return messages_in((each.company_id for each in sorted(wanted, key=lambda each: each.since)), staff)


def _numbers(page: QueuePage, form: QueueForm, staff: Staff, *, first: bool, more: int) -> dict[str, Count]:
    """Count what each tab lists. With filters other than the company, only the rows that were read are counted.

    `more` are messages that the chosen tab lists beside its rows.
    """
    values, tab = form.values(), form.chosen_tab
    counted = [] if values.keys() - {"company"} else [*TABS, *([APPROVE] if settings.HANDOFF_QUEUE_URL else [])]
    found = [each for each in page.partitions if each.company_id == values.get("company", each.company_id)]
    numbers = {each: count_tab(each, found, staff.username) for each in counted} if page.indexed else {}
    if first and (page.is_whole or values.keys() - {"company"}):
        numbers[tab] = Count(len(page.entries) + more, more=not page.is_whole)
    return numbers


@dataclass(frozen=True, slots=True)
class PageNotice:
    """A one-line notice; `tone` is a tone of components/_notice.html."""

    text: str
    tone: str = "human"


def page_notice(page: QueuePage, names: Mapping[str, str]) -> PageNotice | None:
    """Return a notice of what was not searched, or None. `names`: companies in scope by id."""
    parts = []
    if not names and not page.entries:
        parts.append(
            "No companies are known yet. The indexer adds them, or an administrator runs manage.py companies discover."
        )
    if page.thin:
        parts.append(say_searched(f"{page.looked_at} who have waited longest", len(page.entries)))
    if page.left_out:
        more = "1 more company was" if page.left_out == 1 else f"{page.left_out} more companies were"
        parts.append(f"{more} not searched. Choose one in the filter.")
    return PageNotice(" ".join(parts)) if parts else None


# Headings for none, one and several conversations in a tab.
_HEADINGS = {
    WAITING: ("Nobody is waiting", "1 person is waiting", "{} people are waiting"),
    MINE: ("You hold no conversations", "You hold 1 conversation", "You hold {} conversations"),
    COLLEAGUES: (
        "Colleagues hold no conversations",
        "Colleagues hold 1 conversation",
        "Colleagues hold {} conversations",
    ),
    ATTENTION: ("No conversation needs attention", "1 thing needs attention", "{} things need attention"),
}
_UNCOUNTED = {
    WAITING: "Who is waiting",
    MINE: "What you hold",
    COLLEAGUES: "What colleagues hold",
    ATTENTION: "What needs attention",
}


def heading(tab: str, count: Count | None, *, partial: bool, filtered: bool = False) -> str:
    """Say how many conversations a tab lists. `partial`: not everything was searched, so never "nobody is waiting"."""
    if count is None:
        return _UNCOUNTED[tab]
    none, one, several = _HEADINGS[tab]
    if count.number == 0 and not count.more:
        if filtered and not partial:
            return "No conversations match"
        return ("Nobody found waiting" if tab == WAITING else "Nothing found") if partial else none
    return one if count.number == 1 and not count.more else several.format(count)


def indexer_notice(health: IndexerHealth, *, indexed: bool, now: datetime) -> PageNotice | None:
    """Return a notice of what is wrong with the index behind the page; None if nothing is."""
    if not index_ready("CONVERSATIONS", INDEX):
        return PageNotice(
            f"The queue needs the index {INDEX}, which is missing or incomplete in this environment.", "bad"
        )
    if health.is_stale or not health.ran:
        return PageNotice(health.describe(now), "bad")
    if not indexed:
        return PageNotice("The queue is being prepared. This takes about a minute.")
    return None if health.backfilled and not health.is_behind else PageNotice(health.describe(now))
