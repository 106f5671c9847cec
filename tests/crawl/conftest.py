"""Every crawl sees the console with messages of customers and replies, so that their rows and boxes are there."""

import pytest

from conversations.sending import replies


@pytest.fixture(autouse=True)
def _hand_off_queue(settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"


@pytest.fixture(autouse=True)
def _outbox(settings, monkeypatch) -> None:
    """Replies are configured; that their queue has them, tests of replies show."""
    settings.OUTBOX_QUEUE_URL = "https://sqs.invalid/replies.fifo"
    monkeypatch.setattr(replies, "enqueue", lambda row: None)
