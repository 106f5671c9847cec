"""The platform at work: what the page says and shows before and after a take, and what that costs."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest

from console import clock
from console.store.calls import table_name
from conversations.converting import reference_of
from conversations.handoff import HandOffAction, perform
from conversations.receiving.worker import sweep
from tests import faults
from tests.people import auditor, member, signed_in
from tests.queue import swept
from tests.store.conversations.receiving.test_stage import fragment, take
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, KEY, form, held_by, put, stored
from tests.support.conversations.replies import configured, said

pytestmark = pytest.mark.pages

ASKED = "orders can be cancelled?"
ANSWERING, REFUSED = "The AI is still answering:", "The platform accepts no messages from this customer right now"
SILENT = "The AI stays silent until you return it."
LOCKED = {"conversation_status": "processing_reply", "auto_queue_reply_message": False}
# Routed to people by a take of some minutes ago.
PEOPLE = held_by("ana", auto_queue_reply_message=True, hand_off_routing_before=[])
PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"


@pytest.fixture(autouse=True)
def _configured(store, settings) -> None:
    swept(store)
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    settings.OUTBOX_QUEUE_URL = "https://sqs.invalid/outbox"
    settings.HAND_OFF_ROUTING = "held"


def ago(**span: float) -> str:
    return clock.to_iso(clock.now() - timedelta(**span))


def stage(store, sid: str = "SM1", text: Any = ASKED, **changes: Any) -> None:
    at = changes.pop("received_at", ago(seconds=20).removesuffix("Z"))
    store.put("CONVERSATIONS_STAGE", fragment(sid, body=text, received_at=at, **changes))


def seen_by(client, path: str = PAGE, **headers: str) -> str:
    answer = client.get(path, **headers)
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", answer.content.decode()))


def ana():
    return signed_in(member("ana", scope=[COMPANY]))


def test_the_page_shows_what_the_ai_is_answering_before_and_after_a_take(store):
    put(store, **LOCKED)
    stage(store)
    client = ana()
    for takes in (False, True):
        if takes:
            perform(form(HandOffAction.TAKE_OVER), ANA)
        page = seen_by(client)
        assert ANSWERING in page
        assert page.count(ASKED) == 1
        assert REFUSED in page
        assert SILENT not in page
    assert "The AI may still answer what the customer wrote before." in page


def test_words_are_shown_from_when_they_are_staged_and_while_nothing_is_locked(store):
    put(store, auto_queue_reply_message=False)
    stage(store)
    take(body=ASKED, received_at=ago(seconds=20).removesuffix("Z"), at=clock.now())
    client = ana()
    assert ANSWERING in (page := seen_by(client))
    assert ASKED in page
    assert REFUSED not in page
    perform(form(HandOffAction.TAKE_OVER), ANA)
    page = seen_by(client)
    assert ANSWERING in page
    assert SILENT not in page


def test_silence_is_promised_once_the_platform_has_written_its_answer(store):
    put(store, **LOCKED)
    stage(store)
    perform(form(HandOffAction.TAKE_OVER), ANA)
    client, later = ana(), clock.to_iso(clock.now() + timedelta(seconds=4))
    written = [
        {"message_id": "SM1", "role": "user", "content": ASKED, "timestamp": later},
        {"message_id": "SM2", "role": "assistant", "content": "Yes, until noon.", "timestamp": later},
    ]
    changes = {"messages": [*stored(store)["messages"], *written], "updated_at": later}
    store.update("CONVERSATIONS", KEY, conversation_status="reply_sent", **changes)
    page = seen_by(client)
    assert "the AI answered after you took over" in page
    assert SILENT in page
    assert ANSWERING not in page
    assert page.count(ASKED) == 1


@pytest.mark.parametrize("merged", [ASKED, f"Hello\n{ASKED}"])
def test_what_the_platform_has_written_is_not_shown_as_staged(store, merged):
    now = ago(seconds=1)
    messages = [{"message_id": "SM0", "role": "user", "content": merged, "timestamp": now}]
    put(store, **LOCKED, messages=[{"role": "user", "content": "Be kind."}, *messages])
    stage(store)
    assert ANSWERING not in seen_by(ana())


def test_what_was_routed_to_people_is_not_called_the_ais(store):
    put(store, **PEOPLE)
    stage(store)
    take(body=ASKED, received_at=ago(seconds=20).removesuffix("Z"), at=clock.now())
    page = seen_by(ana())
    assert ASKED in page
    assert ANSWERING not in page
    assert SILENT in page


def test_after_a_minute_the_words_are_a_message_with_its_doubt(store, monkeypatch):
    put(store, auto_queue_reply_message=False)
    stage(store)
    take(body=ASKED, received_at=ago(seconds=20).removesuffix("Z"), at=clock.now())
    at = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr(clock, "now", lambda: at)
    sweep(at)
    page = seen_by(ana())
    assert page.count(ASKED) == 1
    assert "said to the AI, which has not answered yet" in page


def test_who_may_not_read_transcripts_sees_the_words_redacted(store):
    put(store, **LOCKED)
    stage(store, text="call +447700900999")
    page = seen_by(signed_in(auditor()))
    assert ANSWERING in page
    assert "447700900999" not in page


def test_staged_words_are_text_and_a_bad_row_breaks_nothing(store):
    put(store, **LOCKED)
    stage(store, text="<script>alert(1)</script>")
    stage(store, "SM2", text={"x": [1]})
    stage(store, "SM3", received_at=7)
    page = ana().get(PAGE).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


# --- The reply box ------------------------------------------------------------------------------------------------


def test_who_had_never_written_before_can_be_answered_as_soon_as_words_are_staged(store):
    put(store, **LOCKED, channel_config={"whatsapp": configured()}, messages=[])
    perform(form(HandOffAction.TAKE_OVER), ANA)
    client = ana()
    page = seen_by(client)
    assert "The customer has not written yet, so WhatsApp only allows an approved template." in page
    assert 'id="reply-text"' not in page
    stage(store)
    page = seen_by(client)
    assert 'id="reply-text"' in page
    token = re.search(r'name="reply" value="([^"]+)"', page)[1]
    client.post(f"{PAGE}reply/", {"reply": token, "text": "Yes, until noon."})
    assert [row["content"] for row in store.all("MESSAGES") if row.get("direction") == "out"] == ["Yes, until noon."]


# --- What it costs ------------------------------------------------------------------------------------------------


def calls_of(store, client, path: str = PAGE, **headers: str) -> list[str]:
    client.get(path, **headers)
    with store.calls() as seen:
        client.get(path, **headers)
    return [f"{call.operation} {'+'.join(call.tables)}" for call in seen if "STAFF_SESSIONS" not in call.tables]


def test_a_held_conversation_costs_seven_calls_and_eight_while_the_platform_is_at_work(store):
    put(store, **PEOPLE, messages=[said()])
    client = ana()
    calm = calls_of(store, client)
    assert len(calm) <= 7
    assert "Query CONVERSATIONS_STAGE" not in calm
    store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")
    stage(store)
    busy = calls_of(store, client)
    assert sorted(busy) == sorted([*calm, "Query CONVERSATIONS_STAGE"])


def poll_of(client) -> str:
    since = re.search(r'data-since="([^"]+)"', seen_by(client))[1]
    return f"{PAGE}updates/?since={since}&shown=1"


def test_a_poll_never_reads_the_stage_and_tells_that_the_platform_began(store):
    put(store, **PEOPLE)
    client = ana()
    poll = poll_of(client)
    assert client.get(poll, HTTP_X_POLL="1").status_code == 204
    store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")
    stage(store)
    told = client.get(poll, HTTP_X_POLL="1").content.decode()
    assert "data-changed" in told
    assert 'id="silence">The AI may still answer' in told
    poll = poll_of(client)
    assert calls_of(store, client, poll, HTTP_X_POLL="1") == ["GetItem CONVERSATIONS", "Query MESSAGES"]
    assert client.get(poll, HTTP_X_POLL="1").status_code == 204
    assert ANSWERING in seen_by(client, f"{PAGE}?latest=1", HTTP_HX_REQUEST="true")


def test_a_poll_tells_that_words_were_staged(store):
    put(store, hand_off_action_id="before")
    client = ana()
    stage(store)
    poll = poll_of(client)
    assert client.get(poll, HTTP_X_POLL="1").status_code == 204
    take(body=ASKED, received_at=ago(seconds=20).removesuffix("Z"), at=clock.now())
    assert "data-changed" in client.get(poll, HTTP_X_POLL="1").content.decode()
    assert client.get(poll_of(client), HTTP_X_POLL="1").status_code == 204


def test_without_the_stage_the_page_is_shown_and_promises_no_silence(store):
    put(store, **PEOPLE, conversation_status="processing_reply")
    stage(store)
    client = ana()
    with faults.fail_before("Query", table_key="CONVERSATIONS_STAGE", times=faults.ALWAYS) as fault:
        page = seen_by(client)
    assert fault.struck
    assert "The AI may still answer." in page
    assert REFUSED in page
    assert SILENT not in page
