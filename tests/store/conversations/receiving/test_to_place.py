"""Messages that could not be placed, shown to those who may read the conversation that they may belong to."""

import html
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from console import caching
from conversations.converting import reference_of
from conversations.models import Conversation
from conversations.outbox.rows import NOT_PLACED, messages_of, partition_of, to_place_partition
from conversations.receiving.handling import Handled, handle
from conversations.receiving.worker import sweep
from tests.people import OTHER_COMPANY, admin, auditor, member, signed_in
from tests.queue import swept
from tests.support.conversations.handoff.kit import (
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    conversation,
    held_by,
    put,
    stored,
)

pytestmark = pytest.mark.pages

OURS = "+441134960000"
STRANGER = "+447700900999"
NUMBERS = {"gsi_company_whatsapp_number": OURS, "gsi_recipient_tel": CHANNEL}
SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"
# Said by somebody else than the recipient, in the conversation that the platform found.
BY_STRANGER = {"from": f"whatsapp:{STRANGER}"}


@pytest.fixture(autouse=True)
def _source(store, settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"
    swept(store)


def bring(text: str = "It is me, from my new phone", name: str = "SM1", **changes: Any) -> Handled:
    content = {
        "channel_type": "whatsapp",
        "from": f"whatsapp:{CHANNEL}",
        "to": f"whatsapp:{OURS}",
        "message_sid": name,
        "body": text,
        **KEY,
        **changes,
    }
    body = json.dumps({key: value for key, value in content.items() if value is not ...})
    return handle(body, SENT_AT, "queue", name)


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", answer.content.decode()))


def left(store, partition: str = "") -> list[dict[str, Any]]:
    return [row for row in store.all("MESSAGES") if row["conversation"] == (partition or to_place_partition(COMPANY))]


def attention(client) -> str:
    caching.invalidate_all()
    return text_of(client.get("/queue/?tab=attention"))


def form_on(page: str) -> tuple[str, dict[str, str]]:
    """The first form on a page by which a message is put somewhere."""
    [address, inside] = re.search(r'<form method="post" action="([^"]+/place/)"[^>]*>(.*?)</form>', page).groups()
    return address, {"message": re.search(r'name="message" value="([^"]+)"', inside)[1], "decision": "put"}


def test_who_reads_masks_does_not_read_the_recipients_name_in_it(store):
    put(store, **NUMBERS, **held_by("ana"), recipient_first_name="Moira", recipient_last_name="Sinclair")
    bring("This is Moira Sinclair on my neighbour's phone", **BY_STRANGER)
    page = text_of(signed_in(auditor()).get(PAGE))
    assert "This is *** on my neighbour's phone" in page
    assert "Sinclair" not in page
    assert "This is Moira Sinclair on my neighbour's phone" in text_of(signed_in(member()).get(PAGE))


def test_an_agent_puts_what_could_not_be_placed_into_its_conversation_with_one_click(store):
    put(store, **NUMBERS, **held_by("ana"))
    assert bring(**BY_STRANGER) is Handled.NOT_PLACED
    client = signed_in(member())
    page = text_of(client.get(PAGE))
    assert "A message may belong here." in page
    assert "The sender is not the recipient of the conversation that the message names." in page
    assert "It is me, from my new phone" in page
    assert STRANGER not in page
    listed = attention(client)
    assert "1 thing needs attention" in listed
    assert "It is me, from my new phone" in listed
    address, form = form_on(listed)
    after = text_of(client.post(address, form, follow=True))
    assert "The message is in this conversation now." in after
    assert "placed here by a colleague" in after
    assert "A message may belong here." not in after
    assert [each["content"] for each in stored(store)["messages"]].count("It is me, from my new phone") == 1
    assert "hand_off_to_place_at" not in stored(store)
    assert "No conversation needs attention" in attention(client)
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "message.placed"]
    assert (entry["conversation_id"], entry["actor"], entry["company_id"]) == (CONVERSATION, member().username, COMPANY)
    assert "Somebody else has already dealt with this message." in text_of(client.post(address, form, follow=True))
    assert left(store) == []


def test_what_is_put_into_a_conversation_of_the_ai_asks_for_a_person(store):
    put(store, **NUMBERS)
    bring(**BY_STRANGER)
    client = signed_in(member())
    client.post(*form_on(text_of(client.get(PAGE))))
    sweep(datetime.now(UTC).replace(year=2100))
    assert stored(store)["hand_off_to_human"] is True


def test_a_sender_that_cannot_be_read_is_shown_where_the_message_says(store):
    put(store, **NUMBERS, **WAITING)
    bring(**{"from": ...})
    page = text_of(signed_in(member()).get(PAGE))
    assert "The message's sender cannot be read." in page
    assert "From an unknown sender" in page


def test_without_our_number_it_is_not_known_whose_message_it_is(store):
    put(store, **NUMBERS, **held_by("ana"))
    bring(to=..., **{"from": ...})
    assert len(left(store, NOT_PLACED)) == 1
    assert "A message may belong here." not in text_of(signed_in(member()).get(PAGE))


@pytest.mark.parametrize(
    "changes",
    [
        {"to": "whatsapp:+441134969999"},
        {"company_id": "ci-bbb-002"},
        {"conversation_data": {"company_id": "ci-bbb-002"}, "company_id": COMPANY},
        {"frontend_payload": {"company_id": COMPANY}, "company_data_payload": {"company_id": "ci-bbb-002"}},
    ],
)
def test_a_message_to_another_companys_number_or_of_several_companies_is_shown_to_administrators_only(store, changes):
    put(store, **NUMBERS, **held_by("ana"))
    bring(**BY_STRANGER | changes)
    assert (left(store), len(left(store, NOT_PLACED))) == ([], 1)
    client = signed_in(member())
    assert "A message may belong here." not in text_of(client.get(PAGE))
    assert "No conversation needs attention" in attention(client)
    assert "1 customer’s message waits for an administrator." in text_of(signed_in(admin()).get("/system/"))


def offered(client, *key: str) -> tuple[str, dict[str, str]] | None:
    """The form of a conversation's page that puts a message there; None without one."""
    page = text_of(client.get(f"/conversations/{reference_of(*key)}/"))
    return form_on(page) if "A message may belong here." in page else None


def test_the_senders_conversations_with_the_number_are_offered_where_the_named_one_is_gone(store):
    put(store, **NUMBERS, **held_by("ana"))
    other = {"primary_channel": CHANNEL, "conversation_id": "ci-aaa-001#pi-aaa-001#two#447700900123"}
    store.put("CONVERSATIONS", {**conversation(**NUMBERS), **other})
    bring(conversation_id="ci-aaa-001#pi-aaa-001#gone#447700900123")
    [row] = left(store)
    assert row["candidates"] == {partition_of(CHANNEL, CONVERSATION), partition_of(*other.values())}
    client = signed_in(member())
    page = attention(client)
    assert "A message may belong to one of these conversations." in page
    assert page.count("/place/") == 2
    # One says on the list that it is not there, and goes on there.
    url, form = re.findall(r'action="([^"]+/place/)".*?name="message" value="([^"]+)"', page)[0]
    after = text_of(client.post(url, {"message": form, "from_list": "", "decision": "not-here"}, follow=True))
    assert "The message is no longer shown here." in after
    assert "A message may belong to this conversation." in after
    # The other one keeps it, then administrators get it.
    [url, form] = next(found for key in (KEY.values(), other.values()) if (found := offered(client, *key)))
    after = text_of(client.post(url, form | {"decision": "not-here"}, follow=True))
    assert "The message is no longer shown here." in after
    assert "A message may belong here." not in after
    assert (left(store), len(left(store, NOT_PLACED))) == ([], 1)
    [first, _] = [each for each in store.all("AUDIT") if each["action_type"] == "message.not_here"]
    assert first["actor"] == member().username
    assert "Try again" in text_of(signed_in(admin()).get("/system/messages/"))


def test_nobody_of_another_company_sees_or_decides_it(store):
    put(store, **NUMBERS, **held_by("ana"))
    bring(**BY_STRANGER)
    url, form = form_on(text_of(signed_in(member()).get(PAGE)))
    stranger = signed_in(member("eve", scope=[OTHER_COMPANY]))
    assert "It is me" not in attention(stranger)
    assert stranger.post(url, form).status_code == 404
    # Nor can it be put into a conversation that it does not belong to.
    elsewhere = {"primary_channel": "+447700900555", "conversation_id": "ci-aaa-001#p#r#447700900555"}
    store.put("CONVERSATIONS", {**conversation(), **elsewhere})
    url = f"/conversations/{reference_of(*elsewhere.values())}/place/"
    assert signed_in(member()).post(url, form).status_code == 404
    assert len(left(store)) == 1


def test_an_auditor_reads_it_and_decides_nothing(store):
    put(store, **NUMBERS, **held_by("ana"))
    bring(**BY_STRANGER)
    page = text_of(signed_in(member("olu", "auditor")).get(PAGE))
    assert "It is me, from my new phone" in page
    assert "/place/" not in page


def test_a_body_with_a_long_item_is_kept_without_the_items_messages_and_can_be_put(store):
    put(store, **NUMBERS, **held_by("ana"))
    bring(messages=[{"role": "user", "content": "x" * 1_000}] * 200, **BY_STRANGER)
    client = signed_in(member())
    client.post(*form_on(text_of(client.get(PAGE))))
    item = Conversation.get(*KEY.values(), consistent_read=True)
    messages = messages_of(item, item.raw["messages"])
    assert messages.message(len(messages), raw=True).line == "It is me, from my new phone"


def test_the_same_message_again_is_shown_once(store):
    put(store, **NUMBERS, **held_by("ana"))
    for _ in range(2):
        bring(**BY_STRANGER)
    assert len(left(store)) == 1
    assert attention(signed_in(member())).count("It is me, from my new phone") == 1
