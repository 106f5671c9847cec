"""Finding users by a number that is kept nowhere, sessions, images and prompts by their ids: few, small reads."""

import hashlib
import logging

import pytest

from console.errors import Forbidden, NotFound, StoreUnavailable, TableMissing
from console.permissions import Role
from console.store import presence
from conversations.stores.records import reference_of
from tests import faults
from tests.support.conversations.stores.chats.kit import (
    CHATS,
    IMAGE,
    OTHER,
    PHONE,
    PROMPT,
    USER,
    ago,
    event,
    find,
    image,
    listing,
    session,
    session_id,
)
from tests.support.conversations.stores.kit import staff


@pytest.mark.parametrize(
    "typed", [PHONE, "+44 7700 900-123", "0044 (0)7700 900123", "447700900123", "tel:+447700900123"]
)
def test_a_number_in_any_spelling_leads_to_its_user(store, typed):
    store.put("SESSIONS", session())
    place = find("phone", typed)
    assert (place.kind, place.parts) == ("list", ("sessions", USER))


def test_a_number_is_looked_for_with_and_without_plus_by_small_queries_at_once(store):
    store.put("CHATS", event(ago(days=9), ago(days=9)))
    with store.calls() as seen:
        assert find("phone", PHONE).parts == ("sessions", USER)
    assert sorted((call.operation, call.tables[0], call.index) for call in seen) == [
        *[("Query", "CHATS", "UsersLastMessageGlobalIndex")] * 2,
        *[("Query", "SESSIONS", "")] * 2,
    ]
    assert {call.request["Limit"] for call in seen if call.index} == {1}
    assert all(call.request["Limit"] <= 5 for call in seen)
    without = hashlib.sha256(PHONE[1:].encode()).hexdigest()
    partitions = {str(call.request["ExpressionAttributeValues"]) for call in seen}
    assert partitions == {str({":0": {"S": each}}) for each in (USER, without)}


def test_a_number_that_two_writers_spelled_differently_leads_to_both_users(store):
    without = hashlib.sha256(PHONE[1:].encode()).hexdigest()
    store.put_all("SESSIONS", [session(), session(UserId=without)])
    place = find("phone", PHONE)
    assert place.parts == ("users", USER, without)
    assert [row.place.parts for row in listing(*place.parts).rows] == [("sessions", USER), ("sessions", without)]


def test_a_user_of_whom_only_an_expired_session_is_left_is_not_there(store):
    store.put("SESSIONS", session(SessionTTL=ago(minutes=1)))
    with pytest.raises(NotFound):
        find("phone", PHONE)
    store.put("SESSIONS", session(ago(hours=1)))
    assert find("phone", PHONE).parts == ("sessions", USER)


@pytest.mark.parametrize("typed", [USER, f"  {USER} ", USER.upper(), "visitor-17", "+447700900777"])
def test_a_user_is_found_by_an_id_of_any_shape(store, typed):
    user = typed.strip().lower() if len(typed.strip()) == 64 else typed
    store.put("CHATS", event(ago(days=1), ago(days=1), UserId=user))
    assert find("user", typed).parts == ("sessions", user)


def test_a_session_is_found_alive_or_by_its_chats_by_two_calls(store):
    presence.table_keys("SESSIONS")  # which a worker remembers
    alive, expired = ago(minutes=5), ago(days=40)
    store.put("SESSIONS", session(alive))
    store.put("CHATS", event(expired, expired + 1))
    for begun in (alive, expired):
        with store.calls() as seen:
            assert find("session", session_id(begun)).parts == ("session", USER, session_id(begun))
        assert sorted((call.operation, call.tables[0]) for call in seen) == [
            ("GetItem", "SESSIONS"),
            ("Query", "CHATS"),
        ]
    # An id that names no user is in no session's key.
    store.put("CHATS", event(expired, 5, SessionId="odd"))
    with store.calls() as seen:
        assert find("session", "odd").parts == ("session", USER, "odd")
    assert [call.operation for call in seen] == ["Query"]


def test_a_session_whose_id_names_another_user_is_its_events_users(store):
    theirs = session_id(7, OTHER)
    store.put("CHATS", event(7, 8, SessionId=theirs))
    store.put("SESSIONS", session(7, SessionId=theirs))
    assert find("session", theirs).parts == ("session", USER, theirs)
    store.put("SESSIONS", session(7, SessionId=theirs, UserId=OTHER))
    assert find("session", theirs).parts == ("session", OTHER, theirs)
    store.put("CHATS", event(7, 8, SessionId="odd", UserId=...))
    assert find("session", "odd").parts == ("session", "", "odd")


def test_images_are_found_by_id_and_by_exact_prompt(store):
    store.put_all("IMAGE_RESPONSES", [image(), image("2", Prompt=" spaced ")])
    with store.calls() as seen:
        assert find("image", IMAGE).parts == ("image", IMAGE)
        place = find("prompt", PROMPT)
    assert (place.kind, place.parts) == ("list", ("prompt", PROMPT))
    assert [(call.operation, call.index) for call in seen] == [("GetItem", ""), ("Query", "PromptGlobalIndex")]
    assert find("prompt", f"{PROMPT} ").parts == ("prompt", PROMPT)
    assert find("prompt", " spaced ").parts == ("prompt", " spaced ")
    with pytest.raises(NotFound):
        find("prompt", PROMPT.upper())


@pytest.mark.parametrize(
    ("look", "typed"),
    [
        ("phone", "+447700900999"),
        ("user", OTHER),
        ("session", session_id(5)),
        ("image", "none"),
        ("prompt", "none"),
    ],
)
def test_what_is_not_there_is_not_found(store, look, typed):
    store.put("SESSIONS", session())
    with pytest.raises(NotFound):
        find(look, typed)


@pytest.mark.parametrize("look", ["phone", "user", "session", "image", "prompt"])
@pytest.mark.parametrize(
    ("who", "error"),
    [
        (staff(Role.ADMIN, "ci-aaa-001"), NotFound),
        (staff(Role.AGENT, "ci-aaa-001"), NotFound),
        (staff(Role.ONBOARDING), Forbidden),
    ],
)
def test_out_of_scope_or_role_nothing_is_read(store, look, who, error):
    store.put("SESSIONS", session())
    with store.calls() as seen, pytest.raises(error):
        find(look, PHONE, who)
    assert not seen


@pytest.mark.parametrize("look", ["phone", "user", "session", "image", "prompt"])
@pytest.mark.parametrize("typed", ["\x00", "a\nb", "\ud800", "x" * 3000, "", "é" * 1100])
def test_what_cannot_be_a_key_is_refused_by_the_form(look, typed):
    form_class = CHATS.lookups[look]
    assert not form_class({next(iter(form_class.base_fields)): typed}).is_valid()


@pytest.mark.parametrize("typed", ["‮txt", "<script>alert(1)</script>", "' OR 1=1 --", "🙂" * 100, "#", ":", "a:b:c"])
def test_hostile_texts_find_nothing(store, typed):
    for look in set(CHATS.lookups) - {"phone"}:
        with pytest.raises(NotFound):
            find(look, typed)


@pytest.mark.parametrize(
    "typed", ["nope", "nobody's number", "1234", "+x", "jo@example.com", "Jo@Example.com", "a:b:c"]
)
def test_what_is_no_number_is_refused_at_its_field(typed):
    form = CHATS.lookups["phone"]({"phone": typed})
    assert not form.is_valid()
    assert "Enter a phone number with its country code, such as" in str(form.errors["phone"])


def test_the_number_is_in_no_address_and_no_log(store, caplog):
    caplog.set_level(logging.DEBUG)
    store.put("SESSIONS", session())
    place = find("phone", PHONE)
    reference = reference_of("chats", place.kind, place.parts)
    assert "7700900123" not in caplog.text
    assert PHONE not in str(place)
    assert USER not in reference


def test_one_failing_table_does_not_hide_what_another_knows(store):
    store.put("CHATS", event(ago(days=9), ago(days=9)))
    with faults.fail_before("Query", table_key="SESSIONS", times=faults.ALWAYS):
        assert find("user", USER).parts == ("sessions", USER)
        # Nobody knows whether that one is there.
        with pytest.raises(StoreUnavailable):
            find("user", OTHER)


def test_absent_tables_are_said(bare_store):
    for look in CHATS.lookups:
        with pytest.raises(TableMissing):
            find(look, PHONE)
    bare_store.create_tables("CHATS")
    bare_store.put("CHATS", event(ago(days=9), ago(days=9)))
    assert find("user", USER).parts == ("sessions", USER)
