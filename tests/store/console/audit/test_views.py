"""`/audit/` and `/audit/trails/<ref>/`."""

import html
import re

import pytest

from console.refs import seal
from tests.answers import text_of
from tests.items import conversation, url_of
from tests.people import OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages


def trail_url(partition: str) -> str:
    return f"/audit/trails/{seal('trail', partition)}/"


def put_many(store, trail: str, count: int) -> None:
    for number in range(count):
        key = {
            "conversation_id": trail,
            "ts_action_id": f"2026-03-02T09:{number // 60:02}:{number % 60:02}.000Z#{number}",
        }
        store.put("AUDIT", {**key, "action_type": f"step_{number}", "company_id": "ci-aaa-001", "result": "success"})


def test_the_trail_of_a_conversation_is_linked_from_it_and_says_what_was_done(store):
    item = conversation()
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    page = client.get(url_of(item)).content.decode()
    link = html.unescape(re.search(r'href="(/audit/trails/[^"]+)"', page).group(1))
    answer = client.get(link)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "Amira Haddad opened the transcript" in text
    assert "7700900123" not in text
    assert "447700900123" not in link


def test_pages_follow_each_other(store):
    put_many(store, "c1", 60)
    client = signed_in(member())
    first = client.get(trail_url("c1")).content.decode()
    assert "Step 59" in first
    assert "Step 9<" not in first
    following = html.unescape(re.search(r'rel="next" href="([^"]+)"', first).group(1))
    second = client.get(following).content.decode()
    assert "Step 9<" in second
    assert 'rel="next"' not in second


def test_out_of_scope_is_nothing_and_another_role_is_refused(store):
    store.put("AUDIT", {"conversation_id": "c1", "ts_action_id": "2026-03-02T09:00:00Z#1", "company_id": OTHER_COMPANY})
    assert signed_in(member()).get(trail_url("c1")).status_code == 404
    assert signed_in(member("olga.onboarding", "onboarding")).get(trail_url("c1")).status_code == 403
    assert signed_in(auditor()).get(trail_url("c1")).status_code == 200
    assert signed_in(admin()).post(trail_url("c1")).status_code == 405


def test_the_overview_shows_ones_own_trail(store):
    text = signed_in(member()).get("/audit/").content.decode()
    assert "Amira Haddad signed in" in text
    assert "System trail" not in text
    assert "System trail" in signed_in(admin()).get("/audit/").content.decode()


def test_the_overview_offers_conversations_only_to_those_who_may_read_them(store):
    assert "Find a conversation" in signed_in(member()).get("/audit/").content.decode()
    onboarding = signed_in(member("olga.onboarding", "onboarding"))
    assert "Find a conversation" not in onboarding.get("/audit/").content.decode()


def test_without_its_table_the_overview_says_so(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT")
    client = signed_in(member())
    bare_store.client.update_table(TableName=bare_store.name("AUDIT"), DeletionProtectionEnabled=False)
    bare_store.client.delete_table(TableName=bare_store.name("AUDIT"))
    answer = client.get("/audit/")
    assert answer.status_code == 200
    assert "the console is read-only" in text_of(answer)
    trail = client.get(trail_url("STAFF#amira.haddad"))
    assert trail.status_code == 200
    assert "is not available in this environment" in trail.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        *(f"trails/{ref}/" for ref in ("nonsense", seal("conversation", "c1"), "x" * 300)),
        *(f"entries/{ref}/" for ref in ("nonsense", seal("trail", "c1"), seal("entry", "c1"))),
        *(f"events/{ref}/" for ref in ("nonsense", seal("trail", "k"), seal("event", "k", "k"), "x" * 300)),
        *(f"{page}?about={ref}" for page in ("", "export/", "picture/") for ref in ("junk", seal("trail", "c1"))),
    ],
)
def test_what_was_not_sealed_for_that_page_is_nothing(store, path):
    assert signed_in(admin()).get(f"/audit/{path}").status_code == 404
