"""Union-find: items that become equal, one equality at a time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """Disjoint sets that grow together (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[T, T] = {}

    def find(self, item: T) -> T:
        """The representative of the item's set."""
        root = item
        while (parent := self._parents.setdefault(root, root)) != root:
            root = parent
        while item != root:
            self._parents[item], item = root, self._parents[item]
        return root

    def unite(self, one: T, other: T) -> bool:
        """Make one set of two; False if they are one already."""
        one, other = self.find(one), self.find(other)
        self._parents[other] = one
        return one != other

    def all(self) -> list[list[T]]:
        """Every set, in order of its first item."""
        found: dict[T, list[T]] = {}
        for item in self._parents:
            found.setdefault(self.find(item), []).append(item)
        return list(found.values())
