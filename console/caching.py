"""Short-lived caches in one worker, for reads that many requests repeat.

Use them only for data that may be a few seconds old, never for permissions or scope.
"""

from collections.abc import Callable, Hashable, MutableMapping
from contextlib import AbstractContextManager
from threading import Condition, Lock
from typing import Any, Protocol, TypeVar, cast

from cachetools import TTLCache, cached

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Cached(Protocol[T_co]):
    """A cached function, as `cachetools` returns it."""

    cache: MutableMapping[Hashable, Any]
    cache_key: Callable[..., Hashable]
    cache_lock: AbstractContextManager[Any]

    def __call__(self, *asked: Hashable) -> T_co:
        """Return the cached result, or call the function."""

    def cache_clear(self) -> None:
        """Drop all results."""


class _Clearable(Protocol):
    def cache_clear(self) -> None: ...


_all: list[_Clearable] = []


class RecentKeys:
    """A set that forgets each key some seconds after it was added."""

    def __init__(self, seconds: float, entries: int = 2048) -> None:
        self._keys: TTLCache[Hashable, bool] = TTLCache(entries, seconds)
        self._lock = Lock()
        _all.append(self)

    def add(self, key: Hashable) -> None:
        """Add a key, or keep it for longer."""
        with self._lock:
            self._keys[key] = True

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._keys

    def cache_clear(self) -> None:
        """Forget all keys."""
        with self._lock:
            self._keys.clear()


def cached_for(seconds: float, entries: int = 2048) -> Callable[[Callable[..., T]], Cached[T]]:
    """Return a decorator that caches up to `entries` results of a function of hashable positional arguments.

    If several threads make the same call, one of them runs it. Errors are not cached.
    """

    def decorate(read: Callable[..., T]) -> Cached[T]:
        decorated = cast(Cached[T], cached(TTLCache(entries, seconds), condition=Condition())(read))
        _all.append(decorated)
        return decorated

    return decorate


def cached_result(function: Cached[T], *asked: Hashable) -> T | None:
    """Return the cached result, or None; never call the function."""
    with function.cache_lock:
        return cast("T | None", function.cache.get(function.cache_key(*asked)))


def remember(function: Cached[T], result: T, *asked: Hashable) -> None:
    """Store a result as if the function had returned it, because it was read together with others."""
    with function.cache_lock:
        function.cache[function.cache_key(*asked)] = result


def invalidate(function: Cached[Any], *asked: Hashable) -> None:
    """Drop one cached result, because this worker has just changed its source."""
    with function.cache_lock:
        function.cache.pop(function.cache_key(*asked), None)


def invalidate_all() -> None:
    """Drop every cached result; for tests, which each have their own database."""
    for each in _all:
        each.cache_clear()
