"""The quick answers of the embedded DynamoDB are the same as any DynamoDB's."""

from typing import Any

import pytest

from console.store.calls import table_name
from conversations.models import CompanyProjectIndex
from tests.dynamodb import Store

pytestmark = pytest.mark.store

ITEM = {
    "text": {"S": "مرحبا <b>"},
    "number": {"N": "12.5"},
    "flag": {"BOOL": False},
    "nothing": {"NULL": True},
    "bytes": {"B": b"\x00\xff"},
    "words": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2.5"]},
    "blobs": {"BS": [b"a"]},
    "empty": {"M": {}},
    "none": {"L": []},
    "tree": {
        "M": {
            "deep": {"S": "y"},
            "list": {"L": [{"S": "x"}, {"M": {"n": {"N": "1"}, "b": {"B": b"z"}}}, {"NULL": True}]},
        }
    },
}
KEY = {"primary_channel": {"S": "+447700900999"}, "conversation_id": {"S": "c#p#r#1"}}


@pytest.fixture
def client(store: Store) -> Any:
    return store.client


def same(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return {name: _sorted(value) for name, value in found.items()} == {
        name: _sorted(value) for name, value in wanted.items()
    }


def _sorted(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return (kind, sorted(content)) if kind in ("SS", "NS", "BS") else (kind, content)


def test_an_item_of_every_type_comes_back_as_it_was_put(client: Any) -> None:
    table = table_name("CONVERSATIONS")
    client.put_item(TableName=table, Item={**KEY, **ITEM})
    assert same(client.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"], {**KEY, **ITEM})
    query = {
        "TableName": table,
        "KeyConditionExpression": "primary_channel = :p",
        "ExpressionAttributeValues": {":p": KEY["primary_channel"]},
    }
    assert same(client.query(**query)["Items"][0], {**KEY, **ITEM})


def test_a_projection_holds_the_named_attributes_and_nested_paths_only(client: Any) -> None:
    table = table_name("CONVERSATIONS")
    client.put_item(TableName=table, Item={**KEY, **ITEM})
    names = {"#t": "text", "#b": "bytes", "#n": "nothing"}
    top = client.get_item(
        TableName=table,
        Key=KEY,
        ProjectionExpression="#t, #b, #n, absent",
        ExpressionAttributeNames=names,
    )["Item"]
    assert same(top, {name: ITEM[name] for name in ("text", "bytes", "nothing")})
    nested = client.get_item(
        TableName=table,
        Key=KEY,
        ProjectionExpression="#tree.#k",
        ExpressionAttributeNames={"#tree": "tree", "#k": "deep"},
    )["Item"]
    assert nested == {"tree": {"M": {"deep": {"S": "y"}}}}


def test_what_was_read_with_a_projection_is_not_changed_by_a_later_write(client: Any) -> None:
    table = table_name("CONVERSATIONS")
    client.put_item(TableName=table, Item={**KEY, **ITEM})
    client.update_item(
        TableName=table,
        Key=KEY,
        UpdateExpression="SET #l = list_append(#l, :more)",
        ExpressionAttributeNames={"#l": "none"},
        ExpressionAttributeValues={":more": {"L": [{"S": "y"}]}},
    )
    item = client.get_item(TableName=table, Key=KEY, ConsistentRead=True)["Item"]
    assert item["none"] == {"L": [{"S": "y"}]}
    assert same({**item, "none": {"L": []}}, {**KEY, **ITEM})


def test_a_query_finds_its_partition_alone_in_order(client: Any) -> None:
    """Of the table and of an index, forwards, backwards and from the middle, as any DynamoDB does."""
    table = table_name("CONVERSATIONS")
    for recipient in ("+447700900998", "+447700900999"):
        for number in (3, 10, 1, 2):
            item = {
                "primary_channel": {"S": recipient},
                "conversation_id": {"S": f"c#p#{number}#1"},
                "company_id": {"S": "ci-aaa-001" if number < 10 else "ci-bbb-002"},
                "project_id": {"S": f"p{number % 2}"},
            }
            client.put_item(TableName=table, Item=item)
    client.put_item(TableName=table, Item={**KEY, "conversation_id": {"S": "of no company"}})

    def found(condition: str, value: str, **more: Any) -> list[str]:
        request = {"KeyConditionExpression": condition, "ExpressionAttributeValues": {":v": {"S": value}}, **more}
        return [each["conversation_id"]["S"] for each in client.query(TableName=table, **request)["Items"]]

    of_recipient = ["c#p#1#1", "c#p#10#1", "c#p#2#1", "c#p#3#1"]
    assert found("primary_channel = :v", "+447700900998") == of_recipient
    assert found("primary_channel = :v", "+447700900998", ScanIndexForward=False) == of_recipient[::-1]
    start = {"primary_channel": {"S": "+447700900998"}, "conversation_id": {"S": "c#p#10#1"}}
    assert found("primary_channel = :v", "+447700900998", ExclusiveStartKey=start) == of_recipient[2:]
    assert found("primary_channel = :v", "+440000000000") == []

    index = {"IndexName": CompanyProjectIndex.Meta.index_name}
    of_company = found("company_id = :v", "ci-aaa-001", **index)
    assert of_company[:2] == ["c#p#2#1"] * 2
    assert sorted(of_company) == sorted(["c#p#1#1", "c#p#2#1", "c#p#3#1"] * 2)
    assert found("company_id = :v", "ci-none", **index) == []
    # Nothing of the one Query is left for the next read.
    assert len(client.scan(TableName=table)["Items"]) == 9


def test_numbers_are_compared_as_numbers(client: Any) -> None:
    table = table_name("CONVERSATIONS")
    client.put_item(TableName=table, Item={**KEY, **ITEM})
    for stored, given in (("12.5", "12.50"), ("12.5", "9")):
        request = {
            "KeyConditionExpression": "primary_channel = :p",
            "FilterExpression": "#n > :n" if given == "9" else "#n = :n",
            "ExpressionAttributeNames": {"#n": "number"},
            "ExpressionAttributeValues": {":p": KEY["primary_channel"], ":n": {"N": given}},
        }
        assert client.query(TableName=table, **request)["Items"][0]["number"] == {"N": stored}


def test_a_refused_transaction_leaves_every_item_as_it_was(client: Any) -> None:
    """New items, those that were replaced, deleted or changed deep inside, in one table and in two."""
    conversations, staff = table_name("CONVERSATIONS"), table_name("STAFF")
    others = [{**KEY, "conversation_id": {"S": f"c#p#r#{number}"}} for number in (2, 3)]
    person = {"username": {"S": "somebody"}, "scope": {"L": [{"S": "one"}]}}
    for item in ({**KEY, **ITEM}, *({**key, **ITEM} for key in others)):
        client.put_item(TableName=conversations, Item=item)
    client.put_item(TableName=staff, Item=person)

    def stored() -> list[Any]:
        scans = (client.scan(TableName=name, ConsistentRead=True)["Items"] for name in (conversations, staff))
        return [
            sorted(
                ({name: _sorted(value) for name, value in each.items()} for each in page),
                key=lambda item: str(sorted(item.items())),
            )
            for page in scans
        ]

    def writes(condition: str) -> list[dict[str, Any]]:
        appended = {
            "UpdateExpression": "SET #l = list_append(#l, :m)",
            "ExpressionAttributeValues": {":m": {"L": [{"S": "y"}]}},
        }
        return [
            {
                "Update": {
                    "TableName": conversations,
                    "Key": KEY,
                    "ExpressionAttributeNames": {"#l": "none"},
                    **appended,
                }
            },
            {"Put": {"TableName": conversations, "Item": {**others[0], "text": {"S": "replaced"}}}},
            {"Delete": {"TableName": conversations, "Key": others[1]}},
            {"Put": {"TableName": conversations, "Item": {**KEY, "primary_channel": {"S": "+447700900111"}}}},
            {
                "Update": {
                    "TableName": staff,
                    "Key": {"username": {"S": "somebody"}},
                    "ExpressionAttributeNames": {"#l": "scope"},
                    **appended,
                }
            },
            {"Put": {"TableName": staff, "Item": {"username": {"S": "another"}}, "ConditionExpression": condition}},
        ]

    before = stored()
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=writes("attribute_exists(username)"))
    assert stored() == before
    client.transact_write_items(TransactItems=writes("attribute_not_exists(username)"))
    assert len(stored()[0]) == len(before[0])
    assert len(stored()[1]) == 2
    assert stored() != before
