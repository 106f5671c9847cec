"""The chart of a review: days in the person's zone, zeros within the range and none beyond, and its page."""

import html
import json
import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from console import clock
from console.audit import chart as counting
from console.audit.chart import DAYS_SHOWN, chart_of, counted
from console.audit.review.forms import CONVERSATION, About
from console.audit.review.plan import Review
from console.audit.review.reading import GatheredEntries
from console.charts import ChartRow
from console.clock import to_iso
from console.trail.models import AuditEntry
from tests.dynamodb import to_dynamodb
from tests.items import entry as item
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in, signed_in_before

pytestmark = pytest.mark.pages

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONDON, KOLKATA = ZoneInfo("Europe/London"), ZoneInfo("Asia/Kolkata")
DAY = timedelta(days=1)


def entries(*items: dict) -> tuple[AuditEntry, ...]:
    return tuple(AuditEntry.from_raw_data(to_dynamodb(each)) for each in items)


def days_of(found, review: Review | None = None, zone: ZoneInfo = LONDON, *, is_all: bool = True):
    return counted(GatheredEntries(found, is_all), review or Review(), zone, NOW)


# --- Counting -------------------------------------------------------------------------------------------------------


def test_days_are_those_of_the_persons_time_zone():
    found = entries(item(datetime(2026, 11, 19, 20, tzinfo=UTC)), item(datetime(2026, 11, 19, 17, tzinfo=UTC)))
    assert [(each.day.day, each.others) for each in days_of(found).days] == [(19, 2), (20, 0)]
    assert [(each.day.day, each.others) for each in days_of(found, zone=KOLKATA).days] == [(19, 1), (20, 1)]


def test_hand_offs_are_counted_apart_and_days_without_entries_are_zero():
    found = entries(item(NOW - 3 * DAY, "hand_off.take"), item(NOW - 3 * DAY), item(NOW, "hand_off.release"))
    assert [(each.hand_offs, each.others) for each in days_of(found).days] == [(1, 1), (0, 0), (0, 0), (1, 0)]


def test_the_days_asked_for_are_shown_though_nothing_was_found_in_some():
    review = Review(since=NOW - 5 * DAY, until=NOW - 2 * DAY)
    shown = days_of(entries(item(NOW - 4 * DAY)), review).days
    assert [each.day for each in shown] == [date(2026, 11, day) for day in (15, 16, 17, 18)]


def test_days_before_the_one_down_to_which_was_read_are_not_shown_as_zero():
    found = entries(item(NOW), item(NOW - 2 * DAY))
    result = days_of(found, Review(since=NOW - 9 * DAY), is_all=False)
    assert [each.day.day for each in result.days] == [18, 19, 20]
    assert result.reaches == NOW - 2 * DAY


def test_at_most_two_months_are_shown_and_that_there_are_earlier_days_is_told():
    result = days_of(entries(item(NOW), item(NOW - 100 * DAY)))
    assert len(result.days) == DAYS_SHOWN
    assert result.days[-1].day == NOW.date()
    assert result.older_days
    assert not days_of(entries(item(NOW))).older_days


def test_an_entry_of_an_hour_counts_where_it_happened():
    beginning = datetime(2026, 11, 19, 18, tzinfo=UTC)
    told = json.dumps({"at": to_iso(beginning + timedelta(minutes=45))})
    opened = item(beginning, "transcript.opened", action_payload_redacted=told)
    assert [each.day.day for each in days_of(entries(opened), zone=KOLKATA).days] == [20]
    # Another time than one of that hour is none of that entry.
    other = opened | {"action_payload_redacted": json.dumps({"at": to_iso(beginning - DAY)})}
    assert [each.others for each in days_of(entries(other), zone=KOLKATA).days] == [1, 0]


def test_what_has_no_readable_time_is_counted_apart():
    result = days_of(entries(item(NOW), item(NOW) | {"ts_action_id": "yesterday#1"}))
    assert (result.read, result.undated, sum(each.total for each in result.days)) == (2, 1, 1)


def test_nothing_found_is_nothing_to_draw():
    assert days_of(()).days == ()


def test_the_chart_has_each_day_and_all_of_them_together():
    chart = chart_of(days_of(entries(item(NOW - DAY, "hand_off.take"), item(NOW), item(NOW))))
    assert [(row.label, row.short, row.values) for row in chart.rows] == [
        ("Thu 19 Nov 2026", "19 Nov", (1, 0, 1)),
        ("Fri 20 Nov 2026", "20 Nov", (0, 2, 2)),
    ]
    assert chart.totals == ChartRow("All days", (1, 2, 3))
    assert [column.name for column in chart.columns] == ["Hand-offs", "Other actions", "Together"]


# --- The page -------------------------------------------------------------------------------------------------------


def put(store, count: int, action: str = "route", company: str = COMPANY, apart: timedelta = DAY) -> None:
    names = {"company_id": company, "gsi_company_id": company}
    at = clock.now()
    store.put_all(
        "AUDIT", [item(at - number * apart, action, **names) | {"conversation_id": company} for number in range(count)]
    )


def test_page_has_the_numbers_as_a_table_and_what_draws_them(store):
    put(store, 3)
    put(store, 2, "hand_off.take")
    text = signed_in_before(store, admin()).get("/audit/picture/").content.decode()
    rows = re.findall(r'<td class="numeric"[^>]*>(\d+)</td>' * 3, text)
    assert rows == [("1", "1", "2"), ("1", "1", "2"), ("0", "1", "1"), ("2", "3", "5")]
    assert "5 entries read" in text
    assert re.findall(r"<script src=\"/static/([\w./]+)\"", text)[-2:] == ["vendor/d3.min.js", "charts.js"]


def test_page_says_down_to_when_was_read(store, monkeypatch):
    monkeypatch.setattr(counting, "ENTRIES_READ", 5)
    put(store, 9, apart=timedelta(hours=30))
    text = signed_in(admin()).get("/audit/picture/?action=route").content.decode()
    assert "5 entries read" in text
    assert "Reading stopped at its limit, at" in text


def test_fragment_is_the_picture_alone(store):
    put(store, 1)
    client = signed_in(admin())
    text = client.get("/audit/picture/", headers={"HX-Request": "true"}).content.decode()
    assert text.lstrip().startswith('<section id="picture"')
    assert "<html" not in text


def test_filters_and_scope_hold(store):
    put(store, 3)
    put(store, 2, company=OTHER_COMPANY)
    everything = signed_in_before(store, auditor())
    limited = signed_in_before(store, auditor("lea.limited", scope=[COMPANY]))
    assert "5 entries read" in everything.get("/audit/picture/").content.decode()
    assert "3 entries read" in limited.get("/audit/picture/").content.decode()
    assert "No actions to show" in everything.get("/audit/picture/?result=failed").content.decode()


@pytest.mark.slow
def test_a_wide_filter_is_read_within_the_bound(store):
    put(store, 2100, apart=timedelta(seconds=1))
    client = signed_in(auditor())
    with store.calls() as calls:
        text = client.get("/audit/picture/?action=route").content.decode()
    assert "2000 entries read" in text
    assert sum(call.operation == "Query" for call in calls) < 20


@pytest.mark.parametrize("role", ["agent", "onboarding"])
def test_who_does_not_review_has_no_picture(store, role):
    assert signed_in(member("x.y", role)).get("/audit/picture/").status_code == 403


def test_without_the_index_the_page_says_that_it_cannot_be_drawn(store, monkeypatch):
    put(store, 2)
    monkeypatch.setattr("console.audit.review.plan.index_ready", lambda *_: False)
    client = signed_in(auditor())
    for query in ("", "?actor=amira.haddad", f"?company={COMPANY}"):
        text = client.get(f"/audit/picture/{query}").content.decode()
        assert "The chart is not available here" in text
        assert "no index by action type" in text
        assert "No actions to show" not in text
        assert "only the newest entries are searched" not in text


def test_a_company_is_drawn_from_its_own_index(store, monkeypatch):
    put(store, 2, "hand_off.take")
    monkeypatch.setattr("console.audit.review.plan.index_ready", lambda _, name: name == "company-index")
    text = signed_in(auditor()).get(f"/audit/picture/?company={COMPANY}").content.decode()
    assert "2 entries read" in text
    # Without the index by type, the entries that name no company are left out.
    assert "Action types: hand-off, customers' messages, replies and notes," in html.unescape(text)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "Choose other types to see their entries"),
        ("?group=hand-off", "Action types: hand-off."),
        (f"?about={About(CONVERSATION, COMPANY).sealed}", "Action types: all in the trail."),
    ],
)
def test_page_says_which_action_types_it_counts(store, query, words):
    put(store, 2, "hand_off.take")
    client = signed_in(auditor())
    for headers in ({}, {"HX-Request": "true"}):
        assert words in client.get(f"/audit/picture/{query}", headers=headers).content.decode()
