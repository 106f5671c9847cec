"""Companies that the indexer sees are in the registry, so that nobody waits where no page looks."""

import io

import pytest
from django.core.management import call_command

from console import caching, clock
from console.permissions import ALL, Role, Scope, Staff
from conversations import companies
from conversations.companies import companies_for, register
from conversations.indexer.handling import handle, handle_item
from conversations.work.lambdas import handle_conversations_stream
from conversations.workers.counts import WorkOutcome
from conversations.workers.streams.records import change_of
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.items import conversation
from tests.people import admin, member, signed_in
from tests.queue import filled
from tests.support.conversations.handoff.kit import COMPANY, put
from tests.support.conversations.indexer.kit import Stream, asks, requests_of

NEW = "ci-new-001"
# Ids that are odd, but keys.
KEPT = ("#", "a/../b", "x" * 1024)
EVERYTHING = Staff("root", "Root", Role.ADMIN, Scope(everything=True))
T1, T2, T3 = (f"2026-01-31T10:0{minute}:00.000Z" for minute in (1, 2, 3))


def of_new_company(**overrides):
    values = {"company_id": NEW, "company_name": "Brightwater Clinics", "request_id": "req123", "created_at": T1}
    return conversation(**(values | overrides))


def store_form(item):
    return to_dynamodb({name: value for name, value in item.items() if value is not ...})


def by_stream(store, item) -> None:
    stream = Stream()
    store.put("CONVERSATIONS", item)
    stream.handle_all()


def by_lambda(store, item) -> None:
    stream = Stream()
    store.put("CONVERSATIONS", item)
    handled = 0
    while len(records := stream.records()) > handled:
        assert handle_conversations_stream({"Records": records[handled:]}) == {"batchItemFailures": []}
        handled = len(records)


def by_sweep(store, item) -> None:
    store.put("CONVERSATIONS", item)
    call_command("index_handoffs", "--sweep", stdout=io.StringIO())


def registered(store) -> dict[str, str]:
    return {item["sk"]: item.get("name", "") for item in store.all("CONSOLE") if item["pk"] == companies.PARTITION}


def writes(calls) -> list:
    return [call for call in calls if call.operation == "UpdateItem" and "COMPANIES" in str(call.request["Key"])]


@pytest.mark.parametrize("by", [by_stream, by_lambda, by_sweep])
def test_who_waits_in_a_company_that_nobody_registered_is_in_the_queue_at_once(store, by):
    filled(store)
    register("ci-known-001", "Known", "demo", T1)
    everything, agent = signed_in(admin()), signed_in(member(scope=[NEW]))
    # Both workers' memories are warm: nothing here waits until they run out.
    for client in (everything, agent):
        assert "asks for a nurse" not in client.get("/queue/").content.decode()
    by(store, of_new_company(hand_off_to_human=True, hand_off_to_human_reason="asks for a nurse"))
    for client in (everything, agent):
        assert "asks for a nurse" in client.get("/queue/").content.decode()
    assert "Brightwater Clinics" in everything.get("/conversations/").content.decode()
    caching.invalidate_all()
    assert everything.get("/queue/count/").json() == {"waiting": "1", "mine": 0, "notices": [], "here": ""}
    assert NEW in everything.get("/staff/new/").content.decode()


def test_the_registry_is_read_anew_only_after_a_change(store):
    register("ci-known-001", "Known", "demo", T1)
    companies_for(EVERYTHING)
    with store.calls() as calls:
        companies_for(EVERYTHING)
    assert [call.operation for call in calls] == ["GetItem"]
    register("ci-known-001", "Known", "demo", T2)
    with store.calls() as calls:
        companies_for(EVERYTHING)
    assert [call.operation for call in calls] == ["GetItem", "Query"], "this worker's own change"


def test_another_workers_change_is_seen_by_its_revision(store, monkeypatch):
    register("ci-known-001", "Known", "demo", T1)
    assert [each.name for each in companies_for(EVERYTHING)] == ["Known"]
    with monkeypatch.context() as other_worker:
        other_worker.setattr(companies._registered, "cache_clear", lambda: None)
        register(NEW, "Brightwater Clinics", "indexer", T1)
    assert [each.name for each in companies_for(EVERYTHING)] == ["Brightwater Clinics", "Known"]


def test_a_company_is_written_once_however_many_records_tell_of_it(store):
    with store.calls() as calls:
        for number in range(20):
            handle_item(store_form(of_new_company(request_id=f"req-{number}", created_at=clock.to_iso(clock.now()))))
    assert len(writes(calls)) == 2, "the company, and that there is a new one"


def test_a_new_name_is_followed_and_an_old_conversation_does_not_bring_the_old_one_back(store):
    handle_item(store_form(of_new_company(created_at=T1)))
    caching.invalidate_all()
    handle_item(store_form(of_new_company(created_at=T3, company_name="Brightwater Group")))
    assert registered(store) == {NEW: "Brightwater Group"}
    assert [each.name for each in companies_for(EVERYTHING)] == ["Brightwater Group"]
    caching.invalidate_all()
    handle_item(store_form(of_new_company(created_at=T2, updated_at=clock.to_iso(clock.now()))))
    assert registered(store) == {NEW: "Brightwater Group"}


def test_a_time_in_the_future_does_not_fix_a_name_for_ever(store):
    handle_item(store_form(of_new_company(created_at="9999-12-31T00:00:00Z", company_name="From nowhere")))
    caching.invalidate_all()
    handle_item(store_form(of_new_company(created_at=clock.to_iso(clock.now()))))
    assert registered(store) == {NEW: "Brightwater Clinics"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "company",
    [..., None, "", 7, ["ci-new-001"], {"id": "ci-new-001"}, True, *KEPT, "x" * 1025, "x" * 2040, ALL],
)
@pytest.mark.parametrize("name", ["Brightwater", None, 5, ["a"], "y" * 5000])
def test_hostile_companies_never_stop_the_indexer(store, company, name):
    put(store)
    filled(store)
    stream = Stream()
    record = {
        "dynamodb": {
            "SequenceNumber": "1",
            "NewImage": store_form(
                of_new_company(hand_off_to_human=True) | {"company_id": company, "company_name": name}
            ),
        }
    }
    asks(store, T2)
    records = [record, *stream.records()]
    assert handle_conversations_stream({"Records": records}) == {"batchItemFailures": []}
    assert [entry["ts_action_id"].partition("#")[0] for entry in requests_of(store)] == [T2]
    assert set(registered(store)) == {COMPANY, *(each for each in KEPT if each == company)}
    client = signed_in(admin())
    for page in ("/queue/", "/conversations/", "/staff/new/"):
        assert client.get(page).status_code == 200, page


def test_a_failure_to_register_comes_back_and_keeps_nobody_from_the_queue(store):
    stream = Stream()
    store.put("CONVERSATIONS", of_new_company(hand_off_to_human=True, updated_at=T1))
    records = stream.records()
    is_registry = lambda request: request.get("Key", {}).get("pk") == {"S": companies.PARTITION}  # noqa: E731
    with faults.fail_before("UpdateItem", table_key="CONSOLE", where=is_registry):
        told = handle_conversations_stream({"Records": records})
    assert told["batchItemFailures"], "Lambda sends it again"
    assert store.all("CONVERSATIONS")[0]["gsi_hand_off_queue"] == f"waiting#{NEW}"
    assert registered(store) == {}
    assert handle_conversations_stream({"Records": records}) == {"batchItemFailures": []}
    assert registered(store) == {NEW: "Brightwater Clinics"}


def test_a_walk_passes_over_ids_that_no_key_can_hold(store):
    store.put("CONVERSATIONS", of_new_company(company_id="x" * 1500, conversation_id="c1"))
    store.put("CONVERSATIONS", of_new_company())
    out = io.StringIO()
    call_command("companies", "discover", stdout=out, stderr=io.StringIO())
    assert registered(store) == {NEW: "Brightwater Clinics"}


def test_what_is_removed_registers_nothing(store):
    gone = {"dynamodb": {"SequenceNumber": "1", "OldImage": store_form(of_new_company())}}
    assert handle(change_of(gone)) == {WorkOutcome.READ: 1}
    assert registered(store) == {}
