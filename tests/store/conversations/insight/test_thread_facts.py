"""Facts of threads: what is counted, where, and that nothing is counted twice or forgotten."""

from datetime import timedelta

import pytest

from console import clock
from conversations.insight import sources, thread_facts
from conversations.insight.facts import FactDay, FactKind, write_fact
from conversations.insight.identity import links_of, pseudonym_of
from conversations.insight.measures import Topic
from conversations.insight.sums import Slice
from tests.support.conversations.insight.kit import list_owners, stored_facts, sums, walk
from tests.support.conversations.stores.threads.kit import BASE, ORG, PK, THREAD, ago, message, thread

KIND = FactKind.THREADS
CLAUDE = {"model": "claude-sonnet", "usage": {"input_tokens": 100, "output_tokens": 20}}
GPT = {"model_name": "gpt-4o", "token_usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 12}}
WIKI, POLICY = (
    {"title": "Sam's notes", "url": "https://wiki.example/a?user=sam"},
    "https://policy.example/sam@example.com",
)


def answer(name: str, **more):
    return message("LLM", name, **more)


def question(name: str, **more):
    return message("MSG", name, **more)


def only(store) -> tuple[FactDay, str, dict]:
    (((day, fact_id), data),) = stored_facts(store, KIND).items()
    return day, fact_id, data


def test_a_thread_is_one_fact_of_its_organisation_on_the_day_on_which_it_began(store):
    begun = ago(days=3)
    store.put_all("THREADS", [thread(at=begun), question("q", at=ago(days=1)), answer("a", at=ago(hours=1))])
    assert walk(KIND) == {"read": 3, "counted": 1}
    day, fact_id, data = only(store)
    assert day == FactDay(KIND, ORG, begun.date().isoformat())
    assert fact_id == pseudonym_of(thread_facts.THREAD_WORD, BASE, THREAD)
    assert data["channel"] == "web"
    assert links_of([fact_id]) == {fact_id: (BASE, THREAD)}
    assert list_owners(KIND) == [ORG]
    assert sums(KIND, Topic.USAGE, ORG)[("messages", "user")] == 1
    assert sums(KIND, Topic.USAGE, ORG, Slice(channel="web")) == sums(KIND, Topic.USAGE, ORG)
    assert not sums(KIND, Topic.USAGE, ORG, Slice(channel="teams"))


def test_feedback_is_counted_with_comments_and_sources(store):
    store.put_all(
        "THREADS",
        [
            thread(),
            question("q1"),
            answer("a1", verso="up", feedback="Thanks Sam", sources=[WIKI]),
            answer("a2", verso="Down", feedback=" ", sources=[WIKI, POLICY, {"title": "Sam Smith's CV"}]),
            answer("a3", verso="meh", feedback="no"),
            answer("a4"),
            question("q2", verso="up"),
        ],
    )
    walk(KIND)
    assert sums(KIND, Topic.FEEDBACK, ORG) == {
        ("threads",): 1,
        ("rated",): 1,
        ("answers",): 4,
        ("feedback", "up"): 1,
        ("feedback", "down"): 1,
        ("feedback", "unclear"): 1,
        ("comment", "up"): 1,
        ("comment", "none"): 1,
        ("sources", "with"): 2,
        ("sources", "without"): 2,
        ("rated sources", "with", "up"): 1,
        ("rated sources", "with", "down"): 1,
        ("source", "wiki.example"): 2,
        ("source", "policy.example"): 1,
        ("source", "other"): 1,
        ("rated source", "wiki.example", "up"): 1,
        ("rated source", "wiki.example", "down"): 1,
        ("rated source", "policy.example", "down"): 1,
        ("rated source", "other", "down"): 1,
    }


def test_tokens_are_those_of_the_response_by_model_and_stops_by_reason(store):
    store.put_all(
        "THREADS",
        [
            thread(),
            answer("a1", response_metadata=CLAUDE, stop_reason="end_turn"),
            answer("a2", response_metadata=GPT | {"finish_reason": "LENGTH"}),
            answer("a3", response_metadata={"model": "claude-sonnet", "usage": {"output_tokens": "5"}}),
            answer("a4", stop_reason="she asked me to stop"),
            message("MSG", "tool", role="tool"),
        ],
    )
    walk(KIND)
    assert sums(KIND, Topic.USAGE, ORG) == {
        ("threads",): 1,
        ("messages", "assistant"): 4,
        ("messages", "other"): 1,
        ("stop", "end_turn"): 1,
        ("stop", "length"): 1,
        ("stop", "other"): 1,
        ("stop", "unknown"): 1,
        ("answers", "claude-sonnet", ""): 2,
        ("answers", "gpt-4o", ""): 1,
        ("answers", "unknown", ""): 1,
        ("prompt", "claude-sonnet", ""): 100,
        ("prompt", "gpt-4o", ""): 7,
        ("completion", "claude-sonnet", ""): 25,
        ("completion", "gpt-4o", ""): 3,
        ("unpriced", "gpt-4o", ""): 2,
    }


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 30}, (40, 2, 30)),
        ({"inputTokens": 10, "outputTokens": 2, "totalTokens": 47, "cacheWriteInputTokens": 35}, (45, 2, 0)),
        ({"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 30}}, (40, 2, 30)),
        ({"input_tokens": 40, "output_tokens": 2, "input_token_details": {"cache_read": 30}}, (40, 2, 30)),
        ({"prompt_tokens": "many", "total_tokens": True}, (0, 0, 0)),
        ("none", (0, 0, 0)),
    ],
)
def test_tokens_read_from_a_cache_are_among_those_read(usage, tokens):
    found = thread_facts.tokens_in({"model": "m", "usage": usage})
    assert (found["prompt"], found["completion"], found["cached"]) == tokens


def test_feedback_that_is_changed_is_counted_once_and_as_it_is_now(store):
    made = answer("a", verso="up")
    store.put_all("THREADS", [thread(), made])
    walk(KIND)
    store.put("THREADS", made | {"verso": "down"})
    assert walk(KIND)["counted"] == 1
    assert walk(KIND)["counted"] == 0
    found = sums(KIND, Topic.FEEDBACK, ORG)
    assert (found[("feedback", "up")], found[("feedback", "down")]) == (0, 1)


def test_metadata_of_either_key_are_of_one_thread(store):
    store.put_all("THREADS", [thread(), thread(PK=BASE, origin="teams"), question("q")])
    walk(KIND)
    assert len(stored_facts(store, KIND)) == 1


def test_what_has_expired_is_not_counted_and_what_was_counted_is_kept(store):
    gone = clock.to_epoch(clock.now() - timedelta(hours=1))
    store.put_all("THREADS", [question("old", at=ago(days=9)), answer("old answer", at=ago(days=9), verso="down")])
    store.put_all("THREADS", [question("q", at=ago(days=2)), answer("a", at=ago(days=2), ExpiryTime=gone)])
    walk(KIND)
    day, _, _ = only(store)
    before = sums(KIND, Topic.FEEDBACK, ORG)
    assert before[("answers",)] == 1
    # The oldest expire, and the thread goes on.
    for each in store.all("THREADS"):
        if "old" in each["SK"]:
            store.update("THREADS", {"PK": PK, "SK": each["SK"]}, ExpiryTime=gone)
    store.put_all("THREADS", [answer("new", at=ago(hours=1), verso="up")])
    walk(KIND)
    assert only(store)[0] == day
    after = sums(KIND, Topic.FEEDBACK, ORG)
    assert (after[("answers",)], after[("feedback", "down")], after[("feedback", "up")]) == (2, 1, 1)
    for each in store.all("THREADS"):
        store.delete("THREADS", PK=each["PK"], SK=each["SK"])
    walk(KIND)
    assert sums(KIND, Topic.FEEDBACK, ORG) == after


def test_a_thread_whose_items_name_another_organisation_is_nobodys(store):
    store.put_all("THREADS", [thread(), question("q", org_id="org999")])
    walk(KIND)
    assert only(store)[0].owner == ""


def test_a_source_is_its_host_or_other():
    for url, host in {
        "https://Docs.Example.com/a": "docs.example.com",
        "https://10.0.0.1/a": "other",
        "https://447700900123.example.com/": "other",
        "https://intranet/a": "intranet",
        "https://user:pass@docs.example.com/": "other",
        "ftp://docs.example.com": "other",
        "Sam Smith": "other",
    }.items():
        item = thread_facts.ThreadMessage.from_raw_data({"sources": {"L": [{"S": url}]}, "SK": {"S": "LLM#1#a"}})
        assert thread_facts.hosts_of(item) == [host], url


def test_more_sources_than_are_told_apart_are_told_together(store):
    many = [f"https://h{number}.example/a" for number in range(30)]
    store.put_all("THREADS", [thread(), answer("a", sources=many)])
    walk(KIND)
    found = sums(KIND, Topic.FEEDBACK, ORG)
    hosts = {measure[1]: count for measure, count in found.items() if measure[0] == "source"}
    assert len(hosts) == thread_facts.MOST_HOSTS + 1
    assert sum(hosts.values()) == 30


def test_who_is_overtaken_reads_anew_and_loses_nothing(store, monkeypatch):
    store.put_all("THREADS", [thread(), answer("a", verso="up")])
    overtaken = []

    def late(fact, seen):
        if not overtaken:
            overtaken.append(fact)
            store.put("THREADS", answer("b", verso="down"))
            assert write_fact(fact, seen)
        return write_fact(fact, seen)

    monkeypatch.setattr(sources, "write_fact", late)
    walk(KIND)
    found = sums(KIND, Topic.FEEDBACK, ORG)
    assert (len(overtaken), found[("feedback", "up")], found[("feedback", "down")]) == (1, 1, 1)
