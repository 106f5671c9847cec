"""The facts of a conversation: one for each episode, from its item, its trail and the middleware's state.

The fields of a fact's `data`, each absent if empty:

- `project`, `channel`, `model`, `processor`, `router`: names, as the services write them;
- `started`, `active`, `back`: when it began, was last written to, and was last handed back by people;
- `customer`, `ai`, `human`: numbers of messages; `last`: who wrote the last one;
- `tokens`: by kind; `ms`: AI answers by bucket of processing time; `first`: seconds until the AI's first answer;
- `failed`, `why`, `hour`: the status of a failure, its code, and the hour of the day in UTC;
- `done`: its status is one of the family "done";
- `asked`, `over`: how often a human was requested, and took over unasked; `open`: people have it or are wanted now;
- `people`: when the first of these happened; `turns`: the AI's answers before it; `reason`, `intent`, `sure`: why, by
  kind;
- `waits`, `answers`: seconds from the request until it was taken, and until a person answered; `missed`: late answers;
- `agents`: by the pseudonym of a colleague, how often they took, answered and handed back;
- `later`: days and ids of the facts of later episodes, on the first; `expires`: when the item expires, in epoch
  seconds.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.store.models import plain
from conversations.handoff.stored import Raw, reason_in, text_in
from conversations.insight.episodes import Episode, ItemEpisodes
from conversations.insight.facts import FactDay, FactKey, FactKind, InsightFact, day_of, escaped, fact_data
from conversations.insight.hand_offs import HandOffPeriod
from conversations.insight.identity import pseudonym_of
from conversations.insight.words import UNKNOWN, code_of, confidence_band, is_identifier, reason_kind

# The most hand-offs counted in one episode.
MOST_PERIODS = 50
# Keys contain more than the owner, and are limited to 1,024 bytes.
MOST_OF_OWNER = 900
STAFF, CONVERSATION, PROJECT = "staff", "conversation", "project"


def pseudonym_in(stored: Raw) -> str:
    """Return the pseudonym of an item. Raises the errors of `pseudonym_of`."""
    return pseudonym_of(CONVERSATION, stored["primary_channel"]["S"], stored["conversation_id"]["S"])


def keys_of(stored: Raw, found: ItemEpisodes) -> list[FactKey]:
    """Return the key of the fact of each of an item's episodes. Raises the errors of `pseudonym_of`."""
    pseudonym, company_id = pseudonym_in(stored), text_in(stored, "company_id")
    # An id too long for a key counts as no owner.
    owner = company_id if len(escaped(company_id)) <= MOST_OF_OWNER else ""
    return [
        (FactDay(FactKind.CONVERSATIONS, owner, day_of(each.started)), f"{pseudonym}#{number:03}")
        for number, each in enumerate(found.episodes)
    ]


# Fields that only the trail and the middleware know, which forget sooner than facts do.
_FORGOTTEN = ("asked", "over", "people", "turns", "waits", "answers", "missed", "back", "reason", "intent", "sure")


def facts_of_item(
    stored: Raw,
    found: ItemEpisodes,
    periods: Sequence[HandOffPeriod],
    state: dict[str, Any],
    before: Sequence[Mapping[str, Any] | None],
) -> list[InsightFact]:
    """Return the facts of an item. `state` is the middleware's state of it, `before` its facts so far.

    Raises the errors of `pseudonym_of`.
    """
    keys = keys_of(stored, found)
    shares = _periods_by_episode(found.episodes, periods)
    human_at = [at for each in found.episodes for at in each.human_at]
    forgotten_before = _iso(clock.now() - timedelta(days=settings.AUDIT_RETENTION_DAYS)) or ""
    facts: list[InsightFact] = []
    for number, (episode, (day, fact_id)) in enumerate(zip(found.episodes, keys, strict=True)):
        share, known = shares[number], before[number] or {}
        # The item and the middleware only describe the latest hand-off, if any.
        is_latest = bool(share) and share[0] is periods[-1]
        reason = reason_in(stored) if is_latest else ""
        data = _of_episode(found, episode, _project_in(stored, found))
        data |= _of_hand_offs(episode, share, state if share and share[-1] is periods[-1] else {}, reason, human_at)
        data |= _preserve_forgotten(data, known, forgotten_before)
        if number == len(keys) - 1:
            data |= _of_now(found, known, answers=data.get("ai", 0))
        if number == 0:
            data |= {"later": [[each.day, id_] for each, id_ in keys[1:]], "expires": expires_in(stored)}
        facts.append(InsightFact(day, fact_id, fact_data(**data)))
    return facts


def _preserve_forgotten(data: dict[str, Any], before: Mapping[str, Any], forgotten_before: str) -> dict[str, Any]:
    """Return what was known of hand-offs before the trail or the middleware forgot it."""
    counted, known = (each.get("asked", 0) + each.get("over", 0) for each in (data, before))
    if known >= max(counted, 1) and before.get("people", "~") < forgotten_before:
        kept = {name: before[name] for name in _FORGOTTEN if name in before}
        agents = {
            name: [max(pair) for pair in zip(counts, data["agents"].get(name, counts), strict=False)]
            for name, counts in before.get("agents", {}).items()
        }
        return kept | {"agents": data["agents"] | agents}
    if not counted or data.get("people") != before.get("people"):
        return {}
    # The middleware describes the present: what it said first is closer to the cause.
    first = {name: before[name] for name in ("intent", "sure") if before.get(name, UNKNOWN) != UNKNOWN}
    return first | ({"reason": before["reason"]} if data["reason"] == UNKNOWN and "reason" in before else {})


def _project_in(stored: Raw, found: ItemEpisodes) -> str:
    """Return the project as facts name it: its id, or a pseudonym if it may contain more than an id."""
    if not found.project or is_identifier(found.project):
        return found.project
    return pseudonym_of(PROJECT, text_in(stored, "company_id"), found.project)


def expires_in(stored: Raw) -> int | None:
    """Return when an item expires, in epoch seconds; None for never."""
    at = clock.expiry_of(plain(stored["ttl"])) if "ttl" in stored else None
    return None if at is None else clock.to_epoch(at)


def _of_episode(found: ItemEpisodes, episode: Episode, project: str) -> dict[str, Any]:
    return {
        "project": project,
        "channel": found.channel,
        "model": found.model,
        "processor": found.processor,
        "router": found.router,
        "started": _iso(episode.started),
        "active": _iso(episode.active),
        **episode.by,
        "last": episode.spoke_last,
        "tokens": {kind: count for kind, count in episode.tokens.items() if count},
        "ms": {str(bucket): count for bucket, count in sorted(episode.processing.items())},
        # Plus one, so that 0 seconds is stored too.
        "first": None if episode.first_answer is None else _seconds(episode.first_answer) + 1,
    }


def _of_now(found: ItemEpisodes, before: Mapping[str, Any], *, answers: int) -> dict[str, Any]:
    failed_at = found.changed if found.failed else None
    hour = None if failed_at is None else failed_at.hour + 1
    is_known = (before.get("failed"), before.get("why")) == (found.failed, found.failed_why)
    if found.failed and is_known and before.get("ai", 0) == answers:
        # A later write moved the item's time: the failure happened when it was first seen. If the AI has answered
        # since, it is a new failure.
        hour = before.get("hour", hour)
    return {"open": found.flag, "done": found.done, "failed": found.failed, "why": found.failed_why, "hour": hour}


def _of_hand_offs(
    episode: Episode,
    periods: Sequence[HandOffPeriod],
    state: dict[str, Any],
    reason: str,
    human_at: Sequence[datetime],
) -> dict[str, Any]:
    """Count the hand-offs that began in an episode. `human_at`: when people answered, in later episodes too."""
    agents = _agents(episode, periods)
    if not periods:
        return {"agents": agents}
    asked = [each for each in periods if each.asked is not None]
    begun = periods[0].begun
    ended = [each.ended for each in periods if each.enders and each.ended is not None]
    return {
        "asked": len(asked),
        "over": len(periods) - len(asked),
        "people": _iso(begun),
        "turns": sum(at <= begun for at in episode.ai_at) + 1,
        "reason": reason_kind(periods[0].reason or reason),
        "intent": code_of(state.get("last_intent")),
        "sure": confidence_band(state.get("last_routing_confidence")),
        "waits": [_seconds(each.taken - each.asked) for each in asked if each.taken is not None and each.asked],
        "answers": [_seconds(at - each.asked) for each in asked if (at := _answered(human_at, each)) and each.asked],
        "missed": sum(each.missed for each in periods),
        "back": _iso(max(ended)) if ended else None,
        "agents": agents,
    }


def _answered(human_at: Iterable[datetime], period: HandOffPeriod) -> datetime | None:
    """Return when a person first answered in a period."""
    ended = period.ended
    return min((at for at in human_at if at >= period.begun and (ended is None or at <= ended)), default=None)


def _agents(episode: Episode, periods: Sequence[HandOffPeriod]) -> dict[str, list[int]]:
    taken = Counter(name for each in periods for name in each.takers)
    backs = Counter(name for each in periods for name in each.enders)
    names = {*taken, *backs, *episode.answered_by}
    return {
        pseudonym_of(STAFF, name): [taken[name], episode.answered_by[name], backs[name]]
        for name in sorted(names)
        if name
    }


def _periods_by_episode(episodes: Sequence[Episode], periods: Iterable[HandOffPeriod]) -> list[list[HandOffPeriod]]:
    """Return for each episode the hand-offs that began in it; the first also gets those that began before it."""
    shares: list[list[HandOffPeriod]] = [[] for _ in episodes]
    begins = [each.started for each in episodes[1:] if each.started is not None]
    for period in periods:
        share = shares[bisect_right(begins, period.begun)]
        if len(share) < MOST_PERIODS:
            share.append(period)
    return shares


def _iso(at: datetime | None) -> str | None:
    return None if at is None else clock.to_iso(at, "seconds")


def _seconds(span: timedelta) -> int:
    return max(0, int(span.total_seconds()))
