"""Threads of the assistant (`dialogues/threads.txt`): what colleagues ask it, and what several writers left behind."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from console.clock import to_epoch
from demo.dialogues import Dialogue, Turn, read

Item = dict[str, Any]
# As long as the assistant keeps a thread after its last message; temporary ones go within a day.
KEPT, KEPT_FOR_NOW = timedelta(days=90), timedelta(hours=24)
BETWEEN = timedelta(seconds=70)
HEADERS = {"title", "last", "origin", "temporary", "under", "between", "drift"}
_ROLES = {"customer": "user", "assistant": "assistant"}


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Every item of the threads. Raises `DialogueError`."""
    for dialogue in read("threads", 2, HEADERS, _ROLES):
        metadata, *messages = _thread(dialogue, now)
        found = _drifted(metadata, messages) if dialogue.get("drift") else [metadata, *messages]
        yield from (("THREADS", item) for item in found)


def _thread(dialogue: Dialogue, now: datetime) -> Iterator[Item]:
    """A thread's metadata and messages. The newer writer keeps the metadata under the thread's own key, an older one
    under its user's."""
    thread_id, base = dialogue.words
    temporary = dialogue.get("temporary") == "yes"
    between = dialogue.span("between") if dialogue.get("between") else BETWEEN
    last = (now - dialogue.span("last")).replace(microsecond=0)
    first = last - between * (len(dialogue.turns) - 1)
    expiry = to_epoch(last + (KEPT_FOR_NOW if temporary else KEPT))
    yield {
        "PK": base if dialogue.get("under") == "user" else f"{base}#{thread_id}",
        "SK": f"THREAD#{thread_id}",
        "SKTimestampThread": f"THREAD#{_milliseconds(first):019d}#{thread_id}",
        "ExpiryTime": expiry,
        "org_id": base.split("#")[0],
        "user_id": base.split("#")[-1],
        "origin": dialogue.get("origin", "web"),
        "is_temporary": temporary,
        "title": dialogue.get("title"),
        "created_at": _written(first),
        "updated_at": _written(last),
        "user_message_count": sum(turn.kind == "customer" for turn in dialogue.turns),
    }
    for number, turn in enumerate(dialogue.turns):
        message_id = f"{thread_id.removeprefix('thr-').replace('-', '')}{number:03d}"
        yield _message(f"{base}#{thread_id}", thread_id, message_id, turn, first + between * number, expiry)


def _message(partition: str, thread_id: str, number: str, turn: Turn, at: datetime, expiry: int) -> Item:
    kind = "LLM" if turn.kind == "assistant" else "MSG"
    message_id = f"{kind.lower()}_{number}"
    return {
        "PK": partition,
        "SK": f"{kind}#{_milliseconds(at):019d}#{message_id}",
        "SKMessage": f"{kind}#{message_id}",
        "ExpiryTime": expiry,
        "thread_id": thread_id,
        "message_id": message_id,
        "timestamp": _milliseconds(at),
        "content": turn.text,
        "role": _ROLES[turn.kind],
        "created_at": _written(at),
        "updated_at": _written(at),
        **({"stop_reason": "end_turn"} if kind == "LLM" else {}),
        **turn.more,
    }


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _written(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _drifted(metadata: Item, messages: list[Item]) -> Iterator[Item]:
    """A thread that an older writer began and a newer one went on with: other times, NULLs, words of its own."""
    _, stamp, thread_id = metadata["SKTimestampThread"].split("#")
    yield metadata | {
        "PK": metadata["PK"].removesuffix(f"#{thread_id}"),
        "SKTimestampThread": f"THREAD#{Decimal(stamp) / 1000:.3f}#{thread_id}",
        "ExpiryTime": Decimal(metadata["ExpiryTime"]) + Decimal("0.25"),
        "is_temporary": None,
        "user_message_count": str(metadata["user_message_count"]),
        "origin": None,
        "locale": "en-GB",
    }
    for number, item in enumerate(messages):
        kind, stamp, message_id = item["SK"].split("#")
        seconds = Decimal(int(stamp)) / 1000
        older: list[Item] = [
            {"SK": f"{kind}#{int(seconds):019d}#{message_id}", "timestamp": str(item["timestamp"]), "verso": None},
            {"SK": f"{kind}#{seconds:.3f}#{message_id}", "timestamp": seconds, "feedback": ""},
            {"SK": f"{kind}#{int(stamp)}#{message_id}", "role": "model", "sources": "a.pdf", "verso": "sideways"},
            {"SK": f"{kind}##{message_id}", "role": None, "region": "eu-west-2"},
        ]
        yield item | older[number % len(older)]
