"""The queue's filters: company, project and channel, all in the URL, none of them personal."""

from collections.abc import Iterable, Mapping
from itertools import islice
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.urls import reverse

from conversations.forms import CHANNELS
from conversations.queue import Entry

TABS = ("waiting", "mine", "colleagues")
OTHERS_OFFERED = 500


class QueueForm(forms.Form):
    """GET filters of the queue. Junk is dropped: an unknown company or project simply finds nothing."""

    tab = forms.CharField(required=False, widget=forms.HiddenInput)
    company = forms.CharField(required=False, max_length=200, widget=forms.Select)
    project = forms.CharField(required=False, max_length=200, widget=forms.Select)
    channel = forms.CharField(required=False, max_length=40, widget=forms.Select)

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()
        wanted = self.cleaned_data.get("tab", "")
        self.chosen_tab = wanted if wanted in TABS else TABS[0]

    def values(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name in ("company", "project", "channel") if (value := self.cleaned_data.get(name, ""))}

    def apply(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that the filters let through, order kept."""
        wanted = self.values()
        return [
            entry
            for entry in entries
            if wanted.get("company", entry.summary.company_id) == entry.summary.company_id
            and wanted.get("project", entry.summary.project_id) == entry.summary.project_id
            and wanted.get("channel", entry.summary.channel) == entry.summary.channel
        ]

    def in_order(self, company_ids: Iterable[str]) -> list[str]:
        """These companies with the chosen one first: the queue looks at so many only."""
        chosen = self.values().get("company")
        return sorted(company_ids, key=lambda company_id: company_id != chosen)

    def offer(self, entries: Iterable[Entry], others: Mapping[str, str] | None = None) -> None:
        """Fill the selects with what occurs among these entries, and with what is chosen.

        `others` are names of companies that were not looked at, by id: choosing one is how to look at it.
        """
        rows = [entry.summary for entry in entries]
        company = self.values().get("company")
        left_out = dict(islice((others or {}).items(), OTHERS_OFFERED))
        self._choices("company", "All companies", left_out | {row.company_id: row.company_name for row in rows})
        projects = {row.project_id: row.project_name for row in rows if company in (None, row.company_id)}
        self._choices("project", "All projects", projects)
        self._choices("channel", "Any channel", {row.channel: CHANNELS.get(row.channel, row.channel) for row in rows})

    def _choices(self, name: str, everything: str, found: dict[str, str]) -> None:
        chosen = self.values().get(name)
        if chosen and chosen not in found:
            found[chosen] = chosen
        widget = self.fields[name].widget
        widget.choices = [("", everything), *sorted(found.items(), key=lambda pair: pair[1].casefold())]  # type: ignore[attr-defined]

    @property
    def clear_url(self) -> str:
        """The queue's URL for this tab without filters, "" when none is set."""
        return f"{reverse('queue')}?tab={self.chosen_tab}" if self.values() else ""

    def url_of(self, tab: str) -> str:
        """The queue's URL for a tab, filters kept."""
        return f"{reverse('queue')}?{urlencode({'tab': tab, **self.values()})}"
