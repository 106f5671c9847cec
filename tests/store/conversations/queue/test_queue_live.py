"""The queue's page by its index: pages, polling with a tag, counts, the longest waiting, news of what one has."""

import re
from datetime import timedelta
from threading import Thread

import pytest
from django.urls import reverse

from console import caching, clock
from console.refs import seal
from conversations.handoff.stored import held_in, waiting_in
from tests import faults
from tests.items import key_of
from tests.people import COMPANY, OTHER_COMPANY, auditor, member, signed_in
from tests.queue import filled
from tests.store.conversations.queue_index.test_queue_index import held, waiting

QUEUE, TAKE, COUNT = "/queue/", "/queue/take/", "/queue/count/"
POLL = {"HTTP_X_POLL": "1"}


@pytest.fixture
def queue(store):
    filled(store)
    return store


def rows_in(answer) -> list[str]:
    assert answer.status_code == 200, answer.content[:500]
    return re.findall(r'<li data-row id="row-([^"]+)"', answer.content.decode())


def token_in(answer) -> str:
    return re.search(r'name="token" value="([^"]+)"', answer.content.decode())[1]


def test_a_full_queue_has_pages_that_lead_on(queue):
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"r{n}") for n in range(60)])
    client, address, seen = signed_in(member()), QUEUE, []
    for expected in (25, 25, 10):
        answer = client.get(address)
        assert len(rows_in(answer)) == expected
        assert "60 people are waiting" in answer.content.decode()
        seen += rows_in(answer)
        onward = re.search(r'rel="next" href="([^"]+)"', answer.content.decode())
        address = onward[1].replace("&amp;", "&") if onward else ""
    assert address == ""
    assert len(set(seen)) == 60


def test_another_persons_or_a_damaged_page_is_the_first(queue):
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"r{n}") for n in range(30)])
    first = signed_in(member()).get(QUEUE)
    onward = re.search(r'rel="next" href="([^"]+)"', first.content.decode())[1].replace("&amp;", "&")
    for address in (onward, onward + "junk", QUEUE + "?page=x"):
        assert rows_in(signed_in(member("tom.becker")).get(address)) == rows_in(first)


def test_an_open_page_is_told_only_what_changed(queue):
    queue.put("CONVERSATIONS", waiting(5, request_id="first"))
    client = signed_in(member())
    page = client.get(QUEUE)
    tag = re.search(r'data-tag="([^"]+)"', page.content.decode())[1].replace("&quot;", '"')
    assert page["ETag"] == tag
    with queue.calls() as seen:
        unchanged = client.get(QUEUE, **POLL, HTTP_IF_NONE_MATCH=tag)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    # Who asks, and whether there is news.
    assert [call.operation for call in seen] == ["BatchGetItem", "BatchGetItem"]
    queue.put("CONVERSATIONS", waiting(9, request_id="second"))
    changed = client.get(QUEUE, **POLL, HTTP_IF_NONE_MATCH=tag)
    assert len(rows_in(changed)) == 2
    assert changed["ETag"] != tag
    assert 'data-waiting="2"' in changed.content.decode()
    assert "<html" not in changed.content.decode()


@pytest.mark.parametrize("change", ["taken", "reason", "handed back"])
def test_whatever_a_row_shows_changes_the_tag(queue, change):
    item = waiting(5)
    queue.put("CONVERSATIONS", item)
    client = signed_in(member())
    tag = client.get(QUEUE, **POLL)["ETag"]
    values = {
        "taken": {"hand_off_agent": "tom", "gsi_hand_off_queue": held_in(COMPANY)},
        "reason": {"hand_off_to_human_reason": "Angry"},
        "handed back": {"hand_off_to_human": False},
    }[change]
    queue.update("CONVERSATIONS", key_of(item), **values)
    assert client.get(QUEUE, **POLL, HTTP_IF_NONE_MATCH=tag).status_code == 200


def test_polling_does_not_keep_a_session_alive(queue):
    client = signed_in(member())
    [session] = queue.all("STAFF_SESSIONS")
    long_ago = clock.to_iso(clock.now() - timedelta(minutes=20))
    queue.update("STAFF_SESSIONS", {"session_id": session["session_id"]}, last_seen_at=long_ago)
    for address in (QUEUE, COUNT):
        assert client.get(address, **POLL).status_code == 200
    assert queue.all("STAFF_SESSIONS")[0]["last_seen_at"] == long_ago
    client.get(QUEUE)
    assert queue.all("STAFF_SESSIONS")[0]["last_seen_at"] > long_ago


def test_the_count_beside_the_queue_is_remembered_and_tagged(queue):
    queue.put_all("CONVERSATIONS", [waiting(5), waiting(6)])
    client = signed_in(member())
    answer = client.get(COUNT)
    assert answer.json() == {"waiting": "2", "mine": 0, "notices": [], "here": ""}
    with queue.calls() as seen:
        assert client.get(COUNT, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    # Who asks, and what they were told; the counts are cached.
    assert [call.operation for call in seen] == ["BatchGetItem", "Query"]
    # Every page has a place for it, and asks nothing itself.
    with queue.calls() as seen:
        page = client.get(reverse("account")).content.decode()
    assert 'data-waiting-count="/queue/count/" hidden' in page
    assert not [call for call in seen if "CONVERSATIONS" in call.tables]
    assert signed_in(auditor()).get(COUNT).status_code == 403


def test_the_longest_waiting_is_taken_and_opened(queue):
    items = [waiting(5, request_id="short"), waiting(50, request_id="long"), waiting(99, OTHER_COMPANY)]
    queue.put_all("CONVERSATIONS", items)
    client = signed_in(member())
    form = {"token": token_in(client.get(QUEUE))}
    answer = client.post(TAKE, form)
    assert answer.status_code == 302
    stored = queue.get("CONVERSATIONS", **key_of(items[1]))
    assert (stored["hand_off_agent"], stored["gsi_hand_off_queue"]) == ("amira.haddad", held_in(COMPANY))
    assert client.get(answer["Location"]).status_code == 200
    # The same form again takes nobody else.
    assert client.post(TAKE, form)["Location"] == answer["Location"]
    assert "hand_off_agent" not in queue.get("CONVERSATIONS", **key_of(items[0]))
    assert "hand_off_agent" not in queue.get("CONVERSATIONS", **key_of(items[2]))


def test_the_longest_waiting_keeps_to_the_filters(queue):
    items = [waiting(5, request_id="sms", channel_method="sms"), waiting(50, request_id="whatsapp")]
    queue.put_all("CONVERSATIONS", items)
    client = signed_in(member())
    page = client.get(QUEUE + "?channel=sms")
    assert '<input type="hidden" name="channel" value="sms">' in page.content.decode()
    client.post(TAKE, {"token": token_in(page), "channel": "sms"})
    assert queue.get("CONVERSATIONS", **key_of(items[0]))["hand_off_agent"] == "amira.haddad"
    assert "hand_off_agent" not in queue.get("CONVERSATIONS", **key_of(items[1]))


def test_page_after_an_action_has_the_new_counts(queue):
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"r{n}") for n in range(30)])
    client = signed_in(member())

    def counts(page: str) -> list[str]:
        return re.findall(r"(?:Waiting|Mine)\s*(?:<[^>]+>)?\s*(\d+)", page)

    client.post(TAKE, {"token": token_in(client.get(QUEUE))})
    assert client.get(COUNT).json()["waiting"] == "29"
    mine = client.get(QUEUE + "?tab=mine").content.decode()
    assert counts(mine) == ["29", "1"]
    assert counts(client.post("/queue/release-mine/", follow=True).content.decode()) == ["30", "0"]


def test_nobody_waiting_is_said(queue):
    answer = signed_in(member()).post(TAKE, {"token": seal("take", "amira.haddad", "x" * 32)}, follow=True)
    assert "Nobody is waiting any more" in answer.content.decode()


def test_somebody_elses_form_is_refused(queue):
    queue.put("CONVERSATIONS", waiting(5))
    member("tom.becker")
    for token in (seal("take", "tom.becker", "x" * 32), "junk", ""):
        assert signed_in(member()).post(TAKE, {"token": token}).status_code == 404


@pytest.mark.slow
def test_of_many_who_press_at_once_each_gets_another_and_nobody_two(queue):
    items = [waiting(n + 1, request_id=f"r{n}") for n in range(4)]
    queue.put_all("CONVERSATIONS", items)
    people = [member(f"agent.{number}") for number in range(6)]
    clients = [signed_in(person) for person in people]
    tokens = [seal("take", person.username, f"{number:032}") for number, person in enumerate(people)]
    answers: dict[int, int] = {}

    def press(number: int) -> None:
        answers[number] = clients[number].post(TAKE, {"token": tokens[number]}).status_code

    threads = [Thread(target=press, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers.values()) == {302}
    holders = [queue.get("CONVERSATIONS", **key_of(item)).get("hand_off_agent") for item in items]
    assert None not in holders
    assert len(set(holders)) == 4


def test_a_lost_answer_is_found_again_by_the_same_form(queue):
    items = [waiting(5, request_id="a"), waiting(50, request_id="b")]
    queue.put_all("CONVERSATIONS", items)
    client = signed_in(member())
    form = {"token": token_in(client.get(QUEUE))}
    with faults.fail_after("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
        client.post(TAKE, form)
    client.post(TAKE, form)
    holders = [queue.get("CONVERSATIONS", **key_of(item)).get("hand_off_agent") for item in items]
    assert holders == [None, "amira.haddad"]


def test_where_people_answer_elsewhere_a_new_message_is_marked_until_it_was_looked_at(queue):
    def said(role: str, minutes: float):
        at = clock.to_iso(clock.now() - timedelta(minutes=minutes))
        return {"entry_id": f"{role}{minutes}", "role": role, "content": "Hello", "message_timestamp": at}

    item = held("amira.haddad", 60, messages=[said("user", 50)])
    quiet = held("amira.haddad", 60, request_id="quiet", messages=[said("user", 50)])
    queue.put_all("CONVERSATIONS", [item, quiet])
    client = signed_in(member())
    mine = QUEUE + "?tab=mine"
    assert "new message" not in client.get(mine).content.decode()  # taken half an hour ago, after that message
    later = {"updated_at": clock.to_iso(clock.now()), "messages": [said("user", 50), said("assistant", 9)]}
    queue.update("CONVERSATIONS", key_of(item), **later)
    assert "new message" not in client.get(mine).content.decode()
    queue.update("CONVERSATIONS", key_of(item), messages=[said("user", 50), said("user", 2)])
    page = client.get(mine).content.decode()
    assert page.count("new message") == 1
    opened = re.search(r'data-open href="([^"]+)"', page[page.index('class="new"') :])[1].replace("&amp;", "&")
    before = queue.get("CONVERSATIONS", **key_of(item))
    assert client.get(opened).status_code == 200
    assert "new message" not in client.get(mine).content.decode()
    assert queue.get("CONVERSATIONS", **key_of(item)) == before


def test_marks_that_cannot_be_read_cost_the_marks_only(queue):
    queue.put("CONVERSATIONS", held("amira.haddad", 60))
    client = signed_in(member())
    of_marks = lambda request: "SEEN#" in str(request)  # noqa: E731
    with faults.fail_before("BatchGetItem", where=of_marks, times=faults.ALWAYS) as fault:
        assert len(rows_in(client.get(QUEUE + "?tab=mine"))) == 1
    assert fault.struck


def test_a_silent_indexer_is_said(queue):
    queue.put("CONVERSATIONS", waiting(5))
    client = signed_in(member())
    assert "was not heard of" not in client.get(QUEUE).content.decode()
    ago = clock.to_iso(clock.now() - timedelta(minutes=12))
    queue.update("CONSOLE", {"pk": "INDEXER", "sk": "LEASE"}, beat_at=ago, last_sweep_at=ago)
    caching.invalidate_all()
    assert "No sign of the queue&#x27;s indexer for 12 min" in client.get(QUEUE).content.decode()


def test_waiting_times_of_companies_and_projects(queue):
    queue.put_all("CONSOLE", [{"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"}])
    queue.put_all("CONVERSATIONS", [waiting(10 * n, request_id=f"r{n}") for n in range(1, 4)])
    queue.put("CONVERSATIONS", waiting(999, OTHER_COMPANY))
    text = " ".join(re.sub(r"<[^>]+>", " ", signed_in(member()).get("/queue/waiting-times/").content.decode()).split())
    assert "Cucumber 3 20 min 30 min 30 min Clarify CV 3 20 min 30 min 30 min" in text
    assert "16 h" not in text


def test_what_is_waiting_is_partitioned_by_company(queue):
    assert (waiting_in("a"), held_in("a")) == ("waiting#a", "held#a")
