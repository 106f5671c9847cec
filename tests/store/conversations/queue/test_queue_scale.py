"""The queue over any number of companies: order, pages, counts, the next one, and what a page costs."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from console import caching, clock
from console.errors import ConsoleError
from console.permissions import Role, Scope, Staff
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, LostRace, intent_for, perform
from conversations.handoff.partitions import PartitionSummary, read_partitions
from conversations.handoff.stored import attention_in, held_in, urgent_in, waiting_in
from conversations.indexer.worker import Worker
from conversations.models import Conversation
from conversations.queue import counting, reading
from conversations.queue.actions import take_longest
from conversations.queue.pages import COLLEAGUES, MINE, TABS, WAITING, QueueFilters, count_tab, entry_of
from conversations.queue_index.refreshing import fill_partitions, refresh_due
from tests import faults
from tests.items import conversation
from tests.people import admin, member, signed_in
from tests.queue import filled
from tests.store.conversations.queue.test_queue import agent, short
from tests.store.conversations.queue_index.test_queue_index import ago, held, waiting

NOTHING = QueueFilters()
EVERYTHING = Staff("root", "Root", Role.ADMIN, Scope(everything=True))
POLL = {"HTTP_X_POLL": "1"}


def company(number: int) -> str:
    return f"ci-{number:04}"


def all_rows(staff: Staff, tab: str = WAITING, filters: QueueFilters = NOTHING, **options) -> list[str]:
    """The rows of all pages."""
    found, place = [], None
    while True:
        page = reading.read_tab(tab, staff, filters, place=place, **options)
        found += page.entries
        if (place := page.following) is None:
            break
    orders = [each.order[0] for each in found]
    assert orders == sorted(orders)
    return short(found)


def expected(store, staff: Staff, tab: str = WAITING) -> list[str]:
    """What all items of the table say, in the order of the queue."""
    entries = filter(None, (entry_of(raw, clock.now()) for raw in store.all_raw("CONVERSATIONS")))
    mine = [each for each in entries if staff.scope.covers_company(each.summary.company_id)]
    listed = [each for each in mine if each.is_of(tab, staff.username)]
    if tab != WAITING:
        # Urgency only orders those who wait.
        return short(sorted(listed, key=lambda each: (each.since, each.mark)))
    return short(sorted(listed, key=lambda each: each.order))


def skewed(companies: int, seed: int = 7) -> list[dict]:
    return [each | {"company_name": each["company_id"]} for each in _skewed(companies, random.Random(seed))]


def _skewed(companies: int, chance: random.Random) -> list[dict]:
    """Conversations of many companies: most have nobody, some few, one very many; somebody waits for 60 days."""
    items = []
    for number in range(companies):
        many = 60 if number == 3 else chance.choice([0, 0, 1, 1, 2, 5])
        for n in range(many):
            minutes, name = chance.uniform(1, 9_000), f"r{number}x{n}"
            kind = chance.choice(["waiting", "waiting", "urgent", "held", "attention"])
            if kind == "held":
                items.append(held(chance.choice(["root", "tom"]), minutes, company(number), request_id=name))
            elif kind == "urgent":
                key = urgent_in(company(number))
                more = {"hand_off_urgent": "words", "gsi_hand_off_queue": key, "request_id": name}
                items.append(waiting(minutes, company(number), **more))
            elif kind == "attention":
                since = ago(minutes)
                marks = {"hand_off_attention": "failed", "gsi_hand_off_queue": attention_in(company(number))}
                more = {"hand_off_requested_at": since, "updated_at": since, "request_id": name, **marks}
                items.append(conversation(company_id=company(number), conversation_status="failed", **more))
            else:
                items.append(waiting(minutes, company(number), request_id=name))
    items.append(waiting(60 * 24 * 60, company(companies - 1), request_id="sixtydays"))
    return items


@pytest.fixture
def queue(store):
    filled(store)
    return store


@pytest.mark.parametrize("companies", [4, *(pytest.param(each, marks=pytest.mark.slow) for each in (20, 21, 34))])
def test_every_tab_lists_all_in_scope_in_order(queue, companies):
    queue.put_all("CONVERSATIONS", skewed(companies))
    scopes = [EVERYTHING]
    scopes += [agent("root", *(company(n) for n in numbers)) for numbers in (range(1, 26), (0, companies - 1))]
    for staff in scopes:
        for tab in TABS:
            for size in (3, 25):
                assert all_rows(staff, tab, size=size) == expected(queue, staff, tab), (staff.scope, tab, size)
            partitions = reading.partitions_in_scope(staff, read_partitions())
            count = count_tab(tab, partitions, "root")
            assert (count.number, count.more) == (len(expected(queue, staff, tab)), False), tab


def test_who_has_waited_sixty_days_in_the_last_of_34_companies_comes_first_everywhere(queue):
    items = [each for each in skewed(34) if "urgent" not in each["gsi_hand_off_queue"]]
    queue.put_all("CONVERSATIONS", items)
    queue.put("CONSOLE", {"pk": "COMPANIES", "sk": company(33), "name": "Zeta"})
    client = signed_in(admin())
    page = client.get("/queue/").content.decode()
    number = len(expected(queue, EVERYTHING))
    assert f"{number} people are waiting" in page
    assert re.search(r'<p>Longest <time datetime="[^"]+" data-relative="age">60 d', page)
    assert client.get("/queue/count/").json()["waiting"] == str(number)
    assert "60 d" in client.get("/queue/waiting-times/").content.decode()
    token = re.search(r'name="token" value="([^"]+)"', page)[1]
    client.post("/queue/take/", {"token": token})
    assert all_rows(agent("ada.admin", company(33)), MINE) == ["sixtydays"]


def test_filters_and_neighbours_reach_every_company(queue):
    queue.put_all("CONVERSATIONS", skewed(34))
    queue.put("CONVERSATIONS", waiting(2, company(30), request_id="sms", channel_method="sms"))
    assert all_rows(EVERYTHING, filters=QueueFilters(channel="sms")) == ["sms"]
    over_an_hour = all_rows(EVERYTHING, filters=QueueFilters(waited=timedelta(hours=1)), size=7)
    everybody = expected(queue, EVERYTHING)
    assert over_an_hour == [each for each in everybody if each in set(over_an_hour)]
    assert len(over_an_hour) > 25
    item, seen = None, []
    while found := reading.neighbour_in_tab(WAITING, EVERYTHING, NOTHING, item, back=False):
        seen.append(found.summary.short_id)
        item = found.item
    assert seen == everybody
    back = reading.neighbour_in_tab(WAITING, EVERYTHING, NOTHING, item, back=True)
    assert back.summary.short_id == everybody[-2]


# --- Cost -----------------------------------------------------------------------------------------------------------


def calls_of_page(store, client, address: str = "/queue/", **headers) -> tuple[int, Counter, int]:
    """The calls of a page, by operation, and how many companies it shows."""
    with store.calls() as seen:
        answer = client.get(address, **headers)
    shown = set(re.findall(r'<div class="where"><b>([^<]+)</b>', answer.content.decode()))
    return len(seen), Counter(call.operation for call in seen), len(shown)


@pytest.mark.parametrize("companies", [4, 30, pytest.param(300, marks=pytest.mark.slow)])
def test_a_page_costs_two_queries_for_each_company_shown_and_eight_calls(queue, companies):
    queue.put_all("CONVERSATIONS", skewed(companies))
    client = signed_in(admin())
    for warmth in ("cold", "warm"):
        if warmth == "cold":
            caching.invalidate_all()
        for tab in TABS:
            made, operations, shown = calls_of_page(queue, client, f"/queue/?tab={tab}")
            assert made <= 2 * shown + 8, (warmth, tab, shown, operations)


@pytest.mark.slow
def test_three_thousand_companies_cost_no_more(queue):
    """Of their conversations, only those that a page shows: the rows of the partitions say enough of the others."""
    queue.put_all(
        "CONVERSATIONS",
        [waiting(9_000 - n, company(n), request_id=f"r{n}", company_name=company(n)) for n in range(30)],
    )
    queue.after_write = None
    since = [ago(1_000 - n / 10) for n in range(3_000)]
    rows = [
        {"pk": "QUEUE", "sk": waiting_in(company(n)), "revision": "r", "first": since[n], "last": since[n], "count": 1}
        for n in range(30, 3_000)
    ]
    queue.put_all("CONSOLE", rows)
    client = signed_in(admin())
    caching.invalidate_all()
    made, operations, shown = calls_of_page(queue, client)
    assert shown == 25
    assert made <= 2 * shown + 8, operations
    assert "3,000 people are waiting" in client.get("/queue/").content.decode()


def test_a_poll_without_news_is_two_reads_and_news_are_told_at_once(queue):
    queue.put_all("CONVERSATIONS", skewed(34))
    client = signed_in(admin())
    tag = client.get("/queue/")["ETag"]
    for _ in range(3):
        with queue.calls() as seen:
            answer = client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=tag)
        assert answer.status_code == 304
        assert [call.operation for call in seen] == ["BatchGetItem", "BatchGetItem"]
        tag = answer["ETag"]
    queue.put("CONVERSATIONS", conversation(request_id="of-no-concern"))
    answer = client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=tag)
    # The revision moved, the page is the same: it is told so, with a tag that costs two reads again.
    assert answer.status_code == 304
    assert answer["ETag"] != tag
    queue.put("CONVERSATIONS", waiting(99_000, company(9), request_id="news"))
    assert client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 200


def test_a_tag_of_somebody_else_or_of_other_filters_is_no_answer(queue):
    queue.put_all("CONVERSATIONS", skewed(4))
    tag = signed_in(admin()).get("/queue/")["ETag"]
    others = [(signed_in(member(scope=[company(3)])), "/queue/"), (signed_in(admin("eve")), "/queue/")]
    for client, address in [
        *others,
        (signed_in(admin()), "/queue/?tab=mine"),
        (signed_in(admin()), "/queue/?company=x"),
    ]:
        assert client.get(address, **POLL, HTTP_IF_NONE_MATCH=tag).status_code == 200


def test_time_alone_ends_what_a_tag_says(queue, monkeypatch):
    queue.put("CONVERSATIONS", waiting(14, company(1)))
    client = signed_in(admin())
    tag = client.get("/queue/")["ETag"]
    assert client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=tag).status_code == 304
    now = clock.now() + timedelta(minutes=1, seconds=5)
    monkeypatch.setattr(clock, "now", lambda: now)
    # Over a quarter of an hour, the wait is shown in another tone.
    assert client.get("/queue/", **POLL, HTTP_IF_NONE_MATCH=tag).status_code == 200


# --- Histories ------------------------------------------------------------------------------------------------------


def act(chance: random.Random, store) -> None:
    """A person or the platform does something somewhere."""
    raw = chance.choice(store.all_raw("CONVERSATIONS"))
    item = Conversation.from_raw_data(raw)
    hand_off = hand_off_of(item)
    key = {"primary_channel": item.primary_channel, "conversation_id": item.conversation_id}
    what = chance.choice(["take", "release", "back", "asks", "drops", "expires"])
    possible = {"take": HandOffAction.TAKE, "release": HandOffAction.RELEASE, "back": HandOffAction.HAND_BACK}
    if what in possible:
        try:
            perform(intent_for(possible[what], item, hand_off), EVERYTHING)
        except (ConsoleError, LostRace):
            return
    elif what == "expires":
        if chance.random() < 0.2:
            store.update("CONVERSATIONS", key, ttl=clock.to_epoch(clock.now()) - 5)
    else:
        at = clock.to_iso(clock.now() - timedelta(minutes=chance.uniform(0, 300)))
        flag = {"hand_off_to_human": what == "asks", "hand_off_to_human_reason": what, "updated_at": at}
        store.update("CONVERSATIONS", key, **flag)


def crashes(chance: random.Random) -> Iterator[object]:
    """Before or after any call of the indexer, for ever."""
    while True:
        strike = chance.choice([faults.fail_before, faults.fail_after])
        yield strike(nth=chance.randint(1, 25))


def settled(worker: Worker, ticking) -> None:
    for _ in range(12):
        worker.cycle()
        ticking()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_queue_is_as_the_table_after_any_history_with_crashes(bare_store, monkeypatch, seed):
    """Over takes, returns, requests, flags that fall, expiries, and an indexer that dies between any two calls.

    After each step, nobody in the index is missing from the list; when the indexer has caught up, list and counts are
    those of the table.
    """
    chance, now, store = random.Random(seed), [clock.now()], bare_store
    # The streams of `store` hold what other tests wrote: the indexer would be long at it.
    store.create_tables()
    monkeypatch.setattr(clock, "now", lambda: now[0])

    def tick() -> None:
        now[0] += timedelta(seconds=5)

    for number in range(60):
        values = {"request_id": f"r{number}", "hand_off_to_human": chance.random() < 0.5}
        store.put("CONVERSATIONS", conversation(company_id=company(number % 23), **values))
    worker = Worker(owner="first", now=lambda: now[0], wait=lambda _: True)
    settled(worker, tick)
    strikes = crashes(chance)
    for step in range(40):
        act(chance, store)
        tick()
        if chance.random() < 0.4:
            with next(strikes):
                worker.cycle()
            if chance.random() < 0.5:
                worker = Worker(owner=f"another-{step}", now=lambda: now[0], wait=lambda _: True)
                now[0] += timedelta(seconds=40)
        missing = in_index(store) - set(all_rows(EVERYTHING, WAITING)) - set(all_rows(EVERYTHING, MINE))
        assert not missing, step
    now[0] += timedelta(minutes=1)
    settled(worker, tick)
    for _ in range(4):
        now[0] += timedelta(minutes=2)
        refresh_due(now[0])
        settled(worker, tick)
    caching.invalidate_all()
    for tab in (WAITING, MINE, COLLEAGUES):
        assert sorted(all_rows(EVERYTHING, tab)) == sorted(expected(store, EVERYTHING, tab))
        found = count_tab(tab, reading.partitions_in_scope(EVERYTHING, read_partitions()), "root")
        assert found.number == len(expected(store, EVERYTHING, tab)), tab
    bounds = {each.sk: each.since for each in PartitionSummary.query("QUEUE")}
    assert bounds == first_times(store)


def in_index(store) -> set[str]:
    """Those in the index who wait or are held by the reader, whatever the rows of the partitions say."""
    found = set()
    for raw in store.all_raw("CONVERSATIONS"):
        entry = entry_of(raw, clock.now())
        key = raw.get("gsi_hand_off_queue", {}).get("S", "")
        waits = entry is not None and entry.is_of(WAITING, "") and key.startswith(("waiting#", "urgent#"))
        if waits or (entry is not None and entry.is_of(MINE, "root") and key.startswith("held#")):
            found.add(entry.summary.short_id)
    return found


def first_times(store) -> dict[str, str]:
    """The earliest time in each partition of the index."""
    times: dict[str, list[str]] = {}
    for raw in store.all_raw("CONVERSATIONS"):
        if (key := raw.get("gsi_hand_off_queue", {}).get("S")) and "hand_off_requested_at" in raw:
            times.setdefault(key, []).append(raw["hand_off_requested_at"]["S"])
    return {key: min(each) for key, each in times.items()}


@pytest.mark.slow
def test_next_one_is_the_longest_wait_over_all_companies_again_and_again(queue):
    queue.put_all("CONVERSATIONS", [waiting(10 + n, company(n), request_id=f"r{n}") for n in range(34)])
    root, order = EVERYTHING, expected(queue, EVERYTHING)
    taken = [take_longest(NOTHING, f"{number:032}", root).summary.short_id for number in range(34)]
    assert taken == order
    assert take_longest(NOTHING, "z" * 32, root) is None
    counting.forget()
    fill_partitions({held_in(company(n)) for n in range(34)})
    assert counting.waiting(root).number == 0
    assert len(all_rows(root, MINE)) == 34
