"""Interpreting the chatbot's items: the state of a session, its configuration, and deviations from the schema."""

import json
from datetime import datetime
from enum import StrEnum
from typing import Any

from console import clock
from console.redaction import excerpt, redact_value
from console.redaction.credentials import mask_credentials
from console.redaction.masks import cut
from console.store.models import ForeignModel
from console.trees import Node, flatten_to_line, text_of, well_formed
from conversations.stores.chats.keys import begun_at
from conversations.stores.chats.models import Session
from conversations.stores.items import described, drift_in, shown_tree
from conversations.stores.records import Cell

# A session's usual lifetime (schema chatbot-sessions).
LIFE = "about 3 hours after it began"
# Values that writers store for "not finished", besides no value and NULL.
_NOT_FINISHED = (None, "", 0, "0", False)
_SUMMED_UP, ROW_TEXT = 3, 80
_TIMES = ("TimestampCreated", "TimestampFinished", "SessionTTL")


def flaws_of(item: ForeignModel) -> tuple[str, ...]:
    """Return how an item deviates from its schema. Unknown attributes are shown, not flagged.

    Optional attributes may also be empty: the bot writes `ImageId: ""` with every text.
    """
    declared = item.get_attributes().values()
    return described(
        drift_in(
            item,
            required=[each.attr_name for each in declared if not each.null],
            times=[each.attr_name for each in declared if each.attr_name in _TIMES],
        )
    )


# --- The state ------------------------------------------------------------------------------------------------------


class SessionState(StrEnum):
    """The state of a session."""

    RUNNING = "running"
    FINISHED = "finished"
    EXPIRED = "expired"
    UNKNOWN = "not known"


_TONES = {SessionState.RUNNING: "good", SessionState.UNKNOWN: "bad"}


def state_of(item: Session | None, *, is_readable: bool = True) -> SessionState:
    """Return the state of a session; `item` is None if Sessions has no unexpired one, or if it was not readable."""
    if item is not None:
        return SessionState.FINISHED if is_finished(item) else SessionState.RUNNING
    return SessionState.EXPIRED if is_readable else SessionState.UNKNOWN


def is_finished(item: Session) -> bool:
    """Return whether a session was ended by force."""
    value = item.plain("TimestampFinished")
    return not any(value == each and isinstance(value, type(each)) for each in _NOT_FINISHED)


def state_cell(state: SessionState) -> Cell:
    """Return the state as a tag."""
    return Cell(state.value, tone=_TONES.get(state, "plain"))


def created_at(item: Session) -> datetime | None:
    """Return when a session began, from its attribute, else from its id."""
    return clock.parse_instant(item.plain("TimestampCreated")) or begun_at(item.SessionId)


def quota_of(item: Session) -> str:
    """Return the number of messages that a session allows, as text; personal data in it is redacted."""
    value = item.plain("MessagesQuota")
    return "" if value is None else excerpt(text_of(value), 24)


# --- The configuration ----------------------------------------------------------------------------------------------


def config_of(item: Session) -> tuple[Any, tuple[str, ...]]:
    """Return the configuration without credentials, parsed from its JSON text, and its flaws. Never raises."""
    value = item.plain("SessionConfig")
    flaws: tuple[str, ...] = ()
    if value in (None, ""):
        return None, ()
    if isinstance(value, str):
        try:
            value = json.loads(value)
            flaws = () if isinstance(value, dict) else ("SessionConfig: not an object",)
        except (ValueError, RecursionError):
            flaws = ("SessionConfig: not valid JSON",)
    return mask_credentials(well_formed(value)), flaws


def config_tree(item: Session, *, raw: bool) -> Node | None:
    """Return the configuration as a tree, redacted unless `raw`."""
    return shown_tree(config_of(item)[0], raw=raw)


def config_in_row(item: Session) -> str:
    """Return the first few plain settings in one redacted line."""
    stored, _ = config_of(item)
    value = redact_value(stored)
    if not isinstance(value, dict):
        return "" if value is None else cut(flatten_to_line(value), ROW_TEXT)
    plain = [f"{name}: {text_of(each)}" for name, each in value.items() if not isinstance(each, dict | list)]
    return cut(", ".join(plain[:_SUMMED_UP]), ROW_TEXT)
