"""The rows of an exported list: what the list shows to the person who exports it, without messages."""

from dataclasses import dataclass, fields, replace
from datetime import datetime

from console import clock
from console.exports import iso_cell, without_isolates
from console.permissions import Staff
from console.redaction import redact
from conversations.converting import customer_of
from conversations.finding.filters import family_shown
from conversations.groups import name_of
from conversations.queue.pages import QueueEntry
from conversations.records import ConversationSummary, HandOffState


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """The columns, in order. Texts are masked for the person who exports; times are ISO 8601 in UTC, "" for none.

    `waiting_since` is when a human was requested, or when a conversation with the AI began to need attention;
    `wait_minutes` is the time from then to the export. `needs_attention` and `group` are only set for the queue.
    """

    customer: str
    hand_off: str
    reason: str
    holder: str
    waiting_since: str
    wait_minutes: int | None
    urgent: str
    needs_attention: str
    group: str
    status: str
    status_family: str
    channel: str
    company: str
    company_name: str
    project: str
    project_name: str
    created: str
    updated: str
    conversation: str
    flaws: str


COLUMNS = tuple(each.name for each in fields(ConversationRow))


def row_of(summary: ConversationSummary, now: datetime, *, attention_since: datetime | None = None) -> ConversationRow:
    """Return the row of a conversation in a list. `attention_since`: when one with the AI began to need attention."""
    hand_off, family = summary.hand_off, family_shown(summary)
    is_with_ai = hand_off.state is HandOffState.AI
    since = attention_since if is_with_ai else hand_off.requested_at
    return ConversationRow(
        customer=without_isolates(summary.who),
        hand_off=hand_off.state.value,
        reason="" if is_with_ai else without_isolates(hand_off.reason),
        holder=without_isolates(hand_off.agent_shown) if hand_off.agent else "",
        waiting_since=iso_cell(since),
        wait_minutes=None if since is None else max(0, int((now - since).total_seconds() // 60)),
        urgent="yes" if hand_off.urgent and not is_with_ai else "",
        needs_attention="",
        group="",
        status=summary.status,
        status_family=family.label if family else "",
        channel=summary.channel,
        company=redact(summary.company_id),
        company_name=summary.company_name,
        project=redact(summary.project_id),
        project_name=summary.project_name,
        created=iso_cell(summary.created_at),
        updated=iso_cell(summary.updated_at),
        conversation=summary.short_id,
        flaws="; ".join(summary.drift),
    )


def row_of_entry(entry: QueueEntry, staff: Staff, now: datetime) -> ConversationRow:
    """Return the row of a conversation in the queue."""
    summary, hand_off = entry.summary, entry.hand_off
    return replace(
        row_of(summary, now, attention_since=clock.parse_instant(entry.since)),
        customer=without_isolates(customer_of(entry.item, staff)),
        needs_attention=", ".join(each.label for each in entry.causes),
        group=name_of(summary.company_id, hand_off.group) if hand_off.group else "",
    )
