"""Topics of Amazon SNS and emails by Amazon SES: what the clients of AWS really send, and what refusals become."""

import json
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

import pytest

from console import clock
from conversations.notifications import amazon
from conversations.notifications.addresses import DestinationKind
from conversations.notifications.deliveries import EMAILS_EVERY, announce, list_deliveries, send_test
from conversations.notifications.notification import NotificationType
from demo.receiver import ReceivedWebhook, WebhookReceiver
from tests.support.conversations.notifications import LEAD, TOPIC, add, bring, happened, later, pointers, rows

ACCEPTED = b"<PublishResponse><PublishResult><MessageId>m1</MessageId></PublishResult></PublishResponse>"
REFUSED = "<ErrorResponse><Error><Type>Sender</Type><Code>{}</Code><Message>canary {}</Message></Error></ErrorResponse>"


def saying(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler, ReceivedWebhook], None]:
    def answer(request: BaseHTTPRequestHandler, got: ReceivedWebhook) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


@pytest.fixture
def aws(store, receiver, settings) -> WebhookReceiver:
    """Where Amazon SNS and SES are said to be: it keeps the requests, and takes everything."""
    settings.NOTIFICATIONS_ENDPOINT, settings.NOTIFICATIONS_FROM_EMAIL = receiver.endpoint, "console@example.com"
    receiver.answer = lambda request, got: saying(200, ACCEPTED if got.path == "/" else b'{"MessageId": "m1"}')(
        request, got
    )
    return receiver


def published(aws: WebhookReceiver) -> list[dict[str, str]]:
    """What was published, as the query protocol has it."""
    return [{k: v for k, [v] in parse_qs(each.body.decode()).items()} for each in aws.received]


def emails(aws: WebhookReceiver) -> list[dict]:
    assert {each.path for each in aws.received} <= {"/v2/email/outbound-emails"}
    return [each.payload for each in aws.received]


@pytest.mark.parametrize("topic", [TOPIC, f"{TOPIC}.fifo"])
def test_a_topic_gets_what_a_webhook_gets_with_its_id_and_type(store, aws, topic):
    made = add(kind=DestinationKind.SNS, address=topic)
    announce([happened()])
    assert bring() == {"delivered": 1}
    [sent], [row] = published(aws), rows(store)
    assert (sent["Action"], sent["TopicArn"]) == ("Publish", topic)
    assert json.loads(sent["Message"]) == json.loads(row["body"])
    attributes = {
        sent[f"MessageAttributes.entry.{n}.Name"]: sent[f"MessageAttributes.entry.{n}.Value.StringValue"]
        for n in (1, 2)
    }
    assert attributes == {"id": row["notification_id"], "type": "conversation.waiting"}
    fifo = (sent.get("MessageGroupId"), sent.get("MessageDeduplicationId"))
    assert fifo == ((made.id, row["notification_id"]) if topic.endswith(".fifo") else (None, None))
    assert "/eu-west-2/sns/" in aws.received[0].headers["authorization"]


def test_a_topic_is_told_in_its_own_region(aws):
    add(kind=DestinationKind.SNS, address=TOPIC.replace("eu-west-2", "us-east-1"))
    announce([happened()])
    bring()
    assert "/us-east-1/sns/" in aws.received[0].headers["authorization"]


@pytest.mark.parametrize("code", ["AuthorizationError", "NotFound", "Throttled", "InvalidParameter"])
def test_what_a_topic_refuses_is_words_and_tried_again(store, aws, code, caplog):
    made = add(kind=DestinationKind.SNS, address=TOPIC)
    aws.answer = saying(403, REFUSED.format(code, TOPIC).encode())
    announce([happened()])
    assert bring() == {"tried": 1}
    assert [each.problem for each in list_deliveries(made.id)] == [f"Amazon SNS refused it ({code})."]
    assert "canary" not in caplog.text
    assert len(aws.received) == 1


@pytest.mark.slow
def test_emails_of_five_minutes_go_together_and_say_no_more_than_they_must(store, aws, monkeypatch):
    add(kind=DestinationKind.EMAIL, address="team@example.com")
    now = clock.floored(clock.now(), EMAILS_EVERY) + EMAILS_EVERY
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=10))
    announce([happened(name="1")])
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=4))
    announce([happened(NotificationType.OVERDUE, name="2")])
    assert bring() == {}
    monkeypatch.setattr(clock, "now", lambda: now + EMAILS_EVERY)
    assert bring() == {"delivered": 2}
    [email] = emails(aws)
    content = email["Content"]["Simple"]
    assert email["FromEmailAddress"] == "console@example.com"
    assert email["Destination"] == {"ToAddresses": ["team@example.com"]}
    assert content["Subject"]["Data"] == "2 notifications from the Conversation Console"
    text = content["Body"]["Text"]["Data"]
    assert "A conversation is waiting for a human." in text
    assert "A customer’s answer is overdue." in text
    assert "/eu-west-2/ses/" in aws.received[0].headers["authorization"]
    assert pointers(store) == []


def test_each_destinations_email_is_its_own(store, aws, monkeypatch):
    for name in ("one", "two"):
        add(kind=DestinationKind.EMAIL, address=f"{name}@example.com", name=name)
    announce([happened()])
    later(monkeypatch, EMAILS_EVERY)
    bring()
    assert sorted(each["Destination"]["ToAddresses"][0] for each in emails(aws)) == [
        "one@example.com",
        "two@example.com",
    ]


def test_a_test_is_sent_at_once_and_alone(store, aws, monkeypatch):
    made = add(kind=DestinationKind.EMAIL, address="team@example.com")
    now = clock.floored(clock.now(), EMAILS_EVERY) + EMAILS_EVERY
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=10))
    announce([happened()])
    send_test(made, LEAD)
    assert bring() == {"delivered": 1}
    [email] = emails(aws)
    assert email["Content"]["Simple"]["Subject"]["Data"] == "Test"
    assert email["Content"]["Simple"]["Body"]["Text"]["Data"].startswith("This is a test.")


def test_an_email_that_is_refused_is_tried_again_whole(store, aws, monkeypatch):
    made = add(kind=DestinationKind.EMAIL, address="team@example.com")
    announce([happened(name="1"), happened(name="2")])
    later(monkeypatch, EMAILS_EVERY)
    takes, aws.answer = aws.answer, saying(400, b'{"message": "canary"}', X_Amzn_ErrorType="MessageRejected")
    assert bring() == {"tried": 2}
    assert {each.problem for each in list_deliveries(made.id)} == {"Amazon SES refused it (MessageRejected)."}
    aws.answer = takes
    later(monkeypatch, seconds=5)
    assert bring() == {"delivered": 2}
    assert len(aws.received) == 2


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"kind": DestinationKind.SNS, "address": TOPIC}, "Amazon SNS"),
        ({"kind": DestinationKind.EMAIL, "address": "team@example.com"}, "Amazon SES"),
    ],
)
@pytest.mark.parametrize("how", ["nobody there", "nonsense", "a server's error", "no credentials"])
def test_an_aws_that_cannot_be_reached_is_words(store, aws, settings, monkeypatch, changes, name, how):
    made = add(**changes)
    send_test(made, LEAD)
    expected = f"{name} could not be reached."
    if how == "nobody there":
        aws.stop()
    elif how == "nonsense":
        aws.answer = saying(200, b"<half")
        expected = f"{name} could not be reached." if name == "Amazon SNS" else ""
    elif how == "a server's error":
        aws.answer = saying(503, b"")
        expected = f"{name} refused it (503)."
    else:
        for each in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(each)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        monkeypatch.setattr(amazon, "_client", amazon._client.__wrapped__)
    bring()
    [one] = list_deliveries(made.id) + list_deliveries(made.id, failed=True)
    assert one.problem == expected
