"""The reply box and its forms: what the holder sees and sends, with scripts and without, and what others are told."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from console import clock
from console.permissions import Role
from console.refs import seal_data
from console.store import presence
from console.store.calls import budget
from conversations.conversation.updates import updates_of
from conversations.converting import reference_of
from conversations.sending.replies import accept, seal_form, unseal_form
from tests import faults
from tests.answers import text_of
from tests.people import as_staff, member, signed_in
from tests.queue import swept
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION
from tests.support.conversations.replies import (
    held,
    replies,
    said,
    send_all_due,
    sent_entries,
    states,
)

HTMX = {"HTTP_HX_REQUEST": "true"}
AMIRA = "amira.haddad"
TEXT = "It is on its way."


@pytest.fixture
def client(store, outbox):
    held(store, AMIRA)
    return signed_in(member())


def url(name: str = "conversation", **query: str) -> str:
    return reverse(name, args=[reference_of(CHANNEL, CONVERSATION)], query=query or None)


def page(client, **query: str) -> str:
    return html.unescape(client.get(url(**query)).content.decode())


def token_in(text: str, name: str = "reply") -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', text)
    assert found, text[:2000]
    return found[1]


def box_in(text: str) -> str:
    found = re.search(r'<section class="panel reply".*?</section>', text, re.DOTALL)
    assert found
    return found[0]


def send(client, text: str = TEXT, **more: Any):
    data = {"reply": token_in(box_in(page(client))), "text": text} | more
    return client.post(url("conversation-reply"), data)


def test_the_holder_has_a_box_and_no_links_to_own_applications(client):
    text = page(client)
    box = box_in(text)
    assert "Reply over WhatsApp" in box
    assert "<textarea" in box
    assert 'data-most="1600"' in box
    assert "You can reply until" in box
    assert "How to answer" not in text
    revealed = client.post(url("conversation-reveal"), **HTMX).content.decode()
    assert "wa.me" not in revealed
    assert "own " not in revealed


@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN, Role.AUDITOR])
def test_nobody_else_has_one(store, outbox, role):
    held(store, "ben")
    box = box_in(page(signed_in(member(role=role.value))))
    assert "<form" not in box
    assert " hidden" in box.split(">")[0]


def test_where_replies_are_not_configured_people_answer_with_their_own_applications(store, client, settings):
    settings.OUTBOX_QUEUE_URL = ""
    text = page(client)
    assert "<form" not in box_in(text)
    assert "Answer with your own applications." in text
    revealed = client.post(url("conversation-reveal"), **HTMX).content.decode()
    assert "Opens your own WhatsApp" in revealed


def test_a_form_of_before_is_refused_where_replies_are_not_configured_any_more(store, client, settings):
    token = token_in(box_in(page(client)))
    settings.OUTBOX_QUEUE_URL = ""
    answer = client.post(url("conversation-reply"), {"reply": token, "text": TEXT})
    assert answer.status_code == 422
    assert TEXT in answer.content.decode()
    assert replies(store) == []


def test_a_form_without_scripts(store, client, provider):
    answer = send(client)
    assert answer.status_code == 302
    assert answer.url.endswith("#reply")
    assert "Your reply is on its way." in page(client)
    send_all_due()
    assert [each["text"] for each in provider.messages()] == [TEXT]
    text = page(client)
    assert re.search(r"<b dir=\"auto\">Amira Haddad</b>", text)
    assert re.search(r'class="delivery"><span>Sent</span>', text)


def test_a_script_gets_a_new_forms_token(store, client, provider):
    first = token_in(box_in(page(client)))
    answer = client.post(url("conversation-reply"), {"reply": first, "text": TEXT}, **HTMX)
    assert answer.status_code == 200
    found = re.search(r'data-token="([^"]+)"', answer.content.decode())
    assert found
    assert found[1] != first
    client.post(url("conversation-reply"), {"reply": found[1], "text": "And one more."}, **HTMX)
    assert [row["content"] for row in replies(store)] == [TEXT, "And one more."]


def test_what_is_written_stands_in_the_transcript_at_once_apart_from_the_ais(store, client, settings):
    settings.REPLY_UNDO_SECONDS = 10
    send(client)
    text = page(client)
    assert re.search(r'class="msg human" id="m-\w+" data-state="queued"', text)
    assert "Undo" in text
    assert text.count(TEXT) == 1
    auditor = page(signed_in(member(username="aud", role="auditor")))
    assert "Undo" not in auditor
    assert "Amira Haddad" in auditor


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_undo_brings_the_text_back_into_the_box(store, client, provider, settings, headers):
    settings.REPLY_UNDO_SECONDS = 10
    send(client)
    form = re.search(r'action="([^"]+/undo/)".*?name="reply" value="([^"]+)"', page(client), re.DOTALL)
    assert form
    answer = client.post(form[1], {"reply": form[2]}, **headers)
    assert answer.status_code == 200
    assert TEXT in text_of(answer)
    assert states(store) == ["undone"]
    assert TEXT not in page(client)
    settings.REPLY_UNDO_SECONDS = 0
    send_all_due()
    assert provider.messages() == []


@pytest.mark.slow
def test_a_reply_that_failed_is_tried_again_once(store, client, provider):
    held(store, AMIRA, recipient_tel="+447700900610")
    send(client)
    send_all_due()
    assert states(store) == ["failed"]
    text = page(client)
    assert "opted out" in text
    form = re.search(r'action="([^"]+/again/)".*?name="reply" value="([^"]+)"', text, re.DOTALL)
    assert form
    held(store, AMIRA)
    for _ in range(2):
        assert client.post(form[1], {"reply": form[2]}, **HTMX).status_code == 200
    send_all_due()
    assert states(store) == ["failed", "sent"]
    assert len(provider.messages()) == 1
    assert "/again/" not in page(client)


def test_a_placeholder_that_nothing_fills_in_goes_only_when_the_person_says_so(store, client, provider):
    refused = html.unescape(send(client, "{agent} here, {first_name}. {other}").content.decode())
    assert "The customer would read {agent} and {first_name} as it is" in refused
    assert states(store) == []
    again = {"reply": token_in(box_in(refused)), "as_is": token_in(box_in(refused), "as_is")}
    assert again["as_is"] == "{agent} {first_name}"
    other = html.unescape(client.post(url("conversation-reply"), again | {"text": "{company}"}).content.decode())
    assert "The customer would read {company} as it is" in other
    client.post(url("conversation-reply"), again | {"text": "{agent} here"})
    assert [row["content"] for row in store.all("MESSAGES") if row.get("author")] == ["{agent} here"]


def test_a_lost_race_keeps_the_text_to_be_copied(store, client, provider):
    token = token_in(box_in(page(client)))
    held(store, "ben")
    for headers in ({}, HTMX):
        answer = client.post(url("conversation-reply"), {"reply": token, "text": TEXT}, **headers)
        assert answer.status_code == 409
        text = text_of(answer)
        assert "You no longer have this conversation" in text
        assert TEXT in box_in(text)
        assert "<form" not in box_in(text)
    assert replies(store) == []


def test_a_new_message_is_marked_until_it_is_answered(store, client):
    changes = {"messages": [said(ago=timedelta(seconds=1))], "updated_at": clock.to_iso(clock.now())}
    swept(store)
    held(store, AMIRA, **changes | {"hand_off_taken_at": clock.to_iso(clock.now() - timedelta(minutes=9))})
    mine = reverse("queue", query={"tab": "mine"})
    assert "new message" in text_of(client.get(mine))
    opened = page(client)
    assert "new message" in text_of(client.get(mine))
    client.post(url("conversation-reply"), {"reply": token_in(box_in(opened)), "text": TEXT})
    send_all_due()
    assert "new message" not in text_of(client.get(mine))
    page(client)
    assert "new message" not in text_of(client.get(mine))


def test_the_panel_says_how_long_the_customer_waits_and_not_how_long_they_waited(store, client):
    at = clock.to_iso(clock.now() - timedelta(minutes=50))
    held(store, AMIRA, hand_off_requested_at=at)
    opened = page(client)
    assert "The customer has waited 50 min." in opened
    since = re.search(r'data-since="([^"]+)"', opened)[1]
    client.post(url("conversation-reply"), {"reply": token_in(box_in(opened)), "text": TEXT})
    send_all_due()
    assert "has waited" not in page(client)
    # An open page learns it, too.
    told = text_of(client.get(url("conversation-updates", since=since, shown="2")))
    assert '<div id="hand-off-lines"></div>' in told


def test_what_may_not_go_says_why_and_keeps_the_text(store, client):
    token = token_in(box_in(page(client)))
    held(store, AMIRA, comms_consent=False)
    answer = client.post(url("conversation-reply"), {"reply": token, "text": TEXT})
    assert answer.status_code == 422
    text = text_of(answer)
    assert "has not agreed to be contacted" in text
    assert TEXT in box_in(text)
    assert "has not agreed to be contacted" in page(client)
    assert "<form" not in box_in(page(client))


@pytest.mark.parametrize("text", ["", "   ", "x" * 1601])
def test_a_text_that_is_none_or_too_long_is_refused_in_words(store, client, text):
    answer = send(client, text)
    assert answer.status_code == 422
    assert replies(store) == []
    assert ("Shorten the reply to 1,600 characters" in answer.content.decode()) is bool(text.strip())


def test_without_an_answer_of_the_store_the_same_form_can_be_sent_again(store, client, provider):
    token = token_in(box_in(page(client)))
    with faults.fail_after("TransactWriteItems"):
        answer = client.post(url("conversation-reply"), {"reply": token, "text": TEXT})
    assert answer.status_code == 503
    text = text_of(answer)
    assert TEXT in text
    assert token_in(box_in(text)) == token
    assert client.post(url("conversation-reply"), {"reply": token, "text": TEXT}).status_code == 302
    send_all_due()
    assert len(provider.messages()) == len(replies(store)) == 1


def test_where_nothing_can_be_read_the_text_is_there_to_be_sent_again(store, client):
    token = token_in(box_in(page(client)))
    with faults.fail_before("GetItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
        answer = client.post(url("conversation-reply"), {"reply": token, "text": TEXT})
    assert answer.status_code == 503
    text = text_of(answer)
    assert TEXT in text
    assert "The customer gets it only once." in text
    assert token_in(box_in(text)) == token


@pytest.mark.parametrize("name", ["reply", "reply-undo", "reply-again"])
def test_tampered_and_foreign_forms_are_of_no_use(store, client, name):
    others = seal_form(CHANNEL, CONVERSATION, as_staff(member(username="ben")))
    mine = seal_form(CHANNEL, f"{CONVERSATION}x", as_staff(member()))
    for bad in ("", "x", others, mine, seal_data("reply", ["amira.haddad"]), seal_data("sent reply", ["a", "b"])):
        answer = client.post(url(f"conversation-{name}"), {"reply": bad, "text": TEXT})
        assert answer.status_code == 404, bad
    assert replies(store) == []


def test_too_many_in_a_minute_are_told_for_how_long(store, client, settings):
    settings.REPLIES_PER_MINUTE = 1
    send(client)
    answer = send(client, "One more")
    assert answer.status_code == 429
    assert "Retry-After" in answer.headers
    assert "One more" in answer.content.decode()
    assert len(replies(store)) == 1


def test_a_reply_costs_five_calls_at_most(store, client, settings):
    settings.REPLIES_PER_MINUTE = 30
    staff, counted = as_staff(member()), []
    for text in (TEXT, "And one more."):
        token = token_in(box_in(page(client)))
        with budget(None) as spent:
            accept(unseal_form(token, staff), staff, text)
        counted.append([call.operation for call in spent.calls])
    # The outbox queue's call is one more. Who has just sent another is counted by a second write.
    first = ["UpdateItem", "GetItem", "GetItem", "TransactWriteItems"]
    assert counted == [first, ["UpdateItem", *first]]


# --- What an open page learns -----------------------------------------------------------------------------------------


def known(client) -> dict[str, str]:
    text = page(client)
    since = re.search(r'data-since="([^"]*)"', text)
    shown = re.search(r'data-shown="(\d+)"', text)
    assert since
    assert shown
    return {"since": since[1], "shown": shown[1]}


@pytest.mark.slow
def test_an_open_page_learns_what_became_of_a_reply(store, client, monkeypatch):
    send(client)
    before = known(client)
    assert client.get(url("conversation-updates"), before).status_code == 204
    send_all_due()
    answer = client.get(url("conversation-updates"), before)
    assert answer.status_code == 200
    assert "data-changed" in answer.content.decode()
    now = clock.now()
    before = known(client)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=6))
    send_all_due()
    assert "data-changed" in client.get(url("conversation-updates"), before).content.decode()
    assert client.get(url("conversation-updates"), known(client)).status_code == 204


def test_a_poll_that_finds_nothing_new_costs_two_reads(store, client):
    send(client)
    before, staff = known(client), as_staff(member())
    with budget(None) as spent:
        assert updates_of(reference_of(CHANNEL, CONVERSATION), staff, before["since"], int(before["shown"])) is None
    assert [call.operation for call in spent.calls] == ["GetItem", "Query"]


def test_who_loses_it_loses_the_box_with_the_next_poll(store, client):
    before = known(client)
    held(store, "ben", hand_off_action_id="theirs", updated_at=clock.to_iso(clock.now()))
    text = client.get(url("conversation-updates"), before).content.decode()
    assert "<form" not in box_in(text)
    assert 'data-holds="no"' in text


def test_a_message_of_the_customer_opens_the_box_again(store, client):
    held(store, AMIRA, messages=[said(ago=timedelta(days=2))])
    before = known(client)
    messages = [said(ago=timedelta(days=2)), said("Hello?", timedelta(0), "SM2")]
    held(store, AMIRA, messages=messages, updated_at=clock.to_iso(clock.now()))
    text = client.get(url("conversation-updates"), before).content.decode()
    assert 'data-open="text"' in box_in(text)


# --- Templates --------------------------------------------------------------------------------------------------------


@pytest.fixture
def closed(store, client):
    """The customer last wrote two days ago."""
    held(store, AMIRA, messages=[said(ago=timedelta(days=2))])
    return client


@pytest.mark.slow
def test_after_24_hours_only_the_template_can_be_sent(store, closed, provider):
    box = box_in(page(closed))
    assert "only allows an approved template" in box
    assert 'name="text"' not in box
    assert closed.post(url("conversation-reply-template"), {}).status_code == 302
    assert "being loaded" in box_in(page(closed))
    send_all_due()
    box = box_in(page(closed))
    assert "we have news about" in box
    token = token_in(box)
    filled = {"reply": token, "use_template": "1", "blank-1": "Jo", "blank-2": "<b>parcel</b>"}
    preview = closed.post(url("conversation-reply"), filled | {"preview": "1"})
    assert "Hello Jo, we have news about &lt;b&gt;parcel&lt;/b&gt;." in preview.content.decode()
    assert replies(store) == []
    refused = closed.post(url("conversation-reply"), filled | {"blank-2": " "})
    assert refused.status_code == 422
    assert "every blank" in refused.content.decode()
    assert 'value="Jo"' in refused.content.decode()
    assert closed.post(url("conversation-reply"), filled).status_code == 302
    send_all_due()
    [message] = provider.messages()
    assert message["text"].startswith("Hello Jo, we have news about <b>parcel</b>.")
    assert "ContentSid" in message["request"]
    [row] = replies(store)
    assert (row["state"], row["content"]) == ("sent", message["text"])
    assert sent_entries(store)[0]["payload"]["template"] == row["template"]


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_undo_of_a_template_fills_in_its_blanks_again(store, closed, settings, headers):
    settings.REPLY_UNDO_SECONDS = 10
    closed.post(url("conversation-reply-template"), {})
    send_all_due()
    filled = {"reply": token_in(box_in(page(closed))), "use_template": "1", "blank-1": "Jo", "blank-2": "parcel"}
    assert closed.post(url("conversation-reply"), filled).status_code == 302
    [_, reference] = re.search(r'data-undo-reply(.*?)name="reply" value="([^"]+)"', page(closed), re.DOTALL).groups()
    undone = text_of(closed.post(url("conversation-reply-undo"), {"reply": reference}, headers=headers))
    assert "Not sent. Your template is filled in as it was." in undone
    assert 'value="Jo"' in undone
    assert 'value="parcel"' in undone
    [row] = replies(store)
    assert row["state"] == "undone"


def test_free_text_after_24_hours_is_refused_whatever_the_form_was(store, closed):
    token = seal_form(CHANNEL, CONVERSATION, as_staff(member()))
    answer = closed.post(url("conversation-reply"), {"reply": token, "text": TEXT})
    assert answer.status_code == 422
    assert replies(store) == []
    assert TEXT in text_of(answer)


def test_a_company_without_a_template_is_told_so(store, closed, secrets, monkeypatch):
    monkeypatch.setattr("conversations.providers.templates.NAMED_BY", "another_template_sid")
    closed.post(url("conversation-reply-template"), {})
    send_all_due()
    assert "This company has no template for WhatsApp." in box_in(page(closed))


def test_only_the_holder_asks_for_a_template(store, outbox):
    held(store, "ben", messages=[said(ago=timedelta(days=2))])
    answer = signed_in(member()).post(url("conversation-reply-template"), {})
    assert answer.status_code == 409
    assert [row for row in store.all("MESSAGES") if row.get("gsi_due") == "template"] == []


# --- The note ---------------------------------------------------------------------------------------------------------


def test_a_note_that_is_too_long_is_refused_in_words_and_kept(store, client):
    note = "n" * 3000
    answer = client.post(url("conversation-note"), {"note": note})
    assert answer.status_code == 400
    text = text_of(answer)
    assert "Your note was not saved. 1,000 too many: a note can have up to 2,000 characters." in text
    assert f">{note}</textarea>" in text


def test_the_holder_saves_a_note_at_any_time(store, client):
    assert client.post(url("conversation-note"), {"note": "Wants a call\r\ntomorrow"}).status_code == 302
    item = store.get("CONVERSATIONS", primary_channel=CHANNEL, conversation_id=CONVERSATION)
    assert item["hand_off_note"] == "Wants a call\ntomorrow"
    assert (item["hand_off_agent"], item["hand_off_action_id"]) == (AMIRA, "before")
    [entry] = sent_entries(store, "note.saved")
    assert (entry["result"], entry["payload"]) == ("success", {"characters": 21})
    assert "tomorrow" in page(client)
    client.post(url("conversation-note"), {"note": ""})
    assert "hand_off_note" not in store.get("CONVERSATIONS", primary_channel=CHANNEL, conversation_id=CONVERSATION)


def test_nobody_else_saves_one(store, client):
    held(store, "ben")
    assert client.post(url("conversation-note"), {"note": "x"}).status_code == 403
    assert client.post(url("conversation-note"), {"note": "x" * 2001}).status_code == 400
    item = store.get("CONVERSATIONS", primary_channel=CHANNEL, conversation_id=CONVERSATION)
    assert "hand_off_note" not in item


def test_a_race_for_the_note_is_told_to_its_loser(store, client):
    def lose(request: dict) -> bool:
        held(store, "ben", hand_off_action_id="theirs")
        return False

    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", where=lose):
        answer = client.post(url("conversation-note"), {"note": "x"})
    assert answer.status_code == 409
    [entry] = sent_entries(store, "note.saved")
    assert entry["result"].startswith("conflict")


# --- Undo of a hand-back ----------------------------------------------------------------------------------------------


def press(client, text: str, label: str):
    form = re.search(rf'<form method="post" action="([^"]+)">((?:(?!</form>).)*?{label}.*?)</form>', text, re.DOTALL)
    assert form, text
    fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[2]))
    pressed = re.search(rf'<button[^>]*name="intent" value="([^"]+)"[^>]*>{label}', form[2])
    return client.post(form[1], fields | ({"intent": pressed[1]} if pressed else {}))


@pytest.mark.slow
def test_a_hand_back_can_be_undone_at_once(store, client, settings, monkeypatch):
    settings.REPLY_UNDO_SECONDS = 10
    assert press(client, page(client), "Return without an answer").status_code == 302
    text = page(client)
    assert "Undo: take it back" in text
    assert "Undo: take it back" not in page(signed_in(member(username="ben")))
    assert press(client, text, "Undo: take it back").status_code == 302
    assert "You have this conversation" in page(client)
    [entry] = sent_entries(store, "hand_off.take_over")
    assert entry["payload"]["reason"] == "The return was undone."
    press(client, page(client), "Return without an answer")
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(seconds=11))
    assert "Undo: take it back" not in page(client)
    assert "Take over" in page(client)


def test_without_the_table_of_replies_there_is_no_box_and_the_error_names_that_table_alone(client, store, settings):
    form = token_in(box_in(page(client)))
    settings.TABLE_NAMES = {**settings.TABLE_NAMES, "MESSAGES": "not-there-test"}
    presence.forget()
    answer = client.post(url("conversation-reply"), {"reply": form, "text": TEXT})
    assert answer.status_code == 503
    assert "The table MESSAGES is missing in this environment." in html.unescape(answer.content.decode())
    presence.forget()
    text = page(client)
    assert 'data-holds="no" hidden' in box_in(text)
    assert "How to answer" in text
    probe = client.get("/readyz")
    assert (probe.status_code, probe.content) == (200, b"ready, but nobody can reply: the table MESSAGES is missing\n")
