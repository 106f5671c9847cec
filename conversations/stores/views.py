"""`/<store>/`: a store's section, its lists and records, and the actions on a record. The same for every store."""

import re
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, not_for_prefetch, requires
from console.answers import answer, describe_error
from console.context import list_crumbs, read_only_reason, wants_fragment
from console.errors import Conflict, ConsoleError, NotFound, StoreUnavailable, Throttled
from console.form_pages import FORM_METHODS
from console.forms import lookup_forms
from console.lookups.lookup_page import answer_lookup
from console.permissions import Permission, Staff
from console.refs import seal
from console.store.presence import table_ready
from conversations.records import Message, Picture
from conversations.stores.adapter import Adapter, ListParameters, NothingToDo, RecordActionHandler, StoreLookup
from conversations.stores.records import ActionResult, Listing, RecordLink, RecordPage, address_of, parts_of
from conversations.stores.services import open_record

_ORIGIN = re.compile(r"[A-Za-z0-9.-]+(?::\d{1,5})?", re.ASCII)


@requires(Permission.CONVERSATION_READ)
@require_safe
def home(request: StaffRequest, store: Adapter) -> HttpResponse:
    """Show the start page of a store: its own links and its look-up forms."""
    return _home(request, store, None)


@requires(Permission.CONVERSATION_READ)
@require_http_methods(FORM_METHODS)
def find(request: StaffRequest, store: Adapter) -> HttpResponse:
    """Run a look-up (POST `look`) and open what it finds.

    If nothing is found, the message does not distinguish "none" from "not in your scope".
    """
    return answer_lookup(request, store.lookups, partial(_found, request.staff, store), partial(_home, request, store))


def _found(staff: Staff, store: Adapter, form: StoreLookup) -> str:
    return address_of(store.name, form.find(staff))


def _home(
    request: StaffRequest,
    store: Adapter,
    bound: StoreLookup | None,
    *,
    nothing: NotFound | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    there = _table_exists(store)
    # Hide the look-ups from people for whom they find nothing.
    is_open = there and (request.staff.scope.everything or not store.unsearched)
    context = {
        "store": store,
        "is_there": there,
        "start": store.start(request.staff) if there else None,
        "lookups": lookup_forms(store.lookups, request.staff, bound) if is_open else {},
        "nothing": bound.nothing if is_open and bound is not None and nothing is not None else "",
    }
    return render(request, "stores/home.html", context, status=status)


def _table_exists(store: Adapter) -> bool:
    """Return whether the store's table exists; also True if DynamoDB does not answer."""
    try:
        return table_ready(store.tables[0])
    except ConsoleError:
        return True


@requires(Permission.CONVERSATION_READ)
@require_safe
def listing(request: StaffRequest, store: Adapter, ref: str) -> HttpResponse:
    """Show one page of a list. `page` is a cursor; each store has its own filters."""
    shown = store.listing(parts_of(store.name, "list", ref), request.staff, _list_parameters(request))
    filters = _filters(request, shown)
    context = {
        "store": store,
        "listing": shown,
        "crumbs": _crumbs(store, shown.crumbs, shown.title),
        "clear_url": request.path if filters else "",
        "first_url": _with(request.path, filters) if shown.back else "",
        "back_url": _with(request.path, filters | {"page": shown.back}) if shown.back else "",
        "next_url": _with(request.path, filters | {"page": shown.next}) if shown.next else "",
    }
    return render(request, "stores/list.html", context)


@requires(Permission.CONVERSATION_READ)
@require_safe
@not_for_prefetch
def record(request: StaffRequest, store: Adapter, ref: str) -> HttpResponse:
    """Show one record; for htmx with `before`, only the messages before that position.

    `at`: the message to show; `show`: the picture to load, whose host is added to the page's `img-src`.
    """
    parameters = _list_parameters(request)
    opened = open_record(store, parts_of(store.name, "record", ref), request.staff, parameters)
    page, talk = opened.page, opened.page.talk
    context: dict[str, Any] = {
        "store": store,
        "page": page,
        "reference": ref,
        "page_url": request.path,
        "at": parameters.at,
        "transcript": talk,
        "earlier_url": _with(request.path, {"before": talk.earlier}) if talk and talk.earlier else "",
        "earlier_text": talk.earlier_text if talk else "",
        "later_url": _with(request.path, {"before": talk.later}) if talk and talk.later else "",
    }
    if talk is not None and parameters.before and wants_fragment(request):
        return _allow_picture_hosts(render(request, "conversations/_transcript.html", context), page)
    context |= {
        "crumbs": _crumbs(store, page.crumbs, page.title),
        "is_redacted": not opened.is_raw,
        "trail_url": reverse("trail", args=[seal("trail", opened.subject.trail)]),
    }
    return _allow_picture_hosts(render(request, "stores/record.html", context), page)


def _allow_picture_hosts(response: HttpResponse, page: RecordPage) -> HttpResponse:
    """Allow the hosts of the pictures that the person asked to see in the Content-Security-Policy, and no others."""
    hosts = {_origin(picture) for picture in _pictures(page) if picture.shown} - {""}
    if hosts:
        response._csp_update = {"img-src": sorted(hosts)}  # type: ignore[attr-defined]
    return response


def _pictures(page: RecordPage) -> Iterator[Picture]:
    if page.picture is not None:
        yield page.picture
    for item in page.talk.items if page.talk is not None else ():
        if isinstance(item, Message):
            yield from (block.data for block in item.blocks if isinstance(block.data, Picture))


def _origin(picture: Picture) -> str:
    """Return the origin of a picture for the policy; "" unless it is a plain https URL."""
    try:
        parts = urlsplit(picture.uri)
    except ValueError:
        return ""
    return f"https://{parts.netloc}" if parts.scheme == "https" and _ORIGIN.fullmatch(parts.netloc) else ""


@requires(Permission.CONVERSATION_READ)
@require_http_methods(FORM_METHODS)
def act(request: StaffRequest, store: Adapter, ref: str, action: str) -> HttpResponse:
    """Ask for confirmation of an action, then perform it on the record as it was shown."""
    doing = store.actions.get(action)
    if doing is None:
        raise NotFound
    request.staff.require(doing.permission)
    parts = parts_of(store.name, "record", ref)
    try:
        return _do(request, store, doing, parts) if request.method == "POST" else _ask(request, store, doing, parts)
    except NothingToDo as error:
        messages.info(request, str(error))
        return redirect(address_of(store.name, error.place))


def _do(request: StaffRequest, store: Adapter, doing: RecordActionHandler, parts: tuple[str, ...]) -> HttpResponse:
    seen = request.POST.get("seen", "")
    form = doing.ask(parts, request.staff, request.POST).form
    if not form.is_valid():
        return _ask(request, store, doing, parts, bound=True, seen=seen, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        done: ActionResult = doing.do(parts, request.staff, form, seen)
    except Conflict as error:
        return _ask(request, store, doing, parts, error=error)
    except (StoreUnavailable, Throttled) as error:
        return _ask(request, store, doing, parts, bound=True, seen=seen, error=error)
    messages.success(request, done.message)
    return redirect(address_of(store.name, done.place))


def _ask(
    request: StaffRequest,
    store: Adapter,
    doing: RecordActionHandler,
    parts: tuple[str, ...],
    *,
    bound: bool = False,
    seen: str = "",
    error: Exception | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Render the confirmation page. `seen` is the version the person saw; by default the one shown now."""
    question = doing.ask(parts, request.staff, request.POST if bound else None)
    url = address_of(store.name, question.back)
    context = {
        "store": store,
        "question": question,
        "seen": seen or question.seen,
        "problem": describe_error(error, "the record") if error is not None else "",
        "blocked": read_only_reason(),
        "url": url,
        "crumbs": _crumbs(store, (*question.crumbs, RecordLink(question.record, question.back)), question.title),
    }
    return answer(request, "stores/action.html", context, error, status)


def _list_parameters(request: StaffRequest) -> ListParameters:
    get = request.GET
    return ListParameters(
        get.get("page", ""), get.get("before", ""), get.get("at", "")[:2000], get.get("show", "")[:200], get.copy()
    )


def _filters(request: StaffRequest, shown: Listing) -> dict[str, str]:
    """Return the list's own filters that are set, for the URLs of its other pages."""
    names = shown.filters.fields if shown.filters is not None else ()
    return {name: value for name in names if (value := str(request.GET.get(name, "")))}


def _with(url: str, query: dict[str, str]) -> str:
    return f"{url}?{urlencode(query)}" if query else url


def _crumbs(store: Adapter, above: tuple[RecordLink, ...], here: str) -> list[dict[str, str]]:
    links = ((link.label, address_of(store.name, link.place) if link.place else "") for link in above)
    return list_crumbs((store.title, reverse("store", args=[store.name])), *links, here=here)
