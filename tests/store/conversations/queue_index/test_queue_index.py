"""The queue by its index: the same rows as the table has, in the same order, from the partitions that a page needs."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import caching, clock
from console.store.streams import Keyset
from conversations.handoff.stored import held_in, waiting_in
from conversations.queue import counting, reading
from conversations.queue.pages import (
    ATTENTION,
    COLLEAGUES,
    MINE,
    NO_REASON,
    TABS,
    WAITING,
    QueueFilters,
    count_tab,
    entry_of,
    mark_of_reason,
)
from conversations.queue.reading import READS_PER_PARTITION
from tests.items import conversation, key_of
from tests.queue import filled
from tests.store.conversations.queue.test_queue import COMPANY, OTHER, agent, short

ME = "amira"
NOTHING = QueueFilters()


def ago(minutes: float) -> str:
    return clock.to_iso(clock.now() - timedelta(minutes=minutes))


def waiting(minutes: float, company: str = COMPANY, **overrides):
    values = {
        "company_id": company,
        "hand_off_to_human": True,
        "hand_off_to_human_reason": "User requested agent",
        "hand_off_requested_at": ago(minutes),
        "gsi_hand_off_queue": waiting_in(company),
    }
    return conversation(**(values | overrides))


def held(agent: str, minutes: float = 5, company: str = COMPANY, **overrides):
    values = {
        "hand_off_agent": agent,
        "hand_off_taken_at": ago(minutes / 2),
        "hand_off_wanted": True,
        "gsi_hand_off_queue": held_in(company),
    }
    return waiting(minutes, company, **(values | overrides))


@pytest.fixture
def queue(store):
    """A store whose queue's index is filled."""
    filled(store)
    return store


def me(companies=(COMPANY, OTHER)):
    return agent(ME, *companies)


def tab(name: str = WAITING, companies=(COMPANY, OTHER), filters: QueueFilters = NOTHING, **options):
    return reading.read_tab(name, me(companies), filters, **options)


def counts(*names: str, companies=(COMPANY, OTHER)) -> list[str]:
    """What the tabs are said to list."""
    counting.forget()
    partitions = reading.partitions_in_scope(me(companies), counting.all_partitions())
    return [str(count_tab(name, partitions, ME)) for name in names or (WAITING,)]


def all_pages(name: str = WAITING, companies=(COMPANY, OTHER), filters: QueueFilters = NOTHING, size: int = 3):
    rows, place = [], None
    for _ in range(60):
        page = tab(name, companies, filters, size=size, place=place)
        rows += short(page.entries)
        place = page.following
        if place is None:
            return rows
        assert Keyset.unsealed(place.sealed("x"), "x") == place
    raise AssertionError("the pages have no end")


def test_longest_wait_first_one_query_for_each_partition_with_rows(queue):
    queue.put_all(
        "CONVERSATIONS",
        [
            waiting(5, request_id="five"),
            waiting(500, OTHER, request_id="fivehundred"),
            waiting(50, request_id="fifty"),
            conversation(request_id="with-the-ai"),
            held("tom", 900, request_id="toms"),
            waiting(1, "ci-ccc-003", request_id="out-of-scope"),
        ],
    )
    tab()
    with queue.calls() as seen:
        page = tab()
    assert short(page.entries) == ["fivehundred", "fifty", "five"]
    assert page.is_whole
    assert page.indexed
    assert [(call.operation, call.index) for call in seen] == [("Query", "")] + [("Query", "hand-off-queue-index")] * 2


def test_the_tabs_of_what_people_hold(queue):
    queue.put_all(
        "CONVERSATIONS",
        [
            held(ME, 9, request_id="mine"),
            held("tom", 8, request_id="toms"),
            held(ME, 7, request_id="overridden", hand_off_to_human=False),
            held("tom", 6, request_id="toms-overridden", hand_off_to_human=False),
            waiting(3, request_id="free"),
        ],
    )
    assert short(tab(MINE).entries) == ["mine", "overridden"]
    assert short(tab(COLLEAGUES).entries) == ["toms", "toms-overridden"]
    assert short(tab(ATTENTION).entries) == ["overridden", "toms-overridden"]
    assert counts(MINE, COLLEAGUES, ATTENTION) == ["2", "2", "2"]


def test_rows_whose_flag_and_key_disagree_are_dropped(queue):
    queue.put_all(
        "CONVERSATIONS",
        [
            waiting(5, request_id="cleared", hand_off_to_human=False),
            waiting(5, request_id="expired", ttl=clock.to_epoch(clock.now()) - 5),
            waiting(4, request_id="taken", hand_off_agent="tom"),
            waiting(3, request_id="true"),
            waiting(2, request_id="drifted", hand_off_to_human=" TRUE", ttl="soon"),
            waiting(1, request_id="no", hand_off_to_human="no"),
        ],
    )
    assert short(tab().entries) == ["true", "drifted"]
    assert counts() == ["2"]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_of_many_that_asked_at_the_same_instant_miss_and_repeat_nobody(queue, size):
    at = ago(30)
    items = [waiting(0, COMPANY if n % 2 else OTHER, request_id=f"same{n}", hand_off_requested_at=at) for n in range(9)]
    items += [waiting(n, request_id=f"r{n}") for n in (1, 40, 50)]
    queue.put_all("CONVERSATIONS", items)
    rows = all_pages(size=size)
    assert len(rows) == len(set(rows)) == 12
    assert rows[:2] == ["r50", "r40"]
    assert rows[-1] == "r1"


def test_a_page_costs_the_same_wherever_it_lies(queue):
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"r{n:03}") for n in range(120)])
    place = None
    for _ in range(4):
        with queue.calls() as seen:
            page = tab(companies=[COMPANY], place=place)
        queries = [call for call in seen if call.operation == "Query"]
        assert len(queries) <= 2
        assert all(query.request.get("Limit", 0) <= 27 for query in queries)
        place = page.following
    assert len(all_pages(companies=[COMPANY], size=25)) == 120


def test_filters_let_through_what_they_say(queue):
    queue.put_all(
        "CONVERSATIONS",
        [
            waiting(5, request_id="sms", channel_method="sms"),
            waiting(6, request_id="project", project_id="pi-2"),
            waiting(7, request_id="none", hand_off_to_human_reason=None),
            waiting(8, request_id="reason", hand_off_to_human_reason="Angry"),
            waiting(300, OTHER, request_id="other"),
        ],
    )
    found = {
        "channel": tab(filters=QueueFilters(channel="sms")),
        "project": tab(filters=QueueFilters(project="pi-2")),
        "none": tab(filters=QueueFilters(reason=NO_REASON)),
        "reason": tab(filters=QueueFilters(reason=mark_of_reason("Angry"))),
        "company": tab(filters=QueueFilters(company=OTHER)),
        "elsewhere": tab(filters=QueueFilters(company="ci-ccc-003")),
        "waited": tab(filters=QueueFilters(waited=timedelta(hours=1))),
    }
    assert {name: short(page.entries) for name, page in found.items()} == {
        "channel": ["sms"],
        "project": ["project"],
        "none": ["none"],
        "reason": ["reason"],
        "company": ["other"],
        "elsewhere": [],
        "waited": ["other"],
    }


def test_a_wait_is_served_by_the_index(queue):
    queue.put_all("CONVERSATIONS", [waiting(n, request_id=f"r{n}") for n in range(1, 60)])
    page = tab(companies=[COMPANY], filters=QueueFilters(waited=timedelta(minutes=50)))
    assert page.looked_at == 10
    assert page.following is None


def test_needing_attention_costs_a_page_of_rows_however_many_there_are(queue):
    """Of those that people hold, which have other reasons to be listed, more are looked at."""
    marks = {"gsi_hand_off_queue": f"attention#{COMPANY}", "hand_off_attention": "failed", "hand_off_to_human": False}
    queue.put_all("CONVERSATIONS", [waiting(n, request_id=f"r{n}", **marks) for n in range(1, 60)])
    page = tab(ATTENTION, companies=[COMPANY])
    assert len(page.entries) < page.looked_at == len(page.entries) + 1
    assert page.following is not None


def test_a_filtered_page_that_spent_its_reads_says_how_far_it_looked_and_goes_on(queue, monkeypatch):
    monkeypatch.setattr("conversations.queue.reading.FILTERED_LIMIT", 2)
    items = [waiting(100 - n, request_id=f"r{n}") for n in range(20)]
    items += [
        waiting(1, request_id="wanted", channel_method="sms"),
        waiting(2, OTHER, request_id="w2", channel_method="sms"),
    ]
    queue.put_all("CONVERSATIONS", items)
    wanted = QueueFilters(channel="sms")
    first = tab(filters=wanted)
    assert first.entries == ()
    assert first.thin
    assert first.following is not None
    assert all_pages(filters=wanted) == ["w2", "wanted"]
    with queue.calls() as seen:
        tab(filters=wanted)
    assert len([call for call in seen if call.operation == "Query"]) <= 1 + 2 * READS_PER_PARTITION


def test_beside_a_row_also_from_one_that_was_taken_meanwhile(queue):
    items = [waiting(30, request_id="a"), waiting(20, request_id="b"), waiting(10, OTHER, request_id="c")]
    queue.put_all("CONVERSATIONS", items)
    first, second, third = (entry.item for entry in tab().entries)

    def beside(item, *, back=False):
        found = reading.neighbour_in_tab(WAITING, me(), NOTHING, item, back=back)
        return found.summary.short_id if found else None

    assert [beside(first), beside(second), beside(third)] == ["b", "c", None]
    assert [beside(first, back=True), beside(second, back=True), beside(third, back=True)] == [None, "a", "b"]
    queue.update(
        "CONVERSATIONS",
        key_of(items[1]),
        gsi_hand_off_queue=held_in(COMPANY),
        hand_off_agent="tom",
    )
    assert beside(second) == "c"
    assert beside(None) == "a"


def test_counts_are_exact_up_to_a_hundred_and_remembered(queue):
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"r{n}") for n in range(99)])
    assert str(counting.waiting(me())) == "99"
    with queue.calls() as seen:
        assert str(counting.waiting(me())) == "99"
    assert seen == []
    queue.put_all("CONVERSATIONS", [waiting(n + 1, request_id=f"s{n}") for n in range(2)])
    assert str(counting.waiting(me())) == "100+"


def test_waiting_times_are_of_those_who_wait_now(queue):
    queue.put_all(
        "CONVERSATIONS",
        [waiting(10 * n, request_id=f"r{n}", project_id="pi-1") for n in range(1, 11)]
        + [waiting(7, request_id="alone", project_id="pi-2"), held("tom", 999)],
    )
    found = counting.waits_in(COMPANY)
    [(project, _, waits), (other, _, alone)] = found.projects
    assert (project, other, waits.count, alone.count) == ("pi-1", "pi-2", 10, 1)
    minutes = [round(each.total_seconds() / 60) for each in (waits.median, waits.ninetieth, waits.longest)]
    assert minutes == [55, 90, 100]
    assert found.total.count == 11
    assert found.complete
    assert found.waiting_in("pi-1") == 10


def test_an_index_whose_partitions_were_never_listed_is_not_relied_on(store):
    store.put("CONVERSATIONS", waiting(5, request_id="seen"))
    page = tab()
    assert (page.entries, page.indexed) == ((), False)


AGENTS = st.sampled_from(["", "", ME, "tom"])
ITEMS = st.lists(
    st.tuples(st.booleans(), AGENTS, st.integers(1, 12), st.sampled_from([COMPANY, OTHER]), st.booleans()), max_size=14
)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=ITEMS, size=st.integers(1, 5))
def test_every_tab_lists_what_looking_through_everything_finds(queue, items, size):
    """The oracle is all items of the table."""
    queue.empty()
    caching.invalidate_all()
    filled(queue)
    for number, (flag, holder, minutes, company, expired) in enumerate(items):
        values = {"request_id": f"r{number}", "hand_off_to_human": flag}
        if expired:
            values["ttl"] = clock.to_epoch(clock.now()) - 60
        item = held(holder, minutes, company, **values) if holder else waiting(minutes, company, **values)
        if not flag and not holder:
            del item["gsi_hand_off_queue"], item["hand_off_requested_at"]
        queue.put("CONVERSATIONS", item)
    everything = [entry_of(raw, clock.now()) for raw in queue.all_raw("CONVERSATIONS")]
    for name in TABS:
        expected = [entry.summary.short_id for entry in everything if entry and entry.is_of(name, ME)]
        assert sorted(all_pages(name, size=size)) == sorted(expected)


def attention(minutes: int, **changes) -> dict:
    """One that the AI has and that needs attention, as the indexer leaves it."""
    since = ago(minutes)
    marks = {
        "hand_off_attention": "failed",
        "hand_off_requested_at": since,
        "gsi_hand_off_queue": f"attention#{COMPANY}",
    }
    return conversation(company_id=COMPANY, conversation_status="failed", updated_at=since, **marks | changes)


def urgent(minutes: int, **changes) -> dict:
    return waiting(minutes, hand_off_urgent="words", gsi_hand_off_queue=f"urgent#{COMPANY}", **changes)


def test_urgent_ones_come_first_and_pages_go_on_behind_them(queue):
    items = [urgent(n, request_id=f"u{n:02}") for n in (5, 90, 7)]
    items += [waiting(n, request_id=f"w{n:02}") for n in (600, 6, 50)]
    queue.put_all("CONVERSATIONS", items)
    for size in (1, 2, 4, 10):
        assert all_pages(size=size) == ["u90", "u07", "u05", "w600", "w50", "w06"]
    back = tab(place=Keyset("1" + ago(50)), back=True)
    assert short(back.entries)[:1] in (["w600"], ["w50"])
    assert short(back.entries)[-1] == "u90"


@pytest.mark.slow
def test_much_that_needs_attention_or_is_urgent_costs_no_more(queue):
    few = [urgent(1, request_id="u"), waiting(2, request_id="w"), attention(3, request_id="a")]
    queue.put_all("CONVERSATIONS", few)
    costs = []
    for more in (0, 500):
        queue.put_all("CONVERSATIONS", [urgent(n + 10, request_id=f"u{n}") for n in range(more)])
        queue.put_all("CONVERSATIONS", [attention(n + 10, request_id=f"a{n}") for n in range(2 * more)])
        tab(companies=[COMPANY])
        with queue.calls() as seen:
            pages = [tab(companies=[COMPANY]), tab(ATTENTION, companies=[COMPANY])]
        queries = [call for call in seen if call.operation == "Query" and call.tables == ("CONVERSATIONS",)]
        costs.append(len(queries))
        assert all(call.request["Limit"] <= 200 for call in queries)
        assert [len(page.entries) for page in pages] == ([2, 1] if not more else [25, 25])
    # The urgent fill the second page, so those who wait are not looked at.
    assert costs == [3, 2]
    assert short(tab(ATTENTION, companies=[COMPANY]).entries)[0] == "a999"
    assert counts(ATTENTION) == ["100+"]
