"""A tenant's settings: JSON text whose known keys are typed and whose other keys keep their exact text.

The text is never parsed and serialised again as a whole: values that nobody changed keep the exact characters that were
stored (numbers beyond a float, the order of keys, spellings of escapes).
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from console.errors import Invalid
from console.redaction.credentials import mask_credentials, restore_credentials
from console.trees import clean

# A DynamoDB item is limited to 400 KB, and the platform reads this text for every message.
MAX_BYTES = 100_000
MAX_PROMPT = 20_000
_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that the platform knows. `low` and `high` are the bounds of a number.

    `default` is the value in the schema's example and of a new tenant; None for keys that only the platform's code has.
    """

    name: str
    label: str
    kind: Literal["word", "text", "integer", "words", "objects", "flag", "pairs"]
    default: Any = None
    low: int = 0
    high: int = 0
    help: str = ""


KNOWN = (
    Setting("ai_provider", "AI provider", "word", "bedrock", help="Such as bedrock, anthropic or openai"),
    Setting("ai_model", "AI model", "word", "claude-sonnet-4-5-20250929", help="As the provider names it"),
    Setting("system_prompt_override", "System prompt", "text", "", help="Leave empty for the platform's own"),
    Setting("max_tokens_per_message", "Tokens per message", "integer", 4096, 1, 200_000),
    Setting("enabled_channels", "Channels", "words", ["dashboard"]),
    Setting("enabled_skills", "Skills", "words", []),
    Setting("custom_skills", "Custom skills", "objects", [], help="One per line, or JSON"),
    Setting("messages_per_day", "Messages per day", "integer", 1000, 1, 10_000_000),
    Setting("max_conversation_history", "Messages remembered", "integer", 20, 1, 1_000),
    Setting("tier1_formatting_model", "Formatting model", "word", help="Leave empty for the platform's own"),
    Setting("primary_practice", "Primary practice", "word"),
    Setting("addon_skills", "Add-on skills", "words"),
    Setting("addon_pages", "Add-on pages", "words"),
    Setting("installed_practices", "Installed practices", "pairs", help="One on each line: practice = version"),
    Setting(
        "channel_routing_overrides",
        "Routing overrides",
        "pairs",
        help="One on each line: channel:sender = skill, such as whatsapp:447700900123 = sprint_status",
    ),
    Setting(
        "whatsapp_restrict_to_users",
        "Who may write on WhatsApp",
        "flag",
        help="Users only: people whose number is among the channel identities of a user.",
    ),
)
BY_NAME = {setting.name: setting for setting in KNOWN}
# What the form calls the fields of a tenant, by their stored names.
LABELS: Mapping[str, str] = {"name": "Name"} | {each.name: each.label for each in KNOWN}


@dataclass(frozen=True, slots=True)
class Settings:
    """Parsed settings. `known`: the values that have their schema type. `others`: the JSON text of every other key.

    `odd`: known keys whose value has another type; they are in `others` too. `problem`: why the text is not a JSON
    object; `known` and `others` are then empty.
    """

    text: str
    known: Mapping[str, Any]
    others: Mapping[str, str]
    odd: tuple[str, ...] = ()
    problem: str = ""

    def value(self, name: str) -> Any:
        """Return a known key's value; None if it is not set."""
        return self.known.get(name)


def default_text() -> str:
    """Return the settings of a new tenant: the schema's example without skills."""
    example = {setting.name: setting.default for setting in KNOWN if setting.default is not None}
    return json.dumps(example, ensure_ascii=False)


def read(text: str | None) -> Settings:
    """Parse a stored text. Never raises."""
    if text is None or not text.strip():
        return Settings(text or "", {}, {}, problem="No settings are stored.")
    try:
        members = members_of(text)
    except (ValueError, RecursionError):
        return Settings(text, {}, {}, problem="The stored settings are not a JSON object.")
    known, others, odd = {}, {}, []
    for name, written in members.items():
        setting = BY_NAME.get(name)
        value = json.loads(written) if setting else None
        if setting and is_of_kind(setting, value):
            known[name] = value
            continue
        others[name] = written
        if setting:
            odd.append(name)
    return Settings(text, known, others, tuple(odd))


def is_of_kind(setting: Setting, value: Any) -> bool:
    """Return whether a value has the type that the schema gives its key."""
    match setting.kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "words":
            return isinstance(value, list) and all(isinstance(each, str) for each in value)
        case "objects":
            return isinstance(value, list)
        case "flag":
            return isinstance(value, bool)
        case "pairs":
            return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        case _:
            return isinstance(value, str)


def members_of(text: str) -> dict[str, str]:
    """Return the members of a JSON object with the exact text of each value; for a repeated key, the last one.

    Raises `ValueError` for anything other than one object.
    """
    position = _skip(text, 0)
    if text[position : position + 1] != "{":
        raise ValueError("no object")
    members: dict[str, str] = {}
    position = _skip(text, position + 1)
    if text[position : position + 1] == "}":
        return _ended(text, position + 1, members)
    while True:
        name, position = _value(text, position)
        position = _skip(text, position)
        if not isinstance(name, str) or text[position : position + 1] != ":":
            raise ValueError("no member")
        start = _skip(text, position + 1)
        _, position = _value(text, start)
        members[name] = text[start:position]
        position = _skip(text, position)
        mark = text[position : position + 1]
        position = _skip(text, position + 1)
        if mark == "}":
            return _ended(text, position, members)
        if mark != ",":
            raise ValueError("no end of a member")


def _ended(text: str, position: int, members: dict[str, str]) -> dict[str, str]:
    if _skip(text, position) != len(text):
        raise ValueError("something after the object")
    return members


def _value(text: str, position: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(text, position)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def changed(settings: Settings, known: Mapping[str, Any], others: Mapping[str, str]) -> str:
    """Return the text with these known values and these texts of other keys; everything else is unchanged.

    A key that `others` leaves out is removed; new keys are refused, because the platform could not load them. Raises
    `Invalid`. A text that is not a JSON object is replaced.
    """
    before = {} if settings.problem else members_of(settings.text)
    if unknown := [name for name in others if name not in before]:
        raise Invalid(f"The platform has no setting {unknown[0]!r}. You cannot add new keys here.")
    after: dict[str, str] = {}
    for name, written in before.items():
        if name in known and not _same(settings, name, known[name]):
            after[name] = _written(known[name])
        elif name in known or name in others:
            kept = name in known or others[name] == written
            after[name] = written if kept else _checked(name, others[name])
    after.update({name: _written(value) for name, value in known.items() if name not in before})
    text = "{" + ", ".join(f"{_written(name)}: {written}" for name, written in after.items()) + "}"
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Invalid(f"The settings are longer than {MAX_BYTES:,} bytes together.")
    return settings.text if not settings.problem and after == before else text


def _same(settings: Settings, name: str, value: Any) -> bool:
    return name in settings.known and settings.known[name] == value and type(settings.known[name]) is type(value)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _checked(name: str, written: str) -> str:
    """Check the JSON text that a person typed for a key. Raises `Invalid`."""
    try:
        return check_json(written)
    except ValueError as error:
        raise Invalid(f"{name}: {error}") from error


def check_json(typed: str) -> str:
    """Return a typed JSON value without surrounding white space. Raises `ValueError` with a message for people."""
    stripped = typed.strip(_SPACE)
    parse_json(stripped)
    return stripped


def parse_json(text: str) -> Any:
    """Parse a JSON text strictly. Raises `ValueError` with a message that says what is wrong and where.

    Python accepts `NaN`, infinite numbers, lone surrogates and repeated keys; other parsers do not.
    """
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise ValueError(f"There is something after the JSON value{_place(text, error.pos)}.") from error
        raise ValueError(f"That is not valid JSON{_place(text, error.pos)}.") from error
    except RecursionError as error:
        raise ValueError("That is nested too deeply.") from error
    for token in _TOKEN.finditer(text):
        if problem := _problem_of(token[0]):
            raise ValueError(f"{problem}{_place(text, token.start())}.")
    return value


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?\d[\d.eE+-]*', re.DOTALL)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"The key {clean(repeated)[:80]!r} comes twice in one object.")
    return found


def _problem_of(token: str) -> str:
    if token.startswith('"'):
        text = json.loads(token)
        return "Half a character, which cannot be stored," if clean(text) != text else ""
    if "N" in token or "I" in token:
        return f"{token} is not a JSON number"
    return f"{token[:20]} is too large a number" if math.isinf(float(token)) else ""


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f" at line {line}, column {position - text.rfind(chr(10), 0, position)}"


def mask_secrets(name: str, written: str) -> str:
    """Return the JSON text of a key with its credentials masked; the same text if it has none."""
    value = _as_named(name, json.loads(written))
    masked = mask_credentials(value)
    return written if repr(masked) == repr(value) else _written(_unnamed(name, masked))


def restore_secrets(name: str, typed: str, written: str) -> str:
    """Return a typed JSON text with the secrets of the stored one where it has masks. Raises `ValueError`."""
    value = _as_named(name, parse_json(typed))
    restored = restore_credentials(value, _as_named(name, json.loads(written)))
    return typed if repr(restored) == repr(value) else _written(_unnamed(name, restored))


def _as_named(name: str, value: Any) -> Any:
    """Return a value with its key, which may say that it is a secret; no key of the schema does."""
    return value if name in BY_NAME else {name: value}


def _unnamed(name: str, value: Any) -> Any:
    return value if name in BY_NAME else value[name]


def differences(before: Settings, after: Settings) -> dict[str, tuple[str, str]]:
    """Return the keys that differ, with the JSON text of each side; "" if it is not set."""
    one, other = (dict(members_of(each.text)) if not each.problem else {} for each in (before, after))
    names: Iterable[str] = dict.fromkeys((*one, *other))
    return {name: (one.get(name, ""), other.get(name, "")) for name in names if one.get(name) != other.get(name)}


def means_the_same(one: str, other: str) -> bool:
    """Return whether two JSON texts have the same value, ignoring escapes, key order and white space."""
    try:
        return bool(one and other) and _canonical(one) == _canonical(other)
    except (ValueError, RecursionError):
        return one == other


def _canonical(written: str) -> str:
    return json.dumps(json.loads(written), sort_keys=True)
