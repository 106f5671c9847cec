"""One attempt to send a reply: what it waits for, what it leaves, and what an attempt of before cannot spoil."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import Conflict, StoreUnavailable
from conversations.outbox.rows import LATEST, MessageRow, latest_partition
from conversations.outbox.states import ReplyState
from conversations.providers import NotReached, credentials
from conversations.sending.delivering import doubt, send, settle
from conversations.sending.rates import Rates
from conversations.sending.replies import ReplyForm, accept, undo
from demo.provider import TEMPLATE, DemoProvider, ProviderFault
from tests import faults
from tests.dynamodb import Store
from tests.store.conversations.sending.conftest import OPTED_OUT
from tests.support.conversations.handoff.kit import ANA, CHANNEL, CONVERSATION, KEY, stored
from tests.support.conversations.replies import (
    OURS,
    held,
    later,
    replies,
    said,
    send_all_due,
    sent_entries,
    states,
    write,
)

PAST = 1_600_000_000


def deliver(row: MessageRow, rates: Rates | None = None) -> float | None:
    """Let a sender have the reply that the queue delivered to it."""
    return send(row.conversation, row.position, rates or Rates())


def change(store: Store, row: MessageRow, **values: Any) -> None:
    store.update("MESSAGES", {"conversation": row.conversation, "position": row.position}, **values)


def read(row: MessageRow) -> MessageRow:
    return MessageRow.get(row.conversation, row.position, consistent_read=True)


def seconds_until_due(row: dict[str, Any]) -> float:
    return (datetime.fromisoformat(row["due_at"]) - clock.now()).total_seconds()


def lose_answer(provider: DemoProvider, *, accepted: bool) -> None:
    provider.fault = lambda method, path, form: ProviderFault(accepts=accepted) if method == "POST" else None


# --- What may leave ---------------------------------------------------------------------------------------------------


def test_a_name_of_no_reply_sends_no_other_one(store, outbox, provider):
    held(store)
    row = write(ANA)
    assert send(row.conversation, f"{row.position}x", Rates()) is None
    assert send("nowhere", row.position, Rates()) is None
    assert (states(store), provider.messages()) == (["queued"], [])


def test_a_reply_waits_for_an_earlier_one_that_is_queued(store, outbox, provider):
    held(store)
    first, second = write(ANA, "first"), write(ANA, "second")
    assert deliver(second) == 1.0
    assert provider.messages() == []
    assert deliver(first) is deliver(second) is None
    assert [each["text"] for each in provider.messages()] == ["first", "second"]


def test_a_reply_waits_for_an_earlier_one_while_it_may_be_leaving(store, outbox, provider):
    held(store)
    first, second = write(ANA, "first"), write(ANA, "second")
    assert doubt(first.conversation, first.position)
    assert deliver(second) == 1.0
    with later(31):
        assert deliver(second) is None
    assert [each["text"] for each in provider.messages()] == ["second"]


def test_a_reply_that_has_begun_at_no_time_holds_up_no_other(store, outbox, provider):
    held(store)
    first, second = write(ANA, "first"), write(ANA, "second")
    change(store, first, state="sending", begun_at="?")
    assert deliver(second) is None
    assert [each["text"] for each in provider.messages()] == ["second"]


def test_a_conversation_that_has_expired_gets_nothing(store, outbox, provider):
    held(store)
    row = write(ANA)
    store.update("CONVERSATIONS", KEY, ttl=PAST)
    assert deliver(row) is None
    assert (states(store), provider.messages()) == (["not sent"], [])


@pytest.mark.parametrize("mark", [{"hand_off_messages_apart": True}, {"hand_off_message_ids": {"SM1"}}])
def test_a_reply_leaves_no_message_unanswered_in_lists(store, outbox, provider, mark):
    held(store, **mark)
    row = write(ANA)
    latest = {"conversation": latest_partition(row.conversation), "position": LATEST}
    store.put("MESSAGES", {**latest, "content": "Where is it?", "unanswered": 2})
    assert deliver(row) is None
    assert store.get("MESSAGES", **latest)["unanswered"] == 0


def test_a_template_is_handed_over_with_its_blanks_filled(store, outbox, provider):
    held(store, messages=[said(ago=timedelta(days=2))])
    text = "Hello Jo, we have news about <b>parcel</b>. Reply here and we will tell you more."
    row = write(ANA, text, template=TEMPLATE, variables={"1": "Jo", "2": "<b>parcel</b>"})
    assert deliver(row) is None
    [message] = provider.messages()
    assert (message["text"], message["request"]["ContentSid"]) == (text, TEMPLATE)


# --- What the provider answers ----------------------------------------------------------------------------------------


def test_a_provider_that_asks_for_time_gets_it(store, outbox, provider):
    held(store)
    row, next_row, rates = write(ANA), write(ANA), Rates()
    body = b'{"code": 20429}'
    provider.fault = lambda *_: ProviderFault(status=429, headers={"Retry-After": "5"}, body=body)
    assert deliver(row, rates) == 5.0
    [put_off, _] = replies(store)
    assert (put_off["state"], put_off["gsi_due"]) == ("queued", "send")
    assert "sending_id" not in put_off
    assert 3 < seconds_until_due(put_off) <= 5
    # Nothing else leaves from this number either.
    change(store, row, state="undone")
    provider.fault = lambda *_: None
    assert deliver(next_row, rates) > 4
    assert provider.messages() == []
    assert rates.wait_for(OURS, clock.now() + timedelta(seconds=7)) == 0.0


def test_a_reply_waits_for_secrets_that_could_not_be_read(store, outbox, provider, monkeypatch):
    def raise_not_reached(*_) -> dict[str, Any]:
        raise NotReached("Secrets Manager did not answer.")

    held(store)
    row = write(ANA)
    monkeypatch.setattr(credentials, "secret_for", raise_not_reached)
    assert deliver(row) == 2.0
    [put_off] = replies(store)
    assert (put_off["state"], put_off["gsi_due"]) == ("queued", "send")
    assert 0 < seconds_until_due(put_off) <= 2


@pytest.mark.parametrize("accepted", [True, False])
def test_a_reply_whose_answer_was_lost_is_asked_for_and_not_sent_again(store, outbox, provider, accepted):
    held(store)
    row = write(ANA)
    lose_answer(provider, accepted=accepted)
    assert deliver(row) is None
    [unknown] = replies(store)
    assert (unknown["state"], unknown["gsi_due"]) == ("unknown", "settle")
    assert 0 < seconds_until_due(unknown) <= 2
    with later(3):
        send_all_due()
    assert states(store) == ["sent" if accepted else "unknown"]
    assert len(provider.messages()) == accepted
    with later(601):
        send_all_due()
    assert states(store) == ["read" if accepted else "not sent"]
    assert [each["result"].partition(":")[0] for each in sent_entries(store)] == ["success" if accepted else "failed"]


def test_a_reply_whose_answer_was_lost_is_found_however_late_the_provider_is_asked(store, outbox, provider):
    held(store)
    row = write(ANA)
    lose_answer(provider, accepted=True)
    deliver(row)
    with later(540):
        settle(read(row))
    [sent] = replies(store)
    assert (sent["state"], sent["provider_id"]) == ("sent", provider.messages()[0]["id"])


def test_a_reply_whose_sender_died_is_settled_by_the_sweep(store, outbox, provider):
    held(store)
    row = write(ANA)
    assert doubt(row.conversation, row.position)
    [begun] = replies(store)
    assert (begun["state"], begun["gsi_due"]) == ("sending", "settle")
    passed = []
    for seconds in (20, 31, 640):
        with later(seconds):
            send_all_due()
        passed += states(store)
    assert passed == ["sending", "unknown", "not sent"]
    assert provider.messages() == []


def test_of_two_equal_replies_without_an_answer_the_earlier_one_is_settled_first(store, outbox, provider):
    """The first one was accepted, the second one was not: the first one's message is not taken for the second's."""
    held(store)
    first, second = write(ANA, "ok"), write(ANA, "ok")
    lose_answer(provider, accepted=True)
    deliver(first)
    lose_answer(provider, accepted=False)
    deliver(second)
    assert states(store) == ["unknown", "unknown"]
    provider.fault = lambda *_: None
    settle(read(second))
    assert states(store) == ["unknown", "unknown"]
    assert 14 < seconds_until_due(replies(store)[1]) <= 15
    settle(read(first))
    with later(640):
        settle(read(second))
    assert states(store) == ["sent", "not sent"]


@pytest.mark.parametrize("providers", [{}, {"whatsapp": "pigeon"}])
def test_a_reply_on_a_channel_without_a_provider_fails_with_the_reason(store, outbox, provider, settings, providers):
    held(store)
    row = write(ANA)
    settings.REPLY_PROVIDERS = providers
    assert deliver(row) is None
    [failed] = replies(store)
    assert failed["error"] == "No provider is set up for this channel. Tell an administrator."
    assert failed["state"] == "failed"
    # Nothing is left to do for it.
    assert not {"gsi_due", "due_at"} & set(failed)


def test_a_rejection_for_another_reason_says_nothing_against_the_secret(store, outbox, provider):
    held(store, recipient_tel=OPTED_OUT)
    deliver(write(ANA))
    assert states(store) == ["failed"]
    assert credentials.problems() == []


def test_a_reply_expires_as_messages_do(store, outbox, settings):
    held(store)
    row = write(ANA)
    kept = clock.parse_instant(row.received_at) + timedelta(days=settings.MESSAGE_RETENTION_DAYS)
    assert replies(store)[0]["expires_at"] == clock.to_epoch(kept)


@pytest.mark.parametrize("gone", ["AUDIT", "IDEMPOTENCY"])
def test_a_reply_is_closed_though_its_entry_or_record_has_expired(store, outbox, provider, gone):
    held(store)
    row = write(ANA)
    [item] = store.all(gone)
    key = ("conversation_id", "ts_action_id") if gone == "AUDIT" else ("event_id",)
    store.delete(gone, **{name: item[name] for name in key})
    assert deliver(row) is None
    [sent] = replies(store)
    assert (sent["state"], sent["provider_id"]) == ("sent", provider.messages()[0]["id"])
    assert store.all(gone) == []


# --- What another process did meanwhile -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [ReplyState.SENT, ReplyState.NOT_SENT])
def test_a_sender_leaves_what_was_settled_while_the_provider_answered(store, outbox, provider, state):
    held(store)
    row = write(ANA)
    provider.fault = lambda method, path, form: change(store, row, state=state.value, state_at="then")
    assert deliver(row) is None
    [left] = replies(store)
    assert (left["state"], left["state_at"]) == (state, "then")
    assert "provider_id" not in left


def test_a_write_that_puts_a_reply_off_and_is_repeated_leaves_the_attempt_after_it(store, outbox, provider):
    """The write's answer was lost, another sender began, and botocore repeats the write."""
    held(store)
    row = write(ANA)
    provider.fault = lambda *_: ProviderFault(status=429, headers={"Retry-After": "1"}, body=b"{}")
    writes = {"operation": "UpdateItem", "table_key": "MESSAGES"}
    with (
        faults.before(do=lambda: change(store, row, state="sending", sending_id="another's"), nth=3, **writes),
        faults.fail_after(retried=True, nth=2, **writes),
        pytest.raises(Conflict),
    ):
        deliver(row)
    [left] = replies(store)
    assert (left["state"], left["sending_id"]) == ("sending", "another's")


@pytest.mark.parametrize("accepted", [True, False])
def test_whoever_settles_an_attempt_leaves_the_attempt_after_it(store, outbox, provider, accepted):
    held(store)
    row = write(ANA)
    lose_answer(provider, accepted=accepted)
    deliver(row)
    lost = read(row)
    change(store, row, state="sending", sending_id="another's")
    with later(601), suppress(Conflict):
        settle(lost)
    [left] = replies(store)
    assert (left["state"], left["sending_id"]) == ("sending", "another's")
    assert [each["result"] for each in sent_entries(store)] == ["pending"]


def test_a_reply_that_was_put_off_can_be_taken_back_by_a_page_that_saw_it_leaving(store, outbox, provider):
    held(store)
    row = write(ANA)
    seen: list[MessageRow] = []

    def answer(method: str, path: str, form: dict[str, Any]) -> ProviderFault:
        seen.append(read(row))
        return ProviderFault(status=429, headers={"Retry-After": "1"}, body=b"{}")

    provider.fault = answer
    assert deliver(row) == 1.0
    assert seen[0].state == "sending"
    undo(seen[0])
    assert states(store) == ["undone"]
    assert "hand_off_reply_failed_at" not in stored(store)


# --- The form ---------------------------------------------------------------------------------------------------------


def test_a_form_sent_again_finds_its_reply_though_it_may_not_be_sent_any_more(store, outbox, provider):
    held(store)
    form = ReplyForm(CHANNEL, CONVERSATION, "a" * 32)
    row = accept(form, ANA, "It is on its way.")
    held(store, "ben")
    assert accept(form, ANA, "It is on its way.").position == row.position
    assert len(replies(store)) == 1


def test_a_form_never_finds_a_reply_in_another_conversation(store, outbox, provider):
    """The platform's conversation ids are unique only together with the channel."""
    held(store)
    accept(ReplyForm(CHANNEL, CONVERSATION, "a" * 32), ANA, "It is on its way.")
    other = "+447700900124"
    store.put("CONVERSATIONS", {**stored(store), "primary_channel": other})
    with pytest.raises(StoreUnavailable):
        accept(ReplyForm(other, CONVERSATION, "a" * 32), ANA, "It is on its way.")
    assert len(replies(store)) == 1


@pytest.mark.parametrize("since", ["2026-01-31T09:00:00.000Z", "?"])
def test_the_trail_has_how_long_the_customer_waited_if_it_is_known(store, outbox, since):
    held(store, hand_off_requested_at=since)
    write(ANA)
    [entry] = sent_entries(store)
    waited = entry["payload"].pop("waited_seconds", None)
    assert waited is None if since == "?" else waited > 60
    assert set(entry["payload"]) == {"channel", "characters", "digest"}
