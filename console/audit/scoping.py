"""Who a trail belongs to, who may read it, and its name.

The base knows nothing about conversations: the app that does registers a `ConversationSource`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.urls import reverse

from console.caching import cached_for, remember
from console.errors import Invalid, NotFound
from console.permissions import Permission, Staff
from console.redaction import redact
from console.refs import seal
from console.trail.recording import CHAT_TRAIL, STAFF_TRAIL, SYSTEM_TRAIL, TENANT_TRAIL, THREAD_TRAIL, staff_trail

# Conversations named where several match.
MOST_NAMED = 5
# ci-aaa-001#pi-aaa-001#req123#447123456789 (schema of the platform's conversations)
_ID_OF_PLATFORM = re.compile(r"(ci-[0-9A-Za-z\-]{1,64})#pi-")
_NAMES = {STAFF_TRAIL: "Staff account", TENANT_TRAIL: "Tenant", THREAD_TRAIL: "Thread", CHAT_TRAIL: "Chat"}


@dataclass(frozen=True, slots=True)
class KnownConversation:
    """The companies that have a conversation with an id (usually one), and its recipient's names."""

    companies: frozenset[str] = frozenset()
    names: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class ConversationSource:
    """Look-ups provided by the conversations app, in bounded reads. All but `url` raise the store's errors.

    `known` looks up one conversation's id; `url` returns its page's URL, which does not contain the id.
    `project_names` returns names by (company, project) id. `of_recipient` returns (id, company) of each conversation of
    a typed number or address in the reader's scope, and whether there are more. `ids_of` returns the ids in scope that
    pages show as a text: a request's id, or an id whose recipient is masked or left out.
    """

    known: Callable[[str], KnownConversation]
    url: Callable[[str], str]
    project_names: Callable[[Collection[tuple[str, str]]], Mapping[tuple[str, str], str]]
    of_recipient: Callable[[str, Staff], tuple[tuple[tuple[str, str], ...], bool]]
    ids_of: Callable[[str, Staff], tuple[str, ...]]


_source: ConversationSource | None = None


def register(source: ConversationSource) -> None:
    """Register the source. The conversations app calls this once at start-up."""
    global _source
    _source = source


def conversation_source() -> ConversationSource | None:
    """Return the registered source; None in a build without conversations."""
    return _source


def known_conversation(trail: str) -> KnownConversation:
    """Look up the conversation of a trail; empty for other trails. One Query; raises the store's errors."""
    known = _source.known(trail) if _source and is_conversation_trail(trail) else KnownConversation()
    remember(recipient_names, known.names, trail)
    return known


def companies_of(trail: str) -> frozenset[str]:
    """Return the companies of a conversation, as `known_conversation`."""
    return known_conversation(trail).companies


# Reviews and exports have many entries of one conversation. Names are personal data, so few are kept, for a minute.
@cached_for(60, entries=1024)
def recipient_names(trail: str) -> tuple[str, ...]:
    """Return the names of a conversation's recipient, for masking in its trail, as `known_conversation`."""
    return known_conversation(trail).names


def trail_shown_as(shown: str, staff: Staff) -> str:
    """Return the trail that pages show as a text: its key, its name, or a conversation's id as printed or copied.

    Returns the text itself if no conversation in scope is shown so. Raises `Invalid` if several are, or if it is an
    address that leads to none, and the store's errors.
    """
    text = shown.strip()
    named = {name: prefix for prefix, name in _NAMES.items()} | {"Conversation": ""}
    for name, prefix in named.items():
        if text.startswith(f"{name} "):
            text = prefix + text.removeprefix(name).strip()
    if text == name_of(SYSTEM_TRAIL):
        return SYSTEM_TRAIL
    if not (_source and is_conversation_trail(text) and staff.can(Permission.CONVERSATION_READ)):
        return text
    found = _source.ids_of(text, staff)
    if len(found) > 1:
        which = ", ".join(redact(each) for each in found[:MOST_NAMED])
        raise Invalid(f"{len(found)} conversations have this id: {which}. Enter one of these.")
    if not found and "://" in text:
        raise Invalid("This address leads to no conversation that you can see. Enter the conversation's id.")
    return found[0] if found else text


def is_conversation_trail(trail: str) -> bool:
    """Return whether a partition is of a platform conversation, not of a tenant, a member of staff or another store."""
    return trail != SYSTEM_TRAIL and not trail.startswith(tuple(_NAMES))


def name_of(trail: str) -> str:
    """Return a trail's name without personal data, such as its redacted conversation id."""
    if trail == SYSTEM_TRAIL:
        return "System"
    for prefix, words in _NAMES.items():
        if trail.startswith(prefix):
            return f"{words} {redact(trail.removeprefix(prefix))}"
    return f"Conversation {redact(trail)}"


# --- Access -----------------------------------------------------------------------------------------------------------


def check_role(trail: str, staff: Staff) -> None:
    """Raise `Forbidden` if no scope would let this role read trails of that kind."""
    staff.require(Permission.AUDIT_READ)
    if trail == staff_trail(staff.username):
        return
    if trail == SYSTEM_TRAIL or trail.startswith(STAFF_TRAIL):
        staff.require(Permission.AUDIT_REVIEW)
    elif trail.startswith(TENANT_TRAIL):
        staff.require(Permission.TENANT_READ)
    else:
        staff.require(Permission.CONVERSATION_READ)


def check_scope(
    trail: str, staff: Staff, named_by_entries: Iterable[str], known: KnownConversation | None = None
) -> frozenset[str]:
    """Raise `NotFound` unless the trail is in the person's scope; return the owners that were looked up.

    `named_by_entries` are the company ids in the entries read; `known` is `known_conversation`, if already read. Trails
    of unknown owners, of staff and of the system are for scope "all" only, except the person's own. The caller has
    checked the role.
    """
    owners = owners_of_trail(trail, named_by_entries)
    if staff.scope.everything or trail == staff_trail(staff.username):
        return owners
    if is_conversation_trail(trail) and not covers_all(trail, owners, staff):
        # Looked up even if the entries name owners: a trail out of scope must cost what an absent one costs.
        companies = known.companies if known else companies_of(trail)
        owners = owners or companies
    if not covers_all(trail, owners, staff):
        raise NotFound
    return owners


def companies_in(conversation_id: str) -> frozenset[str]:
    """Return the company that an id in the platform's format begins with; empty for ids in another format."""
    found = _ID_OF_PLATFORM.match(conversation_id)
    return frozenset(found.groups()) if found else frozenset()


def owners_of_trail(trail: str, named: Iterable[str] = ()) -> frozenset[str]:
    """Return a trail's owners: the tenant or organisation in its key, or the companies that its entries name.

    Trails of staff, the system and chats have no owner, whatever their entries name.
    """
    if trail.startswith(TENANT_TRAIL):
        return frozenset(filter(None, (trail.removeprefix(TENANT_TRAIL),)))
    if trail.startswith(THREAD_TRAIL):
        # Its key begins with the organisation.
        return frozenset(filter(None, (trail.split("#", 2)[1],)))
    return frozenset(named) if is_conversation_trail(trail) else frozenset()


def covers_all(trail: str, owners: frozenset[str], staff: Staff) -> bool:
    """Return whether a person's scope covers every owner of a trail; False for a trail without owners.

    A tenant's trail is owned by a tenant, all others by companies: the id alone does not show which.
    """
    covers = staff.scope.covers_tenant if trail.startswith(TENANT_TRAIL) else staff.scope.covers_company
    return bool(owners) and all(map(covers, owners))


# --- URLs -------------------------------------------------------------------------------------------------------------


def conversation_url(trail: str, staff: Staff) -> str:
    """Return the URL of a trail's conversation; "" for other trails and for people who may not read conversations."""
    if not (_source and trail and is_conversation_trail(trail) and staff.can(Permission.CONVERSATION_READ)):
        return ""
    return _source.url(trail)


def review_url(route: str, trail: str, staff: Staff) -> str:
    """Return the URL of a reviewer's page about a trail's conversation; "" for other trails and other people."""
    if not (trail and is_conversation_trail(trail) and staff.can(Permission.AUDIT_REVIEW)):
        return ""
    return reverse(route, args=[seal("trail", trail)])
