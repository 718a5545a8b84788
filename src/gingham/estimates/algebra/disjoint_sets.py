"""Union-find: disjoint sets of items that are united pair by pair."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """Union-find, of join attributes, relations, sketches; an unseen item is a set of its own."""

    def __init__(self) -> None:
        self._parents: dict[T, T] = {}

    def find(self, item: T) -> T:
        """The representative of the item's set in the union-find."""
        root = item
        while (parent := self._parents.setdefault(root, root)) != root:
            root = parent
        while item != root:
            self._parents[item], item = root, self._parents[item]
        return root

    def unite(self, one: T, other: T) -> bool:
        """Unite the sets of two items in the union-find; False if they are one set already."""
        one, other = self.find(one), self.find(other)
        self._parents[other] = one
        return one != other

    def all(self) -> list[list[T]]:
        """Every set of the union-find, in order of its first item."""
        sets: dict[T, list[T]] = {}
        for item in self._parents:
            sets.setdefault(self.find(item), []).append(item)
        return list(sets.values())
