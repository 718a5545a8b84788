"""Windows of time, of rows and of rows of each key are planned together, and cut apart."""

from __future__ import annotations

import pytest

from gingham.core.errors import QueryError
from gingham.logical.window import EVENT_TIME, Clock
from gingham.optimizer import optimize
from gingham.optimizer.choose_ways import Way
from tests.planning.golden import FOLDER, bound_queries

QUERIES = bound_queries(FOLDER / "choose_trees" / "windows_of_rows.sql")
ROWS, PER_SYMBOL = Clock(by_rows=True), Clock(by_rows=True, per=("symbol",))


@pytest.mark.parametrize("way", ["cells", "columns"])
def test_a_tree_has_one_clock_and_each_clock_a_forest(way: Way):
    forest = optimize("trades", QUERIES, way=way).forest
    for query in QUERIES:
        assert forest.clocks[forest.grid_of(query).tree] == query.window.clock
    assert list(forest.by_clock) == [EVENT_TIME, ROWS, PER_SYMBOL]
    for clock, part in forest.by_clock.items():
        assert [q.name for q in part.queries] == [
            q.name for q in QUERIES if q.window.clock == clock
        ]
        # Cells are numbered from 0 on, grids keep their numbers.
        assert part.grids[0].offset == 0
        assert [g.offset for g in part.grids[1:]] == [
            sum(g.cells for g in part.grids[:i]) for i in range(1, len(part.grids))
        ]
        for query in part.queries:
            assert part.grid_of(query).number == forest.grid_of(query).number


def test_a_forest_of_one_clock_is_its_own():
    forest = optimize("trades", QUERIES[1:3]).forest
    assert forest.by_clock == {ROWS: forest}


def test_a_tree_for_windows_of_different_clocks_is_refused():
    trees = dict.fromkeys((query.name for query in QUERIES), 0)
    with pytest.raises(QueryError, match="tree 0 for queries with windows of rows"):
        optimize("trades", QUERIES, trees=trees, way="cells")
