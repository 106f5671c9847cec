"""`/queue/`: who waits for a human, longest wait first; what I hold; what colleagues hold; what was overridden."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.middleware import POLL_HEADER
from console.permissions import Permission, Staff
from console.refs import seal
from console.store.streams import Keyset
from console.trail.recording import new_action_id, read_only_reason
from conversations.companies import companies_for
from conversations.forms import CHANNELS
from conversations.listing import Paths, seal_list_context
from conversations.panel import Button, is_forgotten, primary_button
from conversations.queue import counting, notices
from conversations.queue.counts import Count
from conversations.queue.entries import COLLEAGUES, MINE, OVERRIDDEN, WAITING
from conversations.queue.form import QueueForm
from conversations.queue.live import tag_of
from conversations.queue.pages import QueuePage
from conversations.queue.reading import is_indexed, read_tab
from conversations.queue.times import waits_of
from conversations.queue.unread import unread_of
from conversations.reading import customer_of
from conversations.records import ConversationSummary, HandOff, HandOffState

TABS = ((WAITING, "Waiting"), (MINE, "Mine"), (COLLEAGUES, "With colleagues"), (OVERRIDDEN, "Overridden"))
# How often an open page asks whether something changed. Without the index each answer costs a look through everything.
POLL_SECONDS, THIN_POLL_SECONDS = 8, 60
LONG_WAIT, MIDDLE_WAIT = timedelta(hours=2), timedelta(minutes=15)
# So much of a tag tells the versions of one row apart.
_VERSION = 10


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab with its count, None where that is not known."""

    name: str
    label: str
    count: Count | None
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a customer has waited: `since` as ISO 8601 text, in words that console.js keeps fresh, and how it is
    coloured (long, mid or not at all). `at_least` where the platform notes no time of its own."""

    since: str
    words: str
    at_least: bool
    tone: str


class QueueRow(TypedDict):
    """One row; a dict, because that is what templates look into first.

    `wait` is None where nothing tells how long; `who` is the customer and `holder` the colleague as this person may see
    them; `button` the usual action, if there is one; `version` tells whether the row has changed.
    """

    summary: ConversationSummary
    url: str
    action_url: str
    version: str
    wait: Wait | None
    who: str
    channel: str
    holder: str
    is_unread: bool
    is_forgotten: bool
    is_overridden: bool
    button: Button | None


@requires(Permission.HAND_OFF)
@require_safe
def queue(request: StaffRequest) -> HttpResponseBase:
    """The queue of the companies in scope. GET filters: tab, company, project, channel, reason, waited; `page`.

    With htmx or polling the list alone; an open page that polls with the tag of what it shows is answered 304.
    """
    staff = request.staff
    names = {company.company_id: company.name for company in companies_for(staff)}
    form = QueueForm(request.GET)
    filters = form.filters()
    binding = ("queue", form.chosen_tab, repr(filters), staff.username)
    place = Keyset.unsealed(request.GET.get("page", ""), *binding)
    polls = POLL_HEADER in request.headers
    page = read_tab(form.chosen_tab, names, staff.username, filters, place=place)
    shown: dict[str, Any] = {
        "is_first": place is None,
        "numbers": _numbers(page, form, list(names), staff, first=place is None, polls=polls),
        "unread": unread_of(page.entries, staff.username) if form.chosen_tab == MINE else frozenset(),
        "notice": notices.of_page(page, names),
        "indexer": notices.of_indexer(indexed=page.indexed, now=clock.now()) if names else None,
    }
    tag = quote_etag(_tag(page, shown))
    if polls and (unchanged := get_conditional_response(request, etag=tag)) is not None:
        return unchanged
    form.offer(page.entries, names)
    following = page.following
    context = _context(request, page, form, shown) | {
        "tag": tag,
        "next_url": form.url_of(form.chosen_tab, page=following.sealed(*binding)) if following else "",
    }
    as_list = polls or request.htmx  # type: ignore[attr-defined]
    response = render(request, "conversations/_queue.html" if as_list else "conversations/queue.html", context)
    if place is None:
        response.headers["ETag"] = tag
    return response


def _tag(page: QueuePage, shown: dict[str, Any]) -> str:
    """Of this address alone: what the filters are is no part of it."""
    now = clock.now()
    tones = [_tone(entry.hand_off.waited(now)) for entry in page.entries]
    numbers = {tab: str(count) for tab, count in shown["numbers"].items()}
    said = [str(shown["notice"]), str(shown["indexer"])]
    return tag_of(page.entries, numbers, tones, sorted(shown["unread"]), said)


def _context(request: StaffRequest, page: QueuePage, form: QueueForm, shown: dict[str, Any]) -> dict[str, Any]:
    staff, tab, numbers, now = request.staff, form.chosen_tab, shown["numbers"], clock.now()
    list_context = seal_list_context({"list": "queue", "tab": tab, "filters": form.values()})
    longest = page.entries[0].hand_off if page.entries and tab == WAITING and shown["is_first"] else None
    return shown | {
        "tab": tab,
        "tabs": [Tab(name, label, numbers.get(name), form.url_of(name), name == tab) for name, label in TABS],
        "rows": _rows(page, list_context, staff, now, shown["unread"]),
        "list_context": list_context,
        "heading": notices.heading(
            tab,
            numbers.get(tab, Count() if tab == WAITING else None),
            partial=bool(shown["notice"] or page.incomplete),
        ),
        "waiting": numbers.get(WAITING, Count()),
        "form": form,
        "page": page,
        "first_url": form.url_of(tab),
        "poll_seconds": POLL_SECONDS if page.indexed else THIN_POLL_SECONDS,
        "longest": _wait(longest, now) if longest else None,
        "take_token": "" if read_only_reason() else seal("take", staff.username, new_action_id()),
    }


def _rows(page: QueuePage, list_context: str, staff: Staff, now: datetime, unread: frozenset[str]) -> list[QueueRow]:
    query = "?" + urlencode({"in": list_context})
    pages, actions = Paths("conversation"), Paths("conversation-hand-off")
    rows = []
    for entry in page.entries:
        summary, hand_off = entry.summary, entry.hand_off
        is_unread = summary.reference in unread
        row = QueueRow(
            summary=summary,
            url=pages.of(summary.reference) + query,
            action_url=actions.of(summary.reference),
            version=tag_of([entry], is_unread)[:_VERSION],
            wait=_wait(hand_off, now),
            who=customer_of(entry.item, staff),
            channel=CHANNELS.get(summary.channel, summary.channel),
            holder="you" if hand_off.agent == staff.username else hand_off.agent_shown,
            is_unread=is_unread,
            is_forgotten=is_forgotten(hand_off, now),
            is_overridden=hand_off.state is HandOffState.OVERRIDDEN,
            button=primary_button(entry.item, hand_off, staff),
        )
        rows.append(row)
    return rows


def _wait(hand_off: HandOff, now: datetime) -> Wait | None:
    waited, since = hand_off.waited(now), hand_off.requested_at
    if waited is None or since is None:
        return None
    return Wait(clock.to_iso(since, "seconds"), clock.format_span(waited), hand_off.wait_at_least, _tone(waited))


def _tone(waited: timedelta | None) -> str:
    if waited is None or waited < MIDDLE_WAIT:
        return ""
    return "long" if waited >= LONG_WAIT else "mid"


@requires(Permission.HAND_OFF)
@require_safe
def queue_count(request: StaffRequest) -> HttpResponseBase:
    """How many wait, for the navigation of every open page; cached for seconds by each worker."""
    count = counting.waiting(company.company_id for company in companies_for(request.staff))
    tag = quote_etag(str(count))
    unchanged = get_conditional_response(request, etag=tag)
    response = unchanged or JsonResponse({"waiting": str(count) if count.number or count.more else ""})
    response.headers["ETag"] = tag
    return response


@requires(Permission.HAND_OFF)
@require_safe
def waiting_times(request: StaffRequest) -> HttpResponse:
    """How long people wait now in each company and project in scope."""
    names = {company.company_id: company.name for company in companies_for(request.staff)}
    form = QueueForm(request.GET)
    found = waits_of(names)
    context = {
        "companies": [
            (names[waits.company_id], form.url_of(WAITING, company=waits.company_id), waits) for waits in found
        ],
        "left_out": max(0, len(names) - len(found)),
        "indexer": notices.of_indexer(indexed=is_indexed(), now=clock.now()) if names else None,
    }
    return render(request, "conversations/waiting_times.html", context)


def _numbers(
    page: QueuePage, form: QueueForm, company_ids: list[str], staff: Staff, *, first: bool, polls: bool
) -> dict[str, Count]:
    """How many each tab lists. A page that holds all of its tab needs no count, and one read of counts at most is made.

    With filters only what was read is counted. What people hold is counted when an open page asks for updates.
    """
    tab, filtered = form.chosen_tab, bool(form.values())
    if page.totals is not None:
        return page.totals
    numbers: dict[str, Count] = {}
    if not filtered:
        numbers = counting.held(company_ids, staff.username, read=polls)
        if tab != WAITING or not (first and page.is_whole):
            numbers[WAITING] = counting.waiting(company_ids)
    if first and (page.is_whole or filtered):
        numbers[tab] = Count(len(page.entries), more=not page.is_whole)
    return numbers
