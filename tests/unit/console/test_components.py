"""Tags of what stands on every page."""

from html.parser import HTMLParser

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.template import Context, Template

from console.trees import tree_of


class Tags(HTMLParser):
    """What HTML says, without its white space."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, sorted(attrs, key=str)))

    def handle_endtag(self, tag):
        self.found.append(f"/{tag}")

    def handle_data(self, data):
        self.found += [data.strip()] if data.strip() else []


class Form(forms.Form):
    """A field of each kind."""

    place = forms.CharField(widget=forms.HiddenInput)
    name = forms.CharField(label="A < B", help_text="As in <passports>")
    kind = forms.ChoiceField(choices=[("a", "A"), ("b", "B")], required=False)
    agreed = forms.BooleanField(label="Agreed")
    days = forms.MultipleChoiceField(
        choices=[("1", "One")], widget=forms.CheckboxSelectMultiple, required=False, help_text="Any"
    )


def rendered(tag, **context):
    return Template(tag).render(Context(context))


def of_field(field, arguments=""):
    return rendered(f"{{% field it {arguments} %}}", it=field)


def test_a_hidden_field_is_nothing_but_itself():
    assert of_field(Form()["place"]) == str(Form()["place"])


def test_a_field_has_its_label_help_and_errors():
    field = Form({"name": ""})["name"]
    assert of_field(field) == (
        '<div class="field text"><label for="id_name">A &lt; B</label>'
        f'{field}<p class="help" id="id_name_helptext">As in &lt;passports&gt;</p>{field.errors}</div>'
    )
    assert "Fill this in." in of_field(field)
    assert "errorlist" not in of_field(Form({"name": "x"})["name"])


def test_what_may_be_left_out_says_so_unless_told_not_to():
    assert '<div class="field"><label for="id_kind">Kind <span class="optional">(optional)</span></label>' in of_field(
        Form()["kind"]
    )
    assert "optional" not in of_field(Form()["kind"], "optional=False")


def test_the_label_of_a_checkbox_stands_behind_it():
    field = Form()["agreed"]
    assert of_field(field) == f'<div class="field check">{field}<label for="id_agreed">Agreed</label></div>'


def test_several_boxes_are_a_group_with_a_legend():
    shown = of_field(Form()["days"])
    assert shown.startswith(
        '<div class="field text"><fieldset aria-describedby="id_days_helptext"><legend>Days</legend>'
    )
    assert shown.endswith('<p class="help" id="id_days_helptext">Any</p></fieldset></div>')


def test_a_state_is_text_whatever_it_holds():
    assert rendered('{% tag it "bad" "lock" it %}', it="<b>{{ 1 }}") == (
        '<span class="tag bad" title="&lt;b&gt;{{ 1 }}"><svg class="icon" aria-hidden="true">'
        '<use href="/static/icons.svg#lock"></use></svg>&lt;b&gt;{{ 1 }}</span>'
    )
    assert rendered("{% tag it %}", it=7) == '<span class="tag">7</span>'


@pytest.mark.parametrize("value", ["c", "a'b", "gone", None])
def test_a_select_says_what_djangos_says(value):
    attrs = {"id": "id_zone", "required": True, "aria-describedby": "help", "disabled": False}
    select = forms.Select(choices=[("UTC", "UTC"), ("Europe <&>", [("a'b", "A & B"), ("c", "C")]), (4, "D")])
    ours, theirs = (select.render("zone", value, attrs, each) for each in (None, DjangoTemplates()))
    assert Tags(ours).found == Tags(theirs).found


def test_a_tree_shows_each_kind_of_value_and_escapes_what_is_stored():
    value = {"<b>": "<i>x</i>", "n": 1, "none": None, "list": [True, []], "empty": {}}
    html = Template("{% tree node %}").render(Context({"node": tree_of(value)}))
    assert (
        Tags(html).found
        == Tags(
            '<ul class="tree"><li><details open><summary><span class="kind">5 fields</span></summary><ul>'
            '<li><span class="key">&lt;b&gt;:</span> <bdi class="string">&lt;i&gt;x&lt;/i&gt;</bdi></li>'
            '<li><span class="key">n:</span> <bdi class="number">1</bdi></li>'
            '<li><span class="key">none:</span> <bdi class="null">null</bdi></li>'
            '<li><details open><summary><span class="key">list</span> <span class="kind">2 items</span></summary><ul>'
            '<li><bdi class="boolean">true</bdi></li><li><span class="kind">empty</span></li></ul></details></li>'
            '<li><span class="key">empty:</span> <span class="kind">empty</span></li></ul></details></li></ul>'
        ).found
    )


def test_attributes_of_a_widget_are_escaped_and_false_ones_left_out():
    widget = {"id": 'a"b', "required": True, "hidden": False, "maxlength": 5}
    html = Template("<input{% attributes widget %}>").render(Context({"widget": widget}))
    assert Tags(html).found == [("input", [("id", 'a"b'), ("maxlength", "5"), ("required", None)])]
