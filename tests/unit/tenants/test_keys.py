"""Keys of the tenants table: what they are of, and what may be in one that the console writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Invalid
from tenants.keys import (
    Channel,
    ItemKind,
    checked_company_id,
    checked_part,
    checked_tenant_id,
    kind_of,
    partition_of,
    proposed_id,
    tenant_of,
)

PARTS = st.text(min_size=1, max_size=20).filter(lambda text: "#" not in text)


@pytest.mark.parametrize(
    ("pk", "sk", "kind"),
    [
        ("TENANT#outlocks", "META", ItemKind.META),
        ("TENANT#outlocks", "USER#admin", ItemKind.USER),
        ("TENANT#outlocks", "USER#a#b", ItemKind.USER),
        ("TENANT#outlocks", "USER#", ItemKind.UNKNOWN),
        ("TENANT#outlocks", "USERS", ItemKind.USERS),
        ("TENANT#outlocks", "CHANNEL#teams#azure-bot-app-id", ItemKind.CHANNEL),
        ("TENANT#outlocks", "CHANNEL#teams", ItemKind.UNKNOWN),
        ("TENANT#outlocks", "CHANNEL##x", ItemKind.UNKNOWN),
        ("TENANT#outlocks", "COMPANY#ci-aaa-001", ItemKind.COMPANY),
        ("TENANT#outlocks", "MEMORY#admin#s1", ItemKind.MEMORY),
        ("TENANT#outlocks", "INVITE#abc", ItemKind.UNKNOWN),
        ("TENANT#outlocks", "meta", ItemKind.UNKNOWN),
        ("USER#outlocks", "USER#admin", ItemKind.UNKNOWN),
        ("USER#outlocks", "META", ItemKind.UNKNOWN),
        ("TENANT#", "META", ItemKind.UNKNOWN),
        ("CHANNEL#teams#x", "OWNER", ItemKind.GUARD),
        ("CHANNEL#teams#x", "META", ItemKind.UNKNOWN),
        ("CHANNEL#teams", "OWNER", ItemKind.UNKNOWN),
    ],
)
def test_what_an_item_is_its_keys_tell(pk, sk, kind):
    assert kind_of(pk, sk) is kind


@given(PARTS, st.text(min_size=1, max_size=30))
def test_a_channels_key_says_what_it_was_made_of(kind, channel_id):
    assert Channel.of(Channel(kind, channel_id).key) == Channel(kind, channel_id)


@given(st.text(max_size=30))
def test_no_text_breaks_the_reading_of_keys(text):
    kind_of(text, text)
    Channel.of(text)
    assert tenant_of(partition_of(text)) == text


@pytest.mark.parametrize("typed", ["outlocks", " acme-labs ", "a", "a.b_c-1", "2026-launch"])
def test_ids_that_a_new_tenant_may_have(typed):
    assert checked_tenant_id(typed) == typed.strip()


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "Acme",
        "a b",
        "a#b",
        "a--b",
        "-a",
        "a-",
        "a/b",
        "ü",
        "a\x00b",
        "447700900123",
        "a" * 101,
        "a@b.de",
        "١٢٣",
    ],
)
def test_ids_that_no_new_tenant_may_have(typed):
    with pytest.raises(Invalid):
        checked_tenant_id(typed)


@given(st.text(max_size=200))
def test_an_id_proposed_from_a_name_can_be_had(name):
    if proposed := proposed_id(name):
        assert checked_tenant_id(proposed) == proposed


def test_an_id_is_proposed_as_people_would_write_it():
    assert proposed_id("Müller & Söhne GmbH, Köln") == "muller-sohne-gmbh-koln"
    assert proposed_id("北京") == proposed_id("+44 7700900123") == ""


@pytest.mark.parametrize("typed", ["", "  ", "a#b", "a\nb", "a\u202eb", "a\x7fb", "x" * 101])
def test_a_part_of_a_key_cannot_end_it_or_hide_in_it(typed):
    with pytest.raises(Invalid, match="A user id"):
        checked_part(typed, "A user id")


@pytest.mark.parametrize("word", ["all", "ALL", "*", "company:x", "Tenant:x"])
def test_an_id_that_a_scope_would_read_as_something_else_is_no_id(word):
    with pytest.raises(Invalid):
        checked_tenant_id(word)
    with pytest.raises(Invalid, match="reserved word"):
        checked_company_id(word)
    assert proposed_id("All") == "all"
