"""Replies that a rule sent to people, left to the AI: staged as the platform does, told, and never forgotten."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import Scope
from console.store import queues
from console.store.calls import table_name
from conversations.handoff import HandOffAction, LostRace, perform, seal_intent
from conversations.models import Conversation
from conversations.panel import panel_for
from conversations.reading import hand_off_of, reference_of
from conversations.receiving import leaving
from conversations.receiving.handling import handle
from conversations.receiving.leaving import leave_to_ai
from conversations.receiving.rows import last_words, messages_of
from conversations.receiving.worker import PUT_OFF, sweep
from tests import faults
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CHANNEL,
    CONVERSATION,
    KEY,
    form,
    put,
    staff,
    stored,
    trail,
)

SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
LEAVE = HandOffAction.LEAVE_TO_AI


@pytest.fixture
def replies(queue, settings):
    """The URL of the queue from which WhatsApp's replies are made."""
    url = queues.client().create_queue(QueueName="whatsapp-replies")["QueueUrl"]
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": url}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    return url


def bring(text: str, name: str, seconds: int = 0) -> None:
    content = {"channel_type": "whatsapp", "from": f"whatsapp:{CHANNEL}", "message_sid": name, "body": text, **KEY}
    handle(json.dumps(content), SENT_AT + timedelta(seconds=seconds), "queue", name)


@pytest.fixture
def waiting(store, replies):
    """A conversation that a rule sent to people with two messages; the URL of its channel's queue."""
    put(store, auto_queue_reply_message=True)
    bring("Where is my parcel?", "SM1")
    bring("It was due on Monday.", "SM2", 5)
    return replies


def told(url: str) -> list[dict[str, str]]:
    return [json.loads(each.body) for each in queues.receive(url, wait=0)]


def staged(store) -> list[str]:
    return [row["body"] for row in store.all("CONVERSATIONS_STAGE")]


def due(store) -> list[dict[str, object]]:
    return [row for row in store.all("MESSAGES") if "gsi_due" in row]


def test_the_messages_are_staged_as_the_platform_stages_them_and_its_queue_is_told(store, waiting):
    leave_to_ai(form(LEAVE), ANA)
    [first, second] = store.all("CONVERSATIONS_STAGE")
    expires_at = first.pop("expires_at")
    assert clock.to_epoch(clock.now()) + 600 < expires_at
    assert first == {
        "conversation_id": CONVERSATION,
        "message_sid": "SM1",
        "primary_channel": CHANNEL,
        "body": "Where is my parcel?",
        "received_at": "2026-02-01T10:00:00",
    }
    assert second["body"] == "It was due on Monday."
    assert told(waiting) == [{"conversation_id": CONVERSATION, "primary_channel": CHANNEL}]
    assert stored(store)["hand_off_to_human"] is False
    assert stored(store)["auto_queue_reply_message"] is True
    assert [entry["result"] for entry in trail(store) if entry["action_type"] == "hand_off.leave_to_ai"] == ["success"]
    assert due(store) == []
    assert last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION].unanswered == 0


def test_what_was_left_to_the_ai_is_not_left_again(store, waiting):
    leave_to_ai(form(LEAVE), ANA)
    bring("And now?", "SM3", 60)
    store.client.delete_item(
        TableName=store.name("CONVERSATIONS_STAGE"),
        Key={"conversation_id": {"S": CONVERSATION}, "message_sid": {"S": "SM1"}},
    )
    leave_to_ai(form(LEAVE), BEN)
    assert sorted(staged(store)) == ["And now?", "It was due on Monday."]


def test_a_form_sent_twice_tells_once(store, waiting):
    intent = form(LEAVE)
    leave_to_ai(intent, ANA)
    assert leave_to_ai(intent, ANA).replayed
    assert len(told(waiting)) == 1
    assert due(store) == []


def test_who_loses_the_race_tells_nobody(store, waiting):
    lost = form(LEAVE)
    perform(form(HandOffAction.TAKE), BEN)
    with pytest.raises(LostRace):
        leave_to_ai(lost, ANA)
    assert staged(store) == told(waiting) == due(store) == []


def test_another_company_finds_nothing(store, waiting):
    with pytest.raises(NotFound):
        leave_to_ai(form(LEAVE), staff("eve", scope=Scope.of(["ci-zzz-009"])))
    assert staged(store) == []


def test_without_messages_it_is_handed_back_instead(store, replies):
    put(store, hand_off_to_human=True)
    with pytest.raises(Invalid, match="Hand the conversation back"):
        leave_to_ai(form(LEAVE), ANA)


BROKEN = pytest.mark.parametrize("broken", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])


def struck_and_sent_again(broken, nth: int) -> bool:
    """Send a form whose nth call fails, send it once more, and sweep; whether there was such a call."""
    intent = form(LEAVE)
    with broken(nth=nth, whole_calls=True) as fault, suppress(ConsoleError):
        leave_to_ai(intent, ANA)
    leave_to_ai(intent, ANA)
    sweep(clock.now() + timedelta(minutes=2))
    return bool(fault.struck)


@pytest.mark.slow
@BROKEN
@pytest.mark.parametrize("nth", range(1, 17))
def test_whatever_call_fails_the_ai_is_told_once_people_have_given_it_up(store, waiting, broken, nth):
    assert struck_and_sent_again(broken, nth) or nth > 15
    assert stored(store)["hand_off_to_human"] is False
    assert len(told(waiting)) >= 1
    assert sorted(staged(store)) == ["It was due on Monday.", "Where is my parcel?"]
    assert due(store) == []


def test_the_sweep_leaves_what_people_have_taken_again(store, waiting):
    left_without_being_brought()
    perform(form(HandOffAction.TAKE_OVER), BEN)
    sweep(clock.now() + timedelta(minutes=2))
    assert staged(store) == told(waiting) == due(store) == []


def left_without_being_brought() -> None:
    """People have given it back, and the process died before the AI was told."""
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(leaving, "_bring", lambda *_: (_ for _ in ()).throw(ConsoleError("down")))
        leave_to_ai(form(LEAVE), ANA)


def test_what_cannot_be_brought_is_put_off_and_keeps_nothing_else_waiting(store, waiting, settings):
    left_without_being_brought()
    later = clock.now() + timedelta(minutes=2)
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": f"{waiting}-gone"}
    assert sweep(later) == 0
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": waiting}
    assert sweep(later) == 0
    assert told(waiting) == []
    assert sweep(later + PUT_OFF) == 1
    assert len(told(waiting)) == 1
    assert due(store) == []


def test_a_message_that_has_expired_meanwhile_keeps_the_others_from_nobody(store, waiting):
    left_without_being_brought()
    [first, _] = [row for row in store.all("MESSAGES") if row.get("direction") == "in"]
    store.delete("MESSAGES", conversation=first["conversation"], position=first["position"])
    assert sweep(clock.now() + timedelta(minutes=2)) == 1
    assert len(staged(store)) == len(told(waiting)) == 1
    assert due(store) == []


def test_the_panel_offers_it_where_there_is_something_to_answer(store, waiting):
    item = Conversation.get(CHANNEL, CONVERSATION)
    assert labels(item) == ["Take", "Let the AI answer", "Hand back to the AI", "Mark as urgent"]
    without = {name: value for name, value in item.raw.items() if name != "hand_off_message_ids"}
    assert labels(Conversation.from_raw_data(without)) == ["Take", "Hand back to the AI", "Mark as urgent"]


def labels(item: Conversation) -> list[str]:
    return [button.label for button in panel_for(item, hand_off_of(item), ANA, clock.now()).buttons]


def test_from_the_page_it_is_one_click(store, waiting):
    client = signed_in(member("ana"))
    ref = reference_of(CHANNEL, CONVERSATION)
    page = client.get(f"/conversations/{ref}/").content.decode()
    assert "Let the AI answer" in page
    token = seal_intent(form(LEAVE), ANA)
    answer = client.post(f"/conversations/{ref}/hand-off/", {"intent": token}, follow=True)
    assert "Left to the AI. It answers what the customer wrote." in answer.content.decode()
    assert len(told(waiting)) == 1


def test_what_the_platform_writes_again_with_its_reply_is_shown_once(store, waiting):
    leave_to_ai(form(LEAVE), ANA)
    messages = [
        *stored(store)["messages"],
        {"message_id": "SM1", "role": "user", "content": "Where is my parcel?\nIt was due on Monday."},
        {"message_id": "SM9", "role": "assistant", "content": "It arrives today."},
    ]
    store.update("CONVERSATIONS", KEY, messages=messages)
    item = Conversation.get(CHANNEL, CONVERSATION)
    shown = messages_of(item, item.raw["messages"])
    assert [shown.entry(number)["content"] for number in range(1, len(shown) + 1)] == [
        "Hello",
        "Where is my parcel?\nIt was due on Monday.",
        "It arrives today.",
    ]


# --- What the AI itself has not answered ------------------------------------------------------------------------------

ASKED = {"message_id": "SM7", "role": "user", "content": "Hello?", "timestamp": "2026-02-01T10:00:00"}
ANSWERED = [
    {"message_id": "SM5", "role": "user", "content": "Where is it?"},
    {"message_id": "SM6", "role": "assistant", "content": "On its way."},
]


@pytest.fixture
def failed(store, replies):
    """A conversation in which the AI failed at what the customer wrote last; the URL of its channel's queue."""
    attention(store, "failed", conversation_status="failed_to_process_ai", messages=[*ANSWERED, ASKED])
    return replies


def attention(store, cause: str, **attributes) -> None:
    put(
        store,
        hand_off_attention=cause,
        gsi_hand_off_queue="attention#ci-aaa-001",
        hand_off_requested_at="2026-02-01T10:00:00Z",
        **attributes,
    )


def stage(store, name: str, body: str, **more) -> None:
    store.put("CONVERSATIONS_STAGE", {"conversation_id": CONVERSATION, "message_sid": name, "body": body, **more})


def test_the_ai_is_asked_once_more_to_answer_what_it_failed_at(store, failed):
    leave_to_ai(form(LEAVE), ANA)
    [fragment] = store.all("CONVERSATIONS_STAGE")
    assert fragment.pop("expires_at") > clock.to_epoch(clock.now()) + 600
    assert fragment == {
        "conversation_id": CONVERSATION,
        "message_sid": "SM7",
        "primary_channel": CHANNEL,
        "body": "Hello?",
        "received_at": "2026-02-01T10:00:00",
    }
    assert told(failed) == [{"conversation_id": CONVERSATION, "primary_channel": CHANNEL}]
    item = stored(store)
    assert item["conversation_status"] == "retry"
    assert not {"hand_off_attention", "gsi_hand_off_queue", "hand_off_requested_at", "hand_off_left_at"} & set(item)
    assert item["hand_off_to_ai_at"] == item["updated_at"]
    assert item["messages"] == [*ANSWERED, ASKED]
    [entry] = [entry for entry in trail(store) if entry["action_type"] == "hand_off.leave_to_ai"]
    assert entry["result"] == "success"
    assert "Hello?" not in str(entry)
    assert due(store) == []


def test_what_is_still_staged_comes_with_it_and_what_was_answered_does_not(store, failed):
    stage(store, "SM8", "Are you there?", received_at="2026-02-01T10:00:05")
    stage(store, "SM5", "Where is it?", received_at="2026-02-01T09:00:00")
    stage(store, "SM4", "of another channel", primary_channel="+440000000")
    stage(store, "SM3", "")
    leave_to_ai(form(LEAVE), ANA)
    anew = {row["body"] for row in store.all("CONVERSATIONS_STAGE") if "expires_at" in row}
    assert anew == {"Hello?", "Are you there?"}


def test_every_spelling_of_a_transcript_is_understood(store, replies):
    """As the schema has entries, as the platform's services write them, and with words in parts."""
    spoken = [
        {"entry_id": "e1", "message_timestamp": "2026-02-01T10:00:00Z", "role": "user", "content": "As the schema."},
        {"message_id": "SM2", "timestamp": "2026-02-01T10:00:01", "role": "user", "content": "As services."},
        {"entry_id": "e3", "role": "user", "content": [{"type": "text", "text": "In parts."}, {"type": "image"}]},
    ]
    attention(store, "failed", conversation_status="failed_unknown", messages=[*ANSWERED, *spoken])
    leave_to_ai(form(LEAVE), ANA)
    found = {row["message_sid"]: (row["body"], row["received_at"]) for row in store.all("CONVERSATIONS_STAGE")}
    assert found.pop("e3")[0] == "In parts."
    assert found == {"e1": ("As the schema.", "2026-02-01T10:00:00"), "SM2": ("As services.", "2026-02-01T10:00:01")}


def test_what_the_transcript_holds_without_words_comes_as_it_was_staged(store, replies):
    asked = ASKED | {"content": [{"type": "image"}]}
    attention(store, "failed", conversation_status="failed_unknown", messages=[*ANSWERED, asked])
    stage(store, "SM7", "Hello? (a picture)")
    leave_to_ai(form(LEAVE), ANA)
    assert staged(store) == ["Hello? (a picture)"]
    assert len(told(replies)) == 1


@pytest.mark.parametrize(
    ("cause", "before", "after"),
    [
        ("stuck", "processing_reply", "retry"),
        ("stuck", "retry", "retry"),
        ("unanswered", "reply_sent", "reply_sent"),
        # A service has just come to it, or what failed was left, and the customer has written since.
        ("unanswered", "processing_reply", "processing_reply"),
        ("unanswered", "failed", "retry"),
    ],
)
def test_only_the_status_of_a_service_that_gave_up_is_changed(store, replies, cause, before, after):
    attention(store, cause, conversation_status=before, messages=[ASKED])
    leave_to_ai(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == after
    assert len(told(replies)) == 1


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "has not written anything yet"),
        (ANSWERED, "Take over the conversation"),
        ([{"role": "user", "content": None}, {"message_id": "x"}, "junk"], "has not written anything yet"),
    ],
)
def test_where_nothing_is_kept_the_ai_cannot_be_asked(store, replies, messages, why):
    attention(store, "failed", conversation_status="failed_unknown", messages=messages)
    with pytest.raises(Invalid, match=why):
        leave_to_ai(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == "failed_unknown"
    assert told(replies) == due(store) == trail(store) == []


def test_what_has_gone_on_is_not_asked_again(store, failed):
    intent = form(LEAVE)
    attention(store, "failed", conversation_status="reply_sent", messages=[*ANSWERED, ASKED])
    store.update("CONVERSATIONS", KEY, hand_off_attention=None)
    with pytest.raises(Invalid, match="has already continued"):
        leave_to_ai(intent, ANA)
    assert told(failed) == due(store) == []


def test_a_service_that_comes_to_it_at_the_same_moment_keeps_it(store, failed):
    def answers(*_) -> None:
        store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")

    with faults.before("UpdateItem", table_key="CONVERSATIONS", do=answers), pytest.raises(LostRace):
        leave_to_ai(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == "processing_reply"
    assert staged(store) == told(failed) == due(store) == []


@BROKEN
@pytest.mark.parametrize("nth", range(1, 11))
def test_whatever_call_fails_the_ai_is_asked_once_more(store, failed, broken, nth):
    assert struck_and_sent_again(broken, nth) or nth > 9
    assert stored(store)["conversation_status"] == "retry"
    assert len(told(failed)) >= 1
    assert staged(store) == ["Hello?"]
    assert due(store) == []


def test_the_panel_offers_it_where_the_ai_left_something(store, failed):
    item = Conversation.get(CHANNEL, CONVERSATION)
    assert labels(item) == ["Take over", "Ask for a human", "Let the AI try again", "Leave it with the AI"]
    put(store, conversation_status="reply_sent")
    assert labels(Conversation.get(CHANNEL, CONVERSATION)) == ["Take over", "Ask for a human"]


def test_a_row_of_the_queue_offers_it_too_and_one_returns_to_the_list(store, failed):
    store.update("CONVERSATIONS", KEY, hand_off_requested_at="2026-02-01T10:00:00.000Z")
    client = signed_in(member())
    page = client.get("/queue/?tab=attention").content.decode()
    buttons = re.findall(r'<button[^>]*formaction="([^"]+)" name="intent" value="([^"]+)"[^>]*>([^<]+)', page)
    assert [label for _, _, label in buttons] == ["Take over", "Leave it", "Let the AI try again"]
    url, token, _ = buttons[2]
    assert url == f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/hand-off/"
    context = re.search(r'<form id="row".*?name="in" value="([^"]+)"', page)[1]
    answer = client.post(url, {"intent": token, "in": context, "stay": "1"})
    assert answer["Location"] == "/queue/?tab=attention"
    assert stored(store)["conversation_status"] == "retry"
    assert staged(store) == ["Hello?"]
