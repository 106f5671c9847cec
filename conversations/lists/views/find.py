"""Look-ups of conversations. What a person types is POSTed, so that no number or address gets into a URL or a log."""

from functools import partial

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.errors import NotFound
from console.forms import lookup_forms
from console.lookups.lookup_page import answer_lookup
from console.permissions import Permission, Staff
from conversations.converting import export_url, open_list_context, seal_list_context
from conversations.lists.forms import LOOKUPS, ConversationLookupForm, bound_lookup
from conversations.lists.views.lists import rows_of


@requires(Permission.CONVERSATION_READ)
@require_http_methods(["GET", "HEAD", "POST"])
def find(request: StaffRequest) -> HttpResponse:
    """Show the look-up forms, or run one (POST `look`).

    A single conversation opens directly; several in one list open that list; several lists open a page of results. GET
    `found` (sealed) shows that page again; with `open`, a single result opens directly. If nothing is found, the
    message does not distinguish "none" from "not in your scope".
    """
    if request.method != "POST" and "found" in request.GET:
        return _results(request)
    return answer_lookup(request, LOOKUPS, partial(_found, request.staff), partial(_page, request))


class NothingFound(NotFound):
    """A look-up found nothing. `notice` says how far it searched."""

    def __init__(self, notice: str) -> None:
        super().__init__()
        self.notice = notice


def _found(staff: Staff, form: ConversationLookupForm) -> str:
    """Run a look-up and return the URL of its result. Raises `NothingFound`."""
    finding = form.find(staff)
    if not finding.rows:
        raise NothingFound(finding.notice)
    if len(finding.rows) == 1:
        return reverse("conversation", args=[finding.rows[0].reference])
    if len(finding.hits) == 1 and (hit := finding.hits[0]).kind:
        return reverse(hit.kind, args=[hit.reference])
    context = {"list": "found", "look": form.look, "terms": form.terms()}
    return f"{reverse('conversation-find')}?found={seal_list_context(context)}"


def _page(
    request: StaffRequest, bound: ConversationLookupForm | None, *, nothing: NotFound | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "lookups": lookup_forms(LOOKUPS, request.staff, bound),
        "nothing": nothing is not None,
        "notice": nothing.notice if isinstance(nothing, NothingFound) else "",
    }
    return render(request, "conversations/find.html", context, status=status)


def _results(request: StaffRequest) -> HttpResponse:
    """Run a sealed look-up again, so that the results are current and within this person's scope."""
    context = open_list_context(request.GET["found"])
    form = bound_lookup(context)
    if context is None or form is None:
        raise NotFound
    finding = form.find(request.staff)
    # The form stays empty: the link may come from somebody else, who typed the terms.
    if not finding.rows:
        return _page(request, None, nothing=NothingFound(finding.notice))
    if "open" in request.GET and len(finding.rows) == 1:
        return redirect("conversation", finding.rows[0].reference)
    hits = [
        (hit, reverse(hit.kind, args=[hit.reference]) if hit.kind else "", rows_of(hit.rows, context, request.staff))
        for hit in finding.hits
    ]
    shown = {
        "lookups": lookup_forms(LOOKUPS, request.staff),
        "hits": hits,
        "export_url": export_url(request.GET["found"], request.staff),
    }
    return render(request, "conversations/find.html", shown)
