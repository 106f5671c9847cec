"""The chain: each line carries a keyed digest of itself and of all lines before it, in this and earlier files.

A line is the JSON `{"line":17,"trail":"…","entry":{…},"chain":"…"}`, whose last member covers every byte before it.
"""

import hmac
import json
import re
from typing import Any

from console.audit.archive.keys import ArchiveKey
from console.refs import as_letters
from console.trees import text_of

# A DynamoDB item has at most 400 KB, and JSON escapes make it at most six times as long.
MAX_LINE_BYTES = 4 << 20
_NUMBER = re.compile(rb'\{"line":(\d{1,15}),"trail":"[a-p]{16}","entry":\{')
_SEAL = re.compile(rb'(?P<body>.*),"chain":"(?P<value>[a-p]{64})"\}\n', re.DOTALL)


class Chain:
    """A chain that begins with its archive's header. `value` is its digest after `lines` lines."""

    def __init__(self, key: ArchiveKey, header: bytes) -> None:
        self._key = key
        self.value = as_letters(key.mac(b"begin", header))
        self.lines = 0

    def seal(self, trail: str, entry: dict[str, Any]) -> bytes:
        """Append an entry and return its line, with the line feed. `trail` is the pseudonym of the entry's trail."""
        text = json.dumps(entry, separators=(",", ":"), sort_keys=True, default=text_of)
        body = f'{{"line":{self.lines + 1},"trail":"{trail}","entry":{text}'.encode()
        self.value, self.lines = self._next(body), self.lines + 1
        return body + f',"chain":"{self.value}"}}\n'.encode()

    def check(self, line: bytes) -> str:
        """Describe what is wrong with the next line ("" if nothing), then continue from the number and digest in it."""
        sealed, number = _SEAL.fullmatch(line), _NUMBER.match(line)
        if sealed is None or number is None:
            self.lines += 1
            return "this line is not from an archive"
        said, expected = int(number[1]), self.lines + 1
        value = sealed["value"].decode()
        is_whole = hmac.compare_digest(self._next(sealed["body"]), value)
        # After a break, continue from the line's own digest, so that one edit is one finding.
        self.value, self.lines = value, said
        if is_whole and said == expected:
            return ""
        if said == expected:
            return f"entry {expected} was changed, or the key is different"
        if said < expected:
            return f"entry {said} is where entry {expected} should be: it was moved or repeated"
        which = f"entry {expected} is" if said == expected + 1 else f"entries {expected} to {said - 1} are"
        return f"{which} missing before this line"

    def stand_at(self, value: str, lines: int) -> None:
        """Continue from a known position, after a damaged file."""
        self.value, self.lines = value, lines

    def head(self, rest: bytes) -> str:
        """Return the digest that closes the chain over the rest of the manifest."""
        return as_letters(self._key.mac(b"head", self.value.encode(), rest))

    def _next(self, body: bytes) -> str:
        return as_letters(self._key.mac(b"line", self.value.encode(), body))
