"""A reply from the holder's form to the customer's telephone: once, in order, on record, and its text nowhere else."""

import hashlib
import json
from datetime import timedelta

import pytest

from console import clock
from console.errors import Conflict, Forbidden, Invalid, NotFound
from console.permissions import Role, Scope
from console.store import queues
from conversations.outbox.rows import seal_key
from conversations.sending.replies import accept, load_reply, seal_form, undo, unseal_form
from tests.crawl.access.test_rotated_key import NEW
from tests.store.conversations.sending.conftest import OPTED_OUT, UNREACHABLE
from tests.support.conversations.handoff.kit import ADMIN, ANA, BEN, CHANNEL, CONVERSATION, KEY, staff, stored
from tests.support.conversations.replies import (
    OURS,
    PARTITION,
    held,
    replies,
    send_all_due,
    sent_entries,
    states,
    write,
)

TEXT = "It is on its way: parcel 7-green-heron."


def test_a_reply_reaches_the_customer_from_the_companys_own_number(store, outbox, provider):
    held(store)
    row = write(ANA, TEXT)
    assert (row.state, provider.messages()) == ("queued", [])
    send_all_due()
    [message] = provider.messages()
    assert (message["from"], message["to"], message["text"]) == (f"whatsapp:{OURS}", f"whatsapp:{CHANNEL}", TEXT)
    [sent] = replies(store)
    assert (sent["state"], sent["provider_id"], sent["author"]) == ("sent", message["id"], "ana")
    assert sent["on_item"] is True
    [entry] = sent_entries(store)
    assert (entry["result"], entry["actor"], entry["company_id"]) == ("success", "ana", "ci-aaa-001")
    assert entry["payload"]["characters"] == len(TEXT)
    [record] = [each for each in store.all("IDEMPOTENCY") if each["event_id"].startswith("act:reply:")]
    assert (record["status"], record["conversation_id"]) == ("success", CONVERSATION)


def test_the_conversations_own_record_has_it_as_the_platforms_readers_expect(store, outbox, provider):
    before = held(store)
    row = write(ANA, TEXT)
    send_all_due()
    after = stored(store)
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert after["messages"][-1] == {
        "entry_id": row.message_id,
        "message_timestamp": row.received_at,
        "role": "assistant",
        "content": TEXT,
        "sent_by": "human",
        "agent": "ana",
        "agent_name": "Ana",
    }
    assert after["hand_off_message_ids"] == {row.message_id}
    assert after["hand_off_agent"] == "ana"


def test_its_text_is_in_its_row_and_on_the_item_and_nowhere_else(store, outbox, provider, caplog):
    held(store)
    write(ANA, TEXT)
    body = json.dumps([each.body for each in queues.receive(outbox, wait=0)])
    assert "heron" not in body
    send_all_due()
    for key in ("AUDIT", "IDEMPOTENCY", "CONSOLE", "STAFF"):
        assert "heron" not in json.dumps(store.all(key), default=str), key
    assert "heron" not in caplog.text
    assert "heron" in json.dumps(store.all("MESSAGES"), default=str)


def test_what_became_of_it_is_asked_for_until_it_is_read(store, outbox, provider, monkeypatch):
    held(store)
    write(ANA)
    send_all_due()
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=6))
    send_all_due()
    assert states(store) == ["read"]
    [row] = replies(store)
    assert "gsi_due" not in row
    assert [each["payload"]["state"] for each in sent_entries(store, "reply.delivery")] == ["read"]


def test_a_delivery_that_fails_says_why(store, outbox, provider, monkeypatch):
    held(store, recipient_tel=UNREACHABLE)
    write(ANA)
    send_all_due()
    assert states(store) == ["sent"]
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=6))
    send_all_due()
    [row] = replies(store)
    assert (row["state"], row["error_code"]) == ("failed", "30006")
    [entry] = sent_entries(store, "reply.delivery")
    assert entry["result"].startswith("failed: ")
    assert UNREACHABLE[1:] not in row["error"] + entry["result"]


def test_a_customer_who_opted_out_gets_nothing_and_the_agent_is_told(store, outbox, provider):
    held(store, recipient_tel=OPTED_OUT)
    write(ANA)
    send_all_due()
    [row] = replies(store)
    assert (row["state"], row["error_code"], provider.messages()) == ("failed", "21610", [])
    assert "STOP" in row["error"]
    [entry] = sent_entries(store)
    assert entry["result"] == f"failed: {row['error']}"


@pytest.mark.parametrize("other", [BEN, ADMIN, staff("ana", Role.AUDITOR), staff("ana", scope=Scope.of(["company:x"]))])
def test_only_the_holder_may(store, outbox, provider, other):
    held(store)
    with pytest.raises((Conflict, Forbidden, NotFound)):
        write(other)
    send_all_due()
    assert (replies(store), provider.messages(), sent_entries(store)) == ([], [], [])


def test_a_form_of_somebody_else_or_another_conversation_is_of_no_use(store, outbox):
    held(store)
    token = seal_form(CHANNEL, CONVERSATION, ANA)
    for bad in (token[:-1], "", f"{token}x"):
        with pytest.raises(NotFound):
            unseal_form(bad, ANA)
    with pytest.raises(NotFound):
        unseal_form(token, BEN)


def test_a_form_that_is_sent_twice_is_one_reply(store, outbox, provider):
    held(store)
    form = unseal_form(seal_form(CHANNEL, CONVERSATION, ANA), ANA)
    first = accept(form, ANA, TEXT)
    again = accept(form, ANA, f"  {TEXT}\r\n")
    assert again.position == first.position
    send_all_due()
    assert accept(form, ANA, TEXT).state == "sent"
    with pytest.raises(Conflict, match="another reply"):
        accept(form, ANA, "Something else")
    send_all_due()
    assert len(provider.messages()) == len(replies(store)) == len(sent_entries(store)) == 1


def test_a_code_cannot_be_guessed_from_its_digest_and_a_new_key_repeats_no_reply(store, outbox, settings):
    held(store)
    form = unseal_form(seal_form(CHANNEL, CONVERSATION, ANA), ANA)
    first = accept(form, ANA, "482133")
    kept = json.dumps([store.all(key) for key in ("AUDIT", "IDEMPOTENCY")], default=str)
    assert hashlib.sha256(b"482133").hexdigest() not in kept
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [settings.SECRET_KEY]
    assert accept(form, ANA, "482133").position == first.position
    with pytest.raises(Conflict, match="another reply"):
        accept(form, ANA, "482134")


def test_a_lost_race_between_form_and_sender_is_told(store, outbox, provider):
    """Nothing of the platform's is in our transaction: a colleague may take it before the reply leaves."""
    held(store)
    write(ANA)
    held(store, "ben")
    send_all_due()
    [row] = replies(store)
    assert (row["state"], provider.messages()) == ("not sent", [])
    assert "colleague" in row["error"]


def test_who_answers_and_hands_back_at_once_has_answered(store, outbox, provider):
    held(store)
    write(ANA)
    held(store, hand_off_to_human=False, hand_off_agent=None)
    send_all_due()
    assert (states(store), len(provider.messages())) == (["sent"], 1)


def test_a_reply_can_be_taken_back_before_it_leaves(store, outbox, provider, settings):
    settings.REPLY_UNDO_SECONDS = 10
    held(store)
    row = write(ANA)
    send_all_due()
    assert (states(store), provider.messages()) == (["queued"], [])
    undo(load_reply(seal_key(row), (CHANNEL, CONVERSATION), ANA))
    undo(load_reply(seal_key(row), (CHANNEL, CONVERSATION), ANA))
    settings.REPLY_UNDO_SECONDS = 0
    send_all_due()
    assert (states(store), provider.messages()) == (["undone"], [])
    [entry] = sent_entries(store)
    assert entry["result"].startswith("failed: taken back")


def test_it_is_too_late_to_take_back_what_was_sent(store, outbox, provider):
    held(store)
    row = write(ANA)
    send_all_due()
    with pytest.raises(Conflict, match="too late"):
        undo(load_reply(seal_key(row), (CHANNEL, CONVERSATION), ANA))
    assert states(store) == ["sent"]


@pytest.mark.parametrize("who", [BEN, ADMIN])
def test_nobody_else_takes_it_back(store, outbox, settings, who):
    settings.REPLY_UNDO_SECONDS = 10
    held(store)
    row = write(ANA)
    with pytest.raises(NotFound):
        load_reply(seal_key(row), (CHANNEL, CONVERSATION), who)
    with pytest.raises(NotFound):
        load_reply(seal_key(row), (CHANNEL, f"{CONVERSATION}x"), ANA)


@pytest.mark.slow
def test_twenty_replies_arrive_in_their_order(store, outbox, provider):
    held(store)
    for number in range(20):
        write(ANA, f"line {number}")
    send_all_due()
    assert [each["text"] for each in provider.messages()] == [f"line {number}" for number in range(20)]
    assert set(states(store)) == {"sent"}


def test_what_the_queue_did_not_take_the_sweep_finds(store, outbox, provider, settings, monkeypatch):
    held(store)
    url, settings.OUTBOX_QUEUE_URL = settings.OUTBOX_QUEUE_URL, f"{settings.OUTBOX_QUEUE_URL}-gone"
    write(ANA)
    settings.OUTBOX_QUEUE_URL = url
    send_all_due()
    assert provider.messages() == []
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=11))
    send_all_due()
    assert (states(store), len(provider.messages())) == (["sent"], 1)


def test_more_than_thirty_a_minute_are_refused(store, outbox, settings):
    settings.REPLIES_PER_MINUTE = 3
    held(store)
    for number in range(3):
        write(ANA, f"line {number}")
    with pytest.raises(Exception, match="many replies") as refused:
        write(ANA)
    assert refused.value.status == 429
    assert len(replies(store)) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"comms_consent": False}, "not agreed"),
        ({"allowed_channels": ["email"]}, "does not allow"),
        ({"channel_config": {}}, "credentials"),
        ({"recipient_tel": "07700 900123", "primary_channel": CHANNEL, "channel_method": "fax"}, "cannot be sent over"),
    ],
)
def test_what_may_not_go_is_refused_before_anything_is_written(store, outbox, provider, changes, words):
    held(store, **changes)
    with pytest.raises(Invalid, match=words):
        write(ANA)
    send_all_due()
    assert (replies(store), provider.messages(), sent_entries(store)) == ([], [], [])


@pytest.mark.parametrize("text", ["", " \n ", "x" * 1601, "🙂" * 801])
def test_a_text_that_no_channel_takes_is_refused(store, outbox, text):
    held(store)
    with pytest.raises(Invalid):
        write(ANA, text)
    assert replies(store) == []


def test_without_consent_only_where_the_company_decided_so(store, outbox, provider, settings):
    settings.REPLY_WITHOUT_CONSENT = True
    held(store, comms_consent=False)
    write(ANA)
    send_all_due()
    assert states(store) == ["sent"]
    [entry] = sent_entries(store)
    assert entry["payload"]["consent"] == "none"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"comms_consent": False}, "not agreed"),
        ({"allowed_channels": ["sms"]}, "does not allow"),
        ({"messages": []}, "24 hours"),
    ],
)
def test_what_changed_before_it_left_stops_it(store, outbox, provider, change, words):
    held(store)
    write(ANA)
    held(store, **change)
    send_all_due()
    [row] = replies(store)
    assert (row["state"], provider.messages()) == ("not sent", [])
    assert words in row["error"]
    assert sent_entries(store)[0]["result"] == f"failed: {row['error']}"


@pytest.mark.slow
def test_a_reply_that_was_accepted_within_the_24_hours_and_is_due_after_them_is_not_sent(
    store, outbox, provider, settings, monkeypatch
):
    held(store)
    settings.REPLY_UNDO_SECONDS = 10
    write(ANA)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=24))
    send_all_due()
    [row] = replies(store)
    assert (row["state"], provider.messages()) == ("not sent", [])
    assert "24 hours" in row["error"]


def test_a_conversation_that_is_gone_gets_nothing(store, outbox, provider):
    held(store)
    write(ANA)
    store.delete("CONVERSATIONS", **KEY)
    send_all_due()
    [row] = replies(store)
    assert (row["state"], row["conversation"], provider.messages()) == ("not sent", PARTITION, [])
