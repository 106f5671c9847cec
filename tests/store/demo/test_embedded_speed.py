"""What moto does faster here it does as before: what was stored once stays as it was, whatever is written later."""

import pytest
from botocore.exceptions import ClientError

from tests.crawl.hostile.stored import put_back, taken
from tests.items import conversation

KEY = {"primary_channel": "whatsapp:+447700900123", "conversation_id": "ci-aaa-001#p#r#447700900123"}


@pytest.fixture
def item(store) -> dict:
    store.put("CONVERSATIONS", conversation(**KEY))
    return store.get("CONVERSATIONS", **KEY)


def test_what_was_taken_down_is_put_back_as_it_was(store, item):
    before = taken(store)
    store.update("CONVERSATIONS", KEY, conversation_status="changed", messages=[])
    store.put("CONVERSATIONS", conversation(**KEY | {"conversation_id": "another"}))
    put_back(store, before)
    assert store.all("CONVERSATIONS") == [item]
    store.update("CONVERSATIONS", KEY, conversation_status="changed")
    put_back(store, before)
    assert store.all("CONVERSATIONS") == [item]


def test_transaction_that_is_cancelled_changes_nothing(store, item):
    name, key = store.name("CONVERSATIONS"), {each: {"S": value} for each, value in KEY.items()}
    update = {
        "TableName": name,
        "Key": key,
        "UpdateExpression": "SET conversation_status = :v",
        "ExpressionAttributeValues": {":v": {"S": "changed"}},
    }
    absent = {"TableName": name, "Key": key | {"conversation_id": {"S": "absent"}}}
    check = absent | {"ConditionExpression": "attribute_exists(conversation_id)"}
    with pytest.raises(ClientError):
        store.client.transact_write_items(TransactItems=[{"Update": update}, {"ConditionCheck": check}])
    assert store.all("CONVERSATIONS") == [item]


def test_page_of_a_query_ends_at_its_limit_and_goes_on_from_there(store):
    ids = [f"c{number}" for number in range(5)]
    store.put_all("CONVERSATIONS", [conversation(**KEY | {"conversation_id": each}) for each in ids])
    store.put("CONVERSATIONS", conversation(**KEY | {"primary_channel": "whatsapp:+447700900124"}))
    request = {
        "TableName": store.name("CONVERSATIONS"),
        "KeyConditionExpression": "primary_channel = :c",
        "ExpressionAttributeValues": {":c": {"S": KEY["primary_channel"]}},
        "ScanIndexForward": False,
        "Limit": 3,
    }
    first = store.client.query(**request)
    rest = store.client.query(**request, ExclusiveStartKey=first["LastEvaluatedKey"])
    found = [each["conversation_id"]["S"] for each in (*first["Items"], *rest["Items"])]
    assert found == ids[::-1]


def test_item_that_is_too_large_is_refused(store, item):
    with pytest.raises(ClientError):
        store.put("CONVERSATIONS", conversation(**KEY, note="x" * 420_000))
    with pytest.raises(ClientError):
        store.update("CONVERSATIONS", KEY, note="x" * 420_000)


def test_two_hundred_entries_of_a_list_are_removed_at_once(store):
    messages = [{"message_id": f"M{number}"} for number in range(220)]
    store.put("CONVERSATIONS", conversation(**KEY, messages=messages))
    store.client.update_item(
        TableName=store.name("CONVERSATIONS"),
        Key={each: {"S": value} for each, value in KEY.items()},
        UpdateExpression="REMOVE " + ", ".join(f"messages[{number}]" for number in range(200)),
    )
    assert store.get("CONVERSATIONS", **KEY)["messages"] == messages[200:]
