"""Which queries are answered from grids of cells, and which by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from gingham.columns.compile import goes_by_columns
from gingham.optimizer.column_price import column_seconds
from gingham.optimizer.cost import Cost
from gingham.optimizer.grid_needs import needs_of
from gingham.plan.bound import BoundQuery
from gingham.plan.forest import FixedDecisions
from gingham.plan.row_statistics import RowStatistics

Way = Literal["auto", "cells", "columns"]
# With more sets of attributes and keys than this, grids of cells are not even priced: to find out
# which sets share a grid takes longer the more there are, and they have little in common.
MANY_NEEDS = 24
# Up to so many, cells are taken without a look at the rows.
FEW_NEEDS = 3
# With more queries than this a trial would take seconds.
MOST_TRIED = 2_000


class ChosenWays(NamedTuple):
    """The names of the queries that go by columns, and why."""

    by_columns: frozenset[str]
    notices: tuple[str, ...] = ()


def choose_ways(
    queries: tuple[BoundQuery, ...],
    cost: Cost,
    statistics: RowStatistics,
    fixed: FixedDecisions,
    way: Way,
    cell_seconds: Callable[[Sequence[BoundQuery]], float],
) -> ChosenWays:
    """Decide for every query that does not run yet whether it goes by cells or by columns.

    `cell_seconds` predicts the seconds of queries by cells.
    """
    running = frozenset(q.name for q in queries if q.name in fixed.by_columns)
    new = [q for q in queries if q.name not in fixed.grid_of_query and goes_by_columns(q)]
    names = running.union(q.name for q in new)
    if way == "cells" or not new:
        return ChosenWays(running)
    if way == "columns":
        return ChosenWays(names)
    if running:
        # The rows go to Python already: one more query there costs least.
        return ChosenWays(names)
    needs = len(needs_of(new, fixed))
    if needs > MANY_NEEDS:
        many = f"{needs} sets of attributes and keys have little in common"
        return ChosenWays(names, (f"{len(new)} queries go by columns: {many}",))
    if statistics.trial is None:
        return ChosenWays(running)
    by_columns = column_seconds(new, cost, statistics)
    rest = [q for q in queries if q.name not in names]
    by_cells = cell_seconds(queries) - (cell_seconds(rest) if rest else 0.0)
    compared = f"{by_columns:.2g} s predicted by columns, {by_cells:.2g} s by cells"
    if by_columns < by_cells:
        return ChosenWays(names, (f"{len(new)} queries go by columns: {compared}",))
    return ChosenWays(running, (f"all queries go by cells: {compared}",))


def have_little_in_common(queries: Sequence[BoundQuery]) -> bool:
    """Whether queries go by columns without being priced by cells."""
    able = [query for query in queries if goes_by_columns(query)]
    return len(needs_of(able, FixedDecisions())) > MANY_NEEDS


def needs_a_trial(queries: Sequence[BoundQuery]) -> bool:
    """Whether rows are looked at, to decide between cells and columns or to predict the latter."""
    able = [query for query in queries if goes_by_columns(query)]
    return len(able) <= MOST_TRIED and len(needs_of(able, FixedDecisions())) > FEW_NEEDS
