"""`/conversations/<ref>/`: the page, its updates, the last message, the recipient, the raw item and neighbours."""

from dataclasses import replace
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, not_for_prefetch, requires
from console.answers import post_only_form, url_or_empty
from console.audit.scoping import review_url
from console.context import read_only_reason, wants_fragment
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.trail.recording import conversation_trail
from conversations.attention.panel import holds, panel_for
from conversations.conversation import opening
from conversations.conversation.opening import last_message
from conversations.conversation.reply_box import ReplyBox, reply_box
from conversations.conversation.updates import poll_seconds, since_of, updates_of
from conversations.converting import (
    OTHERS,
    channel_of,
    conversation_url,
    id_to_copy,
    known_list_context,
    list_link,
    open_list_context,
    state_shown,
    summary_of,
)
from conversations.handoff.stored import goes_to_people
from conversations.insight.totals import totals_of
from conversations.lists.contexts import neighbour
from conversations.lists.crumbs import crumbs, crumbs_below
from conversations.messages.facts import facts_of
from conversations.messages.message import message_number
from conversations.messages.transcript import WINDOW, earlier_text, transcript
from conversations.outbox.replying import answer_of
from conversations.queue import presence
from conversations.queue.selection import others_beside
from conversations.records import Transcript
from conversations.team.saved_replies.service import filled_text


@requires(Permission.CONVERSATION_READ)
@require_safe
@not_for_prefetch
def conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the conversation; `?at=<anchor>` shows the messages around one.

    For htmx, only messages: those before `?before=N`, or with `?latest=1` the latest.
    """
    return conversation_page(request, ref)


def conversation_page(request: StaffRequest, ref: str, *, status: int = 200, **typed: str) -> HttpResponse:
    """Return the page of `conversation`, also to the POST of a form on it. `typed`: what to keep in the forms."""
    before, around = message_number(request.GET.get("before", "")), request.GET.get("at", "")[:40]
    template = _fragment(request, before)
    as_fragment = bool(template)
    opened = opening.open_conversation(ref, request.staff, with_state=not as_fragment)
    show = partial(transcript, opened.stored, opened.story, request.staff, raw=opened.is_raw, before=before)
    shown = show(around=around, folds_quotes=channel_of(opened.item) == "email", said_elsewhere=opened.said_elsewhere)
    list_context = known_list_context(request.GET.get("in") or request.POST.get("in", ""))
    kept = {"in": list_context} if list_context else {}
    context = {"reference": ref, "transcript": shown, "at": around, **_window_links(ref, shown, kept)}
    if template != EARLIER:
        context |= {"totals": _totals_of(opened), "work": opened.work}
        context["staged"] = opened.work.messages(raw=opened.is_raw)
    if as_fragment:
        return render(request, template, context)
    summary = summary_of(opened.item, request.staff)
    context |= {
        "summary": summary,
        "panel": panel_for(
            opened.item,
            opened.hand_off,
            request.staff,
            opened.now,
            opened.story.began,
            can_undo=opened.story.just_ended_by(request.staff.username, opened.now),
            stored=opened.stored,
            is_raw=opened.is_raw,
            may_answer=opened.work.may_answer,
        ),
        "is_full": opened.is_full,
        **_others_of(request, opened),
        "id_to_copy": id_to_copy(opened.item.conversation_id),
        "answer": answer_of(opened.item, request.staff, opened.heard_at, opened.now),
        "facts": facts_of(opened.item, opened.stored, raw=opened.is_raw),
        "state": opened.state,
        "shows_technical": any(map(request.staff.can, (Permission.SYSTEM_READ, Permission.AUDIT_REVIEW))),
        "trail_notice": opened.trail_notice,
        "to_place": opened.to_place,
        "may_place": request.staff.can(Permission.HAND_OFF) and not read_only_reason(),
        "updates_url": reverse("conversation-updates", args=[ref], query=kept),
        "since": since_of(opened.item, opened.hand_off, opened.replies_known),
        "box": _box_of(request, opened),
        "presence": _presence_of(opened, request.staff),
        "poll_seconds": poll_seconds(opened.hand_off, request.staff),
        "list_context": list_context,
        "list_link": list_link(open_list_context(list_context)) if list_context else None,
        "crumbs": crumbs(summary),
        "can_reveal": request.staff.can(Permission.PII_REVEAL) and opened.is_recorded,
        "recipient_url": recipient_url(ref),
        "raw_url": url_or_empty("conversation-raw", ref) if request.staff.can(Permission.SYSTEM_READ) else "",
        "is_redacted": not opened.is_raw,
        "trail_url": trail_url(opened.item.conversation_id),
        **typed,
        "access_log_url": review_url("access-log-conversation", opened.item.conversation_id, request.staff),
    }
    return render(request, "conversations/conversation.html", context, status=status)


# htmx inserts this fragment above the messages on the page.
EARLIER = "conversations/_transcript.html"


def _fragment(request: HttpRequest, before: int | None) -> str:
    """Return the template of the fragment that htmx requests; "" for the whole page."""
    if not wants_fragment(request):
        return ""
    if before is not None:
        return EARLIER
    return "conversations/_talk.html" if request.GET.get("latest") else ""


def _totals_of(opened: opening.OpenedConversation) -> tuple[str, ...]:
    """Return the totals in words. If the trail could not be read, the time of the first hand-off is unknown."""
    handed_off_at = None if opened.trail_notice else opened.story.handed_off_at
    return totals_of(opened.item, opened.stored, handed_off_at).describe() if len(opened.stored) else ()


def _others_of(request: StaffRequest, opened: opening.OpenedConversation) -> dict[str, Any]:
    """Return the customer's other conversations with the same number, if the URL asks for them, and what is free."""
    found = others_beside(opened.item, request.staff) if OTHERS in request.GET else ()
    others = [(each, *state_shown(each.summary.hand_off, request.staff)) for each in found]
    return {"others": others, "free": sum(bool(each.token) for each in found)}


def _presence_of(opened: opening.OpenedConversation, staff: Staff) -> str:
    if not staff.can(Permission.HAND_OFF):
        return ""
    return presence.token_for(opened.reference, opened.item.company_id or "", staff)


def _box_of(request: StaffRequest, opened: opening.OpenedConversation) -> ReplyBox | None:
    """Return the holder's reply box, prefilled with the saved reply that the URL names."""
    box = reply_box(opened.item, request.staff, opened.heard_at, opened.now, is_opted_out=opened.is_opted_out)
    if box is not None and (token := request.GET.get("saved", "")):
        return replace(box, typed=filled_text(token, opened.item, request.staff))
    return box


@requires(Permission.CONVERSATION_READ)
@require_safe
def conversation_updates(request: StaffRequest, ref: str) -> HttpResponse:
    """Return what is new since the page's `?since=` and `?shown=` messages, as a fragment; 204 if nothing is."""
    shown = message_number(request.GET.get("shown", ""))
    updates = updates_of(ref, request.staff, request.GET.get("since", ""), shown)
    if updates is None:
        return HttpResponse(status=204)
    list_context = known_list_context(request.GET.get("in", ""))
    context = {
        "reference": ref,
        "updates": updates,
        "panel": updates.panel,
        "answer": updates.answer,
        "list_context": list_context,
        "can_reveal": request.staff.can(Permission.PII_REVEAL) and not read_only_reason(),
        "recipient_url": recipient_url(ref),
        "box": reply_box(updates.item, request.staff, updates.heard_at, clock.now()) if updates.item else None,
    }
    return render(request, "conversations/_updates.html", context)


@requires(Permission.PII_REVEAL)
@post_only_form("conversation", "ref")
def reveal(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the recipient in full and record it: a fragment for htmx, otherwise a page. Never cached."""
    item, answer, revealed, may_answer = opening.reveal(ref, request.staff)
    summary = summary_of(item, request.staff)
    context = {
        "reference": ref,
        "summary": summary,
        "answer": answer,
        "revealed": revealed,
        "panel": {
            "holds": holds(summary.hand_off, request.staff),
            "is_silent": goes_to_people(item.raw),
            "may_answer": may_answer,
        },
        "recipient_url": recipient_url(ref),
        "crumbs": crumbs_below(summary, ref, "Recipient"),
    }
    template = "conversations/_answer.html" if wants_fragment(request) else "conversations/reveal.html"
    response = render(request, template, context)
    response.headers["Cache-Control"] = "no-store, private"
    return response


@requires(Permission.SYSTEM_READ)
@require_safe
@not_for_prefetch
def raw(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the whole item as JSON, redacted, for admins."""
    item, text = opening.open_raw(ref, request.staff)
    summary = summary_of(item)
    crumbs = crumbs_below(summary, ref, "Raw item")
    context = {"reference": ref, "summary": summary, "text": text, "crumbs": crumbs}
    return render(request, "conversations/raw.html", context)


def _window_links(ref: str, shown: Transcript, kept: dict[str, str]) -> dict[str, Any]:
    """Return the URLs of earlier and later messages. `kept`: the parameter of the list that the person came from."""
    address = partial(reverse, "conversation", args=[ref])
    following = min(shown.total, shown.last_number + WINDOW) + 1
    return {
        "earlier_url": address(query={"before": shown.first_number, **kept}) if shown.earlier else "",
        "earlier_text": earlier_text(shown.earlier),
        "page_url": address(),
        "later_url": address(query={"before": following, **kept}) if shown.later else "",
        "latest_url": address(query=kept),
    }


def recipient_url(ref: str) -> str:
    """Return the URL of the list of the recipient's conversations. Raises `BadReference`."""
    primary_channel, _ = unseal("conversation", ref, 2)
    return reverse("recipient", args=[seal("recipient", primary_channel)])


def trail_url(conversation_id: str) -> str:
    """Return the URL of the conversation's trail."""
    return url_or_empty("trail", seal("trail", conversation_trail(conversation_id)))


DIRECTIONS = ("next", "previous")


@requires(Permission.CONVERSATION_READ)
@require_safe
def conversation_last_message(request: StaffRequest, ref: str) -> HttpResponse:
    """Return the last message as a fragment; without htmx, redirect to the conversation."""
    if not wants_fragment(request):
        return redirect(conversation_url(ref, request.GET.get("in", "")))
    return render(request, "conversations/_last_message.html", {"last": last_message(ref, request.staff)})


@requires(Permission.CONVERSATION_READ)
@require_safe
def conversation_step(request: StaffRequest, ref: str, direction: str) -> HttpResponse:
    """Go to the next or previous conversation of the list in GET `in`, or back to the list at either end."""
    if direction not in DIRECTIONS:
        raise NotFound
    token = request.GET.get("in", "")
    context = open_list_context(token)
    found = neighbour(context, ref, request.staff, back=direction == "previous")
    if found is not None:
        return redirect(conversation_url(found.reference, token))
    if context is not None:
        end = "the end" if direction == "next" else "the beginning"
        messages.info(request, f"That was {end} of the list.")
    return redirect(list_link(context).url)
