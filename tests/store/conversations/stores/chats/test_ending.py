"""Ending a session: one attribute by one conditional write, once, by who may, with its entry in the trail."""

import re
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.http import QueryDict

from console import clock
from console.errors import Conflict, Forbidden, NotFound
from console.permissions import Role
from console.trail.recording import NoTrail
from conversations.stores.chats.ending import EndSession
from tests import faults
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    AGENT,
    AUDITOR,
    USER,
    ago,
    event,
    opened,
    session,
    session_id,
    sessions,
)
from tests.support.conversations.stores.kit import staff

END = EndSession()


def key(begun):
    return {"UserId": USER, "SessionId": session_id(begun)}


def parts(begun):
    return ("session", USER, session_id(begun))


def end(begun, seen=None, who=ADMIN):
    question = END.ask(parts(begun), who, QueryDict("confirm=1"))
    assert question.form.is_valid()
    return END.do(parts(begun), who, question.form, question.seen if seen is None else seen)


def trail(store):
    return [(each["action_type"], each["result"]) for each in store.all("AUDIT")]


@pytest.fixture
def begun(store):
    moment = ago(minutes=10)
    store.put("SESSIONS", session(moment, Mood="calm"))
    return moment


def test_it_is_offered_on_a_running_session_to_who_may(store, begun):
    [offer] = opened(begun).actions
    assert (offer.action, offer.danger) == ("end", True)
    for who in (AUDITOR, AGENT):
        assert opened(begun, who).actions == ()


def test_without_a_trail_it_is_not_offered_nor_done(bare_store):
    bare_store.create_tables("SESSIONS", "CHATS", "CHAT_MESSAGES")
    moment = ago(minutes=10)
    bare_store.put("SESSIONS", session(moment))
    with pytest.raises(NoTrail, match="nothing was changed"):
        end(moment)
    assert "TimestampFinished" not in bare_store.get("SESSIONS", **key(moment))
    assert opened(moment).actions == ()


def test_the_question_says_what_it_is_about_and_what_it_does(begun):
    question = END.ask(parts(begun), ADMIN, None)
    assert not question.form.is_bound
    assert question.danger
    assert question.consequences
    assert question.back.parts == parts(begun)
    assert re.fullmatch(r"Session of \d+ \w{3} \d{4}, \d\d:\d\d", question.record)
    assert [link.label.partition(" ")[0] for link in question.crumbs] == ["User"]
    assert {fact.label for fact in question.facts} == {"User", "Started", "Expires", "Quota"}


def test_ending_sets_one_attribute_and_nothing_else(store, begun):
    before = store.get("SESSIONS", **key(begun))
    since = clock.to_epoch(clock.now())
    with store.calls() as seen:
        done = end(begun)
    [update] = [call for call in seen if call.operation == "UpdateItem" and call.tables == ("SESSIONS",)]
    assert update.request["UpdateExpression"] == "SET #TimestampFinished = :TimestampFinished"
    after = store.get("SESSIONS", **key(begun))
    finished = after.pop("TimestampFinished")
    assert after == before
    assert isinstance(finished, int)
    assert since <= finished <= clock.to_epoch(clock.now())
    assert (done.message, done.place.parts) == ("The session is ended.", parts(begun))
    [entry] = store.all("AUDIT")
    assert (entry["conversation_id"], entry["action_type"], entry["result"], entry["actor"]) == (
        f"CHAT#{session_id(begun)}",
        "chat.ended",
        "success",
        ADMIN.username,
    )
    assert "company_id" not in entry
    assert [row.cells[0].text for row in sessions().rows] == ["finished"]


def test_a_second_time_it_is_finished_already(store, begun):
    end(begun)
    finished = store.get("SESSIONS", **key(begun))["TimestampFinished"]
    for ask in (lambda: END.ask(parts(begun), ADMIN, None), lambda: end(begun)):
        with pytest.raises(Conflict, match="already finished"):
            ask()
    assert store.get("SESSIONS", **key(begun))["TimestampFinished"] == finished
    assert trail(store) == [("chat.ended", "success")]


def test_who_comes_second_changes_nothing_and_that_is_on_record(store, begun):
    def other():
        store.update("SESSIONS", key(begun), TimestampFinished=1_700_000_000)

    with faults.before("UpdateItem", other, table_key="SESSIONS"), pytest.raises(Conflict):
        end(begun)
    assert store.get("SESSIONS", **key(begun))["TimestampFinished"] == 1_700_000_000
    assert trail(store) == [("chat.ended", "conflict: it had changed")]


def test_a_form_of_another_state_is_refused_before_anything_is_written(store, begun):
    seen = END.ask(parts(begun), ADMIN, None).seen
    store.update("SESSIONS", key(begun), TimestampFinished=0)
    for stale in (seen, "", "junk", "é"):
        with pytest.raises(Conflict, match="The session changed since you opened it, so nothing was done"):
            end(begun, stale)
    assert trail(store) == []


@pytest.mark.parametrize("empty", [None, 0, "", "0"])
def test_what_writers_leave_for_not_finished_is_ended_as_seen(store, empty):
    moment = ago(minutes=10)
    store.put("SESSIONS", session(moment, TimestampFinished=empty))
    end(moment)
    assert store.get("SESSIONS", **key(moment))["TimestampFinished"] > 1_700_000_000


def test_one_without_a_readable_time_to_live_can_be_ended(store):
    for number, ttl in enumerate((..., None, "soon", "99999999999")):
        moment = ago(minutes=10 + number)
        store.put("SESSIONS", session(moment, SessionTTL=ttl))
        end(moment)
    assert {each[1] for each in trail(store)} == {"success"}


@pytest.mark.parametrize("ttl", [1_700_000_000, Decimal("1700000000.5"), "1700000000"])
def test_an_expired_one_cannot_be_ended(store, ttl):
    moment = ago(hours=4)
    store.put("SESSIONS", session(moment, SessionTTL=ttl))
    with pytest.raises(NotFound):
        end(moment)
    store.put("CHATS", event(moment, moment))
    with pytest.raises(Conflict, match="This session has already expired"):
        end(moment)
    assert "TimestampFinished" not in store.get("SESSIONS", **key(moment))


def test_one_that_expires_or_goes_in_the_meantime_is_left_alone(store, begun):
    def expire():
        store.update("SESSIONS", key(begun), SessionTTL=ago(seconds=1))

    with faults.before("UpdateItem", expire, table_key="SESSIONS"), pytest.raises(Conflict):
        end(begun)
    assert "TimestampFinished" not in store.get("SESSIONS", **key(begun))
    store.put("SESSIONS", session(begun))
    with (
        faults.before("UpdateItem", lambda: store.delete("SESSIONS", **key(begun)), table_key="SESSIONS"),
        pytest.raises(Conflict),
    ):
        end(begun)
    # No ghost of it is made.
    assert store.all("SESSIONS") == []


def test_a_lost_answer_that_is_asked_for_again_is_success(store, begun):
    with faults.fail_after("UpdateItem", table_key="SESSIONS", retried=True):
        end(begun)
    assert trail(store) == [("chat.ended", "success")]


def test_the_same_second_of_somebody_else_is_not_taken_for_ours(store, begun):
    def other():
        store.update("SESSIONS", key(begun), TimestampFinished=clock.to_epoch(clock.now()))

    with faults.before("UpdateItem", other, table_key="SESSIONS"), pytest.raises(Conflict):
        end(begun)


@pytest.mark.dynoxide_only
def test_of_many_at_once_one_ends_it(store, begun):
    question = END.ask(parts(begun), ADMIN, QueryDict("confirm=1"))

    def go(_):
        try:
            END.do(parts(begun), ADMIN, question.form, question.seen)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(go, range(16))) == 1
    assert [each for each in trail(store) if each[1] == "success"] == [("chat.ended", "success")]


@pytest.mark.parametrize(
    ("who", "error"),
    [
        (AUDITOR, Forbidden),
        (AGENT, Forbidden),
        (staff(Role.ONBOARDING), Forbidden),
        (staff(Role.ADMIN, USER), NotFound),
        (staff(Role.ADMIN, "ci-aaa-001"), NotFound),
    ],
)
def test_only_admins_of_everything_end_sessions(store, begun, who, error):
    question = END.ask(parts(begun), ADMIN, QueryDict("confirm=1"))
    with store.calls() as seen:
        for ask in (
            lambda: END.ask(parts(begun), who, None),
            lambda: END.do(parts(begun), who, question.form, question.seen),
        ):
            with pytest.raises(error):
                ask()
    assert not seen


@pytest.mark.parametrize("odd", [(), ("image", "x"), ("session", USER), ("session", "", "x"), ("session", USER, "x")])
def test_what_is_no_session_is_not_found(store, odd):
    with pytest.raises(NotFound):
        END.ask(odd, ADMIN, None)
