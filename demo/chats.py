"""Chats with the chatbot (`dialogues/chats.txt`): live and expired sessions, images, and what writers leave behind.

Phone numbers are from the range reserved for fiction; the tables contain only their digests.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from console.clock import to_epoch
from demo.dialogues import Dialogue, Turn, read

Item = dict[str, Any]
Record = tuple[str, Item]
# How long the chatbot stores a session and its messages.
LIFE = timedelta(hours=3)
CONFIG = {"model": "gpt-4", "language": "en", "temperature": 0.4, "image_model": "dall-e-3", "image_size": "1024x1024"}
HEADERS = {"begun", "quota", "finished", "removed", "messages", "set"}
_ROLES = {"customer": "user", "assistant": "assistant"}


def user_id(phone: str) -> str:
    """Return the id of the user with a phone number."""
    return hashlib.sha256(phone.encode()).hexdigest()


def image_id(prompt: str, phone: str) -> str:
    """Return the id of an image: a digest of prompt and phone number, because the demo has no image files."""
    return hashlib.sha256(f"{prompt} for {phone}".encode()).hexdigest()


def items(now: datetime) -> Iterator[Record]:
    """Yield the items of the chatbot's four tables. Raises `DialogueError`."""
    for dialogue in read("chats", 1, HEADERS, _ROLES):
        yield from _session(dialogue, now)


def _session(dialogue: Dialogue, now: datetime) -> Iterator[Record]:
    """Yield a session with its chats. An expired session is left out of the tables that have its TTL."""
    [phone] = dialogue.words
    begun = now - dialogue.span("begun")
    created, ttl, user = to_epoch(begun), to_epoch(begun + LIFE), user_id(phone)
    session: Item = {
        "UserId": user,
        "SessionId": f"{user}:{created}",
        "TimestampCreated": created,
        "SessionTTL": ttl,
        "MessagesQuota": int(dialogue.get("quota", "40")),
        "SessionConfig": json.dumps(CONFIG),
    }
    if "finished" in dialogue.headers:
        session["TimestampFinished"] = to_epoch(now - dialogue.span("finished"))
    is_there = begun + LIFE > now or dialogue.get("removed") == "no"
    if is_there:
        yield "SESSIONS", dialogue.as_written(session)
    rng = Random(session["SessionId"])  # nosec B311
    turns = dialogue.turns or [Turn("customer", "", dialogue.place)] * int(dialogue.get("messages", "0"))
    at = Decimal(created)
    for turn in turns:
        at += rng.randint(4, 60)
        key = {"SessionId": session["SessionId"], "TimestampCreated": at}
        event = {**key, "UserId": user, "ChatAgent": _ROLES[turn.kind], **turn.more.get("event", {})}
        if prompt := turn.more.get("image"):
            event["ImageId"] = made = image_id(prompt, phone)
            image = {
                "ImageId": made,
                "UserId": user,
                "Prompt": prompt,
                "ImageURI": f"https://images.example/generated/{made[:16]}.png",
                "TimestampCreated": at,
            }
            yield "IMAGE_RESPONSES", image | turn.more.get("picture", {})
        yield "CHATS", event
        if is_there:
            yield "CHAT_MESSAGES", {**key, **turn.more.get("message", {"Message": turn.text}), "SessionTTL": ttl}
