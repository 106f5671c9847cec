"""The list of staff and the rules of who may see and change whom."""

from string import ascii_lowercase

import pytest

from console.errors import Conflict, Invalid, NotFound, StoreUnavailable
from console.permissions import COMPANY as IS_COMPANY
from console.permissions import OPENID_CONNECT, Role, Scope
from console.permissions import TENANT as IS_TENANT
from console.provisioning.definition import create_table_request
from console.staff import directory, known_companies, second_factor, services
from console.staff.directory import (
    AccountAction,
    AccountFilters,
    AccountState,
    check_grant,
    load,
    read_page,
    reason_against,
    within,
)
from tests import faults
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, member
from tests.store.console.staff.conftest import ADMIN
from tests.tables import create

BOTH = [COMPANY, OTHER_COMPANY]


def local(scope=(COMPANY,), username="lena.local"):
    """An administrator of some companies, as services see them."""
    return as_staff(member(username, "admin", scope))


def names(page) -> list[str]:
    return [row.username for row in page.rows]


def walk(staff, filters=AccountFilters()) -> list[list[str]]:  # noqa: B008 frozen
    """The usernames of every page from the first to the last."""
    pages, cursor = [], ""
    while True:
        page = read_page(staff, filters, cursor)
        pages.append(names(page))
        cursor = page.next
        if not cursor:
            return pages


def people(store, count: int, role: str = "agent", scope=(COMPANY,), prefix: str = "p", **more) -> list[str]:
    usernames = [f"{prefix}{number:04}" for number in range(count)]
    items = [
        {
            "username": username,
            "role": role,
            "scope": list(scope),
            "disabled": False,
            "epoch": 1,
            "password_hash": "!",
            "created_at": "2026-01-01T00:00:00.000Z",
            "updated_at": "2026-01-01T00:00:00.000Z",
            **more,
        }
        for username in usernames
    ]
    store.put_all("STAFF", items)
    return usernames


def test_a_page_is_one_query_of_the_index_for_each_role_and_never_a_scan(store):
    ada = as_staff(admin())
    read_page(ada, AccountFilters())
    with store.calls() as calls:
        page = read_page(ada, AccountFilters())
    assert names(page) == ["ada.admin"]
    assert [(call.operation, call.index) for call in calls] == [("Query", "role-index")] * 4
    assert all(call.request["Limit"] == 51 for call in calls)


@pytest.mark.slow
def test_accounts_of_all_roles_stand_in_one_order_page_by_page_each_once(store):
    ada = as_staff(admin())
    expected = ["ada.admin"]
    for role in Role:
        for letter in ascii_lowercase:
            expected += people(store, 2, role.value, prefix=f"{letter}-{role.value}-")
    pages = walk(ada)
    assert [each for page in pages for each in page] == sorted(expected)
    assert [len(page) for page in pages] == [50] * 4 + [9]


def test_one_crowded_role_does_not_hide_the_others(store):
    ada = as_staff(admin())
    agents = people(store, 120, "agent", prefix="m")
    others = people(store, 3, "auditor", prefix="a") + people(store, 3, "onboarding", prefix="z")
    assert [each for page in walk(ada) for each in page] == sorted([*agents, *others, "ada.admin"])


def test_account_that_the_lagging_index_holds_under_two_roles_stands_once_as_it_is_now(store, monkeypatch):
    ada = as_staff(admin())
    old, new = member("amira.haddad"), member("amira.haddad", "auditor")
    new.updated_at = "2999-01-01T00:00:00.000Z"
    lagging = {"agent": [old], "auditor": [new]}
    monkeypatch.setattr(directory, "_query", lambda role, *_: (lagging.get(role, []), False))
    assert [(row.username, row.role) for row in read_page(ada, AccountFilters()).rows] == [("amira.haddad", "auditor")]
    lagging["agent"], lagging["auditor"] = [new], [old]
    assert [row.role for row in read_page(ada, AccountFilters()).rows] == ["auditor"]


def test_exactly_one_full_page_has_no_next(store):
    ada = as_staff(admin())
    people(store, 49)
    page = read_page(ada, AccountFilters())
    assert (len(page.rows), page.next, page.thin) == (50, "", False)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (AccountFilters(prefix="to"), ["tom.becker", "tony"]),
        (AccountFilters(prefix="tom.becker"), ["tom.becker"]),
        (AccountFilters(prefix="to", role="auditor"), ["tony"]),
        (AccountFilters(role="agent"), ["amira", "tom.becker"]),
        (AccountFilters(state="disabled"), ["tom.becker"]),
        (AccountFilters(state="enabled"), ["amira"]),
        (AccountFilters(state="never signed in"), ["ada.admin", "tony"]),
        (AccountFilters(prefix="t", state="enabled"), []),
        (AccountFilters(prefix="tz"), []),
    ],
)
def test_filters_by_beginning_of_username_role_and_state(store, filters, expected):
    ada = as_staff(admin())
    member("amira")
    member("tony", "auditor")
    member("tom.becker")
    store.update("STAFF", {"username": "amira"}, last_sign_in_at="2026-01-02T00:00:00.000Z")
    services.disable("tom.becker", actor=ADMIN)
    assert names(read_page(ada, filters)) == expected


@pytest.mark.slow
def test_filter_that_lets_few_through_reads_within_bounds_and_goes_on(store):
    ada = as_staff(admin())
    people(store, 900, prefix="p")
    store.update("STAFF", {"username": "p0890"}, disabled=True)
    with store.calls() as calls:
        page = read_page(ada, AccountFilters(role="agent", state="disabled"))
    assert (names(page), page.thin, bool(page.next)) == ([], True, True)
    assert sum(call.operation == "Query" for call in calls) == directory.ROUNDS
    assert walk(ada, AccountFilters(role="agent", state="disabled")) == [[], ["p0890"]]


def test_filtered_accounts_of_a_sparse_role_stand_in_order_each_once_beside_a_crowded_one(store):
    """The crowded role is read in several goes, the sparse one reaches past the end of each."""
    ada = as_staff(admin())
    people(store, 450, "agent", prefix="m")
    sparse = people(store, 2, "auditor", prefix="a", disabled=True)
    sparse += people(store, 2, "auditor", prefix="m0300", disabled=True)
    sparse += people(store, 2, "auditor", prefix="z", disabled=True)
    assert [each for page in walk(ada, AccountFilters(state="disabled")) for each in page] == sorted(sparse)


def test_cursor_is_bound_to_the_person_and_the_filters(store):
    ada, eva = as_staff(admin()), as_staff(admin("eva.admin"))
    people(store, 80)
    cursor = read_page(ada, AccountFilters()).next
    first = names(read_page(eva, AccountFilters()))
    assert names(read_page(eva, AccountFilters(), cursor)) == first
    assert names(read_page(ada, AccountFilters(), cursor))[0] > first[-1]
    assert names(read_page(ada, AccountFilters(role="agent"), cursor))[0] == "p0000"
    assert names(read_page(ada, AccountFilters(), "junk")) == first


def test_limited_admin_sees_only_accounts_within_their_scope(store):
    lena = local()
    admin()
    member("inside")
    member("wider", scope=BOTH)
    member("elsewhere", scope=[OTHER_COMPANY])
    member("everywhere", scope=["*"])
    member("nowhere", scope=[])
    assert names(read_page(lena, AccountFilters())) == ["inside", "lena.local"]
    assert read_page(lena, AccountFilters(state="never signed in", prefix="w")).rows == ()


def test_admin_with_nothing_in_scope_sees_nobody_and_costs_no_read(store):
    nobody = local(scope=())
    member("nowhere", scope=[])
    with store.calls() as calls:
        assert read_page(nobody, AccountFilters()).rows == ()
    assert calls == []


def test_row_says_role_scope_state_and_ways_in(store):
    ada = as_staff(admin())
    member("amira.haddad", scope=["d", "b", "a", "c", "e"])
    store.update(
        "STAFF",
        {"username": "amira.haddad"},
        last_sign_in_at="2026-01-02T00:00:00.000Z",
        second_factor_at="2026-01-02T00:00:00.000Z",
        signs_in_with=OPENID_CONNECT,
    )
    row = next(row for row in read_page(ada, AccountFilters()).rows if row.username == "amira.haddad")
    assert (row.name, row.role, row.state) == ("Amira Haddad", "agent", AccountState.ENABLED)
    assert (row.companies, row.more) == ((("a", ""), ("b", ""), ("c", "")), 2)
    assert (row.second_factor, row.company_sign_in) == (True, True)
    assert row.last_sign_in_at is not None


def test_row_of_everything_and_of_nothing_says_so_in_words(store):
    ada = as_staff(admin())
    member("nowhere", scope=[])
    labels = {row.username: (row.scope_label, row.companies) for row in read_page(ada, AccountFilters()).rows}
    assert labels == {"ada.admin": ("all companies", ()), "nowhere": ("nothing in scope", ())}


def test_secrets_are_not_in_the_index_that_the_list_reads(store):
    member("amira.haddad")
    services.issue_password_link("amira.haddad", actor=ADMIN)
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret="sealed", recovery_codes={"a"}, oidc_subject="b")
    [item] = store.client.query(
        TableName=store.name("STAFF"),
        IndexName="role-index",
        KeyConditionExpression="#role = :role",
        ExpressionAttributeNames={"#role": "role"},
        ExpressionAttributeValues={":role": {"S": "agent"}},
    )["Items"]
    assert set(item) == {
        *("username", "role", "display_name", "scope", "time_zone", "disabled", "created_at", "updated_at"),
        "signs_in_with",
    }


def test_absent_index_is_said_and_nothing_is_scanned(bare_store):
    bare_store.create_tables("STAFF_SESSIONS", "AUDIT")
    request = create_table_request("STAFF")
    del request["GlobalSecondaryIndexes"]
    request["AttributeDefinitions"] = [{"AttributeName": "username", "AttributeType": "S"}]
    bare_store.client.create_table(**request)
    ada = as_staff(admin())
    with bare_store.calls() as calls:
        page = read_page(ada, AccountFilters())
    assert (page.index_missing, page.rows) == (True, ())
    assert {call.operation for call in calls} == {"DescribeTable"}


@pytest.mark.parametrize(
    ("scope", "mine", "expected"),
    [
        (["*"], ["*"], True),
        ([], ["*"], True),
        ([COMPANY], ["*"], True),
        ([COMPANY], [COMPANY], True),
        ([COMPANY], BOTH, True),
        (BOTH, [COMPANY], False),
        (["*"], BOTH, False),
        ([], BOTH, False),
        ([], [], False),
        ([COMPANY], [], False),
    ],
)
def test_scope_lies_within_another(store, scope, mine, expected):
    assert within(Scope.of(scope), local(mine)) is expected


@pytest.mark.parametrize("username", ["nobody", "Amira.Haddad", " amira.haddad", "a@b", "x" * 2000, "new", "\x00", ""])
def test_what_is_no_username_is_not_found(store, username):
    ada = as_staff(admin())
    member("amira.haddad")
    with pytest.raises(NotFound):
        load(username, ada)


def test_outside_the_scope_is_the_same_as_absent(store):
    lena = local()
    member("wider", scope=BOTH)
    with pytest.raises(NotFound) as outside:
        load("wider", lena)
    with pytest.raises(NotFound) as absent:
        load("absent", lena)
    assert str(outside.value) == str(absent.value)
    assert load("lena.local", lena).username == "lena.local"


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (["*"], "cannot give all"),
        ([OTHER_COMPANY], OTHER_COMPANY),
        (BOTH, OTHER_COMPANY),
        ([], "at least one"),
        ([f"x{number}" for number in range(9)], "and 4 more"),
    ],
)
def test_limited_admin_gives_only_what_they_have(store, scope, words):
    with pytest.raises(Invalid, match=words):
        check_grant(Scope.of(scope), local())
    check_grant(Scope.of(scope), as_staff(admin()))


def test_limited_admin_may_give_part_of_their_scope(store):
    check_grant(Scope.of([COMPANY]), local(BOTH))


@pytest.mark.parametrize("action", list(AccountAction))
def test_nobody_locks_themselves_out(store, action):
    ada = admin()
    assert "own account" in reason_against(action, ada, as_staff(ada))


def test_reasons_against_a_deed(store):
    ada, amira = as_staff(admin()), member()
    assert reason_against(AccountAction.PASSWORD, amira, ada) == ""
    assert reason_against(AccountAction.DISABLE, amira, ada) == ""
    assert reason_against(AccountAction.END_SESSIONS, amira, ada) == ""
    assert "no second factor" in reason_against(AccountAction.SECOND_FACTOR, amira, ada)
    assert "is enabled" in reason_against(AccountAction.ENABLE, amira, ada)
    amira.totp_secret = "left over"
    assert second_factor.is_on(amira)
    assert reason_against(AccountAction.SECOND_FACTOR, amira, ada) == ""
    amira.disabled = True
    assert "This account is disabled" in reason_against(AccountAction.PASSWORD, amira, ada)
    assert reason_against(AccountAction.ENABLE, amira, ada) == ""
    assert reason_against(AccountAction.DISABLE, amira, ada) == ""  # again, to release what is left
    amira.signs_in_with = OPENID_CONNECT
    assert "no password" in reason_against(AccountAction.PASSWORD, amira, ada)


def test_stale_form_is_a_conflict(store):
    amira = member()
    directory.check_seen(amira, amira.updated_at)
    for seen in ("", "2020-01-01T00:00:00.000Z"):
        with pytest.raises(Conflict, match="in the meantime"):
            directory.check_seen(amira, seen)


def test_known_companies_come_from_every_source_by_name_and_a_failure_is_told(store, monkeypatch):
    def failing(staff):
        raise StoreUnavailable

    monkeypatch.setattr(known_companies, "_sources", {})
    known_companies.register(lambda staff: {"t-2": "zeta", "t-1": "Alpha"}, IS_TENANT)
    known_companies.register(failing, IS_COMPANY)
    known = known_companies.known_to(as_staff(admin()))
    assert (list(known.names), known.failed) == (["tenant:t-1", "tenant:t-2"], True)


def test_account_changed_between_look_and_write_is_left_alone(store):
    """An account that was given more than its administrator has, at that very moment, is not theirs to change."""
    member("amira.haddad")
    seen = load("amira.haddad", local())

    def meanwhile():
        services.change("amira.haddad", role=Role.ADMIN, scope=["*"], actor=ADMIN)

    for act in (
        lambda: services.issue_password_link(seen, actor=ADMIN),
        lambda: services.disable(seen, actor=ADMIN),
        lambda: services.remove_second_factor(seen, actor=ADMIN),
        lambda: services.change(seen, scope=[f"company:{OTHER_COMPANY}"], actor=ADMIN),
    ):
        seen.second_factor_at = "2026-01-01T00:00:00.000Z"
        with faults.before("TransactWriteItems", meanwhile), pytest.raises(Conflict):
            act()
    after = store.get("STAFF", username="amira.haddad")
    assert (after["role"], after["scope"], after["disabled"]) == ("admin", ["*"], False)
    assert "password_link_hash" not in after


def test_rows_name_companies_that_are_known(store, monkeypatch):
    monkeypatch.setattr(known_companies, "_sources", {lambda staff: {"a": "Alpha", "b": "b"}: IS_COMPANY})
    member("amira.haddad", scope=["c", "b", "a"])
    row = next(row for row in read_page(as_staff(admin()), AccountFilters()).rows if row.username == "amira.haddad")
    assert row.companies == (("a", "Alpha"), ("b", ""), ("c", ""))


def test_without_the_index_of_roles_only_usernames_can_be_entered(bare_store):
    create(bare_store, "STAFF", GlobalSecondaryIndexes=None)
    assert directory.username_of("Lena Local") == "lena.local"
    with pytest.raises(Invalid, match="Names cannot be looked up in this environment"):
        directory.username_of("José")
