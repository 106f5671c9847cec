"""`manage.py tables check`: what an environment lacks, and the template of the changes. Nothing is changed by it."""

import io
import json
from contextlib import suppress
from typing import Any

import pytest
from cfnlint.api import lint
from django.core.management import CommandError, call_command

from console.errors import StoreUnavailable
from console.provisioning.check import inspect
from console.provisioning.cloudformation import SAMPLE_ITEMS_PER_SEGMENT, SAMPLE_SEGMENTS
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from tests import faults
from tests.tables import (
    CHANGING,
    OURS,
    checked,
    create,
    create_all,
    create_without_some_indexes,
    gsis,
    reports,
    run,
    run_failing,
)

# --- check -------------------------------------------------------------------------------------------------------


def test_check_fails_and_names_what_is_required(bare_store):
    out, error = run_failing("check")
    for key in [*OURS, "AUDIT", "IDEMPOTENCY"]:
        assert key in error
    assert "CONVERSATIONS" not in error
    assert "THREADS" in out


@pytest.mark.slow
def test_check_passes_where_whole_schemas_are_absent(bare_store):
    run("create", "--only", *OURS, "AUDIT", "IDEMPOTENCY")
    out = run("check")
    assert "optional, owned by thread-history" in out
    assert reports()["CONVERSATIONS"].state == "absent"


def test_a_schema_that_is_there_in_part_is_required_whole(bare_store):
    bare_store.create_tables("SESSIONS")
    found = reports()
    assert found["CHATS"].differences[0].severity == "required"
    assert found["THREADS"].differences[0].severity == "optional"


def test_the_middleware_may_be_absent_though_the_console_uses_two_of_its_tables(bare_store):
    bare_store.create_tables("AUDIT", "IDEMPOTENCY")
    assert reports()["CONVERSATION_STATE"].differences[0].severity == "optional"


@pytest.mark.slow
def test_a_complete_environment_is_ready(bare_store):
    create_all(bare_store)
    assert {report.state for report in inspect()} == {"ready"}
    assert run("check").endswith(
        "The console's own tables: 0 to create, 0 to change, 0 to change by hand.\n"
        "Other services' tables: 0 to create, 0 to change, 0 to change by hand.\n"
    )


@pytest.mark.parametrize("code", ["AccessDeniedException", "InternalServerError"])
def test_a_table_that_cannot_be_described_is_not_called_absent(bare_store, code):
    with faults.refuse("DescribeTable", code=code, times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        inspect()
    with faults.refuse("DescribeTable", code=code, times=faults.ALWAYS):
        out, error = run_failing("create")
    assert out == ""
    assert ("lacks dynamodb:DescribeTable on " if code == "AccessDeniedException" else "could not answer") in error
    assert bare_store.client.list_tables()["TableNames"] == [
        name
        for name in bare_store.client.list_tables()["TableNames"]
        if name not in {bare_store.name(k) for k in TABLES}
    ]


def test_json_is_one_document_with_every_report(bare_store):
    bare_store.create_tables("CONSOLE")
    found = json.loads(checked("--json"))
    assert [each["key"] for each in found] == list(TABLES)
    console = next(each for each in found if each["key"] == "CONSOLE")
    assert console["ours"] is True
    assert console["differences"] == [
        {
            "severity": "required",
            "what": "time to live",
            "wanted": "expires_at",
            "found": "off",
            "applicable": True,
            "kind": "ttl",
            "index": "",
        }
    ]


def test_an_unknown_table_is_refused(bare_store):
    with pytest.raises(CommandError, match="NO_SUCH"):
        run("check", "--only", "NO_SUCH")


def test_a_wrong_key_is_said_and_not_applied(bare_store):
    create(bare_store, "AUDIT", KeySchema=[{"AttributeName": "conversation_id", "KeyType": "HASH"}])
    difference = reports("AUDIT")["AUDIT"].differences[0]
    assert (difference.what, difference.sign, difference.severity) == ("key", "!", "required")
    assert (difference.wanted, difference.found) == ("conversation_id (S), ts_action_id (S)", "conversation_id (S)")


def test_a_key_of_another_type_is_said(bare_store):
    create(
        bare_store,
        "SESSIONS",
        AttributeDefinitions=[
            {"AttributeName": "UserId", "AttributeType": "N"},
            {"AttributeName": "SessionId", "AttributeType": "S"},
        ],
    )
    assert reports("SESSIONS")["SESSIONS"].differences[0].found == "UserId (N), SessionId (S)"


@pytest.mark.parametrize(
    ("projection", "ready"),
    [
        ({"ProjectionType": "KEYS_ONLY"}, False),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["company_id"]}, False),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["summary", "project_id", "company_id"]}, False),
        (
            {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": ["x", *TABLES["CONVERSATIONS"].indexes["conversation-id-index"].include],
            },
            True,
        ),
        ({"ProjectionType": "ALL"}, True),
    ],
)
def test_an_index_must_project_at_least_what_is_asked(bare_store, projection, ready):
    indexes = gsis("CONVERSATIONS")
    next(each for each in indexes if each["IndexName"] == "conversation-id-index")["Projection"] = projection
    create(bare_store, "CONVERSATIONS", GlobalSecondaryIndexes=indexes)
    found = [each for each in reports("CONVERSATIONS")["CONVERSATIONS"].differences if each.what.startswith("index")]
    assert [(each.severity, each.applicable) for each in found] == ([] if ready else [("optional", False)])


def test_an_index_with_the_same_attributes_in_another_key_is_said(bare_store):
    indexes = gsis("CONVERSATIONS")
    name = "company-id-project-id-updated-at-index"
    next(each for each in indexes if each["IndexName"] == name)["KeySchema"][1]["KeyType"] = "RANGE"
    create(bare_store, "CONVERSATIONS", GlobalSecondaryIndexes=indexes)
    [found] = [each for each in reports("CONVERSATIONS")["CONVERSATIONS"].differences if each.what.startswith("index")]
    assert (found.severity, found.applicable, found.what) == ("optional", False, f"index {name}")
    assert found.wanted.startswith("company_id (S) + project_id (S), updated_at (S); INCLUDE company_name, ")
    assert found.found.startswith("company_id (S), project_id (S) + updated_at (S); INCLUDE ")


def test_inspection_reads_no_items(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        inspect()
    assert {call.operation for call in seen} <= {"DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"}


@pytest.mark.slow
def test_a_missing_local_index_is_said_and_nothing_can_add_it(bare_store):
    lsis = [
        each
        for each in create_table_request("CONVERSATIONS")["LocalSecondaryIndexes"]
        if each["IndexName"] != "created-at-index"
    ]
    create(bare_store, "CONVERSATIONS", LocalSecondaryIndexes=lsis)
    out, error = run_failing("check", "--only", "CONVERSATIONS")
    assert "! local index created-at-index" in out
    assert "CONVERSATIONS" in error
    assert "created-at-index" not in json.dumps(template("CONVERSATIONS")["Resources"])


@pytest.mark.parametrize("action", ["check", "check --json", "check --cloudformation", "policy"])
def test_every_action_says_where_the_tables_are(bare_store, settings, action):
    said = io.StringIO()
    with suppress(CommandError):
        call_command("tables", *action.split(), stdout=io.StringIO(), stderr=said)
    first = said.getvalue().splitlines()[0]
    assert first == f"Environment test, region eu-west-2, endpoint {settings.DYNAMODB_ENDPOINT}."


def test_a_template_says_which_tables_it_leaves_out_because_they_do_not_exist(bare_store):
    bare_store.create_tables("AUDIT")
    said = io.StringIO()
    call_command("tables", "check", "--cloudformation", stdout=io.StringIO(), stderr=said)
    assert "Left out, as they do not exist: CONVERSATIONS, " in said.getvalue()
    assert "AUDIT" not in said.getvalue()


def test_a_policy_that_is_too_long_to_be_managed_says_so(settings):
    settings.TABLE_NAMES = {key: f"{key.lower()}-{'x' * 80}-test" for key in TABLES}
    said, out = io.StringIO(), io.StringIO()
    call_command("tables", "policy", "--for", "work", stdout=out, stderr=said)
    assert "too long for a managed policy (6,144)" in said.getvalue()
    assert json.loads(out.getvalue())["Statement"]


def test_the_help_of_an_action_has_its_own_options_with_their_defaults(capsys):
    said = {}
    for action in ("check", "create", "policy"):
        with pytest.raises(SystemExit):
            call_command("tables", action, "--help")
        said[action] = " ".join(capsys.readouterr().out.split())
    assert "(default: web)" in said["policy"]
    assert "--only" not in said["policy"]
    assert "--for" not in said["create"] + said["check"]
    assert "--cloudformation" not in said["create"]


# --- CloudFormation ----------------------------------------------------------------------------------------------


def template(*keys: str) -> dict[str, Any]:
    """The template of the changes; CloudFormation's linter has nothing to say about it."""
    text = run("check", "--cloudformation", *(("--only", *keys) if keys else ()))
    made = json.loads(text)
    if made["Resources"]:
        assert [str(match) for match in lint(text, regions=["eu-west-2"])] == []
    return dict(made)


@pytest.mark.slow
def test_a_template_of_all_that_is_absent_has_our_tables_and_those_that_are_named(bare_store):
    assert len(template()["Resources"]) == len(OURS)
    assert len(template(*TABLES)["Resources"]) == len(TABLES)


@pytest.mark.slow
def test_a_template_changes_nothing(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        template()
    assert not [call for call in seen if call.operation in CHANGING]


def test_a_missing_table_is_in_it_whole(bare_store, settings):
    settings.CONSOLE_ENV, settings.PLAIN_HTTP = "staging", False
    resource = template("AUDIT")["Resources"]["AuditTable"]
    assert (resource["Type"], resource["DeletionPolicy"]) == ("AWS::DynamoDB::Table", "Retain")
    properties = resource["Properties"]
    assert properties["TableName"] == bare_store.name("AUDIT")
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["DeletionProtectionEnabled"] is True


@pytest.mark.slow
def test_an_existing_table_keeps_what_is_there(bare_store):
    foreign = {
        "IndexName": "their-own",
        "KeySchema": [{"AttributeName": "verso", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    create(
        bare_store,
        "THREADS",
        GlobalSecondaryIndexes=[*gsis("THREADS", "PK-SKMessage-index-v1"), foreign],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    bare_store.client.update_time_to_live(
        TableName=bare_store.name("THREADS"),
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "ExpiryTime"},
    )
    (resource,) = template("THREADS")["Resources"].values()
    assert resource["Metadata"]["Changes"] == ["+ index PK-SKMessage-index-v1: PK (S), SKMessage (S); ALL"]
    properties = resource["Properties"]
    assert {each["IndexName"] for each in properties["GlobalSecondaryIndexes"]} == {
        "their-own",
        "PK-SKMessage-index-v1",
        "PK-SKTimestampThread-index-v1",
        "org-id-updated-at-index",
    }
    keys = {"PK", "SK", "SKMessage", "SKTimestampThread", "org_id", "updated_at", "verso"}
    assert {each["AttributeName"] for each in properties["AttributeDefinitions"]} == keys
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ExpiryTime", "Enabled": True}
    assert properties["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}


@pytest.mark.slow
def test_a_provisioned_table_keeps_its_billing_and_its_new_index_gets_a_capacity(bare_store):
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    create(bare_store, "IMAGE_RESPONSES", GlobalSecondaryIndexes=None, BillingMode=None, ProvisionedThroughput=units)
    (resource,) = template("IMAGE_RESPONSES")["Resources"].values()
    (index,) = resource["Properties"]["GlobalSecondaryIndexes"]
    assert (resource["Properties"]["BillingMode"], index["ProvisionedThroughput"]) == ("PROVISIONED", units)


def test_an_index_on_other_keys_is_never_replaced(bare_store):
    indexes = gsis("THREADS")
    indexes[0]["KeySchema"] = [{"AttributeName": "PK", "KeyType": "HASH"}]
    create(bare_store, "THREADS", GlobalSecondaryIndexes=indexes)
    [difference] = [each for each in reports("THREADS")["THREADS"].differences if each.kind != "ttl"]
    assert (difference.what, difference.sign) == ("index PK-SKMessage-index-v1", "!")


@pytest.mark.parametrize(
    ("value", "said"),
    [(7, "of type N"), (None, "of type NULL"), ("", "empty"), (["x"], "of type L"), ({"a": 1}, "of type M")],
)
def test_an_index_that_would_make_dynamodb_refuse_foreign_writes_is_left_out_and_said(bare_store, value, said):
    create_without_some_indexes(bare_store)
    item = {"primary_channel": "+447700900001", "company_id": "ci-1", "project_id": "pi-1"}
    bare_store.put_all("CONVERSATIONS", [item | {"conversation_id": f"c{number}"} for number in range(30)])
    bare_store.put("CONVERSATIONS", item | {"conversation_id": "odd", "company_id": value})
    out, told = io.StringIO(), io.StringIO()
    call_command("tables", "check", "--cloudformation", "--only", "CONVERSATIONS", stdout=out, stderr=told)
    [resource] = json.loads(out.getvalue())["Resources"].values()
    names = {each["IndexName"] for each in resource["Properties"]["GlobalSecondaryIndexes"]}
    assert "company-id-project-id-index" not in names
    # Its keys are the table's own key and so always text: nothing to fear.
    assert "conversation-id-index" in names
    assert f"company-id-project-id-index, because company_id is {said} in 1 of 31 sampled items" in told.getvalue()
    assert "+447700900001" not in told.getvalue()


@pytest.mark.slow
def test_items_without_the_attribute_are_no_obstacle(bare_store):
    create_without_some_indexes(bare_store)
    bare_store.put("CONVERSATIONS", {"primary_channel": "a", "conversation_id": "b"})
    assert "company-id-project-id-index" in json.dumps(template("CONVERSATIONS"))


def test_samples_read_no_more_than_the_keys_in_question(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        run("check", "--cloudformation", "--only", "CONVERSATIONS")
    scans = [call.request for call in seen if call.operation == "Scan"]
    assert len(scans) == 4 * SAMPLE_SEGMENTS
    assert {scan["Limit"] for scan in scans} == {SAMPLE_ITEMS_PER_SEGMENT}
    assert {tuple(scan["ExpressionAttributeNames"].values()) for scan in scans} == {
        ("company_id", "project_id"),
        ("company_id", "updated_at"),
        ("company_id", "project_id", "updated_at"),
        ("gsi_hand_off_queue", "hand_off_requested_at"),
    }


@pytest.mark.slow
def test_a_complete_environment_has_an_empty_template(bare_store):
    create_all(bare_store)
    assert template()["Resources"] == {}


@pytest.mark.parametrize("arguments", [("create", "--cloudformation"), ("check", "--cloudformation", "--json")])
def test_a_template_goes_with_check_alone(bare_store, arguments):
    assert "--cloudformation" in run_failing(*arguments)[1]
