"""The filters of Insight: company, project, channel, and a period that can be compared with the one before."""

from collections.abc import Mapping
from datetime import date

from django import forms
from django.http import QueryDict

from console import clock
from console.forms import DaysForm
from console.store.models import SORT_KEY_BYTES, fits
from conversations.insight.facts import escaped
from conversations.insight.reports.parts import OwnedBy
from conversations.insight.sums import DAY, MOST_DAYS, InsightPeriod, InsightQuery, Slice

# The default period does not count as a filter, but addresses may name it.
USUAL = "28"
PERIODS = {
    "7": "Last 7 days",
    "": "Last 28 days",
    "90": "Last 90 days",
    "month": "This month",
    "last-month": "Last month",
    "days": "Custom dates",
}
ALL_OF = {OwnedBy.COMPANY: "All companies", OwnedBy.TENANT: "All tenants", OwnedBy.PLATFORM: "All chats"}
_NO_CHOICE = {"invalid_choice": "Choose one of the listed values."}


class InsightForm(DaysForm):
    """GET filters of every report. Days are in UTC."""

    company = forms.ChoiceField(required=False, error_messages=_NO_CHOICE)
    tenant = forms.ChoiceField(required=False, error_messages=_NO_CHOICE)
    project = forms.ChoiceField(required=False, error_messages=_NO_CHOICE)
    channel = forms.ChoiceField(required=False, error_messages=_NO_CHOICE)
    period = forms.ChoiceField(required=False, error_messages=_NO_CHOICE, choices=list(PERIODS.items()))
    compare = forms.BooleanField(required=False, label="Compare with the period before")

    field_order = ("company", "tenant", "project", "channel", "period", "since", "until", "compare")

    def __init__(
        self,
        data: QueryDict,
        owned_by: OwnedBy,
        owners: Mapping[str, str],
        projects: Mapping[str, str] | None,
        channels: Mapping[str, str],
    ) -> None:
        """Take the owners to choose from (name by id), their channels, and the projects of the chosen company.

        If the projects are not known (None), accept any project that fits into a key.
        """
        super().__init__(data)
        if projects is None:
            named = data.get("project", "")
            projects = {named: named} if named and fits(escaped(named), SORT_KEY_BYTES) else {}
        self.owned_by, self.owners = owned_by, owners
        for each in (OwnedBy.COMPANY, OwnedBy.TENANT):
            if each is not owned_by:
                del self.fields[each]
        if owned_by is not OwnedBy.PLATFORM:
            all_of = [("", ALL_OF[owned_by])] if len(owners) > 1 else []
            self.fields[owned_by].choices = [*all_of, *owners.items()]  # type: ignore[attr-defined]
        self.fields["project"].choices = [("", "All projects"), *projects.items()]  # type: ignore[attr-defined]
        if not projects:
            del self.fields["project"]
        self.fields["channel"].choices = [("", "All channels"), *channels.items()]  # type: ignore[attr-defined]
        if not channels:
            del self.fields["channel"]
        period = data.get("period") or ("days" if data.get("since") or data.get("until") else USUAL)
        self.data = data.copy()
        self.data["period"] = "" if period == USUAL else period
        if period != "days":
            del self.fields["since"], self.fields["until"]
        self.is_valid()

    def clean(self) -> None:
        """Reject periods longer than `MOST_DAYS` and days in the future."""
        if "since" not in self.fields:
            return
        super().clean()
        today = clock.now().date()
        since, until = self.cleaned_data.get("since"), min(self.cleaned_data.get("until") or today, today)
        if since and since > today:
            self.add_error("since", "Choose a day that is not in the future.")
        elif since and (until - since).days >= MOST_DAYS:
            self.add_error("since", f"A period can be at most {MOST_DAYS} days.")

    @property
    def owner(self) -> str:
        """The chosen company or tenant; "" for all of them, and for reports without owners."""
        only = next(iter(self.owners), "") if len(self.owners) == 1 else ""
        return (self.chosen(self.owned_by) if self.owned_by is not OwnedBy.PLATFORM else "") or only

    def period_on(self, today: date) -> InsightPeriod:
        """Return the chosen days."""
        chosen = self.chosen("period") or USUAL
        if chosen == "month":
            return InsightPeriod(today.replace(day=1), today)
        if chosen == "last-month":
            last = today.replace(day=1) - DAY
            return InsightPeriod(last.replace(day=1), last)
        if chosen == "days":
            until = min(self.chosen("until", None) or today, today)
            since = self.chosen("since", None) or until - DAY * (int(USUAL) - 1)
            return InsightPeriod(max(since, until - DAY * (MOST_DAYS - 1)) if since <= until else until, until)
        return InsightPeriod(today - DAY * (int(chosen) - 1), today)

    def query(self, today: date) -> InsightQuery:
        """Return the query that the form describes."""
        owners = (self.owner,) if self.owner else tuple(self.owners)
        where = Slice(self.chosen("project") or None, self.chosen("channel") or None)
        return InsightQuery(owners, where, self.period_on(today), bool(self.chosen("compare", False)))

    def values(self) -> dict[str, str]:
        """Return the valid filters that are set, as URL parameters."""
        chosen = {name: self.chosen(name) for name in self.fields}
        return {name: "on" if value is True else str(value) for name, value in chosen.items() if value}
