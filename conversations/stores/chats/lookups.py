"""Looking chats up by phone number, user, session, image or prompt. The input is never stored."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django import forms
from django.conf import settings

from console.errors import NotAccepted, NotFound, TableMissing
from console.forms import KeyField
from console.permissions import Staff
from console.store.calls import parallel
from console.store.models import SORT_KEY_BYTES
from conversations.finding.lookups import spellings
from conversations.stores.adapter import StoreLookup
from conversations.stores.chats import queries
from conversations.stores.chats.keys import check, is_digest, is_usable, owner_of, user_ids_of
from conversations.stores.chats.models import PROMPT, USERS_LAST_MESSAGE
from conversations.stores.reading import Attempted, capture_errors, index_absent
from conversations.stores.records import RecordPlace, list_place, record_place

# The likeliest spelling of a number.
_NUMBER = re.compile(r"\+\d+", re.ASCII)

NO_SUCH_NUMBER = "No user with that number has ever chatted. Check the number and enter it with its country code."
CANNOT_KNOW = (
    "No user found. Somebody with this number may still have chatted: the chatbot may mix a secret into its user "
    "ids, and this console does not have it. An administrator can set CHATBOT_USER_ID_SECRET."
)


class ByPhone(StoreLookup):
    """A user, by the phone number whose digest is the user's id. The number itself is never passed on."""

    look = "phone"
    of_person = ("phone",)
    title = "By phone number"
    found = "A chatbot user of that number"
    phone = KeyField(label="Phone number", most=SORT_KEY_BYTES)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.nothing = NO_SUCH_NUMBER if settings.CHATBOT_USER_ID_SECRET else CANNOT_KNOW

    def clean_phone(self) -> str:
        """Return the number as typed, if it is one in any spelling."""
        typed: str = self.cleaned_data["phone"]
        if not _NUMBER.fullmatch("".join(spellings(typed)[:1])):
            raise forms.ValidationError("Enter a phone number with its country code, such as +44 20 7946 0018.")
        return typed

    def find(self, staff: Staff) -> RecordPlace:
        """Return the user's list. Two small Queries for each spelling and secret, run in parallel."""
        check(staff)
        return _users(tuple(one for each in spellings(self.cleaned_data["phone"]) for one in user_ids_of(each)))


class ChatsByUser(StoreLookup):
    """A user, by id."""

    look = "user"
    of_person = ("user_id",)
    title = "By user id"
    found = "A chatbot user"
    nothing = "No user with that id has ever chatted. An id is a SHA-256 digest: 64 digits and letters."
    user_id = KeyField(label="User id", most=SORT_KEY_BYTES)

    def find(self, staff: Staff) -> RecordPlace:
        """Return the user's list. Two small Queries in parallel; four if a digest was typed in capitals."""
        check(staff)
        typed = self.cleaned_data["user_id"]
        return _users(tuple(dict.fromkeys((typed, typed.lower()))) if is_digest(typed) else (typed,))


class BySession(StoreLookup):
    """A session, by id."""

    look = "session"
    of_person = ("session_id",)
    title = "By session id"
    found = "A chatbot session"
    nothing = "There is no session with that id. An id is a user's id, a colon, and the start in epoch seconds."
    session_id = KeyField(label="Session id", most=SORT_KEY_BYTES)

    def find(self, staff: Staff) -> RecordPlace:
        """Return the session. A GetItem and a small Query in parallel."""
        check(staff)
        session_id = self.cleaned_data["session_id"]
        by_id = owner_of(session_id)
        nobody: str | None = None
        running, named = parallel(
            capture_errors(lambda: by_id if queries.session(by_id, session_id) else None, nobody),
            capture_errors(partial(queries.user_in, session_id), nobody),
        )
        _found((running, named))
        # Writers drift: a session belongs to the user whom its events name, unless it runs as that of the user in its
        # id.
        user_id = by_id if running.value is not None else named.value or by_id
        return record_place("session", user_id, session_id)


class ByImage(StoreLookup):
    """An image, by id."""

    look = "image"
    of_person = ()
    title = "By image id"
    found = "An image"
    nothing = "There is no image with that id. An id is the image's SHA-256 digest: 64 digits and letters."
    image_id = KeyField(label="Image id", most=SORT_KEY_BYTES)

    def find(self, staff: Staff) -> RecordPlace:
        """Return the image. One GetItem."""
        check(staff)
        image_id = self.cleaned_data["image_id"]
        if queries.image(image_id) is None:
            raise NotFound
        return record_place("image", image_id)


class ByPrompt(StoreLookup):
    """The images of a prompt, by its exact text."""

    look = "prompt"
    title = "Images by prompt"
    found = "Images of that prompt"
    nothing = "There is no image with exactly that prompt. Every letter, capital and space counts."
    # Leading and trailing spaces may be part of a prompt, or may have been copied with it.
    prompt = KeyField(label="Exact prompt", strip=False)

    def find(self, staff: Staff) -> RecordPlace:
        """Return the prompt's list. One small Query, or two in parallel if it begins or ends with spaces."""
        check(staff)
        typed = self.cleaned_data["prompt"]
        candidates = [each for each in dict.fromkeys((typed, typed.strip())) if each]
        found = _first_hits(
            *(_by_index(partial(queries.has_image_of, each), "IMAGE_RESPONSES", PROMPT) for each in candidates)
        )
        return list_place("prompt", candidates[found[0]])


def _users(candidates: tuple[str, ...]) -> RecordPlace:
    """Return the list of the user that exists; a list of users if several spellings of a number exist."""
    usable = [each for each in candidates if is_usable(each)]
    reads: list[Callable[[], bool]] = []
    for each in usable:
        chatted = partial(queries.has_chatted, each)
        reads += [partial(queries.has_session, each), _by_index(chatted, "CHATS", USERS_LAST_MESSAGE)]
    found = sorted({number // 2 for number in _first_hits(*reads)})
    if len(found) > 1:
        return list_place("users", *(usable[number] for number in found))
    return list_place("sessions", usable[found[0]])


def _by_index(read: Callable[[], bool], table_key: str, index: str) -> Callable[[], bool]:
    """Wrap a read so that a missing index counts as a missing table, which is an expected state and not a fault."""

    def found() -> bool:
        try:
            return read()
        except (NotAccepted, TableMissing) as error:
            if not index_absent(table_key, index):
                raise
            missing = TableMissing(table_key)
            missing.args = (f"The index {index} is missing in this environment.",)
            raise missing from error

    return found


def _first_hits(*reads: Callable[[], bool]) -> list[int]:
    """Return the indexes of the reads that find something, run in parallel. Raises the errors of `_found`."""
    return _found(parallel(*(capture_errors(read, False) for read in reads)))


def _found(answers: Sequence[Attempted[Any]]) -> list[int]:
    """Return the indexes of the answers that are something. Failed reads are ignored if another one found something.

    Raises `NotFound` if nothing was found, but the store's error if a read failed.
    """
    found = [number for number, answer in enumerate(answers) if answer.value not in (None, False)]
    if found:
        return found
    for answer in answers:
        if answer.error is not None:
            raise answer.error
    raise NotFound
