"""The summary of a week: its numbers beside those of the week before, on a page and told once to who asked for it."""

import html
import json
import re
from datetime import date, timedelta

import pytest

from console import caching
from console.errors import ConsoleError
from conversations.companies import Company
from conversations.insight import budgets
from conversations.insight.summary import IsoWeek, read_summary
from conversations.notifications.amazon import compose
from conversations.notifications.deliveries import due_deliveries
from conversations.notifications.notification import NotificationType
from tests import faults
from tests.people import OTHER_COMPANY, admin, auditor, member, signed_in
from tests.support.conversations.handoff.kit import COMPANY
from tests.support.conversations.insight.costs import MODEL, PRICES, at, count, look, spend
from tests.support.conversations.notifications import add, rows

T = NotificationType
CUCUMBER = Company(COMPANY, "Cucumber Recruitment")
WEEK = IsoWeek(2026, 47)
MONDAY, EARLIER = date(2026, 11, 16), date(2026, 11, 10)

ANSWERED = {
    "customer": 2,
    "ai": 2,
    "last": "ai",
    "model": MODEL,
    "tokens": {"prompt": 2_000_000, "completion": 500_000},
}
ASKED = {
    "customer": 3,
    "ai": 1,
    "human": 1,
    "last": "human",
    "asked": 1,
    "reason": "complaint",
    "waits": [60],
    "answers": [240],
    "missed": 1,
    "model": "nobody-knows-it",
    "tokens": {"prompt": 1_000},
}
FAILED = {"customer": 1, "failed": "failed_unknown", "why": "timeout", "hour": 3, "processor": "1.0.0"}


@pytest.fixture(autouse=True)
def _on_monday_morning(store, settings, monkeypatch):
    settings.INSIGHT_PRICES = PRICES
    settings.CONSOLE_URL = "https://console.example.com"
    at(monkeypatch, 2026, 11, 13, 12)
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": CUCUMBER.name})


def two_weeks() -> None:
    """A week with three conversations, and one with one before."""
    count(MONDAY, ANSWERED, ASKED)
    count(MONDAY + timedelta(days=6), FAILED)
    count(EARLIER, ANSWERED)


def told(store) -> list[dict]:
    return [json.loads(each["body"]) for each in rows(store) if each["type"] == T.WEEKLY_SUMMARY]


def page_of(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    words = re.sub(r"<[^>]+>", " ", answer.content.decode().partition("<main")[2])
    return " ".join(html.unescape(words).split())


# --- What it says -----------------------------------------------------------------------------------------------------

SENTENCES = (
    "3 conversations began (the week before: 1).",
    "Of the 3 conversations in which the customer wrote, the AI resolved 33% (the week before: 100%) and people 33%; "
    "0% went unanswered.",
    "A person was needed in 33% of the conversations in which the customer wrote (the week before: 0%).",
    "1 answer was overdue (the week before: 0).",
    "1 conversation failed (the week before: 0). Most common cause: failed_unknown (1).",
    "A person was asked for in 1 conversation (the week before: 0). Most common reason: complaint (1).",
    "AI tokens cost $2.50 (the week before: $2.50).",
    "By the end of 22 November, 50% of the budget for November 2026 was spent: $5.00 of $10.00, $5.00 was left.",
    "1,000 tokens have no known price and are not in this cost.",
)


def test_it_says_what_happened_and_how_that_was_the_week_before(store, monkeypatch):
    two_weeks()
    # Later in the month, more is spent: other pages show that.
    spend(date(2026, 11, 24), 1)
    at(monkeypatch, 2026, 11, 25, 12)
    store.put("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY, "amount": "10", "version": 1})
    found = read_summary(CUCUMBER, WEEK)
    said = list(found.sentences)
    assert re.fullmatch(
        r"Half of the customers who asked for a person had an answer within (\d min.*), and 9 of 10 within \1.",
        said.pop(3),
    )
    assert tuple(said) == SENTENCES
    data = found.data
    assert (data["week"], data["first_day"], data["last_day"]) == ("2026-W47", "2026-11-16", "2026-11-22")
    assert data["numbers"]["conversations"] == {"value": 3, "before": 1}
    assert data["numbers"]["ai_percent"] == {"value": 33.3, "before": 100.0}
    assert data["numbers"]["cost_usd"] == {"value": 2.5, "before": 2.5}
    assert data["numbers"]["answers_overdue"] == {"value": 1, "before": 0}
    assert data["failures"] == [{"name": "failed_unknown", "value": 1, "before": 0}]
    assert data["hand_off_reasons"] == [{"name": "complaint", "value": 1, "before": 0}]
    assert data["budget"] == {"month": "2026-11", "budget_usd": 10.0, "spent_usd": 5.0, "tokens_without_price": 1000}
    assert json.loads(json.dumps(data)) == data


def test_the_named_reason_agrees_with_the_table_and_the_table_adds_up(store):
    def asked(reason: str, times: int) -> list[dict]:
        return [{**ASKED, "reason": reason}] * times

    many = [("a_b", 3), ("c_d", 2), ("e_f", 2), ("g_h", 2), ("i_j", 1)]
    count(MONDAY, *asked("other", 4), *(each for reason, times in many for each in asked(reason, times)))
    found = read_summary(CUCUMBER, WEEK)
    [section] = [each for each in found.sections if each.slug == "hand-offs"]
    assert section.rows == (
        ("other", 4, 0),
        ("a b", 3, 0),
        ("c d", 2, 0),
        ("e f", 2, 0),
        ("g h", 2, 0),
        ("others", 1, 0),
    )
    assert any(each.endswith("Most common named reason: a b (3).") for each in found.sentences)
    assert found.data["hand_off_reasons"][1] == {"name": "a_b", "value": 3, "before": 0}


def test_an_eighth_is_rounded_up(store):
    count(MONDAY, *[ANSWERED] * 7, ASKED)
    assert any("people 13%" in each for each in read_summary(CUCUMBER, WEEK).sentences)


def test_of_a_week_that_is_not_over_the_budget_is_as_of_now(store, monkeypatch):
    two_weeks()
    store.put("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY, "amount": "10", "version": 1})
    at(monkeypatch, 2026, 11, 22, 12)
    said = read_summary(CUCUMBER, WEEK).sentences
    assert "50% of the budget for November 2026 is spent: $5.00 of $10.00, $5.00 is left." in said


def test_the_share_of_the_ai_is_of_the_conversations_in_which_the_customer_wrote(store):
    count(MONDAY, ANSWERED, {}, {})
    said = read_summary(CUCUMBER, WEEK).sentences
    assert said[0].startswith("3 conversations began")
    assert said[1].startswith("Of the 1 conversation in which the customer wrote, the AI resolved 100%")


def test_a_number_of_a_summary_is_that_of_the_report(store, monkeypatch):
    two_weeks()
    at(monkeypatch, 2026, 11, 25, 12)
    client = signed_in(admin())
    summary = client.get(f"/insight/summary/{COMPANY}/?week=2026-W47").content.decode()
    addresses = [html.unescape(each) for each in re.findall(r'href="(/insight/[a-z-]+/\?company=[^"]+)"', summary)]
    assert {each.split("/")[2] for each in addresses} == {"overview", "waits", "failures", "hand-offs", "cost"}
    cost = page_of(client, next(each for each in addresses if "/cost/" in each))
    assert "16 Nov 2026 to 22 Nov 2026" in cost
    assert "Cost $2.50 before: $2.50" in cost


def test_of_many_causes_the_five_most_frequent_are_listed(store):
    causes = [{**FAILED, "failed": f"failed_{number}"} for number in range(7) for _ in range(number + 1)]
    count(MONDAY, *causes)
    [failures] = [each for each in read_summary(CUCUMBER, WEEK).sections if each.slug == "failures"]
    assert failures.listed == tuple((f"failed_{number}", number + 1, 0) for number in range(6, 1, -1))


@pytest.mark.parametrize(
    ("week", "month", "spent"),
    [
        # Most of its days are of November: what was spent until the 30th.
        (IsoWeek.of(date(2026, 11, 28)), "2026-11", 3.0),
        # Most are of December: what was spent until the 6th, nothing of November.
        (IsoWeek.of(date(2026, 12, 1)), "2026-12", 4.0),
        # The last of the year, which ends in the next.
        (IsoWeek(2026, 53), "2026-12", 12.0),
    ],
)
def test_the_budget_is_that_of_the_month_that_the_week_is_of(store, week, month, spent):
    store.put("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY, "amount": "10", "version": 1})
    for day, dollars in ((date(2026, 11, 29), 1), (date(2026, 11, 25), 2), (date(2026, 12, 6), 4)):
        spend(day, dollars)
    spend(date(2026, 12, 31), 8)
    spend(date(2027, 1, 1), 16)
    found = read_summary(CUCUMBER, week).data["budget"]
    assert (found["month"], found["spent_usd"]) == (month, spent)


# --- The page ---------------------------------------------------------------------------------------------------------


def test_without_a_week_it_is_the_last_whole_one(store, monkeypatch):
    two_weeks()
    at(monkeypatch, 2026, 11, 29, 23, 59)
    client = signed_in(admin())
    page = page_of(client, f"/insight/summary/{COMPANY}/")
    assert "Cucumber Recruitment · week 47, 16 to 22 November 2026 (UTC)" in page
    assert "3 conversations began (the week before: 1)." in page
    raw = client.get(f"/insight/summary/{COMPANY}/").content.decode()
    assert f'href="/insight/summary/{COMPANY}/?week=2026-W46"' in raw
    assert f'href="/insight/summary/{COMPANY}/?week=2026-W48"' in raw
    now = client.get(f"/insight/summary/{COMPANY}/?week=2026-W48").content.decode()
    assert "not over yet" in now
    assert "Week after" not in now


@pytest.mark.parametrize("week", ["2026-W49", "2099-W01", "2025-W53", "junk", "2026-W47 "])
def test_there_is_no_such_week(store, monkeypatch, week):
    at(monkeypatch, 2026, 11, 25, 12)
    assert signed_in(admin()).get(f"/insight/summary/{COMPANY}/", {"week": week}).status_code == 404


def test_the_summary_of_another_company_is_not_there(store):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": OTHER_COMPANY, "name": "Theirs Ltd"})
    client = signed_in(auditor(scope=[f"company:{OTHER_COMPANY}"]))
    assert client.get(f"/insight/summary/{OTHER_COMPANY}/").status_code == 200
    there, nowhere = (client.get(f"/insight/summary/{each}/") for each in (COMPANY, "ci-zzz-999"))
    assert there.status_code == nowhere.status_code == 404
    agent = signed_in(member("amira", "agent", [f"company:{OTHER_COMPANY}"]))
    assert agent.get(f"/insight/summary/{OTHER_COMPANY}/").status_code == 403


def test_the_overview_of_a_company_leads_to_it(store):
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": OTHER_COMPANY, "name": "Theirs Ltd"})
    client = signed_in(admin())
    address = f'href="/insight/summary/{COMPANY}/"'
    assert address in client.get(f"/insight/?company={COMPANY}").content.decode()
    assert "insight/summary" not in client.get("/insight/").content.decode()
    assert "insight/summary" not in client.get(f"/insight/waits/?company={COMPANY}").content.decode()


def test_a_week_in_which_nothing_happened(store):
    page = page_of(signed_in(admin()), f"/insight/summary/{COMPANY}/")
    assert "No conversations began this week (the week before: 0)." in page


# --- Telling it -------------------------------------------------------------------------------------------------------


def test_it_is_told_on_monday_morning_to_who_asked_for_it(store, monkeypatch):
    two_weeks()
    at(monkeypatch, 2026, 11, 17, 12)
    add(name="Desk", types=(T.WAITING,))
    wants = add(types=(T.WEEKLY_SUMMARY,))
    add("", types=(T.WEEKLY_SUMMARY,))
    at(monkeypatch, 2026, 11, 23, 5, 59)
    look()
    # Until now it is the turn of the week before, which ended before these were added.
    assert told(store) == []
    at(monkeypatch, 2026, 11, 23, 6)
    for _ in range(3):
        look()
    first, second = told(store)
    assert first == second
    assert (first["type"], first["timestamp"]) == ("summary.weekly", "2026-11-23T06:00:00.000Z")
    assert first["data"]["url"] == f"https://console.example.com/insight/summary/{COMPANY}/?week=2026-W47"
    assert first["data"]["numbers"] == read_summary(CUCUMBER, WEEK).data["numbers"]
    assert wants.id in {each["destination_id"] for each in rows(store)}


def test_a_worker_that_runs_late_in_the_week_tells_it_but_none_of_before_a_destination(store, monkeypatch):
    two_weeks()
    add(types=(T.WEEKLY_SUMMARY,))
    at(monkeypatch, 2026, 11, 28, 20)
    add(name="Later", types=(T.WEEKLY_SUMMARY,))
    look()
    assert len(told(store)) == 1
    # Of a week in which nothing happened, before which something did, there is something to tell; then no more.
    at(monkeypatch, 2026, 11, 30, 7)
    look()
    at(monkeypatch, 2026, 12, 7, 7)
    look()
    assert [each["data"]["week"] for each in told(store)] == ["2026-W47", "2026-W48", "2026-W48"]


def test_an_email_reads_as_the_page_does(store, monkeypatch):
    two_weeks()
    add(types=(T.WEEKLY_SUMMARY,))
    at(monkeypatch, 2026, 11, 23, 6)
    look()
    [delivery] = due_deliveries(at(monkeypatch, 2026, 11, 23, 7), 9)
    subject, text = compose([delivery])
    assert subject == "Weekly summary"
    lines = text.splitlines()
    assert lines[:4] == [
        "This is the summary of last week.",
        "Cucumber Recruitment · 2026-11-23 06:00 UTC",
        "Week 47: 16 to 22 November 2026 (UTC).",
        SENTENCES[0],
    ]
    assert lines[-1] == f"https://console.example.com/insight/summary/{COMPANY}/?week=2026-W47"


CANARIES = ("Canaria Birdwhistle", "canary@example.com", "+447700900999", "lena.canary")


def test_nobody_is_named(store, monkeypatch):
    spoiled = {"agents": {CANARIES[3]: [1, 1, 0]}, "name": CANARIES[0], "text": CANARIES[1]}
    count(MONDAY, {**ANSWERED, **spoiled}, {**ASKED, **spoiled}, {**FAILED, **spoiled})
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": f"Mail\r\n{CANARIES[1]} or {CANARIES[2]}"})
    caching.invalidate_all()
    add(types=(T.WEEKLY_SUMMARY, T.BUDGET_REACHED))
    store.put("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY, "amount": "1", "version": 1})
    at(monkeypatch, 2026, 11, 23, 6)
    look()
    assert {each["type"] for each in rows(store)} == {T.WEEKLY_SUMMARY, T.BUDGET_REACHED}
    for each in rows(store):
        assert not [canary for canary in CANARIES if canary in each["body"]]
        assert "\\r" not in each["body"]
    names = json.dumps(read_summary(CUCUMBER, WEEK).data)
    assert not [canary for canary in CANARIES if canary in names]


def test_two_workers_tell_it_once(store, monkeypatch):
    two_weeks()
    add(types=(T.WEEKLY_SUMMARY,))
    at(monkeypatch, 2026, 11, 23, 6)
    with faults.before("TransactWriteItems", look, table_key="CONSOLE") as fault:
        look()
    assert fault.struck
    assert len(told(store)) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_whoever_dies_is_made_good_by_the_next_look(store, monkeypatch, when):
    fault = {"before": faults.fail_before, "after": faults.fail_after}[when]
    two_weeks()
    add(types=(T.WEEKLY_SUMMARY,))
    at(monkeypatch, 2026, 11, 23, 6)
    with fault("TransactWriteItems", table_key="CONSOLE"), pytest.raises(ConsoleError):
        look()
    look()
    assert len(told(store)) == 1
