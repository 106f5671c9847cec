"""Giving conversations to colleagues and groups; who is told; groups and service levels as leads set them; the team."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse

from console import caching, clock
from console.errors import Conflict, Forbidden, Invalid, NotFound
from console.permissions import Role, Scope
from console.staff.colleagues import away_now, colleagues_of, name_of, set_available
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, conversation_trail, record
from console.trees import isolated
from conversations import groups
from conversations.attention import levels
from conversations.companies import Company, register
from conversations.converting import reference_of
from conversations.handoff import HandOffAction as A
from conversations.handoff import LostRace, perform, settle
from conversations.notices import Notice, dismiss_notices, notices_for, post_notice
from conversations.queue.presence import token_for
from conversations.team.overview import start_of_day, team_of
from conversations.timers.looking import process_conversation
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.people import member, signed_in
from tests.queue import filled
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    results,
    staff,
    stored,
    trail,
)
from tests.support.tenants.kit import MOST_CALLS, Killed

LEAD = staff("lena", Role.ADMIN, Scope.of([COMPANY]))
OTHER = "ci-bbb-002"


@pytest.fixture
def colleagues(store):
    for username, scope in (("ana", [COMPANY]), ("ben", [COMPANY]), ("far", [OTHER])):
        account = member(username, scope=scope)
        account.display_name = f"{username.title()} Stone"
        account.save()
    account = member("gone")
    account.disabled = True
    account.save()
    caching.invalidate_all()


def assign(who=ANA, to="ben", reason="knows the case", intent=None):
    return perform(intent or form(A.ASSIGN), who, reason=reason, to=to)


@pytest.mark.parametrize("changes", [{}, WAITING, held_by("ana")], ids=["the AI's", "waiting", "one's own"])
def test_a_colleague_has_it_at_once_and_is_told_why(store, colleagues, changes):
    put(store, **changes)
    intent = form(A.ASSIGN)
    assign(intent=intent)
    found = stored(store)
    assert (found["hand_off_agent"], found["hand_off_to_human"]) == ("ben", True)
    assert found["gsi_hand_off_queue"] == f"held#{COMPANY}"
    assert found["hand_off_requested_at"]
    [entry] = trail(store)
    assert (entry["action_type"], entry["actor"], entry["result"]) == ("hand_off.assign", "ana", "success")
    payload = json.loads(entry["action_payload_redacted"])
    assert (payload["reason"], payload["colleague"]) == ("knows the case", "ben")
    [told] = notices_for("ben")
    assert told.words == "Ana Stone transferred this conversation to you: knows the case"
    assert notices_for("ana") == []
    # The form sent again does nothing twice.
    assert assign(intent=intent).replayed
    assert len(trail(store)) == len(notices_for("ben")) == 1


def test_the_wait_goes_on_where_a_colleague_gets_it(store, colleagues):
    put(store, **held_by("ana"))
    assign()
    assert stored(store)["hand_off_requested_at"] == held_by("ana")["hand_off_requested_at"]


@pytest.mark.parametrize("to", ["far", "gone", "nobody", "", "ana"])
def test_only_colleagues_who_may_answer_get_it(store, colleagues, to):
    before = put(store, **held_by("ana"))
    with pytest.raises(Invalid):
        assign(to=to)
    assert stored(store) == before
    assert trail(store) == []


def test_it_needs_a_reason_and_a_right(store, colleagues):
    put(store, **held_by("ben"))
    with pytest.raises(Forbidden):
        assign(to="ben")
    with pytest.raises(Invalid, match="why"):
        assign(LEAD, "ana", " ")
    assign(LEAD, "ana")
    assert stored(store)["hand_off_agent"] == "ana"


def test_the_same_form_for_two_colleagues_is_two_actions_and_the_second_loses(store, colleagues):
    put(store, **WAITING)
    member("cem", scope=[COMPANY])
    intent = form(A.ASSIGN)
    assign(intent=intent)
    with pytest.raises(LostRace):
        assign(to="cem", intent=intent)
    assert stored(store)["hand_off_agent"] == "ben"
    assert notices_for("cem") == []


def test_who_takes_it_at_the_same_moment_wins_or_loses_and_is_told(store, colleagues):
    put(store, **WAITING)
    take, given = form(A.TAKE), form(A.ASSIGN)
    with (
        faults.before("UpdateItem", lambda: perform(take, BEN), table_key="CONVERSATIONS"),
        pytest.raises(LostRace) as lost,
    ):
        assign(LEAD, "ana", intent=given)
    assert "Ben Stone took this conversation first" in str(lost.value)
    assert stored(store)["hand_off_agent"] == "ben"
    assert notices_for("ana") == []
    assert set(results(store).values()) == {"success", "conflict: ben was first"}


def test_a_colleague_who_cannot_be_told_has_it_all_the_same_and_is_told_when_that_is_settled(store, colleagues):
    put(store, **WAITING)
    with faults.fail_before("PutItem", table_key="CONSOLE", times=faults.ALWAYS):
        assign()
    assert stored(store)["hand_off_agent"] == "ben"
    assert notices_for("ben") == []
    settle(CONVERSATION)
    assert [each.words for each in notices_for("ben")] == [
        "Ana Stone transferred this conversation to you: knows the case"
    ]
    assert set(results(store).values()) == {"success"}


@pytest.mark.parametrize(
    ("action", "to", "words"),
    [
        (A.ASSIGN, "cem", "Lena transferred this conversation to Cem Stone: so"),
        (A.TAKE_FROM_COLLEAGUE, "", "Lena took this conversation from you: so"),
        (A.RELEASE, "", "Lena returned your conversation to the queue: so"),
    ],
)
def test_who_loses_one_by_somebody_elses_doing_is_told(store, colleagues, action, to, words):
    for username, name in (("cem", "Cem Stone"), ("lena", "Lena")):
        account = member(username, "admin", scope=[COMPANY])
        account.display_name = name
        account.save()
    caching.invalidate_all()
    put(store, **held_by("ana"))
    perform(form(action), LEAD, reason="so", to=to)
    [told] = notices_for("ana")
    assert told.words == words
    assert told.url.startswith("/conversations/")
    assert notices_for("lena") == []


def test_who_gives_up_their_own_is_told_nothing(store, colleagues):
    put(store, **held_by("ana"))
    perform(form(A.RELEASE), ANA)
    assert notices_for("ana") == []


@pytest.mark.slow
@pytest.mark.parametrize("when", [faults.before, faults.after])
def test_who_dies_before_a_colleague_is_told_leaves_it_to_whoever_settles_that(store, colleagues, when):
    def die() -> None:
        raise Killed

    for nth in range(1, MOST_CALLS):
        store.empty()
        put(store, **held_by("ana"))
        member("ben", scope=[COMPANY])
        intent = form(A.ASSIGN)
        try:
            with when("", die, nth=nth):
                assign(LEAD, intent=intent)
        except Killed:
            settle(CONVERSATION, older_than=timedelta(0))
        else:
            break
        has_it = stored(store)["hand_off_agent"] == "ben"
        assert bool(notices_for("ben")) == bool(notices_for("ana")) == has_it, nth
    assert nth > 6


def test_a_colleague_is_told_of_an_action_whose_record_does_not_say_that_it_concerns_them(store, colleagues):
    put(store, **held_by("ana"))
    with faults.fail_before("TransactWriteItems", nth=2, times=faults.ALWAYS):
        assign(LEAD)
    assert notices_for("ben") != [], "told before the records are closed"
    [record] = store.all("IDEMPOTENCY")
    assert (record["status"], record["concerns_others"]) == ("pending", True)
    dismiss_notices("ben", [each.id for each in notices_for("ben")])
    store.update("IDEMPOTENCY", {"event_id": record["event_id"]}, concerns_others=None)
    settle(CONVERSATION, older_than=timedelta(0))
    assert [each.words for each in notices_for("ben")] == ["lena transferred this conversation to you: knows the case"]


@pytest.mark.parametrize("who", [None, BEN])
def test_who_follows_an_action_that_died_tells_of_it_too(store, colleagues, who):
    """Whoever is next closes what was left open; so does the timer that is rung again."""

    def die() -> None:
        raise Killed

    put(store, **held_by("ana", hand_off_taken_at="2026-01-31T09:00:00Z"))
    levels.save(COMPANY, "", {"return_after": 5}, 0, LEAD)
    with pytest.raises(Killed), faults.after("UpdateItem", die, table_key="CONVERSATIONS"):
        process_conversation(to_dynamodb(KEY))
    assert "hand_off_agent" not in stored(store)
    assert notices_for("ana") == []
    if who is None:
        settle(CONVERSATION)
    else:
        perform(form(A.TAKE), who)
    [told] = notices_for("ana")
    assert told.words == "This conversation waits for a human again. No answer for 5 min after the customer wrote."


# --- Groups -----------------------------------------------------------------------------------------------------------


def second_line(name=" Second  line ", members=("ana", "ben")) -> groups.Group:
    groups.save(COMPANY, name, members, LEAD)
    [group] = groups.of_company(COMPANY)
    return group


def test_a_group_waits_for_its_members_who_are_told(store, colleagues):
    group = second_line()
    put(store, **held_by("ana"))
    perform(form(A.HAND_OVER), ANA, reason="needs a manager", to=group.id)
    found = stored(store)
    assert "hand_off_agent" not in found
    assert (found["gsi_hand_off_queue"], found["hand_off_group"]) == (f"waiting#{COMPANY}", group.id)
    [told] = notices_for("ben")
    assert told.words == "Ana Stone transferred this conversation to Second line: needs a manager"
    assert notices_for("ana") == []
    perform(form(A.TAKE), BEN)
    assert "hand_off_group" not in stored(store)
    with pytest.raises(Invalid, match="group no longer exists"):
        perform(form(A.HAND_OVER), BEN, reason="x", to="gone")


@pytest.mark.parametrize("name", ["צוות לילה", "Night team 5551234567"])
def test_a_groups_name_stays_as_it_is_and_keeps_its_direction_to_itself(store, colleagues, name):
    put(store, **held_by("ana"))
    perform(form(A.HAND_OVER), ANA, reason="needs a manager", to=second_line(name).id)
    [notice] = notices_for("ben")
    assert notice.words == f"Ana Stone transferred this conversation to {isolated(name)}: needs a manager"


def test_no_two_groups_have_a_name_and_one_that_was_given_up_is_free(store, colleagues):
    group = second_line()
    groups.save(COMPANY, "Managers", ["ana"], LEAD, group, group.version)
    groups.save(COMPANY, "Second line", ["ben"], LEAD)
    there = {each.name: each for each in groups.of_company(COMPANY)}
    assert set(there) == {"Managers", "Second line"}
    with pytest.raises(Conflict, match="already exists"):
        groups.save(COMPANY, "MANAGERS", [], LEAD, there["Second line"], 1)
    groups.save(COMPANY, "second Line", ["ben"], LEAD, there["Second line"], 1)
    assert [each.name for each in groups.of_company(COMPANY)] == ["Managers", "second Line"]


def test_a_group_is_deleted_whatever_was_typed_and_once_however_often_one_clicks(store, colleagues):
    register(COMPANY, "Acme", "command", clock.to_iso(clock.now()))
    group = second_line()
    client, address = signed_in(member("lena", "admin")), f"/team/groups/{COMPANY}/?group={group.id}"
    assert client.post(address, {"delete": "1", "version": "x"}).status_code == 404
    assert [each.id for each in groups.of_company(COMPANY)] == [group.id]
    # Another writer's name may be longer than a form takes.
    store.update("CONSOLE", {"pk": f"GROUPS#{COMPANY}", "sk": group.id}, name="n" * 200)
    for _ in range(2):
        answer = client.post(address, {"delete": "1", "version": str(group.version), "title": ""}, follow=True)
        assert (answer.status_code, answer.redirect_chain) == (200, [(f"/team/groups/{COMPANY}/", 302)])
        assert "The group is deleted." in answer.content.decode()
    assert groups.of_company(COMPANY) == []
    assert client.get(address).status_code == 404
    assert [each["action_type"] for each in store.all("AUDIT")].count("group.changed") == 2


def test_groups_are_set_by_leads_of_the_company_on_record(store, colleagues):
    group = second_line()
    assert (group.name, group.members) == ("Second line", ["ana", "ben"])
    with pytest.raises(Conflict):
        groups.save(COMPANY, "second line", [], LEAD)
    groups.save(COMPANY, "Managers", ["ana"], LEAD, group, group.version)
    with pytest.raises(Conflict):
        groups.delete(COMPANY, group, group.version, LEAD)
    [changed] = groups.of_company(COMPANY)
    groups.delete(COMPANY, changed, changed.version, LEAD)
    assert groups.of_company(COMPANY) == []
    for who, company, error in ((ANA, COMPANY, Forbidden), (LEAD, OTHER, NotFound)):
        with pytest.raises(error):
            groups.save(company, "x", [], who)
    with pytest.raises(Invalid):
        groups.save(COMPANY, "x" * 41, [], LEAD)
    entries = [each for each in store.all("AUDIT") if each["action_type"] == "group.changed"]
    assert [each["company_id"] for each in entries] == [COMPANY] * 3


# --- Who is there, and what they are told -----------------------------------------------------------------------------


def test_colleagues_are_those_who_answer_for_the_company_the_available_first(store, colleagues):
    assert [(each.username, each.is_away) for each in colleagues_of(COMPANY)] == [("ana", False), ("ben", False)]
    set_available(ANA, available=False)
    assert [(each.username, each.is_away) for each in colleagues_of(COMPANY)] == [("ben", False), ("ana", True)]
    set_available(ANA, available=True)
    assert away_now() == frozenset()
    assert name_of("ben") == "Ben Stone"
    assert name_of("stranger") == "stranger"
    caching.invalidate_all()
    with faults.fail_before("Query", table_key="STAFF", times=faults.ALWAYS):
        assert name_of("ben") == "ben"


def test_colleagues_are_there_as_soon_as_their_index_is(store, colleagues, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("console.staff.colleagues.index_ready", lambda *_: False)
        assert colleagues_of(COMPANY) == []
    assert [each.username for each in colleagues_of(COMPANY)] == ["ana", "ben"]


def test_what_somebody_is_told_is_redacted_and_can_be_put_away(store):
    post_notice("ben", Notice("one", "Call +44 7700 900123", "ref", "Acme"))
    post_notice("ben", Notice("one", "Again", "ref", "Acme"))
    post_notice("ben", Notice("two", "Call +44 7700 900123 now", "ref", "Acme"))
    words = [each.words for each in notices_for("ben")]
    assert len(words) == 2
    assert "900123" not in "".join(words).replace(" ", "")[:-4]
    dismiss_notices("ben", ["one", "two", "three"])
    assert notices_for("ben") == []


def test_several_conversations_are_told_together_and_the_same_one_twice(store):
    words = "{by} transferred this conversation to you: call back"
    for told_id, reference in (("one", "a"), ("two", "b"), ("three", "b")):
        post_notice("ben", Notice(told_id, words, reference, "Acme", by="ana", to="ben"))
    assert [1 + len(each.more) for each in notices_for("ben")] in ([1, 2], [2, 1])


# --- Service levels ---------------------------------------------------------------------------------------------------


def test_levels_are_set_for_a_company_and_for_a_project_that_differs(store):
    levels.save(COMPANY, "", {"first_answer": 30, "next_answer": None, "urgent_words": ["court"]}, 0, LEAD)
    levels.save(COMPANY, "pi-2", {"first_answer": 5}, 0, LEAD)
    assert levels.levels_of(COMPANY, "pi-1").first_answer == timedelta(minutes=30)
    assert levels.levels_of(COMPANY, "pi-2").first_answer == timedelta(minutes=5)
    assert levels.levels_of(COMPANY, "pi-2").urgent_words == ("court",)
    assert levels.levels_of(OTHER) == levels.DEFAULTS
    found = levels.load(COMPANY, "pi-2", LEAD)
    assert (found.stored.version, found.otherwise.first_answer) == (1, timedelta(minutes=30))
    with pytest.raises(Conflict):
        levels.save(COMPANY, "", {"first_answer": 1}, 0, LEAD)
    levels.save(COMPANY, "", {}, 1, LEAD)
    assert levels.levels_of(COMPANY).first_answer is None
    for who, company, error in ((ANA, COMPANY, Forbidden), (LEAD, OTHER, NotFound)):
        with pytest.raises(error):
            levels.save(company, "", {}, 0, who)
    entries = [each for each in store.all("AUDIT") if each["action_type"] == "levels.changed"]
    assert len(entries) == 3
    assert {json.loads(each["action_payload_redacted"])["of"] for each in entries} == {COMPANY, f"pi-2 of {COMPANY}"}


# --- The team ---------------------------------------------------------------------------------------------------------


def test_the_team_says_who_holds_what_and_what_was_done_today(store, colleagues):
    filled(store)
    long_ago = clock.to_iso(clock.now() - timedelta(hours=3))
    put(store, **held_by("ana", hand_off_requested_at=long_ago, hand_off_taken_at=long_ago))
    perform(form(A.RELEASE), ANA)
    perform(form(A.TAKE), BEN)
    set_available(ANA, available=False)
    team = team_of(LEAD, [Company(COMPANY, "Aardvark")], clock.now() - timedelta(hours=1))
    rows = {each.username: (each.is_away, each.held, each.waiting, each.taken) for each in team.members}
    assert rows["ana"] == (True, 0, 0, 0)
    assert rows["ben"] == (False, 1, 1, 1)
    assert next(each.oldest for each in team.members if each.username == "ben") == clock.parse_instant(long_ago)
    [day] = team.companies
    assert (day.company.name, day.taken, day.answered, day.handed_back, day.overdue) == ("Aardvark", 1, 0, 0, 0)
    with pytest.raises(Forbidden):
        team_of(ANA, [], clock.now())
    assert team_of(replace(LEAD), [], clock.now()).members == ()


def test_a_day_begins_where_somebody_is():
    now = clock.parse_instant("2026-11-24T23:30:00Z")
    assert now is not None
    assert clock.to_iso(start_of_day(now, "Asia/Tokyo")) == "2026-11-24T15:00:00.000Z"
    assert clock.to_iso(start_of_day(now, "nonsense")) == "2026-11-24T00:00:00.000Z"


def test_what_people_let_the_ai_answer_counts_as_returned(store):
    put(store, **held_by("ana"))
    for action in ("hand_off.leave_to_ai", "hand_off.acknowledge", "hand_off.hand_back", "hand_off.take"):
        record(TrailEntry(conversation_trail(CONVERSATION), Action(action), Actor.of(ANA), COMPANY))
    [day] = team_of(LEAD, [Company(COMPANY, "Aardvark")], clock.now() - timedelta(hours=1)).companies
    assert (day.taken, day.handed_back) == (1, 3)


def test_opening_a_conversation_ends_its_notices_and_no_others(store, colleagues):
    put(store, **held_by("ana"))
    assign()
    post_notice("ben", Notice("another", "about something else", reference_of("+447700900999", "another"), COMPANY))
    client, token = signed_in(StaffAccount.get("ben")), token_for(reference_of(*KEY.values()), COMPANY, BEN)
    said = client.get(reverse("queue-count"), {"reading": token}).json()["notices"]
    assert sorted(each["who"] for each in said) == ["***-***-0123", "***-***-0999"]
    said = client.get(reverse("queue-count"), {"reading": token, "opened": "1"}).json()["notices"]
    assert [each["who"] for each in said] == ["***-***-0999"]
    assert [each.id for each in notices_for("ben")] == ["another"]
