"""A cache of bounded size that forgets the least recently used results."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, cast


class Sized(Protocol):
    """A result with a size, so that a cache of such results can be bounded."""

    @property
    def size(self) -> int:
        """The approximate number of array elements, by which the cache is bounded."""
        ...


Result = TypeVar("Result", bound=Sized)


class BoundedCache:
    """Results by name, up to a total size; the least recently used are dropped first.

    >>> import numpy as np
    >>> cache = BoundedCache(most=10)
    >>> first = cache.get("a", lambda: np.zeros(6))
    >>> cache.get("a", lambda: np.ones(6)) is first
    True
    >>> cache.get("b", lambda: np.ones(6)).sum()
    np.float64(6.0)
    >>> cache.get("a", lambda: np.ones(6)) is first
    False
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: dict[Hashable, Sized] = {}
        self._size = 0

    def get(self, name: Hashable, make: Callable[[], Result]) -> Result:
        """The cached result of this name; if it is not in the cache, `make` computes it."""
        result = self._results.pop(name, None)
        if result is None:
            result = make()
            self._size += result.size
        self._results[name] = result  # the most recently used one stands last
        while self._size > self._most and len(self._results) > 1:
            self._size -= self._results.pop(next(iter(self._results))).size
        return cast("Result", result)
