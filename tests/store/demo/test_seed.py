"""`manage.py seed`: the demo's data where compose.yaml runs a DynamoDB, once."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from console.staff import passwords
from console.store.queues import client
from demo import items, staff
from demo.management.commands.seed import Command
from tests.items import key_of


def seed() -> str:
    said = StringIO()
    call_command(Command(), stdout=said)
    return said.getvalue()


@pytest.mark.slow
def test_it_fills_an_empty_store_once_and_keeps_what_people_change(queue, bare_store):
    said = seed()
    [password] = re.findall(r"shown only this once: (\S+)", said)
    for role, username in staff.SIGN_INS.items():
        assert f"{username} ({role})" in said
        stored = bare_store.get("STAFF", username=username)["password_hash"]
        assert passwords.verify(password, stored)[0]
        assert not passwords.verify(staff.PASSWORD, stored)[0]
    conversations = bare_store.all("CONVERSATIONS")
    assert len(conversations) > 200
    [waiting] = (
        client()
        .get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
        .values()
    )
    assert int(waiting) > 0

    bare_store.delete("CONVERSATIONS", **key_of(conversations[0]))
    bare_store.drop_table("MESSAGES")
    assert seed() == "The demo's data is there already. Nothing was changed.\n"
    assert len(bare_store.all("CONVERSATIONS")) == len(conversations) - 1
    # A table of a later version comes too.
    assert bare_store.all("MESSAGES") == []


def test_a_wider_scope_is_for_the_agent_whose_sign_in_is_printed(store):
    staff.create_staff(agent_scope=["*"])
    stored = {each["username"]: set(each["scope"]) for each in store.all("STAFF")}
    assert stored["amira"] == {"*"}
    assert stored["tom"] == {"company:ci-cuc-001", "company:ci-nwe-002", "company:ci-lum-003"}


def test_what_was_half_filled_is_not_filled_again(queue, bare_store):
    items.create_tables()
    with pytest.raises(CommandError, match="An earlier run did not finish"):
        seed()
    assert bare_store.all("STAFF") == []


@pytest.mark.parametrize("name", ["DYNAMODB_ENDPOINT", "SQS_ENDPOINT"])
@pytest.mark.parametrize("endpoint", ["", "https://dynamodb.eu-west-2.amazonaws.com"])
def test_nobody_made_up_comes_to_aws(settings, name, endpoint):
    setattr(settings, name, endpoint)
    with pytest.raises(CommandError, match="away from AWS"):
        seed()
