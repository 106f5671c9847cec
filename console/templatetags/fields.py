"""Fields of forms in templates: filters stand on every list, so a field is drawn at once and not by a template.

On the page of a refused form the focus is on what is to be corrected, and the title says so: without scripts too.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django import template
from django.forms import BaseForm, BaseFormSet, BoundField
from django.template import Context
from django.utils.safestring import SafeString

from console.escaping import filled, joined

register = template.Library()

_FIELD = '<div class="field{kind}">{inside}</div>'
_CHECKBOX = '{widget}<label for="{id}">{label}</label>{help}{errors}'
_FIELDSET = "<fieldset{described}{focus}><legend>{label}</legend>{widget}{help}{errors}</fieldset>"
_USUAL = '<label for="{id}">{label}{optional}</label>{widget}{help}{errors}'
_OPTIONAL = SafeString(' <span class="optional">(optional)</span>')
_HELP = '<p class="help" id="{}_helptext">{}</p>'
_FOCUS = SafeString(' tabindex="-1" autofocus')
_NONFIELD = '<div role="alert"><ul class="errorlist nonfield">{}</ul></div>'
_SUMMARY = (
    '<div class="notice bad errors" role="group" aria-labelledby="errors-title"{}><div>'
    '<b id="errors-title">{} fields are to be corrected.</b><ul>{}</ul></div></div>'
)
_LINK = '<li><a href="#{}">{}{}</a>: {}</li>'

# What a context names a refusal that is none of a form's.
_REFUSALS = ("problem", "stale")


@register.simple_tag(name="field", takes_context=True)
def drawn_field(context: Context, field: BoundField, optional: object = True) -> SafeString:
    """A field with its label, help and errors, as components/_field.html says."""
    focused = bool(field.errors) and not field.is_hidden and _takes_focus(context)
    widget = field.as_widget(attrs=_autofocus(context, field, focused and not field.use_fieldset))
    if field.is_hidden:
        return widget
    parts: dict[str, object] = {
        "widget": widget,
        "label": field.label,
        "help": filled(_HELP, field.auto_id, field.help_text) if field.help_text else "",
        "errors": field.errors if field.errors else "",
    }
    if field.widget_type == "checkbox":
        return filled(_FIELD, kind=" check", inside=filled(_CHECKBOX, id=field.id_for_label, **parts))
    kind = "" if field.widget_type in ("select", "drawnselect") else " text"
    if field.use_fieldset:
        described = filled(' aria-describedby="{}"', field.aria_describedby) if field.aria_describedby else ""
        inside = filled(_FIELDSET, described=described, focus=_FOCUS if focused else "", **parts)
        return filled(_FIELD, kind=kind, inside=inside)
    # A field that is needed at times says itself when.
    plain = field.field.required or optional is False or hasattr(field.field, "says_when")
    said = "" if plain else _OPTIONAL
    return filled(_FIELD, kind=kind, inside=filled(_USUAL, id=field.id_for_label, optional=said, **parts))


@register.simple_tag(name="form_errors", takes_context=True)
def drawn_errors(context: Context, form: Any) -> SafeString:
    """What is wrong with a form as a whole, and links to its fields where several are to be corrected."""
    whole = form.non_field_errors() if isinstance(form, BaseForm) else ()
    drawn = [filled(_NONFIELD, joined(filled("<li>{}</li>", each) for each in whole))] if whole else []
    bad = list(_bad_fields(form))
    if len(bad) > 1 and _is_sent(context):
        links = joined(_link(field, where) for field, where in bad)
        drawn.append(filled(_SUMMARY, _FOCUS if _takes_focus(context) else "", len(bad), links))
    return joined(drawn)


@register.simple_tag(name="error_mark", takes_context=True)
def mark_of_errors(context: Context) -> str:
    """What a title begins with where what was sent is refused: it is what a screen reader says first."""
    if not _is_sent(context):
        return ""
    shown: Any = context.flatten()
    refused = any(shown.get(name) for name in _REFUSALS) or any(map(_has_errors, _forms(shown.values())))
    return "Error: " if refused else ""


def _forms(values: Iterable[Any]) -> Iterator[Any]:
    """The forms among values of a context, with those in a dict and in what asks a question."""
    for value in values:
        if isinstance(value, BaseForm | BaseFormSet):
            yield value
        elif isinstance(value, dict):
            yield from (each for each in value.values() if isinstance(each, BaseForm))
        elif isinstance(form := getattr(value, "form", None), BaseForm):
            yield form


def _has_errors(form: Any) -> bool:
    return form.is_bound and bool(any(form.errors) or (getattr(form, "rows", None) and any(form.rows.errors)))


def _bad_fields(form: Any, where: str = "") -> Iterator[tuple[BoundField, str]]:
    """The fields to be corrected, in order, with where they stand in rows."""
    if isinstance(form, BaseFormSet):
        for number, row in enumerate(form.forms, 1):
            yield from _bad_fields(row, f", row {number}")
        return
    yield from ((form[name], where) for name in form.fields if name in form.errors and not form[name].is_hidden)
    if rows := getattr(form, "rows", None):
        yield from _bad_fields(rows)


def _link(field: BoundField, where: str) -> SafeString:
    # A group of choices has no id of its own: its first one has.
    target = f"{field.auto_id}_0" if field.use_fieldset else field.id_for_label
    return filled(_LINK, target, field.label, where, " ".join(map(str, field.errors)))


def _is_sent(context: Context) -> bool:
    request = getattr(context, "request", None)
    return request is not None and request.method == "POST"


def _takes_focus(context: Context) -> bool:
    """Whether this is the first on the page of what was sent that is to be corrected."""
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
