"""What a rule returns: the stretch of text that it explains, and what is put there."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

# Stands for text that an earlier rule has explained; no rule matches it.
BLANK = "\0"


class Claim(NamedTuple):
    """A stretch of the decoded text; replacement None keeps what is there."""

    start: int
    end: int
    replacement: str | None = None


Rule = Callable[[str], Iterable[Claim]]


def blank(text: str, claims: Sequence[Claim]) -> str:
    """Text of the same length in which claimed stretches can no longer match; claims are in order."""
    pieces: list[str] = []
    end = 0
    for claim in claims:
        start = max(claim.start, end)
        pieces += (text[end:start], BLANK * (claim.end - start))
        end = max(claim.end, end)
    pieces.append(text[end:])
    return "".join(pieces)
