"""Edge rates: the number of edges per tick of a union of residue classes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Self

from gingham.algebra.edges.classes import ResidueClass
from gingham.core.errors import QueryError

# Edges are computed with 64-bit integers; sums of two slides have to fit.
LONGEST_SLIDE = 1 << 62


class EdgeRate(float):
    """A number of edges per tick, with the algorithm that found it and its margin of error.

    >>> rate = EdgeRate(Fraction(44, 60), operations=60, how="bit set")
    >>> round(rate * 60, 9), rate.fraction, rate.exact, rate.how
    (44.0, Fraction(11, 15), True, 'bit set')
    """

    __slots__ = ("fraction", "how", "margin", "operations")

    fraction: Fraction | None  # if it was computed with integers
    how: str
    margin: float  # the true rate is at most this far away, with 99% confidence; 0 if exact
    operations: int

    def __new__(
        cls, value: Fraction | float, *, operations: int, how: str, margin: float = 0.0
    ) -> Self:
        self = super().__new__(cls, value)
        self.fraction = value if isinstance(value, Fraction) else None
        self.operations = operations
        self.how = how
        self.margin = margin
        return self

    @property
    def exact(self) -> bool:
        """Whether the edge rate was computed, not estimated: only rounding may be wrong."""
        return self.margin == 0

    def __getnewargs_ex__(self) -> tuple[tuple[Fraction | float], dict[str, object]]:
        value = float(self) if self.fraction is None else self.fraction
        keywords: dict[str, object] = {
            "operations": self.operations,
            "how": self.how,
            "margin": self.margin,
        }
        return (value,), keywords


def checked_classes(classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
    """Check residue classes (slide, residue), and bring residues into 0 <= residue < slide.

    >>> checked_classes([(5, -2), (3, 4)])
    ((5, 3), (3, 1))
    """
    valid: list[ResidueClass] = []
    for pair in classes:
        try:
            slide, residue = pair
            slide, residue = operator.index(slide), operator.index(residue)
        except (TypeError, ValueError):
            raise QueryError(
                f"{pair!r} is no residue class",
                "a class is a pair of whole numbers: a slide and a residue",
                "for example (300, 0); use a smaller unit of time for fractions",
            ) from None
        if not 0 < slide <= LONGEST_SLIDE:
            raise QueryError(
                f"a slide of {slide}",
                f"a slide is at least 1 and at most {LONGEST_SLIDE}",
                "for example (300, 0)",
            )
        valid.append((slide, residue % slide))
    return tuple(valid)
