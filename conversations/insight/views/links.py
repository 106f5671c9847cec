"""URLs of the pages of Insight, which keep the filters."""

from urllib.parse import urlencode

from django.urls import reverse

from conversations.insight.form import InsightForm
from conversations.insight.measures import Measure, Topic
from conversations.insight.reports.base import NumberLink, ReportPage


def filtered_url(path: str, form: InsightForm, page: ReportPage | None = None) -> str:
    """Return a URL with the filters; with `page`, only those that the other report supports."""
    values = form.values()
    if page is not None and page.owned_by is not form.owned_by:
        values.pop("project", None)
        values.pop(form.owned_by, None)
    if page is not None and values.get("channel") not in page.channels:
        values.pop("channel", None)
    return f"{path}?{urlencode(values)}" if values else path


class NumberUrls:
    """URLs of the pages that list what is behind a number."""

    def __init__(self, page: ReportPage, form: InsightForm) -> None:
        path = reverse("insight-behind", args=[page.slug])
        self._begin = f"{path}?{urlencode(form.values())}&"
        self._patterns: dict[tuple[Topic, Measure], str] = {}

    def of(self, link: NumberLink | None) -> str:
        """Return the URL of a link; "" for None."""
        if link is None:
            return ""
        known = link.topic, link.pattern
        if (address := self._patterns.get(known)) is None:
            parts = [("topic", str(link.topic)), *(("m", each) for each in link.pattern)]
            address = self._patterns[known] = self._begin + urlencode(parts)
        if link.period is None:
            return address
        return f"{address}&from={link.period.first}&to={link.period.last}"
