"""The rows of one page of the queue: who waits, how long and why, and what the reader may do with each."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.permissions import Staff
from conversations.attention.causes import EXPIRES_WITHIN, Cause, answer_in, cause_since, expires_at, instant_in
from conversations.attention.levels import levels_of
from conversations.attention.panel import attention_buttons, is_forgotten, primary_button
from conversations.converting import CHANNELS, customer_of
from conversations.groups import name_of
from conversations.handoff.partitions import QueueState
from conversations.handoff.stored import ANSWERED_AT
from conversations.outbox.latest import LastWords, last_words
from conversations.queue.pages import URGENT, QueueEntry, QueuePage
from conversations.queue.selection import BulkAction, bulk_actions, row_token
from conversations.records import Family, HandOff, HandOffState, family_of, name_shown

LONG_WAIT, MIDDLE_WAIT = timedelta(hours=2), timedelta(minutes=15)
# How long an open page is taken to be as it was if the queue's revision has not moved.
FRESH_FOR = timedelta(minutes=5)
# Hex digits of a row's tag that are enough to notice a change.
_VERSION = 10


def words_of(page: QueuePage) -> dict[str, LastWords]:
    """Return what customers wrote last, by reference, if it belongs to the request that the row shows.

    Of others, only that the customer wants no more messages, and who said that no answer is needed.
    """
    found, shown = last_words(entry.key for entry in page.entries), dict[str, LastWords]()
    for entry in page.entries:
        words = found.get(entry.key)
        if words is not None and not _belongs(words, entry.hand_off):
            words = replace(words, text="", unanswered=0, at=None) if words.is_opted_out or words.excused_by else None
        if words is not None:
            shown[entry.summary.reference] = words
    return shown


def _belongs(words: LastWords, hand_off: HandOff) -> bool:
    """Return whether a message came after the request, or the time of the request is unknown."""
    since = None if hand_off.wait_at_least else hand_off.requested_at
    return words.at is not None and (since is None or since <= words.at)


def rows_of(
    page: QueuePage, tab: str, list_context: str, staff: Staff, shown: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of conversations/_queue_list.html; `version` changes whenever the row does.

    `shown`: the page's `waits`, `words` of customers, and `unread` references. `bulk`: the bulk actions the row can be
    selected for; `token`: the value of its checkbox.
    """
    now = clock.now()
    query = "?" + urlencode({"in": list_context})
    rows = []
    for entry, wait in zip(page.entries, shown["waits"], strict=True):
        summary, hand_off = entry.summary, entry.hand_off
        bulk = bulk_actions(tab, hand_off, staff)
        is_unread, words = summary.reference in shown["unread"], shown["words"].get(summary.reference)
        rows.append(
            {
                "summary": summary,
                "url": reverse("conversation", args=[summary.reference]) + query,
                "action_url": reverse("conversation-hand-off", args=[summary.reference]),
                "version": tag_of([entry], is_unread, words)[:_VERSION],
                "wait": wait,
                "title": title_of(entry),
                "who": customer_of(entry.item, staff),
                "channel": CHANNELS.get(summary.channel, summary.channel),
                "holder": "you" if hand_off.agent == staff.username else hand_off.agent_shown,
                "is_unread": is_unread,
                "tags": _tags(entry, words, is_unread=is_unread),
                "said": words.text if words else "",
                "since": since_of(entry)
                if wait is None or not wait["answered"]
                else clock.parse_instant(wait["since"]),
                "excused_by": _excused_by(entry, words),
                "group": name_of(summary.company_id, hand_off.group) if hand_off.group else "",
                "is_forgotten": is_forgotten(hand_off, now),
                "button": primary_button(entry.item, hand_off, staff),
                "more": attention_buttons(entry.item, hand_off, staff),
                "bulk": bulk,
                "token": row_token(entry.item, hand_off, staff) if bulk else "",
            }
        )
    return rows


def bulk_actions_of(rows: Iterable[Mapping[str, Any]]) -> list[BulkAction]:
    """Return the bulk actions that at least one of these rows allows, in the order of the buttons."""
    offered = {each for row in rows for each in row["bulk"]}
    return [each for each in BulkAction if each in offered]


def _excused_by(entry: QueueEntry, words: LastWords | None) -> str:
    """Return who said that no answer is needed, if that is what ended the customer's wait; "" otherwise."""
    if words is None or words.excused_until is None:
        return ""
    return name_shown(words.excused_by) if words.excused_until == instant_in(entry.item.raw, ANSWERED_AT) else ""


def _tags(entry: QueueEntry, words: LastWords | None, *, is_unread: bool) -> list[dict[str, Any]]:
    """Return the tags of a row; `at` is since or until when.

    Rows that the AI has get no tags for their causes: the title says what needs attention.
    """
    hand_off, raw, tags = entry.hand_off, entry.item.raw, []
    if hand_off.state is not HandOffState.AI:
        if hand_off.urgent:
            tags.append(_tag("urgent"))
        for each in entry.causes:
            until = expires_at(raw) if each is Cause.EXPIRING else None
            tags.append(_tag(each.label, word="until" if until else "since", at=until or cause_since(each, raw)))
    if family_of(entry.summary.status) is Family.FAILED and Cause.FAILED not in entry.causes:
        tags.append(_tag("the platform failed"))
    if words is not None and words.is_opted_out:
        tags.append(_tag("opted out", "bad", "close"))
    unanswered = words.label if words is not None and words.unanswered else ""
    if unanswered or is_unread:
        tags.append(_tag(unanswered or "new message", "human", "conversations"))
    return tags


def _tag(
    label: str, tone: str = "bad", icon: str = "warning", word: str = "", at: datetime | None = None
) -> dict[str, Any]:
    return {"label": label, "tone": tone, "icon": icon, "word": word, "at": at}


def since_of(entry: QueueEntry) -> datetime | None:
    """Return since when a human is needed, or, for what the AI has, since when it needs attention; None if unknown."""
    if entry.hand_off.state is HandOffState.AI and entry.causes:
        return cause_since(entry.causes[0], entry.item.raw)
    return entry.hand_off.requested_at


def longest_of(page: QueuePage, waits: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the longest unanswered wait. It may not be the first row, nor on the page: urgent ones come first."""
    unanswered = [wait for wait in waits if wait and not wait["answered"]]
    if page.entries and page.entries[-1].rank == URGENT and page.following is not None:
        times = (clock.parse_instant(each.first) for each in page.partitions if each.state == QueueState.WAITING)
        unanswered += [_counted(at, clock.now()) for at in times if at is not None]
    return min(unanswered, key=lambda wait: wait["since"], default=None)


def changes_at(page: QueuePage, now: datetime) -> int:
    """Return when time alone changes what the page shows, in seconds of the epoch; `FRESH_FOR` from now at the latest.

    Names, service levels and groups may change at any time, without moving the queue's revision.
    """
    times = [now + FRESH_FOR]
    for entry in page.entries:
        answer = answer_in(entry.item.raw, levels_of(entry.summary.company_id, entry.summary.project_id))
        since, due_at = entry.waits_since, answer.due_at
        if since is not None:
            times += [since + MIDDLE_WAIT, since + LONG_WAIT]
        if since is not None and due_at is not None:
            times += [due_at - (due_at - since) / 4, due_at]
        if (expires := expires_at(entry.item.raw)) is not None:
            times += [expires - EXPIRES_WITHIN, expires]
    return min(clock.to_epoch(at) for at in times if at > now)


def waits_of(page: QueuePage) -> list[dict[str, Any] | None]:
    """Return how long each row's customer has waited."""
    now = clock.now()
    return [_wait_of(entry, now) for entry in page.entries]


def _wait_of(entry: QueueEntry, now: datetime) -> dict[str, Any] | None:
    """Return how long a customer has waited for an answer, for templates; None if unknown.

    `at_least`: it may be longer. `due_at`: the target. `answered`: a person answered and the customer has not written
    since.
    """
    hand_off = entry.hand_off
    if hand_off.state is HandOffState.AI:
        since = clock.parse_instant(entry.since)
        return None if since is None else _counted(since, now, tone="long")
    answer = answer_in(entry.item.raw, levels_of(entry.summary.company_id, entry.summary.project_id))
    since = entry.waits_since
    if since is None:
        answered = instant_in(entry.item.raw, ANSWERED_AT)
        return None if answer.is_first or answered is None else _counted(answered, now) | {"answered": True}
    waited = max(timedelta(0), now - since)
    wait = _counted(since, now, tone=_tone(waited)) | {"at_least": hand_off.wait_at_least and answer.is_first}
    if answer.due_at is None:
        return wait
    left = answer.due_at - now
    tone = "long" if left <= timedelta(0) else "mid" if left < (answer.due_at - since) / 4 else ""
    due = clock.format_span(abs(left))
    words = f"overdue by {due}" if left <= timedelta(0) else f"due in {due}"
    return wait | {"tone": tone, "due_at": clock.to_iso(answer.due_at, "seconds"), "due": words}


def _counted(since: datetime, now: datetime, tone: str = "") -> dict[str, Any]:
    words = clock.format_span(max(timedelta(0), now - since))
    wait = {"since": clock.to_iso(since, "seconds"), "words": words, "tone": tone}
    # Always set every key: failed lookups are the slowest part of a template.
    return wait | {"answered": False, "at_least": False, "due_at": "", "due": ""}


def title_of(entry: QueueEntry) -> str:
    """Return why a row is listed: the reason of the request, or what needs attention; "" if unknown."""
    if entry.hand_off.state is HandOffState.AI:
        return _TITLES.get(entry.causes[0], "") if entry.causes else ""
    return entry.hand_off.reason


_TITLES = {
    Cause.FAILED: "The AI failed to answer",
    Cause.STUCK: "The AI is stuck on its answer",
    Cause.UNANSWERED: "The customer wrote and nobody answered",
}


def _tone(waited: timedelta) -> str:
    return "long" if waited >= LONG_WAIT else "mid" if waited >= MIDDLE_WAIT else ""


def tag_of(entries: Iterable[QueueEntry], *shown: Any) -> str:
    """Digest rows and other shown values (anything JSON), without ages: the browser updates those itself."""
    rows = [
        (
            *(entry.mark, entry.since, entry.summary.company_name, entry.summary.project_name),
            *(entry.hand_off.state, entry.hand_off.agent, entry.hand_off.action_id, entry.hand_off.reason),
            *(entry.rank, entry.causes, [cause_since(each, entry.item.raw) for each in entry.causes]),
        )
        for entry in entries
    ]
    text = json.dumps([rows, shown], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
