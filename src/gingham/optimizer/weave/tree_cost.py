"""What a tree costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from gingham.core.arrays import Floats

Value = TypeVar("Value", float, Floats)


class Cost(Protocol):
    """The price of a tree, for numbers and for whole arrays of them.

    It grows with every argument; an empty tree costs something; two trees with the same edges are
    never cheaper apart.
    """

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """Edges per second, slides that its ranges span in all, rows per second -> the price."""
        ...


@dataclass(frozen=True, slots=True)
class Operations:
    """Aggregate operations per second: Guirguis et al. (CIKM 2011), Equation 1.

    Every row is added to a slice, every slice to as many windows as the overlap factor says.

    >>> Operations().tree(0.25, 6.0, rate=1.2)
    2.7
    """

    def tree(self, edge_rate: Value, overlap_factor: Value, rate: float) -> Value:
        """Rows, and slices times the windows they are in."""
        return edge_rate * overlap_factor + rate
