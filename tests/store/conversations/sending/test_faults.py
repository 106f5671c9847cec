"""What goes wrong between sender and provider, or with a company's secret: states, words, and what comes after."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from console import clock
from console.errors import StoreUnavailable
from console.system_sections import sections
from conversations.outbox.rows import MessageRow
from conversations.providers import credentials
from conversations.sending import section
from conversations.sending.replies import ReplyForm, accept, mark_retried, seal_form, unseal_form
from demo.provider import ACCOUNT, TOKEN, DemoProvider, ProviderFault
from tests import faults
from tests.store.conversations.sending.conftest import forget
from tests.support.conversations.handoff.kit import ANA, CHANNEL, CONVERSATION, stored
from tests.support.conversations.replies import (
    EMAIL,
    OURS,
    SECRET,
    held,
    later,
    replies,
    send_all_due,
    sent_entries,
    states,
    write,
)

TEXT = "It is on its way: parcel 7-green-heron."


def go_on(*seconds: float) -> list[str]:
    """The reply's states when a sender runs on, so many seconds from now."""
    passed, now = [], clock.now()
    for each in seconds:
        with mock.patch.object(clock, "now", return_value=now + timedelta(seconds=each)):
            send_all_due()
        passed += [row.state for row in rows() if row.direction == "out"]
    return passed


def rows() -> list[MessageRow]:
    return list(MessageRow.scan(consistent_read=True))


def once(fault: ProviderFault | None) -> Callable[[str, str, dict[str, Any]], ProviderFault | None]:
    """That fault for the first message that is handed over; what is asked is answered."""
    left = [fault]
    return lambda method, path, form: left.pop() if method == "POST" and left else None


LATE = (3, 40, 60, 640, 700)
FAULTS = {
    "lost after acceptance": (ProviderFault(accepts=True), ["unknown", "sent"], 1, True),
    "lost before acceptance": (ProviderFault(), ["unknown", "unknown"], 0, False),
    "500 before acceptance": (ProviderFault(status=500, body=b"{}"), ["unknown", "unknown"], 0, False),
    "502 after acceptance": (ProviderFault(accepts=True, status=502, body=b"oops"), ["unknown", "sent"], 1, True),
    "malformed after acceptance": (
        ProviderFault(accepts=True, status=201, body=b"<html>"),
        ["unknown", "sent"],
        1,
        True,
    ),
    "429 with Retry-After": (
        ProviderFault(status=429, headers={"Retry-After": "2"}, body=b'{"code": 20429}'),
        ["queued", "sent"],
        1,
        True,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_the_provider(store, outbox, provider, name):
    fault, passed, count, reached = FAULTS[name]
    held(store)
    provider.fault = once(fault)
    row = write(ANA, TEXT)
    send_all_due()
    assert [states(store)[0], *go_on(3.5)] == passed
    go_on(13, *LATE)
    assert len(provider.messages()) == count
    [end] = replies(store)
    assert end["state"] in (("sent", "delivered", "read") if reached else ("not sent",))
    [entry] = sent_entries(store)
    assert entry["result"].partition(":")[0] == ("success" if reached else "failed")
    on_item = [each for each in stored(store)["messages"] if each.get("entry_id") == row.message_id]
    assert len(on_item) == reached
    if not reached:
        assert end["error"] == "The provider does not have it, so the customer did not get it."


@pytest.mark.slow
def test_what_was_lost_can_be_sent_again_once(store, outbox, provider):
    """As the button does, clicked twice."""
    held(store)
    provider.fault = once(ProviderFault())
    lost = write(ANA, TEXT)
    send_all_due()
    go_on(3, 40, 640, 700)
    assert states(store) == ["not sent"]
    for _ in range(2):
        accept(ReplyForm(CHANNEL, CONVERSATION, "a" * 32), ANA, TEXT)
        mark_retried(lost, "a" * 32)
    send_all_due()
    assert states(store) == ["not sent", "sent"]
    assert len(provider.messages()) == 1


@pytest.mark.slow
def test_the_same_words_sent_twice_are_two_messages(store, outbox, provider):
    """The second one's answer is lost before it was accepted: the first one's message is not taken for it."""
    held(store)
    write(ANA, "ok")
    send_all_due()
    provider.fault = once(ProviderFault())
    write(ANA, "ok")
    send_all_due()
    go_on(3, 40, 640, 700)
    assert [row["state"] for row in replies(store)] == ["read", "not sent"]
    assert len(provider.messages()) == 1


def test_a_provider_that_cannot_be_reached_is_tried_for_ten_minutes(store, outbox, provider):
    held(store)
    provider.stop()
    write(ANA, TEXT)
    send_all_due()
    assert states(store) == ["queued"]
    assert go_on(30, 300) == ["queued", "queued"]
    assert go_on(620) == ["not sent"]
    [row] = replies(store)
    assert row["error"] == "The provider could not be reached for ten minutes."
    assert sent_entries(store)[0]["result"] == f"failed: {row['error']}"


def test_a_provider_that_comes_back_gets_it_once(store, outbox, provider, settings):
    held(store)
    provider.stop()
    write(ANA, TEXT)
    send_all_due()
    settings.TWILIO_API_URL = provider.start()
    go_on(5, 30)
    assert len(provider.messages()) == 1


@pytest.mark.slow
def test_who_is_too_fast_for_the_provider_waits_and_others_do_not(store, outbox, provider):
    held(store)
    other = f"{CONVERSATION}#other"
    item = stored(store)
    elsewhere = {"whatsapp": {"company_whatsapp_number": "+441134960099", "whatsapp_credentials_id": SECRET}}
    store.put("CONVERSATIONS", {**item, "conversation_id": other, "channel_config": elsewhere})
    provider.fault = once(ProviderFault(status=429, headers={"Retry-After": "5"}, body=b"{}"))
    write(ANA, "first")
    send_all_due()
    accept(unseal_form(seal_form(CHANNEL, other, ANA), ANA), ANA, "elsewhere")
    write(ANA, "second")
    send_all_due()
    assert [each["text"] for each in provider.messages()] == ["elsewhere"]
    go_on(15, 30)
    assert [each["text"] for each in provider.messages()] == ["elsewhere", "first", "second"]


# --- Credentials ------------------------------------------------------------------------------------------------------


def change_secret(content: str | None) -> None:
    """Put that into the company's secret, None: delete it; the sender reads it anew."""
    made = credentials.client()
    if content is None:
        made.delete_secret(SecretId=SECRET, ForceDeleteWithoutRecovery=True)
    else:
        made.put_secret_value(SecretId=SECRET, SecretString=content)
    forget()


GOOD = json.dumps({"twilio_account_sid": ACCOUNT, "twilio_auth_token": TOKEN})
NOT_ACCEPTED = "the provider does not accept what is in it"
BAD = {
    "missing": (None, "it does not exist"),
    "no JSON": ("canary-secret", "it is not a JSON object"),
    "no object": ('["canary-secret"]', "it is not a JSON object"),
    "lacks the token": (json.dumps({"twilio_account_sid": ACCOUNT}), NOT_ACCEPTED),
    "wrong token": (json.dumps({"twilio_account_sid": ACCOUNT, "twilio_auth_token": "canary-secret"}), NOT_ACCEPTED),
}


@pytest.mark.parametrize("name", BAD)
def test_credentials_that_do_not_work_are_told_to_agent_and_admin(store, outbox, provider, caplog, name):
    caplog.set_level(logging.DEBUG)
    held(store)
    content, words = BAD[name]
    change_secret(content)
    write(ANA, TEXT)
    send_all_due()
    [row] = replies(store)
    assert (row["state"], provider.messages()) == ("failed", [])
    assert "administrator" in row["error"]
    assert SECRET not in row["error"]
    [problem] = credentials.problems()
    assert (problem.id, problem.problem) == (SECRET, words)
    shown = section.section(clock.now())
    assert shown.tone in ("bad", "human")
    assert any(SECRET in str(fact) for fact in shown.facts if fact.label == "Secret")
    everything = json.dumps([store.all(key) for key in ("MESSAGES", "AUDIT", "IDEMPOTENCY", "CONSOLE")], default=str)
    assert "canary-secret" not in everything + caplog.text + str(shown)
    # Set right, the next one goes, and nothing is wrong any more.
    change_secret(GOOD) if content is not None else credentials.client().create_secret(Name=SECRET, SecretString=GOOD)
    with mock.patch.object(credentials, "_noted", {SECRET}):
        write(ANA, "Once more.")
        send_all_due()
    assert [each["text"] for each in provider.messages()] == ["Once more."]
    assert credentials.problems() == []


def test_a_reply_with_the_secret_of_another_company_does_not_leave(store, outbox, provider, settings):
    settings.SECRET_NAMES = ["whatsapp/{company}/*"]
    theirs = SECRET.replace("ci-aaa-001", "ci-bbb-002")
    credentials.client().create_secret(Name=theirs, SecretString=GOOD)
    held(store, channel_config={"whatsapp": {"company_whatsapp_number": OURS, "whatsapp_credentials_id": theirs}})
    write(ANA, TEXT)
    send_all_due()
    assert (states(store), provider.messages()) == (["failed"], [])
    [problem] = credentials.problems()
    assert (problem.id, problem.problem) == (theirs, "SECRET_NAMES does not allow it for the company ci-aaa-001")
    settings.SECRET_NAMES = ["whatsapp/*"]
    write(ANA, TEXT)
    send_all_due()
    assert len(provider.messages()) == 1


@pytest.mark.slow
def test_secrets_manager_that_does_not_answer_is_asked_again(store, outbox, provider, settings):
    held(store)
    url, settings.SECRETS_ENDPOINT = settings.SECRETS_ENDPOINT, "http://127.0.0.1:9"
    write(ANA, TEXT)
    send_all_due()
    assert states(store) == ["queued"]
    settings.SECRETS_ENDPOINT = url
    go_on(15)
    assert len(provider.messages()) == 1
    assert credentials.problems() == []


@pytest.mark.slow
def test_no_credential_number_or_text_is_logged_or_kept_elsewhere(store, outbox, provider, caplog):
    caplog.set_level(logging.DEBUG)
    held(store)
    for fault in (None, ProviderFault(accepts=True), ProviderFault(status=401, body=b"{}"), ProviderFault(status=400)):
        provider.fault = once(fault)
        write(ANA, TEXT)
        send_all_due()
    go_on(3, 40, 640, 700)
    kept = json.dumps([store.all(key) for key in ("AUDIT", "CONSOLE", "IDEMPOTENCY")], default=str)
    for canary in (TOKEN, "heron", OURS[1:]):
        assert canary not in kept
        assert canary not in caplog.text
    assert CHANNEL[1:] not in caplog.text


# --- Delivery, other channels, what the system page says --------------------------------------------------------------


@pytest.mark.slow
def test_the_provider_is_asked_five_times_at_most(store, outbox, provider):
    held(store)
    provider._status = lambda kept: ("sent", None)
    write(ANA, TEXT)
    send_all_due()
    asked: list[float] = []

    def counted(method: str, path: str, form: dict[str, Any]) -> None:
        if method == "GET":
            asked.append(0)

    provider.fault = counted
    go_on(4, 6, 20, 31, 100, 121, 500, 601, 3000, 3601, 7200, 90_000)
    assert len(asked) == 5
    [row] = replies(store)
    assert (row["state"], row.get("gsi_due")) == ("sent", None)


@pytest.mark.parametrize("state", ["delivered", "read"])
def test_each_state_is_in_the_trail_once_though_its_row_was_not_written(store, outbox, provider, state):
    held(store)
    write(ANA, TEXT)
    send_all_due()
    seconds = {"delivered": 2, "read": 4}[state]
    with later(3600), faults.fail_before("UpdateItem", table_key="MESSAGES", times=faults.ALWAYS):
        send_all_due()
    go_on(3700 + seconds)
    found = [each["payload"]["state"] for each in sent_entries(store, "reply.delivery")]
    assert found == ["read"]
    assert states(store) == ["read"]


def test_an_sms_goes_as_an_sms(store, outbox, provider):
    held(store, channel="sms")
    write(ANA, TEXT)
    send_all_due()
    [message] = provider.messages()
    assert (message["channel"], message["to"], message["from"]) == ("sms", CHANNEL, OURS)
    go_on(6)
    assert states(store) == ["delivered"]
    assert [row for row in store.all("MESSAGES") if row.get("gsi_due")] == []


def test_an_email_answers_the_customers_last_one(store, outbox, provider):
    written = [
        {"message_id": f"<{each}@mail.example>", "timestamp": clock.to_iso(clock.now()), "role": "user", "content": "?"}
        for each in ("one", "two")
    ]
    first = {"entry_id": "e1", "role": "assistant", "content": "Hello"}
    held(store, channel="email", messages=[first, *written], email_id="<thread@mail.example>", project_name="Parcels")
    write(ANA, f"{TEXT} <b>bold</b>")
    send_all_due()
    [message] = provider.messages()
    assert (message["to"], message["channel"]) == (EMAIL, "email")
    headers = message["request"]["headers"]
    assert headers["In-Reply-To"] == "<two@mail.example>"
    assert headers["References"] == "<thread@mail.example> <one@mail.example> <two@mail.example>"
    assert message["request"]["subject"] == "Re: Parcels"
    assert "&lt;b&gt;bold" in message["request"]["content"][1]["value"]
    go_on(6)
    assert states(store) == ["delivered"]


def test_the_system_page_says_how_sending_is(store, outbox, provider, settings):
    def said() -> Any:
        return next(each for each in sections(clock.now()) if each.title == section.TITLE)

    assert (said().state, said().hints) == ("not running", ("manage.py work --only sender",))
    send_all_due()
    assert (said().state, said().words) == ("ready", "Replies are sent.")
    # It ran once, as a schedule does, which may leave it silent for longer.
    with later(600):
        assert said().state == "ready"
    with later(1_000):
        assert said().state == "stale"
    settings.REPLY_UNDO_SECONDS = 10
    held(store)
    write(ANA, TEXT)
    assert "1 reply waits" in str(said().facts)
    with later(600):
        assert "has been due for" in str(said().facts)
    settings.OUTBOX_QUEUE_URL = ""
    assert said().state == "not configured"


def test_a_stopped_provider_of_the_demo_starts_again() -> None:
    with DemoProvider() as one:
        one.stop()
        assert one.start()


def test_once_gives_up_where_the_store_does_not_answer(store, outbox, provider):
    with faults.fail_before("Query", table_key="MESSAGES", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        send_all_due()
