"""The figures of Guirguis et al.: what is counted for Weave Share is what it does."""

import pytest

from benchmarks.guirguis_settings import READINGS, TENTHS, WHOLE
from benchmarks.weave_cost import FIGURES, readings_table
from benchmarks.weave_share_counts import ALL, BITMAP, LOOKUP, NONE, edges_looked_at
from gingham.optimizer.weave.published import weave

OPTIONS = {
    NONE: (False, False, False),
    LOOKUP: (True, False, False),
    BITMAP: (True, True, False),
    ALL: (True, True, True),
}


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_edges_counted_for_each_variant_are_those_that_it_looks_at(reading, seed):
    windows = reading.windows(14, skew=0.7, overlap=10, seed=seed)
    rate = 100.0 / reading.ticks
    counted = edges_looked_at(windows, rate)
    for variant, (lookup, bitmap, probe_smaller) in OPTIONS.items():
        plan = weave(
            windows,
            rate=rate,
            method="weave_share",
            lookup=lookup,
            bitmap=bitmap,
            probe_smaller=probe_smaller,
        )
        assert counted[variant] == plan.operations, variant


def test_ticks_change_nothing_where_edges_are_whole_seconds():
    windows = WHOLE.windows(100)
    fine = [(10 * length, 10 * slide) for length, slide in windows]
    assert weave(fine, rate=30.0).cost * 10 == pytest.approx(weave(windows, rate=300.0).cost)


def test_a_second_tree_never_pays_at_ten_thousand_rows_a_second_and_few_whole_seconds():
    # One tree costs at most the rate and one edge a second for each of 100 x 25.5 windows.
    windows = WHOLE.windows(100)
    assert len(weave(windows, rate=10_000.0).trees) == 1
    # Edges at tenths of a second are up to ten times as many, and 1,000 queries share several.
    assert len(weave(TENTHS.windows(1000), rate=1000.0).trees) > 1


def test_each_figure_of_the_study_has_a_function():
    assert list(FIGURES) == [4, 5, 6, 7, 8, 9, 10, 11, 14]
    for figure in FIGURES[8](quick=True):
        assert all(figure.lines.values())


def test_every_printed_value_has_a_line_in_the_table_of_readings():
    rows = readings_table(quick=True).rows
    assert [row[4] for row in rows] == ["62%", "80%", "24%", "6%", "12%", "24%", "0%", "74%"]
