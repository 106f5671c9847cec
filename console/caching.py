"""What a worker caches for some seconds, so that what many requests ask is read once.

Only what may be a few seconds old; never who may see what.
"""

from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Condition
from typing import Any, Generic, TypeVar

from cachetools import TTLCache, cached

T = TypeVar("T")

_all: "list[Cached[Any]]" = []


class Cached(Generic[T]):
    """A function whose results are cached; if several threads ask the same at once, one reads.

    Errors are not cached: the next call tries again.
    """

    def __init__(self, read: Callable[..., T], seconds: float, entries: int) -> None:
        self._cache: TTLCache[Hashable, T] = TTLCache(entries, seconds)
        self._condition = Condition()
        self._read = cached(self._cache, key=lambda *asked: asked, condition=self._condition)(read)
        update_wrapper(self, read)
        _all.append(self)

    def __call__(self, *asked: Hashable) -> T:
        """Return the cached result, or read it."""
        return self._read(*asked)

    def known(self, *asked: Hashable) -> T | None:
        """Return the cached result or None; never reads."""
        with self._condition:
            return self._cache.get(asked)

    def forget(self, *asked: Hashable) -> None:
        """Drop one result, as this worker has just changed what it says."""
        with self._condition:
            self._cache.pop(asked, None)

    def forget_all(self) -> None:
        """Drop all results."""
        with self._condition:
            self._cache.clear()


def cached_for(seconds: float, entries: int = 2048) -> Callable[[Callable[..., T]], Cached[T]]:
    """Decorate a function of hashable positional arguments; keeps the latest `entries` results."""
    return lambda read: Cached(read, seconds, entries)


def forget_everything() -> None:
    """Drop every cached result: for tests, each of which has a database of its own."""
    for each in _all:
        each.forget_all()
