"""What an item's attributes of the index must be, whatever it is like; the queue without the index is the oracle."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import clock
from conversations.attention.levels import DEFAULTS
from conversations.queue_index.states import hand_off_marks, repair_of
from conversations.queue_index.writing import after
from tests.dynamodb import from_dynamodb, to_dynamodb
from tests.support.conversations.handoff.kit import COMPANY, conversation, held_by
from tests.support.conversations.indexer.kit import OURS, indexed, oracle, sweep, times

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
ASKED, UPDATED = "2026-01-31T10:00:00.000Z", "2026-01-31T09:00:00.000Z"
WAITING, HELD = f"waiting#{COMPANY}", f"held#{COMPANY}"
GONE = clock.to_epoch(NOW) - 1


def repaired(**changes) -> dict:
    """Our attributes of such an item after its repair; `...` leaves an attribute out."""
    item = {name: value for name, value in conversation(**changes).items() if value is not ...}
    stored = to_dynamodb(item)
    repair = repair_of(stored, NOW, DEFAULTS)
    done = stored if repair is None else after(stored, repair)
    assert repair_of(done, NOW, DEFAULTS) is None
    assert {name: value for name, value in done.items() if name not in OURS} == {
        name: value for name, value in stored.items() if name not in OURS
    }
    return {name: value for name, value in from_dynamodb(done).items() if name in OURS}


@pytest.mark.parametrize("flag", [True, "true", "True", 1, "1"])
def test_flagged_and_nobody_has_it_waits(flag):
    assert repaired(hand_off_to_human=flag) == {OURS[0]: WAITING, OURS[1]: UPDATED}


@pytest.mark.parametrize("flag", [False, None, ..., "false", 0, "", [], {"a": 1}])
def test_not_flagged_and_nobody_has_it_is_in_no_queue(flag):
    assert repaired(hand_off_to_human=flag) == {}
    assert repaired(hand_off_to_human=flag, gsi_hand_off_queue=WAITING, hand_off_requested_at=ASKED) == {}


@pytest.mark.parametrize("flag", [True, False, None])
def test_what_somebody_has_is_held_overridden_or_not(flag):
    taken = held_by("ana", hand_off_to_human=flag, hand_off_requested_at=ASKED)
    assert repaired(**taken) == {OURS[0]: HELD, OURS[1]: ASKED}
    assert repaired(**{**taken, "gsi_hand_off_queue": WAITING}) == {OURS[0]: HELD, OURS[1]: ASKED}
    assert repaired(**{**taken, "hand_off_requested_at": ...}) == {OURS[0]: HELD, OURS[1]: UPDATED}


@pytest.mark.parametrize("agent", [None, "", 7, True, ["ana"], {"ana"}])
def test_an_agent_of_another_type_is_nobody(agent):
    assert repaired(hand_off_to_human=True, hand_off_agent=agent)[OURS[0]] == WAITING


@pytest.mark.parametrize("asked", [None, "", "soon", 1_769_850_000, ["x"], "9" * 70])
def test_a_time_that_nobody_can_read_is_stamped_anew(asked):
    assert repaired(hand_off_to_human=True, hand_off_requested_at=asked) == {OURS[0]: WAITING, OURS[1]: UPDATED}


@pytest.mark.parametrize("asked", [ASKED, "2026-01-31T10:00:00+00:00Z", "1769850000"])
def test_a_time_in_any_spelling_stays(asked):
    assert repaired(hand_off_to_human=True, hand_off_requested_at=asked)[OURS[1]] == asked


@pytest.mark.parametrize(
    ("updated", "created", "stamp"),
    [
        ("2026-01-31T09:00:00+00:00Z", ..., UPDATED),
        ("never", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00.000Z"),
        (None, None, clock.to_iso(NOW)),
        (..., ..., clock.to_iso(NOW)),
        (1_769_850_000, ..., "2026-01-31T09:00:00.000Z"),
    ],
)
def test_the_platforms_time_is_its_last_update(updated, created, stamp):
    assert repaired(hand_off_to_human=True, updated_at=updated, created_at=created)[OURS[1]] == stamp


@pytest.mark.parametrize("company", [None, "", 7, ..., ["x"], "c" * 2048])
def test_no_company_no_queue(company):
    assert repaired(hand_off_to_human=True, company_id=company) == {}
    kept = repaired(hand_off_to_human=True, company_id=company, gsi_hand_off_queue=WAITING, hand_off_requested_at=ASKED)
    assert kept == {OURS[1]: ASKED}


@pytest.mark.parametrize("ttl", [GONE, str(GONE)])
def test_past_its_time_to_live_no_queue(ttl):
    assert repaired(hand_off_to_human=True, ttl=ttl, gsi_hand_off_queue=WAITING) == {}


@pytest.mark.parametrize("ttl", [GONE + 100_000, None, "soon", 0, -5, True])
def test_any_other_time_to_live_changes_nothing(ttl):
    assert repaired(hand_off_to_human=True, ttl=ttl)[OURS[0]] == WAITING


def test_what_is_gone_within_a_day_is_urgent():
    assert repaired(hand_off_to_human=True, ttl=GONE + 100)[OURS[0]] == f"urgent#{COMPANY}"


FLAGS = st.sampled_from([True, False, None, ..., "true", "True", "false", 1, 0, "yes", [True]])
AGENTS = st.sampled_from([..., ..., None, "", "ana", "ben", 7, ["ana"]])
WANTED = st.sampled_from([..., None, True, False, "true"])
TIMES = st.sampled_from([..., None, "", ASKED, "soon", "1769850000"])
KEYS = st.sampled_from([..., WAITING, HELD, "waiting#other", "nonsense"])
TTLS = st.sampled_from([..., None, 1, "1", 4_000_000_000])
ITEMS = st.fixed_dictionaries(
    {
        "hand_off_to_human": FLAGS,
        "hand_off_agent": AGENTS,
        "hand_off_wanted": WANTED,
        "hand_off_action_id": st.sampled_from([..., "before", None, 5]),
        "gsi_hand_off_queue": KEYS,
        "hand_off_requested_at": TIMES,
        "ttl": TTLS,
        "company_id": st.sampled_from([COMPANY, COMPANY, COMPANY, "other"]),
        "updated_at": st.sampled_from([UPDATED, "never", "2026-01-31T09:00:00+00:00Z"]),
    }
)
# What the index's keys cannot be, on a table that has the index.
NO_KEYS = {"hand_off_requested_at": (None, "")}


@pytest.mark.slow
@given(items=st.lists(ITEMS, min_size=1, max_size=12))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_after_a_sweep_the_index_holds_what_the_queue_finds(store, items):
    store.empty()
    rows = []
    for number, changes in enumerate(items):
        wanted = {name: ... if value in NO_KEYS.get(name, ()) else value for name, value in changes.items()}
        item = conversation(conversation_id=f"{COMPANY}#p#{number}#1", **wanted)
        rows.append({name: value for name, value in item.items() if value is not ...})
    store.put_all("CONVERSATIONS", rows)
    assert sweep().is_complete
    assert indexed(store) == oracle(store)
    before = store.all("CONVERSATIONS")
    assert sweep().is_complete
    assert store.all("CONVERSATIONS") == before


def test_a_sweep_reads_all_pages_and_writes_only_our_attributes(store, monkeypatch):
    monkeypatch.setattr("conversations.indexer.sweep.PAGE", 3)
    rows = [
        conversation(conversation_id=f"{COMPANY}#p#{number}#1", hand_off_to_human=number % 2 == 0)
        for number in range(10)
    ]
    store.put_all("CONVERSATIONS", rows)
    before = store.all("CONVERSATIONS")
    with store.calls() as calls:
        assert sweep().is_complete
    assert [call.operation for call in calls if call.tables == ("CONVERSATIONS",)].count("Scan") == 4
    # Each is read again for what Insight counts of it; the queue's partitions in the end.
    operations = {call.operation for call in calls if call.tables == ("CONVERSATIONS",)}
    assert operations - {"DescribeTable"} == {"Scan", "GetItem", "UpdateItem", "Query"}
    unmarked = [
        {name: value for name, value in item.items() if name not in OURS} for item in store.all("CONVERSATIONS")
    ]
    assert unmarked == before
    assert indexed(store) == oracle(store)
    assert times(store) == []


def test_marks_are_read_as_pages_read_them():
    item = to_dynamodb(conversation(**held_by("ana", hand_off_to_human="TRUE ")))
    marks = hand_off_marks(item)
    assert (marks.flag, marks.agent, marks.last_action, marks.wanted) == (True, "ana", "before", True)
    assert clock.parse_instant(marks.requested_at) + timedelta(hours=1) > clock.parse_instant(UPDATED)
