"""`/queue/`: who waits for a human, longest wait first; what I hold; what colleagues hold; what was overridden."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import quote_etag, urlencode
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from console import clock
from console.audit.recording import new_action_id, read_only_reason
from console.escaping import escaped
from console.refs import seal
from console.staff.access import StaffRequest, requires
from console.staff.middleware import POLL_HEADER
from console.staff.permissions import Permission, Staff
from console.templatetags.console import brief
from conversations.companies import companies_for
from conversations.forms import CHANNELS
from conversations.listing import Paths, seal_list_context
from conversations.panel import Button, is_forgotten, primary_button
from conversations.queue import counts, notices
from conversations.queue.entries import COLLEAGUES, MINE, OVERRIDDEN, WAITING, Entry
from conversations.queue.filters import Place
from conversations.queue.form import QueueForm
from conversations.queue.live import tag_of
from conversations.queue.pages import QueuePage
from conversations.queue.reading import is_indexed, read_tab
from conversations.queue.tallies import Count
from conversations.queue.times import waits_of
from conversations.queue.unread import unread_of
from conversations.records import HandOff, HandOffState

TABS = ((WAITING, "Waiting"), (MINE, "Mine"), (COLLEAGUES, "With colleagues"), (OVERRIDDEN, "Overridden"))
# How often an open page asks whether something changed. Without the index each answer costs a look through everything.
POLL_SECONDS, THIN_POLL_SECONDS = 8, 60
_AT_LEAST = SafeString(' title="The platform notes no time of its own: since its last update"')
# So much of a tag tells the versions of one row apart.
_VERSION = 10
LONG_WAIT, MIDDLE_WAIT = timedelta(hours=2), timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the queue. `wait_tone` is long, mid or empty; `button` is the action that fits in a row.

    `version` changes with whatever the row shows, but for its age.
    """

    reference: str
    version: str
    url: str
    who: str
    reason: str
    wait: str
    wait_tone: str
    since: SafeString | str
    agent: str
    taken_at: SafeString | str
    company_name: str
    project_name: str
    channel: str
    flaws: str
    forgotten: bool
    overridden: bool
    unread: bool
    button: Button | None
    action_url: str


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab with its count, None where that is not known."""

    name: str
    label: str
    count: Count | None
    url: str
    current: bool


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
    place = Place.unsealed(request.GET.get("page", ""), *binding)
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
    context = _context(page, form, staff, shown) | {
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
    tones = [_wait_tone(entry.hand_off.waited(now)) for entry in page.entries]
    numbers = {tab: str(count) for tab, count in shown["numbers"].items()}
    said = [str(shown["notice"]), str(shown["indexer"])]
    return tag_of(page.entries, numbers, tones, sorted(shown["unread"]), said)


def _context(page: QueuePage, form: QueueForm, staff: Staff, shown: dict[str, Any]) -> dict[str, Any]:
    tab, numbers, now = form.chosen_tab, shown["numbers"], clock.now()
    list_context = seal_list_context({"list": "queue", "tab": tab, "filters": form.values()})
    query = "?" + urlencode({"in": list_context})
    paths = Paths("conversation"), Paths("conversation-hand-off")
    rows = []
    for entry in page.entries:
        url, action_url = (path.of(entry.summary.reference) for path in paths)
        rows.append(_row(entry, staff, now, shown["unread"], url + query, action_url))
    return shown | {
        "tab": tab,
        "tabs": [Tab(name, label, numbers.get(name), form.url_of(name), name == tab) for name, label in TABS],
        "rows": rows,
        "waiting": numbers.get(WAITING, Count()),
        "form": form,
        "page": page,
        "first_url": form.url_of(tab),
        "poll_seconds": POLL_SECONDS if page.indexed else THIN_POLL_SECONDS,
        "list_context": list_context,
        "longest": rows[0].wait if rows and tab == WAITING and shown["is_first"] and rows[0].since else "",
        "take_token": "" if read_only_reason() else seal("take", staff.username, new_action_id()),
    }


@requires(Permission.HAND_OFF)
@require_safe
def queue_count(request: StaffRequest) -> HttpResponseBase:
    """How many wait, for the navigation of every open page; remembered for seconds by each worker."""
    count = counts.waiting(company.company_id for company in companies_for(request.staff))
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

    With filters only what was read is counted. What people hold is counted when an open page asks for news.
    """
    tab, filtered = form.chosen_tab, bool(form.values())
    if page.totals is not None:
        return page.totals
    numbers: dict[str, Count] = {}
    if not filtered:
        numbers = counts.held(company_ids, staff.username, read=polls)
        if tab != WAITING or not (first and page.is_whole):
            numbers[WAITING] = counts.waiting(company_ids)
    if first and (page.is_whole or filtered):
        numbers[tab] = Count(len(page.entries), more=not page.is_whole)
    return numbers


def _row(entry: Entry, staff: Staff, now: datetime, unread: frozenset[str], url: str, action_url: str) -> Row:
    summary, hand_off = entry.summary, entry.hand_off
    return Row(
        reference=summary.reference,
        version=tag_of([entry], summary.reference in unread)[:_VERSION],
        url=escaped(url),
        who=escaped(summary.who),
        reason=escaped(hand_off.reason or "No reason given"),
        wait=_wait(hand_off, now),
        wait_tone=_wait_tone(hand_off.waited(now)),
        since=brief(hand_off.requested_at, staff) if hand_off.requested_at else "",
        agent="you" if hand_off.agent == staff.username else hand_off.agent,
        taken_at=brief(hand_off.taken_at, staff) if hand_off.agent else "",
        company_name=escaped(summary.company_name),
        project_name=escaped(summary.project_name),
        channel=escaped(CHANNELS.get(summary.channel, summary.channel)),
        flaws=", ".join(summary.drift),
        forgotten=is_forgotten(hand_off, now),
        overridden=hand_off.state is HandOffState.OVERRIDDEN,
        unread=summary.reference in unread,
        button=primary_button(entry.item, hand_off, staff),
        action_url=escaped(action_url),
    )


def _wait(hand_off: HandOff, now: datetime) -> SafeString | str:
    """How long the customer has waited, in words that console.js keeps fresh."""
    waited, since = hand_off.waited(now), hand_off.requested_at
    if waited is None or since is None:
        return "unknown"
    age = '<time datetime="{}" data-relative="age"{}>{}</time>{}'
    told, more = (_AT_LEAST, "+") if hand_off.wait_at_least else ("", "")
    return format_html(age, clock.to_iso(since, "seconds"), told, clock.in_words(waited), more)


def _wait_tone(waited: timedelta | None) -> str:
    if waited is None or waited < MIDDLE_WAIT:
        return ""
    return "long" if waited >= LONG_WAIT else "mid"
