"""No worker ran for a day; then one starts. Also where the stream has forgotten the beginning of that day."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from console import clock
from console.schema.tables import TABLES
from console.store import queues
from conversations.companies import register
from conversations.handoff import perform
from conversations.receiving.holding import HOLDING
from conversations.work.parts import PARTS
from conversations.workers.lease import LEASE, SHARD
from conversations.workers.streams import shards
from tests.dynamodb import Store
from tests.people import admin, signed_in
from tests.store.conversations.receiving.test_handling import body
from tests.support.conversations.handoff.kit import ANA, COMPANY, CONVERSATION, WAITING, conversation, form, put
from tests.support.conversations.indexer.kit import requests_of
from tests.support.conversations.replies import configured, later, replies, said, write

DAY = timedelta(hours=25)
ASKED_AT = clock.to_iso(clock.now() - timedelta(hours=20))
OTHER = {"primary_channel": "+447700900456", "conversation_id": "c-asked-while-nobody-looked"}


def work() -> None:
    for part in PARTS:
        call_command("work", "--only", part, "--once")


def a_day_passes(store: Store) -> None:
    """All that workers have noted of themselves was a day ago."""
    for item in store.all("CONSOLE"):
        times = {
            name: clock.to_iso(at - DAY)
            for name in ("beat_at", "last_sweep_at", "ran_at")
            if (at := clock.parse_instant(item.get(name))) is not None
        }
        if times:
            store.update("CONSOLE", {"pk": item["pk"], "sk": item["sk"]}, **times)


def forget_the_beginning(monkeypatch) -> None:
    """The stream keeps its records for 24 hours: what follows the last position is gone."""
    real, asked = shards.Shards._call, []

    def trimmed(self, operation, **request):
        if operation == "GetShardIterator" and request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER" and not asked:
            asked.append(operation)
            raise shards.Trimmed
        return real(self, operation, **request)

    monkeypatch.setattr(shards.Shards, "_call", trimmed)


def everything(store: Store) -> dict[str, list[dict[str, Any]]]:
    """All that is stored, but for how workers are, how far they have read, and how often a figure was summed up."""
    found = {key: store.all(key) for key in TABLES}
    of_workers = (LEASE, SHARD, HOLDING)
    found["CONSOLE"] = [each for each in found["CONSOLE"] if not each["sk"].startswith(of_workers)]
    found["INSIGHT"] = [{name: each.get(name) for name in ("pk", "sk", "fact", "counts")} for each in found["INSIGHT"]]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["the stream has all of it", "the stream has forgotten it"])
def test_all_of_that_day_is_done_and_nothing_twice(
    store, outbox, provider, settings, capsys, monkeypatch, is_forgotten
):
    register(COMPANY, "Cucumber", "test", clock.to_iso(clock.now()))
    put(store, channel_config={"whatsapp": configured()}, messages=[said()], **WAITING)
    work()
    perform(form("take"), ANA)
    work()
    page = signed_in(admin())
    assert "stale" not in page.get("/system/").content.decode()
    a_day_passes(store)
    # Meanwhile the platform asked for a human, a customer wrote, and who holds the conversation has answered.
    store.put("CONVERSATIONS", conversation(**OTHER, **WAITING, updated_at=ASKED_AT))
    write(ANA, "It is on its way.")
    queues.client().send_message(
        QueueUrl=settings.HANDOFF_QUEUE_URL, MessageBody=body(body="Hello?", message_sid="SM2")
    )
    assert "stale" in page.get("/system/").content.decode()
    if is_forgotten:
        forget_the_beginning(monkeypatch)

    work()

    found = {each["conversation_id"]: each for each in store.all("CONVERSATIONS")}
    asked_for = found[OTHER["conversation_id"]]
    # The wait counts from when the platform asked, not from when somebody noticed.
    assert (asked_for["gsi_hand_off_queue"], asked_for["hand_off_requested_at"]) == (f"waiting#{COMPANY}", ASKED_AT)
    assert len(requests_of(store, OTHER["conversation_id"])) == 1
    assert [each["text"] for each in provider.messages()] == ["It is on its way."]
    assert [row["state"] for row in replies(store)] == ["sent"]
    assert [each["content"] for each in found[CONVERSATION]["messages"]].count("Hello?") == 1
    assert "stale" not in page.get("/system/").content.decode()
    # What the jobs wrote is news to the indexer, once; and by then the provider knows what became of the answer.
    with later(6):
        work()
    assert [row["state"] for row in replies(store)] == ["read"]
    settled = everything(store)
    work()
    assert everything(store) == settled
    assert len(provider.messages()) == 1
