"""A chart as numbers: what it refuses, how it writes them, its table, and its rows of CSV."""

from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from django.template.loader import render_to_string

from console.charts import Chart, ChartColumn, ChartRow, format_value

COST = Chart(
    id="cost",
    caption="Cost of the AI per day",
    kind="bars",
    unit="money",
    columns=(ChartColumn("Cost"), ChartColumn("The week before", is_compare=True), ChartColumn("Both", is_total=True)),
    rows=(
        ChartRow("Mon 2 Nov 2026", (Decimal("1.2"), 0, Decimal("1.2")), "2 Nov"),
        ChartRow("Tue 3 Nov 2026", (1204.5, None, 1204.5), "3 Nov"),
    ),
    totals=ChartRow("Both days", (1205.7, 0, 1205.7)),
)


class Cells(HTMLParser):
    """The cells of a table: their attributes and their text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[tuple[dict, str]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("th", "td"):
            self.cells.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.cells and data.strip():
            attributes, text = self.cells[-1]
            self.cells[-1] = (attributes, text + data)


def shown(chart: Chart) -> Cells:
    return Cells(render_to_string("components/_chart.html", {"chart": chart}))


@pytest.mark.parametrize("row", [ChartRow("Short", (1, 2)), ChartRow("Long", (1, 2, 3, 4))])
@pytest.mark.parametrize("place", ["rows", "totals"])
def test_a_row_has_a_value_for_each_column(row, place):
    with pytest.raises(ValueError, match="has not 3 values"):
        replace(COST, **{place: (row,) if place == "rows" else row})


def test_there_are_no_more_series_than_marks():
    names = [ChartColumn(f"Series {number}") for number in range(7)]
    with pytest.raises(ValueError, match="more than 6 series"):
        replace(COST, columns=tuple(names), rows=(), totals=None)
    compared = (*names[:6], ChartColumn("Before", is_compare=True), ChartColumn("Sum", is_total=True))
    assert replace(COST, columns=compared, rows=(), totals=None).columns == compared


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "count", "0"),
        (12_040, "count", "12,040"),
        (2.5, "count", "2.5"),
        (2.0, "count", "2"),
        (0, "seconds", "0 s"),
        (2.44, "seconds", "2.4 s"),
        (59, "seconds", "59 s"),
        (60, "seconds", "1 min"),
        (90, "seconds", "1 min 30 s"),
        (599.9, "seconds", "9 min 59 s"),
        (605, "seconds", "10 min"),
        (4230, "seconds", "1 h 10 min"),
        (200_000, "seconds", "2 d 7 h"),
        (0, "money", "$0.00"),
        (Decimal("1.2"), "money", "$1.20"),
        (0.0042, "money", "$0.0042"),
        (0.01, "money", "$0.0100"),
        (0.00004, "money", "<$0.0001"),
        (0, "cents", "$0.00"),
        (0.2, "cents", "$0.20"),
        (0.004, "cents", "<$0.01"),
        (1234.567, "money", "$1,234.57"),
        (42, "percent", "42%"),
        (41.7, "percent", "42%"),
        (0.25, "percent", "0.3%"),
        (12.5, "percent", "13%"),
        (2.5, "seconds", "2.5 s"),
        (100, "percent", "100%"),
        (None, "percent", "–"),
    ],
)
def test_numbers_are_written_in_their_unit(value, unit, text):
    assert format_value(value, unit) == text


def test_the_table_has_what_is_drawn_and_what_is_read():
    table = shown(COST)
    assert [text for _, text in table.cells] == [
        *("Day", "Cost", "The week before", "Both"),
        *("Mon 2 Nov 2026", "$1.20", "$0.00", "$1.20"),
        *("Tue 3 Nov 2026", "$1,204.50", "–", "$1,204.50"),
        *("Both days", "$1,205.70", "$0.00", "$1,205.70"),
    ]
    assert [name for name, _ in table.cells[:4] if "data-compare" in name] == [table.cells[2][0]]
    assert [name for name, _ in table.cells[:4] if "data-total" in name] == [table.cells[3][0]]
    assert [each.get("data-value") for each, _ in table.cells[4:12]] == [
        None,
        "1.2",
        "0",
        "1.2",
        None,
        "1204.5",
        None,
        "1204.5",
    ]
    assert table.cells[4][0]["data-short"] == "2 Nov"


def test_the_newest_row_comes_first_where_it_is_asked_for():
    newest = replace(COST, is_newest_first=True)
    assert [text for _, text in shown(newest).cells][4::4] == ["Tue 3 Nov 2026", "Mon 2 Nov 2026", "Both days"]
    assert [row[0] for row in newest.csv_rows()] == ["Day", "Tue 3 Nov 2026", "Mon 2 Nov 2026"]


HOSTILE = "\"><script>alert(1)</script><b a='"


def test_hostile_labels_are_text():
    chart = replace(
        COST,
        caption=HOSTILE,
        category=HOSTILE,
        columns=(ChartColumn(HOSTILE),),
        rows=(ChartRow(HOSTILE, (1,), HOSTILE),),
        totals=ChartRow(HOSTILE, (1,)),
    )
    table = shown(chart)
    assert [text for _, text in table.cells] == [HOSTILE, HOSTILE, HOSTILE, "$1.00", HOSTILE, "$1.00"]
    assert table.cells[2][0] == {"scope": "row", "data-short": HOSTILE}
    assert not {"script", "b"} & set(table.tags)


def test_rows_of_csv_have_plain_numbers_and_say_the_unit():
    assert list(COST.csv_rows()) == [
        ["Day", "Cost (USD)", "The week before (USD)", "Both (USD)"],
        ["Mon 2 Nov 2026", "1.2", "0", "1.2"],
        ["Tue 3 Nov 2026", "1204.5", "", "1204.5"],
    ]
    assert [next(replace(COST, unit=unit).csv_rows())[1] for unit in ("count", "seconds", "percent")] == [
        *("Cost", "Cost (seconds)", "Cost (%)"),
    ]


def test_no_spreadsheet_runs_a_label():
    formula = "=HYPERLINK(1)"
    chart = replace(
        COST, category=formula, columns=(ChartColumn(formula),), rows=(ChartRow(formula, (1,)),), totals=None
    )
    assert list(chart.csv_rows()) == [[f"'{formula}", f"'{formula} (USD)"], [f"'{formula}", "1"]]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.4, 0.0061, 0), ["$0.4000", "$0.0061", "$0.0000", "$0.4061"]),
        ((1.4, 0.0061, 0), ["$1.40", "$0.01", "$0.00", "$1.41"]),
        ((1.4, 0.001, None), ["$1.40", "<$0.01", "–", "$1.40"]),
    ],
)
def test_money_of_one_chart_has_one_precision(values, texts):
    rows = tuple(ChartRow(str(number), (value,)) for number, value in enumerate(values))
    total = ChartRow("Total", (sum(filter(None, values)),))
    cells = shown(Chart("cost", "Cost", "bars", "money", (ChartColumn("Cost"),), rows, totals=total)).cells
    assert [text for attributes, text in cells if attributes.get("class") == "numeric"][1:] == texts


@pytest.mark.parametrize("values", [(), (0, 0), (None, 0)])
def test_a_chart_without_a_number_says_so(values):
    rows = tuple(ChartRow(str(number), (value,)) for number, value in enumerate(values))
    chart = Chart("failed", "Failures", "bars", "count", (ChartColumn("Failed"),), rows)
    page = render_to_string("components/_chart.html", {"chart": chart})
    assert "<p>There is nothing to show for this period.</p>" in page
    assert "data-empty" in page
    assert ("<table" in page) == bool(values)


def test_a_chart_with_a_number_has_no_such_sentence():
    assert "nothing to show" not in render_to_string("components/_chart.html", {"chart": COST})
