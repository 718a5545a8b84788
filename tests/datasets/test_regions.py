"""Random relations are dense in regions, which lie as `centres` and `widths` say."""

import numpy as np
import pytest

from gingham.datasets.regions import SCHEMA, Regions


def _widths(table):
    """How far the keys of each attribute are apart."""
    return [int(keys.max() - keys.min()) + 1 for keys in table.keys.values()]


@pytest.mark.parametrize("centres", ["shared", "reordered", "independent"])
@pytest.mark.parametrize("widths", ["alike", "by relation"])
def test_every_relation_has_all_its_rows_within_the_domain(centres, widths):
    found = Regions(rows=10_000, centres=centres, widths=widths).tables()
    assert {name: tuple(table.keys) for name, table in found.items()} == SCHEMA
    for table in found.values():
        assert table.counts.sum() == 10_000
        assert all(keys.min() >= 0 and keys.max() < 1024 for keys in table.keys.values())


def test_regions_that_are_alike_are_equally_wide_in_every_relation():
    # Cubes of 1,000 to 2,000 cells have sides of 10 to 13.
    for table in Regions(rows=100_000, regions=1).tables().values():
        assert all(10 <= width <= 13 for width in _widths(table))


def test_a_volume_by_relation_is_the_whole_domain_of_a_single_attribute():
    found = Regions(rows=1_000_000, regions=1, widths="by relation").tables()
    assert _widths(found["P"])[0] >= 1000
    assert all(31 <= width <= 45 for width in _widths(found["O"]))
    assert all(10 <= width <= 13 for width in _widths(found["L"]))


def test_shared_centres_let_frequent_keys_meet():
    def join_size(centres):
        found = Regions(centres=centres).tables()
        sides = [
            np.bincount(found[name].keys["custkey"], found[name].counts, minlength=1024)
            for name in ("C", "O")
        ]
        return sides[0] @ sides[1]

    assert join_size("shared") > join_size("reordered") > join_size("independent")
