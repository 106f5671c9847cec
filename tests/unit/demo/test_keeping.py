"""`manage.py demo --keep DIR`: the data of one run is there in the next; without DynamoDB Local, a plain refusal."""

import os
import subprocess
import sys
import urllib.request

import pytest

from tests.support.processes import ROOT, running_demo


def refusal(*options: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "manage.py", "demo", "--port", "0", "--json", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr
    return ran.stderr


@pytest.mark.slow
def test_the_embedded_dynamodb_keeps_nothing(tmp_path):
    assert "To keep data, add --dynamodb-local." in refusal("--keep", str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_without_dynamodb_local_the_demo_says_what_is_missing(tmp_path):
    told = refusal("--dynamodb-local", "--keep", str(tmp_path), PATH=str(tmp_path))
    assert "DynamoDB Local cannot run here: no java" in told


@pytest.mark.slow
def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    assert "Name an empty folder" in refusal("--dynamodb-local", "--keep", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.local_only
def test_what_was_changed_is_there_in_the_next_run(tmp_path):
    from demo.dynamodb_local import plain_client

    folder = str(tmp_path / "kept")
    with running_demo("--dynamodb-local", "--keep", folder) as first:
        table = first["tables"]["CONSOLE"]
        client = plain_client(first["dynamodb_endpoint"])
        client.put_item(TableName=table, Item={"pk": {"S": "NOTE"}, "sk": {"S": "of the first run"}})
        key = client.scan(TableName=first["tables"]["CONVERSATIONS"], Select="COUNT")["Count"]
        received = client.scan(TableName=first["tables"]["MESSAGES"], Select="COUNT")["Count"]
        assert received >= 5
        # As in a folder of an earlier version.
        client.delete_table(TableName=first["tables"]["CONVERSATIONS_STAGE"])
    with running_demo("--dynamodb-local", "--keep", folder) as second:
        client = plain_client(second["dynamodb_endpoint"])
        assert "Item" in client.get_item(TableName=table, Key={"pk": {"S": "NOTE"}, "sk": {"S": "of the first run"}})
        assert client.scan(TableName=second["tables"]["CONVERSATIONS"], Select="COUNT")["Count"] == key
        assert client.scan(TableName=second["tables"]["MESSAGES"], Select="COUNT")["Count"] == received
        assert second["tables"]["CONVERSATIONS_STAGE"] in client.list_tables()["TableNames"]
        sqs = plain_client(second["sqs_endpoint"], "sqs")
        assert set(sqs.list_queues()["QueueUrls"]) == set(second["queues"].values())
        with urllib.request.urlopen(f"{second['url']}/readyz", timeout=20) as answer:
            assert answer.status == 200
    assert (tmp_path / "kept" / "demo.json").stat().st_mode & 0o077 == 0
