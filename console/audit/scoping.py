"""Whose trail it is, and who may read it.

The base knows nothing of conversations: the app that does registers a resolver, which says to which company a
conversation belongs when the trail's own entries do not, and who its recipient is, whom the trail never names.
"""

import re
from collections.abc import Callable, Iterable

from console.errors import NotFound
from console.permissions import Permission, Staff
from console.trail.actions import CHAT_TRAIL, STAFF_TRAIL, SYSTEM_TRAIL, TENANT_TRAIL, THREAD_TRAIL, staff_trail

# From a conversation's id to the companies that have one of that id (most often one; none if unknown).
Resolver = Callable[[str], frozenset[str]]
# From a conversation's id to the first and last name of its recipient, as far as they are known.
NamesOf = Callable[[str], tuple[str, ...]]

_resolvers: list[Resolver] = []
_names_of: list[NamesOf] = []
# ci-aaa-001#pi-aaa-001#req123#447123456789 (schema of the platform's conversations)
_ID_OF_PLATFORM = re.compile(r"(ci-[0-9A-Za-z\-]{1,64})#pi-")


def register(resolver: Resolver) -> None:
    """Called once at start-up by an app that knows conversations."""
    if resolver not in _resolvers:
        _resolvers.append(resolver)


def register_names(names: NamesOf) -> None:
    """Called once at start-up by an app that knows conversations."""
    if names not in _names_of:
        _names_of.append(names)


def recipient_names(trail: str) -> tuple[str, ...]:
    """The names of a conversation's recipient, which nobody reads in its trail; () for other trails, and where none is
    known. Raises the store's errors.
    """
    return tuple(name for names in _names_of for name in names(trail)) if is_conversation_trail(trail) else ()


def companies_of(conversation_id: str) -> frozenset[str]:
    """The companies of a conversation; empty where nobody knows it. Raises the store's errors."""
    return frozenset(company for resolver in _resolvers for company in resolver(conversation_id))


def is_conversation_trail(trail: str) -> bool:
    """Whether a partition is of the platform's conversation, not of a tenant, a member of staff or another store."""
    return trail != SYSTEM_TRAIL and not trail.startswith((STAFF_TRAIL, TENANT_TRAIL, THREAD_TRAIL, CHAT_TRAIL))


def check_role(trail: str, staff: Staff) -> None:
    """Raise `Forbidden` where no scope could let this role read trails of that kind."""
    staff.require(Permission.AUDIT_READ)
    if trail == staff_trail(staff.username):
        return
    if trail == SYSTEM_TRAIL or trail.startswith(STAFF_TRAIL):
        staff.require(Permission.AUDIT_REVIEW)
    elif trail.startswith(TENANT_TRAIL):
        staff.require(Permission.TENANT_READ)
    else:
        staff.require(Permission.CONVERSATION_READ)


def check_scope(trail: str, staff: Staff, named_by_entries: Iterable[str]) -> frozenset[str]:
    """Raise `NotFound` unless the trail lies in the person's scope; the role was checked before.

    `named_by_entries` are the company ids in the entries read. Trails of unknown owners, of staff and of the system
    are for scope "all" only; one's own trail is for oneself. Gives the owners as far as they had to be known.
    """
    owners = owners_of_trail(trail, named_by_entries)
    if staff.scope.everything or trail == staff_trail(staff.username):
        return owners
    if is_conversation_trail(trail) and not covers_all(trail, owners, staff):
        # Asked where the entries have answered too: a trail out of scope costs what one that is not there costs.
        known = companies_of(trail)
        owners = owners or known
    if not covers_all(trail, owners, staff):
        raise NotFound
    return owners


def companies_in(conversation_id: str) -> frozenset[str]:
    """The company that a conversation's id begins with, as the platform makes ids; none of another form."""
    found = _ID_OF_PLATFORM.match(conversation_id)
    return frozenset(found.groups()) if found else frozenset()


def describe_owners(owners: Iterable[str]) -> str:
    """Owners as a company is shown: most often one."""
    return ", ".join(sorted(owners))


def owners_of_trail(trail: str, named: Iterable[str] = ()) -> frozenset[str]:
    """Whose a trail is: the tenant's or organisation's in its key, a conversation's companies as its entries name them.

    None for trails of staff, the system and chats, whoever their entries name. A conversation whose entries name nobody
    may still be known to `companies_of`.
    """
    if trail.startswith(TENANT_TRAIL):
        return frozenset(filter(None, (trail.removeprefix(TENANT_TRAIL),)))
    if trail.startswith(THREAD_TRAIL):
        # Its key begins with the organisation.
        return frozenset(filter(None, (trail.split("#", 2)[1],)))
    return frozenset(named) if is_conversation_trail(trail) else frozenset()


def covers_all(trail: str, owners: frozenset[str], staff: Staff) -> bool:
    """Whether a person may see a trail that belongs to these; what belongs to nobody is out of scope.

    The owner of a tenant's trail is a tenant, of every other one a company: an id tells nothing of that.
    """
    covers = staff.scope.covers_tenant if trail.startswith(TENANT_TRAIL) else staff.scope.covers_company
    return bool(owners) and all(map(covers, owners))
