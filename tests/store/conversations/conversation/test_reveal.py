"""The recipient in full: a POST, with the permission, on record before it is shown, and nowhere kept."""

import html
import re
from datetime import timedelta

import pytest

from console import clock
from console.audit.access_log.reading import access_log_of_conversation
from console.permissions import Role, Scope, Staff
from console.refs import seal
from conversations.models import Conversation
from conversations.outbox.replying import answer_of, reveal_recipient
from tests import faults
from tests.answers import text_of
from tests.dynamodb import to_dynamodb
from tests.items import conversation, key_of, put_conversation, url_of
from tests.people import admin, as_staff, auditor, member, signed_in
from tests.store.conversations.conversation.test_conversation_view import HTMX

STAFF = Staff("amira.haddad", "Amira Haddad", Role.AGENT, Scope(everything=True))


@pytest.fixture
def item(store):
    return put_conversation(
        store, recipient_email="jo@doe.example", recipient_first_name="Jo", recipient_last_name="Doe"
    )


def reveals(store) -> list[dict]:
    return [entry for entry in store.all("AUDIT") if entry["action_type"] == "recipient.revealed"]


def loaded(**overrides) -> Conversation:
    return Conversation.from_raw_data(to_dynamodb(conversation(**overrides)))


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_reveal_shows_number_email_name_and_links(store, item, headers):
    answer = signed_in(member()).post(url_of(item, "reveal/"), **headers)
    text = text_of(answer)
    assert answer.status_code == 200
    for shown in ("+447700900123", "jo@doe.example", "Jo Doe", "https://wa.me/447700900123", "sms:+447700900123"):
        assert shown in text
    assert 'href="mailto:jo@doe.example"' in text
    assert ("<html" in text) is (headers == {})
    assert "no-store" in answer.headers["Cache-Control"]


def test_every_reveal_is_recorded_without_what_was_revealed(store, item):
    client = signed_in(member())
    for _ in range(2):
        client.post(url_of(item, "reveal/"))
    entries = reveals(store)
    assert [(entry["actor"], entry["company_id"], entry["result"]) for entry in entries] == [
        ("amira.haddad", "ci-aaa-001", "success")
    ] * 2
    for entry in entries:
        assert "7700900123" not in entry["action_payload_redacted"]
        assert "number" in entry["action_payload_redacted"]


def test_it_is_recorded_before_it_is_shown(store, item):
    client = signed_in(member())
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        answer = client.post(url_of(item, "reveal/"))
    assert answer.status_code == 503
    assert "7700900123" not in answer.content.decode()
    assert not reveals(store)


def test_an_auditor_may_not_reveal(store, item):
    client = signed_in(auditor())
    answer = client.post(url_of(item, "reveal/"))
    assert answer.status_code == 403
    assert "7700900123" not in answer.content.decode()
    assert not reveals(store)


def test_a_form_without_its_token_reveals_nothing(store, item):
    client = signed_in(admin())
    client.handler.enforce_csrf_checks = True
    assert client.post(url_of(item, "reveal/")).status_code == 403
    assert not reveals(store)


def test_it_is_not_in_the_url_and_gone_with_the_next_page(item):
    client = signed_in(member())
    answer = client.post(url_of(item, "reveal/"))
    assert "7700900123" not in answer.request["PATH_INFO"]
    assert "+447700900123" not in client.get(url_of(item)).content.decode()


def test_the_holder_is_told_how_to_answer(store):
    item = put_conversation(store, hand_off_to_human=True, hand_off_agent="amira.haddad")
    mine = signed_in(member()).get(url_of(item)).content.decode()
    assert "How to answer" in mine
    assert "+447588713814" in mine
    assert "Its replies during your hand-off are marked in the conversation" in mine
    assert "+447700900123" not in mine
    other = signed_in(member("tom.becker")).get(url_of(item)).content.decode()
    assert "How to answer" not in other


@pytest.mark.parametrize(
    ("overrides", "urls"),
    [
        ({}, ["https://wa.me/447700900123", "sms:+447700900123"]),
        ({"channel_method": "sms"}, ["sms:+447700900123", "https://wa.me/447700900123"]),
        ({"recipient_tel": "07700 900123"}, ["sms:07700900123"]),
        ({"recipient_tel": "javascript:alert(1)", "channel_method": "sms"}, []),
        ({"primary_channel": "a?b&c@d.example", "recipient_tel": ...}, ["mailto:a%3Fb%26c@d.example"]),
        ({"recipient_tel": 447700900123}, ["https://wa.me/447700900123", "sms:+447700900123"]),
        (
            {"channel_method": "email", "recipient_email": "jo@doe.example"},
            ["mailto:jo@doe.example", "https://wa.me/447700900123", "sms:+447700900123"],
        ),
    ],
)
def test_links_open_the_channel_and_nothing_else(overrides, urls):
    assert [link.url for link in reveal_recipient(loaded(**overrides)).links] == urls


@pytest.mark.parametrize(
    ("overrides", "ours"),
    [
        ({}, "+447588713814"),
        ({"gsi_company_whatsapp_number": ...}, "+447588713814"),
        ({"gsi_company_whatsapp_number": ..., "channel_config": {"company_whatsapp_number": "+44111"}}, "+44111"),
        ({"channel_method": "email", "gsi_company_email": "us@company.example"}, "us@company.example"),
        ({"channel_method": "sms"}, ""),
        ({"channel_method": 4}, ""),
    ],
)
def test_our_own_number_comes_from_the_index_copy_or_the_configuration(overrides, ours):
    assert answer_of(loaded(**overrides), STAFF, None, clock.now()).ours == ours


@pytest.mark.slow
def test_reveals_are_counted_per_person_and_day_and_refusals_are_on_record(store, item, settings):
    settings.REVEALS_PER_DAY = 3
    client = signed_in(member())
    for _ in range(3):
        assert client.post(url_of(item, "reveal/")).status_code == 200
    for headers in ({}, HTMX, {}):
        answer = client.post(url_of(item, "reveal/"), **headers)
        assert answer.status_code == 429
        assert "7700900123" not in answer.content.decode()
        assert "You can reveal 3 people a day. Try again in 8 hours." in text_of(answer)
    assert signed_in(admin()).post(url_of(item, "reveal/")).status_code == 200
    refused = [each for each in reveals(store) if each["result"] != "success"]
    assert sum(each.get("times", 1) for each in refused) == 3
    assert {(each["result"], each["conversation_id"]) for each in refused} == {
        ("failed: too many reveals", item["conversation_id"])
    }
    looked = {
        row.name: dict(row.what) for row in access_log_of_conversation(item["conversation_id"], as_staff(admin())).rows
    }
    assert looked["Amira Haddad"] == {"revealed: number, email, name": 3, "was not allowed to reveal the recipient": 3}


def test_a_look_up_in_all_stores_is_counted_as_a_reveal(store, item, settings):
    settings.REVEALS_PER_DAY = 1
    client = signed_in(member())
    where = f"/conversations/recipients/{seal('recipient', item['primary_channel'])}/elsewhere/"
    assert [client.get(where).status_code for _ in range(2)] == [200, 429]


def test_a_reveal_that_cannot_be_counted_is_not_made(store, item):
    client = signed_in(member())
    with faults.fail_before("UpdateItem", table_key="CONSOLE", times=faults.ALWAYS):
        answer = client.post(url_of(item, "reveal/"))
    assert answer.status_code == 503
    assert "7700900123" not in answer.content.decode()


# --- Whether the holder may answer ------------------------------------------------------------------------------------

SPOKEN = {"message_id": "SM1", "role": "user", "content": "Hello?"}


def answer_panel(store, *, hours: float, **overrides) -> str:
    """What the holder of a conversation reads beside it, whose customer wrote so many hours ago; as one line."""
    wrote_at = clock.to_iso(clock.now() - timedelta(hours=hours))
    held = {"hand_off_to_human": True, "hand_off_agent": "amira.haddad", "messages": [SPOKEN | {"timestamp": wrote_at}]}
    item = put_conversation(store, **held | overrides)
    page = html.unescape(signed_in(member()).get(url_of(item)).content.decode())
    return re.sub(r"\s+", " ", page[page.index('id="recipient"') : page.index("All conversations with this customer")])


def test_the_holder_reads_by_when_whatsapp_takes_an_answer(store):
    panel = answer_panel(store, hours=20)
    assert "Answer by" in panel
    assert clock.to_iso(clock.now() + timedelta(hours=4))[:13] in panel
    assert "notice" not in panel


def test_the_holder_reads_that_whatsapp_takes_none_any_longer(store):
    panel = answer_panel(store, hours=27)
    assert "Answer by" not in panel
    assert "The 24 hours for free text over WhatsApp ended 3 h ago. Our number can only send a template now." in panel


def test_the_holder_reads_that_nobody_knows_when_the_customer_wrote(store):
    panel = answer_panel(store, hours=1, messages=[])
    assert "Answer by" not in panel
    assert "The console does not know when this customer wrote." in panel


def test_without_an_answer_by_and_consent_the_holder_is_warned(store):
    panel = answer_panel(store, hours=1, comms_consent=False, allowed_channels=["email"], channel_method="sms")
    assert "Answer by" not in panel
    assert "This project does not allow messages over SMS." in panel
    assert "This customer has not agreed to be contacted." in panel


def test_who_does_not_hold_it_is_told_nothing_of_answering(store):
    panel = answer_panel(store, hours=27, hand_off_agent="ben.okafor", comms_consent=False)
    assert "free text" not in panel
    assert "agreed" not in panel


def test_a_reveal_says_the_same(store):
    answer_panel(store, hours=27)
    item = store.all("CONVERSATIONS")[0]
    text = html.unescape(signed_in(member()).post(url_of(item, "reveal/"), **HTMX).content.decode())
    assert "ended 3 h ago" in text


def test_who_takes_it_is_warned_without_loading_the_page_again(store):
    item = put_conversation(store, comms_consent=False, messages=[SPOKEN | {"timestamp": clock.to_iso(clock.now())}])
    client = signed_in(member())
    since = re.search(r'data-since="([^"]*)"', client.get(url_of(item)).content.decode())
    assert since is not None
    store.update(
        "CONVERSATIONS",
        key_of(item),
        hand_off_to_human=True,
        hand_off_agent="amira.haddad",
    )
    with store.calls() as seen:
        text = client.get(url_of(item, "updates/"), {"since": since[1], "shown": "1"}).content.decode()
    assert "This customer has not agreed to be contacted." in text
    assert "Answer by" in text
    assert [call.operation for call in seen[1:]] == ["GetItem", "GetItem"]


def test_a_message_of_the_customer_gives_its_holder_time_and_leaves_what_was_revealed(store):
    long_ago, now = clock.to_iso(clock.now() - timedelta(hours=30)), clock.to_iso(clock.now())
    before = SPOKEN | {"timestamp": long_ago}
    item = put_conversation(store, hand_off_to_human=True, hand_off_agent="amira.haddad", messages=[before])
    polls = {}
    for who in (member(), member("ben.okafor")):
        client = signed_in(who)
        since = re.search(r'data-since="([^"]*)"', client.get(url_of(item)).content.decode())
        assert since is not None
        polls[who.username] = (client, {"since": since[1], "shown": "1"})
    key = key_of(item)
    store.update(
        "CONVERSATIONS", key, updated_at=now, messages=[before, SPOKEN | {"message_id": "2", "timestamp": now}]
    )
    news = {who: client.get(url_of(item, "updates/"), query).content.decode() for who, (client, query) in polls.items()}
    assert all("1 new message" in text for text in news.values())
    assert "Answer by" in news["amira.haddad"]
    assert 'id="recipient"' not in news["amira.haddad"]
    assert "answer-rules" not in news["ben.okafor"]
