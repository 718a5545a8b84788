"""A vertex of the joint graph: one sketch that is kept."""

from __future__ import annotations

from dataclasses import dataclass

Factor = tuple[tuple[int, int], ...]  # vertices and how often each is added


@dataclass(frozen=True, slots=True)
class Vertex:
    """A sketch to keep: of which rows, on which attributes, with which xi families.

    A row of a fragment counts as often as `coefficients` says, any other row `otherwise` times.
    """

    number: int
    relation: str
    attributes: tuple[str, ...]
    families: tuple[int, ...]
    measure: str | None = None
    coefficients: tuple[tuple[int, int], ...] = ()
    otherwise: int = 1
