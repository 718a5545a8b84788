"""Random instants of composite periods that have hundreds of bits."""

from __future__ import annotations

import numpy as np

from gingham.core.arrays import Ints

_PART_BITS = 30
_SMALL_SLIDE = 1 << 31  # products of a part with a remainder below this fit into 63 bits


class RandomInstants:
    """Random instants, uniform over a composite period of edges of up to `bits` bits.

    An instant is stored as parts of 30 bits, because only its remainders are needed. Two spare
    parts make the remainders uniform up to a deviation of 2 ** -60.

    >>> instants = RandomInstants(1000, bits=200, seed=1)
    >>> np.bincount(instants.modulo(3)).tolist()
    [334, 321, 345]
    """

    def __init__(self, count: int, bits: int, seed: int) -> None:
        parts = bits // _PART_BITS + 3
        self._parts = np.random.default_rng(seed).integers(0, 1 << _PART_BITS, (parts, count))

    def modulo(self, slide: int) -> Ints:
        """The remainder of each random instant modulo a window's slide."""
        powers = [pow(2, _PART_BITS * i, slide) for i in range(len(self._parts))]
        if slide < _SMALL_SLIDE:
            products = self._parts * np.array(powers)[:, None] % slide
            return products.sum(axis=0) % slide
        whole = self._parts.astype(object) * np.array(powers, dtype=object)[:, None]
        return (whole.sum(axis=0) % slide).astype(np.int64)
