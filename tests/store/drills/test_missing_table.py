"""A region lacks one of the tables: every page that has nothing to do with it is there, and work goes on."""

from collections import defaultdict

import pytest
from django.core.management import CommandError, call_command

from console import caching
from console.schema.tables import TABLES
from console.store import presence
from conversations.work.parts import PARTS
from conversations.workers import leased
from conversations.workers.beats import read_health
from conversations.workers.lease import INDEXER, LEASE
from tests.people import signed_in
from tests.scenario import Scenario, build, urls
from tests.support.conversations.handoff.kit import WAITING, put

# Without accounts or sessions nobody can be told from anybody; what is edited in CONSOLE cannot be shown without it.
NOBODY_GETS_IN = {"STAFF", "STAFF_SESSIONS"}
NEED_CONSOLE = {
    *("recipient-elsewhere", "tenant-onboarding", "tenant-history", "saved-replies", "saved-reply-change"),
    *("saved-reply-delete", "conversation-saved-replies", "saved-view-change", "destination", "destination-change"),
}
# The parts that cannot work without a table and exit with 1; all others do what they can.
NEEDED_BY = {
    "AUDIT": {"indexer"},
    "CONSOLE": {"indexer", "insight", "timers", "notifier", "reconcile"},
    "CONVERSATIONS": {"indexer"},
    "IDEMPOTENCY": {"reconcile"},
}
RUN = [part for part in PARTS if part not in ("receiver", "sender")]


@pytest.fixture
def scenario(store) -> Scenario:
    return build(store)


def take_away(settings, key: str) -> None:
    settings.TABLE_NAMES = {**settings.TABLE_NAMES, key: "not-there-test"}
    caching.invalidate_all()
    presence.forget()


@pytest.mark.pages
@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(TABLES))
def test_pages_are_there_without_it(store, scenario, settings, key):
    person = scenario.people["admin"]
    client, addresses = signed_in(person), urls(scenario.ours, scenario, person)
    take_away(settings, key)
    found = defaultdict(set)
    for name, [url, *_] in addresses.items():
        answer = client.get(url)
        found[answer.status_code].add(name)
        if answer.status_code == 503:
            assert b"Traceback" not in answer.content
    assert set(found) <= {200, 204, 302, 404, 503}
    if key in NOBODY_GETS_IN:
        assert "queue" in found[503]
    else:
        assert found[503] == (NEED_CONSOLE if key == "CONSOLE" else set())
        assert "queue" in found[200]


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("key", [*NEEDED_BY, "CONVERSATION_STATE", "MESSAGES", "TENANTS", "THREADS"])
def test_parts_end_in_order_without_it(store, settings, key, caplog, monkeypatch):
    monkeypatch.setattr(leased, "LONGEST_PAUSE_SECONDS", 0.0)
    put(store, hand_off_to_human=True)
    take_away(settings, key)
    failed = {part for part in RUN if not ends_well(part)}
    assert failed == NEEDED_BY.get(key, set())
    assert not [each for each in caplog.records if each.exc_info]


@pytest.mark.parametrize("key", ["MESSAGES", "THREADS"])
def test_timers_prepare_the_queue_after_an_upgrade_without_it(store, settings, key, monkeypatch):
    monkeypatch.setattr(leased, "LONGEST_PAUSE_SECONDS", 0.0)
    put(store, **WAITING)
    assert ends_well("indexer")
    store.update("CONSOLE", {"pk": INDEXER, "sk": LEASE}, partitions_at=None)
    take_away(settings, key)
    assert not read_health().has_partitions
    assert ends_well("timers")
    assert read_health().has_partitions


def ends_well(part: str) -> bool:
    """Whether it exits with 0; otherwise it says why in a line."""
    try:
        call_command("work", "--only", part, "--once")
    except CommandError:
        return False
    return True
