"""What forms of several pages have."""

import pytest
from django import forms
from django.http import HttpResponse
from django.test import RequestFactory

from console.errors import NotFound
from console.forms import KeyField, LookupForm, lookup_forms, lookups_by_name
from console.lookups.lookup_page import answer_lookup
from console.permissions import Role, Scope, Staff


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("ci-aaa-001#1", ""),
        (" ci ", ""),
        ("a\tb", "Remove the characters that are not allowed"),
        ("\ud800", "Remove the characters that are not allowed"),
        ("ü" * 11, "at most 20 bytes"),
        ("x" * 21, "at most 20 bytes"),
        ("", "required"),
    ],
)
def test_a_key_is_what_dynamodb_takes_for_one(typed, problem):
    class Form(forms.Form):
        key = KeyField(label="Key", most=20)

    form = Form({"key": typed})
    assert form.is_valid() == (not problem)
    assert problem in str(form.errors)
    assert problem or form.cleaned_data["key"] == typed.strip()


class One(LookupForm):
    look = "one"
    key = KeyField()


class Other(LookupForm):
    look = "other"
    key = KeyField()


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (None, (None, None, 200)),
        ({"look": "neither"}, (None, None, 400)),
        ({"look": "one", "key": ""}, ("one", None, 200)),
        ({"look": "other", "key": "gone"}, ("other", NotFound, 200)),
        ({"look": "other", "key": "there"}, "/there/"),
    ],
)
def test_a_page_of_look_ups_leads_on_or_says_why_not(data, shown):
    kinds = lookups_by_name(One, Other)

    def lead(form):
        if form.cleaned_data["key"] == "gone":
            raise NotFound
        return f"/{form.cleaned_data['key']}/"

    def show(form, nothing=None, status=200):
        assert set(lookup_forms(kinds, request.staff, form)) == {"one", "other"}
        said.append((form and form.look, nothing and type(nothing), status))
        return HttpResponse()

    said = []
    request = RequestFactory().get("/") if data is None else RequestFactory().post("/", data)
    request.staff = Staff("amira.haddad", "Amira Haddad", Role.AGENT, Scope())
    answer = answer_lookup(request, kinds, lead, show)
    assert (answer["Location"] if answer.status_code == 302 else said[0]) == shown
