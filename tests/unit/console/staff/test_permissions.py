"""Roles, permissions and scopes."""

from dataclasses import replace
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.access import sets_up_second_factor
from console.errors import Forbidden, StoreUnavailable
from console.permissions import (
    COMPANY,
    ROLE_PERMISSIONS,
    TENANT,
    Permission,
    Role,
    Scope,
    Staff,
    id_of,
    is_reserved,
)
from console.staff.models import StaffAccount

# The table of roles as the product defines it: rows are permissions; a = agent, o = onboarding, u = auditor, A = admin.
TABLE = {
    "conversation:read": "auA",
    "conversation:read-raw": "aA",
    "conversation:hand-off": "aA",
    "conversation:export": "uA",
    "saved-reply:write": "A",
    "team:lead": "A",
    "chat:end": "A",
    "feedback:write": "A",
    "tenant-conversation:clear": "A",
    "pii:reveal": "aoA",
    "tenant:read": "ouA",
    "tenant:write": "oA",
    "channel:write": "oA",
    "user:write": "oA",
    "audit:read": "aouA",
    "audit:review": "uA",
    "audit:export": "uA",
    "insight:read": "uA",
    "staff:manage": "A",
    "system:read": "A",
}
LETTERS = {Role.AGENT: "a", Role.ONBOARDING: "o", Role.AUDITOR: "u", Role.ADMIN: "A"}


def person(role: Role, *scope: str) -> Staff:
    return Staff("somebody", "Somebody", role, Scope.of(scope))


def test_table_names_every_permission_and_role():
    assert set(TABLE) == {permission.value for permission in Permission}
    assert set(LETTERS) == set(Role) == set(ROLE_PERMISSIONS)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("permission", Permission)
def test_role_has_exactly_the_permissions_of_the_table(role, permission):
    allowed = LETTERS[role] in TABLE[permission.value]
    assert person(role).can(permission) is allowed
    if allowed:
        person(role).require(permission)
    else:
        with pytest.raises(Forbidden):
            person(role).require(permission)


def test_empty_scope_covers_nothing():
    scope = Scope.of([])
    assert scope.is_empty
    for owner in ("ci-cuc-001", "", None):
        assert not scope.covers_company(owner)
        assert not scope.covers_tenant(owner)
    assert Scope.of([""]).is_empty


def test_scope_covers_its_ids_only():
    scope = Scope.of(["company:ci-cuc-001", "company:ci-nwe-002"])
    assert scope.covers_company("ci-cuc-001")
    for other in ("ci-cuc-00", "CI-CUC-001", "*", "all", "company:ci-cuc-001"):
        assert not scope.covers_company(other)


def test_a_company_and_a_tenant_of_one_id_are_two_things():
    assert not Scope.of(["tenant:x"]).covers_company("x")
    assert not Scope.of(["company:x"]).covers_tenant("x")


def test_an_old_entry_stands_for_both_until_it_is_confirmed():
    old = Scope.of(["x", "y"])
    assert old.covers_company("x")
    assert old.covers_tenant("x")
    told = old.confirmed({"x": [TENANT], "y": [], "never.had": [COMPANY, TENANT]})
    assert told.stored() == ["tenant:x"]
    assert Scope.of(["*", "x"]).confirmed({"x": [COMPANY]}).everything


def test_an_old_entry_joins_what_the_scope_has():
    old = Scope.of(["x", "company:y", "tenant:z"])
    assert old.confirmed({"x": [COMPANY]}).stored() == ["company:x", "company:y", "tenant:z"]
    assert old.confirmed({"x": [TENANT]}).stored() == ["company:y", "tenant:x", "tenant:z"]


@pytest.mark.parametrize(
    ("entry", "found"), [("company:x", "x"), ("tenant:x", "x"), ("x", "x"), ("company:tenant:x", "tenant:x")]
)
def test_an_entry_names_an_id(entry, found):
    assert id_of(entry) == found


@pytest.mark.parametrize("word", ["all", " ALL ", "*", "company:x", "Tenant:x"])
def test_what_a_scope_means_otherwise_is_no_id(word):
    assert is_reserved(word)
    assert not is_reserved("ci-aaa-001")


@pytest.mark.parametrize("word", ["all", "ALL", "company:", "tenant:*", "**"])
def test_no_word_but_the_star_is_everything(word):
    assert not Scope.of([word]).everything


@pytest.mark.parametrize(
    ("one", "other", "beyond"),
    [
        (["company:x"], ["company:x"], []),
        (["company:x"], ["tenant:x"], ["company:x"]),
        (["x"], ["company:x"], ["x"]),
        (["x"], ["company:x", "tenant:x"], []),
        (["company:x", "tenant:x"], ["x"], []),
        (["*"], ["x"], ["*"]),
        (["x"], ["*"], []),
        (["company:x", "tenant:y", "tenant:z"], ["company:x", "tenant:y"], ["tenant:z"]),
    ],
)
def test_what_a_scope_shows_beyond_another(one, other, beyond):
    assert Scope.of(one).beyond(Scope.of(other)) == beyond


@pytest.mark.parametrize(
    ("entries", "label"),
    [
        ([], "nothing in scope"),
        (["*", "company:x"], "all companies"),
        (["company:x"], "1 company"),
        (["company:x", "company:y", "tenant:x"], "2 companies, 1 tenant"),
        (["tenant:x", "tenant:y", "old"], "2 tenants, 1 company or tenant"),
        (["tenant:x"], "1 tenant"),
    ],
)
def test_a_scope_in_a_few_words(entries, label):
    assert Scope.of(entries).label == person(Role.AGENT, *entries).scope_label == label
    assert Scope.of(entries).is_empty is (not entries)


def test_the_star_is_no_id():
    assert Scope.of(["*", "company:x"]).unconfirmed == frozenset()


def test_one_page_is_open_before_a_second_factor_is_set_up():
    assert sets_up_second_factor(lambda request: None).sets_up_second_factor is True


def test_everything_is_stored_as_the_star_alone():
    assert Scope.of(["*", "company:x", "tenant:y"]).stored() == ["*"]


def test_an_entry_without_an_id_covers_nothing():
    assert not Scope.of(["company:", "tenant:"]).covers_company("")
    assert not Scope.of(["company:", "tenant:"]).covers_tenant("")


@pytest.mark.parametrize("role", Role)
def test_a_role_is_shown_by_its_name(role):
    assert person(role).role_label == role.value


def test_what_belongs_to_nobody_known_is_for_scope_all_only():
    for owner in (None, "", "unheard-of"):
        assert Scope.of(["*"]).covers_company(owner)
        assert Scope.of(["*"]).covers_tenant(owner)
        assert not Scope.of(["ci-cuc-001"]).covers_company(owner)
        assert not Scope.of(["ci-cuc-001"]).covers_tenant(owner)


@given(st.lists(st.text(max_size=20) | st.builds(add, st.sampled_from(["company:", "tenant:"]), st.text(max_size=20))))
def test_scope_survives_being_stored(ids):
    scope = Scope.of(ids)
    again = Scope.of(scope.stored())
    for each in [*ids, *(each.partition(":")[2] for each in ids), None, "unheard-of"]:
        assert again.covers_company(each) == scope.covers_company(each)
        assert again.covers_tenant(each) == scope.covers_tenant(each)
    assert scope.everything == ("*" in ids)


@pytest.mark.parametrize("role", Role)
def test_conversations_are_for_who_may_take_them_and_has_set_up_what_they_must(role):
    assert person(role).hands_off is person(role).can(Permission.HAND_OFF)
    assert not replace(person(role), must_add_second_factor=True).hands_off


def test_an_account_without_a_zone_or_a_name_is_in_utc_and_called_by_its_username():
    account = StaffAccount("somebody", role="agent", time_zone="")
    made = Staff.of(account, "the session")
    assert (made.time_zone, made.display_name, made.session_id) == ("UTC", "somebody", "the session")


def test_an_account_of_an_unknown_role_opens_nothing_and_one_without_a_scope_sees_nothing():
    with pytest.raises(StoreUnavailable, match="Your account could not be read"):
        Staff.of(StaffAccount("somebody", role="of another version"))
    account = StaffAccount("somebody", role="agent")
    account.scope = None
    assert Staff.of(account).scope.is_empty


def test_session_is_not_in_the_text_of_a_person():
    staff = Staff("somebody", "Somebody", Role.AGENT, Scope.of([]), session_id="0123456789abcdef")
    assert "0123456789abcdef" not in repr(staff)
