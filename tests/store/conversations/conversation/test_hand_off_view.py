"""The hand-off panel's forms: done, lost, refused, unknown; nothing typed is lost."""

import re
from datetime import timedelta

import pytest

from console import clock
from tests import faults
from tests.items import conversation, key_of, put_conversation, url_of
from tests.people import OTHER_COMPANY, auditor, member, signed_in
from tests.queue import swept
from tests.store.conversations.queue.test_queue import held, waiting


@pytest.fixture(autouse=True)
def _swept(store):
    """What is put is in the queue as the indexer leaves it."""
    swept(store)


def form(client, item, label: str) -> dict[str, str]:
    """The fields of the panel's form whose button has that label."""
    text = client.get(url_of(item)).content.decode()
    for found in re.findall(r"<form[^>]*hand-off[^>]*>.*?</form>", text, re.DOTALL):
        if f">{label}" in found:
            fields = dict(re.findall(r'<input[^>]*name="(intent|in)" value="([^"]*)"', found))
            pressed = re.search(rf'<button[^>]*name="intent" value="([^"]*)"[^>]*>{label}', found)
            return fields | ({"intent": pressed[1]} if pressed else {})
    raise AssertionError(f"no form {label!r} in {text}")


def test_take_over_redirects_to_the_conversation_which_then_is_mine(store):
    item = put_conversation(store)
    client = signed_in(member())
    answer = client.post(url_of(item) + "hand-off/", form(client, item, "Take over"), follow=True)
    text = answer.content.decode()
    assert answer.redirect_chain[0][0] == f"{url_of(item)}?others=1"
    assert "You took over." in text
    assert "You have this conversation" in text
    stored = store.get("CONVERSATIONS", **key_of(item))
    assert stored["hand_off_agent"] == "amira.haddad"
    assert stored["hand_off_to_human"] is True


def test_a_form_sent_twice_acts_once(store):
    item = put_conversation(store)
    client = signed_in(member())
    fields = form(client, item, "Take over")
    for _ in range(2):
        assert client.post(url_of(item) + "hand-off/", fields).status_code == 302
    assert len([entry for entry in store.all("AUDIT") if entry["action_type"] == "hand_off.take_over"]) == 1


def test_the_second_taker_is_told_who_won_and_sees_the_fresh_state(store):
    item = waiting(30)
    store.put("CONVERSATIONS", item)
    first, second = signed_in(member()), signed_in(member("tom.becker"))
    fields = {"amira": form(first, item, "Take"), "tom": form(second, item, "Take")}
    assert first.post(url_of(item) + "hand-off/", fields["amira"]).status_code == 302
    answer = second.post(url_of(item) + "hand-off/", fields["tom"])
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "took this conversation first at" in text
    # It is the conversation's own page.
    assert 'id="talk"' in text
    assert "Take from Amira Haddad" in text
    assert store.get("CONVERSATIONS", **key_of(item))["hand_off_agent"] == "amira.haddad"


def test_taking_from_a_colleague_needs_a_reason_and_keeps_the_form(store):
    item = held("tom.becker")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Take from tom.becker")
    refused = client.post(url_of(item) + "hand-off/", fields | {"reason": " "})
    assert refused.status_code == 400
    assert b"Say why" in refused.content
    assert client.post(url_of(item) + "hand-off/", fields | {"reason": "Tom is ill"}).status_code == 302
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "hand_off.take_from_colleague"]
    assert "Tom is ill" in entry["action_payload_redacted"]


def test_a_note_is_kept_for_the_next_person_and_stays_out_of_the_trail(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Return to AI")
    client.post(url_of(item) + "hand-off/", fields | {"note": "Wants a call <b>tomorrow</b>"})
    assert store.get("CONVERSATIONS", **key_of(item))["hand_off_note"] == "Wants a call <b>tomorrow</b>"
    assert "tomorrow" not in str(store.all("AUDIT"))
    assert "Wants a call &lt;b&gt;tomorrow&lt;/b&gt;" in client.get(url_of(item)).content.decode()


def test_a_routing_that_somebody_else_changed_is_left_and_told(store, settings):
    settings.HAND_OFF_ROUTING = "held"
    client = signed_in(member())
    for theirs in (True, False):
        item = put_conversation(store)
        client.post(url_of(item) + "hand-off/", form(client, item, "Take over"))
        store.update("CONVERSATIONS", key_of(item), auto_queue_reply_message=theirs)
        fields = form(client, item, "Return to AI")
        text = client.post(url_of(item) + "hand-off/", fields, follow=True).content.decode()
        assert "Returned to the AI." in text
        assert ("somebody else changed where this customer&#x27;s messages go" in text) is not theirs


def test_when_the_answer_is_unknown_the_typed_note_is_offered_again(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Return to AI") | {"note": "Long note <typed>"}
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
        answer = client.post(url_of(item) + "hand-off/", fields)
    text = answer.content.decode()
    assert answer.status_code == 503
    assert "Long note &lt;typed&gt;" in text
    assert fields["intent"] in text
    assert client.post(url_of(item) + "hand-off/", fields).status_code == 302
    assert store.get("CONVERSATIONS", **key_of(item))["hand_off_note"] == "Long note <typed>"


def test_another_persons_form_and_junk_are_not_found(store):
    item = put_conversation(store)
    fields = form(signed_in(member()), item, "Take over")
    other = signed_in(member("tom.becker"))
    for sent in (fields, {"intent": "junk"}, {}):
        assert other.post(url_of(item) + "hand-off/", sent).status_code == 404
    assert "hand_off_agent" not in store.get("CONVERSATIONS", **key_of(item))


def test_a_form_of_another_conversation_is_not_accepted_here(store):
    one, other = conversation(request_id="one"), conversation(request_id="other")
    store.put_all("CONVERSATIONS", [one, other])
    client = signed_in(member())
    assert client.post(url_of(other) + "hand-off/", form(client, one, "Take over")).status_code == 404
    assert "hand_off_agent" not in store.get("CONVERSATIONS", **key_of(one))


@pytest.mark.parametrize("person", [lambda: auditor(), lambda: member("ola", "onboarding")])
def test_roles_without_the_permission_are_refused(store, person):
    item = put_conversation(store)
    assert signed_in(person()).post(url_of(item) + "hand-off/", {"intent": "x"}).status_code == 403


def test_a_conversation_that_left_the_scope_is_not_found(store):
    item = put_conversation(store)
    client = signed_in(member())
    fields = form(client, item, "Take over")
    store.update("CONVERSATIONS", key_of(item), company_id=OTHER_COMPANY)
    assert client.post(url_of(item) + "hand-off/", fields).status_code == 404


def test_an_overridden_take_over_is_told_and_can_be_taken_again_with_its_timer(store):
    asked = clock.to_iso(clock.now() - timedelta(hours=2))
    item = held("amira.haddad", hand_off_to_human=False, hand_off_requested_at=asked)
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    assert "The platform overrode your take-over" in client.get(url_of(item)).content.decode()
    assert client.post(url_of(item) + "hand-off/", form(client, item, "Take over again")).status_code == 302
    stored = store.get("CONVERSATIONS", **key_of(item))
    assert stored["hand_off_to_human"] is True
    assert stored["hand_off_requested_at"] == asked


def test_line_ends_count_as_the_browser_counts_them(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Return to AI") | {"note": "a\r\n" * 999 + "b"}
    assert client.post(url_of(item) + "hand-off/", fields).status_code == 302
    assert store.get("CONVERSATIONS", **key_of(item))["hand_off_note"] == "a\n" * 999 + "b"


def test_a_busy_database_keeps_the_typed_note(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Return to AI") | {"note": "typed with care"}
    code = "ProvisionedThroughputExceededException"
    with faults.refuse("TransactWriteItems", code=code, times=faults.ALWAYS):
        answer = client.post(url_of(item) + "hand-off/", fields)
    assert answer.status_code == 429
    assert "typed with care" in answer.content.decode()


def test_without_its_tables_nobody_is_asked_to_send_an_action_again(bare_store):
    bare_store.create_tables()
    item = put_conversation(bare_store)
    client = signed_in(member())
    sent = form(client, item, "Take over")
    bare_store.drop_table("IDEMPOTENCY")
    answer = client.post(url_of(item) + "hand-off/", sent)
    assert answer.status_code == 503
    assert "nothing can be changed" in answer.content.decode()
    assert "Send it again" not in answer.content.decode()


def row_form(client, item) -> dict[str, str]:
    """What the button of the conversation's row of "mine" sends."""
    text = client.get("/queue/?tab=mine&channel=whatsapp").content.decode()
    form = re.search(r'<form id="row".*?</form>', text, re.DOTALL)[0]
    pressed = re.search(rf'formaction="{url_of(item)}hand-off/" name="intent" value="([^"]*)"', text)[1]
    return dict(re.findall(r'<input type="hidden" name="(in|stay)" value="([^"]*)"', form)) | {"intent": pressed}


def test_who_hands_back_from_a_row_stays_in_the_list(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    answer = client.post(url_of(item) + "hand-off/", row_form(client, item), follow=True)
    assert answer.redirect_chain == [("/queue/?tab=mine&channel=whatsapp", 302)]
    assert "***-***-0123: Returned to the AI." in answer.content.decode()
    assert "hand_off_agent" not in store.get("CONVERSATIONS", **key_of(item))


def test_who_hands_back_unanswered_messages_from_a_row_is_asked_who_answers(store):
    said = [{"message_id": "SM1", "role": "user", "content": "Is it late?", "timestamp": "2026-02-01T10:00:00Z"}]
    item = held("amira.haddad", messages=said)
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    text = client.post(url_of(item) + "hand-off/", row_form(client, item)).content.decode()
    assert "<h1>Return to AI: who answers?</h1>" in text
    assert "1 message has no answer" in text
    assert "Not done" not in text
    assert "Nothing was changed" not in text


def test_a_long_note_is_folded(store):
    item = held("tom", hand_off_note="Call again. " * 40)
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    assert '<details class="note"><summary' in client.get(url_of(item)).content.decode()
    store.update("CONVERSATIONS", key_of(item), hand_off_note="Call again.")
    assert '<details class="note" open><summary' in client.get(url_of(item)).content.decode()


def test_who_takes_from_a_row_is_led_to_the_conversation(store):
    item = waiting(30)
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = form(client, item, "Take") | {"stay": "1"}
    assert client.post(url_of(item) + "hand-off/", fields)["Location"] == f"{url_of(item)}?others=1"


def test_a_row_of_no_known_list_leads_to_the_conversation(store):
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    fields = row_form(client, item) | {"in": "made-up"}
    assert client.post(url_of(item) + "hand-off/", fields)["Location"] == url_of(item)
