"""`/search/`: the search box. The typed text is POSTed, then sealed in the URL of its results: no log or URL shows it.

The seal includes the username: only that person sees the typed text again. For people who may not reveal personal data,
a link to results about a person works only for them and for an hour; then the search must be recorded again.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console import clock
from console.access import StaffRequest, signed_in
from console.errors import BadReference
from console.forms import NO_REASON, KeyField, add_reason_field
from console.lookups.personal_searches import HOUR, has_reason, is_personal, needs_reason, record_search
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.search.finders import finders
from console.search.meanings import MAX_LENGTH, Meaning, MeaningKind, recognise
from console.search.service import Results
from console.search.service import search as search_stores

_KIND = "search"
# What people type when they look for a customer.
_OF_CUSTOMERS = {MeaningKind.PHONE, MeaningKind.EMAIL}
# What can be searched for: in words, with examples, and the kinds of which a reader's role must search one.
_KINDS: tuple[tuple[str, str, frozenset[MeaningKind]], ...] = (
    ("phone numbers in any format, and email addresses", "", frozenset(_OF_CUSTOMERS)),
    ("ids of requests as pages show them", "req-…", frozenset({MeaningKind.REQUEST})),
    ("whole ids of conversations", "…#…#…#…", frozenset({MeaningKind.CONVERSATION})),
    ("whole keys of threads", "…#…#…", frozenset({MeaningKind.THREAD})),
    ("ids of chatbot sessions, users and images", "", frozenset({MeaningKind.SESSION, MeaningKind.DIGEST})),
    ("idempotency keys", "evt:… act:…", frozenset({MeaningKind.EVENT})),
    ("names and ids of companies", "", frozenset({MeaningKind.COMPANY})),
    ("names and ids of tenants, and ids of their users", "", frozenset({MeaningKind.TENANT, MeaningKind.USER})),
    ("channels, and their ids alone", "slack:T024BE7LD", frozenset({MeaningKind.CHANNEL, MeaningKind.CHANNEL_ID})),
    ("usernames of staff", "", frozenset({MeaningKind.STAFF})),
)


class SearchForm(forms.Form):
    """The search box."""

    typed = KeyField(
        label="Search",
        most=MAX_LENGTH,
        help_text="A phone number, an email address, any id or key. What you type never appears in a URL or a log.",
        error_messages={"required": "Enter what you are looking for."},
    )

    def __init__(self, *args: object, staff: Staff, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["typed"].widget.attrs |= {"type": "search", "data-key": "/", "autofocus": True}
        add_reason_field(self, staff)


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def search(request: StaffRequest) -> HttpResponse:
    """Show the box, or the results of a sealed `q`, searched again (GET); search and redirect (POST of `typed`)."""
    if request.method == "POST":
        form = SearchForm(request.POST, staff=request.staff)
        if not form.is_valid():
            return render(request, "search/search.html", {"form": form}, status=422)
        return _found(request, form.cleaned_data["typed"], form)
    if sealed := request.GET.get("q", ""):
        try:
            typed, username, at = unseal(_KIND, sealed, 3)
        except BadReference:
            return redirect("search")
        return _results(request, typed, username, int(at))
    context = {"form": SearchForm(staff=request.staff), "kinds": _kinds_for(request.staff)}
    return render(request, "search/search.html", context)


def _kinds_for(staff: Staff) -> list[tuple[str, str, str]]:
    """Return what a role can search for: in words, with examples, and the stores that have it."""
    allowed = [each for each in finders() if staff.can(each.permission)]
    stores = [
        (words, shown, [each.title for each in allowed if kinds & each.find.keys()]) for words, shown, kinds in _KINDS
    ]
    return [(words, shown, ", ".join(titles)) for words, shown, titles in stores if titles]


def _seeks_customer(meanings: Sequence[Meaning], staff: Staff) -> bool:
    """Return whether a search for these looks among customers."""
    return staff.can(Permission.CONVERSATION_READ) and any(each.kind in _OF_CUSTOMERS for each in meanings)


def _found(request: StaffRequest, typed: str, form: SearchForm) -> HttpResponse:
    meanings, staff = recognise(typed), request.staff
    if not meanings:
        return render(request, "search/search.html", {"form": form, "results": Results(), "typed": typed})

    def results() -> Results:
        return search_stores(meanings, staff)

    if is_personal(typed):
        if not has_reason(form, staff):
            return render(request, "search/search.html", {"form": form}, status=422)
        found = record_search(typed, form, staff, results, lambda each: len(each.hits))
    else:
        found = results()
    if len(found.hits) == 1 and found.complete:
        return HttpResponseRedirect(found.hits[0].url)
    sealed = seal(_KIND, typed, staff.username, str(clock.to_epoch(clock.now())))
    return HttpResponseRedirect(f"{reverse('search')}?{urlencode({'q': sealed})}")


def _results(request: StaffRequest, typed: str, username: str, at: int) -> HttpResponse:
    meanings, staff = recognise(typed), request.staff
    is_own = username == staff.username
    # Another person's link does not show what was typed: having the sealed text does not open it.
    form = SearchForm(initial={"typed": typed} if is_own else None, staff=staff)
    is_recorded = is_own and clock.to_epoch(clock.now()) - at < HOUR.total_seconds()
    if needs_reason(typed, staff) and not is_recorded:
        return render(request, "search/search.html", {"form": form, "stale": NO_REASON})
    context = {
        "form": form,
        "results": search_stores(meanings, staff),
        "seeks_customer": _seeks_customer(meanings, staff),
        "typed": typed if is_own else "",
    }
    return render(request, "search/search.html", context)
