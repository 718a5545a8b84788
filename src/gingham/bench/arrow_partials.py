"""The other way to reduce inside partitions: coded rows to Python, grouped there by Arrow.

Only for the benchmark, which shows why records are made in the JVM; counts, sums and maxima of
columns, over one grid without keys.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gingham.core import names
from gingham.finals.answer import Cells
from gingham.finals.records import Read
from gingham.plan.forest import Forest
from gingham.plan.records import Reduced
from gingham.plan.slices import sliced
from gingham.spark.run import answers_here
from gingham.spark.shards import cell_in, placed

_MERGED = {"count": "sum", "sum": "sum", "max": "max"}


def answers_through_arrow(
    source: DataFrame, forest: Forest, reduced: Reduced, time: str
) -> Mapping[str, pa.Table]:
    """The slots of all queries; partials are computed and reduced by Arrow."""
    slices = sliced(forest.trees, lambda: (0, None))
    [grid], [tree] = forest.grids, slices
    calls = [column.removesuffix(")").split("(") for column in reduced.columns]
    arguments = sorted({argument for _, argument in calls if argument != "*"})
    coded = placed(source, forest, slices, time).select(
        f"{names.slice_in(tree)} AS {names.SLICE}",
        f"{cell_in(grid, forest)} AS {names.CELL}",
        *arguments,
    )
    lists = [reduced.grids[0].records_of(cell) for cell in range(grid.cells)]
    schema = f"{names.CODE} bigint, " + ", ".join(
        f"{names.partial(i)} bigint" for i in range(len(calls))
    )
    work = partial(_reduced, calls=calls, lists=lists, total=reduced.cells)
    sent = coded.made().mapInArrow(_in_batches(work), schema)
    merged = sent.groupBy(names.CODE).agg(
        *(
            F.expr(f"{_MERGED[function]}({names.partial(i)})").alias(names.partial(i))
            for i, (function, _) in enumerate(calls)
        )
    )
    table = Read(forest, reduced).table(merged.toArrow(), slices)
    found = answers_here(forest.queries, table, Cells())
    return {name: slots for name, slots in found.items() if isinstance(slots, pa.Table)}


def _in_batches(
    work: Callable[[pa.Table], pa.Table],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A partition as one table."""

    def each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if found:
            yield from work(pa.Table.from_batches(found)).to_batches()

    return each


def _reduced(
    table: pa.Table, calls: list[list[str]], lists: list[tuple[int, ...]], total: int
) -> pa.Table:
    """Partials of fragments, then of records: few rows are left before they are multiplied."""
    by = [names.SLICE, names.CELL]
    wanted: list[tuple[str | list[str], str]] = [
        ([] if argument == "*" else argument, "count_all" if argument == "*" else function)
        for function, argument in calls
    ]
    partials = table.group_by(by).aggregate(wanted)
    cells = partials[names.CELL].to_numpy()
    counts = np.array([len(lists[cell]) for cell in cells], dtype=np.int64)
    rows = np.repeat(np.arange(len(cells)), counts)
    records = np.array([r for cell in cells for r in lists[cell]], dtype=np.int64)
    codes = partials[names.SLICE].to_numpy()[rows] * total + records
    columns = {names.CODE: pa.array(codes)}
    for i, (function, argument) in enumerate(calls):
        name = "count_all" if argument == "*" else f"{argument}_{function}"
        columns[names.partial(i)] = partials[name].take(pa.array(rows)).cast(pa.int64())
    grouped = pa.table(columns).group_by(names.CODE)
    merged = grouped.aggregate(
        [(names.partial(i), _MERGED[function]) for i, (function, _) in enumerate(calls)]
    )
    return merged.select(
        [names.CODE, *(f"{names.partial(i)}_{_MERGED[f]}" for i, (f, _) in enumerate(calls))]
    ).rename_columns([names.CODE, *(names.partial(i) for i in range(len(calls)))])
