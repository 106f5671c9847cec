"""Reports from descriptions as DynamoDB gives them, for what neither moto nor dynoxide can be made to show."""

from dataclasses import replace

import pytest

from console.provisioning import check as inspection
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES

# Without TTL there is nothing to be asked of DynamoDB beside the description.
STAFF = TABLES["STAFF"]
THREADS = replace(TABLES["THREADS"], ttl="")


def _description(spec, **changes) -> dict:
    request = create_table_request(spec.key)
    described = {"TableStatus": "ACTIVE", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
    for kind in ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"):
        described[kind] = request.get(kind, [])
    return described | changes


def _differences(spec, **changes) -> list[tuple[str, str, str, str]]:
    report = inspection.report(spec, _description(spec, **changes), set(TABLES))
    return [(each.sign, each.severity, each.what, each.found) for each in report.differences]


def test_a_table_as_asked_is_ready():
    report = inspection.report(STAFF, _description(STAFF), set(TABLES))
    assert (report.state, report.differences, report.broken) == ("ready", (), False)


@pytest.mark.parametrize(
    ("encryption", "expected"),
    [
        (None, []),
        ({"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:k"}, []),
        ({"Status": "UPDATING"}, []),
        ({"Status": "DISABLED"}, [("!", "required", "encryption", "DISABLED")]),
        (
            {"Status": "ENABLED", "InaccessibleEncryptionDateTime": 1},
            [("!", "required", "encryption", "the key cannot be used")],
        ),
    ],
)
def test_encryption_is_dynamodbs_own_key_or_a_usable_one(encryption, expected):
    assert _differences(STAFF, SSEDescription=encryption) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (None, [("~", "advised", "stream", "off")]),
        ({"StreamEnabled": False}, [("~", "advised", "stream", "off")]),
        ({"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}, [("!", "advised", "stream", "KEYS_ONLY")]),
        ({"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}, []),
    ],
)
def test_a_stream_is_asked_for_where_the_registry_says_so(stream, expected):
    assert _differences(replace(STAFF, stream=("NEW_AND_OLD_IMAGES",)), StreamSpecification=stream) == expected
    assert _differences(STAFF, StreamSpecification=stream) == []


@pytest.mark.parametrize("view", ["NEW_IMAGE", "NEW_AND_OLD_IMAGES", "OLD_IMAGE"])
def test_the_stage_tables_stream_serves_with_what_was_written(view):
    stage = replace(TABLES["CONVERSATIONS_STAGE"], ttl="")
    assert create_table_request("CONVERSATIONS_STAGE")["StreamSpecification"]["StreamViewType"] == "NEW_IMAGE"
    found = _differences(stage, StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    assert found == ([("!", "advised", "stream", "OLD_IMAGE")] if view == "OLD_IMAGE" else [])


@pytest.mark.parametrize(("key", "severity"), [("CONVERSATIONS_STAGE", "optional"), ("MESSAGES", "required")])
def test_the_consoles_own_messages_are_needed_and_the_platforms_stage_is_not(key, severity):
    report = inspection.report(TABLES[key], None, set(TABLES) - {key})
    assert [each.severity for each in report.differences] == [severity]


def test_a_table_being_created_is_waited_for():
    report = inspection.report(STAFF, _description(STAFF, TableStatus="CREATING"), set(TABLES))
    assert report.state == "creating"
    assert [each.kind for each in report.differences] == ["wait"]


def test_an_index_is_not_offered_where_the_table_has_as_many_as_it_can():
    full = [create_table_request("CHATS")["GlobalSecondaryIndexes"][0] | {"IndexName": f"i{n}"} for n in range(20)]
    found = _differences(THREADS, GlobalSecondaryIndexes=full)
    assert [sign for sign, *_ in found] == ["!", "!", "!"]
    assert all("20 global indexes already" in text for *_, text in found)


def test_an_index_is_not_offered_where_its_key_has_another_type_already():
    definitions = [
        each | ({"AttributeType": "N"} if each["AttributeName"] == "SKMessage" else {})
        for each in create_table_request("THREADS")["AttributeDefinitions"]
    ]
    indexes = create_table_request("THREADS")["GlobalSecondaryIndexes"][1:]
    assert _differences(THREADS, AttributeDefinitions=definitions, GlobalSecondaryIndexes=indexes) == [
        ("!", "required", "index PK-SKMessage-index-v1", "absent; SKMessage is N already")
    ]
