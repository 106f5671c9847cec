"""The content of every store's pages: frozen, and already redacted for its reader.

Adapters make these from their items; the pages are the same for all stores.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode

from django import forms
from django.urls import reverse

from console.errors import BadReference
from console.forms import FilterForm
from console.refs import seal, unseal
from console.trees import Fact, Node
from conversations.records import Marker, Message, Picture


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a list or a record, identified by parts of its key, which are sealed in its address.

    `at` is the anchor of a message, `query` the other query parameters; neither may contain personal data.
    """

    kind: Literal["list", "record"]
    parts: tuple[str, ...]
    at: str = ""
    query: tuple[tuple[str, str], ...] = ()


def list_place(*parts: str, **query: str) -> RecordPlace:
    """Return the place of a list."""
    return RecordPlace("list", parts, query=tuple(query.items()))


def record_place(*parts: str, at: str = "") -> RecordPlace:
    """Return the place of a record, or of one message of it."""
    return RecordPlace("record", parts, at)


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A place and its label. `current`: the tab that is shown; `note`: muted words after the label."""

    label: str
    place: RecordPlace | None = None
    current: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a row: a text, or a time `at`. `tone` makes a tag of it (ai, human, good, bad), with `icon`."""

    text: str = ""
    at: datetime | None = None
    tone: str = ""
    icon: str = ""
    mono: bool = False


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One row of a list: its name, its link (None: none), its cells, and a second line.

    `flaws` say how the item deviates from its schema.
    """

    name: str
    place: RecordPlace | None
    cells: tuple[Cell, ...] = ()
    detail: str = ""
    flaws: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list. `columns` are the headings of the rows' names and their cells.

    `next` and `back` are sealed cursors ("" for none); `notices` say how much was searched and what could not be read;
    `filters` is the bound form of GET filters; `crumbs` are the places above it, below the section itself.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[RecordRow, ...]
    about: str = ""
    next: str = ""
    back: str = ""
    notices: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    tabs: tuple[RecordLink, ...] = ()
    filters: FilterForm | None = None
    crumbs: tuple[RecordLink, ...] = ()
    empty: str = "Nothing is there"
    empty_text: str = ""


@dataclass(frozen=True, slots=True)
class MessageList:
    """A window of messages with the markers between them, oldest first.

    `earlier` and `later` are the values of `before` for the adjacent windows ("" for none): sealed cursors, or numbers
    of messages. `earlier_text` is the label of the link to the earlier ones.
    """

    items: tuple[Message | Marker, ...] = ()
    earlier: str = ""
    later: str = ""
    earlier_text: str = "Show earlier messages"
    empty: str = "No messages"
    empty_text: str = ""


@dataclass(frozen=True, slots=True)
class RecordAction:
    """An action that the person may take on a record: a link to its confirmation page."""

    action: str
    label: str
    text: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True)
class RecordPage:
    """One record: a conversation, or another thing of the store (an image).

    `state` is shown as a tag next to the title; `flaws` say how it deviates from the schema; `unknown` are attributes
    that are not in the schema, redacted; `tables` are short lists that belong to it.
    """

    title: str
    about: str = ""
    state: Cell | None = None
    facts: tuple[Fact, ...] = ()
    talk: MessageList | None = None
    picture: Picture | None = None
    notices: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()
    unknown: Node | None = None
    config: Node | None = None
    actions: tuple[RecordAction, ...] = ()
    links: tuple[RecordLink, ...] = ()
    tables: tuple[Listing, ...] = ()
    crumbs: tuple[RecordLink, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreStart:
    """The section's first page, above its look-ups: where to begin, and what is not possible here and why."""

    links: tuple[RecordLink, ...] = ()
    links_title: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The confirmation page of an action: what it is about, what it will do, and the form to fill in.

    The form carries `seen`: the state that the person decided on. `back` is where "Cancel" leads. `record` is the name
    of the record, `crumbs` are the places above it.
    """

    title: str
    form: forms.Form
    button: str
    back: RecordPlace
    record: str = "Record"
    crumbs: tuple[RecordLink, ...] = ()
    about: str = ""
    facts: tuple[Fact, ...] = ()
    consequences: tuple[str, ...] = ()
    seen: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What was done, in words, and the place to show next."""

    message: str
    place: RecordPlace


# --- Addresses: the parts of keys are sealed, as they may be personal data ------------------------------------------

_ROUTES = {"list": "store-list", "record": "store-record"}


def reference_of(store: str, kind: str, parts: tuple[str, ...]) -> str:
    """Return the sealed reference of a list or record of a store."""
    return seal(f"{kind} of {store}", *parts)


def parts_of(store: str, kind: str, reference: str) -> tuple[str, ...]:
    """Return the parts in a sealed reference. Raises `BadReference` for one of another store or kind."""
    parts = unseal(f"{kind} of {store}", reference)
    if not parts:
        raise BadReference
    return parts


def address_of(store: str, place: RecordPlace) -> str:
    """Return the address of a place of a store."""
    url = reverse(_ROUTES[place.kind], args=[store, reference_of(store, place.kind, place.parts)])
    query = {**({"at": place.at} if place.at else {}), **dict(place.query)}
    return url + (f"?{urlencode(query)}" if query else "") + (f"#m-{place.at}" if place.at else "")


def action_address(store: str, action: str, parts: tuple[str, ...]) -> str:
    """Return the address of an action's confirmation page."""
    return reverse("store-action", args=[store, reference_of(store, "record", parts), action])
