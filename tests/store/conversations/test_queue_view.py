"""`/queue/`: tabs, filters, taking from the row, releasing all of mine."""

import re
from datetime import timedelta

import pytest

from console import clock
from console.middleware import POLL_HEADER
from console.staff import services
from console.trail.recording import COMMAND_LINE, Actor
from conversations.queue import reading
from tests import faults
from tests.items import key_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.store.conversations.test_queue import held, waiting

pytestmark = pytest.mark.pages


def html(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:2000]
    return answer.content.decode()


def test_rows_are_masked_and_longest_wait_comes_first(store):
    store.put_all(
        "CONVERSATIONS",
        [
            waiting(5, hand_off_to_human_reason="Call me on +447700900123", primary_channel="+447700900999"),
            waiting(200, hand_off_to_human_reason="Asked three times"),
        ],
    )
    text = html(signed_in(member()).get("/queue/"))
    assert text.index("Asked three times") < text.index("Call me on")
    assert "447700900" not in text
    assert "2 people are waiting" in text
    assert "3 h 20 min" in text
    assert "all 2 conversations searched" in text


def test_tabs_and_filters_live_in_the_url(store):
    store.put_all(
        "CONVERSATIONS",
        [
            waiting(5, hand_off_to_human_reason="by sms", channel_method="sms"),
            waiting(6, hand_off_to_human_reason="by whatsapp"),
            held("amira.haddad", hand_off_to_human_reason="held by me"),
            held("tom", hand_off_to_human_reason="held by tom", request_id="toms"),
        ],
    )
    client = signed_in(member())
    sms = html(client.get("/queue/?channel=sms"))
    assert "by sms" in sms
    assert "by whatsapp" not in sms
    mine = html(client.get("/queue/?tab=mine"))
    assert "held by me" in mine
    assert "held by tom" not in mine
    assert "held by tom" in html(client.get("/queue/?tab=colleagues"))
    assert "1 person is waiting" in html(client.get("/queue/?tab=junk&channel=sms"))


@pytest.mark.parametrize(
    ("tab", "one", "two", "none"),
    [
        ("waiting", "1 person is waiting", "2 people are waiting", "Nobody is waiting"),
        ("mine", "You hold 1 conversation", "You hold 2 conversations", "You hold no conversations"),
        (
            "colleagues",
            "Colleagues hold 1 conversation",
            "Colleagues hold 2 conversations",
            "Colleagues hold no conversations",
        ),
        (
            "attention",
            "1 conversation needs attention",
            "2 conversations need attention",
            "No conversation needs attention",
        ),
    ],
)
def test_each_tab_is_headed_by_what_it_lists(store, tab, one, two, none):
    def listed(n: int) -> dict:
        match tab:
            case "waiting":
                return waiting(n)
            case "attention":
                return held("tom.becker", n, request_id=f"r{n}", hand_off_to_human=False)
            case _:
                return held("amira.haddad" if tab == "mine" else "tom.becker", n, request_id=f"r{n}")

    client = signed_in(member())
    store.put("CONVERSATIONS", waiting(90) if tab != "waiting" else held("amira.haddad", request_id="mine"))
    headings = []
    for n in range(3):
        text = html(client.get(f"/queue/?tab={tab}"))
        headings.append(re.search(r"<h1>(.*?)</h1>", text)[1])
        store.put("CONVERSATIONS", listed(n + 1))
    assert headings == [none, one, two]


def test_a_long_reason_in_the_filter_ends_in_an_ellipsis(store):
    reason = "The customer asked three times for somebody who can tell when the engineer is coming"
    store.put("CONVERSATIONS", waiting(5, hand_off_to_human_reason=reason))
    [option] = re.findall(r"<option[^>]*>(The customer[^<]*)</option>", html(signed_in(member()).get("/queue/")))
    assert option == "The customer asked three times for somebody who can tell wh…"


def test_only_the_key_that_gives_up_a_conversation_asks_first(store):
    store.put_all("CONVERSATIONS", [waiting(5), held("amira.haddad")])
    client = signed_in(member())
    assert "data-ask" not in html(client.get("/queue/"))
    assert 'data-key="r" data-ask="***-***-0123: The AI continues from here."' in html(client.get("/queue/?tab=mine"))


def test_the_queue_holds_only_the_scope(store):
    store.put("CONVERSATIONS", waiting(5, company_id=OTHER_COMPANY, hand_off_to_human_reason="not yours"))
    assert "not yours" not in html(signed_in(member()).get("/queue/"))
    assert "not yours" in html(signed_in(member("tom", scope=[COMPANY, OTHER_COMPANY])).get("/queue/"))


def test_an_empty_scope_is_said_kindly_and_reads_no_conversation(store):
    client = signed_in(member(scope=[]))
    with store.calls() as seen:
        text = html(client.get("/queue/"))
    assert "Nothing is in your scope yet" in text
    # Who asks, and whether they are away.
    assert [call.operation for call in seen] == ["BatchGetItem", "Query"]


@pytest.mark.parametrize("person", [lambda: auditor(), lambda: member("ola", "onboarding")])
def test_other_roles_have_no_queue(store, person):
    assert signed_in(person()).get("/queue/").status_code == 403


def test_a_hold_forgotten_overnight_stands_out(store):
    store.put("CONVERSATIONS", held("amira.haddad", minutes=20 * 60))
    assert "held overnight" in html(signed_in(member()).get("/queue/?tab=mine"))


def test_requests_stay_within_the_stated_budget(store):
    store.put_all("CONVERSATIONS", [waiting(5), waiting(5, company_id=OTHER_COMPANY)])
    client = signed_in(member(scope=[COMPANY, OTHER_COMPANY]))
    with store.calls() as seen:
        html(client.get("/queue/"))
    # Cached for a while: the companies' names and service levels, who is away, whether the index is there, how the
    # indexer is doing, the shared views.
    assert sorted(call.operation for call in seen) == ["BatchGetItem", "DescribeTable", "GetItem", *["Query"] * 8]
    with store.calls() as seen:
        html(client.get("/queue/"))
    # who asks, one query per company without the index, their own views
    assert sorted(call.operation for call in seen) == ["BatchGetItem", *["Query"] * 3]
    with store.calls() as seen:
        html(client.get("/queue/", headers={POLL_HEADER: "1"}))
    # an open page asks for rows alone
    assert sum(call.operation == "Query" for call in seen) == 2


def test_release_all_of_mine_keeps_the_timers(store):
    asked = clock.to_iso(clock.now() - timedelta(hours=5))
    items = [held("amira.haddad", hand_off_requested_at=asked), held("tom", request_id="toms")]
    store.put_all("CONVERSATIONS", items)
    answer = signed_in(member()).post("/queue/release-mine/", follow=True)
    assert "1 conversation is back in the queue" in html(answer)
    mine = store.get("CONVERSATIONS", **key_of(items[0]))
    assert "hand_off_agent" not in mine
    assert mine["hand_off_requested_at"] == asked
    assert mine["gsi_hand_off_queue"] == f"waiting#{COMPANY}"
    toms = store.get("CONVERSATIONS", **key_of(items[1]))
    assert toms["hand_off_agent"] == "tom"


def test_release_all_of_mine_says_whose_routing_somebody_else_has_changed(store, settings):
    settings.HAND_OFF_ROUTING = "held"
    routed = {"hand_off_routing_before": [], "auto_queue_reply_message": True}
    theirs = routed | {"auto_queue_reply_message": False, "request_id": "theirs"}
    store.put_all("CONVERSATIONS", [held("amira.haddad", **routed), held("amira.haddad", **theirs)])
    text = html(signed_in(member()).post("/queue/release-mine/", follow=True))
    assert "2 conversations are back in the queue" in text
    assert "somebody else changed where the messages of 1 conversation go. Their change was kept." in text


def test_release_all_of_mine_reaches_every_company(store):
    companies = [f"ci-{number:03}" for number in range(45)]
    for company_id in (companies[0], companies[25], companies[44]):
        store.put("CONVERSATIONS", held("amira.haddad", company_id=company_id))
    text = html(signed_in(member(scope=companies)).post("/queue/release-mine/", follow=True))
    assert "3 conversations are back in the queue" in text
    assert "not looked through" not in text
    assert not any("hand_off_agent" in each for each in store.all("CONVERSATIONS"))


def test_release_all_of_mine_says_what_was_not_looked_through(store, monkeypatch):
    monkeypatch.setattr("conversations.queue.actions.COMPANIES_OF_PAGE", 1)
    client = signed_in(member(scope=[COMPANY, OTHER_COMPANY, "ci-000"]))
    text = html(client.post("/queue/release-mine/", follow=True))
    assert "2 companies were not searched to the end" in text
    assert "You hold no conversations" not in text


def test_release_all_of_mine_says_where_the_reads_ended_early(store, monkeypatch):
    monkeypatch.setattr(reading, "call", lambda *_, **__: {"Items": [], "LastEvaluatedKey": {"any": {"S": "key"}}})
    text = html(signed_in(member()).post("/queue/release-mine/", follow=True))
    assert "1 company was not searched to the end" in text


@pytest.mark.parametrize("actor", [Actor("ada.admin", "admin"), COMMAND_LINE])
def test_disabling_an_account_releases_what_it_holds_in_the_name_of_who_did_it(store, actor):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber"})
    item = held("amira.haddad")
    store.put("CONVERSATIONS", item)
    member()
    services.disable("amira.haddad", actor=actor)
    stored = store.get("CONVERSATIONS", **key_of(item))
    assert "hand_off_agent" not in stored
    assert stored["hand_off_to_human"] is True
    [entry] = [entry for entry in store.all("AUDIT") if entry["action_type"] == "hand_off.release"]
    assert (entry["result"], entry["actor"], entry["actor_role"]) == ("success", actor.name, actor.role)


def test_an_admin_sees_every_company_of_the_registry(store):
    store.put_all(
        "CONSOLE",
        [{"pk": "COMPANIES", "sk": COMPANY, "name": "One"}, {"pk": "COMPANIES", "sk": OTHER_COMPANY, "name": "Two"}],
    )
    store.put_all("CONVERSATIONS", [waiting(5), waiting(5, company_id=OTHER_COMPANY)])
    assert "2 people are waiting" in html(signed_in(admin()).get("/queue/"))


def test_a_company_beyond_the_budget_is_looked_at_when_it_is_chosen(store):
    companies = [f"ci-{number:03}" for number in range(25)]
    store.put("CONVERSATIONS", waiting(5, company_id=companies[-1], hand_off_to_human_reason="in the last one"))
    client = signed_in(member(scope=companies))
    text = html(client.get("/queue/"))
    assert "5 more companies were not searched. Choose one in the filter" in text
    assert f'<option value="{companies[-1]}"' in text
    assert "in the last one" not in text
    assert "in the last one" in html(client.get(f"/queue/?company={companies[-1]}"))
    assert "in the last one" not in html(client.get(f"/queue/?company={OTHER_COMPANY}"))


def test_what_a_busy_database_kept_from_being_released_is_not_blamed_on_others(store):
    store.put("CONVERSATIONS", held("amira.haddad"))
    client = signed_in(member())
    code = "ProvisionedThroughputExceededException"
    with faults.refuse("TransactWriteItems", code=code, times=faults.ALWAYS):
        text = html(client.post("/queue/release-mine/", follow=True))
    assert "1 could not be released" in text
    assert "changed in the meantime" not in text


def test_without_any_known_company_it_says_that_nobody_was_looked_for(store):
    store.put("CONVERSATIONS", waiting(5))
    text = html(signed_in(admin()).get("/queue/"))
    assert "No companies are known yet" in text
    assert "Nobody found waiting" in text


def test_each_cause_says_since_when_and_what_one_can_do(store):
    now = clock.now().replace(microsecond=0)

    def ago(minutes):
        return now - timedelta(minutes=minutes)

    expires = now + timedelta(hours=5)
    broken = {
        "hand_off_to_human": False,
        "hand_off_requested_at": clock.to_iso(ago(50)),
        "hand_off_attention": "failed",
    }
    items = {
        "AI failed": waiting(7, **broken),
        "reply not delivered": held("amira.haddad", 30, hand_off_reply_failed_at=clock.to_iso(ago(11))),
        "expires soon": held("amira.haddad", 30, ttl=clock.to_epoch(expires)),
        "overridden": held("amira.haddad", 30, hand_off_to_human=False, updated_at=clock.to_iso(ago(12))),
    }
    store.put_all(
        "CONVERSATIONS", [each | {"conversation_id": f"{COMPANY}#p#{cause}#x"} for cause, each in items.items()]
    )
    page = html(signed_in(member()).get("/queue/?tab=attention"))
    rows = page.partition("</ol>")[0].split("<li data-row")[1:]
    found = {cause: row for row in rows for cause in items if cause in row}
    buttons = {cause: re.findall(r'<button class="btn[^>]*>([^<]+)<span', row) for cause, row in found.items()}
    for cause, words, at in (
        ("AI failed", "since", ago(50)),
        ("reply not delivered", "since", ago(11)),
        ("expires soon", "until", expires),
        ("overridden", "since", ago(12)),
    ):
        assert f'{words} <time datetime="{clock.to_iso(at, "seconds")}"' in found[cause]
    assert buttons == {
        "AI failed": ["Take over", "Leave it"],
        "reply not delivered": ["Hand back to the AI"],
        "expires soon": ["Hand back to the AI"],
        "overridden": ["Take over again", "Leave it"],
    }


def test_an_open_page_learns_that_a_cause_is_there_anew(store):
    item = held("amira.haddad", 30, hand_off_reply_failed_at=clock.to_iso(clock.now() - timedelta(minutes=11)))
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    tag = client.get("/queue/?tab=attention", HTTP_X_POLL="1")["ETag"]
    store.put("CONVERSATIONS", item | {"hand_off_reply_failed_at": clock.to_iso(clock.now())})
    assert client.get("/queue/?tab=attention", HTTP_X_POLL="1", HTTP_IF_NONE_MATCH=tag).status_code == 200
