"""How every field of a form is rendered: nothing that is typed is cut, and errors are in the product's own words.

`settings.FORM_RENDERER` names `ConsoleRenderer`, so that no form has to do anything for it.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core import validators
from django.core.exceptions import ValidationError
from django.forms import fields
from django.forms.renderers import TemplatesSetting
from django.forms.utils import ErrorList


def _count(number: Any) -> str:
    """Write a limit as people read it; dates and the like as they are."""
    return f"{number:,}" if isinstance(number, int | Decimal) else str(number)


def _too_many(error: Mapping[str, Any]) -> str:
    most, length = error["limit_value"], error["show_value"]
    return f"{length - most:,} too many: up to {most:,} characters."


def _decimals(error: Mapping[str, Any]) -> str:
    return f"Use at most {error['max']} decimal{'' if error['max'] == 1 else 's'}."


# Words by the code of an error, from its parameters.
_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "required": lambda _: "Fill this in.",
    "invalid_choice": lambda _: "Choose one of the listed values.",
    "invalid_list": lambda _: "Choose from the listed values.",
    "max_length": _too_many,
    "min_value": lambda error: f"Enter {_count(error['limit_value'])} or more.",
    "max_value": lambda error: f"Enter {_count(error['limit_value'])} or less.",
    "max_decimal_places": _decimals,
    "null_characters_not_allowed": lambda _: "Remove the characters that are not allowed.",
}


def _stock_messages() -> Iterator[Any]:
    """Yield Django's own messages. A field or validator with words of its own keeps them."""
    for kind in vars(fields).values():
        yield from getattr(kind, "default_error_messages", {}).values()
    for kind in (*vars(validators).values(), validators.DecimalValidator):
        yield getattr(kind, "message", None)
    yield from validators.DecimalValidator.messages.values()


_STOCK = [each for each in _stock_messages() if each is not None]


def reword(error: ValidationError) -> ValidationError:
    """Return a stock error of Django in the product's words, and any other one as it is."""
    if error.code in _WORDS and any(error.message is each for each in _STOCK):
        return ValidationError(_WORDS[error.code or ""](error.params or {}), code=error.code)
    return error


class ConsoleField(forms.BoundField):
    """A field on a page."""

    @property
    def errors(self) -> ErrorList:
        """Return the errors in the product's words."""
        found = super().errors
        words = [reword(each) for each in found.as_data()]
        # `error_class` is the whole class attribute; its constructor adds the first word.
        more = found.error_class.removeprefix("errorlist").strip() or None
        return type(found)(words, more, found.renderer, found.field_id)  # type: ignore[attr-defined]

    def as_widget(self, widget: Any = None, attrs: Any = None, only_initial: bool = False) -> Any:
        """Render the widget without `maxlength`, with which browsers cut what is pasted, and say nothing."""
        return super().as_widget(widget, {"maxlength": False, **(attrs or {})}, only_initial)


class ConsoleRenderer(TemplatesSetting):
    """Django's renderer with the project's templates and `ConsoleField`."""

    bound_field_class = ConsoleField
