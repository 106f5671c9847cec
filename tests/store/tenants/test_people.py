"""Users of tenants by their ids: all that are in scope, whoever else has one of that id."""

import pytest

from console.errors import Forbidden
from tenants import people
from tenants.people import users_of_id
from tests.support.tenants.items import user
from tests.support.tenants.kit import AGENT, AUDITOR, onboarding

EVERYWHERE = AUDITOR


def owners(known: people.KnownUsers) -> list[str]:
    return [each.tenant_id for each in known.users]


def test_a_user_in_scope_is_found_behind_those_of_other_tenants(store, monkeypatch):
    monkeypatch.setattr(people, "USERS_PER_TENANT", 2)
    store.put_all("TENANTS", [user("robin", f"a-{number}") for number in range(5)])
    store.put_all("TENANTS", [user("robin", "zebra"), user("sam", "yak")])
    with store.calls() as seen:
        known = users_of_id("robin", onboarding("yak", "zebra"))
    assert (owners(known), known.notices) == (["zebra"], ())
    assert [call.operation for call in seen] == ["BatchGetItem"]


def test_it_is_said_where_not_all_were_looked_at(store, monkeypatch):
    monkeypatch.setattr(people, "USERS_PER_TENANT", 2)
    store.put_all("TENANTS", [user("robin", f"a-{number}") for number in range(9)])
    known = users_of_id("robin", EVERYWHERE)
    assert len(owners(known)) == 8
    assert known.notices == ("Searched the first 8 users with that id. There are more.",)
    monkeypatch.setattr(people, "READS_OF_ID", 5)
    known = users_of_id("robin", EVERYWHERE)
    assert (len(owners(known)), known.notices) == (9, ())


def test_without_the_index_an_id_is_found_within_a_scope_alone(store, monkeypatch):
    monkeypatch.setattr(people, "index_ready", lambda *_: False)
    store.put("TENANTS", user("robin", "zebra"))
    assert owners(users_of_id("robin", onboarding("zebra"))) == ["zebra"]
    assert owners(users_of_id("robin", EVERYWHERE)) == []


def test_other_roles_and_ids_that_no_user_can_have_find_nothing(store):
    with pytest.raises(Forbidden):
        users_of_id("robin", AGENT)
    assert users_of_id("x" * 1100, EVERYWHERE) == people.KnownUsers()
