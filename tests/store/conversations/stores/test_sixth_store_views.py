"""A store that the console has never heard of: an adapter, a line in the registry, one to register it, no template."""

import html
import re
from functools import partial

import pytest

from console.schema.tables import TABLES
from console.store import presence
from conversations import stores as sources
from conversations.stores.records import action_address, address_of, list_place, record_place
from tests import faults
from tests.answers import text_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.support.conversations.stores.notes import NOTES, TABLE

pytestmark = pytest.mark.pages

HOME = "/notes/"
KEY = {"noted_for": COMPANY, "note_id": "n-1"}
HOSTILE = "<script>alert(1)</script> call +447700900123"
RECORD = record_place(COMPANY, "n-1")
LIST = address_of("notes", list_place(COMPANY))
NOTE = address_of("notes", RECORD)
STRIKE = action_address("notes", "strike", (COMPANY, "n-1"))
PICTURE = "https://images.example/secret/one.png?sig=abc"


@pytest.fixture
def notes(store):
    """The store with its table, in which there are notes of two companies."""
    TABLES["NOTES"] = TABLE
    take_back = sources.register(NOTES)
    store.create_tables("NOTES")
    presence.forget()
    store.put("NOTES", {**KEY, "noted_text": HOSTILE, "noted_picture": PICTURE})
    store.put_all("NOTES", [{**KEY, "note_id": f"z-{number:03}", "noted_text": 7} for number in range(60)])
    store.put("NOTES", {**KEY, "noted_for": OTHER_COMPANY, "noted_text": "theirs"})
    yield store
    take_back()
    store.drop_table("NOTES")
    del TABLES["NOTES"]
    presence.forget()


def trail(store) -> list[tuple[str, str]]:
    entries = [each for each in store.all("AUDIT") if each["conversation_id"].startswith("CHAT#")]
    return [(each["action_type"], each["result"]) for each in entries]


def test_it_has_its_place_in_the_navigation_and_on_the_system_page(notes):
    agent = signed_in(member())
    assert 'href="/notes/" aria-current="page"' in agent.get(HOME).content.decode()
    assert "/notes/" not in signed_in(member("olga.novak", "onboarding")).get("/tenants/").content.decode()
    assert "Every table and index is there." in text_of(signed_in(admin()).get("/system/"))


def test_its_first_page_leads_to_lists_and_look_ups(notes):
    agent = signed_in(member())
    page = text_of(agent.get(HOME))
    assert f'href="{LIST}"' in page
    assert "What colleagues wrote on customers" in page
    found = agent.post(f"{HOME}find/", {"look": "company", "company": COMPANY})
    assert (found.status_code, found["Location"]) == (302, LIST)
    assert COMPANY not in LIST
    for typed, said in ((OTHER_COMPANY, "No matches."), ("nobody", "No matches."), ("", "required")):
        answer = agent.post(f"{HOME}find/", {"look": "company", "company": typed})
        assert answer.status_code == 200
        assert said in text_of(answer)
    assert agent.post(f"{HOME}find/", {"look": "junk"}).status_code == 400


def test_who_cannot_find_anything_in_it_is_told_why_and_asked_for_nothing(notes, monkeypatch):
    monkeypatch.setattr(NOTES, "unsearched", "Only on Sundays.")
    agent = signed_in(member())
    for answer in (agent.get(HOME), agent.post(f"{HOME}find/", {"look": "company", "company": "nobody"})):
        assert answer.status_code == 200
        assert "<form" not in text_of(answer).split("<main")[1].split("</main>")[0]
    searched = agent.post("/search/", {"typed": "nobody.there"}, follow=True)
    assert "Notes: Only on Sundays." in text_of(searched)


def test_its_list_has_pages_and_shows_what_it_finds_as_text(notes):
    agent = signed_in(member())
    page = text_of(agent.get(LIST))
    assert f'href="{NOTE}"' in page
    assert "***-***-0123" in page
    following = re.search(r'rel="next" href="([^"]+)"', page)[1]
    last = text_of(agent.get(html.unescape(following)))
    assert "z-059" in last
    assert "n-1" not in last
    assert 'rel="prev"' in last


def test_a_record_is_shown_to_each_role_as_it_may_see_it_and_is_put_on_record(notes):
    with notes.calls() as seen:
        page = signed_in(member()).get(NOTE)
    assert [each.operation for each in seen if each.tables == ("NOTES",)] == ["GetItem"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; call +447700900123" in page.content.decode()
    assert trail(notes) == [("transcript.opened", "success")]
    masked = text_of(signed_in(auditor()).get(NOTE))
    assert "***-***-0123" in masked
    assert "900123" not in masked
    assert "images.example" not in masked
    assert len(trail(notes)) == 2
    assert signed_in(member("olga.novak", "onboarding")).get(NOTE).status_code == 403
    assert signed_in(member()).get(NOTE, headers={"Sec-Purpose": "prefetch"}).status_code == 503
    assert len(trail(notes)) == 2


def test_without_a_trail_nothing_personal_is_shown_and_nothing_done(notes):
    notes.drop_table("AUDIT")
    try:
        presence.forget()
        client = signed_in(admin())
        assert "900123" not in text_of(client.get(NOTE))
        answer = client.post(STRIKE, {"seen": HOSTILE})
        assert answer.status_code == 503
        assert "only if the trail can record it" in text_of(answer)
        assert notes.get("NOTES", **KEY)["noted_text"] == HOSTILE
    finally:
        notes.create_tables("AUDIT")


def test_a_picture_is_loaded_only_when_a_person_asks_for_it_and_from_its_host_only(notes):
    agent = signed_in(member())
    page = agent.get(NOTE)
    assert "one.png" not in page.content.decode()
    assert "images.example" not in page["Content-Security-Policy"]
    assert f'href="{NOTE}?show=p"' in page.content.decode()
    shown = agent.get(f"{NOTE}?show=p")
    assert f'src="{PICTURE}"' in shown.content.decode()
    assert "img-src 'self' https://images.example;" in shown["Content-Security-Policy"] + ";"


@pytest.mark.parametrize(
    "uri",
    ["https://images.example;script-src *", "http://images.example/x.png", "https://a b/x", "javascript:alert(1)"],
)
def test_no_address_widens_the_policy_beyond_a_host(notes, uri):
    notes.update("NOTES", KEY, noted_picture=uri)
    answer = signed_in(member()).get(f"{NOTE}?show=p")
    assert answer.status_code == 200
    assert "img-src 'self';" in answer["Content-Security-Policy"] + ";"


def test_what_is_out_of_scope_is_not_there(notes):
    agent = signed_in(member())
    for place in (
        list_place(OTHER_COMPANY),
        record_place(OTHER_COMPANY, "n-1"),
        record_place(COMPANY, "none"),
        list_place("a", "b"),
    ):
        assert agent.get(address_of("notes", place)).status_code == 404
    for path in (f"{HOME}lists/x/", f"{HOME}x/", NOTE.replace("/notes/", "/notes/lists/"), "/nothing/", f"{NOTE}junk/"):
        assert agent.get(path).status_code == 404


def test_an_action_asks_does_it_once_and_says_when_there_is_nothing_left_to_do(notes):
    assert signed_in(member()).get(STRIKE).status_code == 403
    client = signed_in(admin())
    asked = client.get(STRIKE)
    assert "Strike this note?" in text_of(asked)
    seen = html.unescape(re.search(r'name="seen" value="([^"]*)"', asked.content.decode())[1])
    notes.update("NOTES", KEY, noted_text="changed")
    lost = client.post(STRIKE, {"seen": seen})
    assert lost.status_code == 409
    assert 'name="seen" value="changed"' in lost.content.decode()
    done = client.post(STRIKE, {"seen": "changed"})
    assert (done.status_code, done["Location"]) == (302, NOTE)
    assert trail(notes) == [("chat.ended", "conflict: it had changed"), ("chat.ended", "success")]
    again = client.post(STRIKE, {"seen": "changed"}, follow=True)
    assert "It is struck already." in text_of(again)
    assert "noted_text" not in notes.get("NOTES", **KEY)


@pytest.mark.parametrize(("fault", "status"), [(faults.fail_before, 503), (faults.fail_after, 302)])
def test_where_no_answer_came_the_entry_stays_pending_and_the_person_sees_what_is_known(notes, fault, status):
    client = signed_in(admin())
    seen = html.unescape(re.search(r'name="seen" value="([^"]*)"', client.get(STRIKE).content.decode())[1])
    with fault("UpdateItem", table_key="NOTES"):
        answer = client.post(STRIKE, {"seen": seen})
    assert answer.status_code == status
    # Carried out or not: it is asked again where it was not, and there is nothing left to ask where it was.
    assert ("does not know" in text_of(answer)) == (status == 503)
    assert trail(notes) == [("chat.ended", "pending")]


@pytest.mark.parametrize(
    ("fault", "operation", "table", "results"),
    [
        (faults.fail_before, "UpdateItem", "AUDIT", ["success"]),
        (faults.fail_after, "UpdateItem", "AUDIT", ["success"]),
        (faults.fail_after, "PutItem", "AUDIT", ["failed: not begun"]),
        (
            partial(faults.refuse, code="ThrottlingException", whole_calls=True),
            "UpdateItem",
            "NOTES",
            ["failed: the store was busy"],
        ),
    ],
    ids=["outcome lost", "its answer lost", "entry's answer lost", "throttled"],
)
def test_what_is_known_of_an_action_is_in_its_entry(notes, fault, operation, table, results):
    client = signed_in(admin())
    seen = html.unescape(re.search(r'name="seen" value="([^"]*)"', client.get(STRIKE).content.decode())[1])
    with fault(operation, table_key=table):
        client.post(STRIKE, {"seen": seen})
    assert [result for _, result in trail(notes)] == results


def test_without_its_table_the_section_says_so(notes):
    notes.drop_table("NOTES")
    presence.forget()
    try:
        page = text_of(signed_in(member()).get(HOME))
        assert "Not available in this environment" in page
        assert "<form" not in page.split("<main")[1].split("</main>")[0]
        assert "absent" in text_of(signed_in(admin()).get("/system/"))
    finally:
        notes.create_tables("NOTES")
