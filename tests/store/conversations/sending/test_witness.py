"""What only the provider has of a customer's messages is in the transcript soon, once, and says where it was found."""

import html
from collections.abc import Callable
from datetime import time, timedelta
from typing import Any
from unittest import mock

import pytest
from django.urls import reverse

from console import clock
from console.store.calls import table_name
from console.store.models import plain_item
from conversations.attention.hours import BusinessHours
from conversations.attention.levels import ServiceLevels
from conversations.converting import hand_off_of, reference_of
from conversations.handoff import perform
from conversations.handoff.actions import seal_intent
from conversations.handoff.outcomes import HandOffOutcome
from conversations.indexer.handling import handle as handle_change
from conversations.messages.older_messages import save_older
from conversations.outbox.rows import messages_of
from conversations.providers import Outgoing, credentials, twilio
from conversations.providers.twilio import Twilio
from conversations.queue.selection import row_token
from conversations.receiving import witnessing
from conversations.receiving.handling import handle
from conversations.receiving.leaving import ProviderNotAsked, UnansweredLeft, return_to_ai
from conversations.receiving.witnessing import WitnessedPair, pair_of, request_look
from conversations.records import Speaker
from conversations.sending import witness
from conversations.sending.worker import Sender
from conversations.workers.streams.records import StreamChange
from demo.provider import DemoProvider, ProviderFault
from tests.dynamodb import to_dynamodb
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, KEY, form, stored, trail
from tests.support.conversations.replies import OURS, SECRET, SECRETS, configured, later, said, send_all_due, write
from tests.support.conversations.witnessing import (
    FROM,
    TO,
    ago,
    conversation,
    look,
    transcript,
    watched,
    words,
    write_in,
)

MINUTE = timedelta(minutes=1)


def notes() -> dict[str, tuple[str, ...]]:
    return {each.line: each.notes for each in transcript()}


def row_of(store):
    [found] = [each for each in store.all("MESSAGES") if each["conversation"].startswith("witness")]
    return found


def test_a_photo_without_words_is_found_at_the_provider(store, outbox, provider):
    watched(store)
    write_in(provider, media=("image/jpeg",), ago=MINUTE)
    look()
    assert words()[-1] == "Photo (JPEG)"
    assert notes()["Photo (JPEG)"] == ("recovered from the provider",)
    [row] = [each for each in store.all("MESSAGES") if each.get("source") == "provider"]
    assert '"type": "image/jpeg", "url": "https://api.twilio.com/2010-04-01/Accounts/' in row["media"]
    assert stored(store)["hand_off_heard_at"] == row["received_at"]
    assert conversation().hand_off_unanswered_at


def test_what_was_moved_out_of_a_full_item_is_not_found_again(store, outbox, provider):
    watched(store, messages=[])
    # The platform merges what it gave to the AI, under the first id.
    name = write_in(provider, "Are you there?", ago=MINUTE * 4)
    write_in(provider, "Hello?", ago=MINUTE * 3)
    said_before = {"message_id": name, "timestamp": ago(MINUTE * 2), "role": "user"}
    older = said_before | {"content": "Are you there?\nHello?"}
    save_older(conversation().raw, [to_dynamodb({"entry": older})["entry"]])
    store.update("CONVERSATIONS", KEY, hand_off_older=1)
    look()
    assert not [each for each in transcript() if "recovered from the provider" in each.notes]


def test_three_messages_that_a_dead_worker_keeps_out_are_found(store, outbox, provider):
    watched(store, conversation_status="processing_reply")
    for number in range(3):
        write_in(provider, f"line {number}", ago=MINUTE * (3 - number))
    look()
    assert words()[-3:] == ["line 0", "line 1", "line 2"]


def test_looking_again_adds_nothing(store, outbox, provider):
    watched(store)
    write_in(provider, "hello?", ago=MINUTE)
    look()
    before = words()
    for seconds in (91, 700):
        look(seconds)
    assert words() == before


def test_a_message_that_the_queue_brings_later_is_one_message(store, outbox, provider):
    watched(store)
    name = write_in(provider, "hello?", ago=MINUTE)
    look()
    body = f'{{"from": "{FROM}", "to": "{TO}", "message_sid": "{name}", "body": "hello?", "channel_type": "whatsapp"}}'
    handle(body, clock.now(), "queue", "d1")
    assert words().count("hello?") == 1


@pytest.mark.parametrize("content", ["are you\nthere?\nit is me", "are you\nit is me\nthere?"])
def test_what_the_platform_merged_is_known(store, outbox, provider, content):
    at = clock.now() - MINUTE * 4
    names = [
        write_in(provider, text, ago=MINUTE * 4 - timedelta(seconds=number // 2))
        for number, text in enumerate(["are you", "there?", "it is me"])
    ]
    merged = {"message_id": names[0], "timestamp": clock.to_iso(at), "role": "user", "content": content}
    watched(store, messages=[said(), merged])
    before = words()
    look()
    assert words() == before


def test_a_dropped_message_with_the_words_of_another_is_found_too(store, outbox, provider):
    """The merged entry has one "ok"; the customer wrote two."""
    names = [write_in(provider, text, ago=MINUTE * 4 - timedelta(seconds=5 * n)) for n, text in enumerate(["a", "ok"])]
    merged = {"message_id": names[0], "timestamp": ago(MINUTE * 3), "role": "user", "content": "a\nok"}
    write_in(provider, "ok", ago=MINUTE)
    watched(store, messages=[said(), merged])
    look()
    assert words()[-1:] == ["ok"]
    assert len(words()) == 3


def test_what_is_staged_is_known(store, outbox, provider, settings):
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    watched(store)
    name = write_in(provider, "staged", ago=MINUTE)
    store.put(
        "CONVERSATIONS_STAGE", {**KEY, "message_sid": name, "body": "staged", "received_at": "2026-01-01T00:00:00"}
    )
    look()
    assert "staged" not in words()


def test_a_message_without_words_or_media_says_that_the_provider_does_not_say(store, outbox, provider):
    watched(store)
    write_in(provider, ago=MINUTE)
    look()
    assert words()[-1] == "Message without words (a location, contact or reaction: the provider does not say which)"


def test_what_is_deleted_at_the_provider_stays(store, outbox, provider):
    watched(store)
    name = write_in(provider, "please call", ago=MINUTE)
    look()
    provider.redact(name)
    look(700)
    assert words()[-1] == "please call"


@pytest.mark.parametrize("seconds", [-300, 300])
def test_clocks_that_differ_change_nothing(store, outbox, provider, seconds):
    provider.ahead = timedelta(seconds=seconds)
    watched(store)
    write_in(provider, "where are you?", ago=MINUTE)
    look()
    assert words()[-1] == "where are you?"
    at = clock.parse_instant(transcript()[-1].at.isoformat())
    assert abs(clock.now() - MINUTE - at) < timedelta(seconds=5)


def test_a_message_that_lags_in_the_list_is_found(store, outbox, provider):
    watched(store)
    write_in(provider, "first", ago=MINUTE, lag=MINUTE)
    write_in(provider, "second", ago=MINUTE / 2)
    look()
    assert "first" not in words()
    look(91)
    assert words()[-2:] == ["first", "second"]


def test_a_message_that_lags_for_half_an_hour_is_found(store, outbox, provider):
    watched(store)
    write_in(provider, "first", ago=MINUTE, lag=MINUTE * 30)
    write_in(provider, "later", ago=-MINUTE * 29)
    look()
    look(31 * 60)
    assert words()[-2:] == ["first", "later"]


def test_a_list_is_read_page_by_page_until_the_window_ends(store, outbox, provider, monkeypatch):
    monkeypatch.setattr(twilio, "PAGE", 3)
    watched(store, messages=[said(name="SM1")])
    write_in(provider, "known", ago=MINUTE * 5, name="SM1")
    for number in range(10):
        write_in(provider, f"line {number}", ago=MINUTE * 4 - timedelta(seconds=10 * number))
    look()
    assert words()[1:] == [f"line {number}" for number in range(10)]
    before = len(provider.listed_at)
    look(91)
    # The list of answers is read every ten minutes only.
    assert len(provider.listed_at) - before == 4


def test_a_list_that_is_too_long_says_that_it_was_not_read_whole(store, outbox, provider, monkeypatch):
    monkeypatch.setattr(witness, "MOST_LISTED", 4)
    watched(store, messages=[said(ago=MINUTE * 20)])
    for number in range(6):
        write_in(provider, f"line {number}", ago=MINUTE * (10 - number))
    look()
    assert words()[-4:] == ["line 2", "line 3", "line 4", "line 5"]
    assert row_of(store)["error"] == witness.NOT_READ_WHOLE


def test_nothing_from_before_the_conversation_is_taken_into_it(store, outbox, provider):
    watched(store, created_at=ago(timedelta(minutes=20)), messages=[])
    write_in(provider, "said in another conversation", ago=timedelta(hours=3))
    write_in(provider, "said in this one", ago=MINUTE)
    look()
    assert words() == ["said in this one"]


@pytest.mark.parametrize("fault", [ProviderFault(), ProviderFault(status=500), ProviderFault(status=200, body=b"{")])
def test_a_lost_answer_is_asked_for_again_soon(store, outbox, provider, fault):
    watched(store)
    write_in(provider, "hello?", ago=MINUTE)
    provider.fault = lambda *_: fault
    look()
    provider.fault = lambda *_: None
    assert "hello?" not in words()
    with later(16):
        send_all_due()
    assert words()[-1] == "hello?"


def test_a_busy_provider_is_left_alone_for_as_long_as_it_asks(store, outbox, provider):
    watched(store)
    write_in(provider, "hello?", ago=MINUTE)
    busy = ProviderFault(status=429, headers={"Retry-After": "5"}, body=b'{"code": 20429}')
    provider.fault = lambda *_: busy
    look()
    provider.fault = lambda *_: None
    before = len(provider.listed_at)
    with later(2):
        send_all_due()
    assert len(provider.listed_at) == before
    with later(10):
        send_all_due()
    assert words()[-1] == "hello?"


def test_one_account_is_asked_at_most_so_often(store, outbox, provider, monkeypatch):
    monkeypatch.setattr(witness, "LISTS_PER_SECOND", 0.1)
    watched(store)
    for customer in (CHANNEL, "+447700900124"):
        request_look(WitnessedPair("whatsapp", OURS, customer, SECRET, COMPANY))
    asked = set[str]()
    provider.fault = lambda method, path, query: asked.add(query["From"])
    sender = Sender(wait=lambda _: False)
    with mock.patch.object(clock, "now", return_value=clock.now()):
        sender.run(once=True)
    assert len(asked - {TO}) == 1
    with later(11):
        sender.run(once=True)
    assert asked - {TO} == {FROM, "whatsapp:+447700900124"}


# When it looks.


def due_in(store) -> float:
    at = clock.parse_instant(row_of(store)["due_at"])
    assert at is not None
    return round((at - clock.now()).total_seconds())


def test_it_looks_every_ninety_seconds_while_people_have_the_conversation(store, outbox, provider):
    watched(store)
    look()
    assert 88 <= due_in(store) <= 90
    write_in(provider, "hello?", ago=-MINUTE)
    with later(95):
        send_all_due()
    assert words()[-1] == "hello?"


def test_it_looks_every_hour_while_nobody_has_asked_for_people(store, outbox, provider):
    item = watched(store, hand_off_to_human=False)
    store.put(
        "CONVERSATIONS", {name: item[name] for name in item if name not in ("hand_off_agent", "gsi_hand_off_queue")}
    )
    look()
    assert 3_590 <= due_in(store) <= 3_600


def test_it_looks_every_hour_while_the_company_is_closed(store, outbox, provider, monkeypatch):
    tomorrow = (clock.now() + timedelta(days=1)).weekday()
    hours = BusinessHours(time(9), time(17), frozenset({tomorrow}), "UTC")
    monkeypatch.setattr(witness, "levels_in", lambda _: ServiceLevels(hours=hours))
    watched(store)
    look()
    assert 3_590 <= due_in(store) <= 3_600


def test_it_looks_as_the_indexer_sees_a_take_and_once_more_two_minutes_after_the_return(
    store, outbox, provider, settings
):
    settings.HAND_OFF_ROUTING = "held"
    watched(store, **dict.fromkeys(("hand_off_agent", "auto_queue_reply_message", "hand_off_routing_before")))
    write_in(provider, media=("image/png",), ago=MINUTE)
    index_after(lambda: perform(form("take"), ANA))
    send_all_due()
    assert words()[-1] == "Photo (PNG)"
    index_after(lambda: perform(form("hand_back"), ANA))
    send_all_due()
    assert 115 <= due_in(store) <= 120
    with later(121):
        send_all_due()
    assert not [each for each in store.all("MESSAGES") if each["conversation"].startswith("witness")]


def index_after(act: Callable[[], object]) -> None:
    """Let the indexer handle what an action changed."""
    before = to_dynamodb(stored_now())
    act()
    handle_change(StreamChange(before, to_dynamodb(stored_now()), clock.now()))


def stored_now() -> dict[str, Any]:
    return plain_item(conversation().raw)


def test_it_asks_nobody_where_it_is_off_or_the_channel_has_no_list(store, outbox, provider, settings):
    settings.PROVIDER_WITNESS = False
    watched(store)
    assert pair_of(conversation()) is None
    settings.PROVIDER_WITNESS = True
    watched(store, channel_method="email", channel_config={"email": configured("email")})
    assert pair_of(conversation()) is None
    watched(store, channel_method="sms", channel_config={"sms": configured("sms")})
    assert pair_of(conversation()) is not None


def test_a_secret_that_does_not_work_is_tried_every_hour_and_named(store, outbox, provider):
    watched(store)
    provider.fault = lambda *_: ProviderFault(status=401, body=b'{"code": 20003}')
    look()
    assert 3_590 <= due_in(store) <= 3_600
    assert [each.id for each in credentials.problems()] == [SECRET]


# For whom a message is.


def test_what_the_platform_may_yet_route_to_the_ai_is_shown_with_the_doubt(store, outbox, provider, settings):
    settings.HAND_OFF_ROUTING = "held"
    watched(store, **dict.fromkeys(("hand_off_agent", "auto_queue_reply_message", "hand_off_routing_before")))
    perform(form("take"), ANA)
    write_in(provider, "and one more thing")
    look()
    [found] = [each for each in transcript() if each.line == "and one more thing"]
    assert found.notes == ("said as people took over: the AI may answer it too", "recovered from the provider")
    entry = {"timestamp": ago(-MINUTE), "role": "user", "content": "and one more thing"}
    [row] = [each for each in store.all("MESSAGES") if each.get("source") == "provider"]
    messages = [*stored(store)["messages"], entry | {"message_id": row["message_id"]}]
    store.update("CONVERSATIONS", KEY, messages=messages)
    assert words().count("and one more thing") == 1


def test_what_the_ai_never_got_before_the_take_is_the_holders(store, outbox, provider):
    watched(store, hand_off_routed_at=ago(MINUTE * 3))
    write_in(provider, media=("audio/ogg",), ago=MINUTE * 10)
    look()
    [found] = [each for each in transcript() if each.line == "Voice note"]
    assert found.notes == ("recovered from the provider",)
    assert stored(store)["hand_off_unanswered_at"]


def test_it_is_placed_with_the_conversation_that_a_person_holds(store, outbox, provider):
    watched(store)
    other = {"conversation_id": f"{CONVERSATION}-old", "messages": [], "auto_queue_reply_message": None}
    store.put("CONVERSATIONS", stored(store) | other | {"hand_off_agent": None, "hand_off_to_human": False})
    write_in(provider, "hello?", ago=MINUTE)
    look()
    assert words()[-1] == "hello?"
    assert words(conversation_id=f"{CONVERSATION}-old") == []


def test_what_another_conversation_of_the_pair_has_is_known(store, outbox, provider):
    watched(store)
    name = write_in(provider, "hello?", ago=MINUTE)
    other = {"conversation_id": f"{CONVERSATION}-old", "messages": [said("hello?", MINUTE, name)]}
    store.put("CONVERSATIONS", stored(store) | other | {"hand_off_agent": None, "hand_off_to_human": False})
    look()
    assert "hello?" not in words()


def test_a_number_written_differently_is_asked_for_in_both_forms(store, outbox, provider):
    stands, writes = "+5511900000000", "+551100000000"
    key = {"primary_channel": stands}
    store.put("CONVERSATIONS", watched(store) | key | {"recipient_tel": stands, "gsi_recipient_tel": stands})
    provider.receive(f"whatsapp:{writes}", TO, "oi", ago=MINUTE)
    look(**key)
    [found] = [each for each in transcript(**key) if each.line == "oi"]
    assert found.notes == ("number written differently", "recovered from the provider")


# Answers of the AI.


def test_an_answer_that_the_ai_sent_and_nobody_wrote_down_is_added(store, outbox, provider):
    watched(store, conversation_status="retry")
    Twilio(SECRETS[SECRET]).send(outgoing("You can cancel until noon."))
    look(130)
    [found] = [each for each in transcript() if each.line == "You can cancel until noon."]
    assert found.speaker is Speaker.AI
    assert found.notes == ("recovered from the provider",)
    [entry] = [each for each in trail(store) if each["action_type"] == "message.answer_found"]
    assert "noon" not in str(entry)
    look(800)
    assert words().count("You can cancel until noon.") == 1


def test_an_answer_that_the_platform_writes_late_is_one_answer(store, outbox, provider):
    watched(store)
    sid = Twilio(SECRETS[SECRET]).send(outgoing("You can cancel until noon."))
    look(130)
    entry = {
        "message_id": sid,
        "timestamp": ago(-MINUTE * 3),
        "role": "assistant",
        "content": "You can cancel until noon.",
    }
    store.update("CONVERSATIONS", KEY, messages=[*stored(store)["messages"], entry])
    assert words().count("You can cancel until noon.") == 1


@pytest.mark.parametrize("is_known", [True, False])
def test_a_reply_of_a_person_is_no_answer_of_the_ai(store, outbox, provider, is_known):
    watched(store)
    provider.fault = lambda method, *_: DemoProvider.lost() if method == "POST" and not is_known else None
    write(ANA, "It is on its way.")
    send_all_due()
    provider.fault = lambda *_: None
    look(130)
    assert words().count("It is on its way.") == 1
    assert not [each for each in store.all("MESSAGES") if each.get("direction") == "answer"]


def test_an_entry_without_the_providers_id_is_known_by_its_words(store, outbox, provider):
    watched(store)
    Twilio(SECRETS[SECRET]).send(outgoing("Hello"))
    look(130)
    assert words().count("Hello") == 1


def outgoing(text: str) -> Outgoing:
    return Outgoing("r", "whatsapp", OURS, CHANNEL, text, clock.now())


# Before a return.


def return_form(**more: Any) -> HandOffOutcome:
    item = conversation()
    mark = messages_of(item, item.raw.get("messages")).unanswered_mark
    return return_to_ai(form("hand_back"), ANA, shown=mark, **more)


def test_a_return_asks_the_provider_first_and_shows_what_it_has(store, outbox, provider, monkeypatch):
    watched(store)
    look()
    monkeypatch.setattr(witnessing, "wait", lambda _: send_all_due())
    write_in(provider, media=("image/jpeg",), ago=MINUTE)
    with pytest.raises(UnansweredLeft, match="has written again"):
        return_form()
    assert stored(store)["hand_off_agent"] == "ana"
    assert words()[-1] == "Photo (JPEG)"
    return_form()
    assert "hand_off_agent" not in stored(store)


@pytest.mark.parametrize("has_looked", [True, False])
def test_a_return_says_that_the_provider_was_not_asked_and_then_does_as_told(
    store, outbox, provider, monkeypatch, has_looked
):
    watched(store)
    if has_looked:
        look()
    waits = list[float]()
    monkeypatch.setattr(witnessing, "wait", waits.append)
    with pytest.raises(ProviderNotAsked):
        return_form()
    assert sum(waits) == (5 if has_looked else 0)
    assert stored(store)["hand_off_agent"] == "ana"
    return_form(unasked=True)
    assert "hand_off_agent" not in stored(store)


def test_the_dialog_of_a_return_says_that_the_provider_was_not_asked(store, outbox, provider, monkeypatch):
    monkeypatch.setattr(witnessing, "wait", lambda _: None)
    watched(store)
    browser = signed_in(member("ana"))
    url = reverse("conversation-hand-off", args=[reference_of(CHANNEL, CONVERSATION)])
    item = conversation()
    fields = {
        "intent": seal_intent(form("hand_back"), ANA),
        "shown": messages_of(item, item.raw.get("messages")).unanswered_mark,
    }
    refused = browser.post(url, fields)
    assert refused.status_code == 409
    page = refused.content.decode()
    assert "The provider was not asked what the customer wrote last" in page
    assert '<input type="hidden" name="unasked" value="1">' in page
    assert browser.post(url, fields | {"unasked": "1"}).status_code == 302


SECOND = "+447700900124"


def return_both(store) -> str:
    """Return two answered conversations from the queue's list; what the page says then."""
    answered = [{"entry_id": "m1", "role": "assistant", "content": "Hello"}]
    watched(store, messages=answered)
    key = {"primary_channel": SECOND, "conversation_id": CONVERSATION.replace(CHANNEL[1:], SECOND[1:])}
    store.put("CONVERSATIONS", stored(store) | key | {"recipient_tel": SECOND, "gsi_recipient_tel": SECOND})
    look()
    look(0, **key)
    items = [conversation(), conversation(**key)]
    tokens = [row_token(each, hand_off_of(each), ANA) for each in items]
    fields = {"selected": tokens, "do": "hand_back"}
    return html.unescape(signed_in(member("ana")).post("/queue/selected/", fields, follow=True).content.decode())


def test_several_returns_ask_the_provider_at_once(store, outbox, provider, monkeypatch):
    waits = list[float]()
    monkeypatch.setattr(witnessing, "wait", lambda seconds: [waits.append(seconds), send_all_due()])
    assert "Returned 2 conversations to the AI." in return_both(store)
    assert len(waits) == 1


def test_several_returns_are_refused_in_words_if_the_provider_was_not_asked(store, outbox, provider, monkeypatch):
    monkeypatch.setattr(witnessing, "wait", lambda _: None)
    page = return_both(store)
    assert "2 conversations were not returned: the provider has not said in time what their customers wrote" in page
    assert "nobody has answered" not in page
    assert [each.get("hand_off_agent") for each in store.all("CONVERSATIONS")] == ["ana", "ana"]
