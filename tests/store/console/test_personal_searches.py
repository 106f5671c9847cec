"""Who may not reveal cannot confirm guesses unseen: a reason, an entry before any result, and so many an hour."""

import json
import re
from datetime import timedelta

import pytest

from console import clock
from console.audit.access_log.reading import access_log_of_person, access_log_of_recipient
from console.store import presence
from conversations.companies import register
from conversations.stores.chats.keys import user_ids_of
from tests import faults
from tests.answers import text_of
from tests.items import conversation
from tests.people import COMPANY, admin, as_staff, auditor, member, signed_in

NUMBER, NOBODYS = "+447700900123", "+447700900777"
ID = f"{COMPANY}#p#r#447700900123"
[DIGEST] = user_ids_of(NUMBER)
EVENT = f"act:rp_reply:{ID}:msg-9"
WHY = {"reason": "complaint 4711"}
DATA = ("CONVERSATIONS", "IDEMPOTENCY", "TENANTS", "SESSIONS", "CHATS", "THREADS", "CHAT_MESSAGES", "IMAGE_RESPONSES")
FORMS = [
    ("/search/", {"typed": NUMBER}),
    ("/search/", {"typed": "0044 (0)7700 900 123"}),
    ("/search/", {"typed": "whatsapp:+447700900123"}),
    ("/search/", {"typed": "ana@example.com"}),
    ("/search/", {"typed": DIGEST}),
    ("/search/", {"typed": f"{DIGEST}:1700000000"}),
    ("/search/", {"typed": ID}),
    ("/search/", {"typed": EVENT}),
    ("/search/", {"typed": "USER#447700900123"}),
    ("/conversations/find/", {"look": "recipient", "recipient": NUMBER}),
    ("/conversations/find/", {"look": "recipient", "recipient": "jo"}),
    ("/conversations/find/", {"look": "replies", "channel": "whatsapp", "ours": "+4420", "recipient": NUMBER}),
    ("/conversations/find/", {"look": "id", "conversation_id": ID}),
    ("/chats/find/", {"look": "phone", "phone": NUMBER}),
    ("/chats/find/", {"look": "user", "user_id": DIGEST}),
    ("/chats/find/", {"look": "session", "session_id": f"{DIGEST}:1700000000"}),
    ("/threads/find/", {"look": "user", "organisation": COMPANY, "user": "447700900123"}),
    ("/audit/find/", {"what": "conversation", "value": ID}),
    ("/audit/find/", {"what": "key", "value": EVENT}),
    ("/audit/looks/", {"look": "conversation", "conversation_id": ID}),
    ("/audit/events/", {"look": "event", "event_id": EVENT}),
    ("/audit/events/", {"look": "conversation", "conversation_id": ID}),
    ("/channels/resolve/", {"carried": NUMBER, "type": "whatsapp"}),
]


def searches(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == "person.searched"]


def payload(entry: dict) -> dict:
    return json.loads(entry["action_payload_redacted"])


def without_what_changes(answer) -> str:
    changes = r'X-CSRFToken[^}]*|name="csrfmiddlewaretoken" value="[^"]*"|4477\d+|Reference <code>[^<]*'
    return re.sub(changes, "", text_of(answer))


@pytest.fixture
def filled(store):
    store.put("CONVERSATIONS", conversation(company_id=COMPANY, project_id="p", request_id="r"))
    store.put(
        "IDEMPOTENCY",
        {"event_id": EVENT, "conversation_id": ID, "expires_at": 4_000_000_000, "created_at": "2026-03-02T09:00:00Z"},
    )
    return store


@pytest.mark.slow
@pytest.mark.parametrize("where", ["/search/", "/conversations/find/"])
def test_sixty_guesses_are_on_record_as_far_as_they_go_and_refused_beyond(filled, settings, where):
    settings.PERSONAL_SEARCHES_PER_HOUR = 20
    client = signed_in(auditor())
    data = {"typed": "", "look": "recipient", "recipient": ""}
    statuses = []
    for number in range(60):
        guess = f"+44770090{number:04}"
        with filled.calls() as seen:
            answer = client.post(where, data | {"typed": guess, "recipient": guess} | WHY)
        statuses.append(answer.status_code)
        if answer.status_code == 429:
            assert not [each for each in seen if set(each.tables) & set(DATA)]
            assert re.search(r"20 searches for personal data an hour.*Try again in 3 minutes", text_of(answer))
            assert answer["Retry-After"]
    assert [status == 429 for status in statuses] == [False] * 20 + [True] * 40
    done = [each for each in searches(filled) if each["result"] == "success"]
    refused = [each for each in searches(filled) if each["result"] != "success"]
    assert len({payload(each)["person"] for each in done}) == len(done) == 20
    assert sum(each.get("times", 1) for each in refused) == 40
    assert {each["result"] for each in refused} == {"failed: too many searches"}
    assert not any(f"77009000{number:02}" in str(each) for each in searches(filled) for number in range(60))
    looks = access_log_of_person("aiko.mori", as_staff(admin()))
    assert [row.what for row in looks.rows if row.name == "A customer"] == [
        (("was not allowed to search for personal data", 40),)
    ]
    assert [row.what for row in looks.rows if row.name != "A customer"] == [
        (("searched for, 0 found: complaint 4711", 1),)
    ] * 20


def test_refused_searches_do_not_tell_hits_from_misses(filled, settings):
    settings.PERSONAL_SEARCHES_PER_HOUR = 1
    client = signed_in(auditor())
    client.post("/search/", {"typed": NOBODYS} | WHY)
    hit, miss = (client.post("/search/", {"typed": each} | WHY) for each in (NUMBER, NOBODYS))
    assert hit.status_code == miss.status_code == 429
    assert without_what_changes(hit) == without_what_changes(miss)


@pytest.mark.parametrize(("url", "form"), FORMS)
def test_without_a_reason_nothing_is_searched(filled, url, form):
    client = signed_in(auditor())
    for given in ({}, {"reason": "  "}):
        with filled.calls() as seen:
            answer = client.post(url, form | given)
        assert answer.status_code in (200, 422)
        assert "The reason and a pseudonym of what you type are recorded" in text_of(answer)
        assert not [each for each in seen if set(each.tables) & set(DATA) and each.operation != "DescribeTable"]
    assert not searches(filled)


@pytest.mark.parametrize(("url", "form"), FORMS)
def test_with_a_reason_it_is_on_record_under_a_pseudonym(filled, url, form):
    client = signed_in(auditor())
    assert client.post(url, form | WHY).status_code in (200, 302)
    [entry] = searches(filled)
    assert (entry["conversation_id"], entry["actor"]) == ("STAFF#aiko.mori", "aiko.mori")
    told = payload(entry)
    assert told["reason"] == "complaint 4711"
    assert re.fullmatch("[a-p]{16}", told["person"])
    assert isinstance(told["hits"], int)
    assert told["looked_for"]
    assert not any(word in str(entry) for word in ("900123", "ana@", DIGEST))


def test_one_person_has_one_pseudonym_however_typed_and_hits_are_counted(filled):
    client = signed_in(auditor())
    for typed in (NUMBER, "0044 7700 900 123", "447700900123"):
        client.post("/search/", {"typed": typed} | WHY)
        client.post("/conversations/find/", {"look": "recipient", "recipient": typed} | WHY)
    client.post("/search/", {"typed": NOBODYS} | WHY)
    told = [payload(each) for each in searches(filled)]
    assert sorted(each["hits"] for each in told) == [0, 1, 1, 1, 1, 1, 1]
    assert len({each["person"] for each in told}) == 2


@pytest.mark.parametrize("url", ["/search/", "/conversations/find/"])
def test_a_number_without_country_code_is_in_the_log_of_whose_it_may_be(filled, url):
    register(COMPANY, "Lumen Lamps", "test", "2026-03-02T09:00:00Z")
    field = {"typed": "07700 900123"} if url == "/search/" else {"look": "recipient", "recipient": "07700 900123"}
    signed_in(auditor()).post(url, field | WHY)
    [entry] = searches(filled)
    assert len(payload(entry)["tried_as"]) == 1
    assert "7700900123" not in json.dumps(entry)
    looks, _ = access_log_of_recipient(NUMBER, as_staff(admin()))
    assert looks.read == 1
    signed_in(auditor()).post(url, {name: text.replace("123", "124") for name, text in field.items()} | WHY)
    assert access_log_of_recipient(NUMBER, as_staff(admin()))[0].read == 1


@pytest.mark.parametrize(("operation", "table"), [("UpdateItem", "CONSOLE"), ("PutItem", "AUDIT")])
@pytest.mark.parametrize("where", ["/search/", "/conversations/find/", "/audit/events/"])
def test_where_it_cannot_be_counted_or_recorded_nothing_is_told(filled, operation, table, where):
    client = signed_in(auditor())
    form = {"typed": NUMBER, "look": "event" if "audit" in where else "recipient", "recipient": NUMBER}
    with faults.fail_before(operation, table_key=table, times=faults.ALWAYS):
        answer = client.post(where, form | {"event_id": EVENT} | WHY)
    assert answer.status_code == 503
    assert not searches(filled)


def test_a_missing_trail_closes_the_search(filled):

    client = signed_in(auditor())
    filled.drop_table("AUDIT")
    presence.forget()
    try:
        answer = client.post("/search/", {"typed": NUMBER} | WHY)
    finally:
        filled.create_tables("AUDIT")
    assert answer.status_code == 503
    assert "only if the trail can record it" in text_of(answer)


def test_names_of_companies_and_usernames_need_no_reason(filled):
    register(COMPANY, "Lumen Lamps", "test", "2026-03-02T09:00:00Z")
    client = signed_in(auditor())
    assert client.post("/search/", {"typed": "Lumen Lamps"})["Location"] == f"/conversations/companies/{COMPANY}/"
    assert client.get("/audit/looks/", {"person": "amira.haddad"}).status_code == 200
    assert not searches(filled)


def test_who_may_reveal_is_asked_for_no_reason_and_is_on_record_once_an_hour(filled, settings):
    settings.PERSONAL_SEARCHES_PER_HOUR = 1
    for account in (member(), admin(), member("olga", "onboarding")):
        client = signed_in(account)
        assert "reason" not in text_of(client.get("/search/"))
        for _ in range(3):
            assert client.post("/search/", {"typed": NUMBER}).status_code == 302
    assert len(searches(filled)) == 3
    found = {each["conversation_id"]: payload(each) for each in searches(filled)}
    assert set(found) == {"STAFF#amira.haddad", "STAFF#ada.admin", "STAFF#olga"}
    assert found["STAFF#amira.haddad"]["hits"] == 1
    assert {each["looked_for"] for each in found.values()} == {"a phone number"}
    for each in searches(filled):
        assert "reason" not in payload(each)
        assert "900123" not in str(each)


def test_without_a_trail_who_may_reveal_searches_all_the_same(filled):
    client = signed_in(member())
    filled.drop_table("AUDIT")
    presence.forget()
    try:
        answer = client.post("/search/", {"typed": NUMBER})
    finally:
        filled.create_tables("AUDIT")
    assert answer.status_code == 302


@pytest.mark.parametrize("url", ["/search/", "/conversations/find/", "/chats/", "/audit/looks/", "/audit/events/"])
def test_the_reason_is_asked_for_where_one_types(filled, url):
    assert 'name="reason"' in text_of(signed_in(auditor()).get(url))


def test_a_link_to_results_is_no_way_around(filled, monkeypatch):
    """One's own link shows the results for an hour; later, and to somebody else who may not reveal, it asks anew."""
    filled.put("CONVERSATIONS", conversation(company_id=COMPANY, project_id="p", request_id="r2"))
    filled.put("TENANTS", {"pk": "TENANT#t", "sk": "META", "name": "T", "status": "active"})
    filled.put("TENANTS", {"pk": "TENANT#t", "sk": "USER#u", "channel_identities": '{"whatsapp": "+447700900123"}'})
    client, other = signed_in(auditor()), signed_in(auditor("otto"))
    link = client.post("/search/", {"typed": NUMBER} | WHY)["Location"]
    assert link.startswith("/search/?q=")
    assert "Users of tenants" in text_of(client.get(link))
    assert 'value="+447700900123"' in text_of(client.get(link))
    page = text_of(other.get(link))
    assert "Users of tenants</h2>" not in page
    assert "900123" not in page
    assert "Say why" in page
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=61))
    late = text_of(client.get(link))
    assert "Users of tenants</h2>" not in late
