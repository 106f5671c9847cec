"""Escaping of texts as spreadsheet cells, against formula injection.

A spreadsheet runs a cell that begins like a formula. Some skip blanks, quotes and invisible characters before that, or
read full-width signs as plain ones. Where the list separator is a semicolon (most of Europe), they split lines at the
semicolons, tabs and line ends *inside* our cells, so that the text after one of these begins a cell too.
"""

import re

from console.trees import spelled_out

# Characters that begin a formula (`|` and `%` in some programs), then their full-width, small and superscript forms.
_SIGNS = "=+\\-@|%" + "＝＋－＠｜％" + "﹦﹢﹣﹫﹪" + "⁼⁺⁻₌₊₋" + "−‐‑‒–—"
# Skipped before a sign: blanks of every kind, quotes, and invisible characters.
_SKIPPED = (
    r"\s\x00-\x1f\x7f-\x9f\xad"
    "'\"`´‘’‚‛“”„‟«»‹›＇＂｀"
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffc"
)
_SEPARATORS = ";\t\r\n\u2028\u2029"
_AT_START = re.compile(rf"[{_SKIPPED}]*(?:[{_SIGNS}]|(?<=[\t\r\n\u2028\u2029]))")
# A whole run of skippable characters before a sign, matched only from its beginning, so that the search is linear.
_BEFORE_SIGN = re.compile(rf"(?<![{_SKIPPED};])[{_SKIPPED};]++(?=[{_SIGNS}])")
_SEPARATOR = re.compile(f"[{_SEPARATORS}]")
# NUL ends a cell for some readers; the others are invisible. Line ends and tabs stay.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def cell(text: str) -> str:
    """Return the text as a cell, with an apostrophe wherever a formula could begin. Linear in time.

    Control characters, including bidirectional ones, are spelled out as in JSON.
    """
    text = _CONTROLS.sub(lambda control: f"\\u{ord(control.group()):04x}", spelled_out(text))
    text = _BEFORE_SIGN.sub(lambda before: _SEPARATOR.sub(r"\g<0>'", before.group()), text)
    return f"'{text}" if _AT_START.match(text) else text
