"""Every crawl sees the console with a source of customers' messages, so that their pages and rows are there."""

import pytest


@pytest.fixture(autouse=True)
def _hand_off_queue(settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"
