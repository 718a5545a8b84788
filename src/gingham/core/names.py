"""The names of columns that Gingham adds: the same in plans, logs and metrics."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count

WINDOW_START = "window_start"
WINDOW_END = "window_end"

TIME = "__time"  # event time in microseconds
SLICE = "__slice"
CELL = "__cell"  # a cell of some grid, numbered over all grids of the forest
POSITION = "__position"  # how many rows come before a row, on the clock of its windows
CODE = "__code"  # slice and cell in one long, the key that shards are grouped by
MATCHED = "__matched"  # after a table's name: whether a lookup found a row
INSTANT = "__instant"  # where a shard's slice begins, in microseconds
FRESH = "__fresh"  # whether a shard is of the last batch
ROWS = "__rows"  # how many rows a shard is made of
LATE = "__late"  # how many of them came after the watermark had passed them
LATEST = "__latest"  # the event time of the last of them
AHEAD = "__ahead"  # how many of them are too far in the future
FRAGMENT = "__fragment"  # which queries over joins want a row, as a number
CHANGE = "__change"  # how many rows a row to sketch adds, negative if it deletes some
SKETCH = "__sketch"  # the number of a sketch
EPOCH = "__epoch"  # the plan that sketches were made under
COUNTERS = "__counters"  # of a sketch, as 64-bit words one after the other

# Also those of one step only: values of attributes, lookups, queries, buckets.
_RESERVED = re.compile(
    r"__(time|slice|cell|code|matched|instant|fresh|rows|late|latest|ahead"
    r"|fragment|change|sketch|epoch|counters|one|query|bucket|timeless|window|slice_number"
    r"|cell_number|position"
    r"|(slice|interval|key|partial|aggregate|word|value|position|lookup|alias|input)_\w+)",
    re.IGNORECASE,
)


def slice_in(tree: int) -> str:
    """The name of the column with the number of a row's slice in a tree: `__slice_0`."""
    return f"__slice_{tree}"


def interval(axis: int) -> str:
    """The name of the column with the number of a row's interval on an axis: `__interval_0`."""
    return f"__interval_{axis}"


def key(position: int) -> str:
    """The name of a group key's column in shards: `__key_0`."""
    return f"__key_{position}"


def partial(position: int) -> str:
    """The name of a partial aggregate's column in shards: `__partial_0`."""
    return f"__partial_{position}"


def input_(position: int) -> str:
    """The name of a column that is computed for every row, to be filled by columns: `__input_0`."""
    return f"__input_{position}"


def aggregate(position: int) -> str:
    """The name of an aggregate's column in one query's answer: `__aggregate_0`."""
    return f"__aggregate_{position}"


def word(position: int) -> str:
    """The name of the column that holds a join attribute as a 64-bit word: `__word_0`."""
    return f"__word_{position}"


def quoted(name: str) -> str:
    """Quote a column name with the backquotes of Spark SQL.

    >>> quoted("listing.r1000")
    '`listing.r1000`'
    """
    return "`" + name.replace("`", "``") + "`"


def unquoted(sql: str) -> str:
    """The name that a word, or a text in backquotes, stands for: undoes `quoted`.

    >>> unquoted("vol"), unquoted("`a b`")
    ('vol', 'a b')
    """
    return sql[1:-1].replace("``", "`") if sql.startswith("`") else sql


def is_reserved(name: str) -> bool:
    """Whether a column name is one that Gingham adds to rows or shards by itself.

    >>> is_reserved("__key_0"), is_reserved("__CODE"), is_reserved("__index_level_0__")
    (True, True, False)
    """
    return _RESERVED.fullmatch(name) is not None


def unused_name(queries: Collection[str]) -> str:
    """Make up a name for a query that was added without one, unlike those of `queries`.

    >>> unused_name(["q1", "alerts"]), unused_name(["q2"])
    ('q3', 'q3')
    """
    return next(name for n in count(len(queries) + 1) if (name := f"q{n}") not in queries)
