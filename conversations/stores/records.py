"""What the pages of every store show: frozen, and already redacted for the person who looks.

An adapter makes these of its items, and the pages are the same for all stores.
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
    """Where something of a store is: a list or a record, named by parts of its key. They are sealed in its address.

    `at` is the anchor of a message, `query` what else the address asks for; neither may hold personal data.
    """

    kind: Literal["list", "record"]
    parts: tuple[str, ...]
    at: str = ""
    query: tuple[tuple[str, str], ...] = ()


def a_list(*parts: str, **query: str) -> RecordPlace:
    """The place of a list."""
    return RecordPlace("list", parts, query=tuple(query.items()))


def a_record(*parts: str, at: str = "") -> RecordPlace:
    """The place of a record, or of one message of it."""
    return RecordPlace("record", parts, at)


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A place and what it is called. `current`: of tabs, the one that is shown; `note` are muted words after it."""

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
    note: str = ""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One row of a list: what it is called, where it leads (None: nowhere), a second line, and its cells.

    `flaws` say what of it is not as its schema says.
    """

    name: str
    place: RecordPlace | None
    cells: tuple[Cell, ...] = ()
    detail: str = ""
    flaws: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list. `columns` head the rows' names and their cells.

    `next` and `back` are sealed cursors ("" for none); `notices` say how far it looked and what could not be read;
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
class Talk:
    """A window of messages with the markers between them, oldest first.

    `earlier` and `later` are what `before` is to be for the windows next to it ("" for none): sealed cursors, or
    numbers of messages. `earlier_text` and `later_text` are what their links say.
    """

    items: tuple[Message | Marker, ...] = ()
    earlier: str = ""
    later: str = ""
    earlier_text: str = "Show earlier messages"
    later_text: str = "Later messages"
    empty: str = "No messages"
    empty_text: str = ""


@dataclass(frozen=True, slots=True)
class RecordAction:
    """An action that the person may take on a record: a link to the page that asks before it is done."""

    action: str
    label: str
    text: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True)
class RecordPage:
    """One record: a conversation, or another thing of the store (an image).

    `state` is shown as a tag beside the title; `flaws` say what is not as the schema says; `unknown` are attributes
    that no schema knows, redacted; `tables` are short lists that belong to it.
    """

    title: str
    about: str = ""
    state: Cell | None = None
    facts: tuple[Fact, ...] = ()
    talk: Talk | None = None
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
    """The section's first page, above its look-ups: where one can begin, and what cannot be done here and why."""

    links: tuple[RecordLink, ...] = ()
    links_title: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a page asks before an action is done: what it is about, what it will do, and what is typed for it.

    `seen` is kept by the form: the state that the person decided on. `back` is where "Cancel" leads. `record` is what
    the record is called, `crumbs` are the places above it.
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
    """What was done, in words, and where the person goes from there."""

    message: str
    place: RecordPlace


# --- Addresses: the parts of keys are sealed, as they may be personal data ------------------------------------------

_ROUTES = {"list": "store-list", "record": "store-record"}


def reference_of(store: str, kind: str, parts: tuple[str, ...]) -> str:
    """The sealed reference of a list or record of a store."""
    return seal(f"{kind} of {store}", *parts)


def parts_of(store: str, kind: str, reference: str) -> tuple[str, ...]:
    """The parts in a sealed reference. Raises `BadReference` for one of another store or kind."""
    parts = unseal(f"{kind} of {store}", reference)
    if not parts:
        raise BadReference
    return parts


def address_of(store: str, place: RecordPlace) -> str:
    """The address of a place of a store."""
    url = reverse(_ROUTES[place.kind], args=[store, reference_of(store, place.kind, place.parts)])
    query = {**({"at": place.at} if place.at else {}), **dict(place.query)}
    return url + (f"?{urlencode(query)}" if query else "") + (f"#m-{place.at}" if place.at else "")


def action_address(store: str, action: str, parts: tuple[str, ...]) -> str:
    """The address of the page that asks before an action is done to a record."""
    return reverse("store-action", args=[store, reference_of(store, "record", parts), action])
