"""Keys of threads and messages: `{org_id}[#{tenant_id}]#{user_id}#{thread_id}` (schema thread-history, PK / SK)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.errors import BadReference, NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.store.models import SORT_KEY_BYTES, ForeignModel, fits

THREAD, MSG, LLM = "THREAD#", "MSG#", "LLM#"
MESSAGES = (MSG, LLM)
# The end of all texts that a key may go on with.
END_OF_KEYS = "\U0010ffff"
_ANCHOR = "message of threads"
_PADDED = re.compile(r"[0-9]{19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """A thread: `base` is its user's partition (organisation, a tenant or none, user), `thread_id` its own id."""

    base: str
    thread_id: str

    @property
    def partition(self) -> str:
        """Where its messages are."""
        return f"{self.base}#{self.thread_id}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Where its metadata may be: writers leave the thread out of the partition key, or not."""
        return ((self.partition, f"{THREAD}{self.thread_id}"), (self.base, f"{THREAD}{self.thread_id}"))

    @property
    def organisation(self) -> str:
        """Whose it is: the first segment."""
        return organisation_of(self.base)

    @property
    def user(self) -> str:
        """The last segment before the thread's."""
        return self.base.rpartition("#")[2]

    @property
    def tenant(self) -> str:
        """What stands between organisation and user; "" for none."""
        return self.base.partition("#")[2].rpartition("#")[0]

    @property
    def rest(self) -> str:
        """What follows the organisation: the name of its trail."""
        return self.partition.partition("#")[2]

    @property
    def is_one(self) -> bool:
        """Whether there can be a thread of that key at all."""
        named = self.organisation and self.user and "#" in self.base and self.thread_id
        return bool(named) and fits(self.partition) and fits(f"{THREAD}{self.thread_id}", SORT_KEY_BYTES)

    @classmethod
    def of_partition(cls, partition: str) -> ThreadKey:
        """The thread whose messages are in a partition."""
        base, _, thread_id = partition.rpartition("#")
        return cls(base, thread_id)

    @classmethod
    def of_metadata(cls, partition: str, sort_key: str, user_id: str = "") -> ThreadKey:
        """The thread of a metadata item, whose partition key may have the thread's id at its end, or not."""
        thread_id = sort_key.removeprefix(THREAD)
        base = partition.removesuffix(f"#{thread_id}")
        named = user_id and partition.endswith(f"#{user_id}") and not base.endswith(f"#{user_id}")
        return cls(partition if "#" not in base or named else base, thread_id)


def organisation_of(partition: str) -> str:
    """The first segment of a partition key."""
    return partition.partition("#")[0]


def user_partition(organisation: str, tenant: str, user: str) -> str:
    """Where the metadata of a user's threads is when its key does not have the thread's id."""
    return "#".join((organisation, tenant, user) if tenant else (organisation, user))


def check(organisation: str, staff: Staff) -> None:
    """Raise `Forbidden` for who may not read threads, `NotFound` for an organisation out of scope. Reads nothing."""
    staff.require(Permission.CONVERSATION_READ)
    if not organisation or not fits(organisation) or not staff.scope.covers_company(organisation):
        raise NotFound


def key_of(parts: tuple[str, ...], staff: Staff) -> ThreadKey:
    """The thread that a record's parts name, within the person's scope. Raises as `check`; reads nothing."""
    staff.require(Permission.CONVERSATION_READ)
    if len(parts) != 2 or not (key := ThreadKey(*parts)).is_one:
        raise NotFound
    check(key.organisation, staff)
    return key


# --- Sort keys: `PREFIX#{timestamp:019d}#{id}` ----------------------------------------------------------------------


def instant_in(sort_key: str) -> datetime | None:
    """The time that a sort key names."""
    pieces = sort_key.split("#", 2)
    return clock.parse_instant(pieces[1]) if len(pieces) == 3 else None


def is_padded(sort_key: str) -> bool:
    """Whether a sort key writes its time as the schema does, so that the order of texts is that of time."""
    return _PADDED.match(sort_key.partition("#")[2]) is not None


def instant_of(item: ForeignModel, sort_key: str) -> datetime | None:
    """When an item is of: by its sort key, which orders it; else by its attributes."""
    named = (clock.parse_instant(item.plain(name)) for name in ("timestamp", "created_at", "updated_at"))
    return instant_in(sort_key) or next((each for each in named if each), None)


def anchor_of(sort_key: str) -> str:
    """The anchor of a message: its sort key, sealed."""
    return seal(_ANCHOR, sort_key)


def sort_key_of(anchor: str) -> str:
    """The sort key in an anchor; "" for what is none."""
    try:
        (sort_key,) = unseal(_ANCHOR, anchor, 1)
    except BadReference:
        return ""
    return sort_key if sort_key.startswith(MESSAGES) else ""
