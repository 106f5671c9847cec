"""What companies' own systems are told of a conversation, judged from its item alone."""

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from conversations.attention.hours import BusinessHours
from conversations.attention.levels import DEFAULTS, ServiceLevels
from conversations.models import NOT_URGENT
from conversations.notifications.amazon import MOST_LINES, compose
from conversations.notifications.deliveries import NotificationDelivery, body_of
from conversations.notifications.notification import (
    LONGEST_TEXT,
    OF_COMPANIES,
    Notification,
    NotificationType,
    new_notifications,
    notifications_of,
)
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import CHANNEL, COMPANY, CONVERSATION, conversation, held_by

T = NotificationType
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
TARGETS = ServiceLevels(first_answer=timedelta(minutes=10), next_answer=timedelta(minutes=5))


def ago(**span: float) -> str:
    return clock.to_iso(NOW - timedelta(**span))


def item(**changes: Any) -> dict[str, Any]:
    base = conversation(company_name="Cucumber Recruitment", updated_at=ago(minutes=1)) | changes
    return to_dynamodb({name: value for name, value in base.items() if value is not ...})


def waiting(**changes: Any) -> dict[str, Any]:
    return item(**{"hand_off_to_human": True, "hand_off_requested_at": ago(minutes=3)} | changes)


def held(**changes: Any) -> dict[str, Any]:
    return item(**held_by("ana", hand_off_requested_at=ago(minutes=9), hand_off_taken_at=ago(minutes=8)) | changes)


def needing(cause: str, **changes: Any) -> dict[str, Any]:
    return item(**{"hand_off_attention": cause, "hand_off_requested_at": ago(minutes=40)} | changes)


def told(stored: dict[str, Any], levels: ServiceLevels = DEFAULTS) -> list[Notification]:
    return notifications_of(stored, levels, NOW)


def news(new: dict[str, Any], old: dict[str, Any] | None = None, levels: ServiceLevels = DEFAULTS) -> list[Any]:
    return [each.type for each in new_notifications(new, old or {}, levels, NOW, NOW)]


# --- What an item says ------------------------------------------------------------------------------------------------

OVERDUE_FIRST = {"since": ago(minutes=11), "due_at": ago(minutes=1), "answer": "first"}
OVERDUE_NEXT = {"since": ago(minutes=6), "due_at": ago(minutes=1), "answer": "next"}
ASKED_AGAIN = {"hand_off_answered_at": ago(minutes=7), "hand_off_heard_at": ago(minutes=6)}
SAYS: dict[str, tuple[dict[str, Any], list[tuple[NotificationType, str, dict[str, Any]]]]] = {
    "the AI has it": (item(), []),
    "waiting": (waiting(), [(T.WAITING, ago(minutes=3), {"since": ago(minutes=3)})]),
    "waiting since nobody knows when": (waiting(hand_off_requested_at=...), []),
    "waiting, its time still that of what needed attention": (waiting(hand_off_attention="failed"), []),
    "held": (held(), []),
    "failed": (needing("failed"), [(T.FAILED, ago(minutes=40), {"since": ago(minutes=40)})]),
    "stuck": (needing("stuck"), [(T.STUCK, ago(minutes=40), {"since": ago(minutes=40)})]),
    "unanswered": (needing("unanswered"), [(T.UNANSWERED, ago(minutes=40), {"since": ago(minutes=40)})]),
    "a cause of no time": (needing("failed", hand_off_requested_at=...), []),
    "a cause that is none": (needing("bored"), []),
    "a cause that rows tell by themselves": (needing("expiring"), []),
    "overridden": (held(hand_off_to_human=False), [(T.OVERRIDDEN, ago(minutes=1), {})]),
    "overridden, and nobody knows when": (
        held(hand_off_to_human=False, updated_at=...),
        [(T.OVERRIDDEN, clock.to_iso(NOW), {})],
    ),
    "reply failed": (
        held(hand_off_reply_failed_at=ago(minutes=2)),
        [(T.REPLY_FAILED, ago(minutes=2), {})],
    ),
    "reply failed, and the AI has it again": (item(hand_off_reply_failed_at=ago(minutes=2)), []),
    "first answer overdue": (
        held(hand_off_requested_at=ago(minutes=11)),
        [(T.OVERDUE, ago(minutes=1), OVERDUE_FIRST)],
    ),
    "first answer overdue where nobody has it": (
        waiting(hand_off_requested_at=ago(minutes=11)),
        [(T.WAITING, ago(minutes=11), {"since": ago(minutes=11)}), (T.OVERDUE, ago(minutes=1), OVERDUE_FIRST)],
    ),
    "next answer overdue": (held(**ASKED_AGAIN), [(T.OVERDUE, ago(minutes=1), OVERDUE_NEXT)]),
    "next answer not yet due": (held(**ASKED_AGAIN | {"hand_off_heard_at": ago(minutes=4)}), []),
    "expired": (waiting(ttl=int(NOW.timestamp()) - 1), []),
    "expires later": (
        waiting(ttl=int(NOW.timestamp()) + 60),
        [(T.WAITING, ago(minutes=3), {"since": ago(minutes=3)})],
    ),
}


@pytest.mark.parametrize("name", SAYS)
def test_what_an_item_says(name):
    stored, expected = SAYS[name]
    found = told(stored, TARGETS)
    of_all = {"company_id", "company_name", "project_id", "channel", "urgent", "expires_at"}
    assert [
        (each.type, clock.to_iso(each.at), {k: v for k, v in each.facts.items() if k not in of_all}) for each in found
    ] == expected
    assert all(of_all <= set(each.facts) and each.key == (CHANNEL, CONVERSATION) for each in found)
    # The stream, a timer and a sweep see it at other times, and tell the same.
    later = notifications_of(stored, TARGETS, NOW + timedelta(seconds=30))
    assert [each.id for each in later][: len(found)] == [each.id for each in found]


def test_every_type_of_conversations_is_said_by_an_item_and_all_have_their_words():
    said = {type_ for _, found in SAYS.values() for type_, _, _ in found}
    assert said == set(OF_COMPANIES) - {T.BUDGET_REACHED, T.WEEKLY_SUMMARY}
    assert len({each.label for each in T} | {each.sentence for each in T}) == 2 * len(T)
    assert all(each.sentence.endswith(".") for each in T)


def test_the_facts_are_those_that_receivers_need():
    ends = int((NOW + timedelta(days=3)).timestamp())
    [found] = told(waiting(ttl=ends, hand_off_urgent="by hand"))
    assert found.company_id == COMPANY
    assert found.facts == {
        "company_id": COMPANY,
        "company_name": "Cucumber Recruitment",
        "project_id": "pi-aaa-001",
        "channel": "whatsapp",
        "urgent": True,
        "expires_at": clock.to_iso(NOW + timedelta(days=3)),
        "since": ago(minutes=3),
    }
    assert told(waiting(hand_off_urgent=NOT_URGENT))[0].facts["urgent"] is False


def test_ids_tell_what_is_told_apart():
    """By conversation, type, and each time that it happens."""
    several = [
        waiting(),
        waiting(hand_off_requested_at=ago(minutes=2)),
        waiting(hand_off_action_id="released"),
        waiting(conversation_id="another"),
        waiting(primary_channel="+447700900999"),
        *(needing(cause) for cause in ("failed", "stuck", "unanswered")),
        needing("failed", hand_off_requested_at=ago(minutes=39)),
        held(hand_off_to_human=False),
        held(hand_off_to_human=False, hand_off_action_id="later"),
        held(hand_off_reply_failed_at=ago(minutes=2)),
        held(hand_off_reply_failed_at=ago(minutes=1)),
        held(hand_off_requested_at=ago(minutes=11)),
        held(**ASKED_AGAIN),
    ]
    ids = [each.id for stored in several for each in told(stored, TARGETS)]
    assert len(set(ids)) == len(ids) == len(several)
    assert all(len(each) == 32 and not set(CHANNEL.lstrip("+")) > set(each) for each in ids)


def test_business_hours_put_off_what_is_overdue():
    closed = BusinessHours(datetime.min.time(), datetime.min.time().replace(hour=1), frozenset({6}), "UTC")
    levels = ServiceLevels(first_answer=timedelta(minutes=10), hours=closed)
    assert [each.type for each in told(held(hand_off_requested_at=ago(minutes=11)), levels)] == []


# --- What is new between two images -----------------------------------------------------------------------------------

NEWS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[NotificationType]]] = {
    "asked for": (waiting(), item(), [T.WAITING]),
    "made with the flag up": (waiting(), None, [T.WAITING]),
    "waits on": (waiting(updated_at=ago(seconds=1)), waiting(), []),
    "marked urgent while it waits": (waiting(hand_off_action_id="urgent"), waiting(hand_off_action_id="x"), []),
    "its time is put right while it waits": (waiting(hand_off_requested_at=ago(minutes=2)), waiting(), []),
    "taken": (held(), waiting(), []),
    "released, it waits again": (waiting(hand_off_action_id="released"), held(), [T.WAITING]),
    "failed": (needing("failed"), item(), [T.FAILED]),
    "failed again, before anything else": (
        needing("failed", hand_off_requested_at=ago(minutes=1)),
        needing("failed"),
        [],
    ),
    "stuck, then failed": (needing("failed"), needing("stuck"), [T.FAILED]),
    "failed, then asked for": (waiting(), needing("failed"), [T.WAITING]),
    "unanswered": (needing("unanswered"), item(), [T.UNANSWERED]),
    "overridden": (held(hand_off_to_human=False), held(), [T.OVERRIDDEN]),
    "written on while overridden": (
        held(hand_off_to_human=False, hand_off_action_id="y", updated_at=ago(seconds=1)),
        held(hand_off_to_human=False),
        [],
    ),
    "a reply failed": (held(hand_off_reply_failed_at=ago(minutes=1)), held(), [T.REPLY_FAILED]),
    "another reply failed": (
        held(hand_off_reply_failed_at=ago(minutes=1)),
        held(hand_off_reply_failed_at=ago(minutes=2)),
        [T.REPLY_FAILED],
    ),
    "the next answer is overdue as well": (
        held(**ASKED_AGAIN),
        held(hand_off_requested_at=ago(minutes=11)),
        [T.OVERDUE],
    ),
    "overdue on": (
        held(hand_off_requested_at=ago(minutes=11), hand_off_note="x"),
        held(hand_off_requested_at=ago(minutes=11)),
        [],
    ),
}


@pytest.mark.parametrize("name", NEWS)
def test_what_is_new(name):
    new, old, expected = NEWS[name]
    assert news(new, old, TARGETS) == expected


def test_what_is_new_happened_at_the_change():
    at = NOW - timedelta(seconds=7)
    [found] = new_notifications(waiting(), item(), DEFAULTS, NOW, at)
    assert found.at == at
    assert found.id == told(waiting())[0].id


STATES = {
    "ai": item(),
    "failed": needing("failed"),
    "stuck": needing("stuck"),
    "waiting": waiting(hand_off_action_id="a"),
    "urgent": waiting(hand_off_action_id="b"),
    "held": held(),
    "overridden": held(hand_off_to_human=False),
    "reply failed": held(hand_off_reply_failed_at=ago(minutes=2)),
    "gone": waiting(ttl=1),
}
LASTS = {"failed": T.FAILED, "stuck": T.STUCK, "waiting": T.WAITING, "urgent": T.WAITING, "overridden": T.OVERRIDDEN}


@given(st.lists(st.sampled_from(sorted(STATES)), max_size=12))
def test_through_any_states_each_beginning_is_told_once_and_a_replay_tells_the_same(names):
    images = [STATES[each] for each in ["ai", *names]]
    changes = list(zip(images[1:], images, strict=False))

    def replay() -> list[list[Notification]]:
        return [new_notifications(new, old, DEFAULTS, NOW, NOW) for new, old in changes]

    found = replay()
    assert [[each.id for each in one] for one in replay()] == [[each.id for each in one] for one in found]
    for (before, name), notifications in zip(zip(["ai", *names], names, strict=False), found, strict=True):
        expected = [LASTS[name]] if name in LASTS and LASTS.get(before) is not LASTS[name] else []
        if name == "reply failed" and before != name:
            expected = [T.REPLY_FAILED]
        assert [each.type for each in notifications] == expected, (before, name)


# --- Whatever stands there --------------------------------------------------------------------------------------------

ATTRIBUTES = [
    *("primary_channel", "conversation_id", "company_id", "company_name", "project_id", "channel_method", "updated_at"),
    *("hand_off_to_human", "hand_off_agent", "hand_off_requested_at", "hand_off_attention", "hand_off_action_id"),
    *("hand_off_reply_failed_at", "hand_off_answered_at", "hand_off_heard_at", "hand_off_unanswered_at", "ttl"),
    "hand_off_urgent",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.sampled_from(["0001-01-02T00:00:00Z", "9998-12-31T23:59:59Z", "true", "failed", "1e400", ago(minutes=11)])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


@given(st.dictionaries(st.sampled_from(ATTRIBUTES), VALUES), st.dictionaries(st.sampled_from(ATTRIBUTES), VALUES))
def test_drifted_items_never_raise_and_what_they_say_can_be_sent(new, old):
    images = to_dynamodb(new), to_dynamodb(old)
    for each in (*told(images[0], TARGETS), *new_notifications(*images, TARGETS, NOW, NOW)):
        assert json.loads(body_of(each))["type"] == each.type


def test_long_and_many_lined_names_are_one_short_line():
    [found] = told(waiting(company_name="Cucumber\r\n\r\nBuy now " + "x" * 400_000, channel_method="sms\nnow"))
    assert found.facts["company_name"].startswith("Cucumber Buy now x")
    assert len(found.facts["company_name"]) == LONGEST_TEXT
    assert found.facts["channel"] == "sms now"


# --- No personal data -------------------------------------------------------------------------------------------------

CANARIES = {
    "recipient_tel": "+447700900555",
    "recipient_email": "canary.person@example.com",
    "recipient_name": "Canaria Birdwhistle",
    "hand_off_to_human_reason": "canary-reason",
    "hand_off_note": "canary-note",
    "thread_id": "canary-thread",
    "messages": [{"message_id": "m1", "role": "user", "content": "canary-words", "timestamp": ago(minutes=9)}],
    "primary_channel": "+447700900777",
    "conversation_id": "ci-aaa-001#pi-aaa-001#req123#447700900777",
    # Where no personal data belongs.
    "company_name": "Cucumber +447700900888 canary.company@example.com",
    "channel_method": "whatsapp +447700900999",
}
SECRET_PARTS = ["7700900", "canary", "Canaria", "Birdwhistle", "req123", "ana"]


@pytest.mark.parametrize("name", [name for name, (_, expected) in SAYS.items() if expected])
def test_no_personal_data_is_told_or_logged(name, caplog):
    stored = SAYS[name][0] | to_dynamodb(CANARIES)
    with caplog.at_level(logging.DEBUG):
        found = told(stored, TARGETS)
        bodies = [body_of(each) for each in found]
        email = compose([_delivery(each) for each in found])
    assert found
    everything = "\n".join([*bodies, *email, caplog.text, *(each.id for each in found)])
    # The sealed reference of the conversation is random.
    for reference in (json.loads(each)["data"]["conversation"] for each in bodies):
        everything = everything.replace(reference, "")
    assert not [each for each in SECRET_PARTS if each in everything], everything


def _delivery(notification: Notification) -> NotificationDelivery:
    return NotificationDelivery(type=notification.type.value, body=body_of(notification))


# --- Emails -----------------------------------------------------------------------------------------------------------


def test_an_email_says_what_happened_where_and_when_and_links_to_it(settings):
    settings.CONSOLE_URL = "https://console.example.com/"
    [found] = told(waiting())
    subject, text = compose([_delivery(found)])
    assert subject == "A conversation waits for a human"
    lines = text.splitlines()
    assert lines[:2] == [
        "A conversation is waiting for a human.",
        "Cucumber Recruitment · whatsapp · 2026-11-24 11:57 UTC",
    ]
    assert lines[2].startswith("https://console.example.com/conversations/")


def test_an_email_about_many_is_short():
    [found] = told(waiting(company_name=...))
    subject, text = compose([_delivery(found)] * (MOST_LINES + 5))
    assert subject == "25 notifications from the Conversation Console"
    assert text.count("A conversation is waiting") == MOST_LINES
    assert text.splitlines()[-1] == "And 5 more."
    assert COMPANY in text


@pytest.mark.parametrize("body", [None, "", "x", "[]", "{}", '{"data": []}', '{"data": {"url": 7}, "timestamp": []}'])
def test_an_email_about_a_damaged_notification_is_made(body):
    subject, text = compose([NotificationDelivery(type="console.test", body=body), NotificationDelivery(type="new")])
    assert subject == "2 notifications from the Conversation Console"
    assert text.startswith("This is a test.\n")
