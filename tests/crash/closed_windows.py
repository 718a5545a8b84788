"""Which windows of a batch run's answer a stream over the same trades has closed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

DELAY = 4_000_000  # microseconds that the watermark stays behind the latest trade


def closed_windows(name: str, rows: list[Any], trades: pa.Table) -> list[Any]:
    """The rows of windows whose end the watermark has passed; they begin with start, end, symbol.

    The name of a query over windows of rows begins with `rows`: its windows are closed when their
    last row is numbered, and rows that the watermark has not passed are not.
    """
    times, symbols = trades["ts"].cast(pa.int64()).to_pylist(), trades["symbol"].to_pylist()
    watermark = max(times) - DELAY
    if not name.startswith("rows"):
        return [row for row in rows if row[1] <= watermark]
    passed = [s for t, s in zip(times, symbols, strict=True) if t < watermark]
    per_symbol = {s: passed.count(s) for s in symbols}
    reached = per_symbol if "symbol" in name else dict.fromkeys(symbols, len(passed))
    return [row for row in rows if row[1] <= reached[row[2]]]
