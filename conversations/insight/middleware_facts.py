"""The facts of what the middleware did about a conversation: one for each day of its entries in the trail (table C).

The fields of `data`: `done`: number of entries, by `ACTION|OUTCOME`; `failed`: number of failed ones, by
`ACTION|CAUSE`; `expires`. A day that has lost entries since keeps its previous fact.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from console import clock
from console.audit.scoping import is_conversation_trail
from console.trail.actions import Result, outcome_of, reason_of
from console.trail.models import AuditEntry
from conversations.handoff.stored import Raw
from conversations.insight.facts import InsightFact, fact_data
from conversations.insight.of_middleware import MiddlewareSubject, is_alive
from conversations.insight.subjects import (
    KnownFacts,
    Place,
    SourceReference,
    counted_day,
    hash_content,
    latest_expiry,
    latest_items,
)
from conversations.insight.words import code_of, reason_code

ACTIONS = "actions"
READ = ("conversation_id", "ts_action_id", "action_type", "result", "actor", "company_id", "expires_at")
# The cause is the first one whose pattern matches.
_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (cause, re.compile(words, re.IGNORECASE))
    for cause, words in (
        ("rate_limited", r"\b429\b|rate.?limit|throttl|too many"),
        ("timeout", r"time[d -]?out|deadline|took too long"),
        ("locked", r"\block|\bconflict|concurren"),
        ("not_allowed", r"\b40[13]\b|denied|forbidden|unauthor|not approved|not allowed|permission"),
        ("not_found", r"\b404\b|not found|no such"),
        ("invalid", r"\b4(?:00|22)\b|invalid|malformed|validation|bad request|schema"),
        ("unavailable", r"\b5\d\d\b|unavailable|connection|refused|unreachable|internal"),
    )
)


@dataclass
class TrailSubject(MiddlewareSubject):
    """The entries of some days of a conversation's trail; `entries` are those of the whole trail, once read."""

    days: frozenset[str] = frozenset()
    entries: tuple[AuditEntry, ...] = ()

    part = ACTIONS

    def places(self) -> list[Place]:
        """Return one place for each day."""
        return self.places_on(*self.days)

    def read(self) -> Self | None:
        """Read the entries that have not expired; None if there are none. A Query for each MB of the trail."""
        now, is_theirs = clock.now(), AuditEntry.actor.does_not_exist()
        found = latest_items(AuditEntry, self.conversation_id, only=is_theirs, limit=5000, attributes=READ)
        entries = tuple(each for each in map(AuditEntry.from_raw_data, found) if is_alive(each, now))
        return replace(self, entries=entries) if entries else None

    def facts(self, known: KnownFacts) -> list[InsightFact]:
        """Return one fact for each day; the previous one if entries have expired since."""
        by_day: dict[str, list[AuditEntry]] = {}
        for entry in self.entries:
            by_day.setdefault(_day_of_entry(entry), []).append(entry)
        found = []
        for (day, fact_id), before in known.items():
            entries = by_day.get(day.day, [])
            done = Counter(f"{code_of(each.plain('action_type'))}|{outcome_of(each)}" for each in entries)
            failed = Counter(
                f"{code_of(each.plain('action_type'))}|{cause_of(each.plain('result'))}"
                for each in entries
                if outcome_of(each) == Result.FAILED
            )
            if before is not None and done.total() < _total(before.get("done")):
                found.append(InsightFact(day, fact_id, dict(before)))
            elif entries:
                expires = latest_expiry([each.plain("expires_at") for each in entries])
                data = fact_data(done=dict(done), failed=dict(failed), expires=expires)
                found.append(InsightFact(day, fact_id, data))
        return found

    def way_back(self) -> SourceReference:
        """Return the link to the conversation's id."""
        expires = latest_expiry([each.plain("expires_at") for each in self.entries])
        return SourceReference(self.pseudonym, (self.conversation_id,), expires)


def trails_in(items: list[Raw]) -> Iterator[TrailSubject]:
    """Yield the conversations that have entries of the middleware in a page of the trail."""
    now = clock.now()
    found: dict[str, list[AuditEntry]] = {}
    for entry in map(AuditEntry.from_raw_data, items):
        conversation_id = str(entry.plain("conversation_id"))
        if entry.plain("actor") is None and is_conversation_trail(conversation_id) and is_alive(entry, now):
            found.setdefault(conversation_id, []).append(entry)
    for conversation_id, entries in found.items():
        yield TrailSubject(
            conversation_id,
            frozenset(map(_day_of_entry, entries)),
            named=_companies(entries),
            name=("trail", conversation_id, str(entries[0].plain("ts_action_id"))),
            state=hash_content([each.raw for each in entries]),
        )


def cause_of(result: Any) -> str:
    """Return why something failed: one of a few kinds, or the code in the result, or `other`."""
    reason = reason_of(result)
    found = next((cause for cause, pattern in _CAUSES if pattern.search(reason[:2_000])), "")
    return found or reason_code(reason).lower()


def _day_of_entry(entry: AuditEntry) -> str:
    return counted_day(clock.parse_instant(str(entry.plain("ts_action_id")).partition("#")[0]))


def _total(counts: Any) -> int:
    return sum(counts.values()) if isinstance(counts, dict) else 0


def _companies(items: list[AuditEntry]) -> frozenset[str]:
    named = (each.plain("company_id") for each in items)
    return frozenset(each for each in named if isinstance(each, str) and each)
