"""Small items of the console's own table that people edit: their versions and their trail.

An item is only written if it still has the version that the person saw, in one transaction with its entry in the trail.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from pynamodb.attributes import UnicodeAttribute
from pynamodb.expressions.condition import Condition
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, NotFound
from console.permissions import Owner, OwnerKind, Staff
from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.store.models import LenientItem, WholeNumberAttribute
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, build, staff_trail

_FAILED = "ConditionalCheckFailed"


class ItemChanged(Conflict):
    """Somebody else was first: changed or deleted the item, or took its name. `field` is the form's field, if any."""

    def __init__(self, words: str, field: str | None = None) -> None:
        self.field = field
        super().__init__(words)


class ItemGone(NotFound):
    """The item was deleted since the person saw it."""


class VersionedItem(LenientItem):
    """An item with a version, which counts its changes. 0: it is not stored, or was stored without a version.

    Each kind has its own words for whoever is second: `CHANGED`, and `TAKEN` if the key comes from a name, which the
    form has in `NAME_FIELD`. `updated_by` is who stored it last, "" if unknown.
    """

    CHANGED: ClassVar[str] = ""
    TAKEN: ClassVar[str] = ""
    NAME_FIELD: ClassVar[str] = "name"
    version = WholeNumberAttribute(default=0)
    updated_by = UnicodeAttribute(default="")

    def put(self, seen: int, entry: TrailEntry, *, before: str = "") -> None:
        """Store the item in place of version `seen` (0: of none), and of the item of sort key `before` if it moves.

        All of the item is replaced. Raises `ItemChanged` and the store's errors.
        """
        kind, condition = type(self), self._as_seen(seen)
        moves = before not in ("", self.sk)
        self.version = 1 if moves else seen + 1
        self.updated_by = entry.actor.name

        def add(writes: TransactWrite) -> None:
            if moves:
                writes.delete(kind(self.pk, before), condition)
            writes.save(self, kind.pk.does_not_exist() if moves else condition)

        # The first code of a move is that of the deletion.
        self._write(entry, add, lambda codes: codes[1:2] == (_FAILED,) if moves else not seen)

    def discard(self, seen: int, entry: TrailEntry) -> None:
        """Delete the item at version `seen`. Raises as `put` does."""
        condition = self._as_seen(seen)
        self._write(entry, lambda writes: writes.delete(self, condition), lambda _: False)

    def _as_seen(self, seen: int) -> Condition:
        kind = type(self)
        condition: Condition
        if seen:
            condition = kind.version == seen
        elif self.is_stored:
            condition = kind.pk.exists() & kind.version.does_not_exist()
        else:
            condition = kind.pk.does_not_exist()
        return condition

    def _write(
        self, entry: TrailEntry, add: Callable[[TransactWrite], None], is_taken: Callable[[tuple[str, ...]], bool]
    ) -> None:
        try:
            with transaction() as writes:
                add(writes)
                writes.save(build(entry, clock.now()))
        except TransactionRefused as refused:
            if self.TAKEN and is_taken(refused.codes):
                raise ItemChanged(self.TAKEN, self.NAME_FIELD) from refused
            raise ItemChanged(self.CHANGED) from refused


def build_owner_entry(owner: Owner, action: Action, staff: Staff, **payload: Any) -> TrailEntry:
    """Return the trail's entry of what a person did with an item: in a person's own trail, or the system's."""
    trail = staff_trail(owner.id) if owner.kind is OwnerKind.STAFF else SYSTEM_TRAIL
    return TrailEntry(trail, action, Actor.of(staff), owner.company_id, payload=payload | {"for": owner.kind.value})
