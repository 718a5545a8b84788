"""A vertex of the joint graph: one sketch that is computed and stored."""

from __future__ import annotations

from dataclasses import dataclass

# A linear combination of sketches: numbers of vertices, and how often each is added.
Factor = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A sketch of a relation: its rows by some attributes, each attribute with a xi family.

    It sums `measure`, or counts rows without one. A row of a fragment counts as often as
    `coefficients` says, any other row `otherwise` times. Checkpoints hold a hash of how a vertex
    is printed (`SharingPlan.fingerprint`): its names and the order of its fields must stay.
    """

    number: int
    relation: str
    attributes: tuple[str, ...]
    families: tuple[int, ...]
    measure: str | None = None
    coefficients: tuple[tuple[int, int], ...] = ()
    otherwise: int = 1
