"""The rules of settling by themselves, and the command that applies them."""

import subprocess
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.errors import NotFound, StoreUnavailable
from conversations.handoff import HandOffAction, perform, settle
from conversations.handoff.resolution import ChainLink, Resolution, applied, resolution_of
from conversations.work.parts import reconciler
from tests import faults
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CHANNEL,
    CONVERSATION,
    KEY,
    ON_CONVERSATION,
    WAITING,
    conversation,
    form,
    put,
    results,
    stored,
    trail,
)

ROOT = Path(__file__).resolve().parents[4]
A = HandOffAction


def links(*chain, **others):
    """Links by id: `chain` as (id, previous, result)."""
    return {
        each: ChainLink(each, previous, result, "hand_off.take", "", None, "", "", "")
        for each, previous, result in chain
    }


# --- rules -------------------------------------------------------------------------------------------------------


def test_the_stamp_proves_its_own_action():
    assert resolution_of("a", "", "a", links(("a", "", "pending"))) is Resolution.APPLIED


def test_a_chain_of_successors_proves_what_it_leads_back_to():
    chain = links(("a", "", "pending"), ("b", "a", "pending"), ("c", "b", "pending"))
    assert resolution_of("a", "", "c", chain) is Resolution.APPLIED
    assert resolution_of("b", "a", "c", chain) is Resolution.APPLIED


def test_a_successful_successor_proves_it_even_where_the_item_is_gone():
    assert resolution_of("a", "", None, links(("a", "", "pending"), ("b", "a", "success"))) is Resolution.APPLIED


def test_a_successor_that_did_not_succeed_proves_nothing():
    chain = links(("a", "", "pending"), ("b", "a", "conflict"), ("c", "", "success"))
    assert resolution_of("a", "", "c", chain) is Resolution.REFUSED


def test_it_is_open_while_the_stamp_is_what_it_saw():
    assert resolution_of("b", "a", "a", links(("a", "", "success"), ("b", "a", "pending"))) is Resolution.OPEN


def test_it_failed_only_if_the_chain_passes_it_by():
    assert resolution_of("b", "a", "c", links(("b", "a", "pending"), ("c", "a", "success"))) is Resolution.REFUSED


@pytest.mark.parametrize("stamp", [None, "lost", "c"], ids=["item gone", "stamp unknown", "link missing"])
def test_without_proof_it_is_unknown(stamp):
    assert resolution_of("b", "a", stamp, links(("b", "a", "pending"), ("c", "x", "success"))) is Resolution.UNKNOWN


def test_a_circle_of_foreign_making_ends():
    circle = links(("c", "d", "success"), ("d", "c", "success"), ("b", "a", "pending"))
    assert resolution_of("b", "a", "c", circle) is Resolution.UNKNOWN


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12), st.data())
def test_verdicts_are_true_of_any_history(steps, data):
    """A history in which some actions took effect, in order, and others did not; any results may be missing."""
    stamp, chain, truth = "", {}, {}
    for number, (takes_effect, is_known, _) in enumerate(steps):
        each = f"a{number}"
        result = ("success" if takes_effect else "failed") if is_known else "pending"
        chain |= links((each, stamp, result))
        truth[each] = takes_effect
        if takes_effect:
            stamp = each
    for each, took_effect in truth.items():
        found = resolution_of(each, chain[each].previous, stamp, chain)
        if took_effect:
            assert found is Resolution.APPLIED
        else:
            assert found is (Resolution.OPEN if chain[each].previous == stamp else Resolution.REFUSED)
    assert applied(stamp, chain) == {each for each, took_effect in truth.items() if took_effect}
    # With a link missing it never says the opposite of what happened.
    missing = data.draw(st.sampled_from(sorted(chain)))
    holed = {each: link for each, link in chain.items() if each != missing}
    for each, link in holed.items():
        found = resolution_of(each, link.previous, stamp, holed)
        assert found is not (Resolution.REFUSED if truth[each] else Resolution.APPLIED)


# --- the command -------------------------------------------------------------------------------------------------


def left_open(action=A.TAKE, **changes):
    """A form whose packet was lost on the way."""
    intent = form(action)
    with faults.fail_before(**ON_CONVERSATION), pytest.raises(StoreUnavailable):
        perform(intent, ANA)
    return intent


def reconcile(*arguments, named=("--conversation", CONVERSATION)):
    out = StringIO()
    call_command("reconcile", *named, *arguments, stdout=out)
    return out.getvalue()


def test_nothing_pending(store):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    assert reconcile() == "settled: nothing was pending\n"


@pytest.mark.parametrize("arguments", [(), ("--older-than", "0s")])
def test_all_is_settled_by_the_work_alone(store, arguments):
    with pytest.raises(CommandError, match="work --only reconcile"):
        call_command("reconcile", *arguments)


def test_a_young_one_is_left_alone(store):
    put(store, **WAITING)
    intent = left_open()
    before = stored(store)
    said = reconcile()
    assert said.endswith("settled: 1 open\n")
    assert stored(store) == before
    assert results(store) == {intent.action_id: "pending"}


def test_an_old_one_is_fenced_and_failed(store, eleven_minutes_later):
    put(store, **WAITING)
    intent = left_open()
    eleven_minutes_later()
    said = reconcile()
    assert said.splitlines()[-1] == "settled: 1 failed"
    assert intent.action_id[:8] in said
    assert results(store)[intent.action_id].startswith("failed")
    assert reconcile() == "settled: nothing was pending\n"


def test_it_prints_no_key_of_a_person(store, eleven_minutes_later):
    put(store, **WAITING)
    left_open()
    eleven_minutes_later()
    said = reconcile()
    assert CHANNEL.removeprefix("+") not in said
    assert "req123" in said


def test_a_dry_run_writes_nothing(store, eleven_minutes_later):
    put(store, **WAITING)
    left_open()
    eleven_minutes_later()
    before = (store.all("CONVERSATIONS"), store.all("AUDIT"), store.all("IDEMPOTENCY"))
    said = reconcile("--dry-run", named=())
    assert "would be fenced" in said
    assert said.endswith("would settle: 1 open\n")
    assert (store.all("CONVERSATIONS"), store.all("AUDIT"), store.all("IDEMPOTENCY")) == before


def test_how_old_is_an_option(store):
    put(store, **WAITING)
    intent = left_open()
    reconcile("--older-than", "1h")
    assert results(store) == {intent.action_id: "pending"}
    reconcile("--older-than", "0s")
    assert results(store)[intent.action_id].startswith("failed")


@pytest.mark.parametrize("wrong", ["", "10", "m", "ten minutes", "-1m"])
def test_a_length_of_time_that_is_none_is_refused(store, wrong):
    with pytest.raises(CommandError, match="90s, 10m, 2h, 1d"):
        reconcile(f"--older-than={wrong}")


def test_several_open_ones_need_one_fence(store, eleven_minutes_later):
    put(store, **WAITING)
    intents = [left_open(), left_open(A.HAND_BACK), left_open()]
    eleven_minutes_later()
    reconcile()
    told = results(store)
    assert all(told[intent.action_id].startswith("failed") for intent in intents)
    assert [entry["action_type"] for entry in trail(store)].count("hand_off.fence") == 1


def test_many_conversations_are_found_page_by_page(store, eleven_minutes_later):
    """Records of others, large ones, and pending ones of the console among them."""
    store.put_all(
        "IDEMPOTENCY",
        [{"event_id": f"evt:{n}", "status": "pending", "mode": "route_only", "x": "x" * 30_000} for n in range(60)],
    )
    put(store, **WAITING)
    intent = left_open()
    eleven_minutes_later()
    reconciler().run(once=True)
    assert [
        result.split(":")[0] for action, result in _console_results(store).items() if action == intent.action_id
    ] == ["failed"]
    assert {record["status"] for record in store.all("IDEMPOTENCY") if record["event_id"].startswith("evt")} == {
        "pending"
    }


def _console_results(store):
    return {entry["action_id"]: entry["result"] for entry in trail(store)}


def test_what_happens_between_reading_the_trail_and_the_item(store, eleven_minutes_later):
    """The late write arrives and a colleague acts on top of it: both are in the trail that is read after the item."""
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.hold(**ON_CONVERSATION) as late, pytest.raises(StoreUnavailable):
        perform(intent, ANA)
    eleven_minutes_later()

    def arrive():
        assert late.deliver() == [200]
        with faults.fail_before("GetItem", table_key="IDEMPOTENCY"):
            perform(form(A.TAKE_FROM_COLLEAGUE), BEN, reason="urgent")

    with faults.before("GetItem", arrive, table_key="CONVERSATIONS"):
        (settled,) = settle(CONVERSATION)
    assert settled.result == "success"
    assert set(results(store).values()) == {"success"}


def test_what_was_recorded_after_the_item_was_read_is_left_alone(store, monkeypatch):
    """Though its time says that it is old: clocks of two machines differ."""
    put(store, **WAITING)
    take = form(A.TAKE)
    with faults.fail_before("TransactWriteItems", nth=2):
        perform(take, ANA)
    packets = []

    def go_on():
        perform(form(A.TAKE_FROM_COLLEAGUE), BEN, reason="urgent")
        release = form(A.RELEASE)
        slow = clock.now() - timedelta(hours=1)
        with monkeypatch.context() as patch, faults.hold(**ON_CONVERSATION) as late:
            patch.setattr(clock, "now", lambda: slow)
            with pytest.raises(StoreUnavailable):
                perform(release, BEN)
        packets.append((release, late))

    with faults.before("Query", go_on, nth=2, table_key="AUDIT"):
        settle(CONVERSATION)
    ((release, late),) = packets
    assert results(store)[release.action_id] == "pending"
    assert late.deliver() == [200]
    settle(CONVERSATION)
    assert set(results(store).values()) == {"success"}


def test_a_conversation_that_is_gone_is_closed_as_unknown(store, eleven_minutes_later):
    put(store, **WAITING)
    intent = left_open()
    store.delete("CONVERSATIONS", **KEY)
    assert "1 open" in reconcile()
    eleven_minutes_later()
    assert "1 unknown" in reconcile()
    assert results(store) == {intent.action_id: "unknown: it can no longer be determined whether it took effect"}
    assert store.all("CONVERSATIONS") == []


def test_a_record_that_expired_before_its_entry(store, eleven_minutes_later):
    """Then the conversation is found by the index over ids, and the entry is settled alone."""
    put(store, **WAITING)
    intent = left_open()
    store.delete("IDEMPOTENCY", event_id=f"act:hand_off:{CONVERSATION}:{intent.action_id}")
    eleven_minutes_later()
    reconcile("--conversation", CONVERSATION)
    assert _console_results(store)[intent.action_id].startswith("failed")
    assert [record for record in store.all("IDEMPOTENCY") if intent.action_id in record["event_id"]] == []


def test_an_entry_that_expired_before_its_record_leaves_no_ghost(store, eleven_minutes_later):
    put(store, **WAITING)
    intent = left_open()
    (entry,) = trail(store)
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=entry["ts_action_id"])
    eleven_minutes_later()
    reconcile()
    assert trail(store) == []
    assert intent.action_id in store.all("IDEMPOTENCY")[0]["event_id"]


def test_a_trail_that_cannot_be_settled_does_not_stop_the_others(store, eleven_minutes_later):
    put(store, **WAITING)
    lost = left_open()
    other = conversation(**WAITING, conversation_id="ci-aaa-001#pi-aaa-001#zzz#1")
    store.put("CONVERSATIONS", other)
    eleven_minutes_later()
    out = StringIO()
    with (
        faults.fail_before("Query", table_key="AUDIT"),
        pytest.raises(CommandError, match="run it again"),
    ):
        call_command("reconcile", "--conversation", CONVERSATION, "--conversation", "zzz", stdout=out)
    assert "error" in out.getvalue()
    assert results(store) == {lost.action_id: "pending"}
    reconcile()
    assert results(store)[lost.action_id].startswith("failed")


def test_a_trail_without_conversation_is_said(store):
    store.put(
        "AUDIT",
        {"conversation_id": "c", "ts_action_id": "2026-01-01T00:00:00.000Z#a", "action_id": "a", "result": "pending"}
        | {"action_type": "hand_off.take"},
    )
    with pytest.raises(NotFound, match="cannot be found"):
        settle("c")


@pytest.mark.parametrize("absent", ["AUDIT", "IDEMPOTENCY"])
def test_absent_tables_are_said(bare_store, absent):
    bare_store.create_tables(*{"CONVERSATIONS", "AUDIT", "IDEMPOTENCY"} - {absent})
    if absent == "IDEMPOTENCY":
        with pytest.raises(CommandError, match="IDEMPOTENCY is missing"):
            reconcile("--dry-run", named=())
    else:
        bare_store.put("IDEMPOTENCY", {"event_id": "e", "status": "pending", "mode": "console", "conversation_id": "c"})
        with pytest.raises(CommandError):
            reconcile("--dry-run", named=())


@pytest.mark.slow
def test_as_a_process_of_its_own(store):
    put(store, **WAITING)
    intent = left_open()
    ran = subprocess.run(
        [sys.executable, "manage.py", "reconcile", "--conversation", CONVERSATION, "--older-than", "0s"],
        cwd=ROOT,
        env=store.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "settled: 1 failed" in ran.stdout
    assert results(store)[intent.action_id].startswith("failed")
