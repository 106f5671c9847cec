"""`manage.py demo --json`: one line of JSON, then a console and a DynamoDB that answer."""

import base64
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime

import botocore.session
import pytest
from django.core.management.base import CommandError

from console import key_record
from console.schema.tables import TABLES
from demo.management.commands.demo import Command
from tests.documentation import ROOT
from tests.items import key_of
from tests.support.processes import running_demo


@pytest.fixture(scope="module")
def demo():
    # What a developer's shell may hold must not reach into the demo.
    with running_demo(
        CONSOLE_ENV="prod",
        TABLE_AUDIT="audit-prod",
        DYNAMODB_ENDPOINT="http://127.0.0.1:9",
        SQS_ENDPOINT="http://127.0.0.1:9",
        HANDOFF_QUEUE_URL="http://127.0.0.1:9/1/handoff-prod",
    ) as told:
        yield told


@pytest.mark.slow
def test_ctrl_c_while_it_starts_ends_it_without_a_traceback():
    # Whatever runs the tests in the background lets its children ignore it.
    command = ["env", "--default-signal=INT", sys.executable, "manage.py", "demo", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        assert "Starting the demo" in demo.stderr.readline()
        demo.send_signal(signal.SIGINT)
        said = demo.stderr.read()
    assert demo.returncode == 128 + signal.SIGINT
    assert said.endswith("Stopped.\n")
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_named_before_anything_is_set_up():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            CommandError, match=rf"^Port {port} cannot be used \(.*\)\. Choose another one with --port\.$"
        ):
            Command().handle(port=port, companies=0, keep=None, json=True)


def client_of(told, service="dynamodb"):
    return botocore.session.get_session().create_client(
        service,
        region_name=told["region"],
        endpoint_url=told[f"{service}_endpoint"],
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def conversation_of(client, told, number, request_id):
    found = client.query(
        TableName=told["tables"]["CONVERSATIONS"],
        KeyConditionExpression="primary_channel = :number",
        ExpressionAttributeValues={":number": {"S": number}},
    )["Items"]
    return next(item for item in found if item["request_id"]["S"] == request_id)


def said_in(item):
    return [entry["M"]["content"]["S"] for entry in item["messages"]["L"]]


@pytest.mark.slow
def test_it_tells_what_a_program_needs(demo):
    expected = {"url", "dynamodb_endpoint", "sqs_endpoint", "queues", "region", "environment", "staff", "tables"}
    assert set(demo) == expected | {"provider", "provider_account", "provider_token"}
    assert set(demo["queues"]) == {"HANDOFF", "OUTBOX", "WHATSAPP", "SMS", "EMAIL"}
    assert demo["environment"] == "demo"
    assert set(demo["staff"]) >= {"agent", "onboarding", "auditor", "admin"}
    assert all(set(each) == {"username", "password"} for each in demo["staff"].values())
    assert set(demo["tables"]) == set(TABLES) >= {"MESSAGES", "CONVERSATIONS_STAGE"}
    assert all(name.endswith("-demo") for name in demo["tables"].values())


@pytest.mark.slow
def test_the_provider_lists_messages_as_twilios_does(demo):
    url = f"{demo['provider']}/2010-04-01/Accounts/{demo['provider_account']}/Messages.json"
    basic = base64.b64encode(f"{demo['provider_account']}:{demo['provider_token']}".encode()).decode()
    request = urllib.request.Request(url, headers={"Authorization": f"Basic {basic}"})
    with urllib.request.urlopen(request) as answer:
        messages = json.load(answer)["messages"]
    # A photo and a place, which the demo's platform dropped.
    assert [(each["direction"], each["num_media"]) for each in messages] == [("inbound", "0"), ("inbound", "1")]


@pytest.mark.slow
def test_the_console_answers(demo):
    with urllib.request.urlopen(f"{demo['url']}/readyz") as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"{demo['url']}/") as answer:
        assert "/sign-in/" in answer.url
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.slow
def test_any_dynamodb_client_sees_the_data(demo):
    client = client_of(demo)
    assert set(client.list_tables()["TableNames"]) == set(demo["tables"].values())
    pages = client.get_paginator("scan").paginate(TableName=demo["tables"]["CONVERSATIONS"], Select="COUNT")
    count = sum(page["Count"] for page in pages)
    assert 300 <= count <= 450
    for key in ("AUDIT", "IDEMPOTENCY", "CONVERSATION_STATE", "CONSOLE", "STAFF"):
        assert client.scan(TableName=demo["tables"][key], Select="COUNT")["Count"] > 0


@pytest.mark.slow
def test_the_queue_is_indexed_and_stays_so(demo):
    client, table = client_of(demo), demo["tables"]["CONVERSATIONS"]

    def waiting(company):
        answers = [
            client.query(
                TableName=table,
                IndexName="hand-off-queue-index",
                KeyConditionExpression="gsi_hand_off_queue = :key",
                ExpressionAttributeValues={":key": {"S": f"{kind}#{company}"}},
            )
            for kind in ("waiting", "urgent")
        ]
        return {item["conversation_id"]["S"]: item for answer in answers for item in answer["Items"]}

    items = client.scan(TableName=table)["Items"]
    idle = next(
        each for each in items if each.get("hand_off_to_human") == {"BOOL": False} and "S" in each["company_id"]
    )
    company = idle["company_id"]["S"]
    assert len(waiting(company)) > 2
    client.update_item(
        TableName=table,
        Key=key_of(idle),
        UpdateExpression="SET hand_off_to_human = :true",
        ExpressionAttributeValues={":true": {"BOOL": True}},
    )
    until(lambda: idle["conversation_id"]["S"] in waiting(company))


@pytest.mark.slow
def test_any_client_of_sqs_or_dynamodb_plays_the_platform(demo):
    client, sqs = client_of(demo), client_of(demo, "sqs")
    number, request_id = "+447700900149", "req-5a46bc55"  # amira has it
    conversation_id = conversation_of(client, demo, number, request_id)["conversation_id"]["S"]
    key = {"conversation_id": conversation_id, "primary_channel": number}
    provider = {"channel_type": "whatsapp", "from": f"whatsapp:{number}", "to": "whatsapp:+447700900821"}
    body = {**key, **provider, "message_sid": "SM0f", "body": "Is anybody there?"}
    sqs.send_message(QueueUrl=demo["queues"]["HANDOFF"], MessageBody=json.dumps(body))

    def rows():
        found = client.query(
            TableName=demo["tables"]["MESSAGES"],
            KeyConditionExpression="#c = :key",
            FilterExpression="on_item = :true",
            ExpressionAttributeNames={"#c": "conversation"},
            ExpressionAttributeValues={":key": {"S": f"{conversation_id}\n{number}"}, ":true": {"BOOL": True}},
        )
        return [(row["message_id"]["S"], row["content"]["S"]) for row in found["Items"]]

    until(lambda: ("SM0f", "Is anybody there?") in rows())
    fragment = {**key, "message_sid": "SM10", "body": "Hello?", "received_at": datetime.now(UTC).isoformat()[:-6]}
    item = {name: {"S": value} for name, value in fragment.items()}
    client.put_item(TableName=demo["tables"]["CONVERSATIONS_STAGE"], Item=item)
    until(lambda: ("SM10", "Hello?") in rows())
    assert len(rows()) == 2
    assert said_in(conversation_of(client, demo, number, request_id))[-2:] == ["Is anybody there?", "Hello?"]


@pytest.mark.slow
def test_a_customer_writes_to_who_takes_the_conversation(demo):
    client = client_of(demo)
    number, request_id = "+447700900399", "req-871cda4b"
    item = conversation_of(client, demo, number, request_id)
    assert item["auto_queue_reply_message"] == {"BOOL": False}
    before = said_in(item)
    client.update_item(
        TableName=demo["tables"]["CONVERSATIONS"],
        Key=key_of(item),
        UpdateExpression="SET hand_off_agent = :tom, hand_off_taken_at = :now",
        ExpressionAttributeValues={":tom": {"S": "tom"}, ":now": {"S": datetime.now(UTC).isoformat()}},
    )
    until(lambda: len(said_in(conversation_of(client, demo, number, request_id))) > len(before))
    after = conversation_of(client, demo, number, request_id)
    assert said_in(after) == [*before, "hi, are you a dentist? i'm at home"]
    assert after["auto_queue_reply_message"] == {"BOOL": True}
    assert after["hand_off_routing_before"] == {"L": [{"BOOL": False}]}


@pytest.mark.slow
def test_passwords_are_stored_as_argon2(demo):
    items = client_of(demo).scan(TableName=demo["tables"]["STAFF"])["Items"]
    stored = {item["username"]["S"]: item["password_hash"]["S"] for item in items}
    without = {"priya", "jonas"}  # invited, and with the company's own sign-in
    assert all(stored[username].startswith("!") for username in without)
    assert all(stored[username].startswith("argon2") for username in stored.keys() - without)
    passwords = {each["password"] for each in demo["staff"].values()}
    assert not any(password in json.dumps(items) for password in passwords)


@pytest.mark.slow
def test_demo_records_its_key_as_an_installation_does(demo):
    key = {name: {"S": value} for name, value in key_record.KEY.items()}
    assert "Item" in client_of(demo).get_item(TableName=demo["tables"]["CONSOLE"], Key=key)
