"""Charts: what is drawn is what the table says, told apart without colour, at every width, in the dark and on paper."""

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Locator, Page, expect

from console.charts import Chart, ChartColumn, ChartRow
from tests.browser.looks import EVERYTHING, check_look, check_width, take_picture

PAGE = "/audit/picture/"
NAMES = ("Resolved by the AI", "Handed over", "Left by the customer", "Failed")
BEFORE = ChartColumn("The period before", is_compare=True)
TOTAL = ChartColumn("Together", is_total=True)
# Of every drawn box and label, where it is.
PLACES = "(all) => all.map((each) => { const {left, right} = each.getBoundingClientRect(); return [left, right]; })"


def a_chart(kind="bars", unit="count", series=1, categories=7, more=(), caption="Conversations per day", **values):
    """A chart whose numbers differ from cell to cell; `values` replace some, by `row_column`."""
    columns = (*map(ChartColumn, NAMES[:series]), *more)
    rows = tuple(
        ChartRow(
            f"Day {number}",
            tuple(
                values.get(f"at_{number}_{column}", (number * 7 + column * 5) % 23) for column in range(len(columns))
            ),
        )
        for number in range(categories)
    )
    return Chart(f"{kind}-{unit}", caption, kind, unit, columns, rows)


@pytest.fixture
def chart_page(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """The page of the audit chart, with its own policy and scripts, showing these charts instead."""

    def open_(*charts: Chart, **options) -> Page:
        figures = "".join(render_to_string("components/_chart.html", {"chart": chart}) for chart in charts)
        page = open_page("auditor", **options)

        def answer(route) -> None:
            response = route.fetch()
            route.fulfill(response=response, body=re.sub("(?s)<figure.*</figure>", lambda _: figures, response.text()))

        page.route(f"**{PAGE}", answer)
        page.goto(PAGE)
        if options.get("java_script_enabled", True):
            expect(page.locator(".plot > svg")).to_have_count(sum(not chart.is_empty for chart in charts))
        return page

    return open_


def attributes(found: Locator, name: str) -> list[str]:
    return found.evaluate_all("(all, name) => all.map((each) => each.getAttribute(name))", name)


def test_the_audit_chart_draws_a_bar_for_every_number_of_its_table(open_page):
    page = open_page("auditor")
    page.goto(PAGE)
    drawing = page.get_by_role("img", name="Chart: Actions and hand-offs per day. The numbers are in the table below.")
    expect(drawing).to_be_visible()
    numbers = page.locator(".chart tbody tr").evaluate_all(
        "(rows) => rows.reverse().map((row) => [...row.cells].slice(1).map((cell) => Number(cell.dataset.value)))"
    )
    assert numbers
    heights = page.locator(".slot").evaluate_all(
        "(slots) => slots.map((slot) => [...slot.querySelectorAll('.column')]"
        ".map((bar) => (bar.checkVisibility() ? bar.height.baseVal.value : NaN)))"
    )
    assert [len(each) for each in heights] == [2] * len(numbers)
    drawn = sum(map(sum, heights)) / sum(total for *_, total in numbers)
    for bars, (*values, _) in zip(heights, numbers, strict=True):
        assert bars == pytest.approx([value * drawn for value in values], abs=0.01)
    table = page.get_by_role("table", name="Actions and hand-offs per day")
    expect(table).to_be_hidden()
    page.get_by_text("Show the numbers").click()
    expect(table).to_be_visible()


@pytest.mark.parametrize("kind", ["bars", "stacked", "lines"])
@pytest.mark.parametrize("series", [1, 4])
def test_every_series_is_drawn_and_has_a_mark_of_its_own(chart_page, kind, series):
    page = chart_page(a_chart(kind, series=series, more=(BEFORE, TOTAL)))
    for number in range(series):
        mark = "path.point" if kind == "lines" else "rect.column"
        drawn = page.locator(f".slot {mark}.s{number}")
        assert drawn.evaluate_all("(all) => all.map((each) => each.checkVisibility())") == [True] * 7
    drawing = page.locator(".plot")
    expect(drawing.locator(".line:not(.compare)")).to_have_count(series if kind == "lines" else 0)
    expect(drawing.locator(".line.compare")).to_have_css("stroke-dasharray", "5px, 4px")
    expect(page.locator(".legend li")).to_have_text([*NAMES[:series], "The period before"])
    shapes = attributes(page.locator(".legend .point"), "d") or attributes(page.locator(".legend .column"), "fill")
    assert len(set(shapes)) == series
    # A pattern that is not there would leave the bars empty.
    for pattern in [each for each in shapes if each and each.startswith("url")]:
        expect(page.locator(f"pattern{pattern[4:-1]}")).to_have_count(1)


def test_a_single_series_needs_no_legend_and_each_category_says_its_numbers(chart_page):
    page = chart_page(a_chart(unit="seconds", at_3_0=4230))
    expect(page.locator(".legend")).to_have_count(0)
    title = page.locator(".slot title").nth(3)
    assert title.text_content() == "Day 3\nResolved by the AI: 1 h 10 min"
    expect(page.locator(".sum")).to_have_text(["7 s", "14 s", "1 h 10 min", "5 s", "12 s", "19 s"])


# The unit, the highest number, and what stands along the axis.
AXES = [
    ("count", 3, ["0", "1", "2", "3"]),
    ("count", 41_000, ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]),
    ("seconds", 4, ["0", "1 s", "2 s", "3 s", "4 s"]),
    ("seconds", 4230, ["0", "15 min", "30 min", "45 min", "1 h", "1 h 15 min"]),
    ("seconds", 1_000_000, ["0", "2 d", "4 d", "6 d", "8 d", "10 d", "12 d"]),
    ("money", Decimal("0.9"), ["$0.00", "$0.20", "$0.40", "$0.60", "$0.80", "$1.00"]),
    ("money", 0.004, ["$0.000", "$0.001", "$0.002", "$0.003", "$0.004"]),
    ("money", 1900, ["$0", "$500", "$1,000", "$1,500", "$2,000"]),
    ("percent", 99.5, ["0%", "20%", "40%", "60%", "80%", "100%"]),
]


def test_the_axis_is_in_its_unit(chart_page):
    charts = [
        replace(a_chart("lines", unit, categories=2, at_0_0=0, at_1_0=highest), id=f"axis-{number}")
        for number, (unit, highest, _) in enumerate(AXES)
    ]
    page = chart_page(*charts)
    for number, (_, _, ticks) in enumerate(AXES):
        expect(page.locator(f"#axis-{number} .grid text")).to_have_text(ticks)


def test_a_number_that_is_not_there_is_a_gap_in_a_line_and_a_zero_is_not(chart_page):
    page = chart_page(a_chart("lines", at_2_0=None, at_4_0=0))
    expect(page.locator(".slot .point")).to_have_count(6)
    (line,) = attributes(page.locator(".line"), "d")
    assert line.count("M") == 2
    assert page.locator(".slot title").nth(2).text_content() == "Day 2\nResolved by the AI: –"


@pytest.mark.parametrize("kind", ["bars", "stacked", "lines"])
def test_a_hundred_categories_fit_every_width(chart_page, kind):
    page = chart_page(a_chart(kind, series=2, categories=100, more=(BEFORE,)), width=360)
    for width in (360, 820, 1280):
        page.set_viewport_size({"width": width, "height": 860})
        scroller = page.locator(".plot")
        page.wait_for_function(
            "() => { const box = document.querySelector('.plot');"
            " return box.firstChild.width.baseVal.value >= box.clientWidth; }"
        )
        check_width(page, f"chart-{kind}-{width}")
        labels = page.locator(".domain ~ .tick text").evaluate_all(PLACES)
        assert 2 < len(labels) < 100
        assert all(left[1] < right[0] for left, right in pairwise(labels))
        if kind != "lines":
            expect(page.locator(".slot .column")).to_have_count(200)
            assert min(map(float, attributes(page.locator(".slot .column"), "width"))) > 2.5
        # What is wider than the page can be scrolled by keyboard, and shows the newest days first.
        is_wide = scroller.evaluate("(box) => box.scrollWidth > box.clientWidth")
        assert is_wide == (kind != "lines" and width < 1280)
        assert scroller.get_attribute("tabindex") == ("0" if is_wide else None)
        if is_wide:
            assert scroller.evaluate("(box) => box.scrollLeft + box.clientWidth >= box.scrollWidth - 1")


def test_an_empty_chart_says_so_and_folds_its_table_away(chart_page):
    page = chart_page(a_chart(categories=0), replace(a_chart(categories=2, at_0_0=0, at_1_0=0), id="zeros"))
    expect(page.get_by_text("There is nothing to show for this period.")).to_have_count(2)
    expect(page.locator(".chart svg")).to_have_count(0)
    table = page.get_by_role("table", name="Conversations per day")
    expect(table).to_have_count(0)
    page.get_by_text("Show the numbers").click()
    expect(table).to_be_visible()


def test_without_scripts_the_table_is_there(chart_page):
    page = chart_page(a_chart(series=2), java_script_enabled=False)
    expect(page.get_by_role("table", name="Conversations per day")).to_be_visible()
    expect(page.locator(".chart svg, .chart details")).to_have_count(0)


def test_in_the_dark_and_on_paper_it_can_be_read(chart_page):
    page = chart_page(a_chart("stacked", series=2, more=(BEFORE,)), dark=True)
    column, paper = page.locator(".slot .column.s0").nth(1), "rgb(255, 255, 255)"
    expect(column).to_be_visible()
    dark = column.evaluate("(each) => getComputedStyle(each).fill")
    page.emulate_media(color_scheme="light")
    light = column.evaluate("(each) => getComputedStyle(each).fill")
    assert dark != light
    # On paper it is as in the light, whatever the screen, and the table stands below it. The page is laid out anew.
    page.emulate_media(color_scheme="dark", media="print")
    expect(page.locator("body")).to_have_css("background-color", paper)
    expect(column).to_have_css("fill", light)
    expect(column).to_be_visible()
    expect(page.get_by_text("Show the numbers")).to_be_hidden()
    assert page.locator(".chart tbody td").first.evaluate("(cell) => cell.checkVisibility()")
    page.set_viewport_size({"width": 700, "height": 990})
    check_width(page, "chart-on-paper")
    take_picture(page, "charts-print", whole=True)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (820, "dark"), (360, "light"), (360, "dark")])
def test_nothing_is_in_the_way_of_anybody(chart_page, width, scheme):
    page = chart_page(
        a_chart("bars", "money", categories=14, more=(BEFORE,), caption="Cost per day"),
        a_chart("stacked", "money", series=4, categories=31, more=(BEFORE, TOTAL), at_9_1=1234.5, caption="Spent"),
        a_chart("lines", "seconds", series=3, categories=62, more=(BEFORE,), caption="Time to the first answer"),
        width=width,
        dark=scheme == "dark",
    )
    check_look(page, f"charts-{scheme}-{width}", EVERYTHING)
    take_picture(page, f"charts-{scheme}-{width}", whole=True)
    for each in page.get_by_text("Show the numbers").all():
        each.click()
    check_look(page, f"charts-open-{scheme}-{width}", EVERYTHING)


def test_hostile_labels_are_only_text(chart_page):
    hostile = "<img src=x onerror=alert(1)>\u202e\"'&lt;"
    chart = Chart(
        "hostile", hostile, "lines", "count", (ChartColumn(hostile), BEFORE), (ChartRow(hostile, (1, 2), hostile),)
    )
    page = chart_page(chart)
    assert hostile in page.locator(".slot title").text_content()
    expect(page.locator(".legend bdi").first).to_have_text(hostile)
    expect(page.locator(".chart img")).to_have_count(0)


def test_every_category_has_its_name_at_every_width(chart_page):
    names = ("Amira Haddad", "gpt-4o-mini", "the AI cannot answer", "other", "change_of_address", "end_turn")
    charts = [
        Chart(
            f"named-{count}-{length}",
            "By name",
            "bars",
            "count",
            (ChartColumn("Answers"),),
            tuple(ChartRow(f"{names[number % 6][:length]}{number}", (number + 1,)) for number in range(count)),
        )
        for count in (2, 3, 4, 5, 9)
        for length in (5, 11, 20)
    ]
    page = chart_page(*charts)
    for width in (1280, 820, 360):
        page.set_viewport_size({"width": width, "height": 800})
        for chart in charts:
            drawn = page.locator(f"#{chart.id} .base text")
            expect(drawn, f"{chart.id} at {width}").to_have_count(len(chart.rows))
