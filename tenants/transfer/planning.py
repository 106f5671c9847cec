"""What an import would do with the tenants of a file, line by line, as the store is now. Nothing is written here."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from console.errors import NotFound
from tenants.channels import Claims, claims_of
from tenants.console_items import ImportMark
from tenants.keys import META, USER, Channel, Kind, kind_of, partition_of
from tenants.records import ONBOARDING
from tenants.transfer.checking import IMPORTED, shown, text_in
from tenants.transfer.document import Given
from tenants.transfer.values import canonical
from tenants.users import NotUnique, Users, UserValues, check_unique, users_among
from tenants.walking import RawItem, partition_items

# So many attributes that differ are named.
NAMED = 8


class Fate(StrEnum):
    """What becomes of an item of the file."""

    ADD = "add"
    SAME = "the same"
    DIFFERS = "differs"
    REFUSED = "refused"
    NOT_IMPORTED = "not imported"


class State(StrEnum):
    """What there is of a tenant."""

    NEW = "new"
    EXISTS = "exists"
    UNFINISHED = "an import of this file was interrupted: it is gone on with"


@dataclass(frozen=True, slots=True)
class Line:
    """One item: its kind, its sort key, what becomes of it and, where that does not speak for itself, why."""

    kind: Kind
    sort_key: str
    fate: Fate
    why: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done about one tenant. Equal plans say that nothing changed that matters here.

    `claims` are of the channels to be added, `version` of the guard of users, `digest` of all that the file has.
    """

    tenant_id: str
    state: State
    lines: tuple[Line, ...]
    version: int | None
    claims: Mapping[Channel, Claims] = field(repr=False)
    digest: str

    def of(self, *fates: Fate) -> tuple[Line, ...]:
        """The lines of these fates."""
        return tuple(line for line in self.lines if line.fate in fates)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return self.state is State.UNFINISHED or bool(self.of(Fate.ADD))


def plan_of(given: Given) -> Plan:
    """Look at what is stored, strongly consistent, and compare. Raises the store's errors."""
    stored = {text_in(item, "sk"): item for item in partition_items(given.tenant_id)}
    digest = digest_of(given)
    state = _state(given, stored, digest)
    users = users_among(stored.values())
    claims: dict[Channel, Claims] = {}
    lines = []
    for sk, item in given.items.items():
        kind = kind_of(partition_of(given.tenant_id), sk)
        fate, why = _compared(kind, sk, item, stored, state)
        if fate is Fate.ADD and kind is Kind.USER and (why := _user_refusal(sk, item, users)):
            fate = Fate.REFUSED
        elif fate is Fate.ADD and (channel := Channel.of(sk)):
            claims[channel] = claims_of(channel)
            if why := _channel_refusal(claims[channel], given.tenant_id):
                fate = Fate.REFUSED
        lines.append(Line(kind, sk, fate, why))
    if META not in stored and META not in given.items and any(line.fate is Fate.ADD for line in lines):
        lines.insert(0, Line(Kind.META, META, Fate.REFUSED, "the tenant is not there, and the file has no META of it"))
    return Plan(given.tenant_id, state, tuple(lines), users.version, claims, digest)


def digest_of(given: Given) -> str:
    """What a tenant of a file is told by when an import of it goes on."""
    pk = partition_of(given.tenant_id)
    known = [canonical(item) for sk, item in given.items.items() if kind_of(pk, sk) in IMPORTED]
    return hashlib.sha256(repr(known).encode()).hexdigest()


def _state(given: Given, stored: Mapping[str, RawItem], digest: str) -> State:
    if META not in stored:
        return State.NEW
    if text_in(stored[META], "status") == ONBOARDING and _mark(given.tenant_id) == digest:
        return State.UNFINISHED
    return State.EXISTS


def _mark(tenant_id: str) -> str:
    try:
        return ImportMark.get(partition_of(tenant_id), ImportMark.SORT_KEY, consistent_read=True).digest or ""
    except NotFound:
        return ""


def _compared(kind: Kind, sk: str, item: RawItem, stored: Mapping[str, RawItem], state: State) -> tuple[Fate, str]:
    if kind not in IMPORTED:
        return Fate.NOT_IMPORTED, "the platform makes its memories itself" if kind is Kind.MEMORY else "an unknown type"
    if sk not in stored:
        return Fate.ADD, ""
    wanted, found = canonical(item), canonical(stored[sk])
    if wanted == found:
        return Fate.SAME, ""
    if kind is Kind.META and state is State.UNFINISHED:
        status = {name: value for name, value in item.items() if name != "status"}
        if canonical(status) == canonical({name: value for name, value in stored[sk].items() if name != "status"}):
            return Fate.SAME, "but for its status, which is set when all of it is there"
    return Fate.DIFFERS, f"left as it is; not the same: {_differing(item, stored[sk])}"


def _differing(item: RawItem, found: RawItem) -> str:
    """Names of attributes, which say nothing of their values."""
    one, other = dict(canonical(item)), dict(canonical(found))
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return ", ".join(shown(name) for name in names[:NAMED]) + (", …" if len(names) > NAMED else "")


def _user_refusal(sk: str, item: RawItem, users: Users) -> str:
    values = UserValues(sk.removeprefix(USER), text_in(item, "email"), "", "")
    try:
        check_unique(users, values, is_new=True)
    except NotUnique as error:
        return (
            "another user has this id, but for capitals" if error.field == "user_id" else "another user has its email"
        )
    return ""


def _channel_refusal(claims: Claims, tenant_id: str) -> str:
    others = claims.others(tenant_id)
    return f"the channel is of the tenant {shown(', '.join(others))}" if others else ""
