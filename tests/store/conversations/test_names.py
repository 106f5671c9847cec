"""Names in what is read redacted: those of the recipient, and what other writers put where an account should stand."""

import gzip
import html
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import urlencode

import pytest

from console import clock
from console.audit.archive import exporting
from console.audit.archive.exporting import Days
from console.audit.archive.places import Directory
from console.audit.review.forms import CONVERSATION, About
from console.refs import seal
from console.store import calls
from conversations.indexer.handling import handle_item
from conversations.records import HandOff, HandOffState, agent_shown
from tests.items import put_conversation, url_of
from tests.people import admin, auditor, member, signed_in
from tests.store.conversations.conversation.test_conversation_view import HTMX, message
from tests.store.conversations.conversation.test_hand_off_view import form
from tests.store.conversations.conversation.test_timeline import entry
from tests.store.conversations.indexer.test_registering import store_form
from tests.store.conversations.lists.test_lists_views import last_message_url
from tests.store.conversations.queue.test_queue import held

NAME = re.compile(r"zeb[eé]d[eé]e|quack|brien", re.IGNORECASE)


@pytest.fixture
def item(store):
    """One whose recipient's name stands wherever a text can."""
    stored = put_conversation(
        store,
        recipient_first_name="Zébedée",
        recipient_last_name="Quack-O'Brien",
        hand_off_to_human=True,
        hand_off_to_human_reason="Zebedee wants a person",
        project_data={"job": "driver", "note": "ask for mr o’brien", "Zebedee": "yes"},
        unexpected={"memo": "ZEBEDEE quack o'brien"},
        messages=[
            message(1, "Hello Zébedée, about the invoice", minutes_ago=5),
            message(2, "i am zebedee quack obrien and the invoice is wrong", "user", minutes_ago=4),
        ],
    )
    store.put(
        "AUDIT",
        entry(
            stored,
            3,
            "tag",
            action_payload_redacted=json.dumps({"summary": "Zebedee called twice", "zebedee": 1}),
        ),
    )
    return stored


def text_of(answer) -> str:
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_who_reads_a_conversation_redacted_reads_no_name_of_the_recipient(item):
    client = signed_in(auditor())
    for shown in (text_of(client.get(url_of(item))), text_of(client.get(url_of(item, "timeline/")))):
        assert "invoice" in shown
        assert not NAME.findall(shown)
    assert "called twice" in text_of(client.get(url_of(item, "timeline/")))
    assert "wants a person" in text_of(client.get(url_of(item)))
    last = text_of(client.get(last_message_url(item), **HTMX))
    assert "invoice" in last
    assert not NAME.findall(last)


@pytest.fixture
def told(store, item):
    """The middleware's state and an entry of the hand-off, which tell of the recipient too."""
    for number, action in enumerate(("hand_off.take", "hand_off.take_from_colleague"), 4):
        payload = json.dumps({"reason": "z\u00e9b\u00e9d\u00e9e insists", "from": "bob"})
        store.put(
            "AUDIT", entry(item, number, action, action_payload_redacted=payload, actor="ana", actor_role="agent")
        )
    failed = {"result": "failed: Quack-O'Brien did not insist", "action_payload_redacted": "quack insists"}
    store.put("AUDIT", entry(item, 6, "route", **failed))
    state = {"conversation_id": item["conversation_id"], "pending_flow": {"asked": "Zebedee insists on the invoice"}}
    store.put("CONVERSATION_STATE", state | {"updated_at": "2026-01-01T00:00:00Z", "version": 1})
    return item


def test_the_trail_of_a_conversation_names_its_recipient_nowhere(store, told):
    client, trail = signed_in(auditor()), seal("trail", told["conversation_id"])
    shown = text_of(client.get(f"/audit/trails/{trail}/"))
    assert shown.count("insist") >= 4
    assert "on the invoice" in shown
    assert not NAME.findall(shown)
    for each in store.all("AUDIT"):
        if "insist" in str(each):
            shown = text_of(
                client.get(f"/audit/entries/{seal('entry', each['conversation_id'], each['ts_action_id'])}/")
            )
            assert "insist" in shown
            assert not NAME.findall(shown)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_review_and_an_export_of_one_conversation_name_its_recipient_nowhere(told, kind):
    client, about = signed_in(auditor()), About(CONVERSATION, told["conversation_id"]).sealed
    shown = text_of(client.get("/audit/", {"about": about}))
    sent = client.post(f"/audit/export/?{urlencode({'about': about})}", {"format": kind})
    exported = b"".join(sent.streaming_content).decode()
    for text in (shown, exported):
        assert text.count("insist") >= 3
        assert not NAME.findall(text)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_review_and_an_export_across_conversations_name_no_recipient(store, told, kind):
    other = put_conversation(store, conversation_id="drifted", recipient_first_name="Quentin")
    store.put("AUDIT", entry(other, 2, "tag", action_payload_redacted=json.dumps({"memo": "Quentin insists"})))
    client, asked = signed_in(auditor()), {"action": ["route", "tag", "hand_off.take"]}
    shown = text_of(client.get("/audit/", asked))
    sent = client.post(f"/audit/export/?{urlencode(asked, doseq=True)}", {"format": kind})
    exported = b"".join(sent.streaming_content).decode()
    for text in (shown, exported):
        assert text.count("insist") >= 4
        assert not re.findall(f"{NAME.pattern}|quentin", text, re.IGNORECASE)


def test_an_archive_of_the_trail_names_no_recipient_and_keeps_the_colleagues(store, told, tmp_path, monkeypatch):
    payload = json.dumps({"reason": "Zebedee insists", "colleague": "zebedee"})
    store.put("AUDIT", entry(told, 7, "hand_off.assign", action_payload_redacted=payload, actor="ana"))
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=1))
    days = Days.checked((now - timedelta(days=1)).date(), now.date())
    exporting.export(Directory(tmp_path / "archive"), days, 2, 1000, lambda *_: None)
    [file] = (tmp_path / "archive").glob("*.gz")
    text = gzip.decompress(file.read_bytes()).decode()
    assert text.count("insist") >= 5
    assert [each.lower() for each in NAME.findall(text)] == ["zebedee"]
    assert '\\"colleague\\": \\"zebedee\\"' in text


def test_a_reason_is_written_into_the_trail_without_the_recipients_name(store, item):
    handle_item(store_form(item))
    [request] = [each for each in store.all("AUDIT") if each["action_type"] == "hand_off.request"]
    assert json.loads(request["action_payload_redacted"]) == {"reason": "*** wants a person"}
    mine = held("tom.becker", recipient_first_name="Tom", recipient_last_name="Quack")
    store.put("CONVERSATIONS", mine)
    client = signed_in(member())
    fields = form(client, mine, "Take from tom.becker") | {"reason": "Tom Quack, t.quack@uni.example, rang"}
    assert client.post(url_of(mine) + "hand-off/", fields).status_code == 302
    [taken] = [each for each in store.all("AUDIT") if each["action_type"] == "hand_off.take_from_colleague"]
    payload = json.loads(taken["action_payload_redacted"])
    assert (payload["reason"], payload["held by"]) == ("***, ***@***, rang", "tom.becker")


def test_the_failure_the_state_and_the_events_of_a_conversation_name_its_recipient_nowhere(store, told):
    failed = {"conversation_status": "failed", "failure_reason": "no answer for Zebedee insists"}
    store.put("CONVERSATIONS", told | failed)
    state = {"type": "wait", "asked": "Zebedee insists"}
    store.put(
        "CONVERSATION_STATE",
        {
            "conversation_id": told["conversation_id"],
            "last_intent": "Zebedee insists",
            "pending_flow": state,
            "last_auto_reply": state,
        },
    )
    event = {"event_id": "evt:1", "conversation_id": told["conversation_id"], "created_at": clock.to_iso(clock.now())}
    store.put("IDEMPOTENCY", event | {"intent": "Quack_insists", "memo": "zebedee insists"})
    client = signed_in(auditor())
    page = text_of(client.get(url_of(told)))
    assert "could not answer: no answer for *** insists" in page
    assert page.count("*** insists") >= 4
    listed = text_of(client.get(f"/audit/events/conversations/{seal('trail', told['conversation_id'])}/"))
    single = text_of(client.get(f"/audit/events/{seal('event', 'evt:1')}/"))
    assert single.count("insists") >= 2
    for shown in (page, listed, single, text_of(client.get(url_of(told, "timeline/")))):
        assert not NAME.findall(shown)


def test_a_row_shows_a_reason_without_its_recipient_to_who_reads_redacted(told):
    store_rows = signed_in(auditor()).get(f"/conversations/companies/{told['company_id']}/")
    assert "wants a person" in text_of(store_rows)
    assert not NAME.findall(text_of(store_rows))


def test_the_raw_view_holds_no_name_of_the_recipient(item):
    shown = text_of(signed_in(admin()).get(url_of(item, "raw/")))
    assert "driver" in shown
    assert not NAME.findall(shown)


def test_an_agent_reads_the_transcript_as_it_is(item):
    shown = text_of(signed_in(member()).get(url_of(item)))
    assert "Hello Zébedée" in shown
    assert "i am zebedee quack obrien" in shown


def test_a_name_that_drifted_or_names_nobody_breaks_and_masks_nothing(store):
    item = put_conversation(
        store,
        recipient_first_name=["Dana"],
        recipient_last_name="Customer",
        messages=[message(1, "the customer and Dana")],
    )
    assert "the customer and Dana" in text_of(signed_in(auditor()).get(url_of(item)))


FOREIGN = ["Jane Smith", "jane@doe.example", "+447700900999", "447700900999", "Jürgen"]


@pytest.mark.slow
@pytest.mark.parametrize("agent", FOREIGN)
@pytest.mark.parametrize("flag", [True, False])
def test_a_holder_that_is_no_account_is_masked_wherever_it_is_shown(store, agent, flag):
    item = put_conversation(
        store,
        hand_off_to_human=flag,
        hand_off_agent=agent,
        hand_off_taken_at="2026-01-01T10:00:00Z",
        conversation_status="x",
    )
    for client in (signed_in(auditor()), signed_in(member()), signed_in(admin())):
        answers = [
            client.get(url_of(item)),
            client.get(url_of(item, "timeline/")),
            client.get("/queue/?tab=colleagues"),
        ]
        for shown in [answer.content.decode() for answer in answers if answer.status_code == 200]:
            assert agent not in html.unescape(shown)
            assert "900999" not in shown.replace(" ", "")
    raw = text_of(signed_in(admin()).get(url_of(item, "raw/")))
    assert agent not in raw


def test_an_account_is_shown_by_its_name():
    assert [agent_shown(name) for name in ("ada", "ada.lovelace-2", "")] == ["ada", "ada.lovelace-2", ""]
    assert HandOff(HandOffState.HELD, flag=True, agent="Ada Lovelace").agent_shown == "***"


def test_the_names_are_read_beside_the_page_and_never_hold_up_what_the_page_reads(told, monkeypatch):
    """What is read at once shares few threads: what waits on one of them for another may wait for good."""
    client, trail = signed_in(auditor()), seal("trail", told["conversation_id"])
    first = text_of(client.get(f"/audit/trails/{trail}/"))
    entry_url = re.search(r'href="(/audit/entries/[^"]+)"', first)[1]
    pool, asking = ThreadPoolExecutor(1, "only"), ThreadPoolExecutor(1, "asking")
    monkeypatch.setattr(calls, "_pool", pool)
    try:
        for url in (f"/audit/trails/{trail}/", entry_url):
            assert asking.submit(client.get, url).result(timeout=30).status_code == 200
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        asking.shutdown()
