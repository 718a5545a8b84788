"""Edges of windows as residue classes: where slices begin and end."""

from gingham.algebra.edges.classes import (
    ResidueClass,
    composite_period,
    edges_between,
    normalized,
    pane_length,
)

__all__ = ["ResidueClass", "composite_period", "edges_between", "normalized", "pane_length"]
