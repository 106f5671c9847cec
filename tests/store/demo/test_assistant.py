"""The demo's AI: what it answers, and what it leaves alone."""

import json
from datetime import timedelta
from itertools import count

import pytest

from console import clock
from console.store import queues
from demo import platform
from demo.assistant import THINKS_FOR, Assistant
from tests.store.demo.test_platform import NOW, STEPHEN, demo  # noqa: F401 a fixture

# moto has queues, and dynoxide none.
pytestmark = pytest.mark.pages
KEY = dict(zip(("primary_channel", "conversation_id"), STEPHEN, strict=True))


def work(seconds: float, monkeypatch) -> None:
    """Let the AI work for so many seconds after the demo began."""
    passed = count(0, 2)

    def wait(_: float) -> bool:
        at = next(passed)
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(seconds=at))
        return at > seconds

    Assistant(wait).run()


def stored(store):
    return store.get("CONVERSATIONS", **KEY)


@pytest.fixture
def asked(demo):  # noqa: F811
    """The AI is asked to answer two staged messages."""
    for number, body in enumerate(("Is it there?", "And when?")):
        at = f"2026-02-01T11:59:0{number}"
        demo.put("CONVERSATIONS_STAGE", {**KEY, "message_sid": f"SM{number}", "body": body, "received_at": at})
    queues.send(platform.queue_urls()[stored(demo)["channel_method"].upper()], json.dumps(KEY))
    return demo


def test_the_ai_answers_what_is_staged_and_removes_it(asked, monkeypatch):
    before = stored(asked)
    work(THINKS_FOR.seconds + 2, monkeypatch)
    item = stored(asked)
    said, answered = item["messages"][len(before["messages"]) :]
    assert (said["role"], said["content"]) == ("user", "Is it there?\nAnd when?")
    assert answered["role"] == "assistant"
    assert answered["content"].startswith("Thanks for waiting.")
    assert item["conversation_status"] == "reply_sent"
    assert item["updated_at"] > before["updated_at"]
    assert asked.all("CONVERSATIONS_STAGE") == []


def test_the_ai_locks_the_conversation_until_it_has_answered(asked, monkeypatch):
    before = stored(asked)
    work(2, monkeypatch)
    assert stored(asked) == before | {"conversation_status": "processing_reply"}


def test_the_ai_leaves_an_approved_first_message_alone(demo, monkeypatch):  # noqa: F811
    before = demo.all("CONVERSATIONS")
    queues.send(platform.queue_urls()["WHATSAPP"], json.dumps({"conversation_data": {}}))
    work(THINKS_FOR.seconds + 2, monkeypatch)
    assert demo.all("CONVERSATIONS") == before
    assert queues.receive(platform.queue_urls()["WHATSAPP"], wait=0) == []
