"""The filters of a review: from an address to what is looked for, and back."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from django.http import QueryDict

from console.audit.events.keys import FORMATS
from console.audit.review.forms import CONVERSATION, KEY, About, AboutForm, group_slugs, review_of
from console.audit.review.page import describe_filters
from console.audit.review.plan import NO_ACTOR_FILTER, Review, action_groups
from console.errors import BadReference
from console.permissions import Role, Scope, Staff
from console.refs import seal, seal_data
from console.trail.actions import HAND_OFF, MIDDLEWARE, Action

AUDITOR = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True), "Europe/London")
LIMITED = Staff("lea.limited", "Lea", Role.AUDITOR, Scope(companies=frozenset({"ci-aaa-001"})), "UTC")
PHONE = "+447700900123"
CONVERSATION_ID = "ci-aaa-001#pi-aaa-001#req-1#447700900123"


def read(query: str, staff: Staff = AUDITOR):
    return review_of(QueryDict(query), staff)


def test_without_filters_nothing_special_is_looked_for():
    form, review, query = read("")
    assert (form.errors, review, query) == ({}, Review(), "")


def test_groups_and_single_action_types_are_joined():
    _, review, _ = read("group=hand-off&action=route&action=hand_off.take")
    assert set(review.actions) == {*HAND_OFF, Action.ROUTE}
    assert len(review.actions) == len(HAND_OFF) + 1


@pytest.mark.slow
def test_every_group_can_be_chosen_and_covers_what_it_says():
    for slug, name in group_slugs().items():
        assert set(read(f"group={slug}")[1].actions) == set(action_groups()[name])
    assert set(group_slugs().values()) == set(action_groups())


def test_every_action_of_the_console_is_in_one_group():
    grouped = [action for actions in action_groups().values() for action in actions]
    assert sorted(grouped) == sorted(Action)


def test_action_types_of_other_services_can_be_chosen(settings):
    settings.AUDIT_ACTION_TYPES = ["crm_sync"]
    assert read("group=other-services")[1].actions == ("crm_sync",)
    assert read("action=crm_sync")[1].actions == ("crm_sync",)


def test_the_middleware_s_types_are_those_that_the_schema_and_its_keys_name():
    by_keys = {each.namespace.removeprefix("act:") for each in FORMATS if each.namespace.startswith("act:")}
    assert set(MIDDLEWARE) == {"route", "tag", "auto_reply", "escalate"} | by_keys - {"hand_off"}


def test_a_type_that_is_offered_can_be_typed_as_well_and_is_then_ticked():
    form, review, query = read("action=tag&other=route,+crm_sync")
    assert review.actions == ("route", "tag", "crm_sync")
    assert [each["value"] for group in form.groups for each in group["single"] if each["checked"]] == ["route", "tag"]
    assert read(query)[1] == review


@pytest.mark.parametrize(("typed", "looked_for"), [("AMIRA.Haddad", "amira.haddad"), ("Acme-Bot", "Acme-Bot")])
def test_an_actor_is_found_as_typed_and_in_small_letters(typed, looked_for):
    assert looked_for in read(f"actor={typed}")[1].actors


def test_the_middleware_is_nobody_however_it_is_typed():
    assert read("actor=Middleware")[1].actor == NO_ACTOR_FILTER


@pytest.mark.parametrize("query", ["action=crm_sync&action=Own.word:2", "other=crm_sync,+Own.word:2"])
def test_any_type_can_be_looked_for_by_its_name(query):
    form, review, again = read(f"action=route&{query}")
    assert review.actions == ("route", "crm_sync", "Own.word:2")
    assert form["other"].value().replace(",", "") == "crm_sync Own.word:2"
    assert again == "action=route&action=crm_sync&action=Own.word%3A2"
    assert read(again)[1] == review
    assert describe_filters(form, review, opened=True) == ("Action types: route, crm_sync, Own.word:2",)


def test_types_typed_twice_or_offered_count_once():
    assert read("other=route+route+crm_sync+crm_sync&action=route&action=crm_sync")[1].actions == ("route", "crm_sync")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("actor=amira.haddad", {"actor": "amira.haddad"}),
        ("actor=+platform+", {"actor": "platform"}),
        ("nobody=on", {"actor": NO_ACTOR_FILTER}),
        ("actor=middleware", {"actor": NO_ACTOR_FILTER}),
        ("actor=middleware&nobody=on", {"actor": NO_ACTOR_FILTER}),
        ("result=conflict", {"result": "conflict"}),
        ("company=ci-aaa-001", {"company": "ci-aaa-001"}),
    ],
)
def test_a_filter_is_what_is_looked_for(query, found):
    form, review, again = read(query)
    assert not form.errors
    assert review == Review(**found)
    assert read(again)[1] == review


@pytest.mark.parametrize(
    ("zone", "since", "until"),
    [
        ("UTC", datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC)),
        # The night in which clocks go forward there: its day has 23 hours.
        ("Europe/London", datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 29, 23, tzinfo=UTC)),
        ("Asia/Tokyo", datetime(2026, 3, 27, 15, tzinfo=UTC), datetime(2026, 3, 29, 15, tzinfo=UTC)),
    ],
)
def test_days_are_the_persons_own_and_both_included(zone, since, until):
    staff = Staff("a", "A", Role.AUDITOR, Scope(everything=True), zone)
    _, review, query = read("since=2026-03-28&until=2026-03-29", staff)
    assert (review.since, review.until) == (since, until)
    assert query == "since=2026-03-28&until=2026-03-29"
    assert read("since=2026-03-29&until=2026-03-29", staff)[0].is_valid()


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("since=2026-03-29&until=2026-03-28", "until", "before the first"),
        ("since=29.3.2026", "since", "valid date"),
        ("until=tomorrow", "until", "valid date"),
        ("since=9999-12-31", "since", "between 2000 and 2100"),
        ("until=0001-01-01", "until", "between 2000 and 2100"),
        ("action=%2A%2A%2A", "other", "This is not an action type"),
        ("other=jo%40example.com", "other", "This is not an action type"),
        ("other=a447700900123", "other", "This is not an action type"),
        ("&".join(f"action=own{number}x" for number in range(11)), "other", "up to 10 unlisted"),
        ("group=nonsense", "group", "Choose one of the listed groups of action types"),
        ("result=nonsense", "result", "Choose one of the listed results"),
        ("actor=%2B447700900123", "actor", "username or a service"),
        ("actor=jo%40example.com", "actor", "username or a service"),
        ("actor=a&nobody=on", "nobody", "Choose either a person or entries that name nobody"),
        ("actor=" + "a" * 201, "actor", "too many: up to 200"),
        ("company=a%00", "company", "Remove the characters"),
    ],
)
def test_what_is_not_understood_is_named_and_left_out(query, field, words):
    form, review, again = read(f"{query}&result=failed" if field != "result" else f"{query}&company=c")
    assert list(form.errors) == [field]
    assert words in str(form[field].errors)
    assert any(words in problem and problem.endswith("This filter was ignored.") for problem in form.problems)
    assert field not in dict(parse_qsl(again))
    assert again, "the other filter stays"
    assert review != Review()


def test_a_company_out_of_scope_is_as_one_that_is_not_there():
    answers = [read(f"company={each}", LIMITED) for each in ("ci-bbb-002", "nonsense")]
    assert {form.errors["company"][0] for form, _, _ in answers} == {"No company in your scope has that name or id."}
    assert {review for _, review, _ in answers} == {Review()}
    assert read("company=ci-aaa-001", LIMITED)[1].company == "ci-aaa-001"


@pytest.mark.parametrize(("what", "field"), [(CONVERSATION, "conversation"), (KEY, "key")])
def test_what_may_hold_a_number_is_sealed_and_kept_beside_the_filters(what, field):
    about = About(what, CONVERSATION_ID)
    _, review, query = read(f"result=failed&about={about.sealed}&page=x")
    assert review == Review(result="failed", **{field: CONVERSATION_ID})
    assert dict(parse_qsl(query)) == {"result": "failed", "about": about.sealed}
    assert "7700900123" not in query
    assert "7700900123" not in about.shown
    assert "7700900123" not in repr(about)


@pytest.mark.parametrize(
    "sealed", ["junk", seal("trail", "c1"), seal_data("about", {"other": "c1"}), seal_data("about", ["c1"])]
)
def test_what_this_console_did_not_seal_is_nothing(sealed):
    with pytest.raises(BadReference):
        read(f"about={sealed}")


def test_the_page_is_no_part_of_the_query_nor_is_anything_unknown():
    assert read("page=abc&nonsense=1&result=failed")[2] == "result=failed"


def test_checkboxes_show_what_is_chosen():
    form = read("group=middleware&action=staff.changed")[0]
    groups = {group["label"]: group for group in form.groups}
    assert [name for name, group in groups.items() if group["checked"]] == ["Middleware"]
    assert [name for name, group in groups.items() if group["is_open"]] == ["Accounts"]
    assert {each["value"] for group in groups.values() for each in group["single"]} >= {*MIDDLEWARE, *HAND_OFF}
    labels = {each["value"]: each["label"] for group in groups.values() for each in group["single"]}
    assert labels["route"] == "Routed"
    assert labels["hand_off.take_from_colleague"] == "Took it from a colleague"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"what": "conversation"}, "Enter an id or a key"),
        ({"what": "nonsense", "value": "c1"}, "Choose one of these"),
        ({"what": "key", "value": "a\tb"}, "Remove the characters that are not allowed"),
        ({"what": "key", "value": "é" * 1500}, "2,048 bytes"),
    ],
)
def test_an_id_or_key_that_cannot_be_one_is_told(typed, words):
    form = AboutForm(typed, AUDITOR)
    assert not form.is_valid()
    assert words in str(form.errors)


def test_an_id_is_taken_as_it_is():
    form = AboutForm({"what": "conversation", "value": f" {CONVERSATION_ID} "}, AUDITOR)
    assert form.is_valid()
    assert form.about() == About(CONVERSATION, CONVERSATION_ID)
