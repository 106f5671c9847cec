"""The faults that other tests inject do what they say."""

import signal
import subprocess
import sys

import pytest

from console.errors import StoreUnavailable
from console.store.calls import ConditionFailed
from console.store.connection import call
from tests import faults


def _put(store, **more) -> dict:
    return call("PutItem", TableName=store.name("CONSOLE"), Item={"pk": {"S": "a"}, "sk": {"S": "b"}}, **more)


def test_an_answer_lost_after_the_write_leaves_it_written(store):
    with faults.fail_after("PutItem"), pytest.raises(StoreUnavailable):
        _put(store)
    assert store.get("CONSOLE", pk="a", sk="b") == {"pk": "a", "sk": "b"}


def test_a_request_that_failed_before_it_was_sent_leaves_nothing(store):
    with faults.fail_before("PutItem"), pytest.raises(StoreUnavailable):
        _put(store)
    assert store.all("CONSOLE") == []


def test_a_retried_conditional_write_meets_its_own_effect(store):
    with faults.fail_after("PutItem", retried=True), pytest.raises(ConditionFailed):
        _put(store, ConditionExpression="attribute_not_exists(pk)")
    assert store.get("CONSOLE", pk="a", sk="b") == {"pk": "a", "sk": "b"}


def test_a_held_request_arrives_late(store):
    with faults.hold("PutItem") as fault, pytest.raises(StoreUnavailable):
        _put(store)
    assert store.all("CONSOLE") == []
    assert fault.deliver() == [200]
    assert store.get("CONSOLE", pk="a", sk="b") is not None


def test_the_nth_matching_call_is_struck_and_no_other(store):
    with faults.fail_before("PutItem", nth=2, table_key="CONSOLE") as fault:
        _put(store)
        call("GetItem", TableName=store.name("CONSOLE"), Key={"pk": {"S": "a"}, "sk": {"S": "b"}})
        with pytest.raises(StoreUnavailable):
            _put(store)
        _put(store)
    assert fault.seen == ["PutItem"] * 3
    assert len(fault.struck) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "stored"), [("kill_before", False), ("kill_after", True)])
def test_a_process_can_be_killed_around_a_call(store, fault, stored):
    script = f"""
import django
django.setup()
from console.store.connection import call
from tests import faults
with faults.{fault}("PutItem"):
    call("PutItem", TableName="{store.name("CONSOLE")}", Item={{"pk": {{"S": "a"}}, "sk": {{"S": "b"}}}})
"""
    done = subprocess.run([sys.executable, "-c", script], env=store.environment(), timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (store.get("CONSOLE", pk="a", sk="b") is not None) is stored
