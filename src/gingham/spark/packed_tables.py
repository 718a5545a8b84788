"""Tables packed into single values, so that Spark can hold and shuffle tables of any columns."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def packed(table: pa.Table) -> bytes:
    """A table in Arrow's format for streams."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpacked(parts: Iterable[pa.Scalar]) -> pa.Table:
    """One table from packed tables of the same columns."""
    tables = [pa.ipc.open_stream(part.as_buffer()).read_all() for part in parts]
    return pa.concat_tables(tables, promote_options="permissive")
