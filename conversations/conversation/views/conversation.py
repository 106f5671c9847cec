"""`/conversations/<ref>/`: the page, its updates, the last message, the recipient, the raw item and neighbours."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.context import read_only_reason
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.trail.recording import conversation_trail
from conversations import presence, services
from conversations.contexts import neighbour
from conversations.facts import facts_of
from conversations.handoff.stored import goes_to_people
from conversations.insight.totals import totals_of
from conversations.panel import holds, panel_for, poll_seconds, since_of, updates_of
from conversations.reading import (
    conversation_url,
    id_to_copy,
    known_list_context,
    list_link,
    open_list_context,
    summary_of,
)
from conversations.records import ConversationSummary, Transcript
from conversations.replying import answer_of
from conversations.saved_replies.service import filled_text
from conversations.services import ReplyBox, last_message, reply_box
from conversations.transcript import WINDOW, earlier_text, transcript

View = Callable[..., HttpResponse]


def not_for_prefetch(view: View) -> View:
    """Refuse prefetches: opening a conversation is recorded, so it must be a person's own action."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
        if "prefetch" in purpose.lower() or "prerender" in purpose.lower():
            # An error, because a browser would show an empty success once the person follows the link.
            return HttpResponse(status=503)
        return view(request, *args, **kwargs)

    return guarded


@requires(Permission.CONVERSATION_READ)
@require_safe
@not_for_prefetch
def conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the conversation; `?at=<anchor>` shows the messages around one.

    For htmx, only messages: those before `?before=N`, or with `?latest=1` the latest.
    """
    before, around = message_number(request.GET.get("before", "")), request.GET.get("at", "")[:40]
    template = _fragment(request, before)
    as_fragment = bool(template)
    opened = services.open_conversation(ref, request.staff, with_state=not as_fragment)
    shown = transcript(opened.stored, opened.story, request.staff, raw=opened.is_raw, before=before, around=around)
    list_context = known_list_context(request.GET.get("in", ""))
    kept = {"in": list_context} if list_context else {}
    context = {"reference": ref, "transcript": shown, "at": around, **_window_links(ref, shown, kept)}
    if template != EARLIER:
        context["totals"] = _totals_of(opened)
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
        ),
        "id_to_copy": id_to_copy(opened.item.conversation_id),
        "answer": answer_of(opened.item, request.staff, opened.stored.last_by_customer, opened.now),
        "facts": facts_of(opened.item, opened.stored, raw=opened.is_raw),
        "state": opened.state,
        "shows_technical": any(map(request.staff.can, (Permission.SYSTEM_READ, Permission.AUDIT_REVIEW))),
        "trail_notice": opened.trail_notice,
        "updates_url": reverse("conversation-updates", args=[ref], query=kept),
        "since": since_of(opened.item, opened.hand_off, opened.replies_known),
        "box": _box_of(request, opened),
        "presence": _presence_of(opened, request.staff),
        "poll_seconds": poll_seconds(opened.hand_off, request.staff),
        "list_context": list_context,
        "list_link": list_link(open_list_context(list_context)) if list_context else None,
        "crumbs": _crumbs(summary),
        "can_reveal": request.staff.can(Permission.PII_REVEAL) and opened.is_recorded,
        "recipient_url": recipient_url(ref),
        "raw_url": url_or_empty("conversation-raw", ref) if request.staff.can(Permission.SYSTEM_READ) else "",
        "is_redacted": not opened.is_raw,
        "trail_url": trail_url(opened.item.conversation_id),
    }
    return render(request, "conversations/conversation.html", context)


# htmx inserts this fragment above the messages on the page.
EARLIER = "conversations/_transcript.html"


def _fragment(request: HttpRequest, before: int | None) -> str:
    """Return the template of the fragment that htmx requests; "" for the whole page."""
    if not getattr(request, "htmx", False):
        return ""
    if before is not None:
        return EARLIER
    return "conversations/_talk.html" if request.GET.get("latest") else ""


def _totals_of(opened: services.OpenedConversation) -> tuple[str, ...]:
    """Return the totals in words. If the trail could not be read, the time of the first hand-off is unknown."""
    handed_off_at = None if opened.trail_notice else opened.story.handed_off_at
    return totals_of(opened.item, opened.stored, handed_off_at).describe() if len(opened.stored) else ()


def _presence_of(opened: services.OpenedConversation, staff: Staff) -> str:
    if not staff.can(Permission.HAND_OFF):
        return ""
    return presence.token_for(opened.reference, opened.item.company_id or "", staff)


def _box_of(request: StaffRequest, opened: services.OpenedConversation) -> ReplyBox | None:
    """Return the holder's reply box, prefilled with the saved reply that the URL names."""
    box = reply_box(opened.item, request.staff, opened.stored.last_by_customer, opened.now)
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
    item, answer, revealed = services.reveal(ref, request.staff)
    summary = summary_of(item, request.staff)
    context = {
        "reference": ref,
        "summary": summary,
        "answer": answer,
        "revealed": revealed,
        "panel": {"holds": holds(summary.hand_off, request.staff), "is_silent": goes_to_people(item.raw)},
        "recipient_url": recipient_url(ref),
        "crumbs": crumbs_below(summary, ref, "Recipient"),
    }
    template = "conversations/_answer.html" if getattr(request, "htmx", False) else "conversations/reveal.html"
    response = render(request, template, context)
    response.headers["Cache-Control"] = "no-store, private"
    return response


@requires(Permission.SYSTEM_READ)
@require_safe
@not_for_prefetch
def raw(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the whole item as JSON, redacted, for admins."""
    item, text = services.open_raw(ref, request.staff)
    summary = summary_of(item)
    crumbs = crumbs_below(summary, ref, "Raw item")
    context = {"reference": ref, "summary": summary, "text": text, "crumbs": crumbs}
    return render(request, "conversations/raw.html", context)


def message_number(text: str) -> int | None:
    """Parse a message number from the query string; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 7 else None


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


def _crumbs(summary: ConversationSummary) -> list[dict[str, str]]:
    crumbs = [{"label": "Conversations", "url": url_or_empty("conversations")}]
    if summary.company_id:
        crumbs.append({"label": summary.company_name, "url": url_or_empty("company", summary.company_id)})
        if summary.project_id:
            url = url_or_empty("project", summary.company_id, summary.project_id)
            crumbs.append({"label": summary.project_name, "url": url})
    return [*crumbs, {"label": summary.who}]


def crumbs_below(summary: ConversationSummary, ref: str, label: str) -> list[dict[str, str]]:
    """Return the breadcrumbs of a page below the conversation."""
    return [*_crumbs(summary)[:-1], {"label": summary.who, "url": url_or_empty("conversation", ref)}, {"label": label}]


def url_or_empty(name: str, *args: str) -> str:
    """Return a URL, or "" for ids that no URL can carry (foreign writers may use any character)."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


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
    if not request.htmx:  # type: ignore[attr-defined]
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
