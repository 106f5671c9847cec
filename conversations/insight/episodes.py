"""The episodes of a conversation, from its item: what was written, by whom, how fast, at what cost. No I/O.

An episode begins with the conversation, and again with the first message after a week without any: a customer who comes
back in spring is another case. Schema platform-conversations; what writers add is in platform-replies.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.store.models import plain
from conversations.converting import model_in
from conversations.handoff.stored import FLAG, LAST_ACTION, STATUS, Raw, flag_in, text_in
from conversations.insight.measures import bucket_of
from conversations.insight.words import code_of, reason_code, version_of
from conversations.messages.message import MessageFigures, StoredMessages
from conversations.messages.older_messages import OLDER
from conversations.messages.repetitions import fold_repetitions
from conversations.records import Family, Speaker, family_of

# A message after this much silence starts another episode.
GAP = timedelta(days=7)
# Each has its own fact, which is read on every change of the item. The last one takes all further messages.
MOST_EPISODES = 120
# Attributes that facts are made from, including the messages; a change of any other attribute changes no fact.
READ = (
    *("primary_channel", "conversation_id", "company_id", "project_id", "channel_method", "created_at", "updated_at"),
    *("initial_request_timestamp", "processor_version", "router_version", "ai_config", "failure_reason", "ttl"),
    *("messages", STATUS, FLAG, LAST_ACTION, "hand_off_message_ids", OLDER, "hand_off_answered_at"),
    *("hand_off_reply_failed_at", "hand_off_to_human_reason", "hand_off_requested_at"),
)


@dataclass(slots=True)
class Episode:
    """One episode. Times are instants; `processing` counts AI answers by bucket of milliseconds.

    `first_answer`: how long its first request waited for the AI's first answer; None if unknown.
    """

    started: datetime | None
    active: datetime | None = None
    by: Counter[str] = field(default_factory=Counter)
    spoke_last: str = ""
    tokens: Counter[str] = field(default_factory=Counter)
    processing: Counter[int] = field(default_factory=Counter)
    first_answer: timedelta | None = None
    # When the AI answered; used to count turns before a human was requested.
    ai_at: list[datetime] = field(default_factory=list)
    human_at: list[datetime] = field(default_factory=list)
    answered_by: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class ItemEpisodes:
    """Every episode of an item, oldest first, and what applies to the whole item."""

    episodes: Sequence[Episode]
    project: str
    channel: str
    model: str
    processor: str
    router: str
    failed: str
    failed_why: str
    changed: datetime | None
    flag: bool
    # Its status is of the family "done".
    done: bool


def has_same_facts(new: Raw, old: Raw) -> bool:
    """Return whether two images of an item give the same facts, apart from what the trail adds."""
    return all(new.get(name) == old.get(name) for name in READ if name not in ("updated_at", STATUS)) and (
        (_failure(new), _is_done(new)) == (_failure(old), _is_done(old))
    )


def episodes_of(stored: Raw) -> ItemEpisodes:
    """Read the episodes of an item in DynamoDB JSON, with all of its messages. Never raises, whatever it contains."""
    messages = fold_repetitions(StoredMessages.of(stored.get("messages")), _texts(stored, "hand_off_message_ids"))
    changed = _instant(stored, "updated_at", "created_at")
    channel = text_in(stored, "channel_method").strip().lower()
    failed, why = _failure(stored)
    return ItemEpisodes(
        _split(stored, messages),
        text_in(stored, "project_id"),
        code_of(channel).lower(),
        code_of(model_in(_plain(stored, "ai_config"), channel)),
        version_of(_plain(stored, "processor_version")),
        version_of(_plain(stored, "router_version")),
        failed,
        why,
        changed,
        flag_in(stored),
        _is_done(stored),
    )


def _split(stored: Raw, messages: StoredMessages) -> list[Episode]:
    """Split the messages into episodes; the first begins with the item, each other one after a gap."""
    created = _instant(stored, "created_at", "initial_request_timestamp")
    current = Episode(created or next((each.at for each in messages.figures() if each.at is not None), None))
    current.active, waits_since = current.started, _instant(stored, "initial_request_timestamp") or created
    found = [current]
    for message in messages.figures():
        at = message.at
        is_late = at is not None and current.active is not None and at - current.active >= GAP
        if is_late and len(found) < MOST_EPISODES:
            current, waits_since = Episode(at, at), at if message.speaker is Speaker.CUSTOMER else None
            found.append(current)
        if message.is_prompt:
            continue
        _count(current, message, waits_since)
    return found


def _count(episode: Episode, message: MessageFigures, waits_since: datetime | None) -> None:
    at = message.at
    if at is not None and (episode.active is None or at > episode.active):
        episode.active = at
    for kind, count in message.tokens.items():
        episode.tokens[kind] += count
    if message.speaker not in (Speaker.CUSTOMER, Speaker.AI, Speaker.HUMAN):
        return
    episode.by[message.speaker.value] += 1
    episode.spoke_last = message.speaker.value
    if message.speaker is Speaker.HUMAN:
        episode.answered_by[message.agent] += 1
        if at is not None:
            episode.human_at.append(at)
    if message.speaker is not Speaker.AI:
        return
    if at is not None:
        if episode.by[Speaker.AI.value] == 1 and waits_since is not None and at >= waits_since:
            episode.first_answer = at - waits_since
        episode.ai_at.append(at)
    if message.processing_ms is not None:
        episode.processing[bucket_of(message.processing_ms)] += 1


def _failure(stored: Raw) -> tuple[str, str]:
    """Return the status of a failure and the code of its reason; two empty strings if nothing failed."""
    status = _plain(stored, STATUS)
    if family_of(status) is not Family.FAILED:
        return "", ""
    return code_of(status).lower(), reason_code(_plain(stored, "failure_reason"))


def _is_done(stored: Raw) -> bool:
    return family_of(_plain(stored, STATUS)) is Family.DONE


def _plain(stored: Raw, name: str) -> Any:
    return plain(stored[name]) if name in stored else None


def _instant(stored: Raw, *names: str) -> datetime | None:
    found = (clock.parse_instant(_plain(stored, name)) for name in names)
    return next((each for each in found if each is not None), None)


def _texts(stored: Raw, name: str) -> frozenset[str]:
    found = _plain(stored, name)
    return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()
