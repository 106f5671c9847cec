"""The access log opens with the newest looks, of all or of one person, and names whoever revealed far more."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from console import clock
from console.audit.access_log import standing_out as comparing
from console.audit.access_log.standing_out import count_revealed, standing_out
from console.audit.queries import hand_off_entries
from console.audit.review.forms import CONVERSATION, About
from console.refs import seal
from console.trail.models import AuditEntry
from tests.answers import text_of
from tests.items import entry
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages

URL = "/audit/looks/"


def look(minutes: int, action: str, who: str, number: int = 1, company: str = COMPANY, **more) -> dict:
    trail, tie = f"{company}#pi-aaa-001#req{number}#447700900123", f"{minutes:05}{who}{number}"
    return entry(clock.now() - timedelta(minutes=minutes), action, trail, tie=tie, actor=who, company=company, **more)


def reveals(who: str, count: int, minutes: int = 60, **more) -> list[dict]:
    return [look(minutes, "recipient.revealed", who, number, **more) for number in range(count)]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def rows_of(page: str) -> list[str]:
    return [words(row) for row in re.findall(r"<tr><th scope=.row.>.*?</tr>", page, re.DOTALL)]


@pytest.fixture
def seen(store):
    """Amira and Tom looked at ours, and Tom at theirs."""
    member("amira.haddad")
    member("tom.becker")
    store.put_all(
        "AUDIT",
        [
            look(9, "recipient.revealed", "amira.haddad", payload={"fields": ["number"]}),
            look(5, "transcript.opened", "tom.becker", payload={"shown": "raw"}),
            look(3, "transcript.opened", "tom.becker", 2, OTHER_COMPANY, payload={"shown": "raw"}),
            look(2, "hand_off.take", "tom.becker"),
        ],
    )
    return store


@pytest.mark.usefixtures("seen")
def test_it_opens_with_the_newest_looks_of_everybody():
    page = text_of(signed_in(auditor()).get(URL))
    first, second, third = rows_of(page)
    assert "Tom Becker" in first
    assert OTHER_COMPANY in first
    assert ("opened, unmasked" in second, "Amira Haddad" in third) == (True, True)
    assert "revealed: number" in third
    assert "7700900123" not in page
    assert "3 looks" in page
    # The time zone stands with each time.
    assert all(re.search(r"\d\d:\d\d:\d\d UTC", row) for row in rows_of(page))


@pytest.mark.usefixtures("seen")
def test_what_is_out_of_scope_is_not_among_them():
    page = text_of(signed_in(auditor(scope=[COMPANY])).get(URL))
    assert len(rows_of(page)) == 2
    assert OTHER_COMPANY not in page


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("typed", ["tom.becker", "Tom.Becker", "Tom Becker", "tom b"])
def test_one_persons_looks_are_shown_alone(typed):
    page = text_of(signed_in(auditor()).get(URL, {"person": typed}))
    assert len(rows_of(page)) == 2
    assert all("Tom Becker" in row for row in rows_of(page))
    assert "/audit/looks/people/tom.becker/" in page
    assert "<caption>2 looks of" in page


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("typed", ["+447700900123", "amira@example.com", "447700900123"])
def test_a_customers_number_is_no_person(typed):
    page = text_of(signed_in(auditor()).get(URL, {"person": typed}))
    assert "not a number or an address. This filter was ignored." in page
    assert len(rows_of(page)) == 3
    assert typed not in re.sub(r'value="[^"]*"', "", page)


def test_looks_stand_in_the_order_of_the_times_shown(store):
    hour = clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    hourly = {"tie": "hourly", "actor": "amira.haddad", "payload": {"at": clock.to_iso(hour + timedelta(minutes=50))}}
    trail = f"{COMPANY}#pi-aaa-001#req1#447700900123"
    later = {"tie": "later", "actor": "tom.becker", "payload": {}}
    store.put("AUDIT", entry(hour, "transcript.opened", trail, company=COMPANY, **hourly))
    store.put("AUDIT", entry(hour + timedelta(minutes=20), "recipient.revealed", trail, company=COMPANY, **later))
    assert [row.split()[0] for row in rows_of(text_of(signed_in(auditor()).get(URL)))] == ["amira.haddad", "tom.becker"]


def test_a_search_without_a_reason_reads_to_its_end(store):
    payload = {"hits": 1, "looked_for": "a phone number"}
    store.put("AUDIT", look(5, "person.searched", "tom.becker", payload=payload))
    [row] = rows_of(text_of(signed_in(auditor()).get(URL)))
    assert "searched for, 1 found " in f"{row} "


def test_without_looks_it_says_so(store):
    assert "Nobody has looked yet" in text_of(signed_in(auditor()).get(URL))


def test_whoever_revealed_far_more_than_others_is_named_with_the_figures(store):
    member("tom.becker")
    others = [row for number in range(5) for row in reveals(f"other.{number}", 4 + number)]
    store.put_all("AUDIT", [*reveals("tom.becker", 40), *others])
    page = words(text_of(signed_in(auditor()).get(URL)))
    found = re.search(
        r"Tom Becker revealed 40 conversations since [^;]*; the others' median is 6[.]", page.replace("&#x27;", "'")
    )
    assert found
    assert "Nobody revealed far more" not in page


def test_where_nobody_stands_out_it_says_so_and_states_the_rule(store):
    store.put_all("AUDIT", [*reveals("tom.becker", 19), *reveals("amira.haddad", 1)])
    page = words(text_of(signed_in(auditor()).get(URL)))
    assert "Nobody revealed far more conversations than others" in page
    assert "at least 20 conversations in 7 days, and more than 5 times the others" in page


@pytest.mark.parametrize(
    ("revealed", "named"),
    [
        ({"a": 84, "b": 6, "c": 6}, [("a", 6)]),
        ({"a": 30, "b": 6}, []),
        ({"a": 31, "b": 6}, [("a", 6)]),
        ({"a": 19}, []),
        ({"a": 20}, [("a", 0)]),
        # One more who reveals a lot does not hide the first.
        ({"a": 84, "b": 90, "c": 6, "d": 5, "e": 7}, [("b", 6.5), ("a", 6.5)]),
        ({f"p{number}": 60 for number in range(40)}, []),
        ({}, []),
    ],
)
def test_standing_out_means_twenty_and_five_times_the_others_median(revealed, named):
    assert [(each.who, each.usual) for each in standing_out(revealed)] == named


def test_refused_repeated_and_old_reveals_do_not_count(store):
    store.put_all(
        "AUDIT",
        [
            *reveals("refused.person", 30, result="failed: limit"),
            *(look(minutes, "recipient.revealed", "same.conversation") for minutes in range(30)),
            *reveals("long.ago", 30, minutes=8 * 24 * 60),
        ],
    )
    page = words(text_of(signed_in(auditor()).get(URL)))
    assert "Nobody revealed far more conversations than others" in page


HOSTILE = [
    {"actor": None, "gsi_actor": None},
    {"actor": {"a": 1}},
    {"actor": "=1+1", "actor_role": ["x"]},
    {"action_payload_redacted": "{"},
    {"action_payload_redacted": '{"fields": {"a": [1]}, "at": "never"}'},
    {"result": ["failed"]},
    {"ts_action_id": "never#1"},
    {"ts_action_id": "1772409600#2"},
    {"ts_action_id": " "},
    {"times": "many"},
    {"expires_at": "soon"},
    {"conversation_id": "#"},
    {"conversation_id": "TENANT#"},
    {"company_id": 7},
]


@pytest.mark.parametrize("drift", HOSTILE, ids=str)
def test_a_drifted_entry_breaks_nothing(store, drift):
    good = look(5, "transcript.opened", "tom.becker", payload={"shown": "raw"})
    bad = {name: value for name, value in (reveals("odd.one", 1)[0] | drift).items() if value is not None}
    store.put_all("AUDIT", [good, bad])
    for reader in (auditor(), auditor("lea.limited", [COMPANY])):
        answer = signed_in(reader).get(URL)
        assert answer.status_code == 200
        assert "opened, unmasked" in text_of(answer)


def calls_with(store, count: int) -> int:
    store.put_all("AUDIT", [each for who in range(10) for each in reveals(f"person.{who}", count // 10)])
    client = signed_in(admin())
    client.get(URL)
    with store.calls() as seen:
        client.get(URL)
    return len(seen)


def test_its_calls_do_not_grow_with_the_trail(store, monkeypatch):
    monkeypatch.setattr(comparing, "REVEALS_READ", 200)
    monkeypatch.setattr(comparing, "REVEAL_PIECES", 2)
    few, many = calls_with(store, 400), calls_with(store, 1600)
    assert many <= few <= 14


def test_only_the_newest_reveals_are_counted_and_it_says_since_when(store, monkeypatch):
    monkeypatch.setattr(comparing, "REVEALS_READ", 50)
    store.put_all("AUDIT", [*reveals("tom.becker", 45, minutes=30), *reveals("amira.haddad", 100, minutes=3000)])
    page = words(text_of(signed_in(auditor()).get(URL)))
    assert re.search("tom.becker revealed 45 conversations since", page)
    assert "median is 5." in page


def test_conversations_are_counted_once(store):
    stored = [*reveals("tom.becker", 3), look(1, "recipient.revealed", "tom.becker", 1)]
    store.put_all("AUDIT", stored)
    entries = [AuditEntry.get(each["conversation_id"], each["ts_action_id"]) for each in stored]
    assert count_revealed(entries) == {"tom.becker": 3}


@pytest.mark.parametrize(
    "drift", [{"actor_role": ["x"]}, {"action_type": ["hand_off.take"]}, {"actor": {"a": "b"}}], ids=str
)
def test_a_list_where_a_text_belongs_breaks_no_page_of_its_trail(store, drift):
    trail = f"{COMPANY}#pi-aaa-001#req1#447700900123"
    store.put("AUDIT", look(5, "hand_off.take", "tom.becker") | drift)
    client, about = signed_in(auditor()), About(CONVERSATION, trail).sealed
    for url in (
        reverse("audit", query={"about": about}),
        reverse("audit-chart", query={"about": about}),
        reverse("trail", args=[seal("trail", trail)]),
        reverse("access-log-conversation", args=[seal("trail", trail)]),
    ):
        assert client.get(url).status_code == 200, url
    hand_offs, _ = hand_off_entries(trail)
    assert [each.is_staff for each in hand_offs] in ([], [False], [True])
