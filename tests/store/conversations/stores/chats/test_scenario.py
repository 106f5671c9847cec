"""The populated scenario has every list and record of this store, and what can be done to one."""

from dataclasses import asdict

from conversations.stores.adapter import ListParameters
from tests import scenario
from tests.scenario import chats
from tests.support.conversations.stores.chats.kit import ADMIN, CHATS


def test_every_place_lookup_and_act_of_the_scenario_works(store):
    scenario.build(store)
    shown = ""
    for side in ("ours", "theirs"):
        for place in chats.places(side):
            if place.kind == "list":
                page = CHATS.listing(place.parts, ADMIN, ListParameters())
                assert page.rows
                shown += repr(asdict(page))
            else:
                shown += repr(
                    CHATS.page(CHATS.load(place.parts, ADMIN, ListParameters()), ADMIN, ListParameters(), raw=True)
                )
        for place, name, cursor in chats.cursors(side, ADMIN):
            asked = ListParameters(**{name: cursor})
            assert (
                CHATS.listing(place.parts, ADMIN, asked).rows
                if place.kind == "list"
                else CHATS.load(place.parts, ADMIN, asked)
            )
        for data in chats.lookups(side)[:-1]:
            form = CHATS.lookups[data["look"]](data)
            assert form.is_valid()
            assert form.find(ADMIN)
        for action, parts, data in chats.acts(side):
            question = CHATS.actions[action].ask(parts, ADMIN, None)
            assert question.seen == data["seen"]
    told = "message,message.part,message.tree,agent,prompt,config.deep,session.unknown,event.unknown,image.unknown"
    assert [name for name in told.split(",") if f"ours.chats.{name}" not in shown] == []
