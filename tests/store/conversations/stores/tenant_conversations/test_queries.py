"""Reading tenants' conversations: a page by one Query without messages, one by one GetItem, nothing out of scope."""

import pytest

from console.errors import Forbidden, NotFound, StoreUnavailable, TableMissing
from console.permissions import Role
from console.refs import seal
from console.staff.known_companies import is_in_use
from conversations.stores.tenant_conversations.reading import reference_of
from conversations.stores.tenant_conversations.services import list_conversations, load
from tests import faults
from tests.support.conversations.stores.tenant_conversations.kit import ADMIN, AUDITOR, REF, TENANT, item, staff


def test_a_page_is_one_query_of_three_attributes_in_the_keys_order(store):
    store.put_all("TENANT_CONVERSATIONS", [item(f"conv-{number:03}") for number in range(120)])
    store.put("TENANT_CONVERSATIONS", item("conv-000", pk="other"))
    found, cursor = [], ""
    for _ in range(3):
        with store.calls() as seen:
            page = list_conversations(TENANT, AUDITOR, cursor)
        [call] = seen
        assert call.operation == "Query"
        names = {
            call.request["ExpressionAttributeNames"][each] for each in call.request["ProjectionExpression"].split(", ")
        }
        assert names == {"pk", "sk", "updated_at", "ttl"}
        found += [item.sk for item in page.items]
        cursor = page.next
    assert found == [f"conv-{number:03}" for number in range(120)]
    assert (page.next, len(list_conversations(TENANT, AUDITOR, page.back).items)) == ("", 50)


def test_what_has_expired_is_listed_until_it_is_removed(store):
    store.put_all("TENANT_CONVERSATIONS", [item("a", ttl=1_700_000_000), item("b")])
    assert [item.sk for item in list_conversations(TENANT, ADMIN).items] == ["a", "b"]


def test_a_cursor_is_of_one_person_and_tenant(store):
    store.put_all("TENANT_CONVERSATIONS", [item(f"conv-{number:03}") for number in range(60)])
    store.put_all("TENANT_CONVERSATIONS", [item(f"conv-{number:03}", pk="other") for number in range(60)])
    cursor = list_conversations(TENANT, ADMIN).next
    assert list_conversations(TENANT, ADMIN, cursor).items[0].sk == "conv-050"
    assert list_conversations(TENANT, AUDITOR, cursor).items[0].sk == "conv-000"
    assert list_conversations("other", ADMIN, cursor).items[0].sk == "conv-000"


def test_one_is_read_by_one_consistent_read(store):
    store.put("TENANT_CONVERSATIONS", item())
    with store.calls() as seen:
        assert load(TENANT, REF, staff(Role.AUDITOR, TENANT)).sk == "conv-abc-123"
    assert [(call.operation, call.request["ConsistentRead"]) for call in seen] == [("GetItem", True)]


@pytest.mark.parametrize(
    ("tenant_id", "reference"),
    [
        (TENANT, reference_of("other", "conv-abc-123")),
        (TENANT, reference_of(TENANT, "nothing-there")),
        (TENANT, REF[:-4] + "AAAA"),
        (TENANT, seal("conversation", TENANT, "conv-abc-123")),
        (TENANT, seal("tenant-conversation", TENANT)),
        (TENANT, "x"),
        ("other", reference_of("other", "conv-abc-123")),
        ("x" * 3000, reference_of("x" * 3000, "conv-abc-123")),
        ("", reference_of("", "conv-abc-123")),
    ],
)
def test_all_that_is_not_for_that_person_is_not_there(store, tenant_id, reference):
    store.put_all("TENANT_CONVERSATIONS", [item(), item(pk="other")])
    reader = staff(Role.AUDITOR, TENANT, "x" * 3000)
    with store.calls() as seen, pytest.raises(NotFound):
        load(tenant_id, reference, reader)
    # Only what could be there is looked for.
    assert len(seen) == (reference == reference_of(TENANT, "nothing-there"))


@pytest.mark.parametrize("role", [Role.AGENT, Role.ONBOARDING])
def test_who_may_not_read_both_reads_nothing(store, role):
    store.put("TENANT_CONVERSATIONS", item())
    with store.calls() as seen:
        for ask in (lambda: list_conversations(TENANT, staff(role)), lambda: load(TENANT, REF, staff(role))):
            with pytest.raises(Forbidden):
                ask()
    assert not seen


def test_an_absent_table_is_said(bare_store):
    for ask in (lambda: list_conversations(TENANT, ADMIN), lambda: load(TENANT, REF, ADMIN)):
        with pytest.raises(TableMissing):
            ask()


# --- Whether an id is in use ----------------------------------------------------------------------------------------


def test_an_id_with_any_conversation_is_in_use(store):
    store.put_all("TENANT_CONVERSATIONS", [item(), item("other"), item(pk="expired", ttl=1_700_000_000)])
    assert [each for each in (TENANT, "expired", "outlock", "nobody") if is_in_use(each)] == [TENANT, "expired"]


def test_whether_an_id_is_in_use_is_one_query_of_one_key_at_most(store):
    store.put_all("TENANT_CONVERSATIONS", [item(f"conv-{number}", "x" * 100_000) for number in range(3)])
    with store.calls() as seen:
        assert is_in_use(TENANT)
    [call] = [each for each in seen if each.tables == ("TENANT_CONVERSATIONS",)]
    assert (call.operation, call.request["Limit"], call.request["ConsistentRead"]) == ("Query", 1, True)
    assert call.request["ProjectionExpression"] == "pk"


def test_without_the_table_nothing_of_an_id_is_in_use(bare_store):
    assert not is_in_use(TENANT)


def test_a_failing_table_leaves_open_whether_an_id_is_in_use(store):
    with (
        faults.fail_before("Query", table_key="TENANT_CONVERSATIONS", times=faults.ALWAYS),
        pytest.raises(StoreUnavailable),
    ):
        is_in_use(TENANT)
