"""A sixth store, as small as one can be: notes on customers, by company. All that the console needs of it is here."""

from typing import Any

from django import forms
from django.http import QueryDict
from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console.errors import NotFound
from console.forms import KeyField, lookups_by_name
from console.permissions import Permission, Staff
from console.redaction import redact
from console.schema.tables import KeyAttribute, TableSpec
from console.search.meanings import MeaningKind
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import ForeignModel, TableMeta, fits
from console.store.paging import PageSource, read_page
from console.trail.actions import Action as Did
from console.trees import Fact
from conversations.messages.content import blocks_of
from conversations.records import Extra, Message, Picture, Speaker
from conversations.stores.adapter import Adapter, ListParameters, NothingToDo, RecordActionHandler, StoreLookup, Subject
from conversations.stores.records import (
    ActionResult,
    Cell,
    Confirmation,
    Listing,
    MessageList,
    RecordAction,
    RecordLink,
    RecordPage,
    RecordPlace,
    RecordRow,
    StoreStart,
    list_place,
    record_place,
)
from conversations.stores.services import carry_out

TABLE = TableSpec("NOTES", "notes", "console", KeyAttribute("noted_for"), KeyAttribute("note_id"), ttl="ttl")


class Note(ForeignModel):
    """What somebody wrote on a customer."""

    class Meta(TableMeta):
        table_key = "NOTES"

    # Names that no form has: a test sends those of all models' attributes along with every form.
    noted_for = UnicodeAttribute(hash_key=True)
    note_id = UnicodeAttribute(range_key=True)
    noted_text = UnicodeAttribute(null=True)
    noted_picture = UnicodeAttribute(null=True)
    ttl = NumberAttribute(null=True)


class ByCompany(StoreLookup):
    """The notes of a company."""

    look = "company"
    title = "By company"
    found = "Notes of the company"
    company = KeyField(label="Company id")

    def find(self, staff: Staff) -> RecordPlace:
        """The list of the company."""
        company = self.cleaned_data["company"]
        if not staff.scope.covers_company(company):
            raise NotFound
        return list_place(company)


class Strike(RecordActionHandler):
    """Removes what a note says."""

    permission = Permission.CHAT_END

    def ask(self, parts: tuple[str, ...], staff: Staff, data: QueryDict | None) -> Confirmation:
        """One line, and no field."""
        note = NOTES.load(parts, staff, ListParameters())
        if note.plain("noted_text") is None:
            raise NothingToDo("It is struck already.", record_place(*parts))
        return Confirmation(
            "Strike this note?", forms.Form(data), "Strike", record_place(*parts), seen=note.noted_text, danger=True
        )

    def do(self, parts: tuple[str, ...], staff: Staff, form: forms.Form, seen: str) -> ActionResult:
        """One conditional update."""
        note = NOTES.load(parts, staff, ListParameters())
        carry_out(
            NOTES.subject(note),
            Did.CHAT_ENDED,
            staff,
            lambda: note.update(actions=[Note.noted_text.remove()], condition=Note.noted_text == seen),
        )
        return ActionResult("It is struck.", record_place(*parts))


class Notes(Adapter):
    """The store."""

    name, title, about, tables = "notes", "Notes", "What colleagues wrote on customers", ("NOTES",)
    lookups = lookups_by_name(ByCompany)
    actions = {"strike": Strike()}
    found_by = {MeaningKind.COMPANY: (("company", "company"),)}

    def start(self, staff: Staff) -> StoreStart:
        """The companies in scope."""
        return StoreStart(
            tuple(RecordLink(each, list_place(each)) for each in sorted(staff.scope.company_ids)), "Companies"
        )

    def is_in_use(self, owner_id: str) -> bool:
        """Whether there are notes on customers of a company of that id."""
        key = {":company": {"S": owner_id}}
        query = {"KeyConditionExpression": "noted_for = :company", "ExpressionAttributeValues": key, "Limit": 1}
        return bool(call("Query", TableName=table_name("NOTES"), **query)["Items"])

    def listing(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Listing:
        """A company's notes."""
        [company] = self._within(parts, 1, staff)
        source = PageSource(Note, company, ("noted_text",))
        page = read_page(source, staff.username, parameters.cursor)
        rows = tuple(
            RecordRow(
                redact(each.note_id),
                record_place(company, each.note_id),
                (Cell(redact(str(each.plain("noted_text")))),),
            )
            for each in page.items
        )
        return Listing("Notes", ("Note", "Text"), rows, next=page.next, back=page.back)

    def load(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Note:
        """One note."""
        company, note = self._within(parts, 2, staff)
        key = {"noted_for": {"S": company}, "note_id": {"S": note}}
        found = call("GetItem", TableName=table_name("NOTES"), Key=key, ConsistentRead=True).get("Item")
        if found is None:
            raise NotFound
        return Note.from_raw_data(found)

    def subject(self, loaded: Note) -> Subject:
        """Its own trail."""
        return Subject(f"CHAT#{loaded.noted_for}#{loaded.note_id}", loaded.noted_for)

    def page(self, loaded: Note, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
        """What it says, as one message."""
        blocks, flaws = blocks_of({"text": loaded.plain("noted_text")}, raw=raw)
        said = Message(0, "only", Speaker.HUMAN, "Colleague", None, blocks, drift=flaws, extra=Extra(note="a note"))
        uri: Any = loaded.plain("noted_picture") if raw else None
        return RecordPage(
            redact(loaded.note_id),
            facts=(Fact("Company", loaded.noted_for),),
            talk=MessageList((said,)),
            picture=Picture("p", uri, "images.example", "a picture", parameters.show == "p") if uri else None,
            actions=(RecordAction("strike", "Strike"),),
        )

    def _within(self, parts: tuple[str, ...], count: int, staff: Staff) -> tuple[str, ...]:
        staff.require(Permission.CONVERSATION_READ)
        if len(parts) != count or not all(map(fits, parts)) or not staff.scope.covers_company(parts[0]):
            raise NotFound
        return parts


NOTES = Notes()
