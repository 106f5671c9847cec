"""What a worker caches for some seconds, so that what many requests ask is read once.

Only what may be a few seconds old; never who may see what.
"""

from collections.abc import Callable, Hashable, MutableMapping
from contextlib import AbstractContextManager
from threading import Condition
from typing import Any, Protocol, TypeVar, cast

from cachetools import TTLCache, cached

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Cached(Protocol[T_co]):
    """A function whose results are cached, as `cachetools` makes it."""

    cache: MutableMapping[Hashable, Any]
    cache_key: Callable[..., Hashable]
    cache_lock: AbstractContextManager[Any]

    def __call__(self, *asked: Hashable) -> T_co:
        """Return the cached result, or read it."""

    def cache_clear(self) -> None:
        """Drop all results."""


_all: list[Cached[Any]] = []


def cached_for(seconds: float, entries: int = 2048) -> Callable[[Callable[..., T]], Cached[T]]:
    """Decorate a function of hashable positional arguments; keeps the latest `entries` results.

    If several threads ask the same at once, one reads. Errors are not cached: the next call tries again.
    """

    def decorate(read: Callable[..., T]) -> Cached[T]:
        decorated = cast(Cached[T], cached(TTLCache(entries, seconds), condition=Condition())(read))
        _all.append(decorated)
        return decorated

    return decorate


def known(function: Cached[T], *asked: Hashable) -> T | None:
    """Return the cached result or None; never reads."""
    with function.cache_lock:
        return cast("T | None", function.cache.get(function.cache_key(*asked)))


def forget(function: Cached[Any], *asked: Hashable) -> None:
    """Drop one result, as this worker has just changed what it says."""
    with function.cache_lock:
        function.cache.pop(function.cache_key(*asked), None)


def forget_everything() -> None:
    """Drop every cached result: for tests, each of which has a database of its own."""
    for each in _all:
        each.cache_clear()
