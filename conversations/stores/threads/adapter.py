"""The adapter of threads: its first page, lists of threads and of feedback, and the page of a thread."""

from dataclasses import replace

from django import forms

from console import clock
from console.context import read_only_reason
from console.errors import NotFound
from console.forms import DaysForm, FilterForm, lookups_by_name
from console.permissions import Permission, Staff
from console.redaction import excerpt, without_names
from console.search.meanings import MeaningKind
from console.templatetags.components import zone_of
from console.trail.recording import thread_trail
from console.trees import clean
from conversations.companies import companies_for
from conversations.messages.transcript import with_breaks
from conversations.records import Message
from conversations.stores.adapter import Adapter, ListParameters, Subject
from conversations.stores.records import Cell, Listing, MessageList, RecordLink, RecordPage, StoreStart, list_place
from conversations.stores.threads import messages, queries, reading, triage
from conversations.stores.threads.feedback import GiveFeedback
from conversations.stores.threads.keys import check
from conversations.stores.threads.loading import LoadedThread, earlier_cursor, later_cursor, load
from conversations.stores.threads.lookups import ByMessage, ByOrganisation, ByThread, ThreadsByUser
from conversations.stores.threads.models import TABLE

ORGANISATIONS_SHOWN = 100
FEEDBACK = "feedback"


class FeedbackFilter(FilterForm):
    """The filter of the list of feedback."""

    show = forms.ChoiceField(
        required=False,
        label="Feedback",
        choices=[("", "All"), (triage.DOWN, "Thumbs down"), (triage.COMMENTED, "With a comment")],
        error_messages={"invalid_choice": "Choose one of the listed values."},
    )


class Threads(Adapter):
    """The assistant's threads (schema thread-history)."""

    name = "threads"
    title = "Threads"
    icon = "threads"
    about = "What people asked the assistant, its answers and sources, and their feedback."
    tables = (TABLE,)
    lookups = lookups_by_name(ByOrganisation, ThreadsByUser, ByThread, ByMessage)
    actions = {FEEDBACK: GiveFeedback()}
    found_by = {MeaningKind.THREAD: (("thread", "key"),)}

    def start(self, staff: Staff) -> StoreStart:
        """Return the known organisations in scope, by name. At most one read, of the registry of companies."""
        staff.require(Permission.CONVERSATION_READ)
        known = companies_for(staff)
        links = tuple(
            RecordLink(
                each.name,
                list_place("org", each.company_id),
                note="" if each.name == each.company_id else each.company_id,
            )
            for each in known[:ORGANISATIONS_SHOWN]
        )
        notices = []
        if len(known) > ORGANISATIONS_SHOWN:
            notices.append(f"These are {ORGANISATIONS_SHOWN} of {len(known):,}: look the others up by their ids.")
        if not known:
            notices.append("No known organisation is in your scope.")
        elif staff.scope.everything:
            notices.append("Only organisations that are known companies are listed. Look up others by id.")
        notices.append("You can find threads by organisation, user or id, but not by their text.")
        return StoreStart(links, "Organisations", tuple(notices))

    def is_in_use(self, owner_id: str) -> bool:
        """Return whether an organisation has threads. See `queries.exists`."""
        return queries.exists(owner_id)

    def listing(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> Listing:
        """List ("org", organisation), ("triage", organisation) or ("user", organisation, tenant, user)."""
        staff.require(Permission.CONVERSATION_READ)
        match parts:
            case ("org", organisation):
                return self._organisation(organisation, staff, parameters)
            case ("triage", organisation):
                return self._triage(organisation, staff, parameters)
            case ("user", organisation, tenant, user):
                return self._user(organisation, tenant, user, staff, parameters)
        raise NotFound

    def _organisation(self, organisation: str, staff: Staff, parameters: ListParameters) -> Listing:
        check(organisation, staff)
        filters, days = _days(parameters, staff)
        page = queries.of_organisation(organisation, staff, days, parameters.cursor)
        return Listing(
            title=f"Threads of {reading.organisation_name(organisation, staff)}",
            columns=reading.COLUMNS,
            rows=tuple(reading.row_of(item) for item in page.items),
            about="Latest activity first.",
            next=page.next,
            back=page.back,
            notices=page.notices,
            tabs=_tabs(organisation, "org"),
            filters=None if page.missing else filters,
            empty="The list is not available" if page.missing else "No threads",
            empty_text="" if page.missing else _none(page.next),
        )

    def _triage(self, organisation: str, staff: Staff, parameters: ListParameters) -> Listing:
        check(organisation, staff)
        filters = FeedbackFilter(parameters.data)
        filters.is_valid()
        listing = Listing(
            title=f"Feedback in {reading.organisation_name(organisation, staff)}",
            columns=triage.COLUMNS,
            rows=(),
            about="Thumbs-down with a comment first, then thumbs-down, comments and the rest.",
            tabs=_tabs(organisation, "triage"),
            filters=filters,
            empty="No feedback",
        )
        shown = filters.chosen("show", triage.ALL)
        found = triage.listed(listing, organisation, staff, shown, parameters.cursor)
        return replace(found, empty_text=_none(found.next))

    def _user(self, organisation: str, tenant: str, user: str, staff: Staff, parameters: ListParameters) -> Listing:
        check(organisation, staff)
        filters, days = _days(parameters, staff)
        page = queries.of_user(organisation, tenant, user, staff, days, parameters.cursor)
        return Listing(
            title=f"Threads of {reading.user_shown(user)}",
            columns=reading.COLUMNS,
            rows=tuple(reading.row_of(item) for item in page.items),
            about="Newest first, by start time.",
            next=page.next,
            notices=page.notices,
            filters=filters,
            crumbs=(reading.organisation_link(organisation, staff),),
            empty="No threads",
            empty_text=_none(page.next),
        )

    def load(self, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> LoadedThread:
        """Load (user's partition, thread). See `loading.load`."""
        return load(parts, staff, parameters)

    def subject(self, loaded: LoadedThread) -> Subject:
        """Return the subject of the thread's trail, owned by its organisation."""
        return Subject(thread_trail(loaded.key.organisation, loaded.key.rest), loaded.key.organisation)

    def page(self, loaded: LoadedThread, staff: Staff, parameters: ListParameters, *, raw: bool) -> RecordPage:
        """Return the page of the thread."""
        key, item = loaded.key, loaded.metadata[0] if loaded.metadata else None
        title = reading.title_of(item)
        flaws = reading.flaws_of(item, key) if item else ("its metadata is missing: there are only messages",)
        if len(loaded.metadata) > 1:
            flaws = (*flaws, "its metadata is stored twice, under both keys: this is the one that changed last")
        user = reading.user_of(item, key)
        place = list_place("user", key.organisation, key.tenant, key.user)
        return RecordPage(
            title=(clean(title)[:200] if raw else excerpt(title, 200, reading.names_in(user))) or reading.UNTITLED,
            state=Cell("Temporary", tone="human", icon="clock") if reading.is_temporary(item) else None,
            facts=reading.facts_of(key, item, clock.now(), raw=raw),
            talk=_talk(loaded, staff, parameters.at, raw=raw),
            notices=(loaded.notice,) if loaded.notice else (),
            flaws=flaws,
            unknown=reading.unknown_of(item),
            links=(
                RecordLink("All threads of this user", place, note=clean(user) if raw else reading.user_shown(user)),
            ),
            crumbs=(reading.organisation_link(key.organisation, staff),),
        )


def _days(parameters: ListParameters, staff: Staff) -> tuple[DaysForm, queries.Days]:
    filters = DaysForm(parameters.data)
    filters.is_valid()
    return filters, filters.instants(zone_of(staff))


def _tabs(organisation: str, current: str) -> tuple[RecordLink, ...]:
    tabs = (("org", "Threads"), ("triage", "Feedback"))
    return tuple(RecordLink(label, list_place(kind, organisation), current=kind == current) for kind, label in tabs)


def _none(more: str) -> str:
    return "None among those searched. There are more to search." if more else ""


def _without_names(message: Message, names: tuple[str, ...]) -> Message:
    """Mask names in what a message says and has; what a person may do with it stays."""
    extra = message.extra
    if extra is not None:
        texts = {name: getattr(extra, name) for name in ("feedback", "origins", "more")}
        extra = replace(extra, **without_names(texts, names))
    return replace(message, blocks=without_names(message.blocks, names), extra=extra)


def _talk(loaded: LoadedThread, staff: Staff, at: str, *, raw: bool) -> MessageList:
    key, may_act = loaded.key, staff.can(Permission.FEEDBACK_WRITE) and not read_only_reason()
    act = (FEEDBACK, (key.base, key.thread_id)) if may_act else None
    shown: list[Message] = [messages.message_of(item, act, raw=raw, at=at) for item in reversed(loaded.messages.items)]
    if not raw:
        names = reading.names_in(reading.user_of(loaded.metadata[0] if loaded.metadata else None, key))
        shown = [_without_names(each, names) for each in shown]
    earlier = earlier_cursor(loaded, staff)
    return MessageList(
        items=with_breaks(shown, staff),
        earlier=earlier,
        later=later_cursor(loaded, staff),
        empty_text="There are earlier ones." if earlier else "",
    )
