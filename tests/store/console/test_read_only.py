"""Without the middleware's tables there is no trail: people sign in and read, redacted; nothing can be changed."""

import pytest

from tests.items import conversation, key_of, url_of
from tests.people import admin, member, signed_in

HERE = ("STAFF", "STAFF_SESSIONS", "CONSOLE", "CONVERSATIONS", "CONVERSATION_STATE")
REASON = b"no audit trail tables"


@pytest.fixture
def without_trail(bare_store):
    bare_store.create_tables(*HERE)
    return bare_store


def test_people_can_sign_in_and_out(without_trail):
    client = signed_in(member())
    assert client.get("/conversations/").status_code == 200
    assert client.post("/sign-out/").status_code == 302
    assert client.get("/conversations/").status_code == 302


def test_a_wrong_password_is_refused_as_ever(without_trail, client):
    member()
    for name in ("amira.haddad", "nobody"):
        assert client.post("/sign-in/", {"username": name, "password": "wrong"}).status_code == 422


def test_conversations_are_shown_redacted_with_the_reason_and_without_actions(without_trail):
    item = conversation(messages=[{"role": "user", "content": "Call me on 07700 900123"}], hand_off_to_human=True)
    without_trail.put("CONVERSATIONS", item)
    client = signed_in(member())
    for url in ("/queue/", url_of(item)):
        text = client.get(url).content
        assert REASON in text
        assert b'name="intent"' not in text
        assert b"07700 900123" not in text
    assert b"***-***-0123" in client.get(url_of(item)).content


def test_nothing_is_revealed_or_changed(without_trail):
    item = conversation()
    without_trail.put("CONVERSATIONS", item)
    client = signed_in(admin())
    assert client.post(url_of(item) + "reveal/").status_code == 503
    assert without_trail.get("CONVERSATIONS", **key_of(item)) == item


def test_without_the_idempotency_table_an_action_is_refused_before_anything_is_written(bare_store):
    bare_store.create_tables(*HERE, "AUDIT", "IDEMPOTENCY")
    item = conversation()
    bare_store.put("CONVERSATIONS", item)
    client = signed_in(member())
    text = client.get(url_of(item)).content.decode()
    intent = text.split('name="intent" value="')[1].split('"')[0]
    bare_store.drop_table("IDEMPOTENCY")
    assert client.post(url_of(item) + "hand-off/", {"intent": intent}).status_code == 503
    assert "hand_off_agent" not in bare_store.get("CONVERSATIONS", **key_of(item))
    actions = {entry["action_type"] for entry in bare_store.all("AUDIT")}
    assert actions == {"staff.sign_in", "transcript.opened"}
