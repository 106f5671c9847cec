"""What a rule returns: the stretches of text that it explains, and what is put there."""

from collections.abc import Callable, Sequence

# Stands for text that an earlier rule has explained; no rule matches it.
BLANK = "\0"

# Start, end, and the mask that is put there; None keeps what is there. A plain tuple, because thousands are made.
Claim = tuple[int, int, str | None]
Rule = Callable[[str], Sequence[Claim]]


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set to look words up in."""
    return frozenset(text.split())


def holds_any(text: str, pieces: Sequence[str]) -> bool:
    """Whether one of the pieces stands in text. A loop, because any() over them takes twice as long."""
    for piece in pieces:  # noqa: SIM110
        if piece in text:
            return True
    return False


def blank(text: str, claims: Sequence[Claim]) -> str:
    """Text of the same length in which claimed stretches can no longer match; claims are in order."""
    if len(claims) == 1:
        start, end, _ = claims[0]
        return f"{text[:start]}{BLANK * (end - start)}{text[end:]}"
    pieces: list[str] = []
    done = 0
    for start, end, _ in claims:
        start = max(start, done)
        pieces += (text[done:start], BLANK * (end - start))
        done = max(end, done)
    pieces.append(text[done:])
    return "".join(pieces)
