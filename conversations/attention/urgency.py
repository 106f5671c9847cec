"""Urgency: by a company's words in a reason or message, by the middleware's notes, or by hand."""

import re

from console.errors import NotFound, TableMissing
from console.store.models import plain
from console.trail.models import ConversationState
from conversations.attention.levels import ServiceLevels
from conversations.handoff.stored import AGENT, QUEUE, URGENT, Raw, has_people, reason_in, text, text_in, urgent_in
from conversations.messages.message import StoredMessages

WORDS, FLAGS, PRIORITY = "words", "risk flags", "priority"
# Priorities of the middlewares that cannot wait.
_HIGH = frozenset({"urgent", "high", "highest", "critical", "p0", "p1"})
# Characters of each text that are searched.
_LOOKED_THROUGH = 4_000


def urgent_by_words(stored: Raw, levels: ServiceLevels) -> bool:
    """Return whether the reason or the customer's last message contains one of the company's urgent words. No I/O."""
    if not levels.urgent_words:
        return False
    written = [str(each.get("content") or "") for each in StoredMessages.of(stored.get("messages")).by_customer()][-1:]
    said = "\n".join(each[:_LOOKED_THROUGH] for each in (reason_in(stored), *written)).lower()
    return any(_contains_word(word, said) for word in levels.urgent_words)


def _contains_word(word: str, said: str) -> bool:
    """Return whether a text contains a word; only ASCII words must match whole words: some scripts have no spaces."""
    if not word.isascii():
        return word in said
    before, behind = (r"(?<!\w)" if word[0].isalnum() else "", r"(?!\w)" if word[-1].isalnum() else "")
    return re.search(f"{before}{re.escape(word)}{behind}", said) is not None


def urgent_by_middleware(conversation_id: str) -> str:
    """Return why the middleware's state marks a conversation as urgent, "" if it does not.

    One GetItem. Raises the store's errors.
    """
    try:
        raw = ConversationState.get(conversation_id).raw
    except (NotFound, TableMissing):
        return ""
    flags = plain(raw["risk_flags"]) if "risk_flags" in raw else None
    if flags and flags not in ("[]", "none"):
        return FLAGS
    priority = plain(raw["priority"]) if "priority" in raw else None
    return PRIORITY if isinstance(priority, str) and priority.strip().lower() in _HIGH else ""


def is_open_for_urgency(stored: Raw) -> bool:
    """Return whether people have a conversation, and nobody has decided whether it is urgent."""
    return has_people(stored) and URGENT not in stored


def urgent_values(stored: Raw, why: str, company_id: str) -> Raw:
    """Return the attributes of an urgent conversation: the reason, and its key in the queue's index if it waits."""
    key = {} if text_in(stored, AGENT) or not company_id else {QUEUE: text(urgent_in(company_id))}
    return {URGENT: text(why), **key}
