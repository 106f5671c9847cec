"""Sealed references: what was sealed comes back, and nothing else is accepted."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import refs
from console.errors import BadReference

KEY = ("+447700900123", "ci-aaa-001#pi-aaa-001#req123#447700900123")


@given(st.lists(st.text(max_size=60), max_size=4))
def test_what_was_sealed_comes_back(parts):
    assert refs.unseal("conversation", refs.seal("conversation", *parts)) == tuple(parts)


def test_the_same_key_makes_the_same_reference_and_shows_nothing_of_it():
    reference = refs.seal("conversation", *KEY)
    assert reference == refs.seal("conversation", *KEY)
    assert "447700900123" not in reference
    assert b"447700900123" not in base64.urlsafe_b64decode(reference + "==")


@given(st.data())
def test_any_changed_character_is_refused(data):
    reference = refs.seal("conversation", *KEY)
    position = data.draw(st.integers(0, len(reference) - 1))
    other = data.draw(st.sampled_from("ABCxyz019-_").filter(lambda character: character != reference[position]))
    with pytest.raises(BadReference):
        refs.unseal("conversation", reference[:position] + other + reference[position + 1 :])


@pytest.mark.parametrize("junk", ["", "a", "\x00", "ü", "=" * 20, "A" * 90, "A" * 100_000, "../../etc", "a b"])
def test_junk_is_refused(junk):
    with pytest.raises(BadReference):
        refs.unseal("conversation", junk)


def test_another_kind_or_environment_or_count_is_refused(settings):
    reference = refs.seal("conversation", *KEY)
    for kind, count in (("recipient", 2), ("conversation", 1)):
        with pytest.raises(BadReference):
            refs.unseal(kind, reference, count)
    settings.CONSOLE_ENV = "staging"
    with pytest.raises(BadReference):
        refs.unseal("conversation", reference)


def test_old_links_live_through_a_rotation_of_the_secret(settings):
    reference = refs.seal("conversation", *KEY)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "a-new-secret-key-" * 4
    with pytest.raises(BadReference):
        refs.unseal("conversation", reference)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert refs.unseal("conversation", reference) == KEY
    assert refs.seal("conversation", *KEY) != reference


def test_the_longest_possible_key_fits():
    reference = refs.seal("conversation", "a" * 2048, "b" * 1024)
    assert len(reference) < 4200
    assert refs.unseal("conversation", reference) == ("a" * 2048, "b" * 1024)


def test_a_cursor_of_other_filters_starts_anew():
    cursor = refs.seal_cursor({"k": "v"}, "index", "partition", "status=failed", "amira")
    assert refs.unseal_cursor(cursor, "index", "partition", "status=failed", "amira") == {"k": "v"}
    assert refs.unseal_cursor(cursor, "index", "partition", "status=failed", "tom") is None
    assert refs.unseal_cursor(cursor, "index", "partition", "", "amira") is None
    assert refs.unseal_cursor("junk", "index") is None
