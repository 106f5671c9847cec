"""What tests of budgets and weekly summaries share: what tokens cost on a day, and a worker that tells of it."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from console import caching, clock
from conversations.insight.announcing import InsightAnnouncer
from conversations.insight.facts import FactDay, FactKind, InsightFact, forget_marks, read_fact, write_fact
from conversations.insight.rolling import roll
from tests.support.conversations.handoff.kit import COMPANY

# A million tokens of this model cost one dollar.
MODEL = "own-model"
PRICES = json.dumps([{"model": MODEL, "from": "2000-01-01", "input": "1", "output": "1"}])


def at(monkeypatch: pytest.MonkeyPatch, year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    """Stop the clock at a moment, in UTC."""
    now = datetime(year, month, day, hour, minute, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    caching.invalidate_all()
    forget_marks()
    return now


def count(day: date, *facts: dict[str, Any], company_id: str = COMPANY) -> None:
    """Have a day of these facts alone, summed up."""
    place = FactDay(FactKind.CONVERSATIONS, company_id, day.isoformat())
    for number, data in enumerate(facts):
        fact_id = f"{number:03}"
        common = {"v": 1, "project": "p", "channel": "whatsapp", "started": f"{day}T10:00:00Z"}
        assert write_fact(InsightFact(place, fact_id, common | data), read_fact(place, fact_id))
    roll(place)


def spend(day: date, dollars: float, model: str = MODEL, company_id: str = COMPANY) -> None:
    """Have tokens that cost so much be all that was used on a day."""
    count(
        day,
        {"model": model, "ai": 1, "customer": 1, "tokens": {"prompt": round(dollars * 1_000_000)}},
        company_id=company_id,
    )


def look() -> int:
    """Look at what there is to tell, as a worker that has just begun; how many notifications are new."""
    caching.invalidate_all()
    return sum(InsightAnnouncer().steps())
