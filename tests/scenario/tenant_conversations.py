"""The conversations of one side as a tenant, and their requests: the tenant's id is the company's."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.urls import reverse

from console.clock import to_epoch, to_iso
from console.permissions import Role, Scope, Staff
from console.store.paging import PAGE_SIZE
from conversations.stores.tenant_conversations.clearing import seen_of
from conversations.stores.tenant_conversations.reading import reference_of
from conversations.stores.tenant_conversations.services import list_conversations, load

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Texts

Post = tuple[str, dict[str, Any]]
READER = Staff("reader", "Reader", Role.ADMIN, Scope(everything=True))
# What each is there for; `read` has everything in it that a message may have.
READ, CLEARED, MALFORMED, LONG, DRIFTED = "conv-read", "conv-cleared", "conv-malformed", "conv-long", "conv-drifted"
EXPIRED = "conv-expired"


def items(tenant_id: str, texts: Texts, now: datetime) -> list[dict[str, Any]]:
    """As many as make two pages, those with a purpose on the first."""
    kept = to_epoch(now + timedelta(days=12, hours=1))
    talk = json.dumps(messages(texts), ensure_ascii=False)
    short = json.dumps([{"role": "user", "content": texts("tenant.message.short")}], ensure_ascii=False)
    last = {"role": "user", "content": texts("tenant.long")}
    made: dict[str, dict[str, Any]] = {
        READ: {
            "messages": talk,
            texts("tenant.unknown attribute"): {texts("tenant.unknown key"): texts("tenant.conversation.unknown")},
        },
        CLEARED: {"messages": short},
        MALFORMED: {"messages": texts("tenant.malformed") + talk[:200]},
        LONG: {"messages": json.dumps([{"role": "user", "content": "yes"}] * 119 + [last], ensure_ascii=False)},
        DRIFTED: {"messages": {"text": texts("tenant.drifted")}, "updated_at": texts("tenant.updated_at"), "ttl": "-"},
        EXPIRED: {"messages": short, "ttl": to_epoch(now - timedelta(days=2))},
    }
    made |= {f"conv-z{number:02}": {"messages": short} for number in range(PAGE_SIZE)}
    return [
        {"pk": tenant_id, "sk": conversation_id, "updated_at": to_iso(now), "ttl": kept, **item}
        for conversation_id, item in made.items()
    ]


def messages(texts: Texts) -> list[Any]:
    """Messages of every role, of every kind of content, and what is none."""
    return [
        {"role": "system", "content": texts("tenant.message.system")},
        {"role": "user", "content": texts("tenant.message.user"), "at": texts("tenant.message.at")},
        {"role": "assistant", "content": [{"type": "text", "text": texts("tenant.message.part")}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "name": texts("tenant.message.tool"), "input": {"q": 1}}],
        },
        {
            "role": texts("tenant.message.role"),
            "content": {texts("tenant.message.tree key"): texts("tenant.message.tree")},
        },
        {"role": ["odd"], "content": [[texts("tenant.message.nested")]]},
        texts("tenant.message.bare"),
        {"role": "assistant", "meta": {texts("tenant.message.meta key"): texts("tenant.message.meta.deep")}},
    ]


def urls(side: Side, staff: Staff) -> dict[str, list[str]]:
    """The list with its second page, and each conversation that has a purpose."""
    listed = reverse("tenant-conversations", args=[side.company_id])
    page = list_conversations(side.company_id, _as_reader(staff)).next
    assert page, "the list has to have a second page"
    return {
        "tenant-conversations": [listed, f"{listed}?{urlencode({'page': page})}"],
        "tenant-conversation": [
            *(_of("tenant-conversation", side, each) for each in (READ, MALFORMED, LONG, DRIFTED, EXPIRED)),
            f"{_of('tenant-conversation', side, LONG)}?before=21",
        ],
        "tenant-conversation-clear": [_of("tenant-conversation-clear", side, each) for each in (CLEARED, DRIFTED)],
    }


def posts(side: Side) -> dict[str, list[Post]]:
    """Clearing one."""
    found = load(side.company_id, reference_of(side.company_id, CLEARED), READER)
    form = {"typed": CLEARED, "seen": seen_of(found)}
    return {"tenant-conversation-clear": [(_of("tenant-conversation-clear", side, CLEARED), form)]}


def refs(side: Side) -> list[str]:
    """References of those that have a purpose."""
    return [reference_of(side.company_id, each) for each in (READ, CLEARED, MALFORMED, LONG, DRIFTED, EXPIRED)]


def _of(name: str, side: Side, conversation_id: str) -> str:
    return reverse(name, args=[side.company_id, reference_of(side.company_id, conversation_id)])


def _as_reader(staff: Staff) -> Staff:
    """The person as cursors know them, whatever the role."""
    return Staff(staff.username, staff.display_name, Role.ADMIN, Scope(everything=True))
