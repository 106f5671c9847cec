"""Services that list, offer, add, change and delete saved replies for all, of a company or of one person.

Everybody sees those for all and those of companies in scope. Only administrators write these: those of a company in
their scope, and those for all if their scope is everything. A person's own are read and written by that person only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from pynamodb.attributes import UnicodeAttribute

from console import clock
from console.errors import BadReference, Conflict, Invalid, NotFound
from console.permissions import FOR_ALL, Owner, OwnerKind, Permission, Staff
from console.refs import seal, unseal
from console.store.calls import parallel
from console.store.models import SORT_KEY_BYTES, InstantAttribute, fits
from console.trail.actions import Action
from console.trail.items import ItemChanged, ItemGone, VersionedItem, build_owner_entry
from console.trail.recording import TrailEntry, new_action_id
from conversations import companies
from conversations.converting import first_name_of, text_of
from conversations.models import Conversation
from conversations.team.saved_replies.filling import fill

LONGEST_NAME, LONGEST_TEXT, MOST = 60, 1_600, 200
REFERENCE = "saved reply"
GONE = "This saved reply no longer exists."
_PREFIX = "SAVED_REPLIES#"


class SavedReply(VersionedItem):
    """A saved reply: `sk` is 32 hex digits. Those stored before they had versions get one with their next change."""

    CHANGED = "Somebody else changed this saved reply in the meantime."
    name = UnicodeAttribute(default="")
    text = UnicodeAttribute(default="")
    updated_at = InstantAttribute(null=True)

    @property
    def owner(self) -> Owner:
        """Whose it is."""
        return Owner.parse(self.pk.removeprefix(_PREFIX))

    @property
    def reference(self) -> str:
        """The sealed reference for URLs."""
        return seal(REFERENCE, self.pk, self.sk)


@dataclass(frozen=True, slots=True)
class OfferedReply:
    """A saved reply to pick for a conversation, with its placeholders filled. `whose` is an `OwnerKind` value."""

    reference: str
    name: str
    text: str
    whose: str


# --- Reading ----------------------------------------------------------------------------------------------------------


def partition_of(owner: Owner) -> str:
    """Return the partition of an owner's saved replies."""
    return _PREFIX + owner.key


def may_write(owner: Owner, staff: Staff) -> bool:
    """Return whether a person may add, change and delete an owner's saved replies."""
    return owner.may_write(staff, Permission.REPLIES_WRITE)


def check_writer(owner: Owner, staff: Staff) -> None:
    """Raise `NotFound` for another company or person, and `Forbidden` without the right to write."""
    staff.require(Permission.HAND_OFF)
    words = "Only administrators of all companies can change the saved replies for all."
    owner.check_writer(staff, Permission.REPLIES_WRITE, words)


def listed(owner: Owner, staff: Staff, wanted: str = "") -> tuple[SavedReply, ...]:
    """List an owner's saved replies by name, if name or text contains `wanted`. One Query; raises `NotFound`."""
    if not owner.is_seen_by(staff):
        raise NotFound
    return _matching(_query(owner), wanted)


def offered(item: Conversation, staff: Staff, wanted: str = "") -> tuple[OfferedReply, ...]:
    """List what a person can pick: their own, the company's, and those for all. Up to three Queries, in parallel."""
    owners = [Owner(OwnerKind.STAFF, staff.username), FOR_ALL]
    if item.company_id:
        owners.insert(1, Owner(OwnerKind.COMPANY, item.company_id))
    found = parallel(*(partial(_query, owner) for owner in owners if owner.is_seen_by(staff)))
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


def load(reference: str, staff: Staff) -> SavedReply:
    """Load one by its sealed reference, strongly consistent. Raises `NotFound`; `ItemGone` if it was deleted."""
    owner, saved_id = _opened(reference)
    if not owner.is_seen_by(staff):
        raise NotFound
    if (found := SavedReply.find(partition_of(owner), saved_id)) is None:
        raise ItemGone(GONE)
    return found


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
    owner = Owner.parse(partition.removeprefix(_PREFIX))
    if partition_of(owner) != partition or not fits(partition) or not saved_id:
        raise BadReference
    return owner, saved_id


def _query(owner: Owner) -> list[SavedReply]:
    if not fits(partition_of(owner)):
        return []
    found = SavedReply.list_in(partition_of(owner), MOST, consistent=False, needs_table=True)
    return sorted(found, key=lambda each: (each.name.casefold(), each.id))


def _matching(found: Iterable[SavedReply], wanted: str) -> tuple[SavedReply, ...]:
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
    return seal(REFERENCE, partition_of(owner), new_action_id())


def add(token: str, name: str, text: str, staff: Staff) -> None:
    """Add a saved reply under the reference of `new_token`. Idempotent.

    Raises `Invalid` if its owner has `MOST`, `ItemChanged` if the name is taken, `Conflict` if the form added a
    different one, `Forbidden`, `NotFound`.
    """
    owner, saved_id = _opened(token)
    check_writer(owner, staff)
    known = SavedReply.list_in(partition_of(owner), MOST, needs_table=True)
    if saved_id not in (each.id for each in known):
        _check_name(name, known)
    if len(known) >= MOST and saved_id not in (each.id for each in known):
        raise Invalid(f"You can have up to {MOST} saved replies here. Delete one first.")
    try:
        _put(SavedReply(partition_of(owner), saved_id), name, text, Action.SAVED_REPLY_CREATED, staff)
    except ItemChanged:
        there = load(token, staff)
        if (there.name, there.text) != (name, text):
            raise Conflict("This form has already added a saved reply. Check the list.") from None


def change(reference: str, name: str, text: str, seen: str, staff: Staff) -> bool:
    """Change a saved reply; return False if nothing would change.

    Raises `ItemChanged` unless its version is `seen`, or if the name is taken, `ItemGone`, `Forbidden`, `NotFound`.
    """
    found = _to_write(reference, seen, staff)
    if (found.name, found.text) == (name, text):
        return False
    if name.casefold() != found.name.casefold():
        _check_name(name, SavedReply.list_in(found.pk, MOST, needs_table=True))
    _put(found, name, text, Action.SAVED_REPLY_CHANGED, staff)
    return True


def delete(reference: str, seen: str, staff: Staff) -> None:
    """Delete a saved reply. Raises as `change` does."""
    found = _to_write(reference, seen, staff)
    found.discard(found.version, _entry(found, Action.SAVED_REPLY_DELETED, staff))


def _check_name(name: str, others: Iterable[SavedReply]) -> None:
    """Raise `ItemChanged` if another saved reply of the same owner has the name, in capitals or not."""
    if name.casefold() in (each.name.casefold() for each in others):
        raise ItemChanged("A saved reply with this name already exists.", SavedReply.NAME_FIELD)


def _to_write(reference: str, seen: str, staff: Staff) -> SavedReply:
    """Load a saved reply to write it. Raises `ItemChanged` if it is not as the form showed it."""
    check_writer(_opened(reference)[0], staff)
    found = load(reference, staff)
    if seen != str(found.version):
        raise ItemChanged(SavedReply.CHANGED)
    return found


def _put(saved: SavedReply, name: str, text: str, action: Action, staff: Staff) -> None:
    saved.name, saved.text = name, text
    saved.updated_at = clock.now()
    saved.put(saved.version, _entry(saved, action, staff))


def _entry(saved: SavedReply, action: Action, staff: Staff) -> TrailEntry:
    """Return an entry that has neither name nor text."""
    return build_owner_entry(saved.owner, action, staff, saved_reply=saved.id, characters=len(saved.text))
