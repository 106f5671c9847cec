"""Keys of threads and messages: `{org_id}[#{tenant_id}]#{user_id}#{thread_id}` (schema thread-history, PK / SK)."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from console import clock
from console.errors import BadReference, NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.store.models import SORT_KEY_BYTES, ForeignModel, fits

THREAD, MSG, LLM = "THREAD#", "MSG#", "LLM#"
MESSAGES = (MSG, LLM)
# Sorts after every continuation of a key.
END_OF_KEYS = "\U0010ffff"
_ANCHOR = "message of threads"
_PADDED = re.compile(r"[0-9]{19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """A thread: `base` is its user's partition (organisation, optional tenant, user), `thread_id` its own id."""

    base: str
    thread_id: str

    @property
    def partition(self) -> str:
        """The partition of its messages."""
        return f"{self.base}#{self.thread_id}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """The possible keys of its metadata: some writers put the thread's id into the partition key, others do not."""
        return ((self.partition, f"{THREAD}{self.thread_id}"), (self.base, f"{THREAD}{self.thread_id}"))

    @property
    def organisation(self) -> str:
        """The organisation that owns it: the first segment."""
        return organisation_of(self.base)

    @property
    def user(self) -> str:
        """The last segment before the thread's."""
        return self.base.rpartition("#")[2]

    @property
    def tenant(self) -> str:
        """The segments between organisation and user; "" for none."""
        return self.base.partition("#")[2].rpartition("#")[0]

    @property
    def rest(self) -> str:
        """The part after the organisation: the name of its trail."""
        return self.partition.partition("#")[2]

    @property
    def is_one(self) -> bool:
        """Whether a thread can have this key at all."""
        named = self.organisation and self.user and "#" in self.base and self.thread_id
        return bool(named) and fits(self.partition) and fits(f"{THREAD}{self.thread_id}", SORT_KEY_BYTES)

    @classmethod
    def of_partition(cls, partition: str) -> Self:
        """Return the thread whose messages are in a partition."""
        base, _, thread_id = partition.rpartition("#")
        return cls(base, thread_id)

    @classmethod
    def of_metadata(cls, partition: str, sort_key: str, user_id: str = "") -> Self:
        """Return the thread of a metadata item, whose partition key may end with the thread's id."""
        thread_id = sort_key.removeprefix(THREAD)
        base = partition.removesuffix(f"#{thread_id}")
        named = user_id and partition.endswith(f"#{user_id}") and not base.endswith(f"#{user_id}")
        return cls(partition if "#" not in base or named else base, thread_id)


def organisation_of(partition: str) -> str:
    """Return the first segment of a partition key."""
    return partition.partition("#")[0]


def user_partition(organisation: str, tenant: str, user: str) -> str:
    """Return the partition of the metadata of a user's threads if its key does not include the thread's id."""
    return "#".join((organisation, tenant, user) if tenant else (organisation, user))


def check(organisation: str, staff: Staff) -> None:
    """Raise `Forbidden` without permission to read threads, `NotFound` if out of scope. Reads nothing."""
    staff.require(Permission.CONVERSATION_READ)
    if not organisation or not fits(organisation) or not staff.scope.covers_company(organisation):
        raise NotFound


def key_of(parts: tuple[str, ...], staff: Staff) -> ThreadKey:
    """Return the thread that a record's parts name, within the person's scope. Reads nothing.

    Raises the errors of `check`, and `NotFound` for parts that cannot name a thread.
    """
    staff.require(Permission.CONVERSATION_READ)
    if len(parts) != 2 or not (key := ThreadKey(*parts)).is_one:
        raise NotFound
    check(key.organisation, staff)
    return key


# --- Sort keys: `PREFIX#{timestamp:019d}#{id}` ----------------------------------------------------------------------


def instant_in(sort_key: str) -> datetime | None:
    """Return the time in a sort key; None if there is none."""
    pieces = sort_key.split("#", 2)
    return clock.parse_instant(pieces[1]) if len(pieces) == 3 else None


def is_padded(sort_key: str) -> bool:
    """Return whether a sort key pads its time as the schema requires, so that text order is time order."""
    return _PADDED.match(sort_key.partition("#")[2]) is not None


def instant_of(item: ForeignModel, sort_key: str) -> datetime | None:
    """Return the time of an item: from its sort key, which orders it; else from its attributes."""
    named = (clock.parse_instant(item.plain(name)) for name in ("timestamp", "created_at", "updated_at"))
    return instant_in(sort_key) or next((each for each in named if each), None)


def anchor_of(sort_key: str) -> str:
    """Return the anchor of a message: its sort key, sealed."""
    return seal(_ANCHOR, sort_key)


def sort_key_of(anchor: str) -> str:
    """Return the sort key in an anchor; "" if it is invalid."""
    try:
        (sort_key,) = unseal(_ANCHOR, anchor, 1)
    except BadReference:
        return ""
    return sort_key if sort_key.startswith(MESSAGES) else ""
