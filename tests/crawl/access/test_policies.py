"""The IAM policies are sufficient and minimal: they are exactly what every page, every form and every job calls."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command

from console import caching, clock
from console.errors import StoreUnavailable
from console.provisioning.check import inspect
from console.provisioning.policies import (
    INDEXER,
    INSIGHT,
    NOTIFIER,
    POLICIES,
    QUEUES,
    RECEIVER,
    RECONCILE,
    SENDER,
    TIMERS,
    WEB,
    WORK,
    Access,
    document,
)
from console.refs import seal
from console.staff.models import StaffAccount
from console.store import presence, queues
from console.store.calls import key_of, table_name
from console.trail.recording import PLATFORM
from conversations.attention.planning import plan_next
from conversations.handoff import HandOffAction, perform, reconcile, settle
from conversations.handoff.partitions import QueueState, enter
from conversations.handoff.stored import BY_RULE
from conversations.indexer import entries
from conversations.insight import budgets
from conversations.models import Conversation
from conversations.notices import notices_for
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.deliveries import announce, send_test
from conversations.notifications.destinations import DestinationValues, add, find, types_for
from conversations.notifications.notification import Notification, NotificationType
from conversations.outbox.making_room import make_room
from conversations.outbox.rows import MessageRow, approvals_partition, messages_of
from conversations.providers import credentials
from conversations.receiving import worker as receiving
from conversations.receiving.approvals import approve
from conversations.receiving.handling import handle
from conversations.receiving.leaving import return_to_ai
from conversations.receiving.opt_outs import note_refused
from conversations.receiving.stage import StageReceiver
from conversations.receiving.witnessing import WitnessedPair, pair_of, request_look
from conversations.receiving.worker import Receiver
from conversations.sending.replies import enqueue as bring
from conversations.timers.lateness import TIMER
from conversations.timers.looking import process_conversation
from conversations.work.parts import insight_worker, reconciler, walkers
from demo.provider import DemoProvider
from demo.receiver import WebhookReceiver
from tests import faults
from tests.answers import body_of
from tests.crawl.access.routes import in_order
from tests.dynamodb import SeenCall, to_dynamodb
from tests.people import OTHER_COMPANY, signed_in
from tests.scenario import HTMX, build, posts, urls
from tests.scenario.messages import HELD_AT
from tests.store.conversations.attention.test_attention import ago, later, ring, set_levels
from tests.store.conversations.receiving.test_handling import OURS
from tests.store.conversations.sending.conftest import _secrets_endpoint, outbox, provider, secrets  # noqa: F401
from tests.support.conversations.full_items import LIMIT, put_full
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    stored,
)
from tests.support.conversations.indexer import kit as indexing
from tests.support.conversations.insight.kit import rebuild
from tests.support.conversations.replies import (
    EMAIL,
    OUR_EMAIL,
    PARTITION,
    SECRET,
    configured,
    held,
    send_all_due,
    write,
)
from tests.support.conversations.witnessing import watched

# What a transaction does, as IAM asks for it.
INSIDE = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
Needed = tuple[str, str, str]
WEBHOOK = DestinationValues("Help desk", DestinationKind.WEBHOOK, "https://hooks.example.com", types_for(""))
JO = "jo@example.com"
EARLIER = clock.to_iso(clock.now() - timedelta(minutes=20))


def needed(calls: Iterable[SeenCall]) -> Iterator[Needed]:
    """Table, action and index of what IAM is asked for."""
    for call in calls:
        if call.operation == "TransactWriteItems":
            for item in call.request["TransactItems"]:
                yield from ((key_of(request["TableName"]), INSIDE[name], "") for name, request in item.items())
        else:
            yield from ((table, call.operation, call.index) for table in call.tables)


def partitions(calls: Iterable[SeenCall]) -> Iterator[str]:
    """The partition keys of CONSOLE that IAM is asked for."""
    for call in calls:
        request = call.request
        if "TransactItems" in request:
            asked = [each for item in request["TransactItems"] for each in item.values()]
        elif "RequestItems" in request:
            asked = [
                {"TableName": name, "Key": key}
                for name, each in request["RequestItems"].items()
                for key in each["Keys"]
            ]
        else:
            asked = [request]
        for each in asked:
            if key_of(each["TableName"]) == "CONSOLE" and not call.operation.startswith("Describe"):
                key = _queried(each) if call.operation == "Query" else (each.get("Key") or each["Item"])["pk"]
                yield key["S"]


def _queried(request: dict[str, Any]) -> dict[str, str]:
    names = {"pk": "pk"} | request.get("ExpressionAttributeNames", {})
    sides = re.findall(r"(#?\w+) = (:\w+)", request["KeyConditionExpression"])
    [value] = [value for side, value in sides if names.get(side) == "pk"]
    return request["ExpressionAttributeValues"][value]


def keys_of(accesses: Iterable[Access]) -> tuple[str, ...]:
    [keys] = [access.keys for access in accesses if access.table == "CONSOLE"]
    return keys


def beyond(calls: Iterable[SeenCall], accesses: Iterable[Access]) -> set[str]:
    """The partitions of CONSOLE that a policy does not allow."""
    patterns = keys_of(accesses)
    return {key for key in partitions(calls) if not any(fnmatchcase(key, pattern) for pattern in patterns)}


def allowed(accesses: Iterable[Access]) -> set[Needed]:
    found = {(access.table, action, "") for access in accesses for action in access.actions}
    return found | {(access.table, "Query", index) for access in accesses for index in access.indexes}


def queue_actions(monkeypatch, answer: Callable[..., dict[str, Any]] = queues._call) -> set[str]:
    """What is asked of queues from now on, as IAM asks for it."""
    asked: set[str] = set()

    def noting(operation: str, **request: Any) -> dict[str, Any]:
        asked.add("".join(map(str.capitalize, operation.removesuffix("_batch").split("_"))))
        return answer(operation, **request)

    monkeypatch.setattr(queues, "_call", noting)
    return asked


def fresh() -> None:
    presence.forget()
    caching.invalidate_all()


def decided_and_left(store, settings) -> None:
    """A first message approved and a reply left to the AI, which need queues: what DynamoDB is asked for."""
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": "https://sqs.invalid/whatsapp"}
    stage_and_lock(settings)
    first = seal("first message", approvals_partition(COMPANY), f"{HELD_AT}#to approve")
    approve(first, ANA)
    put(store, auto_queue_reply_message=True)
    written = {"message_sid": "SM1", "from": CHANNEL, "body": "Where is it?", **KEY}
    handle(json.dumps(written), clock.now(), "queue", "d1")
    stage_answered(store)
    leave_to_ai()
    again = {"message_id": "SM2", "role": "user", "content": "Where?"}
    store.update("CONVERSATIONS", KEY, hand_off_attention="failed", messages=[again])
    leave_to_ai()


def stage_and_lock(settings) -> None:
    """Both tables of the platform's replies are configured."""
    keys = ("CONVERSATIONS_STAGE", "CONVERSATIONS_TRIGGER_LOCK")
    settings.TABLE_NAMES = settings.TABLE_NAMES | {key: table_name(key) for key in keys}


def stage_answered(store) -> None:
    """A message to people that somebody has answered is still staged."""
    row = {"conversation_id": CONVERSATION, "message_sid": "SM0", "body": "Hi?", "received_at": "2026-01-31T09:00:00"}
    store.put("CONVERSATIONS_STAGE", row)
    said = [{"message_id": "SM0", "role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello"}]
    item = stored(store)
    ids = {"SM0", *item.get("hand_off_message_ids", ())}
    store.update("CONVERSATIONS", KEY, messages=[*said, *item["messages"]], hand_off_message_ids=ids)


def leave_to_ai() -> None:
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    shown = messages_of(item, item.raw.get("messages")).unanswered_mark
    return_to_ai(form(HandOffAction.LEAVE_TO_AI), ANA, shown=shown)


def test_the_web_servers_may_do_what_pages_and_forms_do_and_nothing_else(store, settings, monkeypatch):
    asked = queue_actions(monkeypatch, answer=lambda *_, **__: {})
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
        assert beyond(seen, WEB) == set()
    with store.calls() as seen:
        decided_and_left(store, settings)
    found |= set(needed(seen))
    assert beyond(seen, WEB) == set()
    # The system page of an environment that is not for development.
    settings.TABLE_NAMES = {access.table: table_name(access.table) for access in WEB}
    settings.CONSOLE_ENV = "staging"
    with store.calls() as seen:
        inspect()
    found |= set(needed(seen))
    assert (
        asked == {each for access in QUEUES["web"] for each in access.actions} == {"GetQueueAttributes", "SendMessage"}
    )
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


def left_untold(store) -> None:
    """A conversation that waits for a group, whose members could not be told."""
    members = {"pk": f"GROUPS#{COMPANY}", "sk": "second", "name": "Second line", "members": ["ben"], "version": 1}
    store.put("CONSOLE", members)
    put(store, **WAITING)
    with faults.fail_before("PutItem", table_key="CONSOLE", times=faults.ALWAYS):
        perform(form(HandOffAction.HAND_OVER), ANA, to="second")


def test_the_indexer_may_do_what_it_does_and_nothing_else(store, settings):
    build(store)
    settings.OUTBOX_QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/outbox.fifo"
    # What a person decided is written over by a reply that was being written: restored, on record.
    put(store, conversation_status="processing")
    perform(form("take_over"), ANA)
    indexing.drops(store, clock.to_iso(clock.now() + timedelta(seconds=5)))
    fresh()
    with store.calls() as seen:
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        # The platform asks anew: an edge in the stream, with an entry of its own.
        indexing.drops(store, clock.to_iso(clock.now() + timedelta(seconds=8)))
        indexing.asks(store, clock.to_iso(clock.now() + timedelta(seconds=9)))
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        # One that moves to another company, and one that goes.
        for number, company in enumerate((COMPANY, OTHER_COMPANY)):
            put(store, conversation_id=f"moves-{number}", company_id=COMPANY)
            call_command("work", "--only", "indexer", "--once", verbosity=0)
            key = KEY | {"conversation_id": f"moves-{number}"}
            if company == COMPANY:
                store.delete("CONVERSATIONS", **key)
            else:
                store.update("CONVERSATIONS", key, company_id=company)
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        # One whose messages go to people.
        watched(store)
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        # One that somebody takes, whose customer writes to the AI in another one with the same number.
        stage_and_lock(settings)
        taken_beside_another(store)
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        # A sweep looks at every partition of the queue, first messages included.
        enter(QueueState.APPROVE.of(COMPANY), EARLIER)
        call_command("index_handoffs", "--sweep", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as settling:
        # As it does where it cannot tell by itself what became of an action.
        settle(CONVERSATION, actor=PLATFORM)
    put_full(store, LIMIT, **WAITING)
    with store.calls() as noting:
        call_command("work", "--only", "indexer", "--once", verbosity=0)
    make_room(CHANNEL, CONVERSATION, ANA)
    with store.calls() as removing:
        call_command("work", "--only", "indexer", "--once", verbosity=0)
        store.delete("CONVERSATIONS", **KEY)
        call_command("work", "--only", "indexer", "--once", verbosity=0)
    seen += [*settling, *noting, *removing]
    assert set(needed(seen)) - allowed(INDEXER) == set(), "the policy lacks these"
    assert beyond(seen, INDEXER) == set()
    assert allowed(INDEXER) - set(needed(seen)) == set(), "nothing needs these"


# The parts of the attributes' names that say between whom a conversation is, by channel.
BETWEEN = (
    ("whatsapp", "whatsapp_number", CHANNEL),
    ("sms", "sms_number", CHANNEL),
    ("email", "email", JO),
)


def of_channel(item: dict[str, Any], channel: str, ours: str, customer: str, name: str = "") -> dict[str, Any]:
    """A conversation on a channel, found by the two numbers or addresses."""
    index = {f"gsi_company_{ours}": OURS, f"gsi_recipient_{'email' if customer == JO else 'tel'}": customer}
    return {**item, **index, "recipient_email": JO, "conversation_id": f"{COMPANY}#p#{name}{channel}"}


def taken_beside_another(store) -> None:
    """On each channel, a conversation that somebody has, and an older one with a message for the AI."""
    item = put(store)
    for channel, ours, customer in BETWEEN:
        more = {"channel_method": channel, **({"gsi_company_email": OUR_EMAIL} if channel == "email" else {})}
        other = of_channel(item, channel, ours, customer, "old-") | more
        store.put("CONVERSATIONS", other)
        staged = {"conversation_id": other["conversation_id"], "message_sid": channel, "body": "Hello?"}
        store.put("CONVERSATIONS_STAGE", {**staged, "primary_channel": CHANNEL})
        store.put("CONVERSATIONS", of_channel(item, channel, ours, customer) | more | held_by("ana"))


def sent_to_people(store, url: str) -> None:
    """What the receiver gets: replies by key and by each kind of number, a first message, and one of nobody's."""
    written = {"message_sid": "SM1", "to": OURS, "body": "Where is it?"}
    item = put(store, auto_queue_reply_message=True)
    queues.send(url, json.dumps({**written, "from": CHANNEL, **KEY}))
    for channel, ours, sender in BETWEEN:
        store.put("CONVERSATIONS", of_channel(item, channel, ours, sender))
        queues.send(url, json.dumps({**written, "message_sid": channel, "from": sender, "channel_type": channel}))
    queues.send(url, json.dumps({"company_data_payload": {"company_id": COMPANY, "channel_method": "whatsapp"}}))
    queues.send(url, "{")


def staged(store) -> None:
    """What the platform stages: of a conversation that people have, also where it does not say its channel."""
    put(store, auto_queue_reply_message=True, hand_off_action_id="before")
    store.put("CONVERSATIONS_STAGE", {**KEY, "message_sid": "S1", "body": "Hello?"})
    store.put("CONVERSATIONS", {**stored(store), "conversation_id": "odd"})
    store.put("CONVERSATIONS_STAGE", {"conversation_id": "odd", "message_sid": "S2", "body": "Hello?"})
    ai = {"conversation_id": "ai", "auto_queue_reply_message": False, "gsi_company_whatsapp_number": OURS}
    store.put("CONVERSATIONS", {**stored(store), **ai})
    store.put("CONVERSATIONS_STAGE", {**KEY, "conversation_id": "ai", "message_sid": "S3", "body": "Hello?"})


def test_the_receiver_may_do_what_it_does_and_nothing_else(store, queue, settings, monkeypatch):
    asked = queue_actions(monkeypatch)
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queues.client().create_queue(QueueName="whatsapp")["QueueUrl"]}
    stage_and_lock(settings)
    monkeypatch.setattr(receiving, "AGAIN_SECONDS", 0)
    sent_to_people(store, queue)
    fresh()
    asked.clear()
    with store.calls() as seen:
        with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
            Receiver().step(wait=0)
        call_command("work", "--only", "receiver", "--once", verbosity=0)
        # What processes that died left to be done.
        receiving.sweep(clock.now() + timedelta(hours=1))
    stage_answered(store)
    with faults.fail_before("DeleteItem", table_key="CONVERSATIONS_STAGE", times=faults.ALWAYS):
        leave_to_ai()
    with store.calls() as later:
        receiving.sweep(clock.now() + timedelta(hours=1))
        # The row that it noted is over once the platform has written the words with its answer.
        words = {"message_id": "SM1", "role": "user", "content": "Where is it?", "timestamp": clock.to_iso(clock.now())}
        store.update("CONVERSATIONS", KEY, messages=[*stored(store)["messages"], words])
        receiving.sweep(clock.now() + timedelta(hours=2))
        staged(store)
        StageReceiver().run(once=True)
        # What the AI has not taken within a minute.
        receiving.sweep(clock.now() + timedelta(hours=1))
    left_open(store, gone=True)
    with store.calls() as settling:
        # As it does where it cannot tell by itself what became of a request.
        settle(CONVERSATION, actor=BY_RULE)
    found = set(needed([*seen, *later, *settling]))
    assert beyond([*seen, *later, *settling], RECEIVER) == set()
    assert found - allowed(RECEIVER) == set(), "the policy lacks these"
    assert allowed(RECEIVER) - found == set(), "nothing needs these"
    assert asked == {each for access in QUEUES["receiver"] for each in access.actions}


def dropped_by_platform(store, provider: DemoProvider) -> list[str]:  # noqa: F811
    """What only the provider has, of a conversation that somebody holds, and of one that nobody has asked for yet.

    Returns the partition of a pair whose conversations have gone back.
    """
    times = {"created_at": ago(hours=2), "hand_off_routed_at": ago(hours=1)}
    number = "+447700900188"
    sms = {"channel_method": "sms", "gsi_company_sms_number": OURS, "gsi_recipient_tel": number}
    config = {"channel_config": {"sms": configured("sms")}, "recipient_tel": number}
    returned = WitnessedPair("whatsapp", OURS, "+447700900199", SECRET, COMPANY)
    watched(store, **times)
    put(store, **times, **sms, **config, primary_channel=number, auto_queue_reply_message=True)
    for sender, recipient in ((f"whatsapp:{CHANNEL}", f"whatsapp:{OURS}"), (number, OURS)):
        provider.receive(sender, recipient, "dropped", ago=timedelta(minutes=2))
    provider.receive("whatsapp:+447700900199", f"whatsapp:{OURS}", "to nobody", ago=timedelta(minutes=2))
    # A service of the platform has recorded one.
    record = {"event_id": f"evt:rp:{CONVERSATION}:SM2", "created_at": ago(minutes=2), "mode": "live"}
    store.put("IDEMPOTENCY", record)
    provider.receive(f"whatsapp:{CHANNEL}", f"whatsapp:{OURS}", "recorded", ago=timedelta(minutes=2), name="SM2")
    request_look(returned)
    for key in (KEY, KEY | {"primary_channel": number}):
        pair = pair_of(Conversation.get(*key.values(), consistent_read=True))
        assert pair is not None
        request_look(pair)
    return [returned.partition]


def test_the_sender_may_do_what_it_does_and_nothing_else(store, outbox, provider, settings, monkeypatch):  # noqa: F811
    asked = queue_actions(monkeypatch)
    for name in ("RECEIPTS", "SENDING_SERVICE"):
        attributes = {"FifoQueue": "true"} if name != "RECEIPTS" else {}
        made = queues.client().create_queue(
            QueueName=f"{name}{'.fifo' if attributes else ''}".lower(), Attributes=attributes
        )
        setattr(settings, f"{name}_QUEUE_URL", made["QueueUrl"])
    stage_and_lock(settings)
    held(store, auto_queue_reply_message=True, hand_off_message_ids={"SM1"})
    at = (clock.now() - timedelta(minutes=5)).replace(tzinfo=None)
    store.put("CONVERSATIONS_STAGE", {**KEY, "message_sid": "SM1", "body": "Hi?", "received_at": at.isoformat()})
    bring(write(ANA, "Sent."))
    fresh()
    asked.clear()
    with store.calls() as seen:
        send_all_due()
        settings.REPLY_UNDO_SECONDS = 10
        bring(write(ANA, "Later."))
        send_all_due()
    own = {("IDEMPOTENCY", "PutItem", ""), ("MESSAGES", "PutItem", ""), ("CONSOLE", "UpdateItem", "")}
    settings.REPLY_UNDO_SECONDS = 0
    settings.REPLY_PROVIDERS = {"whatsapp": "outbox-only"}
    bring(write(ANA, "By a service."))
    with store.calls() as more:
        send_all_due()
        later = clock.now() + timedelta(minutes=11)
        monkeypatch.setattr(clock, "now", lambda: later)
        settings.REPLY_PROVIDERS = {"whatsapp": "twilio", "sms": "twilio"}
        send_all_due()
        credentials.note_problem("secret", "it is missing")
        credentials.note_works("secret")
        for channel, ours, theirs in (("sms", OURS, CHANNEL), ("whatsapp", OURS, CHANNEL), ("email", OUR_EMAIL, EMAIL)):
            refused = {"channel": channel, "sender": ours, "recipient": theirs, "company_id": "ci-aaa-001"}
            note_refused(MessageRow(PARTITION, "refused", **refused))
        queues.send(settings.RECEIPTS_QUEUE_URL, "no receipt")
        send_all_due()
    [gone] = dropped_by_platform(store, provider)
    fresh()
    with store.calls() as witnessed:
        send_all_due()
    assert sum(row.get("source") == "provider" for row in store.all("MESSAGES")) == 4
    assert gone not in {row["conversation"] for row in store.all("MESSAGES")}
    found = set(needed([*seen, *more, *witnessed])) - (own - allowed(SENDER))
    # Who wrote a reply is counted.
    assert {each.partition("#")[0] for each in beyond([*seen, *more, *witnessed], SENDER)} <= {"THROTTLE"}
    assert found - allowed(SENDER) == set(), "the policy lacks these"
    assert allowed(SENDER) - found == set(), "nothing needs these"
    assert asked == {each for access in QUEUES["sender"] for each in access.actions}


def test_the_timers_may_do_what_they_do_and_nothing_else(store, monkeypatch, settings):
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    set_levels(store, first_answer=10, return_after=45)
    add("", WEBHOOK, ADMIN)
    put(store, **held_by("ana", hand_off_requested_at=ago(minutes=5), hand_off_taken_at=ago(minutes=4)))
    plan_next(to_dynamodb(stored(store)), clock.now())
    # Asked for, and counted as two episodes, which are one by now.
    indexing.asks(store, ago(minutes=5))
    entries.save_request_once(entries.request_in(to_dynamodb(stored(store)), ago(minutes=5)))
    times = (ago(minutes=1), clock.to_iso(clock.now() + timedelta(days=8)))
    messages = [{"role": "user", "message_id": each, "content": "x", "timestamp": each} for each in times]
    store.update("CONVERSATIONS", KEY, messages=messages)
    rebuild(to_dynamodb(stored(store)))
    store.update("CONVERSATIONS", KEY, messages=messages[:1])
    # A first message whose count is due.
    enter(QueueState.APPROVE.of(COMPANY), EARLIER)
    later(monkeypatch, hours=1)
    fresh()
    with store.calls() as seen:
        ring()
        put(store, conversation_status="processing", updated_at=ago(hours=1))
        plan_next(to_dynamodb(stored(store)), clock.now())
        process_conversation(to_dynamodb(KEY))
        # A worker died long ago, and left what a person has answered since.
        asked = {"message_id": "SM1", "role": "user", "content": "Hi?"}
        since = {"hand_off_requested_at": ago(minutes=1), "hand_off_taken_at": ago(minutes=1)}
        put(store, **held_by("ana", **since), conversation_status="processing_reply", messages=[asked])
        store.put("CONVERSATIONS_STAGE", {**KEY, "message_sid": "SM1", "body": "Hi?", "received_at": ago(hours=1)})
        process_conversation(to_dynamodb(KEY))
        later(monkeypatch, minutes=16)
        process_conversation(to_dynamodb(KEY))
    left_open(store, gone=True)
    with store.calls() as settling:
        settle(CONVERSATION, actor=TIMER)
    found = set(needed([*seen, *settling]))
    assert beyond([*seen, *settling], TIMERS) == set()
    assert found - allowed(TIMERS) == set(), "the policy lacks these"
    assert allowed(TIMERS) - found == set(), "nothing needs these"


def test_the_notifier_may_do_what_it_does_and_nothing_else(store, settings):
    settings.NOTIFICATIONS_ALLOWED_HOSTS = ["127.0.0.1"]
    with WebhookReceiver() as receiver:
        receiver.answer = lambda request, _: request.send_error(410)
        there = add("", replace(WEBHOOK, address=receiver.endpoint), ADMIN)
        send_test(find("", there), ADMIN)
        announce([Notification("n", NotificationType.WAITING, clock.now(), COMPANY)])
        fresh()
        with store.calls() as seen:
            call_command("work", "--only", "notifier", "--once", verbosity=0)
    found = set(needed(seen))
    assert beyond(seen, NOTIFIER) == set()
    assert found - allowed(NOTIFIER) == set(), "the policy lacks these"
    assert allowed(NOTIFIER) - found == set(), "nothing needs these"


def test_a_policy_names_topics_and_the_sender_of_emails_for_the_notifier_alone(settings):
    settings.AWS_REGION = "eu-west-1"
    settings.NOTIFICATIONS_TOPIC_PREFIX, settings.NOTIFICATIONS_FROM_EMAIL = "alerts-", "console@example.com"
    for name in POLICIES:
        found = [each for each in document(name, "1")["Statement"] if each["Sid"] in ("Topics", "Emails")]
        if name not in ("notifier", "work"):
            assert not found
            continue
        topics, emails = found
        assert (topics["Action"], topics["Resource"]) == (["sns:Publish"], ["arn:aws:sns:*:1:alerts-*"])
        assert (emails["Action"], emails["Resource"]) == (["ses:SendEmail"], ["arn:aws:ses:eu-west-1:1:identity/*"])
        assert emails["Condition"] == {"StringEquals": {"ses:FromAddress": "console@example.com"}}
    settings.NOTIFICATIONS_FROM_EMAIL = ""
    assert not [each for each in document("notifier")["Statement"] if each["Sid"] == "Emails"]


def test_a_policy_names_the_secrets_of_the_sender_alone(settings):
    settings.AWS_REGION, settings.OUTBOX_QUEUE_URL = "eu-west-1", "https://sqs.eu-west-1.amazonaws.com/2/outbox.fifo"
    settings.SECRET_NAMES = ["whatsapp/{company}/*", "email/*"]
    for name in POLICIES:
        found = [each for each in document(name, "1")["Statement"] if "secretsmanager" in str(each["Action"])]
        assert bool(found) == (name in ("sender", "work")), name
        for each in found:
            assert each["Action"] == ["secretsmanager:GetSecretValue"]
            assert each["Resource"] == [
                f"arn:aws:secretsmanager:eu-west-1:1:secret:{x}" for x in ("whatsapp/*/*", "email/*")
            ]


def test_the_policies_fit_into_what_iam_takes_of_one_role(settings):
    """docs/install.md puts one inline and makes the other a managed policy; IAM counts no white space."""
    settings.AWS_REGION = "ap-southeast-2"
    queue = "https://sqs.ap-southeast-2.amazonaws.com/123456789012/a-queue-with-a-name-of-some-length"
    settings.HANDOFF_QUEUE_URL, settings.RECEIPTS_QUEUE_URL = queue, queue
    settings.OUTBOX_QUEUE_URL = settings.SENDING_SERVICE_QUEUE_URL = f"{queue}.fifo"
    settings.CHANNEL_QUEUE_URLS = dict.fromkeys(("whatsapp", "sms", "email"), queue)
    web, work = (len("".join(json.dumps(document(name, "123456789012")).split())) for name in ("web", "work"))
    assert web <= 10_240
    assert work <= 6_144


def test_work_may_do_what_its_parts_may():
    parts = (INDEXER, TIMERS, INSIGHT, RECEIVER, SENDER, NOTIFIER, RECONCILE)
    assert allowed(WORK) == set().union(*map(allowed, parts))
    assert {access.table for access in WORK if access.stream} == {"CONVERSATIONS", "CONVERSATIONS_STAGE"}
    assert len({access.table for access in WORK}) == len(WORK)
    assert QUEUES["work"] == QUEUES["receiver"] + QUEUES["sender"]


def test_a_policy_names_the_queues_that_are_configured(settings):
    settings.AWS_REGION = "eu-west-1"
    settings.HANDOFF_QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/210987654321/handoff"
    settings.CHANNEL_QUEUE_URLS = {"sms": "https://sqs.eu-west-1.amazonaws.com/210987654321/sms"}
    queue, channels = [each for each in document("receiver")["Statement"] if "Queue" in each["Sid"]]
    assert queue["Action"] == ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]
    assert queue["Resource"] == ["arn:aws:sqs:eu-west-1:210987654321:handoff"]
    assert channels["Action"] == ["sqs:SendMessage"]
    assert channels["Resource"] == ["arn:aws:sqs:eu-west-1:210987654321:sms"]
    settings.HANDOFF_QUEUE_URL, settings.CHANNEL_QUEUE_URLS = "", {}
    assert not [each for each in document("receiver")["Statement"] if "Queue" in each["Sid"]]


def test_reconcile_may_do_what_it_does_and_nothing_else(store, monkeypatch):
    left_open(store, gone=False)
    fresh()
    with store.calls() as seen, monkeypatch.context() as patch:
        patch.setattr("conversations.work.parts.reconcile", partial(reconcile, older_than=timedelta(0)))
        call_command("work", "--only", "reconcile", "--once", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as named:
        call_command("reconcile", "--older-than", "0s", "--conversation", CONVERSATION, verbosity=0)
    left_untold(store)
    fresh()
    with store.calls() as told:
        reconciler(now=lambda: clock.now() + timedelta(days=1)).run(once=True)
    assert notices_for("ben")
    seen += [*named, *told]
    assert set(needed(seen)) - allowed(RECONCILE) == set(), "the policy lacks these"
    assert beyond(seen, RECONCILE) == set()
    assert allowed(RECONCILE) - set(needed(seen)) == set(), "nothing needs these"


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_names_this_environments_tables_and_no_star_but_a_streams(name, settings):
    settings.AWS_REGION = "eu-west-1"
    settings.OUTBOX_QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/outbox.fifo"
    settings.HANDOFF_QUEUE_URL = ""
    made = document(name, "123456789012")
    for statement in made["Statement"]:
        if statement["Sid"] in ("Secrets", "Topics"):
            # Of every company; which those are, other tests say.
            continue
        service, prefix = ("sqs", "") if "Queue" in statement["Sid"] else ("dynamodb", "table/")
        assert all(action.startswith(f"{service}:") and "*" not in action for action in statement["Action"])
        for resource in statement["Resource"]:
            assert resource.startswith(f"arn:aws:{service}:eu-west-1:123456789012:{prefix}")
            assert "*" not in resource or resource.endswith("/stream/*")
    sids = [statement["Sid"] for statement in made["Statement"]]
    assert len(set(sids)) == len(sids)
    assert all(sid.isalnum() for sid in sids)


def test_insight_may_do_what_it_does_and_nothing_else(store, settings, monkeypatch):
    settings.INSIGHT_WALK_HOURS = 0
    build(store)
    said = [{"role": "user", "metadata": {"timestamp": EARLIER}}]
    store.put("TENANT_CONVERSATIONS", {"pk": "outlocks", "sk": "c", "messages": json.dumps(said)})
    put(store)
    entry = {"ts_action_id": f"{EARLIER}#1", "action_type": "route", "result": "success"}
    store.put("AUDIT", {"conversation_id": CONVERSATION, **entry})
    # Nobody's until its company is known, which moves what was known of it.
    store.put("AUDIT", {"conversation_id": "later", **entry})
    # A budget that is reached, which somebody is told of.
    add("", WEBHOOK, ADMIN)
    store.update("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY}, amount="0.001")
    fresh()
    # What the indexer does after a write is no call of Insight's.
    store.after_write = None
    with store.calls() as seen:
        walk_over_everything()
        store.put("CONVERSATIONS", {**stored(store), "conversation_id": "later"})
        store.put("AUDIT", {"conversation_id": "later", **entry, "ts_action_id": f"{EARLIER}#2"})
        walk_over_everything()
        insight_worker().run(once=True)
        # When facts of a day can no longer be on their way, its mark goes.
        later(monkeypatch, hours=1)
        insight_worker(now=lambda: clock.now()).run(once=True)
    found = set(needed(seen))
    assert beyond(seen, INSIGHT) == set()
    assert found - allowed(INSIGHT) == set(), "the policy lacks these"
    assert allowed(INSIGHT) - found == set(), "nothing needs these"


def walk_over_everything() -> None:
    for walker in walkers().values():
        for _ in range(20):
            walker.cycle()
        walker.lease.give_back()
