"""Users of a tenant: id and email unique, one administrator stays, at once too; other writers' attributes stay."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from console.errors import Forbidden, Invalid, NotFound
from tenants import users
from tenants.models import TenantUser
from tenants.reading import form_digest
from tenants.users import NotUnique, UserChanged, UserValues
from tests.support.tenants.items import user
from tests.support.tenants.kit import AUDITOR, OLGA, kill_at_each_call, of, onboarding, put_tenants, trail

MARA = UserValues("mara", "mara@outlocks.example", "Mara Lindgren", "member", (("slack", "U7"),))


def seen(user_id: str = "admin") -> str:
    return form_digest(TenantUser.get("TENANT#outlocks", f"USER#{user_id}", consistent_read=True))


def changed(user_id: str = "admin", **values: Any) -> UserValues:
    stored = TenantUser.get("TENANT#outlocks", f"USER#{user_id}", consistent_read=True)
    identities = () if "identities" in values else tuple(json.loads(stored.channel_identities or "{}").items())
    now: dict[str, Any] = {
        "email": stored.email,
        "name": stored.display_name,
        "role": stored.role,
    }
    return UserValues(user_id, **(now | {"identities": identities} | values))


def test_an_added_user_is_as_the_schema_has_it(store):
    put_tenants(store)
    users.add("outlocks", MARA, OLGA)
    assert of(store, "outlocks")["USER#mara"] == {
        "pk": "TENANT#outlocks",
        "sk": "USER#mara",
        "user_id": "mara",
        "tenant_id": "outlocks",
        "email": "mara@outlocks.example",
        "display_name": "Mara Lindgren",
        "role": "member",
        "channel_identities": '{"slack": "U7"}',
    }
    assert of(store, "outlocks")["USERS"]["version"] == 1
    assert trail(store) == ["user.added"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (UserValues("admin", "other@outlocks.example", "", "member"), "user_id"),
        (UserValues("ADMIN", "other@outlocks.example", "", "member"), "user_id"),
        (UserValues("other", "Admin@Outlocks.example", "", "member"), "email"),
    ],
)
def test_id_and_email_are_unique_however_spelled(store, values, field):
    put_tenants(store)
    with pytest.raises(NotUnique) as refused:
        users.add("outlocks", values, OLGA)
    assert refused.value.field == field
    assert set(of(store, "outlocks")) == {"META", "USER#admin"}


def test_the_same_email_may_be_used_in_another_tenant(store):
    put_tenants(store)
    users.add("acme", MARA, OLGA)
    users.add("outlocks", MARA, OLGA)
    assert "USER#mara" in of(store, "acme")


def test_two_at_once_with_one_email_are_one_user(store):
    put_tenants(store)
    gate = threading.Barrier(2)

    def add(user_id: str) -> str:
        gate.wait()
        try:
            users.add("outlocks", UserValues(user_id, "same@outlocks.example", "", "member"), OLGA)
        except NotUnique as refused:
            return refused.field
        return "added"

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(add, ("one", "two")))
    assert sorted(told) == ["added", "email"]
    assert len({"USER#one", "USER#two"} & set(of(store, "outlocks"))) == 1


def test_two_administrators_who_remove_each_other_leave_one(store):
    put_tenants(store)
    store.put("TENANTS", user("second", role="admin"))
    marks, gate = {each: seen(each) for each in ("admin", "second")}, threading.Barrier(2)

    def remove(user_id: str) -> str:
        gate.wait()
        try:
            users.remove("outlocks", user_id, marks[user_id], OLGA)
        except Invalid:
            return "refused"
        return "removed"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(remove, marks)) == ["refused", "removed"]
    left = [item for key, item in of(store, "outlocks").items() if key.startswith("USER#")]
    assert [item["role"] for item in left] == ["admin"]


def test_the_last_administrator_is_neither_removed_nor_made_a_member(store):
    put_tenants(store)
    users.add("outlocks", MARA, OLGA)
    with pytest.raises(Invalid, match="last administrator"):
        users.remove("outlocks", "admin", seen(), OLGA)
    with pytest.raises(Invalid, match="last administrator"):
        users.change("outlocks", changed(role="member"), seen(), OLGA)
    assert of(store, "outlocks")["USER#admin"]["role"] == "admin"


def test_a_change_leaves_what_other_writers_keep_there(store):
    put_tenants(store)
    store.put("TENANTS", user("admin", preferences='{"a":1}', memory_summary="likes brevity", theirs=7))
    assert users.change("outlocks", changed(email="new@outlocks.example"), seen(), OLGA)
    stored = of(store, "outlocks")["USER#admin"]
    assert stored["email"] == "new@outlocks.example"
    assert (stored["preferences"], stored["memory_summary"], stored["theirs"]) == ('{"a":1}', "likes brevity", 7)
    # Not even its spelling changed: nobody touched the identities.
    assert stored["channel_identities"] == user("admin")["channel_identities"]


@pytest.mark.parametrize("stored", ['{"teams": {"id": 5}, "slack": "U1"}', '{"slack": [], "teams":  ["\\u0061"]}', ...])
def test_identities_that_nobody_touched_stay_as_they_are_written(store, stored):
    from tenants.queries import load_tenant

    put_tenants(store)
    store.put("TENANTS", user("admin", channel_identities=stored))
    [shown] = load_tenant("outlocks", OLGA).users
    assert users.change("outlocks", UserValues("admin", "x@y.example", "", "admin", shown.identities), shown.seen, OLGA)
    assert of(store, "outlocks")["USER#admin"].get("channel_identities", ...) == stored


@pytest.mark.parametrize("stored", ["{broken", "[1, 2]", ""])
def test_identities_that_the_platform_cannot_read_are_said_and_replaced_by_a_save(store, stored):
    from tenants.queries import load_tenant

    put_tenants(store)
    store.put("TENANTS", user("admin", channel_identities=stored))
    [shown] = load_tenant("outlocks", OLGA).users
    assert "The channel identities are not" in " ".join(shown.flaws)
    assert users.change("outlocks", changed(identities=()), shown.seen, OLGA)
    assert of(store, "outlocks")["USER#admin"]["channel_identities"] == "{}"


def test_an_identity_that_was_typed_leaves_the_others_their_shape(store):
    put_tenants(store)
    store.put("TENANTS", user("admin", channel_identities='{"teams": {"id": 5}, "slack": "U1"}'))
    values = changed(identities=(("teams", "{'id': 5}"), ("slack", "U2")))
    assert users.change("outlocks", values, seen(), OLGA)
    assert json.loads(of(store, "outlocks")["USER#admin"]["channel_identities"]) == {"teams": {"id": 5}, "slack": "U2"}


def test_a_user_whom_somebody_else_changed_is_not_written_over(store):
    put_tenants(store)
    mark = seen()
    store.put("TENANTS", user("admin", email="meanwhile@outlocks.example"))
    with pytest.raises(UserChanged):
        users.change("outlocks", UserValues("admin", "mine@outlocks.example", "", "admin"), mark, OLGA)
    with pytest.raises(UserChanged):
        users.remove("outlocks", "admin", mark, OLGA)
    assert of(store, "outlocks")["USER#admin"]["email"] == "meanwhile@outlocks.example"


def test_nothing_is_written_where_all_is_so_already(store):
    put_tenants(store)
    assert not users.change("outlocks", changed(), seen(), OLGA)
    assert trail(store) == []


def test_personal_data_stay_out_of_the_trail(store):
    put_tenants(store)
    users.add("outlocks", MARA, OLGA)
    users.change("outlocks", changed("mara", email="else@outlocks.example", name="Mara Berg"), seen("mara"), OLGA)
    users.remove("outlocks", "mara", seen("mara"), OLGA)
    assert trail(store) == ["user.added", "user.changed", "user.removed"]
    payloads = " ".join(each["action_payload_redacted"] for each in store.all("AUDIT"))
    assert not [word for word in ("mara@", "else@", "Lindgren", "Berg") if word in payloads]


def test_who_may_not_is_refused(store):
    put_tenants(store)
    with pytest.raises(Forbidden):
        users.add("outlocks", MARA, AUDITOR)
    with pytest.raises(NotFound):
        users.add("outlocks", MARA, onboarding("acme"))
    assert set(of(store, "outlocks")) == {"META", "USER#admin"}


def test_killed_at_any_call_of_adding(store):
    def check(finished: bool) -> None:
        stored = of(store, "outlocks")
        assert ("USER#mara" in stored) == ("USERS" in stored) == (trail(store) == ["user.added"])
        assert not finished or "USER#mara" in stored

    calls = kill_at_each_call(store, lambda: put_tenants(store), lambda: users.add("outlocks", MARA, OLGA), check)
    assert calls >= 3


def test_more_users_than_one_read_holds_are_all_looked_at(store):
    put_tenants(store)
    long = "x" * 60_000
    store.put_all("TENANTS", [user(f"u{number:03}", memory_summary=long) for number in range(40)])
    with pytest.raises(NotUnique):
        users.add("outlocks", UserValues("new", "u039@outlocks.example", "", "member"), OLGA)
