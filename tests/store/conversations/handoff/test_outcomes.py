"""Who was first, in the words that the loser of a race reads; and who may be given a conversation."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from console import caching
from console.errors import Invalid
from console.permissions import Role
from console.trail.models import AuditEntry
from console.trees import isolated
from conversations.handoff import HandOffAction, Intent
from conversations.handoff.outcomes import LostRace, describe_routing_left, lost_race
from conversations.handoff.receivers import check_receiver, offered
from conversations.handoff.resolution import ChainLink, links_of
from conversations.models import Conversation
from tests.dynamodb import to_dynamodb
from tests.people import member
from tests.support.conversations.handoff.kit import ANA, CHANNEL, COMPANY, CONVERSATION, WAITING, conversation, held_by

A = HandOffAction
AT = datetime(2026, 2, 1, 10, 30, tzinfo=UTC)
PARIS = " at 11:30 on 1 February (CET)"


@pytest.fixture(autouse=True)
def colleagues(store):
    for username in ("ana", "ben"):
        account = member(username, scope=[COMPANY])
        account.display_name = f"{username.title()} Stone"
        account.save()
    caching.invalidate_all()


def intent(**changes) -> Intent:
    made = Intent(A.TAKE, CHANNEL, CONVERSATION, COMPANY, "mine", True, "", "before", "2026-01-31T09:00:00.000Z")
    return replace(made, **changes)


def lost(changes: dict, *acts: tuple[str, str, str], loser: str = "ana", **of_intent) -> LostRace:
    """The loss of an item that differs so; `acts` of its trail as (id, id of the one before, what)."""
    links = {
        each: ChainLink(each, previous, "success", f"hand_off.{what}", "ben", AT, CONVERSATION, "", "")
        for each, previous, what in acts
    }
    item = Conversation.from_raw_data(to_dynamodb(conversation(updated_at="2026-02-01T10:30:00Z", **changes)))
    return lost_race(intent(**of_intent), item, links, loser=loser, time_zone="Europe/Paris")


@pytest.mark.parametrize(
    ("loser", "words"),
    [
        ("ana", f"{isolated('Ben Stone')} took this conversation first{PARIS}."),
        ("", f"ben took this conversation first{PARIS}."),
        (
            "ben",
            f"You took this conversation already, in another window or with an earlier click{PARIS}.",
        ),
    ],
)
def test_the_winner_has_a_name_for_people_and_a_username_for_services(loser, words):
    error = lost(held_by("ben", hand_off_action_id="theirs"), ("theirs", "before", "take"), loser=loser)
    assert str(error) == words
    assert (error.winner, error.since, error.hand_off.agent) == ("ben", AT, "ben")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("request", "asked for a human"),
        ("take_over", "took over this conversation"),
        ("take", "took this conversation"),
        ("take_from_colleague", "took this conversation from a colleague"),
        ("release", "returned this conversation to the queue"),
        ("hand_back", "returned this conversation to the AI"),
        ("acknowledge", "returned this conversation to the AI"),
        ("leave_to_ai", "let the AI answer"),
        ("assign", "transferred this conversation to a colleague"),
        ("hand_over", "transferred this conversation to a group"),
        ("mark_urgent", "marked this conversation as urgent"),
        ("mark_not_urgent", "marked this conversation as not urgent"),
        ("leave", "dismissed this conversation"),
        ("reassert", "restored a person's decision"),
    ],
)
def test_every_action_has_words_for_who_came_too_late(what, words):
    error = lost({"hand_off_action_id": "theirs"}, ("theirs", "before", what), loser="")
    assert str(error) == f"ben {words} first{PARIS}."


def test_a_fence_is_nobodys_action():
    acts = [("fence", "theirs", "fence"), ("theirs", "before", "release")]
    error = lost(WAITING | {"hand_off_action_id": "fence"}, *acts)
    assert str(error).startswith(f"{isolated('Ben Stone')} returned this conversation to the queue first")


def test_fences_in_a_circle_are_no_endless_search():
    acts = [("one", "other", "fence"), ("other", "one", "fence")]
    assert "This form was too old" in str(lost(WAITING | {"hand_off_action_id": "one"}, *acts))


@pytest.mark.parametrize(
    ("changes", "loser", "words", "winner", "since"),
    [
        (
            held_by("ben", hand_off_action_id="", hand_off_taken_at="2026-02-01T10:30:00Z"),
            "ana",
            f"{isolated('Ben Stone')} took this conversation first{PARIS}.",
            isolated("Ben Stone"),
            AT,
        ),
        (
            held_by("ben", hand_off_action_id="", hand_off_taken_at="2026-02-01T10:30:00Z"),
            "",
            f"ben took this conversation first{PARIS}.",
            "ben",
            AT,
        ),
        (
            held_by("ben", hand_off_action_id="", hand_off_taken_at=None),
            "",
            "ben took this conversation first.",
            "ben",
            None,
        ),
        ({"hand_off_action_id": "before"}, "ana", f"The AI has this conversation again{PARIS}.", "the AI", AT),
        (
            WAITING | {"hand_off_action_id": "before"},
            "ana",
            "The conversation changed at the same moment. Nothing was changed. Look at it and decide again.",
            "the platform",
            None,
        ),
        (
            WAITING | {"hand_off_action_id": "unknown"},
            "ana",
            "This form was too old. Nothing was changed. Check the current state and decide again.",
            "the platform",
            None,
        ),
    ],
)
def test_what_nobody_of_the_trail_did_was_the_platforms_or_the_ais(changes, loser, words, winner, since):
    """The action that the form saw is in the trail, and is nobody's who was first."""
    error = lost(changes, ("before", "", "take"), loser=loser)
    assert (str(error), error.winner, error.since) == (words, winner, since)


def test_a_holder_whom_the_form_saw_took_nothing():
    changes = held_by("ben", hand_off_to_human=False, hand_off_action_id="before")
    error = lost(changes, flag_seen=True, agent_seen="ben")
    assert (str(error), error.winner) == (f"The AI has this conversation again{PARIS}.", "the AI")


def test_a_holder_who_is_gone_took_nothing():
    error = lost(WAITING | {"hand_off_action_id": "before"}, agent_seen="ben")
    assert error.winner == "the platform"


def test_a_request_of_the_platform_is_told():
    error = lost(WAITING | {"hand_off_action_id": "before"}, flag_seen=False)
    assert (str(error), error.winner) == (f"The platform asked for a human in the meantime{PARIS}.", "the platform")


@pytest.mark.parametrize(("count", "whose"), [(1, "1 conversation"), (2, "2 conversations")])
def test_one_conversation_is_not_several(count, whose):
    assert f"the messages of {whose} go." in describe_routing_left(count)


def test_an_entry_of_which_little_is_known_is_a_link_all_the_same():
    entry = AuditEntry(CONVERSATION, "2026-02-01T10:30:00.000Z#x", action_id="x")
    assert list(links_of([entry, AuditEntry(CONVERSATION, "2026-02-01T10:31:00.000Z#y")])) == [
        ChainLink("x", "", "unknown", "", "", AT, CONVERSATION, "2026-02-01T10:30:00.000Z#x", "")
    ]


# --- Receivers --------------------------------------------------------------------------------------------------------


def test_a_receiver_must_be_named():
    for action in (A.ASSIGN, A.HAND_OVER):
        with pytest.raises(Invalid, match="Choose a colleague or a group"):
            check_receiver(intent(action=action), "")


@pytest.mark.parametrize("to", ["Ben", "cleo", "audrey"])
def test_who_cannot_answer_cannot_be_given_it(to):
    """A username of another spelling, nobody's, and one whose role answers nobody."""
    member("audrey", Role.AUDITOR.value, [COMPANY])
    with pytest.raises(Invalid, match="cannot be given conversations of this company"):
        check_receiver(intent(action=A.ASSIGN), to)
    check_receiver(intent(action=A.ASSIGN), "ben")


def test_neither_oneself_nor_the_holder_is_offered():
    member("cleo", scope=[COMPANY])
    caching.invalidate_all()
    assert [each.username for each in offered([COMPANY], ANA, "")[0]] == ["ben", "cleo"]
    assert [each.username for each in offered([COMPANY], ANA, "ben")[0]] == ["cleo"]
