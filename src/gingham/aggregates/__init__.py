"""Aggregate functions: the partials that Spark computes, how they merge, the final value.

One small file for each family of functions, one registry (`registry.py`) that maps names to
families. The monoid of a partial says what else may be done with it besides merging
(`Monoid.capability`); optimizer rules ask for that capability and never for a function's name.
"""

from gingham.aggregates.base import Aggregate, Call, Partial, is_plain
from gingham.aggregates.monoid import Capability, Monoid, State
from gingham.aggregates.registry import (
    LITERAL_FROM,
    bind,
    is_aggregate,
    reads_as_double,
    supported,
)

__all__ = [
    "LITERAL_FROM",
    "Aggregate",
    "Call",
    "Capability",
    "Monoid",
    "Partial",
    "State",
    "bind",
    "is_aggregate",
    "is_plain",
    "reads_as_double",
    "supported",
]
