"""Condensing: shards of the same slice, cell and group become one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gingham.aggregates import Partial
from gingham.aggregates.counts import ADD_INTEGERS
from gingham.aggregates.monoid import flat
from gingham.core import names
from gingham.finals.shards import numbered
from gingham.plan.codebook import Codebook
from gingham.plan.forest import Forest


def condense(table: pa.Table, forest: Forest, codebook: Codebook) -> pa.Table:
    """Merge shards of the same instant, number and group in a table; answers stay the same.

    The forest is that of the codebook's plan; whatever columns the codebook has more are counts.
    """
    keys = [names.key(i) for i in range(len(forest.keys))]
    columns = [names.INSTANT, names.CELL, *(k for k in keys if k in table.column_names)]
    groups, count = numbered([table[c] for c in columns], np.arange(table.num_rows))
    if count == table.num_rows:
        return table
    order = np.argsort(groups, kind="stable")
    table = table.take(pa.array(order))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    merged = {c: table[c].take(pa.array(starts)) for c in columns}
    counts = [Partial((c,), ADD_INTEGERS) for c in codebook.columns if c not in forest.columns]
    for partial in (*forest.partials, *counts):
        names_of = [names.partial(codebook.columns.index(c)) for c in partial.columns]
        if all(name in table.column_names for name in names_of):
            try:
                states = [flat(table[name]) for name in names_of]
                condensed = partial.monoid.condense(states, starts)
            except pa.ArrowInvalid:
                # A sum of decimals that does not fit its type yet may fit once more is added.
                return table
            merged |= dict(zip(names_of, condensed, strict=True))
    return pa.table(merged)
