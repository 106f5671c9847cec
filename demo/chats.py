"""Chats with the chatbot (`dialogues/chats.txt`): who is at it now, who was, what was drawn, what writers leave behind.

Numbers are of the range that is kept for fiction; the tables hold only their digests.
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
# As long as the chatbot keeps a session and what was said in it.
LIFE = timedelta(hours=3)
CONFIG = {"model": "gpt-4", "language": "en", "temperature": 0.4, "image_model": "dall-e-3", "image_size": "1024x1024"}
HEADERS = {"begun", "quota", "finished", "removed", "messages", "drift"}
_ROLES = {"customer": "user", "assistant": "assistant"}


def user_id(phone: str) -> str:
    """The id of the user with that number."""
    return hashlib.sha256(phone.encode()).hexdigest()


def image_id(prompt: str, phone: str) -> str:
    """The id of an image: that of what was drawn, of which the demo has none."""
    return hashlib.sha256(f"{prompt} for {phone}".encode()).hexdigest()


def items(now: datetime) -> Iterator[Record]:
    """Items of the four tables of the chatbot. Raises `DialogueError`."""
    for dialogue in read("chats", 1, HEADERS, _ROLES):
        yield from _session(dialogue, now)


def _session(dialogue: Dialogue, now: datetime) -> Iterator[Record]:
    """A session with its talk: what has expired is gone from where it is only kept while the session lives."""
    [phone] = dialogue.words
    begun = now - dialogue.span("begun")
    created, ttl, user = to_epoch(begun), to_epoch(begun + LIFE), user_id(phone)
    session: Item = {"UserId": user, "SessionId": f"{user}:{created}", "TimestampCreated": created, "SessionTTL": ttl}
    session |= {"MessagesQuota": int(dialogue.get("quota", "40")), "SessionConfig": json.dumps(CONFIG)}
    if "finished" in dialogue.headers:
        session["TimestampFinished"] = to_epoch(now - dialogue.span("finished"))
    if dialogue.get("drift"):
        session |= _drifted(session)
        yield "CHATS", _of_zeros(user, now)
    is_there = begun + LIFE > now or dialogue.get("removed") == "no"
    if is_there:
        yield "SESSIONS", session
    rng = Random(session["SessionId"])  # nosec B311
    turns = dialogue.turns or [Turn("customer", "", dialogue.place)] * int(dialogue.get("messages", "0"))
    at = Decimal(created)
    for turn in turns:
        at += rng.randint(4, 60)
        key = {"SessionId": session["SessionId"], "TimestampCreated": at}
        event = {**key, "UserId": user, "ChatAgent": _ROLES[turn.kind], **turn.more.get("event", {})}
        if prompt := turn.more.get("image"):
            event["ImageId"] = image_id(prompt, phone)
            yield "IMAGE_RESPONSES", _image(prompt, phone, at) | turn.more.get("picture", {})
        yield "CHATS", event
        if is_there:
            said = turn.more.get("message", {"Message": turn.text})
            yield "CHAT_MESSAGES", {**key, **said, "SessionTTL": str(ttl) if dialogue.get("drift") else ttl}


def _image(prompt: str, phone: str, at: Decimal) -> Item:
    made = image_id(prompt, phone)
    return {
        "ImageId": made,
        "UserId": user_id(phone),
        "Prompt": prompt,
        "ImageURI": f"https://images.example/generated/{made[:16]}.png",
        "TimestampCreated": at,
    }


def _drifted(session: Item) -> Item:
    """What a writer of its own makes of a session: times as text or with fractions, NULLs, JSON that is cut off."""
    return {
        "SessionId": f"{session['SessionId']}.250",
        "TimestampCreated": f"{session['TimestampCreated']}.250",
        "TimestampFinished": None,
        "MessagesQuota": "12",
        "SessionConfig": '{"model": "gpt-4", "language": "hr", "tempera',
        "SessionTTL": Decimal(session["SessionTTL"]) + Decimal("0.75"),
        "ClientVersion": "0.9.1-beta",
    }


def _of_zeros(user: str, now: datetime) -> Item:
    """A message of a session of which only zero-padded digits tell when it began."""
    created = to_epoch(now - timedelta(days=5))
    at = Decimal(created) + 3
    return {"SessionId": f"{user}:000{created}", "TimestampCreated": at, "UserId": user, "ChatAgent": "Bot"}
