"""Shards that stay with the executors: a folder of Parquet files for each batch that has some.

The shards of a grid with too many for the driver stay here. What its queries need is read from the
folders, recoded, answered and written where the data is; the driver sees names and counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from gingham.checkpoint.files import Files
from gingham.checkpoint.lease import Lease
from gingham.core import names
from gingham.core.arrays import Ints
from gingham.core.errors import CheckpointError
from gingham.core.time import NEVER
from gingham.finals.floors import Floors
from gingham.finals.recode import moves, renamed_columns
from gingham.plan.codebook import Codebook
from gingham.plan.forest import Forest
from gingham.spark.on_executors import condense_on_executors
from gingham.spark.rows_to_shards import in_grids_sql
from gingham.spark.select_chain import SelectChain
from gingham.spark.spark_errors import SPARK_ERRORS, spark_message
from gingham.spark.to_dataframe import to_dataframe


@dataclass(frozen=True, slots=True)
class ExecutorFolder:
    """A folder that executors wrote, as the log names it, so that none of its files can be lost."""

    name: str
    files: Mapping[str, int]  # the size in bytes of each

    def to_json(self) -> dict[str, Any]:
        """The folder as JSON for the log; `ExecutorFolder(**found)` reads it again."""
        return asdict(self)

    def damage(self, files: Files) -> str | None:
        """What is wrong with the files of the folder, which is in `files`; None if nothing is."""
        found = files.within(self.name).sizes()
        if found == self.files:
            return None
        names = sorted(found.keys() ^ self.files.keys()) or sorted(
            name for name, size in found.items() if self.files[name] != size
        )
        return f"{self.name}/{names[0]} is missing, new, or has another size"


class ExecutorShards:
    """The folders of shards of a stream, and what their cells and columns mean."""

    def __init__(self, spark: SparkSession, files: Files, lease: Lease) -> None:
        self._spark = spark
        self._files = files
        self._lease = lease
        self._books: dict[str, Codebook] = {}

    def __bool__(self) -> bool:
        return bool(self._books)

    def write(self, number: int, shards: DataFrame) -> ExecutorFolder:
        """Write a folder with the executors' shards of a batch; it counts once the log names it."""
        return self._written(f"{number:012d}-{self._lease.term}", shards)

    def add(self, folder: ExecutorFolder, book: Codebook) -> None:
        """Count a folder that a log entry names among the shards of the stream."""
        self._books[folder.name] = book

    def restore(self, folder: ExecutorFolder, book: Codebook) -> None:
        """Count a folder that a log entry names after a restart; raise if it lacks a file."""
        if (why := folder.damage(self._files)) is not None:
            raise self._damaged(why)
        self.add(folder, book)

    def check(self) -> None:
        """Raise if a file of a folder cannot be read: its file system has checksums of all."""
        if not self._books:
            return
        paths = [self._path(folder) for folder in self._books]
        try:
            files = self._spark.read.format("binaryFile").load(paths)
            files.write.format("noop").mode("overwrite").save()
        except SPARK_ERRORS as error:
            raise self._damaged(spark_message(error)) from error

    def carried(self, codebook: Codebook) -> Codebook:
        """A codebook with the records of all folders, too."""
        return reduce(Codebook.carrying, self._books.values(), codebook)

    def shards(
        self, codebook: Codebook, on_driver: pa.Table, fresh: str | None
    ) -> DataFrame | None:
        """Read executors' shards under a codebook that carries their records; `fresh` is new.

        `on_driver` are shards of these grids that are still there, from before the grids moved.
        """
        parts = [
            self._recoded(folder, book, codebook).selectExpr(
                "*", f"{str(folder == fresh).lower()} AS {names.FRESH}"
            )
            for folder, book in self._books.items()
        ]
        if on_driver.num_rows:
            rows = to_dataframe(self._spark, on_driver)
            parts.append(rows.selectExpr("*", f"false AS {names.FRESH}"))
        if not parts:
            return None
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)

    def compact(
        self,
        number: int,
        forest: Forest,
        codebook: Codebook,
        on_driver: pa.Table,
        floors: Floors,
    ) -> ExecutorFolder:
        """Merge shards that are still needed into one new folder; delete nothing yet."""
        shards = self.shards(codebook, on_driver, None)
        assert shards is not None  # asked only if there is a folder
        # What is older than the floor of its grid need not be shuffled before it is dropped.
        instants = {n: floor for n, floor in floors.items() if isinstance(floor, int)}
        reached = " OR ".join(
            f"({in_grids_sql(names.CELL, codebook.layouts([grid]))} AND "
            f"{names.INSTANT} >= {instants.get(grid.number, NEVER)}L)"
            for grid in forest.grids
        )
        reached_shards = shards.drop(names.FRESH).where(reached)
        condensed = condense_on_executors(reached_shards, forest, codebook, floors)
        return self._written(f"{number:012d}-{self._lease.term}-all", condensed)

    def numbers(self, folder: ExecutorFolder) -> Ints:
        """The numbers of cells and records that the shards of a folder have."""
        shards = self._spark.read.parquet(self._path(folder.name))
        return shards.select(names.CELL).distinct().toArrow()[names.CELL].to_numpy()

    def keep_only(self, folders: Iterable[ExecutorFolder], book: Codebook) -> None:
        """Delete all folders of shards but these, whose cells and columns are of this plan."""
        self._books = dict.fromkeys((folder.name for folder in folders), book)
        self._lease.check()
        for folder in self._files.folders():
            if folder not in self._books:
                self._files.delete_folder(folder)

    def _recoded(self, folder: str, old: Codebook, new: Codebook) -> DataFrame:
        """Read a folder of shards, recoded from the old cells and columns to the new ones."""
        return recoded_rows(self._spark.read.parquet(self._path(folder)), old, new)

    def _written(self, folder: str, shards: DataFrame) -> ExecutorFolder:
        """Write shards into a new folder; no two processes write to the same one."""
        shards.write.mode("overwrite").parquet(self._path(folder))
        return ExecutorFolder(folder, self._files.within(folder).sizes())

    def _damaged(self, why: str) -> CheckpointError:
        """The error of shards in the checkpoint that are not complete."""
        return CheckpointError(
            f"shards in {self._files.root} cannot be read",
            why,
            "the checkpoint from a copy, or a new folder to start afresh",
        )

    def _path(self, folder: str) -> str:
        """The path of a folder of executors' shards in the checkpoint."""
        return f"{self._files.root}/{folder}"


def recoded_rows(rows: DataFrame, old: Codebook, new: Codebook) -> DataFrame:
    """Recode shards on the executors from the old cells and columns to the new ones."""
    if old == new:
        return rows
    cells = [
        f"WHEN {names.CELL} >= {first}L AND {names.CELL} < {first + len(places)}L THEN "
        f"get(from_json('{json.dumps(places.tolist())}', 'array<bigint>'), "
        f"CAST({names.CELL} - {first}L AS INT))"
        for first, places in moves(old, new)
    ]
    moved = f"CASE {' '.join(cells)} END" if cells else "CAST(NULL AS BIGINT)"
    columns = [f"{column} AS {to}" for column, to in renamed_columns(rows.columns, old, new)]
    chain = SelectChain(rows).select(names.INSTANT, f"{moved} AS {names.CELL}", *columns)
    return chain.to_dataframe().where(f"{names.CELL} IS NOT NULL")
