"""The chain: each line bears a keyed digest of itself and of all lines before it, in this file and the ones before.

A line is `{"line":17,"trail":"…","entry":{…},"chain":"…"}`: JSON, whose last member covers every byte before it.
"""

import hmac
import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from console.audit.archive.keys import ArchiveKey
from console.refs import as_letters
from console.trees import text_of

# DynamoDB's items have 400 KB, of which JSON's escapes make at most six times as much.
MAX_LINE_BYTES = 4 << 20
_NUMBER = re.compile(rb'\{"line":(\d{1,15}),"trail":"[a-p]{16}","entry":\{')
_SEAL = re.compile(rb'(?P<body>.*),"chain":"(?P<value>[a-p]{64})"\}\n', re.DOTALL)


class Chain:
    """Where a chain stands: `value` after `lines` lines. The header of its archive is what it begins with."""

    def __init__(self, key: ArchiveKey, header: bytes) -> None:
        self._key = key
        self.value = as_letters(key.mac(b"begin", header))
        self.lines = 0

    def seal(self, trail: str, entry: dict[str, Any]) -> bytes:
        """The next line, with its line feed. `trail` is the pseudonym of the entry's trail."""
        text = json.dumps(entry, separators=(",", ":"), sort_keys=True, default=text_of)
        body = f'{{"line":{self.lines + 1},"trail":"{trail}","entry":{text}'.encode()
        self.value, self.lines = self._next(body), self.lines + 1
        return body + f',"chain":"{self.value}"}}\n'.encode()

    def check(self, line: bytes) -> "Broken | None":
        """Whether that is the next line; None if it is. Goes on after what the line says of itself."""
        sealed, number = _SEAL.fullmatch(line), _NUMBER.match(line)
        if sealed is None or number is None:
            self.lines += 1
            return Broken(How.UNREADABLE, self.lines)
        said, expected = int(number[1]), self.lines + 1
        value = sealed["value"].decode()
        is_whole = hmac.compare_digest(self._next(sealed["body"]), value)
        # After a break what follows is judged by what the line says, so that one edit is one finding.
        self.value, self.lines = value, said
        if is_whole and said == expected:
            return None
        how = How.CHANGED if said == expected else How.MISSING if said > expected else How.MISPLACED
        return Broken(how, expected, said)

    def stand_at(self, value: str, lines: int) -> None:
        """Go on from a known place, after a file that is not whole."""
        self.value, self.lines = value, lines

    def head(self, rest: bytes) -> str:
        """The value that closes the chain over everything else that an archive says of itself."""
        return as_letters(self._key.mac(b"head", self.value.encode(), rest))

    def _next(self, body: bytes) -> str:
        return as_letters(self._key.mac(b"line", self.value.encode(), body))


class How(Enum):
    """What is wrong with a line."""

    UNREADABLE = auto()
    CHANGED = auto()
    MISSING = auto()
    MISPLACED = auto()


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that does not follow on the one before. `expected` is its number in the archive, `said` what it says."""

    how: How
    expected: int
    said: int = 0

    @property
    def words(self) -> str:
        """What that means."""
        match self.how:
            case How.UNREADABLE:
                return "this is not a line of an archive"
            case How.MISSING:
                last = self.said - 1
                which = f"entry {last} is" if last == self.expected else f"entries {self.expected} to {last} are"
                return f"{which} missing before this line"
            case How.MISPLACED:
                return f"entry {self.said} stands where entry {self.expected} should be: moved, or twice"
            case _:
                return f"entry {self.expected} was changed, or the key is different"
