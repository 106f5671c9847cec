"""`/search/`: one box. What is typed is POSTed, and sealed in the address of its results: in no log, and in no URL."""

from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.errors import BadReference
from console.forms import KeyField
from console.refs import seal, unseal
from console.search.meanings import MAX_LENGTH, recognise
from console.search.service import search as search_stores
from console.search.service import taken_for
from console.staff.access import StaffRequest, signed_in

_KIND = "search"


class SearchForm(forms.Form):
    """Whatever was typed or pasted."""

    typed = KeyField(
        label="Search",
        most=MAX_LENGTH,
        help_text="A phone number, an email address, any id or key. It is in no address and no log.",
        error_messages={"required": "Type or paste what you look for."},
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["typed"].widget.attrs |= {"type": "search", "data-key": "/", "autofocus": True}


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def search(request: StaffRequest) -> HttpResponse:
    """GET: the box, or the results of a sealed `q`, searched anew. POST `typed`: a single hit opens at once."""
    if request.method == "POST":
        form = SearchForm(request.POST)
        if not form.is_valid():
            return render(request, "search/search.html", {"form": form}, status=422)
        return _found(request, form.cleaned_data["typed"], form)
    if sealed := request.GET.get("q", ""):
        try:
            [typed] = unseal(_KIND, sealed, 1)
        except BadReference:
            return redirect("search")
        # Without what was typed: the link may be somebody else's, and a seal is not opened for whoever holds it.
        return _results(request, typed)
    return render(request, "search/search.html", {"form": SearchForm()})


def _found(request: StaffRequest, typed: str, form: SearchForm) -> HttpResponse:
    meanings = recognise(typed)
    if not meanings:
        return render(request, "search/search.html", {"form": form, "taken_for": "", "searched": True})
    results = search_stores(meanings, request.staff)
    if len(results.hits) == 1 and results.complete:
        return HttpResponseRedirect(results.hits[0].url)
    return HttpResponseRedirect(f"{reverse('search')}?{urlencode({'q': seal(_KIND, typed)})}")


def _results(request: StaffRequest, typed: str) -> HttpResponse:
    meanings = recognise(typed)
    context = {
        "form": SearchForm(),
        "searched": True,
        "taken_for": taken_for(meanings),
        "results": search_stores(meanings, request.staff),
    }
    return render(request, "search/search.html", context)
