"""A conversation as the platform has it, and what Insight has of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from conversations.insight import writing
from conversations.insight.facts import FactDay, FactKind, forget_marks
from conversations.insight.rolling import roll_changed
from tests import faults
from tests.dynamodb import Store, from_dynamodb
from tests.unit.conversations.insight.kit import item

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
KEY = {"primary_channel": "+447700900123", "conversation_id": "c1"}
DAY = FactDay(FactKind.CONVERSATIONS, "ci-aaa-001", "2026-03-02")


def put(store: Store, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Write the conversation as it is from now on; its image."""
    stored = item(*messages, **more)
    store.put("CONVERSATIONS", from_dynamodb(stored))
    return stored


def facts(store: Store) -> dict[tuple[str, str], dict[str, Any]]:
    """Every fact by day (with its owner) and number of its episode."""
    return {
        (each["pk"].split("#", 2)[2], each["sk"].rpartition("#")[2]): json.loads(each["fact"])
        for each in store.all("INSIGHT")
        if "fact" in each
    }


def links(store: Store) -> list[dict[str, Any]]:
    """The ways back that are kept."""
    return [each for each in store.all("CONSOLE") if each["pk"].startswith("INSIGHT_LINK#")]


def sums(store: Store) -> dict[str, bytes]:
    """Every sum that is stored, by its key."""
    return {f"{each['pk']} {each['sk']}": each["counts"] for each in store.all("INSIGHT") if "counts" in each}


def roll_until_quiet(clock_: "Clock") -> None:
    """Sum up until no day is marked."""
    clock_.now += timedelta(minutes=3)
    while list(roll_changed({})):
        clock_.now += timedelta(minutes=3)


class Clock:
    """A clock that tests put forward."""

    def __init__(self) -> None:
        self.now = NOW


def begin_anew() -> None:
    """Another process, which knows nothing."""
    forget_marks()
    writing.forget_seen()


def interrupted(when: Any, nth: int, work: Callable[[], object], other: Callable[[], object]) -> None:
    """Do some work, and something else before or after one of its calls, or when it is done."""
    with when("", other, nth=nth) as fault:
        work()
    if not fault.struck:
        other()


WHEN = (faults.before, faults.after)
