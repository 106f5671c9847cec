"""`/conversations/export/`: download a list of conversations as a file."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.context import list_crumbs
from console.errors import NotFound
from console.exports import ExportForm
from console.permissions import Permission
from conversations.companies import names_for
from conversations.converting import export_url, list_link, open_list_context
from conversations.lists.exporting.reading import ListToExport, list_to_export
from conversations.lists.exporting.rows import COLUMNS
from conversations.lists.exporting.service import export as export_list
from conversations.lists.saved_views.records import describe


@requires(Permission.CONVERSATION_EXPORT)
@require_http_methods(["GET", "HEAD", "POST"])
def export(request: StaffRequest) -> HttpResponseBase:
    """Show what the file will contain; on POST, return the file. GET `in`: the sealed list and its filters."""
    token = request.GET.get("in", "")
    context = open_list_context(token)
    if context is None:
        raise NotFound
    listed = list_to_export(context, request.staff)
    asked = ExportForm(request.POST if request.method == "POST" else None)
    if asked.is_valid():
        return export_list(listed, asked.cleaned_data["format"], request.staff).response()
    urls = {"action": export_url(token, request.staff), "list_url": list_link(context).url}
    return _page(request, listed, asked, urls)


def _page(request: StaffRequest, listed: ListToExport, asked: ExportForm, urls: dict[str, str]) -> HttpResponse:
    context: dict[str, Any] = urls | {
        "form": asked,
        "what": listed.what,
        "filters": describe(listed.filters, names_for(request.staff)),
        "limit": f"{settings.CONVERSATION_EXPORT_LIMIT:,}",
        "columns": [name.replace("_", " ") for name in COLUMNS],
        "crumbs": list_crumbs(("Conversations", reverse("conversations")), here="Export"),
    }
    return render(request, "conversations/export.html", context, status=400 if asked.is_bound else 200)
