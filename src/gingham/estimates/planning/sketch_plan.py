"""Join aggregates whose types Spark has checked, and how sketches will answer them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gingham.algebra.edges import ResidueClass, normalized
from gingham.estimates.algebra.join_query import Join
from gingham.estimates.algebra.sharing_plan import SharingPlan
from gingham.estimates.planning.join_aggregate import JoinAggregate
from gingham.logical.predicate import Axis
from gingham.plan.bound import Condition


@dataclass(frozen=True, slots=True)
class Measure:
    """What a relation adds up: whole numbers, or decimals with so many digits after the point.

    It is never NULL; `zero` is nothing, in its type.
    """

    sql: str
    zero: str = "0"
    scale: int = 0

    def where(self, condition: str) -> str:
        """The same for rows that meet a condition, nothing for others."""
        return f"CASE WHEN {condition} THEN {self.sql} ELSE {self.zero} END"


ROW = Measure("1")


@dataclass(frozen=True, slots=True)
class BoundJoin:
    """A join aggregate with types."""

    query: JoinAggregate
    joins: tuple[Join, ...]  # by alias; attributes are SQL of 64-bit words, NULL for NULL
    measures: Mapping[str, Measure]  # by alias
    conditions: Mapping[str, Condition]  # by alias
    # May it raise in the middle of a pass, where it takes all queries down with it?
    fragile: bool = False

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def unit(self) -> float:
        """What one counted unit is worth: a hundredth if amounts have two digits."""
        return 10.0 ** -sum(measure.scale for measure in self.measures.values())


@dataclass(frozen=True, slots=True)
class Fragments:
    """Which rows of a relation which queries want: fragments, as numbers of grid cells.

    Rows of fragment -1 are wanted by nobody.
    """

    axes: tuple[Axis, ...] = ()
    of_cells: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return max(self.of_cells, default=-1) + 1


@dataclass(frozen=True, slots=True)
class Pass:
    """What is taken from one relation: its rows, grouped by all that any sketch needs of them."""

    relation: str
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    fragments: Fragments
    sliced: bool


@dataclass(frozen=True)  # no slots: what is derived is kept once computed
class SketchPlan:
    """How all join aggregates are answered: one pass over each relation, shared sketches."""

    queries: tuple[BoundJoin, ...]
    sharing: SharingPlan
    passes: tuple[Pass, ...]
    notices: tuple[str, ...]

    @property
    def sliced(self) -> frozenset[str]:
        """The relations whose sketches are cut into slices."""
        return frozenset(one.relation for one in self.passes if one.sliced)

    @cached_property
    def edges(self) -> tuple[ResidueClass, ...]:
        """Where the slices of streams begin; none if no query has a window."""
        windows = {query.query.window for query in self.queries} - {None}
        return normalized(c for window in windows if window is not None for c in window.classes)
