"""What needs no answer: reactions, unless a person asked, and what the holder says."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest

from console import caching, clock
from conversations.attention.causes import judge
from conversations.attention.levels import DEFAULTS
from conversations.converting import reference_of
from conversations.handoff.stored import has_people
from conversations.messages.questions import ends_in_question
from conversations.models import Conversation
from conversations.outbox.rows import messages_of
from conversations.receiving.handling import handle
from tests.people import member, signed_in
from tests.queue import swept
from tests.store.conversations.receiving.test_handling import body, bring
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION, KEY, held_by, put, stored

PAGE = f"/conversations/{reference_of(CHANNEL, CONVERSATION)}/"


@pytest.fixture(autouse=True)
def _source(store, settings) -> None:
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"
    swept(store)


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", answer.content.decode()))


def by_person(text: str) -> list[dict[str, Any]]:
    entry = {"entry_id": "r1", "message_timestamp": "2026-02-01T09:00:00Z", "role": "assistant", "content": text}
    return [entry | {"sent_by": "human", "agent": "ana"}]


def unanswered() -> int:
    item = Conversation.get(*KEY.values(), consistent_read=True)
    return len(messages_of(item, item.raw.get("messages")).unanswered())


def thumb() -> None:
    bring(body(MessageType="reaction", body="👍", message_sid="SM9"))


@pytest.mark.parametrize(
    ("asked", "count"), [("Shall I cancel it?", 1), ("Shall I cancel it? 🙂", 1), ("You are welcome.", 0)]
)
def test_a_reaction_waits_for_an_answer_only_if_a_person_asked(store, asked, count):
    put(store, messages=by_person(asked), hand_off_answered_at="2026-02-01T09:00:00.000Z", **held_by("ana"))
    thumb()
    assert unanswered() == count
    item = stored(store)
    assert item["messages"][-1]["content"] == "Reaction 👍"
    assert ("hand_off_heard_at" in item, "hand_off_unanswered_at" in item) == (bool(count), bool(count))
    [latest] = [row for row in store.all("MESSAGES") if row["position"] == "latest"]
    assert latest["unanswered"] == count


def test_a_reaction_to_the_ais_question_and_one_after_a_message_start_no_wait(store):
    ai = {"entry_id": "a1", "message_timestamp": "2026-02-01T09:00:00Z", "role": "assistant", "content": "Is it late?"}
    put(store, messages=[ai], **held_by("ana"))
    thumb()
    assert unanswered() == 0
    bring(body(message_sid="SM10"), name="d2")
    assert unanswered() == 1


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Really?", True),
        ("(Really?)", True),
        ("Is it “late?”", True),
        ("本当？", True),
        ("حقا؟", True),
        ("Πότε;", True),
        ("Իրո՞ք՞", True),
        ("❓", True),
        ("Yes; no;", False),
        ("Really? Yes.", False),
        ("", False),
        ("🙂", False),
    ],
)
def test_a_question_mark_of_any_script_ends_a_question(text, asks):
    assert ends_in_question(text) is asks


def form_on(page: str) -> dict[str, str]:
    return {"shown": re.search(r'name="shown" value="([^"]+)"', page)[1]}


def test_one_click_stops_the_clock_and_can_be_undone(store):
    put(
        store,
        messages=by_person("Done."),
        hand_off_answered_at="2026-02-01T09:00:00.000Z",
        **held_by(member().username),
    )
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    page = text_of(client.get(PAGE))
    assert "1 message has no answer" in page
    after = text_of(client.post(f"{PAGE}no-answer/", form_on(page), follow=True))
    assert "Noted: no answer needed." in after
    assert "You said that no answer is needed." in after
    assert "has no answer" not in after
    assert unanswered() == 0
    caching.invalidate_all()
    row = text_of(client.get("/queue/?tab=mine"))
    assert "no answer needed <small>(<bdi>Amira" in row
    assert ">answered" not in row
    assert "1 unanswered message" not in row
    after = text_of(client.post(f"{PAGE}no-answer/", {"undo": "1"}, follow=True))
    assert "Undone. The customer waits for an answer again." in after
    assert "1 message has no answer" in after
    assert stored(store)["hand_off_answered_at"] == "2026-02-01T09:00:00.000Z"
    assert "hand_off_no_answer_at" not in stored(store)
    caching.invalidate_all()
    assert "1 unanswered message" in text_of(client.get("/queue/?tab=mine"))
    actions = [each["action_type"] for each in store.all("AUDIT") if each["action_type"].startswith("answer.")]
    assert sorted(actions) == ["answer.needed", "answer.not_needed"]


def test_a_return_without_an_answer_says_that_no_time_is_counted(store):
    put(store, **held_by(member().username))
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    client.post(f"{PAGE}no-answer/", form_on(text_of(client.get(PAGE))))
    page = text_of(client.get(PAGE))
    talk = page[page.index('<ol class="talk"') :]
    assert "You said that no answer is needed" in talk[: talk.index("</ol>")]
    intent = re.search(r'name="intent" value="([^"]+)"[^>]*>\s*Return to queue', page)[1]
    after = text_of(client.post(f"{PAGE}hand-off/", {"intent": intent}, follow=True))
    caching.invalidate_all()
    assert "Returned to the queue. The waiting time starts with the customer's next message." in after
    panel = after[after.index('id="hand-off"') :]
    assert "said that no answer is needed. The waiting time starts with the customer's next message." in panel
    row = text_of(client.get("/queue/"))
    assert "1 person is waiting" in row
    assert "no answer needed <small>(<bdi>Amira" in row
    assert "Longest" not in row
    assert "No conversations match" in text_of(client.get("/queue/?waited=15m"))
    times = text_of(client.get("/queue/waiting-times/"))
    assert re.search(r'data-label="Waiting">1</td><td class="numeric" data-label="Median">\D*</td>', times)


def test_what_comes_afterwards_restarts_the_clock(store):
    put(store, **held_by(member().username))
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    client.post(f"{PAGE}no-answer/", form_on(text_of(client.get(PAGE))))
    now = clock.now() + timedelta(seconds=1)
    handle(body(body="One more thing", message_sid="SM2"), now, "queue", "d2")
    assert unanswered() == 1
    assert stored(store)["hand_off_unanswered_at"] == clock.to_iso(now)
    page = text_of(client.get(PAGE))
    assert "1 message has no answer" in page


def test_a_newer_message_refuses_it_and_so_does_somebody_else(store):
    put(store, **held_by(member().username))
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    form = form_on(text_of(client.get(PAGE)))
    bring(body(body="But where is it?", message_sid="SM2"), name="d2")
    page = text_of(client.post(f"{PAGE}no-answer/", form, follow=True))
    assert "The customer has written again." in page
    assert unanswered() == 2
    other = signed_in(member("ben"))
    assert other.post(f"{PAGE}no-answer/", form_on(page)).status_code == 403
    assert "It is too late to undo" in text_of(client.post(f"{PAGE}no-answer/", {"undo": "1"}, follow=True))


def test_without_a_trail_nothing_is_changed_and_the_page_says_why(store, settings):
    put(store, **held_by(member().username))
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    form = form_on(text_of(client.get(PAGE)))
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"AUDIT": "no-such-table"}
    answer = client.post(f"{PAGE}no-answer/", form)
    assert answer.status_code == 503
    said = html.unescape(answer.content.decode())
    assert "The trail's table is missing in this environment, so nothing was changed." in said
    assert unanswered() == 1


def test_after_the_return_nobody_is_missed(store):
    put(store, **held_by(member().username))
    bring(body(body="Thanks a lot"))
    client = signed_in(member())
    client.post(f"{PAGE}no-answer/", form_on(text_of(client.get(PAGE))))
    page = text_of(client.get(PAGE))
    intent = re.search(r'name="intent" value="([^"]+)"[^>]*>\s*Return to AI', page)[1]
    client.post(f"{PAGE}hand-off/", {"intent": intent})
    item = Conversation.get(*KEY.values(), consistent_read=True)
    assert not has_people(item.raw)
    assert judge(item.raw, DEFAULTS, clock.now() + timedelta(hours=2)).cause is None
