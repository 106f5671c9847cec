"""Every hand-off action: what is stored afterwards, exactly; what is refused; who is told what."""

import hashlib
import re
from datetime import timedelta

import pytest

from console import clock
from console.errors import BadReference, Forbidden, Invalid, NotFound, TableMissing
from console.permissions import Role, Scope
from conversations.converting import hand_off_of
from conversations.handoff import (
    HandOffAction,
    LostRace,
    allowed_actions,
    perform,
    release_all,
    seal_intent,
    unseal_intent,
)
from conversations.handoff.actions import GIVES, URGENCY
from conversations.models import Conversation
from conversations.records import HandOffState
from tests.store.console.telemetry.kit import counting
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ALL,
    ANA,
    BEN,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    UPDATED_AT,
    WAITING,
    foreign,
    form,
    held_by,
    ours,
    put,
    results,
    staff,
    stored,
    trail,
)
from tests.tables import create_without_some_indexes

A = HandOffAction
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def now(monkeypatch):
    """The clock stands still at a moment of our choosing."""
    moment = clock.parse_instant("2026-02-01T10:00:00Z")
    monkeypatch.setattr(clock, "now", lambda: moment)
    return "2026-02-01T10:00:00.000Z"


def assert_done(store, before, intent, expected, *, updated_at):
    """Exactly these hand-off attributes are stored, nothing else moved, and the trail says so."""
    after = stored(store)
    assert ours(after) == {**expected, "hand_off_action_id": intent.action_id}
    assert foreign(after) == foreign(before)
    assert after["updated_at"] == updated_at
    assert results(store)[intent.action_id] == "success"


def test_request_asks_for_a_human(store, now):
    before = put(store)
    intent = form(A.REQUEST)
    outcome = perform(intent, ANA, reason=" needs a refund ")
    expected = {
        "hand_off_to_human": True,
        "hand_off_to_human_reason": "needs a refund",
        "hand_off_requested_at": now,
        "hand_off_wanted": True,
        "gsi_hand_off_queue": f"waiting#{COMPANY}",
    }
    assert_done(store, before, intent, expected, updated_at=now)
    assert outcome.hand_off.state is HandOffState.WAITING
    assert not outcome.replayed


@pytest.mark.parametrize("flag", [False, None, "absent", "false", 0, "no", [], {"a": 1}])
def test_take_over_from_the_ai_whatever_way_it_says_no(store, now, flag):
    before = put(store, hand_off_to_human=flag)
    if flag == "absent":
        store.client.update_item(
            TableName=store.name("CONVERSATIONS"),
            Key={name: {"S": value} for name, value in KEY.items()},
            UpdateExpression="REMOVE hand_off_to_human",
        )
        before = stored(store)
    intent = form(A.TAKE_OVER)
    outcome = perform(intent, ANA, note="calls at noon")
    expected = {
        "hand_off_to_human": True,
        "hand_off_to_human_reason": None,
        "hand_off_requested_at": now,
        "hand_off_agent": "ana",
        "hand_off_taken_at": now,
        "hand_off_note": "calls at noon",
        "hand_off_note_by": "ana",
        "hand_off_note_at": now,
        "hand_off_wanted": True,
        "gsi_hand_off_queue": f"held#{COMPANY}",
    }
    assert_done(store, before, intent, expected, updated_at=now)
    assert outcome.hand_off.state is HandOffState.HELD
    assert outcome.hand_off.agent == "ana"


@pytest.mark.parametrize("flag", [True, "true", " TRUE ", 1, "1"])
def test_take_keeps_the_flag_and_dates_the_wait_from_what_the_platform_wrote(store, now, flag):
    before = put(store, hand_off_to_human=flag, hand_off_to_human_reason="wants a person")
    intent = form(A.TAKE)
    perform(intent, ANA)
    expected = {
        "hand_off_to_human": flag,
        "hand_off_to_human_reason": "wants a person",
        "hand_off_requested_at": "2026-01-31T09:00:00.000Z",
        "hand_off_agent": "ana",
        "hand_off_taken_at": now,
        "hand_off_wanted": True,
        "gsi_hand_off_queue": f"held#{COMPANY}",
    }
    assert_done(store, before, intent, expected, updated_at=now)


def test_take_leaves_the_time_of_the_request(store, now):
    requested = {"hand_off_requested_at": "2026-01-30T00:00:00Z", "gsi_hand_off_queue": f"waiting#{COMPANY}"}
    put(store, **WAITING, **requested)
    outcome = perform(form(A.TAKE), ANA)
    assert stored(store)["hand_off_requested_at"] == "2026-01-30T00:00:00Z"
    assert clock.now() - outcome.hand_off.requested_at == timedelta(days=2, hours=10)


@pytest.mark.parametrize("drifted", [None, 1769763600])
def test_a_time_of_the_request_that_is_no_text_is_mended(bare_store, now, drifted):
    """The attribute is a sort key of the queue's index, which may be added later: it has to be text."""
    create_without_some_indexes(bare_store)
    bare_store.create_tables("AUDIT", "IDEMPOTENCY")
    put(bare_store, **WAITING, hand_off_requested_at=drifted)
    perform(form(A.TAKE), ANA)
    assert ISO.fullmatch(stored(bare_store)["hand_off_requested_at"])


def test_take_from_a_colleague_needs_a_reason_and_keeps_the_timer(store, now):
    before = put(store, **held_by("ben"))
    intent = form(A.TAKE_FROM_COLLEAGUE)
    with pytest.raises(Invalid):
        perform(intent, ANA, reason="  ")
    assert stored(store) == before
    assert trail(store) == []
    perform(intent, ANA, reason="Ben is ill, call him on +447700900456", note="secret of the house")
    expected = held_by("ana", hand_off_taken_at=now, hand_off_note="secret of the house")
    expected |= {"hand_off_note_by": "ana", "hand_off_note_at": now}
    expected.pop("hand_off_action_id")
    assert_done(store, before, intent, expected, updated_at=now)
    (entry,) = trail(store)
    assert "Ben is ill" in entry["action_payload_redacted"]
    assert "+447700900456" not in entry["action_payload_redacted"]
    assert "secret of the house" not in str(store.all("AUDIT") + store.all("IDEMPOTENCY"))


@pytest.mark.parametrize("who", [ANA, ADMIN], ids=["holder", "admin"])
def test_release_puts_it_back_into_the_queue_with_its_timer(store, now, who):
    before = put(store, **held_by("ana", hand_off_note="half done"))
    intent = form(A.RELEASE)
    outcome = perform(intent, who)
    expected = {
        "hand_off_to_human": True,
        "hand_off_to_human_reason": "wants a person",
        "hand_off_requested_at": "2026-01-31T09:00:00.000Z",
        "hand_off_note": "half done",
        "hand_off_wanted": True,
        "gsi_hand_off_queue": f"waiting#{COMPANY}",
    }
    assert_done(store, before, intent, expected, updated_at=now)
    assert outcome.hand_off.state is HandOffState.WAITING


@pytest.mark.parametrize("who", [ANA, ADMIN], ids=["holder", "admin"])
@pytest.mark.parametrize("note", ["", "solved by phone"])
def test_hand_back_gives_it_to_the_ai(store, now, who, note):
    before = put(store, **held_by("ana", hand_off_note="half done"))
    intent = form(A.HAND_BACK)
    outcome = perform(intent, who, note=note)
    expected = {
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "hand_off_note": note or "half done",
        "hand_off_wanted": False,
        "hand_off_left_at": now,
        "hand_off_to_ai_at": now,
    }
    if note:
        expected |= {"hand_off_note_by": who.username, "hand_off_note_at": now}
    assert_done(store, before, intent, expected, updated_at=now)
    assert outcome.hand_off.state is HandOffState.AI


def test_hand_back_of_one_that_waits(store, now):
    put(store, **WAITING)
    intent = form(A.HAND_BACK)
    perform(intent, ANA)
    assert ours(stored(store)) == {
        "hand_off_to_human": False,
        "hand_off_to_human_reason": None,
        "hand_off_wanted": False,
        "hand_off_left_at": now,
        "hand_off_to_ai_at": now,
        "hand_off_action_id": intent.action_id,
    }


@pytest.mark.parametrize("flag", [False, None, "false"])
@pytest.mark.parametrize("who", [ANA, ADMIN], ids=["holder", "admin"])
def test_acknowledge_accepts_what_the_platform_did(store, now, who, flag):
    before = put(store, **held_by("ana", hand_off_to_human=flag, hand_off_to_human_reason=None))
    intent = form(A.ACKNOWLEDGE)
    outcome = perform(intent, who)
    expected = {"hand_off_to_human": flag, "hand_off_to_human_reason": None, "hand_off_wanted": False}
    expected |= {"hand_off_left_at": now, "hand_off_to_ai_at": now}
    assert_done(store, before, intent, expected, updated_at=now)
    assert outcome.hand_off.state is HandOffState.AI


@pytest.mark.parametrize("who", [ANA, BEN], ids=["holder", "colleague"])
def test_an_overridden_one_is_taken_again_with_its_timer(store, now, who):
    before = put(store, **held_by("ana", hand_off_to_human=False, hand_off_to_human_reason=None))
    intent = form(A.TAKE_OVER)
    perform(intent, who, reason="the AI answered over me")
    expected = held_by(who.username, hand_off_taken_at=now, hand_off_to_human_reason="the AI answered over me")
    expected.pop("hand_off_action_id")
    assert_done(store, before, intent, expected, updated_at=now)


def test_both_records_are_as_the_schema_wants_them(store, now):
    put(store, **WAITING, hand_off_action_id="before")
    intent = form(A.TAKE)
    perform(intent, ANA)
    (entry,) = trail(store)
    (record,) = store.all("IDEMPOTENCY")
    digest, size, reference = (record.pop(name) for name in ("payload_sha256", "payload_bytes", "reference"))
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest != hashlib.sha256(b"").hexdigest()
    assert size > 100
    assert CHANNEL not in reference
    event_id = f"act:hand_off:{CONVERSATION}:{intent.action_id}"
    assert record == {
        "event_id": event_id,
        "created_at": now,
        "last_processed_at": now,
        "received_at": now,
        "expires_at": 1769940000 + 30 * 86_400,
        "status": "success",
        "mode": "console",
        "conversation_id": CONVERSATION,
        "safe_mode": False,
        "automation_enabled": False,
        "intent": "hand_off.take",
        "ts_action_id": f"{now}#{intent.action_id}",
        "attempts": 1,
        "concerns_others": False,
    }
    assert entry == {
        "conversation_id": CONVERSATION,
        "ts_action_id": f"{now}#{intent.action_id}",
        "action_type": "hand_off.take",
        "action_payload_redacted": "{}",
        "idempotency_key": event_id,
        "result": "success",
        "expires_at": 1769940000 + 60 * 86_400,
        "actor": "ana",
        "actor_role": "agent",
        "company_id": COMPANY,
        "gsi_actor": "ana",
        "gsi_company_id": COMPANY,
        "gsi_review": "first",
        "action_id": intent.action_id,
        "previous_action_id": "before",
    }


@pytest.mark.parametrize(("action", "stored"), [(A.TAKE, WAITING), (A.TAKE_OVER, {})], ids=["take", "take over"])
def test_an_action_writes_five_times_and_reads_nothing_for_telling_nobody(store, action, stored):
    put(store, **stored)
    with store.calls() as seen:
        perform(form(action), ANA)
    operations = [(call.operation, call.tables) for call in seen]
    assert operations == [
        ("GetItem", ("CONVERSATIONS",)),  # the form's own read
        ("GetItem", ("CONVERSATIONS",)),
        ("UpdateItem", ("CONSOLE",)),  # the row of the partition that it enters
        ("TransactWriteItems", ("IDEMPOTENCY", "AUDIT")),
        ("UpdateItem", ("CONVERSATIONS",)),
        ("TransactWriteItems", ("IDEMPOTENCY", "AUDIT")),
        ("UpdateItem", ("CONSOLE",)),  # the queue's revision
    ]


# --- refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.ONBOARDING])
def test_other_roles_may_not(store, role):
    before = put(store, **WAITING)
    with pytest.raises(Forbidden):
        perform(form(A.TAKE), staff("eve", role))
    assert stored(store) == before
    assert trail(store) == []


@pytest.mark.parametrize("action", [A.RELEASE, A.HAND_BACK])
def test_only_the_holder_or_an_admin_lets_go(store, action):
    before = put(store, **held_by("ben"))
    with pytest.raises(Forbidden):
        perform(form(action), ANA)
    assert stored(store) == before


def test_only_the_holder_or_an_admin_acknowledges(store):
    put(store, **held_by("ben", hand_off_to_human=False))
    with pytest.raises(Forbidden):
        perform(form(A.ACKNOWLEDGE), ANA)


@pytest.mark.parametrize("scope", [Scope(), Scope.of(["ci-bbb-002"])], ids=["empty", "another company"])
def test_out_of_scope_is_not_found_like_a_random_one(store, scope):
    before = put(store, **WAITING)
    with pytest.raises(NotFound):
        perform(form(A.TAKE), staff("ana", scope=scope))
    assert stored(store) == before
    assert trail(store) == []


@pytest.mark.parametrize("company", [None, 7])
def test_what_has_no_company_is_for_scope_all(store, company):
    put(store, **WAITING)
    intent = form(A.TAKE)
    # An index key cannot be NULL or a number: the attribute is missing, or another service's table has no such index.
    store.client.update_item(
        TableName=store.name("CONVERSATIONS"),
        Key={name: {"S": value} for name, value in KEY.items()},
        UpdateExpression="REMOVE company_id",
    )
    with pytest.raises(NotFound):
        perform(intent, ANA)
    assert perform(intent, staff("ana", scope=ALL)).hand_off.agent == "ana"


def test_a_conversation_that_is_not_there_stays_so(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    store.delete("CONVERSATIONS", **KEY)
    with pytest.raises(NotFound):
        perform(intent, ANA)
    assert store.all("CONVERSATIONS") == []
    assert trail(store) == []


def test_an_expired_conversation_is_not_found(store):
    put(store, **WAITING, ttl=1_700_000_000)
    with pytest.raises(NotFound):
        perform(form(A.TAKE), ANA)


@pytest.mark.parametrize(("reason", "note"), [("x" * 2001, ""), ("", "x" * 2001)])
def test_texts_are_bounded(store, reason, note):
    put(store)
    with pytest.raises(Invalid):
        perform(form(A.REQUEST), ANA, reason=reason, note=note)
    assert trail(store) == []


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, [A.TAKE, A.TAKE_FROM_COLLEAGUE, A.RELEASE, A.HAND_BACK, A.ACKNOWLEDGE]),
        (WAITING, [A.REQUEST, A.TAKE_OVER, A.TAKE_FROM_COLLEAGUE, A.RELEASE, A.ACKNOWLEDGE]),
        (held_by("ana"), [A.REQUEST, A.TAKE_OVER, A.TAKE, A.TAKE_FROM_COLLEAGUE, A.ACKNOWLEDGE]),
        (held_by("ana", hand_off_to_human=False), [A.REQUEST, A.TAKE, A.TAKE_FROM_COLLEAGUE, A.RELEASE, A.HAND_BACK]),
    ],
    ids=["ai", "waiting", "held", "overridden"],
)
def test_what_makes_no_sense_in_a_state_is_refused(store, changes, wrong):
    before = put(store, **changes)
    for action in wrong:
        with pytest.raises(Invalid):
            perform(form(action), ANA, reason="because")
    assert stored(store) == before
    assert trail(store) == []


@pytest.mark.parametrize("absent", ["AUDIT", "IDEMPOTENCY"])
def test_without_the_tables_of_the_trail_nothing_is_written(bare_store, absent):
    bare_store.create_tables(*{"CONVERSATIONS", "AUDIT", "IDEMPOTENCY"} - {absent})
    before = put(bare_store, **WAITING)
    with pytest.raises(TableMissing, match="This environment has no trail tables, so nothing can be changed"):
        perform(form(A.TAKE), ANA)
    assert stored(bare_store) == before
    assert bare_store.all({"AUDIT", "IDEMPOTENCY"}.difference({absent}).pop()) == []


# --- who may do what ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "who", "expected"),
    [
        ({}, ANA, (A.TAKE_OVER, A.REQUEST, A.ASSIGN, A.LEAVE)),
        (WAITING, ANA, (A.TAKE, A.HAND_BACK, *GIVES, *URGENCY)),
        (held_by("ana"), ANA, (A.HAND_BACK, A.RELEASE, *GIVES, *URGENCY)),
        (held_by("ben"), ANA, (A.TAKE_FROM_COLLEAGUE,)),
        (held_by("ben"), ADMIN, (A.TAKE_FROM_COLLEAGUE, A.HAND_BACK, A.RELEASE, *GIVES, *URGENCY)),
        (held_by("ana", hand_off_to_human=False), ANA, (A.TAKE_OVER, A.ACKNOWLEDGE)),
        (held_by("ben", hand_off_to_human=False), ANA, (A.TAKE_OVER,)),
        (held_by("ben", hand_off_to_human=False), ADMIN, (A.TAKE_OVER, A.ACKNOWLEDGE)),
        (WAITING, staff("eve", Role.AUDITOR), ()),
    ],
)
def test_allowed_actions(store, changes, who, expected):
    put(store, **changes)
    item = Conversation.get(CHANNEL, CONVERSATION)
    assert allowed_actions(hand_off_of(item), who) == expected


def test_a_form_is_of_use_only_to_whom_it_was_rendered(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    token = seal_intent(intent, ANA)
    assert unseal_intent(token, ANA) == intent
    assert CHANNEL not in token
    for wrong in (token[:-2] + "AA", "", "x", token + "A"):
        with pytest.raises(BadReference):
            unseal_intent(wrong, ANA)
    with pytest.raises(BadReference):
        unseal_intent(token, BEN)


# --- lost races --------------------------------------------------------------------------------------------------


def test_the_second_agent_sees_who_took_it_and_when(store, now):
    put(store, **WAITING)
    first, second = form(A.TAKE), form(A.TAKE)
    perform(first, ANA)
    after = stored(store)
    with counting("console_lost_races_total", action="take") as counted, pytest.raises(LostRace) as lost:
        perform(second, BEN)
    assert counted() == 1
    assert lost.value.status == 409
    assert lost.value.winner == "ana"
    assert lost.value.since == clock.now()
    assert lost.value.hand_off.agent == "ana"
    assert str(lost.value) == "ana took this conversation first at 10:00 on 1 February (UTC)."
    assert stored(store) == after
    assert results(store) == {first.action_id: "success", second.action_id: "conflict: ana was first"}


def test_the_loser_sees_who_handed_it_back(store):
    put(store, **held_by("ben"))
    steal = form(A.TAKE_FROM_COLLEAGUE)
    perform(form(A.HAND_BACK), BEN)
    with pytest.raises(LostRace, match="ben returned this conversation to the AI first") as lost:
        perform(steal, ANA, reason="now")
    assert lost.value.winner == "ben"
    assert lost.value.hand_off.state is HandOffState.AI


def test_the_same_person_in_two_windows(store):
    put(store, **WAITING)
    one, other = form(A.TAKE), form(A.TAKE)
    perform(one, ANA)
    with pytest.raises(LostRace, match="You took this conversation already"):
        perform(other, ANA)


@pytest.mark.parametrize("flag", [True, "true"])
def test_the_platform_asked_meanwhile(store, flag):
    put(store)
    intent = form(A.TAKE_OVER)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=flag, updated_at="2026-02-01T09:59:00Z")
    before = stored(store)
    with pytest.raises(LostRace, match="The platform asked for a human in the meantime at 09:59") as lost:
        perform(intent, ANA)
    assert lost.value.winner == "the platform"
    assert lost.value.since == clock.parse_instant("2026-02-01T09:59:00Z")
    assert stored(store) == before
    assert results(store) == {intent.action_id: "conflict: the platform was first"}


@pytest.mark.parametrize("flag", [False, None, "false"])
def test_the_platform_took_the_flag_away_meanwhile(store, flag):
    put(store, **WAITING)
    intent = form(A.TAKE)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=flag)
    before = stored(store)
    with pytest.raises(LostRace, match="The AI has this conversation again") as lost:
        perform(intent, ANA)
    assert lost.value.winner == "the AI"
    assert stored(store) == before
    assert results(store) == {intent.action_id: "conflict: the AI was first"}


def test_an_agent_that_changed_under_an_unchanged_stamp_is_a_conflict(store):
    """Nobody but the console's own indexer does that, and it stamps nothing."""
    put(store, **held_by("ben"))
    intent = form(A.TAKE_FROM_COLLEAGUE)
    store.update("CONVERSATIONS", KEY, hand_off_agent="cem", hand_off_taken_at="2026-02-01T09:58:00.000Z")
    with pytest.raises(LostRace, match="cem took this conversation first at 09:58"):
        perform(intent, ANA, reason="urgent")
    assert stored(store)["hand_off_agent"] == "cem"


@pytest.mark.parametrize(("seen", "then"), [(False, None), (None, False), (False, 0), ("no", False)])
def test_another_spelling_of_the_same_flag_is_no_conflict(store, seen, then):
    put(store, hand_off_to_human=seen)
    intent = form(A.TAKE_OVER)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=then)
    assert perform(intent, ANA).hand_off.agent == "ana"


def test_a_stale_form_is_refused_though_flag_and_agent_look_the_same_again(store):
    """Taken over and handed back in between: only the stamp tells."""
    put(store)
    stale = form(A.TAKE_OVER)
    perform(form(A.TAKE_OVER), BEN)
    perform(form(A.HAND_BACK), BEN)
    with pytest.raises(LostRace) as lost:
        perform(stale, ANA)
    assert lost.value.winner == "ben"
    assert stored(store)["hand_off_to_human"] is False


@pytest.mark.parametrize("stamp", [None, "", 7])
def test_a_stamp_that_is_none_counts_as_none(store, stamp):
    put(store, hand_off_action_id=stamp, hand_off_agent=None)
    assert perform(form(A.TAKE_OVER), ANA).hand_off.agent == "ana"


# --- releasing all -----------------------------------------------------------------------------------------------


def test_release_all_lets_go_of_what_that_person_holds_and_nothing_else(store):
    from console.trail.recording import Actor

    keys = [(f"+44770090010{number}", f"{COMPANY}#p#r{number}#x") for number in range(4)]
    changes = [held_by("ana"), held_by("ben"), held_by("ana", hand_off_to_human=False), {}]
    for (channel, conversation_id), change in zip(keys, changes, strict=True):
        item = {"primary_channel": channel, "conversation_id": conversation_id, "company_id": COMPANY}
        store.put("CONVERSATIONS", {**item, "project_id": "p", "updated_at": UPDATED_AT, **change})
    gone = ("+440", "nothing")
    report = release_all("ana", Actor("root", "admin"), [*keys, gone])
    assert report.released == (keys[0], keys[2])
    assert report.failed == ()
    agents = [store.get("CONVERSATIONS", primary_channel=c, conversation_id=i).get("hand_off_agent") for c, i in keys]
    assert agents == [None, "ben", None, None]
    entries = store.all("AUDIT")
    assert {(entry["actor"], entry["action_type"], entry["result"]) for entry in entries} == {
        ("root", "hand_off.release", "success"),
        ("root", "hand_off.acknowledge", "success"),
    }
