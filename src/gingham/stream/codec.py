"""Epochs as JSON: codebooks, attributes and cuts, and the optimizer's decisions that stay fixed."""

from __future__ import annotations

import math
from typing import Any

from gingham.logical.domain import Domain
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.forest import Codebook, FixedDecisions, Grid


def codebook_to_json(codebook: Codebook) -> dict[str, Any]:
    """The codebook of an epoch (what numbers and columns of its shards mean) as JSON."""
    return {
        "grids": [_grid_to_json(grid) for grid in codebook.grids],
        "keys": list(codebook.keys),
        "columns": list(codebook.columns),
    }


def codebook_from_json(found: dict[str, Any]) -> Codebook:
    """The codebook of an epoch from JSON: the inverse of `codebook_to_json`."""
    grids = tuple(_grid_from_json(grid) for grid in found["grids"])
    return Codebook(grids, tuple(found["keys"]), tuple(found["columns"]))


def fixed_to_json(fixed: FixedDecisions) -> dict[str, Any]:
    """The fixed decisions of an epoch (trees and grids of running queries) as JSON."""
    return {
        "grids": dict(fixed.grid_of_query),
        "outer": sorted(fixed.outer_joins),
        "whole": dict(fixed.simplifications),
        "trees": [list(pair) for pair in fixed.tree_of_grid.items()],
        "next_grid": fixed.next_grid,
        "by_columns": sorted(fixed.by_columns),
    }


def fixed_from_json(found: dict[str, Any]) -> FixedDecisions:
    """The fixed decisions of an epoch from JSON: the inverse of `fixed_to_json`."""
    return FixedDecisions(
        grid_of_query=found["grids"],
        outer_joins=frozenset(found["outer"]),
        simplifications=found["whole"],
        tree_of_grid=dict(found["trees"]),
        next_grid=found["next_grid"],
        by_columns=frozenset(found.get("by_columns", ())),
    )


def _grid_to_json(grid: Grid) -> dict[str, Any]:
    """A grid of an epoch's codebook as JSON."""
    return {
        "axes": [_axis_to_json(axis) for axis in grid.axes],
        "keys": list(grid.keys),
        "offset": grid.offset,
        "number": grid.number,
        "tree": grid.tree,
        "selects": grid.selects,
    }


def _grid_from_json(found: dict[str, Any]) -> Grid:
    """A grid of an epoch's codebook from JSON."""
    axes = tuple(_axis_from_json(axis) for axis in found["axes"])
    return Grid(
        axes=axes,
        keys=tuple(found["keys"]),
        offset=found["offset"],
        number=found["number"],
        tree=found["tree"],
        selects=found.get("selects"),
    )


def _axis_to_json(axis: Axis) -> dict[str, Any]:
    """An axis of a grid, with its attribute and cuts, as JSON for the log."""
    return {
        **attribute_to_json(axis.attribute),
        "cuts": [cut_to_json(cut) for cut in axis.cuts],
    }


def _axis_from_json(found: dict[str, Any]) -> Axis:
    """An axis of a grid, with its attribute and cuts, from JSON of the log."""
    return Axis(attribute_from_json(found), tuple(cut_from_json(cut) for cut in found["cuts"]))


def attribute_to_json(attribute: Attribute) -> dict[str, Any]:
    """An attribute that conditions compare with constants, as JSON for the log."""
    domain = attribute.domain
    return {"sql": attribute.sql, "domain": [domain.kind, domain.scale, domain.precision]}


def attribute_from_json(found: dict[str, Any]) -> Attribute:
    """An attribute from JSON of the log: the inverse of `attribute_to_json`."""
    return Attribute(found["sql"], Domain(*found["domain"]))


def cut_to_json(cut: Any) -> Any:
    """A cut as JSON for the log; a float in hexadecimal, so that it comes back exactly."""
    # JSON has neither NaN nor infinities, and a float must come back as it was.
    return {"double": cut.hex()} if isinstance(cut, float) else cut


def cut_from_json(found: Any) -> Any:
    """A cut from JSON of the log: the inverse of `cut_to_json`."""
    return _from_hex(found["double"]) if isinstance(found, dict) else found


def _from_hex(text: str) -> float:
    """The float of a hexadecimal text, or NaN."""
    return math.nan if text == "nan" else float.fromhex(text)
