"""The index of channels as the schema has it and as it is deployed: who is found is told by what it really holds."""

import pytest

from console.provisioning.check import inspect
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.store import presence
from console.store.calls import table_name
from tenants import channels, status
from tenants.guarding import survey
from tenants.queries import load_tenant, owners_of
from tenants.readiness import readiness_of
from tenants.resolving import resolve
from tenants.status import NotReady, StatusStep
from tests.store.tenants.test_status import TEAMS
from tests.support.tenants.items import mapping, tenant, user
from tests.support.tenants.kit import BOT, OLGA, of

SHAPES = {"as deployed": (), "as the schema has it": ("gsi1sk",), "absent": None}


@pytest.fixture(params=SHAPES)
def shape(request, bare_store):
    """Tables with the index of channels in one shape."""
    bare_store.create_tables(*(key for key in TABLES if key != "TENANTS"))
    wanted = create_table_request("TENANTS")
    ranges = SHAPES[request.param]
    for index in list(wanted["GlobalSecondaryIndexes"]):
        if index["IndexName"] == "channel-mapping" and ranges is None:
            wanted["GlobalSecondaryIndexes"].remove(index)
            wanted["AttributeDefinitions"] = [
                each for each in wanted["AttributeDefinitions"] if each["AttributeName"] != "gsi1pk"
            ]
        elif index["IndexName"] == "channel-mapping":
            for name in ranges:
                index["KeySchema"].append({"AttributeName": name, "KeyType": "RANGE"})
                wanted["AttributeDefinitions"].append({"AttributeName": name, "AttributeType": "S"})
    bare_store.client.create_table(**wanted)
    presence.forget()
    return request.param


def test_both_shapes_are_right_to_the_check_of_tables(shape, bare_store):
    [report] = inspect(("TENANTS",))
    told = [each.what for each in report.differences if each.index == "channel-mapping"]
    assert told == (["index channel-mapping"] if shape == "absent" else [])


def test_another_key_is_not(bare_store):
    wanted = create_table_request("TENANTS")
    for index in wanted["GlobalSecondaryIndexes"]:
        if index["IndexName"] == "channel-mapping":
            index["KeySchema"].append({"AttributeName": "pk", "KeyType": "RANGE"})
    bare_store.client.create_table(**wanted)
    [report] = inspect(("TENANTS",))
    [told] = [each for each in report.differences if each.index == "channel-mapping"]
    assert told.found == "gsi1pk (S), pk (S); ALL"


@pytest.mark.parametrize("more", [{}, {"gsi1sk": "TENANT#outlocks"}, {"gsi1pk": ...}], ids=["platform", "ours", "bare"])
def test_a_mapping_is_found_where_the_index_holds_it(shape, bare_store, more):
    bare_store.put_all("TENANTS", [tenant(status="onboarding", settings=TEAMS), user(), mapping(**more)])
    # What a webhook's own query says is the measure.
    found = shape != "absent" and bool(
        bare_store.client.query(
            TableName=table_name("TENANTS"),
            IndexName="channel-mapping",
            KeyConditionExpression="gsi1pk = :key",
            ExpressionAttributeValues={":key": {"S": BOT.key}},
        )["Items"]
    )
    assert (
        found
        == {
            "as deployed": "gsi1pk" not in more,
            "as the schema has it": "gsi1sk" in more,
            "absent": False,
        }[shape]
    )
    loaded = load_tenant("outlocks", OLGA)
    assert [channel.in_index for channel in loaded.channels] == [found]
    assert readiness_of(loaded, OLGA).complete == found
    assert owners_of(BOT).found == (("outlocks",) if found else ())
    assert resolve(BOT, OLGA).outcome == ("not-served" if found else "unseen")
    assert survey(lambda _: None).strays == ([] if found else [(BOT, "outlocks")])
    if found:
        status.change("outlocks", StatusStep.ACTIVATE, "", "onboarding", OLGA)
        assert resolve(BOT, OLGA).outcome == "served"
    else:
        with pytest.raises(NotReady, match="Webhooks cannot find 1 of 1"):
            status.change("outlocks", StatusStep.ACTIVATE, "", "onboarding", OLGA)


def test_what_the_console_maps_is_found_in_either(shape, bare_store):
    bare_store.put_all("TENANTS", [tenant(), user(), mapping(gsi1pk=...)])
    channels.complete("outlocks", BOT, OLGA)
    assert owners_of(BOT).found == (() if shape == "absent" else ("outlocks",))
    channels.release("outlocks", BOT, OLGA)
    channels.claim("outlocks", BOT, OLGA)
    assert of(bare_store, "outlocks")[BOT.key]["gsi1sk"] == "TENANT#outlocks"
    assert owners_of(BOT).found == (() if shape == "absent" else ("outlocks",))
