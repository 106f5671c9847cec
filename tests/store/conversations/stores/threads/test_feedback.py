"""Feedback on an answer: one conditional write of the named attributes, with its entry; and what can go wrong."""

import json

import pytest

from console.errors import Conflict, Forbidden, NotFound
from console.permissions import Role
from console.trail.actions import Action
from console.trail.recording import NoTrail
from conversations.stores.adapter import ListParameters
from conversations.stores.records import record_place
from conversations.stores.threads.adapter import Threads
from conversations.stores.threads.feedback import AS_STORED
from conversations.stores.threads.keys import anchor_of
from tests import faults
from tests.support.conversations.stores.kit import query, staff
from tests.support.conversations.stores.threads.kit import (
    ADMIN,
    BASE,
    ORG,
    PARTS,
    TENANT,
    THREAD,
    USER,
    ago,
    llm,
    msg,
    of_threads,
    thread,
)

adapter = Threads()
give = adapter.actions["feedback"]
AT = ago(minutes=10)


def answer(store, **more) -> dict:
    item = llm("a1", AT, updated_at="2025-12-10T12:34:56", **more)
    store.put("THREADS", item)
    return item


def parts_of(item: dict) -> tuple[str, ...]:
    return (*PARTS, item["SK"])


def ask(item, reader=ADMIN, data=None):
    return give.ask(parts_of(item), reader, data)


def change(item, verso="", comment="", seen=None, reader=ADMIN):
    question = ask(item, reader, query(verso=verso, comment=comment))
    assert question.form.is_valid(), question.form.errors
    return give.do(parts_of(item), reader, question.form, question.seen if seen is None else seen)


def stored(store, item) -> dict:
    return store.get("THREADS", PK=item["PK"], SK=item["SK"])


def changes(store) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == Action.FEEDBACK_CHANGED]


# --- Set and clear ---------------------------------------------------------------------------------------------------


def test_feedback_is_removed_again(store):
    item = answer(store, verso="down", feedback="Wrong")
    assert "removed" in change(item, "", "").message
    assert not {"verso", "feedback"} & stored(store, item).keys()
    payload = json.loads(changes(store)[0]["action_payload_redacted"])
    assert payload == {"verso": {"from": "down", "to": "none"}, "comment": "removed"}


@pytest.mark.parametrize("before", [..., None])
def test_feedback_is_set_with_its_entry_and_nothing_else_is_touched(store, before):
    item = answer(store, verso=before, feedback=before, sources=["a"], novel={"x": 1})
    question = ask(item)
    with store.calls() as calls:
        done = change(item, "down", "Wrong clinic", question.seen)
    writes = [(call.operation, call.tables[0]) for call in calls if call.operation.startswith(("Put", "Update"))]
    assert writes == [("PutItem", "AUDIT"), ("UpdateItem", "THREADS"), ("UpdateItem", "AUDIT")]
    assert done.place == record_place(BASE, THREAD, at=anchor_of(item["SK"]))
    now = stored(store, item)
    assert (now.pop("verso"), now.pop("feedback")) == ("down", "Wrong clinic")
    assert now.pop("updated_at") > "2025-12-10T12:34:56"
    assert now == {name: value for name, value in item.items() if name not in ("verso", "feedback", "updated_at")}
    [entry] = changes(store)
    assert (entry["conversation_id"], entry["company_id"], entry["actor"], entry["result"]) == (
        f"THREAD#{ORG}#{TENANT}#{USER}#{THREAD}",
        ORG,
        "admin.person",
        "success",
    )
    payload = json.loads(entry["action_payload_redacted"])
    assert payload == {"verso": {"from": "none", "to": "down"}, "comment": "added"}
    assert "Wrong clinic" not in repr(entry)


def test_only_what_changes_is_written(store):
    item = answer(store, verso="down", feedback="Wrong")
    with store.calls() as calls:
        change(item, "up", "Wrong")
    [update] = [call.request for call in calls if call.operation == "UpdateItem" and call.tables == ("THREADS",)]
    assert "#feedback =" not in update["UpdateExpression"]
    assert stored(store, item)["feedback"] == "Wrong"
    assert json.loads(changes(store)[0]["action_payload_redacted"])["comment"] == "unchanged"


@pytest.mark.parametrize(("verso", "comment"), [("down", "Wrong"), (..., ...), (None, ...), ("down", None)])
def test_what_does_not_change_is_neither_written_nor_recorded(store, verso, comment):
    item = answer(store, verso=verso, feedback=comment)
    typed = {"verso": verso if isinstance(verso, str) else "", "comment": comment if isinstance(comment, str) else ""}
    with store.calls() as calls:
        done = change(item, **typed)
    assert "Nothing to change" in done.message
    assert not [call for call in calls if call.operation.startswith(("Put", "Update"))]


@pytest.mark.parametrize("odd", ["sideways", "UP", ["up"], {"S": "up"}, 3, b"\x00", {"a", "b"}])
def test_odd_feedback_can_be_kept_and_replaced(store, odd):
    item = answer(store, verso=odd, feedback=odd)
    form = ask(item).form
    assert form.initial["verso"] == AS_STORED
    change(item, AS_STORED, "New comment")
    assert stored(store, item)["verso"] == odd
    assert stored(store, item)["feedback"] == "New comment"
    change(item, "up", "New comment")
    assert stored(store, item)["verso"] == "up"
    for entry in changes(store):
        assert entry["result"] == "success"


# --- Who, and on what ------------------------------------------------------------------------------------------------


def test_the_question_shows_what_is_stored_now(store):
    item = answer(store, verso="down", feedback="Wrong clinic")
    with store.calls() as calls:
        question = ask(item)
    assert [call.operation for call in of_threads(calls)] == ["BatchGetItem", "BatchGetItem"]
    assert question.record == "Untitled thread"
    store.put("THREADS", thread(title="Call +447700900123 back"))
    assert ask(item).record == "Call ***-***-0123 back"
    assert [link.label for link in question.crumbs] == [ORG]
    assert question.form.initial == {"verso": "down", "comment": "Wrong clinic"}
    assert question.back == record_place(BASE, THREAD, at=anchor_of(item["SK"]))


def personal(store) -> dict:
    item = llm("447700900123", AT, feedback="Call +447700900123")
    store.put("THREADS", item)
    return item


def test_personal_data_is_shown_raw_only_on_record(store):
    question = ask(personal(store))
    assert question.form.initial["comment"] == "Call +447700900123"
    assert question.facts[0].value == "447700900123"
    [entry] = store.all("AUDIT")
    assert (entry["action_type"], entry["company_id"]) == ("transcript.opened", ORG)


def test_without_a_record_it_is_masked_and_a_comment_left_alone_stays_as_it_is(bare_store):
    bare_store.create_tables("THREADS")
    item = personal(bare_store)
    question = ask(item)
    assert "7700900123" not in str(question.facts) + question.form.initial["comment"]
    form = ask(item, data=query(verso="", comment=question.form.initial["comment"])).form
    assert form.is_valid()
    assert "Nothing to change" in give.do(parts_of(item), ADMIN, form, question.seen).message


def test_only_who_may_write_feedback_is_offered_it_and_gets_it(store):
    item = answer(store)
    store.put("THREADS", msg("m1", ago(minutes=1)))

    def acts(reader):
        talk = adapter.page(adapter.load(PARTS, reader, ListParameters()), reader, ListParameters(), raw=False).talk
        return [each.extra.act for each in talk.items if each.is_message]

    assert acts(ADMIN) == [("feedback", parts_of(item)), None]
    for role in (Role.AGENT, Role.AUDITOR):
        assert acts(staff(role, ORG)) == [None, None]
    form = ask(item, data=query(verso="up", comment="")).form
    assert form.is_valid()
    for role in (Role.AGENT, Role.AUDITOR, Role.ONBOARDING):
        with store.calls() as calls:
            with pytest.raises(Forbidden):
                ask(item, staff(role, ORG))
            with pytest.raises(Forbidden):
                give.do(parts_of(item), staff(role, ORG), form, "")
        assert not calls


def test_feedback_is_given_on_answers_only_and_within_scope(store):
    item = answer(store)
    question = msg("m1", AT)
    by_role = msg("m2", AT, role="assistant")
    gone = llm("a2", AT, ExpiryTime=1_600_000_000)
    store.put_all("THREADS", [question, by_role, gone])
    assert ask(by_role)
    with pytest.raises(Conflict):
        ask(question)
    for parts in ((*PARTS, gone["SK"]), PARTS, (*PARTS, "LLM#nope"), (*PARTS, f"THREAD#{THREAD}"), (*PARTS, "")):
        with pytest.raises(NotFound):
            give.ask(parts, ADMIN, None)
    with store.calls() as calls, pytest.raises(NotFound):
        ask(item, staff(Role.ADMIN, "elsewhere"))
    assert not calls


def test_it_is_not_offered_where_nothing_can_be_changed(bare_store):
    bare_store.create_tables("THREADS")
    item = answer(bare_store)
    with pytest.raises(NoTrail, match="nothing was changed"):
        change(item, "up")
    assert "verso" not in stored(bare_store, item)
    talk = adapter.page(adapter.load(PARTS, ADMIN, ListParameters()), ADMIN, ListParameters(), raw=False).talk
    assert [each.extra.act for each in talk.items if each.is_message] == [None]


# --- What can go wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before it is read", "before it is written"])
@pytest.mark.parametrize("meanwhile", [{"verso": "up"}, {"feedback": "Mine"}, {"verso": None, "feedback": "x"}])
def test_feedback_that_changed_since_it_was_seen_stays(store, when, meanwhile):
    item = answer(store)
    seen = ask(item).seen
    key = {"PK": item["PK"], "SK": item["SK"]}
    if when == "before it is read":
        store.update("THREADS", key, **meanwhile)
        with pytest.raises(Conflict):
            change(item, "down", "Ours", seen)
        assert not changes(store)
    else:
        write = lambda: store.update("THREADS", key, **meanwhile)  # noqa: E731
        with faults.before("UpdateItem", write, table_key="THREADS"), pytest.raises(Conflict):
            change(item, "down", "Ours", seen)
        assert changes(store)[0]["result"].startswith("conflict")
    assert {name: stored(store, item).get(name) for name in meanwhile} == meanwhile


def test_a_message_that_is_gone_meanwhile_is_not_made_anew(store):
    item = answer(store)
    remove = lambda: store.delete("THREADS", PK=item["PK"], SK=item["SK"])  # noqa: E731
    with faults.before("UpdateItem", remove, table_key="THREADS"), pytest.raises(Conflict):
        change(item, "down")
    assert not store.all("THREADS")


@pytest.mark.parametrize(
    "data", [{"verso": "sideways"}, {"comment": "x" * 2001}, {"comment": "a\x00b"}, {"comment": "\ud800"}]
)
def test_junk_is_told_at_the_form(store, data):
    assert not ask(answer(store), data=query(**data)).form.is_valid()


def test_lines_and_hostile_characters_of_a_comment_are_stored_as_typed(store):
    item = answer(store)
    typed = "<b>line</b>\r\nline two 🙂 \u202e'\" #x"
    change(item, "up", typed)
    assert stored(store, item)["feedback"] == typed.replace("\r\n", "\n")
