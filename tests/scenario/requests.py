"""Every request of the console for one company's objects, by route name: what a new route adds a row to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.audit.queries import trail_page
from console.permissions import Permission, Role, Scope, Staff
from console.refs import seal
from console.staff.models import StaffAccount
from console.store.paging import read_page
from console.trail.recording import SYSTEM_TRAIL, staff_trail
from conversations.conversation.timeline.lines import LineKind
from conversations.conversation.timeline.reading import read_timeline
from conversations.conversation.updates import latest_replies, replies_known, since_of
from conversations.converting import hand_off_of, reference_of, seal_list_context
from conversations.finding.filters import ConversationFilters
from conversations.finding.listing import ConversationList
from conversations.finding.queries import of_company, of_project, of_recipient, of_reply
from conversations.handoff import HandOffAction, allowed_actions, intent_for, seal_intent
from conversations.handoff.actions import TO_AI
from conversations.messages.message import StoredMessages
from conversations.models import Conversation
from conversations.outbox.rows import messages_of
from conversations.queue.presence import token_for
from conversations.queue.selection import row_token
from tests.scenario import (
    audit,
    insight,
    messages,
    saved_replies,
    saved_views,
    stores,
    team,
    tenant_conversations,
    tenants,
)
from tests.scenario import staff as staff_pages

if TYPE_CHECKING:
    from tests.scenario import Scenario, Side

Post = tuple[str, dict[str, Any]]
# Which conversation serves which action of the panel, and what is typed.
ACTIONS: dict[HandOffAction, tuple[str, dict[str, str]]] = {
    HandOffAction.REQUEST: ("to ask", {"reason": "wants a person"}),
    HandOffAction.TAKE_OVER: ("ai", {"reason": "the AI goes in circles"}),
    HandOffAction.TAKE: ("waiting", {}),
    HandOffAction.TAKE_FROM_COLLEAGUE: ("colleague", {"reason": "they went home"}),
    HandOffAction.HAND_BACK: ("to hand back", {"note": "wants a call tomorrow"}),
    HandOffAction.RELEASE: ("to release", {"note": "not for me"}),
    HandOffAction.ACKNOWLEDGE: ("overridden", {}),
}
# The id of the action that "take the longest waiting" was rendered with.
TAKE_ID = "0" * 32
NOW = str(clock.to_epoch(clock.now()))
LOOK_UPS = ("search", "conversation-find", "store-find", "audit-find", "access-log", "events", "channels-resolve")
FILTERS = {"status": "reply_sent", "channel": "whatsapp", "hand_off": "held", "task": "0"}


def urls(side: Side, scenario: Scenario, by: StaffAccount | None = None) -> dict[str, list[str]]:
    """Every GET: by route name the addresses (path and query) of that side's objects.

    Cursors belong to one person: `by`, else the agent. Most addresses also answer with a fragment when asked with HTMX.
    """
    staff = _seeing_all(by or scenario.people["agent"])
    where = _contexts(side)
    conversation = reverse("conversation", args=[side.conversation_ref])
    present = token_for(side.conversation_ref, side.company_id, staff)
    inside = {"in": where["company"]}
    return {
        **staff_pages.urls(side, staff),
        "home": [reverse("home")],
        "help": [reverse("help")],
        "search": [reverse("search"), _with(reverse("search"), q=seal("search", side.recipient, side.username, NOW))],
        "sign-in": [reverse("sign-in"), _with(reverse("sign-in"), next=conversation)],
        "queue": [
            reverse("queue"),
            *(_with(reverse("queue"), tab=tab) for tab in ("waiting", "mine", "colleagues", "attention")),
            _with(reverse("queue"), company=side.company_id, project=side.project_id, channel="whatsapp", waited="15m"),
        ],
        "queue-count": [
            reverse("queue-count"),
            _with(reverse("queue-count"), reading=present, writing="1"),
        ],
        "queue-waiting-times": [reverse("queue-waiting-times")],
        "conversations": [
            reverse("conversations"),
            _with(reverse("conversations"), company=side.company_id),
            _with(reverse("conversations"), name=side.company_id),
        ],
        "conversations-export": _exports(side, staff),
        "conversation-find": [
            reverse("conversation-find"),
            *(_with(reverse("conversation-find"), found=where[name]) for name in ("found", "found id")),
        ],
        **_lists(side, staff),
        "conversation": [
            conversation,
            _with(conversation, **inside),
            _with(conversation, before="5", **inside),
            _with(conversation, at=_anchor(side)),
            *(reverse("conversation", args=[ref(side, each)]) for each in ("ai", "waiting", "colleague", "overridden")),
            reverse("conversation", args=[ref(side, "email")]),
            _with(conversation, saved=saved_replies.reference(side, "to change")),
        ],
        "conversation-updates": _news(side, inside),
        "conversation-updates-moved": [reverse("conversation-updates-moved", args=[side.conversation_ref])],
        "conversation-last-message": [_with(reverse("conversation-last-message", args=[ref(side, "ai")]), **inside)],
        "conversation-step": [
            _with(reverse("conversation-step", args=[side.conversation_ref, direction]), **{"in": context})
            for direction, contexts in (("next", tuple(where.values())), ("previous", (where["company"], "junk")))
            for context in contexts
        ],
        "conversation-raw": [reverse("conversation-raw", args=[side.conversation_ref])],
        **_trails(side, staff),
        **audit.urls(side, staff),
        **tenants.urls(side, staff),
        **tenant_conversations.urls(side, staff),
        **stores.urls(side, staff),
        **messages.urls(),
        **saved_replies.urls(side, staff),
        **saved_views.urls(side, staff),
        **insight.urls(side),
        **team.urls(side),
        "system": [reverse("system")],
    }


def posts(side: Side, scenario: Scenario, by: StaffAccount | None = None) -> dict[str, list[Post]]:
    """Every POST: by route name (address, form data), each an action that would succeed if it were sent now.

    Forms belong to one person: `by`, else the agent. Actions that this person could not do in that conversation's
    state are left out, whatever the scope; each of the others is about another conversation or account.
    """
    by = by or scenario.people["agent"]
    found: dict[str, list[Post]] = {
        **staff_pages.posts(side, scenario, by),
        **audit.posts(side),
        **tenants.posts(side, by),
        **tenant_conversations.posts(side),
        **stores.posts(side),
        **messages.posts(side),
        **messages.replies(side, by),
        **saved_replies.posts(side, by.username),
        **saved_views.posts(side),
        **team.posts(side, by),
        "queue-take": [(reverse("queue-take"), {"token": seal("take", by.username, TAKE_ID)})],
        "queue-release-mine": [(reverse("queue-release-mine"), {})],
        "queue-selected": [(reverse("queue-selected"), {**_selected(side, by, "to select"), "do": "take"})],
        "conversation-take-others": [_others(side, by)],
        "queue-selected-give": [(reverse("queue-selected-give"), _given(side, by))],
        "conversations-export": [
            (url, {"format": ("csv", "jsonl")[number % 2]}) for number, url in enumerate(_exports(side, Staff.of(by)))
        ],
        "search": [(reverse("search"), {"typed": typed}) for typed in (side.recipient, side.conversation_id)],
        "conversation-find": [
            (reverse("conversation-find"), {"look": "recipient", "recipient": side.recipient}),
            (
                reverse("conversation-find"),
                {"look": "replies", "channel": "whatsapp", "ours": side.our_number, "recipient": side.recipient},
            ),
            (reverse("conversation-find"), {"look": "id", "conversation_id": side.conversation_id}),
        ],
        "conversation-hand-off": hand_offs(side, Staff.of(by)),
        "conversation-reveal": [(reverse("conversation-reveal", args=[side.conversation_ref]), {})],
    }
    for route in LOOK_UPS:
        # Who may not reveal has to say why; others are not asked.
        found[route] = [(url, {**form, "reason": "complaint 4711"}) for url, form in found[route]]
    return found


def _selected(side: Side, by: StaffAccount, purpose: str) -> dict[str, Any]:
    """Two rows of the queue as their checkboxes send them, and the tab."""
    tokens = [_token(side, by, each) for each in (purpose, f"{purpose} too")]
    return {"selected": tokens, "in": seal_list_context({"list": "queue", "tab": "waiting", "filters": {}})}


def _token(side: Side, by: StaffAccount, purpose: str) -> str:
    item = Conversation.get(*side.keys[purpose], consistent_read=True)
    return row_token(item, hand_off_of(item), Staff.of(by))


def _others(side: Side, by: StaffAccount) -> Post:
    """The older conversation that the page of one which somebody took offers."""
    mine = side.keys["admin's" if by.role == "admin" else "mine"]
    url = reverse("conversation-take-others", args=[reference_of(*mine)])
    return url, {"selected": [_token(side, by, "to take too")]}


def _given(side: Side, by: StaffAccount) -> dict[str, Any]:
    """Two rows for a colleague."""
    receiver = {"receiver": f"colleague:{side.username}", "why": "knows the cases"}
    return _selected(side, by, "to share") | receiver


def hand_offs(side: Side, staff: Staff) -> list[Post]:
    """One form of each action that this person may do, about a conversation of its own, as stored now."""
    forms = []
    for action, (purpose, typed) in ACTIONS.items():
        item = Conversation.get(*side.keys[purpose], consistent_read=True)
        state = hand_off_of(item)
        if action in allowed_actions(state, staff):
            form = {"intent": seal_intent(intent_for(action, item, state), staff), **typed}
            if action in TO_AI:
                form["shown"] = messages_of(item, item.raw.get("messages")).unanswered_mark
            forms.append((reverse("conversation-hand-off", args=[ref(side, purpose)]), form))
    return forms


def _news(side: Side, inside: dict[str, str]) -> list[str]:
    """As a page asks that knows nothing, one that is up to date, and one that knew another hand-off and one message."""
    address = reverse("conversation-updates", args=[side.conversation_ref])
    item = Conversation.get(*side.keys["mine"], consistent_read=True)
    since = since_of(item, hand_off_of(item), replies_known(latest_replies(item)))
    known = {"since": f"other-{since.partition('-')[2][::-1]}", "shown": "1"}
    return [address, _with(address, since=since, shown="3", **inside), _with(address, **known, **inside)]


def ref(side: Side, purpose: str) -> str:
    """The sealed reference of one of the side's conversations."""
    return reference_of(*side.keys[purpose])


def _lists(side: Side, staff: Staff) -> dict[str, list[str]]:
    company = reverse("company", args=[side.company_id])
    project = reverse("project", args=[side.company_id, side.project_id])
    recipient, replies = reverse("recipient", args=[side.recipient_ref]), reverse("replies", args=[side.replies_ref])
    email = reverse("recipient", args=[seal("recipient", side.email_recipient)])
    everything = ConversationFilters()
    dated = {"since": "2020-01-01", "until": "2099-12-31"}
    return {
        "company": [
            company,
            _with(company, **FILTERS),
            _with(company, page=_cursor(of_company(side.company_id, everything, staff), staff)),
        ],
        "project": [
            project,
            _with(project, **FILTERS),
            _with(project, page=_cursor(of_project(side.company_id, side.project_id, everything, staff), staff)),
        ],
        "recipient": [
            recipient,
            _with(recipient, **FILTERS),
            _with(recipient, **dated),
            *(_with(recipient, **{name: FILTERS[name]}) for name in ("channel", "task")),
            _with(recipient, page=_cursor(of_recipient(side.recipient, everything, staff), staff)),
            email,
        ],
        "recipient-elsewhere": [reverse("recipient-elsewhere", args=[side.recipient_ref])],
        "replies": [
            replies,
            _with(replies, page=_cursor(of_reply("whatsapp", side.our_number, side.recipient, staff), staff)),
        ],
    }


def _trails(side: Side, staff: Staff) -> dict[str, list[str]]:
    trail = reverse("trail", args=[side.trail_ref])
    page = trail_page(side.conversation_id, replace(staff, role=Role.ADMIN)).next
    assert page, "the trail has to have a second page"
    return {
        "conversation-timeline": _timelines(side, staff),
        "trail": [
            trail,
            _with(trail, page=page),
            reverse("trail", args=[seal("trail", staff_trail(staff.username))]),
            reverse("trail", args=[seal("trail", staff_trail(side.username))]),
            reverse("trail", args=[seal("trail", SYSTEM_TRAIL)]),
        ],
    }


def _timelines(side: Side, staff: Staff) -> list[str]:
    """All kinds, some, none that there is, the second page, and a link to a line of it."""
    timeline = reverse("conversation-timeline", args=[side.conversation_ref])
    item = Conversation.get(*side.keys["mine"], consistent_read=True)
    stored = StoredMessages.of(item.raw["messages"])
    # Nothing is put on record here: tests count what the requests themselves leave.
    found = read_timeline(item, stored, staff, tuple(LineKind), record_opened=lambda: True)
    assert found.next, "the timeline has to have a second page"
    return [
        timeline,
        _with(timeline, kind="message"),
        _with(timeline, page=found.next),
        _with(timeline, at=found.lines[-1].place),
        f"{timeline}?kind=record&kind=hand-off&kind=state",
        _with(timeline, kind="junk", at="junk"),
    ]


def _contexts(side: Side) -> dict[str, str]:
    """The sealed list contexts of every list that one can come from."""
    company, project = {"company": side.company_id}, {"project": side.project_id}
    return {
        name: seal_list_context(context)
        for name, context in {
            "queue": {"list": "queue", "tab": "mine", "filters": {}},
            "company": {"list": "company", **company, "filters": {}},
            "project": {"list": "project", **company, **project, "filters": FILTERS},
            "recipient": {"list": "recipient", "reference": side.recipient_ref, "filters": {}},
            "replies": {"list": "replies", "reference": side.replies_ref, "filters": {}},
            "found": {"list": "found", "look": "recipient", "terms": {"recipient": side.recipient}},
            "found id": {"list": "found", "look": "id", "terms": {"conversation_id": side.conversation_id}},
        }.items()
    }


def _exports(side: Side, staff: Staff) -> list[str]:
    """Of every list; of the queue for who sees it."""
    where = _contexts(side)
    names = [*(name for name in where if name != "queue"), *(["queue"] if staff.can(Permission.HAND_OFF) else [])]
    return [_with(reverse("conversations-export"), **{"in": where[name]}) for name in names]


def _cursor(listed: ConversationList, staff: Staff) -> str:
    found = read_page(listed.source, staff.username, size=1).next
    assert found, "the list has to have a second row"
    return found


def _anchor(side: Side) -> str:
    item = Conversation.get(*side.keys["mine"], consistent_read=True)
    return StoredMessages.of(item.raw["messages"]).message(3, raw=True).anchor


def _seeing_all(account: StaffAccount) -> Staff:
    """The person as cursors know them; what they may see is what the tests are about."""
    return replace(Staff.of(account), scope=Scope(everything=True))


def _with(url: str, **query: str) -> str:
    return f"{url}?{urlencode(query)}"
