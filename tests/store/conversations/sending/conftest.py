"""An outbox queue, a provider and companies' secrets, each of the test's own."""

import json
from collections.abc import Iterator

import pytest

from console.store import queues
from conversations.providers import credentials
from demo.embedded import EmbeddedDynamoDB
from demo.provider import DemoProvider
from tests.support.conversations.replies import SECRETS

OPTED_OUT, UNREACHABLE = "+447700900610", "+447700900006"


@pytest.fixture(scope="session")
def _secrets_endpoint(dynamodb, _sqs_endpoint) -> Iterator[str]:
    """Secrets Manager of the tests' moto; beside dynoxide and ElasticMQ, of a moto of its own."""
    if dynamodb.embedded:
        yield dynamodb.endpoint
        return
    with EmbeddedDynamoDB() as embedded:
        yield embedded.endpoint


@pytest.fixture
def secrets(_secrets_endpoint, settings) -> Iterator[dict]:
    """The companies' secrets are there; `secrets[name] = …` is not seen: they are in Secrets Manager."""
    settings.SECRETS_ENDPOINT = _secrets_endpoint
    forget()
    made = credentials.client()
    for name, content in SECRETS.items():
        made.create_secret(Name=name, SecretString=json.dumps(content))
    yield SECRETS
    for each in made.list_secrets()["SecretList"]:
        made.delete_secret(SecretId=each["Name"], ForceDeleteWithoutRecovery=True)
    forget()


def forget() -> None:
    """Let the sender read every secret anew."""
    credentials.forget_all()


@pytest.fixture
def provider(settings) -> Iterator[DemoProvider]:
    with DemoProvider({UNREACHABLE: 30006}, {OPTED_OUT: 21610}) as demo:
        settings.TWILIO_API_URL = settings.SENDGRID_API_URL = demo.endpoint
        yield demo


@pytest.fixture
def outbox(queue, provider, secrets, settings) -> str:
    """Replies are configured, and leave at once."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "30"}
    url = queues.client().create_queue(QueueName="outbox.fifo", Attributes=attributes)["QueueUrl"]
    settings.OUTBOX_QUEUE_URL, settings.REPLY_UNDO_SECONDS = url, 0
    return url
