"""How fields are rendered: nothing is cut by the browser, and errors are in the product's own words."""

from decimal import Decimal
from pathlib import Path

import pytest
from django import forms

from console.forms import FilterForm


class Errors(forms.Form):
    """A field for each error that people meet."""

    name = forms.CharField(max_length=40, required=False)
    note = forms.CharField(max_length=2_000, required=False, widget=forms.Textarea)
    minutes = forms.IntegerField(min_value=1, max_value=43_200, required=False)
    amount = forms.DecimalField(min_value=Decimal("0.01"), decimal_places=2, required=False)
    kind = forms.ChoiceField(choices=[("a", "A")], required=False)
    kinds = forms.MultipleChoiceField(choices=[("a", "A")], required=False)
    needed = forms.CharField()
    own = forms.CharField(max_length=3, required=False, error_messages={"max_length": "That is too long for a code."})


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("name", "n" * 60, "20 too many: up to 40 characters."),
        ("note", "n" * 70_000, "68,000 too many: up to 2,000 characters."),
        ("minutes", "0", "Enter 1 or more."),
        ("minutes", "50000", "Enter 43,200 or less."),
        ("amount", "1.234", "Use at most 2 decimals."),
        ("amount", "-1", "Enter 0.01 or more."),
        ("kind", "nope", "Choose one of the listed values."),
        ("kinds", ["nope"], "Choose one of the listed values."),
        ("needed", "", "Fill this in."),
        ("name", "\0", "Remove the characters that are not allowed."),
        ("own", "four", "That is too long for a code."),
    ],
)
def test_an_error_says_what_to_do_in_the_products_words(field, typed, words):
    bound = Errors({"needed": "x", field: typed})[field]
    assert list(bound.errors) == [words]
    assert f"<li>{words}</li>" in str(bound.errors)
    assert f'id="id_{field}_error"' in str(bound.errors)


@pytest.mark.parametrize("field", ["name", "note", "own"])
def test_a_field_never_lets_the_browser_cut_what_is_typed(field):
    assert "maxlength" not in str(Errors()[field])
    assert "maxlength" not in Errors().as_p()


def test_no_template_lets_the_browser_cut_what_is_typed():
    templates = list(Path("templates").rglob("*.html"))
    assert len(templates) > 100
    assert [each.name for each in templates if "maxlength" in each.read_text()] == []


def test_a_filter_that_is_ignored_says_why_in_the_same_words():
    class Filter(FilterForm):
        q = forms.CharField(max_length=5, label="Search")

    form = Filter({"q": "seven chars"})
    assert not form.is_valid()
    assert form.problems == ["Search: 6 too many: up to 5 characters. This filter was ignored."]
