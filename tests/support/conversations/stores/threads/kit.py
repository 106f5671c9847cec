"""What the tests of threads share: items as the assistant writes them, and who asks."""

from datetime import UTC, datetime, timedelta
from typing import Any

from console import clock
from console.permissions import Role
from tests.dynamodb import SeenCall
from tests.support.conversations.stores.kit import kept, staff

ORG, TENANT, USER, THREAD = "org123", "tenantA", "user456", "thread789"
BASE = f"{ORG}#{TENANT}#{USER}"
PK = f"{BASE}#{THREAD}"
PARTS = (BASE, THREAD)


ADMIN, AUDITOR = staff(Role.ADMIN, ORG), staff(Role.AUDITOR, ORG)


def ago(**span: float) -> datetime:
    """So long before now, in whole seconds."""
    return (clock.now() - timedelta(**span)).replace(microsecond=0)


def to_expire() -> int:
    """An expiry to come."""
    return clock.to_epoch(clock.now() + timedelta(days=30))


def thread(thread_id: str = THREAD, base: str = BASE, at: datetime | None = None, **more: Any) -> dict[str, Any]:
    """A thread's metadata, under the key with the thread's id; `PK=base` for the other shape."""
    at = at or ago(hours=2)
    iso = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    return kept(
        {
            "PK": f"{base}#{thread_id}",
            "SK": f"THREAD#{thread_id}",
            "SKTimestampThread": f"THREAD#{int(at.timestamp() * 1000):019d}#{thread_id}",
            "ExpiryTime": to_expire(),
            "org_id": base.split("#")[0],
            "user_id": base.split("#")[-1],
            "origin": "web",
            "is_temporary": False,
            "title": "Rota for December",
            "created_at": iso,
            "updated_at": iso,
            "user_message_count": 1,
            **more,
        }
    )


def message(kind: str, name: str, /, at: datetime | None = None, stamp: str = "", **more: Any) -> dict[str, Any]:
    """A message; `stamp` is how its key writes the time, the schema's 19 digits if not given."""
    at = at or ago(hours=1)
    milliseconds = int(at.timestamp() * 1000)
    iso = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    pk = more.pop("PK", PK)
    return kept(
        {
            "PK": pk,
            "SK": f"{kind}#{stamp or f'{milliseconds:019d}'}#{name}",
            "SKMessage": f"{kind}#{name}",
            "ExpiryTime": to_expire(),
            "thread_id": pk.split("#")[-1],
            "message_id": name,
            "timestamp": milliseconds,
            "content": f"What {name} says",
            "role": "user" if kind == "MSG" else "assistant",
            "created_at": iso,
            "updated_at": iso,
            **more,
        }
    )


def msg(name: str, /, at: datetime | None = None, **more: Any) -> dict[str, Any]:
    return message("MSG", name, at, **more)


def llm(name: str, /, at: datetime | None = None, **more: Any) -> dict[str, Any]:
    return message("LLM", name, at, **more)


def of_threads(calls: list[SeenCall]) -> list[SeenCall]:
    """Without the read of the registry of companies, which a worker remembers."""
    return [call for call in calls if "THREADS" in call.tables]
