"""A customer with several conversations with one number: what is said in another one, and taking all of them."""

import re
from datetime import timedelta
from typing import Any

import pytest

from console import caching, clock
from console.store.calls import table_name
from conversations.converting import reference_of
from conversations.handoff import HandOffAction, perform
from conversations.indexer import handling
from conversations.models import Conversation
from conversations.outbox.rows import OTHER, messages_of
from conversations.workers.streams.records import StreamChange
from tests.answers import text_of
from tests.dynamodb import to_dynamodb
from tests.people import member, signed_in
from tests.queue import filled
from tests.store.conversations.receiving.test_stage import fragment, take
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, KEY, form, held_by, stored
from tests.support.conversations.handoff.kit import conversation as item_of

NUMBER = "+447588713814"
BETWEEN = {"gsi_recipient_tel": CHANNEL, "gsi_company_whatsapp_number": NUMBER}
OLD = f"{COMPANY}#pi-aaa-001#old#447700900123"
OLD_KEY = {**KEY, "conversation_id": OLD}
HELD = held_by("ana", auto_queue_reply_message=True, hand_off_routing_before=[])
# With the link to it.
SAID_ELSEWHERE = f'said in <a href="/conversations/{reference_of(CHANNEL, OLD)}/">another conversation</a>'
PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"


@pytest.fixture(autouse=True)
def _configured(store, settings) -> None:
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    settings.OUTBOX_QUEUE_URL = "https://sqs.invalid/outbox"
    settings.HAND_OFF_ROUTING = "held"
    filled(store)


def put(store, **changes: Any) -> dict[str, Any]:
    """The conversation that somebody takes."""
    item = item_of(**BETWEEN, **changes)
    store.put("CONVERSATIONS", item)
    return item


def put_old(store, **changes: Any) -> dict[str, Any]:
    """An older conversation of the same customer with the same number, finished."""
    item = item_of(**(BETWEEN | OLD_KEY | {"request_id": "old", "conversation_status": "completed"} | changes))
    store.put("CONVERSATIONS", item)
    return item


def ago(**span: float) -> str:
    return clock.to_iso(clock.now() - timedelta(**span)).removesuffix("Z")


def said_elsewhere(store) -> list[str]:
    return [row["content"] for row in store.all("MESSAGES") if row.get("direction") == OTHER]


def shown(username: str = "ana", path: str = PAGE) -> str:
    answer = signed_in(member(username, scope=[COMPANY])).get(path)
    assert answer.status_code == 200
    return text_of(answer)


def test_words_to_the_ai_of_another_conversation_are_shown_to_the_holder_once(store):
    put(store, **HELD)
    put_old(store)
    at = ago(seconds=2)
    for _ in range(2):
        take("SM1", conversation_id=OLD, body="Are you still there?", received_at=at, at=clock.now())
    assert said_elsewhere(store) == ["Are you still there?"]
    page = shown()
    assert page.count("Are you still there?") == 1
    assert SAID_ELSEWHERE in page


def test_words_of_another_conversation_are_no_messages_of_this_one(store):
    put(store, **HELD)
    put_old(store)
    take("SM1", conversation_id=OLD, received_at=ago(seconds=2), at=clock.now())
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    messages = messages_of(item, item.raw["messages"])
    assert len(messages) == 1
    assert not messages.unanswered()
    assert not stored(store).get("hand_off_message_ids")


@pytest.mark.parametrize(
    ("held", "other"),
    [
        ({}, {}),
        (HELD, {"gsi_company_whatsapp_number": "+447588713999"}),
        (HELD, {"company_id": "ci-bbb-002"}),
        (HELD, {"primary_channel": "+447700900124", "recipient_tel": "+447700900124"}),
        (HELD | {"ttl": 1}, {}),
    ],
    ids=["nobody holds it", "our other number", "another company", "another customer", "expired"],
)
def test_words_of_other_customers_numbers_and_companies_stay_where_they_are(store, held, other):
    put(store, **held)
    old = put_old(store, **other)
    key = {name: old[name] for name in ("primary_channel", "conversation_id")}
    take("SM1", received_at=ago(seconds=2), at=clock.now(), **key)
    assert said_elsewhere(store) == []


def test_words_that_came_before_the_holder_was_known_are_shown_a_minute_later(store, settings):
    put(store)
    put_old(store)
    at = ago(seconds=2)
    take("SM1", conversation_id=OLD, received_at=at, at=clock.now())
    perform(form(HandOffAction.TAKE_OVER), ANA)
    assert said_elsewhere(store) == []
    caching.invalidate_all()
    take("SM1", conversation_id=OLD, received_at=at, at=clock.now())
    assert said_elsewhere(store) == ["Where is my parcel?"]


def test_who_takes_one_sees_what_is_staged_for_another(store):
    before = put(store)
    put_old(store)
    words = fragment("SM1", conversation_id=OLD, body="Hello? Anybody?", received_at=ago(seconds=20))
    store.put("CONVERSATIONS_STAGE", words)
    perform(form(HandOffAction.TAKE_OVER), ANA)
    for _ in range(2):
        handling.handle(StreamChange(to_dynamodb(before), to_dynamodb(stored(store)), clock.now()))
    assert said_elsewhere(store) == ["Hello? Anybody?"]
    assert SAID_ELSEWHERE in shown()


def test_an_open_page_hears_of_words_of_another_conversation(store):
    put(store, **HELD)
    put_old(store)
    client = signed_in(member("ana", scope=[COMPANY]))
    [(poll, since)] = re.findall(r'data-poll="([^"]+)" data-since="([^"]+)"', client.get(PAGE).content.decode())
    url = f"{poll}?since={since}&shown=1"
    assert client.get(url).status_code == 204
    take("SM1", conversation_id=OLD, received_at=ago(seconds=2), at=clock.now())
    assert client.get(url).status_code == 200


# Taking all of them.


def press(client, page: str, action: str):
    """Submit the page's form that posts to an address which ends so."""
    url, inner = re.findall(rf'<form method="post" action="([^"]+/{action}/)">(.*?)</form>', page, re.DOTALL)[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', inner):
        fields.setdefault(name, []).append(value)
    return client.post(url, fields, follow=True)


def test_a_take_offers_the_customers_other_conversations_and_takes_all(store):
    put(store, hand_off_to_human=True, gsi_hand_off_queue=f"waiting#{COMPANY}")
    put_old(store)
    client = signed_in(member("ana", scope=[COMPANY]))
    page = press(client, client.get(PAGE).content.decode(), "hand-off")
    assert "another conversation with the same number" in text_of(page)
    assert "Take it too" in text_of(page)
    taken = press(client, page.content.decode(), "take-others")
    assert "You took 1 conversation." in text_of(taken)
    assert "Take it too" not in text_of(taken)
    holders = {item["conversation_id"]: item.get("hand_off_agent") for item in store.all("CONVERSATIONS")}
    assert holders == {CONVERSATION: "ana", OLD: "ana"}


def test_what_a_colleague_holds_is_named_and_not_offered(store):
    put(store, **HELD)
    put_old(store, **held_by("ben"))
    page = shown(path=f"{PAGE}?others=1")
    assert "another conversation with the same number" in page
    assert "with ben" in page.lower()
    assert "Take it too" not in page


def test_others_are_not_named_to_who_does_not_hold_it_nor_without_any(store):
    put(store, **HELD)
    put_old(store, primary_channel="+447700900124", gsi_recipient_tel="+447700900124")
    assert "with the same number" not in shown(path=f"{PAGE}?others=1")
    put_old(store)
    assert "with the same number" in shown(path=f"{PAGE}?others=1")
    assert "with the same number" not in shown("ben", path=f"{PAGE}?others=1")
    assert "with the same number" not in shown()


def test_a_conversation_taken_meanwhile_is_refused_in_words(store):
    put(store, **HELD)
    put_old(store)
    client = signed_in(member("ana", scope=[COMPANY]))
    page = client.get(f"{PAGE}?others=1").content.decode()
    store.update("CONVERSATIONS", OLD_KEY, **held_by("ben"))
    assert "1 not done." in text_of(press(client, page, "take-others"))
    assert store.get("CONVERSATIONS", **OLD_KEY)["hand_off_agent"] == "ben"


def test_a_form_without_any_conversation_says_so(store):
    put(store, **HELD)
    client = signed_in(member("ana", scope=[COMPANY]))
    answer = client.post(f"{PAGE}take-others/", {}, follow=True)
    assert "Select at least one conversation." in text_of(answer)
