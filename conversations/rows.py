"""Rows of lists of conversations, as they stand in the table of conversations/_rows.html.

They are drawn here and not by a template: one page has fifty of them, and a template would look up each value of each.
"""

from typing import Any
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from console.escaping import filled
from console.staff.permissions import Staff
from console.templatetags.console import ago
from console.templatetags.icons import icon, tag
from conversations.filters import FAILED, is_of_status
from conversations.forms import CHANNELS, words
from conversations.listing import Paths, seal_list_context, url_of
from conversations.records import HandOffState, Summary

_CHANNEL_ICONS = {"whatsapp": "whatsapp", "sms": "sms", "email": "mail", "web": "web", "teams": "team", "slack": "team"}

_ROW = """<tr data-row id="row-{id}"{mark}>
<th scope="row"><a data-open href="{url}">{who}\
<span class="visually-hidden"> {short_id}</span></a>{flaws}</th>
<td class="channel">{channel}</td>
{project}<td class="status">{status}</td>
<td class="hand-off"><span class="nowrap">{state}</span>{reason}</td>
<td class="updated">{updated}</td>
<td class="last"><a class="btn small quiet" href="{last_message_url}" hx-get="{last_message_url}"\
 hx-target="closest tr" hx-swap="afterend" hx-sync="this:drop" title="Show the last message">\
{chevron}<span class="word">Show\
<span class="visually-hidden"> the last message of {who}</span></span></a></td>
</tr>
"""
_FLAWS = '<span class="flaw">Some attributes are not as expected: <bdi>{}</bdi></span>'
_CHANNEL = '<span class="nowrap">{} {}</span>'
_PROJECT = '<td class="project"><a href="{}" dir="auto">{}</a></td>\n'
_STATUS = '<span class="nowrap">{}</span>'
_REASON = ' <span class="muted" dir="auto">{}</span>'
_UPDATED = '<span class="in-card">updated </span>{}<span class="in-card"> ago</span>'
_FLAGGED, _NO_MARK = SafeString(' class="flagged"'), SafeString("")
_NO_CHANNEL = SafeString('<span class="muted">unknown channel</span>')
_NO_PROJECT = SafeString('<td class="project"><span class="muted">no project</span></td>\n')
_NO_STATUS = SafeString('<span class="muted">unknown status</span>')
_NO_TIME = SafeString('<span class="muted">not known when</span>')


def rows_of(
    summaries: tuple[Summary, ...], context: dict[str, Any], staff: Staff, *, prefix: str = "", project: bool = True
) -> list[SafeString]:
    """The rows of a list, each linked with the list's context.

    `prefix`: for ids, where a page has several such tables. `project`: whether rows say which one they are of; those
    of one project would all say the same.
    """
    query = "?" + urlencode({"in": seal_list_context(context)})
    pages, last_messages = Paths("conversation"), Paths("conversation-last-message")
    places = {(summary.company_id, summary.project_id) for summary in summaries}
    projects = {place: url_of("project", *place) for place in places}
    rows = []
    for number, summary in enumerate(summaries, 1):
        state, tone, icon_name = _state(summary, staff)
        row = filled(
            _ROW,
            id=f"{prefix}{number}",
            mark=_FLAGGED if summary.drift else _NO_MARK,
            url=pages.of(summary.reference) + query,
            who=_who(summary.who),
            short_id=summary.short_id,
            flaws=filled(_FLAWS, "; ".join(summary.drift)) if summary.drift else "",
            channel=_channel(summary.channel),
            project=_project(summary, projects[summary.company_id, summary.project_id]) if project else "",
            status=_status(summary.status),
            state=tag(_cut(state, 40), tone, icon_name, state),
            reason=_reason(summary),
            updated=filled(_UPDATED, ago(summary.updated_at)) if summary.updated_at else _NO_TIME,
            last_message_url=last_messages.of(summary.reference) + query,
            chevron=icon("chevron-down", small=True),
        )
        rows.append(row)
    return rows


def _who(who: str) -> SafeString:
    """A customer: with a name it may need two lines, but a number or an address stays in one."""
    name, dot, identifier = who.rpartition(" · ")
    return filled('{}<span class="nowrap">{}</span>', name + dot, identifier)


def _channel(channel: str) -> SafeString:
    drawn = icon(_CHANNEL_ICONS.get(channel.lower(), "conversations"), small=True)
    return filled(_CHANNEL, drawn, CHANNELS.get(channel, channel)) if channel else _NO_CHANNEL


def _project(summary: Summary, url: str) -> SafeString:
    return filled(_PROJECT, url, summary.project_name) if summary.project_id else _NO_PROJECT


def _status(status: str) -> SafeString:
    said = words(status)
    tone = "bad" if is_of_status(status, FAILED) else "good" if status == "completed" else ""
    return filled(_STATUS, tag(_cut(said, 28), tone, title=said)) if said else _NO_STATUS


def _reason(summary: Summary) -> SafeString | str:
    reason = _cut(summary.hand_off.reason, 60) if summary.hand_off.flag else ""
    return filled(_REASON, reason) if reason else ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _state(summary: Summary, staff: Staff) -> tuple[str, str, str]:
    """Who has the conversation: words, tone and icon."""
    agent = summary.hand_off.agent
    whose = "you" if agent == staff.username else summary.hand_off.agent_shown
    match summary.hand_off.state:
        case HandOffState.WAITING:
            return "waiting for a human", "human", "clock"
        case HandOffState.HELD:
            return f"with {whose}", "human", "person"
        case HandOffState.OVERRIDDEN:
            return f"overridden ({whose})", "bad", "warning"
        case _:
            return "AI", "ai", "robot"
