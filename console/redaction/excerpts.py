"""Short forms of redacted text."""

from console.redaction.masks import MASK

ELLIPSIS = "…"


def cut(redacted: str, length: int) -> str:
    """At most length characters of redacted text, the ellipsis included; a mask is kept whole or left out."""
    if len(redacted) <= length:
        return redacted
    if length < 1:
        return ""
    end = length - len(ELLIPSIS)
    # No mask is longer than this, so none that the cut goes through begins earlier.
    longest = len("***-***-0000")
    for found in MASK.finditer(redacted, max(0, end - longest)):
        if found.start() >= end:
            break
        if found.end() > end:
            end = found.start()
            break
    return redacted[:end].rstrip() + ELLIPSIS
