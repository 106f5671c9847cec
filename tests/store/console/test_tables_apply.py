"""`manage.py tables apply` and its CloudFormation: what is changed, what is waited for, and what is never touched."""

import json

from console.schema import create as provisioning
from console.schema.tables import TABLES
from tests import faults
from tests.tables import CHANGING, OURS, create, create_without_some_indexes, describe, gsis, reports, run, run_failing

# --- apply -------------------------------------------------------------------------------------------------------


def test_apply_creates_our_tables_and_leaves_those_of_others(bare_store):
    create_without_some_indexes(bare_store)
    out = run("apply")
    assert {key for key, report in reports().items() if report.state == "ready"} == OURS
    assert len(describe(bare_store, "CONVERSATIONS")["GlobalSecondaryIndexes"]) == 3
    assert "Other services own these; add --foreign to change them" in out


def test_apply_with_foreign_completes_a_table_of_others_and_fills_its_indexes(bare_store):
    create_without_some_indexes(bare_store)
    item = {"primary_channel": "+44", "conversation_id": "c1", "company_id": "ci-1", "project_id": "pi-1"}
    bare_store.put("CONVERSATIONS", item)
    run("apply", "--foreign", "--only", "CONVERSATIONS")
    assert reports("CONVERSATIONS")["CONVERSATIONS"].state == "ready"
    answer = bare_store.client.query(
        TableName=bare_store.name("CONVERSATIONS"),
        IndexName="company-id-project-id-index",
        KeyConditionExpression="company_id = :c",
        ExpressionAttributeValues={":c": {"S": "ci-1"}},
    )
    assert answer["Count"] == 1


def test_each_update_creates_one_index(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        run("apply", "--foreign", "--only", "CONVERSATIONS")
    updates = [call.request for call in seen if call.operation == "UpdateTable"]
    assert [len(update["GlobalSecondaryIndexUpdates"]) for update in updates] == [1, 1, 1, 1]


def test_apply_twice_changes_nothing_the_second_time_and_nothing_is_ever_deleted(bare_store):
    with bare_store.calls() as seen:
        run("apply", "--foreign")
        changes = len([call for call in seen if call.operation in CHANGING])
        run("apply", "--foreign")
    assert changes > 0
    assert len([call for call in seen if call.operation in CHANGING]) == changes
    assert not [call for call in seen if "Delete" in call.operation or "Delete" in json.dumps(call.request)]


def test_only_limits_apply_to_the_tables_named(bare_store):
    run("apply", "--foreign", "--only", "audit", "STAFF")
    assert {key for key, report in reports().items() if report.state != "absent"} == {"AUDIT", "STAFF"}


def test_time_to_live_is_switched_on(bare_store):
    bare_store.create_tables("STAFF_SESSIONS")
    assert [each.what for each in reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences] == ["time to live"]
    run("apply", "--only", "STAFF_SESSIONS")
    found = bare_store.client.describe_time_to_live(TableName=bare_store.name("STAFF_SESSIONS"))
    assert found["TimeToLiveDescription"]["AttributeName"] == "expires_at"


def test_time_to_live_on_another_attribute_is_said_and_not_applied(bare_store):
    bare_store.create_tables("AUDIT")
    bare_store.client.update_time_to_live(
        TableName=bare_store.name("AUDIT"), TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    (difference,) = reports("AUDIT")["AUDIT"].differences
    assert (difference.what, difference.sign, difference.severity) == ("time to live", "!", "required")
    run("apply", "--foreign", "--only", "AUDIT")
    assert reports("AUDIT")["AUDIT"].differences == (difference,)


def test_time_to_live_is_left_to_the_environment_where_the_schema_leaves_it(bare_store):
    bare_store.create_tables("CONVERSATIONS")
    table = reports("CONVERSATIONS")["CONVERSATIONS"]
    assert [(each.what, each.severity) for each in table.differences if each.kind == "ttl"] == [
        ("time to live", "optional")
    ]
    run("check", "--only", "CONVERSATIONS")
    run("apply", "--foreign", "--only", "CONVERSATIONS")
    assert not [each for each in reports("CONVERSATIONS")["CONVERSATIONS"].differences if each.kind == "ttl"]


def test_outside_development_recovery_and_deletion_protection_are_switched_on(bare_store, settings):
    run("apply", "--foreign", "--only", "AUDIT", "STAFF_SESSIONS")
    settings.CONSOLE_ENV = "staging"
    found = reports()
    assert {each.what for each in found["AUDIT"].differences} == {"point-in-time recovery", "deletion protection"}
    assert {each.severity for each in found["AUDIT"].differences} == {"advised"}
    assert found["STAFF_SESSIONS"].state == "ready"
    run("check", "--only", "AUDIT")
    run("apply", "--foreign", "--only", "AUDIT", "STAFF")
    # DynamoDB Local has no point-in-time recovery.
    unreadable = {("point-in-time recovery", "could not be read")} if bare_store.local else set()
    for report in reports("AUDIT", "STAFF").values():
        assert {(each.what, each.found) for each in report.differences} == unreadable
    assert describe(bare_store, "STAFF")["DeletionProtectionEnabled"]


def test_what_may_not_be_looked_at_is_said_and_fails_nothing(bare_store, settings):
    settings.CONSOLE_ENV = "staging"
    run("apply", "--only", "CONSOLE")
    with (
        faults.refuse("DescribeTimeToLive", code="AccessDeniedException", times=faults.ALWAYS),
        faults.refuse("DescribeContinuousBackups", code="AccessDeniedException", times=faults.ALWAYS),
    ):
        found = {each.what: each.found for each in reports("CONSOLE")["CONSOLE"].differences}
        run("check", "--only", "CONSOLE")
    assert found == {"time to live": "could not be read", "point-in-time recovery": "could not be read"}


def test_a_provisioned_table_of_others_keeps_its_billing_and_its_new_index_gets_a_capacity(bare_store):
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    create(bare_store, "IMAGE_RESPONSES", GlobalSecondaryIndexes=None, BillingMode=None, ProvisionedThroughput=units)
    run("apply", "--foreign", "--only", "IMAGE_RESPONSES")
    (difference,) = reports("IMAGE_RESPONSES")["IMAGE_RESPONSES"].differences
    assert (difference.what, difference.severity, difference.sign) == ("billing", "advised", "!")
    (index,) = describe(bare_store, "IMAGE_RESPONSES")["GlobalSecondaryIndexes"]
    assert {unit: index["ProvisionedThroughput"][unit] for unit in units} == units


def test_a_provisioned_table_of_ours_becomes_pay_per_request(bare_store):
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    # A table without indexes, which would want units of their own.
    create(bare_store, "CONSOLE", BillingMode=None, ProvisionedThroughput=units)
    run("apply", "--only", "CONSOLE")
    assert describe(bare_store, "CONSOLE")["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_apply_goes_on_after_a_failure_and_fails_in_the_end(bare_store):
    with faults.refuse("CreateTable", code="LimitExceededException", times=faults.ALWAYS, table_key="STAFF"):
        _, error = run_failing("apply")
    assert "1 of the changes failed: STAFF: table" in error
    found = reports()
    assert found["STAFF"].state == "absent"
    assert found["CONSOLE"].state == "ready"


def test_a_lost_answer_to_create_is_made_up_by_the_next_apply(bare_store):
    with faults.fail_after("CreateTable"):
        run_failing("apply", "--only", "STAFF_SESSIONS")
    assert [each.what for each in reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences] == ["time to live"]
    run("apply", "--only", "STAFF_SESSIONS")
    assert reports("STAFF_SESSIONS")["STAFF_SESSIONS"].state == "ready"


def test_apply_waits_for_the_back_fill(bare_store, monkeypatch):
    run("apply", "--foreign", "--only", "CONVERSATIONS")
    slept: list[float] = []
    monkeypatch.setattr(provisioning.time, "sleep", slept.append)
    filling = describe(bare_store, "CONVERSATIONS")
    busy = json.loads(json.dumps(filling, default=lambda _: 0))
    busy["GlobalSecondaryIndexes"][0] |= {"IndexStatus": "CREATING", "Backfilling": True}
    waited: list[str] = []
    with faults.answer(
        "DescribeTable", body={"Table": busy}, times=len(TABLES), where=_is(bare_store, "CONVERSATIONS")
    ):
        report = reports("CONVERSATIONS")["CONVERSATIONS"]
        (step,) = provisioning.steps([report], foreign=True)
    with faults.answer("DescribeTable", body={"Table": busy}, times=3):
        provisioning.apply(step, waited.append)
    assert report.state == "creating"
    assert waited == [f"the back-fill of {busy['GlobalSecondaryIndexes'][0]['IndexName']}"] * 3
    assert slept == sorted(slept)
    assert len(slept) == 3


def _is(store, key: str):
    return lambda request: request["TableName"] == store.name(key)


# --- CloudFormation ----------------------------------------------------------------------------------------------


def test_cloudformation_has_a_missing_table_whole(bare_store, settings):
    settings.CONSOLE_ENV = "staging"
    template = json.loads(run("plan", "--cloudformation", "--only", "AUDIT"))
    resource = template["Resources"]["AuditTable"]
    assert resource["Type"] == "AWS::DynamoDB::Table"
    assert resource["DeletionPolicy"] == "Retain"
    properties = resource["Properties"]
    assert properties["TableName"] == bare_store.name("AUDIT")
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["DeletionProtectionEnabled"] is True


def test_cloudformation_of_an_existing_table_keeps_what_is_there(bare_store):
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
    (resource,) = json.loads(run("plan", "--cloudformation", "--only", "THREADS"))["Resources"].values()
    assert resource["Metadata"]["Changes"] == ["+ index PK-SKMessage-index-v1: PK (S), SKMessage (S); ALL"]
    properties = resource["Properties"]
    assert {each["IndexName"] for each in properties["GlobalSecondaryIndexes"]} == {
        "their-own",
        "PK-SKMessage-index-v1",
        "PK-SKTimestampThread-index-v1",
        "org-id-updated-at-index",
    }
    assert {each["AttributeName"] for each in properties["AttributeDefinitions"]} == {
        "PK",
        "SK",
        "SKMessage",
        "SKTimestampThread",
        "org_id",
        "updated_at",
        "verso",
    }
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ExpiryTime", "Enabled": True}
    assert properties["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}


def test_cloudformation_of_a_complete_environment_is_empty(bare_store):
    run("apply", "--foreign", "--only", "TENANTS")
    assert json.loads(run("plan", "--cloudformation", "--only", "TENANTS"))["Resources"] == {}
