"""Onboarding of a tenant, step by step. Each step is a page with its own URL, and stores what was typed."""

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.answers import FAILURES, answer, describe_error
from console.errors import Conflict, ConsoleError, Invalid, NotFound
from console.form_pages import FORM_METHODS, list_differences
from console.permissions import Permission, Staff
from console.store.calls import run_alongside
from tenants import onboarding, settings
from tenants.companies import linkable, linked_elsewhere, without_data
from tenants.forms import CompaniesForm, IdentityForm
from tenants.keys import TYPES, Channel, label_of
from tenants.onboarding import Draft, DraftChanged
from tenants.queries import load_tenant
from tenants.readiness import readiness_of
from tenants.records import DELETED, ONBOARDING, Tenant
from tenants.row_forms import channel_rows
from tenants.settings_form import SettingsForm
from tenants.user_form import UserForm
from tenants.views.frame import frame

STEPS = {
    "settings": "Settings",
    "admin": "First administrator",
    "channels": "Channels",
    "companies": "Companies",
    "review": "Review",
}
_TEMPLATE = "tenants/onboarding.html"


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest) -> HttpResponse:
    """Show the first step: ask for name and id, and reserve the id."""
    if request.method != "POST":
        form = IdentityForm(initial={"token": secrets.token_urlsafe(18)})
        return render(request, "tenants/new.html", {"form": form, "steps": _step_links("", "")})
    form = IdentityForm(request.POST)
    context = {"form": form, "steps": _step_links("", "")}
    if not form.is_valid():
        return answer(request, "tenants/new.html", context, Invalid())
    tenant_id = form.cleaned_data["tenant_id"]
    try:
        onboarding.begin(tenant_id, form.cleaned_data["name"], form.cleaned_data["token"], request.staff)
    except FAILURES as error:
        form.add_error(
            "tenant_id" if isinstance(error, Conflict) else None, describe_error(error, "the list of tenants")
        )
        return answer(request, "tenants/new.html", context, error)
    messages.success(request, f"The id {tenant_id} is reserved. Continue now, or come back later.")
    return redirect("tenant-onboarding", tenant_id, "settings")


@dataclass
class _OnboardingPage:
    """A request for one step."""

    request: StaffRequest
    tenant: Tenant
    draft: Draft
    step: str

    @property
    def is_finished(self) -> bool:
        """Whether the last step is done: it deletes the draft after writing administrator and channels."""
        return not self.draft.version and bool(self.tenant.admins and self.tenant.channels)

    @property
    def missing(self) -> set[str]:
        """The steps without any data, neither in the draft nor stored."""
        has = {"admin": self.draft.admin or self.tenant.admins, "channels": self.draft.channels or self.tenant.channels}
        return {step for step, there in has.items() if not there}

    @property
    def data(self) -> Any:
        """The POST data, or None for other methods."""
        return self.request.POST if self.request.method == "POST" else None

    def show(self, error: Exception | None = None, **more: Any) -> HttpResponse:
        """Render the page of the step, with the error if any."""
        context = frame(self.tenant, self.request.staff, "tenant", "Onboarding") | {
            "steps": _step_links("" if self.is_finished else self.tenant.tenant_id, self.step, self.missing),
            "step": self.step,
            "title": STEPS[self.step],
            "draft_version": self.draft.version,
            "types": TYPES.values(),
            **more,
        }
        return answer(self.request, _TEMPLATE, context, error)

    def onward(self) -> HttpResponse:
        """Redirect to the next step, or to this one if more rows were requested."""
        names = list(STEPS)
        following = self.step if "more" in self.request.POST else names[names.index(self.step) + 1]
        return redirect("tenant-onboarding", self.tenant.tenant_id, following)

    def fill_in(self, form: Any, typed: Callable[[], Draft]) -> HttpResponse:
        """Process a step of the draft with a form or formset. `typed` returns the new draft once it is valid."""
        if self.data is None:
            return self.show(form=form)
        if not form.is_valid():
            return self.show(Invalid(), form=form)
        return self._keep(typed(), form)

    def _keep(self, draft: Draft, form: Any) -> HttpResponse:
        """Save the draft if the stored one still has the version of the form."""
        try:
            if self.request.POST.get("version", "") != str(self.draft.version):
                raise DraftChanged
            onboarding.save_draft(self.tenant.tenant_id, draft, self.request.staff)
        except DraftChanged as error:
            read, self.draft = self.draft, onboarding.load_draft(self.tenant.tenant_id, self.request.staff)
            # The form was made from the draft as this request read it.
            is_known = isinstance(form, BaseForm) and read.version == self.draft.version
            differences = list_differences(form, form.initial) if is_known else []
            return self.show(error, problem=str(error), form=form, differences=differences)
        except FAILURES as error:
            return self.show(error, problem=describe_error(error, "the tenant"), form=form)
        return self.onward()


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
def step(request: StaffRequest, tenant_id: str, step: str) -> HttpResponse:
    """Show or process one of the steps after the first."""
    if step not in STEPS:
        raise NotFound
    with run_alongside(onboarding.load_draft, tenant_id, request.staff) as reading:
        tenant = load_tenant(tenant_id, request.staff)
    if tenant.status == DELETED:
        messages.info(request, "This tenant was discarded, so there is nothing left to onboard.")
        return redirect("tenant", tenant_id)
    if tenant.status != ONBOARDING:
        messages.info(request, "This tenant is not being onboarded. Change it here.")
        return redirect("tenant", tenant_id)
    draft = reading.result()
    page = _OnboardingPage(request, tenant, draft, step)
    # Settings are saved separately from the draft, so a late POST of that step can still be saved.
    if page.is_finished and step != "review" and (page.data is None or step != "settings"):
        return _finished_already(page)
    return _ANSWERS[step](page)


def _finished_already(page: _OnboardingPage) -> HttpResponse:
    messages.info(page.request, "This tenant's onboarding is already finished. This is what was saved.")
    return redirect("tenant-onboarding", page.tenant.tenant_id, "review")


def _settings(page: _OnboardingPage) -> HttpResponse:
    tenant_id, staff = page.tenant.tenant_id, page.request.staff
    stored = settings.load(tenant_id, staff)
    form = SettingsForm(page.data, stored=stored, mapped=lambda: [channel.type for channel in page.draft.channels])
    if page.data is None:
        return page.show(form=form, seen=stored.seen)
    if page.data.get("seen", "") != stored.seen:
        words = "Somebody else changed these settings in the meantime. Save yours to replace them, or leave the page."
        return page.show(Conflict(), form=form, seen=stored.seen, problem=words, differences=form.differences())
    if not form.is_valid():
        return page.show(Invalid(), form=form, seen=stored.seen)
    try:
        settings.save(tenant_id, form.name_typed, form.known, form.others, stored.seen, staff)
    except FAILURES as error:
        return page.show(error, form=form, seen=stored.seen, problem=describe_error(error, "the settings"))
    return page.onward()


def _admin(page: _OnboardingPage) -> HttpResponse:
    form = UserForm(page.data, user=page.draft.admin, first=True)
    return page.fill_in(form, lambda: replace(page.draft, admin=form.values))


def _channels(page: _OnboardingPage) -> HttpResponse:
    rows = channel_rows(page.data, page.draft.channels)
    if page.data is not None and rows.is_valid():
        channels = [Channel(*pair) for pair in rows.pairs]
        try:
            for channel, why in onboarding.clashes_of(page.tenant.tenant_id, channels, page.request.staff):
                rows.refuse((channel.type, channel.id), why)
        except FAILURES as error:
            return page.show(error, problem=describe_error(error, "the channels"), form=rows)
    return page.fill_in(rows, lambda: replace(page.draft, channels=tuple(Channel(*pair) for pair in rows.pairs)))


def _companies(page: _OnboardingPage) -> HttpResponse:
    staff = page.request.staff
    form = CompaniesForm(
        page.data,
        tenant_id=page.tenant.tenant_id,
        staff=staff,
        known=linkable(staff),
        chosen=page.draft.companies,
    )
    if page.data is not None and form.is_valid():
        try:
            form.check_shared()
        except FAILURES as error:
            return page.show(error, problem=describe_error(error, "the tenants"), form=form)
    return page.fill_in(form, lambda: replace(page.draft, companies=form.ids))


def _review(page: _OnboardingPage) -> HttpResponse:
    tenant_id, staff, draft = page.tenant.tenant_id, page.request.staff, page.draft

    def shown() -> dict[str, Any]:
        return {
            "draft": draft,
            "channels": [(label_of(channel.type), channel.id) for channel in draft.channels],
            "admins": page.tenant.admins,
            "without_data": without_data(draft.companies),
            "shared": linked_elsewhere(draft.companies, tenant_id, staff).items(),
        }

    if page.is_finished and page.data is not None:
        return _finished_already(page)
    if page.is_finished:
        return page.show(readiness=readiness_of(page.tenant, staff), **shown())
    if page.data is None:
        return page.show(problems=onboarding.problems_of(tenant_id, draft, staff), **shown())
    try:
        if page.data.get("version", "") != str(draft.version):
            raise DraftChanged
        onboarding.finish(tenant_id, draft, staff)
    except FAILURES as error:
        problems = onboarding.problems_of(tenant_id, draft, staff)
        return page.show(error, problems=problems, problem=describe_error(error, "the tenant"), **shown())
    messages.success(page.request, f"Saved. {_left_to_do(tenant_id, staff)}")
    return redirect("tenant", tenant_id)


def _left_to_do(tenant_id: str, staff: Staff) -> str:
    """Say what comes next. Everything is written by now, so a store error here is not reported as a failure."""
    try:
        ready = readiness_of(load_tenant(tenant_id, staff), staff).complete
    except ConsoleError:
        return "The readiness list shows what is still missing."
    return "Nothing is missing. You can activate the tenant." if ready else "See what is still missing below."


_ANSWERS: dict[str, Callable[[_OnboardingPage], HttpResponse]] = {
    "settings": _settings,
    "admin": _admin,
    "channels": _channels,
    "companies": _companies,
    "review": _review,
}


def _step_links(tenant_id: str, current: str, missing: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the steps with URLs, "" without an id. Earlier steps are done, unless they are `missing`."""
    names = list(STEPS)
    at = names.index(current) if current else -1
    first = {"label": "Identity", "url": "", "current": not current, "done": bool(current)}
    return [
        first,
        *(
            {
                "label": label,
                "url": reverse("tenant-onboarding", args=[tenant_id, name]) if tenant_id else "",
                "current": name == current,
                "done": number < at and name not in missing,
            }
            for number, (name, label) in enumerate(STEPS.items())
        ),
    ]
