"""Whatever anybody does leaves exactly one entry in the trail, and what is refused leaves one that says so."""

from collections import Counter

import pytest

from console.staff.models import StaffAccount
from console.trail.actions import Action, outcome
from tests.answers import body_of
from tests.crawl.access.routes import ROUTES, in_order
from tests.people import signed_in
from tests.scenario import posts

# Forms that look something up, because what is typed must not stand in an address: opening what they find is recorded.
LOOK_UPS = {"search", "store-find", "conversation-find", "audit-find", "events", "access-log", "channels-resolve"}
# The entry of a reply that is taken back says so; a template is fetched, and then sent on record; what a colleague told
# is on record as what they did.
OF_ANOTHER = {"conversation-reply-undo", "conversation-reply-template", "notices"}
# A conversation that has room is left as it is.
WITHOUT_NEED = {"conversation-room"}
# What was typed of a tenant so far is a draft: its first and its last step are recorded.
DRAFTS = ("/onboarding/admin/", "/onboarding/channels/", "/onboarding/companies/")
# Each conversation of several has its own entry; a channel that is moved has one in the trail of either tenant.
ONE_FOR_EACH = {
    "queue-release-mine": Action.HAND_OFF_RELEASE,
    "queue-selected": Action.HAND_OFF_TAKE,
    "queue-selected-give": Action.HAND_OFF_ASSIGN,
    "tenant-channel-move": Action.CHANNEL_MOVED,
}


def entries(store) -> dict[tuple[str, str], dict]:
    return {(item["conversation_id"], item["ts_action_id"]): item for item in store.all("AUDIT")}


@pytest.mark.parametrize("role", ["agent", "admin"])
def test_every_form_leaves_exactly_one_entry(scenario, store, role):
    person = scenario.people[role]
    forms = posts(scenario.ours, scenario, person)
    left: Counter[str] = Counter()
    for route in in_order(role):
        for url, form in forms[route.name]:
            client = signed_in(StaffAccount.get(person.username, consistent_read=True))
            before = entries(store)
            answer = client.post(url, form)
            content = body_of(answer)
            assert answer.status_code in (200, 302), (route.name, answer.status_code, content[:500])
            new = [item for key, item in entries(store).items() if key not in before]
            # A message that is placed after all is one that the platform brought.
            new = [item for item in new if item["action_type"] != Action.MESSAGE_RECEIVED]
            if route.name in LOOK_UPS:
                # A search for a person is recorded, and what it opens again.
                new = [item for item in new if item["action_type"] != Action.PERSON_SEARCHED]
            if route.name in LOOK_UPS | OF_ANOTHER | WITHOUT_NEED or url.endswith(DRAFTS):
                assert not new, (route.name, new)
                continue
            if route.name in ONE_FOR_EACH:
                assert {item["action_type"] for item in new} == {ONE_FOR_EACH[route.name]}
                assert len({item["conversation_id"] for item in new}) == len(new) > 0
            else:
                assert len(new) == 1, (route.name, form.keys(), [item["action_type"] for item in new])
            for item in new:
                wanted = "pending" if item["action_type"] == Action.REPLY_SEND else "success"
                assert outcome(item["result"]) == wanted, (route.name, item)
                assert {"actor", "expires_at"} <= item.keys(), (route.name, item)
            left[route.name] += 1
    may_post = {
        route.name
        for route in ROUTES
        if "POST" in route.accepts and not route.absent and (route.who == "public" or role in route.roles)
    }
    assert set(left) | LOOK_UPS | OF_ANOTHER | WITHOUT_NEED >= may_post


@pytest.mark.parametrize("role", ["agent", "onboarding", "auditor"])
def test_every_refusal_leaves_exactly_one_entry(scenario, store, role):
    person = scenario.people[role]
    client = signed_in(person)
    forms = posts(scenario.ours, scenario, scenario.people["admin"])
    for route in ROUTES:
        if "POST" not in route.accepts or route.who in ("signed in", "public"):
            continue
        if role in route.declared or not forms[route.name]:
            continue
        before = entries(store)
        url, form = forms[route.name][0]
        assert client.post(url, form).status_code == 403, route.name
        [new] = [item for key, item in entries(store).items() if key not in before]
        assert (new["action_type"], new["actor"]) == (Action.ACCESS_DENIED, person.username)
        assert url not in str(new)


def test_opened_transcripts_leave_one_entry_an_hour_and_person(scenario, store):
    people = [scenario.people[role] for role in ("agent", "auditor")]
    names = sorted(each.username for each in people)
    for each in people:
        client = signed_in(each)
        for _ in range(3):
            assert client.get(f"/conversations/{scenario.ours.conversation_ref}/").status_code == 200
    opened = [
        item["actor"]
        for item in store.all("AUDIT")
        if item["action_type"] == Action.TRANSCRIPT_OPENED
        and item["conversation_id"] == scenario.ours.conversation_id
        and item.get("actor") in names
        and item["ts_action_id"].endswith(item["actor"])
    ]
    assert sorted(opened) == names
