"""A session's record: what happened, from Chats, with what is left of texts and images; whatever drifts or fails."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.errors import Forbidden, NotFound, StoreUnavailable, TableMissing, Throttled
from console.permissions import Role
from console.store import presence
from console.store.models import ForeignModel
from conversations.records import Picture, Speaker
from conversations.stores import services
from conversations.stores.adapter import ListParameters
from conversations.stores.chats.keys import anchor_of, position_at, reference_of
from conversations.stores.chats.messages import EXPIRED, NOT_KEPT, NOT_READ, joined
from conversations.stores.chats.models import ChatEvent, ChatText
from conversations.stores.chats.queries import WINDOW, Part, Spot
from conversations.stores.reading import Attempted
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    AUDITOR,
    CHATS,
    IMAGE,
    OTHER,
    PHONE,
    PROMPT,
    USER,
    ago,
    event,
    fact,
    image,
    opened,
    record,
    session,
    session_id,
    sessions,
    text,
)
from tests.support.conversations.stores.kit import messages, said, staff

BEGUN = 1_700_000_000


@pytest.fixture
def running(store):
    """A running session with a question, an answer, and a picture."""
    begun = ago(minutes=20)
    store.put("SESSIONS", session(begun))
    store.put_all("CHATS", [event(begun, begun + 1), event(begun, begun + 5, "assistant")])
    store.put("CHATS", event(begun, begun + 9, "assistant", ImageId=IMAGE))
    store.put_all("CHAT_MESSAGES", [text(begun, begun + 1, f"I am {PHONE}"), text(begun, begun + 5, "Noted.")])
    store.put("IMAGE_RESPONSES", image())
    return begun


# --- The timeline ---------------------------------------------------------------------------------------------------


def test_a_running_session_is_read_by_three_calls_at_once_and_one_for_its_images(store, running):
    presence.table_keys("SESSIONS")  # which a worker remembers
    with store.calls() as seen:
        page = opened(running)
    assert sorted((call.operation, call.tables[0]) for call in seen) == [
        ("BatchGetItem", "IMAGE_RESPONSES"),
        ("GetItem", "SESSIONS"),
        ("Query", "CHATS"),
        ("Query", "CHAT_MESSAGES"),
    ]
    assert {call.request["Limit"] for call in seen if call.operation == "Query"} == {WINDOW + 1}
    assert {call.request["ConsistentRead"] for call in seen if call.operation != "BatchGetItem"} == {True}
    assert [(each.speaker, each.speaker_name) for each in messages(page)] == [
        (Speaker.CUSTOMER, "User"),
        (Speaker.AI, "Assistant"),
        (Speaker.AI, "Assistant"),
    ]
    assert said(page) == [f"I am {PHONE}", "Noted.", PROMPT]
    assert [each.extra.note for each in messages(page)] == ["", "", NOT_KEPT]
    assert (page.state.text, page.notices, page.flaws) == ("running", (), ())
    assert (page.talk.items[0].kind, page.talk.earlier, page.talk.later) == ("day", "", "")
    assert fact(page, "Messages").value == "3"
    assert fact(page, "Quota").value == "40 messages"
    assert fact(page, "User").value == f"{USER[:8]}…"
    assert page.crumbs[0].place.parts == ("sessions", USER)


def test_an_auditor_sees_it_redacted_and_no_address_of_an_image(running):
    page = opened(running, AUDITOR, raw=False)
    assert said(page)[0] == "I am ***-***-0123"
    [block] = messages(page)[2].blocks
    assert (block.kind, block.text, block.label, block.data) == ("image", PROMPT, "Image", None)
    assert "images.example" not in repr(page)
    assert PHONE not in repr(page)


def test_an_expired_session_is_rebuilt_from_its_chats_without_texts(store):
    store.put_all("CHATS", [event(BEGUN, BEGUN + 5, "assistant"), event(BEGUN, BEGUN + 1)])
    # DynamoDB has not removed them yet.
    store.put("SESSIONS", session(BEGUN, SessionTTL=BEGUN + 10_800))
    store.put("CHAT_MESSAGES", text(BEGUN, BEGUN + 1, "secret", SessionTTL=f"{BEGUN + 10_800}"))
    page = opened(BEGUN)
    assert (page.state.text, page.config, page.actions) == ("expired", None, ())
    assert [(each.blocks, each.extra.note) for each in messages(page)] == [((), EXPIRED)] * 2
    assert "secret" not in repr(page)
    assert fact(page, "Started").at.timestamp() == BEGUN
    assert fact(page, "Expired").value == "about 3 hours after it began"


@pytest.mark.parametrize("ttl", [BEGUN, Decimal(f"{BEGUN}.9"), str(BEGUN), f"{BEGUN}.5"])
def test_an_expired_text_is_not_shown_even_in_a_running_session(store, running, ttl):
    store.put("CHAT_MESSAGES", text(running, running + 1, "secret", SessionTTL=ttl))
    assert "secret" not in repr(opened(running))


def test_decimal_times_join_exactly_and_order_is_that_of_instants(store):
    times = [
        Decimal(each)
        for each in ("1700000001.123456789012345678", "1700000001.1234567891", "1700000001", "1700000000.5")
    ]
    store.put_all("CHATS", [event(BEGUN, at) for at in times])
    store.put_all("CHAT_MESSAGES", [text(BEGUN, at, f"at {at}") for at in times])
    page = opened(BEGUN)
    assert said(page) == [f"at {at}" for at in sorted(times)]
    assert all(each.drift == () for each in messages(page))
    assert len({each.anchor for each in messages(page)}) == 4


def test_a_text_without_an_event_is_shown_and_flagged(store, running):
    store.put("CHAT_MESSAGES", text(running, running + 3, "between"))
    page = opened(running)
    assert said(page)[1] == "between"
    assert messages(page)[1].speaker is Speaker.UNKNOWN
    assert "it is not among the chat's events" in messages(page)[1].drift


@pytest.mark.parametrize(
    ("drift", "flaw"),
    [
        ({"ChatAgent": "bot"}, "ChatAgent: not a value that the schema knows"),
        ({"ChatAgent": None}, "ChatAgent: NULL"),
        ({"ChatAgent": ...}, "ChatAgent: missing"),
        ({"ChatAgent": ""}, "ChatAgent: empty text"),
        ({"ChatAgent": ["user"]}, "ChatAgent: list instead of text"),
        ({"ImageId": 7}, "ImageId: number instead of text"),
        ({"ImageId": "gone"}, "its image is not in ImageResponses"),
        ({"UserId": OTHER}, "its UserId is another user's"),
    ],
)
def test_one_odd_event_is_one_flagged_message(store, running, drift, flaw):
    store.put("CHATS", event(running, running + 2, **drift))
    page = opened(running)
    assert flaw in messages(page)[1].drift
    assert messages(page)[0].drift == messages(page)[2].drift == ()


@pytest.mark.parametrize("agent", ["Assistant", " USER "])
def test_agents_are_known_in_any_case(store, agent):
    store.put("CHATS", event(BEGUN, BEGUN, agent))
    assert messages(opened(BEGUN))[0].speaker in (Speaker.AI, Speaker.CUSTOMER)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("hi", "hi"),
        ('{"a": 1}', '{"a": 1}'),
        ("[note] bring a coat", "[note] bring a coat"),
        (7, "7"),
        ([{"type": "text", "text": "hi"}], "hi"),
    ],
)
def test_the_text_is_shown_as_it_is_stored(store, stored, shown):
    begun = ago(minutes=3)
    store.put("CHATS", event(begun, begun))
    store.put("CHAT_MESSAGES", text(begun, begun, stored))
    assert said(opened(begun)) == [shown]


def test_unknown_attributes_are_kept_beside_it_without_credentials(store):
    begun = ago(minutes=3)
    store.put("SESSIONS", session(begun, Locale="en", **{"contact": PHONE}))
    store.put("CHATS", event(begun, begun, Tokens=12, ApiKey="sk-canary-Zx81hQ0vLeak77"))
    store.put("CHAT_MESSAGES", text(begun, begun, "hi", Mood=f"call {PHONE}"))
    page = opened(begun, AUDITOR, raw=False)
    more = messages(page)[0].extra.more
    assert {node.key for node in more.children} == {"Tokens", "ApiKey", "Mood"}
    assert {node.key for node in page.unknown.children} == {"Locale", "contact"}
    assert "unknown attributes: Locale, contact" in page.flaws
    assert "Zx81" not in repr(opened(begun))
    assert PHONE not in repr(page)


@pytest.mark.parametrize("other", [{}, {"Body": "hi"}])
def test_a_message_without_any_text_says_so(store, other):
    begun = ago(minutes=3)
    store.put("CHAT_MESSAGES", text(begun, begun, None, **other))
    [shown] = messages(opened(begun))
    assert "it has no text" in shown.drift
    assert bool(shown.extra.more) == bool(other)


def test_the_configuration_is_a_tree_with_credentials_masked(store):
    config = {"model": "gpt-4", "key": "sk-canary-Zx81hQ0vLeak77", "greet": {"to": PHONE}}
    begun = ago(minutes=3)
    store.put("SESSIONS", session(begun, SessionConfig=json.dumps(config)))
    page = opened(begun)
    assert [node.key for node in page.config.children] == ["model", "key", "greet"]
    assert PHONE in repr(page.config)
    assert "Zx81" not in repr(page.config)
    assert PHONE not in repr(opened(begun, AUDITOR, raw=False).config)
    store.put("SESSIONS", session(begun, SessionConfig='{"model": "gp'))
    page = opened(begun)
    assert "SessionConfig: not valid JSON" in page.flaws
    assert page.config.text == '{"model": "gp'


def test_a_finished_session_says_when(store):
    begun, finished = ago(hours=1), ago(minutes=30)
    store.put("SESSIONS", session(begun, TimestampFinished=finished))
    page = opened(begun)
    assert (page.state.text, page.actions) == ("finished", ())
    assert fact(page, "Finished").at.timestamp() == finished
    assert fact(page, "Expires").relative == "in"


# --- Windows --------------------------------------------------------------------------------------------------------


def long_one(store, count=250, texts=True):
    store.put_all("CHATS", [event(BEGUN, BEGUN + number) for number in range(count)])
    if texts:
        future = clock.to_epoch(clock.now()) + 999
        store.put_all(
            "CHAT_MESSAGES", [text(BEGUN, BEGUN + n, f"said {n}", SessionTTL=future) for n in range(0, count, 2)]
        )


def times(page):
    return [int(each.at.timestamp()) - BEGUN for each in messages(page)]


def test_the_latest_hundred_come_first_and_the_others_by_sealed_cursors(store):
    long_one(store)
    page = opened(BEGUN)
    assert times(page) == list(range(150, 250))
    assert fact(page, "Messages").value == "more than 100"
    assert page.talk.later == ""
    middle = opened(BEGUN, before=page.talk.earlier)
    first = opened(BEGUN, before=middle.talk.earlier)
    assert (times(middle), times(first)) == (list(range(50, 150)), list(range(50)))
    assert first.talk.earlier == ""
    assert times(opened(BEGUN, before=first.talk.later)) == list(range(50, 150))
    last = opened(BEGUN, before=middle.talk.later)
    assert (times(last), last.talk.later) == (list(range(150, 250)), "")
    assert said(middle)[0] == "said 50"
    for cursor in (page.talk.earlier, middle.talk.later):
        assert str(BEGUN)[:6] not in cursor


def test_a_window_is_of_one_person_and_session(store):
    long_one(store, texts=False)
    earlier = opened(BEGUN).talk.earlier
    assert times(opened(BEGUN, AUDITOR, before=earlier))[-1] == 249
    assert times(opened(BEGUN, before="junk"))[-1] == 249
    store.put("CHATS", event(5, BEGUN))
    assert times(opened(5, before=earlier)) == [0]


def test_a_message_far_back_is_shown_by_its_anchor_with_two_more_reads(store):
    presence.table_keys("SESSIONS")  # which a worker remembers
    long_one(store)
    with store.calls() as seen:
        page = opened(BEGUN, at=anchor_of(Decimal(BEGUN + 20)))
    assert times(page) == list(range(21))
    assert len(seen) == 5
    assert times(opened(BEGUN, before=page.talk.later))[0] == 21
    for at in (anchor_of(Decimal(BEGUN + 240)), "junk", "zz", "a" * 500):
        assert times(opened(BEGUN, at=at))[-1] == 249


def test_a_window_that_is_empty_by_now_is_the_latest(store):
    long_one(store, 120, texts=False)
    page = opened(BEGUN)
    for number in range(20):
        store.delete("CHATS", SessionId=session_id(BEGUN), TimestampCreated=BEGUN + number)
    assert times(opened(BEGUN, before=page.talk.earlier)) == list(range(20, 120))


KEYS = st.lists(st.integers(1, 300), max_size=40, unique=True)


@given(KEYS, KEYS, st.integers(1, 12), st.booleans())
def test_windows_of_two_tables_lose_nothing_and_show_nothing_twice(events, texts, read, forward):
    """Whatever either table holds, and however little DynamoDB gives out at once."""

    def part(model: type[ForeignModel], keys: list[int], after: int) -> Attempted:
        order = sorted(keys, reverse=not forward)
        rest = [key for key in order if (key > after if forward else key < after)]
        made = [{"SessionId": "s", "TimestampCreated": key} for key in rest[:read]]
        items = tuple(model.from_raw_data(to_dynamodb(each)) for each in made)
        return Attempted(Part(items, {"more": {}} if len(rest) > read else None))

    found, at = [], 0 if forward else 1000
    for _ in range(200):
        spot = Spot("after" if forward else "before", Decimal(at))
        window = joined(part(ChatEvent, events, at), part(ChatText, texts, at), spot)
        keys = [int(entry.position) for entry in window.entries]
        assert keys == sorted(keys)
        found += keys if forward else reversed(keys)
        if window.is_to_end if forward else window.is_from_start:
            break
        at = found[-1]
    assert found == sorted({*events, *texts}, reverse=not forward)


@pytest.mark.slow
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_an_anchor_is_its_time_in_letters(position):
    anchor = anchor_of(position)
    assert anchor.isalpha()
    if len(position.as_tuple().digits) <= 38 and abs(position.adjusted()) < 38:
        assert position_at(anchor) == position


# --- Pictures -------------------------------------------------------------------------------------------------------


def test_a_picture_is_shown_once_it_is_asked_for(running):
    def picture(**asked):
        return messages(opened(running, **asked))[2].blocks[0].data

    assert picture() == Picture(reference_of(IMAGE), "https://images.example/a.png", "images.example", PROMPT)
    assert picture(show=reference_of(IMAGE)).shown
    assert not picture(show=reference_of("another")).shown


def test_images_of_the_messages_are_a_short_table_with_redacted_prompts(store, running):
    store.put("IMAGE_RESPONSES", image(Prompt=f"a portrait of {PHONE}"))
    store.put("CHATS", event(running, running + 10, "assistant", ImageId=IMAGE))
    store.put("CHATS", event(running, running + 11, "assistant", ImageId="gone"))
    [table] = opened(running).tables
    assert [row.name for row in table.rows] == ["Image gone", "a portrait of ***-***-0123"]
    assert [row.place and row.place.parts for row in table.rows] == [None, ("image", IMAGE)]
    assert said(opened(running))[2] == f"a portrait of {PHONE}"
    assert said(opened(running, AUDITOR, raw=False))[2] == "a portrait of ***-***-0123"


def test_a_hundred_images_are_one_call(store):
    ids = [f"image-{number}" for number in range(100)]
    store.put_all("IMAGE_RESPONSES", [image(each) for each in ids])
    store.put_all("CHATS", [event(BEGUN, BEGUN + n, "assistant", ImageId=each) for n, each in enumerate(ids)])
    store.put("CHATS", event(BEGUN, BEGUN - 1, "assistant", ImageId=IMAGE))
    with store.calls() as seen:
        page = opened(BEGUN)
    assert [call.operation for call in seen].count("BatchGetItem") == 1
    assert len(page.tables[0].rows) == 100
    assert page.tables[0].about == "From the messages shown above."


# --- What fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "notice"),
    [
        ("SESSIONS", "The state of the session could not be read: the database did not answer."),
        ("CHATS", "The senders and times of the messages could not be read: the database did not answer."),
        ("CHAT_MESSAGES", "The texts could not be read: the database did not answer."),
        ("IMAGE_RESPONSES", "The images could not be read: the database did not answer."),
    ],
)
def test_one_failing_table_is_one_notice_and_the_rest_is_shown(running, table, notice):
    with faults.fail_before(table_key=table, times=faults.ALWAYS):
        page = opened(running)
    assert [each for each in page.notices if each.startswith(notice)]
    assert len(page.notices) == 1
    assert messages(page)
    if table == "SESSIONS":
        assert (page.state.text, page.actions) == ("not known", ())
    if table == "CHAT_MESSAGES":
        assert {each.extra.note for each in messages(page)} == {NOT_READ}
    if table == "CHATS":
        assert said(page) == [f"I am {PHONE}", "Noted."]
        assert not [flaw for each in messages(page) for flaw in each.drift]
    if table == "IMAGE_RESPONSES":
        assert messages(page)[2].drift == ()


@pytest.mark.parametrize("table", ["SESSIONS", "CHATS", "CHAT_MESSAGES", "IMAGE_RESPONSES"])
def test_one_absent_table_is_named(bare_store, table):
    begun = ago(minutes=3)
    items = {
        "SESSIONS": session(begun),
        "CHATS": event(begun, begun, "assistant", ImageId=IMAGE),
        "CHAT_MESSAGES": text(begun, begun),
        "IMAGE_RESPONSES": image(),
    }
    bare_store.create_tables(*(items.keys() - {table}))
    for key in items.keys() - {table}:
        bare_store.put(key, items[key])
    page = opened(begun)
    # Without Chats nobody knows of an image.
    assert messages(page)
    [notice] = page.notices
    assert "is missing in this environment" in notice


@pytest.mark.parametrize("table", ["SESSIONS", "CHATS", "CHAT_MESSAGES"])
def test_nothing_found_is_an_error_where_a_table_failed_and_not_found_else(store, table):
    with pytest.raises(NotFound):
        opened(BEGUN)
    with (
        faults.refuse(table_key=table, code="ProvisionedThroughputExceededException", times=faults.ALWAYS),
        pytest.raises(Throttled),
    ):
        opened(BEGUN)


def test_without_any_table_that_is_said(bare_store):
    with pytest.raises(TableMissing):
        opened(BEGUN)


def test_a_broken_answer_is_not_taken_for_nothing(store):
    with faults.answer("Query", body={}, times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        opened(BEGUN)


# --- Who ------------------------------------------------------------------------------------------------------------


def test_records_are_for_those_whose_scope_is_everything(store, running):
    store.put("IMAGE_RESPONSES", image())
    with store.calls() as seen:
        for parts in (("session", USER, session_id(running)), ("image", IMAGE)):
            with pytest.raises(NotFound):
                record(*parts, who=staff(Role.ADMIN, "ci-aaa-001", USER))
            with pytest.raises(Forbidden):
                record(*parts, who=staff(Role.ONBOARDING))
    assert not seen


@pytest.mark.parametrize(
    "parts", [(), ("session",), ("session", USER), ("session", USER, ""), ("session", USER, "x" * 2000), ("image", "")]
)
def test_parts_that_name_no_record_are_not_found(store, parts):
    with pytest.raises(NotFound):
        record(*parts)


def test_the_trail_is_that_of_the_chat_and_of_no_company(running):
    subject = CHATS.subject(CHATS.load(("session", USER, session_id(running)), ADMIN, ListParameters()))
    assert (subject.trail, subject.company_id) == (f"CHAT#{session_id(running)}", "")
    subject = CHATS.subject(CHATS.load(("image", IMAGE), ADMIN, ListParameters()))
    assert (subject.trail, subject.company_id) == (f"CHAT#image {IMAGE}", "")


def test_opening_one_is_on_record_before_it_is_shown(store, running):
    parts = ("session", USER, session_id(running))
    opened_by = [services.open_record(CHATS, parts, who, ListParameters()) for who in (ADMIN, AUDITOR, AUDITOR)]
    assert [each.is_raw for each in opened_by] == [True, False, False]
    assert said(opened_by[1].page)[0] == "I am ***-***-0123"
    assert [(each["conversation_id"], each["action_type"], each["actor"]) for each in store.all("AUDIT")] == [
        (f"CHAT#{session_id(running)}", "transcript.opened", who.username) for who in (ADMIN, AUDITOR)
    ]


HOSTILE = ["<b>x</b>", "‮abc", "\u2028", "a\x00b", "{{7*7}}", "🙂" * 50, "'; --", "#", "a:b"]


@pytest.mark.parametrize("odd", HOSTILE)
def test_hostile_ids_and_texts_are_shown_and_harm_nothing(store, odd):
    sid = f"{odd}:{odd}"
    store.put("SESSIONS", session(1, UserId=odd, SessionId=sid, SessionConfig=odd, **{odd: odd}))
    store.put("CHATS", event(1, BEGUN, odd, SessionId=sid, UserId=odd, ImageId=odd, **{f"x{odd}": odd}))
    store.put("CHAT_MESSAGES", text(1, BEGUN, odd, SessionId=sid))
    page = record("session", odd, sid)
    assert said(page)[0].startswith(odd)
    assert len(sessions(user=odd).rows) == 1
    assert not record("session", odd, sid, raw=False, who=AUDITOR).notices


def test_the_empty_image_of_a_text_is_no_flaw_and_not_told(store):
    begun = ago(minutes=20)
    store.put("SESSIONS", session(begun))
    store.put("CHATS", event(begun, begun + 1, ImageId=""))
    store.put("CHAT_MESSAGES", text(begun, begun + 1, "Where is my parcel?", ImageId=""))
    (shown,) = messages(opened(begun))
    assert shown.drift == ()
    assert (shown.extra.more, [block.kind for block in shown.blocks]) == (None, ["text"])
