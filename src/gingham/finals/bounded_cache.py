"""Results that are kept for whoever asks next, within a bound."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, cast


class Sized(Protocol):
    """A result that knows how large it is."""

    @property
    def size(self) -> int:
        """About how many numbers it keeps."""
        ...


Result = TypeVar("Result", bound=Sized)


class Kept:
    """Results by name, up to a total size; those used longest ago go first.

    >>> import numpy as np
    >>> kept = Kept(most=10)
    >>> first = kept.get("a", lambda: np.zeros(6))
    >>> kept.get("a", lambda: np.ones(6)) is first
    True
    >>> kept.get("b", lambda: np.ones(6)).sum()
    np.float64(6.0)
    >>> kept.get("a", lambda: np.ones(6)) is first
    False
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: dict[Hashable, Sized] = {}
        self._size = 0

    def get(self, name: Hashable, make: Callable[[], Result]) -> Result:
        """The result of this name, made if it is not there."""
        found = self._results.pop(name, None)
        if found is None:
            found = make()
            self._size += found.size
        self._results[name] = found  # the one used last stands last
        while self._size > self._most and len(self._results) > 1:
            self._size -= self._results.pop(next(iter(self._results))).size
        return cast("Result", found)
