"""One side's user of the chatbot, and where their sessions and images are. Chats belong to no company."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from console.clock import to_epoch
from console.permissions import Role, Scope, Staff
from conversations.stores.adapter import ListParameters
from conversations.stores.chats import queries
from conversations.stores.chats.adapter import Chats
from conversations.stores.chats.ending import seen_of
from conversations.stores.chats.keys import image_place, session_place
from conversations.stores.records import RecordPlace, list_place

if TYPE_CHECKING:
    from tests.scenario.items import Texts

Item = dict[str, Any]
PHONES = {"ours": "+447700900101", "theirs": "+447700900201"}
# When each began: they are there for reading, ending, drift, windows, and what only the chats tell of.
READ, ENDED, DRIFTED, LONG, EXPIRED = (1_700_000_000 + 100_000 * number for number in range(5))
# As many as make two pages of sessions.
FILLERS = 52
MESSAGES = 120
# What DynamoDB takes for a partition key.
KEY_BYTES = 2048
READER = Staff("reader", "Reader", Role.ADMIN, Scope(everything=True))


def user(side: str) -> str:
    """The id of that side's user."""
    return hashlib.sha256(PHONES[side].encode()).hexdigest()


def session_id(side: str, begun: int) -> str:
    """The id of that user's session that began then."""
    return f"{user(side)}:{begun}"


def image_id(side: str) -> str:
    """The id of that user's image."""
    return hashlib.sha256(f"image of {side}".encode()).hexdigest()


def items(side: str, texts: Texts, now: datetime) -> dict[str, list[Item]]:
    """What is stored, by the registry's table keys."""
    alive = to_epoch(now + timedelta(hours=2))
    prompt = _prompt(texts)
    config = json.dumps({"model": texts("chats.config"), texts("chats.config name"): [texts("chats.config.deep")]})
    made = {"UserId": user(side), "MessagesQuota": 40, "SessionConfig": config, "SessionTTL": alive}
    sessions = [
        made | {"SessionId": session_id(side, begun), "TimestampCreated": begun}
        for begun in (READ, ENDED, DRIFTED, LONG)
    ]
    sessions[0] |= {
        texts("chats.session.unknown attribute"): {texts("chats.session.name"): texts("chats.session.unknown")}
    }
    sessions[2] |= {
        "TimestampCreated": texts("chats.session.created"),
        "MessagesQuota": texts("chats.session.quota"),
        "SessionConfig": texts("chats.session.config"),
    }
    events = [_event(side, READ, number, "user" if number % 2 else "assistant") for number in range(6)]
    events[3] |= {"ImageId": image_id(side)}
    events[4] |= {
        "ChatAgent": texts("chats.agent"),
        texts("chats.event.unknown attribute"): texts("chats.event.unknown"),
    }
    events[5] |= {"ImageId": texts("chats.image_id")}
    events += [_event(side, LONG, number) for number in range(MESSAGES)]
    events += [_event(side, EXPIRED + 1000 * number, 1) for number in range(FILLERS)]
    said: list[Item] = [
        {"Message": texts("chats.message")},
        {"text": [{"type": "text", "text": texts("chats.message.part")}]},
        {"Content": {texts("chats.message.tree name"): texts("chats.message.tree")}},
        {"body": texts("chats.message.body"), texts("chats.message.unknown attribute"): texts("chats.message.unknown")},
    ]
    image = {
        "ImageId": image_id(side),
        "UserId": user(side),
        "Prompt": prompt,
        "ImageURI": f"https://images.example/{side}.png",
        "TimestampCreated": READ,
        texts("chats.image.unknown attribute"): texts("chats.image.unknown"),
    }
    odd = image | {"ImageId": f"odd-{side}", "UserId": texts("chats.image.user"), "ImageURI": texts("chats.image.uri")}
    return {
        "SESSIONS": sessions,
        "CHATS": events,
        "CHAT_MESSAGES": [
            {"SessionId": session_id(side, READ), "TimestampCreated": READ + number, "SessionTTL": alive, **each}
            for number, each in enumerate(said)
        ],
        "IMAGE_RESPONSES": [image, odd],
    }


def _event(side: str, begun: int, number: int, agent: str = "user") -> Item:
    return {
        "SessionId": session_id(side, begun),
        "TimestampCreated": begun + number,
        "UserId": user(side),
        "ChatAgent": agent,
    }


def _prompt(texts: Texts) -> str:
    """As much of it as can be a key."""
    return texts("chats.prompt").encode()[:KEY_BYTES].decode(errors="ignore")


def places(side: str) -> list[RecordPlace]:
    """Every list and record of that user."""
    found = queries.image(image_id(side))
    assert found is not None, "the scenario has to be built"
    records = [session_place(user(side), session_id(side, begun)) for begun in (READ, ENDED, DRIFTED, LONG, EXPIRED)]
    images = [image_place(image_id(side)), image_place(f"odd-{side}")]
    return [
        *(list_place(kind, user(side)) for kind in ("sessions", "chats", "images")),
        list_place("users", user(side), user(side)),
        list_place("prompt", found.Prompt),
        *(each for each in (*records, *images) if each is not None),
    ]


def cursors(side: str, staff: Staff) -> list[tuple[RecordPlace, str, str]]:
    """Second pages of lists and of messages: the place, what the address asks with (its name), and the cursor."""
    reader = Staff(staff.username, staff.display_name, Role.ADMIN, Scope(everything=True))
    store, found = Chats(), []
    for kind in ("sessions", "chats"):
        page = store.listing((kind, user(side)), reader, ListParameters())
        assert page.next, f"the {kind} have to have a second page"
        found.append((list_place(kind, user(side)), "cursor", page.next))
    parts = ("session", user(side), session_id(side, LONG))
    talk = store.page(store.load(parts, reader, ListParameters()), reader, ListParameters(), raw=True).talk
    assert talk is not None
    assert talk.earlier, "the long session has to have a second window"
    return [*found, (RecordPlace("record", parts), "before", talk.earlier)]


def lookups(side: str) -> list[dict[str, str]]:
    """What is POSTed to find that user, a session, and an image."""
    return [
        {"look": "phone", "phone": PHONES[side]},
        {"look": "user", "user_id": user(side)},
        {"look": "session", "session_id": session_id(side, READ)},
        {"look": "image", "image_id": image_id(side)},
        {"look": "prompt", "prompt": "a prompt that nobody ever gave"},
    ]


def acts(side: str) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Ending a session: the action, the record's parts, and the form."""
    found = queries.session(user(side), session_id(side, ENDED))
    assert found is not None, "the scenario has to be built"
    return [("end", ("session", user(side), session_id(side, ENDED)), {"seen": seen_of(found)})]
