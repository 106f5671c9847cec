"""Saved views as people use them: the menu beside the queue and lists, saving, the page of all, changing."""

import html
import re

import pytest

from console.errors import StoreUnavailable
from console.middleware import POLL_HEADER
from console.permissions import Staff
from conversations.lists.saved_views import records, service
from conversations.lists.saved_views.records import FilteredList, SavedView, views_for
from conversations.lists.saved_views.service import save
from conversations.lists.views import saved_views
from tests.answers import text_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.support.conversations.handoff.kit import ADMIN, conversation, staff

pytestmark = pytest.mark.pages

AGENT = "amira.haddad"
QUEUE_URL = f"/queue/?tab=waiting&company={COMPANY}&channel=sms"
LIST_URL = f"/conversations/companies/{COMPANY}/?status=is%3Afailed"
SAVE = f"/views/new/?list=queue&tab=waiting&company={COMPANY}&channel=sms"
SAVE_LIST = f"/views/new/?list=conversations&company={COMPANY}&status=is%3Afailed"


@pytest.fixture(autouse=True)
def company(store):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    store.put("CONVERSATIONS", conversation())


@pytest.fixture
def agent(store):
    # Two companies, so that filters name theirs.
    return signed_in(member(AGENT, scope=[f"company:{COMPANY}", f"company:{OTHER_COMPANY}"]))


@pytest.fixture
def lead(store):
    return signed_in(admin())


def links(answer) -> dict[str, tuple[str, bool]]:
    """The views of a page's menu, by name: address, and whether it is marked as current."""
    menu = re.search(r'aria-label="Saved views">(.*?)</ul>', answer.content.decode(), re.DOTALL)
    found = re.findall(r'<a href="([^"]*)"( aria-current="true")?><bdi>(.*?)</bdi>', menu[1]) if menu else []
    return {html.unescape(name): (html.unescape(url), bool(current)) for url, current, name in found}


def version(answer) -> str:
    return re.search(r'name="version" value="(\d+)"', answer.content.decode())[1]


def change_url(answer) -> str:
    return re.search(r'href="(/views/[^"]{20,}/)"', answer.content.decode())[1]


@pytest.mark.parametrize(
    ("url", "save_url", "plain"),
    [(QUEUE_URL, SAVE, "/queue/"), (LIST_URL, SAVE_LIST, f"/conversations/companies/{COMPANY}/")],
)
def test_a_view_is_saved_opened_and_marked(agent, url, save_url, plain):
    page = text_of(agent.get(url))
    assert f'action="{save_url}"' in page
    assert "Only me" not in page
    answer = agent.post(save_url, {"name": "Mine <b>", "audience": "others"}, follow=True)
    assert answer.redirect_chain == [(url, 302)]
    assert "The view is saved." in text_of(answer)
    assert links(answer) == {"Mine <b>": (url, True)}
    assert "Mine <b>" not in answer.content.decode()
    assert links(agent.get(plain)) == {"Mine <b>": (url, False)}
    assert links(signed_in(member("ben")).get(plain)) == {}


@pytest.mark.parametrize(
    "url", ["/queue/", "/queue/?tab=mine", "/conversations/", f"/conversations/companies/{COMPANY}/"]
)
def test_without_views_and_filters_there_is_nothing(agent, url):
    page = text_of(agent.get(url))
    assert 'class="views"' not in page
    assert "/views/" not in page


def test_lists_show_views_of_their_company_and_the_companies_page_shows_all(agent, lead):
    agent.post(SAVE_LIST, {"name": "Failed"})
    agent.post(SAVE, {"name": "Queue"})
    assert set(links(agent.get("/conversations/"))) == {"Failed"}
    assert set(links(agent.get(f"/conversations/companies/{COMPANY}/"))) == {"Failed"}
    assert links(agent.get(f"/conversations/companies/{OTHER_COMPANY}/")) == {}
    assert set(links(agent.get("/queue/"))) == {"Queue"}
    fragment = agent.get(LIST_URL, headers={"HX-Request": "true"})
    assert links(fragment) == {"Failed": (LIST_URL, True)}


@pytest.mark.parametrize("headers", [{POLL_HEADER: "1"}, {"HX-Request": "true"}])
def test_a_poll_of_the_queue_reads_no_views(store, agent, monkeypatch, headers):
    agent.post(SAVE, {"name": "Mine"})
    asked: list[Staff] = []
    monkeypatch.setattr(records, "views_for", lambda staff: asked.append(staff) or [])
    assert agent.get("/queue/", headers=headers).status_code == 200
    assert asked == []
    agent.get("/queue/")
    assert len(asked) == 1


def test_a_failure_costs_the_links_and_not_the_queue(agent, monkeypatch):
    agent.post(SAVE, {"name": "Mine"})

    def fail(_: Staff) -> list[SavedView]:
        raise StoreUnavailable

    monkeypatch.setattr(records, "views_for", fail)
    answer = agent.get(QUEUE_URL)
    assert answer.status_code == 200
    assert links(answer) == {}
    assert "Save this view" in text_of(answer)


def test_a_lead_shares_a_view_with_who_sees_the_company(agent, lead):
    page = text_of(lead.get(QUEUE_URL))
    assert "Only me" in page
    assert "Everybody who sees" in page
    answer = lead.post(SAVE, {"name": "Ours", "audience": "others"}, follow=True)
    assert "The view is saved for everybody who may see it." in text_of(answer)
    assert links(agent.get("/queue/")) == {"Ours": (QUEUE_URL, False)}
    listed = text_of(agent.get("/views/"))
    assert "Ours" in listed
    assert "for Cucumber" in listed
    assert not re.search(r"/views/[^\"]{20,}/", listed)
    [view] = views_for(ADMIN)
    for answer in (agent.get(f"/views/{view.reference}/"), agent.post(f"/views/{view.reference}/", {"name": "x"})):
        assert answer.status_code == 403
    other = signed_in(member("carl", "admin", [f"company:{OTHER_COMPANY}"]))
    assert other.get(f"/views/{view.reference}/").status_code == 404
    assert "Ours" not in text_of(other.get("/views/")) + text_of(other.get("/queue/"))


def test_a_lead_of_one_company_shares_without_choosing_it(store):
    lead = signed_in(member("lea", "admin", [f"company:{COMPANY}"]))
    assert "Everybody who sees" in text_of(lead.get("/queue/?channel=sms"))
    answer = lead.post("/views/new/?list=queue&tab=waiting&channel=sms", {"name": "Ours", "audience": "others"})
    assert answer["Location"] == QUEUE_URL
    [view] = views_for(staff("lea"))
    assert (view.owner.id, view.url) == (COMPANY, QUEUE_URL)
    # Without the company the address shows the same.
    assert links(lead.get("/queue/?channel=sms"))["Ours"] == (QUEUE_URL, True)


def test_a_lead_of_two_companies_chooses_one_to_share(store):
    lead = signed_in(member("lea", "admin", [f"company:{COMPANY}", f"company:{OTHER_COMPANY}"]))
    assert "Everybody" not in text_of(lead.get("/queue/?channel=sms"))
    assert "Everybody who sees" in text_of(lead.get(QUEUE_URL))


def test_a_name_that_is_taken_is_told_and_stays_in_the_form(agent):
    agent.post(SAVE, {"name": "Mine"})
    answer = agent.post(SAVE + "&waited=1h", {"name": "mine"})
    assert answer.status_code == 409
    assert "A view with this name already exists. Choose another name." in text_of(answer)
    assert 'value="mine"' in text_of(answer)
    assert "waiting over an hour" in text_of(answer)
    assert agent.post(SAVE, {"name": ""}).status_code == 422


def test_what_cannot_be_kept_is_told(agent):
    answer = agent.post("/views/new/?list=queue&tab=waiting&channel=447700900123", {"name": "x"})
    assert answer.status_code == 422
    assert "Channel: a view cannot keep this value." in text_of(answer)
    assert agent.post("/views/new/?list=queue&tab=mine", {"name": "x"}).status_code == 422
    assert links(agent.get("/queue/")) == {}


def test_there_are_no_views_of_other_lists_or_companies(store, agent):
    for query in (
        "",
        "list=recipient",
        "list=queue&company=ci-none&channel=sms",
        "list=conversations&company=ci-x&task=1",
    ):
        assert agent.get(f"/views/new/?{query}").status_code == 404
        assert agent.post(f"/views/new/?{query}", {"name": "x"}).status_code == 404


def test_an_auditor_saves_views_of_lists_and_none_of_the_queue(store):
    client = signed_in(auditor())
    assert client.get(SAVE).status_code == client.post(SAVE, {"name": "x"}).status_code == 403
    assert links(client.post(SAVE_LIST, {"name": "Failed"}, follow=True)) == {"Failed": (LIST_URL, True)}
    assert "Set filters" not in text_of(client.get("/views/"))
    onboarding = signed_in(member("olga", "onboarding"))
    assert onboarding.get("/views/").status_code == onboarding.get(SAVE_LIST).status_code == 403


def test_a_view_is_renamed_and_deleted(agent):
    agent.post(SAVE, {"name": "Mine"})
    url = change_url(agent.get("/views/"))
    form = agent.get(url)
    answer = agent.post(url, {"name": "Texts", "version": version(form)}, follow=True)
    assert "The view is renamed." in text_of(answer)
    assert set(links(agent.get("/queue/"))) == {"Texts"}
    # The old address, from another tab.
    assert agent.get(url).status_code == 404
    late = agent.post(url, {"name": "x", "version": "1"}, follow=True)
    assert "This view was deleted or renamed." in text_of(late)
    url = change_url(agent.get("/views/"))
    answer = agent.post(url, {"name": "", "delete": "1", "version": version(agent.get(url))}, follow=True)
    assert "The view is deleted." in text_of(answer)
    assert "No views yet" in text_of(answer)
    assert "was deleted or renamed" in text_of(agent.post(url, {"delete": "1", "version": "1"}, follow=True))


def test_a_lost_race_is_told_and_can_be_sent_again(agent):
    agent.post(SAVE, {"name": "Mine"})
    url = change_url(agent.get("/views/"))
    agent.post(url, {"name": "MINE", "version": "1"})
    for typed in ({"name": "Texts"}, {"delete": "1"}):
        lost = agent.post(url, typed | {"version": "1"})
        assert lost.status_code == 409
        assert "You changed this view in another window." in text_of(lost)
        assert version(lost) == "2"
    assert agent.post(url, {"name": "x", "version": "junk"}).status_code == 404
    assert agent.post(url, {"name": "Texts", "version": "2"}).status_code == 302


def test_a_full_owner_is_told(agent, monkeypatch):
    monkeypatch.setattr(service, "MOST", 1)
    agent.post(SAVE, {"name": "one"})
    answer = agent.post(SAVE + "&waited=1h", {"name": "two"})
    assert answer.status_code == 422
    assert "You can have up to 1 views here." in text_of(answer)
    assert 'value="two"' in text_of(answer)


def test_the_current_view_is_at_hand_however_many_there_are(agent):
    for number in range(6):
        by = staff(AGENT)
        save(f"{number}", FilteredList.QUEUE, {"tab": "waiting", "company": COMPANY, "waited": "1h"}, by, shared=False)
    agent.post(SAVE, {"name": "zuletzt"})
    page = agent.get(QUEUE_URL).content.decode()
    row = re.search(r'aria-label="Quick views">(.*?)</ul>', page, re.DOTALL)[1]
    assert re.findall(r">([^<]+)</a>", row) == ["0", "1", "2", "zuletzt"]
    assert page.count("<bdi>zuletzt</bdi>") == 1


def test_where_the_console_is_read_only_nothing_is_offered(agent, monkeypatch):
    agent.post(SAVE, {"name": "Mine"})
    monkeypatch.setattr(saved_views, "read_only_reason", lambda: "There is no trail.")
    page = agent.get(QUEUE_URL)
    assert links(page) == {"Mine": (QUEUE_URL, True)}
    assert "Save this view" not in text_of(page)
    assert not re.search(r"/views/[^\"]{20,}/", text_of(agent.get("/views/")))
