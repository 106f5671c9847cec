"""What an open page of a conversation is told by itself: what came, to whom, and what asking costs."""

import re
from datetime import timedelta

import pytest

from console import clock
from tests.items import key_of, put_conversation, url_of
from tests.people import OTHER_COMPANY, auditor, member, signed_in

POLL, HTMX = {"HTTP_X_POLL": "1"}, {"HTTP_HX_REQUEST": "true"}


def message(number: int, text: str) -> dict:
    moment = clock.to_iso(clock.now())
    return {"entry_id": f"e{number}", "role": "user", "content": text, "message_timestamp": moment}


@pytest.fixture
def item(store):
    return put_conversation(store, messages=[message(1, "Hello there"), message(2, "Anybody?")])


def known(client, item) -> dict[str, str]:
    """What an open page says that it knows."""
    text = client.get(url_of(item)).content.decode()
    return {
        "since": re.search(r'data-since="([^"]+)"', text)[1],
        "shown": re.search(r'data-shown="([^"]+)"', text)[1],
    }


def ask(client, item, page: dict[str, str]):
    return client.get(url_of(item, "updates/"), page, **POLL)


def change(store, item, **values) -> None:
    later = clock.to_iso(clock.now() + timedelta(seconds=3))
    store.update("CONVERSATIONS", key_of(item), updated_at=later, **values)


def said(store, item, *texts: str) -> None:
    new = [message(number, text) for number, text in enumerate(texts, 100)]
    change(store, item, messages=[*item["messages"], *new])


def trail(store) -> list[str]:
    return [entry["action_type"] for entry in store.all("AUDIT")]


# --- What it tells ------------------------------------------------------------------------------------------------


def test_nothing_new_is_nothing(item):
    client = signed_in(member())
    answer = ask(client, item, known(client, item))
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(("texts", "line"), [(["One"], "1 new message<"), (["One", "Two"], "2 new messages<")])
def test_new_messages_are_counted_and_not_shown(store, item, texts, line):
    client = signed_in(member())
    page = known(client, item)
    said(store, item, *texts)
    text = ask(client, item, page).content.decode()
    assert line in text
    assert "One" not in text
    assert 'id="hand-off"' not in text
    assert "<html" not in text


@pytest.mark.parametrize(
    "lost", [{"hand_off_agent": "tom.becker", "hand_off_action_id": "x" * 32}, {"hand_off_to_human": False}]
)
def test_who_lost_it_is_told_with_all_that_depends_on_holding_it(store, item, lost):
    store.update("CONVERSATIONS", key_of(item), hand_off_to_human=True, hand_off_agent="amira.haddad")
    client = signed_in(member())
    page = known(client, item)
    assert "How to answer" in client.get(url_of(item)).content.decode()
    change(store, item, **lost)
    text = ask(client, item, page).content.decode()
    assert re.findall(r' id="(messages|hand-off|recipient)"', text) == ["messages", "hand-off", "recipient"]
    assert "How to answer" not in text
    assert "You have this conversation" not in text
    assert "***-***-0123" in text
    assert "Reveal" in text
    change(store, item, hand_off_to_human=True, hand_off_agent="amira.haddad", hand_off_action_id="y" * 32)
    again = ask(client, item, page).content.decode()
    assert "How to answer" in again
    assert "+447588713814" in again, "from where one answers"


def test_asking_for_news_does_not_take_what_waits_to_be_said(store, item):
    client = signed_in(member())
    page = known(client, item)
    taken = client.post(url_of(item, "hand-off/"), {"intent": intent_in(client.get(url_of(item)))})
    assert taken.status_code == 302
    assert "You took over" not in ask(client, item, page).content.decode()
    assert "You took over" in client.get(url_of(item)).content.decode()


def intent_in(answer) -> str:
    return re.search(r'name="intent" value="([^"]+)"', answer.content.decode())[1]


def test_who_took_it_is_told_with_the_panel_as_it_now_is(store, item):
    client = signed_in(member())
    page = known(client, item)
    taken = {"hand_off_to_human": True, "hand_off_agent": "tom.becker", "hand_off_action_id": "x" * 32}
    change(store, item, **taken, hand_off_taken_at=clock.to_iso(clock.now()))
    text = ask(client, item, page).content.decode()
    assert "tom.becker took this conversation" in text
    assert "tom.becker has this conversation" in text
    assert "Take from tom.becker" in text
    assert "new message" not in text


def test_the_panel_of_the_answer_is_one_that_works_and_leads_back_to_the_list(store, item):
    client = signed_in(member())
    page = known(client, item)
    change(store, item, hand_off_to_human=True)
    text = ask(client, item, page).content.decode()
    assert "waits for a human" in text
    intent = re.search(r'name="intent" value="([^"]+)">\s*<button[^>]*>Take', text)[1]
    assert client.post(url_of(item, "hand-off/"), {"intent": intent}).status_code == 302
    assert store.get("CONVERSATIONS", **key_of(item))["hand_off_agent"] == "amira.haddad"


def test_a_change_that_no_reader_sees_is_told_once_and_without_words(store, item):
    client = signed_in(member())
    page = known(client, item)
    change(store, item, conversation_status="processing")
    text = ask(client, item, page).content.decode()
    assert "data-news" not in text
    page["since"] = re.search(r'data-since="([^"]+)"', text)[1]
    assert ask(client, item, page).status_code == 204


def test_made_up_words_of_a_page_are_no_harm(item):
    client = signed_in(member())
    for junk in ({}, {"since": "junk"}, {"since": "-", "shown": "x"}, {"since": "\x00", "shown": "9999999"}):
        assert ask(client, item, junk).status_code == 200


# --- To whom ------------------------------------------------------------------------------------------------------


def test_it_is_for_those_who_may_open_the_page(store, item):
    foreign = put_conversation(store, company_id=OTHER_COMPANY)
    assert ask(signed_in(member()), foreign, {}).status_code == 404
    assert ask(signed_in(member("olga.onboarding", "onboarding")), item, {}).status_code == 403
    assert ask(signed_in(auditor()), item, {}).status_code == 200


def test_the_note_between_colleagues_is_for_those_who_hand_off(store):
    item = put_conversation(store, hand_off_note="her sister Bettina called", hand_off_to_human=True)
    assert "Bettina" in ask(signed_in(member()), item, {}).content.decode()
    assert "Bettina" not in ask(signed_in(auditor()), item, {}).content.decode()


# --- What it costs ------------------------------------------------------------------------------------------------


def costs(store, client, item, page) -> list[tuple[str, ...]]:
    """The calls of one question beside the guard's, each with the attributes that it asks for."""
    with store.calls() as seen:
        ask(client, item, page)
    assert seen[0].operation == "BatchGetItem"
    return [(call.operation, *call.tables) for call in seen[1:]]


def test_asking_is_one_read_without_the_messages_and_nothing_on_record(store, item):
    client = signed_in(member())
    page = known(client, item)
    before = trail(store)
    with store.calls() as seen:
        assert ask(client, item, page).status_code == 204
    assert [(call.operation, *call.tables) for call in seen[1:]] == [("GetItem", "CONVERSATIONS")]
    assert "messages" not in seen[1].request["ExpressionAttributeNames"].values()
    assert trail(store) == before


def test_only_a_changed_item_is_read_once_more_to_count_its_messages(store, item):
    client = signed_in(member())
    page = known(client, item)
    change(store, item, hand_off_to_human=True)
    store.update("CONVERSATIONS", key_of(item), updated_at=item["updated_at"])
    assert costs(store, client, item, page) == [("GetItem", "CONVERSATIONS")]
    said(store, item, "One")
    before = trail(store)
    assert costs(store, client, item, page) == [("GetItem", "CONVERSATIONS")] * 2
    assert trail(store) == before


def test_asking_does_not_keep_a_session_alive_nor_mark_messages_as_read(store, item):
    store.update("CONVERSATIONS", key_of(item), hand_off_to_human=True, hand_off_agent="amira.haddad")
    client = signed_in(member())
    page = known(client, item)
    [session] = store.all("STAFF_SESSIONS")
    long_ago = clock.to_iso(clock.now() - timedelta(minutes=20))
    store.update("STAFF_SESSIONS", {"session_id": session["session_id"]}, last_seen_at=long_ago)
    seen = [entry for entry in store.all("CONSOLE") if entry["pk"].startswith("SEEN#")]
    said(store, item, "One")
    assert ask(client, item, page).status_code == 200
    assert store.all("STAFF_SESSIONS")[0]["last_seen_at"] == long_ago
    assert [entry for entry in store.all("CONSOLE") if entry["pk"].startswith("SEEN#")] == seen


# --- Showing it ---------------------------------------------------------------------------------------------------


def test_showing_gives_the_messages_and_is_on_record(store, item):
    client = signed_in(member())
    said(store, item, "Quite new")
    with store.calls() as seen:
        text = client.get(url_of(item), {"latest": "1"}, **HTMX).content.decode()
    assert sorted((call.operation, *call.tables) for call in seen[1:]) == [
        ("GetItem", "CONVERSATIONS"),
        ("PutItem", "AUDIT"),
        ("Query", "AUDIT"),
    ]
    assert trail(store).count("transcript.opened") == 1
    assert "<html" not in text
    assert "Quite new" in text
    assert 'data-shown="3"' in text
    assert 'id="hand-off"' not in text
    # Without htmx it is the page.
    assert "<html" in client.get(url_of(item), {"latest": "1"}).content.decode()
