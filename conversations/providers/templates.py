"""The approved template of a company: the only text that WhatsApp takes once its 24 hours are over.

Web servers do not connect to providers: they request the template in our own table, and the sender fetches it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.errors import Invalid, NotFound
from conversations.outbox.rows import TO_FETCH, MessageRow
from conversations.providers import CannotAsk, NoAnswer, NotReached, Rejected, Template
from conversations.providers.choice import make
from conversations.providers.credentials import note_works, secret_for

TEMPLATE = "template"
# Only this channel has templates.
CHANNEL = "whatsapp"
# The name of the template in a company's secret.
NAMED_BY = "twilio_template_sid"
KEPT = timedelta(days=7)
LONGEST_BLANK = 200
_BLANK = re.compile(r"\{\{\s*([\w.-]{1,64})\s*\}\}")
NONE = "This company has no template for WhatsApp."


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template as the sender fetched it. `problem` says why there is none; `is_wanted`: it is being fetched."""

    template: Template | None = None
    problem: str = ""
    is_wanted: bool = False


def read_template(credentials: str) -> StoredTemplate:
    """Return the stored template of these credentials, if any. One GetItem; raises the store's errors."""
    try:
        row = MessageRow.get(_partition(credentials), TEMPLATE)
    except NotFound:
        return StoredTemplate()
    template = None
    if row.body:
        content = json.loads(row.body)
        template = Template(content["template_id"], content["body"], content["variables"])
    return StoredTemplate(template, row.error or "", row.gsi_due == TO_FETCH)


def request_template(credentials: str, company_id: str) -> None:
    """Request that the sender fetches a template. Raises the store's errors."""
    now = clock.now()
    MessageRow(_partition(credentials), TEMPLATE).update(
        actions=[
            MessageRow.company_id.set(company_id),
            MessageRow.credentials.set(credentials),
            MessageRow.gsi_due.set(TO_FETCH),
            MessageRow.due_at.set(clock.to_iso(now)),
            MessageRow.expires_at.set(clock.to_epoch(now + KEPT)),
        ]
    )


def fetch(row: MessageRow) -> None:
    """Fetch a requested template from its provider. Only for the sender. Raises the store's errors."""
    name, template, problem = row.credentials or "", None, ""
    try:
        secret = secret_for(CHANNEL, name, row.company_id or "")
        named = secret.get(NAMED_BY)
        if isinstance(named, str) and named.strip():
            template = make(CHANNEL, secret).template(named.strip())
            note_works(name)
        else:
            problem = NONE
    except CannotAsk:
        problem = NONE
    except Rejected as error:
        problem = error.words
    except (NotReached, NoAnswer):
        problem = "The provider did not answer. Try again in a minute."
    changes: list[UpdateAction] = [MessageRow.received_at.set(clock.to_iso(clock.now())), MessageRow.gsi_due.remove()]
    changes += [MessageRow.due_at.remove(), MessageRow.error.set(problem) if problem else MessageRow.error.remove()]
    if template is not None:
        changes.append(MessageRow.body.set(json.dumps(asdict(template), ensure_ascii=False)))
    row.update(actions=changes, condition=MessageRow.conversation.exists())


def fill_in_template(template: Template, values: Mapping[str, str]) -> str:
    """Return the template's text with its blanks filled in. Raises `Invalid` if a value is empty or too long.

    A value is plain text: a blank in it is not filled.
    """
    for name in template.variables:
        if not values.get(name, "").strip():
            raise Invalid("Fill in every blank of the template.")
        if len(values[name]) > LONGEST_BLANK:
            raise Invalid(f"Shorten what you filled in: a blank takes {LONGEST_BLANK} characters.")
    return _BLANK.sub(lambda found: values.get(found[1], found[0]), template.body)


def _partition(credentials: str) -> str:
    return f"{TEMPLATE}\n{credentials}"
