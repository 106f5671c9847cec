"""`/queue/selected/`: bulk actions on selected rows of the queue. `/queue/selected/give/`: transfer them."""

from collections.abc import Callable, Iterable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.context import list_crumbs
from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import Permission, Staff
from conversations.converting import conversation_url, identifier_for, known_list_context, list_link, open_list_context
from conversations.finding.queries import load_row
from conversations.handoff import HandOffAction, Intent
from conversations.handoff.outcomes import describe_routing_left
from conversations.handoff.receivers import offered
from conversations.queue.give_form import GiveForm
from conversations.queue.selection import (
    BulkAction,
    SelectionReport,
    conversations_of,
    for_action,
    for_bulk,
    perform_each,
    selected_in,
)

# Messages for one and for several conversations.
_DONE = {
    BulkAction.TAKE: ("You took 1 conversation.", "You took {} conversations."),
    BulkAction.RELEASE: (
        "Returned 1 conversation to the queue. The waiting time of an unanswered customer continues.",
        "Returned {} conversations to the queue. The waiting times of unanswered customers continue.",
    ),
    BulkAction.HAND_BACK: ("Returned 1 conversation to the AI.", "Returned {} conversations to the AI."),
    BulkAction.LEAVE: (
        "Dismissed 1 conversation. It comes back if something changes.",
        "Dismissed {} conversations. They come back if something changes.",
    ),
}
_GIVEN = {
    HandOffAction.ASSIGN: (
        "Transferred 1 conversation. Your colleague can see it now.",
        "Transferred {} conversations. Your colleague can see them now.",
    ),
    HandOffAction.HAND_OVER: (
        "Transferred 1 conversation. It waits for the group.",
        "Transferred {} conversations. They wait for the group.",
    ),
}
# The message names the conversations only up to this number.
NAMED = 5

Selected = Callable[[StaffRequest, list[Intent]], HttpResponse]


def _on_selection(view: Selected) -> Callable[[StaffRequest], HttpResponse]:
    """Pass the selected intents to a view; if none or too many were selected, return to the list with a warning."""

    @wraps(view)
    def guarded(request: StaffRequest) -> HttpResponse:
        try:
            intents = selected_in(request.POST.getlist("selected"), request.staff)
        except Invalid as refused:
            messages.warning(request, str(refused))
            return redirect(_list_of(request))
        return view(request, intents)

    return guarded


@requires(Permission.HAND_OFF)
@post_only_form("queue")
@_on_selection
def act(request: StaffRequest, intents: list[Intent]) -> HttpResponse:
    """Take, return or dismiss the selected rows, depending on the button pressed. A form sent twice acts once."""
    wanted = request.POST.get("do", "")
    if wanted not in {each.value for each in _DONE}:
        messages.warning(request, "Choose what to do with the selected conversations.")
        return redirect(_list_of(request))
    bulk = BulkAction(wanted)
    report = perform_each([for_bulk(each, bulk) for each in intents], request.staff)
    _add_messages(request, report, _DONE[bulk])
    return redirect(_list_of(request))


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def take_others(request: StaffRequest, ref: str) -> HttpResponse:
    """Take the customer's other conversations that the page of a conversation offers. A form sent twice acts once."""
    load_row(ref, request.staff)
    here = conversation_url(ref, request.POST.get("in", ""), others=True)
    try:
        intents = selected_in(request.POST.getlist("selected"), request.staff)
    except Invalid as refused:
        messages.warning(request, str(refused))
        return redirect(here)
    report = perform_each([for_bulk(each, BulkAction.TAKE) for each in intents], request.staff)
    _add_messages(request, report, _DONE[BulkAction.TAKE])
    return redirect(here)


@requires(Permission.HAND_OFF)
@post_only_form("queue")
@_on_selection
def give(request: StaffRequest, intents: list[Intent]) -> HttpResponse:
    """Ask who gets the selected rows and why; then transfer them."""
    staff, back = request.staff, _list_of(request)
    rows = conversations_of(intents, staff)
    if not rows:
        raise NotFound
    # The holders that the form showed: if the form is sent again, the receiver already holds the conversations.
    holders = {each.agent_seen for each in intents}
    company_ids = dict.fromkeys(each.company_id for each in rows)
    colleagues, groups = offered(company_ids, staff, holders.pop() if len(holders) == 1 else "")
    # A POST from the queue's own form, which leads here, has no receiver.
    form = GiveForm(request.POST if "receiver" in request.POST else None)
    form.fields["receiver"].label = "Who gets it" if len(rows) == 1 else "Who gets them"
    form.offer(colleagues, groups)
    if form.is_valid():
        action, to = form.to
        wanted = [for_action(each, action) for each in intents]
        _add_messages(request, perform_each(wanted, staff, reason=form.cleaned_data["why"], to=to), _GIVEN[action])
        return redirect(back)
    context: dict[str, Any] = {
        "rows": rows,
        "form": form,
        "tokens": list(dict.fromkeys(request.POST.getlist("selected"))),
        "list_context": known_list_context(request.POST.get("in", "")),
        "has_colleagues": bool(colleagues or groups),
        "companies": len(company_ids),
        "back": back,
        "crumbs": list_crumbs(("Queue", back), here="Transfer"),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "conversations/give_selected.html", context, status=status)


def _list_of(request: StaffRequest) -> str:
    """Return the URL of the tab in which the rows were selected."""
    listed = open_list_context(request.POST.get("in", ""))
    return list_link(listed).url if listed else reverse("queue")


def _add_messages(request: StaffRequest, report: SelectionReport, done: tuple[str, str]) -> None:
    """Add a message for each outcome, with its count; up to `NAMED` failures are named."""
    if count := len(report.done):
        messages.success(request, done[0] if count == 1 else done[1].format(count))
    if report.routing_left:
        messages.warning(request, describe_routing_left(report.routing_left))
    for words in _not_done(report, request.staff):
        messages.warning(request, words)


def _not_done(report: SelectionReport, staff: Staff) -> Iterable[str]:
    if report.unanswered:
        have = "1 conversation has" if report.unanswered == 1 else f"{report.unanswered} conversations have"
        yield f"{have} messages that nobody has answered. Open each of them to decide who answers, then return it."
    if report.unasked:
        were, who = (
            ("1 conversation was", "the customer")
            if report.unasked == 1
            else (f"{report.unasked} conversations were", "their customers")
        )
        yield f"{were} not returned: the provider has not said in time what {who} wrote last. Try again in a minute."
    if report.refused:
        yield f"{len(report.refused)} not done.{_why(report.refused, staff)}"
    if report.unknown:
        who = ", ".join(identifier_for(each.primary_channel, staff) for each in report.unknown[:NAMED])
        more = ", …" if len(report.unknown) > NAMED else ""
        yield (
            f"The database did not answer for {_counted(len(report.unknown))} ({who}{more}). The console does not know "
            "whether this was done. Check them before you try again."
        )
    if report.left:
        yield f"There was no time left for {_counted(len(report.left))}: the database is slow. Select them again."


def _why(refused: tuple[tuple[Intent, ConsoleError], ...], staff: Staff) -> str:
    if len(refused) > NAMED:
        return " Most likely somebody else changed these conversations first. The list shows how they are now."
    return "".join(f" {_named(intent, error, staff)}" for intent, error in refused)


def _named(intent: Intent, error: ConsoleError, staff: Staff) -> str:
    if isinstance(error, NotFound):
        return "One is no longer there."
    return f"{identifier_for(intent.primary_channel, staff)}: {error}"


def _counted(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"
