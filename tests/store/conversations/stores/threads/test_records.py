"""A thread as it is loaded and shown: the schema's items and what drifts from them, windows, scope, redaction."""

import re
from datetime import timedelta

import pytest

from console.errors import Forbidden, NotFound
from console.permissions import Role
from console.store.presence import index_ready
from conversations.records import Feedback, Marker, Origin, Speaker
from conversations.stores.adapter import ListParameters, Subject
from conversations.stores.records import list_place, record_place
from conversations.stores.services import open_record
from conversations.stores.threads.adapter import Threads
from conversations.stores.threads.keys import anchor_of
from conversations.stores.threads.lookups import ByMessage, ByOrganisation, ByThread, ThreadsByUser
from conversations.stores.threads.messages import link_to
from tests import faults
from tests.store.conversations.stores.threads.test_lists import without
from tests.support.conversations.stores.kit import messages, said, staff
from tests.support.conversations.stores.threads.kit import (
    ADMIN,
    AUDITOR,
    BASE,
    ORG,
    PARTS,
    PK,
    TENANT,
    THREAD,
    USER,
    ago,
    llm,
    message,
    msg,
    of_threads,
    thread,
    to_expire,
)

adapter = Threads()
EXAMPLE = {
    "PK": "org123#tenantA#user456#thread789",
    "SK": "MSG#0000000123456789012#msg_abc123",
    "SKMessage": "MSG#msg_abc123",
    "thread_id": "thread789",
    "message_id": "msg_abc123",
    "timestamp": 1234567890123,
    "content": "Here's an example with an apostrophe",
    "verso": "up",
    "feedback": "Helpful answer",
    "role": "user",
    "created_at": "2025-12-10T12:34:56",
    "updated_at": "2025-12-10T12:34:56",
}


def page(reader=ADMIN, *, raw=True, parts=PARTS, **asked):
    given = ListParameters(**asked)
    return adapter.page(adapter.load(parts, reader, given), reader, given, raw=raw)


# --- The schema's items ----------------------------------------------------------------------------------------------


def test_the_schemas_example_is_shown_with_its_feedback(store):
    store.put("THREADS", EXAMPLE | {"ExpiryTime": to_expire()})
    record = page()
    [shown] = messages(record)
    assert shown.blocks[0].text == "Here's an example with an apostrophe"
    assert shown.speaker is Speaker.CUSTOMER
    assert shown.extra.feedback == Feedback("up", "Helpful answer")
    # Its key and its attributes name three different times; the key's is that of the order.
    assert any("its key and its timestamp differ" in flaw for flaw in shown.drift)
    assert record.flaws == ("its metadata is missing: there are only messages",)


def test_a_thread_is_loaded_with_one_batch_and_two_queries(store):
    store.put_all("THREADS", [thread(), msg("question", ago(minutes=9)), llm("answer", ago(minutes=8))])
    with store.calls() as calls:
        record = page()
    assert sorted(call.operation for call in of_threads(calls)) == ["BatchGetItem", "Query", "Query"]
    assert isinstance(record.talk.items[0], Marker)
    assert [(each.speaker, each.blocks[0].text) for each in messages(record)] == [
        (Speaker.CUSTOMER, "What question says"),
        (Speaker.AI, "What answer says"),
    ]
    assert not any(each.drift for each in messages(record))
    assert not record.flaws
    facts = {fact.label: fact.value for fact in record.facts}
    assert (facts["Thread"], facts["Organisation"], facts["Tenant"], facts["User"]) == (THREAD, ORG, TENANT, USER)
    assert (facts["Origin"], facts["User messages"], facts["Temporary"]) == ("web", "1", "no")
    assert record.title == "Rota for December"
    assert record.crumbs[0].place == list_place("org", ORG)
    assert record.links[0].place == list_place("user", ORG, TENANT, USER)


def test_metadata_is_found_under_either_key_and_flagged_under_both(store):
    for partition in (PK, BASE):
        store.put_all("THREADS", [thread(PK=partition, is_temporary=True)])
        record = page()
        assert (record.title, record.state.text) == ("Rota for December", "Temporary")
        store.delete("THREADS", PK=partition, SK=f"THREAD#{THREAD}")
    store.put_all("THREADS", [thread(title="old", at=ago(days=2)), thread(title="new", PK=BASE)])
    record = page()
    assert record.title == "new"
    assert "stored twice" in record.flaws[0]
    assert record.talk.items == ()


# --- Windows ---------------------------------------------------------------------------------------------------------


def long_talk(store, count=320):
    start = ago(days=3)
    items = [
        message("LLM" if n % 2 else "MSG", f"{n:03}", start + timedelta(seconds=30 * n), content=f"{n:03}")
        for n in range(count)
    ]
    store.put_all("THREADS", [thread(), *items])
    return items


@pytest.mark.slow
def test_later_windows_lead_back_to_the_latest(store):
    long_talk(store)
    second = page(before=page().talk.earlier)
    third = page(before=second.talk.earlier)
    assert said(third) == [f"{n:03}" for n in range(20, 120)]
    again = page(before=third.talk.later)
    assert said(again) == said(second)
    assert said(page(before=again.talk.later)) == said(page())
    assert not page().talk.later
    assert not page(before=again.talk.later).talk.later


@pytest.mark.parametrize("number", [0, 1, 49, 150, 219, 220, 319])
def test_a_jump_leads_to_a_window_with_the_message(store, number):
    items = long_talk(store)
    record = page(at=anchor_of(items[number]["SK"]))
    assert f"{number:03}" in said(record)
    assert anchor_of(items[number]["SK"]) in [each.anchor for each in messages(record)]
    assert not record.notices
    assert bool(record.talk.later) == (number < 220)
    assert len(said(record)) >= 50


def test_a_jump_to_what_the_latest_window_holds_takes_no_more_reads(store):
    items = [msg("one", ago(minutes=9)), llm("two", ago(minutes=8))]
    store.put_all("THREADS", [thread(), *items])
    with store.calls() as calls:
        page(at=anchor_of(items[0]["SK"]))
    assert len(of_threads(calls)) == 3


@pytest.mark.parametrize("at", ["junk", anchor_of("MSG#0000001767000000000#gone"), anchor_of("LLM##x")])
def test_a_jump_to_what_is_not_there_gives_the_latest_and_says_so(store, at):
    long_talk(store)
    record = page(at=at)
    assert said(record)[-1] == "319"
    assert "no longer exist" in record.notices[0]


def test_cursors_of_others_give_the_latest(store):
    long_talk(store)
    cursor = page().talk.earlier
    stranger = staff(Role.ADMIN)
    stranger = type(stranger)("somebody.else", "Somebody", Role.ADMIN, stranger.scope)
    for reader, before in ((stranger, cursor), (ADMIN, "junk"), (ADMIN, cursor[:-2])):
        assert said(page(reader, before=before))[-1] == "319"


# --- What drifts -----------------------------------------------------------------------------------------------------


def test_one_bad_message_is_one_flagged_message(store):
    store.put_all(
        "THREADS",
        [
            thread(),
            msg("before", ago(minutes=9)),
            llm(
                "bad",
                ago(minutes=8),
                role={"a": 1},
                content={"beam": [None]},
                timestamp="soon",
                verso=["x"],
                feedback={"a": 1},
                sources="https://example.com/a",
                stop_reason=[1],
                response_metadata="none",
                SKMessage=...,
                message_id=None,
                created_at=7,
                colour="blue",
            ),
            msg("after", ago(minutes=7)),
        ],
    )
    shown = messages(page())
    assert [each.extra is not None and bool(each.drift) for each in shown] == [False, True, False]
    bad = shown[1]
    assert bad.speaker is Speaker.UNKNOWN
    assert bad.blocks[0].kind == "data"
    flaws = " | ".join(bad.drift)
    for words in ("role", "verso", "feedback", "sources", "message_id", "timestamp", "unknown attributes: colour"):
        assert words in flaws
    assert "colour" in repr(bad.extra.more)


@pytest.mark.parametrize("nothing", [..., None, ""])
def test_absent_null_and_empty_are_no_feedback_no_sources_and_no_metadata(store, nothing):
    empty = dict.fromkeys(("verso", "feedback", "sources", "response_metadata", "stop_reason"), nothing)
    store.put_all("THREADS", [thread(), llm("m", **empty)])
    extra = messages(page())[0].extra
    assert (extra.feedback, extra.origins, extra.more, extra.stop_reason) == (None, (), None, "")


def test_roles_that_are_none_of_the_schemas_are_flagged(store):
    roles = {"tool": Speaker.UNKNOWN, "system": Speaker.SYSTEM, "": Speaker.CUSTOMER, "assistant": Speaker.AI}
    for number, role in enumerate(roles):
        store.put("THREADS", msg(f"{number}", ago(minutes=9 - number), role=role))
    assert [(each.speaker, len(each.drift)) for each in messages(page())] == [(each, 1) for each in roles.values()]


def test_structured_content_becomes_blocks_and_nothing_is_loaded(store):
    content = [
        "Plain",
        {"type": "text", "text": "Text"},
        {"type": "code", "code": "x = 1", "language": "python"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "tool_use", "name": "search", "input": {"q": "rota", "api_key": "sk-live-0123456789abcdef"}},
        {"type": "hologram", "beam": 1},
    ]
    store.put_all("THREADS", [thread(), llm("m", content=content)])
    blocks = messages(page())[0].blocks
    assert [block.kind for block in blocks] == ["text", "text", "code", "image", "tool_use", "data"]
    assert "0123456789" not in repr(blocks)


def test_response_metadata_has_its_credentials_masked_and_is_redacted_unless_raw(store):
    metadata = {"model": "m-1", "authorization": "Bearer abcdefghijklmnop", "caller": "+447700900123"}
    store.put_all("THREADS", [thread(), llm("m", response_metadata=metadata)])
    raw, redacted = (messages(page(raw=raw))[0].extra for raw in (True, False))
    assert raw.more_title == "Response metadata"
    assert "m-1" in repr(raw.more)
    assert "+447700900123" in repr(raw.more)
    assert "7700900123" not in repr(redacted.more)
    assert "abcdefghijkl" not in repr(raw.more) + repr(redacted.more)


def test_sources_of_several_shapes_link_only_to_web_addresses(store):
    sources = [
        "https://example.com/handbook",
        "Handbook, page 4",
        {"title": "Rota", "url": "https://example.com/rota", "snippet": "Monday: Sinead"},
        {"name": "Policy", "link": "javascript:alert(1)"},
        {"uri": "s3://bucket/key"},
        {"document": {"title": "Nested", "href": "http://example.com/n"}},
        {"score": 3},
        None,
    ]
    store.put_all("THREADS", [thread(), llm("m", sources=sources)])
    found = messages(page())[0].extra.origins
    assert found == (
        Origin("https://example.com/handbook", "https://example.com/handbook"),
        Origin("Handbook, page 4"),
        Origin("Rota", "https://example.com/rota", "Monday: Sinead"),
        Origin("Policy", "", "javascript:alert(1)"),
        Origin("s3://bucket/key"),
        Origin("Nested", "http://example.com/n"),
        Origin("score: 3"),
        Origin("Unnamed source"),
    )


@pytest.mark.parametrize(
    "address",
    [
        *(
            "javascript:alert(1)",
            "JAVASCRIPT:alert(1)",
            " https://example.com",
            "https://",
            "http:///path",
            "//example.com",
        ),
        *(
            "https://a b.example",
            "https://user:pw@example.com",
            "https://[::1",
            "data:text/html,x",
            "https:\\\\example.com",
        ),
        *("ftp://example.com", "https://example.com/\x00", "https://example.com/\nx", 'https://example.com/"', ""),
    ],
)
def test_what_is_no_plain_web_address_is_no_link(address):
    assert link_to(address) == ""


def test_hostile_texts_are_shown_as_texts(store):
    evil = "<script>alert(1)</script>\u202e\x00'\"#%/🙂"
    base = f"{ORG}#{evil}#u {evil}"
    parts = (base, f"t{evil}")
    store.put("THREADS", thread(parts[1], base=base, title=evil, origin=evil))
    store.put(
        "THREADS", llm(evil, PK="#".join(parts), content=evil, verso=evil, sources=[{"title": evil, "url": evil}])
    )
    record = page(parts=parts)
    assert said(record) == [evil]
    assert messages(record)[0].extra.origins[0].url == ""
    assert adapter.subject(adapter.load(parts, ADMIN, ListParameters())).company_id == ORG


# --- Redaction -------------------------------------------------------------------------------------------------------


def test_everything_is_redacted_unless_raw(store):
    number, mail = "+447700900123", "jo.bloggs@example.com"
    base = f"{ORG}#{mail}"
    told = f"call {number}"
    full = {
        "content": [told, {"type": "text", "text": told}, {"type": "code", "code": told}, {"type": "x", "y": told}],
        "feedback": told,
        "verso": told,
        "role": told,
        "stop_reason": told,
        "sources": [told, {"title": told, "text": told, "url": f"https://example.com/?tel={number}"}],
        "response_metadata": {"caller": told},
        "other": told,
    }
    store.put("THREADS", thread("t", base=base, title=told, origin=told, user_id=mail, extra={"x": told}))
    store.put("THREADS", llm("m", PK=f"{base}#t", **full))
    redacted = page(AUDITOR, raw=False, parts=(base, "t"))
    # Places are sealed in addresses, and the parts of an act too.
    shown = repr([redacted.title, redacted.facts, redacted.talk, redacted.unknown, redacted.flaws])
    shown += repr([(each.label, each.note) for each in (*redacted.links, *redacted.crumbs)])
    assert "7700900123" not in shown
    assert mail not in shown
    assert number in repr(page(parts=(base, "t")).talk)


@pytest.mark.parametrize("user", ["zebedee.quack", "zebedee.quack@uni.example"])
def test_a_name_that_the_users_id_spells_is_masked_unless_raw(store, user):
    base, told = f"{ORG}#{user}", "Zebedee Quack's invoice"
    store.put("THREADS", thread("t", base=base, title=told, user_id=user))
    store.put("THREADS", llm("m", PK=f"{base}#t", content=told, feedback="Quack again"))
    shown = page(AUDITOR, raw=False, parts=(base, "t"))
    listed = [adapter.listing(place, AUDITOR, ListParameters()) for place in (("org", ORG), ("user", ORG, "", user))]
    texts = repr([shown.title, shown.facts, [(each.blocks, each.extra.feedback) for each in messages(shown)]])
    texts += repr([each.note for each in shown.links])
    texts += repr([(each.title, [(row.name, row.cells, row.detail) for row in each.rows]) for each in listed])
    assert texts.count("invoice") == 4
    assert not re.search("zebedee|quack", texts, re.IGNORECASE)
    assert "Quack" in repr(page(parts=(base, "t")).talk)


# --- Expired, out of scope, another role -----------------------------------------------------------------------------


@pytest.mark.parametrize("expiry", [1_600_000_000, 1_600_000_000.5, "1600000000"])
def test_what_has_expired_is_gone_from_records_and_look_ups(store, expiry):
    gone, alive = msg("gone", ago(minutes=5), ExpiryTime=expiry), llm("alive", ago(minutes=4))
    store.put_all("THREADS", [gone, alive, thread(ExpiryTime=expiry)])
    record = page()
    assert said(record) == ["What alive says"]
    assert record.title == "Untitled thread"
    assert find(ByMessage, thread=THREAD, message="alive", **WHO).at
    with pytest.raises(NotFound):
        find(ByMessage, thread=THREAD, message="gone", **WHO)
    store.delete("THREADS", PK=PK, SK=alive["SK"])
    with pytest.raises(NotFound):
        page()
    with pytest.raises(NotFound):
        find(ByThread, thread=THREAD, **WHO)


def test_records_are_within_scope_and_role(store):
    store.put_all("THREADS", [thread(), msg("m")])
    for reader, error in ((staff(Role.ADMIN, "elsewhere"), NotFound), (staff(Role.ONBOARDING), Forbidden)):
        with store.calls() as calls, pytest.raises(error):
            adapter.load(PARTS, reader, ListParameters())
        assert not calls
    for parts in (
        (),
        (BASE,),
        (*PARTS, "MSG#x"),
        (BASE, ""),
        (ORG, "t"),
        ("", "t"),
        (BASE, "t" * 2000),
        (BASE, "nope"),
    ):
        with pytest.raises(NotFound):
            adapter.load(parts, staff(Role.ADMIN), ListParameters())


def test_an_item_that_names_another_organisation_is_in_nobodys_scope_but_of_both(store):
    store.put_all("THREADS", [thread(), msg("ours"), msg("theirs", ago(minutes=1), org_id="elsewhere")])
    assert said(page()) == ["What ours says"]
    assert len(said(page(staff(Role.ADMIN)))) == 2
    store.put("THREADS", thread(org_id="elsewhere"))
    with pytest.raises(NotFound):
        page()


def test_opening_is_on_record_in_the_threads_trail(store):
    store.put_all("THREADS", [thread(), msg("m")])
    opened = open_record(adapter, PARTS, AUDITOR, ListParameters())
    assert not opened.is_raw
    assert opened.subject == Subject(f"THREAD#{ORG}#{TENANT}#{USER}#{THREAD}", ORG)
    [entry] = store.all("AUDIT")
    assert (entry["conversation_id"], entry["company_id"]) == (f"THREAD#{ORG}#{TENANT}#{USER}#{THREAD}", ORG)


# --- Look-ups --------------------------------------------------------------------------------------------------------

WHO = {"organisation": ORG, "tenant": TENANT, "user": USER}


def find(kind, reader=ADMIN, **data):
    form = kind({"look": kind.look, **data})
    assert form.is_valid(), form.errors
    return form.find(reader)


def test_look_ups_lead_to_lists_and_records(store):
    store.put_all("THREADS", [thread(), msg("m1"), llm("m2")])
    assert find(ByOrganisation, organisation=ORG) == list_place("org", ORG)
    assert find(ThreadsByUser, **WHO) == list_place("user", ORG, TENANT, USER)
    assert find(ByThread, thread=THREAD, **WHO) == record_place(BASE, THREAD)
    assert find(ByThread, key=PK) == record_place(BASE, THREAD)


@pytest.mark.parametrize("kind", [msg, llm])
def test_a_message_is_found_by_its_id_through_the_index(store, kind):
    item = kind("m1")
    store.put_all("THREADS", [thread(), item, msg("m2")])
    with store.calls() as calls:
        place = find(ByMessage, message="m1", thread=THREAD, **WHO)
    assert place == record_place(BASE, THREAD, at=anchor_of(item["SK"]))
    assert [(call.operation, call.index) for call in calls] == [("Query", "PK-SKMessage-index-v1")] * 2
    assert find(ByMessage, message=item["SKMessage"], key=PK) == place
    assert index_ready("THREADS", "PK-SKMessage-index-v1")


def test_without_its_index_a_message_is_looked_for_in_its_thread(store):
    item = llm("m1")
    store.put_all("THREADS", [thread(), item, msg("m2")])
    refused, described = without(store, "PK-SKMessage-index-v1")
    with refused, described:
        assert find(ByMessage, message="m1", key=PK).at == anchor_of(item["SK"])


def test_what_is_not_there_and_what_is_out_of_scope_are_the_same(store):
    store.put_all("THREADS", [thread(), msg("m1")])
    elsewhere = staff(Role.ADMIN, "elsewhere")
    for kind, data in (
        (ByOrganisation, {"organisation": ORG}),
        (ThreadsByUser, WHO),
        (ByThread, {"key": PK}),
        (ByMessage, {"message": "m1", "key": PK}),
    ):
        with store.calls() as calls, pytest.raises(NotFound):
            find(kind, elsewhere, **data)
        assert not calls
        with pytest.raises(Forbidden):
            find(kind, staff(Role.ONBOARDING), **data)
    for kind, data in (
        (ThreadsByUser, WHO | {"user": "nobody"}),
        (ByThread, {"key": f"{BASE}#nope"}),
        (ByThread, {"key": "nonsense"}),
        (ByMessage, {"message": "nope", "key": PK}),
        (ByMessage, {"message": "m" * 1200, "key": PK}),
    ):
        with pytest.raises(NotFound):
            find(kind, **data)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"organisation": ORG},
        {"key": PK, "organisation": ORG},
        {"organisation": f"{ORG}#x", "user": "u", "thread": "t"},
        {"organisation": ORG, "user": "u\n", "thread": "t\x01"},
    ],
)
def test_incomplete_keys_are_told_at_the_form(data):
    assert not ByThread({"look": "thread", **data}).is_valid()


def test_a_failing_index_of_ids_is_the_stores_error(store):
    with faults.fail_before("Query", times=faults.ALWAYS), pytest.raises(Exception, match="did not answer"):
        find(ByMessage, message="m1", key=PK)
