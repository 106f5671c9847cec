"""A hand-off queue: SQS of the tests' own moto, or of one beside DynamoDB Local."""

from collections.abc import Iterator

import pytest

from console.store import queues
from demo.embedded import EmbeddedDynamoDB
from tests.dynamodb import Store


@pytest.fixture(scope="session")
def _sqs_endpoint(dynamodb: Store) -> Iterator[str]:
    if not dynamodb.local:
        yield dynamodb.endpoint
        return
    with EmbeddedDynamoDB() as embedded:
        yield embedded.endpoint


@pytest.fixture
def queue(store: Store, _sqs_endpoint: str, settings) -> Iterator[str]:
    """Its URL; the console is pointed at it."""
    settings.SQS_ENDPOINT = _sqs_endpoint
    url = queues.client().create_queue(QueueName="handoff", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
    settings.HANDOFF_QUEUE_URL = url
    yield url
    queues.client().delete_queue(QueueUrl=url)
