"""A receiver of webhooks on this machine, which destinations may lead to."""

from collections.abc import Iterator

import pytest

from demo.receiver import WebhookReceiver


@pytest.fixture
def receiver(settings) -> Iterator[WebhookReceiver]:
    settings.NOTIFICATIONS_ALLOWED_HOSTS = ["127.0.0.1"]
    with WebhookReceiver() as running:
        yield running
