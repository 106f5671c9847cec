"""Texts as cells that no spreadsheet runs.

A spreadsheet runs a cell that begins like a formula. Some skip blanks, quotes and invisible characters before that, or
read full-width signs as plain ones. Where the list separator is a semicolon (most of Europe), they cut lines at the
semicolons, tabs and line ends *inside* our cells, so that what follows one of these begins a cell too.
"""

import re

from console.trees import spelled_out

# What begins a formula; `|` and `%` do in some. Then what full-width, small and superscript forms stand for them.
_SIGNS = "=+\\-@|%" + "＝＋－＠｜％" + "﹦﹢﹣﹫﹪" + "⁼⁺⁻₌₊₋" + "−‐‑‒–—"
# Skipped before a sign: blanks of every kind, quotes, and characters that are not seen.
_SKIPPED = (
    r"\s\x00-\x1f\x7f-\x9f\xad"
    "'\"`´‘’‚‛“”„‟«»‹›＇＂｀"
    "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffc"
)
_SEPARATORS = ";\t\r\n\u2028\u2029"
_AT_START = re.compile(rf"[{_SKIPPED}]*(?:[{_SIGNS}]|(?<=[\t\r\n\u2028\u2029]))")
# Before a sign everything that may be skipped, once and whole: tried from its beginning only, it is linear.
_BEFORE_SIGN = re.compile(rf"(?<![{_SKIPPED};])[{_SKIPPED};]++(?=[{_SIGNS}])")
_SEPARATOR = re.compile(f"[{_SEPARATORS}]")
# NUL ends a cell for some readers; the others are not seen. Line ends and tabs stay.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def cell(text: str) -> str:
    """The text as a cell, with an apostrophe wherever a formula could begin. Linear in time.

    Control characters, those of direction too, are spelled out as in JSON.
    """
    text = _CONTROLS.sub(lambda control: f"\\u{ord(control.group()):04x}", spelled_out(text))
    text = _BEFORE_SIGN.sub(lambda before: _SEPARATOR.sub(r"\g<0>'", before.group()), text)
    return f"'{text}" if _AT_START.match(text) else text
