"""Answers as Parquet files."""

from __future__ import annotations

from itertools import chain
from urllib.parse import quote

import pyarrow.parquet as pq

from gingham.checkpoint.files import Files
from gingham.sinks.answer import Answer


class ParquetSink:
    """A sink of Parquet files: a folder per query, a whole file per delivery."""

    def __init__(self, root: str) -> None:
        self._files = Files(root)
        self._folders: dict[str, Files] = {}

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Write an answer as the Parquet file of this delivery, in place of a repeated one."""
        if name not in self._folders:
            self._folders[name] = self._files.within(quote(name, safe=""))
        batches = answer.batches()
        first = next(batches, None)
        if first is None:
            return
        with (
            self._folders[name].opened(f"part-{number:012d}.parquet") as stream,
            pq.ParquetWriter(stream, first.schema) as writer,
        ):
            for batch in chain((first,), batches):
                writer.write_batch(batch)
