"""`/queue/`: who waits for a human, longest wait first; what I hold; what colleagues hold."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from console import clock
from console.staff.access import StaffRequest, requires
from console.staff.permissions import Permission, Staff
from conversations.companies import companies_for
from conversations.forms import CHANNELS
from conversations.listing import seal_list_context
from conversations.panel import Button, is_forgotten, panel_for
from conversations.queue import Entry, Queue, read_queue
from conversations.queue_form import QueueForm
from conversations.records import Summary
from conversations.release import release_mine as release_held

TABS = (("waiting", "Waiting"), ("mine", "Mine"), ("colleagues", "With colleagues"))
ROWS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the queue. `wait_tone` is long, mid or empty; `button` is the action that fits in a row."""

    summary: Summary
    wait: str
    wait_tone: str
    since: datetime | None
    channel: str
    at_least: bool
    agent: str
    forgotten: bool
    overridden: bool
    button: Button | None


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab with its count."""

    name: str
    label: str
    count: int
    url: str
    current: bool


@requires(Permission.HAND_OFF)
@require_safe
def queue(request: StaffRequest) -> HttpResponse:
    """The queue of the companies in scope. GET filters: tab, company, project, channel."""
    staff = request.staff
    companies = {company.company_id: company.name for company in companies_for(staff)}
    form = QueueForm(request.GET)
    found = read_queue(form.in_order(companies))
    lists = {name: form.apply(found.of_tab(name, staff.username)) for name, _ in TABS}
    form.offer(found.entries, {company_id: companies[company_id] for company_id in found.left_out})
    tab = form.chosen_tab
    now = clock.now()
    context = {
        "tab": tab,
        "tabs": [Tab(name, label, len(lists[name]), form.url_of(name), name == tab) for name, label in TABS],
        "rows": [_row(entry, staff, now) for entry in lists[tab][:ROWS_SHOWN]],
        "more": max(0, len(lists[tab]) - ROWS_SHOWN),
        "waiting_count": len(lists["waiting"]),
        "longest": _longest(lists["waiting"], now),
        "form": form,
        "notice": _notice(found, companies),
        "looked_at": found.looked_at,
        "mine_count": len(found.held_by(staff.username)),
        "list_context": seal_list_context({"list": "queue", "tab": tab, "filters": form.values()}),
    }
    template = "conversations/_queue.html" if request.htmx else "conversations/queue.html"  # type: ignore[attr-defined]
    return render(request, template, context)


@requires(Permission.HAND_OFF)
@require_POST
def release_mine(request: StaffRequest) -> HttpResponse:
    """Release everything that I hold, as far as the queue's read finds it."""
    report = release_held(request.staff)
    released, failed = len(report.released), len(report.failed)
    if failed:
        messages.warning(request, f"{failed} could not be released: look at them again, then repeat.")
    if released:
        what = "1 conversation is" if released == 1 else f"{released} conversations are"
        messages.success(request, f"{what} back in the queue; the waiting times go on.")
    if not released and not failed:
        messages.info(request, "You hold no conversation.")
    return redirect("queue")


def _row(entry: Entry, staff: Staff, now: datetime) -> Row:
    waited = entry.hand_off.waited(now)
    minutes = waited.total_seconds() / 60 if waited is not None else 0
    panel = panel_for(entry.item, entry.hand_off, staff, now)
    return Row(
        summary=entry.summary,
        wait="unknown" if waited is None else clock.in_words(waited),
        wait_tone="long" if minutes >= 120 else "mid" if minutes >= 15 else "",
        since=entry.hand_off.requested_at,
        channel=CHANNELS.get(entry.summary.channel, entry.summary.channel),
        at_least=entry.hand_off.wait_at_least,
        agent=entry.hand_off.agent,
        forgotten=is_forgotten(entry.hand_off, now),
        overridden=entry.hand_off.state == "overridden",
        button=next((button for button in panel.buttons if button.primary and not button.requires_reason), None),
    )


def _longest(waiting: list[Entry], now: datetime) -> str:
    waits = [waited for entry in waiting if (waited := entry.hand_off.waited(now)) is not None]
    return clock.in_words(max(waits)) if waits else ""


def _notice(found: Queue, names: dict[str, str]) -> str:
    parts = []
    if not names:
        parts.append("No company is known yet, so none was looked at: manage.py companies discover finds them.")
    if found.incomplete:
        listed = ", ".join(names.get(company_id, company_id) for company_id in found.incomplete)
        parts.append(
            f"Looked at {found.looked_at} conversations. There are more in {listed} than one page may read: "
            "someone may be waiting there who is not listed."
        )
    if found.left_out:
        parts.append(f"{len(found.left_out)} more companies were not looked at: choose one in the filter.")
    return " ".join(parts)
