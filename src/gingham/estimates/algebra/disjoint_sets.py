"""Union-find: disjoint sets of items that are united pair by pair."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """Disjoint sets; an item that was not seen yet is a set of its own."""

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
        """Unite the sets of two items; False if they are in one set already."""
        one, other = self.find(one), self.find(other)
        self._parents[other] = one
        return one != other

    def all(self) -> list[list[T]]:
        """Every set, in order of its first item."""
        sets: dict[T, list[T]] = {}
        for item in self._parents:
            sets.setdefault(self.find(item), []).append(item)
        return list(sets.values())
