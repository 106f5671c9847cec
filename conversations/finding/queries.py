"""Lists of conversations: their filters, the index that serves each, their visible rows, and one page at a time.

Every list is one partition: of the company/project index, of a recipient (the base table, or the local index that
serves the first filter), or of a reply index (our number or address, and the recipient). Every list checks the scope
on every row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from console import clock
from console.errors import NotAccepted, NotFound, StoreUnavailable, TableMissing
from console.permissions import Staff
from console.refs import unseal
from console.store.models import SORT_KEY_BYTES, fits
from console.store.paging import PAGE_SIZE, RESTARTED, PageRead, PageSource, read_neighbour, read_page
from console.store.presence import index_absent
from conversations.attention.levels import DEFAULTS, levels_of
from conversations.models import (
    SUMMARY_ATTRIBUTES,
    ChannelMethodIndex,
    CompanyProjectIndex,
    CompanyUpdatedIndex,
    Conversation,
    CreatedAtIndex,
    EmailReplyIndex,
    SmsReplyIndex,
    StatusIndex,
    TaskCompleteIndex,
    WhatsAppReplyIndex,
)
from conversations.reading import hand_off_of, is_gone, is_true, summary_of
from conversations.records import (
    PREFIXES,
    STATUSES,
    ConversationSummary,
    Family,
    HandOffState,
    Page,
    current_family,
    is_processing,
)

# Value of the form's field → the states it selects. Overridden counts as held: its holder has to act on it.
HAND_OFF_STATES = {
    "waiting": frozenset({HandOffState.WAITING}),
    "held": frozenset({HandOffState.HELD, HandOffState.OVERRIDDEN}),
    "ai": frozenset({HandOffState.AI}),
}


# The prefix of a filter for a status family. The schema's own word "failed" selects its family too.
FAMILY = "is:"


def family_asked_for(status: str) -> Family | None:
    """Return the family that a status filter selects; None for a stored status."""
    name = Family.FAILED if status == Family.FAILED else status.removeprefix(FAMILY) if FAMILY in status else ""
    return Family(name) if name in set(Family) else None


def is_of_status(item: Conversation, status: str) -> bool:
    """Return whether an item has this status, or is now of this status family."""
    stored, family = item.plain("conversation_status"), family_asked_for(status)
    if family is None:
        return bool(stored == status)
    updated = clock.parse_instant(item.plain("updated_at"))
    return _family(stored, updated, item.company_id or "", item.project_id or "") is family


def family_shown(summary: ConversationSummary) -> Family | None:
    """Return the family of a row's status now; None for an unknown status."""
    return _family(summary.status, summary.updated_at, summary.company_id, summary.project_id)


def _family(status: Any, updated_at: datetime | None, company_id: str, project_id: str) -> Family | None:
    """Return the current family. When processing counts as stuck depends on the company's service levels."""
    levels = levels_of(company_id, project_id) if is_processing(status) else DEFAULTS
    return current_family(status, updated_at, clock.now(), levels.stuck_after)


@dataclass(frozen=True, slots=True)
class ConversationFilters:
    """The filters of a list; the defaults match everything.

    `status` (see `is_of_status`) and `channel` are compared as stored; `hand_off` is a key of HAND_OFF_STATES; `since`
    (included) and `until` (not included) are instants of creation.
    """

    status: str = ""
    channel: str = ""
    hand_off: str = ""
    task: bool | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no filter is set."""
        return self == ConversationFilters()

    @property
    def has_dates(self) -> bool:
        """Whether a date of creation is set."""
        return self.since is not None or self.until is not None

    def without(self, *names: str) -> "ConversationFilters":
        """Return a copy without these filters, which an index serves."""
        return replace(self, **{name: getattr(_NONE, name) for name in names})

    def matches(self, item: Conversation) -> bool:
        """Return whether an item matches. Timestamps are compared as instants; an unreadable one matches no range."""
        return (
            (not self.status or is_of_status(item, self.status))
            and (not self.channel or item.plain("channel_method") == self.channel)
            and (not self.hand_off or hand_off_of(item).state in HAND_OFF_STATES[self.hand_off])
            and (self.task is None or self.task == is_true(item.plain("task_complete")))
            and (not self.has_dates or self._created_within(item.plain("created_at")))
        )

    def _created_within(self, value: Any) -> bool:
        created = clock.parse_instant(value)
        return (
            created is not None
            and (self.since is None or created >= self.since)
            and (self.until is None or created < self.until)
        )

    def binding(self) -> str:
        """Return the filters as text, which cursors are bound to."""
        return repr(self)


_NONE = ConversationFilters()


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
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConversationList:
    """A list and how to read it. If the index of `source` is missing, `fallback` is read and `notice` is shown.

    `tail` is the source of the items that lack the index's key; it is read after the last page.
    """

    source: PageSource[Conversation]
    fallback: "ConversationList | None" = None
    notice: str = ""
    tail: PageSource[Conversation] | None = None

    @property
    def whole(self) -> "ConversationList":
        """The same conversations as one list, in any order."""
        return self.fallback if self.tail is not None and self.fallback is not None else self


def of_company(
    company_id: str, filters: ConversationFilters, staff: Staff, project_id: str = "", *, in_time: bool = True
) -> ConversationList:
    """List the conversations of a company or project, latest activity first; items without `updated_at` are not in it.

    A project's conversations are filtered from its company's, within the read budget. If not `in_time`, or without the
    index, the list follows the company/project index, which groups projects but does not sort by time. Raises
    `NotFound` for an id that no key can have.
    """
    if not fits(company_id, SORT_KEY_BYTES) or (project_id and not fits(project_id, SORT_KEY_BYTES)):
        raise NotFound
    ranges = ((project_id, project_id),) if project_id else ()
    in_one_piece = ConversationList(_source(company_id, filters, staff, CompanyProjectIndex.Meta.index_name, ranges))
    if not in_time:
        return in_one_piece
    index = CompanyUpdatedIndex.Meta.index_name
    source = _source(company_id, filters, staff, index, descending=True)
    if project_id:
        source = replace(
            source,
            keep=lambda item: item.project_id == project_id and filters.matches(item),
            binding=(filters.binding(), project_id),
        )
    notice = f"The index {index} is missing in this environment, so the conversations are not sorted by time."
    return ConversationList(source, in_one_piece, notice)


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
        return ConversationList(
            _source(primary_channel, filters, staff, index, descending=True),
            everything,
            f"The index {index} is missing in this environment, so the conversations are not sorted by time.",
            replace(everything.source, keep=lambda item: "created_at" not in item.raw and filters.matches(item)),
        )
    index, ranges, served = chosen
    source = _source(primary_channel, filters.without(*served), staff, index, ranges, descending=filters.has_dates)
    return ConversationList(
        replace(source, binding=(filters.binding(),)),
        everything,
        f"The index {index} is missing in this environment, so the recipient's conversations were read one by one.",
    )


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


def read_list(listed: ConversationList, staff: Staff, cursor: str = "") -> Page:
    """Read one page of a list as records, with a notice about its limits. Raises the store's errors."""
    read, notice = _with_fallback(listed, lambda source: read_page(source, staff.username, cursor))
    items = list(read.items)
    if listed.tail is not None and not read.next and not notice:
        items += read_page(listed.tail, staff.username).items
    return Page(
        rows=tuple(summary_of(item, staff) for item in items),
        next=read.next,
        back=read.back,
        notice=" ".join(filter(None, (notice, _notice(read, newest=listed.source.descending and not notice)))),
    )


def first_visible_row(listed: ConversationList, staff: Staff) -> ConversationSummary | None:
    """Return one row of a list, or None if this person sees none within the read budget."""
    read = first_page(listed.whole, staff, PAGE_SIZE)
    return summary_of(read.items[0]) if read.items else None


def first_page(listed: ConversationList, staff: Staff, size: int) -> PageRead[Conversation]:
    """Read the first rows of a list. Raises the store's errors; `StoreUnavailable` if the index is missing."""
    return _with_fallback(listed, lambda source: read_page(source, staff.username, size=size))[0]


def neighbour_of(listed: ConversationList, item: Conversation, *, back: bool) -> ConversationSummary | None:
    """Return the row after (or before) an item of a list; None at the end. One small Query, a few with filters."""
    found, _ = _with_fallback(listed, lambda source: read_neighbour(source, item, back=back))
    return None if found is None else summary_of(found)


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
    try:
        item = Conversation.get(
            primary_channel,
            conversation_id,
            consistent_read=True,
            attributes_to_get=[*dict.fromkeys((*ROW_ATTRIBUTES, *more))],
        )
    except NotFound:
        return None
    return item if is_visible(item, staff) and not is_gone(item, clock.now()) else None


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
    partition: str,
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


def _with_fallback(listed: ConversationList, read: Callable[[PageSource[Conversation]], T]) -> tuple[T, str]:
    """Return the result of `read`, and the list's notice if the fallback was read because the index is missing."""
    try:
        return read(listed.source), ""
    except (NotAccepted, TableMissing) as error:
        # DynamoDB refuses a missing index, so checking only now keeps the usual page at one call.
        index = listed.source.index
        if not index or not index_absent("CONVERSATIONS", index):
            raise
        if listed.fallback is None:
            message = f"This list needs the index {index}, which is missing in this environment."
            raise StoreUnavailable(message) from error
        return _with_fallback(listed.fallback, read)[0], listed.notice


def _notice(read: PageRead[Conversation], *, newest: bool) -> str:
    parts = []
    if read.restarted:
        parts.append(RESTARTED)
    if read.thin:
        which = ("newest" if newest else "first") if read.from_start else "next"
        parts.append(say_searched(f"{which} {read.looked_at} conversations", len(read.items)))
    return " ".join(parts)


def say_searched(what: str, found: int) -> str:
    """Say how many of the rows that were searched match, when there are more to search."""
    words = {0: "none of them matches", 1: "1 of them matches"}.get(found, f"{found} of them match")
    return f"Searched the {what}: {words}. There are more to search."


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
