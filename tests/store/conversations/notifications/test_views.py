"""The pages of notifications: who opens them, what they show, and what their forms and buttons do."""

import html
import re
from datetime import timedelta

import pytest
from django.test import Client

from console import clock
from console.refs import seal
from console.store.calls import table_name
from console.store.connection import note_absent
from conversations.notifications import destinations
from conversations.notifications.deliveries import announce, due_deliveries, give_up, note_attempt
from conversations.notifications.destinations import list_destinations
from conversations.notifications.notification import NotificationType
from tests import faults
from tests.people import COMPANY, OTHER_COMPANY, admin, member, signed_in
from tests.support.conversations.notifications import HOOK, add, add_at, bring, entries, found, happened, rows

pytestmark = pytest.mark.pages

LIST = f"/team/notifications/?company={COMPANY}"
NEW = f"/team/notifications/new/?company={COMPANY}"
HOSTILE = '<script>alert(1)</script>"\u202e'
TYPED = {"title": "Pager", "kind": "webhook", "address": HOOK, "types": ["conversation.waiting"], "is_on": "on"}


@pytest.fixture(autouse=True)
def _companies(store) -> None:
    for company_id, name in ((COMPANY, "Cucumber Recruitment"), (OTHER_COMPANY, "Other")):
        store.put("CONSOLE", {"pk": "COMPANIES", "sk": company_id, "name": name})


@pytest.fixture
def lead(store) -> Client:
    return signed_in(member("lena.lead", "admin"))


def text_of(answer, status: int = 200) -> str:
    assert answer.status_code == status, answer.content.decode()[:2000]
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode())))


def url(made, company_id: str = COMPANY) -> str:
    return f"/team/notifications/{seal('destination', company_id, made.id)}/"


def press(client: Client, made, do: str, **more):
    return client.post(url(made), {"do": do, "version": made.version, **more}, follow=True)


# --- Who --------------------------------------------------------------------------------------------------------------


def test_a_lead_sees_those_of_their_companies(store, lead):
    here, there, all_ = add(), add(OTHER_COMPANY), add("")
    for path, status in {
        LIST: 200,
        NEW: 200,
        url(here): 200,
        url(here) + "change/": 200,
        "/team/notifications/": 302,
        "/team/notifications/new/": 403,
        f"/team/notifications/?company={OTHER_COMPANY}": 404,
        f"/team/notifications/new/?company={OTHER_COMPANY}": 404,
        url(there, OTHER_COMPANY): 404,
        url(there, OTHER_COMPANY) + "change/": 404,
        url(there): 404,
        url(all_, ""): 403,
        url(here)[:-4] + "xxx/": 404,
        f"/team/notifications/{seal('conversation', COMPANY, here.id)}/": 404,
        "/team/notifications/x/": 404,
    }.items():
        assert lead.get(path).status_code == status, path


@pytest.mark.parametrize("company", ["nobody", "x" * 3000, "a#b", "\u202e"])
def test_a_company_that_nobody_knows_has_none(company):
    client = signed_in(admin())
    for path in ("/team/notifications/", "/team/notifications/new/"):
        assert client.get(path, {"company": company}).status_code == 404


def test_what_a_lead_cannot_open_they_cannot_do(store, lead):
    there, all_ = add(OTHER_COMPANY), add("")
    before = store.all("CONSOLE")
    for address in (url(there, OTHER_COMPANY), url(all_, "")):
        for do in ("test", "show", "renew", "again", "all"):
            assert lead.post(address, {"do": do, "version": 1}).status_code in (403, 404)
        assert lead.post(f"{address}change/", TYPED | {"version": 1}).status_code in (403, 404)
        assert lead.post(f"{address}change/", {"delete": 1, "version": 1}).status_code in (403, 404)
    same = [each for each in store.all("CONSOLE") if not each["pk"].startswith(("SESSION", "STAFF"))]
    assert [each for each in before if not each["pk"].startswith(("SESSION", "STAFF"))] == same
    assert entries(store, "destination.secret_shown", "destination.tested") == []


def test_an_agent_has_no_such_pages(store):
    client, made = signed_in(member()), add()
    for path in (LIST, NEW, url(made), url(made) + "change/"):
        assert client.get(path).status_code == 403


def test_the_team_leads_there(store, lead):
    assert f'href="/team/notifications/?company={COMPANY}"' in lead.get("/team/").content.decode()
    assert 'href="/team/notifications/"' not in lead.get("/team/").content.decode()
    assert 'href="/team/notifications/"' in signed_in(admin()).get("/team/").content.decode()
    assert "every company" in text_of(signed_in(admin()).get("/team/notifications/"))


# --- The list, and adding ---------------------------------------------------------------------------------------------


def test_the_list_says_how_each_one_is(store, lead):
    assert "No destinations yet" in text_of(lead.get(LIST))
    add(name="Well", address="https://well.example.com/secret-path?token=canary")
    add(name="Off", is_on=False)
    failing, gave_up = add(name="Failing"), add(name="Gave up")
    announce([happened()])
    for each in due_deliveries(clock.now(), 10):
        if each.destination_id == failing.id:
            note_attempt(each, "It could not be reached.", clock.now() + timedelta(seconds=5))
        elif each.destination_id == gave_up.id:
            give_up(each, "It could not be reached.", tried=True)
    answer = lead.get(LIST)
    found_rows = [text_of_row(each) for each in re.findall(r"<tr data-row>.*?</tr>", answer.content.decode(), re.S)]
    assert found_rows == [
        "Failing Webhook hooks.example.com failing",
        "Gave up Webhook hooks.example.com failing 1 not delivered",
        "Off Webhook hooks.example.com off",
        "Well Webhook well.example.com on",
    ]
    assert "secret-path" not in answer.content.decode()
    assert "Cucumber Recruitment" in text_of(answer)
    for each in list_destinations(COMPANY):
        # Its own page says the same.
        state = {"Failing": "failing", "Gave up": "failing", "Off": "off", "Well": "on"}[each.values.name]
        assert f"{each.values.name} {state} Webhook" in text_of(lead.get(url(each)))


def test_the_page_of_all_companies_leads_to_those_of_one(store):
    add(name="One")
    add(name="Two")
    page = signed_in(admin()).get("/team/notifications/")
    assert "No destinations for all companies yet" in text_of(page)
    assert "Companies with their own destinations Cucumber Recruitment : 2 destinations" in text_of(page)
    assert f'href="{LIST}"' in page.content.decode()
    assert "Other : " not in text_of(page)


@pytest.mark.parametrize("sender", ["", "console@example.com"])
def test_email_is_offered_only_where_it_is_set_up(store, lead, settings, sender):
    settings.NOTIFICATIONS_FROM_EMAIL = sender
    for path in (LIST, NEW):
        page = text_of(lead.get(path))
        assert ("an email address" in page) is bool(sender)
        assert ("Email isn’t set up here." in page) is not bool(sender)


def test_an_address_is_added_once(store, lead):
    made = add(name="Pager", address=TYPED["address"])
    again = lead.post(NEW, TYPED | {"title": "Another"})
    assert "This address is already a destination: Pager." in text_of(again, 409)
    assert 'value="Another"' in again.content.decode()
    other = add(name="Desk")
    moved = lead.post(url(other) + "change/", TYPED | {"title": "Desk", "version": 1})
    assert "This address is already a destination: Pager." in text_of(moved, 409)
    assert lead.post(url(made) + "change/", TYPED | {"title": "Beeper", "version": 1}).status_code == 302
    # Another company, or all of them, may be told at the same address.
    add(OTHER_COMPANY, address=TYPED["address"])
    add("", address=TYPED["address"])
    assert [each.values.name for each in list_destinations(COMPANY)] == ["Beeper", "Desk"]


def text_of_row(row: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", row).split())


def test_adding_one_keeps_what_was_typed_until_it_is_right(store, lead):
    answer = lead.post(NEW, TYPED | {"address": "http://10.0.0.1/hook"})
    page = text_of(answer, 422)
    assert "Enter an address that begins with https://." in page
    assert 'value="http://10.0.0.1/hook"' in answer.content.decode()
    assert 'value="Pager"' in answer.content.decode()
    assert list_destinations(COMPANY) == []
    answer = lead.post(NEW, TYPED, follow=True)
    assert answer.redirect_chain == [(LIST, 302)]
    assert "The destination is added. Open it to send a test." in text_of(answer)
    [made] = list_destinations(COMPANY)
    assert (made.values.name, made.values.address, made.values.is_on) == ("Pager", HOOK, True)
    assert made.values.types == (NotificationType.WAITING,)
    assert [each["actor"] for each in entries(store, "destination.changed")] == ["lena.lead"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "Enter a name."),
        ({"title": "x" * 61}, "60"),
        ({"kind": ""}, "Choose a kind."),
        ({"kind": "email", "address": "team@example.com"}, "Choose one of the listed values."),
        ({"kind": "pigeon"}, "Choose one of the listed values."),
        ({"address": ""}, "Enter an address."),
        ({"types": []}, "Choose at least one event."),
        ({"types": ["message.not_placed"]}, "Choose one of the listed values."),
        ({"types": ["console.test"]}, "Choose one of the listed values."),
        ({"address": f"https://{HOSTILE}/"}, "Enter an address such as https://hooks.example.com/console."),
    ],
)
def test_what_cannot_be_added(lead, changes, words):
    answer = lead.post(NEW, TYPED | changes)
    assert words in text_of(answer, 422)
    assert "<script>alert" not in answer.content.decode()
    assert list_destinations(COMPANY) == []


def test_what_is_of_no_company_is_for_those_of_all(store):
    client = signed_in(admin())
    assert "A message could not be placed" in text_of(client.get("/team/notifications/new/"))
    client.post("/team/notifications/new/", TYPED | {"types": ["message.not_placed"]})
    [made] = list_destinations("")
    assert made.values.types == (NotificationType.NOT_PLACED,)
    assert "all companies" in text_of(client.get(url(made, "")))


def test_a_store_that_does_not_answer_keeps_what_was_typed(lead):
    with faults.fail_before("TransactWriteItems", times=faults.ALWAYS):
        answer = lead.post(NEW, TYPED)
    assert "Check the destinations before you send it again." in text_of(answer, 503)
    assert 'value="Pager"' in answer.content.decode()


# --- Changing and deleting --------------------------------------------------------------------------------------------


def test_it_is_changed_as_it_was_seen(store, lead):
    made = add(name="Before")
    page = lead.get(url(made) + "change/").content.decode()
    assert 'value="Before"' in page
    assert 'name="version" value="1"' in page
    answer = lead.post(url(made) + "change/", TYPED | {"version": 1, "is_on": ""}, follow=True)
    assert not answer.redirect_chain[0][0].endswith("/change/")
    assert "Saved." in text_of(answer)
    assert (found(made.id).values.name, found(made.id).values.is_on) == ("Pager", False)
    again = lead.post(url(made) + "change/", TYPED | {"version": 1, "title": "Too late"})
    assert "You changed this destination in another window." in text_of(again, 409)
    assert 'value="Too late"' in again.content.decode()
    assert found(made.id).values.name == "Pager"
    # The form has the version that is there now.
    assert 'name="version" value="2"' in again.content.decode()


@pytest.mark.parametrize("version", ["", "x", "1; drop", "9" * 5000])
def test_a_version_that_is_none(store, lead, version):
    made = add()
    for answer in (
        lead.post(url(made) + "change/", TYPED | {"version": version}),
        lead.post(url(made) + "change/", {"delete": 1, "version": version}),
        lead.post(url(made), {"do": "renew", "version": version}),
    ):
        assert answer.status_code in (404, 409)
    assert found(made.id) == made


@pytest.mark.parametrize(
    "damage", [{}, {"address": "http://10.0.0.1/"}, {"kind": "email"}, {"kind": "x"}, {"types": []}]
)
def test_it_is_deleted_whatever_is_wrong_with_it(store, lead, damage):
    made = add()
    if damage:
        store.update("CONSOLE", {"pk": destinations.partition_of(COMPANY), "sk": made.id}, **damage)
    late = lead.post(url(made) + "change/", {"delete": 1, "version": 7})
    assert "changed this destination in the meantime" in text_of(late, 409)
    assert 'value="Help desk"' in late.content.decode()
    answer = lead.post(url(made) + "change/", {"delete": 1, "version": 1}, follow=True)
    assert "The destination is deleted." in text_of(answer)
    assert list_destinations(COMPANY) == []
    assert lead.get(url(made)).status_code == 404
    assert lead.post(url(made), {"do": "test"}).status_code == 404


# --- The buttons of one -----------------------------------------------------------------------------------------------


def test_a_test_is_sent_and_the_page_says_what_became_of_it(store, lead, receiver):
    made = add_at(receiver)
    [token] = re.findall(r'name="token" value="([^"]+)"', lead.get(url(made)).content.decode())
    for _ in range(2):
        # Sent twice, the form sends one.
        answer = press(lead, made, "test", token=token)
        assert answer.redirect_chain
    other = add(name="Other")
    assert press(lead, other, "test", token=token).status_code == 404
    assert "A test is on its way." in text_of(answer)
    assert "waiting" in text_of(lead.get(url(made)))
    bring()
    assert "delivered" in text_of(lead.get(url(made)))
    assert [each.payload["type"] for each in receiver.received if each.is_genuine] == ["console.test"]


def test_the_secret_is_shown_when_asked_for_and_not_before_or_after(store, lead):
    made = add()
    assert made.secrets[0] not in lead.get(url(made)).content.decode()
    assert entries(store, "destination.secret_shown") == []
    answer = press(lead, made, "show")
    assert made.secrets[0] in answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]
    assert len(entries(store, "destination.secret_shown")) == 1
    assert made.secrets[0] not in lead.get(url(made)).content.decode()
    # Without its entry nobody sees it.
    with faults.fail_before("PutItem", table_key="AUDIT", times=faults.ALWAYS):
        assert made.secrets[0] not in press(lead, made, "show").content.decode()


def test_a_new_secret_is_made_of_what_was_seen(store, lead):
    made = add()
    assert "For 24 hours, notifications are signed with the previous one too." in text_of(press(lead, made, "renew"))
    new, old = found(made.id).secrets
    assert old == made.secrets[0]
    assert "Somebody else changed this destination in the meantime." in text_of(press(lead, made, "renew"), 409)
    assert found(made.id).secrets == (new, old)


def test_a_secret_that_cannot_be_read_any_more(store, lead):
    made = add()
    store.update("CONSOLE", {"pk": destinations.partition_of(COMPANY), "sk": made.id}, secrets=["x"])
    assert "The secret cannot be read any more. Make a new one." in text_of(press(lead, made, "show"))


def test_what_failed_is_sent_again_one_or_all(store, lead):
    made = add()
    announce([happened(name=f"{number}") for number in range(3)])
    for each in due_deliveries(clock.now(), 3):
        give_up(each, "It answered with status 500.", tried=True)
    page = lead.get(url(made)).content.decode()
    keys = re.findall(r'name="delivery" value="([^"]*)"', page)
    assert len(keys) == 3
    assert "It answered with status 500. 1 attempt" in text_of(lead.get(url(made)))
    assert "The notification is on its way again." in text_of(
        press(lead, made, "again", delivery=html.unescape(keys[0]))
    )
    gone = text_of(press(lead, made, "again", delivery=html.unescape(keys[0])))
    assert "This notification is no longer among those that failed." in gone
    assert "2 notifications are on their way again." in text_of(press(lead, made, "all"))
    assert "0 notifications are on their way again." in text_of(press(lead, made, "all"))
    assert {each["state"] for each in rows(store)} == {"waiting"}
    assert len(entries(store, "notification.sent_again")) == 3


@pytest.mark.parametrize("delivery", ["", "-", "x" * 3000, "\x00", HOSTILE])
def test_a_delivery_that_is_none(store, lead, delivery):
    made = add()
    answer = press(lead, made, "again", delivery=delivery)
    assert "This notification is no longer among those that failed." in text_of(answer)


def test_a_button_that_there_is_not(store, lead):
    made = add()
    assert press(lead, made, "explode").status_code == 404
    assert lead.post(url(made)).status_code == 404


def test_without_a_trail_nothing_can_be_changed(store, lead):
    made = add()
    note_absent(table_name("AUDIT"))
    assert "New destination" not in text_of(lead.get(LIST))
    page = lead.get(url(made)).content.decode()
    assert 'name="do"' not in page
    assert "Help desk" in page


# --- Whatever is stored -----------------------------------------------------------------------------------------------

DAMAGE = [
    {"name": HOSTILE, "address": f"https://{HOSTILE}/"},
    {"name": {"a": 1}, "address": "https://[half"},
    {"address": "javascript:alert(1)", "kind": "pigeon"},
    {"types": [HOSTILE], "is_on": "yes", "created_at": HOSTILE, "version": HOSTILE},
    {"secrets": HOSTILE, "both_until": HOSTILE},
]
DAMAGED_ROWS = [
    {"body": HOSTILE, "type": HOSTILE, "state": HOSTILE, "problem": HOSTILE},
    {"body": "[]", "type": None, "state": None, "attempts": "x", "due_at": "x"},
    {"body": '{"data": {"conversation": "\\ud800/../<script>"}}'},
    {"body": None, "problem": 7, "attempts": None, "due_at": HOSTILE},
]


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("damaged_row", DAMAGED_ROWS)
def test_hostile_and_damaged_values_break_no_page(store, lead, damage, damaged_row):
    made = add()
    announce([happened(name="1"), happened(name="2")])
    for each in rows(store):
        damaged = {**each, **damaged_row}
        store.put("CONSOLE", damaged)
        store.put("CONSOLE", damaged | {"pk": f"NOTIFICATIONS_FAILED#{made.id}"})
    store.update("CONSOLE", {"pk": destinations.partition_of(COMPANY), "sk": made.id}, **damage)
    for path in (LIST, url(made), url(made) + "change/"):
        answer = lead.get(path)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.content.decode()
        assert "<script>" not in answer.content.decode().replace("<script src", "")
    assert press(lead, made, "all").status_code == 200
