"""Customers who want no more messages: what says so on each channel, where it holds, and what lifts it."""

import html
import itertools
import json
import re
from datetime import timedelta
from typing import Any

import pytest

from console import caching, clock
from console.errors import Invalid
from conversations.converting import reference_of
from conversations.messages.bodies import inbound_message
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.outbox.rows import messages_of
from conversations.receiving.handling import handle
from conversations.receiving.opt_outs import OptOut, opt_out_in
from tests.people import member, signed_in
from tests.queue import swept
from tests.store.conversations.sending.conftest import OPTED_OUT
from tests.support.conversations.handoff.kit import ANA, CHANNEL, CONVERSATION, KEY, WAITING, conversation, put, stored
from tests.support.conversations.replies import EMAIL, OUR_EMAIL, OURS, configured, held, replies, send_all_due, write

PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"
NUMBERS = {"gsi_company_whatsapp_number": OURS, "gsi_recipient_tel": CHANNEL, "gsi_company_sms_number": OURS}
_names = itertools.count(1)


@pytest.fixture(autouse=True)
def _source(settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", answer.content.decode()))


def bring(text: str, channel: str = "whatsapp", ago: timedelta = timedelta(), **changes: Any) -> None:
    parties = {"from": f"whatsapp:{CHANNEL}", "to": f"whatsapp:{OURS}"}
    if channel == "email":
        parties = {"from_address": EMAIL, "to_address": OUR_EMAIL}
    name, at = f"SM-{next(_names)}", clock.now() - ago
    content = {"channel_type": channel, "message_sid": name, "body": text, **parties, **KEY, **changes}
    handle(json.dumps(content), at, "queue", name)


def mark_of(store) -> str:
    found = [row for row in store.all("MESSAGES") if row["position"] == "opt-out"]
    assert all("expires_at" not in row for row in found)
    return found[0]["state"] if found else ""


def entries(store, action: str) -> list[dict[str, Any]]:
    return [each for each in store.all("AUDIT") if each["action_type"] == action]


OUT, IN, HINT = OptOut.OUT, OptOut.IN, OptOut.HINT


@pytest.mark.parametrize(
    ("channel", "text", "opt_out_type", "said"),
    [
        *(("sms", word, "", OUT) for word in ("STOP", " stop ", "StopAll", "UNSUBSCRIBE", "cancel", "End", "quit")),
        *(("whatsapp", word, "", HINT) for word in ("stopall", "Unsubscribe", "CANCEL", "end", "quit")),
        *((channel, "Stop.", "", OUT) for channel in ("sms", "whatsapp", "email")),
        *((channel, "Please stop", "", None) for channel in ("sms", "whatsapp", "email")),
        *((channel, "no more, thanks", "STOP", OUT) for channel in ("sms", "whatsapp")),
        *((channel, "Start", "", IN) for channel in ("sms", "whatsapp", "email")),
        ("sms", "Yes", "", OptOut.YES),
        ("whatsapp", "Yes", "", None),
        ("email", "cancel", "", HINT),
        ("sms", "help", "HELP", None),
    ],
)
def test_what_a_message_says_depends_on_its_channel(channel, text, opt_out_type, said):
    content = {"channel_type": channel, "from": "a@b.example", "to": "c@d.example", "body": text}
    message = inbound_message({**content, "OptOutType": opt_out_type})
    assert opt_out_in(message, channel) == said


def test_after_stop_neither_the_form_nor_the_sender_sends_a_reply(store, outbox, provider):
    held(store, **NUMBERS)
    write(ANA, "Just a moment")
    bring("STOP")
    assert mark_of(store) == "out"
    with pytest.raises(Invalid, match="asked for no more messages"):
        write(ANA, "Are you there?")
    # What was accepted before does not leave either.
    send_all_due()
    [row] = replies(store)
    assert (row["state"], provider.messages()) == ("not sent", [])
    assert row["error"] == "This customer asked for no more messages (STOP)."
    [entry] = entries(store, "customer.opted_out")
    assert (entry["conversation_id"], entry["company_id"], entry["actor"]) == (CONVERSATION, "ci-aaa-001", "platform")


def test_the_page_and_the_queue_show_it_and_a_reason_lifts_it(store, outbox, provider):
    held(store, member().username, **NUMBERS)
    swept(store)
    bring("STOP")
    client = signed_in(member())
    page = text_of(client.get(PAGE))
    assert "This customer asked for no more messages (STOP)." in page
    assert "asks for no more messages" in page
    assert 'name="text"' not in page
    caching.invalidate_all()
    assert "opted out" in text_of(client.get("/queue/?tab=mine"))
    url = f"{PAGE}opt-in/"
    assert "Say why the customer can get messages again" in text_of(client.post(url, {"reason": " "}, follow=True))
    assert mark_of(store) == "out"
    page = text_of(client.post(url, {"reason": "asked on the phone to go on"}, follow=True))
    assert "You can reply again." in page
    assert 'name="text"' in page
    assert mark_of(store) == "in"
    [entry] = entries(store, "customer.opted_in")
    assert entry["actor"] == member().username
    assert "asked on the phone to go on" in entry["action_payload_redacted"]
    caching.invalidate_all()
    assert "opted out" not in text_of(client.get("/queue/?tab=mine"))


def test_who_does_not_hold_it_lifts_nothing(store, outbox, provider):
    held(store, "ben", **NUMBERS)
    bring("STOP")
    answer = signed_in(member()).post(f"{PAGE}opt-in/", {"reason": "I want to"}, follow=True)
    assert "Only the person who has this conversation can do that." in text_of(answer)
    assert mark_of(store) == "out"


def test_it_holds_in_every_conversation_of_the_two_and_in_lists(store, outbox, provider):
    held(store, **NUMBERS)
    other = {"primary_channel": CHANNEL, "conversation_id": "ci-aaa-001#pi-aaa-001#two#447700900123"}
    config = {"whatsapp": configured()}
    more = {"channel_method": "whatsapp", "channel_config": config, **NUMBERS, **WAITING}
    store.put("CONVERSATIONS", {**conversation(**more), **other})
    swept(store)
    bring("STOP", **other)
    with pytest.raises(Invalid, match="asked for no more messages"):
        write(ANA, "Are you there?")
    caching.invalidate_all()
    assert "opted out" in text_of(signed_in(member()).get("/queue/"))
    assert "opted out" in text_of(signed_in(member()).get("/queue/?tab=colleagues"))


def test_start_lifts_it_and_the_later_word_wins_whichever_comes_first(store, outbox, provider):
    held(store, **NUMBERS)
    bring("STOP", ago=timedelta(minutes=2))
    bring("start", ago=timedelta(minutes=1))
    assert mark_of(store) == "in"
    # Delivered late.
    bring("stop", ago=timedelta(minutes=3))
    assert mark_of(store) == "in"
    assert len(entries(store, "customer.opted_in")) == 1
    write(ANA, "Welcome back")
    bring("stop", ago=timedelta(seconds=1))
    assert mark_of(store) == "out"


def test_yes_by_sms_lifts_an_opt_out_and_is_else_an_ordinary_word(store, outbox, provider):
    held(store, channel="sms", **NUMBERS)
    bring("YES", "sms")
    assert mark_of(store) == ""
    bring("CANCEL", "sms", ago=-timedelta(seconds=1))
    assert mark_of(store) == "out"
    bring("yes", "sms", ago=-timedelta(seconds=2))
    assert mark_of(store) == "in"


def test_the_providers_refusal_marks_it(store, outbox, provider):
    held(store, recipient_tel=OPTED_OUT)
    write(ANA, "Hello?")
    send_all_due()
    [row] = replies(store)
    assert (row["state"], row["error_code"]) == ("failed", "21610")
    assert mark_of(store) == "out"
    [entry] = entries(store, "customer.opted_out")
    assert "the provider refused a reply" in entry["action_payload_redacted"]


def test_another_word_of_the_list_is_a_hint_where_the_carrier_does_not_know_it(store, outbox, provider):
    held(store, **NUMBERS)
    bring("Unsubscribe")
    assert mark_of(store) == ""
    item = Conversation.get(*KEY.values(), consistent_read=True)
    messages: StoredMessages = messages_of(item, item.raw["messages"])
    assert messages.message(len(messages), raw=True).notes == ("may ask for no more messages",)
    write(ANA, "Shall I unsubscribe you?")


def test_an_email_that_says_stop_holds_for_the_address(store, outbox, provider):
    held(store, channel="email", gsi_company_email=OUR_EMAIL, gsi_recipient_email=EMAIL)
    bring("Stop", "email")
    with pytest.raises(Invalid, match="asked for no more messages"):
        write(ANA, "Sorry to see you go")


def test_the_same_message_again_is_one_entry(store, outbox, provider):
    held(store, **NUMBERS)
    for _ in range(2):
        content = {"channel_type": "sms", "from": CHANNEL, "to": OURS, "message_sid": "SM1", "body": "STOP", **KEY}
        handle(json.dumps(content), clock.now(), "queue", "SM1")
    assert len(entries(store, "customer.opted_out")) == 1
    assert stored(store)["hand_off_agent"] == "ana"


def test_a_conversation_without_numbers_is_received_all_the_same(store):
    put(store, **WAITING, channel_config=None, recipient_tel=None)
    bring("STOP")
    assert stored(store)["messages"][-1]["content"] == "STOP"
    assert mark_of(store) == ""
