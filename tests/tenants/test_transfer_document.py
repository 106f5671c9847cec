"""Files of tenants: what an export does not make is refused, naming tenant and item."""

import copy
import json

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from tenants.transfer.document import read
from tenants.transfer.values import Malformed
from tests.tenants.items import mapping, tenant, user
from tests.tenants.stored import as_text, document, given

BASIC = (tenant(), user())


def text(whole) -> bytes:
    return json.dumps(whole).encode()


def of(*items: dict, tenant_id: str = "outlocks") -> bytes:
    return text(document(given(tenant_id, *items)))


def with_raw(item: dict) -> bytes:
    whole = document(given("outlocks", *BASIC))
    whole["tenants"][0]["items"].append(item)
    return text(whole)


def changed(**changes) -> bytes:
    whole = document(given()) | changes
    return text({name: value for name, value in whole.items() if value is not ...})


def test_a_document_is_read():
    [found] = read(of(*BASIC, mapping()))
    assert (found.tenant_id, list(found.items)) == (
        "outlocks",
        ["CHANNEL#teams#azure-bot-app-id", "META", "USER#admin"],
    )


def test_a_document_without_tenants_is_one():
    assert read(text(document())) == ()


def test_a_tenant_that_is_only_begun_needs_no_admin():
    assert read(of(tenant(status="onboarding")))


NO_DOCUMENT = {
    "empty": (b"", "not JSON"),
    "no JSON": (b"{", "not JSON"),
    "no UTF-8": (b"\xff\xfe{}", "not JSON"),
    "deep": (b"[" * 200_000, "not JSON"),
    "a long number": (b'{"format": ' + b"9" * 5000 + b"}", "not JSON"),
    "a list": (b"[]", "no export of tenants"),
    "null": (b"null", "no export of tenants"),
    "another format": (changed(format="x"), "no export of tenants"),
    "no format": (changed(format=...), "no export of tenants"),
    "another version": (changed(version=2), "another version"),
    "a version that is true": (changed(version=True), "another version"),
    "a version as text": (changed(version="1"), "another version"),
    "no version": (changed(version=...), "another version"),
    "no environment": (changed(environment=...), "has not just"),
    "more": (changed(more=1), "has not just"),
    "no time": (changed(exported_at=1), "no texts"),
    "tenants as object": (changed(tenants={}), "no list"),
    "a tenant as text": (changed(tenants=["x"]), "Tenant number 1"),
    "a tenant with more": (changed(tenants=[given() | {"more": 1}]), "Tenant number 1"),
    "a tenant without items": (changed(tenants=[given(), {"tenant_id": "x"}]), "Tenant number 2"),
    "an id as number": (changed(tenants=[given() | {"tenant_id": 1}]), "Tenant number 1"),
    "items as object": (changed(tenants=[given() | {"items": {}}]), "Tenant number 1"),
    "one name twice": (b'{"format": "conversation-console-tenants", "format": "x"}', "twice"),
    "an item as text": (with_raw("x"), "Tenant outlocks, item number 3"),  # type: ignore[arg-type]
    "plain values": (with_raw({"pk": "x", "sk": "y"}), "item number 3: the attribute 'pk'"),
    "no sk": (with_raw({"pk": {"S": "TENANT#outlocks"}}), "item number 3: it has no pk or no sk"),
    "sk as number": (with_raw({"pk": {"S": "TENANT#outlocks"}, "sk": {"N": "1"}}), "item number 3: it has no pk"),
    "an item twice": (with_raw(as_text(user())), "item number 3: there is another one"),
}


@pytest.mark.parametrize("case", NO_DOCUMENT)
def test_what_is_no_document_is_refused(case):
    content, words = NO_DOCUMENT[case]
    with pytest.raises(Malformed, match=words):
        read(content)


NO_TENANT = {
    "upper case": (of(tenant("Outlocks"), user(tenant_id="Outlocks"), tenant_id="Outlocks"), "tenant Outlocks, the id"),
    "white space": (of(tenant(" a"), user(tenant_id=" a"), tenant_id=" a"), "the id has white space"),
    "a surrogate": (of(*BASIC, tenant_id="\ud800"), "tenant .*the id"),
    "an empty id": (of(*BASIC, tenant_id=""), "Enter an id"),
    "a phone number": (of(tenant("447700900123"), user(tenant_id="447700900123"), tenant_id="447700900123"), "phone"),
    "another's item": (of(*BASIC, user("b", "acme")), "outlocks, USER#b: its pk is not that of the tenant"),
    "a guard": (of(*BASIC, {"pk": "CHANNEL#teams#x", "sk": "OWNER"}), "OWNER: its pk"),
    "the guard of users": (of(*BASIC, {"pk": "TENANT#outlocks", "sk": "USERS"}), "USERS: it is the console's own"),
    "META of another": (of(tenant(tenant_id="outlocks") | {"tenant_id": "acme"}, user()), "META: Its tenant_id"),
    "no status": (of(tenant(status=...), user()), "META: It has no status"),
    "a user of another id": (of(tenant(), user() | {"user_id": "b"}), "USER#admin: Its user_id"),
    "a user's id with #": (of(*BASIC, user("a#b")), "USER#a#b: A user id cannot have a #"),
    "a user's id with a newline": (of(*BASIC, user("a\nb")), r"USER#a\\nb: A user id cannot have control"),
    "a user's id too long": (of(*BASIC, user("x" * 101)), "A user id is at most"),
    "a user's id with spaces": (of(*BASIC, user(" b")), "white space around"),
    "a company's id with #": (of(*BASIC, {"pk": "TENANT#outlocks", "sk": "COMPANY#a#b"}), "A company id cannot"),
    "a channel's id with #": (of(*BASIC, mapping("teams", "a#b")), "A channel's id cannot have a #"),
    "a channel's type too long": (of(*BASIC, mapping("t" * 41, "a")), "A channel's type is at most"),
    "another channel's type": (of(*BASIC, mapping(channel_type="slack")), "Its channel_type"),
    "another channel's id": (of(*BASIC, mapping(channel_specific_id="x")), "Its channel_specific_id"),
    "another channel's key": (of(*BASIC, mapping(gsi1pk="CHANNEL#teams#x")), "its gsi1pk is not"),
    "another tenant's key": (of(*BASIC, mapping(gsi1sk="TENANT#acme")), "its gsi1sk is not"),
    "a user found by webhooks": (of(*BASIC, user("b", gsi1pk="CHANNEL#teams#x")), "USER#b: its gsi1pk is not"),
    "META found by webhooks": (of(tenant(gsi1sk="TENANT#outlocks"), user()), "META: its gsi1sk is not"),
    "ids twice": (of(*BASIC, user("Admin", email="x@y.example")), "USER#Admin: another user .* but for capitals"),
    "emails twice": (of(*BASIC, user("b", email="ADMIN@outlocks.example")), "USER#b: another user .* has its email"),
    "no admin": (of(tenant(), user("zoe")), "tenant outlocks, no user is an admin"),
    "no user": (of(tenant()), "tenant outlocks, no user is an admin"),
    "begun, with users but no admin": (of(tenant(status="onboarding"), user("zoe")), "no user is an admin"),
    "too large": (of(*BASIC, user("b", email="x" * 410_000)), "USER#b: it is larger than 400 KB"),
    "a tenant twice": (
        changed(tenants=[given(), given("outlocks", *BASIC)]),
        "tenant outlocks: it is in the file twice",
    ),
    "a channel twice": (
        changed(tenants=[given(), given("acme")]),
        "CHANNEL#teams#azure-bot-app-id: more than one tenant of the file has this channel: outlocks, acme",
    ),
}


@pytest.mark.parametrize("case", NO_TENANT)
def test_a_tenant_that_no_export_has_is_refused(case):
    content, words = NO_TENANT[case]
    with pytest.raises(Malformed, match=words):
        read(content)


def test_index_keys_of_another_type_are_refused():
    """DynamoDB would refuse the whole transaction."""
    with pytest.raises(Malformed, match="its gsi1pk is not"):
        read(with_raw(as_text(mapping()) | {"gsi1pk": {"N": "1"}}))


def test_all_problems_are_told_at_once_and_no_address_is():
    content = of(
        tenant(), user("a", email="jo@x.example"), user("b", email="jo@x.example"), mapping("email", "a#b@x.example")
    )
    with pytest.raises(Malformed) as found:
        read(content)
    message = str(found.value)
    assert all(words in message for words in ("USER#a", "USER#b", "no user is an admin", "A channel's id"))
    assert "@x.example" not in message


@examples(st.data())
def test_a_damaged_document_is_read_or_refused_in_words(data):
    """Whatever is put wherever: no other exception."""
    whole = copy.deepcopy(document(given()))
    place, names = whole, []
    while isinstance(place, dict | list) and place:
        names.append(
            (place, data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))))
        )
        place = place[names[-1][1]]
    holder, name = data.draw(st.sampled_from(names))
    junk = [None, True, 1, 1.5, "", "x", "\ud800", [], {}, [None], {"S": "x"}, {"N": "x"}, {"L": [{"M": {"": {}}}]}]
    holder[name] = data.draw(st.sampled_from(junk))
    try:
        read(text(whole))
    except Malformed as error:
        said = str(error).encode()
    else:
        said = b"read"
    assert said


@pytest.mark.parametrize(
    ("bound", "most", "complaint"),
    [
        ("MAX_BYTES", 500, "larger than 500 bytes"),
        ("MAX_TENANTS", 1, "more than 1 tenants"),
        ("MAX_USERS", 1, "tenant outlocks: it has more than 1 users"),
    ],
)
def test_an_import_is_bounded(monkeypatch, bound, most, complaint):
    content = text(document(given("outlocks", *BASIC, user("mara")), given("acme")))
    assert len(read(content)) == 2
    monkeypatch.setattr(f"tenants.transfer.document.{bound}", most)
    with pytest.raises(Malformed, match=complaint):
        read(content)
