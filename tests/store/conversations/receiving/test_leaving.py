"""Replies that a rule sent to people, left to the AI: staged as the platform does, told, and never forgotten."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import Scope, Staff
from console.store import queues
from console.store.calls import table_name
from conversations.attention.panel import panel_for
from conversations.converting import hand_off_of, reference_of
from conversations.handoff import HandOffAction, Intent, LostRace, perform, seal_intent
from conversations.handoff.outcomes import HandOffOutcome
from conversations.models import Conversation
from conversations.outbox.latest import last_words
from conversations.outbox.rows import messages_of
from conversations.receiving import leaving
from conversations.receiving.handling import handle
from conversations.receiving.leaving import return_to_ai
from conversations.receiving.worker import PUT_OFF, sweep
from tests import faults
from tests.people import member, signed_in
from tests.queue import swept
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
WORDS = ["Where is my parcel?", "It was due on Monday."]


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


def leave(intent: Intent, by: Staff) -> HandOffOutcome:
    """Let the AI answer what the form showed: everything."""
    return return_to_ai(intent, by, shown=mark())


def mark() -> str:
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    return messages_of(item, item.raw.get("messages")).unanswered_mark


def answer(store, *words: str) -> None:
    """The platform writes the customer's words with the AI's answer, as one entry."""
    item = stored(store)
    at = clock.to_iso(clock.now())
    store.update(
        "CONVERSATIONS",
        KEY,
        messages=[
            *item["messages"],
            {"message_id": "SM1", "role": "user", "content": "\n".join(words), "timestamp": at},
            {"message_id": "SM90", "role": "assistant", "content": "It arrives today.", "timestamp": at},
        ],
        updated_at=at,
    )


def told(url: str) -> list[dict[str, str]]:
    return [json.loads(each.body) for each in queues.receive(url, wait=0)]


def staged(store) -> list[str]:
    return [row["body"] for row in store.all("CONVERSATIONS_STAGE")]


def due(store) -> list[dict[str, object]]:
    return [row for row in store.all("MESSAGES") if "gsi_due" in row]


def test_the_messages_are_staged_as_the_platform_stages_them_and_its_queue_is_told(store, waiting):
    leave(form(LEAVE), ANA)
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
    assert last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION].unanswered == 0


def test_a_customer_whom_the_ai_has_not_answered_goes_on_waiting_when_taken_again(store, waiting):
    leave(form(LEAVE), ANA)
    perform(form(HandOffAction.TAKE_OVER), BEN)
    assert stored(store)["hand_off_requested_at"] == "2026-02-01T10:00:00.000Z"


def test_a_customer_whom_the_ai_has_answered_waits_from_the_take_over_on(store, waiting):
    leave(form(LEAVE), ANA)
    answer(store, *WORDS)
    store.update("CONVERSATIONS", KEY, updated_at=clock.to_iso(clock.now() + timedelta(seconds=1)))
    perform(form(HandOffAction.TAKE_OVER), BEN)
    assert stored(store)["hand_off_requested_at"] == stored(store)["hand_off_taken_at"]


def test_what_the_ai_has_answered_is_not_left_again(store, waiting):
    leave(form(LEAVE), ANA)
    answer(store, *WORDS)
    clear_stage(store)
    bring("And now?", "SM3", 60)
    leave(form(LEAVE), BEN)
    assert staged(store) == ["And now?"]


def clear_stage(store) -> None:
    """The platform's service deletes what it has read."""
    for row in store.all("CONVERSATIONS_STAGE"):
        store.delete("CONVERSATIONS_STAGE", conversation_id=CONVERSATION, message_sid=row["message_sid"])


def test_the_row_stays_until_the_platform_has_written_all_of_the_words(store, waiting):
    leave(form(LEAVE), ANA)
    assert stored(store)["hand_off_owed_at"] == "2026-02-01T10:00:00.000Z"
    answer(store, WORDS[0])
    sweep(clock.now() + timedelta(minutes=2))
    assert len(due(store)) == 1
    assert "hand_off_owed_at" in stored(store)
    answer(store, *WORDS)
    sweep(clock.now() + timedelta(minutes=2))
    assert due(store) == []
    assert "hand_off_owed_at" not in stored(store)
    assert len(told(waiting)) == 1


def test_the_consoles_own_entries_of_the_same_ids_prove_nothing(store, waiting):
    leave(form(LEAVE), ANA)
    assert [each.get("message_id") for each in stored(store)["messages"]][1:] == ["SM1", "SM2"]
    for minutes in (2, 4, 6):
        sweep(clock.now() + timedelta(minutes=minutes))
    assert len(due(store)) == 1
    assert len(told(waiting)) == 1


def test_while_the_platform_is_at_work_the_ai_is_not_asked(store, waiting):
    store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")
    leave(form(LEAVE), ANA)
    sweep(clock.now() + timedelta(minutes=2))
    assert staged(store) == told(waiting) == []
    store.update("CONVERSATIONS", KEY, conversation_status="reply_sent")
    sweep(clock.now() + timedelta(minutes=4))
    assert sorted(staged(store)) == sorted(WORDS)
    assert len(told(waiting)) == 1


def test_a_trigger_that_may_be_on_its_way_is_waited_for(store, waiting):
    """Without the platform's table of locks: its own trigger needs up to fifteen seconds."""
    stage(store, "SM9", "Just now", received_at=clock.now().replace(tzinfo=None, microsecond=0).isoformat())
    leave(form(LEAVE), ANA)
    assert told(waiting) == []
    # The service has read everything by then.
    clear_stage(store)
    sweep(clock.now() + timedelta(minutes=2))
    assert told(waiting) == []
    answer(store, "Just now", *WORDS)
    sweep(clock.now() + timedelta(minutes=4))
    assert due(store) == []


@pytest.fixture
def locks(settings) -> None:
    """The platform's table of trigger locks is configured."""
    name = table_name("CONVERSATIONS_TRIGGER_LOCK")
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_TRIGGER_LOCK": name}


def lock(store, seconds: int) -> None:
    expires_at = clock.to_epoch(clock.now()) + seconds
    store.put("CONVERSATIONS_TRIGGER_LOCK", {"conversation_id": CONVERSATION, "expires_at": expires_at})


def test_the_ai_is_triggered_under_the_platforms_lock(store, locks, waiting):
    leave(form(LEAVE), ANA)
    [lock] = store.all("CONVERSATIONS_TRIGGER_LOCK")
    assert lock["conversation_id"] == CONVERSATION
    assert 60 <= lock["expires_at"] - clock.to_epoch(clock.now()) <= 70
    assert len(told(waiting)) == 1


def test_a_lock_that_has_expired_is_taken_over(store, locks, waiting):
    lock(store, -1)
    leave(form(LEAVE), ANA)
    assert len(told(waiting)) == 1


def test_under_a_live_lock_nothing_is_sent_before_it_expires(store, locks, waiting):
    lock(store, 40)
    leave(form(LEAVE), ANA)
    assert told(waiting) == []
    [row] = due(store)
    expires_at = clock.to_iso(clock.expiry_of(store.all("CONVERSATIONS_TRIGGER_LOCK")[0]["expires_at"]))
    assert row["due_at"] == expires_at
    lock(store, -1)
    sweep(clock.now() + timedelta(minutes=2))
    assert len(told(waiting)) == 1


def test_messages_of_the_same_second_are_staged_in_their_order(store, waiting):
    bring("three", "SM0", 5)
    leave(form(LEAVE), ANA)
    rows = sorted(store.all("CONVERSATIONS_STAGE"), key=lambda row: row["received_at"])
    assert [row["body"] for row in rows] == [*WORDS, "three"]
    assert len({row["received_at"] for row in rows}) == 3


def test_of_many_messages_the_latest_are_left_to_the_ai(store, waiting, monkeypatch):
    monkeypatch.setattr(leaving, "AT_ONCE", 2)
    bring("Still nothing.", "SM3", 10)
    leave(form(LEAVE), ANA)
    assert staged(store) == ["It was due on Monday.", "Still nothing."]


def test_a_form_sent_twice_tells_once(store, waiting):
    intent = form(LEAVE)
    leave(intent, ANA)
    assert leave(intent, ANA).replayed
    assert len(told(waiting)) == 1
    assert len(due(store)) == 1


def test_who_loses_the_race_tells_nobody(store, waiting):
    lost = form(LEAVE)
    perform(form(HandOffAction.TAKE), BEN)
    with pytest.raises(LostRace):
        leave(lost, ANA)
    assert staged(store) == told(waiting) == due(store) == []


def test_another_company_finds_nothing(store, waiting):
    with pytest.raises(NotFound):
        leave(form(LEAVE), staff("eve", scope=Scope.of(["ci-zzz-009"])))
    assert staged(store) == []


def test_without_messages_it_is_handed_back_instead(store, replies):
    put(store, hand_off_to_human=True)
    with pytest.raises(Invalid, match="Return the conversation without one"):
        leave(form(LEAVE), ANA)


BROKEN = pytest.mark.parametrize("broken", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])


def struck_and_sent_again(broken, nth: int) -> bool:
    """Send a form whose nth call fails, send it once more, and sweep; whether there was such a call."""
    intent = form(LEAVE)
    with broken(nth=nth, whole_calls=True) as fault, suppress(ConsoleError):
        leave(intent, ANA)
    leave(intent, ANA)
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
    answer(store, *WORDS)
    sweep(clock.now() + timedelta(minutes=4))
    assert due(store) == []


def test_the_sweep_leaves_what_people_have_taken_again(store, waiting):
    left_without_being_brought()
    perform(form(HandOffAction.TAKE_OVER), BEN)
    sweep(clock.now() + timedelta(minutes=2))
    assert staged(store) == told(waiting) == due(store) == []


def left_without_being_brought() -> None:
    """People have given it back, and the process died before the AI was told."""
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(leaving, "finish_leaving", lambda *_: (_ for _ in ()).throw(ConsoleError("down")))
        leave(form(LEAVE), ANA)


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


def test_positions_that_an_earlier_version_noted_are_brought_unless_their_rows_have_expired(store, waiting):
    left_without_being_brought()
    [first, second] = [row for row in store.all("MESSAGES") if row.get("direction") == "in"]
    [noted] = [row for row in due(store) if row["gsi_due"] == "to the AI"]
    store.put("MESSAGES", noted | {"body": json.dumps([first["position"], second["position"]])})
    store.delete("MESSAGES", conversation=first["conversation"], position=first["position"])
    assert sweep(clock.now() + timedelta(minutes=2)) == 1
    assert staged(store) == [second["content"]]
    assert len(told(waiting)) == 1


def test_the_panel_offers_it_where_there_is_something_to_answer(store, waiting):
    item = Conversation.get(CHANNEL, CONVERSATION)
    assert labels(item) == ["Take", "Mark as urgent", "Let the AI answer them", "Return without an answer"]
    without = Conversation.from_raw_data({name: value for name, value in item.raw.items() if name != "messages"})
    assert labels(without) == ["Take", "Mark as urgent", "Return to AI"]


def labels(item: Conversation) -> list[str]:
    stored = messages_of(item, item.raw.get("messages"))
    panel = panel_for(item, hand_off_of(item), ANA, clock.now(), stored=stored)
    return [button.label for button in (*panel.buttons, *panel.returns)]


def test_from_the_page_it_is_one_click(store, waiting):
    client = signed_in(member("ana"))
    ref = reference_of(CHANNEL, CONVERSATION)
    page = client.get(f"/conversations/{ref}/").content.decode()
    assert "Let the AI answer" in page
    token = seal_intent(form(LEAVE), ANA)
    answer = client.post(f"/conversations/{ref}/hand-off/", {"intent": token, "shown": mark()}, follow=True)
    assert "The AI has been asked to answer the customer." in answer.content.decode()
    assert len(told(waiting)) == 1


def test_what_the_platform_writes_again_with_its_reply_is_shown_once(store, waiting):
    leave(form(LEAVE), ANA)
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
        *WORDS,
        "Where is my parcel?\nIt was due on Monday.",
        "It arrives today.",
    ]
    assert [shown.message(number, raw=True).is_repetition for number in range(1, 6)] == [False] * 3 + [True, False]


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
    leave(form(LEAVE), ANA)
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


def test_what_is_still_staged_comes_with_it_and_what_was_answered_does_not(store, failed):
    stage(store, "SM8", "Are you there?", received_at="2026-02-01T10:00:05")
    stage(store, "SM5", "Where is it?", received_at="2026-02-01T09:00:00")
    stage(store, "SM4", "of another channel", primary_channel="+440000000")
    stage(store, "SM3", "")
    leave(form(LEAVE), ANA)
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
    leave(form(LEAVE), ANA)
    found = {row["message_sid"]: (row["body"], row["received_at"]) for row in store.all("CONVERSATIONS_STAGE")}
    assert found.pop("e3")[0] == "In parts."
    assert found == {"e1": ("As the schema.", "2026-02-01T10:00:00"), "SM2": ("As services.", "2026-02-01T10:00:01")}


def test_what_the_transcript_holds_without_words_comes_as_it_was_staged(store, replies):
    asked = ASKED | {"content": [{"type": "image"}]}
    attention(store, "failed", conversation_status="failed_unknown", messages=[*ANSWERED, asked])
    stage(store, "SM7", "Hello? (a picture)")
    leave(form(LEAVE), ANA)
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
    leave(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == after
    assert len(told(replies)) == (after != "processing_reply")


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
        leave(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == "failed_unknown"
    assert told(replies) == due(store) == trail(store) == []


def test_what_has_gone_on_is_not_asked_again(store, failed):
    intent = form(LEAVE)
    attention(store, "failed", conversation_status="reply_sent", messages=[*ANSWERED, ASKED])
    store.update("CONVERSATIONS", KEY, hand_off_attention=None)
    with pytest.raises(Invalid, match="has already continued"):
        leave(intent, ANA)
    assert told(failed) == due(store) == []


def test_a_service_that_comes_to_it_at_the_same_moment_keeps_it(store, failed):
    def answers(*_) -> None:
        store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")

    with faults.before("UpdateItem", table_key="CONVERSATIONS", do=answers), pytest.raises(LostRace):
        leave(form(LEAVE), ANA)
    assert stored(store)["conversation_status"] == "processing_reply"
    assert staged(store) == told(failed) == due(store) == []


@BROKEN
@pytest.mark.parametrize("nth", range(1, 11))
def test_whatever_call_fails_the_ai_is_asked_once_more(store, failed, broken, nth):
    assert struck_and_sent_again(broken, nth) or nth > 9
    assert stored(store)["conversation_status"] == "retry"
    assert len(told(failed)) >= 1
    assert staged(store) == ["Hello?"]


def test_the_panel_offers_it_where_the_ai_left_something(store, failed):
    item = Conversation.get(CHANNEL, CONVERSATION)
    assert labels(item) == ["Take over", "Ask for a human", "Let the AI answer", "Dismiss"]
    put(store, conversation_status="reply_sent")
    assert labels(Conversation.get(CHANNEL, CONVERSATION)) == ["Take over", "Ask for a human"]


def test_a_row_of_the_queue_offers_it_too_and_one_returns_to_the_list(store, failed):
    swept(store)
    client = signed_in(member())
    page = client.get("/queue/?tab=attention").content.decode()
    buttons = re.findall(r'<button[^>]*formaction="([^"]+)" name="intent" value="([^"]+)"[^>]*>([^<]+)', page)
    assert [label for _, _, label in buttons] == ["Take over", "Dismiss", "Let the AI answer"]
    url, token, _ = buttons[2]
    assert url == f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/hand-off/"
    context = re.search(r'<form id="row".*?name="in" value="([^"]+)"', page)[1]
    answer = client.post(url, {"intent": token, "in": context, "stay": "1"})
    assert answer["Location"] == "/queue/?tab=attention"
    assert stored(store)["conversation_status"] == "retry"
    assert staged(store) == ["Hello?"]
