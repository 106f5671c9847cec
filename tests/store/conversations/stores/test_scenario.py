"""The populated scenario: every place of a store opens, is of its own side only, and nothing stored is hidden."""

import pytest
from django.http import QueryDict

from console.errors import NotFound
from console.permissions import Role, Scope, Staff
from conversations.stores.adapter import ListParameters
from conversations.stores.chats.adapter import Chats
from conversations.stores.threads.adapter import Threads
from tests import scenario as scenarios
from tests.scenario import chats, threads

ADMIN = Staff("a", "A", Role.ADMIN, Scope(everything=True))
# What has expired is nowhere; the first message of a long thread is in an earlier window; an odd id is shortened.
HIDDEN = {"threads.expired", "threads.expired.title", "threads.long.first"}
TOLD = (
    *("message", "message.part", "message.tree", "agent", "prompt", "config.deep"),
    *("session.unknown", "event.unknown", "image.unknown"),
)


def shown(adapter, place, staff, **more) -> str:
    """All that a place shows."""
    asked = ListParameters(at=place.at, data=QueryDict("&".join("=".join(each) for each in place.query)), **more)
    if place.kind == "list":
        return repr(adapter.listing(place.parts, staff, asked))
    return repr(adapter.page(adapter.load(place.parts, staff, asked), staff, asked, raw=True))


def check_lookups_and_acts(adapter, lookups, acts, staff) -> None:
    for data in lookups:
        form = adapter.lookups[data["look"]](data)
        assert form.is_valid(), form.errors
        assert form.find(staff)
    for name, parts, data in acts:
        assert adapter.actions[name].ask(parts, staff, None).seen == data["seen"]


@pytest.mark.slow
def test_threads_are_of_one_side(store):
    scenario = scenarios.build(store)
    adapter = Threads()
    ours = Staff("ours", "Ours", Role.ADMIN, Scope(companies=frozenset({scenario.ours.company_id})))
    for place in threads.places(scenario.ours):
        assert "theirs." not in shown(adapter, place, ours)
    check_lookups_and_acts(adapter, threads.lookups(scenario.ours), threads.acts(scenario.ours), ours)
    for place in threads.places(scenario.theirs):
        with pytest.raises(NotFound):
            shown(adapter, place, ours)
    for data in threads.lookups(scenario.theirs):
        form = adapter.lookups[data["look"]](data)
        assert form.is_valid()
        with pytest.raises(NotFound):
            form.find(ours)
    for name, parts, _ in threads.acts(scenario.theirs):
        with pytest.raises(NotFound):
            adapter.actions[name].ask(parts, ours, None)


@pytest.mark.slow
def test_every_text_of_a_thread_is_shown_on_one_of_its_places(store):
    scenario = scenarios.build(store)
    seen = "".join(shown(Threads(), place, ADMIN) for place in threads.places(scenario.ours))
    texts = {each.removeprefix("ours.") for each in scenario.ours.canaries if each.startswith("ours.threads.")}
    assert {text for text in texts if f"ours.{text}" not in seen} <= HIDDEN
    assert not [text for text in HIDDEN if f"ours.{text}'" in seen]


@pytest.mark.slow
def test_every_place_of_chats_works_and_shows_its_texts(store):
    scenarios.build(store)
    adapter, seen = Chats(), ""
    for side in ("ours", "theirs"):
        seen += "".join(shown(adapter, place, ADMIN) for place in chats.places(side))
        for place, name, cursor in chats.cursors(side, ADMIN):
            assert "RecordRow" in shown(adapter, place, ADMIN, **{name: cursor}) or place.kind == "record"
        # The last is of a prompt that nobody gave.
        check_lookups_and_acts(adapter, chats.lookups(side)[:-1], chats.acts(side), ADMIN)
    assert [name for name in TOLD if f"ours.chats.{name}" not in seen] == []
