"""`/saved-replies/` as people use it: the tabs, the forms with their errors, and what a lost race leaves them."""

import html
import re

import pytest

from console.permissions import FOR_ALL, Owner, OwnerKind
from conversations.team.saved_replies import service
from conversations.team.saved_replies.service import partition_of
from tests.answers import text_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.support.conversations.handoff.kit import ADMIN, staff
from tests.support.conversations.saved_replies import added, entries, saved, version

AGENT = "amira.haddad"
MINE = Owner(OwnerKind.STAFF, AGENT)
OURS, THEIRS = Owner(OwnerKind.COMPANY, COMPANY), Owner(OwnerKind.COMPANY, OTHER_COMPANY)
NEW = "/saved-replies/new/"
TYPED = {"name": "Greeting", "text": "Hello {first_name},\r\nthanks."}


@pytest.fixture
def agent(store):
    return signed_in(member(AGENT))


@pytest.fixture
def of_one(store):
    """An administrator of one company."""
    return signed_in(member("lea.limited", "admin", [f"company:{COMPANY}"]))


@pytest.fixture
def of_all(store):
    return signed_in(admin())


def url_of(reference: str, what: str = "change") -> str:
    return f"/saved-replies/{reference}/{what}/"


def field(answer, name: str) -> str:
    return re.search(rf'name="{name}" value="([^"]*)"', answer.content.decode())[1]


def errors(answer) -> list[str]:
    return [
        html.unescape(each)
        for each in re.findall(r'<ul class="errorlist"[^>]*><li>(.*?)</li>', answer.content.decode())
    ]


def send(client, url: str, **typed):
    """Open the form, and send it as a browser would."""
    form = client.get(url)
    hidden = {
        each: field(form, each)
        for each in ("token", "seen", "version", "opened")
        if f'name="{each}"' in form.content.decode()
    }
    return client.post(url, hidden | typed, follow=True)


def test_an_agent_adds_changes_and_deletes_their_own(store, agent):
    answer = send(agent, NEW, **TYPED)
    assert "Saved reply added." in text_of(answer)
    [item] = saved(store)
    assert (item["pk"], item["text"]) == (partition_of(MINE), "Hello {first_name},\nthanks.")
    links = re.findall(r'href="(/saved-replies/[^"]+/(?:change|delete)/)"', text_of(answer))
    assert len(links) == 2
    answer = send(agent, links[0], name="Greeting", text="Hello")
    assert "Saved reply changed." in text_of(answer)
    assert [each["text"] for each in saved(store)] == ["Hello"]
    asked = agent.get(links[1])
    assert "Delete this saved reply?" in text_of(asked)
    assert "Hello" in text_of(asked)
    assert saved(store)
    answer = agent.post(links[1], {"seen": field(asked, "seen")}, follow=True)
    assert "Saved reply deleted." in text_of(answer)
    assert not saved(store)
    again = agent.post(links[1], {"seen": field(asked, "seen")}, follow=True)
    assert "This saved reply no longer exists." in text_of(again)


@pytest.mark.parametrize(
    ("query", "partition"),
    [("?tab=all", partition_of(FOR_ALL)), (f"?tab=company&company={COMPANY}", partition_of(OURS))],
)
def test_an_administrator_adds_those_for_all_and_of_companies(store, of_all, query, partition):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    send(of_all, NEW + query, **TYPED)
    assert [each["pk"] for each in saved(store)] == [partition]
    assert "Greeting" in text_of(of_all.get("/saved-replies/" + query))


def test_an_administrator_of_a_company_manages_only_its_own(store, of_one):
    assert of_one.get(f"{NEW}?tab=company&company={COMPANY}").status_code == 200
    for company in (OTHER_COMPANY, "ci-nothing-999", "", "x" * 2000):
        assert of_one.get(NEW, {"tab": "company", "company": company}).status_code == 404
    assert of_one.get(f"{NEW}?tab=all").status_code == 403
    assert of_one.get(f"{NEW}?tab=junk").status_code == 404
    theirs, ours, for_all = added(THEIRS, ADMIN), added(OURS, ADMIN), added(FOR_ALL, ADMIN)
    absent = service.new_token(THEIRS)
    for what in ("change", "delete"):
        assert of_one.get(url_of(ours, what)).status_code == 200
        assert of_one.get(url_of(for_all, what)).status_code == 403
        out_of_scope, nothing = (of_one.get(url_of(each, what)) for each in (theirs, absent))
        assert out_of_scope.status_code == nothing.status_code == 404
    assert of_one.post(f"{NEW}?tab=company&company={COMPANY}", TYPED | {"token": absent}).status_code == 404


def test_a_company_that_does_not_exist_gets_none(store, of_all):
    assert of_all.get(NEW, {"tab": "company", "company": "ci-nothing-999"}).status_code == 404


def test_an_agent_reads_what_is_shared_and_changes_none_of_it(store, agent):
    shared = [added(FOR_ALL, ADMIN, "For everybody"), added(OURS, ADMIN, "Of ours")]
    added(THEIRS, ADMIN, "Of theirs")
    everybody, company = agent.get("/saved-replies/"), agent.get("/saved-replies/?tab=company")
    assert "For everybody" in text_of(everybody)
    assert "Of ours" in text_of(company)
    for answer in (everybody, company):
        assert "/change/" not in text_of(answer)
        assert "New saved reply" not in text_of(answer)
    foreign = agent.get(f"/saved-replies/?tab=company&company={OTHER_COMPANY}")
    assert foreign.status_code == 200
    assert "Of theirs" not in text_of(foreign)
    assert "Choose one of the listed companies." in text_of(foreign)
    for reference in shared:
        for what in ("change", "delete"):
            assert agent.get(url_of(reference, what)).status_code == 403
            assert agent.post(url_of(reference, what), TYPED).status_code == 403
    assert agent.get(f"{NEW}?tab=company&company={COMPANY}").status_code == 403
    assert len(saved(store)) == 3


def test_a_colleagues_own_ones_are_not_there(store, agent, of_all):
    theirs = added(Owner(OwnerKind.STAFF, "ben"), staff("ben"), "Only mine")
    for client in (agent, of_all):
        assert client.get(url_of(theirs)).status_code == client.get(url_of(theirs, "delete")).status_code == 404
        assert "Only mine" not in text_of(client.get("/saved-replies/?tab=staff"))


def test_auditors_and_onboarding_have_no_saved_replies(store):
    for client in (signed_in(auditor()), signed_in(member("olga.novak", "onboarding"))):
        assert client.get("/saved-replies/").status_code == client.get(NEW).status_code == 403
        assert 'href="/saved-replies/"' not in text_of(client.get("/help/"))


def test_the_navigation_leads_there(agent):
    assert re.search(r'<a href="/saved-replies/" aria-current="page"', text_of(agent.get("/saved-replies/")))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"name": "", "text": "Hello"}, "Enter a name."),
        ({"name": "Greeting", "text": " \r\n "}, "Enter the text."),
        ({"name": "n" * 61, "text": "Hello"}, "1 too many: up to 60 characters."),
        ({"name": "G", "text": "t" * 1601}, "1 too many: up to 1,600 characters."),
        (
            {"name": "G", "text": "Hello {name}, <b>"},
            "{name} is not a placeholder. Use {first_name}, {agent} or {company}.",
        ),
    ],
)
def test_a_wrong_form_says_what_and_keeps_what_was_typed(store, agent, typed, said):
    answer = send(agent, NEW, **typed)
    assert (answer.status_code, errors(answer)) == (422, [said])
    assert typed["name"] in text_of(answer)
    assert typed["text"].strip() in text_of(answer)
    assert not saved(store)


def test_an_owner_has_each_name_once(store, agent):
    send(agent, NEW, **TYPED)
    taken = send(agent, NEW, name="GREETING", text="Another")
    assert (taken.status_code, errors(taken)) == (409, ["A saved reply with this name already exists."])
    assert "Another" in text_of(taken)
    send(agent, NEW, name="Goodbye", text="Bye")
    [goodbye] = [each for each in service.listed(MINE, staff(AGENT)) if each.name == "Goodbye"]
    renamed = send(agent, url_of(goodbye.reference), name="greeting", text="Bye")
    assert (renamed.status_code, errors(renamed)) == (409, ["A saved reply with this name already exists."])
    assert "meantime" not in text_of(renamed)
    assert send(agent, url_of(goodbye.reference), name="GOODBYE", text="Bye").status_code == 200
    # Those for all have names of their own.
    added(FOR_ALL, ADMIN, "Greeting")
    assert sorted(each["name"] for each in saved(store)) == ["GOODBYE", "Greeting", "Greeting"]


def test_a_text_of_1600_characters_may_have_lines(store, agent):
    send(agent, NEW, name="Long", text="\r\n".join(["t" * 799, "t" * 800]))
    assert [len(each["text"]) for each in saved(store)] == [1600]


def test_a_lost_race_is_told_with_both_versions_and_saving_again_replaces(store, of_all):
    reference = added(FOR_ALL, ADMIN)
    form = of_all.get(url_of(reference))
    service.change(reference, "Theirs", "Their words", version(reference, ADMIN), ADMIN)
    typed = {"name": "Mine", "text": "My words"}
    lost = of_all.post(url_of(reference), typed | {"version": field(form, "version")})
    assert lost.status_code == 409
    for words in ("changed this saved reply in the meantime.", "Their words", "My words"):
        assert words in text_of(lost)
    assert [each["text"] for each in saved(store)] == ["Their words"]
    of_all.post(url_of(reference), typed | {"version": field(lost, "version")})
    assert [each["text"] for each in saved(store)] == ["My words"]


def test_what_was_typed_survives_a_deletion_and_can_be_added_anew(store, of_all):
    reference = added(OURS, ADMIN)
    form = of_all.get(url_of(reference))
    service.delete(reference, version(reference, ADMIN), ADMIN)
    lost = of_all.post(url_of(reference), {"name": "Mine", "text": "My words", "version": field(form, "version")})
    assert lost.status_code == 409
    assert "Somebody deleted this saved reply in the meantime." in text_of(lost)
    assert "My words" in text_of(lost)
    assert not saved(store)
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    action = re.search(r'<form class="form" method="post" action="([^"]+)"', text_of(lost))[1]
    of_all.post(action, {"name": "Mine", "text": "My words", "token": field(lost, "token")})
    assert [(each["pk"], each["text"]) for each in saved(store)] == [(partition_of(OURS), "My words")]


def test_a_lost_deletion_is_asked_again_with_what_is_there_now(store, of_all):
    reference = added(FOR_ALL, ADMIN)
    asked = of_all.get(url_of(reference, "delete"))
    service.change(reference, "Theirs", "Their words", version(reference, ADMIN), ADMIN)
    lost = of_all.post(url_of(reference, "delete"), {"seen": field(asked, "seen")})
    assert lost.status_code == 409
    assert "Somebody else changed this saved reply in the meantime." in text_of(lost)
    assert "Their words" in text_of(lost)
    assert saved(store)
    of_all.post(url_of(reference, "delete"), {"seen": field(lost, "seen")})
    assert not saved(store)


def test_the_search_narrows_the_list(store, agent):
    for name in ("Opening hours", "Goodbye"):
        added(FOR_ALL, ADMIN, name, "some text")
    found = text_of(agent.get("/saved-replies/", {"q": "OPENING"}))
    assert "Opening hours" in found
    assert "Goodbye" not in found
    assert "No saved reply matches" in text_of(agent.get("/saved-replies/", {"q": "zzz"}))


def test_clear_takes_the_company_away_and_show_all_keeps_it(store, of_all):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    found = of_all.get("/saved-replies/", {"tab": "company", "company": COMPANY, "q": "zzz"}).content.decode()
    links = {label: html.unescape(url) for url, label in re.findall(r'href="([^"]+)">(Clear|Show all)</a>', found)}
    assert links == {
        "Clear": "/saved-replies/?tab=company",
        "Show all": f"/saved-replies/?tab=company&company={COMPANY}",
    }


def test_the_trail_names_what_was_changed(store, of_all):
    send(of_all, f"{NEW}?tab=all", **TYPED)
    assert entries(store)[-1][:2] == ("SYSTEM", "saved_reply.created")
    said = re.sub(r"[\u2066-\u2069]", "", text_of(of_all.get("/audit/?action=saved_reply.created")))
    assert f"added the saved reply {saved(store)[0]['sk']}" in said
