"""What people see of customers' messages: in the queue, on the conversation's page, to approve, and not placed."""

import html
import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from console import caching, clock
from console.store import queues
from conversations.converting import reference_of
from conversations.receiving.handling import Handled, handle
from conversations.receiving.worker import sweep
from tests import faults
from tests.people import OTHER_COMPANY, admin, member, signed_in
from tests.queue import swept
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION, KEY, WAITING, held_by, put, stored

pytestmark = pytest.mark.pages

SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture(autouse=True)
def _swept(store):
    """What is put is in the queue as the indexer leaves it."""
    swept(store)


@pytest.fixture(autouse=True)
def _source(settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"


def bring(text: str, name: str = "SM1", at: datetime = SENT_AT, **changes) -> Handled:
    content = {"channel_type": "whatsapp", "from": f"whatsapp:{CHANNEL}", "message_sid": name, "body": text, **KEY}
    return handle(json.dumps(content | changes), at, "queue", name)


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", answer.content.decode()))


# --- The queue ----------------------------------------------------------------------------------------------------


def test_a_row_says_what_the_customer_wrote_last_and_how_much_is_unanswered(store):
    put(store, auto_queue_reply_message=True, recipient_first_name="Priya")
    bring("Where is my parcel?")
    bring("Please call +447700900999\nbefore noon", "SM2", SENT_AT + timedelta(seconds=5))
    page = text_of(signed_in(member()).get("/queue/"))
    assert "Rule: all replies in this conversation go to people." in page
    assert "Priya" in page
    assert "2 unanswered messages" in page
    assert "<q>Please call" in page
    assert "before noon</q>" in page
    assert "447700900999" not in page


def test_one_message_is_one_and_what_it_says_is_never_markup(store):
    put(store, **WAITING)
    bring("<script>alert(1)</script>", at=clock.now())
    answer = signed_in(member()).get("/queue/")
    assert "1 unanswered message" in text_of(answer)
    assert "<script>alert" not in answer.content.decode()


def test_words_of_an_earlier_request_are_not_shown_with_this_one(store):
    put(store, **WAITING, hand_off_requested_at="2026-02-02T10:00:00.000Z")
    bring("Long ago")
    assert "Long ago" not in text_of(signed_in(member()).get("/queue/"))


def test_an_open_queue_learns_that_something_came(store):
    put(store, **WAITING)
    client = signed_in(member())
    tag = client.get("/queue/").headers["ETag"]
    poll = {"HTTP_X_POLL": "1", "HTTP_IF_NONE_MATCH": tag}
    assert client.get("/queue/", **poll).status_code in (200, 304)
    bring("Hello?", at=clock.now())
    assert "Hello?" in text_of(client.get("/queue/", **poll))


def test_the_words_cost_one_read_and_their_failure_only_the_words(store, settings):
    put(store, **WAITING)
    bring("Hello?", at=clock.now())
    client = signed_in(member())
    with store.calls() as seen:
        client.get("/queue/")
    assert [call.operation for call in seen if call.tables == ("MESSAGES",)] == ["BatchGetItem"]
    with faults.fail_before("BatchGetItem", table_key="MESSAGES", times=faults.ALWAYS):
        page = text_of(client.get("/queue/"))
    assert "wants a person" in page
    assert "Hello?" not in page
    settings.HANDOFF_QUEUE_URL = ""
    with store.calls() as seen:
        client.get("/queue/")
    assert not [call for call in seen if call.tables == ("MESSAGES",)]


def test_a_conversation_that_failed_says_so(store):
    put(store, **WAITING, conversation_status="failed_to_process_ai")
    assert "the platform failed" in text_of(signed_in(member()).get("/queue/"))


# --- The conversation ---------------------------------------------------------------------------------------------


def page_of(client) -> str:
    return text_of(client.get(f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"))


def test_the_page_says_why_a_conversation_is_here_and_where_messages_go(store):
    put(store, auto_queue_reply_message=True, auto_queue_initial_message_from_number=["+447700900111", "+447700900112"])
    bring("Where is my parcel?")
    page = page_of(signed_in(member()))
    assert "One of the project's rules sends this customer's replies to people." in page
    assert "All go to people" in page
    assert "Messages from 2 listed senders wait for approval; others go straight to the AI" in page


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"conversation_status": "failed_to_process_ai"}, "The platform could not answer: failed to process ai."),
        ({"conversation_status": "failed_unknown", "failure_reason": "the model timed out"}, "the model timed out."),
        ({}, "A human was requested."),
    ],
)
def test_why_it_is_here_for_other_reasons(store, changes, why):
    put(store, **WAITING, hand_off_requested_at="2026-02-01T10:00:00.000Z", **changes)
    page = page_of(signed_in(member()))
    assert why in page[page.index("Why is this here?") :][:300]


def test_who_holds_it_reads_that_the_ai_is_silent_only_where_it_is(store, settings):
    put(store, **held_by("amira.haddad"))
    client = signed_in(member())
    assert "The AI may keep replying" in page_of(client)
    store.update("CONVERSATIONS", KEY, auto_queue_reply_message=True)
    page = page_of(client)
    assert "The AI stays silent until you return it." in page
    assert "The AI may keep replying" not in page


# --- An open page -------------------------------------------------------------------------------------------------


def known(client) -> tuple[str, str, str]:
    """What an open page knows: since when, how many messages, and how often it asks."""
    page = client.get(f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/").content.decode()
    found = (re.search(rf'data-{name}="([^"]*)"', page) for name in ("since", "shown", "seconds"))
    return tuple(each[1] if each else "" for each in found)  # type: ignore[return-value]


def ask(client, since: str, shown: str):
    url = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/updates/"
    return client.get(url, {"since": since, "shown": shown}, HTTP_X_POLL="1")


@pytest.mark.slow
def test_to_who_holds_it_a_message_shows_by_itself(store):
    put(store, **held_by("amira.haddad"))
    mine, others = signed_in(member()), signed_in(member("tom"))
    for client, arrives, seconds in ((mine, True, "4"), (others, False, "12")):
        since, shown, every = known(client)
        assert every == seconds
        bring("Are you there?", f"SM-{seconds}", clock.now())
        answer = ask(client, since, shown).content.decode()
        assert ("data-arrives" in answer) is arrives
        assert f'data-seconds="{seconds}"' in answer
        assert "1 new message" in answer


def test_a_poll_costs_two_reads_at_most_also_where_messages_are_kept_apart(store):
    put(store, **held_by("amira.haddad"), x_large="x" * 50_000)
    client = signed_in(member())
    bring("One", "SM1", clock.now())
    since, shown, _ = known(client)
    with store.calls() as seen:
        assert ask(client, since, shown).status_code == 204
    assert [call.operation for call in seen[1:]] == ["GetItem"]
    bring("Two", "SM2", clock.now())
    with store.calls() as seen:
        answer = ask(client, since, shown).content.decode()
    assert "1 new message" in answer
    assert [(call.operation, *call.tables) for call in seen[1:]] == [
        ("GetItem", "CONVERSATIONS"),
        ("Query", "MESSAGES"),
    ]
    assert "Two" in page_of(client)
    assert "messages" not in stored(store) or "Two" not in str(stored(store)["messages"])


@pytest.mark.parametrize(("size", "most"), [(10, 6), (50_000, 7)], ids=["on the item", "kept apart"])
def test_an_open_held_conversation_costs_six_calls_and_one_where_messages_are_kept_apart(store, size, most):
    put(store, **held_by("amira.haddad"), x_large="x" * size)
    bring("One", "SM1", clock.now())
    client = signed_in(member())
    page_of(client)
    with store.calls() as seen:
        page_of(client)
    # Beside the one that says who asks.
    assert len(seen) - 1 <= most, [(call.operation, *call.tables) for call in seen]


# --- First messages to approve ------------------------------------------------------------------------------------


def first_message(company_id: str = "ci-aaa-001", name: str = "Priya") -> str:
    return json.dumps(
        {
            "frontend_payload": {
                "company_data": {"company_id": company_id, "project_id": "pi-aaa-001"},
                "recipient_data": {"recipient_first_name": name, "recipient_tel": "+447700900150"},
            },
            "company_data_payload": {
                "company_id": company_id,
                "project_name": "Spring offer",
                "auto_queue_initial_message": True,
            },
            "conversation_data": {"channel_method": "whatsapp"},
        }
    )


@pytest.fixture
def held(store, settings, monkeypatch):
    """A first message that waits, and what is sent to WhatsApp's queue."""
    put(store)
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": "ci-aaa-001", "name": "Acme", "source": "test", "seen_at": "2026"})
    settings.CHANNEL_QUEUE_URLS = {"whatsapp": "https://sqs.invalid/whatsapp"}
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(queues, "send", lambda url, body: sent.append((url, body)))
    handle(first_message(), SENT_AT, "queue", "d1")
    return sent


def forms_in(page: str) -> list[str]:
    return re.findall(r'action="(/queue/to-approve/[^"]+/)"', page)


def test_who_what_where_and_by_which_rule_is_shown(store, held):
    page = text_of(signed_in(member()).get("/queue/to-approve/"))
    for words in (
        "1 first message to approve",
        "Priya",
        "Spring offer",
        "WhatsApp",
        "All first messages of this project",
    ):
        assert words in page
    assert "+447700900150" not in page


def test_the_tab_says_how_many_wait(store, held):
    client = signed_in(member())
    page = text_of(client.get("/queue/", HTTP_X_POLL="1"))
    assert re.search(r'href="/queue/to-approve/">To approve <span class="count">1</span>', page)


def test_without_a_hand_off_queue_there_is_no_such_tab(store, settings):
    settings.HANDOFF_QUEUE_URL = ""
    client = signed_in(member())
    assert "To approve" not in text_of(client.get("/queue/"))
    assert "HANDOFF_QUEUE_URL" in text_of(client.get("/queue/to-approve/"))


def test_what_the_customer_gets_is_shown_with_the_template_and_its_details(store, held, settings, monkeypatch):
    settings.OUTBOX_QUEUE_URL = "https://sqs.invalid/outbox.fifo"
    content = json.loads(first_message(name="Rosa"))
    content["frontend_payload"]["project_data"] = {"offer_name": "Two for <one>", "call": "+447700900151"}
    content["company_data_payload"]["channel_config"] = {"whatsapp": {"whatsapp_credentials_id": "twilio/acme"}}
    handle(json.dumps(content), SENT_AT, "queue", "d2")
    template = {"template_id": "HX1", "body": "Hello {{1}}, here is {{2}}.", "variables": {"1": "Ana", "2": "an offer"}}
    [row] = [each for each in store.all("MESSAGES") if each.get("gsi_due") == "template"]
    store.put("MESSAGES", {**row, "body": json.dumps(template)})
    page = text_of(signed_in(member()).get("/queue/to-approve/"))
    assert "Hello {{1}}, here is {{2}}." in page
    assert "offer name" in page
    assert "Two for <one>" in page
    assert "+447700900151" not in page
    # The other one's credentials are not known.
    assert "The console does not have the template" in page


def test_a_large_body_is_not_shown_and_can_be_approved(store, held):
    handle(json.dumps(json.loads(first_message()) | {"padding": "x" * 60_000}), SENT_AT, "queue", "d2")
    page = text_of(signed_in(member()).get("/queue/to-approve/"))
    assert "too large to show here (60 kB)" in page
    assert "xxxxx" not in page
    assert len(forms_in(page)) == 4


def test_a_long_body_is_shown_on_demand(store, held):
    handle(json.dumps(json.loads(first_message()) | {"padding": "x" * 9_000}), SENT_AT, "queue", "d2")
    client = signed_in(member())
    page = text_of(client.get("/queue/to-approve/"))
    assert ("xxxxx" in page, page.count("Show all the data")) == (False, 1)
    [query] = re.findall(r'href="(\?all=[^"]+)"', page)
    assert "xxxxx" in text_of(client.get(f"/queue/to-approve/{html.unescape(query)}"))


def test_approving_sends_the_same_bytes_once_and_can_be_undone(store, held, monkeypatch):
    client = signed_in(member())
    [approve, _] = forms_in(text_of(client.get("/queue/to-approve/")))
    page = text_of(client.post(approve, {"decision": "approve"}, follow=True))
    assert "Approved. The message goes out within a minute." in page
    # It can still be undone.
    assert "Nothing to approve" not in page
    page = text_of(client.post(approve, {"decision": "undo"}, follow=True))
    assert "Undone. The message waits for approval again." in page
    assert "1 first message to approve" in page
    client.post(approve, {"decision": "approve"})
    later = clock.now() + timedelta(seconds=11)
    monkeypatch.setattr(clock, "now", lambda: later)
    sweep(later)
    assert held == [("https://sqs.invalid/whatsapp", first_message())]
    assert "Nothing to approve" in text_of(client.get("/queue/to-approve/"))
    for decision in ("approve", "undo"):
        page = text_of(client.post(approve, {"decision": decision}, follow=True))
        assert "Somebody else has already decided on this message." in page
    assert len(held) == 1


def test_pages_of_first_messages_lead_on_and_back(store, held):
    for number in range(25):
        handle(first_message(name=f"Number {number}"), SENT_AT + timedelta(minutes=1), "queue", f"e{number:02}")
    client = signed_in(member())
    page = text_of(client.get("/queue/to-approve/"))
    assert "26 first messages to approve" in page
    assert page.count("Reject…") == 20
    [following] = re.findall(r'rel="next" href="([^"]+)"', page)
    page = text_of(client.get(following))
    assert page.count("Reject…") == 6
    assert 'href="/queue/to-approve/"' in page


def test_rejecting_needs_a_reason_and_sends_nothing(store, held):
    client = signed_in(member())
    [reject, _] = forms_in(text_of(client.get("/queue/to-approve/")))
    page = text_of(client.post(reject, {"decision": "reject", "reason": " "}, follow=True))
    assert "Say why you are rejecting it." in page
    assert "1 first message to approve" in page
    page = text_of(client.post(reject, {"decision": "reject", "reason": "wrong number"}, follow=True))
    assert "Rejected. The message will not be sent." in page
    assert held == []
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "initial.reject"]
    assert "wrong number" in entry["action_payload_redacted"]


def test_another_companys_first_message_is_not_there(store, held):
    [approve, _] = forms_in(text_of(signed_in(member()).get("/queue/to-approve/")))
    stranger = signed_in(member("eve", scope=[OTHER_COMPANY]))
    assert "Priya" not in text_of(stranger.get("/queue/to-approve/"))
    assert stranger.post(approve, {"decision": "approve"}).status_code == 404
    assert held == []


# --- Not placed ---------------------------------------------------------------------------------------------------


def test_what_was_not_placed_is_there_with_its_reason_and_can_be_placed_later(store):
    assert bring("Call me on +447700900999") is Handled.NOT_PLACED
    client = signed_in(admin())
    page = text_of(client.get("/system/messages/"))
    assert "There is no such conversation." in page
    assert "+447700900999" not in page
    assert re.search(r"<q>Call me on [^<]+</q>", page)
    assert re.search(r'From <span class="nowrap">[^<]*0123</span>\. Received', page)
    [retry] = set(re.findall(r'action="(/system/messages/[^"]+/)"', page))
    page = text_of(client.post(retry, {"decision": "retry"}, follow=True))
    assert "It still cannot be placed. There is no such conversation." in page
    put(store, **WAITING)
    page = text_of(client.post(retry, {"decision": "retry"}, follow=True))
    assert "Placed. The message is in its conversation now." in page
    assert "Every message was placed" in page
    assert stored(store)["messages"][-1]["content"] == "Call me on +447700900999"
    page = text_of(client.post(retry, {"decision": "retry"}, follow=True))
    assert "Somebody else has already dealt with this message." in page
    actions = [each["action_type"] for each in store.all("AUDIT") if each["conversation_id"] == "SYSTEM"]
    assert sorted(actions) == ["message.not_placed", "message.placed"]


def test_discarding_needs_a_reason_and_is_on_record(store):
    handle("not JSON", SENT_AT, "queue", "d1")
    client = signed_in(admin())
    [form] = set(re.findall(r'action="(/system/messages/[^"]+/)"', text_of(client.get("/system/messages/"))))
    assert "Say why you are discarding it" in text_of(client.post(form, {"decision": "discard"}, follow=True))
    page = text_of(client.post(form, {"decision": "discard", "reason": "noise"}, follow=True))
    assert "Discarded." in page
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "message.discarded"]
    assert json.loads(entry["action_payload_redacted"]) == {
        "reason": "noise",
        "why it was not placed": "The message is not JSON.",
    }


def test_only_administrators_of_all_companies_see_them(store):
    handle("not JSON", SENT_AT, "queue", "d1")
    limited = signed_in(member("lea", "admin", ["company:ci-aaa-001"]))
    assert limited.get("/system/messages/").status_code == 403
    assert signed_in(member()).get("/system/messages/").status_code == 403


def test_a_long_list_has_pages(store):
    for number in range(53):
        handle(f"not JSON {number}", SENT_AT + timedelta(seconds=number), "queue", f"d{number}")
    client = signed_in(admin())
    page = text_of(client.get("/system/messages/"))
    assert page.count("The message is not JSON.") == 50
    assert "not JSON 52" in page
    [following] = re.findall(r'rel="next" href="([^"]+)"', page)
    assert text_of(client.get(following)).count("The message is not JSON.") == 3


def test_a_message_of_which_only_the_beginning_was_kept_can_only_be_discarded(store):
    handle("x" * 150_000, SENT_AT, "queue", "d1")
    client = signed_in(admin())
    page = text_of(client.get("/system/messages/"))
    assert "Try again" not in page
    [form] = set(re.findall(r'action="(/system/messages/[^"]+/)"', page))
    assert "Only the beginning of this message was kept" in text_of(
        client.post(form, {"decision": "retry"}, follow=True)
    )


@pytest.mark.parametrize(("table", "is_said"), [("", True), ("conversations-stage-test", False)])
def test_that_no_messages_arrive_is_said_only_without_any_source(store, settings, table, is_said):
    settings.HANDOFF_QUEUE_URL = ""
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": table} if table else {}
    page = text_of(signed_in(admin()).get("/system/messages/"))
    assert ("HANDOFF_QUEUE_URL or TABLE_CONVERSATIONS_STAGE" in page) is is_said


def test_the_queue_tells_those_who_may_resolve_them_how_many_there_are(store, settings):
    def attention(account, **more):
        caching.invalidate_all()
        return signed_in(account).get("/queue/?tab=attention", **more)

    assert "could not be placed" not in text_of(attention(admin()))
    handle("not JSON", SENT_AT, "queue", "d1")
    page = text_of(attention(admin()))
    assert '1 customer’s message could not be placed. <a href="/system/messages/">Look at it</a>' in page
    assert "No conversation needs attention" in page
    handle("not JSON either", SENT_AT, "queue", "d2")
    assert "2 customers’ messages could not be placed." in text_of(attention(admin()))
    for other in (member(), member("lea", "admin", ["company:ci-aaa-001"])):
        assert "could not be placed" not in text_of(attention(other))
    assert "could not be placed" not in text_of(signed_in(admin()).get("/queue/?tab=mine"))
    settings.HANDOFF_QUEUE_URL = ""
    assert "could not be placed" not in text_of(attention(admin()))


def test_an_open_queue_learns_of_what_was_not_placed_and_of_what_was_done_about_it(store):
    handle("not JSON", SENT_AT, "queue", "d1")
    client = signed_in(admin())
    poll = {"HTTP_X_POLL": "1"}
    tag = client.get("/queue/?tab=attention", **poll)["ETag"]
    assert client.get("/queue/?tab=attention", HTTP_IF_NONE_MATCH=tag, **poll).status_code == 304
    [form] = set(re.findall(r'action="(/system/messages/[^"]+/)"', text_of(client.get("/system/messages/"))))
    client.post(form, {"decision": "discard", "reason": "noise"})
    answer = client.get("/queue/?tab=attention", HTTP_IF_NONE_MATCH=tag, **poll)
    assert "could not be placed" not in text_of(answer)


def test_counting_them_is_one_query_that_costs_the_line_at_most(store, caplog):
    handle("not JSON", SENT_AT, "queue", "d1")
    client = signed_in(admin())
    with faults.before("Query", lambda: None, table_key="MESSAGES", times=faults.ALWAYS) as asked:
        text_of(client.get("/queue/?tab=attention"))
        text_of(client.get("/queue/?tab=attention"))
    assert [(each["Select"], each["Limit"]) for each in asked.struck if "Select" in each] == [("COUNT", 100)]
    caching.invalidate_all()
    counts = {"where": lambda each: each.get("Select") == "COUNT", "times": faults.ALWAYS}
    with faults.fail_before("Query", table_key="MESSAGES", **counts):
        assert "could not be placed" not in text_of(client.get("/queue/?tab=attention"))
    assert "Could not count messages that were not placed" in caplog.text
    assert "could not be placed" in text_of(client.get("/queue/?tab=attention"))
