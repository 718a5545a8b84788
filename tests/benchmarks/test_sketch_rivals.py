"""What sketches are compared with estimates joins as it should."""

import numpy as np
import pytest

from benchmarks.sketch_panels import Workload
from benchmarks.sketch_rivals import count_min, key_samples, row_samples, sparse_tables
from gingham.datasets.regions import workload
from gingham.estimates.algebra import JoinQuery


@pytest.fixture(scope="module")
def work():
    """Joins of two relations over few rows: all of them fit into memory."""
    queries = [JoinQuery(joins, name) for name, joins in workload(2).items() if len(joins) == 1]
    return Workload.of(queries, sparse_tables(2000))


@pytest.mark.parametrize("way", [row_samples, key_samples, count_min])
def test_with_room_for_everything_the_answer_is_nearly_exact(work, way):
    found = way(work, 10_000_000, np.random.default_rng(0))
    assert found == pytest.approx(list(work.truths.values()), rel=0.01)


@pytest.mark.parametrize(("way", "words"), [(row_samples, 6000), (key_samples, 3000)])
def test_samples_are_right_on_average(work, way, words):
    found = [way(work, words, np.random.default_rng(seed)) for seed in range(100)]
    deviation = np.std(found, axis=0) / np.sqrt(len(found))
    assert (deviation > 0).all()
    off = np.abs(np.mean(found, axis=0) - list(work.truths.values())) / deviation
    assert off.max() < 4.5


def test_count_min_never_estimates_less_than_the_truth(work):
    found = np.array(count_min(work, 3000, np.random.default_rng(0)))
    assert (found >= np.array(list(work.truths.values()))).all()
