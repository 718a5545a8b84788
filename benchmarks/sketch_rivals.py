"""What else fits into as many words: samples of rows, samples of keys, count-min sketches.

All ways get the same budget for the same queries. A sample of rows serves any join. A sample of
keys and a count-min sketch serve a join of two relations only. Two kinds of data: regions (few keys
with many rows each), and sparse keys (about four rows each) in relations of different sizes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.sections import Section
from benchmarks.sketch_panels import Workload
from gingham.core.arrays import Floats, Ints, Words
from gingham.datasets.regions import SCHEMA, Regions, Table, workload
from gingham.estimates.algebra import Join, JoinQuery, plan_sharing, samples
from tests.oracle.joins import join_size

# Rows of each relation with sparse keys; only the first size has joins of more than two relations,
# which are far off already.
SPARSE_ROWS = (100_000, 1_000_000)
ROWS_PER_KEY = 4
DEPTH = 3  # rows of a count-min sketch

# Estimates queries with so many words in all, by a random generator: one number for each query.
Way = Callable[[Workload, int, np.random.Generator], Sequence[float]]


def rivals(
    rows: int, budget: int, repetitions: int, sparse_rows: Sequence[int] = SPARSE_ROWS
) -> Section:
    """Relative errors, not squared, of joins of two relations and of more, by way and data."""
    queries = [JoinQuery(joins, name) for name, joins in workload(2).items()]
    one_join = [query for query in queries if len(query.joins) == 1]
    more_joins = [query for query in queries if len(query.joins) > 1]
    regions = Regions(rows=rows).tables()
    works = {
        "regions,\none join": Workload.of(one_join, regions),
        "regions,\n2 to 4 joins": Workload.of(more_joins, regions),
    }
    for size in sparse_rows:
        sparse = sparse_tables(size)
        works[f"{size:,} sparse rows,\none join"] = Workload.of(one_join, sparse)
        if size == sparse_rows[0]:
            works[f"{size:,} sparse rows,\n2 to 4 joins"] = Workload.of(more_joins, sparse)
    pairs_only = {"samples of keys": key_samples, "count-min sketches": count_min}
    ways: dict[str, Way] = {"shared sketches": shared_sketches, "samples of rows": row_samples}
    table: list[list[str]] = []
    for name, way in {**ways, **pairs_only}.items():
        cells = [
            "-"
            if name in pairs_only and len(work.queries[0].joins) > 1
            else f"{_error(way, work, budget, repetitions):,.1%}"
            for work in works.values()
        ]
        table.append([name, *cells])
    return Section(
        f"what else fits into {budget:,} words: mean relative error, not squared",
        ("", *works),
        table,
        caption="-: there is no such estimate",
    )


def _error(way: Way, work: Workload, budget: int, repetitions: int) -> float:
    """The mean over queries and repetitions of |estimate / truth - 1|."""
    truths = np.array(list(work.truths.values()))
    return float(
        np.mean(
            [
                np.abs(np.array(way(work, budget, np.random.default_rng(seed))) / truths - 1)
                for seed in range(repetitions)
            ]
        )
    )


def sparse_tables(rows: int) -> dict[str, Table]:
    """Relations with random keys, about four rows for each."""
    random = np.random.default_rng(2)
    return {
        name: Table(
            {key: random.integers(0, max(1, rows // ROWS_PER_KEY), rows) for key in attributes},
            np.ones(rows, dtype=np.int64),
        )
        for name, attributes in SCHEMA.items()
    }


def shared_sketches(work: Workload, budget: int, random: np.random.Generator) -> list[float]:
    """Estimate queries from the sketches of a plan."""
    plan = plan_sharing(work.queries, budget=budget, fold=True)
    plan = replace(plan, seed=int(random.integers(1 << 32)))
    found = work.sketched(plan)
    return [float(samples(plan, found, query.name).mean()) for query in work.queries]


def row_samples(work: Workload, budget: int, random: np.random.Generator) -> list[float]:
    """Join uniform samples of rows, without replacement; a word holds one key of a row."""
    relations = list(dict.fromkeys(r for query in work.queries for r in _relations(query)))
    samples_of: dict[str, Table] = {}
    for name in relations:
        table = work.tables[name]
        rows = min(budget // len(relations) // len(table.keys), int(table.counts.sum()))
        counts = random.multivariate_hypergeometric(table.counts, rows, method="marginals")
        taken = counts > 0
        samples_of[name] = Table({k: v[taken] for k, v in table.keys.items()}, counts[taken])
    return [_scaled_join(query, work.tables, samples_of) for query in work.queries]


def _scaled_join(
    query: JoinQuery, tables: Mapping[str, Table], samples_of: Mapping[str, Table]
) -> float:
    """The join of samples, times the number of choices of rows that each of theirs stands for."""
    size = join_size(query, samples_of)
    names = _relations(query)
    if len(set(names)) == 1:
        # A row meets itself in every sample; two different rows meet if both are in it.
        rows, all_rows = (int(t[names[0]].counts.sum()) for t in (samples_of, tables))
        return all_rows + (size - rows) * all_rows * (all_rows - 1) / (rows * (rows - 1))
    for name in names:
        size *= tables[name].counts.sum() / samples_of[name].counts.sum()
    return size


def key_samples(work: Workload, budget: int, random: np.random.Generator) -> list[float]:
    """Keep the keys with the least hashes, and the rows of each: two words for a key.

    All relations hash alike. Keys below the larger of the two ranges that both sides kept whole are
    a sample of all keys: what joins there is scaled by the size of that range.
    """
    sides = _sides(work.queries)
    kept = budget // len(sides) // 2
    multiplier = _odd(random)
    found: dict[tuple[str, str], tuple[Floats, Floats, float]] = {}
    for relation, attribute in sides:
        keys, rows = _frequencies(work.tables[relation], attribute)
        hashes = _mixed(keys, multiplier) / 2.0**64
        order = np.argsort(hashes)[: kept + 1]
        # The first hash that is not kept bounds the range; all keys are known if there is none.
        reach = float(hashes[order[kept]]) if len(order) > kept else 1.0
        found[relation, attribute] = hashes[order[:kept]], rows[order[:kept]], reach
    estimates: list[float] = []
    for (join,) in (query.joins for query in work.queries):
        (one, ones, reach), (other, others, far) = (found[side] for side in _both(join))
        _, i, j = np.intersect1d(one, other, return_indices=True)
        common = min(reach, far)
        inside = one[i] < common
        estimates.append(float((ones[i] * others[j])[inside].sum()) / common)
    return estimates


def count_min(work: Workload, budget: int, random: np.random.Generator) -> list[float]:
    """Count keys in buckets of a few hashes; the least product of two sketches is the estimate."""
    sides = _sides(work.queries)
    width = budget // len(sides) // DEPTH
    multipliers = [_odd(random) for _ in range(DEPTH)]
    counters: dict[tuple[str, str], Floats] = {}
    for relation, attribute in sides:
        keys, rows = _frequencies(work.tables[relation], attribute)
        buckets = [(_mixed(keys, m) % np.uint64(width)).astype(np.int64) for m in multipliers]
        totals = [np.bincount(bucket, weights=rows, minlength=width) for bucket in buckets]
        counters[relation, attribute] = np.stack(totals).astype(np.float64)
    return [
        float((counters[one] * counters[other]).sum(axis=1).min())
        for query in work.queries
        for one, other in [_both(query.joins[0])]
    ]


def _relations(query: JoinQuery) -> list[str]:
    """The relations of a query; one that is joined with itself is listed twice."""
    if len(query.joins) == 1:
        left, _, right, _ = query.joins[0]
        return [left, right]
    return list(dict.fromkeys(r for join in query.joins for r in (join[0], join[2])))


def _both(join: Join) -> tuple[tuple[str, str], tuple[str, str]]:
    """Both sides of a join: relation and attribute."""
    return (join[0], join[1]), (join[2], join[3])


def _sides(queries: Iterable[JoinQuery]) -> list[tuple[str, str]]:
    """The relations and attributes that queries with one join are joined on."""
    return list(dict.fromkeys(side for query in queries for side in _both(query.joins[0])))


def _frequencies(table: Table, attribute: str) -> tuple[Ints, Floats]:
    """The different keys of an attribute, and how many rows have each."""
    keys, places = np.unique(table.keys[attribute], return_inverse=True)
    return keys, np.bincount(places, weights=table.counts).astype(np.float64)


def _odd(random: np.random.Generator) -> np.uint64:
    """A random odd number, which numbers are multiplied by to hash them."""
    return np.uint64(random.integers(1 << 63)) * np.uint64(2) + np.uint64(1)


def _mixed(keys: Ints, multiplier: np.uint64) -> Words:
    """Hash keys to 64 bits: multiplied, and folded so that low bits depend on high ones."""
    mixed = (keys.astype(np.uint64) + np.uint64(1)) * multiplier
    for _ in range(2):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * multiplier
    return mixed ^ (mixed >> np.uint64(32))
