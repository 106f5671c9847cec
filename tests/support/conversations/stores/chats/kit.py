"""What the tests of chats share: items as the chatbot writes them (schema chatbot-sessions), and who asks."""

import hashlib
import json
from datetime import timedelta
from typing import Any

from console import clock
from console.permissions import Role, Staff
from console.trees import Fact
from conversations.stores.adapter import ListParameters
from conversations.stores.chats.adapter import Chats
from conversations.stores.records import Listing, RecordPage, RecordPlace
from tests.support.conversations.stores.kit import kept, query, staff

PHONE = "+447700900123"
USER = hashlib.sha256(PHONE.encode()).hexdigest()
OTHER = hashlib.sha256(b"+447700900124").hexdigest()
CHATS = Chats()
IMAGE = hashlib.sha256(b"an image").hexdigest()
PROMPT = "a lighthouse in a storm, oil on canvas"


ADMIN, AUDITOR, AGENT = staff(Role.ADMIN), staff(Role.AUDITOR), staff(Role.AGENT)


def ago(**span: float) -> int:
    """So long ago, in epoch seconds."""
    return clock.to_epoch(clock.now() - timedelta(**span))


def session_id(begun: Any, user: str = USER) -> str:
    return f"{user}:{begun}"


def session(begun: Any = None, **more: Any) -> dict[str, Any]:
    """A running session, begun 20 minutes ago if nothing else is said."""
    begun = ago(minutes=20) if begun is None else begun
    return kept(
        {
            "UserId": USER,
            "SessionId": session_id(begun),
            "TimestampCreated": begun,
            "MessagesQuota": 40,
            "SessionConfig": json.dumps({"model": "gpt-4", "language": "en"}),
            "SessionTTL": clock.to_epoch(clock.now() + timedelta(hours=2)),
            **more,
        }
    )


def event(begun: Any, at: Any, agent: Any = "user", **more: Any) -> dict[str, Any]:
    return kept({"SessionId": session_id(begun), "UserId": USER, "TimestampCreated": at, "ChatAgent": agent, **more})


def text(begun: Any, at: Any, said: Any = "hello", **more: Any) -> dict[str, Any]:
    made = {"SessionId": session_id(begun), "TimestampCreated": at, "Message": said}
    return kept({**made, "SessionTTL": clock.to_epoch(clock.now() + timedelta(hours=2)), **more})


def image(image_id: str = IMAGE, **more: Any) -> dict[str, Any]:
    made = {"ImageId": image_id, "UserId": USER, "Prompt": PROMPT, "ImageURI": "https://images.example/a.png"}
    return kept({**made, "TimestampCreated": ago(minutes=15), **more})


def listing(*parts: str, who: Staff = ADMIN, cursor: str = "", **data: str) -> Listing:
    return CHATS.listing(parts, who, ListParameters(cursor=cursor, data=query(**data)))


def sessions(who: Staff = ADMIN, cursor: str = "", user: str = USER) -> Listing:
    return listing("sessions", user, who=who, cursor=cursor)


def record(*parts: str, who: Staff = ADMIN, raw: bool = True, **asked: Any) -> RecordPage:
    wanted = ListParameters(**asked)
    return CHATS.page(CHATS.load(parts, who, wanted), who, wanted, raw=raw)


def opened(begun: Any, who: Staff = ADMIN, raw: bool = True, **asked: Any) -> RecordPage:
    return record("session", USER, session_id(begun), who=who, raw=raw, **asked)


def find(look: str, typed: str, who: Staff = ADMIN) -> RecordPlace:
    form_class = CHATS.lookups[look]
    form = form_class({next(iter(form_class.base_fields)): typed})
    assert form.is_valid(), form.errors
    return form.find(who)


def states(page: Listing) -> list[tuple[str, str]]:
    """The time that each row's session began, by its id, and its state."""
    return [(row.place.parts[2].rpartition(":")[2], row.cells[0].text) for row in page.rows]


def fact(page: RecordPage, label: str) -> Fact:
    """The fact of a page with that label."""
    return next(each for each in page.facts if each.label == label)
