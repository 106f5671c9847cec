"""The assistant's threads of one side, whose id as an organisation is the company's; and the places they have."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from console.clock import to_epoch
from console.permissions import Role, Scope, Staff
from conversations.stores.adapter import ListParameters
from conversations.stores.records import RecordPlace, list_place, record_place
from conversations.stores.threads.adapter import Threads
from conversations.stores.threads.feedback import seen_of
from conversations.stores.threads.keys import anchor_of, key_of
from conversations.stores.threads.loading import message_at
from tests.support.conversations.stores.threads import kit

if TYPE_CHECKING:
    from tests.scenario import Side
    from tests.scenario.items import Texts

READER = Staff("reader", "Reader", Role.ADMIN, Scope(everything=True))
TENANT, USER, FILLER_USER = "tenant", "reader-1", "reader-2"
# What each thread is there for; `read` has everything in it that a message may have.
READ, APART, LONG, DRIFTED, EXPIRED, BARE = (
    "thr-read",
    "thr-apart",
    "thr-long",
    "thr-drifted",
    "thr-expired",
    "thr-bare",
)
# More than a page of an organisation's list and of its feedback.
FILLERS = 52
# The message that is given feedback.
GIVEN = "given"


def items(company_id: str, texts: Texts, now: datetime) -> list[dict[str, Any]]:
    """Threads under both shapes of keys, their messages, and what other writers made of them."""
    now = now.replace(microsecond=0)
    base = f"{company_id}#{TENANT}#{USER}"
    made = [
        kit.thread(READ, base, now, title=texts("threads.title"), PK=base, origin=texts("threads.origin"))
        | {texts("threads.unknown attribute"): {texts("threads.unknown key"): texts("threads.unknown")}},
        kit.thread(APART, base, now - timedelta(hours=1), title=texts("threads.apart.title"), is_temporary=True),
        kit.thread(LONG, base, now - timedelta(hours=2), title=texts("threads.long.title")),
        kit.thread(
            EXPIRED, base, now, title=texts("threads.expired.title"), ExpiryTime=to_epoch(now - timedelta(days=2))
        ),
        kit.thread(
            DRIFTED,
            base,
            now,
            title={"text": texts("threads.drifted.title")},
            origin=[texts("threads.drifted.origin")],
            created_at=texts("threads.drifted.created_at"),
            user_message_count=texts("threads.drifted.count"),
            SKTimestampThread=f"THREAD#{to_epoch(now)}.5#{DRIFTED}",
            ExpiryTime=None,
        ),
    ]
    made += messages(f"{base}#{READ}", texts, now)
    made += [_message(f"{base}#{APART}", "apart", now, texts("threads.apart.message"))]
    made += [_message(f"{base}#{EXPIRED}", "x", now, texts("threads.expired"), ExpiryTime=to_epoch(now) - 100)]
    # Its metadata is gone.
    made += [
        _message(f"{base}#{BARE}", "bare", now, texts("threads.bare"), verso="up", feedback=texts("threads.bare.word"))
    ]
    first = texts("threads.long.first")
    made += [
        _message(f"{base}#{LONG}", f"l{n:03}", now - timedelta(minutes=300 - n), "yes" if n else first)
        for n in range(120)
    ]
    made += drifted(f"{base}#{DRIFTED}", texts, now)
    other = f"{company_id}#{FILLER_USER}"
    filler = texts("threads.filler")
    made += [
        kit.thread(f"thr-f{n:02}", other, now - timedelta(days=1, minutes=n), title=filler, PK=other)
        for n in range(FILLERS)
    ]
    return made


def _message(partition: str, name: str, at: datetime, content: Any, kind: str = "LLM", **more: Any) -> dict[str, Any]:
    return kit.message(kind, name, at, PK=partition, content=content, **more)


def messages(partition: str, texts: Texts, now: datetime) -> list[dict[str, Any]]:
    """Messages of both kinds with every kind of content, sources, feedback and metadata."""
    call = {
        "type": "tool_use",
        "name": texts("threads.tool"),
        "input": {texts("threads.input key"): texts("threads.input")},
    }
    sources = [
        texts("threads.source"),
        {
            "title": texts("threads.source.title"),
            "url": "https://example.com/a",
            "snippet": texts("threads.source.text"),
        },
        {"name": texts("threads.source.name"), "link": f"javascript:{texts('threads.source.link')}"},
        {texts("threads.source.member"): texts("threads.source.other")},
    ]
    made: list[tuple[str, str, Any, dict[str, Any]]] = [
        ("MSG", "asked", texts("threads.asked"), {"verso": "up", "feedback": texts("threads.asked.feedback")}),
        (
            "LLM",
            "parts",
            [{"type": "text", "text": texts("threads.part")}, call],
            {"stop_reason": texts("threads.stop")},
        ),
        ("MSG", "result", [{"type": "tool_result", "content": texts("threads.result")}], {}),
        ("LLM", "code", [{"type": "code", "code": texts("threads.code"), "language": texts("threads.language")}], {}),
        ("MSG", "image", [{"type": "image_url", "image_url": {"url": texts("threads.image")}}], {}),
        ("LLM", "tree", {"type": "hologram", texts("threads.tree key"): texts("threads.tree")}, {}),
        ("LLM", "sourced", texts("threads.sourced"), {"sources": sources}),
        (
            "LLM",
            "told",
            texts("threads.told"),
            {
                "response_metadata": {texts("threads.metadata key"): texts("threads.metadata")},
                texts("threads.message attribute"): texts("threads.message unknown"),
            },
        ),
        ("LLM", GIVEN, texts("threads.given"), {"verso": "down", "feedback": texts("threads.feedback")}),
    ]
    return [
        _message(partition, name, now - timedelta(minutes=20 - number), content, kind, **more)
        for number, (kind, name, content, more) in enumerate(made)
    ]


def drifted(partition: str, texts: Texts, now: datetime) -> list[dict[str, Any]]:
    """Messages with keys, roles and feedback of other writers."""
    odd: dict[str, Any] = {
        "role": texts("threads.role"),
        "verso": texts("threads.verso"),
        "feedback": {texts("threads.odd feedback key"): texts("threads.odd feedback")},
        "sources": texts("threads.odd source"),
        "timestamp": texts("threads.timestamp"),
        "stop_reason": [texts("threads.odd stop")],
        "message_id": None,
    }
    plain = _message(partition, "plain", now, None, SK=f"MSG#{to_epoch(now)}#plain")
    bare = _message(partition, "bare", now, [[texts("threads.nested")], None], SK="LLM##bare", ExpiryTime=None)
    return [_message(partition, "odd", now, texts("threads.odd"), **odd), plain, bare]


def places(side: Side) -> list[RecordPlace]:
    """Every list with its second page, and each thread that has a purpose, also where one is led into it."""
    organisation, base = side.company_id, f"{side.company_id}#{TENANT}#{USER}"
    lists = [
        list_place("org", organisation),
        list_place("org", organisation, since="2020-01-01"),
        list_place("triage", organisation),
        list_place("triage", organisation, show="down"),
        list_place("user", organisation, TENANT, USER),
        list_place("user", organisation, "", FILLER_USER),
    ]
    given = message_of(side)
    return [
        *lists,
        *(record_place(base, each) for each in (READ, APART, LONG, DRIFTED, BARE)),
        record_place(base, READ, at=anchor_of(given)),
    ]


def lookups(side: Side) -> list[dict[str, Any]]:
    """What is POSTed to find each of them."""
    organisation = side.company_id
    whole = f"{organisation}#{TENANT}#{USER}#{READ}"
    thread_parts = {"organisation": organisation, "tenant": TENANT, "user": USER, "thread": READ}
    return [
        {"look": "organisation", "organisation": organisation},
        {"look": "user", "organisation": organisation, "tenant": TENANT, "user": USER},
        {"look": "user", "organisation": organisation, "user": FILLER_USER},
        {"look": "thread", **thread_parts},
        {"look": "thread", "key": whole},
        {"look": "message", "message": GIVEN, **thread_parts},
        {"look": "message", "message": f"LLM#{GIVEN}", "key": whole},
    ]


def acts(side: Side) -> list[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """Actions with the parts that they are done to and what their forms are sent with."""
    parts = (f"{side.company_id}#{TENANT}#{USER}", READ, message_of(side))
    seen = seen_of(message_at(key_of(parts[:2], READER), parts[2], READER))
    return [("feedback", parts, {"verso": "up", "comment": "", "seen": seen})]


def message_of(side: Side) -> str:
    """The sort key of the message that is given feedback."""
    base = f"{side.company_id}#{TENANT}#{USER}"
    [found] = [
        item.SK for item in Threads().load((base, READ), READER, ListParameters()).messages.items if GIVEN in item.SK
    ]
    return found
