"""Facts of the middleware: actions, events and flows, of their companies, and kept when records go."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from console import clock
from conversations.insight.facts import FactKind
from conversations.insight.identity import links_of
from conversations.insight.measures import Topic
from conversations.insight.middleware_facts import cause_of
from tests.items import put_conversation
from tests.support.conversations.insight.kit import counted, list_owners, stored_facts, sums, walk

KIND = FactKind.MIDDLEWARE
# Noon of the day before: what is some hours earlier is of the same day.
NOW = clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
CONVERSATION = "thread-of-richpanel-1"
LATER = {"expires_at": clock.to_epoch(NOW + timedelta(days=20))}


def ago(**span: float) -> str:
    return clock.to_iso(NOW - timedelta(**span))


def entry(number: int = 1, at: str = "", **more: Any) -> dict[str, Any]:
    made = {"conversation_id": CONVERSATION, "ts_action_id": f"{at or ago(days=1)}#{number}", "action_type": "route"}
    return {name: value for name, value in (made | {"result": "success"} | LATER | more).items() if value is not ...}


def event(number: int = 1, **more: Any) -> dict[str, Any]:
    made = {
        "event_id": f"evt:rp:{CONVERSATION}:m{number}",
        "conversation_id": CONVERSATION,
        "created_at": ago(days=1),
        "last_processed_at": ago(days=1),
        "mode": "route_only",
        "safe_mode": False,
        "automation_enabled": True,
    }
    return {name: value for name, value in (made | LATER | more).items() if value is not ...}


def state(**more: Any) -> dict[str, Any]:
    return {"conversation_id": CONVERSATION, "updated_at": ago(hours=1)} | LATER | more


def owners(store) -> set[str]:
    return {day.owner for day, _ in stored_facts(store, KIND)}


# --- Actions --------------------------------------------------------------------------------------------------------


def test_actions_are_counted_by_outcome_and_failures_by_cause(store):
    store.put_all(
        "AUDIT",
        [
            entry(1),
            entry(2, action_type="auto_reply", result="fail: 429 from messaging provider after 3 tries"),
            entry(3, action_type="auto_reply", result="failure: timeout after 10 s"),
            entry(4, action_type="auto_reply", result={"status": "fail", "reason": "bad_template"}),
            entry(5, action_type="tag", result=...),
            entry(6, action_type="hand_off.take", actor="ana", result="success"),
            entry(7, conversation_id="STAFF#ana"),
        ],
    )
    assert walk(KIND)["counted"] == 1
    assert sums(KIND, Topic.ACTIONS) == {
        ("conversations",): 1,
        ("done", "route", "success"): 1,
        ("done", "auto_reply", "failed"): 3,
        ("done", "tag", "unknown"): 1,
        ("failed", "auto_reply", "rate_limited"): 1,
        ("failed", "auto_reply", "timeout"): 1,
        ("failed", "auto_reply", "bad_template"): 1,
    }


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ("fail: template not approved", "not_allowed"),
        ("fail: conversation locked by processor", "locked"),
        ("fail: blocked number", "other"),
        ("failed (no_such_tag)", "no_such_tag"),
        ("failed", "unknown"),
        ("fail: Sam Smith was rude", "other"),
        ("error: 503", "unavailable"),
        ("failed: Zebedee", "other"),
        ("fail: +447700900123", "other"),
    ],
)
def test_a_cause_is_a_kind_or_a_code(result, cause):
    assert cause_of(result) == cause


def test_days_are_those_of_the_entries_whatever_way_times_are_written(store):
    at = NOW - timedelta(days=2)
    spellings = [clock.to_iso(at), str(int(at.timestamp())), str(int(at.timestamp() * 1000)), "once"]
    store.put_all("AUDIT", [entry(number, each) for number, each in enumerate(spellings)])
    walk(KIND)
    days = {day.day: data["done"] for (day, _), data in stored_facts(store, KIND).items()}
    assert days == {at.date().isoformat(): {"route|success": 3}, "undated": {"route|success": 1}}


def test_a_day_keeps_what_was_known_when_entries_go(store):
    store.put_all("AUDIT", [entry(1), entry(2), entry(3, ago(hours=1))])
    walk(KIND)
    before = sums(KIND, Topic.ACTIONS)
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=entry(1)["ts_action_id"])
    store.put("AUDIT", entry(4, ago(minutes=30)))
    walk(KIND)
    assert sums(KIND, Topic.ACTIONS)[("done", "route", "success")] == before[("done", "route", "success")] + 1


def test_a_result_that_comes_later_replaces_what_was_pending(store):
    store.put("AUDIT", entry(1, result="pending"))
    walk(KIND)
    store.put("AUDIT", entry(1, result="success"))
    walk(KIND)
    found = sums(KIND, Topic.ACTIONS)
    assert (found[("done", "route", "pending")], found[("done", "route", "success")]) == (0, 1)


# --- Whose they are -------------------------------------------------------------------------------------------------


def test_facts_are_the_companys_whose_conversation_it_is_also_when_that_is_gone(store):
    item = put_conversation(store, company_id="ci-x", conversation_id=CONVERSATION)
    store.put_all("AUDIT", [entry(1)])
    walk(KIND)
    assert (owners(store), list_owners(KIND)) == ({"ci-x"}, ["ci-x"])
    store.delete("CONVERSATIONS", primary_channel=item["primary_channel"], conversation_id=CONVERSATION)
    store.put_all("AUDIT", [entry(2), entry(3, ago(hours=2))])
    store.put("IDEMPOTENCY", event())
    walk(KIND)
    assert owners(store) == {"ci-x"}
    assert sums(KIND, Topic.ACTIONS, "ci-x")[("done", "route", "success")] == 3
    assert links_of([fact_id.partition("#")[0] for _, fact_id in stored_facts(store, KIND)])


def test_the_first_segment_of_an_id_names_nobody(store):
    store.put("AUDIT", entry(conversation_id="ci-x#pi-x#1#447700900123"))
    walk(KIND)
    assert owners(store) == {""}


def test_an_entry_names_its_company_where_no_conversation_is_known(store):
    store.put("AUDIT", entry(company_id="ci-y"))
    walk(KIND)
    assert owners(store) == {"ci-y"}


def test_an_id_of_two_companies_is_nobodys(store):
    for company in ("ci-x", "ci-y"):
        put_conversation(store, company_id=company, conversation_id=CONVERSATION, primary_channel=f"to-{company}")
    store.put("AUDIT", entry())
    walk(KIND)
    assert owners(store) == {""}


@pytest.mark.slow
def test_what_was_nobodys_is_the_companys_once_it_is_known_and_counted_once(store):
    store.put_all("AUDIT", [entry(1), entry(2)])
    store.put("IDEMPOTENCY", event(1, safe_mode=True))
    store.put("CONVERSATION_STATE", state(pending_flow={"type": "need_photo", "requested_at": ago(days=3)}))
    walk(KIND)
    before = {topic: sums(KIND, topic) for topic in (Topic.ACTIONS, Topic.EVENTS, Topic.FLOWS)}
    assert owners(store) == {""}
    # What is gone by then goes along.
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=entry(1)["ts_action_id"])
    put_conversation(store, company_id="ci-x", conversation_id=CONVERSATION)
    walk(KIND)
    walk(KIND)
    assert owners(store) == {"ci-x"}
    assert {topic: sums(KIND, topic) for topic in before} == before
    assert {topic: sums(KIND, topic, "ci-x") for topic in before} == before


# --- Events ---------------------------------------------------------------------------------------------------------


def test_events_are_counted_with_kill_switches_and_those_that_came_again(store):
    store.put_all(
        "IDEMPOTENCY",
        [
            event(1, safe_mode=True, intent="order_status"),
            event(2, automation_enabled=False, mode="automation_candidate"),
            event(3, last_processed_at=ago(hours=20)),
            event(4, attempts=2, safe_mode="true"),
            event(5, mode="console"),
        ],
    )
    walk(KIND)
    assert sums(KIND, Topic.EVENTS) == {
        ("conversations",): 1,
        ("events", "route_only"): 3,
        ("events", "automation_candidate"): 1,
        ("intent", "order_status"): 1,
        ("intent", "unknown"): 3,
        ("safe",): 1,
        ("off",): 1,
        ("again",): 2,
    }


def test_events_whose_records_are_gone_stay_counted(store):
    store.put_all("IDEMPOTENCY", [event(1), event(2)])
    walk(KIND)
    store.delete("IDEMPOTENCY", event_id=event(1)["event_id"])
    store.put("IDEMPOTENCY", event(3))
    walk(KIND)
    assert sums(KIND, Topic.EVENTS)[("events", "route_only")] == 3


def test_an_event_that_names_no_conversation_is_of_the_one_in_its_key(store):
    store.put_all(
        "IDEMPOTENCY", [event(1), event(2, conversation_id=...), event(3, event_id="odd", conversation_id=...)]
    )
    walk(KIND)
    found = sums(KIND, Topic.EVENTS)
    assert (found[("conversations",)], found[("events", "route_only")]) == (2, 3)


# --- Flows ----------------------------------------------------------------------------------------------------------


def test_a_flow_stalls_after_a_day_and_goes_on_later(store):
    flow = {"type": "need_order_number", "requested_at": clock.to_iso(clock.now() - timedelta(hours=23))}
    store.put("CONVERSATION_STATE", state(pending_flow=flow))
    walk(KIND)
    assert not sums(KIND, Topic.FLOWS)
    store.put("CONVERSATION_STATE", state(pending_flow=flow | {"requested_at": ago(days=4)}))
    walk(KIND)
    assert sums(KIND, Topic.FLOWS) == {("stalled", "need_order_number"): 1}
    store.put("CONVERSATION_STATE", state(pending_flow={"type": "need_photo", "requested_at": ago(days=2)}))
    walk(KIND)
    store.put("CONVERSATION_STATE", state())
    walk(KIND)
    walk(KIND)
    days = {day.day for day, _ in stored_facts(store, KIND)}
    assert days == {(NOW - timedelta(days=each)).date().isoformat() for each in (4, 2)}
    assert sums(KIND, Topic.FLOWS) == {
        ("stalled", "need_order_number"): 1,
        ("went on", "need_order_number"): 1,
        ("stalled", "need_photo"): 1,
        ("went on", "need_photo"): 1,
    }


def test_a_flow_without_a_time_has_that_of_the_state(store):
    store.put("CONVERSATION_STATE", state(updated_at=ago(days=3), pending_flow="need_photo"))
    walk(KIND)
    assert sums(KIND, Topic.FLOWS) == {("stalled", "need_photo"): 1}


# --- All of it ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_the_records_in_whichever_order_they_come(store, seed):
    rng = Random(seed)
    actions = [
        entry(
            number,
            ago(days=rng.randint(0, 3)),
            conversation_id=f"c{rng.randint(1, 4)}",
            result=rng.choice(["success", "fail: timeout"]),
        )
        for number in range(30)
    ]
    events = [
        event(number, conversation_id=f"c{rng.randint(1, 4)}", created_at=ago(days=rng.randint(0, 3)),
              last_processed_at=..., safe_mode=rng.random() < 0.4)
        for number in range(30)
    ]  # fmt: skip
    for company in range(1, 3):
        put_conversation(store, company_id=f"ci-{company}", conversation_id=f"c{company}")
    for start in range(0, 30, 10):
        store.put_all("AUDIT", actions[start : start + 10])
        store.put_all("IDEMPOTENCY", events[start : start + 10])
        walk(KIND)
    done, seen = sums(KIND, Topic.ACTIONS), sums(KIND, Topic.EVENTS)
    failed = sum(each["result"] != "success" for each in actions)
    assert (done[("failed", "route", "timeout")], done[("done", "route", "success")]) == (failed, 30 - failed)
    assert (seen[("events", "route_only")], seen[("safe",)]) == (30, sum(each["safe_mode"] for each in events))
    of_one = sum(each["conversation_id"] == "c1" for each in actions)
    mine = sums(KIND, Topic.ACTIONS, "ci-1")
    assert sum(count for measure, count in mine.items() if measure[0] == "done") == of_one
    for topic, counts in counted(store, KIND).items():
        assert sums(KIND, topic) == counts
    assert walk(KIND)["counted"] == 0
