"""Common edges of pairs of edge sets, computed exactly and for whole arrays of pairs at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gingham.core.arrays import Array, Floats, Ints
from gingham.optimizer.weave.edge_sets import EdgeSets

_WORTH_THREADS = 1 << 24  # pairs of edge sets from which on all cores are used


def pair_overlaps(one: tuple[Ints, Ints, Ints], others: tuple[Ints, Ints, Ints]) -> Floats:
    """Compute the common edges per tick of every edge set of one group with every one of another.

    A group is given as slides, smaller and larger residues; equal residues count once. Two residue
    classes meet once in the lcm of their slides if their residues are equal modulo the gcd, else
    never.

    >>> slides, zero, four = np.array([6]), np.array([0]), np.array([4])
    >>> pair_overlaps((slides, zero, four), (np.array([9]), zero, np.array([3]))) * 18
    array([[2.]])
    """
    slides, lows, highs = (part[:, None] for part in one)
    other_slides, other_lows, other_highs = (part[None, :] for part in others)
    common = np.gcd(slides, other_slides)
    meets = ((lows - other_lows) % common == 0).astype(np.int8)
    two, other_two = lows != highs, other_lows != other_highs
    if other_two.any():
        meets += ((lows - other_highs) % common == 0) & other_two
    if two.any():
        meets += ((highs - other_lows) % common == 0) & two
        if other_two.any():
            meets += ((highs - other_highs) % common == 0) & two & other_two
    return meets * (common / slides / other_slides)


def fill_overlaps(overlaps: Array, sets: EdgeSets) -> None:
    """Fill a square matrix with the common edges per unit of time of all pairs of edge sets.

    Large matrices are filled on all cores, one slide after the other. Residues matter only where
    slides have a common divisor; otherwise each pair of classes meets once in their product.
    """
    narrow = np.int32 if sets.slides.max() < 1 << 31 else np.int64
    slides, index = np.unique(sets.slides, return_inverse=True)
    lows, highs = sets.lows.astype(narrow), sets.highs.astype(narrow)
    different = slides.astype(narrow)
    two = lows != highs
    counts = (1 + two).astype(overlaps.dtype)
    order = np.argsort(index, kind="stable")
    stops = np.cumsum(np.bincount(index)).tolist()

    def fill_slide(number: int) -> None:
        slide, rows = different[number], order[stops[number - 1] if number else 0 : stops[number]]
        common = np.gcd(different, slide)
        # Once in the lcm, per unit of time.
        once = (common / slide / slides * sets.ticks).astype(overlaps.dtype)[index]
        block = counts[rows, None] * (counts * once)
        tied = np.flatnonzero((common > 1)[index])
        slide_indices, divisors = index[tied], common[index[tied]]
        # A missing second residue is -1 or -2, which equals no residue.
        low, high = lows[tied] % divisors, np.where(two[tied], highs[tied] % divisors, -1)
        own_low = np.take(lows[rows, None] % common, slide_indices, axis=1)
        own_high = np.where(two[rows, None], highs[rows, None] % common, -2)
        own_high = np.take(own_high, slide_indices, axis=1)
        meets = (own_low == low).astype(np.int8)
        meets += own_low == high
        meets += own_high == low
        meets += own_high == high
        block[:, tied] = meets * once[tied]
        overlaps[rows] = block

    def fill_each(first: int) -> None:
        for number in range(first, len(different), workers):
            fill_slide(number)

    workers = (os.cpu_count() or 1) if overlaps.size > _WORTH_THREADS else 1
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(fill_each, range(workers)):
            pass  # re-raises what a thread raised
