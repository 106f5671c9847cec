"""What pages know about absent tables and indexes."""

import time

import pytest

from console.errors import NotConfigured, StoreUnavailable, Throttled
from console.schema.tables import TABLES
from console.store import presence
from tests import faults


def test_only_absent_tables_are_missing(bare_store):
    bare_store.create_tables("STAFF", "CONVERSATIONS")
    assert presence.missing_tables(TABLES) == set(TABLES) - {"STAFF", "CONVERSATIONS"}
    assert presence.table_ready("STAFF")
    assert not presence.table_ready("AUDIT")


def test_an_index_is_ready_when_its_table_has_it(bare_store):
    bare_store.create_tables("CONVERSATIONS")
    assert presence.index_ready("CONVERSATIONS", "conversation-id-index")
    assert presence.index_ready("CONVERSATIONS", "created-at-index")
    assert not presence.index_ready("CONVERSATIONS", "no-such-index")
    assert not presence.index_ready("TENANTS", "channel-mapping")


def test_an_index_that_is_being_filled_is_not_ready(store):
    description = {
        "TableStatus": "UPDATING",
        "GlobalSecondaryIndexes": [
            {"IndexName": "filling", "IndexStatus": "CREATING", "Backfilling": True},
            {"IndexName": "conversation-id-index", "IndexStatus": "ACTIVE"},
        ],
    }
    with faults.answer("DescribeTable", body={"Table": description}):
        assert not presence.index_ready("CONVERSATIONS", "filling")
    assert presence.index_ready("CONVERSATIONS", "conversation-id-index")


@pytest.mark.parametrize(("status", "ready"), [("CREATING", False), ("DELETING", False), ("UPDATING", True)])
def test_a_table_counts_once_it_can_be_used(store, status, ready):
    with faults.answer("DescribeTable", body={"Table": {"TableStatus": status}}):
        assert presence.table_ready("AUDIT") is ready


def test_answers_are_remembered_for_a_minute_and_no_longer(store):
    began, remembered = time.monotonic(), presence._indexes.cache
    with store.calls() as seen:
        presence.missing_tables(TABLES)
        presence.missing_tables(TABLES)
        presence.index_ready("CONVERSATIONS", "created-at-index")
        assert len(seen) == len(TABLES)
        remembered.expire(began + presence.REMEMBER_SECONDS)
        presence.missing_tables(TABLES)
        assert len(seen) == len(TABLES)
        remembered.expire(time.monotonic() + presence.REMEMBER_SECONDS)
        presence.missing_tables(TABLES)
        assert len(seen) == 2 * len(TABLES)


def test_a_table_created_meanwhile_is_seen_after_forgetting(bare_store):
    assert not presence.table_ready("AUDIT")
    bare_store.create_tables("AUDIT")
    assert not presence.table_ready("AUDIT")
    presence.forget()
    assert presence.table_ready("AUDIT")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (lambda: faults.fail_before("DescribeTable", times=faults.ALWAYS), StoreUnavailable),
        (lambda: faults.answer("DescribeTable", body=b'{"Tab', times=faults.ALWAYS), StoreUnavailable),
        (lambda: faults.refuse("DescribeTable", code="AccessDeniedException", times=faults.ALWAYS), NotConfigured),
        (lambda: faults.refuse("DescribeTable", code="ThrottlingException", times=faults.ALWAYS), Throttled),
    ],
    ids=["lost", "truncated", "denied", "throttled"],
)
def test_a_failed_description_is_an_error_and_never_absence(store, fault, error):
    with fault():
        for ask in (lambda: presence.missing_tables(TABLES), lambda: presence.table_ready("AUDIT")):
            with pytest.raises(error) as caught:
                ask()
            assert type(caught.value) is error
    # Nor is it remembered.
    assert presence.missing_tables(TABLES) == frozenset()
