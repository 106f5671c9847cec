"""Finding a conversation from what a person typed: POSTed, so that no number or address is ever in a URL or a log."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.errors import NotFound
from console.staff.access import StaffRequest, requires
from console.staff.permissions import Permission
from conversations.forms import LOOKUPS, Lookup, bound_lookup, lookup_forms
from conversations.listing import open_list_context, rows_of, seal_list_context
from conversations.lookups import Finding


@requires(Permission.CONVERSATION_READ)
@require_http_methods(["GET", "HEAD", "POST"])
def find(request: StaffRequest) -> HttpResponse:
    """GET: the look-ups, or the results that a sealed `found` names; with `open`, one found opens. POST `look`: one.

    One conversation found opens at once; several in one list open that list; several lists make a results page;
    none, the same form with a message that does not tell "none" from "not in your scope".
    """
    if request.method != "POST":
        return _results(request) if "found" in request.GET else _page(request, None)
    kind = LOOKUPS.get(request.POST.get("look", ""))
    if kind is None:
        return _page(request, None, status=400)
    form = kind(request.POST, auto_id=f"id_{kind.look}_%s")
    if not form.is_valid():
        return _page(request, form)
    finding = form.find(request.staff)
    if not finding.rows:
        return _page(request, form, finding)
    if len(finding.rows) == 1:
        return redirect("conversation", finding.rows[0].reference)
    if len(finding.hits) == 1 and (hit := finding.hits[0]).kind:
        return redirect(hit.kind, hit.reference)
    context = {"list": "found", "look": form.look, "terms": form.terms()}
    return redirect(f"{reverse('conversation-find')}?found={seal_list_context(context)}")


def _page(
    request: StaffRequest, form: Lookup | None, finding: Finding | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "lookups": lookup_forms(form),
        "nothing": finding is not None,
        "notice": finding.notice if finding else "",
    }
    return render(request, "conversations/find.html", context, status=status)


def _results(request: StaffRequest) -> HttpResponse:
    """The results of a sealed look-up, made again: what is gone since, or not in this person's scope, is not there."""
    context = open_list_context(request.GET["found"])
    form = bound_lookup(context)
    if context is None or form is None:
        raise NotFound
    finding = form.find(request.staff)
    # Without what was typed: the link may be somebody else's, and a seal is not opened for whoever holds it.
    if not finding.rows:
        return _page(request, None, finding)
    if "open" in request.GET and len(finding.rows) == 1:
        return redirect("conversation", finding.rows[0].reference)
    hits = [
        (hit, reverse(hit.kind, args=[hit.reference]) if hit.kind else "", rows_of(hit.rows, context, request.staff))
        for hit in finding.hits
    ]
    return render(request, "conversations/find.html", {"lookups": lookup_forms(), "hits": hits})
