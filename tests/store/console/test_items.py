"""Small items that people edit: nobody overwrites what they have not seen, and every change is in the trail."""

import pytest
from pynamodb.attributes import UnicodeAttribute

from console.errors import BadReference, TableMissing
from console.permissions import FOR_ALL, Owner, OwnerKind
from console.store.models import InstantAttribute, TextListAttribute
from console.trail.actions import Action
from console.trail.items import ItemChanged, VersionedItem
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry
from tests import faults

ENTRY = TrailEntry(SYSTEM_TRAIL, Action.GROUP_CHANGED, Actor("ana", "agent"))


class Card(VersionedItem):
    """An item of this test."""

    CHANGED = "Somebody else changed this card."
    TAKEN = "There is such a card."
    name = UnicodeAttribute(default="")
    tags = TextListAttribute(default=list)
    made_at = InstantAttribute(null=True)


def put(name: str, seen: int = 0, key: str = "a", **where: str) -> None:
    Card("CARDS", key, name=name).put(seen, ENTRY, **where)


def stored(store) -> dict[str, tuple[str, int | None]]:
    return {each["sk"]: (each.get("name", ""), each.get("version")) for each in store.all("CONSOLE")}


def test_each_change_counts_and_is_in_the_trail(store):
    put("one")
    put("two", 1)
    assert stored(store) == {"a": ("two", 2)}
    assert len(store.all("AUDIT")) == 2
    Card("CARDS", "a").discard(2, ENTRY)
    assert stored(store) == {}
    assert len(store.all("AUDIT")) == 3


@pytest.mark.parametrize(
    ("lose", "words", "field"),
    [
        (lambda: put("mine"), "There is such a card.", "name"),
        (lambda: put("mine", 1), "Somebody else changed this card.", None),
        (lambda: put("mine", 3), "Somebody else changed this card.", None),
        (lambda: put("mine", 1, "b"), "Somebody else changed this card.", None),
        (lambda: put("mine", 1, "c", before="a"), "Somebody else changed this card.", None),
        (lambda: put("mine", 2, "other", before="a"), "There is such a card.", "name"),
        (lambda: Card("CARDS", "a").discard(1, ENTRY), "Somebody else changed this card.", None),
        (lambda: Card("CARDS", "a").discard(0, ENTRY), "Somebody else changed this card.", None),
        (lambda: Card("CARDS", "b").discard(1, ENTRY), "Somebody else changed this card.", None),
    ],
    ids=["add", "old", "ahead", "deleted", "move old", "move to taken", "discard old", "discard new", "discard twice"],
)
def test_who_saw_another_version_changes_nothing_and_is_told(store, lose, words, field):
    put("one")
    put("two", 1)
    put("other", key="other")
    before = stored(store), len(store.all("AUDIT"))
    with pytest.raises(ItemChanged, match=words) as told:
        lose()
    assert told.value.field == field
    assert (stored(store), len(store.all("AUDIT"))) == before


def test_who_is_second_at_the_last_moment_changes_nothing(store):
    put("one")
    with faults.before("TransactWriteItems", lambda: put("theirs", 1)), pytest.raises(ItemChanged):
        put("mine", 1)
    assert stored(store) == {"a": ("theirs", 2)}


def test_a_moved_item_begins_at_its_first_version_and_leaves_nothing(store):
    put("one")
    put("two", 1)
    put("three", 2, "c", before="a")
    assert stored(store) == {"c": ("three", 1)}
    put("four", 1, "c", before="c")
    assert stored(store) == {"c": ("four", 2)}


def test_an_item_without_a_version_gets_one_with_its_next_change(store):
    store.put("CONSOLE", {"pk": "CARDS", "sk": "a", "name": "old"})
    seen, also = Card.find("CARDS", "a"), Card.find("CARDS", "a")
    with pytest.raises(ItemChanged):
        put("new in its place")
    seen.name = "mine"
    seen.put(seen.version, ENTRY)
    for lose in (lambda: also.put(0, ENTRY), lambda: also.discard(0, ENTRY)):
        with pytest.raises(ItemChanged):
            lose()
    assert stored(store) == {"a": ("mine", 1)}
    store.put("CONSOLE", {"pk": "CARDS", "sk": "b"})
    gone, there = Card.find("CARDS", "b"), Card.find("CARDS", "b")
    there.discard(0, ENTRY)
    with pytest.raises(ItemChanged):
        gone.put(0, ENTRY)
    assert stored(store) == {"a": ("mine", 1)}


@pytest.mark.parametrize("version", ["x", None, True, 1.5, {"a": 1}])
def test_a_value_of_another_type_is_read_as_absent(store, version):
    damaged = {"name": {"a": 1}, "tags": ["x", 7, None], "made_at": "soon", "version": version}
    store.put("CONSOLE", {"pk": "CARDS", "sk": "a", **damaged})
    store.put("CONSOLE", {"pk": "CARDS", "sk": "b", "tags": "all", "made_at": 7})
    found = Card.list_in("CARDS", 5)
    assert [(each.name, each.tags, each.made_at, each.version) for each in found] == [
        ("", ["x"], None, 0),
        ("", [], None, 0),
    ]
    with pytest.raises(ItemChanged):
        put("mine", 0)


def test_a_partition_is_read_in_one_query_up_to_a_limit(store):
    store.put_all("CONSOLE", [{"pk": "CARDS", "sk": each} for each in "abc"])
    with store.calls() as seen:
        assert [each.id for each in Card.list_in("CARDS", 2)] == ["a", "b"]
    assert [call.operation for call in seen] == ["Query"]


@pytest.mark.parametrize("key", ["CONSOLE", "AUDIT"])
def test_nothing_is_written_without_a_table(bare_store, key):
    bare_store.create_tables(key)
    with pytest.raises(TableMissing):
        put("one")
    assert bare_store.all(key) == Card.list_in("CARDS", 5) == []


@pytest.mark.parametrize("key", ["", "#", "all#x", "company", "company#", "staff#", "STAFF#ana", "nobody", "nobody#x"])
def test_a_key_of_nobody_is_refused(key):
    with pytest.raises(BadReference):
        Owner.parse(key)


@pytest.mark.parametrize("owner", [FOR_ALL, Owner(OwnerKind.COMPANY, "a#b"), Owner(OwnerKind.STAFF, "ana")])
def test_an_owner_is_found_by_its_key(owner):
    assert Owner.parse(owner.key) == owner
