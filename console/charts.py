"""Charts: the table of a page (`components/_chart.html`), which static/charts.js draws, and its rows as CSV."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from console import clock
from console.spreadsheets import cell
from console.trees import round_half_up

Kind = Literal["bars", "stacked", "lines"]
Unit = Literal["count", "seconds", "money", "cents", "percent"]
Number = int | float | Decimal
# The number (None if there is none), its formatted text, and the URL it links to ("" for no link).
ChartCell = tuple[Number | None, str, str]

# static/charts.js has this many marks, which can be told apart without colour.
MOST_SERIES = 6
_UNITS_IN_CSV: dict[Unit, str] = {
    "count": "",
    "seconds": " (seconds)",
    "money": " (USD)",
    "cents": " (USD)",
    "percent": " (%)",
}


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """One column of numbers, drawn as a series.

    `is_compare`: the same series for the previous period, drawn as a dashed line. `is_total`: shown in the table only.
    """

    name: str
    is_compare: bool = False
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One category: its label, and for each column a non-negative number, or None for no value.

    `short` replaces the label below the axis, `iso` (a day, or an interval of days) in files.
    """

    label: str
    values: tuple[Number | None, ...]
    short: str = ""
    iso: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """The chart that `components/_chart.html` shows.

    `id` is unique on the page. `rows` are in the order of the axis; `category` is the heading of their labels. `unit`
    applies to all numbers: a count, seconds, US dollars (`money` or `cents`), or percent (42 for 42%). `empty` is the
    sentence that replaces the drawing if no number is above 0. `totals` is the last row of the
    table. `urls` maps a row and column index to a link; the totals have the index after the last row. With
    `is_newest_first` the table begins with the last row. Raises ValueError if a row does not have one value per
    column, or if there are more series than marks.
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
    empty: str = "There is nothing to show for this period."

    def __post_init__(self) -> None:
        if any(row is not None and len(row.values) != len(self.columns) for row in (*self.rows, self.totals)):
            raise ValueError(f"a row of the chart {self.id!r} has not {len(self.columns)} values")
        if sum(not column.is_compare and not column.is_total for column in self.columns) > MOST_SERIES:
            raise ValueError(f"the chart {self.id!r} has more than {MOST_SERIES} series")

    @property
    def is_empty(self) -> bool:
        """Whether no number is above 0, so that there is nothing to draw."""
        return not any(value for row in self.rows for value in row.values)

    def cells(self) -> Iterator[tuple[ChartRow, list[ChartCell]]]:
        """Yield each row and its cells, in the order of the table."""
        largest = self._largest
        for number, row in self._numbered_rows():
            yield row, self._cells_of(row, number, largest)

    def total_cells(self) -> list[ChartCell]:
        """Return the cells of the totals row; empty without one."""
        return self._cells_of(self.totals, len(self.rows), self._largest) if self.totals else []

    @property
    def _largest(self) -> Number | None:
        rows = (*self.rows, self.totals) if self.totals else self.rows
        return max((value for row in rows for value in row.values if value is not None), default=None)

    def _cells_of(self, row: ChartRow, number: int, largest: Number | None) -> list[ChartCell]:
        return [
            (value, format_value(value, self.unit, largest), self.urls.get((number, column), ""))
            for column, value in enumerate(row.values)
        ]

    def _numbered_rows(self) -> list[tuple[int, ChartRow]]:
        """Return the rows in the order of the table, each with its index on the axis."""
        numbered = list(enumerate(self.rows))
        return numbered[::-1] if self.is_newest_first else numbered

    def csv_rows(self) -> Iterator[list[str]]:
        """Yield the heading and each row, safe from formula injection; numbers are plain, without their unit."""
        yield [cell(self.category), *(cell(each.name + _UNITS_IN_CSV[self.unit]) for each in self.columns)]
        for _, row in self._numbered_rows():
            yield [cell(row.iso or row.label), *("" if value is None else f"{value}" for value in row.values)]


def format_value(value: Number | None, unit: Unit, largest: Number | None = None) -> str:
    """Format a number of a chart as `1,204`, `1 h 10 min`, `$1.20` or `42%`, and None as a dash.

    All `money` shown together has the same precision, that of its `largest` amount: whole cents from one dollar on,
    four decimals below, because one message to a model costs a fraction of a cent. `cents` are always whole cents.
    """
    if value is None:
        return "–"
    if unit == "seconds":
        return _format_seconds(float(value))
    if unit in ("money", "cents"):
        decimals = 4 if unit == "money" and 0 < (largest or value) < 1 else 2
        least = Decimal(10) ** -decimals
        return f"<${least}" if 0 < value < least / 2 else f"${value:,.{decimals}f}"
    if unit == "percent":
        return f"{_short(value)}%"
    return f"{value:,}" if isinstance(value, int) else _short(value)


def _format_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{_short(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    # Seconds matter only in a wait of a few minutes.
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    return clock.format_span(timedelta(seconds=seconds))


def _short(value: Number) -> str:
    """Format with one decimal below 10, unless it is 0."""
    return f"{round_half_up(value, 1):,}".removesuffix(".0") if value < 10 else f"{round_half_up(value):,}"
