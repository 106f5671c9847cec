"""Fields of forms in templates: filters stand on every list, so a field is drawn at once and not by a template."""

from django import template
from django.forms import BoundField
from django.utils.safestring import SafeString

from console.escaping import filled

register = template.Library()

_FIELD = '<div class="field{kind}">{inside}</div>'
_CHECKBOX = '{widget}<label for="{id}">{label}</label>{help}{errors}'
_FIELDSET = "<fieldset{described}><legend>{label}</legend>{widget}{help}{errors}</fieldset>"
_USUAL = '<label for="{id}">{label}{optional}</label>{widget}{help}{errors}'
_OPTIONAL = SafeString(' <span class="optional">(optional)</span>')
_HELP = '<p class="help" id="{}_helptext">{}</p>'


@register.simple_tag(name="field")
def drawn_field(field: BoundField, optional: object = True) -> SafeString:
    """A field with its label, help and errors, as components/_field.html says."""
    widget = field.as_widget()
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
        return filled(_FIELD, kind=kind, inside=filled(_FIELDSET, described=described, **parts))
    said = "" if field.field.required or optional is False else _OPTIONAL
    return filled(_FIELD, kind=kind, inside=filled(_USUAL, id=field.id_for_label, optional=said, **parts))
