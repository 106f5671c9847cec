"""Picking a saved reply in a conversation: which are offered, what they say, and what looking costs."""

import html
import re

import pytest

from console.permissions import FOR_ALL, Owner, OwnerKind
from console.refs import seal
from conversations.finding.queries import load_row
from conversations.team.saved_replies import service
from conversations.team.saved_replies.service import MOST, filled_text, partition_of
from tests.items import put_conversation, reference
from tests.people import COMPANY, OTHER_COMPANY, as_staff, auditor, member, signed_in
from tests.support.conversations.replies import held

HTMX = {"HTTP_HX_REQUEST": "true"}
AGENT = "amira.haddad"
MINE, OURS = Owner(OwnerKind.STAFF, AGENT), Owner(OwnerKind.COMPANY, COMPANY)
NOT_OFFERED = (Owner(OwnerKind.COMPANY, OTHER_COMPANY), Owner(OwnerKind.STAFF, "somebody.else"))
TEXT = "Hello {first_name}, this is {agent} of {company}."


def url_of(item, part: str = "saved-replies/") -> str:
    return f"/conversations/{reference(item)}/{part}"


def put(store, owner: Owner, name: str, text: str = TEXT, number: int = 1) -> str:
    store.put("CONSOLE", {"pk": partition_of(owner), "sk": f"{number:032x}", "name": name, "text": text})
    return seal("saved reply", partition_of(owner), f"{number:032x}")


def texts(answer) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'data-saved-text="([^"]*)"', answer.content.decode())]


@pytest.fixture
def item(store):
    return held(store, AGENT, recipient_first_name="Jo", company_name="Cucumber Recruitment")


@pytest.fixture
def client(store):
    return signed_in(member(AGENT))


@pytest.fixture
def replies_configured(settings):
    settings.OUTBOX_QUEUE_URL = "https://sqs.example/outbox.fifo"


def test_own_ones_the_companys_and_those_for_all_are_offered_filled_in(store, item, client):
    for owner in (MINE, OURS, FOR_ALL, *NOT_OFFERED):
        put(store, owner, f"of {owner.kind} {owner.id}", f"{owner.kind} {owner.id}: {TEXT}")
    answer = client.get(url_of(item), **HTMX)
    assert texts(answer) == [
        f"{owner.kind} {owner.id}: Hello Jo, this is Amira Haddad of Cucumber Recruitment."
        for owner in (MINE, OURS, FOR_ALL)
    ]
    assert b"<html" not in answer.content
    assert b"data-filter" in answer.content


def test_a_link_of_the_list_puts_the_text_into_the_box(store, item, client, replies_configured):
    put(store, OURS, "Greeting")
    page = client.get(url_of(item)).content.decode()
    assert "<html" in page
    link = html.unescape(re.search(r'href="([^"]+\?saved=[^"]+)" data-saved-text', page)[1])
    shown = client.get(link.partition("#")[0]).content.decode()
    box = re.search(r'<textarea id="reply-text"[^>]*>([^<]*)</textarea>', shown)
    assert box[1] == "Hello Jo, this is Amira Haddad of Cucumber Recruitment."


def test_the_page_searches_without_scripts(store, item, client):
    put(store, OURS, "Opening hours", "We open at 9.", 1)
    put(store, OURS, "Bye", "Good bye.", 2)
    assert texts(client.get(url_of(item), {"q": "HOURS"})) == ["We open at 9."]
    nothing = client.get(url_of(item), {"q": "zzz"})
    assert "No saved reply matches" in nothing.content.decode()


@pytest.mark.parametrize("extra", [{}, HTMX])
def test_without_any_the_list_says_where_to_add_one(item, client, extra):
    text = client.get(url_of(item), **extra).content.decode()
    assert "There are no saved replies for this conversation yet." in text
    assert 'href="/saved-replies/"' in text


@pytest.mark.parametrize("name", ["+447700900123", "{agent}", "http://x", 7, None])
def test_what_is_no_first_name_is_left_out(store, client, name):
    item = put_conversation(store, recipient_first_name=name)
    put(store, FOR_ALL, "Greeting", "Hello {first_name}, thanks.")
    assert texts(client.get(url_of(item), **HTMX)) == ["Hello, thanks."]


def test_values_that_look_like_placeholders_and_markup_stay_text(store, client):
    item = put_conversation(store, company_name="{agent} <b>\"&'")
    put(store, FOR_ALL, '<script>"', "{0.__class__} {company}")
    answer = client.get(url_of(item), **HTMX)
    assert texts(answer) == ["{0.__class__} {agent} <b>\"&'"]
    assert b"<script>" not in answer.content
    assert b"<b>\"&'" not in answer.content


def test_only_people_who_answer_may_look_and_only_in_scope(store, item):
    assert signed_in(auditor()).get(url_of(item)).status_code == 403
    theirs = put_conversation(store, company_id=OTHER_COMPANY, primary_channel="+447700900124")
    client = signed_in(member())
    assert client.get(url_of(theirs)).status_code == 404
    assert client.post(url_of(item)).status_code == 405


def test_the_text_of_a_reference_is_empty_unless_it_may_be_picked_here(store, item):
    staff = as_staff(member(AGENT))
    row = load_row(reference(item), staff)
    good = [put(store, owner, "Greeting", "Hello {first_name}") for owner in (MINE, OURS, FOR_ALL)]
    assert [filled_text(each, row, staff) for each in good] == ["Hello Jo"] * 3
    foreign = [put(store, owner, "Greeting") for owner in NOT_OFFERED]
    deleted = seal("saved reply", partition_of(FOR_ALL), "f" * 32)
    others = [seal("saved reply", "COMPANIES", COMPANY), seal("saved reply", "SAVED_REPLIES#nobody", "1")]
    for token in (*foreign, deleted, *others, reference(item), "junk", ""):
        assert filled_text(token, row, staff) == ""


def test_in_another_companys_conversation_a_companys_text_is_empty(store):
    admin = as_staff(member("ada.admin", "admin", ["*"]))
    theirs = put_conversation(store, company_id=OTHER_COMPANY)
    token = put(store, OURS, "Greeting")
    assert filled_text(token, load_row(reference(theirs), admin), admin) == ""


# --- What it costs ----------------------------------------------------------------------------------------------------


def calls_of(store, client, url, **extra) -> list[tuple[str, ...]]:
    with store.calls() as seen:
        assert client.get(url, **extra).status_code == 200
    # The first is the person's session.
    return sorted((call.operation, *call.tables) for call in seen[1:])


def fill_up(store) -> None:
    for owner in (MINE, OURS, FOR_ALL):
        store.put_all(
            "CONSOLE",
            [{"pk": partition_of(owner), "sk": f"{n:032x}", "name": f"N{n}", "text": "T" * 1600} for n in range(MOST)],
        )


def test_six_hundred_saved_replies_cost_the_conversation_nothing(store, item, client, replies_configured):
    client.get(url_of(item, ""))  # Opening it is recorded once an hour, and what tables there are is remembered.
    before = calls_of(store, client, url_of(item, ""))
    fill_up(store)
    assert calls_of(store, client, url_of(item, "")) == before
    with_one = calls_of(store, client, url_of(item, f"?saved={seal('saved reply', partition_of(MINE), f'{7:032x}')}"))
    assert with_one == sorted([*before, ("GetItem", "CONSOLE")])


@pytest.mark.slow
@pytest.mark.parametrize("extra", [{}, HTMX])
def test_the_picker_makes_four_calls_however_many_there_are(store, item, client, extra):
    four = [("GetItem", "CONVERSATIONS"), *[("Query", "CONSOLE")] * 3]
    assert calls_of(store, client, url_of(item), **extra) == four
    fill_up(store)
    assert calls_of(store, client, url_of(item), **extra) == four
    assert len(texts(client.get(url_of(item), **extra))) == 3 * MOST


def test_the_list_is_one_query(store, client):
    fill_up(store)
    assert calls_of(store, client, "/saved-replies/") == [("Query", "CONSOLE")]
    assert client.get("/saved-replies/").content.decode().count("<tr data-row") == service.MOST
