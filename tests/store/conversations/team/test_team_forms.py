"""The forms of service levels and groups: the way back to what applies otherwise, and what they refuse."""

import pytest
from django.test import Client

from conversations import groups
from conversations.attention import levels
from tests.answers import text_of
from tests.items import put_conversation
from tests.people import COMPANY, member, signed_in

pytestmark = pytest.mark.pages

LEVELS, GROUPS = f"/team/levels/{COMPANY}/", f"/team/groups/{COMPANY}/"
PROJECT = f"{LEVELS}?project=pi-2"


@pytest.fixture
def lead(store) -> Client:
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber Recruitment"})
    for project_id, name in (("pi-1", "Warehouse"), ("pi-2", "Drivers")):
        put_conversation(store, company_id=COMPANY, project_id=project_id, project_name=name)
    return signed_in(member("anna.berg", "admin"))


def test_a_project_goes_back_to_the_levels_of_its_company(lead):
    assert "Use the company’s levels" not in text_of(lead.get(PROJECT))
    lead.post(LEVELS, {"first_answer": "30", "version": "0"})
    lead.post(PROJECT, {"first_answer": "5", "urgent_words": "court", "version": "0"})
    company = text_of(lead.get(LEVELS))
    assert "<bdi>Drivers</bdi></a> (own levels)" in company
    assert "<bdi>Warehouse</bdi></a>," in company
    page = text_of(lead.get(PROJECT))
    assert f'<a class="btn quiet" href="{LEVELS}">Cancel</a>' in page
    assert "Use the company’s levels" in page
    # What is typed meanwhile, valid or not, does not matter.
    back = lead.post(PROJECT, {"reset": "1", "first_answer": "x", "version": "1"}, follow=True)
    assert "The company’s levels apply now." in text_of(back)
    found = levels.levels_of(COMPANY, "pi-2")
    assert (found.first_answer.total_seconds(), found.urgent_words) == (1800, ())
    assert "(own levels)" not in text_of(lead.get(LEVELS))


def test_an_empty_form_says_that_the_defaults_apply(lead):
    lead.post(LEVELS, {"first_answer": "30", "version": "0"})
    assert "Use the defaults" in text_of(lead.get(LEVELS))
    assert "The defaults apply now." in text_of(lead.post(LEVELS, {"version": "1"}, follow=True))
    assert levels.levels_of(COMPANY) == levels.DEFAULTS
    assert "Use the defaults" not in text_of(lead.get(LEVELS))


def test_levels_that_changed_meanwhile_are_not_put_back_unseen(lead):
    lead.post(LEVELS, {"first_answer": "30", "version": "0"})
    lead.post(LEVELS, {"first_answer": "45", "version": "1"})
    late = lead.post(LEVELS, {"reset": "1", "version": "1"})
    assert late.status_code == 409
    assert "Nothing was changed." in text_of(late)
    assert 'value="45"' in text_of(late)
    assert levels.levels_of(COMPANY).first_answer.total_seconds() == 45 * 60


def test_a_group_needs_a_member(lead):
    answer = lead.post(GROUPS, {"title": "Night team"})
    assert answer.status_code == 422
    assert "Choose at least one member." in text_of(answer)
    assert 'value="Night team"' in text_of(answer)
    assert groups.of_company(COMPANY) == []


def test_a_limit_in_minutes_is_said_in_days_too(lead):
    answer = lead.post(LEVELS, {"first_answer": "43201", "next_answer": "0", "version": "0"})
    assert answer.status_code == 422
    assert "Enter 43,200 minutes (30 days) or less." in text_of(answer)
    assert "Enter 1 or more." in text_of(answer)
