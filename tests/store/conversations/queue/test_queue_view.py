"""`/queue/`: tabs, filters, taking from the row, releasing all of mine."""

import re
from datetime import timedelta

import pytest

from console import clock
from console.staff import services
from console.trail.recording import COMMAND_LINE, Actor
from tests import faults
from tests.items import key_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in
from tests.queue import swept
from tests.store.conversations.queue.test_queue import held, waiting

pytestmark = pytest.mark.pages


@pytest.fixture(autouse=True)
def _swept(store):
    """What is put is in the queue as the indexer leaves it."""
    swept(store)


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


def test_an_answered_row_says_since_when_it_is_answered(store):
    now = clock.now()
    asked, answered = (clock.to_iso(now - timedelta(minutes=minutes)) for minutes in (200, 5))
    store.put("CONVERSATIONS", held("amira.haddad", hand_off_requested_at=asked, hand_off_answered_at=answered))
    text = html(signed_in(member()).get("/queue/?tab=mine"))
    assert "5 min" in text
    assert "3 h 20 min" not in text


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


def test_with_a_filter_no_other_tab_has_a_number(store, settings):
    settings.HANDOFF_QUEUE_URL = "https://sqs.invalid/handoff"
    store.put("CONVERSATIONS", waiting(5))
    client = signed_in(member())
    assert html(client.get("/queue/")).count('<span class="count">') == 5
    assert html(client.get("/queue/?channel=whatsapp")).count('<span class="count">') == 1


def test_drift_is_a_quiet_line_with_its_details_behind_a_fold(store):
    store.put("CONVERSATIONS", waiting(5, comms_consent=None, function_call=None))
    text = html(signed_in(member()).get("/queue/"))
    assert "2 attributes of this conversation are not in the expected form</summary>" in text
    assert "Not as expected" not in text


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
            "1 thing needs attention",
            "2 things need attention",
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
    assert 'data-key="r" data-ask="***-***-0123: The AI will answer the customer&#x27;s next message."' in html(
        client.get("/queue/?tab=mine")
    )


def test_the_queue_holds_only_the_scope(store):
    store.put("CONVERSATIONS", waiting(5, company_id=OTHER_COMPANY, hand_off_to_human_reason="not yours"))
    assert "not yours" not in html(signed_in(member()).get("/queue/"))
    assert "not yours" in html(signed_in(member("tom", scope=[COMPANY, OTHER_COMPANY])).get("/queue/"))


def test_an_empty_scope_is_said_kindly_and_reads_no_conversation(store):
    client = signed_in(member(scope=[]))
    with store.calls() as seen:
        text = html(client.get("/queue/"))
    assert "Nothing is in your scope yet" in text
    assert not [
        call for call in seen if call.index or (call.operation == "Query" and call.tables == ("CONVERSATIONS",))
    ]


@pytest.mark.parametrize("person", [lambda: auditor(), lambda: member("ola", "onboarding")])
def test_other_roles_have_no_queue(store, person):
    assert signed_in(person()).get("/queue/").status_code == 403


def test_a_hold_forgotten_overnight_stands_out(store):
    store.put("CONVERSATIONS", held("amira.haddad", minutes=20 * 60))
    assert "held overnight" in html(signed_in(member()).get("/queue/?tab=mine"))


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


def test_release_all_of_mine_says_where_the_reads_ended_early(store, monkeypatch):
    monkeypatch.setattr("conversations.queue.actions.READS", 1)
    monkeypatch.setattr("conversations.queue.actions._ROWS", 1)
    store.put_all("CONVERSATIONS", [held("amira.haddad", request_id=f"r{number}") for number in range(3)])
    text = html(signed_in(member()).post("/queue/release-mine/", follow=True))
    assert "1 conversation is back in the queue" in text
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


def test_what_a_busy_database_kept_from_being_released_is_not_blamed_on_others(store):
    store.put("CONVERSATIONS", held("amira.haddad"))
    client = signed_in(member())
    code = "ProvisionedThroughputExceededException"
    with faults.refuse("TransactWriteItems", code=code, times=faults.ALWAYS):
        text = html(client.post("/queue/release-mine/", follow=True))
    assert "1 could not be returned to the queue" in text
    assert "changed in the meantime" not in text


def test_without_any_known_company_it_says_that_nobody_was_looked_for(store):
    text = html(signed_in(admin()).get("/queue/"))
    assert "No companies are known yet" in text
    assert "Nobody found waiting" in text
    store.put("CONVERSATIONS", waiting(5, hand_off_to_human_reason="of a company that nobody registered"))
    text = html(signed_in(admin()).get("/queue/"))
    assert "of a company that nobody registered" in text
    assert "No companies are known yet" not in text


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
        "AI failed": waiting(50, conversation_status="failed", updated_at=clock.to_iso(ago(50)), **broken),
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
        "AI failed": ["Take over", "Dismiss"],
        "reply not delivered": ["Return to AI"],
        "expires soon": ["Return to AI"],
        "overridden": ["Take over again", "Return to AI"],
    }


def test_an_open_page_learns_that_a_cause_is_there_anew(store):
    item = held("amira.haddad", 30, hand_off_reply_failed_at=clock.to_iso(clock.now() - timedelta(minutes=11)))
    store.put("CONVERSATIONS", item)
    client = signed_in(member())
    tag = client.get("/queue/?tab=attention", HTTP_X_POLL="1")["ETag"]
    store.put("CONVERSATIONS", item | {"hand_off_reply_failed_at": clock.to_iso(clock.now())})
    assert client.get("/queue/?tab=attention", HTTP_X_POLL="1", HTTP_IF_NONE_MATCH=tag).status_code == 200
