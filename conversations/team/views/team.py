"""`/team/`: a lead's team; the service levels, groups and budget of a company."""

import re
from collections.abc import Mapping
from datetime import time
from decimal import Decimal
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console import clock
from console.access import StaffRequest, requires
from console.answers import posted_version, url_or_empty
from console.context import list_crumbs, read_only_reason
from console.errors import NotFound
from console.form_pages import FORM_METHODS, EditedItem, FormPage, StoredForm, process_form
from console.permissions import Permission, Staff
from console.staff.colleagues import colleagues_of
from console.store.calls import submit
from console.trail.items import ItemGone
from conversations import groups
from conversations.attention import levels
from conversations.attention.hours import WEEKDAYS
from conversations.attention.levels import StoredLevels
from conversations.companies import check_team_lead, companies_for, company_named, projects_of
from conversations.groups import Group
from conversations.insight import budgets
from conversations.team.overview import start_of_day, team_of

MOST_MINUTES = 60 * 24 * 30
LONGEST_WORDS, MOST_WORDS = 40, 50
GROUP_DELETED = "The group is deleted. Conversations that waited for it now wait for everybody."


def _minutes(label: str, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        required=False,
        label=label,
        help_text=help_text,
        min_value=1,
        max_value=MOST_MINUTES,
        error_messages={"max_value": f"Enter {MOST_MINUTES:,} minutes (30 days) or less."},
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


# What an empty field means for a company. For a project it means the company's value.
_EMPTY_FOR_PROJECT = "Leave empty to use the company's."
_EMPTY_FOR_COMPANY = {
    **dict.fromkeys(("first_answer", "next_answer"), "Leave empty for no target."),
    "return_after": "Leave empty for never.",
    "closes": "Leave empty for all hours.",
}


class LevelsForm(forms.Form):
    """Service levels. An empty field means the default, or with `of_project` the company's value.

    A project therefore cannot switch off what its company has set.
    """

    stuck_after = _minutes("Stuck after (minutes)", "The AI counts as stuck when one answer takes longer than this.")
    unanswered_after = _minutes(
        "Unanswered after (minutes)", "A conversation needs attention when a customer has had no answer for this long."
    )
    first_answer = _minutes("First answer within (minutes)", "Counted from the request for a human.")
    next_answer = _minutes("Next answers within (minutes)", "Counted from the customer's next message.")
    return_after = _minutes(
        "Back to the queue after (minutes)",
        "The conversation goes back to the queue if its holder has not answered for this long.",
    )
    opens = forms.TimeField(required=False, label="Opens", widget=forms.TimeInput(attrs={"type": "time"}))
    closes = forms.TimeField(
        required=False,
        label="Closes",
        help_text="00:00 is midnight; a time before Opens is on the next day. Targets only count these hours.",
        widget=forms.TimeInput(attrs={"type": "time"}),
    )
    days = forms.MultipleChoiceField(
        required=False,
        choices=[(str(number), day) for number, day in enumerate(WEEKDAYS)],
        widget=forms.CheckboxSelectMultiple,
    )
    zone = forms.CharField(required=False, max_length=60, label="Time zone", help_text="Such as Europe/London")
    urgent_words = forms.CharField(
        required=False,
        label="Urgent words",
        help_text="One on each line. A request or message with one of them is urgent.",
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
    )

    def __init__(self, *args: Any, of_project: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, means in _EMPTY_FOR_COMPANY.items():
            field = self.fields[name]
            field.help_text = f"{field.help_text} {_EMPTY_FOR_PROJECT if of_project else means}"

    def clean_zone(self) -> str:
        """Check that the time zone is known, if one was entered."""
        zone: str = self.cleaned_data["zone"].strip()
        if zone and (zone not in available_timezones() or ("/" not in zone and zone != "UTC")):
            raise forms.ValidationError("Enter a time zone such as Europe/London.")
        return zone

    def clean_urgent_words(self) -> list[str]:
        """Split the lines into distinct words, in lower case with single spaces."""
        words = [" ".join(line.split()).lower() for line in self.cleaned_data["urgent_words"].splitlines()]
        found = list(dict.fromkeys(filter(None, words)))
        if len(found) > MOST_WORDS or any(len(each) > LONGEST_WORDS for each in found):
            raise forms.ValidationError(f"Enter up to {MOST_WORDS} lines of up to {LONGEST_WORDS} characters.")
        return found

    def clean(self) -> dict[str, Any]:
        """Check that the business hours are complete or absent, and do not close as they open."""
        cleaned = super().clean() or {}
        hours = [cleaned.get(name) for name in ("opens", "closes", "days", "zone")]
        if any(each not in (None, "", []) for each in hours):
            if any(each in (None, "", []) for each in hours):
                if not self.errors:
                    raise forms.ValidationError("To set business hours, fill in Opens, Closes, Days and Time zone.")
                return cleaned
            if cleaned["opens"] == cleaned["closes"] != time(0):
                raise forms.ValidationError("Enter a closing time other than the opening time.")
        return cleaned

    def values(self) -> dict[str, Any]:
        """Return the values to store."""
        cleaned = self.cleaned_data
        hours = None
        if cleaned.get("opens") is not None:
            opens, closes = (f"{cleaned[name]:%H:%M}" for name in ("opens", "closes"))
            days = sorted(int(each) for each in cleaned["days"])
            hours = {"opens": opens, "closes": closes, "days": days, "time_zone": cleaned["zone"]}
        minutes = {name: cleaned[name] for name in levels.MINUTES}
        return minutes | {"hours": hours, "urgent_words": cleaned["urgent_words"]}


def _initial(stored: StoredLevels) -> dict[str, Any]:
    hours, days = stored.hours or {}, (stored.hours or {}).get("days")
    return {name: getattr(stored, name) for name in levels.MINUTES} | {
        "opens": hours.get("opens"),
        "closes": hours.get("closes"),
        "zone": hours.get("time_zone"),
        "days": [str(each) for each in days] if isinstance(days, list) else [],
        "urgent_words": "\n".join(stored.urgent_words or ()),
    }


class GroupForm(forms.Form):
    """A group's name and members."""

    title = forms.CharField(
        max_length=groups.LONGEST_NAME,
        label="Name",
        error_messages={"required": "Enter a name."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    members = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one member."}
    )


class DollarsField(forms.DecimalField):
    """A decimal amount, which may have a dollar sign, and commas between thousands: elsewhere they are points."""

    def to_python(self, value: Any) -> Any:
        """Return the amount, or None. Raises `ValidationError`."""
        plain = value.strip().removeprefix("$").strip() if isinstance(value, str) else value
        if plain and not re.fullmatch(r"-?([0-9]{1,3}(,[0-9]{3})+|[0-9]*)(\.[0-9]*)?", str(plain)):
            raise forms.ValidationError("Enter an amount such as 1,250.00.")
        return super().to_python(plain.replace(",", "") if isinstance(plain, str) else plain)


class BudgetForm(forms.Form):
    """What a company plans to spend on AI tokens in a calendar month."""

    amount = DollarsField(
        required=False,
        label="US dollars a month",
        help_text="Such as 250.00. Leave empty for no budget.",
        min_value=Decimal("0.01"),
        max_value=Decimal("999999999"),
        decimal_places=2,
        error_messages={"min_value": "Enter at least 0.01, or leave it empty."},
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )


@requires(Permission.TEAM_LEAD)
@require_safe
def team(request: StaffRequest) -> HttpResponse:
    """Show who is available and what they hold, the longest-waiting customer, and today's numbers."""
    companies, now = companies_for(request.staff), clock.now()
    names = {each.company_id: each.name for each in companies}
    reached = submit(budgets.reached_budgets, names, request.staff)
    found = team_of(request.staff, companies, start_of_day(now, request.staff.time_zone))
    # Foreign ids may contain characters that no URL can carry.
    rows = [
        {
            "day": each,
            "levels_url": url_or_empty("service-levels", each.company.company_id),
            "groups_url": url_or_empty("agent-groups", each.company.company_id),
            "budget_url": url_or_empty("budget", each.company.company_id),
            "notifications_url": reverse("notifications", query={"company": each.company.company_id}),
        }
        for each in found.companies
    ]
    return render(request, "team/index.html", {"team": found, "rows": rows, "budgets": reached.result()})


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def service_levels(request: StaffRequest, company_id: str) -> HttpResponse:
    """Show and change the service levels of a company, or of one of its projects (GET `project`)."""
    staff, project_id = request.staff, request.GET.get("project", "")
    company = _company(request, company_id)
    projects = {each.project_id: each.name for each in projects_of(company_id).projects}
    if project_id and project_id not in projects:
        raise NotFound
    loaded = levels.load(company_id, project_id, staff)
    seen, resets = _stored_levels(loaded), "reset" in request.POST
    data = None if request.method != "POST" else seen.values if resets else request.POST
    form = LevelsForm(data, initial=seen.values, of_project=bool(project_id))
    address = reverse("service-levels", args=[company_id])
    context = {
        "company": company,
        "project": projects.get(project_id, ""),
        "projects": [(f"{address}?project={each}", name, each in loaded.projects) for each, name in projects.items()],
        "otherwise": loaded.otherwise,
        "sets_any": loaded.stored.sets_any,
        "back": address if project_id else reverse("team"),
        "can_write": not read_only_reason(),
        "crumbs": _crumbs(company.name, "Service levels"),
    }

    def act() -> str:
        is_set = levels.save(company_id, project_id, {} if resets else form.values(), posted_version(request), staff)
        which = "Saved. The queue uses the new levels"
        if not is_set:
            which = f"Saved. {'The company’s levels' if project_id else 'The defaults'} apply now. The queue uses them"
        return f"{which} right away. Alerts use them when a conversation changes."

    edits = EditedItem("these service levels", seen, lambda: _stored_levels(levels.load(company_id, project_id, staff)))
    page = FormPage("team/levels.html", form, "the service levels", request.get_full_path(), context, edits)
    return process_form(request, page, act, validates=not resets)


def _stored_levels(loaded: levels.LoadedLevels) -> StoredForm:
    return StoredForm.of(loaded.stored, _initial(loaded.stored))


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def budget(request: StaffRequest, company_id: str) -> HttpResponse:
    """Show and change what a company plans to spend on AI tokens in a month."""
    staff, company = request.staff, _company(request, company_id)
    seen = _stored_budget(company_id, staff)
    form = BudgetForm(request.POST if request.method == "POST" else None, initial=seen.values)
    context = {
        "company": company,
        "can_write": not read_only_reason(),
        "crumbs": _crumbs(company.name, "Budget"),
        "cost_url": reverse("insight-report", args=["cost"], query={"company": company_id}),
    }

    def act() -> str:
        version, amount = posted_version(request), form.cleaned_data["amount"]
        budgets.save(company_id, amount, version, staff)
        return "The company has no budget now." if amount is None else f"Saved: ${amount:,.2f} a month."

    edits = EditedItem("this budget", seen, lambda: _stored_budget(company_id, staff))
    return process_form(request, FormPage("team/budget.html", form, "the budget", request.path, context, edits), act)


def _stored_budget(company_id: str, staff: Staff) -> StoredForm:
    stored = budgets.load(company_id, staff)
    return StoredForm.of(stored, {"amount": None if stored.amount is None else f"{stored.amount:.2f}"})


@requires(Permission.TEAM_LEAD)
@require_http_methods(FORM_METHODS)
def agent_groups(request: StaffRequest, company_id: str) -> HttpResponse:
    """List the groups of a company, and add, change or delete one. GET `group` opens that group."""
    staff, company = request.staff, _company(request, company_id)
    known = {each.id: each for each in groups.of_company(company_id)}
    wanted, is_deletion = request.GET.get("group", ""), "delete" in request.POST
    address = reverse("agent-groups", args=[company_id])
    if wanted and wanted not in known and request.method != "POST":
        raise NotFound
    if wanted and wanted not in known and is_deletion:
        # Somebody deleted it already, or the button was clicked twice.
        messages.success(request, GROUP_DELETED)
        return redirect(address)
    group = known.get(wanted)
    colleagues = colleagues_of(company_id)
    names = {each.username: each.name for each in colleagues}
    seen = _stored_group(group) if group else None
    initial = seen.values if seen else {}
    typed = initial if is_deletion else request.POST
    form = GroupForm(typed if request.method == "POST" else None, initial=initial)
    _offer_members(form, names, group)
    context = {
        "company": company,
        "group": group,
        "rows": [
            (f"{address}?group={each.id}", each, [names.get(name, name) for name in each.members])
            for each in known.values()
        ],
        "crumbs": _crumbs(company.name, "Groups"),
        "address": address,
    }

    def act() -> str:
        if wanted and group is None:
            raise ItemGone("This group no longer exists.")
        version = posted_version(request) if group else 0
        if is_deletion and group:
            groups.delete(company_id, group, version, staff)
            return GROUP_DELETED
        groups.save(company_id, form.cleaned_data["title"], form.cleaned_data["members"], staff, group, version)
        return "The group is saved."

    def read() -> StoredForm | None:
        found = groups.find(company_id, wanted)
        _offer_members(form, names, group, found)
        return _stored_group(found) if found else None

    edits = EditedItem("this group", seen, read, lambda: {"group": None, "action": address}) if wanted else None
    page = FormPage("team/groups.html", form, "the group", address, context, edits)
    return process_form(request, page, act, validates=not (is_deletion and group))


def _offer_members(form: GroupForm, names: Mapping[str, str], *of: Group | None) -> None:
    """Offer colleagues (names by username) as members, and those that a group has already."""
    others = {name: name for group in of if group for name in group.members if name not in names}
    form.fields["members"].choices = [*names.items(), *others.items()]  # type: ignore[attr-defined]


def _stored_group(group: Group) -> StoredForm:
    return StoredForm.of(group, {"title": group.name, "members": list(group.members)})


def _company(request: StaffRequest, company_id: str) -> Any:
    check_team_lead(company_id, request.staff)
    company = company_named(company_id)
    if company is None:
        raise NotFound
    return company


def _crumbs(company: str, label: str) -> list[dict[str, str]]:
    return list_crumbs(("Team", reverse("team")), here=f"{label} of {company}")
