"""Condensing: shards of the same slice, cell and group become one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gingham.aggregates.monoid import flat
from gingham.core import names
from gingham.finals.shards import numbered
from gingham.plan.forest import Forest


def condense(table: pa.Table, forest: Forest) -> pa.Table:
    """Merge shards of the same instant, cell and group in a table; answers stay the same."""
    keys = [names.key(i) for i in range(len(forest.keys))]
    columns = [names.INSTANT, names.CELL, *(k for k in keys if k in table.column_names)]
    groups, count = numbered([table[c] for c in columns], np.arange(table.num_rows))
    if count == table.num_rows:
        return table
    order = np.argsort(groups, kind="stable")
    table = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    merged = {c: table[c].take(pa.array(starts)) for c in columns}
    for partial in forest.partials:
        names_of = [names.partial(forest.columns.index(c)) for c in partial.columns]
        if all(name in table.column_names for name in names_of):
            try:
                states = [flat(table[name]) for name in names_of]
                condensed = partial.monoid.condense(states, starts)
            except pa.ArrowInvalid:
                # A sum of decimals that does not fit its type yet may fit once more is added.
                return table
            merged |= dict(zip(names_of, condensed, strict=True))
    return pa.table(merged)
