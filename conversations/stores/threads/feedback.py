"""Setting and clearing the feedback on an answer (schema thread-history, `verso` and `feedback`)."""

from dataclasses import dataclass, replace
from typing import Any, cast

from django import forms
from django.http import QueryDict

from console import clock
from console.errors import Conflict, ConsoleError, NotFound
from console.permissions import Permission, Staff
from console.redaction import excerpt, redact
from console.refs import is_digest_of, keyed_digest
from console.trail.actions import Action as AuditAction
from console.trail.recording import thread_trail
from console.trees import Fact, clean, text_of
from conversations.stores.adapter import RecordActionHandler, Subject
from conversations.stores.items import fingerprint
from conversations.stores.records import ActionResult, Confirmation, RecordPlace, record_place
from conversations.stores.services import carry_out, record_opened, update_as_read
from conversations.stores.threads.keys import ThreadKey, anchor_of, instant_of, key_of
from conversations.stores.threads.loading import message_at, metadata_of
from conversations.stores.threads.messages import VERSOS, comment_of, is_answer, verso_of
from conversations.stores.threads.models import TABLE, ThreadMessage
from conversations.stores.threads.reading import TITLE, UNTITLED, organisation_link, title_of

AS_STORED = "as-stored"
COMMENT_LENGTH = 2000
_ATTRIBUTES = ("verso", "feedback")


class FeedbackForm(forms.Form):
    """A direction and a comment; an empty comment removes the one that is there."""

    verso = forms.ChoiceField(label="Direction", widget=forms.RadioSelect)
    comment = forms.CharField(
        label="Comment", required=False, max_length=COMMENT_LENGTH, widget=forms.Textarea(attrs={"rows": 4})
    )

    def __init__(self, *args: Any, other: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kept = [(AS_STORED, f"As stored: {other}")] if other else []
        direction = cast("forms.ChoiceField", self.fields["verso"])
        direction.choices = [("up", "Thumbs up"), ("down", "Thumbs down"), ("", "None"), *kept]
        direction.required = False

    def clean_comment(self) -> str:
        """Return the comment stripped, if all of its characters can be stored."""
        comment: str = self.cleaned_data["comment"].replace("\r\n", "\n").strip()
        if any((ord(char) < 32 and char not in "\n\t") or 0xD800 <= ord(char) <= 0xDFFF for char in comment):
            raise forms.ValidationError("Remove the characters that cannot be stored.")
        return comment


@dataclass(frozen=True, slots=True)
class _Found:
    """The current answer. `shown` is its comment as the form initially showed it, `message_id` its id as shown."""

    key: ThreadKey
    item: ThreadMessage
    sort_key: str
    shown: str
    message_id: str

    @property
    def place(self) -> RecordPlace:
        """The place of the message in its thread."""
        return record_place(self.key.base, self.key.thread_id, at=anchor_of(self.sort_key))


class GiveFeedback(RecordActionHandler):
    """Set or clear the feedback on an answer."""

    permission = Permission.FEEDBACK_WRITE

    def ask(self, parts: tuple[str, ...], staff: Staff, data: QueryDict | None) -> Confirmation:
        """Return the confirmation, after two reads. Raises `Conflict` for a message that is not an answer."""
        found = _find(parts, staff)
        verso = verso_of(found.item)
        known = verso in VERSOS
        return Confirmation(
            title="Feedback on an answer",
            form=FeedbackForm(
                data,
                initial={"verso": verso if known or not verso else AS_STORED, "comment": found.shown},
                other="" if known else redact(verso)[:40],
            ),
            button="Save the feedback",
            back=found.place,
            record=_thread_name(found.key, staff),
            crumbs=(organisation_link(found.key.organisation, staff),),
            about="What the reader thought of this answer. Leave the comment empty to remove it.",
            facts=(
                Fact("Message", found.message_id, mono=True),
                Fact("Written", at=instant_of(found.item, found.sort_key)),
                Fact("Feedback now", _words(verso)),
                Fact("Comment now", "there is one" if comment_of(found.item) else "none"),
            ),
            consequences=("The change is recorded: the direction before and after, and whether the comment changed.",),
            seen=seen_of(found.item),
        )

    def do(self, parts: tuple[str, ...], staff: Staff, form: forms.Form, seen: str) -> ActionResult:
        """Do one conditional UpdateItem of the named attributes, with its entry; nothing if nothing changes."""
        found = _find(parts, staff)
        item = found.item
        if not is_digest_of(seen, _as_seen(item)):
            raise Conflict("The feedback changed since you opened it, so nothing was done.")
        verso, comment = _wanted(found, form)
        before = verso_of(item)
        if verso == before and comment == comment_of(item):
            return ActionResult("Nothing to change.", found.place)
        payload = {
            "verso": {"from": redact(before) or "none", "to": redact(verso) or "none"},
            "comment": _change(comment_of(item), comment),
        }
        subject = replace(_subject(found.key), payload=payload)
        carry_out(subject, AuditAction.FEEDBACK_CHANGED, staff, lambda: _write(found, verso, comment))
        return ActionResult("The feedback was saved." if verso or comment else "The feedback was removed.", found.place)


def _find(parts: tuple[str, ...], staff: Staff) -> _Found:
    """Return the answer that the parts name.

    Raises `Forbidden`, `NotFound`, `Conflict` for a message that is not an answer, and the store's errors.
    """
    staff.require(Permission.FEEDBACK_WRITE)
    if len(parts) != 3:
        raise NotFound
    key, sort_key = key_of(parts[:2], staff), parts[2]
    item = message_at(key, sort_key, staff)
    if not is_answer(item):
        raise Conflict("Only the assistant's answers can have feedback.")
    message_id = clean(text_of(item.plain("message_id") or ""))[:120]
    return _Found(key, item, sort_key, *_shown(key, staff, comment_of(item), message_id))


def _thread_name(key: ThreadKey, staff: Staff) -> str:
    """Return a thread's title, redacted as in lists. One read; if it fails, a generic name."""
    try:
        found, _ = metadata_of(key, staff)
    except ConsoleError:
        return "Thread"
    return excerpt(title_of(found[0] if found else None), TITLE) or UNTITLED


def _shown(key: ThreadKey, staff: Staff, *texts: str) -> tuple[str, ...]:
    """Return texts as the page shows them: redacted, unless the role may see them and this is recorded."""
    masked = tuple(map(redact, texts))
    if texts == masked or not staff.can(Permission.TRANSCRIPT_RAW):
        return masked
    return texts if record_opened(_subject(key), staff, raw=True) else masked


def _subject(key: ThreadKey) -> Subject:
    return Subject(thread_trail(key.organisation, key.rest), key.organisation)


def _wanted(found: _Found, form: forms.Form) -> tuple[str, str]:
    """Return the values to store; a field left as it was shown keeps its stored value."""
    typed, verso = form.cleaned_data["comment"], form.cleaned_data["verso"]
    comment = comment_of(found.item)
    untouched = typed in (found.shown.replace("\r\n", "\n").strip(), comment.strip())
    return verso_of(found.item) if verso == AS_STORED else verso, comment if untouched else typed


def _change(before: str, after: str) -> str:
    if before == after:
        return "unchanged"
    return "removed" if not after else "changed" if before else "added"


def _words(verso: str) -> str:
    return {"": "none", "up": "thumbs up", "down": "thumbs down"}.get(verso, redact(verso)[:40])


def seen_of(item: ThreadMessage) -> str:
    """Return a keyed digest of the feedback as it was shown; absent and NULL are the same."""
    return keyed_digest(_as_seen(item))


def _as_seen(item: ThreadMessage) -> str:
    return fingerprint(item, "PK", "SK", *_ATTRIBUTES)


def _write(found: _Found, verso: str, comment: str) -> None:
    """Write the changes. Raises `ConditionFailed` if the message is gone or its feedback was changed meanwhile."""
    item = found.item
    at = f"{clock.now():%Y-%m-%dT%H:%M:%S}"  # as the assistant writes it
    wanted = {"updated_at": ("", at), "verso": (verso_of(item), verso), "feedback": (comment_of(item), comment)}
    changes = {name: {"S": after} if after else None for name, (before, after) in wanted.items() if after != before}
    key = {"PK": {"S": found.key.partition}, "SK": {"S": found.sort_key}}
    update_as_read(TABLE, key, item, changes, unchanged=_ATTRIBUTES)
