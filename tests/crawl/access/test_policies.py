"""The IAM policies are sufficient and minimal: they are exactly what every page, every form and every job calls."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from console import caching, clock
from console.errors import StoreUnavailable
from console.refs import seal
from console.schema.check import inspect
from console.schema.policies import (
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
from console.staff.models import StaffAccount
from console.store import presence, queues
from console.store.calls import key_of, table_name
from console.trail.recording import PLATFORM
from conversations.attention.lateness import TIMER
from conversations.attention.looking import process_conversation
from conversations.attention.planning import plan_next
from conversations.handoff import HandOffAction, perform, settle
from conversations.handoff.stored import BY_RULE
from conversations.indexer import entries
from conversations.insight import budgets
from conversations.insight.writing import note
from conversations.notices import notices_for
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.deliveries import announce, send_test
from conversations.notifications.destinations import DestinationValues, add, find, types_for
from conversations.notifications.notification import Notification, NotificationType
from conversations.receiving import worker as receiving
from conversations.receiving.approvals import approve
from conversations.receiving.handling import handle
from conversations.receiving.leaving import leave_to_ai
from conversations.receiving.rows import approvals_partition
from conversations.receiving.stage import StageReceiver
from conversations.receiving.worker import Receiver
from conversations.sending import credentials
from conversations.sending.outbox import enqueue as bring
from conversations.work import insight_worker, walkers
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
from tests.support.conversations.replies import held, send_all_due, write

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
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    first = seal("first message", approvals_partition(COMPANY), f"{HELD_AT}#to approve")
    approve(first, ANA)
    put(store, auto_queue_reply_message=True)
    written = {"message_sid": "SM1", "from": CHANNEL, "body": "Where is it?", **KEY}
    handle(json.dumps(written), clock.now(), "queue", "d1")
    leave_to_ai(form(HandOffAction.LEAVE_TO_AI), ANA)
    again = {"message_id": "SM2", "role": "user", "content": "Where?"}
    store.update("CONVERSATIONS", KEY, hand_off_attention="failed", messages=[again])
    leave_to_ai(form(HandOffAction.LEAVE_TO_AI), ANA)


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
    with store.calls() as seen:
        decided_and_left(store, settings)
    found |= set(needed(seen))
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
        # One that moves to another company, and one that goes.
        for number, company in enumerate((COMPANY, OTHER_COMPANY)):
            put(store, conversation_id=f"moves-{number}", company_id=COMPANY)
            call_command("index_handoffs", "--once", verbosity=0)
            key = KEY | {"conversation_id": f"moves-{number}"}
            if company == COMPANY:
                store.delete("CONVERSATIONS", **key)
            else:
                store.update("CONVERSATIONS", key, company_id=company)
        call_command("index_handoffs", "--once", verbosity=0)
        call_command("index_handoffs", "--sweep", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as settling:
        # As it does where it cannot tell by itself what became of an action.
        settle(CONVERSATION, actor=PLATFORM)
    seen += settling
    assert set(needed(seen)) - allowed(INDEXER) == set(), "the policy lacks these"
    assert allowed(INDEXER) - set(needed(seen)) == set(), "nothing needs these"


def sent_to_people(store, url: str) -> None:
    """What the receiver gets: replies by key and by each kind of number, a first message, and one of nobody's."""
    written = {"message_sid": "SM1", "to": OURS, "body": "Where is it?"}
    item = put(store, auto_queue_reply_message=True)
    queues.send(url, json.dumps({**written, "from": CHANNEL, **KEY}))
    for channel, ours, sender in (
        ("whatsapp", "whatsapp_number", CHANNEL),
        ("sms", "sms_number", CHANNEL),
        ("email", "email", JO),
    ):
        index = {f"gsi_company_{ours}": OURS, f"gsi_recipient_{'email' if sender == JO else 'tel'}": sender}
        recipient = {"recipient_email": JO, "conversation_id": f"{COMPANY}#p#{channel}"}
        store.put("CONVERSATIONS", {**item, **index, **recipient})
        queues.send(url, json.dumps({**written, "message_sid": channel, "from": sender, "channel_type": channel}))
    queues.send(url, json.dumps({"frontend_payload": {"company_id": COMPANY, "channel_method": "whatsapp"}}))
    queues.send(url, "{")


def staged(store) -> None:
    """What the platform stages: of a conversation that people have, also where it does not say its channel."""
    put(store, auto_queue_reply_message=True, hand_off_action_id="before")
    store.put("CONVERSATIONS_STAGE", {**KEY, "message_sid": "S1", "body": "Hello?"})
    store.put("CONVERSATIONS", {**stored(store), "conversation_id": "odd"})
    store.put("CONVERSATIONS_STAGE", {"conversation_id": "odd", "message_sid": "S2", "body": "Hello?"})


def test_the_receiver_may_do_what_it_does_and_nothing_else(store, queue, settings, monkeypatch):
    asked = queue_actions(monkeypatch)
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queues.client().create_queue(QueueName="whatsapp")["QueueUrl"]}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    monkeypatch.setattr(receiving, "AGAIN_SECONDS", 0)
    sent_to_people(store, queue)
    fresh()
    asked.clear()
    with store.calls() as seen:
        with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
            Receiver().step(wait=0)
        call_command("receive_messages", "--once", verbosity=0)
        # What processes that died left to be done.
        receiving.sweep(clock.now() + timedelta(hours=1))
    with faults.fail_before("PutItem", table_key="CONVERSATIONS_STAGE"):
        leave_to_ai(form(HandOffAction.LEAVE_TO_AI), ANA)
    with store.calls() as later:
        receiving.sweep(clock.now() + timedelta(hours=1))
        staged(store)
        StageReceiver().run(once=True)
    left_open(store, gone=True)
    with store.calls() as settling:
        # As it does where it cannot tell by itself what became of a request.
        settle(CONVERSATION, actor=BY_RULE)
    found = set(needed([*seen, *later, *settling]))
    assert found - allowed(RECEIVER) == set(), "the policy lacks these"
    assert allowed(RECEIVER) - found == set(), "nothing needs these"
    assert asked == {each for access in QUEUES["receiver"] for each in access.actions}


def test_the_sender_may_do_what_it_does_and_nothing_else(store, outbox, settings, monkeypatch):  # noqa: F811
    asked = queue_actions(monkeypatch)
    for name in ("RECEIPTS", "SENDING_SERVICE"):
        attributes = {"FifoQueue": "true"} if name != "RECEIPTS" else {}
        made = queues.client().create_queue(
            QueueName=f"{name}{'.fifo' if attributes else ''}".lower(), Attributes=attributes
        )
        setattr(settings, f"{name}_QUEUE_URL", made["QueueUrl"])
    held(store)
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
        settings.REPLY_PROVIDERS = {"whatsapp": "twilio"}
        send_all_due()
        credentials.note_problem("secret", "it is missing")
        credentials.note_works("secret")
        queues.send(settings.RECEIPTS_QUEUE_URL, "no receipt")
        send_all_due()
    found = set(needed([*seen, *more])) - (own - allowed(SENDER))
    assert found - allowed(SENDER) == set(), "the policy lacks these"
    assert allowed(SENDER) - found == set(), "nothing needs these"
    assert asked == {each for access in QUEUES["sender"] for each in access.actions}


def test_the_timers_may_do_what_they_do_and_nothing_else(store, monkeypatch):
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
    note(to_dynamodb(stored(store)))
    store.update("CONVERSATIONS", KEY, messages=messages[:1])
    later(monkeypatch, hours=1)
    fresh()
    with store.calls() as seen:
        ring()
        put(store, conversation_status="processing", updated_at=ago(hours=1))
        plan_next(to_dynamodb(stored(store)), clock.now())
        process_conversation(to_dynamodb(KEY))
    left_open(store, gone=True)
    with store.calls() as settling:
        settle(CONVERSATION, actor=TIMER)
    found = set(needed([*seen, *settling]))
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
            call_command("send_notifications", "--once", verbosity=0)
    found = set(needed(seen))
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
        assert (topics["Action"], topics["Resource"]) == (["sns:Publish"], ["arn:aws:sns:*:*:alerts-*"])
        assert (emails["Action"], emails["Resource"]) == (["ses:SendEmail"], ["arn:aws:ses:eu-west-1:1:identity/*"])
        assert emails["Condition"] == {"StringEquals": {"ses:FromAddress": "console@example.com"}}
    settings.NOTIFICATIONS_FROM_EMAIL = ""
    assert not [each for each in document("notifier")["Statement"] if each["Sid"] == "Emails"]


def test_a_policy_names_the_secrets_of_the_sender_alone(settings):
    settings.AWS_REGION, settings.OUTBOX_QUEUE_URL = "eu-west-1", "https://sqs.eu-west-1.amazonaws.com/2/outbox.fifo"
    settings.SECRET_NAMES = ["whatsapp/*", "email/*"]
    for name in POLICIES:
        found = [each for each in document(name, "1")["Statement"] if "secretsmanager" in str(each["Action"])]
        assert bool(found) == (name in ("sender", "work")), name
        for each in found:
            assert each["Action"] == ["secretsmanager:GetSecretValue"]
            assert each["Resource"] == [
                f"arn:aws:secretsmanager:eu-west-1:1:secret:{x}/*" for x in ("whatsapp", "email")
            ]


def test_the_policies_fit_into_what_iam_takes_of_one_role(settings):
    """docs/operations.md puts one inline and makes the other a managed policy; IAM counts no white space."""
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


def test_reconcile_may_do_what_it_does_and_nothing_else(store):
    left_open(store, gone=False)
    fresh()
    with store.calls() as seen:
        call_command("reconcile", "--older-than", "0s", verbosity=0)
    left_open(store, gone=True)
    with store.calls() as named:
        call_command("reconcile", "--older-than", "0s", "--conversation", CONVERSATION, verbosity=0)
    left_untold(store)
    fresh()
    with store.calls() as told:
        call_command("reconcile", verbosity=0)
    assert notices_for("ben")
    seen += [*named, *told]
    assert set(needed(seen)) - allowed(RECONCILE) == set(), "the policy lacks these"
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
    assert found - allowed(INSIGHT) == set(), "the policy lacks these"
    assert allowed(INSIGHT) - found == set(), "nothing needs these"


def walk_over_everything() -> None:
    for walker in walkers().values():
        for _ in range(20):
            walker.cycle()
        walker.lease.give_back()
