"""Long messages of every store: pages show the beginning, all on demand, and their size and work are bounded."""

import html
import itertools
import re
from datetime import timedelta

import pytest

from conversations.conversation.timeline import lines
from conversations.messages.content import SHOWN
from conversations.messages.message import StoredMessages
from conversations.records import Message
from conversations.stores.chats.keys import position_of
from conversations.stores.chats.messages import ChatEntry, ChatWindow, MessageContext, messages_of
from conversations.stores.chats.models import ChatEvent, ChatText
from conversations.stores.chats.queries import Part
from conversations.stores.reading import Attempted
from conversations.stores.records import address_of, record_place
from conversations.stores.tenant_conversations.reading import message as tenant_message
from conversations.stores.threads.messages import message_of
from conversations.stores.threads.models import ThreadMessage
from tests.answers import text_of
from tests.dynamodb import to_dynamodb
from tests.growth import check_growth, cpu_seconds
from tests.items import put_conversation, url_of
from tests.people import admin, auditor, signed_in
from tests.store.conversations.conversation.test_conversation_view import message as platform_message
from tests.support.conversations.stores.chats import kit as chats
from tests.support.conversations.stores.tenant_conversations import kit as tenants
from tests.support.conversations.stores.threads import kit as threads

# Two hundred thousand characters, with something to mask throughout.
LONG = "Please call +44 7700 900123. " * 6_900
COUNT = 40
serial = itertools.count()


def thread_page(store) -> str:
    at = threads.ago(hours=1)
    said = [
        threads.llm(f"m{number:02}", at + timedelta(seconds=number), content=f"{number}. {LONG}The end.")
        for number in range(COUNT)
    ]
    store.put_all("THREADS", [threads.thread(), *said])
    return address_of("threads", record_place(*threads.PARTS))


def chat_page(store) -> str:
    begun = chats.ago(minutes=20)
    store.put("SESSIONS", chats.session(begun))
    for number in range(COUNT):
        store.put("CHATS", chats.event(begun, begun + number))
        store.put("CHAT_MESSAGES", chats.text(begun, begun + number, f"{number}. {LONG}The end."))
    return address_of("chats", record_place("session", chats.USER, chats.session_id(begun)))


def tenant_page(store) -> str:
    # One item has them all.
    said = [{"role": "user", "content": f"{number}. {LONG[:9_000]}The end."} for number in range(COUNT)]
    store.put("TENANT_CONVERSATIONS", tenants.item(messages=said))
    return f"/tenants/{tenants.TENANT}/conversations/{tenants.REF}/"


@pytest.mark.parametrize("person", [admin, auditor])
@pytest.mark.parametrize("page_with", [thread_page, chat_page, tenant_page])
def test_of_long_messages_only_the_beginning_is_shown_and_all_of_one_on_demand(store, page_with, person):
    url, client = page_with(store), signed_in(person())
    page = text_of(client.get(url))
    assert len(page) < COUNT * SHOWN * 1.5
    shown = page.count("Show all<")
    assert 0 < shown <= COUNT
    assert page.count("The end.") == 0
    assert ("900123" in page) == (person is admin)
    last = re.findall(r'href="([^"]*\?at=[^"]*)">Show all', page)[-1]
    whole = text_of(client.get(html.unescape(last)))
    assert whole.count("The end.") == 1
    assert whole.count("Show all<") == shown - 1


def test_the_timeline_shows_a_line_of_each_and_no_part_of_a_number(store):
    said = [platform_message(number, f"{number}. {LONG[:1_500]}The end.", "user") for number in range(COUNT)]
    page = text_of(signed_in(auditor()).get(url_of(put_conversation(store, messages=said), "timeline/")))
    assert "Please call ***-***-0123." in page
    assert len(page) < 400_000
    assert "The end." not in page


# --- The work ---------------------------------------------------------------------------------------------------------


def fresh(size: int) -> str:
    """A text of that size that no memo knows."""
    return f"{next(serial)} {LONG}"[:size]


def of_thread(**stored) -> Message:
    item = ThreadMessage.from_raw_data(to_dynamodb(threads.llm("m", **stored)))
    return message_of(item, None, raw=False)


def of_chat(said: str) -> Message:
    begun = chats.ago(minutes=20)
    event = ChatEvent.from_raw_data(to_dynamodb(chats.event(begun, begun)))
    text = ChatText.from_raw_data(to_dynamodb(chats.text(begun, begun, said)))
    entry = ChatEntry(position_of(event), event, text)
    window = ChatWindow((entry,), True, True, Attempted(Part()), Attempted(Part()))
    [found] = messages_of(window, MessageContext(chats.USER, False, {}, "", raw=False))
    return found


def of_timeline(said: str) -> str:
    stored = StoredMessages([platform_message(1, said, "user")])
    return lines.of_message(stored, 1, raw=False).text


PLACES = {
    "thread": lambda text: of_thread(content=text),
    "thread's comment": lambda text: of_thread(feedback=text),
    "thread's sources": lambda text: of_thread(sources=[{"title": "A page", "text": text}]),
    "thread's metadata": lambda text: of_thread(response_metadata={"finish": text}),
    "chat": of_chat,
    "tenant's conversation": lambda text: tenant_message(1, {"role": "user", "content": text}, raw=False, whole=False),
    "tool call": lambda text: of_thread(content=[{"type": "tool_use", "name": "search", "input": {"q": text}}]),
    "timeline": of_timeline,
}


@pytest.mark.parametrize("place", PLACES)
def test_the_work_does_not_grow_with_what_is_left_out(place):
    check_growth(lambda size: cpu_seconds(lambda: [PLACES[place](fresh(size)) for _ in range(5)]), 50_000, most=2.5)


@pytest.mark.parametrize("place", [each for each in PLACES if each != "timeline"])
def test_what_is_left_out_is_said(place):
    if place != "thread's sources":
        assert PLACES[place](fresh(50_000)).left_out > 40_000
    assert "7700" not in repr(PLACES[place](fresh(50_000)))
    assert PLACES[place]("short").left_out == 0


def test_a_large_source_keeps_title_address_and_the_beginning_of_its_text():
    [origin] = of_thread(sources=[{"title": "Rota", "url": "https://a.example/rota", "text": LONG}]).extra.origins
    assert (origin.title, origin.url) == ("Rota", "https://a.example/rota")
    assert origin.text.startswith("Please call ***-***-0123. Please")
    assert origin.text.endswith("…")


def test_many_large_sources_are_left_out_together_and_counted():
    message = of_thread(sources=[{"title": f"Page {number}", "text": "word " * 700} for number in range(50)])
    assert 5 < len(message.extra.origins) < 50
    assert message.left_out > 100_000


@pytest.mark.parametrize("before", range(4_060, 4_110, 3))
def test_a_cut_line_of_the_timeline_shows_no_part_of_a_number(before):
    # The token is masked as one, which brings the cut to where the line shows it.
    said = "Bearer " + "a1" * ((before - 7) // 2) + " +447700900123 " + "y " * 3_000
    assert "7700" not in of_timeline(said)
    assert "9001" not in of_timeline(said)
