"""What a worker caches for some seconds, so that what many requests ask is read once.

Only what may be a little old: who may see what is never among it.
"""

from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Condition
from typing import Any, Generic, TypeVar

from cachetools import TTLCache, cached

T = TypeVar("T")

_all: "list[Cached[Any]]" = []


class Cached(Generic[T]):
    """A function whose answers are cached; of several threads that ask the same at once, one reads.

    Errors are not cached: whoever asks next tries again.
    """

    def __init__(self, read: Callable[..., T], seconds: float, entries: int) -> None:
        self._cache: TTLCache[Hashable, T] = TTLCache(entries, seconds)
        self._condition = Condition()
        self._read = cached(self._cache, key=lambda *asked: asked, condition=self._condition)(read)
        update_wrapper(self, read)
        _all.append(self)

    def __call__(self, *asked: Hashable) -> T:
        """The answer: a cached one, or a new one."""
        return self._read(*asked)

    def known(self, *asked: Hashable) -> T | None:
        """The cached answer, or None: never reads."""
        with self._condition:
            return self._cache.get(asked)

    def forget(self, *asked: Hashable) -> None:
        """Ask anew the next time: this worker has just changed it."""
        with self._condition:
            self._cache.pop(asked, None)

    def forget_all(self) -> None:
        """Ask everything anew."""
        with self._condition:
            self._cache.clear()


def cached_for(seconds: float, entries: int = 2048) -> Callable[[Callable[..., T]], Cached[T]]:
    """Decorator for a function of hashable positional arguments; the latest `entries` answers are kept."""
    return lambda read: Cached(read, seconds, entries)


def forget_everything() -> None:
    """As after a start: for tests, each of which has a database of its own."""
    for each in _all:
        each.forget_all()
