"""Lists of conversations: the index that serves each, their visible rows, and one page at a time.

Most lists are one partition: of a company's or a project's index, of a recipient (the base table, or the local index
that serves the first filter), or of a reply index (our number or address, and the recipient). Hand-offs come from the
queue's index, sorted in memory. Every list checks the scope on every row.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from console.errors import NotFound
from console.permissions import Staff
from console.refs import unseal
from console.store.models import SORT_KEY_BYTES, fits
from console.store.paging import PageSource
from console.store.sorting import (
    Order,
    PartlySortedSource,
    SortedSource,
)
from conversations.converting import is_gone
from conversations.finding.filters import ConversationFilters, family_asked_for
from conversations.finding.listing import ConversationList
from conversations.handoff.stored import held_in, urgent_in, waiting_in
from conversations.models import (
    SUMMARY_ATTRIBUTES,
    ChannelMethodIndex,
    CompanyProjectIndex,
    CompanyUpdatedIndex,
    Conversation,
    CreatedAtIndex,
    EmailReplyIndex,
    HandOffQueueIndex,
    ProjectUpdatedIndex,
    SmsReplyIndex,
    StatusIndex,
    TaskCompleteIndex,
    WhatsAppReplyIndex,
)
from conversations.queue_index.readiness import is_indexed
from conversations.records import (
    PREFIXES,
    STATUSES,
    Family,
)

REPLY_INDEXES = {
    "whatsapp": WhatsAppReplyIndex.Meta.index_name,
    "sms": SmsReplyIndex.Meta.index_name,
    "email": EmailReplyIndex.Meta.index_name,
}
# Instants may be stored with another UTC offset, up to a day apart, or as epoch seconds (or finer) in text. Epochs of
# ten or more digits sort by time from 2001 to 2033.
_OTHER_OFFSETS = timedelta(days=1)
_FIRST_EPOCH, _LAST_EPOCH = 1_000_000_000, 1_999_999_999
_AFTER = "~"

Ranges = tuple[tuple[Any, Any], ...]


def of_company(
    company_id: str, filters: ConversationFilters, staff: Staff, *, in_time: bool = True
) -> ConversationList:
    """List the conversations of a company, latest activity first; items without `updated_at` are not in it.

    If not `in_time`, or without the index, the list follows the company/project index, which groups projects but does
    not sort by time. Conversations that wait or are held come from the queue's index, if it is filled. Raises
    `NotFound` for an id that no key can have, and the store's errors.
    """
    if not fits(company_id, SORT_KEY_BYTES):
        raise NotFound
    by_project = ConversationList(_source(company_id, filters, staff, CompanyProjectIndex.Meta.index_name))
    if not in_time:
        return replace(by_project, in_memory=_hand_offs(company_id, filters, staff, project_order))
    index = CompanyUpdatedIndex.Meta.index_name
    source = _source(company_id, filters, staff, index, descending=True)
    notice = f"The index {index} is missing in this environment, so the conversations are not sorted by time."
    fallback = replace(by_project, notice=notice)
    return ConversationList(source, fallback, in_memory=_hand_offs(company_id, filters, staff))


def of_project(company_id: str, project_id: str, filters: ConversationFilters, staff: Staff) -> ConversationList:
    """List the conversations of a project, latest activity first, and those without `updated_at` last.

    Without the project's own index of activity, a project of at most 4 MB is read whole and sorted in memory. A larger
    one begins with its newest rows, found among those of the company. Conversations that wait or are held come from the
    queue's index, if it is filled. Raises `NotFound` for an id that no key can have, and the store's errors.
    """
    unsorted = of_project_unsorted(company_id, project_id, filters, staff).source
    newest = replace(
        _source(company_id, filters, staff, CompanyUpdatedIndex.Meta.index_name, descending=True),
        keep=lambda item: item.project_id == project_id and filters.matches(item),
    )
    without_index = ConversationList(
        unsorted,
        notice=PARTLY_SORTED,
        in_memory=SortedSource((unsorted,), activity_order),
        partly_sorted=PartlySortedSource(newest, unsorted, activity_order),
    )
    index = ProjectUpdatedIndex.Meta.index_name
    return ConversationList(
        _source((company_id, project_id), filters, staff, index, descending=True),
        without_index,
        tail=_without(unsorted, "updated_at", filters),
        in_memory=_hand_offs(company_id, filters, staff, project_id=project_id),
    )


def of_project_unsorted(
    company_id: str, project_id: str, filters: ConversationFilters, staff: Staff
) -> ConversationList:
    """List the conversations of a project in no order. Raises `NotFound` for an id that no key can have."""
    if not fits(company_id, SORT_KEY_BYTES) or not fits(project_id, SORT_KEY_BYTES):
        raise NotFound
    ranges = ((project_id, project_id),)
    return ConversationList(_source(company_id, filters, staff, CompanyProjectIndex.Meta.index_name, ranges))


PARTLY_SORTED = (
    "This project has more conversations than one page can sort. The newest come first, the others in no order of time."
)


def _without(
    source: PageSource[Conversation], attribute: str, filters: ConversationFilters
) -> SortedSource[Conversation]:
    """Return the items without a text in an attribute, which the index of that attribute lacks."""

    def keep(item: Conversation) -> bool:
        return "S" not in item.raw.get(attribute, {}) and filters.matches(item)

    return SortedSource((replace(source, keep=keep),), activity_order)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def activity_order(item: Conversation) -> Order:
    """Return what sorts by latest activity; an item without a readable `updated_at` comes last."""
    updated = clock.parse_instant(item.plain("updated_at"))
    latest = f"{10**18 - (updated - _EPOCH) // _MICROSECOND:020}" if updated else "~"
    return latest, item.primary_channel, item.conversation_id


def project_order(item: Conversation) -> Order:
    """Return what sorts by project, then by latest activity."""
    return item.project_id or "", *activity_order(item)


# The partitions of the queue's index that contain the conversations of a hand-off filter.
_QUEUE_PARTITIONS = {"waiting": (urgent_in, waiting_in), "held": (held_in,)}


def _hand_offs(
    company_id: str,
    filters: ConversationFilters,
    staff: Staff,
    order: Callable[[Conversation], Order] = activity_order,
    project_id: str = "",
) -> SortedSource[Conversation] | None:
    """Return the conversations of a hand-off filter, as the queue has them; None if its index cannot tell."""
    partitions = _QUEUE_PARTITIONS.get(filters.hand_off, ())
    if not partitions or not is_indexed():
        return None

    def keep(item: Conversation) -> bool:
        return project_id in ("", item.project_id) and filters.matches(item)

    index, binding = HandOffQueueIndex.Meta.index_name, (filters.binding(), project_id, order.__name__)
    sources = (_source(partition(company_id), filters, staff, index) for partition in partitions)
    return SortedSource(tuple(replace(each, keep=keep, binding=binding) for each in sources), order)


def of_reply(channel: str, ours: str, recipient: str, staff: Staff) -> ConversationList:
    """List the conversations between our number or address and a recipient, as the platform finds them for a reply."""
    return ConversationList(
        _source(ours, ConversationFilters(), staff, REPLY_INDEXES[channel], ((recipient, recipient),))
    )


def of_recipient(primary_channel: str, filters: ConversationFilters, staff: Staff) -> ConversationList:
    """List a recipient's conversations. An index serves the first filter among dates, status, channel and task.

    Without these filters, the newest come first, and those without `created_at` last.
    """
    everything = ConversationList(_source(primary_channel, filters, staff))
    chosen = _local_index(filters)
    if chosen is None:
        index = CreatedAtIndex.Meta.index_name
        notice = f"The index {index} is missing in this environment, so the conversations are not sorted by time."
        return ConversationList(
            _source(primary_channel, filters, staff, index, descending=True),
            replace(everything, notice=notice),
            tail=_without(everything.source, "created_at", filters),
        )
    index, ranges, served = chosen
    source = _source(primary_channel, filters.without(*served), staff, index, ranges, descending=filters.has_dates)
    notice = f"The index {index} is missing in this environment, so the recipient's conversations were read one by one."
    return ConversationList(replace(source, binding=(filters.binding(),)), replace(everything, notice=notice))


def _local_index(filters: ConversationFilters) -> tuple[str, Ranges, tuple[str, ...]] | None:
    """Return the index of the first filter, the ranges to read, and the filters that it serves completely."""
    if filters.has_dates:
        # The index compares text, so dates are compared again as instants.
        return CreatedAtIndex.Meta.index_name, created_ranges(filters), ()
    if filters.status:
        # Compared again: the ranges of a family contain other statuses too, and "stuck" depends on the time.
        return StatusIndex.Meta.index_name, _status_ranges(filters.status), ()
    if filters.channel:
        return ChannelMethodIndex.Meta.index_name, ((filters.channel, filters.channel),), ("channel",)
    if filters.task is not None:
        return TaskCompleteIndex.Meta.index_name, ((int(filters.task), int(filters.task)),), ("task",)
    return None


def _status_ranges(status: str) -> Ranges:
    """Return the text ranges that contain a status, or all statuses of a family."""
    family = family_asked_for(status)
    if family is None:
        return ((status, status),)
    stored_as = Family.WAITING_FOR_AI if family is Family.STUCK else family
    prefix = PREFIXES.get(stored_as, "")
    exact = tuple((each, each) for each in STATUSES[stored_as] if not prefix or not each.startswith(prefix))
    return (*exact, (prefix, prefix + _AFTER)) if prefix else exact


def created_ranges(filters: ConversationFilters) -> Ranges:
    """Return the text ranges that contain every spelling of the instants between two dates, newest first."""
    low = "0" if filters.since is None else f"{_utc(filters.since - _OTHER_OFFSETS):%Y-%m-%d}"
    high = "9" if filters.until is None else f"{_utc(filters.until + _OTHER_OFFSETS):%Y-%m-%d}"
    iso = (low, high + _AFTER)
    if filters.since is None:
        return (iso,)
    first = max(_FIRST_EPOCH, clock.to_epoch(filters.since))
    last = _LAST_EPOCH if filters.until is None else min(_LAST_EPOCH, clock.to_epoch(filters.until))
    return (iso, (str(first), f"{last}{_AFTER}")) if first <= last else (iso,)


def load_row(reference: str, staff: Staff, *more: str) -> Conversation:
    """Load the attributes of a list row and `more` with one strongly consistent GetItem.

    Raises `NotFound` when the conversation is absent, past its TTL or out of scope.
    """
    primary_channel, conversation_id = unseal("conversation", reference, 2)
    item = load_key(primary_channel, conversation_id, staff, *more)
    if item is None:
        raise NotFound
    return item


def load_key(primary_channel: str, conversation_id: str, staff: Staff, *more: str) -> Conversation | None:
    """Load an item by its key, as `load_row` does; return None instead of raising `NotFound`."""
    attributes = [*dict.fromkeys((*ROW_ATTRIBUTES, *more))]
    item = Conversation.find(primary_channel, conversation_id, attributes=attributes)
    return item if item is not None and is_visible(item, staff) and not is_gone(item, clock.now()) else None


# The attributes of a row, and the keys of every index that may serve its list.
ROW_ATTRIBUTES = (
    *SUMMARY_ATTRIBUTES,
    "gsi_company_whatsapp_number",
    "gsi_company_sms_number",
    "gsi_company_email",
    "gsi_recipient_tel",
    "gsi_recipient_email",
)


def is_visible(item: Conversation, staff: Staff) -> bool:
    """Return whether an item is in scope. One without a company is only in scope "all"."""
    return staff.scope.covers_company(item.company_id)


def _source(
    partition: str | tuple[str, str],
    filters: ConversationFilters,
    staff: Staff,
    index: str = "",
    ranges: Ranges = (),
    *,
    descending: bool = False,
) -> PageSource[Conversation]:
    return PageSource(
        model=Conversation,
        partition=partition,
        attributes=SUMMARY_ATTRIBUTES,
        index=index,
        ranges=ranges,
        descending=descending,
        visible=lambda item: is_visible(item, staff),
        keep=None if filters.is_empty else filters.matches,
        binding=(filters.binding(),),
    )


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
