"""Epochs as JSON: codebooks, attributes and cuts, and the optimizer's decisions that stay fixed."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from gingham.core.arrays import Array, Bools, Ints
from gingham.logical.domain import Domain
from gingham.logical.predicate import Attribute, Axis
from gingham.plan.codebook import Codebook
from gingham.plan.forest import FixedDecisions
from gingham.plan.forest_records import Block, GridRecords
from gingham.plan.grid import Grid


def codebook_to_json(codebook: Codebook) -> dict[str, Any]:
    """The codebook of an epoch (what numbers and columns of its shards mean) as JSON."""
    return {
        "grids": [_grid_to_json(grid) for grid in codebook.grids],
        "keys": list(codebook.keys),
        "columns": list(codebook.columns),
        "records": [_records_to_json(records) for records in codebook.records],
    }


def codebook_from_json(found: dict[str, Any]) -> Codebook:
    """The codebook of an epoch from JSON: the inverse of `codebook_to_json`."""
    grids = tuple(_grid_from_json(grid) for grid in found["grids"])
    records = tuple(_records_from_json(records) for records in found.get("records", ()))
    return Codebook(grids, tuple(found["keys"]), tuple(found["columns"]), records)


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


def _records_to_json(records: GridRecords) -> dict[str, Any]:
    """A generation of records of a grid as JSON, so that later plans can read them."""
    return {
        "grid": _grid_to_json(records.grid),
        "offset": records.offset,
        "blocks": [_block_to_json(block) for block in records.blocks],
        "queries": records.queries,
        "counts": list(records.counts),
        "generation": records.generation,
    }


def _records_from_json(found: dict[str, Any]) -> GridRecords:
    """A generation of records of a grid from JSON."""
    return GridRecords(
        grid=_grid_from_json(found["grid"]),
        offset=found["offset"],
        blocks=tuple(_block_from_json(block) for block in found["blocks"]),
        queries=found["queries"],
        counts=tuple(found["counts"]),
        generation=found["generation"],
    )


_BITS, _LONGS = ("fragments", "occupied", "reducer"), ("fragment_of", "numerators", "denominators")


def _block_to_json(block: Block) -> dict[str, Any]:
    """The records of one capability as JSON: its matrices are packed."""
    return {
        "kind": block.kind,
        "partials": sorted(map(list, block.partials)),
        **{name: _packed(np.packbits(getattr(block, name))) for name in _BITS},
        **{name: _packed(getattr(block, name)) for name in _LONGS},
        "shape": [len(block.fragments), len(block.denominators), len(block.numerators)],
    }


def _block_from_json(found: dict[str, Any]) -> Block:
    """The records of one capability from JSON."""
    fragments, columns, records = found["shape"]

    def bits(name: str, *shape: int) -> Bools:
        """A matrix of zeros and ones of this shape."""
        packed = np.frombuffer(_unpacked(found[name]), dtype=np.uint8)
        return np.unpackbits(packed, count=math.prod(shape)).astype(bool).reshape(shape)

    def longs(name: str) -> Ints:
        """A list of integers."""
        return np.frombuffer(_unpacked(found[name]), dtype=np.int64)

    return Block(
        kind=found["kind"],
        partials=frozenset(tuple(columns) for columns in found["partials"]),
        fragments=bits("fragments", fragments, columns),
        fragment_of=longs("fragment_of"),
        occupied=bits("occupied", fragments),
        reducer=bits("reducer", fragments, records),
        numerators=longs("numerators").reshape(records, columns),
        denominators=longs("denominators"),
    )


def _packed(array: Array) -> str:
    """The bytes of an array as text, compressed: matrices of records repeat themselves."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def _unpacked(text: str) -> bytes:
    """The bytes of an array from the text that `_packed` made."""
    return zlib.decompress(base64.b64decode(text))


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
