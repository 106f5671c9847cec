"""When to look at a conversation again. Raises the store's errors."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from console import clock
from conversations.attention.causes import EXPIRES_WITHIN, answer_in, expires_at, instant_in, judge, return_at
from conversations.attention.levels import ServiceLevels, levels_of
from conversations.attention.timers import set_timer
from conversations.handoff.locked import LOCKED_SINCE
from conversations.handoff.stored import AGENT, Raw, has_people, is_over, key_in, text_in

MINUTE = timedelta(minutes=1)


def plan(stored: Raw, before: Raw) -> None:
    """Set a timer for the first change that time alone brings to a conversation.

    Something already due gets a timer for now, unless it was due in the image `before`, which has been planned for.
    """
    now = clock.now()
    times = set(_times(stored, levels_in(stored), now))
    if any(at <= now for at in times):
        times -= {at for at in _times(before, levels_in(before), now) if at <= now}
    _set_first(stored, times)


def plan_next(stored: Raw, done_until: datetime) -> None:
    """Set a timer for the next change that time alone brings, after everything due at `done_until` has been done.

    It may be earlier than now: a process that was suspended has not done what became due meanwhile.
    """
    _set_first(stored, {at for at in _times(stored, levels_in(stored), done_until) if at > done_until})


def _set_first(stored: Raw, times: set[datetime]) -> None:
    """Set a timer for the earliest of `times`."""
    if times:
        set_timer(key_in(stored), min(times))


def levels_in(stored: Raw) -> ServiceLevels:
    """Return the service levels of a conversation's project."""
    return levels_of(text_in(stored, "company_id"), text_in(stored, "project_id"))


def _times(stored: Raw, levels: ServiceLevels, now: datetime) -> Iterator[datetime]:
    """Yield when time changes what a conversation needs: attention, expiry soon, an overdue answer, or a return."""
    if is_over(stored, now):
        return
    if not has_people(stored):
        if (again := judge(stored, levels, now).again_at) is not None:
            yield again
        return
    if (expires := expires_at(stored)) is not None and not text_in(stored, AGENT):
        yield expires - EXPIRES_WITHIN
    if (due := answer_in(stored, levels).due_at) is not None:
        yield due
    if (back := return_at(stored, levels)) is not None:
        yield back
    if (locked := instant_in(stored, LOCKED_SINCE)) is not None:
        # The next full minute of the lock: it may turn out to be dead.
        yield locked + ((now - locked) // MINUTE + 1) * MINUTE
