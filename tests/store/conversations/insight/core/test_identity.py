"""Pseudonyms stay, through a rotation of SECRET_KEY too; the way back is sealed, and goes with what it leads to."""

import json

import pytest

from console import caching
from console.errors import NotConfigured
from console.refs import seal_data
from conversations.insight import identity, writing
from conversations.insight.identity import InsightKey, links_of, pseudonym_of, save_link
from tests import faults
from tests.store.conversations.insight.core.kit import KEY, facts, interrupted, links, put
from tests.support.conversations.insight.kit import rebuild
from tests.unit.conversations.insight.kit import MINUTE, said

pytestmark = pytest.mark.usefixtures("time", "key_is_there")

ASKED = said("user", MINUTE)
PARTS = tuple(KEY.values())


def pseudonym() -> str:
    return pseudonym_of("conversation", *PARTS)


def test_a_link_leads_back_and_says_nothing(store):
    writing.note_change(put(store, ASKED), None)
    (link,) = links(store)
    assert links_of([pseudonym(), "unknown"]) == {pseudonym(): PARTS}
    assert link["pk"].endswith(pseudonym())
    assert "447700" not in json.dumps(link, default=str)
    assert "expires_at" not in link


def test_a_link_lives_as_long_as_its_conversation(store):
    first = put(store, ASKED, ttl=1_800_000_000)
    writing.note_change(first, None)
    assert links(store)[0]["expires_at"] == 1_800_000_000
    second = put(store, ASKED, ttl=1_900_000_000)
    writing.note_change(second, first)
    assert links(store)[0]["expires_at"] == 1_900_000_000
    writing.note_change(put(store, ASKED), second)
    assert "expires_at" not in links(store)[0]


def test_a_link_goes_with_its_conversation_and_comes_again_with_it(store):
    stored = put(store, ASKED)
    writing.note_change(stored, None)
    store.delete("CONVERSATIONS", **KEY)
    writing.remove(stored)
    assert (links_of([pseudonym()]), len(facts(store))) == ({}, 1)
    writing.note_change(put(store, ASKED), None)
    assert links_of([pseudonym()]) == {pseudonym(): PARTS}


@pytest.mark.parametrize("write", [lambda stored: writing.note_change(stored, None), rebuild])
@pytest.mark.parametrize("nth", range(1, 9))
def test_no_link_is_left_of_what_was_removed_meanwhile(store, write, nth):
    stored = put(store, ASKED)

    def meanwhile() -> None:
        store.delete("CONVERSATIONS", **KEY)
        writing.remove(stored)

    interrupted(faults.before, nth, lambda: write(stored), meanwhile)
    assert links(store) == []


def test_pseudonyms_and_links_survive_a_rotation(store, settings):
    writing.note_change(put(store, ASKED), None)
    before = pseudonym()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another-" + "k" * 50, [settings.SECRET_KEY]
    caching.invalidate_all()
    assert pseudonym() == before
    assert links_of([before]) == {before: PARTS}
    # Sealed anew with the key of today: the old one can go.
    settings.SECRET_KEY_FALLBACKS = []
    caching.invalidate_all()
    assert pseudonym() == before


def test_a_key_that_was_lost_keeps_nobody_out_of_the_queue(store, settings, caplog):
    stored = put(store, ASKED)
    writing.note_change(stored, None)
    settings.SECRET_KEY = "another-" + "k" * 50
    caching.invalidate_all()
    with pytest.raises(NotConfigured):
        pseudonym()
    assert not writing.note_change(put(store, ASKED, said("assistant", 2 * MINUTE)), stored)
    assert "SECRET_KEY_FALLBACKS" in caplog.text


def test_of_two_that_make_a_key_at_once_one_is_the_key(store):
    store.empty()
    caching.invalidate_all()
    with faults.before(
        "PutItem", lambda: InsightKey(sealed=seal_data("insight key", "ab" * 32)).save(), table_key="CONSOLE"
    ):
        mine = pseudonym()
    caching.invalidate_all()
    assert pseudonym() == mine
    assert identity._key() == bytes.fromhex("ab" * 32)


def test_what_was_sealed_for_another_leads_nowhere(store):
    save_link("one", ("a", "b"), None)
    (link,) = links(store)
    store.put("CONSOLE", link | {"pk": "INSIGHT_LINK#other"})
    store.put("CONSOLE", link | {"pk": "INSIGHT_LINK#broken", "sealed": "x"})
    store.put("CONSOLE", link | {"pk": "INSIGHT_LINK#odd", "sealed": 5})
    assert links_of(["one", "other", "broken", "odd"]) == {"one": ("a", "b")}
