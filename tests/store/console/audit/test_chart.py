"""The picture: days in the person's zone, zeros within the range and none beyond, bars as high as their numbers."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.audit import chart as counting
from console.audit.chart import DAYS_SHOWN, HEIGHT, DayCount, Rect, counted, render_chart, scale
from console.audit.review.forms import CONVERSATION, About
from console.audit.review.plan import Review
from console.audit.review.reading import Gathered
from console.clock import to_iso
from console.trail.models import AuditEntry
from tests.dynamodb import to_dynamodb
from tests.items import entry as item
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONDON, KOLKATA = ZoneInfo("Europe/London"), ZoneInfo("Asia/Kolkata")
DAY = timedelta(days=1)


def entries(*items: dict) -> tuple[AuditEntry, ...]:
    return tuple(AuditEntry.from_raw_data(to_dynamodb(each)) for each in items)


def days_of(found, review: Review | None = None, zone: ZoneInfo = LONDON, *, is_all: bool = True):
    return counted(Gathered(found, is_all), review or Review(), zone, NOW)


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
    assert (result.read, result.undated, result.total) == (2, 1, 1)


def test_nothing_found_is_nothing_to_draw():
    assert days_of(()).days == ()
    assert render_chart(()).bars == ()


COUNTS = st.lists(st.tuples(st.integers(0, 9**6), st.integers(0, 9**6)), min_size=1, max_size=DAYS_SHOWN)


# --- Drawing --------------------------------------------------------------------------------------------------------


@given(COUNTS)
def test_bars_are_as_high_as_their_numbers_and_lie_within_the_picture(numbers):
    picture = render_chart([DayCount(date(2026, 1, 1) + number * DAY, *each) for number, each in enumerate(numbers)])
    top = picture.base - picture.lines[-1].y
    highest = int(picture.lines[-1].text.replace(",", ""))
    edge = picture.left
    for bar, (hand_offs, others) in zip(picture.bars, numbers, strict=True):
        for part, number in ((bar.hand_offs, hand_offs), (bar.others, others)):
            assert (part is None) == (number == 0)
            if part:
                assert abs(part.height - top * number / highest) < 0.02
                assert part.x >= edge
                assert part.x + part.width <= picture.right
                assert part.y >= 0
        both = [part for part in (bar.hand_offs, bar.others) if part]
        if both:
            edge = both[0].x + both[0].width
        if len(both) == 2:
            assert abs(both[0].y + both[0].height - both[1].y) < 0.03
    assert picture.width <= 960
    assert picture.height == HEIGHT


@given(st.integers(0, 10**9))
def test_the_grid_has_few_lines_at_round_numbers(highest):
    step, top = scale(highest)
    assert re.fullmatch("[125]0*", str(step))
    assert top >= max(highest, 1)
    assert 1 <= top / step <= 5


@given(st.integers(1, DAYS_SHOWN))
def test_dates_do_not_run_into_each_other_and_the_newest_has_one(count):
    days = [DayCount(date(2026, 1, 1) + number * DAY, 0, 1) for number in range(count)]
    labels = render_chart(days).days
    assert all(after.x - before.x >= 47.9 for before, after in pairwise(labels))
    assert labels[-1].text == f"{days[-1].day.day} {days[-1].day:%b}"


def test_a_bar_says_its_numbers():
    (bar,) = render_chart([DayCount(date(2026, 11, 2), 1, 2000)]).bars
    assert bar.words == "2 Nov 2026: 1 hand-off, 2,000 other actions"
    assert isinstance(bar.others, Rect)


# --- The page -------------------------------------------------------------------------------------------------------


def put(store, count: int, action: str = "route", company: str = COMPANY, apart: timedelta = DAY) -> None:
    names = {"company_id": company, "gsi_company_id": company}
    at = clock.now()
    store.put_all(
        "AUDIT", [item(at - number * apart, action, **names) | {"conversation_id": company} for number in range(count)]
    )


def test_page_has_the_picture_and_the_same_numbers_as_a_table(store):
    put(store, 3)
    put(store, 2, "hand_off.take")
    text = signed_in(admin()).get("/audit/picture/").content.decode()
    assert text.count('<rect class="hand-offs"') == 2 + 1
    assert text.count('<rect class="others"') == 3 + 1
    rows = re.findall(
        r'<td class="numeric">(\d+)</td><td class="numeric">(\d+)</td><td class="numeric">(\d+)</td>', text
    )
    assert rows == [("1", "1", "2"), ("1", "1", "2"), ("0", "1", "1"), ("2", "3", "5")]
    assert "5 entries read" in text
    assert "style" not in re.findall(r"<svg.*?</svg>", text, re.DOTALL)[-1]


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
    everything, limited = signed_in(auditor()), signed_in(auditor("lea.limited", scope=[COMPANY]))
    assert "5 entries read" in everything.get("/audit/picture/").content.decode()
    assert "3 entries read" in limited.get("/audit/picture/").content.decode()
    assert "No actions to show" in everything.get("/audit/picture/?result=failed").content.decode()


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
    assert "Action types: hand-off, looking at personal data." in text


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
