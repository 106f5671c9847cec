"""A memory of redacted texts: the digest of a text leads to its redacted form, the text itself is not kept."""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

_DIGEST_BYTES = 16


class RedactedMemo:
    """A bounded, thread-safe LRU. Digests are keyed per process, so that they cannot be matched with known texts."""

    def __init__(
        self, redact: Callable[[str], str], *, capacity: int, shortest: int, longest: int, characters: int = 8_000_000
    ) -> None:
        """Remember at most `capacity` texts of `shortest` to `longest` characters, of `characters` together."""
        self._redact = redact
        self._capacity = capacity
        self._shortest = shortest
        self._longest = longest
        self._room = characters
        self._key = secrets.token_bytes(32)
        self._redacted: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> str:
        """The redacted text, computed or remembered."""
        if not self._shortest <= len(text) <= self._longest:
            return self._redact(text)
        digest = self._digest(text)
        with self._lock:
            known = self._redacted.get(digest)
            if known is not None:
                self._redacted.move_to_end(digest)
                return known
        redacted = self._redact(text)
        with self._lock:
            if digest not in self._redacted:  # another thread may have been faster
                self._redacted[digest] = redacted
                self._room -= len(redacted)
            while self._redacted and (len(self._redacted) > self._capacity or self._room < 0):
                _, forgotten = self._redacted.popitem(last=False)
                self._room += len(forgotten)
        return redacted

    def __len__(self) -> int:
        """How many texts are remembered."""
        return len(self._redacted)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._room += sum(map(len, self._redacted.values()))
            self._redacted.clear()

    def _digest(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()
