"""The interface between the console and a store of conversations: adapters implement it, the pages do the rest.

Loading is separate from showing: in between, the base records who opened what, so that no adapter can show personal
data without an entry in the trail.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from console.errors import Conflict
from console.forms import LookupForm
from console.permissions import Permission, Staff
from console.search.meanings import MeaningKind
from conversations.stores.records import ActionResult, Confirmation, Listing, RecordPage, RecordPlace, StoreStart


@dataclass(frozen=True, slots=True)
class ListParameters:
    """The query parameters of a page; all of them are untrusted.

    `cursor`: a page of a list; `before`: a window of messages; `at`: the anchor of a message; `show`: the picture to
    load; `data`: the filters, for a form.
    """

    cursor: str = ""
    before: str = ""
    at: str = ""
    show: str = ""
    data: QueryDict = field(default_factory=QueryDict)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a trail entry says about a record: the trail, the company (or organisation) that owns it, and facts.

    An empty `company_id` means that no company is known; only staff with all companies in scope see such entries.
    """

    trail: str
    company_id: str = ""
    payload: dict[str, Any] = field(default_factory=dict)


class StoreLookup(LookupForm):
    """A look-up: a form that is POSTed.

    `title` is its heading, `found` says what it finds, `nothing` is shown if it finds nothing.
    """

    title: ClassVar[str]
    found: ClassVar[str]
    nothing: str = "Check the spelling."

    def find(self, staff: Staff) -> RecordPlace:
        """Return the place of what was found, within the person's scope. Raises `NotFound`, and the store's errors."""
        raise NotImplementedError


class NothingToDo(Conflict):
    """Raised when there is nothing left to do, as the message explains; `place` is where to go instead."""

    def __init__(self, message: str, place: RecordPlace) -> None:
        super().__init__(message)
        self.place = place


class RecordActionHandler(ABC):
    """An action on a record, done after a page has asked for confirmation."""

    permission: ClassVar[Permission]

    @abstractmethod
    def ask(self, parts: tuple[str, ...], staff: Staff, data: QueryDict | None) -> Confirmation:
        """Return the confirmation for the current record; its form is bound to `data` if there is any.

        Raises `NotFound` if it does not exist or is out of scope, `NothingToDo` if the action is no longer possible.
        """

    @abstractmethod
    def do(self, parts: tuple[str, ...], staff: Staff, form: forms.Form, seen: str) -> ActionResult:
        """Do it and record it in the trail. Raises `Conflict` if the record has changed, and the store's errors."""


class Adapter(ABC):
    """One store: its section of the console under `/<name>/`.

    `tables` are the keys of its tables; without the first of them there is no section. `about` is one sentence about
    what is stored there. `found_by` are the look-ups, and the field of each, by which the search box finds a kind of
    identifier. `unsearched` explains why neither finds anything for staff with a limited scope; "" if both do.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str] = "conversations"
    about: ClassVar[str] = ""
    tables: ClassVar[tuple[str, ...]]
    unsearched: ClassVar[str] = ""
    lookups: ClassVar[Mapping[str, type[StoreLookup]]] = {}
    actions: ClassVar[Mapping[str, RecordActionHandler]] = {}
    found_by: ClassVar[Mapping[MeaningKind, tuple[tuple[str, str], ...]]] = {}

    def start(self, staff: Staff) -> StoreStart:
        """Return what the first page shows besides the look-ups, with as few reads as possible."""
        return StoreStart()

    @abstractmethod
    def is_in_use(self, owner_id: str) -> bool:
        """Return whether anything is stored under an id that would be shown to people with that id as their scope.

        Called before an id becomes part of a scope, regardless of who adds it: at most one read. Always False for a
        store that no limited scope opens. Raises `Conflict` if this environment cannot tell, and the store's errors.
        """

    @abstractmethod
    def listing(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Listing:
        """Return one page of a list. Raises `NotFound` if the parts name no list, or one out of the person's scope."""

    @abstractmethod
    def load(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Any:
        """Load a record as it is stored. Raises `NotFound` in the same cases as `listing`."""

    @abstractmethod
    def subject(self, loaded: Any) -> Subject:
        """Return the subject of the trail entry that is written before anything is shown."""

    @abstractmethod
    def page(self, loaded: Any, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
        """Return the record as shown: everything in it redacted unless `raw`. Reads nothing and never raises."""
