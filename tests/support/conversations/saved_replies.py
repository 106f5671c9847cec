"""What tests of saved replies share: adding one, and what is stored and recorded of them."""

from typing import Any

from console.permissions import Owner, Staff
from conversations.team.saved_replies import service
from conversations.team.saved_replies.service import new_token
from tests.dynamodb import Store

TEXT = "Hello {first_name}, it is 7-green-heron."


def saved(store: Store) -> list[dict[str, Any]]:
    found = [item for item in store.all("CONSOLE") if item["pk"].startswith("SAVED_REPLIES#")]
    return sorted(found, key=lambda item: item["name"])


def entries(store: Store) -> list[tuple[str, ...]]:
    found = sorted(store.all("AUDIT"), key=lambda entry: entry["ts_action_id"])
    return [(e["conversation_id"], e["action_type"], e["actor"], e["result"]) for e in found]


def version(reference: str, by: Staff) -> str:
    """What a form carries."""
    return str(service.load(reference, by).version)


def added(owner: Owner, by: Staff, name: str = "Greeting", text: str = TEXT) -> str:
    token = new_token(owner)
    service.add(token, name, text, by)
    return token
