"""`manage.py tables create`: what is created, what is waited for, and what is never touched."""

import json

import pytest

from console.provisioning import create as creating
from console.provisioning.check import inspect
from console.schema.tables import TABLES
from tests import faults
from tests.tables import (
    CHANGING,
    OURS,
    create,
    create_all,
    create_without_some_indexes,
    describe,
    reports,
    run,
    run_failing,
)


def test_only_limits_it_to_the_tables_named(bare_store):
    run("create", "--only", "audit", "STAFF")
    assert {key for key, report in reports().items() if report.state != "absent"} == {"AUDIT", "STAFF"}


def test_time_to_live_is_switched_on(bare_store):
    bare_store.create_tables("STAFF_SESSIONS")
    assert [each.what for each in reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences] == ["time to live"]
    run("create", "--only", "STAFF_SESSIONS")
    found = bare_store.client.describe_time_to_live(TableName=bare_store.name("STAFF_SESSIONS"))
    assert found["TimeToLiveDescription"]["AttributeName"] == "expires_at"


def test_outside_development_recovery_and_deletion_protection_are_switched_on(bare_store, settings):
    run("create", "--only", "CONSOLE", "STAFF_SESSIONS")
    settings.CONSOLE_ENV, settings.PLAIN_HTTP = "staging", False
    found = reports()
    assert {each.what for each in found["CONSOLE"].differences} == {"point-in-time recovery", "deletion protection"}
    assert {each.severity for each in found["CONSOLE"].differences} == {"advised"}
    assert found["STAFF_SESSIONS"].state == "ready"
    run("check", "--only", "CONSOLE")
    run("create", "--only", "CONSOLE", "STAFF")
    # dynoxide has no point-in-time recovery.
    unreadable = {("point-in-time recovery", "could not be read")} if not bare_store.embedded else set()
    for report in reports("CONSOLE", "STAFF").values():
        assert {(each.what, each.found) for each in report.differences} == unreadable
    assert describe(bare_store, "STAFF")["DeletionProtectionEnabled"]


def test_what_may_not_be_looked_at_is_said_and_fails_nothing(bare_store, settings):
    settings.CONSOLE_ENV, settings.PLAIN_HTTP = "staging", False
    run("create", "--only", "CONSOLE")
    with (
        faults.refuse("DescribeTimeToLive", code="AccessDeniedException", times=faults.ALWAYS),
        faults.refuse("DescribeContinuousBackups", code="AccessDeniedException", times=faults.ALWAYS),
    ):
        found = {each.what: each.found for each in reports("CONSOLE")["CONSOLE"].differences}
        run("check", "--only", "CONSOLE")
    assert found == {"time to live": "could not be read", "point-in-time recovery": "could not be read"}


def test_a_provisioned_table_of_ours_becomes_pay_per_request(bare_store):
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    # A table without indexes, which would want units of their own.
    create(bare_store, "CONSOLE", BillingMode=None, ProvisionedThroughput=units)
    run("create", "--only", "CONSOLE")
    assert describe(bare_store, "CONSOLE")["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_it_goes_on_after_a_failure_and_fails_in_the_end(bare_store):
    with faults.refuse("CreateTable", code="LimitExceededException", times=faults.ALWAYS, table_key="STAFF"):
        _, error = run_failing("create")
    assert "1 could not be created: STAFF: table" in error
    found = reports()
    assert found["STAFF"].state == "absent"
    assert found["CONSOLE"].state == "ready"


def test_our_tables_are_created_and_those_of_others_left(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        out = run("create")
    assert {key for key, report in reports().items() if report.state == "ready"} == OURS
    assert len(describe(bare_store, "CONVERSATIONS")["GlobalSecondaryIndexes"]) == 3
    assert "Other services own CONVERSATIONS. " in out
    absent = [key for key, report in reports().items() if report.state == "absent"]
    assert f"Other services create {', '.join(absent)}. Of these, the console needs IDEMPOTENCY and AUDIT. " in out
    assert "The console's own tables: 0 to create, 0 to change, 0 to change by hand." in out
    lacking = [each for report in reports().values() for each in report.differences if each.sign == "+"]
    assert f"Other services' tables: {len(lacking)} to create, " in out
    assert f"manage.py tables create --only {' '.join(absent)}\n" in out
    changed = {call.request["TableName"] for call in seen if call.operation in CHANGING}
    assert changed == {bare_store.name(key) for key in OURS}


def test_an_existing_table_of_others_is_never_changed_though_it_is_named(bare_store):
    create_without_some_indexes(bare_store)
    with bare_store.calls() as seen:
        run("create", "--only", "CONVERSATIONS")
    assert not [call for call in seen if call.operation in CHANGING]


def test_an_index_that_a_table_of_ours_lacks_is_created_one_at_a_time(bare_store):
    create(bare_store, "STAFF", GlobalSecondaryIndexes=None)
    with bare_store.calls() as seen:
        run("create", "--only", "STAFF")
    updates = [call.request for call in seen if call.operation == "UpdateTable"]
    assert [len(update["GlobalSecondaryIndexUpdates"]) for update in updates] == [1]
    assert reports("STAFF")["STAFF"].state == "ready"


@pytest.mark.slow
def test_the_second_time_changes_nothing_and_nothing_is_ever_deleted(bare_store):
    with bare_store.calls() as seen:
        create_all(bare_store)
        changes = len([call for call in seen if call.operation in CHANGING])
        create_all(bare_store)
    assert changes > 0
    assert len([call for call in seen if call.operation in CHANGING]) == changes
    assert not [call for call in seen if "Delete" in call.operation or "Delete" in json.dumps(call.request)]


def test_time_to_live_on_another_attribute_is_said_and_left(bare_store):
    bare_store.create_tables("STAFF_SESSIONS")
    bare_store.client.update_time_to_live(
        TableName=bare_store.name("STAFF_SESSIONS"), TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    (difference,) = reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences
    assert (difference.what, difference.sign, difference.severity) == ("time to live", "!", "required")
    run("create", "--only", "STAFF_SESSIONS")
    assert reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences == (difference,)


def test_time_to_live_is_left_to_the_environment_where_the_schema_leaves_it(bare_store):
    bare_store.create_tables("CONVERSATIONS")
    table = reports("CONVERSATIONS")["CONVERSATIONS"]
    assert [(each.what, each.severity) for each in table.differences if each.kind == "ttl"] == [
        ("time to live", "optional")
    ]
    run("check", "--only", "CONVERSATIONS")


def test_it_waits_for_the_back_fill(bare_store, monkeypatch):
    run("create", "--only", "STAFF")
    slept: list[float] = []
    monkeypatch.setattr(creating.time, "sleep", slept.append)
    busy = json.loads(json.dumps(describe(bare_store, "STAFF"), default=lambda _: 0))
    busy["GlobalSecondaryIndexes"][0] |= {"IndexStatus": "CREATING", "Backfilling": True}
    waited: list[str] = []
    is_staff = lambda request: request["TableName"] == bare_store.name("STAFF")  # noqa: E731
    with faults.answer("DescribeTable", body={"Table": busy}, times=len(TABLES), where=is_staff):
        [report] = inspect(("STAFF",))
        (wanted,) = creating.missing([report])
    with faults.answer("DescribeTable", body={"Table": busy}, times=3):
        creating.create(wanted, waited.append)
    assert report.state == "creating"
    assert waited == [f"the back-fill of {busy['GlobalSecondaryIndexes'][0]['IndexName']}"] * 3
    assert slept == sorted(slept)
    assert len(slept) == 3


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTimeToLive"])
@pytest.mark.parametrize("retried", [True, False])
def test_what_a_lost_answer_hid_is_no_error_and_the_rest_follows(bare_store, caplog, operation, retried):
    """botocore sends it again, and DynamoDB refuses that; or nobody knows whether it was carried out."""
    with faults.fail_after(operation, retried=retried):
        run("create", "--only", "STAFF_SESSIONS")
    assert reports("STAFF_SESSIONS")["STAFF_SESSIONS"].differences == ()
    # The line after the one of the failure.
    if retried and operation == "UpdateTimeToLive":
        return  # Both engines accept it twice, and then nothing fails.
    [failed, after] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert failed.startswith(f"{operation} on {bare_store.name('STAFF_SESSIONS')} failed: ")
    what = "CreateTable" if operation == "CreateTable" else "time to live"
    assert after == f"This did take effect ({what}), so nothing is lost and the command continues."


def test_a_table_that_cannot_be_created_is_told(bare_store):
    with faults.refuse("CreateTable", code="LimitExceededException", times=faults.ALWAYS):
        assert "STAFF_SESSIONS: table" in run_failing("create", "--only", "STAFF_SESSIONS")[1]
