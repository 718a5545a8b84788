"""Edge rates estimated from random blocks of time, where every exact algorithm is too slow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gingham.algebra.edges.classes import ResidueClass, composite_period
from gingham.algebra.edges.random_instants import RandomInstants
from gingham.algebra.edges.rate import EdgeRate

BLOCKS = 4096
LENGTH = 2048
_MOST_BITS = 512
_DOUBT = 0.01  # the probability that the true rate lies outside the margin


def random_blocks(
    classes: Sequence[ResidueClass], blocks: int = BLOCKS, length: int = LENGTH, seed: int = 0
) -> EdgeRate:
    """Estimate the edge rate from blocks that start at random instants of the composite period.

    The margin is the empirical Bernstein bound of Maurer and Pontil (2009), which holds for any
    distribution. An operation is one edge of one class in one block.

    >>> rate = random_blocks([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    >>> abs(rate - 44 / 60) <= rate.margin, rate.exact
    (True, False)
    """
    # No period that matters here is longer than the age of the universe in any unit.
    bits = min(composite_period(classes).bit_length(), _MOST_BITS)
    starts = RandomInstants(blocks, bits, seed)
    marked = np.zeros((blocks, length), dtype=bool)
    flat, row = marked.reshape(-1), np.arange(blocks)[:, None] * length
    operations = 0
    residues: dict[int, list[int]] = {}
    for slide, residue in classes:
        residues.setdefault(slide, []).append(residue)
    for slide, of_slide in residues.items():
        phases = starts.modulo(slide)
        for residue in of_slide:
            edges = ((residue - phases) % slide)[:, None] + np.arange(0, length, slide)
            hit = edges < length
            flat[(row + edges)[hit]] = True
            operations += int(np.count_nonzero(hit))
    rates = marked.mean(axis=1)
    doubt = math.log(2 / _DOUBT)
    spread = math.sqrt(2 * float(rates.var(ddof=1)) * doubt / blocks)
    margin = spread + 7 * doubt / (3 * (blocks - 1))
    how = f"{blocks:,} random blocks of {length:,}"
    return EdgeRate(float(rates.mean()), operations=operations, how=how, margin=margin)
