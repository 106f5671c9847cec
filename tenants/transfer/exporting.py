"""Taking tenants out of the table, on record, into a file that only its owner can read."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from console.audit.actions import Action, tenant_trail
from console.audit.recording import COMMAND_LINE, Entry, record
from console.dynamodb.keys import fits
from console.errors import Conflict, NotFound
from tenants.keys import USERS, partition_of, tenant_of
from tenants.transfer.checking import shown, text_in
from tenants.transfer.document import Given, problems_among
from tenants.walking import Progress, RawItem, partition_items, walk

Tenants = dict[str, list[RawItem]]


def everything(progress: Progress) -> tuple[Tenants, int]:
    """All tenants by id with their items in the order of keys, and how many items are of no tenant's partition.

    For commands only: it reads the whole table. Raises the store's errors.
    """
    found: Tenants = {}
    others = 0
    for item in walk(progress):
        if tenant_id := tenant_of(text_in(item, "pk")):
            found.setdefault(tenant_id, []).append(item)
        else:
            others += 1
    return {tenant_id: _of_export(found[tenant_id]) for tenant_id in sorted(found)}, others


def some(tenant_ids: Iterable[str], progress: Progress) -> Tenants:
    """These tenants, each as it is at one time as far as it fits a page. Raises `NotFound` naming who is not there."""
    found = {
        each: _of_export(partition_items(each, progress)) if fits(partition_of(each)) else [] for each in tenant_ids
    }
    if missing := [each for each, items in found.items() if not items]:
        raise NotFound(f"There is no tenant {shown(', '.join(missing))}.")
    return found


def _of_export(items: Iterable[RawItem]) -> list[RawItem]:
    """Without the guard of users, which is of this table's history and not the tenant's."""
    kept = [item for item in items if text_in(item, "sk") != USERS]
    return sorted(kept, key=lambda item: text_in(item, "sk").encode())


def problems_in(tenants: Mapping[str, list[RawItem]]) -> list[str]:
    """What an import would refuse these for: other services write what the console would not."""
    given = [Given(tenant_id, {text_in(item, "sk"): item for item in items}) for tenant_id, items in tenants.items()]
    return list(problems_among(given))


def record_export(tenants: Mapping[str, list[RawItem]]) -> None:
    """Put into the trail of each tenant that it is given out. Raises the store's errors: no entry, no document."""
    for tenant_id, items in tenants.items():
        payload = {"items": len(items)}
        record(Entry(tenant_trail(tenant_id), Action.TENANT_EXPORTED, COMMAND_LINE, tenant_id, payload=payload))


@contextmanager
def private_file(path: Path, *, overwrite: bool) -> Iterator[IO[str]]:
    """A file of mode 0600 that has its name only when all of it is written; after an error nothing is left.

    Raises `Conflict` for one that is there already, and `OSError`.
    """
    if not overwrite and os.path.lexists(path):
        raise Conflict(f"{path} is there already. --overwrite replaces it.")
    # It is made with mode 0600.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _name(Path(name), path, overwrite=overwrite)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _name(made: Path, path: Path, *, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(path):
        raise Conflict(f"{path} was made by somebody else meanwhile. --overwrite replaces it.")
    made.replace(path)
