"""The subject, thread ids and HTML of an email reply."""

import re

from django.utils.html import escape

from console.trees import text_of
from conversations.models import Conversation
from conversations.outbox.rows import customers_of

_ID = re.compile(r"<[^\s<>]{1,250}>")
LONGEST_SUBJECT = 200


def subject_and_answers(item: Conversation) -> tuple[str, list[str]]:
    """Return a reply's subject, and the ids of the messages that it answers, oldest first; [] if none is known.

    `email_id` is the thread's id (schema platform-conversations); each message of the customer has its own.
    """
    ids = [item.plain("email_id"), *(entry.get("message_id") for entry in customers_of(item).by_customer())]
    answers = [each for each in ids if isinstance(each, str) and _ID.fullmatch(each)]
    return _subject(item), list(dict.fromkeys(answers))


def _subject(item: Conversation) -> str:
    """Return the platform's email subject if stored, else one from the project's or company's name."""
    named = (item.plain(name) for name in ("email_subject", "subject", "project_name", "company_name"))
    found = next((line for each in named if (line := " ".join(text_of(each or "").split()))), "your message")
    return f"Re: {re.sub('(?i)^(re: *)+', '', found)}"[:LONGEST_SUBJECT]


def as_html(text: str) -> str:
    """Convert plain text to HTML with paragraphs and line breaks; everything else is escaped."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(text.splitlines()).strip())
    return "".join(f"<p>{str(escape(each)).replace(chr(10), '<br>')}</p>" for each in paragraphs if each)
