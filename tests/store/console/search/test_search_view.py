"""The search box: straight to a single hit, all stores at once, nothing beyond scope, nothing typed in an address."""

import logging
import threading

import pytest

from console.permissions import Permission
from console.search import finders, service
from console.search.finders import Finder, FinderResult, SearchHit
from console.search.meanings import Meaning, MeaningKind
from console.store import presence
from conversations.companies import register
from tests import faults
from tests.answers import text_of
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, member, signed_in

pytestmark = pytest.mark.pages

NUMBER = "+447700900123"
EVENT = f"act:rp_reply:{COMPANY}#p#r#447700900123:msg-9"


def found(client, typed):
    """The page of results, and the address that led there."""
    answer = client.post("/search/", {"typed": typed})
    assert answer.status_code == 302, text_of(answer)
    return answer["Location"], client.get(answer["Location"])


@pytest.fixture
def filled(store):
    """Conversations, tenants, users, channels, staff and records of two companies; the tenants bear their ids."""
    for company in (COMPANY, OTHER_COMPANY):
        store.put("CONVERSATIONS", conversation(company_id=company, project_id="p", request_id="r"))
        store.put("TENANTS", {"pk": f"TENANT#{company}", "sk": "META", "name": company.upper(), "status": "active"})
        user = {"email": "Ana@example.com", "display_name": f"Ana of {company}", "role": "member"}
        identities = '{"whatsapp": "+44 7700 900123", "slack": "U1"}'
        store.put("TENANTS", {"pk": f"TENANT#{company}", "sk": "USER#u-77", **user, "channel_identities": identities})
        key = "CHANNEL#slack#T024BE7LD"
        owner = {"gsi1pk": key, "gsi1sk": f"TENANT#{company}"}
        store.put("TENANTS", {"pk": f"TENANT#{company}", "sk": key, **owner})
    store.put(
        "IDEMPOTENCY",
        {"event_id": EVENT, "conversation_id": f"{COMPANY}#p#r#447700900123", "expires_at": 4_000_000_000},
    )
    return store


def test_a_single_hit_opens_at_once_and_nothing_typed_is_in_its_address(filled, caplog):
    caplog.set_level(logging.DEBUG)
    agent = signed_in(member())
    for typed in (NUMBER, "0044 (0)7700 900123", f"{COMPANY}#p#r#447700900123"):
        answer = agent.post("/search/", {"typed": typed})
        assert answer.status_code == 302
        assert answer["Location"].startswith("/conversations/"), typed
        assert agent.get(answer["Location"]).status_code == 200
        assert "7700900123" not in answer["Location"]
    assert "900123" not in caplog.text


@pytest.mark.parametrize(
    ("typed", "who", "where"),
    [
        (EVENT, "auditor", "/audit/events/"),
        ("ada.admin", "admin", "/staff/ada.admin/"),
        ("Ada Admin", "admin", "/staff/ada.admin/"),
        (f"TENANT#{COMPANY}", "auditor", f"/tenants/{COMPANY}/"),
        ("USER#u-77", "onboarding", f"/tenants/{COMPANY}/users/"),
        ("slack:T024BE7LD", "onboarding", f"/tenants/{COMPANY}/channels/"),
        ("T024BE7LD", "onboarding", f"/tenants/{COMPANY}/channels/"),
        ("ana@example.com", "onboarding", f"/tenants/{COMPANY}/users/"),
        (COMPANY, "agent", f"/conversations/companies/{COMPANY}/"),
    ],
)
def test_each_kind_leads_to_its_page(filled, typed, who, where):
    people = {"auditor": auditor, "admin": admin, "agent": member, "onboarding": lambda: member("olga", "onboarding")}
    answer = signed_in(people[who]()).post("/search/", {"typed": typed, "reason": "complaint 4711"})
    assert (answer.status_code, answer["Location"][: len(where)]) == (302, where)


def test_several_hits_are_grouped_and_the_link_holds_the_typed_text_sealed(filled):
    where, page = found(signed_in(admin()), NUMBER)
    text = text_of(page)
    assert "7700900123" not in where
    assert text.count("900123") == text.count(f'value="{NUMBER}"') == 1, "only in the field, for who typed it"
    assert "900123" not in text_of(signed_in(admin("olaf.admin")).get(where))
    assert text.index('<h2 id="found-1">Users of tenants') < text.index("Ana of ci-aaa-001")
    assert f"Ana of {OTHER_COMPANY} of {OTHER_COMPANY}" in text
    assert ">Conversations</h2>" in text
    assert "No matches in:" in text


@pytest.mark.slow
def test_nothing_out_of_scope_is_a_hit(filled):
    for person in (member(), member("olga", "onboarding"), auditor("aida", [COMPANY])):
        client = signed_in(person)
        for typed in (
            NUMBER,
            "ana@example.com",
            "USER#u-77",
            "slack:T024BE7LD",
            OTHER_COMPANY,
            f"TENANT#{OTHER_COMPANY}",
        ):
            answer = client.post("/search/", {"typed": typed, "reason": "complaint 4711"}, follow=True)
            assert answer.status_code == 200
            shown = text_of(answer).split("<main")[1].replace(f'value="{typed}"', "")
            shown = shown.replace(f"Nothing found for “{typed}”", "")
            assert OTHER_COMPANY not in shown, (person.role, typed)


def test_what_the_role_does_not_read_is_said_not_searched(filled):
    with filled.calls() as seen:
        _, page = found(signed_in(member()), "ana@example.com")
    assert "because your role cannot read them: Users of tenants, Channels of tenants." in text_of(page)
    assert not [each for each in seen if each.tables == ("TENANTS",)]


def test_a_store_that_has_no_company_is_said_not_searched_for_who_has_some_companies_only(filled):
    with filled.calls() as seen:
        _, page = found(signed_in(member()), "3f" * 32)
    assert "Chats: not searched, because they belong to no company" in text_of(page)
    assert not [each for each in seen if each.tables in (("SESSIONS",), ("CHATS",), ("IMAGE_RESPONSES",))]


def test_a_company_and_a_tenant_are_found_by_name_and_a_tenant_s_id_in_any_case(filled):
    filled.put("TENANTS", {"pk": "TENANT#books", "sk": "META", "name": "Bluebird Books", "status": "active"})
    register(OTHER_COMPANY, "Lumen Lamps", "test", "2026-03-02T09:00:00Z")
    for typed, url in (
        ("bluebird b", "/tenants/books/"),
        ("BOOKS", "/tenants/books/"),
        ("Lamps Lumen", f"/conversations/companies/{OTHER_COMPANY}/"),
    ):
        answer = signed_in(admin()).post("/search/", {"typed": typed})
        assert answer["Location"] == url
    _, page = found(signed_in(member()), "Lumen Lamps")
    assert "Nothing found for “Lumen Lamps”" in text_of(page)
    assert "Names of customers and what is outside your scope are not searched." in text_of(page)
    assert "Recognised as" not in text_of(page)


def test_what_is_in_no_index_and_a_number_without_its_country_are_told(filled):
    agent = signed_in(member())
    for typed, words in (
        ("req-68b0cbf0", "Looked for that request among the"),
        ("thr-cuc-0770", "organisation#user#thread"),
        ("07700 900900", "The number has no country code. It was tried with +44"),
    ):
        _, page = found(agent, typed)
        assert words in text_of(page), typed


def test_a_message_is_said_to_need_its_thread_and_nonsense_is_nothing(filled):
    agent = signed_in(member())
    assert "You can only find a message within its thread" in text_of(found(agent, "msg_abc123")[1])
    odd = agent.post("/search/", {"typed": "what is this?"})
    assert (odd.status_code, "Nothing found for “what is this?”" in text_of(odd)) == (200, True)
    assert agent.post("/search/", {"typed": " "}).status_code == 422
    assert agent.post("/search/", {"typed": "x\x00"}).status_code == 422
    assert agent.get("/search/?q=junk").status_code == 302


def test_no_customer_is_missed_by_who_searches_none(filled):
    agent, olga = signed_in(member()), signed_in(member("olga.novak", "onboarding", ["books"]))
    assert "No customer found" in text_of(found(agent, "+447700900999")[1])
    page = text_of(found(olga, "+447700900999")[1])
    assert "No customer found" not in page
    assert "Nothing found for “+447700900999”" in page


@pytest.mark.parametrize(
    ("role", "finds", "not_finds"),
    [
        (
            "agent",
            ("whole ids of conversations", "ids of chatbot sessions"),
            ("usernames of staff", "ids of tenants"),
        ),
        ("onboarding", ("names and ids of tenants", "slack:T024BE7LD"), ("whole ids of conversations", "idempotency")),
        ("auditor", ("idempotency keys",), ("usernames of staff",)),
        ("admin", ("usernames of staff", "names and ids of tenants", "whole ids of conversations"), ()),
    ],
)
def test_the_search_page_names_what_the_role_can_find(store, role, finds, not_finds):
    page = text_of(signed_in(member("somebody", role, ["*"])).get("/search/"))
    assert "Names of customers are not searched." in page
    assert all(words in page for words in finds)
    assert not any(words in page for words in not_finds)


def test_help_has_the_keys_and_topics_of_the_role_only(store):
    pages = {
        each: text_of(signed_in(member(each, each, ["*"])).get("/help/")) for each in ("agent", "onboarding", "auditor")
    }
    for words in ("return to the AI (asks first)", "Answering a customer", "write a reply"):
        assert {role for role, page in pages.items() if words in page} == {"agent"}
    assert {role for role, page in pages.items() if "next and previous conversation" in page} == {"agent", "auditor"}
    assert "queue" not in pages["auditor"].partition('id="saved-views"')[2].partition("</section>")[0]


def test_who_has_nothing_in_scope_searches_nothing(filled):
    client = signed_in(member("nemo", "agent", []))
    with filled.calls() as seen:
        _, page = found(client, NUMBER)
    assert "so nothing was searched" in text_of(page)
    assert not [each for each in seen if not set(each.tables) <= {"STAFF", "STAFF_SESSIONS", "AUDIT"}]


def test_a_failing_store_and_a_missing_one_are_a_line_each(filled):
    admin_client = signed_in(admin())
    with faults.fail_before("Query", table_key="CONVERSATIONS", times=faults.ALWAYS):
        where, page = found(admin_client, NUMBER)
        assert "Conversations: could not be searched. Try again in a moment." in text_of(page)
        assert "Ana of" in text_of(page)
    filled.drop_table("TENANTS")
    presence.forget()
    try:
        answer = admin_client.get(where)
        assert "Users of tenants: not searched, because this environment has no such tables" in text_of(answer)
    finally:
        filled.create_tables("TENANTS")


def test_a_single_hit_does_not_open_while_a_store_has_not_answered(filled):
    agent = signed_in(member("olga", "onboarding"))
    with faults.fail_before("Query", table_key="TENANTS", where=lambda request: "begins_with" in str(request)):
        where, _ = found(agent, "ana@example.com")
    assert where.startswith("/search/?q=")
    assert agent.post("/search/", {"typed": "ana@example.com"})["Location"].startswith("/tenants/")


def test_first_hits_come_within_the_deadline_and_a_late_store_is_a_line(store):
    late = threading.Event()
    finder = {MeaningKind.TENANT: lambda value, staff: late.wait(30) and FinderResult()}
    at_once = {MeaningKind.TENANT: lambda value, staff: FinderResult((SearchHit("here", "/here/"),))}

    def broken(value, staff):
        raise ZeroDivisionError

    added = [
        Finder("Late", Permission.CONVERSATION_READ, finder),
        Finder("Fast", Permission.CONVERSATION_READ, at_once),
        Finder("Broken", Permission.CONVERSATION_READ, {MeaningKind.TENANT: broken}),
    ]
    for each in added:
        finders.register(each)
    try:
        results = service.search([Meaning(MeaningKind.TENANT, "x")], as_staff(member()), deadline=0.05)
    finally:
        late.set()
        for each in added:
            finders.unregister(each.title)
    assert [hit.url for hit in results.hits] == ["/here/"]
    assert "Late: no answer in time. Search again, or look there." in results.lines
    assert "Broken: could not be searched because of an error." in results.lines


def test_one_search_makes_a_bounded_number_of_calls(filled):
    meta = {"sk": "META", "name": "T", "status": "active"}
    filled.put_all("TENANTS", [{"pk": f"TENANT#t-{number:03}", **meta} for number in range(90)])
    with filled.calls() as seen:
        answer = signed_in(admin()).post("/search/", {"typed": NUMBER})
    assert answer.status_code == 302
    # Users of 20 tenants, three reads for each of three types of channel, two spellings of conversations and chats.
    assert len([each for each in seen if each.operation != "DescribeTable"]) <= 50
    page = text_of(signed_in(admin()).get(answer["Location"]))
    assert "Searched the users of the first 20 tenants in your scope. There are more." in page
