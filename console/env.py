"""Typed settings from the environment; values that cannot be read are collected for the system checks."""

import math
from typing import Any

import environ

_FALSE = ("false", "off", "n", "no", "0", "")
# The class defines methods named `int` and `float`, which would shadow the types in its annotations.
_Bound = float | None


class StrictEnv(environ.FileAwareEnv):
    """A strict django-environ reader that never raises, so that one start reports every problem.

    `unreadable` maps each missing or malformed setting to what is wrong with it; the setting then has its default, or
    "" without one. A value that begins with "$" is taken literally, not as the name of another variable.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: dict[str, str] = {}

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        """Return the value of a setting, cast to the type that settings.py requests."""
        is_required = default is self.NOTSET
        try:
            raw = self.ENVIRON.get(var, "" if is_required else None)
        except (OSError, UnicodeDecodeError):
            self.unreadable[var] = f"is in a file that cannot be read: {var}_FILE"
            return "" if is_required else default
        if raw is None:
            return default
        if wrong := "must be set" if is_required and not raw else _validation_error(raw, cast):
            self.unreadable[var] = wrong
            return "" if is_required else default
        return float(raw) if cast is float else self.parse_value(raw, cast)

    def int(self, var: Any, default: Any = environ.Env.NOTSET, least: _Bound = None, most: _Bound = None) -> Any:
        """Return a whole number between `least` and `most`."""
        return self._within(var, super().int(var, default), default, least, most)

    def float(self, var: Any, default: Any = environ.Env.NOTSET, least: _Bound = None) -> Any:
        """Return a number of at least `least`."""
        return self._within(var, super().float(var, default), default, least, None)

    def _within(self, var: Any, value: Any, default: Any, least: _Bound, most: _Bound) -> Any:
        if least is not None and value < least:
            self.unreadable[var] = f"must be {least} or more"
        elif most is not None and value > most:
            self.unreadable[var] = f"must be {most} or less"
        else:
            return value
        return default

    def str(self, var: Any, default: Any = environ.Env.NOTSET, multiline: bool = False, choices: Any = None) -> Any:
        """Return a text; with `choices`, one of them."""
        value = super().str(var, default, multiline)
        if not choices or value in choices or value == default:
            return value
        self.unreadable[var] = f"must be one of {', '.join(choices)}"
        return default


def _validation_error(raw: str, cast: Any) -> str:
    if cast is bool and raw.strip().lower() not in (*environ.Env.BOOLEAN_TRUE_STRINGS, *_FALSE):
        return "must be true or false"
    if cast in (int, float):
        try:
            return "" if math.isfinite(cast(raw)) else "must be a number"
        except ValueError:
            return "must be a whole number" if cast is int else "must be a number"
    return ""
