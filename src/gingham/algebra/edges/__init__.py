"""Edges of windows as residue classes: where slices begin and end, and how many there are."""

from gingham.algebra.edges.classes import (
    ResidueClass,
    composite_period,
    edges_between,
    normalized,
    pane_length,
)
from gingham.algebra.edges.edge_rate import edge_rate
from gingham.algebra.edges.rate import EdgeRate

__all__ = [
    "EdgeRate",
    "ResidueClass",
    "composite_period",
    "edge_rate",
    "edges_between",
    "normalized",
    "pane_length",
]
