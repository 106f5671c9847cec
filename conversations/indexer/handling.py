"""Processing of one record of the stream, or one item of a sweep. Raises the store's errors; safe to repeat."""

from collections import Counter
from contextlib import suppress

from console import clock
from console.errors import ItemFull, Throttled
from conversations.attention.locks import note_lock, see_lock, with_lock
from conversations.attention.planning import levels_in, plan
from conversations.attention.urgency import is_open_for_urgency, urgent_by_middleware, urgent_values
from conversations.companies import note_company_of
from conversations.handoff.full_items import note_change
from conversations.handoff.protocol import read_raw
from conversations.handoff.stored import REQUESTED_AT, Raw, key_in
from conversations.indexer import entries, requests
from conversations.indexer.entries import request_in
from conversations.indexer.reassertion import differs, is_written_back, reassert, record_of_last_action
from conversations.insight import writing as insight
from conversations.messages.older_messages import OLDER, count_older, remove_older
from conversations.notifications.deliveries import announce
from conversations.notifications.notification import new_notifications, notifications_of
from conversations.outbox.forgetting import remove_messages
from conversations.queue_index.states import Repair, hand_off_marks, is_outside, repair_of
from conversations.queue_index.writing import READ, after, write
from conversations.receiving.other_conversations import note_taken
from conversations.receiving.witnessing import note_routing
from conversations.workers.counts import WorkCounts, WorkOutcome
from conversations.workers.streams.records import StreamChange


def handle(change: StreamChange) -> WorkCounts:
    """Process one record of the stream."""
    done: WorkCounts = Counter({WorkOutcome.READ: 1})
    if change.new is None:
        if change.old is not None:
            remove_what_is_left(change.old)
        return done
    image = note_lock(change)
    # In a full item nothing can be repaired. It is noted below, and everything else goes on.
    with suppress(ItemFull):
        done += _handle_image(change, image)
    note_change(change.new, change.old or {})
    plan(image, change.old or {})
    note_routing(change.new, change.old or {})
    note_taken(change.new, change.old or {})
    announce(new_notifications(change.new, change.old or {}, levels_in(change.new), clock.now(), change.at))
    # Last, so that a failure to register the company keeps no conversation out of the queue.
    note_company_of(change.new)
    done[WorkOutcome.COUNTED] += insight.note_change(change.new, change.old)
    return done


def _read(key: Raw) -> Raw | None:
    """Read an item to judge it, None if it is gone."""
    stored = read_raw(key, READ)
    return None if stored is None else with_lock(stored)


def _handle_image(change: StreamChange, image: Raw) -> WorkCounts:
    done: WorkCounts = Counter()
    edge = requests.flag_rise_in(change)
    if _is_flip(change) and is_written_back(record_of_last_action(image), image):
        restored, goes_on = _restore(change)
        done[WorkOutcome.REASSERTED] += restored
        if not goes_on:
            # Such a flip is never a request, even if another worker restored it first.
            edge = None
    if edge is not None:
        done[WorkOutcome.REQUESTED] += requests.record_request(edge)
        _mark_urgent(edge)
    elif repair_of(image, clock.now()) is not None:
        # The image may be old, so judge the current item.
        stored = _read(key_in(image))
        done[WorkOutcome.REPAIRED] += stored is not None and repair_item(stored) is not None
    return done


def remove_what_is_left(image: Raw) -> None:
    """Remove what the console has of an item that is gone: its link in Insight, and its messages.

    `image` is the item as it was, or its key alone. What an item with the same key has now stays. Raises the store's
    errors; safe to repeat.
    """
    stored = read_raw(key_in(image), (*key_in(image), OLDER))
    if stored is None or (count_older(image) and not count_older(stored)):
        remove_older(image)
    if stored is None:
        insight.remove(image)
        remove_messages(image["primary_channel"]["S"], image["conversation_id"]["S"])


def _mark_urgent(edge: requests.FlagRise) -> None:
    """Mark a requested conversation as urgent where the middleware notes that it cannot wait.

    A repeated record may belong to a request that is over: the item is only marked if it waits because of this one.
    """
    image = edge.image
    why = urgent_by_middleware(image["conversation_id"]["S"]) if is_open_for_urgency(image) else ""
    for _ in range(requests.TRIES if why else 0):
        stored = read_raw(key_in(image), READ)
        if stored is None or not is_open_for_urgency(stored) or not _waits_because_of(stored, edge):
            return
        if write(stored, Repair(urgent_values(stored, why, hand_off_marks(stored).company_id))):
            return


def _waits_because_of(stored: Raw, edge: requests.FlagRise) -> bool:
    """Return whether people have the item because of this request: since its time, or since a sweep first saw it."""
    since = hand_off_marks(stored).requested_at
    if since <= edge.at:
        return True
    recorded = entries.recorded_since(edge.request.conversation_id, edge.at).requests
    return since in {each.at for each in recorded if each.edge_at == edge.at}


def handle_item(stored: Raw) -> WorkCounts:
    """Process one item of a sweep, except for its facts."""
    done: WorkCounts = Counter({WorkOutcome.READ: 1})
    note_change(stored, {})
    stored = see_lock(stored, clock.now())
    with suppress(ItemFull):
        done += _handle_stored(stored)
    plan(stored, {})
    note_routing(stored, {})
    announce(notifications_of(stored, levels_in(stored), clock.now()))
    note_company_of(stored)
    return done


def _handle_stored(stored: Raw) -> WorkCounts:
    """Restore or repair an item, and record its request: a sweep sees no flips, so it infers one from the state."""
    done: WorkCounts = Counter()
    if reassert(stored):
        done[WorkOutcome.REASSERTED] += 1
        return done
    dates_request, now = False, clock.now()
    if repair_of(stored, now) is not None:
        tended = repair_item(stored)
        if tended is None:
            return done
        done[WorkOutcome.REPAIRED] += 1
        stored, repair = tended
        dates_request = REQUESTED_AT in repair.values
    marks = hand_off_marks(stored)
    by_platform = marks.wanted is not True or dates_request
    if marks.flag and not marks.agent and marks.requested_at and by_platform and not is_outside(stored, marks, now):
        done[WorkOutcome.REQUESTED] += entries.save_request_once(request_in(stored, marks.requested_at))
    return done


def repair_item(stored: Raw) -> tuple[Raw, Repair] | None:
    """Repair an item; return it as repaired with the repair, None if nothing was wrong. `stored` may be old."""
    current: Raw | None = stored
    for _ in range(requests.TRIES):
        if current is None:
            return None
        repair = repair_of(current, clock.now())
        if repair is None:
            return None
        _record_ending_request(current, repair)
        if write(current, repair):
            return after(current, repair), repair
        current = _read(key_in(stored))
    raise Throttled(requests.TOO_BUSY)


def _record_ending_request(stored: Raw, repair: Repair) -> None:
    """Write a request's entry before its time is removed: the worker that set the time may have died."""
    marks = hand_off_marks(stored)
    if REQUESTED_AT in repair.removed and marks.requested_at and marks.wanted is not True:
        entries.save_request_once(request_in(stored, marks.requested_at))


def _is_flip(change: StreamChange) -> bool:
    new, old = hand_off_marks(change.new or {}), hand_off_marks(change.old or {})
    return new.flag != old.flag and requests.is_of_platform(change)


def _restore(change: StreamChange) -> tuple[bool, bool]:
    """Restore the current item; return whether it was restored, and whether the flip may count as a request."""
    image = change.new or {}
    stored = read_raw(key_in(image))
    if stored is None or hand_off_marks(stored).last_action != hand_off_marks(image).last_action or not differs(stored):
        return False, False
    if reassert(stored):
        return True, False
    # Not due, or done already, perhaps by another worker just now.
    stored = read_raw(key_in(image))
    goes_on = (
        stored is not None
        and hand_off_marks(stored).last_action == hand_off_marks(image).last_action
        and hand_off_marks(stored).flag
    )
    return False, goes_on
