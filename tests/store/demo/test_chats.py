"""The demo's chats: found by the numbers that are named, in every state, with words that are worth reading."""

import pytest

from console import clock
from demo import chats
from tests.support.conversations.stores.chats.kit import find, listing, record, sessions
from tests.support.conversations.stores.kit import messages, said

ROSA, TOM, MEI, IVO = "+447700900301", "+447700900302", "+447700900303", "447700900304"
LIGHTHOUSE = "a lighthouse in a storm, oil on canvas"


@pytest.fixture
def demo(store):
    now = clock.now()
    tables: dict[str, list] = {}
    for table, item in chats.items(now):
        tables.setdefault(table, []).append(item)
    for table, items in tables.items():
        store.put_all(table, items)
    return tables


def states_of(phone):
    place = find("phone", phone)
    return [row.cells[0].text for row in listing(*place.parts).rows]


def test_each_person_is_found_and_every_state_occurs(demo):
    assert states_of(ROSA) == ["running", "expired", "expired"]
    assert states_of(TOM) == ["finished", "expired"]
    assert states_of(MEI) == ["expired"] * 3
    assert states_of("+447700900304") == ["running", "expired"]


def test_a_running_talk_is_there_to_read_with_its_picture(demo):
    rows = sessions(user=chats.user_id(ROSA)).rows
    page = record(*rows[0].place.parts)
    assert said(page)[0].startswith("hi! I got an allotment")
    assert [each.data.host for one in messages(page) for each in one.blocks if each.kind == "image"] == [
        "images.example"
    ]
    assert page.flaws == ()
    assert not [flaw for each in messages(page) for flaw in each.drift]
    # Yesterday's has no texts any more.
    assert all(not each.blocks or each.blocks[0].kind == "image" for each in messages(record(*rows[1].place.parts)))


def test_drift_is_there_to_see(demo):
    page = record(*sessions(user=chats.user_id(IVO)).rows[0].place.parts)
    assert {flaw.partition(":")[0] for flaw in page.flaws} >= {"TimestampCreated", "MessagesQuota", "SessionConfig"}
    assert len(said(page)) == 5
    # Texts under other names are shown as attributes that no schema knows.
    assert all(text or each.extra.more for text, each in zip(said(page), messages(page), strict=True))


def test_one_prompt_was_drawn_twice_and_one_session_has_two_windows(demo):
    assert len(listing(*find("prompt", LIGHTHOUSE).parts).rows) == 2
    rows = sessions(user=chats.user_id(MEI)).rows
    assert record(*rows[1].place.parts).talk.earlier
