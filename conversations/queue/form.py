"""The form of the queue's filters, all of which are in the URL and none of them personal."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import islice
from typing import cast
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.urls import reverse

from console.redaction import cut
from conversations.converting import CHANNELS
from conversations.groups import name_of
from conversations.queue.pages import (
    ATTENTION,
    COLLEAGUES,
    MINE,
    NO_REASON,
    TABS,
    WAITING,
    QueueEntry,
    QueueFilters,
    is_mark,
    mark_of_reason,
)

TAB_LABELS = {WAITING: "Waiting", ATTENTION: "Needs attention", MINE: "Mine", COLLEAGUES: "With colleagues"}
COMPANIES_OFFERED = 500
REASON_LENGTH = 60
WAITS = {
    "15m": ("Over 15 minutes", timedelta(minutes=15)),
    "1h": ("Over an hour", timedelta(hours=1)),
    "4h": ("Over 4 hours", timedelta(hours=4)),
    "1d": ("Over a day", timedelta(days=1)),
}
_NAMES = ("company", "project", "channel", "reason", "group", "waited")


class QueueForm(forms.Form):
    """GET filters of the queue. Invalid values are dropped; an unknown company or project finds nothing."""

    tab = forms.CharField(required=False, widget=forms.HiddenInput)
    company = forms.CharField(required=False, max_length=200, widget=forms.Select)
    project = forms.CharField(required=False, max_length=200, widget=forms.Select)
    channel = forms.CharField(required=False, max_length=40, widget=forms.Select)
    reason = forms.CharField(required=False, max_length=40, widget=forms.Select)
    group = forms.CharField(required=False, max_length=40, widget=forms.Select)
    waited = forms.CharField(required=False, max_length=10, widget=forms.Select, label="Waiting")

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()
        self._address = reverse("queue")
        wanted = self.cleaned_data.get("tab", "")
        # Overridden conversations used to have their own tab.
        wanted = ATTENTION if wanted == "overridden" else wanted
        self.chosen_tab = wanted if wanted in TABS else TABS[0]

    def values(self) -> dict[str, str]:
        """Return the filters that are set."""
        values = {name: value for name in _NAMES if (value := self.cleaned_data.get(name, ""))}
        if values.get("waited") not in WAITS:
            values.pop("waited", None)
        # A reason itself, which a customer may have written, never comes back in an address.
        if not is_mark(values.get("reason", "")):
            values.pop("reason", None)
        return values

    def filters(self) -> QueueFilters:
        """Return the filters to read the queue with."""
        values = self.values()
        waited = WAITS[values["waited"]][1] if "waited" in values else None
        return QueueFilters(**{name: values.get(name, "") for name in _NAMES if name != "waited"}, waited=waited)

    def offer(self, entries: Iterable[QueueEntry], companies: Mapping[str, str]) -> None:
        """Fill the selects with the companies (names by id), the values of these rows, and the chosen values."""
        rows = list(entries)
        self._choices("company", "All companies", dict(islice(companies.items(), COMPANIES_OFFERED)))
        company = self.values().get("company")
        here = [row.summary for row in rows if company in (None, row.summary.company_id)]
        self._choices("project", "All projects", {row.project_id: row.project_name for row in here})
        channels = {row.summary.channel: CHANNELS.get(row.summary.channel, row.summary.channel) for row in rows}
        self._choices("channel", "Any channel", channels | CHANNELS)
        reasons = {mark_of_reason(row.hand_off.reason): cut(row.hand_off.reason, REASON_LENGTH) for row in rows}
        chosen = self.values().get("reason", "")
        if chosen and chosen not in reasons:
            reasons[chosen] = "the chosen reason"
        if NO_REASON in reasons:
            reasons[NO_REASON] = "No reason given"
        self._choices("reason", "Any reason", reasons)
        with_group = [row for row in rows if row.hand_off.group]
        groups = {row.hand_off.group: name_of(row.summary.company_id, row.hand_off.group) for row in with_group}
        self._choices("group", "Any group", {group: name or group for group, name in groups.items()})
        if len(list(self._widget("group").choices)) == 1:
            # No row waits for a group.
            del self.fields["group"]
        self._widget("waited").choices = [("", "Any time"), *((name, label) for name, (label, _) in WAITS.items())]

    def _choices(self, name: str, everything: str, found: dict[str, str]) -> None:
        chosen = self.values().get(name)
        if chosen and chosen not in found:
            found[chosen] = chosen
        found.pop("", None)
        self._widget(name).choices = [("", everything), *sorted(found.items(), key=lambda pair: pair[1].casefold())]

    def _widget(self, name: str) -> forms.Select:
        return cast(forms.Select, self.fields[name].widget)

    @property
    def clear_url(self) -> str:
        """The queue's URL for this tab without filters; "" if none is set."""
        return f"{self._address}?tab={self.chosen_tab}" if self.values() else ""

    def url_of(self, tab: str, **more: str) -> str:
        """Return the queue's URL for a tab with the same filters."""
        return f"{self._address}?{urlencode({'tab': tab, **self.values(), **more})}"
