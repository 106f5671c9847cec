"""The populated scenario's threads: each place can be opened, is of its own side only, and nothing stored is hidden."""

import pytest
from django.http import QueryDict

from console.errors import NotFound
from console.permissions import Role, Scope, Staff
from conversations.stores.adapter import ListParameters
from conversations.stores.threads.adapter import Threads
from tests import scenario as scenarios
from tests.scenario import threads

adapter = Threads()


def shown(place, staff, *, raw):
    asked = ListParameters(at=place.at, data=QueryDict("&".join("=".join(each) for each in place.query)))
    if place.kind == "list":
        return adapter.listing(place.parts, staff, asked)
    return adapter.page(adapter.load(place.parts, staff, asked), staff, asked, raw=raw)


def test_every_place_look_up_and_act_is_of_one_side(store):
    scenario = scenarios.build(store)
    ours = Staff("ours", "Ours", Role.ADMIN, Scope(companies=frozenset({scenario.ours.company_id})))
    for place in threads.places(scenario.ours):
        assert "theirs." not in repr(shown(place, ours, raw=True))
    for place in threads.places(scenario.theirs):
        with pytest.raises(NotFound):
            shown(place, ours, raw=True)
    for side, there in ((scenario.ours, True), (scenario.theirs, False)):
        for data in threads.lookups(side):
            form = adapter.lookups[data["look"]](data)
            assert form.is_valid(), form.errors
            if there:
                assert form.find(ours)
            else:
                with pytest.raises(NotFound):
                    form.find(ours)
        for name, parts, _ in threads.acts(side):
            if there:
                assert adapter.actions[name].ask(parts, ours, None)
            else:
                with pytest.raises(NotFound):
                    adapter.actions[name].ask(parts, ours, None)


def test_every_text_of_a_thread_is_shown_on_one_of_its_places(store):
    scenario = scenarios.build(store)
    admin = Staff("a", "A", Role.ADMIN, Scope(everything=True))
    seen = "".join(repr(shown(place, admin, raw=True)) for place in threads.places(scenario.ours))
    # What has expired is nowhere; the first of a long thread is in an earlier window.
    hidden = {"expired", "expired.title", "long.first"}
    missing = [
        text
        for text in scenario.ours.canaries
        if text.startswith("ours.threads.") and text not in seen and text.removeprefix("ours.threads.") not in hidden
    ]
    assert missing == []
    assert not [text for text in hidden if f"ours.threads.{text}'" in seen]
