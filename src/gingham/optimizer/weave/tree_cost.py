"""The cost of a tree of slices, as a function of its edge rate and overlap factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from gingham.core.arrays import Floats

Value = TypeVar("Value", float, Floats)


class Cost(Protocol):
    """The cost of a tree of slices, for single numbers and for arrays of trees.

    It grows with every argument, an empty tree costs something, and two trees with the same edges
    never cost less than one tree of both.
    """

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """The cost of a tree, from its edges per second, the sum of range / slide, and its rows."""
        ...


@dataclass(frozen=True, slots=True)
class Operations:
    """Aggregate operations per second: Guirguis et al. (CIKM 2011), Equation 1.

    Every row is added to one slice, and every slice to `overlap_factor` windows.

    >>> Operations().tree(0.25, 6.0, rate=1.2)
    2.7
    """

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """Rows per second, plus slices per second times the windows that each slice is in."""
        return edge_rate * overlap_factor + rate
