"""Rows of the queue as they stand on its page.

They are drawn here and not by a template: one page has 25 of them, and a template would look up each value of each.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from console import clock
from console.escaping import filled
from console.staff.permissions import Staff
from console.templatetags.console import brief
from console.templatetags.icons import tag
from conversations.forms import CHANNELS
from conversations.listing import Paths
from conversations.panel import Button, is_forgotten, primary_button
from conversations.queue.entries import WAITING, Entry
from conversations.queue.live import tag_of
from conversations.queue.pages import QueuePage
from conversations.reading import customer_of
from conversations.records import HandOff, HandOffState

LONG_WAIT, MIDDLE_WAIT = timedelta(hours=2), timedelta(minutes=15)
# So much of a tag tells the versions of one row apart.
_VERSION = 10
_NOTHING, _FLAGGED, _NEW = SafeString(""), SafeString(' class="flagged"'), SafeString(' class="new"')

_ROW = """<li data-row id="row-{reference}" data-version="{version}"{mark}>
<div class="wait{tone}">{wait}
{since}</div>
<div class="what">
<a data-open href="{url}"><b dir="auto">{reason}</b></a>
<p>{news}<span class="nowrap">{who}</span>{holder}
{troubles}</p>
{flaws}</div>
<div class="where"><b>{company}</b><bdi>{project}</bdi>{channel}</div>
{action}
</li>
"""
_AGE = '<time datetime="{since}" data-relative="age"{title}>{waited}</time>{more}'
_AT_LEAST = SafeString(' title="The platform notes no time of its own: since its last update"')
_SINCE = "<small>since {}</small>"
_HOLDER = " · with <bdi>{}</bdi> since {}"
_FLAWS = '<p class="flaw">Not as expected: <bdi>{}</bdi></p>'
_CHANNEL = " · <bdi>{}</bdi>"
_FORM = """<form method="post" action="{url}" class="do">
<input type="hidden" name="csrfmiddlewaretoken" value="{csrf_token}">
<input type="hidden" name="intent" value="{intent}"><input type="hidden" name="in" value="{list_context}">\
<input type="hidden" name="stay" value="1">
<button class="btn{primary}"{key}{ask}>{label}<span class="visually-hidden"> {who}</span>{kbd}</button>
</form>"""
_NO_FORM = SafeString('<span class="do"></span>')


@dataclass(frozen=True, slots=True)
class Rows:
    """Draws the rows of one page for one person.

    `unread` are references. `list_context` is sent on by the forms, and so is `csrf_token`: a lazy one, because with it
    comes a cookie, which a page without forms does not need.
    """

    tab: str
    staff: Staff
    now: datetime
    unread: frozenset[str]
    csrf_token: object
    list_context: str

    def drawn(self, page: QueuePage) -> list[SafeString]:
        """Each row in turn."""
        query = "?" + urlencode({"in": self.list_context})
        pages, actions = Paths("conversation"), Paths("conversation-hand-off")
        rows: list[SafeString] = []
        for entry in page.entries:
            reference, hand_off = entry.summary.reference, entry.hand_off
            button = primary_button(entry.item, hand_off, self.staff)
            is_primary = self.tab == WAITING and not rows
            action = self._form(button, actions.of(reference), entry, is_primary) if button else _NO_FORM
            rows.append(self._row(entry, pages.of(reference) + query, action))
        return rows

    def _row(self, entry: Entry, url: str, action: SafeString) -> SafeString:
        summary, hand_off = entry.summary, entry.hand_off
        is_unread = summary.reference in self.unread
        channel = CHANNELS.get(summary.channel, summary.channel)
        tone = wait_tone(hand_off.waited(self.now))
        return filled(
            _ROW,
            reference=summary.reference,
            version=tag_of([entry], is_unread)[:_VERSION],
            mark=_FLAGGED if summary.drift else _NEW if is_unread else _NOTHING,
            tone=f" {tone}" if tone else "",
            wait=wait_in_words(hand_off, self.now),
            since=filled(_SINCE, brief(hand_off.requested_at, self.staff)) if hand_off.requested_at else "",
            url=url,
            reason=hand_off.reason or "No reason given",
            news=filled("{} ", tag("new message", "human", "conversations")) if is_unread else "",
            who=customer_of(entry.item, self.staff),
            holder=self._holder(hand_off),
            troubles=self._troubles(hand_off),
            flaws=filled(_FLAWS, ", ".join(summary.drift)) if summary.drift else "",
            company=summary.company_name,
            project=summary.project_name,
            channel=filled(_CHANNEL, channel) if channel else "",
            action=action,
        )

    def _holder(self, hand_off: HandOff) -> SafeString:
        if not hand_off.agent:
            return _NOTHING
        name = "you" if hand_off.agent == self.staff.username else hand_off.agent_shown
        return filled(_HOLDER, name, brief(hand_off.taken_at, self.staff))

    def _troubles(self, hand_off: HandOff) -> SafeString:
        if not hand_off.agent:
            return _NOTHING
        overnight = tag("held overnight", "bad", "clock") if is_forgotten(hand_off, self.now) else ""
        is_overridden = hand_off.state is HandOffState.OVERRIDDEN
        overridden = tag("overridden by the platform", "bad", "warning") if is_overridden else ""
        return filled("{}\n{}", overnight, overridden)

    def _form(self, button: Button, url: str, entry: Entry, is_primary: bool) -> SafeString:
        who = customer_of(entry.item, self.staff)
        return filled(
            _FORM,
            url=url,
            csrf_token=self.csrf_token,
            intent=button.token,
            list_context=self.list_context,
            primary=" primary" if is_primary else "",
            key=filled(' data-key="{}"', button.key) if button.key else "",
            ask=filled(' data-ask="{}: {}"', who, button.hint) if button.asks_first else "",
            label=button.label,
            who=who,
            kbd=filled(" <kbd>{}</kbd>", button.key) if button.key else "",
        )


def wait_in_words(hand_off: HandOff, now: datetime) -> SafeString | str:
    """How long the customer has waited, in words that console.js keeps fresh."""
    waited, since = hand_off.waited(now), hand_off.requested_at
    if waited is None or since is None:
        return "unknown"
    title, more = (_AT_LEAST, "+") if hand_off.wait_at_least else ("", "")
    return filled(_AGE, since=clock.to_iso(since, "seconds"), title=title, waited=clock.in_words(waited), more=more)


def wait_tone(waited: timedelta | None) -> str:
    """How a wait is coloured: long, mid or not at all ("")."""
    if waited is None or waited < MIDDLE_WAIT:
        return ""
    return "long" if waited >= LONG_WAIT else "mid"
