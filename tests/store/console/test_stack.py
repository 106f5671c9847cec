"""What the CloudFormation template makes is what `tables check` asks for, and what SQS takes."""

import json

import pytest

from console.provisioning.check import inspect
from console.stack.parameters import OWN_TABLES, title_of
from console.stack.template import stack_template
from console.store import queues
from console.store.calls import table_name
from tests.support.console.stack import ResolvedStack


@pytest.fixture
def stack(settings) -> ResolvedStack:
    return ResolvedStack(stack_template(), Environment=settings.CONSOLE_ENV, SendingService="own")


def test_its_tables_lack_nothing(bare_store, stack):
    client = bare_store.client
    made = stack.of_type("AWS::DynamoDB::Table")
    for key in OWN_TABLES:
        properties = made[f"{title_of(key)}Table"] | {"TableName": bare_store.name(key)}
        ttl = properties.pop("TimeToLiveSpecification", None)
        recovery = properties.pop("PointInTimeRecoverySpecification")
        client.create_table(**properties)
        client.get_waiter("table_exists").wait(TableName=properties["TableName"])
        if ttl:
            client.update_time_to_live(TableName=properties["TableName"], TimeToLiveSpecification=ttl)
        assert recovery == {"PointInTimeRecoveryEnabled": False}
    reports = inspect(OWN_TABLES)
    assert [(each.name, each.state, each.differences) for each in reports] == [
        (table_name(key), "ready", ()) for key in OWN_TABLES
    ]


def test_its_queues_can_be_made(queue, stack):
    client, arns = queues.client(), {}
    made = stack.of_type("AWS::SQS::Queue").values()
    for properties in sorted(made, key=lambda each: "RedrivePolicy" in each):
        name = properties["QueueName"]
        attributes = {each: str(properties[each]) for each in ("VisibilityTimeout", "MessageRetentionPeriod")}
        if properties.get("FifoQueue"):
            attributes["FifoQueue"] = "true"
        if redrive := properties.get("RedrivePolicy"):
            # Whatever account this SQS has.
            dead = arns[redrive["deadLetterTargetArn"].rpartition(":")[2]]
            attributes["RedrivePolicy"] = json.dumps(redrive | {"deadLetterTargetArn": dead})
        url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        told = client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        arns[name] = told["Attributes"]["QueueArn"]
        queues.send(url, "{}", **({"group": "one", "once": "two"} if properties.get("FifoQueue") else {}))
        assert queues.depth(url).waiting == 1
