"""`/conversations/<ref>/reply/…`: send a reply as the holder, undo it, retry it, load its template; save the note.

Every view works as a plain form. A script posts the same forms and gets fragments: the box, or its new token.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import get_text_list

from console import clock
from console.access import StaffRequest, requires
from console.answers import answer, post_only_form, posted_text
from console.context import wants_fragment
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable, TableMissing, Throttled
from console.permissions import Permission
from console.refs import unseal
from console.staff.throttling import TooManyAttempts
from console.store.connection import known_absent
from conversations.attention.panel import holds
from conversations.conversation.reply_box import reply_box
from conversations.conversation.views.conversation import conversation_page
from conversations.converting import conversation_url, hand_off_of, known_list_context, summary_of
from conversations.finding.queries import load_row
from conversations.handoff.notes import save_note
from conversations.outbox import excusing
from conversations.outbox.replying import ReplyFacts
from conversations.outbox.states import RETRIED
from conversations.providers.templates import fill_in_template, read_template, request_template
from conversations.receiving import opt_outs
from conversations.sending.replies import (
    ITEM,
    ReplyForm,
    accept,
    facts_of,
    load_reply,
    mark_retried,
    seal_form,
    undo,
    unseal_form,
)
from conversations.team.saved_replies.filling import placeholders_in

REPLY_ERRORS = (Conflict, Invalid, StoreUnavailable, Throttled, TooManyAttempts)
BLANK = "blank-"
NOT_THE_HOLDER = "Only the person who has this conversation can do that."


class PlaceholdersLeft(Invalid):
    """Raised if a reply was refused, because its text has placeholders that nothing fills in."""


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def reply(request: StaffRequest, ref: str) -> HttpResponse:
    """Accept a reply or a filled-in template. A form sent twice sends one reply."""
    form = unseal_form(request.POST.get("reply", ""), request.staff)
    if unseal("conversation", ref, 2) != (form.primary_channel, form.conversation_id):
        raise NotFound
    text, values = posted_text(request, "text"), _blanks(request)
    try:
        if "use_template" in request.POST:
            return _template(request, ref, form, values)
        _check_placeholders(text, posted_text(request, "as_is"))
        accept(form, request.staff, text)
    except REPLY_ERRORS as error:
        return _refused(request, ref, error, text, values)
    return _accepted(request, ref)


def _check_placeholders(text: str, as_is: str) -> None:
    """Raise `Invalid` if a text has placeholders that the person did not see named (`as_is`) before."""
    found = placeholders_in(text)
    if set(found) - set(as_is.split()):
        raise PlaceholdersLeft(
            f"The customer would read {get_text_list(found, 'and')} as it is: only saved replies are filled in. Change "
            "your text, or send it all the same."
        )


def _template(request: StaffRequest, ref: str, form: ReplyForm, values: dict[str, str]) -> HttpResponse:
    """Send the filled-in template of the conversation's credentials, or preview it."""
    facts = ReplyFacts.of(load_row(ref, request.staff, *ITEM), None)
    found = read_template(facts.credentials).template
    if found is None:
        raise Invalid("Load the template first.")
    text = fill_in_template(found, values)
    if "preview" in request.POST:
        return _render_again(request, ref, None, "", values, preview=text)
    accept(form, request.staff, text, template=found.template_id, variables=values)
    return _accepted(request, ref)


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def undo_reply(request: StaffRequest, ref: str) -> HttpResponse:
    """Undo a reply before it leaves and put its text back into the box, or a template's values into its blanks."""
    row = load_reply(request.POST.get("reply", ""), _key(ref), request.staff)
    try:
        undo(row)
    except REPLY_ERRORS as error:
        return _refused(request, ref, error, "", {})
    if row.template:
        said = "Not sent. Your template is filled in as it was."
        return _render_again(request, ref, None, "", json.loads(row.variables or "{}"), notice=said)
    if wants_fragment(request):
        return _token(request, ref, row.content or "")
    return _render_again(request, ref, None, row.content or "", {}, notice="Not sent. Your text is below.")


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def retry_reply(request: StaffRequest, ref: str) -> HttpResponse:
    """Send the text of a failed reply as a new reply. Repeated requests send it once."""
    key = _key(ref)
    row = load_reply(request.POST.get("reply", ""), key, request.staff)
    if row.state not in RETRIED:
        return _refused(request, ref, Conflict("This reply was sent in the meantime."), "", {})
    form = ReplyForm(*key, hashlib.sha256(f"again {row.message_id}".encode()).hexdigest()[:32])
    try:
        accept(form, request.staff, row.content or "")
        mark_retried(row, form.reply_id)
    except REPLY_ERRORS as error:
        return _refused(request, ref, error, row.content or "", {})
    return _accepted(request, ref)


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def load_template(request: StaffRequest, ref: str) -> HttpResponse:
    """Ask the sender to fetch the template of the conversation's credentials."""
    item = load_row(ref, request.staff, *ITEM)
    box = reply_box(item, request.staff, None, clock.now())
    facts = ReplyFacts.of(item, None)
    if box is None or not facts.credentials:
        return _refused(request, ref, Conflict(NOT_THE_HOLDER), "", {})
    request_template(facts.credentials, item.company_id or "")
    if wants_fragment(request):
        return _render_again(request, ref, None, "", {})
    return redirect(_back(request, ref))


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def note(request: StaffRequest, ref: str) -> HttpResponse:
    """Save the holder's note for the next person."""
    typed = posted_text(request, "note")
    try:
        save_note(*_key(ref), request.staff, typed)
    except Invalid as refused:
        messages.warning(request, f"Your note was not saved. {refused}")
        return conversation_page(request, ref, status=refused.status, typed_note=typed)
    messages.success(request, "Your note is saved.")
    return redirect(_back(request, ref))


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def opt_in(request: StaffRequest, ref: str) -> HttpResponse:
    """Lift the opt-out of a conversation's customer for the holder's reason."""
    item = load_row(ref, request.staff, *ITEM)
    if not holds(hand_off_of(item), request.staff):
        messages.warning(request, NOT_THE_HOLDER)
        return redirect(_back(request, ref))
    try:
        opt_outs.lift(item, request.staff, posted_text(request, "reason"))
    except Invalid as refused:
        messages.warning(request, str(refused))
    else:
        messages.success(request, "You can reply again. The provider may refuse until the customer writes START.")
    return redirect(_back(request, ref))


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def no_answer(request: StaffRequest, ref: str) -> HttpResponse:
    """Note that the customer's messages need no answer, or undo that, depending on the button pressed."""
    try:
        if "undo" in request.POST:
            excusing.undo(*_key(ref), request.staff)
            messages.success(request, "Undone. The customer waits for an answer again.")
        else:
            excusing.excuse(*_key(ref), request.staff, request.POST.get("shown", ""))
            messages.success(request, "Noted: no answer needed.")
    except Conflict as refused:
        messages.warning(request, str(refused))
    return redirect(_back(request, ref))


# --- Responses --------------------------------------------------------------------------------------------------------


def _accepted(request: StaffRequest, ref: str) -> HttpResponse:
    if wants_fragment(request):
        return _token(request, ref, "")
    seconds = settings.REPLY_UNDO_SECONDS
    leaves = f"It leaves in {seconds} seconds; until then you can undo it." if seconds else ""
    messages.success(request, f"Your reply is on its way. {leaves}".strip())
    return redirect(_back(request, ref))


def _token(request: StaffRequest, ref: str, text: str) -> HttpResponse:
    """Render what the script puts into the box: a new form token, and the text of a reply that was undone."""
    context = {"token": seal_form(*_key(ref), request.staff), "text": text}
    return render(request, "conversations/_reply_token.html", context)


def _refused(request: StaffRequest, ref: str, error: ConsoleError, text: str, values: dict[str, str]) -> HttpResponse:
    """Show the error and keep what was typed: in a fresh box for the holder, otherwise as text to copy."""
    if isinstance(error, TableMissing):
        raise error
    return _render_again(request, ref, error, text, values)


def _render_again(
    request: StaffRequest,
    ref: str,
    error: ConsoleError | None,
    text: str,
    values: dict[str, str],
    *,
    notice: str = "",
    preview: str = "",
) -> HttpResponse:
    item, box = None, None
    with suppress(StoreUnavailable, Throttled):
        item = load_row(ref, request.staff, *ITEM)
        box = reply_box(item, request.staff, facts_of(item).heard_at, clock.now(), text)
        if box is not None:
            token = request.POST["reply"] if _is_same_form(request, error) else box.token
            box = replace(box, values=values, token=token)
    if item is not None and box is None and known_absent("MESSAGES") and holds(hand_off_of(item), request.staff):
        raise TableMissing("MESSAGES")
    is_doubtful = isinstance(error, PlaceholdersLeft)
    context: dict[str, Any] = {
        "reference": ref,
        "summary": summary_of(item, request.staff) if item is not None else None,
        "box": box,
        "error": error,
        "notice": notice,
        "typed": text,
        "as_is": " ".join(placeholders_in(text)) if is_doubtful else posted_text(request, "as_is"),
        "is_doubtful": is_doubtful,
        # The conversation could not be read: sending the same form again is safe and shows what it did.
        "again": request.POST.get("reply", "") if item is None else "",
        "preview": preview,
        "list_context": known_list_context(request.POST.get("in", "")),
        "back": _back(request, ref),
    }
    template = "conversations/_reply.html" if wants_fragment(request) else "conversations/reply_again.html"
    return answer(request, template, context, error, HTTPStatus.OK)


def _is_same_form(request: StaffRequest, error: ConsoleError | None) -> bool:
    """Return whether to offer the same form again: if the store did not answer, the reply may have been accepted."""
    return isinstance(error, StoreUnavailable | Throttled) and "text" in request.POST


def _blanks(request: StaffRequest) -> dict[str, str]:
    return {name.removeprefix(BLANK): posted_text(request, name) for name in request.POST if name.startswith(BLANK)}


def _key(ref: str) -> tuple[str, str]:
    primary_channel, conversation_id = unseal("conversation", ref, 2)
    return primary_channel, conversation_id


def _back(request: StaffRequest, ref: str) -> str:
    return conversation_url(ref, request.POST.get("in", "")) + "#reply"
