"""No cell of an export is run by a spreadsheet, whatever a column holds and wherever the spreadsheet cuts it."""

import csv
import io
import json
import time
import unicodedata
from dataclasses import fields, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.audit.export.rows import COLUMNS, ExportRow
from console.exports import Csv, JsonLines
from console.spreadsheets import cell

SIGNS = "=+-@|%＝＋－＠﹢﹣﹦﹫−"
BEFORE = [
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\r\n",
    '"',
    "'",
    "“",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "\u202e",
    "\u3000",
    "\x00",
    "; ",
]
# Texts that are made for it: signs behind whatever may stand before them, among other things.
EVIL = st.lists(
    st.sampled_from([*SIGNS, *BEFORE, ";", ",", "cmd|' /C calc'!A0", "HYPERLINK(1)", "a", "1"]), max_size=12
).map("".join)
TEXTS = EVIL | st.text() | st.tuples(st.sampled_from(BEFORE), st.sampled_from(SIGNS), st.text()).map("".join)
ROW = ExportRow("t", "route", "s", "a", "r", "success", "n", "c", "t", "k", None, "i", "e")


def is_run(shown: str, *, whole: bool = True) -> bool:
    """Whether a spreadsheet could take a cell for a formula; one that begins with an apostrophe is text.

    `whole`: it is a cell of ours, which begins with no tab or line end either; else a part of one, cut elsewhere.
    """
    if shown.startswith("'"):
        return False
    for char in shown:
        if whole and char in "\t\r\n":
            return True
        if char.isspace() or char in "\"'`“”‘’«»" or unicodedata.category(char) in ("Cc", "Cf"):
            continue
        return unicodedata.normalize("NFKC", char)[:1] in tuple("=+-@|%−")
    return False


def cut(content: bytes, separator: str) -> list[str]:
    """All cells of a file as a reader sees them that cuts at that separator."""
    text = io.StringIO(content.decode("utf-8-sig"), newline="")
    return [each for row in csv.reader(text, delimiter=separator) for each in row]


@pytest.mark.parametrize("column", COLUMNS)
@given(text=TEXTS)
@example(text="\t=1")
@example(text='a";=HYPERLINK("http://x")')
@example(text='a\n"=1+1"')
@example(text="＝1")
def test_no_column_can_hold_a_formula(column, text):
    row = replace(ROW, **{column: text})
    content = Csv(COLUMNS).head() + Csv(COLUMNS).rows([row, ROW])
    read = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert len(read) == 2
    assert set(read[0]) == set(COLUMNS)
    for separator in ",;\t":
        for shown in cut(content, separator):
            assert not is_run(shown, whole=separator == ","), (separator, shown)


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\ta", "\ra", "\na", " =1", '"=1', "＝1", "\u200b=1", "'=1"])
def test_the_usual_ways_in_are_shut_by_an_apostrophe(text):
    assert is_run(text) or text.startswith("'")
    assert cell(text) == f"'{text}"


@given(st.text())
def test_a_cell_reads_as_its_text_but_for_apostrophes_and_controls(text):
    plain = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf"))
    assert cell(plain).replace("'", "") == plain.replace("'", "")


@pytest.mark.parametrize(
    "text", ["Amira took over", "ci-aaa-001#pi#req1#***-***-1234", "2026-11-20T12:00:00.000Z", "***@***"]
)
def test_harmless_cells_stay_as_they_are(text):
    assert cell(text) == text


@given(st.text())
def test_no_control_of_direction_is_left_in_either_format(text):
    controls = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    row = replace(ROW, note=text + "\u202e", payload={"text": text + "\u2067"})
    for made in (Csv(COLUMNS), JsonLines(COLUMNS)):
        assert not controls & set(made.rows([row]).decode())


@given(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_json_line_is_one_line_and_says_what_the_row_says(text, payload):
    row = replace(ROW, what_happened=text, payload=payload)
    content = JsonLines(COLUMNS).rows([row, ROW]).decode()
    lines = content.splitlines()
    assert len(lines) == 2
    read = json.loads(lines[0])
    assert list(read) == [each.name for each in fields(ExportRow)]
    assert read["what_happened"] == text.encode("utf-8", "replace").decode()


def test_excel_is_told_that_it_is_utf_8():
    assert Csv(COLUMNS).head().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("text", ["\t" * 100_000, ";\t" * 50_000, "'" * 100_000, "=;" * 50_000, "\n" * 99_999 + "x"])
def test_hostile_cells_take_no_time(text):
    began = time.process_time()
    cell(text)
    assert time.process_time() - began < 2
