"""Finding by what a person typed: spellings, one or several or nothing, and nothing personal in any URL."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.provisioning.definition import create_table_request
from console.redaction import redact
from console.store import presence
from console.store.models import SORT_KEY_BYTES, fits
from conversations.converting import reference_of, seal_list_context, url_by_id
from conversations.finding.lookups import find_by_id, spellings
from tests.items import conversation, put_conversation, url_of
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, member, signed_in

pytestmark = pytest.mark.pages

TEL = "+447700900123"
FIND = "/conversations/find/"


@pytest.fixture
def agent(store):
    return signed_in(member())


def by_recipient(client, typed: str):
    return client.post(FIND, {"look": "recipient", "recipient": typed})


def by_reply(client, channel: str, ours: str, recipient: str):
    return client.post(FIND, {"look": "replies", "channel": channel, "ours": ours, "recipient": recipient})


def by_id(client, typed: str):
    return client.post(FIND, {"look": "id", "conversation_id": typed})


def told(response) -> str:
    return unescape(re.sub(r"X-CSRFToken[^}]*|csrfmiddlewaretoken[^>]*", "", response.content.decode()))


def rows_in(response) -> list[str]:
    return [unescape(url) for url in re.findall(r'<a [^>]*data-open href="([^"]+)"', response.content.decode())]


# --- Spellings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        "+447700900123",
        "447700900123",
        " +44 7700 900 123 ",
        "+44 (0)7700 900123",
        "(+44) 7700-900-123",
        "0044 7700.900.123",
        "tel:+44-7700-900123",
        "whatsapp: +447700900123",
        "\u202a+44\xa07700\u2011900\u2013123\u202c",
        "+４４７７００９００１２３",
        "+٤٤٧٧٠٠٩٠٠١٢٣",
    ],
)
def test_every_usual_spelling_of_a_number_is_tried_with_and_without_plus(typed):
    assert {TEL, TEL[1:]} <= set(spellings(typed))
    assert len(spellings(typed)) <= 3


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Jo.Bloggs@Example.com", ("Jo.Bloggs@Example.com", "jo.bloggs@example.com")),
        ("mailto:jo@example.com", ("jo@example.com",)),
        ("Jo Bloggs <jo@example.com>", ("jo@example.com",)),
        ("widget-user-7", ("widget-user-7",)),
        ("1234", ("1234",)),
        ("   ", ()),
        ("\u200b", ()),
        ("<>@", ()),
        ("ﷺ" * 320, ()),
    ],
)
def test_emails_and_other_identifiers_keep_their_spelling(typed, expected):
    assert spellings(typed) == expected


@given(st.text(max_size=320))
def test_any_text_gives_a_few_keys_that_dynamodb_takes(typed):
    found = spellings(typed)
    assert len(found) <= 3
    assert len(set(found)) == len(found)
    assert all(fits(each, SORT_KEY_BYTES) for each in found)


# --- By recipient ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [TEL, TEL[1:]])
def test_one_conversation_found_opens_at_once(store, agent, stored):
    item = put_conversation(store, primary_channel=stored)
    with store.calls() as seen:
        response = by_recipient(agent, "+44 7700 900123")
    assert (response.status_code, response["Location"]) == (302, url_of(item))
    assert [call.operation for call in seen] == ["BatchGetItem", "Query", "Query", "PutItem"]


def test_several_of_one_recipient_open_the_recipients_list(store, agent):
    for number in range(3):
        put_conversation(store, request_id=str(number))
    response = by_recipient(agent, "0044 7700 900123")
    assert response["Location"].startswith("/conversations/recipients/")
    assert len(rows_in(agent.get(response["Location"]))) == 3
    assert "7700" not in response["Location"]


def test_several_spellings_found_make_a_sealed_results_page_that_can_be_walked(store, agent):
    items = [conversation(primary_channel=TEL), conversation(primary_channel=TEL[1:])]
    store.put_all("CONVERSATIONS", items)
    response = by_recipient(agent, TEL)
    url = response["Location"]
    assert url.startswith(f"{FIND}?found=")
    assert "7700" not in url
    results = agent.get(url)
    first, second = rows_in(results)
    assert first.split("?")[0] == url_of(items[0])
    assert TEL[3:] not in results.content.decode()
    path, token = first.split("?in=")
    assert agent.get(f"{path}step/next/", {"in": token})["Location"] == second
    assert agent.get(f"{second.split('?')[0]}step/next/", {"in": token})["Location"] == url


def test_none_and_out_of_scope_are_told_with_the_same_words(store, agent):
    put_conversation(store, company_id=OTHER_COMPANY)
    put_conversation(store, primary_channel="+10001", ttl=clock.to_epoch(clock.now()) - 1)
    answers = [by_recipient(agent, typed) for typed in (TEL, "+10001", "+15550000000")]
    assert {answer.status_code for answer in answers} == {200}
    texts = {re.sub(r'value="\+\d+"', "", told(answer)) for answer in answers}
    assert len(texts) == 1
    assert "No matches." in texts.pop()
    assert 'value="+15550000000"' in told(answers[-1])


def test_what_a_scope_hides_does_not_count(store, agent):
    mine = conversation()
    store.put_all("CONVERSATIONS", [mine, *(conversation(company_id=OTHER_COMPANY) for _ in range(5))])
    assert by_recipient(agent, TEL)["Location"] == url_of(mine)


# --- By our side and the recipient ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "attribute", "ours", "theirs"),
    [
        ("whatsapp", "gsi_company_whatsapp_number", "+447588713814", TEL),
        ("sms", "gsi_company_sms_number", "+447700900444", TEL),
        ("email", "gsi_company_email", "replies@company.example", "jo@example.com"),
    ],
)
def test_each_channel_is_found_through_its_reply_index(store, agent, channel, attribute, ours, theirs):
    keys = {"gsi_company_whatsapp_number": ..., attribute: ours}
    keys |= {"gsi_recipient_email": theirs, "recipient_email": theirs} if channel == "email" else {}
    items = [conversation(primary_channel=theirs, channel_method=channel, **keys)]
    store.put_all("CONVERSATIONS", items)
    with store.calls() as seen:
        response = by_reply(agent, channel, f" {ours} ", theirs.replace("+44", "+44 (0)"))
    assert response["Location"] == url_of(items[0])
    assert {call.index for call in seen if call.operation == "Query"} == {
        {
            "whatsapp": "company-whatsapp-number-recipient-tel-index",
            "sms": "company-sms-number-recipient-tel-index",
            "email": "company-email-recipient-email-index",
        }[channel]
    }
    put_conversation(store, primary_channel=theirs, request_id="2", channel_method=channel, **keys)
    several = by_reply(agent, channel, ours, theirs)
    assert several["Location"].startswith("/conversations/replies/")
    assert len(rows_in(agent.get(several["Location"]))) == 2
    assert "No matches." in told(by_reply(agent, channel, ours, "+15550000000"))


# --- By id ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "conversation_id", [f"{COMPANY}#pi-aaa-001#req1#447700900123", "some-uuid", "a#b", f"{COMPANY}#x#y#z#w"]
)
def test_an_id_of_any_shape_is_found_through_its_index(store, agent, conversation_id):
    item = put_conversation(store, conversation_id=conversation_id)
    put_conversation(store)
    with store.calls() as seen:
        response = by_id(agent, f"  {conversation_id} ")
    assert response["Location"] == url_of(item)
    assert [(call.operation, call.index) for call in seen][1:3] == [("Query", "conversation-id-index"), ("GetItem", "")]


@pytest.mark.parametrize("show", [str, redact, lambda each: each.rpartition("#")[0], lambda each: each.split("#")[2]])
def test_an_id_is_found_as_pages_show_it(store, agent, show):
    item = put_conversation(store, request_id="req-7f")
    put_conversation(store, primary_channel="+447700900999")
    shown = show(item["conversation_id"])
    assert by_id(agent, shown)["Location"] == url_of(item)
    found = agent.post("/search/", {"typed": shown})
    assert (found.get("Location") or found.content.decode()).count(url_of(item)) >= 1


def test_an_id_out_of_scope_or_past_its_ttl_is_as_unknown(store, agent):
    other = conversation(company_id=OTHER_COMPANY)
    gone = conversation(ttl=clock.to_epoch(clock.now()) - 1)
    nobody = conversation(company_id=..., conversation_id="nobody")
    store.put_all("CONVERSATIONS", [other, gone, nobody])
    with store.calls() as seen:
        by_id(agent, other["conversation_id"])
    assert "GetItem" not in {call.operation for call in seen}
    for each in ((other["conversation_id"], gone["conversation_id"]), ("nobody", "unknown")):
        answers = [by_id(agent, typed) for typed in each]
        texts = {re.sub(r'(name="conversation_id"|value="[^"]*")', "", told(answer)) for answer in answers}
        assert len(texts) == 1
        assert "No matches" in texts.pop()
    assert by_id(signed_in(admin()), "nobody")["Location"] == url_of(nobody)


def test_an_address_made_from_an_id_alone_leads_to_its_conversation(store, agent):
    item = put_conversation(store, conversation_id="once#447700900123")
    url = url_by_id("once#447700900123")
    assert "7700900123" not in url
    assert agent.get(url)["Location"] == url_of(item)
    assert "No matches." in told(agent.get(url_by_id("elsewhere")))
    assert len(rows_in(agent.get(url.replace("&open=one", "")))) == 1


def test_one_id_under_two_recipients_lists_both(store, agent):
    items = [conversation(conversation_id="twice"), conversation(conversation_id="twice", primary_channel="+10001")]
    store.put_all("CONVERSATIONS", items)
    assert len(rows_in(agent.get(url_by_id("twice")))) == 2
    response = by_id(agent, "twice")
    assert len(rows_in(agent.get(response["Location"]))) == 2


@pytest.fixture
def without_id_index(bare_store):
    request = create_table_request("CONVERSATIONS")
    request["GlobalSecondaryIndexes"] = [
        index for index in request["GlobalSecondaryIndexes"] if index["IndexName"] != "conversation-id-index"
    ]
    bare_store.client.create_table(**request)
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")
    presence.forget()
    return bare_store


def test_without_the_id_index_company_and_project_lead_to_it_within_a_budget(without_id_index, monkeypatch):
    store = without_id_index
    staff = as_staff(member())
    item = conversation()
    store.put_all("CONVERSATIONS", [item, *(conversation(primary_channel=f"+1000{n}") for n in range(5))])
    with store.calls() as seen:
        (row,) = find_by_id(item["conversation_id"], staff).rows
    assert row.reference == reference_of(TEL, item["conversation_id"])
    assert "company-id-project-id-index" in {call.index for call in seen}
    assert not find_by_id(f"{OTHER_COMPANY}#pi-aaa-001#r#1", staff).rows
    assert not find_by_id("some-uuid", staff).rows
    monkeypatch.setattr("console.store.paging._limit", lambda *_: 1)
    finding = find_by_id(f"{COMPANY}#pi-aaa-001#unknown#1", staff)
    assert not finding.rows
    assert finding.notice.startswith("Looked at 4 conversations of that project")


# --- The page -------------------------------------------------------------------------------------------------


def test_the_forms_are_there_and_junk_costs_a_message(store, agent):
    assert agent.get(FIND).content.decode().count("<form") >= 3
    with store.calls() as seen:
        for data in (
            {"look": "recipient"},
            {"look": "recipient", "recipient": "  "},
            {"look": "recipient", "recipient": "x" * 400},
            {"look": "recipient", "recipient": "a\x00b"},
            {"look": "replies", "channel": "fax", "ours": "1", "recipient": "2"},
            {"look": "id", "conversation_id": "ä" * 1000},
        ):
            response = agent.post(FIND, data)
            assert response.status_code == 200
            assert "errorlist" in response.content.decode()
        assert agent.post(FIND, {"look": "everything"}).status_code == 400
    assert {call.operation for call in seen} == {"BatchGetItem"}


def test_a_typed_value_is_escaped_where_it_is_shown_again(agent):
    answer = by_recipient(agent, '"><script>alert(1)</script>')
    assert "<script>alert" not in answer.content.decode()


def test_a_results_page_needs_a_seal_of_this_console(store, agent):
    assert agent.get(FIND, {"found": "junk"}).status_code == 404
    other_list = seal_list_context({"list": "company", "company": COMPANY, "filters": {}})
    assert agent.get(FIND, {"found": other_list}).status_code == 404
    bad = seal_list_context({"list": "found", "look": "recipient", "terms": {"recipient": ["x"]}})
    assert agent.get(FIND, {"found": bad}).status_code in (200, 404)


def test_only_readers_may_look_things_up(store):
    client = signed_in(member("olu.board", "onboarding"))
    assert client.get(FIND).status_code == 403
    assert by_recipient(client, TEL).status_code == 403
    assert client.put(FIND).status_code in (403, 405)


def test_a_results_link_does_not_tell_what_was_typed_into_it(store):
    token = seal_list_context({"list": "found", "look": "recipient", "terms": {"recipient": TEL}})
    answer = signed_in(member("aiko.mori", "auditor")).get(f"{FIND}?found={token}")
    assert "No matches" in told(answer)
    assert TEL.lstrip("+") not in answer.content.decode()


def test_an_absent_reply_index_is_named_and_the_table_is_not_called_absent(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "CONSOLE", "AUDIT")
    request = create_table_request("CONVERSATIONS")
    indexes = [each for each in request["GlobalSecondaryIndexes"] if "whatsapp" not in each["IndexName"]]
    request["GlobalSecondaryIndexes"] = indexes
    keyed = (request, *indexes, *request["LocalSecondaryIndexes"])
    used = {key["AttributeName"] for each in keyed for key in each["KeySchema"]}
    request["AttributeDefinitions"] = [
        each for each in request["AttributeDefinitions"] if each["AttributeName"] in used
    ]
    bare_store.client.create_table(**request)
    answer = by_reply(signed_in(member()), "whatsapp", "+447588713814", TEL)
    assert answer.status_code == 503
    assert "company-whatsapp-number-recipient-tel-index, which is missing in this environment" in told(answer)
