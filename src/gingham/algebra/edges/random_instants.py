"""Instants drawn from periods with hundreds of digits."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints

_BITS = 30
_SMALL = 1 << 31  # products of a part with a remainder below this fit into 63 bits


class Instants:
    """Random instants, uniform over any period of up to `digits` bits.

    They are kept in parts of 30 bits, since only their remainders are ever asked for. Two spare
    parts make them uniform but for one chance in 2 ** 60.

    >>> instants = Instants(1000, digits=200, seed=1)
    >>> np.bincount(instants.modulo(3)).tolist()
    [334, 321, 345]
    """

    def __init__(self, count: int, digits: int, seed: int) -> None:
        parts = digits // _BITS + 3
        self._parts = np.random.default_rng(seed).integers(0, 1 << _BITS, (parts, count))

    def modulo(self, slide: int) -> Ints:
        """What is left of each instant modulo a slide."""
        powers = [pow(2, _BITS * i, slide) for i in range(len(self._parts))]
        if slide < _SMALL:
            products = self._parts * np.array(powers)[:, None] % slide
            return products.sum(axis=0) % slide
        whole = self._parts.astype(object) * np.array(powers, dtype=object)[:, None]
        return (whole.sum(axis=0) % slide).astype(np.int64)
