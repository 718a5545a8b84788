"""Chunks of rows are of a bounded size, whatever batches Spark sends."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gingham.columns.fill import CHUNK, _chunks
from gingham.columns.inputs import Inputs
from gingham.columns.program import MapLookup, Program


@pytest.mark.parametrize(
    "sizes", [[], [0], [5], [0, 3, 0], [CHUNK], [10_000] * 9, [3 * CHUNK + 7, 1], [1, 5 * CHUNK]]
)
def test_all_rows_are_in_chunks_that_are_not_too_large(sizes: list[int]):
    ends = np.cumsum([0, *sizes])
    batches = [
        pa.RecordBatch.from_pydict({"i": pa.array(np.arange(low, high))})
        for low, high in pairwise(ends)
    ]
    chunks = [np.asarray(column) for (column,) in _chunks(batches)]
    assert all(0 < len(chunk) < 2 * CHUNK for chunk in chunks)
    assert np.array_equal(np.concatenate([*chunks, np.empty(0, int)]), np.arange(ends[-1]))


def test_maps_of_a_part_of_a_batch_keep_their_entries():
    maps = pa.array([[("a", "1")], None, [("a", "2"), ("b", "3")], []], pa.map_("string", "string"))
    program = Program(("`m`", MapLookup(0, "a"), MapLookup(0, "b", "-")), {}, (), (), (), ())
    for low in range(4):
        inputs = Inputs(program, [maps.slice(low)])
        assert inputs[1].to_pylist() == ["1", None, "2", None][low:]
        assert inputs[2].to_pylist() == ["-", "-", "3", "-"][low:]
