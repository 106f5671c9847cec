"""The page of a conversation: what it shows to whom, what it costs, and that opening it is on record."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.test import Client

from console import clock
from console.refs import seal, seal_data
from console.store.presence import index_ready
from conversations.messages.content import SHOWN, first_blocks_of
from tests import faults
from tests.answers import text_of
from tests.items import put_conversation, url_of
from tests.people import OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages

HTMX = {"HTTP_HX_REQUEST": "true"}


def message(number: int, text: str, role: str = "assistant", minutes_ago: float = 0) -> dict:
    moment = clock.to_iso(clock.now() - timedelta(minutes=minutes_ago))
    return {"entry_id": f"e{number}", "role": role, "content": text, "message_timestamp": moment}


@pytest.fixture
def item(store):
    return put_conversation(store, messages=[message(1, "Hello there"), message(2, "call me on +447700900999", "user")])


def opened(store) -> list[dict]:
    return [entry for entry in store.all("AUDIT") if entry["action_type"] == "transcript.opened"]


def stable(text: str) -> str:
    """A page without what differs from one request to the next."""
    return re.sub(r'csrfmiddlewaretoken" value="[^"]*"|"X-CSRFToken": "[^"]*"', "", text)


# --- Who sees what ------------------------------------------------------------------------------------------------


def test_an_agent_reads_the_conversation(item):
    answer = signed_in(member()).get(url_of(item))
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "Hello there" in text
    assert "+447700900999" in text
    assert "***-***-0123" in text
    assert "+447700900123" not in text


def test_an_auditor_reads_it_masked(item):
    text = signed_in(auditor()).get(url_of(item)).content.decode()
    assert "Hello there" in text
    assert "900999" not in text
    assert "are masked for your role" in text
    assert "Reveal" not in text
    assert "Take over" not in text


def test_project_data_is_for_who_answers_and_is_on_record_like_the_transcript(store):
    data = {"candidate": "Zebedee Quackenbush", "call": "+447700900777", "api_key": "sk-abcdefghijklmnop"}
    item = put_conversation(store, project_data=data)
    for who in (member(), admin()):
        text = signed_in(who).get(url_of(item)).content.decode()
        assert "+447700900777" in text
        assert "Zebedee Quackenbush" in text
        assert "sk-abcdefghijklmnop" not in text
    masked = signed_in(auditor()).get(url_of(item)).content.decode()
    assert "7700900777" not in masked
    shown = {entry["actor"]: json.loads(entry["action_payload_redacted"])["shown"] for entry in opened(store)}
    assert shown == {"amira.haddad": "raw", "ada.admin": "raw", "aiko.mori": "redacted"}


def test_agents_see_what_helps_to_answer_and_others_how_it_is_stored_too(store):
    item = put_conversation(
        store,
        gsi_company_email="desk@us.example",
        project_data={"start_date": "1 March", "language": "Polish", "ok": False},
        odd_one=1,
    )
    technical = (
        "Technical details",
        "Hand-off as stored",
        "Index: our email",
        "hand_off_to_human",
        "Differs from the schema",
    )
    agents = html.unescape(signed_in(member()).get(url_of(item)).content.decode())
    rail = agents[agents.index('class="side"') : agents.index('class="main"')]
    titles = ("Hand-off</h2>", "What the customer wants</h2>", "<dt>Language</dt>", "Project data</h2>", "Start date")
    places = [rail.index(title) for title in titles]
    assert places == sorted(places)
    assert "<dt>Ok</dt><dd><bdi>no</bdi>" in rail
    assert not [words for words in (*technical, "odd_one") if words in agents]
    for who in (auditor(), admin()):
        page = html.unescape(signed_in(who).get(url_of(item)).content.decode())
        assert not [words for words in (*technical, "odd_one") if words not in page]
        assert '<details class="panel technical"><summary>' in page, "folded"


def test_the_instruction_to_the_ai_is_folded_and_said_to_be_one(store):
    item = put_conversation(
        store,
        messages=[message(1, "Be brief. Ask for the visa.", "user"), message(2, "Hello"), message(3, "hi", "user")],
    )
    page = signed_in(member()).get(url_of(item)).content.decode()
    folded = re.search(
        r"<b [^>]*>Instruction to the AI</b>.*?<details><summary>Show.*?Be brief.*?</details>", page, re.DOTALL
    )
    assert folded
    assert "Hello" not in folded[0]
    assert page.count("Instruction to the AI") == 1
    link = re.search(r'href="([^"]+)#m-[^"]+" aria-label="Link to message 1"', page)[1]
    assert "<details open><summary>Show" in signed_in(member()).get(html.unescape(link)).content.decode()


def test_without_a_trail_project_data_is_redacted_too(bare_store):
    bare_store.create_tables("CONVERSATIONS", "STAFF", "STAFF_SESSIONS", "CONSOLE")
    item = put_conversation(bare_store, project_data={"call": "+447700900777"})
    assert "7700900777" not in signed_in(member()).get(url_of(item)).content.decode()


def test_the_note_between_colleagues_is_for_those_who_hand_off(store):
    item = put_conversation(store, hand_off_note="her sister Bettina called", hand_off_to_human=True)
    assert "Bettina" in signed_in(member()).get(url_of(item)).content.decode()
    assert "Bettina" not in signed_in(auditor()).get(url_of(item)).content.decode()


def test_out_of_scope_is_answered_like_a_random_reference(store):
    foreign = put_conversation(store, company_id=OTHER_COMPANY)
    client = signed_in(member())
    random = f"/conversations/{seal('conversation', '+447000000000', 'x#y#z#1')}/"
    for part in ("", "timeline/"):
        one, other = client.get(url_of(foreign, part)), client.get(random + part)
        assert (one.status_code, other.status_code) == (404, 404)
        assert stable(one.content.decode()) == stable(other.content.decode())
        assert client.get("/conversations/not-a-reference/" + part).status_code == 404
    one, other = client.post(url_of(foreign, "reveal/")), client.post(random + "reveal/")
    assert (one.status_code, stable(one.content.decode())) == (404, stable(other.content.decode()))
    assert not store.all("AUDIT") or {entry["action_type"] for entry in store.all("AUDIT")} == {"staff.sign_in"}


def test_a_conversation_of_no_known_company_is_for_scope_all_only(store):
    item = put_conversation(store, conversation_id="odd", company_id=...)
    assert signed_in(member()).get(url_of(item)).status_code == 404
    assert signed_in(admin()).get(url_of(item)).status_code == 200


def test_a_conversation_past_its_ttl_is_gone(store):
    item = put_conversation(store, ttl=clock.to_epoch(clock.now()) - 5)
    assert signed_in(admin()).get(url_of(item)).status_code == 404


def test_roles_without_conversations_are_refused(item):
    client = signed_in(member("olga.onboarding", "onboarding"))
    for part in ("", "timeline/", "raw/"):
        assert client.get(url_of(item, part)).status_code == 403
    assert client.post(url_of(item, "reveal/")).status_code == 403


@pytest.mark.parametrize(
    ("part", "method"),
    [("", "post"), ("timeline/", "post"), ("raw/", "post"), ("reveal/", "put"), ("hand-off/", "put")],
)
def test_other_methods_are_refused(item, part, method):
    assert getattr(signed_in(admin()), method)(url_of(item, part)).status_code == 405


@pytest.mark.parametrize("part", ["reveal/", "hand-off/"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_who_opens_the_address_of_a_form_is_led_back_and_nothing_is_done(store, item, part, method):
    before, client = store.all("CONVERSATIONS"), signed_in(member())
    form = {"intent": re.search(r'name="intent" value="([^"]+)"', client.get(url_of(item)).content.decode())[1]}
    entries = store.all("AUDIT")
    answer = getattr(client, method)(url_of(item, part), form)
    assert (answer.status_code, answer["Location"]) == (302, url_of(item))
    assert (store.all("CONVERSATIONS"), store.all("AUDIT")) == (before, entries)
    nobody = Client().get(url_of(item, part))
    assert nobody["Location"].startswith("/sign-in/")
    assert signed_in(auditor()).get(url_of(item, part)).status_code == 403


# --- On record ----------------------------------------------------------------------------------------------------


def test_opening_is_recorded_once_an_hour_and_person(store, item):
    first, second = signed_in(member()), signed_in(auditor())
    for client in (first, first, second):
        assert client.get(url_of(item)).status_code == 200
    entries = opened(store)
    assert sorted(entry["actor"] for entry in entries) == ["aiko.mori", "amira.haddad"]
    assert {entry["conversation_id"] for entry in entries} == {item["conversation_id"]}
    assert {entry["company_id"] for entry in entries} == {"ci-aaa-001"}


def test_what_cannot_be_recorded_is_not_shown(store, item):
    client = signed_in(member())
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        answer = client.get(url_of(item))
    assert answer.status_code == 503
    assert "Hello there" not in answer.content.decode()


@pytest.mark.parametrize("header", ["HTTP_SEC_PURPOSE", "HTTP_PURPOSE"])
def test_a_prefetch_is_refused_and_not_recorded(store, item, header):
    client = signed_in(member())
    answer = client.get(url_of(item), **{header: "prefetch;anonymous-client-ip"})
    assert answer.status_code == 503
    assert not answer.content
    assert not opened(store)


# --- What it costs ------------------------------------------------------------------------------------------------


def test_the_page_makes_six_requests_and_is_readable_after_one(store, item):
    client = signed_in(member())
    # Which indexes there are is remembered for a minute.
    assert index_ready("IDEMPOTENCY", "conversation-id-index")
    with store.calls() as seen:
        client.get(url_of(item))
    assert [call.operation for call in seen[:2]] == ["BatchGetItem", "GetItem"]
    assert sorted((call.operation, *call.tables) for call in seen[2:]) == [
        ("GetItem", "CONVERSATION_STATE"),
        ("PutItem", "AUDIT"),
        ("Query", "AUDIT"),
        ("Query", "IDEMPOTENCY"),
    ]


def test_ten_thousand_messages_open_with_the_same_requests(store):
    entries = [{"role": "user", "text": f"text {n}"} for n in range(1, 10_001)]
    # An item counts once more for each local index that holds it; without their keys it may have the full 400 KB.
    keys = dict.fromkeys(("created_at", "task_complete", "conversation_status", "channel_method"), ...)
    item = put_conversation(store, messages=json.dumps(entries, separators=(",", ":")), **keys)
    client = signed_in(member())
    assert index_ready("IDEMPOTENCY", "conversation-id-index")
    with store.calls() as seen:
        text = client.get(url_of(item)).content.decode()
    assert len(seen) == 6
    assert text.count('class="msg ') == 100
    assert "Show 100 of 9900 earlier messages" in text
    assert "text 10000" in text


# --- What stands beside -------------------------------------------------------------------------------------------


def test_missing_state_is_one_line_in_its_panel(bare_store):
    bare_store.create_tables("CONVERSATIONS", "STAFF", "STAFF_SESSIONS", "AUDIT")
    item = put_conversation(bare_store)
    answer = signed_in(admin()).get(url_of(item))
    assert answer.status_code == 200
    assert "This environment has no middleware state table" in text_of(answer)


@pytest.mark.parametrize(
    ("operation", "table", "line"),
    [
        ("GetItem", "CONVERSATION_STATE", "The middleware's state could not be read. Try again in a moment."),
        ("Query", "AUDIT", "The trail could not be read"),
    ],
)
def test_what_fails_beside_the_transcript_is_one_line(store, item, operation, table, line):
    client = signed_in(member())
    with faults.fail_before(operation, table_key=table, times=faults.ALWAYS):
        answer = client.get(url_of(item))
    text = text_of(answer)
    assert answer.status_code == 200
    assert line in text
    assert "Hello there" in text


def test_the_hand_off_is_told_between_the_messages(store):
    now = clock.now()
    item = put_conversation(
        store,
        messages=[message(1, "early", "user", 60), message(2, "late answer", "assistant", 5)],
        hand_off_to_human=True,
        hand_off_agent="amira.haddad",
        hand_off_requested_at=clock.to_iso(now - timedelta(minutes=50)),
        hand_off_taken_at=clock.to_iso(now - timedelta(minutes=20)),
        hand_off_to_human_reason="User requested agent",
    )
    text = signed_in(member()).get(url_of(item)).content.decode()
    assert 'Why is this here? <span dir="auto">A human was requested.</span>' in text
    talk = text[text.index('id="talk"') :]
    order = [talk.index(words) for words in ("early", "A human was requested", "You took over", "late answer")]
    assert order == sorted(order)
    assert "the AI answered after you took over" in text


def test_text_is_text(store):
    item = put_conversation(
        store,
        messages=[message(1, "<script>alert(1)</script><img src=x onerror=alert(1)>")],
        company_name="<b>Bold</b>",
        project_data={"<i>key</i>": "<u>value</u>"},
        hand_off_to_human=True,
        hand_off_to_human_reason="<s>why</s>",
    )
    text = signed_in(member()).get(url_of(item)).content.decode()
    for tag in ("<script>alert", "<img", "<b>Bold", "<i>key", "<u>value", "<s>why"):
        assert tag not in text


DRIFTED = [
    {"messages": None},
    {"messages": ...},
    {"messages": "text"},
    {"messages": [None, 3, {"content": {"x": [1]}}]},
    {"channel_method": ...},
    {"conversation_status": ...},
    {"hand_off_to_human": "true"},
    {"hand_off_taken_at": 5},
    {"hand_off_agent": ["x"]},
    {"ttl": "never"},
    {"channel_config": "{broken"},
    {"recipient_tel": 447700900123, "gsi_recipient_tel": ...},
    {"novelty": {"a": [None, {"b": True}]}},
    {"company_name": {"x": 1}},
]


@pytest.mark.parametrize("overrides", DRIFTED, ids=lambda overrides: f"{overrides}"[:40])
def test_a_drifted_item_is_a_page_all_the_same(store, overrides):
    item = put_conversation(store, **overrides)
    client = signed_in(admin())
    for part in ("", "raw/", "timeline/"):
        assert client.get(url_of(item, part)).status_code == 200
    assert client.post(url_of(item, "reveal/")).status_code == 200


def test_next_and_previous_only_within_a_list_that_the_console_sealed(item):
    client = signed_in(member())
    assert 'data-key="j"' not in client.get(url_of(item)).content.decode()
    assert 'data-key="j"' not in client.get(url_of(item) + "?in=made-up").content.decode()
    sealed = seal_data("list", {"list": "company", "company": "ci-aaa-001", "filters": {}})
    text = client.get(f"{url_of(item)}?in={sealed}").content.decode()
    assert f"step/next/?in={sealed}" in text
    assert f"step/previous/?in={sealed}" in text


# --- Earlier messages and permalinks --------------------------------------------------------------------------------


@pytest.fixture
def long_item(store):
    return put_conversation(store, messages=[message(n, f"number {n}.", minutes_ago=300 - n) for n in range(1, 251)])


def totals_in(answer) -> str:
    found = re.search(r'<p class="totals">(.*?)</p>', answer.content.decode())
    return re.sub(r"<[^>]+>", "", html.unescape(found[1])) if found else ""


def test_the_totals_stand_above_the_messages_and_come_with_the_latest(store):
    messages = [
        message(1, "where is it", "user", 30) | {"message_id": "SM1"},
        message(2, "Let me see", "assistant", 29) | {"ai_prompt_tokens": 4000, "ai_completion_tokens": 1000},
        message(3, "a person please", "user", 20) | {"message_id": "SM3"},
        message(4, "Here I am", "agent", 5),
    ]
    asked = clock.to_iso(clock.now() - timedelta(minutes=20))
    more = {"hand_off_to_human": True, "hand_off_requested_at": asked, "ai_config": {"model": "gpt-4o-mini"}}
    item = put_conversation(store, messages=messages, **more)
    browser = signed_in(member())
    words = (
        "4 messages · 5,000 tokens, about $0.0012 (gpt-4o-mini) · 1 turn until the hand-off · AI answered in 1 min · "
        "first human answer after 15 min"
    )
    assert totals_in(browser.get(url_of(item))) == words
    assert totals_in(browser.get(url_of(item), {"latest": "1"}, **HTMX)) == words
    assert totals_in(browser.get(url_of(item), {"before": "3"}, **HTMX)) == ""


def test_where_the_trail_cannot_be_read_nothing_is_said_of_the_hand_off(store):
    talk = [message(1, "hi", "user", 9) | {"message_id": "SM1"}, message(2, "Hello", "assistant", 8)]
    asked = clock.to_iso(clock.now() - timedelta(minutes=2))
    item = put_conversation(store, messages=talk, hand_off_to_human=True, hand_off_requested_at=asked)
    assert "until the hand-off" in totals_in(signed_in(member()).get(url_of(item)))
    with faults.fail_before("Query", table_key="AUDIT", times=faults.ALWAYS):
        assert totals_in(signed_in(member()).get(url_of(item))) == "2 messages · AI answered in 1 min"


def test_earlier_messages_come_as_fragment_and_as_page_under_one_url(long_item):
    client = signed_in(member())
    link = re.search(r'hx-get="([^"]*before=151[^"]*)"', client.get(url_of(long_item)).content.decode())
    url = html.unescape(link.group(1))
    fragment = client.get(url, **HTMX).content.decode()
    assert "<html" not in fragment
    assert fragment.count('class="msg ') == 100
    assert "number 51." in fragment
    assert "number 150." in fragment
    assert "number 151." not in fragment
    page = client.get(url).content.decode()
    assert "<html" in page
    assert "number 51." in page
    assert "Later messages" in page


def test_a_permalink_shows_its_message_in_place(long_item):
    client = signed_in(member())
    fragment = client.get(url_of(long_item) + "?before=51", **HTMX).content.decode()
    link = re.search(r'href="([^"]*\?at=([a-p]+)#m-\2)" aria-label="Link to message 7"', fragment)
    page = client.get(html.unescape(link.group(1)).split("#")[0]).content.decode()
    found = re.search(rf'<li class="msg ai at" id="m-{link.group(2)}">.*?</li>', page, re.DOTALL)
    assert "number 7." in found.group(0)


@pytest.mark.parametrize(
    "query", ["before=x", "before=-1", "before=99999999999", "at=../../", "at=%00", "in=%F0%9F%98%80"]
)
def test_a_made_up_place_is_the_latest_messages(long_item, query):
    answer = signed_in(member()).get(f"{url_of(long_item)}?{query}")
    assert answer.status_code == 200
    assert "number 250." in answer.content.decode()


# --- Raw ------------------------------------------------------------------------------------------------------------


def test_the_raw_item_is_for_admins_redacted_and_on_record(store):
    item = put_conversation(
        store,
        messages=[message(1, "mail jo@doe.example", "user")],
        ai_config={"api_key": "sk-abcdefghijklmnop", "model": "gpt-4o"},
        recipient_first_name="Zebedee",
    )
    text = html.unescape(signed_in(admin()).get(url_of(item, "raw/")).content.decode())
    shown = json.loads(re.search(r"<pre[^>]*>(.*)</pre>", text, re.DOTALL).group(1))
    assert shown["ai_config"]["model"] == "gpt-4o"
    for personal in ("jo@doe.example", "sk-abcdefghijklmnop", "Zebedee", "7700900123"):
        assert personal not in text
    assert [entry["actor"] for entry in opened(store)] == ["ada.admin"]
    assert '"shown": "redacted"' in opened(store)[0]["action_payload_redacted"]
    # It does not stand for a look at the transcript itself, later in the hour.
    signed_in(admin()).get(url_of(item))
    assert sorted('"shown": "raw"' in each["action_payload_redacted"] for each in opened(store)) == [False, True]
    assert signed_in(member()).get(url_of(item, "raw/")).status_code == 403


# --- Timeline ---------------------------------------------------------------------------------------------------------


def test_the_timeline_joins_trail_and_records_in_one_order_of_time(store, item):
    now, cid = clock.now(), item["conversation_id"]

    def at(minutes: int) -> str:
        return clock.to_iso(now - timedelta(minutes=minutes))

    store.put("AUDIT", {"conversation_id": cid, "ts_action_id": f"{at(30)}#m1", "action_type": "route",
                        "action_payload_redacted": '{"team": "Returns team"}', "idempotency_key": "evt:rp:c1:m1",
                        "result": "success"})  # fmt: skip
    store.put("AUDIT", {"conversation_id": cid, "ts_action_id": f"{clock.to_epoch(now) - 600}#m2", "action_type": "tag",
                        "action_payload_redacted": '{"tag": "visa"}', "result": "fail: timeout"})  # fmt: skip
    store.put("AUDIT", {"conversation_id": cid, "ts_action_id": f"{at(5)}#h1", "action_type": "hand_off.take_over",
                        "action_payload_redacted": "{}", "result": "pending", "actor": "amira.haddad",
                        "actor_role": "agent"})  # fmt: skip
    store.put(
        "IDEMPOTENCY", {"event_id": "evt:rp:c1:m1", "received_at": at(31), "status": "processed", "mode": "route_only"}
    )
    client = signed_in(member())
    for headers in ({}, HTMX):
        text = client.get(url_of(item, "timeline/"), **headers).content.decode()
        order = [
            text.index(words)
            for words in (
                "Amira Haddad is about to take over",
                "Tried to tag visa",
                "Routed to Returns team",
                "A message that came in",
            )
        ]
        assert order == sorted(order)
        assert "pending" in text
        assert ("<html" in text) is (headers == {})


@pytest.mark.parametrize(
    ("zone", "instant"), [("Europe/London", "0001-01-01T00:00:00Z"), ("Asia/Tokyo", "9999-12-31T23:59:59Z")]
)
def test_a_time_that_no_zone_can_show_does_not_break_the_page(store, zone, instant):
    stored = put_conversation(
        store, created_at=instant, messages=[message(1, "Hello there") | {"message_timestamp": instant}]
    )
    answer = signed_in(member(time_zone=zone)).get(url_of(stored))
    assert answer.status_code == 200
    assert "Hello there" in answer.content.decode()


def test_another_companys_entries_under_the_same_id_stay_out(store):
    stored = put_conversation(store)
    entry = {
        "conversation_id": stored["conversation_id"],
        "ts_action_id": f"{clock.to_iso(clock.now())}#a1",
        "action_type": "hand_off.take_over",
        "result": "success",
        "actor": "bob.other",
        "actor_role": "agent",
    }
    store.put("AUDIT", entry | {"company_id": OTHER_COMPANY})
    client = signed_in(member())
    for part in ("", "timeline/"):
        assert "bob.other" not in client.get(url_of(stored, part)).content.decode()
    store.put("AUDIT", entry)
    for part in ("", "timeline/"):
        assert "bob.other" in client.get(url_of(stored, part)).content.decode()


def test_drifted_flags_and_channels_are_masked_too(store):
    drifted = dict.fromkeys(("channel_method", "hand_off_to_human", "hand_off_wanted"), "call +447700900999")
    stored = put_conversation(store, **drifted)
    assert "447700900999" not in signed_in(auditor()).get(url_of(stored)).content.decode()


LONG = "Please call +44 7700 900123. " * 3_300


def long_emails(store, count: int) -> str:
    said = [message(number, f"{number}. {LONG}The end.", "user") for number in range(1, count + 1)]
    return url_of(put_conversation(store, messages=[message(0, "Hello", "system"), *said]))


@pytest.mark.parametrize("person", [member, auditor])
def test_of_a_long_message_only_the_beginning_is_shown_and_all_of_it_on_demand(store, person):
    client, url = signed_in(person()), long_emails(store, 3)
    page = client.get(url).content.decode()
    assert len(page) < 100_000
    assert (page.count("Show all<"), page.count("The end.")) == (3, 0)
    assert len(re.findall(r"9\d,\d{3} more characters", page)) == 3
    [second] = re.findall(r'href="([^"]*\?at=[^"]*)">Show all', page)[1:2]
    whole = client.get(html.unescape(second)).content.decode()
    assert (whole.count("Show all<"), whole.count("The end.")) == (2, 1)


def test_a_cut_leaves_no_part_of_a_number_for_those_who_may_not_see_it(store):
    for before in range(4_060, 4_110):
        text = "x" * before + " +447700900123 " + "y " * 1_000
        shown, _, left_out = first_blocks_of({"content": text}, SHOWN, raw=False)
        assert "7700" not in shown[0].text
        assert len(shown[0].text) <= SHOWN
        assert left_out >= len(text) - SHOWN


def test_a_long_message_that_is_masked_to_the_end_says_so():
    blocks, _, left_out = first_blocks_of({"content": "card " + "4111111111111111 " * 4_000}, SHOWN, raw=False)
    assert blocks[0].text.startswith("card ***")
    assert "4111" not in blocks[0].text
    assert left_out > 0


def test_the_text_of_many_parts_is_bounded_too():
    parts = [{"type": "text", "text": "word " * 100}] * 100
    blocks, _, left_out = first_blocks_of({"content": parts}, SHOWN, raw=True)
    shown = sum(len(each.text) for each in blocks)
    assert SHOWN - 512 < shown <= SHOWN
    assert shown + left_out == 50_000
