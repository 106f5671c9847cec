"""Feedback in an organisation's newest threads, most telling first. Bounded; notices say how much was read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from pynamodb.expressions.operand import Path

from console import clock
from console.errors import ConsoleError
from console.permissions import Staff
from console.redaction import excerpt
from console.store.calls import parallel
from console.store.models import query
from console.templatetags.components import dated
from console.trees import text_of
from conversations.messages.content import SHOWN
from conversations.stores.records import Cell, Listing, RecordRow, record_place
from conversations.stores.threads.keys import END_OF_KEYS, LLM, MESSAGES, MSG, ThreadKey, anchor_of, instant_of
from conversations.stores.threads.messages import comment_of, first_feedback_of, is_answer, verso_of
from conversations.stores.threads.models import Thread, ThreadMessage
from conversations.stores.threads.queries import belongs, key_of_thread, of_organisation
from conversations.stores.threads.reading import title_of

COLUMNS = ("Comment", "Feedback", "Thread", "On", "When")
THREADS = 25
# The most reads of 1 MB for one thread, from its end, and for all threads of a page.
READS_PER_THREAD, READS = 3, 50
COMMENT = 240
_ATTRIBUTES = ("PK", "SK", "ExpiryTime", "org_id", "verso", "feedback", "role", "timestamp", "created_at", "updated_at")
ALL, DOWN, COMMENTED = "all", "down", "comment"
_GIVEN = Path("verso").exists() | Path("feedback").exists()


@dataclass(frozen=True, slots=True)
class _Given:
    """Feedback on one message."""

    item: ThreadMessage
    thread: Thread
    key: ThreadKey

    @property
    def verso(self) -> str:
        """The direction: up, down, or another word."""
        return verso_of(self.item).lower()

    @property
    def at(self) -> datetime | None:
        """When the message was written."""
        return instant_of(self.item, text_of(self.item.plain("SK")))

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key: thumbs-down with a comment, then thumbs-down, then comments, then the rest; newest first."""
        commented = bool(comment_of(self.item).strip())
        place = (0 if commented else 1) if self.verso == "down" else 2 if commented else 3
        return place, -(self.at.timestamp() if self.at else 0.0)


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of one thread. `whole`: all of it; `failed`: reading ended with an error."""

    found: tuple[_Given, ...]
    whole: bool = True
    failed: bool = False


def listed(listing: Listing, organisation: str, staff: Staff, show: str = ALL, cursor: str = "") -> Listing:
    """Return the list of feedback in an organisation's newest threads. One Query for them, and one or more for each.

    `show` is "all", "down" or "comment". Raises the errors of `of_organisation`; unreadable threads are counted.
    """
    threads = of_organisation(organisation, staff, cursor=cursor, size=THREADS)
    if threads.missing:
        return replace(listing, notices=threads.notices)
    keys = dict[str, tuple[ThreadKey, Thread]]()
    for item in threads.items:
        key = key_of_thread(item)
        if key.is_one:
            # A thread may be listed under both forms of its key.
            keys.setdefault(key.partition, (key, item))
    # Reads beyond the first of each thread.
    budget = iter(range(max(0, READS - len(keys))))
    read = parallel(*(partial(_read, key, item, staff, budget) for key, item in keys.values()))
    given = sorted((each for part in read for each in part.found if _fits(each, show)), key=lambda each: each.rank)
    return replace(
        listing,
        rows=tuple(_row(each) for each in given),
        next=threads.next,
        back=threads.back,
        notices=(*threads.notices, *_notices(threads.items, read, staff, more=bool(threads.next))),
    )


def _read(key: ThreadKey, thread: Thread, staff: Staff, budget: Iterator[int]) -> _Read:
    """Read the feedback in a thread, latest message first. Errors of the store are in the result, not raised."""
    now = clock.now()
    found: list[_Given] = []
    start = None
    for number in range(READS_PER_THREAD):
        if number and next(budget, None) is None:
            break
        try:
            answer, start = query(
                ThreadMessage,
                key.partition,
                # LLM# and MSG# items only.
                ThreadMessage.SK.between(LLM, MSG + END_OF_KEYS),
                only=_GIVEN,
                limit=1000,
                forward=False,
                start=start,
                attributes=_ATTRIBUTES,
            )
        except ConsoleError:
            return _Read(tuple(found), whole=False, failed=True)
        for item in map(ThreadMessage.from_raw_data, answer):
            if (
                (verso_of(item) or comment_of(item).strip())
                and text_of(item.plain("SK")).startswith(MESSAGES)
                and not clock.is_expired(item.plain("ExpiryTime"), now)
                and belongs(item, key.organisation, staff)
            ):
                found.append(_Given(item, thread, key))
        if not start:
            return _Read(tuple(found))
    return _Read(tuple(found), whole=False)


def _fits(given: _Given, show: str) -> bool:
    if show == DOWN:
        return given.verso == "down"
    return show != COMMENTED or bool(comment_of(given.item).strip())


_TONES = {"down": ("Down", "bad"), "up": ("Up", "good")}


def _row(given: _Given) -> RecordRow:
    """Return one message as a row, its comment redacted for everybody: listing it does not open the thread."""
    item, key = given.item, given.key
    sort_key = text_of(item.plain("SK"))
    feedback, flaws, _ = first_feedback_of(item, SHOWN, raw=False)
    verdict, tone = _TONES.get(given.verso, (feedback.verdict if feedback else "", "human" if given.verso else ""))
    return RecordRow(
        name=excerpt(comment_of(item).strip(), COMMENT) or "No comment",
        place=record_place(key.base, key.thread_id, at=anchor_of(sort_key)),
        cells=(
            Cell(verdict, tone=tone),
            Cell(excerpt(title_of(given.thread), 80) or "Untitled thread"),
            Cell("Answer" if is_answer(item) else "User's message"),
            Cell(at=given.at),
        ),
        flaws=flaws,
    )


def _notices(threads: Sequence[Thread], read: Sequence[_Read], staff: Staff, *, more: bool) -> list[str]:
    words = []
    if threads:
        count = len(read)
        which = f"{count:,} threads" if count != 1 else "1 thread"
        until = clock.parse_instant(threads[-1].plain("updated_at"))
        reach = f", back to {dated(until, staff)}" if until else ""
        tail = " There are more to look through." if more else ""
        words.append(f"Looked through {which}, by their latest activity{reach}.{tail}")
    if failed := sum(each.failed for each in read):
        words.append(f"{failed:,} of the threads could not be read.")
    if cut := sum(not each.whole and not each.failed for each in read):
        words.append(f"{cut:,} of the threads are so long that only their latest messages were searched.")
    return words
