"""HTML that is drawn without a template."""

from django import forms
from django.template import Context, Template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.escaping import filled


class Form(forms.Form):
    """A field of each way of drawing."""

    place = forms.CharField(widget=forms.HiddenInput)
    name = forms.CharField(label="A < B", help_text="As in <passports>")
    kind = forms.ChoiceField(choices=[("a", "A"), ("b", "B")], required=False)
    agreed = forms.BooleanField(label="Agreed")
    days = forms.MultipleChoiceField(
        choices=[("1", "One")], widget=forms.CheckboxSelectMultiple, required=False, help_text="Any"
    )


def drawn(field, arguments=""):
    return Template(f"{{% load fields %}}{{% field it {arguments} %}}").render(Context({"it": field}))


def test_what_is_not_marked_as_safe_is_escaped_as_format_html_does_it():
    form = Form({})
    for value in ("a<b>&\"c'", SafeString("<i>"), None, 7, form.errors, form["name"]):
        assert filled("<p>{}</p>{it}", value, it=value) == format_html("<p>{}</p>{it}", value, it=value)
        assert isinstance(filled("{}", value), SafeString)


def test_a_hidden_field_is_nothing_but_itself():
    assert drawn(Form()["place"]) == str(Form()["place"])


def test_a_field_has_its_label_help_and_errors():
    field = Form({"name": ""})["name"]
    assert drawn(field) == (
        '<div class="field text"><label for="id_name">A &lt; B</label>'
        f'{field}<p class="help" id="id_name_helptext">As in &lt;passports&gt;</p>{field.errors}</div>'
    )
    assert "This field is required." in drawn(field)
    assert "errorlist" not in drawn(Form({"name": "x"})["name"])


def test_what_may_be_left_out_says_so_unless_told_not_to():
    assert '<div class="field"><label for="id_kind">Kind <span class="optional">(optional)</span></label>' in drawn(
        Form()["kind"]
    )
    assert "optional" not in drawn(Form()["kind"], "optional=False")


def test_the_label_of_a_checkbox_stands_behind_it():
    field = Form()["agreed"]
    assert drawn(field) == f'<div class="field check">{field}<label for="id_agreed">Agreed</label></div>'


def test_several_boxes_are_a_group_with_a_legend():
    shown = drawn(Form()["days"])
    assert shown.startswith(
        '<div class="field text"><fieldset aria-describedby="id_days_helptext"><legend>Days</legend>'
    )
    assert shown.endswith('<p class="help" id="id_days_helptext">Any</p></fieldset></div>')
