"""`/audit/entries/<ref>/`: one entry with all that it says and leads to."""

import json
import re
from datetime import timedelta

import pytest
from django.urls import reverse

from console import clock
from console.audit.review.forms import KEY, About
from console.refs import seal
from console.trail.actions import Action
from tests import faults
from tests.answers import text_of
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

PHONE = "447700900123"
ID = f"{COMPANY}#pi-aaa-001#req-1#{PHONE}"
AT = "2026-03-02T09:00:00.123Z"
SORT_KEY = f"{AT}#a2"
IDEMPOTENCY_KEY = f"act:hand_off:{ID}:a2"


def url_of(partition: str = ID, sort_key: str = SORT_KEY) -> str:
    return f"/audit/entries/{seal('entry', partition, sort_key)}/"


def put(store, partition: str = ID, **attributes) -> str:
    item = {
        "conversation_id": partition,
        "ts_action_id": SORT_KEY,
        "action_type": "hand_off.take",
        "result": "success",
        "actor": "amira.haddad",
        "actor_role": "agent",
        "company_id": COMPANY,
        "action_id": "a2",
        "expires_at": clock.to_epoch(clock.now() + timedelta(days=58, hours=1)),
    }
    item |= attributes
    store.put("AUDIT", {name: value for name, value in item.items() if value is not None})
    return url_of(partition, str(item["ts_action_id"]))


def shown(client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return text_of(answer)


@pytest.fixture
def reviewer(store):
    return signed_in(auditor())


def test_it_says_what_when_who_and_until_when(store):
    account = auditor()
    account.time_zone = "Asia/Tokyo"
    account.save()
    member()
    text = shown(signed_in(account), put(store, result="conflict: taken by tom.becker"))
    title = re.sub("[⁦-⁩]", "", re.search(r"<h1><bdi>(.*?)</bdi></h1>", text).group(1))
    assert title == "Amira Haddad tried to take it from the queue"
    for words in (
        "2 Mar 2026, 18:00:00.123 Asia/Tokyo (+0900)",
        "hand_off.take",
        "amira.haddad · agent",
        "taken by tom.becker",
        COMPANY,
        "in 58 days",
        "***-***-0123",
    ):
        assert words in text
    assert PHONE not in text


def test_the_company_of_an_entry_that_names_none_is_its_conversation_s(store, reviewer):
    store.put("CONVERSATIONS", conversation(conversation_id=ID))
    url = put(store, company_id=None)
    for client in (reviewer, signed_in(auditor("lea.limited", [COMPANY]))):
        text = shown(client, url)
        assert f'href="/audit/?company={COMPANY}"' in text
        assert "the entry names none" in text
    assert "the entry names none" not in shown(reviewer, put(store))
    with faults.refuse("Query", code="InternalServerError", table_key="CONVERSATIONS", times=faults.ALWAYS):
        # Whose names are to be masked cannot be told: nothing is shown.
        assert reviewer.get(put(store, company_id=None)).status_code == 503


@pytest.mark.parametrize(
    ("action", "query"),
    [
        (Action.TENANT_CHANGED, f"company={COMPANY}"),
        (Action.LEVELS_CHANGED, f"company={COMPANY}&group=levels-and-notifications"),
        ("crm_sync", f"company={COMPANY}&action=crm_sync"),
    ],
)
def test_the_company_s_review_has_entries_of_that_kind(store, reviewer, action, query):
    url = put(store, f"TENANT#{COMPANY}", action_type=action, gsi_company_id=COMPANY)
    text = shown(reviewer, url)
    assert f'href="/audit/?{query}"' in text
    assert ">Tenant<" in text
    assert f'href="{url}"' in shown(reviewer, f"/audit/?{query}")


def test_one_consistent_read_is_made_of_it(store, reviewer):
    url = put(store)
    reviewer.get(url)
    with store.calls() as seen:
        reviewer.get(url)
    of_audit = [each for each in seen if each.tables == ("AUDIT",)]
    assert [(each.operation, each.request["ConsistentRead"]) for each in of_audit] == [("GetItem", True)]


def test_before_and_after_of_settings_are_a_table(store, reviewer):
    payload = {
        "changed": "role, scope",
        "from": {"role": "onboarding", "scope": [COMPANY], "notes": "call +447700900123"},
        "to": {"role": "agent", "scope": [COMPANY, "ci-bbb-002"]},
    }
    url = put(store, "STAFF#tom.becker", action_type=Action.STAFF_CHANGED, action_payload_redacted=json.dumps(payload))
    text = shown(reviewer, url)
    table = text[text.index('<table class="data changes">') : text.index("</table>")]
    cells = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in table.split("<tr>")[2:]]
    assert cells == [
        ["role", "onboarding", "agent"],
        ["scope", COMPANY, f"{COMPANY}, ci-bbb-002"],
        ["notes", "call ***-***-0123"],
    ]
    assert [word in table for word in ("changed", "removed", "not set")] == [True] * 3
    assert "the account" in text
    assert "What changed" not in shown(reviewer, put(store, action_payload_redacted='{"from": "ai", "to": "waiting"}'))


def test_it_leads_to_trail_conversation_and_what_has_the_same_key(store, reviewer):
    store.put("CONVERSATIONS", conversation(conversation_id=ID))
    text = shown(reviewer, put(store, idempotency_key=IDEMPOTENCY_KEY))
    links = {
        re.sub("<.*?>", "", words): url for url, words in re.findall(r'<a class="btn" href="(.*?)">(.*?)</a>', text)
    }
    assert links["Open the trail"] == f"/audit/trails/{seal('trail', ID)}/"
    assert reviewer.get(links["Open the conversation"]).status_code == 302
    assert links["All entries with this key"] == f"/audit/?about={About(KEY, IDEMPOTENCY_KEY, ID).sealed}"
    assert "took it from the queue" in shown(reviewer, links["All entries with this key"])
    assert not any(PHONE in url for url in links.values())
    for url in ("?action=hand_off.take", "?actor=amira.haddad", f"?company={COMPANY}"):
        assert f'href="/audit/{url}"' in text


def test_the_idempotency_record_is_linked_for_who_may_see_it(store, reviewer):
    url = put(store, idempotency_key=IDEMPOTENCY_KEY)
    record = {"event_id": IDEMPOTENCY_KEY, "conversation_id": ID, "status": "success", "mode": "console"}
    store.put("IDEMPOTENCY", record)
    link = f'href="{reverse("event", args=[seal("event", IDEMPOTENCY_KEY)])}"'
    assert link in shown(reviewer, url)
    assert link not in shown(signed_in(member()), url)


@pytest.mark.parametrize("key", [IDEMPOTENCY_KEY, "of:a:kind:that:nobody:knows"])
def test_once_the_record_has_expired_the_entry_is_still_found_by_its_key(store, reviewer, key):
    expired = {"event_id": key, "conversation_id": ID, "expires_at": clock.to_epoch(clock.now()) - 5}
    url = put(store, idempotency_key=key)
    for there in (True, False):
        if there:
            store.put("IDEMPOTENCY", expired)
        else:
            store.delete("IDEMPOTENCY", event_id=key)
        text = shown(reviewer, url)
        assert "no idempotency record, or it has expired" in text
        assert reverse("event", args=[seal("event", key)]) not in text
        same = re.search(r'href="(/audit/\?about=[^"]*)"', text)[1]
        assert f'href="{url}"' in shown(reviewer, same)


def test_a_key_whose_trail_is_known_is_found_within_the_scope_only(store):
    put(store, "c9", idempotency_key="k9", company_id=OTHER_COMPANY)
    limited = signed_in(auditor("lea.limited", [COMPANY]))
    assert "No entry" in shown(limited, f"/audit/?about={About(KEY, 'k9', 'c9').sealed}")


def test_who_does_not_review_gets_no_links_to_the_review(store):
    text = shown(signed_in(member()), put(store, idempotency_key=IDEMPOTENCY_KEY))
    assert "/audit/?" not in text
    assert "All entries with this key" not in text


def test_the_action_before_is_linked_while_it_is_there(store, reviewer):
    url = put(store, previous_action_id="a1")
    assert "no longer in the trail" in shown(reviewer, url)
    before = put(store, ts_action_id="2026-03-02T08:00:00.000Z#a1", action_id="a1")
    put(store, ts_action_id="2026-03-02T08:30:00.000Z#x9", action_id="x9")
    assert f'href="{before}"' in shown(reviewer, url)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"result": "pending"}, "not recorded yet"),
        ({"expires_at": None}, "no expiry"),
        ({"expires_at": "soon"}, "expires_at: text instead of number"),
        ({"ts_action_id": "whenever#a2"}, "its time cannot be read"),
        ({"actor": None, "actor_role": None}, "Middleware"),
        ({"action_type": None, "actor": None}, "<h1><bdi>Unknown</bdi></h1>"),
        ({"action_payload_redacted": "no json, just +447700900123"}, "just ***-***-0123"),
    ],
)
def test_drift_is_told_and_never_an_error(store, reviewer, attributes, words):
    assert words in shown(reviewer, put(store, **attributes))


@pytest.mark.parametrize(
    "payload",
    [
        {"from": {"<img src=x>": "<script>"}, "to": {"<img src=x>": ["</table>", {"a": "‮"}]}},
        {"before": {"k": {"deep": {"deeper": {"still": [[]] * 50}}}}, "after": {"k": {"deep": "</td>"}}},
        {"old": {str(number): "x" * 1000 for number in range(300)}, "new": None},
        [[[[[[[[[["<b>"]]]]]]]]]],
    ],
)
def test_a_hostile_payload_is_text(store, reviewer, payload):
    answer = reviewer.get(put(store, action_payload_redacted=json.dumps(payload)))
    assert answer.status_code == 200
    page = answer.content.decode()
    for needle in ("<img", "<script>", "</table>,", "<b>&lt", '"<b>"'):
        assert needle not in page
    assert len(page) < 500_000


def test_out_of_scope_past_its_ttl_and_absent_are_the_same_nothing(store):
    limited = signed_in(auditor("lea.limited", [COMPANY]))
    theirs = put(store, "c9", company_id=OTHER_COMPANY)
    unknown = put(store, "c8", company_id=None)
    gone = put(store, "c7", expires_at=clock.to_epoch(clock.now()) - 5)
    account = put(store, "STAFF#tom.becker")
    system = put(store, "SYSTEM")
    pages, costs = set(), []
    for url in (theirs, unknown, gone, url_of("c1"), account, system):
        with store.calls() as seen:
            answer = limited.get(url)
        assert answer.status_code == 404
        pages.add(re.sub(r'name="csrfmiddlewaretoken"[^>]*|"X-CSRFToken": "[^"]*"', "", answer.content.decode()))
        # In any order: some of them run side by side.
        costs.append(sorted((each.operation, each.tables) for each in seen))
    assert len(pages) == 1
    assert costs[0] == costs[1] == costs[3]
    assert limited.get(put(store)).status_code == 200


def test_the_role_is_that_of_the_trail(store):
    own = put(store, "STAFF#amira.haddad", company_id=None)
    agent = signed_in(member())
    assert agent.get(own).status_code == 200
    assert agent.get(put(store, "STAFF#tom.becker")).status_code == 403
    assert agent.get(put(store, "SYSTEM")).status_code == 403
    assert signed_in(member("olga.onboarding", "onboarding")).get(put(store)).status_code == 403
    assert signed_in(admin()).post(own).status_code == 405


def test_rows_of_a_trail_lead_to_their_entries(store, reviewer):
    url = put(store)
    assert f'href="{url}"' in shown(reviewer, f"/audit/trails/{seal('trail', ID)}/")
