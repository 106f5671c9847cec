"""Sealed references: what was sealed comes back, and nothing else is accepted."""

import base64

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from console import gunicorn, refs
from console.errors import BadReference

KEY = ("+447700900123", "ci-aaa-001#pi-aaa-001#req123#447700900123")
SEALED = "TdhY_m7FBfAZewpZ4Q8CGpH6qJQa_nymAynGwhaVaNhCu36IfUZMREwVRsf89faf2irBBzcgTWcgeGuR3O9DYZ6KuFriNDNkKdUL0ZQ"
SEALED_DATA = "ANW4KLiw4pXVeBiPIm_aIhbq8V4RYfDc-7I6SW25N1zo0Ki9x_4X"
DIGEST, PSEUDONYM = "lnoibobpdnmbajjoplifbfjgheaoidficcahnpdfbolflndmlobhccenlmncpfhp", "ohjikfkkpnhmcelp"


@given(st.lists(st.text(max_size=60), max_size=4))
def test_what_was_sealed_comes_back(parts):
    assert refs.unseal("conversation", refs.seal("conversation", *parts)) == tuple(parts)


@pytest.mark.parametrize("route", ["conversation", "conversation-timeline", "conversation-saved-replies", "event"])
def test_a_reference_of_any_length_fits_into_the_first_line_of_a_request(route):
    address = reverse(route, args=["x" * refs.MAX_LENGTH], query={"from": "x" * 60})
    assert len(f"GET {address} HTTP/1.1") <= gunicorn.limit_request_line


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


@pytest.mark.parametrize("junk", ["", "a", "\x00", "ü", "=" * 20, "A" * 90, "A" * 100_000, "AAAA", "../../etc", "a b"])
def test_junk_is_refused(junk):
    with pytest.raises(BadReference):
        refs.unseal("conversation", junk)


def test_another_kind_or_environment_or_count_is_refused(settings):
    reference = refs.seal("conversation", *KEY)
    assert refs.unseal("conversation", reference, 2) == KEY
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


def test_a_reference_longer_than_any_key_is_refused():
    with pytest.raises(BadReference):
        refs.unseal("conversation", refs.seal("conversation", "a" * refs.MAX_LENGTH))


@pytest.mark.parametrize("data", [["a", 1], {"a": "b"}, "a", None])
def test_data_that_is_no_list_of_texts_has_no_parts(data):
    with pytest.raises(BadReference):
        refs.unseal("conversation", refs.seal_data("conversation", data))


def test_data_of_another_kind_is_refused():
    with pytest.raises(BadReference):
        refs.unseal_data("recipient", refs.seal_data("conversation", {"k": "v"}))


def test_a_cursor_of_other_filters_starts_anew():
    cursor = refs.seal_cursor({"k": "v"}, "index", "partition", "status=failed", "amira")
    assert refs.unseal_cursor(cursor, "index", "partition", "status=failed", "amira") == {"k": "v"}
    assert refs.unseal_cursor(cursor, "index", "partition", "status=failed", "tom") is None
    assert refs.unseal_cursor(cursor, "index", "partition", "", "amira") is None
    assert refs.unseal_cursor("junk", "index") is None


def test_what_an_earlier_version_made_stays_valid(settings):
    """Links are bookmarked, and digests stored: none of these values may ever change."""
    settings.SECRET_KEY, settings.CONSOLE_ENV = "a-secret-key-of-before-" * 3, "staging"
    made = [refs.seal("conversation", *KEY), refs.seal_data("any", {"b": [1, None], "a": "ü"})]
    assert made == [SEALED, SEALED_DATA]
    assert (refs.keyed_digest("ü"), refs.keyed_pseudonym("ü")) == (DIGEST, PSEUDONYM)
    assert refs.is_digest_of(DIGEST[: refs.SHORTEST_DIGEST], "ü")
    assert not refs.is_digest_of(DIGEST[: refs.SHORTEST_DIGEST - 1], "ü")
