"""`manage.py demo --keep DIR`: the data of one run is there in the next; where dynoxide is missing, a plain refusal."""

import os
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from tests.support.processes import ROOT, running_demo

# `manage.py` where no dynoxide was ever built.
WITHOUT_CACHE = """
import pathlib, runpy
from demo import dynoxide
dynoxide.CACHE = pathlib.Path("/nowhere")
runpy.run_path("manage.py", run_name="__main__")
"""


def refusal(*options: str, program: tuple[str, ...] = ("manage.py",), **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, *program, "demo", "--port", "0", "--json", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr
    return ran.stderr


def keys_in(client: Any, table: str, partition: str, sort: str) -> set[tuple[str, str]]:
    """The keys of all items, which are texts."""
    pages = client.get_paginator("scan").paginate(TableName=table)
    return {(item[partition]["S"], item[sort]["S"]) for page in pages for item in page["Items"]}


@pytest.mark.slow
def test_without_dynoxide_the_demo_says_how_to_get_it(tmp_path):
    told = refusal("--keep", str(tmp_path), program=("-c", WITHOUT_CACHE), PATH="")
    assert "The demo cannot keep data here: dynoxide" in told
    assert "python -m demo.dynoxide" in told


@pytest.mark.slow
def test_a_folder_of_dynamodb_local_is_left_alone(tmp_path):
    (tmp_path / "demo.json").write_text('{"secret_key": "its own"}')
    (tmp_path / "shared-local-instance.db").write_text("the data")
    told = refusal("--keep", str(tmp_path))
    assert f"{tmp_path} is from a demo on DynamoDB Local. Name an empty folder." in told
    assert {path.name for path in tmp_path.iterdir()} == {"demo.json", "shared-local-instance.db"}


@pytest.mark.slow
@pytest.mark.parametrize("number", ["-1", "3231"])
def test_more_companies_than_have_names_are_refused(number):
    assert "--companies takes a number from 0 to 3230." in refusal("--companies", number)


@pytest.mark.slow
def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    assert "Name an empty folder" in refusal("--keep", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.dynoxide_only
def test_what_was_changed_is_there_in_the_next_run(tmp_path):
    from demo.server_process import plain_client

    folder = str(tmp_path / "kept")
    with running_demo("--keep", folder) as first:
        table = first["tables"]["CONSOLE"]
        client = plain_client(first["dynamodb_endpoint"])
        client.put_item(TableName=table, Item={"pk": {"S": "NOTE"}, "sk": {"S": "of the first run"}})
        conversations = keys_in(client, first["tables"]["CONVERSATIONS"], "primary_channel", "conversation_id")
        received = keys_in(client, first["tables"]["MESSAGES"], "conversation", "position")
        assert len(received) >= 5
        # As in a folder of an earlier version.
        client.delete_table(TableName=first["tables"]["CONVERSATIONS_STAGE"])
    with running_demo("--keep", folder) as second:
        client = plain_client(second["dynamodb_endpoint"])
        assert "Item" in client.get_item(TableName=table, Key={"pk": {"S": "NOTE"}, "sk": {"S": "of the first run"}})
        # Its receiver may have gone on with what was left in the queue.
        assert keys_in(client, second["tables"]["CONVERSATIONS"], "primary_channel", "conversation_id") == conversations
        assert keys_in(client, second["tables"]["MESSAGES"], "conversation", "position") >= received
        assert second["tables"]["CONVERSATIONS_STAGE"] in client.list_tables()["TableNames"]
        sqs = plain_client(second["sqs_endpoint"], "sqs")
        assert set(sqs.list_queues()["QueueUrls"]) == set(second["queues"].values())
        with urllib.request.urlopen(f"{second['url']}/readyz", timeout=20) as answer:
            assert answer.status == 200
    assert (tmp_path / "kept" / "demo.json").stat().st_mode & 0o077 == 0
