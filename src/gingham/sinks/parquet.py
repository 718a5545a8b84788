"""Answers as Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_json, sealed_json, write_json
from gingham.core.errors import CheckpointError, SinkError
from gingham.core.file_names import file_name
from gingham.sinks.answer import Answer

# Readers of Parquet folders skip files whose names start like this.
_OWNER = "_gingham.json"
_PART = re.compile(r"part-(?:(\d+)-)?(\d{12})\.parquet")


@dataclass(slots=True)
class _Folder:
    """The folder of a query, and the numbers of the deliveries that it holds."""

    files: Files
    numbers: set[int] = field(default_factory=set[int])


class ParquetSink:
    """A sink of Parquet files: a folder per query, a whole file per delivery.

    A file tells the checkpoint that the answers are of. If another one is adopted, files of the old
    one stay, and those of the new one have the number of their series in their names.
    """

    def __init__(self, root: str) -> None:
        self._files = Files(root)
        self._folders: dict[str, _Folder] = {}
        self._checkpoint = ""
        self._series = 0
        self._adopt = False

    def claim(self, checkpoint: str, *, adopt: bool) -> None:
        """Note in the folder which checkpoint the answers are of; refuse answers of another one."""
        self._checkpoint, self._adopt = checkpoint, adopt
        if self._files.is_empty():
            self._files.create(_OWNER, sealed_json({"checkpoint": checkpoint, "series": 0}))
        try:
            owner = read_json(self._files, _OWNER)
        except CheckpointError as error:
            if not adopt:
                raise self._refused("it does not say which checkpoint they are of") from error
            self._begin_series()
            return
        self._series = owner["series"]
        if owner["checkpoint"] != checkpoint:
            if not adopt:
                raise self._refused("they are of another checkpoint")
            self._begin_series()

    def deliver(self, name: str, answer: Answer, number: int) -> None:
        """Write an answer as the Parquet file of this delivery, unless it is repeated."""
        batches = answer.batches()
        first = next(batches, None)
        if first is None:
            return
        folder = self._folder(name)
        if number <= max(folder.numbers, default=-1):
            if self._is_repeated(folder, number, answer):
                return
            if not self._adopt:
                raise self._refused(
                    f"delivery {number} of {name!r} is not what came under that number before: "
                    "the checkpoint is an older copy"
                )
            self._begin_series()
            folder = self._folder(name)
        self._write(folder.files, self._part(number), chain((first,), batches), first.schema)
        folder.numbers.add(number)

    def _write(
        self, files: Files, name: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> None:
        """Write a whole Parquet file."""
        with files.opened(name) as stream, pq.ParquetWriter(stream, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def _is_repeated(self, folder: _Folder, number: int, answer: Answer) -> bool:
        """Whether a delivery has the windows and groups that came under its number before."""
        if number not in folder.numbers:
            return False
        before = pq.read_table(pa.BufferReader(folder.files.read(self._part(number))))
        return _comparable(before) == _comparable(answer.table())

    def _folder(self, name: str) -> _Folder:
        """The folder of a query, which is looked into once."""
        if name not in self._folders:
            files = self._files.within(file_name(name))
            found = filter(None, map(_PART.fullmatch, files.names()))
            numbers = {int(part[2]) for part in found if int(part[1] or 0) == self._series}
            self._folders[name] = _Folder(files, numbers)
        return self._folders[name]

    def _part(self, number: int) -> str:
        """The name of the file of a delivery."""
        series = f"{self._series}-" if self._series else ""
        return f"part-{series}{number:012d}.parquet"

    def _begin_series(self) -> None:
        """Let files of answers to come have other names than those that are there."""
        self._folders.clear()
        for name in self._files.folders():
            for part in filter(None, map(_PART.fullmatch, self._files.within(name).names())):
                self._series = max(self._series, int(part[1] or 0))
        self._series += 1
        write_json(self._files, _OWNER, {"checkpoint": self._checkpoint, "series": self._series})

    def _refused(self, why: str) -> SinkError:
        """The error of answers that would be mixed with others in this folder."""
        return SinkError(
            f"{self._files.root} has answers already",
            why,
            "another folder, or loom.start(..., adopt_sink=True): then both are there",
        )


def _comparable(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of an answer in an order of their own, without what may differ in the last digit."""
    # Sums of doubles may be added in another order; windows, keys and counts are the same.
    exact = [
        f.name
        for f in table.schema
        if not (pa.types.is_floating(f.type) or pa.types.is_nested(f.type))
    ]
    columns = [table[name].to_pylist() for name in exact]
    return sorted(zip(*columns, strict=True), key=repr)
