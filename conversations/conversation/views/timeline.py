"""`/conversations/<ref>/timeline/`: everything about a conversation in chronological order."""

from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, not_for_prefetch, requires
from console.answers import url_or_empty
from console.context import wants_fragment
from console.permissions import Permission, Staff
from console.templatetags.components import day
from conversations.conversation import opening
from conversations.conversation.timeline.lines import KIND_WORDS, Line, LineKind
from conversations.conversation.timeline.reading import Timeline
from conversations.conversation.views.conversation import trail_url
from conversations.converting import summary_of
from conversations.lists.crumbs import crumbs_below


class KindsForm(forms.Form):
    """The kinds of lines to show; all if none is chosen. Unknown kinds are ignored."""

    kind = forms.MultipleChoiceField(
        required=False,
        label="Show",
        choices=[(kind.value, words) for kind, words in KIND_WORDS.items()],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: QueryDict) -> None:
        chosen = [kind for kind in LineKind if kind.value in data.getlist("kind")]
        self.kinds: tuple[LineKind, ...] = tuple(chosen) or tuple(LineKind)
        super().__init__(initial={"kind": [kind.value for kind in self.kinds]}, auto_id="timeline-%s")

    @property
    def is_filtered(self) -> bool:
        """Whether some kinds are left out."""
        return len(self.kinds) < len(LineKind)

    def query(self, **more: str) -> str:
        """Return the filter and `more` as a query string with its question mark; "" if empty."""
        pairs = [("kind", kind.value) for kind in self.kinds] if self.is_filtered else []
        pairs += [(name, value) for name, value in more.items() if value]
        return f"?{urlencode(pairs)}" if pairs else ""


@requires(Permission.CONVERSATION_READ)
@require_safe
@not_for_prefetch
def timeline(request: StaffRequest, ref: str) -> HttpResponse:
    """Show messages, hand-off, actions, idempotency records and state, newest first; for htmx as a fragment.

    `?kind=`: only these kinds. `?at=`: from that line on.
    """
    form = KindsForm(request.GET)
    page, at = request.GET.get("page", ""), request.GET.get("at", "")
    item, found = opening.timeline(ref, request.staff, form.kinds, page, at)
    summary = summary_of(item, request.staff)
    own = reverse("conversation-timeline", args=[ref])
    context = {
        "reference": ref,
        "summary": summary,
        "form": form,
        "own_url": own,
        "timeline": found,
        "days": _days(found, ref, form, request.staff),
        "crumbs": crumbs_below(summary, ref, "Timeline"),
        "trail_url": trail_url(item.conversation_id),
        "first_url": "" if found.from_start else own + form.query(),
        "next_url": own + form.query(page=found.next) if found.next else "",
    }
    is_fragment = wants_fragment(request)
    return render(request, "conversations/_timeline.html" if is_fragment else "conversations/timeline.html", context)


def _days(found: Timeline, ref: str, form: KindsForm, staff: Staff) -> list[dict[str, Any]]:
    """Group the lines by day in the reader's zone, each with its own URL and that of what it shows."""
    own = reverse("conversation-timeline", args=[ref])
    return [
        {
            "title": title,
            "lines": [
                {
                    "line": line,
                    "here": f"{own}{form.query(at=line.place)}#{line.anchor}",
                    **_target(line, ref, staff),
                }
                for line in lines
            ],
        }
        for title, lines in groupby(found.lines, lambda line: day(line.at, staff) or "Without a readable time")
    ]


def _target(line: Line, ref: str, staff: Staff) -> dict[str, str]:
    if line.message:
        at = f"{reverse('conversation', args=[ref])}?at={line.message}#m-{line.message}"
        return {"url": at, "label": "In the transcript"}
    if line.entry:
        return {"url": url_or_empty("audit-entry", line.entry), "label": "Entry"}
    if line.record and staff.can(Permission.AUDIT_REVIEW):
        return {"url": url_or_empty("event", line.record), "label": "Record"}
    return {"url": "", "label": ""}
