"""`/queue/`: who waits for a human, longest wait first; what I hold; what colleagues hold; what needs attention."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.context import read_only_reason
from console.middleware import POLL_HEADER
from console.permissions import Permission, Staff
from console.refs import seal
from console.staff.colleagues import away_now
from console.store.presence import index_ready
from console.store.streams import Keyset
from console.trail.recording import new_action_id
from conversations import presence
from conversations.companies import names_for
from conversations.insight.budgets import reached_budgets
from conversations.notices import notices_for
from conversations.presence import unread_of
from conversations.queries import say_searched
from conversations.queue import counting
from conversations.queue.form import TAB_LABELS, QueueForm
from conversations.queue.pages import APPROVE, ATTENTION, COLLEAGUES, MINE, WAITING, Count, QueuePage
from conversations.queue.reading import INDEX, indexer_health, is_indexed, read_tab
from conversations.reading import export_url, seal_list_context
from conversations.views.queue_rows import bulk_actions_of, longest_of, rows_of, tag_of, waits_of, words_of
from conversations.views.saved_views import queue_menu

# How often an open page polls. Without the index, each poll searches every company.
POLL_SECONDS, THIN_POLL_SECONDS = 8, 60


@requires(Permission.HAND_OFF)
@require_safe
def queue(request: StaffRequest) -> HttpResponseBase:
    """Show the queue of the companies in scope. GET filters: tab, company, project, channel, reason, waited; `page`.

    For htmx and polls, only the list. A poll whose ETag matches gets 304.
    """
    staff = request.staff
    names = names_for(staff)
    form = QueueForm(request.GET)
    filters = form.filters()
    binding = ("queue", form.chosen_tab, repr(filters), staff.username)
    place = Keyset.unsealed(request.GET.get("page", ""), *binding)
    polls = POLL_HEADER in request.headers
    page = read_tab(form.chosen_tab, names, staff.username, filters, place=place)
    shown: dict[str, Any] = {
        "is_first": place is None,
        "numbers": _numbers(page, form, list(names), staff, first=place is None, polls=polls),
        "words": words_of(page),
        "unread": unread_of(page.entries, staff.username) if form.chosen_tab == MINE else frozenset(),
        "notice": page_notice(page, names),
        "indexer": indexer_notice(indexed=page.indexed, now=clock.now()) if names else None,
        "not_placed": counting.not_placed_for(staff) if form.chosen_tab == ATTENTION else None,
    }
    shown["waits"] = waits_of(page)
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
    if not as_list:
        context["saved_views"] = queue_menu(form, names, staff)
        # Outside the part that polls replace, so a poll does not read the budgets.
        context["budgets"] = reached_budgets(names, staff) if form.chosen_tab == ATTENTION else []
    response = render(request, "conversations/_queue.html" if as_list else "conversations/queue.html", context)
    if place is None:
        response.headers["ETag"] = tag
    return response


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


def _tag(page: QueuePage, shown: dict[str, Any]) -> str:
    """Return the ETag of what the page shows."""
    tones = [(wait["tone"], wait["answered"]) for wait in shown["waits"] if wait]
    numbers = {tab: str(count) for tab, count in shown["numbers"].items()}
    said = [str(shown[each]) for each in ("notice", "indexer", "not_placed")]
    words = sorted((reference, each.unanswered, each.text) for reference, each in shown["words"].items())
    return tag_of(page.entries, numbers, tones, sorted(shown["unread"]), words, said)


def _context(request: StaffRequest, page: QueuePage, form: QueueForm, shown: dict[str, Any]) -> dict[str, Any]:
    staff, tab, numbers = request.staff, form.chosen_tab, shown["numbers"]
    list_context = seal_list_context({"list": "queue", "tab": tab, "filters": form.values()})
    longest = longest_of(shown["waits"]) if tab == WAITING and shown["is_first"] else None
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
            partial=bool(shown["notice"] or page.incomplete),
        ),
        "waiting": numbers.get(WAITING, Count()),
        "form": form,
        "page": page,
        "first_url": form.url_of(tab),
        "poll_seconds": POLL_SECONDS if page.indexed else THIN_POLL_SECONDS,
        "longest": longest,
        "is_away": staff.username in away_now(),
        "take_token": "" if read_only_reason() else seal("take", staff.username, new_action_id()),
    }


@requires(Permission.HAND_OFF)
@require_safe
def queue_count(request: StaffRequest) -> HttpResponseBase:
    """Return as JSON how many wait and what is new for this person; every open page polls it. Counts may be cached.

    GET `reading`: the conversation that the page shows (`presence.token_for`); `writing`: the person is typing a reply.
    """
    username, token = request.staff.username, request.GET.get("reading", "")
    companies = names_for(request.staff)
    count, awaited = counting.waiting(companies), counting.awaited(companies, username)
    notices = [{"id": each.id, "words": each.words, "url": each.url} for each in notices_for(username)]
    here = presence.report_presence(token, request.staff, writes="writing" in request.GET) if token else []
    said = {
        "waiting": str(count) if count.number or count.more else "",
        "mine": awaited,
        "told": notices,
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
    found = counting.waits_of(names)
    context = {
        "companies": [
            (names[waits.company_id], form.url_of(WAITING, company=waits.company_id), waits) for waits in found
        ],
        "left_out": max(0, len(names) - len(found)),
        "indexer": indexer_notice(indexed=is_indexed(), now=clock.now()) if names else None,
    }
    return render(request, "conversations/waiting_times.html", context)


def _numbers(
    page: QueuePage, form: QueueForm, company_ids: list[str], staff: Staff, *, first: bool, polls: bool
) -> dict[str, Count]:
    """Count what each tab lists. A page that contains all of its tab needs no read.

    With filters, only the rows read are counted. Held conversations and first messages to approve are counted on polls;
    otherwise only cached counts are used.
    """
    tab, filtered = form.chosen_tab, bool(form.values())
    held_back = counting.to_approve(company_ids, read=polls) if settings.HANDOFF_QUEUE_URL else None
    numbers = {} if held_back is None else {APPROVE: held_back}
    if page.totals is not None:
        return page.totals | numbers
    if not filtered:
        numbers |= counting.held(company_ids, staff.username, read=polls)
        if tab != WAITING or not (first and page.is_whole):
            numbers[WAITING] = counting.waiting(company_ids)
    if first and (page.is_whole or filtered):
        numbers[tab] = Count(len(page.entries), more=not page.is_whole)
    return numbers


@dataclass(frozen=True, slots=True)
class PageNotice:
    """A one-line notice; `tone` is a tone of components/_notice.html."""

    text: str
    tone: str = "human"


def page_notice(page: QueuePage, names: Mapping[str, str]) -> PageNotice | None:
    """Return a notice of what was not searched, or None. `names`: companies in scope by id."""
    parts = []
    if not names:
        parts.append(
            "No companies are known yet. The indexer adds them, or an administrator runs manage.py companies discover."
        )
    if page.incomplete:
        listed = ", ".join(names.get(company_id, company_id) for company_id in page.incomplete)
        parts.append(
            f"Looked at {page.looked_at} conversations. There are more in {listed} than one page can read, so some "
            "people waiting there may not be listed."
        )
    if page.thin:
        parts.append(say_searched(f"{page.looked_at} who have waited longest", len(page.entries)))
    if page.left_out:
        parts.append(f"{len(page.left_out)} more companies were not searched. Choose one in the filter.")
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
    ATTENTION: ("No conversation needs attention", "1 conversation needs attention", "{} conversations need attention"),
}
_UNCOUNTED = {
    WAITING: "Who is waiting",
    MINE: "What you hold",
    COLLEAGUES: "What colleagues hold",
    ATTENTION: "What needs attention",
}


def heading(tab: str, count: Count | None, *, partial: bool) -> str:
    """Say how many conversations a tab lists. `partial`: not everything was searched, so never "nobody is waiting"."""
    if count is None:
        return _UNCOUNTED[tab]
    none, one, several = _HEADINGS[tab]
    if count.number == 0 and not count.more:
        return ("Nobody found waiting" if tab == WAITING else "Nothing found") if partial else none
    return one if count.number == 1 and not count.more else several.format(count)


def indexer_notice(*, indexed: bool, now: datetime) -> PageNotice | None:
    """Return a notice of what is wrong with the index behind the page; None if nothing is."""
    if not indexed:
        if not index_ready("CONVERSATIONS", INDEX):
            return PageNotice(f"The index {INDEX} is missing, so the console searches conversations one by one.", "")
        return PageNotice("The queue's index is not filled yet, so the console searches conversations one by one.", "")
    health = indexer_health()
    if health.is_stale:
        return PageNotice(health.describe(now), "bad")
    return PageNotice(health.describe(now)) if health.is_behind else None
