"""The list pages: what each asks of DynamoDB, who sees what, filters, pages, rows, and the steps between rows."""

import re
from html import unescape

import pytest
from django.urls import reverse

from console import clock
from console.refs import seal
from conversations.companies import register
from conversations.converting import list_link, open_list_context, reference_of, seal_list_context
from conversations.records import Family
from tests import faults
from tests.items import conversation, put_conversation, reference, url_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.queue import filled, swept

pytestmark = pytest.mark.pages

TEL = "+447700900123"
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def agent(store):
    return signed_in(member())


def text_of(response) -> str:
    return unescape(re.sub(r"\s+", " ", response.content.decode()))


def rows_in(response) -> list[str]:
    """The rows' links, in order."""
    return [unescape(url) for url in re.findall(r'<a [^>]*data-open href="([^"]+)"', response.content.decode())]


def link(response, label: str) -> str:
    """The href of the link whose text begins with `label`."""
    found = re.search(rf'<a [^>]*href="([^"]+)"[^>]*>(?:<svg.*?</svg>)?\s*{label}', response.content.decode())
    return unescape(found[1]) if found else ""


def told(response) -> str:
    """What the page says, without the token of its forms, which differs from answer to answer."""
    return re.sub(r"X-CSRFToken[^}]*|csrfmiddlewaretoken[^>]*", "", response.content.decode())


def signed_in_reads(seen) -> list[str]:
    return [f"{call.operation} {call.index or call.tables[0]}" for call in seen]


def recipient_url(recipient: str = TEL) -> str:
    return reverse("recipient", args=[seal("recipient", recipient)])


def replies_url(ours: str = "+447588713814", recipient: str = TEL, channel: str = "whatsapp") -> str:
    return reverse("replies", args=[seal("replies", channel, ours, recipient)])


def company_url(company: str = COMPANY, project: str = "") -> str:
    return reverse("project", args=[company, project]) if project else reverse("company", args=[company])


# The saved views beside a list: a person's own, and, once in a while, the shared ones.
VIEWS = ["Query", "Query"]


# --- Companies and projects ---------------------------------------------------------------------------------


def test_the_company_list_is_one_query_beside_the_sign_in_read_and_the_views(store):
    client = signed_in(member(scope=[COMPANY, OTHER_COMPANY]))
    register(COMPANY, "Cucumber Recruitment", "demo", "2026-01-01T00:00:00Z")
    with store.calls() as seen:
        response = client.get("/conversations/")
    assert response.status_code == 200
    assert [call.operation for call in seen] == ["BatchGetItem", "Query", *VIEWS]
    assert "Cucumber Recruitment" in text_of(response)
    assert OTHER_COMPANY in text_of(response)


def test_projects_come_as_fragment_and_as_plain_link(store):
    client = signed_in(member(scope=[COMPANY, OTHER_COMPANY]))
    put_conversation(store, project_id="pi-a", project_name="Clarify CV")
    put_conversation(store, project_id="pi-b", project_name="Interviews")
    page = client.get("/conversations/", {"company": COMPANY})
    fragment = client.get("/conversations/", {"company": COMPANY}, **HTMX)
    for response in (page, fragment):
        assert company_url(COMPANY, "pi-a") in response.content.decode()
        assert "Interviews" in text_of(response)
    assert "<html" in page.content.decode()
    assert "<html" not in fragment.content.decode()
    assert client.get("/conversations/", {"company": "ci-random"}).status_code == 404


def test_a_persons_only_company_has_its_projects_opened(store, agent):
    put_conversation(store, project_name="Clarify CV")
    assert "Clarify CV" in text_of(agent.get("/conversations/"))


def test_an_empty_scope_is_told_kindly_and_no_role_but_readers_comes_in(store):
    nothing = signed_in(member("nora.none", scope=[])).get("/conversations/")
    assert nothing.status_code == 200
    assert "Nothing is in your scope yet" in text_of(nothing)
    assert signed_in(member("olu.board", "onboarding")).get("/conversations/").status_code == 403


# --- Lists --------------------------------------------------------------------------------------------------


def test_a_company_page_is_one_query_beside_the_views_and_shows_rows_that_open_with_their_list(store, agent):
    put_conversation(store, hand_off_to_human=True, hand_off_to_human_reason="Call me on +447700900555")
    with store.calls() as seen:
        response = agent.get(company_url())
    assert signed_in_reads(seen)[1:] == ["Query company-id-updated-at-index", *[f"{each} CONSOLE" for each in VIEWS]]
    shown = text_of(response)
    assert "***-***-0123" in shown
    assert TEL not in response.content.decode()
    assert "900555" not in shown
    assert "WhatsApp" in shown
    assert "initial message sent" in shown
    assert "waiting for a human" in shown
    assert "Clarify CV" in shown
    (row,) = rows_in(response)
    path, token = row.split("?in=")
    assert path.startswith("/conversations/")
    context = open_list_context(token)
    assert context == {"list": "company", "company": COMPANY, "filters": {}}
    assert list_link(context).url == company_url()


@pytest.mark.parametrize("name", ["company", "project"])
def test_out_of_scope_answers_exactly_as_a_random_id(store, agent, name):
    put_conversation(store, company_id=OTHER_COMPANY)
    project = "pi-aaa-001" if name == "project" else ""
    theirs, random = (agent.get(company_url(one, project)) for one in (OTHER_COMPANY, "ci-random-9"))
    assert theirs.status_code == random.status_code == 404
    assert told(theirs) == told(random)


def test_a_project_without_conversations_and_a_company_nobody_named_are_not_there(store, agent):
    assert agent.get(company_url(COMPANY, "pi-none")).status_code == 404
    assert agent.get(company_url(COMPANY, "pi-none"), {"status": "failed"}).status_code == 404
    assert agent.get(company_url()).status_code == 200
    everything = signed_in(admin())
    assert everything.get(company_url("ci-nobody")).status_code == 404
    assert everything.get(company_url("x" * 2000)).status_code == 404
    register("ci-named", "Named", "demo", "2026-01-01T00:00:00Z")
    response = everything.get(company_url("ci-named"))
    assert response.status_code == 200
    assert "No conversations yet" in text_of(response)


def test_pages_of_fifty_lead_on_and_back_and_to_the_first(store, agent):
    store.put_all("CONVERSATIONS", [conversation(project_id=f"pi-{number:03d}") for number in range(120)])
    with store.calls() as seen:
        first = agent.get(company_url())
    assert signed_in_reads(seen)[1:] == ["Query company-id-updated-at-index", *[f"{each} CONSOLE" for each in VIEWS]]
    assert len(rows_in(first)) == 50
    assert not link(first, "Back")
    second = agent.get(link(first, "Next"))
    third = agent.get(link(second, "Next"))
    assert [len(rows_in(page)) for page in (second, third)] == [50, 20]
    assert not link(third, "Next")
    assert len({row for page in (first, second, third) for row in rows_in(page)}) == 120
    assert rows_in(agent.get(link(third, "Back"))) == rows_in(second)
    assert rows_in(agent.get(link(second, "Back"))) == rows_in(first)
    assert link(third, "First") == company_url()


def test_a_quiet_project_shows_its_rows_however_busy_its_siblings_are(store, agent):
    busy = [conversation(project_id="pi-busy", request_id=f"b{number}") for number in range(1000)]
    times = [f"2026-01-01T00:00:{number:02}Z" for number in range(20)]
    quiet = [conversation(project_id="pi-quiet", updated_at=each) for each in times]
    store.put_all("CONVERSATIONS", [*busy, *quiet])
    with store.calls() as seen:
        response = agent.get(company_url(COMPANY, "pi-quiet"))
    assert [row.split("?")[0] for row in rows_in(response)] == [url_of(each) for each in reversed(quiet)]
    assert "Searched" not in text_of(response)
    assert len([call for call in seen if call.operation == "Query" and call.tables == ("CONVERSATIONS",)]) <= 2


def test_a_project_has_no_order_to_choose_and_an_old_link_with_one_works(store, agent):
    put_conversation(store)
    assert 'name="order"' in agent.get(company_url()).content.decode()
    response = agent.get(company_url(COMPANY, "pi-aaa-001"), {"order": "project"})
    assert 'name="order"' not in response.content.decode()
    assert len(rows_in(response)) == 1


def test_as_many_rows_stand_behind_a_number_as_it_says(store, agent):
    filled(store)
    for number in range(12):
        at = {"hand_off_requested_at": f"2026-01-01T00:00:{number:02}Z", "updated_at": f"2026-01-01T00:00:{number:02}Z"}
        where = ("urgent" if number % 4 == 0 else "waiting") + f"#{COMPANY}"
        put_conversation(
            store, project_id=f"pi-{number % 3 % 2}", hand_off_to_human=True, gsi_hand_off_queue=where, **at
        )
    store.put_all("CONVERSATIONS", [conversation(project_id="pi-1") for _ in range(900)])
    page = agent.get("/conversations/", {"company": COMPANY})
    numbers = re.findall(r'href="([^"]+hand_off=waiting)" aria-label="(\d+) waiting in', page.content.decode())
    assert sorted(int(number) for _, number in numbers) == [4, 8]
    for url, number in numbers:
        assert len(rows_in(agent.get(unescape(url)))) == int(number)


def test_a_foreign_or_damaged_cursor_shows_the_first_page_and_says_so(store, agent):
    store.put_all("CONVERSATIONS", [conversation(project_id=f"pi-{number:03d}") for number in range(60)])
    first = agent.get(company_url())
    onward = link(first, "Next")
    stranger = signed_in(member("jon.stone"))
    for client, url in ((stranger, onward), (agent, onward + "&status=failed"), (agent, company_url() + "?page=junk")):
        response = client.get(url)
        assert response.status_code == 200
        assert "This is the first page" in text_of(response)
    assert rows_in(stranger.get(onward)) == rows_in(first)


def test_filters_narrow_live_in_the_url_and_stay_over_pages(store, agent):
    for number in range(60):
        put_conversation(store, project_id=f"pi-{number:03d}", conversation_status="failed")
    put_conversation(store, conversation_status="completed")
    response = agent.get(company_url(), {"status": "failed"})
    assert len(rows_in(response)) == 50
    assert "status=failed" in link(response, "Next")
    assert len(rows_in(agent.get(link(response, "Next")))) == 10
    empty = agent.get(company_url(), {"status": "processing"})
    assert empty.status_code == 200
    assert "No conversations match" in text_of(empty)


def test_junk_in_a_filter_costs_a_message_and_never_reaches_the_store(store, agent):
    put_conversation(store)
    junk = {"status": "<script>", "channel": "x" * 5000, "hand_off": "perhaps", "task": "2", "page": "\x00"}
    with store.calls() as seen:
        response = agent.get(company_url(), junk)
        fragment = agent.get(company_url(), {"task": "2"}, **HTMX)
    assert response.status_code == 200
    assert len(rows_in(response)) == 1
    assert text_of(response).count('class="errorlist"') == 4
    assert "This filter was ignored" in text_of(fragment)
    assert "<script>" not in response.content.decode().split("<main")[1]
    sent = str([call.request for call in seen])
    assert not any(str(value) in sent for value in ("<script>", "xxxxx", "perhaps"))


def test_the_same_url_gives_the_list_alone_to_htmx(store, agent):
    put_conversation(store)
    for url in (company_url(), company_url(COMPANY, "pi-aaa-001"), recipient_url(), replies_url()):
        page, fragment = agent.get(url), agent.get(url, **HTMX)
        assert rows_in(page) == rows_in(fragment)
        assert fragment.content.decode().strip().startswith('<div id="list">')


def test_drifted_rows_are_flagged_and_the_others_render(store, agent):
    put_conversation(store, request_id="ok")
    put_conversation(store, request_id="bad", task_complete=..., company_name={"a": 1})
    response = agent.get(company_url())
    shown = text_of(response)
    assert len(rows_in(response)) == 2
    assert shown.count("Some attributes are not in the expected form") == 1
    assert "company_name: map instead of text" in shown


def test_foreign_ids_that_no_url_can_hold_are_rows_without_a_broken_page(store, agent):
    put_conversation(store, project_id="a/b", project_name="<b>&amp;</b>")
    put_conversation(store, project_id="..")
    response = agent.get(company_url())
    assert response.status_code == 200
    assert len(rows_in(response)) == 2
    assert "<b>&" not in response.content.decode()
    assert agent.get("/conversations/", {"company": COMPANY}).status_code == 200


def test_a_thin_page_offers_to_search_on(store, agent, monkeypatch):
    monkeypatch.setattr("console.store.paging._limit", lambda *_: 2)
    for number in range(9):
        at = f"2026-01-02T00:00:0{number}Z"
        put_conversation(store, project_id=f"pi-{number}", conversation_status="other", updated_at=at)
    put_conversation(store, project_id="pi-9", conversation_status="failed", updated_at="2026-01-01")
    response = agent.get(company_url(), {"status": "failed"})
    assert "Searched the newest 8 conversations: none of them matches." in text_of(response)
    onward = link(response, "Keep searching")
    assert len(rows_in(agent.get(onward))) == 1


# --- Recipients and replies ---------------------------------------------------------------------------------


def test_a_recipients_page_masks_who_it_is_and_filters_by_days_of_the_persons_zone(store):
    client = signed_in(member(time_zone="Asia/Tokyo"))
    put_conversation(store, conversation_status="in", created_at="2026-02-28T15:00:00Z")
    put_conversation(store, conversation_status="out", created_at="2026-03-01T15:00:00Z")
    with store.calls() as seen:
        response = client.get(recipient_url(), {"since": "2026-03-01", "until": "2026-03-01"})
    assert "created-at-index" in {call.index for call in seen}
    assert len(rows_in(response)) == 1
    assert "***-***-0123" in text_of(response)
    assert TEL not in response.content.decode()
    for query in ({"since": "2026-03-02", "until": "2026-03-01"}, {"since": "03/01/2026"}, {"until": "0001-01-01"}):
        refused = client.get(recipient_url(), query)
        assert refused.status_code == 200
        assert "errorlist" in refused.content.decode()


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({"status": "failed"}, "conversation-status-index"),
        ({"channel": "sms"}, "channel-method-index"),
        ({"task": "1"}, "task-complete-index"),
        ({"since": "2026-01-01"}, "created-at-index"),
    ],
)
def test_a_recipients_filters_use_their_local_index(store, agent, query, index):
    put_conversation(store)
    with store.calls() as seen:
        assert agent.get(recipient_url(), query).status_code == 200
    assert index in [call.index for call in seen]
    # The session, the list, and that it was opened.
    assert {call.operation for call in seen} == {"BatchGetItem", "Query", "PutItem"}


@pytest.mark.parametrize("url", [recipient_url, replies_url])
def test_a_recipient_with_nothing_in_scope_answers_as_an_unknown_one_filtered_or_not(store, agent, url):
    put_conversation(store, company_id=OTHER_COMPANY)
    out_of_scope = agent.get(url(recipient=TEL))
    unknown = agent.get(url(recipient="+15550000000"))
    filtered = agent.get(url(recipient=TEL), {"status": "failed"})
    junk = agent.get(reverse("recipient", args=["junk"]))
    assert {response.status_code for response in (out_of_scope, unknown, filtered, junk)} == {404}
    assert told(out_of_scope) == told(unknown) == told(junk) == told(filtered)


def test_a_recipients_filters_that_leave_nothing_show_an_empty_state(store, agent):
    put_conversation(store)
    response = agent.get(recipient_url(), {"status": "failed"})
    assert response.status_code == 200
    assert "No conversations match" in text_of(response)


def test_a_reference_of_another_kind_is_not_a_recipient(store, agent):
    item = put_conversation(store)
    reference = reference_of(TEL, item["conversation_id"])
    assert agent.get(reverse("recipient", args=[reference])).status_code == 404
    assert agent.get(reverse("replies", args=[seal("replies", "fax", "a", "b")])).status_code == 404


def test_lists_only_answer_to_get(agent):
    for url in ("/conversations/", company_url(), recipient_url(), replies_url()):
        assert agent.post(url).status_code == 405


# --- Last message -------------------------------------------------------------------------------------------

SAID = "Write to jo@example.com <script>alert(1)</script>"


def last_message_url(item) -> str:
    return reverse("conversation-last-message", args=[reference(item)])


def test_the_last_message_is_escaped_text_for_agents_on_record_and_a_redacted_excerpt_for_auditors(store, agent):
    item = put_conversation(
        store, messages=[{"role": "assistant", "content": "first"}, {"role": "user", "content": SAID}]
    )
    raw = agent.get(last_message_url(item), **HTMX)
    assert "jo@example.com &lt;script&gt;" in raw.content.decode()
    trail = [entry for entry in store.all("AUDIT") if entry["conversation_id"] == item["conversation_id"]]
    assert [entry["action_type"] for entry in trail] == ["transcript.opened"]
    redacted = signed_in(auditor()).get(last_message_url(item), **HTMX)
    assert "jo@example.com" not in redacted.content.decode()
    assert "***@***" in redacted.content.decode()
    assert "<script>" not in redacted.content.decode()


def test_without_a_trail_the_last_message_is_redacted_for_everyone(store, agent):
    item = put_conversation(store, messages=[{"role": "user", "content": SAID}])
    with faults.refuse("PutItem", code="ResourceNotFoundException", table_key="AUDIT"):
        response = agent.get(last_message_url(item), **HTMX)
    assert response.status_code == 200
    assert "jo@example.com" not in response.content.decode()


@pytest.mark.parametrize(
    "messages", [[], ..., None, "[]", "text", 7, [{"content": [{"type": "text", "text": "part"}]}]]
)
def test_the_last_message_of_a_drifted_conversation_never_breaks(store, agent, messages):
    item = put_conversation(store, messages=messages)
    assert agent.get(last_message_url(item), **HTMX).status_code == 200


def test_the_last_message_out_of_scope_is_not_there_and_without_scripts_the_link_leads_to_the_page(store, agent):
    mine, other = conversation(), conversation(company_id=OTHER_COMPANY)
    for item in (mine, other):
        store.put("CONVERSATIONS", item)
    assert agent.get(last_message_url(other), **HTMX).status_code == 404
    response = agent.get(last_message_url(mine))
    assert response.status_code == 302
    assert response["Location"] == reverse("conversation", args=[reference_of(TEL, mine["conversation_id"])])


# --- Steps --------------------------------------------------------------------------------------------------


def step(client, row: str, direction: str):
    path, _, token = row.partition("?in=")
    return client.get(f"{path}step/{direction}/", {"in": token})


def test_next_and_previous_walk_the_filtered_list_and_end_at_it(store, agent):
    for number in range(4):
        status = "failed" if number != 2 else "completed"
        put_conversation(store, project_id=f"pi-{number}", conversation_status=status)
    first, second, third = rows_in(agent.get(company_url(), {"status": "failed"}))
    with store.calls() as seen:
        onward = step(agent, first, "next")
    assert [call.operation for call in seen] == ["BatchGetItem", "GetItem", "Query"]
    assert onward["Location"] == second
    assert step(agent, second, "next")["Location"] == third
    assert step(agent, third, "previous")["Location"] == second
    end = step(agent, third, "next")
    assert end["Location"] == f"{company_url()}?status=failed"
    assert "That was the end of the list." in text_of(agent.get(end["Location"]))
    assert step(agent, first, "previous")["Location"] == f"{company_url()}?status=failed"


@pytest.mark.parametrize("url", [recipient_url(), replies_url(), company_url(COMPANY, "pi-aaa-001")])
def test_every_list_has_its_steps(store, agent, url):
    for number in range(2):
        put_conversation(store, request_id=f"r{number}")
    first, second = rows_in(agent.get(url))
    assert step(agent, first, "next")["Location"] == second
    assert step(agent, second, "next")["Location"] == url


def test_a_step_from_the_queue_goes_to_who_waits_next(store, agent):
    swept(store)
    for number in range(3):
        moment = f"2026-01-0{number + 1}T00:00:00Z"
        put_conversation(store, hand_off_to_human=True, hand_off_requested_at=moment, request_id=f"r{number}")
    token = seal_list_context({"list": "queue", "tab": "waiting", "filters": {}})
    references = [reference_of(TEL, f"{COMPANY}#pi-aaa-001#r{number}#447700900123") for number in range(3)]
    urls = [f"{reverse('conversation', args=[reference])}?in={token}" for reference in references]
    assert step(agent, urls[0], "next")["Location"] == urls[1]
    assert step(agent, urls[1], "previous")["Location"] == urls[0]
    assert step(agent, urls[2], "next")["Location"] == f"{reverse('queue')}?tab=waiting"
    elsewhere = f"{reverse('conversation', args=[reference_of(TEL, 'taken meanwhile')])}?in={token}"
    assert step(agent, elsewhere, "next")["Location"] == urls[0]


def test_a_step_with_a_foreign_context_or_direction_goes_nowhere(store, agent):
    item = put_conversation(store)
    row = reverse("conversation", args=[reference_of(TEL, item["conversation_id"])])
    assert step(agent, f"{row}?in=junk", "next")["Location"] == reverse("conversations")
    theirs = seal_list_context({"list": "company", "company": OTHER_COMPANY, "filters": {}})
    assert step(agent, f"{row}?in={theirs}", "next")["Location"] == company_url(OTHER_COMPANY)
    assert step(agent, f"{row}?in={theirs}", "sideways").status_code == 404
    mine = seal_list_context({"list": "company", "company": COMPANY, "filters": {"since": 7, "status": ["x"]}})
    assert step(agent, f"{row}?in={mine}", "next").status_code == 302
    past = reverse("conversation", args=[reference_of(TEL, "gone")])
    assert step(agent, f"{past}?in={mine}", "next").status_code == 404


def test_items_past_their_ttl_are_on_no_list(store, agent):
    put_conversation(store, ttl=clock.to_epoch(clock.now()) - 1)
    assert not rows_in(agent.get(company_url()))
    assert agent.get(recipient_url()).status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "?status=failed"])
def test_a_project_that_begins_with_expired_conversations_is_there(store, query):
    past = clock.to_epoch(clock.now()) - 86_400
    gone = [conversation(primary_channel=f"+44770090{number:04}", ttl=past) for number in range(210)]
    store.put_all("CONVERSATIONS", [*gone, conversation(primary_channel="+449999999999")])
    client = signed_in(member())
    assert client.get(f"/conversations/companies/{COMPANY}/projects/pi-aaa-001/{query}").status_code == 200
    assert client.get(f"/conversations/companies/{COMPANY}/projects/pi-none/{query}").status_code == 404


WRITTEN = (
    *("initial_message_sent", "processing", "processing_reply", "reply_sent", "retry"),
    *("failed", "failed_to_process_ai", "failed_to_send_message", "failed_secrets_fetch", "failed_unknown"),
)


@pytest.mark.parametrize("more", [{}, {"order": "project"}, {"since": "2020-01-01"}])
@pytest.mark.parametrize("url", [company_url, recipient_url])
def test_failed_finds_every_failure_that_is_really_written(store, agent, url, more):
    for number, status in enumerate((*WRITTEN, "failed-over", "failedx", "unfailed_x")):
        put_conversation(store, conversation_status=status, request_id=f"req-{number}")
    response = agent.get(url(), {"status": "failed", **more})
    failed = [status for status in WRITTEN if status.startswith("failed")]
    assert sorted(statuses_in(response)) == sorted(("bad", status.replace("_", " ")) for status in failed)
    assert statuses_in(agent.get(url(), {"status": "failed_unknown", **more})) == [("bad", "failed unknown")]


def test_a_status_is_offered_once_by_its_family_and_as_stored_if_it_has_none_or_was_saved(store, agent):
    for number, status in enumerate((*WRITTEN, "unfailed_x")):
        put_conversation(store, conversation_status=status, request_id=f"req-{number}")
    for query, stored in (({}, ["unfailed_x"]), ({"status": "failed_unknown"}, ["failed_unknown"])):
        text = agent.get(company_url(), query).content.decode()
        select = text[text.index('<select name="status"') :]
        offered = re.findall(r'<option value="([^"]+)"', select[: select.index("</select>")])
        assert offered == [*(f"is:{family}" for family in Family), *stored]


def statuses_in(response) -> list[tuple[str, str]]:
    """Tone and words of each row's status."""
    cells = re.findall(r'<td class="status">(.*?)</td>', response.content.decode())
    return [re.search(r'class="tag ?(\w*)"[^>]*title="([^"]*)"', cell).groups() for cell in cells]  # type: ignore[misc]
