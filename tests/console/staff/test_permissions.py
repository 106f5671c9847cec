"""Roles, permissions and scopes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Forbidden
from console.staff.permissions import ROLE_PERMISSIONS, Permission, Role, Scope, Staff

# The table of roles as the product defines it: rows are permissions; a = agent, o = onboarding, u = auditor, A = admin.
TABLE = {
    "conversation:read": "auA",
    "conversation:read-raw": "aA",
    "conversation:hand-off": "aA",
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
    assert not scope.covers("ci-cuc-001")
    assert not scope.covers("")
    assert not scope.covers(None)
    assert Scope.of([""]).is_empty


def test_scope_covers_its_ids_only():
    scope = Scope.of(["ci-cuc-001", "ci-nwe-002"])
    assert scope.covers("ci-cuc-001")
    assert not scope.covers("ci-cuc-00")
    assert not scope.covers("CI-CUC-001")
    assert not scope.covers("*")


def test_what_belongs_to_nobody_known_is_for_scope_all_only():
    for owner in (None, "", "unheard-of"):
        assert Scope.of(["*"]).covers(owner)
        assert not Scope.of(["ci-cuc-001"]).covers(owner)


@given(st.lists(st.text(max_size=20)))
def test_scope_survives_being_stored(ids):
    scope = Scope.of(ids)
    again = Scope.of(scope.stored())
    assert all(again.covers(each) == scope.covers(each) for each in [*ids, None, "unheard-of"])
    assert scope.everything == ("*" in ids)


def test_session_is_not_in_the_text_of_a_person():
    staff = Staff("somebody", "Somebody", Role.AGENT, Scope.of([]), session_id="0123456789abcdef")
    assert "0123456789abcdef" not in repr(staff)
