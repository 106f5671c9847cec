"""The quoted text at the end of an email, which pages fold. No I/O; the stored text stays whole."""

from dataclasses import replace

import quotequail

from conversations.records import Block, Message, Speaker

# The library tries each pattern on each line, which takes longer with a line's length. An introduction is short, and
# comes after the answer; it has one address.
LONGEST_LINE, MOST_LINES, MOST_BRACKETS = 200, 200, 2


def fold_quotes(message: Message) -> Message:
    """Return a customer's email with its quoted text apart, so that a page can fold it; any other message as it is."""
    if message.speaker is not Speaker.CUSTOMER:
        return message
    blocks = tuple(_folded(block) if block.kind == "text" else block for block in message.blocks)
    return replace(message, blocks=blocks) if blocks != message.blocks else message


def _folded(block: Block) -> Block:
    lines = block.text.split("\n")
    at = quote_begins(lines)
    shown, quoted = ("\n".join(part).strip("\r\n") for part in (lines[:at], lines[at:]))
    # A message that only quotes is shown as it is.
    return replace(block, text=shown, quoted=quoted) if shown.strip() and quoted.strip() else block


def quote_begins(lines: list[str]) -> int:
    """Return the index of the first line of the quoted text with which a text ends; their number if it has none.

    It begins where a mail program introduces it ("On Monday, Lee wrote:"), or with the last lines that all have a
    quotation mark (RFC 3676). Answers between or below the quoted lines are never part of it. Linear in the text.
    """
    known = [line.rstrip("\r") if _may_introduce(line) else line[:1] or "…" for line in lines]
    searched = known[:MOST_LINES]
    _, *quoted = quotequail.quote("\n".join(searched), limit=MOST_LINES + 1, quote_intro_line=True)
    introduced = len(searched) - sum(part.count("\n") + 1 for _, part in quoted) if quoted else len(lines)
    marked = len(lines)
    while marked and (known[marked - 1].startswith(">") or not known[marked - 1].strip()):
        marked -= 1
    while marked < len(lines) and not known[marked].strip():
        marked += 1
    if introduced < marked and _has_answer_below(known[introduced:]):
        return marked
    return min(introduced, marked)


def _may_introduce(line: str) -> bool:
    return len(line) <= LONGEST_LINE and line.count("<") <= MOST_BRACKETS


def _has_answer_below(quoted: list[str]) -> bool:
    """Return whether lines without a mark follow marked ones: the customer answers between or below these."""
    first = next((number for number, line in enumerate(quoted) if line.startswith(">")), len(quoted))
    return any(line.strip() and not line.startswith(">") for line in quoted[first:])
