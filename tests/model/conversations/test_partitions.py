"""Every order of the steps that keep the bound of a partition of the queue (`conversations.handoff.partitions`).

Writers note an entry, write it, and the index shows it some time later; conversations leave; the indexer reads row and
index and writes the row on condition that nobody else has. Each may die between two steps. Never may the index show a
conversation that the row's bound hides.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from conversations.handoff.partitions import PARTITION, VISIBLE_WITHIN, PartitionSummary
from conversations.queue_index import refreshing
from conversations.queue_index.refreshing import PartitionContent, changed_row

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
# Time passes in steps of half the time within which a write is visible.
STEP = VISIBLE_WITHIN / 2
# What the bound depends on.
KEPT = ("first", "entering", "entered", "turned_at")
# Who waits from the beginning.
WAITS = ("x", "5")
Row = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Writer:
    """Puts a conversation into the partition. `step`: 0 nothing done, 1 noted, 2 shown by the index or dead."""

    since: str
    step: int = 0
    noted_at: int = 0


@dataclass(frozen=True)
class Refresher:
    """Refreshes the row. `step`: 0 nothing done, 1 has read the row, 2 has read the index, 3 is dead.

    `is_current`: nobody has written the row since, so its revision is as it was read.
    """

    step: int = 0
    row: Row | None = None
    shown: frozenset[tuple[str, str]] = frozenset()
    at: int = 0
    is_current: bool = False


@dataclass(frozen=True)
class World:
    """The row (None: there is none), what the index shows (key and time), and who is where."""

    row: Row | None
    shown: frozenset[tuple[str, str]]
    writers: tuple[Writer, ...] = ()
    refreshers: tuple[Refresher, ...] = ()
    now: int = 0


def row_of(stored: Row | None) -> PartitionSummary:
    row = PartitionSummary(PARTITION, "waiting#acme")
    for name, value in stored or ():
        setattr(row, name, value)
    return row


def content(shown: frozenset[tuple[str, str]]) -> PartitionContent:
    times = sorted(since for _, since in shown)
    keys = {(key, key) for key, _ in shown}
    first, last = (times[0], times[-1]) if times else (None, None)
    return PartitionContent(keys, first, last, count=len(times))


def at(now: int) -> datetime:
    return START + now * STEP


def with_row(world: World, row: Row | None) -> World:
    """The world with another row, which has a new revision."""
    refreshers = tuple(replace(each, is_current=False) for each in world.refreshers)
    return replace(world, row=row, refreshers=refreshers)


def noted(world: World, since: str) -> World:
    """As DynamoDB does what `partitions.enter` asks for."""
    row = dict(world.row or ())
    row["entering"] = min(str(row.get("entering") or since), since)
    return with_row(world, tuple(sorted(row.items())))


def written(world: World, refresher: Refresher) -> World:
    """As `refreshing._write` writes: only if nobody has written the row since it was read."""
    if not refresher.is_current:
        return world
    values = refreshing.changed_row(row_of(refresher.row), content(refresher.shown), {}, at(refresher.at))
    if values is None:
        return with_row(world, None)
    return with_row(world, tuple(sorted((name, values[name]) for name in KEPT if values.get(name) is not None)))


def with_part(parts: tuple, number: int, **changes: object) -> tuple:
    return (*parts[:number], replace(parts[number], **changes), *parts[number + 1 :])


def next_worlds(world: World, limit: int) -> Iterator[World]:
    for number, writer in enumerate(world.writers):
        if writer.step == 0:
            after = noted(world, writer.since)
            yield replace(after, writers=with_part(world.writers, number, step=1, noted_at=world.now))
        if writer.step == 1:
            over = with_part(world.writers, number, step=2)
            yield replace(world, shown=world.shown | {(f"w{number}", writer.since)}, writers=over)
            yield replace(world, writers=over)
    if WAITS in world.shown:
        yield replace(world, shown=world.shown - {WAITS})
    for number, refresher in enumerate(world.refreshers):
        match refresher.step:
            case 0:
                parts = with_part(world.refreshers, number, step=1, row=world.row, is_current=True)
                yield replace(world, refreshers=parts)
            case 1:
                parts = with_part(world.refreshers, number, step=2, shown=world.shown, at=world.now)
                yield replace(world, refreshers=parts)
            case 2:
                after = written(world, refresher)
                yield replace(after, refreshers=with_part(after.refreshers, number, **IDLE))
                yield replace(world, refreshers=with_part(world.refreshers, number, **IDLE | {"step": 3}))
    # A write is in the index in time, or never.
    late = any(
        writer.step == 1 and at(world.now + 1) - at(writer.noted_at) > VISIBLE_WITHIN for writer in world.writers
    )
    if world.now < limit and not late:
        yield replace(world, now=world.now + 1)


IDLE: dict[str, object] = {"step": 0, "row": None, "shown": frozenset(), "at": 0, "is_current": False}


def hidden(world: World) -> list[str]:
    since = row_of(world.row).since
    return [time for _, time in world.shown if not since or time < since]


def explore(start: World, *, limit: int) -> int:
    """Walk through every world that can be reached; fail at the first that hides somebody. Return their number."""
    seen, todo = {start}, [start]
    while todo:
        world = todo.pop()
        assert not hidden(world), world
        new = set(next_worlds(world, limit)) - seen
        seen |= new
        todo += new
    return len(seen)


def first_world(*since: str, refreshers: int = 1) -> World:
    """Somebody waits since 5, and the row says so; others come."""
    return World((("first", "5"),), frozenset({WAITS}), tuple(map(Writer, since)), (Refresher(),) * refreshers)


@pytest.fixture(autouse=True)
def _changes_remembered(monkeypatch):
    """The same few rows are changed again and again."""
    remembered = {}

    def change(row, found, expected, now):
        key = tuple(row.attribute_values.items()), frozenset(found.keys), now
        if key not in remembered:
            remembered[key] = changed_row(row, found, expected, now)
        return remembered[key]

    monkeypatch.setattr(refreshing, "changed_row", change)


MANY = [pytest.param(*each, marks=pytest.mark.slow) for each in [(("7",), 2), (("3",), 2), (("7", "3"), 1)]]


@pytest.mark.parametrize(("since", "refreshers"), [(("7",), 1), (("3",), 1), *MANY], ids=str)
def test_no_order_of_steps_hides_somebody_whom_the_index_shows(since, refreshers):
    assert explore(first_world(*since, refreshers=refreshers), limit=4) > 3_000


@pytest.mark.parametrize("forgotten", ["entering", "entered"])
def test_model_finds_a_row_that_forgets_entries_too_early(monkeypatch, forgotten):
    def forget(*args):
        values = changed_row(*args)
        return values and values | {forgotten: None}

    monkeypatch.setattr(refreshing, "changed_row", forget)
    with pytest.raises(AssertionError, match="World"):
        explore(first_world("7", "3"), limit=4)


def test_model_finds_a_refresh_that_overwrites_an_entry(monkeypatch):
    monkeypatch.setitem(IDLE, "is_current", True)
    careless = replace(first_world("3", refreshers=2), refreshers=(Refresher(), Refresher(step=3)))
    monkeypatch.setattr(f"{__name__}.with_row", lambda world, row: replace(world, row=row))
    with pytest.raises(AssertionError, match="World"):
        explore(careless, limit=4)


def test_row_is_exact_again_when_entries_have_been_seen():
    world = noted(first_world(), "3")
    for now in range(8):
        world = written(replace(world, now=now), Refresher(2, world.row, world.shown, now, is_current=True))
    assert world.row == (("first", "5"),)
    assert written(world, Refresher(2, world.row, frozenset(), 9, is_current=True)).row is None


def test_entry_that_only_the_stream_shows_is_noted_again():
    """Its writer slept longer than a write may take, and the row was refreshed meanwhile."""
    shown = content(frozenset({("x", "5")}))
    values = changed_row(row_of(None), shown, {("w", "w"): "3", ("y", "y"): None}, START)
    assert row_of(tuple(values.items())).since == "3"
    assert values["due_at"] < (START + timedelta(seconds=10)).isoformat()
