"""Who looked at whose conversation: by person and by conversation, within one's scope, and saying how far."""

import html
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from console import clock, refs
from console.audit.access_log import reading as looks
from console.audit.access_log.reading import access_log_of_conversation, access_log_of_person
from console.audit.review.forms import About
from console.audit.scoping import name_of
from console.clock import to_iso
from console.errors import NotFound
from console.trail.recording import SYSTEM_TRAIL
from conversations.companies import register
from conversations.converting import url_by_id
from tests.items import conversation, entry
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, member, signed_in

ID = f"{COMPANY}#pi-aaa-001#req1#447700900123"
OTHER_ID = f"{OTHER_COMPANY}#pi-bbb-001#req2#447700900124"
URL = "/audit/looks/"


def look(
    minutes: int, action: str, who: str = "amira.haddad", trail: str = ID, company: str = COMPANY, **payload
) -> dict:
    at, tie = clock.now() - timedelta(minutes=minutes), f"{minutes:05}{who}"
    return entry(at, action, trail, tie=tie, actor=who, company=company, payload=payload)


@pytest.fixture
def seen(store):
    """Amira opened and revealed ours and exported; Tom opened ours and theirs."""
    member("amira.haddad")
    store.put_all(
        "AUDIT",
        [
            look(5, "transcript.opened", shown="raw"),
            look(70, "transcript.opened", shown="raw"),
            look(90, "recipient.revealed", fields=["number", "email"]),
            look(4, "audit.exported", trail="STAFF#amira.haddad", company="", format="csv"),
            look(30, "transcript.opened", "tom.becker", shown="redacted"),
            look(31, "transcript.opened", "tom.becker", OTHER_ID, OTHER_COMPANY, shown="raw"),
            look(2, "hand_off.take"),
            look(3, "route", "tom.becker"),
        ],
    )
    return store


def shown(found: looks.AccessLog) -> list[tuple]:
    return [(row.name, row.times, dict(row.what)) for row in found.rows]


@pytest.mark.usefixtures("seen")
def test_by_conversation_people_stand_with_how_often_when_last_and_what():
    found = access_log_of_conversation(ID, as_staff(admin()))
    may = "1 export may contain it"
    assert shown(found) == [
        ("Amira Haddad", 4, {"opened, unmasked": 2, "revealed: number, email": 1, may: 1}),
        ("tom.becker", 1, {"opened, masked": 1}),
    ]
    amira = found.rows[0]
    assert timedelta(minutes=4) <= clock.now() - amira.last < timedelta(minutes=5)
    assert (amira.note, amira.url) == ("amira.haddad · agent", "/audit/looks/people/amira.haddad/")
    assert (found.is_all, found.read) == (True, 4)


@pytest.mark.usefixtures("seen")
def test_by_person_conversations_stand_redacted_and_lead_to_their_trails():
    found = access_log_of_person("amira.haddad", as_staff(admin()))
    assert shown(found) == [
        ("Export across conversations", 1, {"exported as CSV": 1}),
        (f"{COMPANY}#pi-aaa-001#req1#***-***-0123", 3, {"opened, unmasked": 2, "revealed: number, email": 1}),
    ]
    assert found.rows[1].url == reverse("trail", args=[refs.seal("trail", ID)])
    assert found.rows[0].note == "recorded in the trail of amira.haddad"


def test_conversations_of_a_tenant_stand_one_by_one_and_lead_to_its_trail(store):
    trail = f"TENANT#{COMPANY}"
    store.put_all(
        "AUDIT",
        [
            look(minutes, "transcript.opened", trail=trail, shown="raw", tenant_conversation=named)
            for minutes, named in ((1, "conv-a"), (2, "conv-a +447700900123"), (3, "conv-a"), (4, ["odd"]))
        ],
    )
    found = access_log_of_person("amira.haddad", as_staff(auditor(scope=[COMPANY])))
    assert [(row.name, row.times) for row in found.rows] == [
        ("conv-a", 2),
        ("conv-a ***-***-0123", 1),
        ("Several conversations", 1),
    ]
    assert {(row.note, row.url) for row in found.rows} == {
        (f"recorded in the trail of tenant {COMPANY}", reverse("trail", args=[refs.seal("trail", trail)]))
    }


@pytest.mark.usefixtures("seen")
def test_scope_holds_and_nobody_there_is_nobody_in_scope():
    limited = as_staff(auditor("lea.limited", scope=[COMPANY]))
    assert shown(access_log_of_person("tom.becker", limited)) == [
        (f"{COMPANY}#pi-aaa-001#req1#***-***-0123", 1, {"opened, masked": 1})
    ]
    elsewhere = as_staff(auditor("lou.elsewhere", scope=["ci-ccc-003"]))
    assert access_log_of_person("tom.becker", elsewhere) == access_log_of_person("no.body", elsewhere)
    for conversation_id in (OTHER_ID, "ci-none", "STAFF#tom.becker", "SYSTEM", "TENANT#ci-aaa-001"):
        with pytest.raises(NotFound):
            access_log_of_conversation(conversation_id, limited)


def test_looks_of_one_hour_have_the_time_at_which_they_were(store):
    at = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    opened = look(0, "transcript.opened", shown="raw", at=to_iso(at + timedelta(minutes=40)))
    store.put("AUDIT", opened | {"ts_action_id": f"{to_iso(at)}#transcript.opened.amira.haddad"})
    (row,) = access_log_of_conversation(ID, as_staff(admin())).rows
    assert row.last == at + timedelta(minutes=40)


def test_how_far_it_looked_is_said(store, monkeypatch):
    monkeypatch.setattr(looks, "ENTRIES_READ", 3)
    store.put_all("AUDIT", [look(n, "transcript.opened", shown="raw") for n in range(1, 9)])
    found = access_log_of_conversation(ID, as_staff(admin()))
    assert (found.read, found.is_all, found.rows[0].times) == (3, False, 3)
    assert timedelta(minutes=3) <= clock.now() - found.reaches < timedelta(minutes=4)
    page = signed_in(auditor()).get(reverse("access-log-conversation", args=[refs.seal("trail", ID)]))
    assert "The newest 3 entries were read" in page.content.decode()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("{}", "opened"),
        ("no json", "opened"),
        ('{"shown": {"x": 1}}', "opened"),
        ('{"shown": "raw +447700900123"}', "opened, shown raw ***-***-0123"),
        ('[["shown"]]', "opened"),
    ],
)
def test_payloads_of_any_shape_are_read_and_redacted(store, payload, words):
    store.put("AUDIT", look(1, "transcript.opened") | {"action_payload_redacted": payload})
    (row,) = access_log_of_conversation(ID, as_staff(admin())).rows
    assert [what for what, _ in row.what] == [words]


def test_an_actor_that_no_address_can_hold_has_no_link(store):
    store.put("AUDIT", look(1, "transcript.opened", "../+447700900123"))
    (row,) = access_log_of_conversation(ID, as_staff(admin())).rows
    assert (row.name, row.url) == ("../***-***-0123", "")


# --- The pages ------------------------------------------------------------------------------------------------------


@pytest.fixture
def client(seen) -> Client:
    return signed_in(auditor())


def test_a_typed_conversation_leads_to_an_address_without_its_number(client):
    answer = client.post(URL, {"look": "conversation", "conversation_id": ID, "reason": "complaint 4711"})
    assert answer.status_code == 302
    assert "447700900123" not in answer["Location"]
    page = client.get(answer["Location"]).content.decode()
    assert "Amira Haddad" in page
    assert "2 people, 5 looks" in page
    assert "may contain it" in page
    assert "action=transcript.opened" in page
    assert "7700900123" not in page


def test_a_persons_page_has_what_they_looked_at(client):
    page = client.get("/audit/looks/people/amira.haddad/").content.decode()
    assert ">4 looks<" in page
    text = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert "Export across conversations, recorded in the trail of amira.haddad" in text
    assert "actor=amira.haddad" in page
    assert "opened, unmasked" in page


@pytest.mark.parametrize("username", ["447700900123", "..", "%2E", "Amira@example.com"])
def test_an_address_with_what_is_no_username_is_nothing(client, username):
    assert client.get(f"/audit/looks/people/{username}/").status_code == 404


def test_out_of_scope_answers_like_what_is_not_there(seen):
    limited = signed_in(auditor("lea.limited", scope=[COMPANY]))
    texts = set()
    for typed in (OTHER_ID, "ci-none#1"):
        form = {"look": "conversation", "conversation_id": typed, "reason": "complaint 4711"}
        text = limited.post(URL, form).content.decode()
        assert "The console knows no conversation with this id." in text
        texts.add(
            re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken": )"[^"]+"', "", text.replace(html.escape(typed), ""))
        )
    assert len(texts) == 1
    sealed = [reverse("access-log-conversation", args=[refs.seal("trail", each)]) for each in (OTHER_ID, "ci-none#1")]
    assert [limited.get(url).status_code for url in sealed] == [404, 404]


def test_an_unknown_look_up_is_refused(client):
    assert client.post(URL, {"look": "everything"}).status_code == 400


def test_a_conversations_trail_links_to_who_looked(seen):
    trail = reverse("trail", args=[refs.seal("trail", ID)])
    url = reverse("access-log-conversation", args=[refs.seal("trail", ID)])
    assert url in signed_in(auditor()).get(trail).content.decode()
    assert url not in signed_in(member("tom.becker")).get(trail).content.decode()
    own = reverse("trail", args=[refs.seal("trail", "STAFF#aiko.mori")])
    assert "/audit/looks/" not in signed_in(auditor()).get(own).content.decode()


def test_one_page_of_looks_costs_few_queries(client, store):
    with store.calls() as calls:
        client.get("/audit/looks/people/amira.haddad/")
    assert sum(call.operation == "Query" for call in calls) <= 3


# --- At a customer ----------------------------------------------------------------------------------------------


@pytest.fixture
def customer(seen):
    """Two conversations of ours with one number, one of theirs."""
    member("tom.becker", scope=[OTHER_COMPANY])
    for company, project, request in (
        (COMPANY, "pi-aaa-001", "req1"),
        (COMPANY, "pi-aaa-001", "req9"),
        (OTHER_COMPANY, "pi-bbb-001", "req2"),
    ):
        seen.put("CONVERSATIONS", conversation(company_id=company, project_id=project, request_id=request))
    seen.put("AUDIT", look(9, "recipient.revealed", "tom.becker", f"{COMPANY}#pi-aaa-001#req9#447700900123"))
    theirs = f"{OTHER_COMPANY}#pi-bbb-001#req2#447700900123"
    seen.put("AUDIT", look(8, "transcript.opened", "nora.cole", theirs, OTHER_COMPANY, shown="raw"))
    return seen


@pytest.mark.parametrize("typed", ["+44 7700 900123", "0044 7700 900123", "447700900123"])
def test_by_a_customer_s_number_everybody_stands_who_looked_at_any_of_their_conversations(customer, typed):
    limited = signed_in(auditor("lea.limited", scope=[COMPANY]))
    answer = limited.post(URL, {"look": "recipient", "recipient": typed, "reason": "complaint 4711"})
    assert answer.status_code == 302
    assert "7700" not in answer["Location"]
    page = limited.get(answer["Location"]).content.decode()
    assert "in 2 conversations" in page
    assert "Amira Haddad" in page
    assert "Tom Becker" in page
    assert "revealed" in page
    assert "nora.cole" not in page
    assert "7700900123" not in page
    everything = signed_in(admin()).get(answer["Location"]).content.decode()
    assert "nora.cole" in everything
    assert "in 3 conversations" in everything
    # The search of the auditor for this number stands there as well, for who sees the trails of staff.
    assert "Lea Limited" in everything
    assert "searched for, 1 found: complaint 4711" in everything


def test_a_customer_s_page_leads_there_for_who_reviews(customer):
    ref = refs.seal("recipient", "+447700900123")
    where = reverse("access-log-recipient", args=[ref])
    assert where in signed_in(auditor()).get(f"/conversations/recipients/{ref}/").content.decode()
    assert where not in signed_in(member()).get(f"/conversations/recipients/{ref}/").content.decode()
    boss = signed_in(admin())
    assert where in boss.get(f"/conversations/recipients/{ref}/elsewhere/").content.decode()
    assert "looked up in all stores" in boss.get(where).content.decode()


def test_a_customer_out_of_scope_is_one_that_is_not_there(customer):
    limited = signed_in(auditor("lea.limited", scope=["ci-none"]))
    assert (
        limited.get(reverse("access-log-recipient", args=[refs.seal("recipient", "+447700900123")])).status_code == 404
    )
    form = {"look": "recipient", "recipient": "+447700900123", "reason": "complaint 4711"}
    assert "No matches" in limited.post(URL, form).content.decode()


# --- Ids as pages show them -------------------------------------------------------------------------------------------

MASKED = f"{COMPANY}#pi-aaa-001#req1#***-***-0123"


@pytest.fixture
def conversations(store):
    """Ours, another one of its project, and another company's."""
    put_conversations(store, ID, ID.replace("req1", "req3"), OTHER_ID)


def put_conversations(store, *ids: str) -> None:
    for each in ids:
        company, project, request, recipient = each.split("#")
        names = {"company_id": company, "project_id": project, "request_id": request}
        item = conversation(conversation_id=each, primary_channel=f"+{recipient}", **names)
        store.put("CONVERSATIONS", item | {"updated_at": item["created_at"]})


def looked_up(client: Client, where: str, typed: str):
    if where == "/audit/find/":
        return client.post(where, {"what": "conversation", "value": typed, "reason": "complaint 4711"})
    return client.post(where, {"look": "conversation", "conversation_id": typed, "reason": "complaint 4711"})


TAKES_AN_ID = pytest.mark.parametrize("where", [URL, "/audit/find/", "/audit/events/"])


@TAKES_AN_ID
@pytest.mark.parametrize("typed", ["req1", " req1 ", ID, ID.rpartition("#")[0], MASKED, f"Conversation {MASKED}"])
@pytest.mark.usefixtures("conversations", "seen")
def test_an_id_is_found_as_pages_show_it(where, typed):
    client = signed_in(auditor(scope=[COMPANY]))
    answer = looked_up(client, where, typed)
    assert answer.status_code == 302, answer.content.decode()
    page = client.get(answer["Location"]).content.decode()
    assert MASKED in page
    assert "447700900123" not in answer["Location"] + page
    if where == URL:
        assert "opened, unmasked" in page
    elif where == "/audit/find/":
        assert "Tom" in page or "tom.becker" in page


@TAKES_AN_ID
def test_an_id_of_several_conversations_asks_which(store, where):
    second = ID.replace("0123", "0999")
    put_conversations(store, ID, second)
    answer = looked_up(signed_in(auditor(scope=[COMPANY])), where, "req1")
    shown = html.unescape(answer.content.decode())
    which = re.search("2 conversations have this id: (.*)[.] Enter one of these[.]", shown)[1]
    assert sorted(which.split(", ")) == [MASKED, MASKED.replace("0123", "0999")]


@TAKES_AN_ID
def test_what_another_companys_pages_show_is_not_found(store, where):
    put_conversations(store, OTHER_ID)
    client = signed_in(auditor(scope=[COMPANY]))
    pages = []
    for typed in ("req2", "req7"):
        answer = looked_up(client, where, typed)
        shown = client.get(answer["Location"]) if answer.status_code == 302 else answer
        pages.append(re.sub(r'value="[^"]*"|href="[^"]*"|req\d', "", shown.content.decode()))
    assert "pi-bbb-001" not in pages[0]
    assert len(re.findall("<tr", pages[0])) == len(re.findall("<tr", pages[1]))


@pytest.mark.parametrize("trail", ["TENANT#harbor-dental", "STAFF#amira.haddad", SYSTEM_TRAIL])
def test_a_trail_is_found_by_the_name_that_pages_give_it(store, trail):
    store.put("AUDIT", look(5, "account.disabled", trail=trail, company=""))
    client = signed_in(admin())
    answer = looked_up(client, "/audit/find/", name_of(trail))
    assert About.opened(answer["Location"].partition("about=")[2]).value == trail


def test_a_reviewer_opens_the_access_log_from_the_conversation(store):
    put_conversations(store, ID)
    url = url_by_id(ID)
    client = signed_in(auditor(scope=[COMPANY]))
    page = client.get(url, follow=True).content.decode()
    href = re.search(r'href="(/audit/looks/[^"]+)">Who looked at it', page)[1]
    assert MASKED in client.get(href).content.decode()
    assert "Who looked at it" not in signed_in(member()).get(url, follow=True).content.decode()


@pytest.mark.parametrize(
    "typed",
    [
        ID.replace("#4477", "#+4477"),
        ID.replace("#4477", "#0044 77"),
        "REQ1",
    ],
)
@pytest.mark.usefixtures("conversations", "seen")
def test_an_id_spelled_in_another_usual_way_is_found(typed):
    client = signed_in(auditor(scope=[COMPANY]))
    answer = looked_up(client, URL, typed)
    assert answer.status_code == 302, answer.content.decode()
    assert "opened, unmasked" in client.get(answer["Location"]).content.decode()


@pytest.mark.parametrize("after", ["", "timeline/", "?from=queue"])
@pytest.mark.usefixtures("conversations", "seen")
def test_the_address_of_a_conversations_page_is_found(after):
    client = signed_in(auditor(scope=[COMPANY]))
    typed = f"https://console.example{reverse('conversation', args=[refs.seal('conversation', '+447700900123', ID)])}"
    answer = client.post(URL, {"look": "conversation", "conversation_id": typed + after, "reason": "complaint 4711"})
    assert answer.status_code == 302, answer.content.decode()
    assert "opened, unmasked" in client.get(answer["Location"]).content.decode()


@pytest.mark.usefixtures("conversations")
def test_an_address_that_leads_to_no_conversation_is_said_to_be_one():
    client = signed_in(auditor(scope=[COMPANY]))
    theirs = reverse("conversation", args=[refs.seal("conversation", "+447700900124", OTHER_ID)])
    for typed in (
        f"https://console.example{theirs}",
        "https://console.example/conversations/no-such-sealed-reference/",
    ):
        shown = looked_up(client, URL, typed).content.decode()
        assert "This address leads to no conversation that you can see" in html.unescape(shown)


@pytest.mark.parametrize("typed", ["req-00000000", "REQ-7398450F"])
def test_a_requests_id_needs_no_reason_and_an_unknown_one_is_said_to_be_unknown(store, typed):
    for account in (auditor(), auditor("lea.limited", scope=[COMPANY])):
        shown = signed_in(account).post(URL, {"look": "conversation", "conversation_id": typed}).content.decode()
        assert "The console knows no conversation with this id." in shown
        assert "Say why" not in shown
        assert "Open the conversation" not in shown
    assert not [each for each in store.all("AUDIT") if each["action_type"] == "person.searched"]


def test_a_customers_national_number_is_tried_with_the_country_codes_of_the_companies(customer):
    register(COMPANY, "Lumen Lamps", "test", "2026-03-02T09:00:00Z")
    client = signed_in(auditor())
    answer = client.post(URL, {"look": "recipient", "recipient": "07700 900123", "reason": "complaint 4711"})
    assert answer.status_code == 302, answer.content.decode()
    page = client.get(answer["Location"]).content.decode()
    assert "Amira Haddad" in page
    assert "It was tried with +44" in page
    # The search itself is among them.
    assert "searched for" in page
