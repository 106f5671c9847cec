"""What the tests of Insight share: all facts of a kind written, summed up and read, and what is stored of them."""

import json
from collections import Counter
from typing import Any

from conversations.insight import facts
from conversations.insight.facts import FactDay, FactKind, changed_days
from conversations.insight.measures import TOPICS, Counts, Topic, counts_of
from conversations.insight.places import owners_of
from conversations.insight.rolling import roll
from conversations.insight.sums import Slice, sum_packed
from conversations.insight.walking import walk_all
from tests.dynamodb import Store


def walk(kind: FactKind) -> Counter[str]:
    """Keep the facts of all that is there."""
    facts.forget_marks()
    return sum(walk_all(kind), Counter())


def stored_facts(store: Store, kind: FactKind) -> dict[tuple[FactDay, str], dict[str, Any]]:
    """Every fact of a kind as it is stored, by its place."""
    found = {}
    for item in store.all("INSIGHT"):
        name, _, key = item["pk"].partition("#")
        # What was removed leaves a trace without content for a day.
        if name == "FACTS" and "fact" in item and (day := FactDay.of(key)).kind is kind:
            found[day, item["sk"]] = json.loads(item["fact"])
    return found


def sums(kind: FactKind, topic: Topic, owner: str | None = None, where: Slice = Slice()) -> Counts:  # noqa: B008
    """What is summed up of all days, those without a time too: of an owner, or of all of them."""
    facts.forget_marks()
    for changed in changed_days():
        roll(changed.day)
    total: Counts = Counter()
    for each in owners_of(kind) if owner is None else [owner]:
        for items in facts.query_pages(f"SUMS#{kind}#{facts.escaped(each)}#{topic}#{where.key}"):
            total += sum_packed(tuple(item["counts"]["B"] for item in items))
    return total


def counted(store: Store, kind: FactKind) -> dict[Topic, Counts]:
    """What the stored facts of a kind add up to, by topic, without sums."""
    every = stored_facts(store, kind).values()
    return {topic: sum((counts_of(kind, topic, data) for data in every), Counter()) for topic in TOPICS[kind]}
