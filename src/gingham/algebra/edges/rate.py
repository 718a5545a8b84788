"""How many edges there are per tick: the density of a union of residue classes."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Self

from gingham.algebra.edges.classes import ResidueClass
from gingham.core.errors import QueryError

# Edges are computed with 64-bit integers.
LONGEST = 1 << 62


class EdgeRate(float):
    """A number that knows where it comes from.

    >>> rate = EdgeRate(Fraction(44, 60), operations=60, how="bit set")
    >>> round(rate * 60, 9), rate.fraction, rate.exact, rate.how
    (44.0, Fraction(11, 15), True, 'bit set')
    """

    __slots__ = ("fraction", "how", "margin", "operations")

    fraction: Fraction | None  # if it was found with integers
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
        """Whether nothing but the last digits of a double may be wrong."""
        return self.margin == 0

    def __getnewargs_ex__(self) -> tuple[tuple[Fraction | float], dict[str, object]]:
        value = float(self) if self.fraction is None else self.fraction
        told: dict[str, object] = {
            "operations": self.operations,
            "how": self.how,
            "margin": self.margin,
        }
        return (value,), told


def checked(classes: Iterable[ResidueClass]) -> tuple[ResidueClass, ...]:
    """Classes of whole, positive slides, with residues brought into 0 <= residue < slide.

    >>> checked([(5, -2), (3, 4)])
    ((5, 3), (3, 1))
    """
    found: list[ResidueClass] = []
    for one in classes:
        try:
            slide, residue = one
            slide, residue = operator.index(slide), operator.index(residue)
        except (TypeError, ValueError):
            raise QueryError(
                f"{one!r} is no residue class",
                "a class is a pair of whole numbers: a slide and a residue",
                "for example (300, 0); use a smaller unit of time for fractions",
            ) from None
        if not 0 < slide <= LONGEST:
            raise QueryError(
                f"a slide of {slide}",
                f"a slide is at least 1 and at most {LONGEST}",
                "for example (300, 0)",
            )
        found.append((slide, residue % slide))
    return tuple(found)
