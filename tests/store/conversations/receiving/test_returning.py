"""Giving a conversation back to the AI: nothing unanswered goes unseen, and nothing answered is asked again."""

import re
from datetime import datetime, timedelta

import pytest

from console import clock
from console.store.calls import table_name
from conversations.attention.causes import Cause, judge
from conversations.attention.levels import ServiceLevels
from conversations.converting import reference_of
from conversations.handoff import HandOffAction, LostRace, perform, seal_intent
from conversations.models import Conversation
from conversations.outbox.rows import MessageRow, messages_of, partition_of
from conversations.queue.selection import BulkAction, for_bulk, perform_each
from conversations.receiving import leaving
from conversations.receiving.leaving import UnansweredLeft, return_to_ai
from conversations.receiving.worker import sweep
from conversations.sending.delivering import accepted
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.people import member, signed_in
from tests.store.conversations.receiving.test_handling import body, bring
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    form,
    held_by,
    put,
    stored,
    trail,
)

BACK, LEAVE, ACKNOWLEDGE = HandOffAction.HAND_BACK, HandOffAction.LEAVE_TO_AI, HandOffAction.ACKNOWLEDGE
PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"
SOON = ServiceLevels(unanswered_after=timedelta(minutes=1))


def ago(seconds: float) -> str:
    return clock.to_iso(clock.now() - timedelta(seconds=seconds))


@pytest.fixture
def held(store, queue, settings) -> None:
    """A conversation that Ana took ten minutes ago; two messages came since, which the platform has staged too."""
    settings.HAND_OFF_ROUTING = "held"
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": queue}
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    put(
        store,
        **held_by("ana", hand_off_taken_at=ago(600)),
        auto_queue_reply_message=True,
        hand_off_routing_before=[],
    )
    say(store, "SM1", "What is my refund?", 300)
    say(store, "SM2", "And when does it come?", 240)


def say(store, name: str, words: str, seconds: float) -> None:
    """The customer wrote so many seconds ago: staged in whole seconds, and taken in."""
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    stage(store, name, words, at)
    bring(body(message_sid=name, body=words, received_at=clock.to_iso(at)), name)


def stage(store, name: str, words: str, at: datetime) -> None:
    row = {"conversation_id": CONVERSATION, "message_sid": name, "primary_channel": CHANNEL, "body": words}
    times = {"received_at": at.replace(tzinfo=None).isoformat(), "expires_at": clock.to_epoch(at) + 70}
    store.put("CONVERSATIONS_STAGE", row | times)


def staged(store) -> set[str]:
    return {row["message_sid"] for row in store.all("CONVERSATIONS_STAGE")}


def mark() -> str:
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    return messages_of(item, item.raw.get("messages")).unanswered_mark


def cause_of(store, **later: float) -> tuple[Cause | None, datetime | None]:
    found = judge(to_dynamodb(stored(store)), SOON, clock.now() + timedelta(**later))
    return found.cause, found.since


# --- Nothing unanswered goes back unseen ------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [BACK, LEAVE])
@pytest.mark.parametrize("shown", ["", "1-old"])
def test_a_return_that_did_not_show_the_messages_is_refused(store, held, action, shown):
    before = stored(store)
    with pytest.raises(UnansweredLeft):
        return_to_ai(form(action), ANA, shown=shown)
    assert stored(store) == before
    assert staged(store) == {"SM1", "SM2"}


def test_a_message_that_comes_between_check_and_write_refuses_the_return(store, held):
    def write(*_) -> None:
        say(store, "SM3", "Hello?", 1)

    lost = pytest.raises(LostRace, match="changed at the same moment")
    with faults.before("UpdateItem", write, table_key="CONVERSATIONS"), lost:
        return_to_ai(form(BACK), ANA, shown=mark())
    assert stored(store)["hand_off_agent"] == "ana"


def test_a_form_sent_twice_returns_once(store, held):
    intent, shown = form(BACK), mark()
    return_to_ai(intent, ANA, shown=shown)
    assert return_to_ai(intent, ANA, shown=shown).replayed
    assert [each["result"] for each in trail(store) if each["action_type"] == "hand_off.hand_back"] == ["success"]


def test_what_returns_without_an_answer_needs_attention_from_the_return_on(store, held):
    return_to_ai(form(BACK), ANA, shown=mark())
    assert cause_of(store, seconds=50)[0] is None
    cause, since = cause_of(store, seconds=70)
    assert cause is Cause.UNANSWERED
    assert since < clock.now() - timedelta(seconds=290)


def test_the_ai_can_be_asked_afterwards_from_our_rows(store, held):
    return_to_ai(form(BACK), ANA, shown=mark())
    store.update("CONVERSATIONS", KEY, hand_off_attention="unanswered", gsi_hand_off_queue=f"attention#{COMPANY}")
    return_to_ai(form(LEAVE), ANA)
    words = sorted(store.all("CONVERSATIONS_STAGE"), key=lambda row: row["received_at"])
    assert [row["body"] for row in words] == ["What is my refund?", "And when does it come?"]


def test_an_overridden_one_returned_without_an_answer_needs_attention_too(store, held):
    store.update("CONVERSATIONS", KEY, hand_off_to_human=False)
    with pytest.raises(UnansweredLeft):
        return_to_ai(form(ACKNOWLEDGE), ANA)
    return_to_ai(form(ACKNOWLEDGE), ANA, shown=mark())
    assert cause_of(store, seconds=70)[0] is Cause.UNANSWERED


def test_a_status_of_before_does_not_make_it_answered(store, held):
    store.update("CONVERSATIONS", KEY, conversation_status="completed")
    return_to_ai(form(BACK), ANA, shown=mark())
    assert cause_of(store, seconds=70)[0] is Cause.UNANSWERED
    store.update("CONVERSATIONS", KEY, updated_at=clock.to_iso(clock.now() + timedelta(seconds=5)))
    assert cause_of(store, seconds=70)[0] is None


def test_messages_that_the_item_has_no_room_for_need_attention_as_well(store, queue, held, monkeypatch):
    store.update("CONVERSATIONS", KEY, messages=[], hand_off_messages_apart=True)
    for row in store.all("MESSAGES"):
        if row.get("direction") == "in":
            store.put("MESSAGES", row | {"on_item": False})
    store.client.update_item(
        TableName=store.name("CONVERSATIONS"),
        Key=to_dynamodb(KEY),
        UpdateExpression="REMOVE hand_off_message_ids",
    )
    return_to_ai(form(BACK), ANA, shown=mark())
    assert cause_of(store, seconds=70)[0] is Cause.UNANSWERED


def test_a_dismissal_forgets_it_until_something_changes(store, held):
    return_to_ai(form(BACK), ANA, shown=mark())
    leave = form(HandOffAction.LEAVE)
    perform(leave, ANA)
    assert cause_of(store, minutes=5)[0] is None


def test_several_at_once_leave_those_with_unanswered_messages_out_and_count_them(store, held):
    report = perform_each([for_bulk(form(HandOffAction.ASSIGN), BulkAction.HAND_BACK)], ANA)
    assert (report.unanswered, report.done, report.refused) == (1, (), ())
    assert stored(store)["hand_off_agent"] == "ana"


def test_a_reply_that_did_not_arrive_is_no_answer(store, held):
    say_reply(state="failed")
    assert mark()
    with pytest.raises(UnansweredLeft):
        return_to_ai(form(BACK), ANA)


def say_reply(seconds: float = 60, **attributes) -> MessageRow:
    at = ago(seconds)
    row = MessageRow(
        partition_of(CHANNEL, CONVERSATION),
        f"{at}#reply",
        direction="out",
        message_id="reply",
        content="It is 20 pounds.",
        author="ana",
        received_at=at,
        on_item=False,
        event_id="evt",
        ts_action_id="at#reply",
        **attributes,
    )
    row.save()
    return row


# --- The page ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(settings):
    settings.OUTBOX_QUEUE_URL = ""
    return signed_in(member("ana", scope=[COMPANY]))


def fields_of(page: str, label: str) -> dict[str, str]:
    token = re.search(rf'name="intent" value="([^"]+)"[^>]*>{label}', page)[1]
    return {"intent": token, "shown": re.search(r'name="shown" value="([^"]+)"', page)[1]}


@pytest.mark.parametrize(
    ("label", "told"),
    [("Let the AI answer them", {"SM1", "SM2"}), ("Return without an answer", set())],
)
def test_the_panel_shows_what_is_unanswered_and_returns_it_either_way(store, held, client, label, told):
    page = client.get(PAGE).content.decode()
    listed = re.search('<ol class="unanswered">.*?</ol>', page, re.DOTALL)[0]
    assert listed.index("What is my refund?") < listed.index("And when does it come?")
    assert "2 messages have no answer" in page
    assert client.post(f"{PAGE}hand-off/", fields_of(page, label)).status_code == 302
    assert stored(store)["hand_off_to_human"] is False
    assert staged(store) == told


def test_a_third_message_refuses_the_form_and_is_shown(store, held, client):
    fields = fields_of(client.get(PAGE).content.decode(), "Return without an answer")
    say(store, "SM3", "Are you there?", 1)
    answer = client.post(f"{PAGE}hand-off/", fields | {"note": "kept"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "The customer has written again." in page
    assert "3 messages have no answer" in page
    assert "Are you there?" in page
    assert ">kept</textarea>" in page
    assert client.post(f"{PAGE}hand-off/", fields_of(page, "Return without an answer")).status_code == 302


def test_a_button_that_knew_of_no_messages_asks_first(store, held, client):
    """As the button of a row does, which does not read messages."""
    answer = client.post(f"{PAGE}hand-off/", {"intent": seal_intent(form(BACK), ANA)})
    assert answer.status_code == 409
    content = answer.content.decode()
    assert "Return to AI: who answers?" in content
    assert "2 messages have no answer:" in content


def test_without_unanswered_messages_one_click_returns_it(store, client):
    put(store, **held_by("ana"))
    page = client.get(PAGE).content.decode()
    assert "Return to AI…" not in page
    token = re.search(r'name="intent" value="([^"]+)"[^>]*>Return to AI', page)[1]
    assert client.post(f"{PAGE}hand-off/", {"intent": token}).status_code == 302
    assert stored(store)["hand_off_to_human"] is False


# --- Nothing answered goes back unasked -------------------------------------------------------------------------------


def accept(**attributes) -> None:
    row = say_reply(state="sending", **attributes)
    accepted(row, "SMreply", Conversation.get(CHANNEL, CONVERSATION, consistent_read=True))


def test_what_an_accepted_reply_answers_is_staged_no_more(store, held):
    accept()
    assert staged(store) == set()


@pytest.mark.parametrize(
    ("seconds", "is_kept"),
    [
        # Said when the reply was written, or after it, whichever clock is behind.
        (66, False),
        (64, True),
        (30, True),
        # Said before the take, or as it was taken.
        (590, False),
        (596, True),
        (700, True),
    ],
)
def test_a_row_that_a_trigger_may_be_on_its_way_for_stays(store, held, seconds, is_kept):
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    stage(store, "SM7", "In doubt", at)
    bring(body(message_sid="SM7", body="In doubt", received_at=clock.to_iso(at)), "SM7")
    accept()
    assert ("SM7" in staged(store)) is is_kept


def test_a_row_that_the_transcript_lacks_stays(store, held):
    stage(store, "SM7", "Not taken in yet", clock.now() - timedelta(seconds=200))
    accept()
    assert staged(store) == {"SM7"}


def test_while_the_platform_is_at_work_its_rows_stay(store, held):
    store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")
    accept()
    assert staged(store) == {"SM1", "SM2"}


def test_a_row_that_changes_meanwhile_stays(store, held):
    def edit(*_) -> None:
        store.update("CONVERSATIONS_STAGE", {"conversation_id": CONVERSATION, "message_sid": "SM1"}, body="edited")

    with faults.before("DeleteItem", edit, table_key="CONVERSATIONS_STAGE"):
        accept()
    assert staged(store) == {"SM1"}


def test_a_return_removes_what_the_reply_could_not(store, held):
    with faults.fail_before("DeleteItem", table_key="CONVERSATIONS_STAGE", times=faults.ALWAYS):
        accept()
    assert staged(store) == {"SM1", "SM2"}
    return_to_ai(form(BACK), ANA)
    assert staged(store) == set()
    assert [row for row in store.all("MESSAGES") if row.get("gsi_due") == leaving.TO_AI] == []


def test_what_a_rule_sends_to_people_is_removed_too(store, held):
    """It was never routed anywhere else, whoever took it and when."""
    store.update("CONVERSATIONS", KEY, hand_off_routing_before=[True], hand_off_taken_at=ago(1))
    return_to_ai(form(BACK), ANA, shown=mark())
    assert staged(store) == set()


def test_the_sweep_removes_what_a_return_left_when_its_process_died(store, held):
    with faults.fail_before("DeleteItem", table_key="CONVERSATIONS_STAGE", times=faults.ALWAYS):
        return_to_ai(form(BACK), ANA, shown=mark())
    assert staged(store) == {"SM1", "SM2"}
    sweep(clock.now() + timedelta(minutes=2))
    assert staged(store) == set()


def test_what_a_person_answered_before_is_not_given_to_the_ai_with_the_rest(store, held):
    with faults.fail_before("DeleteItem", table_key="CONVERSATIONS_STAGE", times=faults.ALWAYS):
        accept()
    say(store, "SM3", "Thank you. And my deposit?", 10)
    return_to_ai(form(LEAVE), ANA, shown=mark())
    assert staged(store) == {"SM3"}
