"""The schema's own query examples, with plain boto3, against what the console wrote; and the other way round."""

import boto3
import pytest

from tenants import channels, onboarding, users
from tenants.keys import Channel
from tenants.onboarding import Draft
from tenants.queries import load_tenant, owners_of
from tenants.users import UserValues
from tests.people import member
from tests.support.tenants.kit import ADMIN, BOT

ROBIN = UserValues("robin", "robin@outlocks.example", "Robin Keller", "admin")


@pytest.fixture
def table(store):
    """The table as the platform's own code has it."""
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=store.endpoint,
        region_name="eu-west-2",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    return resource.Table(store.name("TENANTS"))


@pytest.fixture
def onboarded(store):
    """A tenant made by the console from beginning to end."""
    member("ada.admin", "admin", ["*"])
    onboarding.begin("outlocks", "Outlocks", "token", ADMIN)
    onboarding.save_draft("outlocks", Draft(ROBIN, (BOT,), (), version=1, token="token"), ADMIN)
    onboarding.finish("outlocks", onboarding.load_draft("outlocks", ADMIN), ADMIN)
    users.add("outlocks", UserValues("mara", "mara@outlocks.example", "Mara", "member"), ADMIN)


def test_get_tenant_by_id(table, onboarded):
    item = table.get_item(Key={"pk": "TENANT#outlocks", "sk": "META"})["Item"]
    assert (item["tenant_id"], item["name"], item["status"]) == ("outlocks", "Outlocks", "onboarding")
    assert isinstance(item["settings"], str)


def test_resolve_tenant_from_channel(table, onboarded):
    found = table.query(
        IndexName="channel-mapping",
        KeyConditionExpression="gsi1pk = :channel_key",
        ExpressionAttributeValues={":channel_key": "CHANNEL#teams#azure-bot-app-id"},
    )["Items"]
    assert [(each["pk"], each["gsi1sk"]) for each in found] == [("TENANT#outlocks", "TENANT#outlocks")]


def test_list_all_users_in_a_tenant(table, onboarded):
    found = table.query(
        KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues={":pk": "TENANT#outlocks", ":prefix": "USER#"},
    )["Items"]
    assert [each["user_id"] for each in found] == ["mara", "robin"]


def test_find_user_by_email(table, onboarded):
    found = table.query(
        KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
        FilterExpression="email = :email",
        ExpressionAttributeValues={
            ":pk": "TENANT#outlocks",
            ":prefix": "USER#",
            ":email": "mara@outlocks.example",
        },
    )["Items"]
    assert [each["user_id"] for each in found] == ["mara"]


def test_items_of_plain_boto3_appear_as_they_are(table, store):
    """As in the schema's tables, mappings without `gsi1sk` among them."""
    table.put_item(Item={"pk": "TENANT#t1", "sk": "META", "tenant_id": "t1", "name": "One", "status": "active"})
    table.put_item(Item={"pk": "TENANT#t1", "sk": "USER#u", "user_id": "u", "email": "u@t1.example", "role": "admin"})
    table.put_item(Item={"pk": "TENANT#t1", "sk": "CHANNEL#slack#T1", "gsi1pk": "CHANNEL#slack#T1"})
    found = load_tenant("t1", ADMIN)
    assert (found.name, found.status) == ("One", "active")
    assert [user.user_id for user in found.users] == ["u"]
    [channel] = found.channels
    assert (channel.channel, channel.in_index) == (Channel("slack", "T1"), True)
    assert owners_of(Channel("slack", "T1")).tenants == ("t1",)
    channels.complete("t1", Channel("slack", "T1"), ADMIN)
    asked = table.query(
        IndexName="channel-mapping",
        KeyConditionExpression="gsi1pk = :key",
        ExpressionAttributeValues={":key": "CHANNEL#slack#T1"},
    )
    assert [each["pk"] for each in asked["Items"]] == ["TENANT#t1"]
