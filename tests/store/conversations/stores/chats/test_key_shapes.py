"""Sessions under the schema's key and under the public chatbot's own; any other key is said, never guessed at."""

import hashlib
from decimal import Decimal

import pytest
from django.http import QueryDict

from console import clock
from console.context import navigation
from console.errors import NotFound, TableMissing
from console.logs import without_credentials
from console.permissions import Role
from console.provisioning.check import inspect
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.store import presence
from conversations.stores import section_of
from conversations.stores.chats.adapter import Chats
from conversations.stores.chats.ending import EndSession
from conversations.stores.records import address_of
from tests.people import admin, signed_in
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    PHONE,
    USER,
    event,
    find,
    opened,
    session,
    sessions,
    states,
)
from tests.support.conversations.stores.kit import staff

# With decimals, as Python's time.time() gives them.
BEGUN = Decimal("1795000000.123456")
END = EndSession()


def create(store, *sort_key):
    """The tables, Sessions with that sort key."""
    store.create_tables(*(key for key in TABLES if key != "SESSIONS"))
    wanted = create_table_request("SESSIONS")
    [attribute] = sort_key
    name, kind = attribute
    wanted["KeySchema"][1]["AttributeName"] = name
    wanted["AttributeDefinitions"] = [
        {"AttributeName": "UserId", "AttributeType": "S"},
        {"AttributeName": name, "AttributeType": kind},
    ]
    store.client.create_table(**wanted)
    presence.forget()


@pytest.fixture(params=["SessionId", "TimestampCreated"])
def begun(request, bare_store):
    """A running session in a table of that key, as its own chatbot writes it."""
    create(bare_store, (request.param, "N" if request.param == "TimestampCreated" else "S"))
    bare_store.put("SESSIONS", session(BEGUN, TimestampFinished=None, UserChatPlan=None))
    bare_store.put("CHATS", event(BEGUN, BEGUN + 1, ImageId="", MessageLength=5))
    return BEGUN


def test_it_is_listed_opened_and_found(begun):
    assert states(sessions()) == [(str(begun), "running")]
    page = opened(begun)
    assert page.state.text == "running"
    assert find("session", f"{USER}:{begun}").parts == ("session", USER, f"{USER}:{begun}")
    assert find("phone", PHONE).parts == ("sessions", USER)


def test_ending_it_writes_its_own_item_and_no_other(begun, bare_store):
    parts = ("session", USER, f"{USER}:{begun}")
    question = END.ask(parts, ADMIN, QueryDict("confirm=1"))
    assert question.form.is_valid()
    END.do(parts, ADMIN, question.form, question.seen)
    [item] = bare_store.all("SESSIONS")
    assert item["TimestampCreated"] == begun
    assert abs(int(item["TimestampFinished"]) - clock.to_epoch(clock.now())) < 60
    [entry] = bare_store.all("AUDIT")
    assert (entry["conversation_id"], entry["result"]) == (f"CHAT#{USER}:{begun}", "success")


def test_both_keys_are_right_to_the_check_of_tables_and_to_the_system_page(begun):
    [report] = inspect(("SESSIONS",))
    assert not [each for each in report.differences if each.what == "key"]
    assert section_of(Chats(), clock.now()).state == "ready"


def test_a_session_that_is_sorted_by_time_needs_no_id_of_its_own(bare_store):
    create(bare_store, ("TimestampCreated", "N"))
    bare_store.put("SESSIONS", session(BEGUN, SessionId=...))
    assert states(sessions()) == [(str(BEGUN), "running")]
    assert opened(BEGUN).state.text == "running"


@pytest.mark.parametrize("junk", [f"{USER}:soon", f"{USER}:1e400", f"{USER}:", USER, f"{'0' * 64}:{BEGUN}"])
def test_an_id_that_names_no_time_or_another_user_is_none(bare_store, junk):
    create(bare_store, ("TimestampCreated", "N"))
    bare_store.put("SESSIONS", session(BEGUN))
    with pytest.raises(NotFound):
        find("session", junk)


def test_another_key_is_said_as_it_is(bare_store, settings):
    create(bare_store, ("StartedAt", "S"))
    bare_store.put("SESSIONS", session(BEGUN, StartedAt="2026-11-01"))
    bare_store.put("CHATS", event(BEGUN, BEGUN + 1))
    [notice] = [each for each in sessions().notices if "running sessions" in each]
    assert "Its key is StartedAt (S) and UserId (S)." in notice
    assert "SessionId or TimestampCreated" in notice
    with pytest.raises(TableMissing, match="StartedAt"):
        find("session", f"{USER}:nobody")
    [report] = inspect(("SESSIONS",))
    [key] = [each for each in report.differences if each.what == "key"]
    assert (key.severity, key.found) == ("required", "UserId (S), StartedAt (S)")
    state = section_of(Chats(), clock.now())
    assert state.state == "partly"
    assert "a known key of the table Sessions" in str(state.facts)
    text = signed_in(admin()).get("/system/").content.decode()
    assert "frozenset" not in text
    assert "Decimal(" not in text


def test_a_time_that_is_stored_as_text_is_another_key(bare_store):
    create(bare_store, ("TimestampCreated", "S"))
    bare_store.put("SESSIONS", session(BEGUN, TimestampCreated=str(BEGUN)))
    [notice] = [each for each in sessions().notices if "running sessions" in each]
    assert "Its key is TimestampCreated (S) and UserId (S)." in notice
    [report] = inspect(("SESSIONS",))
    assert "key" in [each.what for each in report.differences]
    assert section_of(Chats(), clock.now()).state != "ready"


# --- The secret of ids ------------------------------------------------------------------------------------------------


def test_a_number_is_found_with_the_chatbots_secret_and_what_was_stored_without_it(store, settings):
    settings.CHATBOT_USER_ID_SECRET = "a secret of the chatbot"
    salted = hashlib.sha256(f"{PHONE}{settings.CHATBOT_USER_ID_SECRET}".encode()).hexdigest()
    store.put("SESSIONS", session(UserId=salted))
    assert find("phone", "+44 7700 900123").parts == ("sessions", salted)
    store.put("SESSIONS", session())
    assert set(find("phone", PHONE).parts) == {"users", salted, USER}


def test_without_the_secret_the_page_says_that_it_cannot_know(store, settings):
    client = signed_in(admin())

    def answer():
        return client.post("/chats/find/", {"look": "phone", "phone": PHONE}).content.decode()

    assert "Somebody with this number may still have chatted: the chatbot may mix a secret" in answer()
    assert "Check the number and enter it with its country code" not in answer()
    settings.CHATBOT_USER_ID_SECRET = "a secret of the chatbot"
    assert "Check the number and enter it with its country code" in answer()
    assert settings.CHATBOT_USER_ID_SECRET not in answer()


def test_the_secret_is_masked_in_logs(settings):
    settings.CHATBOT_USER_ID_SECRET = "a word of the chatbot"
    assert settings.CHATBOT_USER_ID_SECRET not in without_credentials(
        f"tried {settings.CHATBOT_USER_ID_SECRET} as typed"
    )


# --- Where one begins -------------------------------------------------------------------------------------------------


def test_the_first_page_lists_what_one_opened_lately(store):
    store.put_all("SESSIONS", [session(), session(BEGUN)])
    client = signed_in(admin())
    assert "Recently opened by you" not in client.get("/chats/").content.decode()
    [newest, _] = sessions().rows
    url = address_of("chats", newest.place)
    assert client.get(url).status_code == 200
    text = client.get("/chats/").content.decode()
    assert "Recently opened by you" in text
    assert url in text
    assert "Recently opened by you" not in signed_in(admin(username="someone.else")).get("/chats/").content.decode()


def test_who_sees_some_companies_only_is_not_led_to_chats():
    assert "Chats" not in [each.label for each in navigation("/", staff(Role.AGENT, "ci-aaa-001"))]
    assert "Chats" in [each.label for each in navigation("/", ADMIN)]
