"""Recognise channels in pasted text: a webhook body as providers send it, a key, or only an id."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from console.errors import Invalid
from tenants.keys import TYPES, Channel, channels_with_id, checked_channel

MAX_PASTED = 20_000
# A number as people write it, with or without its country code.
_NUMBER = re.compile(r"\+?[\d\s()./-]{7,30}", re.ASCII)
_FORM_DATA = re.compile(r"[A-Za-z]\w*=")
# For one text. Each candidate costs three reads.
MAX_CANDIDATES = 6
# Where webhooks name the receiver: (path to the value, channel type, prefix of the id).
_PATHS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("recipient", "id"), "teams", "28:"),
    (("api_app_id",), "slack", ""),
    (("team_id",), "slack", ""),
    (("event", "channel"), "slack", ""),
    (("entry", "changes", "value", "metadata", "display_phone_number"), "whatsapp", ""),
    (("To",), "whatsapp", "whatsapp:"),
    (("To",), "sms", ""),
    (("to",), "email", ""),
    (("to",), "sms", ""),
)


def candidates(pasted: str, type_typed: str = "") -> tuple[Channel, ...]:
    """Return the channels that a text may mean, best first. `type_typed` restricts them to one type.

    Accepts a key (`CHANNEL#teams#…`), a type and an id (`whatsapp:+44…`), a webhook's body as JSON or form data, or an
    id. Raises `Invalid` if nothing is recognised.
    """
    text = pasted.strip()
    if not text:
        raise Invalid("Paste what the webhook sent, or enter an id.")
    if len(text) > MAX_PASTED:
        raise Invalid(f"That is longer than {MAX_PASTED:,} characters: paste the part that names the receiver.")
    if channel := Channel.of(text):
        return (channel,)
    kind, parted, rest = text.partition(":")
    if parted and kind.lower() in TYPES:
        # As Twilio writes a number: whatsapp:+44…
        return (checked_channel(kind, rest),)
    if _is_body(text):
        found = dict.fromkeys(_of_body(text, type_typed))
    else:
        found = dict.fromkeys([checked_channel(type_typed, text)] if type_typed.strip() else channels_with_id(text))
    if not found:
        raise Invalid(hint_for(text) or "No channel recognised. Choose a type and enter the id alone.")
    return tuple(found)[:MAX_CANDIDATES]


def hint_for(pasted: str) -> str:
    """Return why a text that looks like a phone number was not looked up as one; "" for any other text."""
    text = pasted.strip()
    if _NUMBER.fullmatch(text) and not any(each.type in ("whatsapp", "sms") for each in channels_with_id(text)):
        try:
            checked_channel("sms", text)
        except Invalid as error:
            return f"It was not looked up on WhatsApp or SMS. {error}"
    return ""


def _is_body(text: str) -> bool:
    return text[0] in "{[" or bool(_FORM_DATA.match(text))


def _of_body(text: str, type_typed: str) -> Iterator[Channel]:
    body = _parsed(text)
    for path, kind, prefix in _PATHS:
        if type_typed.strip() and kind != type_typed.strip().lower():
            continue
        for value in _values(body, path):
            if isinstance(value, str) and value.startswith(prefix):
                # Meta writes our number without a plus.
                plus = "+" if path[-1] == "display_phone_number" and value[:1].isdigit() else ""
                try:
                    yield checked_channel(kind, plus + value.removeprefix(prefix))
                except Invalid:
                    continue


def _parsed(text: str) -> Any:
    if text[0] in "{[":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Invalid("That looks like incomplete JSON. Paste all of it.") from error
    return dict(parse_qsl(text))


def _values(node: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values at a path, for up to 20 members of each list on the way."""
    if isinstance(node, list):
        for each in node[:20]:
            yield from _values(each, path)
    elif not path:
        yield node
    elif isinstance(node, dict) and path[0] in node:
        yield from _values(node[path[0]], path[1:])


def types_offered() -> list[tuple[str, str]]:
    """Return the choices of channel types."""
    return [("", "Recognise from the text"), *((name, each.label) for name, each in TYPES.items())]
