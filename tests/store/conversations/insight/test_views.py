"""The pages of Insight: what they show is what is stored, each number leads to what is behind it, nobody sees more."""

import csv
import html
import re
from datetime import date, timedelta
from io import StringIO

import pytest

from console import clock
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, intent_for, perform
from conversations.models import Conversation
from tests.items import put_conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, as_staff, auditor, member, signed_in
from tests.support.conversations.insight.costs import PRICES, spend
from tests.support.conversations.insight.kit import count_all

HREF = re.compile(r'<a href="([^"]*/behind/[^"]*)">([^<]+)</a>')


def message(role: str, at, **more):
    return {"message_id": f"{role}{at}", "role": role, "content": "x", "timestamp": clock.to_iso(at), **more}


def fill(store) -> None:
    """Of two companies: what the AI resolved, what failed, what nobody answered, over some days and channels."""
    now = clock.now()
    for number in range(24):
        at = now - timedelta(days=number % 6, minutes=5)
        messages = [
            message("user", at),
            message("assistant", at + timedelta(seconds=4), prompt_tokens=900, completion_tokens=90),
        ]
        put_conversation(
            store,
            primary_channel=f"+4477009{number:05}",
            company_id=COMPANY if number % 4 else OTHER_COMPANY,
            project_id=f"pi-{number % 2}",
            channel_method="whatsapp" if number % 3 else "sms",
            created_at=clock.to_iso(at),
            messages=messages[:1] if number % 5 == 0 else messages,
            conversation_status="failed_to_send_message" if number % 7 == 0 else "reply_sent",
            failure_reason="timeout",
            ai_config={"model": "gpt-4o-mini"},
        )
    count_all()


@pytest.fixture
def pages(store):
    fill(store)
    return signed_in(auditor(scope=[f"company:{each}" for each in (COMPANY, OTHER_COMPANY)]))


def get(client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.content.decode()


def links_in(page: str) -> list[tuple[str, str]]:
    return [(html.unescape(href), text) for href, text in HREF.findall(page)]


@pytest.mark.slow
@pytest.mark.parametrize("report", ["overview", "failures"])
@pytest.mark.parametrize("narrowed", ["", "&project=pi-1", "&channel=sms", "&project=pi-0&channel=whatsapp"])
def test_what_is_behind_a_number_are_as_many_as_it_says(pages, report, narrowed):
    page = get(pages, f"/insight/{report}/?company={COMPANY}&period=7{narrowed}")
    links = [(href, text) for href, text in links_in(page) if text.strip().isdigit()]
    assert len(links) > 3
    for href, text in links:
        behind = get(pages, href)
        assert behind.count("<tr") - 1 == int(text), (href, text)


@pytest.mark.slow
def test_of_all_companies_each_says_its_part(pages):
    page = get(pages, "/insight/?period=7")
    (href, text), *_ = links_in(page)
    assert text == "24"
    parts = get(pages, href)
    assert sorted(map(int, re.findall(r'<td class="numeric" data-label="Number">(\d+)</td>', parts))) == [6, 18]


@pytest.mark.slow
def test_a_file_has_the_numbers_of_its_chart(pages):
    answer = pages.get(f"/insight/overview/outcomes.csv?company={COMPANY}&period=7")
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert answer["Content-Disposition"].startswith('attachment; filename="insight-outcomes-')
    assert len(rows) == 7
    assert all(date.fromisoformat(row["Day"]) for row in rows)
    assert sum(int(row["Failed"]) for row in rows) == sum(number % 4 > 0 and number % 7 == 0 for number in range(24))


@pytest.mark.slow
def test_a_report_is_as_old_as_its_newest_sums(store, pages):
    an_hour_ago = clock.to_iso(clock.now() - timedelta(hours=1))
    aged = [each for each in store.all("INSIGHT") if "counts" in each and OTHER_COMPANY in each["pk"]]
    assert aged
    store.put_all("INSIGHT", [each | {"at": an_hour_ago} for each in aged])
    shown = re.search(r"Updated <time [^>]*>([^<]*)</time> ago", get(pages, "/insight/?period=7"))[1]
    assert shown == "less than a minute"


@pytest.mark.slow
def test_the_period_before_stands_beside(pages):
    page = get(pages, f"/insight/?company={COMPANY}&period=days&since=2020-01-01&until=2020-01-03&compare=on")
    assert "before: 0" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    ["period=junk", "project=pi-none", "channel=fax", "period=days&since=2026-02-30", "period=days&since=1999-01-01"],
)
def test_a_filter_that_is_none_is_told_and_ignored(pages, query):
    assert "This filter was ignored" in get(pages, f"/insight/?company={COMPANY}&{query}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "none/?",
        "overview/none.csv?",
        "overview/behind/?topic=failures&m=failed&m=*",
        "overview/behind/?topic=outcomes",
        "overview/behind/?topic=outcomes&m=episodes&from=2026-02-02&to=2026-02-01",
        "overview/behind/?topic=outcomes&m=episodes&from=junk&to=2026-02-01",
        "overview/behind/?topic=outcomes&m=episodes&from=2000-01-01&to=2026-02-01",
    ],
)
def test_a_report_chart_or_number_that_does_not_exist_is_not_found(pages, address):
    assert pages.get(f"/insight/{address}&company={COMPANY}").status_code == 404


@pytest.mark.slow
def test_nobody_sees_what_lies_outside_of_their_scope(store):
    fill(store)
    mine = signed_in(auditor("mine", [f"company:{COMPANY}"]))
    for page in ("", "overview/behind/", "overview/outcomes.csv"):
        assert mine.get(f"/insight/{page}?company={OTHER_COMPANY}&topic=outcomes&m=episodes").status_code == 404
    assert mine.get("/insight/chats/").status_code == 404
    page = get(mine, "/insight/?period=7")
    assert links_in(page)[0][1] == "18"
    assert OTHER_COMPANY not in page


@pytest.mark.parametrize(
    ("days", "told"),
    [
        ({"since": 1}, "Choose a day that is not in the future."),
        ({"since": 1, "until": 20}, "Choose a day that is not in the future."),
        ({"since": -400}, "A period can be at most 366 days."),
        ({"since": -6, "until": 400}, ""),
        ({"since": -2, "until": -2}, ""),
    ],
)
def test_days_that_cannot_be_shown_are_said(pages, days, told):
    today = clock.now().date()
    asked = "&".join(f"{name}={today + timedelta(days=number)}" for name, number in days.items())
    page = get(pages, f"/insight/?company={COMPANY}&period=days&{asked}")
    if told:
        assert told in page
    else:
        assert "This filter was ignored" not in page
        first, last = (f"{day.day} {day:%b %Y}" for day in (today + timedelta(days=days["since"]), today))
        assert (f"{first}</p>" if days["until"] < 0 else f"{first} to {last}</p>") in page


def test_who_has_no_tenant_in_scope_is_not_told_of_a_missing_table(pages):
    page = get(pages, "/insight/tenants/")
    assert "Nothing in your scope" in page
    assert "manage.py" not in page


def test_only_reports_of_what_has_channels_can_be_narrowed_to_one(pages):
    page = get(pages, f"/insight/?company={COMPANY}&period=7&channel=whatsapp")
    tabs = {html.unescape(each) for each in re.findall(r'href="(/insight/[a-z-]*/?\?[^"]*)"', page)}
    of = {each.split("/")[2].partition("?")[0]: each for each in tabs if "behind" not in each and ".csv" not in each}
    assert "channel=whatsapp" in of["waits"]
    assert "channel" not in of["middleware"]
    assert 'name="channel"' not in get(pages, of["middleware"])
    feedback = get(pages, "/insight/feedback/")
    assert '<option value="web">' in feedback
    assert "This filter was ignored" not in get(pages, "/insight/feedback/?channel=web")


def test_what_a_number_is_of_is_said_in_words_and_by_name(store):
    item = put_conversation(store, company_id=COMPANY, messages=[message("user", clock.now())])
    colleague = member("amira.haddad", scope=[COMPANY])
    stored = Conversation.get(item["primary_channel"], item["conversation_id"])
    perform(intent_for(HandOffAction.TAKE_OVER, stored, hand_off_of(stored)), as_staff(colleague))
    count_all()
    lead = signed_in(auditor(scope=[f"company:{COMPANY}"]))
    page = get(lead, f"/insight/people/?company={COMPANY}&period=7")
    addresses = [each for each, _ in links_in(page) if "m=taken" in each]
    headings = [re.search(r"<h1>Behind the number</h1><p><bdi>(.*?)</bdi>", get(lead, each))[1] for each in addresses]
    assert headings == ["Taken", "Taken · Amira Haddad"]
    unanswered = f"/insight/overview/behind/?company={COMPANY}&topic=outcomes&m=outcome&m=unanswered"
    assert "<bdi>Unanswered</bdi>" in get(lead, unanswered)


def test_an_unknown_cost_is_no_zero(store):
    put_conversation(store, company_id=COMPANY, messages=[message("assistant", clock.now(), total_tokens=500)])
    count_all()
    client = signed_in(auditor(scope=[f"company:{COMPANY}"]))
    rows = list(csv.reader(StringIO(get(client, "/insight/cost/models.csv?period=7"))))
    assert [row for row in rows if row[0] == "unknown"] == [["unknown", ""]]


def test_without_its_table_it_says_what_is_missing(bare_store):
    bare_store.create_tables(*(each for each in ("STAFF", "STAFF_SESSIONS", "AUDIT", "IDEMPOTENCY", "CONSOLE")))
    page = signed_in(admin()).get("/insight/")
    assert "manage.py insight --rebuild" in page.content.decode()


@pytest.mark.slow
def test_a_page_of_what_is_behind_goes_on_to_the_next(pages, monkeypatch):
    monkeypatch.setattr("conversations.insight.views.behind.ROWS", 5)
    address = f"/insight/overview/behind/?company={COMPANY}&period=7&topic=outcomes&m=episodes"
    seen: list[str] = []
    while address:
        page = get(pages, address)
        rows = re.findall(r'<a data-open href="([^"]+)"', page)
        assert len(rows) <= 5
        seen += rows
        more = re.search(r'<a class="btn" href="([^"]+cursor=[^"]+)"', page)
        address = html.unescape(more[1]) if more else ""
    assert len(seen) == len(set(seen)) == 18


def test_failed_is_one_share_in_every_report(pages):
    put_after_fill = get(pages, f"/insight/?company={COMPANY}&period=7")
    failures = get(pages, f"/insight/failures/?company={COMPANY}&period=7")
    share = re.compile(r"<dt>Failed</dt><dd><a href=\"[^\"]*\">([^<]*)</a>.*?<p>(.*?)</p>", re.DOTALL)
    assert share.search(put_after_fill).groups() == share.search(failures).groups()
    assert "Failure rate" not in failures


def rows_behind(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr data-row>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", each).strip() for each in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_projects_are_named_on_a_page_of_several_companies(store, settings):
    settings.INSIGHT_PRICES = PRICES
    for company, project, name in ((COMPANY, "p", "Deliveries"), (OTHER_COMPANY, "other", "Returns")):
        put_conversation(store, company_id=company, project_id=project, project_name=name)
    spend(clock.now().date() - timedelta(days=1), 1, company_id=COMPANY)
    client = signed_in(auditor(scope=[f"company:{each}" for each in (COMPANY, OTHER_COMPANY)]))
    page = get(client, "/insight/cost/?period=7")
    assert "Deliveries" in page.partition("Cost by project")[2]


def test_rows_behind_a_number_show_ids_and_names_newest_first(store):
    now = clock.now().replace(hour=12)
    for hour in (3, 1, 5, 2):
        at = now - timedelta(days=1, hours=hour)
        put_conversation(
            store,
            primary_channel=f"+44770090000{hour}",
            company_id=COMPANY,
            project_id="pi-aaa-001",
            project_name="Deliveries",
            conversation_id=f"{COMPANY}#pi-aaa-001#req-{hour}#+44770090000{hour}",
            created_at=clock.to_iso(at),
            messages=[message("user", at)],
            hand_off_to_human=False,
        )
    taken = Conversation.get("+447700900005", f"{COMPANY}#pi-aaa-001#req-5#+447700900005")
    colleague = member("amira.haddad", scope=[COMPANY])
    perform(intent_for(HandOffAction.TAKE_OVER, taken, hand_off_of(taken)), as_staff(colleague))
    count_all()
    lead = signed_in(auditor(scope=[f"company:{COMPANY}"]))
    query = f"company={COMPANY}&period=7&topic=outcomes&m=episodes"
    page = get(lead, f"/insight/overview/behind/?{query}")
    assert "Newest first." in page
    assert [row[0] for row in rows_behind(page)] == ["req-1", "req-2", "req-3", "req-5"]
    assert {row[4] for row in rows_behind(page)} == {"Deliveries"}
    assert [row[5] for row in rows_behind(page)] == ["", "", "", "Amira Haddad"]
    project = f"/insight/cost/behind/?company={COMPANY}&topic=usage&m=of+project&m=pi-aaa-001"
    assert "<bdi>Project · Deliveries</bdi>" in get(lead, project)

    address = html.unescape(re.search(r'href="([^"]*/behind/rows\.csv[^"]*)"', page)[1])
    answer = lead.get(address)
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(StringIO(text)))
    assert [row["Conversation"] for row in rows] == ["req-1", "req-2", "req-3", "req-5"]
    assert [row["Began"] for row in rows] == sorted((row["Began"] for row in rows), reverse=True)
    assert {(row["Project"], row["Outcome"]) for row in rows[:3]} == {("Deliveries", "Unanswered")}
    assert (rows[3]["Handled by"], rows[3]["Company"]) == ("Amira Haddad", rows[0]["Company"])
    assert "7700900" not in text
    mine = signed_in(auditor("mine", [f"company:{OTHER_COMPANY}"]))
    assert mine.get(address).status_code == 404


def test_a_file_of_many_rows_has_each_of_them_once(pages, monkeypatch):
    monkeypatch.setattr("conversations.insight.views.behind.FILE_ROWS", 5)
    answer = pages.get(f"/insight/overview/behind/rows.csv?company={COMPANY}&period=7&topic=outcomes&m=episodes")
    rows = list(csv.DictReader(StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
    assert len(rows) == len({row["Conversation"] for row in rows}) == 18


def test_an_empty_chart_says_so_in_words(pages):
    page = get(
        pages,
        f"/insight/cost/?company={COMPANY}&period=days&since=2020-01-01&until=2020-01-03",
    )
    assert page.count("<p>No cost is known for this period.</p>") == 3
    waits = get(pages, f"/insight/waits/?company={COMPANY}&period=7")
    assert waits.count("<p>There is nothing to show for this period.</p>") == 2


def test_costs_have_one_precision_and_a_total(pages):
    page = get(pages, f"/insight/cost/?company={COMPANY}&period=7")
    shown = re.findall(r"\$[\d.,]+", page.partition('class="figures"')[2])
    assert len(shown) > 8
    assert {len(each.partition(".")[2]) for each in shown} == {4}
    spent = re.search(r"<dt>Cost</dt><dd><b>(\$[\d.]+)</b>", page)[1]
    assert re.findall(r'<tfoot><tr><th scope="row">Total</th><td class="numeric">([^<]*)</td>', page) == [spent] * 3
