"""`/team/notifications/`: a company's notification destinations and their deliveries."""

from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, answer, describe_error, posted_version
from console.context import list_crumbs, read_only_reason
from console.errors import BadReference, NotFound
from console.form_pages import FORM_METHODS, EditedItem, FormPage, StoredForm, process_form
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.store.calls import parallel
from console.trail.items import ItemGone
from console.trail.recording import new_action_id
from conversations.companies import companies_for, company_named, name_or_id
from conversations.notifications import addresses, deliveries, destinations
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.destinations import Destination, DestinationValues
from conversations.notifications.notification import NotificationType

_REFERENCE, _TEST = "destination", "destination test"
_GONE, _DELETED = "This destination no longer exists.", "The destination is deleted."
_NO_EMAIL = "Email isn’t set up here."
_MOST_COMPANIES = 50


class DestinationForm(forms.Form):
    """A destination: its name, its address, and the events it is notified of."""

    title = forms.CharField(
        max_length=destinations.LONGEST_NAME,
        label="Name",
        error_messages={"required": "Enter a name."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    kind = forms.ChoiceField(label="Kind", error_messages={"required": "Choose a kind."})
    address = forms.CharField(
        max_length=addresses.LONGEST_ADDRESS,
        label="Address",
        error_messages={"required": "Enter an address."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "ltr", "spellcheck": "false"}),
    )
    types = forms.MultipleChoiceField(
        label="Events",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )
    is_on = forms.BooleanField(required=False, initial=True, label="On", help_text="When this is off, nothing is sent.")

    def __init__(self, data: Any, company_id: str, **options: Any) -> None:
        super().__init__(data, **options)
        offered = ((each.value, each.label) for each in destinations.kinds())
        self.fields["kind"].choices = list(offered)  # type: ignore[attr-defined]
        self.fields["address"].help_text = (
            "The URL of a webhook, the ARN of a topic, or an email address."
            if _has_email()
            else f"The URL of a webhook or the ARN of a topic. {_NO_EMAIL}"
        )
        types = [(each.value, each.label) for each in destinations.types_for(company_id)]
        self.fields["types"].choices = types  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check that the address fits the kind."""
        cleaned = super().clean() or {}
        if "kind" in cleaned and "address" in cleaned:
            problem = addresses.address_problem(DestinationKind(cleaned["kind"]), cleaned["address"])
            if problem:
                self.add_error("address", problem)
        return cleaned

    def values(self) -> DestinationValues:
        """Return what was entered."""
        cleaned = self.cleaned_data
        types = tuple(NotificationType(each) for each in cleaned["types"])
        kind = DestinationKind(cleaned["kind"])
        return DestinationValues(cleaned["title"], kind, cleaned["address"], types, cleaned["is_on"])


@requires(Permission.TEAM_LEAD)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List by name the destinations of a company (GET `company`), or those for all companies."""
    company_id = request.GET.get("company", "")
    if not company_id and not request.staff.scope.everything:
        return redirect("team")
    company = _company(request, company_id)
    found = destinations.list_destinations(company_id)
    latest = [partial(deliveries.list_deliveries, each.id) for each in found]
    failed = [partial(deliveries.list_deliveries, each.id, failed=True) for each in found]
    read = parallel(*latest, *failed)
    rows = [
        {
            "destination": each,
            "url": _url("destination", each),
            "failed": len(gave_up),
            "is_failing": deliveries.is_failing(sent, gave_up),
        }
        for each, sent, gave_up in zip(found, read[: len(found)], read[len(found) :], strict=True)
    ]
    context = {
        "rows": rows,
        "most": deliveries.SHOWN,
        "company": company,
        "new_url": _with_company("destination-new", company_id),
        "crumbs": list_crumbs(("Team", reverse("team")), here="Notifications"),
        "can_write": not read_only_reason(),
        "none_title": "No destinations yet" if company_id else "No destinations for all companies yet",
        "invitation": _invite(),
    }
    if not company_id:
        context |= _of_companies(request.staff)
    return render(request, "notifications/index.html", context)


def _has_email() -> bool:
    return DestinationKind.EMAIL in destinations.kinds()


def _invite() -> str:
    """Say what can be added here, and what is told there."""
    what = "a webhook, an Amazon SNS topic or an email address" if _has_email() else "a webhook or an Amazon SNS topic"
    told = f"Add {what}. The console notifies it when a conversation waits, is overdue or needs attention."
    return told if _has_email() else f"{told} {_NO_EMAIL}"


def _of_companies(staff: Staff) -> dict[str, Any]:
    """Return the companies that have destinations of their own. One Query each, of the first `_MOST_COMPANIES`."""
    companies = companies_for(staff)
    shown = companies[:_MOST_COMPANIES]
    found = parallel(*(partial(destinations.list_destinations, each.company_id) for each in shown))
    rows = [
        {"name": each.name, "url": _with_company("notifications", each.company_id), "count": len(its)}
        for each, its in zip(shown, found, strict=True)
        if its
    ]
    return {
        "of_companies": rows,
        "more_companies": len(companies) > len(shown),
        "most_companies": _MOST_COMPANIES,
    }


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest) -> HttpResponse:
    """Add a destination for a company (GET `company`), or for all companies."""
    company_id, staff = request.GET.get("company", ""), request.staff
    company = _company(request, company_id)
    form = DestinationForm(request.POST if request.method == "POST" else None, company_id)
    back = _with_company("notifications", company_id)
    # The token carries the new id, so that a form sent twice adds one.
    token = request.POST.get("token") or seal(_REFERENCE, company_id, new_action_id())

    def act() -> str:
        for_company, destination_id = unseal(_REFERENCE, token, 2)
        if for_company != company_id:
            raise BadReference
        destinations.add(company_id, form.values(), staff, destination_id)
        return "The destination is added. Open it to send a test."

    context = {"company": company, "crumbs": _crumbs(company_id, "New destination"), "back": back, "token": token}
    return process_form(request, FormPage("notifications/form.html", form, "the destinations", back, context), act)


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def change(request: StaffRequest, ref: str) -> HttpResponse:
    """Change a destination, or delete it, depending on the button pressed. If it is gone, the form adds it anew."""
    staff, deletes = request.staff, "delete" in request.POST
    company_id, seen = _find(request, ref)
    listed = _with_company("notifications", company_id)
    if seen is None and request.method != "POST":
        raise NotFound(_GONE)
    if seen is None and deletes:
        # Somebody deleted it already, or the button was clicked twice.
        messages.success(request, _DELETED)
        return redirect(listed)
    stored = _stored_form(seen)
    initial = stored.values if stored else {}
    data = None if request.method != "POST" else initial if deletes else request.POST
    form = DestinationForm(data, company_id, initial=initial)

    def act() -> str:
        if seen is None:
            raise ItemGone(_GONE)
        as_seen = replace(seen, version=posted_version(request))
        if deletes:
            destinations.delete(as_seen, staff)
            return _DELETED
        destinations.change(as_seen, form.values(), staff)
        return "Saved."

    def add_anew() -> dict[str, Any]:
        token = seal(_REFERENCE, company_id, new_action_id())
        action = _with_company("destination-new", company_id)
        return {"destination": None, "token": token, "action": action, "back": listed}

    context = {
        "company": name_or_id(company_id),
        "destination": seen,
        "crumbs": _crumbs(company_id, seen.values.name if seen else "Change a destination"),
        "back": _url("destination", seen) if seen else listed,
    }
    back = listed if deletes or seen is None else _url("destination", seen)
    edits = EditedItem("this destination", stored, lambda: _stored_form(_find(request, ref)[1]), add_anew)
    page = FormPage("notifications/form.html", form, "the destination", back, context, edits)
    return process_form(request, page, act, validates=not deletes)


def _stored_form(seen: Destination | None) -> StoredForm | None:
    """Return a destination as its form shows it; None if there is none."""
    if seen is None:
        return None
    values = {
        "title": seen.values.name,
        "kind": seen.values.kind.value,
        "address": seen.values.address,
        "types": [each.value for each in seen.values.types],
        "is_on": seen.values.is_on,
    }
    return StoredForm(seen.version, values, seen.updated_by)


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def destination(request: StaffRequest, ref: str) -> HttpResponse:
    """Show a destination and its deliveries; on POST, send a test, send again, or show or renew the secret."""
    seen = _load(request, ref)
    context: dict[str, Any] = {}
    if request.method == "POST":
        try:
            words = _act(request, seen, context)
        except BadReference:
            raise
        except NotFound:
            words = "This notification is no longer among those that failed."
        except FAILURES as error:
            context["problem"] = describe_error(error, "the destination")
            return answer(request, "notifications/destination.html", _page(seen) | context, error)
        if not context:
            messages.success(request, words)
            return redirect("destination", ref)
    return render(request, "notifications/destination.html", _page(seen) | context)


def _act(request: StaffRequest, seen: Destination, context: dict[str, Any]) -> str:
    """Perform the action of the button pressed and return a message; put a secret to show into the context."""
    staff = request.staff
    match request.POST.get("do", ""):
        case "test":
            destination_id, test_id = unseal(_TEST, request.POST.get("token", ""), 2)
            if destination_id != seen.id:
                raise BadReference
            deliveries.send_test(seen, staff, test_id)
            return "A test is on its way. Reload this page in a few seconds to see whether it arrived."
        case "show":
            context["secret"] = destinations.show_secret(seen, staff)
            return ""
        case "renew":
            destinations.renew_secret(replace(seen, version=posted_version(request)), staff)
            return "The new secret is in use. For 24 hours, notifications are signed with the previous one too."
        case "again":
            deliveries.send_again(seen, staff, request.POST.get("delivery") or "-")
            return "The notification is on its way again."
        case "all":
            count = deliveries.send_again(seen, staff)
            if count == 1:
                return "1 notification is on its way again."
            return f"{count} notifications are on their way again."
    raise BadReference


def _page(seen: Destination) -> dict[str, Any]:
    latest, failed = parallel(
        partial(deliveries.list_deliveries, seen.id), partial(deliveries.list_deliveries, seen.id, failed=True)
    )
    return {
        "destination": seen,
        "test_token": seal(_TEST, seen.id, new_action_id()),
        "company": name_or_id(seen.company_id),
        "is_webhook": seen.values.kind is DestinationKind.WEBHOOK,
        "change_url": _url("destination-change", seen),
        "latest": latest,
        "is_failing": deliveries.is_failing(latest, failed),
        "failed": failed,
        "most": deliveries.SHOWN,
        "can_write": not read_only_reason(),
        "crumbs": _crumbs(seen.company_id, seen.values.name),
    }


def _load(request: StaffRequest, ref: str) -> Destination:
    """Return the destination of a sealed reference, if the person leads its company. Raises `NotFound`."""
    found = _find(request, ref)[1]
    if found is None:
        raise NotFound(_GONE)
    return found


def _find(request: StaffRequest, ref: str) -> tuple[str, Destination | None]:
    """Return the company of a sealed reference and its destination; None if it is deleted. Raises `NotFound`."""
    company_id, destination_id = unseal(_REFERENCE, ref, 2)
    destinations.check_manager(company_id, request.staff)
    return company_id, destinations.find(company_id, destination_id)


def _url(route: str, seen: Destination) -> str:
    return reverse(route, args=[seal(_REFERENCE, seen.company_id, seen.id)])


def _with_company(route: str, company_id: str) -> str:
    return reverse(route, query={"company": company_id} if company_id else None)


def _company(request: StaffRequest, company_id: str) -> str:
    """Return the name of a company that the person leads; "" for all. Raises `Forbidden` and `NotFound`."""
    destinations.check_manager(company_id, request.staff)
    found = company_named(company_id) if company_id else None
    if company_id and found is None:
        raise NotFound
    return found.name if found else ""


def _crumbs(company_id: str, label: str) -> list[dict[str, str]]:
    listed = ("Notifications", _with_company("notifications", company_id))
    return list_crumbs(("Team", reverse("team")), listed, here=label)
