"""`/queue/selected/`: selected rows of the queue, each by its own hand-off; giving them to a colleague."""

import json
import re
from datetime import timedelta

import pytest

from console import caching, clock
from console.permissions import Role, Scope, Staff
from console.store.calls import budget
from conversations import groups
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, intent_for, perform
from conversations.models import Conversation
from conversations.notices import dismiss_notices, notices_for
from conversations.queue import counting, selection
from tests import faults
from tests.items import key_of
from tests.people import COMPANY, OTHER_COMPANY, as_staff, member, signed_in
from tests.queue import swept
from tests.store.conversations.queue.test_queue import held, waiting

pytestmark = pytest.mark.pages

ACT, GIVE = "/queue/selected/", "/queue/selected/give/"
ME = "amira.haddad"


@pytest.fixture(autouse=True)
def _swept(store):
    """What is put is in the queue as the indexer leaves it."""
    swept(store)


def html(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return answer.content.decode()


def put(store, *items):
    """Store conversations, each of its own request; their keys."""
    found = []
    for number, item in enumerate(items):
        item |= {
            "conversation_id": f"{item['company_id']}#pi#r{number}#x",
            "primary_channel": f"+44770090{2000 + number}",
        }
        store.put("CONVERSATIONS", item)
        found.append(key_of(item))
    return found


def stored(store, key):
    return store.get("CONVERSATIONS", **key)


def failed_one() -> dict:
    """A conversation that the AI has, and could not answer."""
    return waiting(9, hand_off_to_human=False, conversation_status="failed")


def tokens(client, tab) -> list[str]:
    """What the checkboxes of a tab send, from the first row to the last."""
    return re.findall(r'name="selected" value="([\w-]+)" form="selected"', html(client.get(f"/queue/?tab={tab}")))


def post(client, selected, do, **more) -> str:
    return html(client.post(ACT, {"selected": selected, "do": do, **more}, follow=True))


def entries(store, action) -> list[dict]:
    return [each for each in store.all("AUDIT") if each["action_type"] == f"hand_off.{action}"]


def act_as(username, action, key, **typed):
    """What a colleague does meanwhile."""
    item = Conversation.get(key["primary_channel"], key["conversation_id"], consistent_read=True)
    staff = Staff(username, username.title(), Role.AGENT, Scope.of([COMPANY, OTHER_COMPANY]))
    perform(intent_for(action, item, hand_off_of(item)), staff, **typed)


@pytest.mark.parametrize(
    ("tab", "made", "do", "words", "after"),
    [
        ("waiting", lambda: waiting(9), "take", "You took 2 conversations.", {"hand_off_agent": ME}),
        (
            "mine",
            lambda: held(ME),
            "release",
            "Returned 2 conversations to the queue",
            {"gsi_hand_off_queue": f"waiting#{COMPANY}"},
        ),
        (
            "attention",
            lambda: failed_one(),
            "take",
            "You took 2 conversations.",
            {"hand_off_agent": ME, "hand_off_to_human": True},
        ),
        (
            "attention",
            lambda: failed_one(),
            "leave",
            "Dismissed 2 conversations.",
            {"hand_off_to_human": False},
        ),
        (
            "attention",
            lambda: held(ME, hand_off_to_human=False),
            "leave",
            "Dismissed 2 conversations.",
            {"hand_off_to_human": False, "hand_off_wanted": False},
        ),
    ],
    ids=["take", "release", "take over", "leave", "leave what was overridden"],
)
def test_what_is_selected_is_done_to_each_with_its_own_entry_and_to_no_other(store, tab, made, do, words, after):
    keys = put(store, made(), made(), made())
    client = signed_in(member())
    chosen = tokens(client, tab)
    assert len(chosen) == 3
    assert words in post(client, chosen[:2], do)
    found = [stored(store, key) for key in keys]
    changed = [each for each in found if each.get("hand_off_action_id")]
    assert len(changed) == 2
    for each in changed:
        assert {name: each.get(name) for name in after} == after
        assert "hand_off_attention" not in each
    assert {each["result"] for each in store.all("AUDIT") if each["action_type"].startswith("hand_off.")} == {"success"}
    assert len({each["action_id"] for each in store.all("AUDIT") if each["action_type"].startswith("hand_off.")}) == 2


def ago(minutes):
    return clock.to_iso(clock.now() - timedelta(minutes=minutes))


def test_a_routing_that_somebody_else_changed_is_left_and_counted(store, settings):
    settings.HAND_OFF_ROUTING = "held"
    keys = put(store, waiting(9), waiting(8), waiting(7))
    client = signed_in(member())
    post(client, tokens(client, "waiting"), "take")
    for each in keys[:2]:
        store.update("CONVERSATIONS", each, auto_queue_reply_message=False)
    told = "In the meantime, somebody else changed where the messages of 2 conversations go. Their change was kept."
    text = post(client, tokens(client, "mine"), "release")
    assert "Returned 3 conversations to the queue." in text
    assert told in text


def test_the_same_form_sent_again_acts_on_nothing_twice(store):
    keys = put(store, waiting(9), waiting(8))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    post(client, chosen, "take")
    before = [stored(store, key) for key in keys]
    assert "You took 2 conversations." in post(client, chosen, "take")
    assert [stored(store, key) for key in keys] == before
    assert len(entries(store, "take")) == 2


def test_the_same_form_sent_for_something_else_is_another_action_of_a_state_that_is_no_more(store):
    [key] = put(store, failed_one())
    client = signed_in(member())
    chosen = tokens(client, "attention")
    post(client, chosen, "take")
    before = stored(store, key)
    assert "1 not done. ***-***-2000: You took over this conversation already" in post(client, chosen, "leave")
    assert stored(store, key) == before


def test_what_a_colleague_took_meanwhile_is_told_and_the_others_go_on(store):
    keys = put(store, waiting(9), waiting(8), waiting(7))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    act_as("tom", HandOffAction.TAKE, keys[1])
    text = post(client, chosen, "take")
    assert "You took 2 conversations." in text
    assert "1 not done. ***-***-2001: tom took this conversation first" in text
    assert [stored(store, key)["hand_off_agent"] for key in keys] == [ME, "tom", ME]


def test_of_many_that_were_not_done_only_the_number_is_told(store):
    keys = put(store, *(waiting(9) for _ in range(6)))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    for key in keys:
        act_as("tom", HandOffAction.TAKE, key)
    text = post(client, chosen, "take")
    assert "6 not done. Most likely somebody else" in text
    assert "You took" not in text


@pytest.mark.parametrize("nth", [1, 2])
def test_what_the_store_did_not_answer_for_is_said_to_be_unknown_and_settled_by_the_same_form(store, nth):
    keys = put(store, waiting(9), waiting(8), waiting(7))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    written = []

    def is_read_after_the_write(asked) -> bool:
        return bool(written) and asked["Key"]["conversation_id"]["S"] == keys[nth - 1]["conversation_id"]

    with (
        faults.fail_after("UpdateItem", table_key="CONVERSATIONS", nth=nth) as fault,
        faults.fail_before("GetItem", table_key="CONVERSATIONS", where=is_read_after_the_write, times=faults.ALWAYS),
    ):
        written = fault.struck
        text = post(client, chosen, "take")
    assert "You took 2 conversations." in text
    assert f"The database did not answer for 1 conversation (***-***-{2000 + nth - 1})." in text
    assert "You took 3 conversations." in post(client, chosen, "take")
    assert {each["result"] for each in entries(store, "take")} == {"success"}
    assert len(entries(store, "take")) == 3


def test_what_there_was_no_time_for_is_told_and_not_begun(store, monkeypatch):
    keys = put(store, waiting(9), waiting(8), waiting(7))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    answers = iter([True, False])
    monkeypatch.setattr(selection, "_has_time", lambda: next(answers))
    text = post(client, chosen, "take")
    assert "You took 2 conversations." in text
    assert "There was no time left for 1 conversation" in text
    assert ["hand_off_agent" in stored(store, key) for key in keys] == [True, True, False]
    assert len(entries(store, "take")) == 2


def test_the_second_half_of_a_requests_time_is_left_for_finishing(store, settings):
    settings.REQUEST_DEADLINE_SECONDS = 100
    for left, has_time in ((60, True), (40, False)):
        with budget(left):
            assert selection._has_time() is has_time


def test_a_tampered_form_or_that_of_somebody_else_does_nothing_at_all(store):
    keys = put(store, waiting(9), waiting(8))
    tom, client = signed_in(member("tom")), signed_in(member())
    mine, toms = tokens(client, "waiting"), tokens(tom, "waiting")
    for wrong in (toms[1], mine[1][:-1], "junk", ""):
        for url in (ACT, GIVE):
            assert client.post(url, {"selected": [mine[0], wrong], "do": "take"}).status_code == 404
    assert not any("hand_off_agent" in stored(store, key) for key in keys)


def test_what_is_no_longer_in_scope_is_as_what_is_gone(store):
    there, gone = put(store, waiting(9, company_id=OTHER_COMPANY), waiting(8))
    account = member(scope=[COMPANY, OTHER_COMPANY])
    client = signed_in(account)
    chosen = tokens(client, "waiting")
    account.scope = [COMPANY]
    account.save()
    store.delete("CONVERSATIONS", **gone)
    text = post(client, chosen, "take")
    assert "2 not done. One is no longer there. One is no longer there." in text
    assert "hand_off_agent" not in stored(store, there)
    # Who gets what there is not is not asked.
    assert client.post(GIVE, {"selected": chosen}).status_code == 404


def test_nothing_selected_too_much_and_what_no_button_says_do_nothing(store):
    put(store, waiting(9))
    client = signed_in(member())
    [one] = tokens(client, "waiting")
    assert "Select at least one conversation." in post(client, [], "take")
    assert "Select at least one conversation." in html(client.post(GIVE, {}, follow=True))
    for wrong in ("", "assign", "hand_over", "junk"):
        assert "Choose what to do with the selected conversations." in post(client, one, wrong)
    assert store.all("IDEMPOTENCY") == []


@pytest.mark.slow
def test_up_to_fifty_are_taken_at_once(store):
    staff = as_staff(member())
    items = [waiting(9, request_id=f"r{number}") for number in range(51)]
    store.put_all("CONVERSATIONS", items)
    sealed = []
    for item in items:
        found = Conversation.get(item["primary_channel"], item["conversation_id"], consistent_read=True)
        sealed.append(selection.row_token(found, hand_off_of(found), staff))
    client = signed_in(member())
    assert "Select up to 50 conversations at once." in post(client, sealed, "take")
    assert "You took 50 conversations." in post(client, sealed[:50], "take")


def test_rows_can_be_selected_for_what_their_reader_may_do(store):
    put(store, waiting(9), held(ME), held("tom"), held("tom", hand_off_to_human=False))
    agent, lead = signed_in(member()), signed_in(member("lea.lead", "admin"))
    shown = {}
    for who, client in (("agent", agent), ("lead", lead)):
        for tab in ("waiting", "mine", "colleagues", "attention"):
            text = html(client.get(f"/queue/?tab={tab}"))
            buttons = re.findall(r'<button class="btn"[^>]*>([\w… ]+)<span class="visually-hidden"> the selected', text)
            shown[who, tab] = (text.count('name="selected"'), buttons)
    assert shown["agent", "waiting"] == (1, ["Take", "Transfer…"])
    assert shown["agent", "mine"] == (1, ["Return to queue", "Return to AI", "Transfer…"])
    assert shown["agent", "colleagues"] == (0, [])
    assert shown["agent", "attention"] == (1, ["Take over"])
    assert shown["lead", "colleagues"] == (2, ["Return to queue", "Transfer…"])
    assert shown["lead", "attention"] == (1, ["Take over", "Dismiss"])


def test_one_returns_to_the_tab_and_its_filters(store):
    put(store, waiting(9))
    client = signed_in(member())
    text = html(client.get("/queue/?tab=waiting&channel=whatsapp"))
    context = re.search(r'id="selected".*?name="in" value="([\w-]+)"', text, re.DOTALL)[1]
    answer = client.post(ACT, {"selected": tokens(client, "waiting"), "do": "take", "in": context})
    assert answer["Location"] == "/queue/?tab=waiting&channel=whatsapp"
    assert client.post(ACT, {"do": "take", "in": "junk"})["Location"] == "/queue/"


def test_counts_are_read_anew_after_it(store):
    put(store, waiting(9), waiting(8))
    client = signed_in(member())
    chosen = tokens(client, "waiting")
    reader = as_staff(member())
    assert counting.waiting(reader).number == 2
    post(client, chosen[:1], "take")
    assert counting.waiting(reader).number == 1


# --- Giving -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def team(store):
    """A lead, and colleagues: of one company, of both, of the other."""
    for username, scope in (("ben", [COMPANY]), ("both", [COMPANY, OTHER_COMPANY]), ("far", [OTHER_COMPANY])):
        member(username, scope=scope)
    caching.invalidate_all()
    return signed_in(member("lea.lead", "admin", [COMPANY, OTHER_COMPANY]))


def second_line(members):
    groups.save(COMPANY, "Second line", members, as_staff(member("lea.lead", "admin", [COMPANY, OTHER_COMPANY])))
    [group] = groups.of_company(COMPANY)
    return group


def give(client, selected, receiver, why="holidays"):
    return client.post(GIVE, {"selected": selected, "receiver": receiver, "why": why}, follow=True)


def test_a_colleague_gets_all_that_is_selected_and_is_told_once(store, team):
    keys = put(store, held("tom"), held("tom"), held("tom"))
    chosen = tokens(team, "colleagues")
    asked = html(team.post(GIVE, {"selected": chosen[:2]}))
    assert "Transfer 2 conversations" in asked
    assert asked.count("***-***-20") == 2
    text = html(give(team, chosen[:2], "colleague:ben"))
    assert "Transferred 2 conversations. Your colleague can see them now." in text
    assert sorted(stored(store, key)["hand_off_agent"] for key in keys) == ["ben", "ben", "tom"]
    reasons = [json.loads(each["action_payload_redacted"])["reason"] for each in entries(store, "assign")]
    assert reasons == ["holidays", "holidays"]
    [told] = notices_for("ben")
    assert told.words == "Lea Lead transferred 2 conversations to you: holidays"
    assert told.url == "/queue/?tab=mine"
    html(give(team, chosen[:2], "colleague:ben"))
    assert len(notices_for("ben")) == 1
    assert len(entries(store, "assign")) == 2


def test_what_was_given_by_the_form_sent_again_is_told_as_one_sum(store, team, monkeypatch):
    put(store, held("tom"), held("tom"))
    chosen = tokens(team, "colleagues")
    with monkeypatch.context() as patched:
        patched.setattr(selection, "_has_time", lambda: False)
        html(give(team, chosen, "colleague:ben"))
    assert [each.words for each in notices_for("ben")] == ["Lea Lead transferred this conversation to you: holidays"]
    html(give(team, chosen, "colleague:ben"))
    assert [each.words for each in notices_for("ben")] == ["Lea Lead transferred 2 conversations to you: holidays"]


def test_one_that_the_holder_handed_back_meanwhile_is_told_and_not_given(store, team):
    keys = put(store, held("tom"), held("tom"))
    chosen = tokens(team, "colleagues")
    act_as("tom", HandOffAction.RELEASE, keys[0])
    text = html(give(team, chosen, "colleague:ben"))
    assert "Transferred 1 conversation." in text
    assert "1 not done. ***-***-2000: tom returned this conversation to the queue first" in text
    assert [each.words for each in notices_for("ben")] == ["Lea Lead transferred this conversation to you: holidays"]


def test_offered_are_those_who_answer_for_all_of_the_companies(store, team):
    second_line(["ben"])
    put(store, waiting(9), waiting(8), waiting(7, company_id=OTHER_COMPANY))
    chosen = tokens(team, "waiting")

    def offered(selected) -> list[str]:
        found = re.findall(r'<option value="(\w+:[\w.]+)"', html(team.post(GIVE, {"selected": selected})))
        return [each.partition(":")[2] if each.startswith("colleague") else "a group" for each in found]

    assert offered(chosen[:2]) == ["ben", "both", "a group"]
    assert offered(chosen) == ["both"]
    # What is not offered is not taken.
    answer = give(team, chosen, "colleague:ben")
    assert answer.status_code == 422
    assert "Choose one of the listed colleagues." in answer.content.decode()
    assert entries(store, "assign") == []
    assert "Say why you are transferring it." in give(team, chosen, "colleague:both", " ").content.decode()
    assert "Transferred 3 conversations." in html(give(team, chosen, "colleague:both"))


def test_a_group_waits_for_its_members_who_are_told_once(store, team):
    groups.save(
        COMPANY, "Second line", ["ben", "both"], as_staff(member("lea.lead", "admin", [COMPANY, OTHER_COMPANY]))
    )
    [group] = groups.of_company(COMPANY)
    keys = put(store, waiting(9), held("tom", hand_off_requested_at=ago(50)))
    chosen = tokens(team, "waiting") + tokens(team, "colleagues")
    assert "Transferred 2 conversations. They wait for the group" in html(give(team, chosen, f"group:{group.id}"))
    assert {stored(store, key)["hand_off_group"] for key in keys} == {group.id}
    for username in ("ben", "both"):
        [told] = notices_for(username)
        assert told.words == "Lea Lead transferred 2 conversations to Second line: holidays"
        assert told.url == f"/queue/?tab=waiting&group={group.id}"
    dismiss_notices("ben", [told.id])
    assert notices_for("ben") == []


def test_a_colleague_who_cannot_be_told_has_them_all_the_same(store, team):
    keys = put(store, held("tom"), held("tom"))
    chosen = tokens(team, "colleagues")
    with faults.fail_before("PutItem", table_key="CONSOLE", times=faults.ALWAYS):
        assert "Transferred 2 conversations." in html(give(team, chosen, "colleague:ben"))
    assert {stored(store, key)["hand_off_agent"] for key in keys} == {"ben"}


def test_an_agent_gives_what_is_theirs_but_not_what_colleagues_hold(store, team):
    keys = put(store, held(ME), held("tom"))
    client = signed_in(member())
    [mine] = tokens(client, "mine")
    toms = Conversation.get(*keys[1].values(), consistent_read=True)
    foreign = selection.row_token(toms, hand_off_of(toms), as_staff(member()))
    text = html(give(client, [mine, foreign], "colleague:ben"))
    assert "Transferred 1 conversation." in text
    assert "A colleague has this conversation. Only an administrator can do that for them." in text
    assert [stored(store, key)["hand_off_agent"] for key in keys] == ["ben", "tom"]


def test_where_nobody_else_answers_the_page_says_so(store):
    put(store, held(ME))
    caching.invalidate_all()
    client = signed_in(member())
    assert "There is nobody to transfer them to." in html(client.post(GIVE, {"selected": tokens(client, "mine")}))
