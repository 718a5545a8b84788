"""Programs: what executors compute by columns, as frozen values that are sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from gingham.aggregates.monoid import Monoid
from gingham.algebra.edges import ResidueClass
from gingham.logical.domain import Domain
from gingham.logical.predicate import Predicate, TextTest


@dataclass(frozen=True, slots=True)
class MapLookup:
    """An input that is the value of a key in a map of strings; the default where that is NULL."""

    map: int  # the input that has the maps
    key: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class AttributeInput:
    """An attribute of conditions: the input that has its values, and how these are ordered.

    If it is a `test`, the input has the string that is tested.
    """

    input: int
    domain: Domain
    test: TextTest | None = None


class InputColumn(NamedTuple):
    """A column that is made of an input, in the way of a `RowColumn`."""

    input: int
    how: Literal["value", "known", "zero", "high", "low"]
    digits: int


@dataclass(frozen=True, slots=True)
class PartialProgram:
    """A partial of a grid: its columns for each row, how they merge, and the names they get.

    Without columns it is the number of rows. With a `filter`, the number of a condition, only rows
    that meet it count.
    """

    columns: tuple[InputColumn, ...]
    monoid: Monoid
    names: tuple[str, ...]
    filter: int | None = None


@dataclass(frozen=True, slots=True)
class GridProgram:
    """A grid filled by columns: the rows of one condition, by key set and slice."""

    number: int
    condition: int
    key_set: int
    window: int  # the number of its edges
    partials: tuple[PartialProgram, ...]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys that rows are grouped by: the inputs that have their values, and their names."""

    inputs: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Watch:
    """What is counted of a stream's rows: those before the watermark, and those too far ahead."""

    watermark: int
    ahead: int  # the input that tells whether a row is after the last instant that counts


@dataclass(frozen=True, slots=True)
class Program:
    """All grids that are filled by columns in one pass, and what they have in common."""

    # SQL that Spark evaluates for every row, or what is looked up there; the first is the instant.
    inputs: tuple[str | MapLookup, ...]
    attributes: dict[str, AttributeInput]  # by the SQL of the attribute
    conditions: tuple[Predicate, ...]
    key_sets: tuple[KeySet, ...]
    windows: tuple[tuple[ResidueClass, ...], ...]  # edges of slices
    grids: tuple[GridProgram, ...]
    watch: Watch | None = None  # of a stream, whose first input is NULL for rows in no window

    @property
    def sent(self) -> dict[int, str]:
        """The inputs that Spark evaluates, by their numbers."""
        return {i: sql for i, sql in enumerate(self.inputs) if isinstance(sql, str)}
