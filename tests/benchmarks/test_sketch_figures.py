"""Every figure of the paper on sketches is measured and drawn by one function."""

from pathlib import Path

from benchmarks.sketch_figures import FIGURES


def test_each_figure_of_the_experiments_has_a_function():
    assert list(FIGURES) == [15, 16, 17, 18, 19, 20]


def test_a_figure_is_drawn_from_what_it_measures(tmp_path: Path):
    path = tmp_path / "figure.png"
    found = FIGURES[15](path, quick=True)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert (found.workload, found.metric, found.budgets) == (1, "average", (2000, 20_000))
    unshared, shared = found.curves["no sharing"], found.curves["sharing"]
    assert shared.expected[0] < unshared.expected[0] / 2
    # Ten times the words, a tenth of the variance.
    assert 8 < shared.expected[0] / shared.expected[1] < 12
