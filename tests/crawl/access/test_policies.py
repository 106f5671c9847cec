"""The IAM policies are sufficient and minimal: they are exactly what every page, every form and every job calls."""

import json
from collections.abc import Iterable, Iterator
from datetime import timedelta

import pytest
from django.core.management import call_command

from console import caching, clock
from console.errors import StoreUnavailable
from console.refs import seal
from console.schema.check import inspect
from console.schema.policies import INDEXER, POLICIES, RECONCILE, WEB, Access, document
from console.schema.tables import key_of, table_name
from console.staff.models import StaffAccount
from console.store import presence, queues
from console.trail.recording import PLATFORM
from conversations.handoff import HandOffAction, perform, settle
from conversations.receiving.approvals import approve
from conversations.receiving.handling import handle
from conversations.receiving.leaving import leave_to_ai
from conversations.receiving.models import approvals_of
from tests import faults
from tests.answers import body_of
from tests.crawl.access.routes import in_order
from tests.dynamodb import SeenCall
from tests.people import signed_in
from tests.scenario import HTMX, build, posts, urls
from tests.scenario.messages import HELD_AT
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, KEY, WAITING, form, put
from tests.support.conversations.indexer import kit as indexing

# What a transaction does, as IAM asks for it.
INSIDE = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
Needed = tuple[str, str, str]
EARLIER = clock.to_iso(clock.now() - timedelta(minutes=20))


def needed(calls: Iterable[SeenCall]) -> Iterator[Needed]:
    """Table, action and index of what IAM is asked for."""
    for call in calls:
        if call.operation == "TransactWriteItems":
            for item in call.request["TransactItems"]:
                yield from ((key_of(request["TableName"]), INSIDE[name], "") for name, request in item.items())
        else:
            yield from ((table, call.operation, call.index) for table in call.tables)


def allowed(accesses: Iterable[Access]) -> set[Needed]:
    found = {(access.table, action, "") for access in accesses for action in access.actions}
    return found | {(access.table, "Query", index) for access in accesses for index in access.indexes}


def fresh() -> None:
    presence.forget()
    caching.forget_everything()


def decided_and_left(store, settings, monkeypatch) -> None:
    """A first message approved and a reply left to the AI, which need queues: what DynamoDB is asked for."""
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": "https://sqs.invalid/whatsapp"}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    monkeypatch.setattr(queues, "send", lambda *_: None)
    first = seal("first message", approvals_of(COMPANY), f"{HELD_AT}#to approve")
    approve(first, ANA)
    put(store, auto_queue_reply_message=True)
    written = {"message_sid": "SM1", "from": CHANNEL, "body": "Where is it?", **KEY}
    handle(json.dumps(written), clock.now(), "queue", "d1")
    leave_to_ai(form(HandOffAction.LEAVE_TO_AI), ANA)


def test_the_web_servers_may_do_what_pages_and_forms_do_and_nothing_else(store, settings, monkeypatch):
    found: set[Needed] = set()
    for role in ("agent", "onboarding", "auditor", "admin"):
        store.empty()
        scenario = build(store)
        person = scenario.people[role]
        addresses, forms = urls(scenario.ours, scenario, person), posts(scenario.ours, scenario, person)
        fresh()
        client = signed_in(person)
        for session in store.all("STAFF_SESSIONS"):
            # Long enough ago for a request to note that it was seen again.
            store.update("STAFF_SESSIONS", {"session_id": session["session_id"]}, last_seen_at=EARLIER)
        with store.calls() as seen:
            for url in (each for some in addresses.values() for each in some):
                body_of(client.get(url))
            body_of(client.get(addresses["conversation"][0], headers=HTMX))
            for channel in ("sms", "email"):
                terms = {"ours": scenario.ours.our_number, "recipient": scenario.ours.recipient}
                client.post("/conversations/find/", {"look": "replies", "channel": channel, **terms})
            for route in in_order(role):
                for url, form in forms[route.name]:
                    body_of(signed_in(StaffAccount.get(person.username, consistent_read=True)).post(url, form))
        found |= set(needed(seen))
    with store.calls() as seen:
        decided_and_left(store, settings, monkeypatch)
    found |= set(needed(seen))
    # The system page of an environment that is not for development.
    settings.TABLE_NAMES = {access.table: table_name(access.table) for access in WEB}
    settings.CONSOLE_ENV = "staging"
    with store.calls() as seen:
        inspect()
    found |= set(needed(seen))
    assert found - allowed(WEB) == set(), "the policy lacks these"
    assert allowed(WEB) - found == set(), "nothing needs these"


def left_open(store, gone: bool) -> None:
    """An action that no answer told the end of; with its record `gone`, the conversation is found by its id."""
    put(store, **WAITING)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS"), pytest.raises(StoreUnavailable):
        perform(form(HandOffAction.TAKE), ANA)
    if gone:
        for record in store.all("IDEMPOTENCY"):
            store.delete("IDEMPOTENCY", event_id=record["event_id"])


def test_the_indexer_may_do_what_it_does_and_nothing_else(store):
    build(store)
    # What a person decided is written over by a reply that was being written: restored, on record.
    put(store, conversation_status="processing")
    perform(form("take_over"), ANA)
    indexing.drops(store, clock.to_iso(clock.now() + timedelta(seconds=5)))
    fresh()
    with store.calls() as seen:
        call_command("index_handoffs", "--once", verbosity=0)
        # The platform asks anew: an edge in the stream, with an entry of its own.
        indexing.drops(store, clock.to_iso(clock.now() + timedelta(seconds=8)))
        indexing.asks(store, clock.to_iso(clock.now() + timedelta(seconds=9)))
        call_command("index_handoffs", "--once", verbosity=0)
        call_command("index_handoffs", "--sweep", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as settling:
        # As it does where it cannot tell by itself what became of an action.
        settle(CONVERSATION, actor=PLATFORM)
    seen += settling
    assert set(needed(seen)) - allowed(INDEXER) == set(), "the policy lacks these"
    assert allowed(INDEXER) - set(needed(seen)) == set(), "nothing needs these"


def test_reconcile_may_do_what_it_does_and_nothing_else(store):
    left_open(store, gone=False)
    fresh()
    with store.calls() as seen:
        call_command("reconcile", "--older-than", "0s", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as named:
        call_command("reconcile", "--older-than", "0s", "--conversation", CONVERSATION, verbosity=0)
    seen += named
    assert set(needed(seen)) - allowed(RECONCILE) == set(), "the policy lacks these"
    assert allowed(RECONCILE) - set(needed(seen)) == set(), "nothing needs these"


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_names_this_environments_tables_and_no_star_but_a_streams(name, settings):
    settings.AWS_REGION = "eu-west-1"
    made = document(name, "123456789012")
    for statement in made["Statement"]:
        assert all(action.startswith("dynamodb:") and "*" not in action for action in statement["Action"])
        for resource in statement["Resource"]:
            assert resource.startswith("arn:aws:dynamodb:eu-west-1:123456789012:table/")
            assert "*" not in resource or resource.endswith("/stream/*")
    sids = [statement["Sid"] for statement in made["Statement"]]
    assert len(set(sids)) == len(sids)
    assert all(sid.isalnum() for sid in sids)
