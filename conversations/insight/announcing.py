"""Notifications about Insight for companies' own systems: a budget was reached, and the summary of a week.

Each is sent once, no matter how often and by how many processes it is checked: a share of a budget once a month, a
weekly summary once.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from console import clock
from conversations.companies import Company, all_companies, company_named
from conversations.insight.budgets import ReachedShare, check, list_budgets, month_of, reached_in
from conversations.insight.summary import IsoWeek, budget_data, budget_sentence, read_summary, unpriced_sentence
from conversations.notifications.deliveries import KEPT, announce
from conversations.notifications.destinations import destinations_of
from conversations.notifications.notification import Notification, NotificationType, id_of, quoted

BUDGETS_EVERY = timedelta(minutes=5)
# A week's summary is sent this long after the end of the week: Monday, 06:00 UTC.
SUMMARY_AFTER = timedelta(hours=6)


class InsightAnnouncer:
    """Announces what is due, in steps; remembers what this process has checked."""

    def __init__(self) -> None:
        self._checked_at: datetime | None = None
        self._told_week: IsoWeek | None = None

    def steps(self) -> Iterator[int]:
        """Check what is due; yield the number of notifications noted by each check. Raises the store's errors."""
        now = clock.now()
        if self._checked_at is None or now - self._checked_at >= BUDGETS_EVERY:
            yield from check_budgets()
            self._checked_at = now
        week = due_week(now)
        if week != self._told_week:
            yield from announce_summaries(week)
            self._told_week = week


def check_budgets() -> Iterator[int]:
    """Check each budget; yield the number of notifications noted. Two Queries plus one per budget.

    Raises the store's errors.
    """
    today = clock.now().date()
    budgets, known = list_budgets(), reached_in(today)
    for budget in budgets:
        reached = check(budget, today, known)
        yield 0 if reached is None else announce([_of_budget(reached)])


def _of_budget(reached: ReachedShare) -> Notification:
    cost = reached.cost
    company_id, month = cost.company_id, month_of(cost.first)
    text = [budget_sentence(cost), *([unpriced_sentence(cost.unpriced)] if cost.unpriced else [])]
    facts = _names(company_named(company_id) or Company(company_id, company_id))
    facts |= budget_data(cost) | {"share_percent": reached.share, "text": "\n".join(text)}
    return Notification(
        id_of(NotificationType.BUDGET_REACHED, company_id, month, str(reached.share)),
        NotificationType.BUDGET_REACHED,
        reached.at,
        company_id,
        facts=facts,
        path=_path("insight-report", "cost", company=company_id, period="month"),
    )


def due_week(now: datetime) -> IsoWeek:
    """Return the week whose summary is due: the last whole week that ended at least `SUMMARY_AFTER` ago."""
    return IsoWeek.of((now - SUMMARY_AFTER).date()).before


def announce_summaries(week: IsoWeek) -> Iterator[int]:
    """Announce each company's summary of a week to the destinations that want it, unless nothing was counted.

    Two Queries per company, plus those of the summary if a destination wants it. Raises the store's errors.
    """
    at = clock.midnight(week.after.first, clock.zone_of("UTC")) + SUMMARY_AFTER
    for company in all_companies():
        if not any(each.wants(NotificationType.WEEKLY_SUMMARY, at) for each in destinations_of(company.company_id)):
            yield 0
            continue
        summary = read_summary(company, week)
        if summary.is_empty:
            yield 0
            continue
        heading = f"Week {week.number}: {week.words} (UTC)."
        facts = _names(company) | summary.data | {"text": "\n".join((heading, *summary.sentences))}
        notification = Notification(
            id_of(NotificationType.WEEKLY_SUMMARY, company.company_id, str(week)),
            NotificationType.WEEKLY_SUMMARY,
            at,
            company.company_id,
            facts=facts,
            path=_path("insight-summary", company.company_id, week=str(week)),
        )
        yield announce([notification], KEPT)


def _names(company: Company) -> dict[str, object]:
    return {"company_id": company.company_id, "company_name": quoted(company.name)}


def _path(route: str, *args: str, **query: str) -> str:
    """Return the address of a page; "" for ids that no address can contain."""
    try:
        return f"{reverse(route, args=args)}?{urlencode(query)}"
    except NoReverseMatch:
        return ""
