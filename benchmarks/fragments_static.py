"""Records of all fragments that may occur, beside those of the fragments that do.

The first need no look at rows and no agreement among nodes (Huebsch et al., Section 8.1, leave that
open); this measures how many more records they are. Grids, conditions and rows are random; nothing
runs on Spark.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

import numpy as np

from benchmarks.sections import Cell, Section
from gingham.algebra.fragments import KINDS, decompose
from gingham.plan.cell_sets import find_fragments

QUERIES = 40
ROWS = (100, 1_000, 10_000, 100_000)

# Conditions cannot tell that most of the fragments of these never occur.
DEPENDENT = "boxes, dependent"

Grid = np.ndarray  # cells x queries: the cells in which the condition of each query holds


@dataclass(frozen=True, slots=True)
class Superset:
    """One random workload: fragments and records that may be, and those that are."""

    workload: str
    kind: str
    rows: int
    possible: int
    occurring: int
    static: int
    seen: int


def static(rows: Sequence[int] = ROWS, repeats: int = 5) -> Section:
    """Decompose the fragments that conditions make, and those that rows fall into."""
    measured = [
        superset
        for name, make in WORKLOADS.items()
        for seed in range(repeats)
        for superset in _supersets(name, make, rows, seed)
    ]
    return Section(
        f"static superset of F, {QUERIES} queries: fragments and records",
        ("", "kind", "rows", "possible", "occurring", "static k", "seen k", "extra"),
        _table(measured),
        "k: records of a node, key and window; a fragment as it is where that is fewer",
        (),
        [asdict(superset) for superset in measured],
    )


def _supersets(
    name: str, make: Callable[[np.random.Generator], Grid], rows: Sequence[int], seed: int
) -> list[Superset]:
    """Compare both matrices of one grid for each kind of aggregates and number of rows."""
    rng = np.random.default_rng(seed)
    grid = make(rng)
    fragments, fragment_of = find_fragments(grid)
    # Few cells have most of the rows.
    cells = rng.permutation(_together(len(grid)) if name == DEPENDENT else len(grid))
    weights = 1 / np.arange(1, len(cells) + 1)
    found: list[Superset] = []
    for kind in KINDS:
        whole = _records(fragments, kind)
        for count in rows:
            drawn = rng.choice(cells, count, p=weights / weights.sum())
            occurring = np.unique(fragment_of[drawn])
            occurring = occurring[occurring >= 0]
            # Fragments that are sent as they are do not have to be known before.
            static_k = min(whole, len(occurring)) if whole == len(fragments) else whole
            found.append(
                Superset(
                    workload=name,
                    kind=kind,
                    rows=count,
                    possible=len(fragments),
                    occurring=len(occurring),
                    static=static_k,
                    seen=_records(fragments[occurring], kind),
                )
            )
    return found


def _records(fragments: np.ndarray, kind: str) -> int:
    """The records of a decomposition, or the fragments if these are no more."""
    return min(len(fragments), decompose(fragments, kind).size)


def _table(measured: Sequence[Superset]) -> list[list[Cell]]:
    """A row for each workload, kind and number of rows: means over the repetitions."""
    table: list[list[Cell]] = []
    for group in dict.fromkeys((s.workload, s.kind, s.rows) for s in measured):
        same = [s for s in measured if (s.workload, s.kind, s.rows) == group]
        static_k, seen = mean(s.static for s in same), mean(s.seen for s in same)
        table.append(
            [
                *group,
                f"{mean(s.possible for s in same):.0f}",
                f"{mean(s.occurring for s in same):.0f}",
                f"{static_k:.1f}",
                f"{seen:.1f}",
                f"{static_k / seen - 1:+.0%}" if seen else None,
            ]
        )
    return table


def _ranges(rng: np.random.Generator) -> Grid:
    """Ranges of one attribute with 60 intervals."""
    return _sides(rng, 60)


def _boxes(rng: np.random.Generator) -> Grid:
    """Ranges of two attributes with 16 intervals each."""
    first, second = (_sides(rng, 16) for _ in range(2))
    return (first[:, None, :] & second[None, :, :]).reshape(-1, QUERIES)


def _flags(rng: np.random.Generator) -> Grid:
    """Unions of two conjunctions of two of eight flags, each set or not."""
    flags = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(bool)
    holds = np.zeros((256, QUERIES), dtype=bool)
    for query in range(QUERIES):
        for _ in range(2):
            holds[:, query] |= flags[:, rng.choice(8, 2, replace=False)].all(axis=1)
    return holds


def _lists(rng: np.random.Generator) -> Grid:
    """IN-lists: unions of some of twelve lists of 240 values."""
    members = rng.random((240, 12)) < 0.15
    unions = rng.random((12, QUERIES)) < 0.2
    return members.astype(np.int64) @ unions > 0


def _sides(rng: np.random.Generator, cells: int) -> np.ndarray:
    """A range of one attribute for each query: cells x queries."""
    starts, ends = np.sort(rng.integers(0, cells + 1, (2, QUERIES)), axis=0)
    number = np.arange(cells)[:, None]
    return (starts <= number) & (number < np.maximum(ends, starts + 1))


def _together(cells: int) -> np.ndarray:
    """Cells of two attributes that are nearly equal in all rows: a band along the diagonal."""
    side = round(cells**0.5)
    first, second = np.divmod(np.arange(cells), side)
    return np.flatnonzero(np.abs(first - second) <= 1)


WORKLOADS: Mapping[str, Callable[[np.random.Generator], Grid]] = {
    "ranges": _ranges,
    "boxes": _boxes,
    DEPENDENT: _boxes,
    "flags": _flags,
    "IN-lists": _lists,
}
