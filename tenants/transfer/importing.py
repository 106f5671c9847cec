"""Writing what a plan says, in as few transactions as there can be, so that nothing half-written is ever served.

A new tenant that does not fit one transaction is onboarding until the last one gives it the status of the file; a mark
in the console's own table says so meanwhile. Run again, an import goes on where it was interrupted: what is there
already is the same as in the file, and is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.audit.actions import Action, tenant_trail
from console.audit.recording import COMMAND_LINE, Entry
from console.dynamodb.sizes import size_of
from console.dynamodb.translation import TransactionRefused
from console.errors import Conflict, NotAccepted, StoreUnavailable, TableMissing, Throttled
from tenants.channels import add_claim, in_words, left_over
from tenants.console_items import ImportMark
from tenants.keys import META, Channel, Kind, partition_of
from tenants.models import TenantItem, TenantMeta
from tenants.records import ONBOARDING
from tenants.transfer.checking import text_in
from tenants.transfer.document import Given
from tenants.transfer.planning import Fate, Line, Plan, State, plan_of
from tenants.users import bump
from tenants.walking import RawItem
from tenants.writing import TRIES, check_exists, write

# Of one transaction. DynamoDB takes 4 MB; some is for the guards, the entry and the mark.
MOST_WRITES, MOST_BYTES = 100, 3_500_000
# META, the mark, the guard of users and the entry.
_OUR_WRITES = 4
_KEPT = timedelta(days=90)
_ORDER = (Kind.USER, Kind.COMPANY, Kind.CHANNEL)


class WholeItem(TenantItem):
    """An item that is written with all that a file has of it."""

    def serialize(self, null_check: bool = True) -> dict[str, dict[str, Any]]:
        """The item as it was read."""
        return dict(self.raw)


@dataclass(frozen=True, slots=True)
class _Piece:
    """An item to be added, and how much of a transaction it takes."""

    kind: Kind
    key: str
    item: RawItem
    writes: int
    size: int


@dataclass(frozen=True, slots=True)
class _Part:
    """One transaction of a tenant's."""

    pieces: tuple[_Piece, ...]
    version: int | None
    is_first: bool = True
    is_last: bool = True


def carry_out(plan: Plan, given: Given) -> int:
    """Write what a plan says, if nothing of it changed since. Returns in how many transactions.

    Raises `Conflict` for what changed, and the store's errors; what was written until then stays, and is gone on with.
    """
    if plan_of(given) != plan:
        raise _changed(plan)
    parts = list(_parts(plan, given))
    for number, part in enumerate(parts, 1):
        _write(plan, given, part, f"{number} of {len(parts)}")
    return len(parts)


def _changed(plan: Plan) -> Conflict:
    return Conflict(
        f"{plan.tenant_id}: what is stored changed since the plan was made. Nothing is lost: what was "
        "written before that stays. Run it again: it plans anew and goes on with what is left."
    )


def _write(plan: Plan, given: Given, part: _Part, number: str) -> None:
    def add(writes: TransactWrite) -> None:
        _add_meta(writes, plan, given, part)
        for piece in part.pieces:
            _add_piece(writes, plan, piece)
        if any(piece.kind is Kind.USER for piece in part.pieces):
            bump(writes, plan.tenant_id, part.version)

    entry = _entry(plan, part, number)
    for left in reversed(range(TRIES)):
        try:
            return write(add, entry)
        except TransactionRefused as error:
            raise _changed(plan) from error
        except Throttled:
            if not left:
                raise
        except (NotAccepted, TableMissing):
            # Nothing was written.
            raise
        except StoreUnavailable as error:
            words = f"{plan.tenant_id}: {error} Whether part {number} was written is not known: run it again."
            raise StoreUnavailable(words.strip()) from error
    return None


# --- What goes into which transaction ---------------------------------------------------------------------------------


def _parts(plan: Plan, given: Given) -> Iterator[_Part]:
    version = plan.version
    groups = list(_grouped(_pieces(plan, given), size_of(given.items.get(META, {}))))
    for number, group in enumerate(groups):
        yield _Part(tuple(group), version, number == 0, number == len(groups) - 1)
        if any(piece.kind is Kind.USER for piece in group):
            version = (version or 0) + 1


def _pieces(plan: Plan, given: Given) -> list[_Piece]:
    """Administrators first and channels last: these bring traffic."""
    pieces = [_piece(plan, given, line) for line in plan.of(Fate.ADD) if line.kind is not Kind.META]
    return sorted(pieces, key=lambda each: (_ORDER.index(each.kind), text_in(each.item, "role") != "admin", each.key))


def _piece(plan: Plan, given: Given, line: Line) -> _Piece:
    item = given.items[line.sort_key]
    writes = 1
    if channel := Channel.of(line.sort_key):
        writes = 3 if left_over(plan.claims[channel], plan.tenant_id) else 2
    return _Piece(line.kind, line.sort_key, item, writes, size_of(item))


def _grouped(pieces: list[_Piece], size: int) -> Iterator[list[_Piece]]:
    """Pieces as they fit, at least one group; `size` is what the first holds already."""
    if sum(each.writes for each in pieces) + _OUR_WRITES - 1 <= MOST_WRITES and (
        size + sum(each.size for each in pieces) <= MOST_BYTES
    ):
        # All at once needs no mark.
        yield pieces
        return
    group: list[_Piece] = []
    writes = _OUR_WRITES
    for piece in pieces:
        if group and (writes + piece.writes > MOST_WRITES or size + piece.size > MOST_BYTES):
            yield group
            group, writes, size = [], _OUR_WRITES, 0
        group.append(piece)
        writes += piece.writes
        size += piece.size
    yield group


# --- One transaction --------------------------------------------------------------------------------------------------


def _add_meta(writes: TransactWrite, plan: Plan, given: Given, part: _Part) -> None:
    """META as it is to be in this part, or that it is as it was left."""
    if plan.state is State.EXISTS:
        return check_exists(writes, plan.tenant_id)
    partition = partition_of(plan.tenant_id)
    mark = ImportMark(partition, digest=plan.digest, expires_at=clock.to_epoch(clock.now() + _KEPT))
    begun: Condition = TenantMeta.pk.exists() & (TenantMeta.status == ONBOARDING)
    if plan.state is State.NEW and part.is_first:
        item = given.items[META] if part.is_last else given.items[META] | {"status": {"S": ONBOARDING}}
        writes.save(WholeItem.from_raw_data(item), condition=TenantItem.pk.does_not_exist())
        if not part.is_last:
            writes.save(mark)
    elif part.is_last:
        actions: list[UpdateAction] = [TenantMeta.status.set(text_in(given.items[META], "status"))]
        writes.update(TenantMeta(partition, META), actions=actions, condition=begun)
        writes.delete(mark, condition=ImportMark.digest == plan.digest)
    else:
        writes.condition_check(TenantMeta, partition, META, condition=begun)
    return None


def _add_piece(writes: TransactWrite, plan: Plan, piece: _Piece) -> None:
    item: WholeItem = WholeItem.from_raw_data(piece.item)
    if channel := Channel.of(piece.key):
        add_claim(writes, plan.tenant_id, channel, plan.claims[channel], item)
    else:
        writes.save(item, condition=TenantItem.pk.does_not_exist())


def _entry(plan: Plan, part: _Part, number: str) -> Entry:
    payload: dict[str, Any] = {
        "users": _keys(part, Kind.USER),
        "channels": [in_words(channel) for piece in part.pieces if (channel := Channel.of(piece.key))],
        "companies": _keys(part, Kind.COMPANY),
        "part": number,
        "created": plan.state is State.NEW and part.is_first,
    }
    return Entry(tenant_trail(plan.tenant_id), Action.TENANT_IMPORTED, COMMAND_LINE, plan.tenant_id, payload=payload)


def _keys(part: _Part, kind: Kind) -> list[str]:
    return [piece.key.partition("#")[2] for piece in part.pieces if piece.kind is kind]
