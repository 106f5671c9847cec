"""A chart as numbers: a page's table (`components/_chart.html`), which static/charts.js draws, and rows of CSV."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from console import clock
from console.spreadsheets import cell

Kind = Literal["bars", "stacked", "lines"]
Unit = Literal["count", "seconds", "money", "percent"]
Number = int | float | Decimal
# A number, or None where there is none; how it is written; and where it leads, "" for nowhere.
ChartCell = tuple[Number | None, str, str]

# Each series has a mark that can be told from the others without colour; static/charts.js has this many.
MOST_SERIES = 6
_UNITS_IN_CSV: dict[Unit, str] = {"count": "", "seconds": " (seconds)", "money": " (USD)", "percent": " (%)"}


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column of numbers, drawn as a series.

    `is_compare`: the same of the period before, drawn as a dashed line. `is_total`: in the table only.
    """

    name: str
    is_compare: bool = False
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One category: its label, and for each column a number that is not negative, or None where there is none.

    `short` stands below the axis instead of the label.
    """

    label: str
    values: tuple[Number | None, ...]
    short: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What `components/_chart.html` shows.

    `id` is unique on the page; `rows` are in the order of the axis, `category` says what they are. `unit` is that of
    all numbers: how many, seconds, US dollars, or per cent (42 for 42 %). `totals` ends the table. `urls` are where
    numbers lead, by row and column, the totals being the row behind the last. With
    `is_newest_first` the table begins with the last row. Raises ValueError where a row has other columns than the
    chart, or where there are more series than marks.
    """

    id: str
    caption: str
    kind: Kind
    unit: Unit
    columns: tuple[ChartColumn, ...]
    rows: tuple[ChartRow, ...]
    category: str = "Day"
    totals: ChartRow | None = None
    is_newest_first: bool = False
    urls: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(len(row.values) != len(self.columns) for row in self.body(with_totals=True)):
            raise ValueError(f"a row of the chart {self.id!r} has not {len(self.columns)} values")
        if sum(not column.is_compare and not column.is_total for column in self.columns) > MOST_SERIES:
            raise ValueError(f"the chart {self.id!r} has more than {MOST_SERIES} series")

    def cells(self) -> Iterator[tuple[ChartRow, list[ChartCell]]]:
        """Yield each row in the order of the table, and its cells."""
        numbered = list(enumerate(self.rows))
        for number, row in reversed(numbered) if self.is_newest_first else numbered:
            yield row, self._cells_of(row, number)

    def total_cells(self) -> list[ChartCell]:
        """Return those of the totals."""
        return self._cells_of(self.totals, len(self.rows)) if self.totals else []

    def _cells_of(self, row: ChartRow, number: int) -> list[ChartCell]:
        return [
            (value, format_value(value, self.unit), self.urls.get((number, column), ""))
            for column, value in enumerate(row.values)
        ]

    def body(self, *, with_totals: bool = False) -> tuple[ChartRow, ...]:
        """Return the rows in the order of the table."""
        rows = self.rows[::-1] if self.is_newest_first else self.rows
        return (*rows, self.totals) if with_totals and self.totals else rows

    def csv_rows(self) -> Iterator[list[str]]:
        """Yield the heading and each row as cells that no spreadsheet runs; numbers are plain, without their unit."""
        yield [cell(self.category), *(cell(each.name + _UNITS_IN_CSV[self.unit]) for each in self.columns)]
        for row in self.body():
            yield [cell(row.label), *("" if value is None else f"{value}" for value in row.values)]


def format_value(value: Number | None, unit: Unit) -> str:
    """Format a number of a chart: `1,204`, `1 h 10 min`, `$1.20`, `42%`; a dash for none."""
    if value is None:
        return "–"
    if unit == "seconds":
        return _format_seconds(float(value))
    if unit == "money":
        # A message to a model costs a fraction of a cent.
        return f"${value:,.4f}" if 0 < value < 0.01 else f"${value:,.2f}"
    if unit == "percent":
        return f"{_short(value)}%"
    return f"{value:,}" if isinstance(value, int) else _short(value)


def _format_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{_short(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    # Of a wait of minutes the seconds matter, of a longer one they do not.
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    return clock.format_span(timedelta(seconds=seconds))


def _short(value: Number) -> str:
    """Below ten with one decimal, unless it is 0."""
    return f"{value:,.1f}".removesuffix(".0") if value < 10 else f"{value:,.0f}"
