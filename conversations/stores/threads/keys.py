"""Keys of threads and messages: `{org_id}[#{tenant_id}]#{user_id}#{thread_id}` (schema thread-history, PK / SK)."""

from __future__ import annotations

from dataclasses import dataclass

from console.errors import NotFound
from console.permissions import Permission, Staff
from console.store.keys import SORT_KEY_BYTES, fits

THREAD, MSG, LLM = "THREAD#", "MSG#", "LLM#"
MESSAGES = (MSG, LLM)


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
    def sort_key(self) -> str:
        """Of its metadata."""
        return f"{THREAD}{self.thread_id}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Where its metadata may be: writers leave the thread out of the partition key, or not."""
        return ((self.partition, self.sort_key), (self.base, self.sort_key))

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
        inner = self.base.partition("#")[2]
        return inner.rpartition("#")[0]

    @property
    def rest(self) -> str:
        """What follows the organisation: the name of its trail."""
        return self.partition.partition("#")[2]

    @property
    def is_one(self) -> bool:
        """Whether there can be a thread of that key at all."""
        return bool(
            self.organisation
            and self.user
            and "#" in self.base
            and self.thread_id
            and fits(self.partition)
            and fits(self.sort_key, SORT_KEY_BYTES)
        )

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
    if len(parts) != 2:
        raise NotFound
    key = ThreadKey(*parts)
    if not key.is_one:
        raise NotFound
    check(key.organisation, staff)
    return key
