"""Template tags and filters of every page: icons, states, form fields, and times in the person's zone.

Their HTML is in templates/components/. On the page of a refused form the first wrong field has the focus, and the
title says that there is an error, even without scripts. Nothing that is typed into a field is cut, and errors are in
the product's own words: `settings.FORM_RENDERER` names `ConsoleRenderer`, so that no form has to do anything for it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.core import validators
from django.core.exceptions import ValidationError
from django.core.files.storage import storages
from django.forms import BaseForm, BaseFormSet, BoundField, fields
from django.forms.renderers import TemplatesSetting
from django.forms.utils import ErrorList, flatatt
from django.template import Context
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console import charts, clock
from console.permissions import Staff
from console.trees import Node

register = template.Library()

# Names in a context for a refusal that does not come from a form.
_REFUSALS = ("problem", "stale")


@register.simple_tag
def icon(name: str, small: bool = False, alt: str = "") -> str:
    """Render an icon of static/icons.svg. name: its id; small: 14 px instead of 18; alt: its text alternative, only if
    there is no text beside it.
    """
    return _rendered(storages["staticfiles"], "components/_icon.html", name=str(name), small=small, alt=str(alt))


@register.simple_tag
def tag(text: object, tone: str = "", icon_name: str = "", title: object = "", most: int = 0) -> str:
    """Render a state in a word. tone: human (amber), ai (violet), bad, good or nothing; title: more words on hover;
    most: cut the text to this many characters, and show all of it on hover.
    """
    said = {"text": str(text), "tone": tone, "icon_name": icon_name, "title": str(title), "most": most}
    return _rendered(storages["staticfiles"], "components/_tag.html", **said)


# A page has hundreds of tags and icons, but few different ones. `storage` is in the cache key because it determines
# the URL of the icons, and settings can change it.
@lru_cache(maxsize=2048)
def _rendered(storage: object, template_name: str, **said: str | int) -> str:
    return render_to_string(template_name, said)


@register.simple_tag
def tree(root: Node) -> SafeString:
    """Render JSON as nested lists, in Python: a page has hundreds of nodes, and a template for each takes most of its
    time.
    """
    return format_html('<ul class="tree">{}</ul>', _branch(root))


def _size_of(node: Node) -> str:
    """Return how much an object or a list has, in words."""
    count, one = len(node.children), "field" if node.kind == "object" else "item"
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def _branch(node: Node) -> SafeString:
    if node.children:
        key = "" if node.key is None else format_html('<span class="key">{}</span> ', node.key)
        inner = format_html_join("", "{}", ((_branch(each),) for each in node.children))
        return format_html(
            '<li><details open><summary>{}<span class="kind">{}</span></summary><ul>{}</ul></details></li>',
            *(key, _size_of(node), inner),
        )
    key = "" if node.key is None else format_html('<span class="key">{}:</span> ', node.key)
    if node.kind in ("object", "list"):
        return format_html('<li>{}<span class="kind">empty</span></li>', key)
    text = "null" if node.kind == "null" else node.text
    return format_html('<li>{}<bdi class="{}">{}</bdi></li>', key, node.kind, text)


@register.simple_tag
def attributes(of_widget: dict[str, Any]) -> SafeString:
    """Render the attributes of a form's widget."""
    return flatatt(of_widget)


@register.simple_tag
def asset(path: str) -> str:
    """Return the URL of a static file like `{% static %}`, cached because a page has a dozen."""
    return _address(storages["staticfiles"], path)


@lru_cache(maxsize=128)
def _address(storage: object, path: str) -> str:
    return str(storage.url(path))  # type: ignore[attr-defined]


@register.inclusion_tag("components/_field.html", name="field", takes_context=True)
def field_of_form(context: Context, field: BoundField, optional: object = True) -> dict[str, Any]:
    """Render a field with its label, help and errors; `optional=False` hides the word "optional"."""
    focused = bool(field.errors) and not field.is_hidden and _takes_focus(context)
    # The help text of a field that is sometimes required says when.
    is_plain = field.field.required or optional is False or hasattr(field.field, "says_when")
    return {
        "field": field,
        "widget": field.as_widget(attrs=_autofocus(context, field, focused and not field.use_fieldset)),
        "focused": focused,
        "optional": not is_plain,
    }


@register.inclusion_tag("components/_form_errors.html", takes_context=True)
def form_errors(context: Context, form: Any) -> dict[str, Any]:
    """Render the errors of a form as a whole, and links to its fields if several are wrong."""
    bad = list(_bad_fields(form))
    is_summed_up = len(bad) > 1 and _is_sent(context)
    return {
        "whole": form.non_field_errors() if isinstance(form, BaseForm) else (),
        "fields": bad if is_summed_up else (),
        "focused": is_summed_up and _takes_focus(context),
    }


@register.simple_tag(takes_context=True)
def error_mark(context: Context) -> str:
    """Return "Error: " for the title of a refused form: screen readers read the title first."""
    if not _is_sent(context):
        return ""
    shown: Any = context.flatten()
    refused = any(shown.get(name) for name in _REFUSALS) or any(map(_has_errors, _forms(shown.values())))
    return "Error: " if refused else ""


def _forms(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the forms in a context's values, in their dicts and in their `form` attributes."""
    for value in values:
        if isinstance(value, BaseForm | BaseFormSet):
            yield value
        elif isinstance(value, dict):
            yield from (each for each in value.values() if isinstance(each, BaseForm))
        elif isinstance(form := getattr(value, "form", None), BaseForm):
            yield form


def _has_errors(form: Any) -> bool:
    return form.is_bound and bool(any(form.errors) or (getattr(form, "rows", None) and any(form.rows.errors)))


def _bad_fields(form: Any, row: int = 0) -> Iterator[tuple[BoundField, int]]:
    """Yield the fields with errors, in order, each with the number of its row (0 for none)."""
    if isinstance(form, BaseFormSet):
        for number, each in enumerate(form.forms, 1):
            yield from _bad_fields(each, number)
        return
    yield from ((form[name], row) for name in form.fields if name in form.errors and not form[name].is_hidden)
    if rows := getattr(form, "rows", None):
        yield from _bad_fields(rows)


def _is_sent(context: Context) -> bool:
    request = getattr(context, "request", None)
    return request is not None and request.method == "POST"


def _takes_focus(context: Context) -> bool:
    """Return whether this field takes the focus: True once per request, for the first wrong field."""
    request = getattr(context, "request", None)
    if not _is_sent(context) or getattr(request, "has_focus", False):
        return False
    request.has_focus = True  # type: ignore[union-attr]
    return True


def _autofocus(context: Context, field: BoundField, focused: bool) -> dict[str, Any] | None:
    if focused:
        return {"autofocus": True}
    usual = field.field.widget.attrs.get("autofocus")
    return {"autofocus": False} if usual and _is_sent(context) and any(_bad_fields(field.form)) else None


def zone_of(staff: Staff | None) -> ZoneInfo:
    """Return the person's zone; UTC until they choose one."""
    return clock.zone_of(staff.time_zone if isinstance(staff, Staff) else "UTC")


def _time(moment: datetime, text: str, *, relative: bool = False) -> SafeString:
    iso = clock.to_iso(moment, "seconds")
    exact = f"{iso[:10]} {iso[11:19]} UTC"
    if relative:
        return format_html('<time datetime="{}" title="{}" data-relative>{}</time>', iso, exact, text)
    return format_html('<time datetime="{}" title="{}">{}</time>', iso, exact, text)


@register.filter
def moment(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show date and time: `19 Nov 2026, 16:02`."""
    return "unknown" if value is None else _time(value, dated(value, staff))


def dated(value: datetime, staff: Staff | None) -> str:
    """Format like `moment`, as plain text."""
    local = value.astimezone(zone_of(staff))
    return f"{local.day} {local:%b %Y, %H:%M}"


@register.filter
def brief(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show a short date and time: `16:02` today, `19 Nov, 16:02` this year."""
    if value is None:
        return "unknown"
    zone = zone_of(staff)
    local, today = value.astimezone(zone), clock.now().astimezone(zone)
    if local.date() == today.date():
        return _time(value, f"{local:%H:%M}")
    year = f" {local.year}" if local.year != today.year else ""
    return _time(value, f"{local.day} {local:%b}{year}, {local:%H:%M}")


@register.filter
def stamp(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show a time that stands on paper: `19 Nov 2026, 16:02:11 CET`."""
    if value is None:
        return "unknown"
    local = value.astimezone(zone_of(staff))
    return _time(value, f"{local.day} {local:%b %Y, %H:%M:%S %Z}")


@register.filter(name="clock")
def clock_time(value: datetime | None, staff: Staff | None = None) -> SafeString | str:
    """Show the time of day: `16:02`."""
    return "" if value is None else _time(value, f"{value.astimezone(zone_of(staff)):%H:%M}")


@register.filter
def day(value: datetime | None, staff: Staff | None = None) -> str:
    """Show a day: `Today`, or `Thursday 19 November` with the year if it is not this one."""
    if value is None:
        return ""
    local = value.astimezone(zone_of(staff))
    today = clock.now().astimezone(zone_of(staff))
    if local.date() == today.date():
        return "Today"
    year = f" {local.year}" if local.year != today.year else ""
    return f"{local:%A} {local.day} {local:%B}{year}"


@register.filter
def ago(value: datetime | None) -> SafeString | str:
    """Show the time since: `12 min`, updated by the browser."""
    return "unknown" if value is None else _time(value, clock.format_span(clock.now() - value), relative=True)


@register.filter
def until(value: datetime | None) -> SafeString | str:
    """Show the time until: `26 days`."""
    return "unknown" if value is None else _time(value, clock.format_span(value - clock.now()))


@register.filter
def span(value: timedelta | None) -> str:
    """Show a length of time: `3 h 12 min`; a dash for none."""
    return "–" if value is None else clock.format_span(value)


@register.filter
def in_unit(value: charts.Number | None, unit: charts.Unit) -> str:
    """Show a number of a chart in its unit: `1,204`, `1 h 10 min`, `$1.20`, `42%`; a dash for none."""
    return charts.format_value(value, unit)


# --- How fields are rendered ------------------------------------------------------------------------------------------


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


class ConsoleField(BoundField):
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
