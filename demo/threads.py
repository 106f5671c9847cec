"""Threads of the assistant (`dialogues/threads.txt`): colleagues' questions, in the key formats of several writers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from console.clock import to_epoch
from demo.dialogues import Dialogue, DialogueError, Turn, read

Item = dict[str, Any]
# How long the assistant stores a thread after its last message; temporary ones expire after a day.
RETENTION, KEPT_FOR_NOW = timedelta(days=90), timedelta(hours=24)
HEADERS = {"title", "last", "origin", "temporary", "under", "between", "stamp", "set"}
_ROLES = {"customer": "user", "assistant": "assistant"}


def items(now: datetime) -> Iterator[tuple[str, Item]]:
    """Yield the items of the threads. Raises `DialogueError`."""
    for dialogue in read("threads", 2, HEADERS, _ROLES):
        yield from (("THREADS", item) for item in _thread(dialogue, now))


def _thread(dialogue: Dialogue, now: datetime) -> Iterator[Item]:
    """Yield a thread's metadata and messages.

    The newer writer stores the metadata in the thread's own partition, an older one in the user's.
    """
    thread_id, base = dialogue.words
    temporary = dialogue.get("temporary") == "yes"
    between = dialogue.span("between") if dialogue.get("between") else timedelta(seconds=70)
    last = (now - dialogue.span("last")).replace(microsecond=0)
    first = last - between * (len(dialogue.turns) - 1)
    expiry = to_epoch(last + (KEPT_FOR_NOW if temporary else RETENTION))
    metadata = {
        "PK": base if dialogue.get("under") == "user" else f"{base}#{thread_id}",
        "SK": f"THREAD#{thread_id}",
        "SKTimestampThread": f"THREAD#{_stamp(first, dialogue.get('stamp'), dialogue.place)}#{thread_id}",
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
    yield dialogue.as_written(metadata)
    for number, turn in enumerate(dialogue.turns):
        message_id = f"{thread_id.removeprefix('thr-').replace('-', '')}{number:03d}"
        yield _message(f"{base}#{thread_id}", thread_id, message_id, turn, first + between * number, expiry)


def _message(partition: str, thread_id: str, number: str, turn: Turn, at: datetime, expiry: int) -> Item:
    kind = "LLM" if turn.kind == "assistant" else "MSG"
    message_id = f"{kind.lower()}_{number}"
    more = dict(turn.more)
    return {
        "PK": partition,
        "SK": f"{kind}#{_stamp(at, more.pop('stamp', ''), turn.place)}#{message_id}",
        "SKMessage": f"{kind}#{message_id}",
        "ExpiryTime": expiry,
        "thread_id": thread_id,
        "message_id": message_id,
        "timestamp": int(at.timestamp() * 1000),
        "content": turn.text,
        "role": _ROLES[turn.kind],
        "created_at": _written(at),
        "updated_at": _written(at),
        **({"stop_reason": "end_turn"} if kind == "LLM" else {}),
        **more,
    }


def _stamp(at: datetime, spelling: str, place: str) -> str:
    """Format a time for a key, or as an older writer did. Raises `DialogueError`."""
    milliseconds = int(at.timestamp() * 1000)
    spellings = {
        "": f"{milliseconds:019d}",
        "seconds": f"{milliseconds // 1000:019d}",
        "decimal": f"{milliseconds / 1000:.3f}",
        "short": f"{milliseconds}",
        "none": "",
    }
    if spelling not in spellings:
        raise DialogueError(place, f"no stamp “{spelling}”; there are {', '.join(filter(None, spellings))}")
    return spellings[spelling]


def _written(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
