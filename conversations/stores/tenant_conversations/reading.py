"""From items of tenants' conversations to records: tolerant of drift, redacted for readers without personal data.

The platform rewrites the whole item with each turn, and stores the messages as one JSON text of `{role, content}`
objects. Unreadable values are flagged and shown as stored; a bad message becomes a flagged message, never an error.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from console import clock
from console.redaction import beginning_of, redact
from console.refs import seal
from console.store.models import ForeignModel, TableMeta, plain
from console.trees import Fact, Node, clean, instant_fact, text_of, well_formed
from conversations.messages.content import CONTENT, SHOWN, first_blocks_of
from conversations.messages.facts import unknown_names, unknown_tree
from conversations.messages.transcript import WINDOW, earlier_text
from conversations.records import Extra, Message, Speaker
from conversations.stores.items import UNKNOWN_SENDER, described, drift_in, first_tree, speaker_of
from conversations.stores.records import Cell, MessageList, RecordPage

KIND = "tenant-conversation"
# The longest text shown of messages that could not be read.
TEXT_SHOWN = 50_000
_CALLS = ("function_call", "tool_calls")
_NO_JSON = "The messages are not valid JSON. They are shown as they are stored."
_NO_LIST = "The messages are not a list of messages. They are shown as they are stored."


class TenantConversation(ForeignModel):
    """A conversation of a tenant (schema tenants): `messages` is JSON text, `ttl` epoch seconds."""

    class Meta(TableMeta):
        table_key = "TENANT_CONVERSATIONS"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    messages = UnicodeAttribute(null=True)
    updated_at = UnicodeAttribute(null=True)
    ttl = NumberAttribute(null=True)


def reference_of(tenant_id: str, conversation_id: str) -> str:
    """Return the sealed reference of a conversation."""
    return seal(KIND, tenant_id, conversation_id)


def name_of(conversation_id: str) -> str:
    """Return a conversation's id in the form shown to everybody: writers put numbers and addresses into ids."""
    return redact(conversation_id)


# --- The messages ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredTenantConversation:
    """The `messages` of an item. `text` is the whole attribute if it is not a list of messages, "" otherwise.

    `notice` says what a reader must know about the whole attribute, `drift` how it deviates from the schema.
    """

    entries: tuple[Any, ...] = ()
    text: str = ""
    notice: str = ""
    drift: str = ""
    size: int = 0

    @classmethod
    def of(cls, item: TenantConversation) -> "StoredTenantConversation":
        """Parse the messages of an item. Never raises."""
        raw = item.raw.get("messages")
        if not raw or "NULL" in raw:
            return cls(drift="NULL" if raw else "missing")
        text = raw["S"] if "S" in raw else _as_json(plain(raw))
        drift = item.drift.get("messages", "")
        size = len(text.encode("utf-8", "surrogatepass"))
        if not text.strip():
            return cls(drift="empty text", size=size)
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            return cls(text=clean(text), notice=_NO_JSON, drift="not valid JSON", size=size)
        if isinstance(content, list):
            return cls(tuple(content), drift=drift, size=size)
        return cls(text=clean(text), notice=_NO_LIST, drift=drift or "not a list", size=size)


def _as_json(value: Any) -> str:
    return json.dumps(well_formed(value), ensure_ascii=False, indent=2, default=text_of)


def as_stored(stored: StoredTenantConversation, *, raw: bool) -> tuple[str, int]:
    """Return the text of unreadable messages, and how many characters were cut off; "" if they were readable."""
    shown = stored.text[:TEXT_SHOWN] if raw else beginning_of(stored.text, TEXT_SHOWN)
    return shown, len(stored.text) - len(shown) if len(stored.text) > TEXT_SHOWN else 0


def window(stored: StoredTenantConversation, *, raw: bool, before: int | None = None, at: str = "") -> MessageList:
    """Return the latest messages; those before the message of number `before`; or those around the one of anchor `at`.

    Anchors are numbers, counting from 1 in stored order. Redacted unless `raw`, and only the beginning of long ones,
    except that of anchor `at`. Never raises.
    """
    total = len(stored.entries)
    last = before - 1 if before is not None and 1 < before <= total + 1 else total
    if at.isascii() and at.isdecimal() and len(at) < 9 and 1 <= int(at) <= total:
        last = min(total, max(WINDOW, int(at) + WINDOW // 2))
    first = max(1, last - WINDOW + 1)
    return MessageList(
        tuple(
            message(number, stored.entries[number - 1], raw=raw, whole=at == str(number))
            for number in range(first, last + 1)
        ),
        earlier=str(first) if first > 1 else "",
        later=str(min(total, last + WINDOW) + 1) if last < total else "",
        earlier_text=earlier_text(first - 1),
        empty_text="The assistant remembers nothing of this conversation.",
    )


def message(number: int, entry: Any, *, raw: bool, whole: bool = True) -> Message:
    """Return one entry as a record, redacted unless `raw`, and only the beginning of a long one unless `whole`.

    Never raises.
    """
    entry, most = well_formed(entry), None if whole else SHOWN
    if not isinstance(entry, dict):
        blocks, _, left_out = first_blocks_of({"content": entry}, most, raw=raw)
        flaw = "not a message but a bare value"
        return Message(
            number, str(number), Speaker.UNKNOWN, UNKNOWN_SENDER, None, blocks, left_out=left_out, drift=(flaw,)
        )
    role = entry.get("role")
    speaker, name, flaws = speaker_of(role, "role", known=("user", "assistant", "system"))
    if role in (None, ""):
        flaws = ("it does not say who wrote it",)
    blocks, of_content, left_out = first_blocks_of(entry, most, raw=raw)
    at, entry = _time_of(entry)
    more, more_left_out = _more(entry, most, raw=raw)
    return Message(
        number,
        str(number),
        speaker,
        name,
        at,
        blocks,
        left_out=left_out + more_left_out,
        drift=(*flaws, *of_content),
        extra=Extra(more=more) if more is not None else None,
    )


def written_at(entry: Any) -> datetime | None:
    """Return when a message was written, if it says so."""
    metadata = entry.get("metadata") if isinstance(entry, dict) else None
    return clock.parse_instant(metadata.get("timestamp")) if isinstance(metadata, dict) else None


def _time_of(entry: dict[str, Any]) -> tuple[datetime | None, dict[str, Any]]:
    """Return when a message was written, from `metadata.timestamp`, and the entry without that."""
    metadata, at = entry.get("metadata"), written_at(entry)
    if at is None or not isinstance(metadata, dict):
        return None, entry
    rest = {name: value for name, value in metadata.items() if name != "timestamp"}
    return at, {name: value for name, value in entry.items() if name != "metadata"} | (
        {"metadata": rest} if rest else {}
    )


def _more(entry: dict[str, Any], most: int | None, *, raw: bool) -> tuple[Node | None, int]:
    """Return the members of a message that are not shown as its author or content, as `first_tree`."""
    content = next((name for name in CONTENT if name in entry), "")
    shown_elsewhere = {"role", content, *(name for name in _CALLS if isinstance(entry.get(name), dict | list))}
    return first_tree({name: value for name, value in entry.items() if name not in shown_elsewhere}, most, raw=raw)


# --- Rows and facts of a conversation --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TenantConversationRow:
    """A conversation of a list. `name` is its id, redacted; `updated` is shown instead of an unreadable time."""

    reference: str
    name: str
    updated_at: datetime | None
    updated: str
    removal: Cell
    flaws: tuple[str, ...] = ()


def removal_of(item: TenantConversation, now: datetime) -> Cell:
    """Return when DynamoDB removes the item, in words: "removed in 12 days"; with a tone if that time has passed."""
    ttl = item.plain("ttl")
    if ttl is None:
        return Cell("kept: it has no time to live")
    at = clock.parse_instant(ttl)
    if clock.is_expired(ttl, now) and at is not None:
        return Cell(f"expired {clock.format_span(now - at)} ago, not removed yet", at, "bad", "clock")
    if at is None or at <= now:
        return Cell("kept: its time to live cannot be read")
    return Cell(f"removed in {clock.format_span(at - now)}", at)


def row_of(item: TenantConversation, now: datetime) -> TenantConversationRow:
    """Return one row of a list, without reading messages. Never raises."""
    updated = item.plain("updated_at")
    at = clock.parse_instant(updated)
    return TenantConversationRow(
        reference=reference_of(item.pk, item.sk),
        name=name_of(item.sk),
        updated_at=at,
        updated="" if at or updated in (None, "") else redact(text_of(updated))[:60],
        removal=removal_of(item, now),
        flaws=described(_drift(item)),
    )


def _drift(item: TenantConversation) -> dict[str, str]:
    """Return how its times deviate from the schema."""
    times = ("updated_at", "ttl")
    return {name: what for name, what in drift_in(item, times, times).items() if name != "messages"}


def summary_of(item: TenantConversation, stored: StoredTenantConversation, now: datetime) -> RecordPage:
    """Return the page of a conversation without its messages. Never raises."""
    removal, name = removal_of(item, now), name_of(item.sk)
    drift = _drift(item) | ({"messages": stored.drift} if stored.drift else {})
    return RecordPage(
        title=name,
        state=removal,
        facts=(
            Fact("Conversation", name, mono=True, copy_text=name),
            Fact("Tenant", text_of(item.pk), mono=True),
            instant_fact("Last activity", item.plain("updated_at"), "ago", now),
            Fact("Time to live", removal.text, tone=removal.tone),
            instant_fact("Expired" if removal.tone else "Expires", item.plain("ttl")),
            Fact("Messages", "" if stored.text else f"{len(stored.entries):,}"),
            Fact("Size", f"{stored.size:,} bytes"),
        ),
        flaws=(*described(drift), *unknown_names(item)),
        unknown=unknown_tree(item),
    )
