"""The indexer on the system page."""

import pytest

from console import clock
from conversations.workers import lease
from tests import faults
from tests.people import admin, signed_in


@pytest.fixture
def page(store):
    client = signed_in(admin())
    return lambda: client.get("/system/").content.decode()


def test_before_the_first_run_it_says_what_to_run(page):
    text = page()
    assert "Index of the queue" in text
    assert "has never run" in text
    assert "manage.py work --only indexer" in text


def test_it_tells_how_the_indexer_is(page):
    now = clock.now()
    lease.write_heartbeat(
        lease.INDEXER, beat_at=now, backfilled_at=now, lag=0.25, mode="stream", counts={"read": 12_345}
    )
    text = page()
    assert "is up to date" in text
    assert "a worker on the table&#x27;s stream" in text
    assert "0.2 s" in text
    assert "12,345" in text


def test_what_cannot_be_read_is_said(page):
    with faults.fail_before("BatchGetItem", table_key="CONSOLE", where=lambda request: "INDEXER" in str(request)):
        text = page()
    assert "It could not be read. Try again in a moment." in text
    assert "Tables and indexes of this environment" in text
