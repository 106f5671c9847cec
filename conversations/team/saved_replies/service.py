"""Services that list, offer, add, change and delete saved replies for all, of a company or of one person.

Everybody sees those for all and those of companies in scope. Only administrators write these: those of a company in
their scope, and those for all if their scope is everything. A person's own are read and written by that person only.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

from pynamodb.expressions.condition import Condition
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import BadReference, Conflict, Forbidden, Invalid, NotFound
from console.permissions import Permission, Staff
from console.refs import is_digest_of, keyed_digest, seal, unseal
from console.store.calls import TransactionRefused, parallel
from console.store.connection import transaction
from console.store.models import SORT_KEY_BYTES, fits
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, build, new_action_id, staff_trail
from conversations import companies
from conversations.converting import first_name_of, text_of
from conversations.models import Conversation
from conversations.team.saved_replies.filling import fill
from conversations.team.saved_replies.models import SavedReply

LONGEST_NAME, LONGEST_TEXT, MOST = 60, 1_600, 200
REFERENCE = "saved reply"
_PREFIX = "SAVED_REPLIES#"
_DIGEST = 32


class OwnerKind(StrEnum):
    """The kind of an owner, and the name of its tab in the list."""

    ALL = "all"
    COMPANY = "company"
    STAFF = "staff"


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of saved replies. `id` is the company id or the username; "" for those for all."""

    kind: OwnerKind
    id: str = ""

    @property
    def partition(self) -> str:
        """The partition of its saved replies."""
        return f"{_PREFIX}{self.kind}" + (f"#{self.id}" if self.id else "")

    def is_read_by(self, staff: Staff) -> bool:
        """Return whether a person may read them."""
        if self.kind is OwnerKind.COMPANY:
            return staff.scope.covers_company(self.id)
        return self.kind is OwnerKind.ALL or self.id == staff.username

    def may_write(self, staff: Staff) -> bool:
        """Return whether a person may add, change and delete them."""
        if self.kind is OwnerKind.STAFF:
            return self.is_read_by(staff)
        is_theirs = staff.scope.everything if self.kind is OwnerKind.ALL else self.is_read_by(staff)
        return is_theirs and staff.can(Permission.REPLIES_WRITE)

    def check_writer(self, staff: Staff) -> None:
        """Raise `NotFound` for another company or person, and `Forbidden` without the right to write."""
        staff.require(Permission.HAND_OFF)
        if not self.is_read_by(staff):
            raise NotFound
        if self.kind is not OwnerKind.STAFF:
            staff.require(Permission.REPLIES_WRITE)
        if not self.may_write(staff):
            raise Forbidden("Only administrators of all companies can change the saved replies for all.")


FOR_ALL = Owner(OwnerKind.ALL)


def of_company(company_id: str) -> Owner:
    """Return the owner for a company."""
    return Owner(OwnerKind.COMPANY, company_id)


def of_staff(staff: Staff) -> Owner:
    """Return the owner for a person."""
    return Owner(OwnerKind.STAFF, staff.username)


@dataclass(frozen=True, slots=True)
class SavedText:
    """A saved reply as pages show it."""

    owner: Owner
    id: str
    name: str
    text: str
    updated_by: str
    updated_at: datetime | None

    @property
    def reference(self) -> str:
        """The sealed reference for URLs."""
        return seal(REFERENCE, self.owner.partition, self.id)

    @property
    def seen(self) -> str:
        """A digest of the name and text for a form, to detect changes."""
        return keyed_digest(_shown(self))[:_DIGEST]


@dataclass(frozen=True, slots=True)
class OfferedReply:
    """A saved reply to pick for a conversation, with its placeholders filled. `whose` is an `OwnerKind` value."""

    reference: str
    name: str
    text: str
    whose: str


class SavedReplyGone(NotFound):
    """Raised if the saved reply was deleted since the person saw it."""

    def __init__(self) -> None:
        super().__init__("This saved reply no longer exists.")


class SavedReplyChanged(Conflict):
    """Raised if somebody changed the saved reply since the person saw it."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed this saved reply in the meantime.")


# --- Reading ----------------------------------------------------------------------------------------------------------


def listed(owner: Owner, staff: Staff, wanted: str = "") -> tuple[SavedText, ...]:
    """List an owner's saved replies by name, if name or text contains `wanted`. One Query; raises `NotFound`."""
    if not owner.is_read_by(staff):
        raise NotFound
    return _matching(_query(owner), wanted)


def offered(item: Conversation, staff: Staff, wanted: str = "") -> tuple[OfferedReply, ...]:
    """List what a person can pick: their own, the company's, and those for all. Up to three Queries, in parallel."""
    owners = [of_staff(staff), *([of_company(item.company_id)] if item.company_id else []), FOR_ALL]
    found = parallel(*(partial(_query, owner) for owner in owners if owner.is_read_by(staff)))
    values = _values(item, staff)
    return tuple(
        OfferedReply(each.reference, each.name, fill(each.text, values), each.owner.kind.value)
        for each in (saved for of_owner in found for saved in _matching(of_owner, wanted))
    )


def filled_text(token: str, item: Conversation, staff: Staff) -> str:
    """Return the filled text of a saved reply; "" if the reference is bad, of another owner, or of a deleted one.

    One GetItem; raises the store's errors.
    """
    try:
        owner, _ = _opened(token)
        if owner.kind is OwnerKind.COMPANY and owner.id != item.company_id:
            return ""
        return fill(load(token, staff).text, _values(item, staff))
    except NotFound:
        return ""


def load(reference: str, staff: Staff) -> SavedText:
    """Load one by its sealed reference, strongly consistent. Raises `NotFound`; `SavedReplyGone` if it was deleted."""
    owner, saved_id = _opened(reference)
    if not owner.is_read_by(staff):
        raise NotFound
    try:
        return _record(owner, SavedReply.get(owner.partition, saved_id, consistent_read=True))
    except NotFound as error:
        raise SavedReplyGone from error


def owner_of(reference: str) -> Owner:
    """Return the owner from a sealed reference. Reads nothing; raises `BadReference`."""
    return _opened(reference)[0]


def company_name(company_id: str, staff: Staff) -> str:
    """Return the name or id of a company in scope; "" if there is none. At most one GetItem and one Query."""
    if not fits(company_id, SORT_KEY_BYTES) or not staff.scope.covers_company(company_id):
        return ""
    found = companies.find(company_id)
    return found.name if found else "" if staff.scope.everything else company_id


def _opened(reference: str) -> tuple[Owner, str]:
    partition, saved_id = unseal(REFERENCE, reference, 2)
    kind, _, of = partition.removeprefix(_PREFIX).partition("#")
    try:
        owner = Owner(OwnerKind(kind), of)
    except ValueError as error:
        raise BadReference from error
    if owner.partition != partition or not fits(partition) or not saved_id:
        raise BadReference
    return owner, saved_id


def _query(owner: Owner) -> list[SavedText]:
    if not fits(owner.partition):
        return []
    found = [_record(owner, each) for each in SavedReply.query(owner.partition, limit=MOST)]
    return sorted(found, key=lambda each: (each.name.casefold(), each.id))


def _record(owner: Owner, item: SavedReply) -> SavedText:
    updated_at = clock.parse_instant(item.updated_at)
    return SavedText(owner, item.sk, item.name, item.text, item.updated_by or "", updated_at)


def _matching(found: Iterable[SavedText], wanted: str) -> tuple[SavedText, ...]:
    folded = wanted.casefold()
    return tuple(each for each in found if folded in each.name.casefold() or folded in each.text.casefold())


def _values(item: Conversation, staff: Staff) -> dict[str, str]:
    return {
        "first_name": first_name_of(item, staff),
        "agent": staff.display_name or staff.username,
        "company": text_of(item.company_name),
    }


# --- Writing ----------------------------------------------------------------------------------------------------------


def new_token(owner: Owner) -> str:
    """Return a reference for a new saved reply. The form contains it, so that submitting it twice adds one."""
    return seal(REFERENCE, owner.partition, new_action_id())


def add(token: str, name: str, text: str, staff: Staff) -> None:
    """Add a saved reply under the reference of `new_token`. Idempotent.

    Raises `Invalid` if its owner has `MOST`, `Conflict` if the form added a different one, `Forbidden`, `NotFound`.
    """
    owner, saved_id = _opened(token)
    owner.check_writer(staff)
    known = list(SavedReply.query(owner.partition, consistent_read=True, limit=MOST, attributes_to_get=["sk"]))
    if len(known) >= MOST and saved_id not in (each.sk for each in known):
        raise Invalid(f"You can have up to {MOST} saved replies here. Delete one first.")
    item = _item(owner, saved_id, name, text, staff)
    try:
        _write(
            Action.SAVED_REPLY_CREATED,
            _record(owner, item),
            staff,
            lambda writes: writes.save(item, condition=SavedReply.pk.does_not_exist()),
        )
    except SavedReplyChanged:
        there = load(token, staff)
        if (there.name, there.text) != (name, text):
            raise Conflict("This form has already added a saved reply. Check the list.") from None


def change(reference: str, name: str, text: str, seen: str, staff: Staff) -> bool:
    """Change a saved reply; return False if nothing would change.

    Raises `SavedReplyChanged` unless it is as `seen`, `SavedReplyGone`, `Forbidden`, `NotFound`.
    """
    before = _to_write(reference, seen, staff)
    if (before.name, before.text) == (name, text):
        return False
    item = _item(before.owner, before.id, name, text, staff)
    actions = [
        getattr(SavedReply, each).set(getattr(item, each)) for each in ("name", "text", "updated_by", "updated_at")
    ]
    _write(
        Action.SAVED_REPLY_CHANGED,
        _record(before.owner, item),
        staff,
        lambda writes: writes.update(item, actions=actions, condition=_as_read(before)),
    )
    return True


def delete(reference: str, seen: str, staff: Staff) -> None:
    """Delete a saved reply. Raises as `change` does."""
    before = _to_write(reference, seen, staff)
    item = SavedReply(before.owner.partition, before.id)
    _write(Action.SAVED_REPLY_DELETED, before, staff, lambda writes: writes.delete(item, condition=_as_read(before)))


def _to_write(reference: str, seen: str, staff: Staff) -> SavedText:
    """Load a saved reply to write it. Raises `SavedReplyChanged` if it is not as the form showed it."""
    _opened(reference)[0].check_writer(staff)
    found = load(reference, staff)
    if not is_digest_of(seen, _shown(found)):
        raise SavedReplyChanged
    return found


def _as_read(found: SavedText) -> Condition:
    condition: Condition = SavedReply.pk.exists() & (SavedReply.name == found.name) & (SavedReply.text == found.text)
    return condition


def _item(owner: Owner, saved_id: str, name: str, text: str, staff: Staff) -> SavedReply:
    at = clock.to_iso(clock.now())
    return SavedReply(owner.partition, saved_id, name=name, text=text, updated_by=staff.username, updated_at=at)


def _shown(found: SavedText) -> str:
    return json.dumps([found.name, found.text])


def _write(action: Action, saved: SavedText, staff: Staff, add_to: Callable[[TransactWrite], None]) -> None:
    """Write in one transaction with an entry that has neither name nor text. Raises `SavedReplyChanged`."""
    owner = saved.owner
    entry = TrailEntry(
        staff_trail(owner.id) if owner.kind is OwnerKind.STAFF else SYSTEM_TRAIL,
        action,
        Actor.of(staff),
        owner.id if owner.kind is OwnerKind.COMPANY else "",
        payload={"saved_reply": saved.id, "characters": len(saved.text), "for": owner.kind.value},
    )
    try:
        with transaction() as writes:
            add_to(writes)
            writes.save(build(entry, clock.now()))
    except TransactionRefused as lost:
        raise SavedReplyChanged from lost
