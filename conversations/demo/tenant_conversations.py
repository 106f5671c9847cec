"""Conversations of the demo's tenants with their assistant: what teams ask a bot for, and what writers leave behind."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from console.clock import to_epoch, to_iso

Item = dict[str, Any]
# As long as the platform keeps a talk after its last message.
KEPT = timedelta(days=30)
USER, ASSISTANT, SYSTEM = "user", "assistant", "system"


def items(now: datetime) -> Iterator[Item]:
    """Items of the tenants' conversations, in the state in which `now` finds them."""
    yield _talk("outlocks", "conv-7f3a-sprint-status", _sprint(now), now - timedelta(minutes=22))
    yield _talk("outlocks", "conv-9c41-release-notes", _release_notes(), now - timedelta(hours=5))
    yield _talk("outlocks", "conv-a0e2-standup", _standup(), now - timedelta(days=3))
    yield _talk("outlocks", "conv-b5d8-on-call", _on_call(), now - timedelta(days=18))
    yield _talk("outlocks", "conv-c6f0-hello", [], now - timedelta(hours=1))
    # Its time to live has ended; DynamoDB takes up to some days to remove it.
    yield _talk("outlocks", "conv-d113-retro", _retro(), now - KEPT - timedelta(hours=9))
    broken = _talk("outlocks", "conv-e27b-import", _release_notes(), now - timedelta(days=9))
    # A writer that cut the text where its buffer ended.
    broken["messages"] = broken["messages"][:-70]
    yield broken
    yield _talk("lumen-dental", "conv-04bb-clinic-hours", _clinic_hours(), now - timedelta(hours=2))
    drifted = _talk("lumen-dental", "conv-31ce-rota", _drifted(), now - timedelta(days=6))
    yield drifted | {"ttl": str(drifted["ttl"]), "model": "claude-sonnet-4-5-20250929"}


def _talk(tenant_id: str, conversation_id: str, messages: list[Any], at: datetime) -> Item:
    return {
        "pk": tenant_id,
        "sk": conversation_id,
        "messages": json.dumps(messages, ensure_ascii=False),
        "updated_at": to_iso(at, "seconds"),
        "ttl": to_epoch(at + KEPT),
    }


def _said(role: str, content: Any, **more: Any) -> Item:
    return {"role": role, "content": content, **more}


def _sprint(now: datetime) -> list[Item]:
    model = {"model": "claude-sonnet-4-5-20250929"}
    call = {
        "type": "tool_use",
        "id": "toolu_01",
        "name": "sprint_status",
        "input": {"board": "OUT", "sprint": "current"},
    }
    found = {"sprint": "Sprint 42", "done": 17, "open": 6, "blocked": ["OUT-1183", "OUT-1190"]}
    return [
        _said(SYSTEM, "You are the team's assistant. Answer briefly, and name issues by their keys."),
        _said(USER, "what's the sprint status?", channel="slack", user_id="U12345"),
        _said(ASSISTANT, [{"type": "text", "text": "I look at the board."}, call], **model),
        _said(USER, [{"type": "tool_result", "tool_use_id": "toolu_01", "content": json.dumps(found)}]),
        _said(
            ASSISTANT,
            "Sprint 42 ends on Friday. 17 of 23 issues are done, 6 are open.\n\nTwo are blocked:\n"
            "• OUT-1183 waits for the security review\n• OUT-1190 waits for the new certificate",
            usage={"input_tokens": 812, "output_tokens": 71},
            **model,
        ),
        _said(USER, "who has the certificate?", channel="slack", user_id="U12345"),
        _said(
            ASSISTANT,
            "Marisol Quintero ordered it yesterday. You reach her at +44 7700 900 461 or marisol.quintero@outlocks.example.",
            usage={"input_tokens": 905, "output_tokens": 38},
            at=to_iso(now - timedelta(minutes=22)),
            **model,
        ),
        _said(USER, "thanks 🙏", channel="slack", user_id="U12345"),
    ]


def _release_notes() -> list[Item]:
    code = "## 4.18\n\n- Locks can be lent for a weekend\n- Fixed: a lent lock stayed lent after midnight"
    return [
        _said(USER, "draft the release notes for 4.18 from the merged pull requests"),
        _said(
            ASSISTANT, [{"type": "text", "text": "Here is a draft."}, {"type": "code", "language": "md", "code": code}]
        ),
        _said(USER, "drop the second line, that one is not public"),
        _said(ASSISTANT, "Dropped. Shall I post it to #releases?"),
        _said(USER, "not yet, legal reads it first"),
    ]


def _standup() -> list[Item]:
    return [
        _said(USER, "post the stand-up question at 9:15 from now on"),
        _said(ASSISTANT, "From tomorrow on I ask at 9:15. Same channel, weekdays only?"),
        _said(USER, "yes. and בבקשה remind Noa in Hebrew"),
        _said(ASSISTANT, "בסדר גמור. אזכיר לנועה בכל בוקר ב-9:15."),
    ]


def _on_call() -> list[Item]:
    """One long talk: a night's alerts, of which the assistant keeps count."""
    services = ("checkout", "key exchange", "door events", "billing export", "mail")
    messages = []
    for number in range(1, 61):
        service = services[number % len(services)]
        messages.append(_said(USER, f"alert {number}: {service} is slow again"))
        messages.append(
            _said(
                ASSISTANT,
                f"Noted: {service}, {number} so far tonight. Latency is back to normal after {number % 7 + 1} min.",
            )
        )
    return messages


def _retro() -> list[Item]:
    return [
        _said(USER, "collect the retro notes"),
        _said(ASSISTANT, "I have nine notes so far. Four are about reviews that wait for days."),
    ]


def _clinic_hours() -> list[Item]:
    return [
        _said(USER, "Are we open on the 26th?", channel="teams"),
        _said(
            ASSISTANT, "Leeds and York are closed on the 26th. Harrogate has the emergency desk from 10:00 to 14:00."
        ),
        _said(USER, "A patient asks for the emergency number, +44 113 496 0831, is that right?", channel="teams"),
        _said(ASSISTANT, "Yes, that is the desk's number."),
    ]


def _drifted() -> list[Any]:
    """What an older version of the bot wrote: other roles, bare texts, content under another name."""
    return [
        "rota for next week?",
        _said("bot", "Dr Rao has Monday and Tuesday, Greta Holm the rest."),
        {"role": USER, "text": "and Saturday?"},
        {"content": "Nobody yet."},
        _said(ASSISTANT, {"days": {"saturday": None, "sunday": "closed"}, "asked": ["Sinead Walsh"]}),
        None,
    ]
