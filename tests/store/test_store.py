"""The DynamoDB of a test is empty when the test says so, whoever has written."""

import subprocess
import sys

import pytest


@pytest.mark.dynoxide_only
def test_what_a_process_writes_after_the_store_was_emptied_goes_too(store):
    script = f"""
from demo.server_process import plain_client
item = {{"pk": {{"S": "a"}}, "sk": {{"S": "b"}}}}
plain_client("{store.endpoint}").put_item(TableName="{store.name("CONSOLE")}", Item=item)
"""
    environment = store.environment()
    store.empty()
    subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, check=True)
    assert len(store.all("CONSOLE")) == 1
    store.empty()
    assert store.all("CONSOLE") == []
