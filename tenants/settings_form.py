"""The form of a tenant's settings: a field for each key of the schema, and one for each other stored key.

A field that a person leaves unchanged keeps its stored value exactly, even an invalid one. Only changes are checked.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from console.errors import Invalid
from console.form_pages import FormDifference
from console.forms import PLAIN_TEXT
from console.redaction.credentials import mask_credentials, restore_credentials
from console.refs import is_digest_of, keyed_digest
from console.trees import clean
from tenants.keys import MAX_NAME, TYPES, checked_name, label_of
from tenants.settings import StoredSettings
from tenants.settings_text import (
    BY_NAME,
    KNOWN,
    MAX_BYTES,
    MAX_PROMPT,
    Setting,
    mask_secrets,
    parse_json,
    restore_secrets,
)

MAX_WORD = 200
OTHER = "other_"

Types = Callable[[], Iterable[str]]


class AsShown(forms.CharField):
    """Text that is compared with what was shown, regardless of the line endings that the browser sends."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, strip=False, **options)

    def to_python(self, value: Any) -> str:
        """Return the text with line feeds only."""
        return _line_feeds(super().to_python(value) or "")

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether a person changed it."""
        return self.as_sent(initial) != self.as_sent(data)

    def as_sent(self, value: Any) -> str:
        """Return a value in the form in which a browser sends it back."""
        text = _line_feeds(value or "").replace("\0", "\ufffd")
        return text if isinstance(self.widget, forms.Textarea) else text.replace("\n", "")


class ChannelTypesField(forms.MultipleChoiceField):
    """Channel types: those that the console knows, those of the tenant's channels, and those that are stored."""

    def __init__(self, stored: list[str], mapped: Types, **options: Any) -> None:
        self._known = frozenset(map(clean, (*TYPES, *stored)))

        def choices() -> list[tuple[str, str]]:
            names = dict.fromkeys((*TYPES, *sorted(mapped()), *stored))
            return [(clean(each), clean(label_of(each))) for each in names]

        super().__init__(required=False, choices=choices, widget=forms.CheckboxSelectMultiple, **options)

    def valid_value(self, value: str) -> bool:
        """Return whether a type can be chosen; read the tenant's channels only if nothing else allows it."""
        return value in self._known or super().valid_value(value)


# Kinds of settings whose values are shown without their secrets.
_HOLD_SECRETS = ("objects", "pairs")
BY_OTHER, BY_YOU, BY_BOTH = "someone else", "you", "both of you"


class SettingsForm(forms.Form):
    """Name and settings of a tenant. Once valid, `known` and `others` are the arguments for `tenants.settings.save`."""

    name = AsShown(
        max_length=MAX_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"}), help_text="As colleagues see it."
    )

    def __init__(self, data: QueryDict | None, *, stored: StoredSettings, mapped: Types = tuple) -> None:
        """Take the `stored` settings, and `mapped`, which returns the types of the tenant's channels when needed."""
        self.stored = stored
        self.keys = {_field_of(key): key for key in stored.settings.others}
        # A key that was added meanwhile has no field in the submitted form; do not treat that as a removal.
        if data is not None and (added := [name for name in self.keys if name not in data]):
            data = data.copy()
            others = stored.settings.others
            data.update({name: clean(mask_secrets(self.keys[name], others[self.keys[name]])) for name in added})
        super().__init__(data, initial={"name": clean(stored.name)} | self._shown())
        for setting in KNOWN:
            self.fields[setting.name] = self._field(setting, mapped)
        for name, key in self.keys.items():
            odd = " (not of the schema's type)" if key in stored.settings.odd else ""
            widget = forms.Textarea(attrs={**PLAIN_TEXT, "rows": 2, "class": "mono"})
            label = f"{clean(key)[:80]}{odd}"
            self.fields[name] = AsShown(label=label, max_length=MAX_BYTES, widget=widget)

    def _shown(self) -> dict[str, Any]:
        """Return what the fields show of the stored settings."""
        settings = self.stored.settings
        shown: dict[str, Any] = {name: _shown(BY_NAME[name], value) for name, value in settings.known.items()}
        return shown | {name: clean(mask_secrets(key, settings.others[key])) for name, key in self.keys.items()}

    def _field(self, setting: Setting, mapped: Types) -> forms.Field:
        options: dict[str, Any] = {"label": setting.label, "help_text": setting.help}
        if setting.name == "enabled_channels":
            return ChannelTypesField(list(map(str, self.initial.get(setting.name, []))), mapped, **options)
        if setting.kind == "flag":
            choices = [("", "Platform default (users only)"), ("true", "Users only"), ("false", "Everyone")]
            return forms.ChoiceField(required=False, choices=choices, **options)
        if setting.kind == "integer":
            options["help_text"] = f"{setting.low:,} to {setting.high:,}"
            widget = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
            return AsShown(max_length=400, widget=widget, **options)
        if setting.kind == "word":
            return AsShown(max_length=MAX_WORD, widget=forms.TextInput(attrs=dict(PLAIN_TEXT)), **options)
        rows = 6 if setting.kind == "text" else 3
        return AsShown(max_length=MAX_BYTES, widget=forms.Textarea(attrs={"rows": rows}), **options)

    def clean(self) -> None:
        """Check what was changed, and collect the values to save."""
        super().clean()
        settings = self.stored.settings
        self.known: dict[str, Any] = dict(settings.known)
        self.others: dict[str, str] = dict(settings.others)
        self.name_typed = self.stored.name
        if "name" in self.changed_data or not self.stored.name:
            try:
                self.name_typed = checked_name(self.cleaned_data.get("name", ""))
            except Invalid as error:
                self.add_error("name", str(error))
        for name in [each for each in self.changed_data if each not in self.errors]:
            typed = self.cleaned_data[name]
            try:
                if name in BY_NAME:
                    self._take(BY_NAME[name], typed)
                elif name in self.keys:
                    self._take_other(self.keys[name], typed)
            except ValueError as error:
                self.add_error(name, str(error))

    def _take(self, setting: Setting, typed: Any) -> None:
        value = _READ[setting.kind](setting, typed)
        if setting.kind in _HOLD_SECRETS:
            value = restore_credentials(value, self.stored.settings.value(setting.name))
        if value is None:
            self.known.pop(setting.name, None)
        elif setting.name == "enabled_channels":
            before = [each for each in self.stored.settings.value(setting.name) or [] if each in typed]
            self.known[setting.name] = list(dict.fromkeys([*before, *typed]))
        else:
            self.known[setting.name] = value

    def _take_other(self, key: str, typed: str) -> None:
        if not typed.strip():
            del self.others[key]
        else:
            self.others[key] = restore_secrets(key, typed, self.others[key])

    def known_fields(self) -> list[forms.BoundField]:
        """Return the fields of the schema's keys."""
        return [self[setting.name] for setting in KNOWN]

    def other_fields(self) -> list[forms.BoundField]:
        """Return the fields of all other keys."""
        return [self[name] for name in self.keys]

    @property
    def base(self) -> str:
        """Digests of the stored values by field. The form carries them, to find out later who changed what."""
        return " ".join(f"{name}:{keyed_digest(self._sent(name, self.initial.get(name)))[:12]}" for name in self.fields)

    def differences(self) -> list[FormDifference]:
        """Return the fields where the input differs from what is stored now, in field order, with who changed them."""
        base = dict(each.split(":", 1) for each in self.data.get("base", "").split() if ":" in each)
        return [
            FormDifference(
                str(self[name].label), _format_value(stored), _format_value(typed), self._by(name, base, stored, typed)
            )
            for name in self.changed_data
            for stored, typed in [(self.initial.get(name), self[name].value())]
        ]

    def _by(self, name: str, base: Mapping[str, str], stored: Any, typed: Any) -> str:
        if not base:
            return ""
        was = base.get(name, keyed_digest(self._sent(name, None)))
        other, own = (not is_digest_of(was, self._sent(name, value)) for value in (stored, typed))
        return BY_BOTH if other and own else BY_OTHER if other else BY_YOU

    def _sent(self, name: str, value: Any) -> str:
        field = self.fields[name]
        return field.as_sent(value) if isinstance(field, AsShown) else repr(sorted(map(str, value or ())))


def _field_of(key: str) -> str:
    return OTHER + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _format_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _shown(setting: Setting, value: Any) -> Any:
    if setting.name == "enabled_channels":
        return [clean(each) for each in value]
    if setting.kind in _HOLD_SECRETS:
        value = mask_credentials(value)
    if setting.kind in ("words", "objects"):
        return clean("\n".join(map(_line_of, value)))
    if setting.kind == "pairs":
        return clean("\n".join(_line_of_pair(*pair) for pair in value.items()))
    if setting.kind == "flag":
        return json.dumps(value)
    return clean(value) if isinstance(value, str) else str(value)


def _line_of(value: Any) -> str:
    """Format a list member as one line that `_member` parses back to the same value: a plain word, or JSON."""
    if isinstance(value, str) and value == value.strip() and value.isprintable() and value[:1] not in '{["':
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)


def _member(line: str) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        if line[:1] in '{["' or _is_json(line):
            raise ValueError(f"{line[:40]}: {error}") from error
        return line


def _is_json(line: str) -> bool:
    """Return whether Python parses it as JSON, even if stricter parsers do not."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line_of_pair(name: str, value: str) -> str:
    """Format a name and value as one line that `_pair` parses back to the same: with an equals sign, or as JSON."""
    line = f"{name} = {value}"
    try:
        plain = line.isprintable() and _pair(line) == (name, value)
    except ValueError:
        plain = False
    return line if plain else json.dumps({name: value}, ensure_ascii=False)


def _pair(line: str) -> tuple[str, str]:
    if line.startswith("{"):
        found = parse_json(line)
        if len(found) == 1 and isinstance(value := next(iter(found.values())), str):
            return next(iter(found)), value
    else:
        name, parted, value = (part.strip() for part in line.partition("="))
        if name and parted and value:
            return name, value
    raise ValueError(f"“{line[:40]}” needs the form name = value.")


def _lines(typed: str) -> list[str]:
    return [line.strip() for line in typed.split("\n") if line.strip()]


def _integer(setting: Setting, typed: str) -> int | None:
    text = typed.strip().replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20) or not setting.low <= int(text) <= setting.high:
        raise ValueError(f"Enter a whole number from {setting.low:,} to {setting.high:,}.")
    return int(text)


def _word(setting: Setting, typed: str) -> str | None:
    word = typed.strip()
    if not word and setting.default is None:
        return None
    if not word:
        raise ValueError(f"Enter the {setting.label}.")
    if not word.isprintable():
        raise ValueError("Remove the control characters.")
    return word


def _text(setting: Setting, typed: str) -> str:
    if len(typed) > MAX_PROMPT:
        raise ValueError(f"It can have {MAX_PROMPT:,} characters at most, and this has {len(typed):,}.")
    return typed


def _words(setting: Setting, typed: Any) -> list[str]:
    return list(typed) if isinstance(typed, list) else list(dict.fromkeys(_lines(typed)))


def _objects(setting: Setting, typed: str) -> list[Any]:
    return [_member(line) for line in _lines(typed)]


def _flag(setting: Setting, typed: str) -> bool | None:
    return None if not typed else typed == "true"


def _pairs(setting: Setting, typed: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _lines(typed):
        name, value = _pair(line)
        name = _checked_route(name) if setting.name == "channel_routing_overrides" else name
        if name in found:
            raise ValueError(f"{name[:40]} is listed twice.")
        found[name] = value
    return found


def _checked_route(name: str) -> str:
    """Return `channel:sender` as the platform looks it up; WhatsApp and Telegram senders are reduced to digits."""
    kind, parted, sender = (part.strip() for part in name.partition(":"))
    if not (kind and parted and sender):
        raise ValueError(f"{name[:40]}: write the channel, a colon and the sender.")
    if kind in ("whatsapp", "telegram"):
        digits = "".join(char for char in sender if char not in "+ ()-.")
        if not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"{name[:40]}: a sender on {label_of(kind)} has digits only.")
        sender = digits
    return f"{kind}:{sender}"


_READ: Mapping[str, Callable[[Setting, Any], Any]] = {
    "integer": _integer,
    "word": _word,
    "text": _text,
    "words": _words,
    "objects": _objects,
    "flag": _flag,
    "pairs": _pairs,
}
