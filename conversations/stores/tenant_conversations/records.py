"""What views and templates see of tenants' conversations: frozen, already redacted for the person who looks."""

from dataclasses import dataclass
from datetime import datetime

from console.facts import Fact
from console.trees import Node


@dataclass(frozen=True, slots=True)
class Removal:
    """When DynamoDB removes a conversation, in words: "removed in 12 days". `at` is None where nothing says when."""

    words: str
    at: datetime | None = None
    expired: bool = False


@dataclass(frozen=True, slots=True)
class TenantConversationRow:
    """A conversation of a list. `name` is its id, redacted; `updated` what stands for a time that cannot be read."""

    reference: str
    name: str
    updated_at: datetime | None
    updated: str
    removal: Removal
    flaws: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list. `next` and `back` are sealed cursors ("" for none)."""

    rows: tuple[TenantConversationRow, ...]
    next: str = ""
    back: str = ""


@dataclass(frozen=True, slots=True)
class AsStored:
    """Messages that could not be read as such: their text. `left_out` counts the characters that are not shown."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class TenantConversationSummary:
    """What is told of a conversation beside its messages. `unknown` are attributes that no schema knows, redacted."""

    name: str
    facts: tuple[Fact, ...]
    removal: Removal
    messages: int
    flaws: tuple[str, ...]
    unknown: Node | None = None
