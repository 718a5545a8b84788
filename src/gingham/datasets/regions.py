"""Random relations that are dense in a few regions, and the join queries of TPC-H over them.

The shape follows the experiments of Dobra, Garofalakis, Gehrke and Rastogi, "Multi-query
optimization for sketch-based estimation" (Information Systems 2009, Section 6): rows fill
rectangular regions of the attribute space, more of them in some regions than in others. Rows with
equal keys are one row with a count, so ten million rows take a fraction of a second.

The paper does not say where regions lie, nor what the volume of a region is in a relation with few
attributes. `Regions` has the readings that make sense; errors differ by orders of magnitude between
them (docs/papers/dobra.md), and the default is the one for which they are what the paper reports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gingham.core.arrays import Floats, Ints
from gingham.estimates.algebra import Histogram, Join

SCHEMA = {
    "P": ("partkey",),
    "PS": ("partkey", "suppkey"),
    "S": ("suppkey", "nationkey"),
    "C": ("custkey", "nationkey"),
    "O": ("orderkey", "custkey"),
    "L": ("orderkey", "partkey", "suppkey"),
}
_MOST_ATTRIBUTES = max(len(attributes) for attributes in SCHEMA.values())
JOINS: Mapping[int, Join] = {
    1: ("P", "partkey", "PS", "partkey"),
    2: ("PS", "suppkey", "S", "suppkey"),
    3: ("S", "nationkey", "C", "nationkey"),
    4: ("C", "custkey", "O", "custkey"),
    5: ("O", "orderkey", "L", "orderkey"),
    6: ("PS", "partkey", "L", "partkey"),
    7: ("PS", "suppkey", "L", "suppkey"),
    8: ("S", "suppkey", "L", "suppkey"),
    9: ("P", "partkey", "L", "partkey"),
    10: ("L", "orderkey", "L", "orderkey"),
}
# The joins of Q1, Q2, ..., by their numbers in JOINS.
_LISTED = (
    "1+2 4+5 3+4+5 4+5+8 4+5+8+9 2 5 9 1 6+7 5+8 10 4 3 3+4 5+8 8+9 5+9 6+8 7+8 8 6 7 2+3 2+7 1+6 "
    "3+8 1+2+3 2+3+4"
)
QUERIES = {
    f"Q{number}": tuple(int(join) for join in joins.split("+"))
    for number, joins in enumerate(_LISTED.split(), 1)
}
_NAMES = list(QUERIES)
WORKLOADS = {1: _NAMES[:12], 2: _NAMES, 3: [*_NAMES[5:12], "Q28"]}


@dataclass(frozen=True, slots=True)
class Table:
    """A random relation in columns, rows with equal join keys as one row with a count.

    `fragments` has the fragment of each row, `sums` the sums of measures, where queries need them.
    """

    keys: Mapping[str, Ints]
    counts: Ints
    fragments: Ints | None = None
    sums: Mapping[str, Ints] | None = None

    def histogram(self, attribute: str) -> Histogram:
        """Count rows of the random relation in buckets of one join attribute."""
        return Histogram.of(self.keys[attribute], self.counts, fragments=self.fragments)


Centres = Literal["shared", "reordered", "independent"]
Widths = Literal["alike", "by relation"]


@dataclass(frozen=True, slots=True)
class Regions:
    """How rows of random relations spread over dense regions; the defaults are those of the paper.

    A region has a `volume` of cells drawn from a range. Rows spread over regions by Zipf's law with
    the exponent `inter`, and over the cells of a region with an exponent from the range `intra`.

    `centres` says where regions lie. "shared": the n-th regions of all relations have the same
    centre in an attribute that they share, so keys that are frequent in one relation are frequent
    where it is joined. "reordered": the same centres, but which has the most rows differs between
    relations. "independent": every relation has centres of its own.

    `widths` says what a volume is. "alike": a region is a cube of three attributes, as many as
    the widest relation has; a relation with fewer has its projection, so regions are equally wide
    wherever they are joined. "by relation": a cube of the relation's own attributes. With one
    attribute that is the whole domain, which leaves no region to be dense.
    """

    rows: int = 10_000_000
    domain: int = 1024
    regions: int = 10
    volume: tuple[int, int] = (1000, 2000)
    inter: float = 1.0
    intra: tuple[float, float] = (0.0, 0.5)
    centres: Centres = "shared"
    widths: Widths = "alike"

    def tables(self, seed: int = 0) -> dict[str, Table]:
        """Make random relations for all tables of the TPC-H join schema."""
        attributes = dict.fromkeys(name for names in SCHEMA.values() for name in names)
        centres = {
            name: np.random.default_rng([seed, number]).integers(0, self.domain, self.regions)
            for number, name in enumerate(attributes)
        }
        return {
            relation: self._table(
                {name: centres[name] for name in names},
                np.random.default_rng([seed, len(attributes) + number]),
            )
            for number, (relation, names) in enumerate(SCHEMA.items())
        }

    def _table(self, centres: Mapping[str, Ints], random: np.random.Generator) -> Table:
        """Make one random relation: Zipf's law says how many rows each region and cell has."""
        cells, counts = list[Ints](), list[Ints]()
        middles = self._middles(np.stack(list(centres.values()), axis=1), random)
        shares = random.multinomial(self.rows, self._zipf(self.regions, self.inter))
        for middle, rows in zip(middles, shares, strict=True):
            region = self._cells(middle, random.uniform(*self.volume))
            skew = random.uniform(*self.intra)
            cells.append(random.permutation(region))
            counts.append(random.multinomial(rows, self._zipf(len(region), skew)))
        # Regions may overlap: the rows of a cell in both are added up.
        keys, cell = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
        total = np.bincount(cell, weights=np.concatenate(counts)).astype(np.int64)
        columns = dict(zip(centres, keys[total > 0].T.copy(), strict=True))
        return Table(columns, total[total > 0])

    def _middles(self, shared: Ints, random: np.random.Generator) -> Ints:
        """Place the regions of one relation; the first has the most rows."""
        if self.centres == "independent":
            return random.integers(0, self.domain, shared.shape)
        return random.permutation(shared) if self.centres == "reordered" else shared

    def _cells(self, middle: Ints, volume: float) -> Ints:
        """List the cells of a region around a cell, in the domain."""
        attributes = _MOST_ATTRIBUTES if self.widths == "alike" else len(middle)
        side = min(round(volume ** (1 / attributes)), self.domain)
        corner = np.clip(middle - side // 2, 0, self.domain - side)
        offsets = np.unravel_index(np.arange(side ** len(middle)), (side,) * len(middle))
        return np.stack(offsets, axis=1) + corner

    @staticmethod
    def _zipf(size: int, skew: float) -> Floats:
        """The probabilities of regions, or of cells in a region, by Zipf's law."""
        weights = np.arange(1, size + 1) ** -skew
        return weights / weights.sum()


def workload(number: int) -> dict[str, list[Join]]:
    """The TPC-H join queries of workload 1, 2 or 3 of the paper, each as its equi-joins by name."""
    return {name: [JOINS[join] for join in QUERIES[name]] for name in WORKLOADS[number]}
