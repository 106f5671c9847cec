"""What Insight has counted of one company: two episodes of its conversations, summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from conversations.insight.facts import FactDay, FactKind, InsightFact, StoredFact, day_of, write_fact
from conversations.insight.identity import pseudonym_of, save_link
from conversations.insight.measures import ANY
from conversations.insight.reports import PAGES
from conversations.insight.rolling import roll
from conversations.insight.summary import IsoWeek

if TYPE_CHECKING:
    from tests.scenario import Side


def fill(company_id: str, project_id: str, keys: dict[str, tuple[str, str]], username: str) -> None:
    """Write the facts, and their sums."""
    now = clock.now()
    day = FactDay(FactKind.CONVERSATIONS, company_id, day_of(now))
    agent = pseudonym_of("staff", username)
    common = {
        "v": 1,
        "project": project_id,
        "channel": "whatsapp",
        "started": clock.to_iso(now, "seconds"),
        "model": "gpt-4o",
    }
    asked = {"asked": 1, "reason": "complaint", "intent": "refund", "sure": "under 0.5", "waits": [60], "answers": [90]}
    answered = {
        "customer": 2,
        "ai": 2,
        "human": 1,
        "last": "human",
        "turns": 2,
        "agents": {agent: [1, 1, 0]},
        "first": 3,
    }
    tokens = {"tokens": {"prompt": 900, "completion": 100}, "ms": {"70": 2}, "missed": 1}
    failed = {"failed": "failed_unknown", "why": "timeout", "hour": 3, "processor": "1.0.0", "customer": 1, "ai": 1}
    for name, data in (("mine", common | asked | answered | tokens), ("email", common | failed)):
        pseudonym = pseudonym_of("conversation", *keys[name])
        write_fact(InsightFact(day, f"{pseudonym}#000", data), StoredFact())
        save_link(pseudonym, keys[name], None)
    roll(day)


def urls(side: Side) -> dict[str, list[str]]:
    """The pages."""
    today = clock.now().date().isoformat()
    company = urlencode({"company": side.company_id})
    one = f"{company}&topic=outcomes&m=outcome&m={ANY}&from={today}&to={today}"
    summary = reverse("insight-summary", args=[side.company_id])
    return {
        "insight": [f"/insight/?{company}"],
        "insight-report": [
            *(f"/insight/{slug}/?{company}" for slug in PAGES),
            f"/insight/?{company}&compare=on&period=days&since={today}&until={today}",
        ],
        "insight-summary": [summary, f"{summary}?week={IsoWeek.of(clock.now().date())}"],
        "insight-behind": [f"/insight/overview/behind/?{one}"],
        "insight-behind-csv": [f"/insight/overview/behind/rows.csv?{one}"],
        "insight-csv": [f"/insight/cost/cost.csv?{company}"],
    }
