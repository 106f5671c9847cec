"""Look-ups of threads by ids, or by a pasted partition key. POSTed, as any of it may be personal data."""

from typing import Any

from django import forms

from console.errors import NotFound
from console.forms import KeyField
from console.permissions import Staff
from conversations.stores.adapter import ListParameters, StoreLookup
from conversations.stores.records import RecordPlace, list_place, record_place
from conversations.stores.threads.keys import THREAD, ThreadKey, anchor_of, check, key_of, user_partition
from conversations.stores.threads.loading import find_message, load
from conversations.stores.threads.queries import of_user


class SegmentField(KeyField):
    """One segment of a key."""

    def validate(self, value: str) -> None:
        """Raise `ValidationError` if there are several segments."""
        super().validate(value)
        if "#" in value:
            raise forms.ValidationError("Remove the #. It separates the parts of a key.")


def organisation_field() -> SegmentField:
    """Return a field for the id of an organisation."""
    return SegmentField(label="Organisation ID")


def tenant_field() -> SegmentField:
    """Return an optional field for the id of a tenant."""
    return SegmentField(label="Tenant", required=False, help_text="Only where the key has one.")


class ByOrganisation(StoreLookup):
    """An organisation's threads."""

    look = "organisation"
    of_person = ()
    title = "An organisation's threads"
    found = "Threads of that organisation"
    organisation = organisation_field()

    def find(self, staff: Staff) -> RecordPlace:
        """Return the organisation's list. Reads nothing: organisations are known from the scope, not from the store."""
        organisation = self.cleaned_data["organisation"]
        check(organisation, staff)
        return list_place("org", organisation)


class ThreadsByUser(StoreLookup):
    """A user's threads."""

    look = "user"
    title = "A user's threads"
    found = "Threads of that user"
    nothing = "Check the spelling, and whether the key has a tenant."
    organisation = organisation_field()
    user = KeyField(label="User", help_text="The id, as the assistant has it.")
    tenant = tenant_field()

    def find(self, staff: Staff) -> RecordPlace:
        """Return the user's list. Raises `NotFound` if there are no threads at all."""
        organisation, user = self.cleaned_data["organisation"], self.cleaned_data["user"]
        tenant = self.cleaned_data["tenant"]
        page = of_user(organisation, tenant, user, staff)
        if not (page.items or page.next or page.notices):
            raise NotFound
        return list_place("user", organisation, tenant, user)


class ThreadLookup(StoreLookup):
    """A thread, by its whole key or by the parts of it."""

    key = KeyField(
        label="Whole key", required=False, help_text="Organisation, tenant, user and thread, with # between them."
    )
    organisation = SegmentField(label="Organisation", required=False)
    tenant = tenant_field()
    user = KeyField(label="User", required=False)
    thread = KeyField(label="Thread", required=False)

    def clean(self) -> dict[str, Any]:
        """Require either the whole key, or all its parts except the tenant."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        parts = [cleaned["organisation"], cleaned["user"], cleaned["thread"]]
        if cleaned["key"] and any((*parts, cleaned["tenant"])):
            raise forms.ValidationError("Give the whole key or its parts, not both.")
        if not cleaned["key"] and not all(parts):
            raise forms.ValidationError("Give organisation, user and thread; or the whole key.")
        return cleaned

    def named(self, staff: Staff) -> ThreadKey:
        """Return the named thread, within the person's scope. Raises `NotFound`."""
        cleaned = self.cleaned_data
        if cleaned["key"]:
            found = ThreadKey.of_partition(cleaned["key"])
        else:
            base = user_partition(cleaned["organisation"], cleaned["tenant"], cleaned["user"])
            found = ThreadKey(base, cleaned["thread"].removeprefix(THREAD))
        return key_of((found.base, found.thread_id), staff)


class ByThread(ThreadLookup):
    """A thread."""

    look = "thread"
    title = "A thread"
    found = "A thread"
    nothing = "Check the spelling, and whether the key has a tenant."

    def find(self, staff: Staff) -> RecordPlace:
        """Return the thread, if any of its items exist."""
        key = self.named(staff)
        load((key.base, key.thread_id), staff, ListParameters())
        return record_place(key.base, key.thread_id)


class ByMessage(ThreadLookup):
    """A message of a thread."""

    look = "message"
    title = "A message of a thread"
    found = "A message of a thread"
    nothing = "Check the spelling of the message's id and of its thread's."
    message = KeyField(label="Message", help_text="Its id, with or without MSG# or LLM# before it.")
    field_order = ("message", "key", "organisation", "tenant", "user", "thread")

    def find(self, staff: Staff) -> RecordPlace:
        """Return the message in its thread."""
        key = self.named(staff)
        message_id = self.cleaned_data["message"].removeprefix("MSG#").removeprefix("LLM#")
        return record_place(key.base, key.thread_id, at=anchor_of(find_message(key, message_id, staff)))
