"""What the tests of Insight share: all facts of a kind written, summed up and read, and what is stored of them."""

import json
from collections import Counter
from typing import Any
from urllib.parse import unquote

from conversations.insight import facts
from conversations.insight.facts import FactDay, FactKind, InsightItem
from conversations.insight.measures import TOPICS, Counts, Topic, counts_of
from conversations.insight.rolling import roll_all
from conversations.insight.sources import write_facts
from conversations.insight.sums import DaySums, Slice, sum_packed
from conversations.insight.walking import walk_all
from conversations.insight.writing import conversations_in
from tests.dynamodb import Store


def walk(kind: FactKind) -> Counter[str]:
    """Keep the facts of all that is there."""
    facts.forget_marks()
    return sum(walk_all(kind), Counter())


def count_all() -> None:
    """Write the facts of all conversations, and sum them up."""
    walk(FactKind.CONVERSATIONS)
    list(roll_all())


def stored_facts(store: Store, kind: FactKind) -> dict[tuple[FactDay, str], dict[str, Any]]:
    """Every fact of a kind as it is stored, by its place."""
    found = {}
    for item in store.all("INSIGHT"):
        name, _, key = item["pk"].partition("#")
        # What was removed leaves a trace without content for a day.
        if name == "FACTS" and "fact" in item and (day := FactDay.of(key)).kind is kind:
            found[day, item["sk"]] = json.loads(item["fact"])
    return found


def rebuild(image: dict[str, Any]) -> bool:
    """Write the facts of a conversation and its trail, as a rebuild does; return whether any changed."""
    (source,) = conversations_in([image])
    return write_facts(source, again=True)


def list_owners(kind: FactKind) -> list[str]:
    """The owners that are noted to have facts of a kind."""
    pages = InsightItem.read_pages(f"OWNERS#{kind}")
    return [unquote(each.sk.removeprefix("OWNER#")) for page in pages for each in page]


def sums(kind: FactKind, topic: Topic, owner: str | None = None, where: Slice = Slice()) -> Counts:  # noqa: B008
    """What is summed up of all days, those without a time too: of an owner, or of all of them."""
    facts.forget_marks()
    list(roll_all())
    total: Counts = Counter()
    for each in list_owners(kind) if owner is None else [owner]:
        for items in DaySums.read_pages(f"SUMS#{kind}#{facts.escaped(each)}#{topic}#{where.key}"):
            total += sum_packed(tuple(item.packed for item in items))
    return total


def counted(store: Store, kind: FactKind) -> dict[Topic, Counts]:
    """What the stored facts of a kind add up to, by topic, without sums."""
    every = stored_facts(store, kind).values()
    return {topic: sum((counts_of(kind, topic, data) for data in every), Counter()) for topic in TOPICS[kind]}
