"""What needs attention, judged from an item alone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.attention.causes import (
    OLDEST,
    Cause,
    answer_in,
    cause_since,
    causes_while_with_people,
    is_awaited,
    judge,
    return_at,
)
from conversations.attention.levels import DEFAULTS, ServiceLevels, StoredLevels, merge_levels
from conversations.attention.urgency import urgent_by_words
from conversations.records import Family, current_family, family_of
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import conversation

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
TARGETS = ServiceLevels(
    first_answer=timedelta(minutes=10), next_answer=timedelta(minutes=5), return_after=timedelta(minutes=20)
)


def ago(**span) -> str:
    return (NOW - timedelta(**span)).isoformat().replace("+00:00", "Z")


def item(**changes):
    base = {"updated_at": ago(minutes=1), "messages": [said("assistant", 5)]} | changes
    return to_dynamodb({name: value for name, value in conversation(**base).items() if value is not ...})


def said(role: str, minutes: float, **more):
    return {"message_id": f"m{minutes}", "role": role, "content": "x", "timestamp": ago(minutes=minutes)} | more


def judged(**changes):
    return judge(item(**changes), DEFAULTS, NOW)


@pytest.mark.parametrize(
    ("status", "family"),
    [
        ("failed", Family.FAILED),
        ("failed_to_process_ai", Family.FAILED),
        ("failed_secrets_fetch", Family.FAILED),
        ("Failed_Unknown", Family.FAILED),
        ("retry", Family.RETRYING),
        ("processing", Family.WAITING_FOR_AI),
        ("processing_reply", Family.WAITING_FOR_AI),
        ("initial_message_sent", Family.WAITING_FOR_CUSTOMER),
        ("reply_sent", Family.WAITING_FOR_CUSTOMER),
        ("completed", Family.DONE),
        ("fail", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_families(status, family):
    assert family_of(status) is family


def test_what_is_processed_for_long_is_stuck():
    assert current_family("processing_x", NOW - timedelta(minutes=14), NOW) is Family.WAITING_FOR_AI
    assert current_family("processing_x", NOW - timedelta(minutes=15), NOW) is Family.STUCK
    assert current_family("processing", None, NOW) is Family.WAITING_FOR_AI
    assert current_family("processing_reply", NOW - timedelta(days=1), NOW) is Family.WAITING_FOR_AI
    assert current_family("processing_reply", NOW, NOW, attention="stuck") is Family.STUCK
    assert current_family("reply_sent", NOW - timedelta(days=3), NOW) is Family.WAITING_FOR_CUSTOMER


@pytest.mark.parametrize("status", ["failed", "failed_to_send_message", "failed_unknown"])
def test_what_failed_needs_attention_at_once(status):
    found = judged(conversation_status=status)
    assert (found.cause, found.since) == (Cause.FAILED, NOW - timedelta(minutes=1))


def test_what_hangs_does_so_after_a_while():
    soon = judged(conversation_status="processing", updated_at=ago(minutes=14))
    assert (soon.cause, soon.again_at) == (None, NOW + timedelta(minutes=1))
    found = judged(conversation_status="processing", updated_at=ago(minutes=15))
    assert (found.cause, found.since) == (Cause.STUCK, NOW - timedelta(minutes=15))


def test_a_lock_hangs_after_a_while_of_its_own():
    locked = {"conversation_status": "processing_reply", "updated_at": ago(days=1)}
    assert judged(**locked).cause is None
    soon = judged(**locked, lock_seen_at=ago(minutes=14))
    assert (soon.cause, soon.again_at) == (None, NOW + timedelta(minutes=1))
    found = judged(**locked, lock_seen_at=ago(minutes=15))
    assert (found.cause, found.since) == (Cause.STUCK, NOW - timedelta(minutes=15))
    assert judged(**locked, lock_seen_at=ago(minutes=15), hand_off_left_at=ago(minutes=16)).cause is Cause.STUCK
    assert judged(**locked, lock_seen_at=ago(minutes=15), hand_off_left_at=ago(minutes=14)).cause is None


def test_the_customer_spoke_last_and_nobody_answered():
    soon = judged(messages=[said("assistant", 40), said("user", 29)])
    assert (soon.cause, soon.again_at) == (None, NOW + timedelta(minutes=1))
    # From the first of what was not answered: who writes again does not wait anew.
    found = judged(messages=[said("assistant", 50), said("user", 31), said("user", 2)])
    assert (found.cause, found.since) == (Cause.UNANSWERED, NOW - timedelta(minutes=31))


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": [said("user", 60), said("assistant", 59)]},
        {"messages": [said("user", 60), said("assistant", 59, sent_by="human")]},
        {"messages": [said("user", 60) | {"message_id": ...}]},
        {"messages": [said("user", 60)], "conversation_status": "completed"},
        {"messages": [said("user", 60)], "hand_off_to_human": True},
        {"messages": [said("user", 60)], "hand_off_agent": "ana"},
        {"messages": [said("user", 60)], "ttl": int(NOW.timestamp()) - 1},
        {"messages": [said("user", 60)], "hand_off_left_at": ago(minutes=10)},
        {"messages": [said("user", 60)], "hand_off_to_ai_at": ago(minutes=10)},
        {"conversation_status": "failed", "updated_at": ago(minutes=20), "hand_off_left_at": ago(minutes=10)},
        {"conversation_status": "failed", "updated_at": ago(days=15)},
        {"conversation_status": "failed", "updated_at": "never", "created_at": None},
        {"messages": None},
        {"messages": "[]"},
        {"messages": ...},
    ],
    ids=range(15),
)
def test_no_false_alarm(changes):
    messages = changes.get("messages")
    if isinstance(messages, list):
        changes = changes | {"messages": [{k: v for k, v in each.items() if v is not ...} for each in messages]}
    assert judged(**changes).cause is None


def test_what_was_left_comes_back_when_something_changes():
    left = ago(minutes=50)
    assert judged(conversation_status="failed", hand_off_left_at=left).cause is Cause.FAILED
    assert judged(messages=[said("user", 40)], hand_off_left_at=left).cause is Cause.UNANSWERED


def test_the_gravest_comes_first_and_what_is_known_stays():
    stuck = {"conversation_status": "processing", "updated_at": ago(minutes=20), "messages": [said("user", 60)]}
    assert judged(**stuck).cause is Cause.STUCK
    old = {"conversation_status": "failed", "updated_at": ago(days=OLDEST.days + 1)}
    assert judged(**old, hand_off_attention="failed").cause is Cause.FAILED


TIMES = st.integers(0, 120).map(lambda minutes: ago(minutes=minutes))


@given(
    status=st.sampled_from(["failed_unknown", "processing", "reply_sent", "completed", "odd", None]),
    updated=TIMES,
    roles=st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.integers(0, 120)), max_size=5),
    left=st.one_of(st.none(), TIMES),
    later=st.integers(1, 120),
)
def test_nothing_changes_before_it_is_looked_at_again(status, updated, roles, left, later):
    messages = [said(role, minutes) for role, minutes in sorted(roles, key=lambda each: -each[1])]
    stored = item(conversation_status=status, updated_at=updated, messages=messages, hand_off_left_at=left)
    now = judge(stored, DEFAULTS, NOW)
    then = NOW + timedelta(minutes=later)
    after = judge(stored, DEFAULTS, then)
    if now.again_at is None or then < now.again_at:
        assert (after.cause, after.since) == (now.cause, now.since)
    elif now.cause is None:
        assert after.cause is not None


# --- What people have -------------------------------------------------------------------------------------------------

HELD = {"hand_off_to_human": True, "hand_off_agent": "ana", "hand_off_taken_at": ago(minutes=25)}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        (HELD, ()),
        (HELD | {"hand_off_to_human": False}, (Cause.OVERRIDDEN,)),
        (HELD | {"hand_off_reply_failed_at": ago(minutes=1)}, (Cause.REPLY_FAILED,)),
        (HELD | {"ttl": int(NOW.timestamp()) + 86_400}, (Cause.EXPIRING,)),
        (HELD | {"ttl": int(NOW.timestamp()) + 86_401}, ()),
        ({"hand_off_to_human": True, "ttl": str(int(NOW.timestamp()) + 60)}, (Cause.EXPIRING,)),
        ({"hand_off_reply_failed_at": ago(minutes=1), "ttl": int(NOW.timestamp()) + 60}, ()),
    ],
)
def test_causes_of_what_people_have(changes, causes):
    assert causes_while_with_people(item(**changes), NOW) == causes


@pytest.mark.parametrize(
    ("cause", "changes", "since"),
    [
        (Cause.REPLY_FAILED, {"hand_off_reply_failed_at": ago(minutes=3)}, timedelta(minutes=3)),
        (Cause.REPLY_FAILED, {}, None),
        (Cause.OVERRIDDEN, {"updated_at": ago(minutes=4)}, timedelta(minutes=4)),
        (Cause.OVERRIDDEN, {"updated_at": ..., "created_at": ago(minutes=5)}, timedelta(minutes=5)),
        (Cause.EXPIRING, {"ttl": int(NOW.timestamp()) + 86_400 - 60}, timedelta(minutes=1)),
        (Cause.EXPIRING, {"ttl": "never"}, None),
        (Cause.FAILED, {"hand_off_requested_at": ago(minutes=6)}, timedelta(minutes=6)),
        (Cause.UNANSWERED, {"hand_off_requested_at": "junk"}, None),
    ],
)
def test_since_when_a_cause_is_there(cause, changes, since):
    assert cause_since(cause, item(**changes)) == (None if since is None else NOW - since)


ASKED = {"hand_off_requested_at": ago(minutes=30)}


@pytest.mark.parametrize(
    ("changes", "since", "due"),
    [
        (HELD | ASKED, 30, -20),
        (HELD | ASKED | {"hand_off_answered_at": ago(minutes=12)}, None, None),
        (HELD | ASKED | {"hand_off_answered_at": ago(minutes=12), "hand_off_unanswered_at": ago(minutes=3)}, 3, 2),
        (HELD | ASKED | {"hand_off_answered_at": ago(minutes=2), "hand_off_unanswered_at": ago(minutes=3)}, None, None),
        # A message that two writers counted at once is not forgotten.
        (
            HELD
            | ASKED
            | {"hand_off_answered_at": ago(minutes=9), "hand_off_unanswered_at": ago(minutes=12)}
            | {"hand_off_heard_at": ago(minutes=4)},
            4,
            1,
        ),
        # An answer of the last time that people had it is none to this request.
        (HELD | ASKED | {"hand_off_answered_at": ago(minutes=90)}, 30, -20),
        ({}, None, None),
    ],
)
def test_since_when_the_customer_waits_and_by_when_people_answer(changes, since, due):
    found = answer_in(item(**changes), TARGETS)
    assert found.since == (None if since is None else NOW - timedelta(minutes=since))
    assert found.due_at == (None if due is None else NOW + timedelta(minutes=due))
    assert found.is_missed(NOW) is (due is not None and due <= 0)


def test_a_silent_holder_gives_it_back():
    assert return_at(item(**HELD, **ASKED), TARGETS) == NOW - timedelta(minutes=5)
    assert return_at(item(**HELD, **ASKED, hand_off_answered_at=ago(minutes=1)), TARGETS) is None
    assert return_at(item(**HELD | {"hand_off_to_human": False}, **ASKED), TARGETS) is None
    assert return_at(item(**HELD, **ASKED), DEFAULTS) is None
    assert return_at(item(hand_off_to_human=True, **ASKED), TARGETS) is None


def test_the_customer_wrote_since_it_was_taken_or_answered():
    assert is_awaited(item(**HELD, hand_off_heard_at=ago(minutes=3)))
    assert not is_awaited(item(**HELD, hand_off_heard_at=ago(minutes=30)))
    assert not is_awaited(item(**HELD, hand_off_heard_at=ago(minutes=3), hand_off_answered_at=ago(minutes=2)))


def test_urgent_words_are_found_in_reason_and_last_message():
    levels = ServiceLevels(urgent_words=("no heating", "法院"))
    assert urgent_by_words(item(hand_off_to_human_reason="They have NO HEATING since noon"), levels)
    assert urgent_by_words(item(messages=[said("user", 3, content="我要去法院"), said("assistant", 2)]), levels)
    assert not urgent_by_words(item(messages=[said("user", 9, content="no heating"), said("user", 3)]), levels)
    assert not urgent_by_words(item(hand_off_to_human_reason=None, messages=None), levels)
    assert not urgent_by_words(item(hand_off_to_human_reason="no heating"), DEFAULTS)


@pytest.mark.parametrize(
    ("word", "said_so", "is_urgent"),
    [
        ("ill", "stuck at work till 6", False),
        ("ill", "my mother is ill!", True),
        ("c++", "the c++ one", True),
        ("no heating", "there is no heatings", False),
        ("院", "我要去法院", True),
        ("krank", "krankenhaus", False),
    ],
)
def test_an_urgent_word_is_no_part_of_another(word, said_so, is_urgent):
    assert urgent_by_words(item(hand_off_to_human_reason=said_so), ServiceLevels(urgent_words=(word,))) is is_urgent


# --- Levels as stored -------------------------------------------------------------------------------------------------

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 9_999), st.text(max_size=5), st.lists(st.integers(), max_size=2)
)
STORED = st.dictionaries(
    st.sampled_from(["stuck_after", "unanswered_after", "first_answer", "return_after", "hours", "urgent_words", "x"]),
    st.one_of(JUNK, st.dictionaries(st.sampled_from(["opens", "closes", "days", "time_zone"]), JUNK)),
)


def read(stored, otherwise=DEFAULTS) -> ServiceLevels:
    return merge_levels(StoredLevels.from_raw_data(to_dynamodb(stored)), otherwise)


@pytest.mark.slow
@given(stored=STORED)
def test_levels_of_any_junk_are_levels(stored):
    found = read(stored)
    assert found.stuck_after > timedelta(0)
    assert found.unanswered_after > timedelta(0)
    assert found.first_answer is None or found.first_answer > timedelta(0)
    assert found.hours is None or found.hours.days


def test_a_project_sets_what_differs():
    company = read({"first_answer": 30, "urgent_words": ["Court"], "unanswered_after": 0})
    assert (company.first_answer, company.urgent_words) == (timedelta(minutes=30), ("court",))
    assert company.unanswered_after == DEFAULTS.unanswered_after
    project = read({"first_answer": 5}, company)
    assert (project.first_answer, project.urgent_words) == (timedelta(minutes=5), ("court",))
