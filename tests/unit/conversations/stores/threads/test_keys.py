"""Keys of threads: the same thread from its parts, from its partition, and from metadata of either shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.stores.threads.keys import ThreadKey, user_partition

segment = st.text(st.characters(exclude_characters="#", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(segment, st.one_of(st.just(""), segment), segment, segment)
def test_a_thread_is_the_same_from_every_key_that_names_it(organisation, tenant, user, thread_id):
    key = ThreadKey(user_partition(organisation, tenant, user), thread_id)
    assert (key.organisation, key.tenant, key.user) == (organisation, tenant, user)
    assert key.is_one
    assert ThreadKey.of_partition(key.partition) == key
    for partition, sort_key in key.places:
        # A tenant, a user and a thread of one name cannot be told apart without a segment.
        if partition == key.partition or not tenant == user == thread_id:
            assert ThreadKey.of_metadata(partition, sort_key, user) == key


def test_a_user_whose_id_is_also_the_threads_is_told_by_the_item():
    key = ThreadKey("org#tenant#same", "same")
    assert [ThreadKey.of_metadata(*place, "same") for place in key.places] == [key, key]
    # Without a tenant the key itself tells: there is no thread of an organisation without a user.
    assert ThreadKey.of_metadata("org#same", "THREAD#same") == ThreadKey("org#same", "same")


@pytest.mark.parametrize(
    "parts", [("org", "t"), ("", "t"), ("#u", "t"), ("org#", "t"), ("org#u", ""), ("org#" + "u" * 2048, "t")]
)
def test_what_names_no_thread_is_none(parts):
    assert not ThreadKey(*parts).is_one
