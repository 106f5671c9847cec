"""Notifications on their way: stored in the console's own table until they are delivered or given up.

Each notification goes to each destination that wants it:

- `pk = NOTIFIED#{destination}`, `sk` the notification's id: a marker that it was noted, so that it is sent once;
- `pk = NOTIFICATIONS#{destination}`, `sk = {noted at}#{id}`: its content and state; deliveries that were given up
  move to `NOTIFICATIONS_FAILED#{destination}`;
- `pk = NOTIFICATIONS_DUE`, `sk = {due at}#{destination}#{id}`: when to try it next, while it waits.

All of these items expire after `KEPT`.
"""

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import NoReverseMatch
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from console import clock
from console.errors import NotFound
from console.permissions import Staff
from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.store.models import ConsoleItem, LenientItem
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, build, new_action_id
from conversations.converting import conversation_url, reference_of
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.destinations import Destination, check_manager, destinations_of
from conversations.notifications.notification import Notification, NotificationType

KEPT = timedelta(days=7)
# An older event seen for the first time is history: a first sweep covers years of conversations.
OLDEST = timedelta(days=1)
# A destination's emails are combined, and sent at most this often.
EMAILS_EVERY = timedelta(minutes=5)
SHOWN = 50
WAITING, DELIVERED, FAILED = "waiting", "delivered", "failed"
DUE = "NOTIFICATIONS_DUE"
_NOTED, _ALL, _FAILED = "NOTIFIED#", "NOTIFICATIONS#", "NOTIFICATIONS_FAILED#"


class NotDelivered(Exception):
    """Raised if it was not accepted. `is_gone`: the receiver wants no more; `again_after`: seconds it asks to wait."""

    def __init__(self, words: str, *, is_gone: bool = False, again_after: float = 0.0) -> None:
        super().__init__(words)
        self.is_gone, self.again_after = is_gone, again_after


class NotificationDelivery(LenientItem):
    """One notification for one destination. `body` is what receivers get, as JSON text; `company_id` "" means all.

    `state` is waiting, delivered or failed. `attempts` is the number of attempts, `tried_at` the time of the last one,
    `problem` why it failed, and `due_at` when the next one is due. Times are ISO 8601 text in UTC.
    """

    notification_id = UnicodeAttribute()
    destination_id = UnicodeAttribute()
    company_id = UnicodeAttribute(default="")
    type = UnicodeAttribute()
    body = UnicodeAttribute()
    state = UnicodeAttribute(null=True)
    attempts = NumberAttribute(default=0)
    due_at = UnicodeAttribute(null=True)
    tried_at = UnicodeAttribute(null=True)
    problem = UnicodeAttribute(null=True)
    expires_at = NumberAttribute()

    @property
    def label(self) -> str:
        """The notification's type, in words."""
        return NotificationType(self.type).label if self.type in set(NotificationType) else self.type or "Unknown"

    @property
    def payload(self) -> dict[str, Any]:
        """The payload that receivers get, {} if it cannot be read."""
        try:
            found = json.loads(self.body or "")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def data(self) -> dict[str, Any]:
        """The facts that receivers get."""
        found = self.payload.get("data")
        return found if isinstance(found, dict) else {}

    @property
    def is_sound(self) -> bool:
        """Whether it can be sent, and stored again."""
        needed = (self.notification_id, self.destination_id, self.type, self.expires_at)
        return bool(self.payload) and None not in needed

    @property
    def pointer(self) -> "DuePointer":
        """The pointer that says when it is due."""
        sk = f"{self.due_at}#{self.destination_id}#{self.notification_id}"
        return DuePointer(DUE, sk, delivery_pk=self.pk, delivery_sk=self.sk, expires_at=self.expires_at)

    def moved(self, prefix: str, now: datetime, **changes: Any) -> "NotificationDelivery":
        """Return a copy for another partition, which expires `KEPT` after `now`."""
        values = {**self.attribute_values, **changes}
        values |= {"pk": prefix + self.destination_id, "expires_at": _expiry(now)}
        return NotificationDelivery(**values)


class DuePointer(ConsoleItem):
    """When to try a delivery next. Pointers are sorted by the time they are due."""

    pk = UnicodeAttribute(hash_key=True, default=DUE)
    delivery_pk = UnicodeAttribute()
    delivery_sk = UnicodeAttribute()
    expires_at = NumberAttribute()


class NotedMarker(ConsoleItem):
    """A marker that a notification was noted for a destination, so that it is sent once."""

    expires_at = NumberAttribute()


# --- Noting -----------------------------------------------------------------------------------------------------------


def announce(notifications: Iterable[Notification], oldest: timedelta = OLDEST) -> int:
    """Note notifications for all destinations that want them, each once; return how many are new.

    Events older than `oldest` are skipped as history. It must not exceed `KEPT`, the lifetime of the markers.
    Raises the store's errors; safe to repeat.
    """
    now, noted = clock.now(), 0
    for each in notifications:
        if now - each.at <= oldest:
            wanting = [one for one in destinations_of(each.company_id) if one.wants(each.type, each.at)]
            noted += sum(_note(each, one, now) for one in wanting)
    return noted


def send_test(destination: Destination, staff: Staff, test_id: str = "") -> None:
    """Send a test to a destination, on or off, with an entry in the trail; once per id, which comes from the form.

    Raises `Forbidden`, `NotFound` (out of scope), and the store's errors.
    """
    check_manager(destination.company_id, staff)
    test = Notification(test_id or new_action_id(), NotificationType.TEST, clock.now(), destination.company_id)
    _note(test, destination, clock.now(), _entry(Action.DESTINATION_TESTED, destination, staff))


def _note(notification: Notification, destination: Destination, now: datetime, entry: TrailEntry | None = None) -> bool:
    due_at = now
    if destination.values.kind is DestinationKind.EMAIL and notification.type is not NotificationType.TEST:
        due_at = clock.floored(now, EMAILS_EVERY) + EMAILS_EVERY
    delivery = NotificationDelivery(
        _ALL + destination.id,
        f"{clock.to_iso(now)}#{notification.id}",
        notification_id=notification.id,
        destination_id=destination.id,
        company_id=destination.company_id,
        type=notification.type.value,
        body=body_of(notification),
        state=WAITING,
        due_at=clock.to_iso(due_at),
        expires_at=_expiry(now),
    )
    marker = NotedMarker(_NOTED + destination.id, notification.id, expires_at=_expiry(now))
    try:
        with transaction() as writes:
            writes.save(marker, condition=NotedMarker.pk.does_not_exist())
            writes.save(delivery)
            writes.save(delivery.pointer)
            if entry is not None:
                writes.save(build(entry, now))
    except TransactionRefused:
        return False
    return True


def body_of(notification: Notification) -> str:
    """Return what receivers get, as JSON text: a payload as in the Standard Webhooks specification."""
    data = dict(notification.facts)
    if notification.key is not None:
        reference = reference_of(*notification.key)
        data["conversation"] = reference
        if settings.CONSOLE_URL:
            data["url"] = settings.CONSOLE_URL.rstrip("/") + conversation_url(reference)
    elif notification.path and settings.CONSOLE_URL:
        data["url"] = settings.CONSOLE_URL.rstrip("/") + notification.path
    payload = {"type": notification.type.value, "timestamp": clock.to_iso(notification.at), "data": data}
    return json.dumps(payload, ensure_ascii=False)


# --- Delivering -------------------------------------------------------------------------------------------------------


def due_deliveries(now: datetime, most: int) -> list[NotificationDelivery]:
    """Return due deliveries, the longest due first. One Query, and a GetItem for each; raises the store's errors."""
    until = DuePointer.sk <= f"{clock.to_iso(now)}~"
    found = []
    for pointer in DuePointer.query(DUE, until, limit=most, consistent_read=True):
        with suppress(NotFound):
            delivery = NotificationDelivery.get(pointer.delivery_pk, pointer.delivery_sk, consistent_read=True)
            if delivery.is_sound and delivery.state == WAITING and delivery.pointer.sk == pointer.sk:
                found.append(delivery)
                continue
        # Its delivery has expired, is done, or cannot be read.
        pointer.delete()
    return found


def oldest_due() -> datetime | None:
    """Return since when the longest due delivery is due, None if nothing waits. One Query."""
    return next((clock.parse_instant(each.sk.partition("#")[0]) for each in DuePointer.query(DUE, limit=1)), None)


def note_delivered(delivery: NotificationDelivery) -> None:
    """Note that a delivery has arrived. Raises the store's errors."""
    changes = [
        NotificationDelivery.state.set(DELIVERED),
        NotificationDelivery.tried_at.set(clock.to_iso(clock.now())),
        NotificationDelivery.attempts.set(delivery.attempts + 1),
        NotificationDelivery.problem.remove(),
        NotificationDelivery.due_at.remove(),
    ]
    _change(delivery, changes)


def note_attempt(delivery: NotificationDelivery, problem: str, again_at: datetime) -> None:
    """Note that an attempt failed, and when the next one is due. Raises the store's errors."""
    changes = [
        NotificationDelivery.attempts.set(delivery.attempts + 1),
        NotificationDelivery.tried_at.set(clock.to_iso(clock.now())),
        NotificationDelivery.problem.set(problem),
    ]
    _change(delivery, changes, again_at)


def put_off(delivery: NotificationDelivery, until: datetime) -> None:
    """Postpone a delivery that was not tried now. Raises the store's errors."""
    _change(delivery, [], until)


def _change(delivery: NotificationDelivery, changes: list[Any], due_at: datetime | None = None) -> None:
    """Change a delivery and its pointer, unless another process has dealt with it meanwhile."""
    as_read, pointer = _as_read(delivery), delivery.pointer
    with suppress(TransactionRefused), transaction() as writes:
        if due_at is not None:
            delivery.due_at = clock.to_iso(due_at)
            changes.append(NotificationDelivery.due_at.set(delivery.due_at))
            writes.save(delivery.pointer)
        writes.update(delivery, actions=changes, condition=as_read)
        writes.delete(pointer)


def give_up(delivery: NotificationDelivery, problem: str, *, tried: bool) -> None:
    """Move a delivery to the failed ones; `tried`: an attempt was made just now. Raises the store's errors."""
    now = clock.now()
    changes = {"attempts": delivery.attempts + 1, "tried_at": clock.to_iso(now)} if tried else {}
    failed = delivery.moved(_FAILED, now, state=FAILED, problem=problem, **changes)
    with suppress(TransactionRefused), transaction() as writes:
        writes.delete(delivery, condition=_as_read(delivery))
        writes.save(failed)
        writes.delete(delivery.pointer)


def _as_read(delivery: NotificationDelivery) -> Condition:
    as_read: Condition = (NotificationDelivery.state == WAITING) & (NotificationDelivery.due_at == delivery.due_at)
    return as_read


def send_again(destination: Destination, staff: Staff, sort_key: str = "") -> int:
    """Retry a failed delivery, or the latest `SHOWN`, immediately and as often as a new one, with entries in the trail.

    Returns how many. Raises `Forbidden`, `NotFound` (out of scope, or no longer failed), and the store's errors.
    """
    check_manager(destination.company_id, staff)
    partition, now, sent = _FAILED + destination.id, clock.now(), 0
    found = [NotificationDelivery.get(partition, sort_key, consistent_read=True)] if sort_key else _latest(partition)
    failed = [each for each in found if each.is_sound]
    if sort_key and not failed:
        raise NotFound
    for each in failed:
        again = each.moved(_ALL, now, state=WAITING, attempts=0, due_at=clock.to_iso(now))
        entry = _entry(Action.NOTIFICATION_SENT_AGAIN, destination, staff, notification=each.label)
        with suppress(TransactionRefused):
            with transaction() as writes:
                writes.delete(each, condition=NotificationDelivery.pk.exists())
                writes.save(again)
                writes.save(again.pointer)
                writes.save(build(entry, now))
            sent += 1
    return sent


# --- Showing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NotificationSummary:
    """A delivery as pages show it. `next_at`: the next attempt, while waiting; `url` leads to its conversation."""

    sort_key: str
    label: str
    url: str
    state: str
    attempts: int
    problem: str
    noted_at: datetime | None
    next_at: datetime | None

    @property
    def is_retried(self) -> bool:
        """Whether an attempt has failed and another one follows."""
        return self.state == WAITING and self.attempts > 0

    @classmethod
    def of(cls, delivery: NotificationDelivery) -> "NotificationSummary":
        """Summarise a delivery."""
        return cls(
            delivery.sk,
            delivery.label,
            _url_of(delivery.data.get("conversation")),
            delivery.state or "",
            int(delivery.attempts),
            delivery.problem or "",
            clock.parse_instant(delivery.sk.partition("#")[0]),
            clock.parse_instant(delivery.due_at),
        )


def _url_of(reference: Any) -> str:
    try:
        return conversation_url(reference) if isinstance(reference, str) and reference else ""
    except (NoReverseMatch, ValueError):
        return ""


def list_deliveries(destination_id: str, *, failed: bool = False) -> list[NotificationSummary]:
    """Return a destination's latest deliveries, or its failed ones. One Query; raises the store's errors."""
    return [NotificationSummary.of(each) for each in _latest((_FAILED if failed else _ALL) + destination_id)]


def is_failing(latest: Iterable[NotificationSummary], failed: Collection[NotificationSummary]) -> bool:
    """Return whether a destination with these deliveries does not get everything: some failed, or are tried again."""
    return bool(failed) or any(each.is_retried for each in latest)


def _latest(partition: str) -> list[NotificationDelivery]:
    found = NotificationDelivery.query(partition, scan_index_forward=False, limit=SHOWN)
    now = clock.now()
    return [each for each in found if not clock.is_expired(each.expires_at, now)]


def _entry(action: Action, destination: Destination, staff: Staff, **more: Any) -> TrailEntry:
    payload = {"destination": destination.values.name} | more
    return TrailEntry(SYSTEM_TRAIL, action, Actor.of(staff), destination.company_id, payload=payload)


def _expiry(at: datetime) -> int:
    return clock.to_epoch(at + KEPT)
