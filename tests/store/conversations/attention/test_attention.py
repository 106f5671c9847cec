"""What needs attention, in the index: raised, taken back, left; timers; overdue answers; what is urgent."""

from datetime import timedelta

import pytest

from console import caching, clock
from conversations.attention import levels, planning
from conversations.attention.timers import GRACE, due_timers, partition_of, set_timer
from conversations.handoff import HandOffAction as A
from conversations.handoff import perform
from conversations.indexer.handling import handle, handle_item, repair_item
from conversations.notices import notices_for
from conversations.timers.looking import Timers, process_conversation
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.items import url_of
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    conversation,
    form,
    held_by,
    ours,
    put,
    stored,
    trail,
)

ATTENTION = f"attention#{COMPANY}"


def ago(**span) -> str:
    return clock.to_iso(clock.now() - timedelta(**span))


def said(role: str, **span):
    return {"message_id": f"m{span}", "role": role, "content": "x", "timestamp": ago(**span)}


def set_levels(store, **values) -> None:
    store.put("CONSOLE", {"pk": levels.partition_of(COMPANY), "sk": levels.COMPANY, "version": 1, **values})
    caching.invalidate_all()


def change(store, before=None) -> StreamChange:
    return StreamChange(to_dynamodb(before) if before else None, to_dynamodb(stored(store)), clock.now())


def later(monkeypatch, **span) -> None:
    at = clock.now() + timedelta(**span)
    monkeypatch.setattr(clock, "now", lambda: at)


def ring(**options) -> Timers:
    timers = Timers(now=lambda: clock.now(), wait=lambda _: False, **options)
    timers.run(once=True)
    return timers


def test_what_fails_is_found_by_the_index_and_by_a_sweep(store):
    at = ago(minutes=2)
    for work in (lambda: handle(change(store)), lambda: handle_item(to_dynamodb(stored(store)))):
        put(store, conversation_status="failed_unknown", updated_at=at)
        work()
        found = stored(store)
        assert (found["hand_off_attention"], found["gsi_hand_off_queue"]) == ("failed", ATTENTION)
        assert found["hand_off_requested_at"] == at
        assert found["updated_at"] == at
        assert trail(store) == []


def test_it_goes_when_the_platform_goes_on(store):
    put(store, conversation_status="failed", updated_at=ago(minutes=2))
    handle(change(store))
    store.update("CONVERSATIONS", KEY, conversation_status="reply_sent", updated_at=ago(minutes=1))
    handle(change(store))
    assert not {"hand_off_attention", "gsi_hand_off_queue", "hand_off_requested_at"} & set(stored(store))
    assert trail(store) == []


def test_an_answer_at_the_same_moment_is_no_alarm(store):
    put(store, messages=[said("user", minutes=40)], updated_at=ago(minutes=40))
    unanswered = change(store)

    def answered() -> None:
        messages = [said("user", minutes=40), said("assistant", seconds=1)]
        store.update("CONVERSATIONS", KEY, messages=messages)

    # Whoever writes it does not move its time: the number of messages tells.
    with faults.before("UpdateItem", answered, table_key="CONVERSATIONS") as fault:
        handle(unanswered)
    assert fault.struck
    assert "hand_off_attention" not in stored(store)


@pytest.mark.parametrize("action", [A.TAKE_OVER, A.REQUEST])
def test_who_takes_what_needs_attention_keeps_the_customers_wait(store, action):
    put(store, conversation_status="failed", updated_at=ago(hours=5))
    handle(change(store))
    since = stored(store)["hand_off_requested_at"]
    perform(form(action), ANA)
    found, key = stored(store), "held" if action is A.TAKE_OVER else "waiting"
    assert (found["gsi_hand_off_queue"], found.get("hand_off_attention")) == (f"{key}#{COMPANY}", None)
    assert found["hand_off_requested_at"] == since
    assert clock.parse_instant(since) < clock.now() - timedelta(hours=4)
    page = signed_in(member("ana", scope=[COMPANY])).get(url_of(found)).content.decode()
    assert "A human was requested" not in page


def test_what_was_left_comes_back_with_the_next_change_and_its_trail_says_who_left_it(store, monkeypatch):
    put(store, conversation_status="failed", updated_at=ago(hours=5))
    handle(change(store))
    perform(form(A.LEAVE), ANA)
    assert "hand_off_attention" not in stored(store)
    assert repair_item(to_dynamodb(stored(store))) is None
    assert [(each["action_type"], each["result"]) for each in trail(store)] == [("hand_off.leave", "success")]
    later(monkeypatch, minutes=1)
    store.update("CONVERSATIONS", KEY, conversation_status="failed_unknown", updated_at=ago(seconds=0))
    handle(change(store))
    assert stored(store)["hand_off_attention"] == "failed"


def test_a_request_of_the_platform_begins_its_own_wait(store):
    put(store, conversation_status="failed", updated_at=ago(hours=5))
    handle(change(store))
    before = stored(store)
    at = ago(minutes=1)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True, updated_at=at)
    handle(change(store, before))
    found = stored(store)
    assert (found["gsi_hand_off_queue"], found["hand_off_requested_at"]) == (f"waiting#{COMPANY}", at)
    assert "hand_off_attention" not in found
    assert [each["action_type"] for each in trail(store)] == ["hand_off.request"]


def test_a_request_on_what_needed_attention_is_settled_though_more_has_been_written_since(store):
    put(store, conversation_status="failed", messages=[said("user", minutes=9)], updated_at=ago(minutes=5))
    handle(change(store))
    before = stored(store)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True, updated_at=ago(minutes=1))
    asked = change(store, before)
    store.update("CONVERSATIONS", KEY, messages=[said("user", minutes=9), said("user", seconds=1)])
    handle(asked)
    found = stored(store)
    assert (found["gsi_hand_off_queue"], found.get("hand_off_attention")) == (f"waiting#{COMPANY}", None)


# --- Timers -----------------------------------------------------------------------------------------------------------


def test_time_alone_raises_it(store, monkeypatch):
    put(store, conversation_status="processing", updated_at=ago(minutes=1))
    handle(change(store))
    assert "hand_off_attention" not in stored(store)
    ring()
    assert "hand_off_attention" not in stored(store)
    later(monkeypatch, minutes=14, seconds=1)
    ring()
    assert stored(store)["hand_off_attention"] == "stuck"
    assert [each for each in store.all("CONSOLE") if each["pk"].startswith("DUE#")] == []


def test_a_timer_that_is_overtaken_does_nothing(store, monkeypatch):
    put(store, conversation_status="processing_reply", updated_at=ago(minutes=1))
    handle(change(store))
    store.update("CONVERSATIONS", KEY, conversation_status="reply_sent", updated_at=ago(seconds=0))
    later(monkeypatch, minutes=15)
    ring()
    assert ours(stored(store)) == ours(conversation())


def test_a_timer_that_is_set_for_the_past_rings_at_once_and_one_set_late_is_found(store, monkeypatch):
    put(store, conversation_status="failed")
    set_timer(to_dynamodb(KEY), clock.now() - timedelta(days=9))
    now = clock.now()
    assert len(list(due_timers(now, now))) + len(list(due_timers(now - timedelta(minutes=1), now))) == 1
    timers = ring()
    # Somebody's clock is behind: the minute is looked at for a while after it has ended.
    late = clock.now() - GRACE + timedelta(seconds=30)
    row = {"pk": partition_of(late), "sk": f"{clock.to_iso(late)}#x", **KEY}
    store.put("CONSOLE", row)
    timers.run(once=True)
    assert store.get("CONSOLE", pk=row["pk"], sk=row["sk"]) is None


def test_one_bad_timer_keeps_no_other_waiting_and_a_store_that_is_away_loses_none(store, monkeypatch):
    put(store, conversation_status="processing", updated_at=ago(minutes=20))
    now = clock.now()
    store.put(
        "CONSOLE", {"pk": partition_of(now), "sk": "0#x", "primary_channel": {"no": "key"}, "conversation_id": "c"}
    )
    set_timer(to_dynamodb(KEY), now)
    timers = Timers(now=lambda: clock.now(), wait=lambda _: False)
    with faults.fail_before("GetItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
        timers.cycle()
    assert "hand_off_attention" not in stored(store)
    timers.run(once=True)
    assert stored(store)["hand_off_attention"] == "stuck"
    assert not [each for each in store.all("CONSOLE") if each["pk"].startswith("DUE#")]


@pytest.mark.slow
def test_after_a_pause_every_minute_is_looked_at(store, monkeypatch):
    put(store, conversation_status="processing", updated_at=ago(minutes=1))
    ring()
    handle(change(store))
    later(monkeypatch, hours=7)
    ring()
    assert stored(store)["hand_off_attention"] == "stuck"


# --- Answers that are overdue, and holders who are silent -------------------------------------------------------------


def missed(store):
    return [each for each in trail(store) if each["action_type"] == "target.missed"]


def test_an_overdue_answer_stands_in_the_trail_once(store, monkeypatch):
    set_levels(store, first_answer=10)
    before = put(store, **WAITING, updated_at=ago(minutes=1))
    handle(change(store))
    handle(change(store, before))
    later(monkeypatch, minutes=9, seconds=1)
    caching.invalidate_all()
    ring()
    [entry] = missed(store)
    assert (entry["actor"], entry["company_id"], entry["result"]) == ("timer", COMPANY, "success")
    process_conversation(to_dynamodb(KEY))
    handle(change(store))
    ring()
    assert len(missed(store)) == 1


def test_who_was_answered_is_not_overdue(store, monkeypatch):
    set_levels(store, first_answer=10, next_answer=30)
    put(store, **held_by("ana", hand_off_requested_at=ago(minutes=5), hand_off_taken_at=ago(minutes=4)))
    handle(change(store))
    store.update("CONVERSATIONS", KEY, hand_off_answered_at=ago(minutes=1))
    later(monkeypatch, minutes=8)
    ring()
    assert missed(store) == []


def test_a_silent_holders_conversation_waits_again_with_its_wait_and_they_are_told(store, monkeypatch):
    set_levels(store, return_after=45)
    asked = ago(hours=2)
    put(store, **held_by("ana", hand_off_requested_at=asked, hand_off_taken_at=ago(minutes=44)))
    handle(change(store))
    ring()
    assert stored(store)["hand_off_agent"] == "ana"
    later(monkeypatch, minutes=1, seconds=1)
    ring()
    found = stored(store)
    assert "hand_off_agent" not in found
    assert (found["gsi_hand_off_queue"], found["hand_off_requested_at"]) == (f"waiting#{COMPANY}", asked)
    [told] = notices_for("ana")
    assert told.url.startswith("/conversations/")
    assert told.words == "This conversation waits for a human again. No answer for 45 min after the customer wrote."
    [entry] = [each for each in trail(store) if each["action_type"] == "hand_off.release"]
    assert (entry["actor"], entry["result"]) == ("timer", "success")


@pytest.mark.parametrize("action", [A.HAND_BACK, A.RELEASE])
def test_who_acts_at_the_same_moment_comes_first(store, monkeypatch, action):
    set_levels(store, return_after=5)
    put(store, **held_by("ana", hand_off_requested_at=ago(hours=2), hand_off_taken_at=ago(minutes=6)))
    intent = form(action)
    with faults.before("UpdateItem", lambda: perform(intent, ANA), table_key="CONVERSATIONS"):
        process_conversation(to_dynamodb(KEY))
    assert stored(store)["hand_off_action_id"] == intent.action_id
    assert notices_for("ana") == []


def test_what_is_given_back_is_overdue_when_it_is_whenever_the_indexer_comes_to_it(store, monkeypatch):
    set_levels(store, first_answer=20, return_after=14)
    before = put(store, **held_by("ana", hand_off_requested_at=ago(minutes=0), hand_off_taken_at=ago(minutes=0)))
    handle(change(store))
    later(monkeypatch, minutes=15)
    caching.invalidate_all()
    ring()
    returned = change(store, before)
    later(monkeypatch, minutes=6)
    handle(returned)
    ring()
    assert len(missed(store)) == 1


def test_who_answers_at_the_same_moment_keeps_it_until_they_are_silent_again(store, monkeypatch):
    set_levels(store, return_after=5)
    put(store, **held_by("ana", hand_off_requested_at=ago(hours=2), hand_off_taken_at=ago(minutes=6)))

    def answer() -> None:
        store.update("CONVERSATIONS", KEY, hand_off_answered_at=ago(seconds=0))

    with faults.before("UpdateItem", answer, table_key="CONVERSATIONS"):
        process_conversation(to_dynamodb(KEY))
    assert stored(store)["hand_off_agent"] == "ana"
    assert notices_for("ana") == []
    later(monkeypatch, minutes=1)
    store.update("CONVERSATIONS", KEY, hand_off_heard_at=ago(seconds=0), hand_off_unanswered_at=ago(seconds=0))
    handle(change(store))
    later(monkeypatch, minutes=5, seconds=5)
    ring()
    assert "hand_off_agent" not in stored(store)


def test_a_routing_that_changes_at_the_same_moment_puts_it_off_for_a_minute(store, monkeypatch, settings):
    settings.HAND_OFF_ROUTING = "held"
    set_levels(store, return_after=5)
    put(store, **held_by("ana", hand_off_requested_at=ago(hours=2), hand_off_taken_at=ago(minutes=6)))

    repair_item(to_dynamodb(stored(store)))

    def reroute() -> None:
        store.update("CONVERSATIONS", KEY, auto_queue_reply_message=False)

    with faults.before("UpdateItem", reroute, table_key="CONVERSATIONS"):
        process_conversation(to_dynamodb(KEY))
    assert stored(store)["hand_off_agent"] == "ana"
    later(monkeypatch, minutes=1, seconds=1)
    ring()
    assert "hand_off_agent" not in stored(store)


def test_nothing_is_left_of_the_last_time_once_the_platform_has_it_back(store):
    group = {"hand_off_group": "g", "hand_off_urgent": "words", "hand_off_reply_failed_at": ago(minutes=1)}
    put(store, **WAITING, gsi_hand_off_queue=f"urgent#{COMPANY}", hand_off_requested_at=ago(minutes=5), **group)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=False, updated_at=ago(seconds=1))
    handle(change(store))
    assert not ours(stored(store)).keys() & {*group, "gsi_hand_off_queue", "hand_off_requested_at"}


@pytest.mark.parametrize("action", [A.REQUEST, A.TAKE_OVER, A.ASSIGN])
def test_a_new_time_with_people_begins_without_the_last_one_though_the_indexer_is_late(store, monkeypatch, action):
    monkeypatch.setattr("conversations.handoff.service.check_receiver", lambda intent, to: None)
    put(store, hand_off_group="g", hand_off_urgent="words", gsi_hand_off_queue=f"urgent#{COMPANY}")
    perform(form(action), ANA, reason="so", to="ben" if action is A.ASSIGN else "")
    found = stored(store)
    assert not found.keys() & {"hand_off_group", "hand_off_urgent"}
    assert found["gsi_hand_off_queue"] == f"{'waiting' if action is A.REQUEST else 'held'}#{COMPANY}"


def test_what_failed_before_the_ai_was_let_answer_is_no_news(store, monkeypatch):
    monkeypatch.setattr("conversations.handoff.actions.leads_back_to_ai", lambda: True)
    put(store, **WAITING, conversation_status="failed", updated_at=ago(minutes=5))
    perform(form(A.LEAVE_TO_AI), ANA)
    handle(change(store))
    assert "hand_off_attention" not in stored(store)
    later(monkeypatch, minutes=1)
    store.update("CONVERSATIONS", KEY, conversation_status="failed_again", updated_at=ago(seconds=0))
    handle(change(store))
    assert stored(store)["hand_off_attention"] == "failed"


# --- Urgent -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "why"),
    [({"risk_flags": {"chargeback"}}, "risk flags"), ({"priority": "High"}, "priority"), ({"priority": "low"}, None)],
)
def test_what_the_middleware_notes_is_urgent(store, state, why):
    put(store)
    before = stored(store)
    store.put("CONVERSATION_STATE", {"conversation_id": CONVERSATION, "updated_at": ago(minutes=1), **state})
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True, updated_at=ago(seconds=5))
    handle(change(store, before))
    handle(change(store, before))
    found = stored(store)
    assert found.get("hand_off_urgent") == why
    assert found["gsi_hand_off_queue"] == (f"urgent#{COMPANY}" if why else f"waiting#{COMPANY}")


@pytest.mark.parametrize("ends", ["by hand", "by the platform"])
def test_a_request_that_comes_again_makes_nothing_urgent_that_people_took_since(store, ends):
    put(store)
    before = stored(store)
    store.put(
        "CONVERSATION_STATE", {"conversation_id": CONVERSATION, "updated_at": ago(minutes=1), "risk_flags": {"x"}}
    )
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True, updated_at=ago(seconds=5))
    request = change(store, before)
    handle(request)
    assert stored(store)["hand_off_urgent"] == "risk flags"
    if ends == "by hand":
        perform(form(A.HAND_BACK), ADMIN)
    else:
        asked = stored(store)
        store.update("CONVERSATIONS", KEY, hand_off_to_human=False, updated_at=ago(seconds=1))
        handle(change(store, asked))
    perform(form(A.TAKE_OVER), ANA)
    handle(request)
    assert "hand_off_urgent" not in stored(store)


def test_a_companys_words_are_urgent_unless_a_person_says_not(store):
    set_levels(store, urgent_words=["no heating"])
    asked = {"hand_off_to_human": True, "hand_off_to_human_reason": "No heating since noon"}
    before = put(store, **asked, updated_at=ago(minutes=1))
    handle(change(store))
    handle(change(store, before))
    assert stored(store)["gsi_hand_off_queue"] == f"urgent#{COMPANY}"
    perform(form(A.MARK_NOT_URGENT), ANA)
    handle(change(store))
    assert stored(store)["gsi_hand_off_queue"] == f"waiting#{COMPANY}"
    perform(form(A.TAKE), ANA)
    perform(form(A.MARK_URGENT), ANA)
    assert stored(store)["gsi_hand_off_queue"] == f"held#{COMPANY}"
    perform(form(A.RELEASE), ANA)
    assert stored(store)["gsi_hand_off_queue"] == f"urgent#{COMPANY}"
    perform(form(A.HAND_BACK), ADMIN)
    assert "hand_off_urgent" not in stored(store)


def test_what_is_gone_within_a_day_is_urgent_when_that_is_so(store, monkeypatch):
    gone = clock.to_epoch(clock.now() + timedelta(hours=25))
    put(store, **WAITING, ttl=gone, updated_at=ago(minutes=1))
    handle(change(store))
    assert stored(store)["gsi_hand_off_queue"] == f"waiting#{COMPANY}"
    later(monkeypatch, hours=1, minutes=1)
    ring()
    assert stored(store)["gsi_hand_off_queue"] == f"urgent#{COMPANY}"


def test_planning_sets_no_timer_where_nothing_changes_with_time(store):
    put(store, conversation_status="reply_sent")
    planning.plan(to_dynamodb(stored(store)), {})
    assert [each for each in store.all("CONSOLE") if each["pk"].startswith("DUE#")] == []


def test_what_becomes_due_while_a_process_stands_still_is_planned_for(store, monkeypatch):
    set_levels(store, first_answer=10)
    put(store, **WAITING, gsi_hand_off_queue=f"waiting#{COMPANY}", hand_off_requested_at=ago(minutes=9))

    def stand_still(*_) -> bool:
        later(monkeypatch, minutes=5)
        return False

    monkeypatch.setattr("conversations.timers.looking.release_if_silent", stand_still)
    assert not process_conversation(to_dynamodb(KEY))
    now = clock.now()
    timers = [each for minute in (now, now - timedelta(minutes=1)) for each in due_timers(minute, now)]
    assert [each.conversation_id for each in timers] == [CONVERSATION]
