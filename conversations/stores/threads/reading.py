"""From threads to rows and facts: tolerant of drift. Rows are always redacted, as listing a thread does not open it."""

import re
from datetime import datetime
from typing import Any

from console import clock
from console.errors import ConsoleError
from console.permissions import Staff
from console.redaction import excerpt, redact, without_names
from console.trees import Fact, Node, clean, instant_fact, text_of, tree_of
from conversations.companies import names_for
from conversations.converting import is_true
from conversations.messages.facts import redact_and_mask, unknown_names
from conversations.stores.items import described, drift_in
from conversations.stores.records import Cell, RecordLink, RecordRow, list_place, record_place
from conversations.stores.threads.keys import ThreadKey, instant_in
from conversations.stores.threads.models import Thread
from conversations.stores.threads.queries import key_of_thread, started

COLUMNS = ("Thread", "User", "Origin", "Kept", "User messages", "Started", "Updated")
TITLE = 120
UNTITLED = "Untitled thread"
# Two or three words of letters.
_NAME = re.compile(r"[^\W\d_]{2,}(?:[._ -][^\W\d_]{2,}){1,2}")


def organisation_name(organisation: str, staff: Staff) -> str:
    """Return an organisation's name from the registry of companies, which workers cache; else its id, redacted."""
    try:
        return names_for(staff).get(organisation) or redact(organisation)
    except ConsoleError:
        return redact(organisation)


def organisation_link(organisation: str, staff: Staff) -> RecordLink:
    """Return a link to the organisation's list, labelled with its name."""
    return RecordLink(organisation_name(organisation, staff), list_place("org", organisation))


def row_of(item: Thread) -> RecordRow:
    """Return one thread as a row. Never raises."""
    key = key_of_thread(item)
    user = user_of(item, key)
    return RecordRow(
        name=excerpt(title_of(item), TITLE, names_in(user)) or UNTITLED,
        place=record_place(key.base, key.thread_id) if key.is_one else None,
        cells=(
            Cell(user_shown(user), mono=True),
            Cell(line(item.plain("origin"))),
            Cell("Temporary", tone="human", icon="clock") if is_temporary(item) else Cell(""),
            Cell(count_of(item)),
            Cell(at=started(item)),
            _time(item.plain("updated_at")),
        ),
        detail=redact(f"{key.tenant} · {key.thread_id}" if key.tenant else key.thread_id),
        flaws=flaws_of(item, key),
    )


def title_of(item: Thread | None) -> str:
    """Return a thread's title as stored; "" for none."""
    value = None if item is None else item.plain("title")
    return "" if value is None or isinstance(value, dict | list) else text_of(value).strip()


def user_of(item: Thread | None, key: ThreadKey) -> str:
    """Return the user of a thread, from the item, else from its key."""
    value = None if item is None else item.plain("user_id")
    return value if isinstance(value, str) and value else key.user


def user_shown(user: str) -> str:
    """Return a user's id redacted, without a name that it spells."""
    return without_names(redact(user), names_in(user))


def names_in(user: str) -> tuple[str, ...]:
    """Return the name that a user's id spells, to mask: `anna.schmidt`, and before the @ of an address; () for none."""
    name = user.partition("@")[0]
    return (name,) if _NAME.fullmatch(name) else ()


def is_temporary(item: Thread | None) -> bool:
    """Return whether a thread is only stored for a short time."""
    return item is not None and is_true(item.plain("is_temporary"))


def count_of(item: Thread | None) -> str:
    """Return the number of messages that its user wrote, as stored."""
    value = None if item is None else item.plain("user_message_count")
    return line(value)


def line(value: Any) -> str:
    """Return an attribute as one redacted line."""
    return "" if value in (None, "", [], {}) else excerpt(clean(text_of(value)), 120)


def _time(value: Any) -> Cell:
    at = clock.parse_instant(value)
    return Cell(at=at) if at else Cell(line(value)[:60])


def flaws_of(item: Thread, key: ThreadKey) -> tuple[str, ...]:
    """Return how a thread deviates from the schema."""
    required = ("org_id", "user_id", "created_at", "updated_at", "SKTimestampThread")
    found = drift_in(item, required, times=("created_at", "updated_at", "ExpiryTime"))
    if "SKTimestampThread" not in found and instant_in(text_of(item.plain("SKTimestampThread"))) is None:
        found["SKTimestampThread"] = "it names no time"
    for name, owner, by_key in (("org_id", "organisation", key.organisation), ("user_id", "user", key.user)):
        if name not in found and item.plain(name) != by_key:
            found[name] = f"its key says another {owner}"
    return (*described(found), *unknown_names(item))


def facts_of(key: ThreadKey, item: Thread | None, now: datetime, *, raw: bool) -> tuple[Fact, ...]:
    """Return the facts about a thread. Never raises."""
    user = user_of(item, key)
    shown = clean if raw else lambda text: without_names(redact(clean(text)), names_in(user))
    identity = (
        Fact("Thread", shown(key.thread_id), mono=True, copy_text=shown(key.thread_id)),
        Fact("Organisation", shown(key.organisation), mono=True),
        Fact("Tenant", shown(key.tenant), mono=True),
        Fact("User", shown(user), mono=True),
    )
    if item is None:
        return identity
    return (
        *identity,
        Fact("Origin", line(item.plain("origin"))),
        Fact("Temporary", "yes: it is kept for a short time" if is_temporary(item) else "no"),
        Fact("User messages", count_of(item)),
        instant_fact("Created", item.plain("created_at")),
        instant_fact("Updated", item.plain("updated_at"), "ago", now),
        instant_fact("Expires", item.plain("ExpiryTime"), "in", now),
    )


def unknown_of(item: Thread | None) -> Node | None:
    """Return attributes that are unknown or of another type, without credentials and personal data."""
    found = {} if item is None else item.unknown() | {name: item.plain(name) for name in item.drift}
    return tree_of(redact_and_mask(found)) if found else None
