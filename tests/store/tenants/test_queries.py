"""Reading tenants: by pages of the index or of a scope, one by its partition, and whose a channel is."""

import json

import pytest

from console.errors import Forbidden, NotFound, TableMissing
from console.permissions import Role, Scope, Staff
from console.provisioning.definition import create_table_request
from console.store import calls, presence
from tenants.keys import Channel
from tenants.queries import NO_INDEX, list_tenants, load_tenant, owners_of
from tests.support.tenants.items import SETTINGS, mapping, tenant, user

ADMIN = Staff("ada.admin", "Ada", Role.ADMIN, Scope(everything=True))
AUDITOR = Staff("aiko.mori", "Aiko", Role.AUDITOR, Scope(everything=True))
AGENT = Staff("amira.haddad", "Amira", Role.AGENT, Scope(everything=True))


def onboarding(*ids: str) -> Staff:
    return Staff("olga.novak", "Olga", Role.ONBOARDING, Scope(tenants=frozenset(ids)))


def create_without_indexes(store) -> None:
    request = create_table_request("TENANTS")
    del request["GlobalSecondaryIndexes"]
    keys = {each["AttributeName"] for each in request["KeySchema"]}
    request["AttributeDefinitions"] = [
        each for each in request["AttributeDefinitions"] if each["AttributeName"] in keys
    ]
    store.client.create_table(**request)
    presence.forget()


def ids(page) -> list[str]:
    return [row.tenant_id for row in page.rows]


# --- The list -------------------------------------------------------------------------------------------------------


def test_the_list_costs_one_query_however_many_tenants_there_are(store):
    store.put_all("TENANTS", [tenant(f"t{number:03}") for number in range(120)])
    store.put_all("TENANTS", [user("admin", f"t{number:03}") for number in range(120)])
    assert presence.index_ready("TENANTS", "sk-pk-index")
    found, cursor = [], ""
    for _ in range(3):
        with calls.budget(8) as budget:
            page = list_tenants(ADMIN, cursor=cursor)
        assert [(call.operation, call.index) for call in budget.calls] == [("Query", "sk-pk-index")]
        found += ids(page)
        cursor = page.next
    assert cursor == ""
    assert found == [f"t{number:03}" for number in range(120)]


def test_the_list_of_some_tenants_costs_one_batch_and_shows_no_other(store):
    store.put_all("TENANTS", [tenant(f"t{number:03}") for number in range(60)])
    few = onboarding("t003", "t059", "nobody", "ci-aaa-001")
    with calls.budget(8) as budget:
        page = list_tenants(few)
    assert [call.operation for call in budget.calls] == ["BatchGetItem"]
    assert (ids(page), page.next) == (["t003", "t059"], "")
    assert ids(list_tenants(onboarding())) == []

    many = onboarding(*(f"t{number:03}" for number in range(60)), *(f"x{number:03}" for number in range(100)))
    first = list_tenants(many)
    second = list_tenants(many, cursor=first.next)
    assert ids(first) + ids(second) == [f"t{number:03}" for number in range(60)]
    # Somebody else's cursor begins anew.
    assert ids(list_tenants(onboarding("t001"), cursor=first.next)) == ["t001"]


@pytest.mark.parametrize("staff", [ADMIN, onboarding("t0", "t1", "t2")], ids=["all", "some"])
def test_the_list_can_be_narrowed_to_a_status(store, staff):
    for number, status in enumerate(("active", "suspended", "onboarding")):
        store.put("TENANTS", tenant(f"t{number}", status=status))
    assert ids(list_tenants(staff, "suspended")) == ["t1"]


def test_tenants_that_drift_are_rows_with_a_flag(store):
    drifting = [
        tenant("a", name=..., status=..., created_at=..., settings=...),
        tenant("b", name=7, status=["active"], created_at="yesterday") | {"tenant_id": "somebody-else"},
        tenant("c", status="paused"),
    ]
    store.put_all("TENANTS", drifting)
    # Of the same sort key, and no tenant.
    store.put("TENANTS", {"pk": "USER#outlocks", "sk": "META"})
    rows = list_tenants(ADMIN).rows
    assert [(row.tenant_id, row.name, bool(row.flaws)) for row in rows] == [
        ("a", "a", True),
        ("b", "7", True),
        ("c", "C", True),
    ]
    assert "Its item names another id." in rows[1].flaws
    assert rows[1].created_at is None


def test_without_the_index_the_list_says_so_and_a_scope_is_still_listed(bare_store):
    create_without_indexes(bare_store)
    bare_store.put("TENANTS", tenant())
    assert list_tenants(ADMIN).notice == NO_INDEX
    assert ids(list_tenants(onboarding("outlocks"))) == ["outlocks"]


def test_without_the_table_it_is_said(bare_store):
    for staff in (ADMIN, onboarding("outlocks")):
        with pytest.raises(TableMissing):
            list_tenants(staff)


def test_agents_see_no_tenants(store):
    store.put("TENANTS", tenant())
    for ask in (lambda: list_tenants(AGENT), lambda: load_tenant("outlocks", AGENT)):
        with pytest.raises(Forbidden):
            ask()


# --- One tenant -----------------------------------------------------------------------------------------------------


def test_a_tenant_is_read_with_two_queries_beside_its_memories(store):
    store.put_all("TENANTS", [tenant(), user(), user("sam"), mapping(), tenant("other"), user("x", "other")])
    store.put_all("TENANTS", [{"pk": "TENANT#outlocks", "sk": f"MEMORY#sam#s{n}", "summary": "x"} for n in range(30)])
    store.put_all("TENANTS", [{"pk": "TENANT#outlocks", "sk": f"COMPANY#ci-{n}"} for n in range(2)])
    store.put("TENANTS", {"pk": "TENANT#outlocks", "sk": "INVITE#abc", "email": "new@outlocks.example"})
    load_tenant("outlocks", onboarding("outlocks"))
    with calls.budget(8) as budget:
        found = load_tenant("outlocks", onboarding("outlocks"))
    # What index of channels there is, is remembered for a minute.
    assert [call.operation for call in budget.calls] == ["Query", "Query"]
    assert (found.name, found.status, found.settings.known, found.flaws) == ("Outlocks", "active", SETTINGS, ())
    assert [(each.user_id, each.email, each.role) for each in found.users] == [
        ("admin", "admin@outlocks.example", "admin"),
        ("sam", "sam@outlocks.example", "member"),
    ]
    assert found.users[0].identities == (("teams", "aad-id"), ("slack", "U12345"))
    assert [(each.channel, each.in_index) for each in found.channels] == [(Channel("teams", "azure-bot-app-id"), True)]
    assert [each.company_id for each in found.companies] == ["ci-0", "ci-1"]
    assert [(each.sort_key, each.attributes.children[0].text) for each in found.foreign] == [
        ("INVITE#abc", "new@outlocks.example")
    ]


def test_personal_data_of_a_tenant_is_masked_for_auditors(store):
    number = mapping("whatsapp", "+447700900123")
    later = {"preferences": json.dumps({"call": "+447700900123"}), "memory_summary": "Mail a.b@example.org"}
    store.put_all("TENANTS", [tenant(), user(**later), number])
    seen = repr(load_tenant("outlocks", AUDITOR))
    raw = repr(load_tenant("outlocks", ADMIN))
    for secret in ("admin@outlocks.example", "447700900123", "a.b@example.org"):
        assert secret not in seen
        assert secret in raw


@pytest.mark.parametrize("tenant_id", ["nobody", "other", "", "x" * 3000])
def test_what_is_not_there_and_what_is_out_of_scope_are_one_answer(store, tenant_id):
    store.put_all("TENANTS", [tenant(), tenant("other")])
    with pytest.raises(NotFound):
        load_tenant(tenant_id, onboarding("outlocks", "nobody"))


def test_users_and_channels_that_drift_are_flagged_and_shown(store):
    store.put("TENANTS", user("a", role=..., email=5, channel_identities="{"))
    store.put("TENANTS", user("b", role="owner", channel_identities="[]", display_name=...))
    store.put("TENANTS", user("c", channel_identities=json.dumps({"teams": 5})))
    store.put("TENANTS", mapping(gsi1pk=...))
    store.put("TENANTS", mapping("slack", "T1", gsi1pk="CHANNEL#slack#other"))
    found = load_tenant("outlocks", ADMIN)
    assert not found.meta
    assert [(each.user_id, bool(each.flaws)) for each in found.users] == [("a", True), ("b", True), ("c", True)]
    assert [(each.channel.type, each.in_index, bool(each.flaws)) for each in found.channels] == [
        ("slack", False, True),
        ("teams", False, False),
    ]


# --- Whose a channel is ---------------------------------------------------------------------------------------------


def test_a_channel_is_resolved_as_webhooks_do_and_beyond(store):
    guard = {"pk": "CHANNEL#teams#azure-bot-app-id", "sk": "OWNER", "tenant_id": "outlocks"}
    store.put_all("TENANTS", [mapping(), mapping(tenant_id="other", gsi1pk=...), guard])
    found = owners_of(Channel("teams", "azure-bot-app-id"))
    assert (found.found, found.unseen, found.guard) == (("outlocks",), ("other",), "outlocks")
    assert found.tenants == ("outlocks", "other")
    assert owners_of(Channel("teams", "nobody")).tenants == ()
    assert owners_of(Channel("teams", "x" * 3000)).tenants == ()


def test_without_indexes_a_resolution_says_what_it_could_not_ask(bare_store):
    create_without_indexes(bare_store)
    found = owners_of(Channel("teams", "azure-bot-app-id"))
    assert (found.tenants, len(found.unasked)) == ((), 2)
