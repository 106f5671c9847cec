"""Budgets: set by one person at a time and on record; what is spent of them is told once, and shown while it is so."""

import json
from datetime import date, timedelta
from decimal import Decimal

import pytest

from console import caching
from console.audit.review.entry import changes_of
from console.errors import Conflict, ConsoleError, NotFound
from console.permissions import Role, Scope
from conversations.insight import budgets
from conversations.notifications.notification import NotificationType
from conversations.work.parts import insight_worker
from tests import faults
from tests.people import COMPANY as OUR_COMPANY
from tests.people import OTHER_COMPANY, admin, auditor, member, signed_in
from tests.support.conversations.handoff.kit import ADMIN, COMPANY, staff
from tests.support.conversations.insight.costs import MODEL, PRICES, at, look, spend
from tests.support.conversations.notifications import LEAD, add, entries, rows

T = NotificationType
DAY = date(2026, 11, 20)


@pytest.fixture(autouse=True)
def _in_november(store, settings, monkeypatch):
    settings.INSIGHT_PRICES = PRICES
    at(monkeypatch, 2026, 11, 20, 12)
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber Recruitment"})


def set_budget(amount: str | None, version: int | None = None) -> None:
    seen = budgets.load(COMPANY, LEAD).version if version is None else version
    budgets.save(COMPANY, None if amount is None else Decimal(amount), seen, LEAD)


def told(store) -> list[tuple[int, float]]:
    found = [json.loads(each["body"])["data"] for each in rows(store) if each["type"] == T.BUDGET_REACHED]
    return sorted((each["share_percent"], each["budget_usd"]) for each in found)


def shown(who=LEAD) -> list[str]:
    caching.invalidate_all()
    return [each.used for each in budgets.reached_budgets({COMPANY: "Cucumber"}, who)]


# --- Setting it -------------------------------------------------------------------------------------------------------


def test_who_comes_second_changes_nothing_and_is_told(store):
    set_budget("100", version=0)
    set_budget("200", version=1)
    with pytest.raises(Conflict, match="Somebody else"):
        set_budget("300", version=1)
    with pytest.raises(Conflict):
        set_budget("300", version=0)
    assert budgets.load(COMPANY, LEAD).amount == 200
    found = [json.loads(each["action_payload_redacted"]) for each in entries(store, "budget.changed")]
    changes = sorted((len(each["from"]), changes_of(each)) for each in found)
    # The second changed what the first had set.
    assert [(each.before, each.after) for _, [each] in changes] == [(None, "100.00"), ("100.00", "200.00")]
    assert {each["company"] for each in found} == {"Cucumber Recruitment"}
    assert {each["actor"] for each in entries(store, "budget.changed")} == {"lena"}


def test_saving_the_same_amount_again_is_no_change(store):
    set_budget(None)
    assert not entries(store, "budget.changed")
    set_budget("100")
    set_budget("100.0")
    assert len(entries(store, "budget.changed")) == 1
    with pytest.raises(Conflict):
        set_budget("100", version=0)
    set_budget(None)
    ended = [json.loads(each["action_payload_redacted"]) for each in entries(store, "budget.changed")]
    assert sorted((each["from"].get("dollars a month", ""), each["to"]) for each in ended)[-1] == ("100.00", {})


def test_a_check_is_in_nobodys_way(store):
    set_budget("100")
    version = budgets.load(COMPANY, LEAD).version
    spend(DAY, 85)
    look()
    set_budget("101", version)
    assert budgets.load(COMPANY, LEAD).spent == 85


def test_another_companys_lead_finds_nothing(store):
    other = staff("olga", Role.ADMIN, Scope.of([f"company:{OTHER_COMPANY}"]))
    set_budget("100")
    with pytest.raises(NotFound):
        budgets.load(COMPANY, other)
    with pytest.raises(NotFound):
        budgets.save(COMPANY, Decimal(1), 1, other)


@pytest.mark.parametrize("stored", [{"amount": "x"}, {"amount": 5}, {"amount": "NaN"}, {"amount": "-1"}, {}])
def test_what_is_no_amount_is_no_budget(store, stored):
    store.put("CONSOLE", {"pk": budgets.PARTITION, "sk": COMPANY, "month": "2026-11", "spent": "9", **stored})
    spend(DAY, 1)
    assert budgets.load(COMPANY, LEAD).amount is None
    assert (look(), shown(), budgets.month_costs({COMPANY: "Cucumber"}, DAY)) == (0, [], [])


# --- What is reached --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_share_is_told_once_and_shown_for_as_long_as_it_is_reached(store, monkeypatch):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    for dollars, expected, percent in (
        (79.99, [], []),
        (80, [(80, 100.0)], ["80%"]),
        (99.99, [(80, 100.0)], ["99%"]),
        (100, [(80, 100.0), (100, 100.0)], ["100%"]),
        (150, [(80, 100.0), (100, 100.0)], ["150%"]),
    ):
        spend(DAY, dollars)
        for _ in range(3):
            look()
        assert (told(store), shown()) == (expected, percent)


def test_two_shares_that_are_reached_at_once_are_told_as_the_higher_one(store):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 120)
    look()
    assert (look(), told(store)) == (0, [(100, 100.0)])


def test_a_budget_that_is_raised_is_in_order_at_once_and_tells_no_share_twice(store, monkeypatch):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 85)
    look()
    assert shown() == ["85%"]
    set_budget("200")
    assert shown() == []
    spend(DAY, 170)
    # By now nobody knows any more what was delivered.
    at(monkeypatch, 2026, 11, 29, 12)
    for each in store.all("CONSOLE"):
        if each["pk"].startswith("NOTIFIED#"):
            store.delete("CONSOLE", pk=each["pk"], sk=each["sk"])
    assert (look(), shown(), told(store)) == (0, ["85%"], [(80, 100.0)])
    spend(DAY, 200)
    look()
    assert told(store) == [(80, 100.0), (100, 200.0)]
    set_budget(None)
    assert (look(), shown()) == (0, [])


def test_with_the_month_it_ends_and_the_next_one_begins_anew(store, monkeypatch):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 90)
    look()
    at(monkeypatch, 2026, 11, 30, 23, 59)
    assert shown() == ["90%"]
    at(monkeypatch, 2026, 12, 1)
    # Before and after the first look: what was spent is of November.
    assert shown() == []
    assert (look(), shown()) == (0, [])
    spend(date(2026, 12, 1), 80)
    assert (look(), shown()) == (1, ["80%"])
    assert told(store) == [(80, 100.0), (80, 100.0)]


def test_tokens_without_a_price_are_said_and_not_counted_as_nothing(store):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 81)
    spend(DAY - timedelta(days=1), 40, model="nobody-knows-it")
    look()
    [row] = rows(store)
    data = json.loads(row["body"])["data"]
    assert (data["spent_usd"], data["tokens_without_price"]) == (81.0, 40_000_000)
    assert "40,000,000 tokens have no known price and are not in this cost." in data["text"].splitlines()
    [cost] = budgets.month_costs({COMPANY: "Cucumber"}, DAY)
    assert (cost.spent, cost.left, cost.unpriced) == (81, 19, 40_000_000)


def test_what_is_told_names_nobody(store, settings):
    settings.CONSOLE_URL = "https://console.example.com/"
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 80)
    look()
    [row] = rows(store)
    assert json.loads(row["body"]) == {
        "type": "budget.reached",
        "timestamp": "2026-11-20T12:00:00.000Z",
        "data": {
            "company_id": COMPANY,
            "company_name": "Cucumber Recruitment",
            "month": "2026-11",
            "share_percent": 80,
            "budget_usd": 100.0,
            "spent_usd": 80.0,
            "tokens_without_price": 0,
            "text": "80% of the budget for November 2026 is spent: $80.00 of $100.00, $20.00 is left.",
            "url": f"https://console.example.com/insight/cost/?company={COMPANY}&period=month",
        },
    }


# --- Two workers, and such as die -------------------------------------------------------------------------------------


def test_two_workers_tell_it_once(store):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 80)
    caching.invalidate_all()
    with faults.before("TransactWriteItems", look, table_key="CONSOLE"):
        look()
    assert told(store) == [(80, 100.0)]


def test_a_budget_that_is_raised_at_this_moment_is_not_reached(store):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 80)
    with faults.before("TransactWriteItems", lambda: set_budget("1000"), table_key="CONSOLE"):
        assert look() == 0
    assert (look(), told(store), shown()) == (0, [], [])
    assert budgets.reached_in(DAY) == []


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_whoever_dies_at_any_write_is_made_good_by_the_next_look(store, when):
    fault = {"before": faults.fail_before, "after": faults.fail_after}[when]
    for nth in range(1, 20):
        store.empty()
        store.put("CONSOLE", {"pk": "COMPANIES", "sk": COMPANY, "name": "Cucumber Recruitment"})
        caching.invalidate_all()
        add(types=(T.BUDGET_REACHED,))
        set_budget("100")
        spend(DAY, 80)
        with fault(table_key="CONSOLE", nth=nth) as struck:
            try:
                look()
            except ConsoleError:
                assert struck.struck
        look()
        assert (told(store), shown()) == ([(80, 100.0)], ["80%"]), nth
        if not struck.struck:
            break
    assert not struck.struck
    assert nth > 4


def test_the_worker_that_sums_up_tells_it(store):
    add(types=(T.BUDGET_REACHED,))
    set_budget("100")
    spend(DAY, 80)
    caching.invalidate_all()
    insight_worker(wait=lambda _: False).run(once=True)
    assert told(store) == [(80, 100.0)]


# --- Pages ------------------------------------------------------------------------------------------------------------


def budget_of(company_id: str, amount: str = "100", spent: str = "85.5", **more) -> dict:
    month = {"month": "2026-11", "spent": spent, "unpriced": 0, "version": 1}
    return {"pk": budgets.PARTITION, "sk": company_id, "amount": amount, **month, **more}


@pytest.mark.parametrize("address", ["/queue/?tab=attention", "/team/"])
def test_leads_see_the_budgets_of_their_own_companies(store, address):
    for company_id, name in ((OUR_COMPANY, "Ours Ltd"), (OTHER_COMPANY, "Theirs Ltd")):
        store.put("CONSOLE", {"pk": "COMPANIES", "sk": company_id, "name": name})
        store.put("CONSOLE", budget_of(company_id))
    lead = signed_in(member("lena", "admin", [f"company:{OUR_COMPANY}"]))
    page = lead.get(address).content.decode()
    assert "has spent 85% of its budget for November: $85.50 of $100.00." in page
    assert "Theirs Ltd" not in page
    if "queue" in address:
        agent = signed_in(member("amira", "agent", [f"company:{OUR_COMPANY}"]))
        assert "of its budget" not in agent.get(address).content.decode()
        assert "of its budget" not in lead.get("/queue/").content.decode()


def test_a_poll_of_the_queue_reads_no_budget(store):
    store.put("CONSOLE", budget_of(COMPANY))
    client = signed_in(admin())
    for headers, expected in (({}, 1), ({"X-Poll": "1"}, 0), ({"HX-Request": "true"}, 0)):
        caching.invalidate_all()
        with store.calls() as seen:
            assert client.get("/queue/?tab=attention", headers=headers).status_code == 200
        read = [each for each in seen if budgets.PARTITION in json.dumps(each.request)]
        assert len(read) == expected, headers


def test_budgets_that_cannot_be_read_cost_the_notice_not_the_page(store):
    store.put("CONSOLE", budget_of(COMPANY))
    client = signed_in(admin())
    caching.invalidate_all()
    with faults.fail_before(
        "Query", where=lambda request: budgets.PARTITION in json.dumps(request), times=faults.ALWAYS
    ) as fault:
        page = client.get("/queue/?tab=attention")
    assert fault.struck
    assert page.status_code == 200
    assert b"of its budget" not in page.content


def test_the_cost_report_says_what_is_left(store):
    set_budget("100")
    spend(DAY, 62.5)
    page = signed_in(admin()).get(f"/insight/cost/?company={COMPANY}&period=7").content.decode()
    for words in (
        "November against the budget",
        "$62.50",
        "$100.00",
        "Left in the budget",
        "$37.50",
        "62% of the budget",
    ):
        assert words in page
    assert f"/team/budgets/{COMPANY}/" in page
    spend(DAY, 120)
    page = signed_in(admin("second")).get(f"/insight/cost/?company={COMPANY}").content.decode()
    assert "Over the budget" in page
    assert "$20.00" in page
    assert (
        f"/team/budgets/{COMPANY}/"
        not in signed_in(auditor()).get(f"/insight/cost/?company={COMPANY}").content.decode()
    )


def test_the_cost_report_of_all_companies_lists_those_with_a_budget(store):
    for company_id, name in ((COMPANY, "Cucumber"), (OTHER_COMPANY, "Theirs Ltd"), ("ci-ccc-003", "No Budget Ltd")):
        store.put("CONSOLE", {"pk": "COMPANIES", "sk": company_id, "name": name})
        spend(DAY, 30, company_id=company_id)
    set_budget("100")
    store.put("CONSOLE", budget_of(OTHER_COMPANY, "20", spent="0"))
    caching.invalidate_all()
    page = signed_in(admin()).get("/insight/cost/").content.decode()
    table = page[page.index("This month’s budgets") : page.index("Companies without a budget")]
    assert "$10.00 over" in table
    assert "$70.00" in table
    assert "No Budget" not in table


@pytest.mark.parametrize(
    ("amount", "problem"),
    [
        ("0", "Enter at least 0.01"),
        ("-5", "Enter at least 0.01"),
        ("x", "Enter an amount such as 1,250.00."),
        ("1,50", "Enter an amount such as 1,250.00."),
        ("1.250,00", "Enter an amount such as 1,250.00."),
        ("1e3", "Enter an amount such as 1,250.00."),
        ("NaN", "Enter an amount such as 1,250.00."),
        (".", "number"),
        ("1.234", "Use at most 2 decimals."),
        ("9" * 12, "Enter 999,999,999 or less."),
    ],
)
def test_what_is_no_amount_is_said_at_the_field(store, amount, problem):
    client = signed_in(admin())
    answer = client.post(f"/team/budgets/{COMPANY}/", {"amount": amount, "version": "0"})
    assert answer.status_code == 422
    assert problem in answer.content.decode()
    assert budgets.load(COMPANY, ADMIN).version == 0


def test_a_form_that_is_behind_says_so_and_changes_nothing(store):
    client, address = signed_in(admin()), f"/team/budgets/{COMPANY}/"
    saved = client.post(address, {"amount": "$1,000.50", "version": "0"}, follow=True)
    assert "Saved: $1,000.50 a month." in saved.content.decode()
    assert budgets.load(COMPANY, ADMIN).amount == Decimal("1000.50")
    answer = client.post(address, {"amount": "300", "version": "0"})
    assert answer.status_code == 409
    assert "You changed this budget in another window." in answer.content.decode()
    assert budgets.load(COMPANY, ADMIN).amount == Decimal("1000.50")
    assert 'value="1000.50"' in client.get(address).content.decode()
    assert client.post(address, {"amount": "", "version": "1"}).status_code == 302
    assert budgets.load(COMPANY, ADMIN).amount is None


def test_prices_of_the_day_count(store, settings):
    rise = {"model": MODEL, "from": "2026-11-20", "input": "3", "output": "3"}
    settings.INSIGHT_PRICES = json.dumps([*json.loads(PRICES), rise])
    for day in (19, 20):
        spend(date(2026, 11, day), 10)
    assert budgets.read_cost(COMPANY, date(2026, 11, 1), date(2026, 11, 30)) == (40, 0)
