import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gingham.algebra.edges import normalized
from gingham.algebra.edges.published import METHODS, edge_rate
from gingham.algebra.edges.random_blocks import random_blocks

EXACT = ["best", *(method for method in METHODS if method != "blocks")]
SLIDES = [*range(1, 13), 14, 15, 16, 18, 20, 21, 24, 25, 27, 28, 30, 36, 45, 50, 60, 75]


@st.composite
def residue_classes(draw, most=9, longest=500_000):
    found = []
    for _ in range(draw(st.integers(1, most))):
        slide = draw(st.sampled_from(SLIDES))
        if math.lcm(slide, *(s for s, _ in found)) <= longest:
            found.append((slide, draw(st.integers(0, slide - 1))))
    return found


def counted(classes):
    """Edges in one composite period, in the most naive way there is."""
    period = math.lcm(*(slide for slide, _ in classes))
    times = np.arange(period)
    hit = np.zeros(period, dtype=bool)
    for slide, residue in classes:
        hit |= times % slide == residue
    return Fraction(int(hit.sum()), period)


@given(residue_classes())
def test_every_way_agrees_with_counting(classes):
    truth = counted(classes)
    for method in EXACT:
        rate = edge_rate(classes, method)
        if rate.fraction is not None:
            assert rate.fraction == truth, method
        assert abs(rate - float(truth)) <= max(rate.margin, 1e-12), method


@given(residue_classes(), st.integers(0, 1000))
def test_random_blocks_are_as_close_as_they_say(classes, seed):
    rate = random_blocks(classes, blocks=512, length=200, seed=seed)
    assert abs(rate - float(counted(classes))) <= rate.margin


@given(residue_classes(most=25))
def test_elimination_of_many_classes_agrees_with_counting(classes):
    assert abs(edge_rate(classes, "elimination") - float(counted(classes))) < 1e-12


@given(residue_classes(), residue_classes())
def test_a_union_is_between_its_larger_part_and_the_sum(one, other):
    a, b, both = edge_rate(one), edge_rate(other), edge_rate([*one, *other])
    assert max(a, b) - 1e-12 <= both <= a + b + 1e-12


@given(residue_classes(), st.integers(-100, 100), st.integers(1, 60))
def test_shifting_and_stretching_time_changes_only_the_unit(classes, shift, stretch):
    moved = [(slide * stretch, residue * stretch + shift) for slide, residue in classes]
    assert abs(edge_rate(moved) * stretch - edge_rate(classes)) < 1e-12


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 399)), max_size=40))
def test_thinning_out_keeps_the_edges_and_nothing_else(pairs):
    classes = [(slide, residue % slide) for slide, residue in pairs]
    present = set(classes)
    expected = sorted(
        (slide, residue)
        for slide, residue in present
        if not any(slide % d == 0 and (d, residue % d) in present for d in range(1, slide))
    )
    assert list(normalized(classes)) == expected
