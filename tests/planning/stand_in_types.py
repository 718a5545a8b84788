"""Types of expressions without Spark: what sqlglot infers from the types of columns.

Spark is the judge of types everywhere else. Golden workloads use columns, arithmetic, comparisons
and common aggregates only, of which sqlglot and Spark say the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.optimizer.annotate_types import annotate_types

_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def type_of(sql: str, columns: Mapping[str, str]) -> str:
    """The type of an expression over columns of these types, as Spark writes it.

    >>> type_of("price * vol", {"price": "double", "vol": "int"})
    'double'
    >>> type_of("sum(vol)", {"vol": "int"})
    'bigint'
    """
    tree = parse_one(f"SELECT {sql}", read="spark")
    for column in list(tree.find_all(exp.Column)):
        column.replace(exp.cast(exp.Null(), columns[column.name]))
    annotated = annotate_types(tree, dialect="spark")
    found = annotated.expressions[0].type.sql("spark").lower()
    assert found in _ARROW, f"{sql} is a {found}: use simpler SQL in golden workloads"
    return found


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a type that Spark writes so."""
    return _ARROW[name]
