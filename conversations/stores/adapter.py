"""What a store of conversations is to the console: an adapter answers these questions, the pages do the rest.

Loading is apart from showing: between them the base puts on record who opened what, so that no adapter can show
personal data that nobody knows was looked at.
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
    """What an address asks of a page besides its place; everything may be junk.

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
    """What of it an entry of the trail names: the trail, the company (or organisation) that it belongs to, and facts.

    An empty `company_id` is of no known company, and only for whom all companies are in scope.
    """

    trail: str
    company_id: str = ""
    payload: dict[str, Any] = field(default_factory=dict)


class StoreLookup(LookupForm):
    """A look-up: a form that is POSTed.

    `title` stands above it, `found` says what it finds, `nothing` is said where it finds nothing.
    """

    title: ClassVar[str]
    found: ClassVar[str]
    nothing: str = "Check the spelling."

    def find(self, staff: Staff) -> RecordPlace:
        """Where that is, within the person's scope. Raises `NotFound` for nothing, and the store's errors."""
        raise NotImplementedError


class NothingToDo(Conflict):
    """There is nothing to do any more, as the message says; `place` is where the person is better off."""

    def __init__(self, message: str, place: RecordPlace) -> None:
        super().__init__(message)
        self.place = place


class RecordActionHandler(ABC):
    """Something that can be done to a record, after a page has asked for it."""

    permission: ClassVar[Permission]

    @abstractmethod
    def ask(self, parts: tuple[str, ...], staff: Staff, data: QueryDict | None) -> Confirmation:
        """The question about a record as it is now; its form is bound to `data` where there is any.

        Raises `NotFound` for what is not there or out of scope, `NothingToDo` for what can no longer be done.
        """

    @abstractmethod
    def do(self, parts: tuple[str, ...], staff: Staff, form: forms.Form, seen: str) -> ActionResult:
        """Do it, with its entry in the trail. Raises `Conflict` for what changed since, and the store's errors."""


class Adapter(ABC):
    """One store: its section of the console under `/<name>/`.

    `tables` are the keys of its tables; without the first of them there is no section. `about` says in one sentence
    what is kept there. `found_by` are the look-ups, and the field of each, by which the search box finds a kind of
    identifier. `unsearched` says why neither finds anything for whoever sees some companies only; "" where both do.
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
        """What the first page has besides the look-ups. Reads as little as it can."""
        return StoreStart()

    @abstractmethod
    def is_in_use(self, owner_id: str) -> bool:
        """Whether anything is stored under an id that would be shown to whoever gets the id as scope.

        Asked before an id becomes part of a scope, whoever asks: at most one read. A store that no limited scope opens
        says False. Raises `Conflict` where it cannot be told in this environment, and the store's errors.
        """

    @abstractmethod
    def listing(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Listing:
        """One page of a list. Raises `NotFound` for parts that name none, or one out of the person's scope."""

    @abstractmethod
    def load(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Any:
        """What a record is made of, as it is stored. Raises `NotFound` as `listing`."""

    @abstractmethod
    def subject(self, loaded: Any) -> Subject:
        """Of what the entry is, that is written before anything of it is shown."""

    @abstractmethod
    def page(self, loaded: Any, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
        """The record as shown: everything in it redacted unless `raw`. Reads nothing and never raises."""
