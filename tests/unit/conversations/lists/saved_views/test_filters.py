"""What a saved view keeps: listed values and ids, never a text in which somebody's number or name could stand."""

import pytest

from console.errors import Invalid
from conversations.lists.forms import CompanyListFilter
from conversations.lists.saved_views.records import FilteredList, address_of, check, describe, known_filters
from conversations.queue.form import QueueForm
from conversations.queue.pages import mark_of_reason

QUEUE, CONVERSATIONS = FilteredList.QUEUE, FilteredList.CONVERSATIONS
WHOLE_QUEUE = {
    "tab": "attention",
    "company": "ci-aaa-001",
    "project": "pi-1",
    "channel": "sms",
    "reason": mark_of_reason("wants a person"),
    "group": "a1b2c3d4e5f6",
    "waited": "1h",
}
WHOLE_LIST = {
    "company": "ci-aaa-001",
    "project": "pi-1",
    "status": "is:failed",
    "channel": "email",
    "hand_off": "held",
    "task": "0",
    "order": "project",
}


@pytest.mark.parametrize(("of", "filters"), [(QUEUE, WHOLE_QUEUE), (CONVERSATIONS, WHOLE_LIST)])
def test_every_filter_of_a_list_can_be_kept_and_reads_as_before(of, filters):
    assert check(of, dict(reversed(filters.items()))) == filters
    assert list(check(of, dict(reversed(filters.items())))) == list(filters)
    assert all(describe(filters, {}))


def test_no_filter_of_the_forms_is_forgotten():
    """A new filter is either kept, or left out here with its reason."""
    assert set(QueueForm.base_fields) == set(WHOLE_QUEUE)
    assert set(CompanyListFilter.base_fields) | {"company", "project"} == set(WHOLE_LIST)


@pytest.mark.parametrize(
    ("of", "name", "value"),
    [
        *((QUEUE, name, "447700900123") for name in ("tab", "channel", "reason", "waited")),
        *((CONVERSATIONS, name, "447700900123") for name in ("status", "channel", "hand_off", "task", "order")),
        (CONVERSATIONS, "status", "called Rory Smith"),
        (QUEUE, "recipient", "447700900123"),
        (QUEUE, "page", "x"),
        (QUEUE, "company", "x" * 201),
        (QUEUE, "company", "a\nb"),
        (QUEUE, "project", "\ud800"),
        (QUEUE, "waited", 7),
        (QUEUE, "waited", ["1h"]),
        (QUEUE, "waited", None),
    ],
)
def test_what_is_not_listed_is_not_kept(of, name, value):
    with pytest.raises(Invalid, match="cannot keep this value"):
        check(of, {"company": "ci-aaa-001", "channel": "sms", name: value})


@pytest.mark.parametrize(
    ("of", "filters"),
    [
        (QUEUE, {}),
        (QUEUE, {"tab": "mine"}),
        (CONVERSATIONS, {"company": "ci-aaa-001", "project": "pi-1"}),
        (CONVERSATIONS, {"status": "is:failed"}),
    ],
)
def test_a_view_needs_a_filter_and_one_of_a_list_its_company(of, filters):
    with pytest.raises(Invalid, match="first"):
        check(of, filters)


def test_an_address_gives_the_filters_of_its_list_and_nothing_else():
    assert known_filters(QUEUE, {"waited": "1h", "page": "x", "tab": "mine", "status": "y", "company": ""}) == {
        "tab": "mine",
        "waited": "1h",
    }


def test_the_address_is_as_the_list_spells_it():
    assert address_of(QUEUE, {"tab": "mine", "company": "a&b"}) == "/queue/?tab=mine&company=a%26b"
    company = {"company": "ci a", "status": "is:failed"}
    assert address_of(CONVERSATIONS, company) == "/conversations/companies/ci%20a/?status=is%3Afailed"
    project = {"company": "c", "project": "p", "task": "1"}
    assert address_of(CONVERSATIONS, {"project": "p"}) == "/conversations/"
    assert address_of(CONVERSATIONS, project) == "/conversations/companies/c/projects/p/?task=1"


def test_filters_are_said_in_words():
    words = describe(WHOLE_QUEUE, {"ci-aaa-001": "Cucumber"})
    assert words == [
        *("Needs attention", "Cucumber", "project pi-1", "SMS", "one reason", "one group", "waiting over an hour")
    ]
    assert describe({"task": "0", "order": "project", "hand_off": "ai", "status": "is:failed"}, {}) == [
        *("task: not complete", "By project", "hand-off: with the AI", "status: failed")
    ]
