"""What dynoxide does not refuse by itself is refused to the tests and to the console as DynamoDB does it."""

from contextlib import AbstractContextManager

import pytest
from botocore.exceptions import ClientError

from console.errors import NotAccepted
from console.store.calls import table_name
from console.store.connection import call

pytestmark = pytest.mark.dynoxide_only
INDEX = "company-id-updated-at-index"
KEY = {"primary_channel": "+447700900123", "conversation_id": "c#p#r#1"}
# Keys of the local indexes.
INDEXED = {"created_at": "2026-01-01", "task_complete": 0, "conversation_status": "s", "channel_method": "sms"}


def refused(message: str) -> AbstractContextManager[object]:
    return pytest.raises(ClientError, match=message)


def ask(store, **more: object) -> list[dict]:
    request = {
        "TableName": table_name("CONVERSATIONS"),
        "IndexName": INDEX,
        "KeyConditionExpression": "company_id = :c",
        "ExpressionAttributeValues": {":c": {"S": "one"}},
    }
    return store.client.query(**request | more)["Items"]


def test_item_with_its_copies_beyond_400_kb_is_refused_and_nothing_changes(store):
    room = 400 * 1024 // 5
    store.put("CONVERSATIONS", KEY | INDEXED | {"x": "x" * (room - 1000)})
    before = store.get("CONVERSATIONS", **KEY)
    with refused("Item size to update has exceeded the maximum allowed size"):
        store.update("CONVERSATIONS", KEY, x="x" * room)
    with refused("Item size has exceeded the maximum allowed size"):
        store.put("CONVERSATIONS", before | {"x": "x" * room})
    with refused("Item size has exceeded the maximum allowed size"):
        store.put_all("CONVERSATIONS", [KEY | INDEXED | {"x": "x" * room}])
    assert store.get("CONVERSATIONS", **KEY) == before


def test_item_in_no_local_index_may_have_400_kb(store):
    store.put("CONVERSATIONS", KEY | {"x": "x" * 400_000})
    assert store.get("CONVERSATIONS", **KEY)["x"] == "x" * 400_000


def test_console_is_refused_too(store):
    item = {name: {"S": value} for name, value in (KEY | {"x": "x" * 100_000, "created_at": "now"}).items()}
    item |= {"conversation_status": {"S": "s"}, "channel_method": {"S": "sms"}, "task_complete": {"N": "0"}}
    with pytest.raises(NotAccepted):
        call("PutItem", TableName=table_name("CONVERSATIONS"), Item=item)


@pytest.mark.parametrize("name", ["messages", "messages[0].content", "company_id, #0"])
def test_global_index_refuses_what_it_does_not_project(store, name):
    aliases = {"ExpressionAttributeNames": {"#0": "messages"}} if "#0" in name else {}
    with refused(f"Global secondary index {INDEX} does not project \\[messages\\]"):
        ask(store, ProjectionExpression=name, **aliases)


@pytest.mark.parametrize("condition", ["messages = :c", "hand_off_agent = :c AND (NOT size(messages) > :c)"])
def test_filter_by_what_an_index_does_not_project_is_refused(store, condition):
    with refused(f"Secondary index {INDEX} does not project one or more filter attributes: \\[messages\\]"):
        ask(store, FilterExpression=condition)


def test_index_gives_what_it_projects(store):
    store.put(
        "CONVERSATIONS", KEY | {"company_id": "one", "updated_at": "now", "hand_off_agent": "ana", "messages": []}
    )
    asked = {
        "ProjectionExpression": "conversation_id, hand_off_agent",
        "FilterExpression": "attribute_exists(hand_off_agent) AND begins_with(#a, :a)",
        "ExpressionAttributeNames": {"#a": "hand_off_agent"},
        "ExpressionAttributeValues": {":c": {"S": "one"}, ":a": {"S": "an"}},
    }
    assert ask(store, **asked) == [{"conversation_id": {"S": "c#p#r#1"}, "hand_off_agent": {"S": "ana"}}]
