"""What the benchmark says that BS and F1 need is what they do, and its figures can be drawn."""

import pytest

from benchmarks import shein_figures
from benchmarks.shein_figures import (
    draw_figure,
    operations_figure,
    operations_of_bits,
    points_table,
    run_experiment,
    seconds_figure,
    summary_table,
)
from benchmarks.shein_measure import Limits, counter, measure, needs
from benchmarks.shein_settings import EXPERIMENTS, Experiment, Published, Setting
from gingham.algebra.edges.published.bit_loop import count_marked
from gingham.optimizer.weave.published import weave

SMALL = Setting(30, 12, 2.0, 1, 20)  # no period is longer than 27,720
EASY = Limits(bits=1e7, marks=1e7, groups=1e6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_needs_are_what_the_published_ways_then_do(seed):
    needed = needs(SMALL, seed)
    windows = SMALL.windows(seed)

    def woven(line):
        count = counter(line, SMALL.longest)
        return weave(windows, rate=SMALL.rate, method="counted_share", count=count)

    bits, tested, table = woven("BS"), woven("BS, every bit"), woven("F1+Opt")
    assert bits.operations == needed.marks
    assert tested.operations == needed.tests
    assert table.operations == 3 * needed.groups  # a step, a lookup and an addition
    assert len(bits.trees) == len(table.trees) == needed.trees


def test_all_ways_find_the_same_number_of_trees_and_what_does_not_fit_is_not_begun():
    point = measure(30, SMALL, (1, 2), EASY)
    assert point.trees["BS"] == point.trees["F1"] == point.trees["F1+Opt"]
    assert len(point.trees["F1"]) == 2
    fewer_bits = Limits(bits=1, marks=1e7, groups=1e6)
    assert measure(30, SMALL, (1,), fewer_bits).seconds["BS"] == {}


def test_a_million_queries_have_the_slides_of_twenty_thousand():
    twenty_thousand, million = (
        {slide for _, slide in Setting(n, 300, 0.002, 0.5, 10).windows(1)}
        for n in (20_000, 1_000_000)
    )
    assert twenty_thousand == million == set(range(1, 301))


@pytest.mark.parametrize("n", range(1, 13))
def test_operations_of_figure_6_are_those_of_the_bit_set(n):
    classes = [(slide, 0) for slide in range(1, n + 1)]
    period = 27_720  # of 1 to 12
    marked = count_marked(classes, period)[1]
    lines = operations_figure().lines
    assert operations_of_bits(n) * period == marked * _lcm(n)
    assert dict(lines["F1"])[500] / dict(lines["F1, groups"])[500] == pytest.approx(250)


def _lcm(n):
    return next(m for m in range(1, 30_000) if all(m % slide == 0 for slide in range(1, n + 1)))


def test_a_figure_and_its_tables_are_made_from_one_run(tmp_path, monkeypatch):
    tiny = Experiment(
        9, 7, "queries", [(n, Setting(n, 12, 1.0, 1, 10)) for n in (5, 9)], Published(5, 9, 2, 3, 4)
    )
    result = run_experiment(tiny, quick=False)
    assert [len(points) for points in seconds_figure(result).lines.values()] == [2] * 5
    assert [row[0] for row in points_table(result).rows] == ["5", "9"]
    assert [row[1] for row in summary_table([result]).rows] == ["5", None, "never / never"]
    monkeypatch.setattr(shein_figures, "EXPERIMENTS", (tiny,))
    for number in (6, 7):
        draw_figure(number, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 1000


def test_a_point_at_which_all_queries_have_one_slide_has_a_line_in_the_table():
    same = Setting(5, 12, 1.0, 10_000, 10)
    tiny = Experiment(9, 7, "skew", [(10_000, same)], Published(5, 9, 2, 3, 4))
    (row,) = points_table(run_experiment(tiny, quick=False)).rows
    assert row[:3] == ["10,000", 5, "1"]


def test_every_quick_point_is_a_point():
    for experiment in EXPERIMENTS:
        quick = shein_figures._QUICK_POINTS[experiment.number]
        assert set(quick) <= {x for x, _ in experiment.points}
