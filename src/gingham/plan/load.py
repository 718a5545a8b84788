"""What is known, or assumed, of the rows of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gingham.logical.predicate import Attribute

Crowd = tuple[frozenset[Attribute], tuple[str, ...]]  # attributes with all their cuts, and keys


@dataclass(frozen=True, slots=True)
class Load:
    """How many rows there are, over how much event time, and how they spread.

    `crowds` tells how many different combinations of interval and key value would hold all rows
    if each held as many.
    """

    rows: float = 1e6
    seconds: float = 1e3
    groups: float = 1e3  # different values of a key
    counted: bool = False  # or assumed?
    crowds: Mapping[Crowd, float] = field(default_factory=dict[Crowd, float])

    @property
    def rate(self) -> float:
        """Rows per second of event time."""
        return self.rows / self.seconds
