"""What a saved view is: filters of a list under a name, and whose it is. Records and errors; nothing here reads."""

from dataclasses import dataclass
from enum import StrEnum

from console.errors import BadReference, Conflict, Forbidden, NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from conversations.companies import check_lead
from conversations.saved_views.filters import FilteredList, address_of

REFERENCE = "saved view"
_PREFIX, SHARED = "VIEWS#", "VIEWS#SHARED"
# Who may save and see views of each list.
NEEDED = {
    FilteredList.QUEUE: Permission.HAND_OFF,
    FilteredList.CONVERSATIONS: Permission.CONVERSATION_READ,
}


class Audience(StrEnum):
    """Whom a view is for."""

    STAFF = "STAFF"
    COMPANY = "COMPANY"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class ViewOwner:
    """Whose a view is. `id`: the username, or the company; "" for all."""

    audience: Audience
    id: str = ""

    @property
    def key(self) -> str:
        """As references have it."""
        return f"{_PREFIX}{self.audience}" + (f"#{self.id}" if self.id else "")

    @property
    def partition(self) -> str:
        """Where its views are stored."""
        return self.key if self.audience is Audience.STAFF else SHARED

    def is_seen_by(self, staff: Staff) -> bool:
        """Whether its views are for a person."""
        if self.audience is Audience.COMPANY:
            return staff.scope.covers_company(self.id)
        return self.audience is Audience.ALL or self.id == staff.username

    def may_write(self, staff: Staff) -> bool:
        """Whether a person may save, rename and delete its views."""
        if self.audience is Audience.STAFF:
            return self.is_seen_by(staff)
        is_theirs = staff.scope.everything if self.audience is Audience.ALL else self.is_seen_by(staff)
        return is_theirs and staff.can(Permission.TEAM_LEAD)

    def check_writer(self, staff: Staff) -> None:
        """Raise `NotFound` for another company's or person's, `Forbidden` without the right."""
        if not self.is_seen_by(staff):
            raise NotFound
        if self.audience is Audience.COMPANY:
            check_lead(self.id, staff)
        if not self.may_write(staff):
            raise Forbidden("Only leads who see all companies can change the views for all.")


@dataclass(frozen=True, slots=True)
class SavedView:
    """A saved view. `filters` are empty where what is stored cannot be read; `version` is what a form has seen."""

    owner: ViewOwner
    id: str
    name: str
    of: FilteredList
    filters: tuple[tuple[str, str], ...] = ()
    version: int = 0

    @property
    def reference(self) -> str:
        """As addresses have it."""
        return seal(REFERENCE, self.owner.key, self.id)

    @property
    def company_id(self) -> str:
        """The company that its filters name, or ""."""
        return dict(self.filters).get("company", "")

    @property
    def url(self) -> str:
        """The list with its filters; "" where they cannot be read."""
        return address_of(self.of, dict(self.filters)) if self.filters else ""

    def is_for(self, staff: Staff) -> bool:
        """Whether a person sees it: their role has the list, and their scope the companies."""
        is_in_scope = not self.company_id or staff.scope.covers_company(self.company_id)
        return is_in_scope and self.owner.is_seen_by(staff) and staff.can(NEEDED[self.of])


class ViewNameTaken(Conflict):
    """The owner has a view of that name."""

    field = "name"

    def __init__(self) -> None:
        super().__init__("A view with this name already exists. Choose another name.")


class SavedViewChanged(Conflict):
    """Somebody changed or deleted it since the person saw it."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed this view in the meantime. Check its name, then save again.")


class SavedViewGone(NotFound):
    """It was renamed or deleted since the person saw it."""

    def __init__(self) -> None:
        super().__init__("This view was deleted or renamed.")


def open_reference(reference: str) -> tuple[ViewOwner, str]:
    """Return whose a view is, and its id, of a sealed reference. Raises `BadReference`."""
    key, view_id = unseal(REFERENCE, reference, 2)
    audience, _, owner_id = key.removeprefix(_PREFIX).partition("#")
    try:
        owner = ViewOwner(Audience(audience), owner_id)
    except ValueError as error:
        raise BadReference from error
    if owner.key != key or not view_id or bool(owner_id) is (owner.audience is Audience.ALL):
        raise BadReference
    return owner, view_id
