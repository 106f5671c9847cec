"""The company registry, a company's projects by skip-reads, and the command that finds companies."""

import io

import pytest
from django.core.management import CommandError, call_command

from console import clock
from console.permissions import Role, Scope, Staff
from console.search.meanings import MeaningKind
from conversations import companies
from conversations.companies import companies_for, projects_of, register
from conversations.finding.search import COMPANIES
from tests import faults
from tests.items import put_conversation

COMPANY, OTHER = "ci-aaa-001", "ci-bbb-002"


def person(*scope: str) -> Staff:
    return Staff("amira.haddad", "Amira", Role.AGENT, Scope.of(list(scope)))


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("companies", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_companies_in_scope_by_name_take_one_query_and_unknown_ones_are_shown_by_id(store):
    register(COMPANY, "Zebra", "demo", "2026-01-01T00:00:00Z")
    register(OTHER, "apple", "demo", "2026-01-01T00:00:00Z")
    register("ci-ccc-003", "Hidden", "demo", "2026-01-01T00:00:00Z")
    with store.calls() as seen:
        found = companies_for(person(COMPANY, OTHER, "ci-unknown"))
    assert [(each.company_id, each.name) for each in found] == [
        (OTHER, "apple"),
        ("ci-unknown", "ci-unknown"),
        (COMPANY, "Zebra"),
    ]
    assert [(call.operation, call.tables) for call in seen] == [("Query", ("CONSOLE",))]
    assert [each.company_id for each in companies_for(person("*"))] == [OTHER, "ci-ccc-003", COMPANY]


def test_a_company_is_found_by_its_id_in_two_reads_at_most(store):
    register(COMPANY, "Zebra", "demo", "2026-01-01T00:00:00Z")
    put_conversation(store, company_id=OTHER)
    told = []
    for company_id in (COMPANY, OTHER, "ci-unknown"):
        with store.calls() as seen:
            found = COMPANIES.find[MeaningKind.COMPANY](company_id, person("*"))
        told.append(([hit.label for hit in found.hits], [call.operation for call in seen]))
    both = ["GetItem", "Query"]
    assert told == [(["Zebra"], ["GetItem"]), ([OTHER], both), ([], both)]
    with store.calls() as seen:
        assert not COMPANIES.find[MeaningKind.COMPANY](COMPANY, person(OTHER)).hits
    assert not seen


def test_an_empty_scope_reads_nothing(store):
    register(COMPANY, "Zebra", "demo", "2026-01-01T00:00:00Z")
    with store.calls() as seen:
        assert companies_for(person()) == ()
    assert not seen


def test_without_the_registry_the_scope_alone_names_companies(bare_store):
    bare_store.create_tables("CONVERSATIONS")
    assert [each.company_id for each in companies_for(person(COMPANY))] == [COMPANY]


def test_projects_take_one_query_each_and_one_more_whatever_their_size(store):
    for project in ("pi-a", "pi-b", "pi-c"):
        for _ in range(4):
            put_conversation(store, project_id=project, project_name=f"Name of {project}")
    put_conversation(store, company_id=OTHER, project_id="pi-z")
    with store.calls() as seen:
        found = projects_of(COMPANY)
    assert [(each.project_id, each.name) for each in found.projects] == [
        (f"pi-{letter}", f"Name of pi-{letter}") for letter in "abc"
    ]
    assert not found.more
    assert [(call.operation, call.index, call.request["Limit"]) for call in seen] == [
        ("Query", "company-id-project-id-index", 1)
    ] * 4


def test_more_projects_than_are_shown_is_said(store, monkeypatch):
    for number in range(4):
        put_conversation(store, project_id=f"pi-{number}", project_name=...)
    monkeypatch.setattr("conversations.companies.PROJECTS_SHOWN", 3)
    found = projects_of(COMPANY)
    assert [each.name for each in found.projects] == ["pi-0", "pi-1", "pi-2"]
    assert found.more
    monkeypatch.setattr("conversations.companies.PROJECTS_SHOWN", 4)
    assert not projects_of(COMPANY).more


def test_a_project_of_which_all_conversations_are_past_their_ttl_is_gone(store):
    past = clock.to_epoch(clock.now()) - 5
    put_conversation(store, project_id="pi-dead", ttl=past)
    put_conversation(store, project_id="pi-half", ttl=past, primary_channel="+10000000")
    put_conversation(store, project_id="pi-half")
    assert [each.project_id for each in projects_of(COMPANY).projects] == ["pi-half"]


def test_discover_notes_companies_and_is_in_the_trail(store):
    put_conversation(store, company_name=...)
    put_conversation(store, request_id="2")
    put_conversation(store, company_id=OTHER, company_name="Northwind")
    out, err = run("discover")
    assert "2 companies among 3 conversations." in out
    assert "Stopped" not in err
    stored = {item["sk"]: item for item in store.all("CONSOLE")}
    assert stored[COMPANY]["name"] == "Cucumber Recruitment"
    assert stored[OTHER] | {"seen_at": ""} == {
        "pk": "COMPANIES",
        "sk": OTHER,
        "name": "Northwind",
        "source": "discover",
        "seen_at": "",
    }
    (entry,) = store.all("AUDIT")
    assert entry["conversation_id"] == "SYSTEM"
    assert entry["action_type"] == "companies.discovered"
    assert entry["result"] == "success"
    assert (
        '"companies": 2' in entry["action_payload_redacted"] or '"companies": "2"' in entry["action_payload_redacted"]
    )
    assert run("list")[0] == f"{COMPANY}\tCucumber Recruitment\n{OTHER}\tNorthwind\n"


def test_discover_stops_at_its_bound_and_says_so(store):
    for number in range(5):
        put_conversation(store, request_id=str(number))
    with store.calls() as seen:
        out, err = run("discover", "--max-items", "3")
    assert "1 companies among 3 conversations." in out
    assert "there are more" in err
    assert [call.request["Limit"] for call in seen if call.operation == "Scan"] == [3]
    with pytest.raises(CommandError):
        run("discover", "--max-items", "0")


def test_an_older_sighting_does_not_overwrite_a_later_one_and_the_first_source_stays(store):
    assert register(COMPANY, "New", "tenant", "2026-02-01T00:00:00Z")
    assert not register(COMPANY, "Old", "discover", "2026-01-01T00:00:00Z")
    assert register(COMPANY, "", "discover", "2026-03-01T00:00:00Z")
    (stored,) = (item for item in store.all("CONSOLE") if item["pk"] == companies.PARTITION)
    assert (stored["name"], stored["source"], stored["seen_at"]) == ("New", "tenant", "2026-03-01T00:00:00Z")


def test_without_a_trail_nothing_is_noted(store):
    put_conversation(store)
    with faults.refuse("PutItem", code="ResourceNotFoundException", table_key="AUDIT"), pytest.raises(CommandError):
        run("discover")
    assert not store.all("CONSOLE")


def test_a_walk_that_breaks_off_is_in_the_trail_as_failed(store):
    with faults.fail_before("Scan"), pytest.raises(CommandError):
        run("discover")
    (entry,) = store.all("AUDIT")
    assert entry["result"] == "failed: StoreUnavailable"
    assert companies.company_named(COMPANY) is None
