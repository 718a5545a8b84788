"""What Spark itself keeps of a stream: which rows belong to which of its micro-batches.

    offsets/340    where the source stood when batch 340 was planned
    commits/340    batch 340 is done
    sources/0/340  what the source itself has noted, such as the names of files

Entries of the log keep checksums of these files, so that a restart does not read rows twice, or
never, because one of them was lost or is another one now.
"""

from __future__ import annotations

from collections.abc import Mapping

from gingham.checkpoint.files import Files
from gingham.core.errors import CheckpointError

FOLDER = "source"
Checksums = Mapping[str, int]  # by path


class SparkSource:
    """The folder of a checkpoint in which Spark keeps how far it has read a stream."""

    def __init__(self, files: Files) -> None:
        self.root = f"{files.root}/{FOLDER}"
        # Spark makes these folders itself.
        self._files = Files(self.root, make=False)

    def of_batch(self, batch: int) -> dict[str, int]:
        """The checksums of what Spark has written about a micro-batch before it ran."""
        return {
            path: self._files.checksum(path)
            for path, number in self._paths().items()
            if number == batch
        }

    def still_there(self, known: Checksums) -> dict[str, int]:
        """Those checksums whose files Spark has not deleted yet."""
        paths = self._paths()
        return {path: checksum for path, checksum in known.items() if path in paths}

    def check(self, batch: int, known: Checksums) -> None:
        """Raise unless Spark goes on right after the last micro-batch of the log."""
        paths, commits = self._paths(), self._numbers("commits").values()
        offsets = [number for path, number in paths.items() if path.startswith("offsets/")]
        # Without it Spark would start over and count from zero batches that are in the log.
        if batch >= 0 and batch not in offsets:
            raise self._lost(
                f"{self.root} does not know batch {batch}",
                "the log holds its shards, but where the source stood then is lost",
            )
        # Spark plans a batch when the one before is in the log.
        newest = max([-1, *commits, *(number - 1 for number in offsets)])
        if newest > batch:
            raise self._lost(
                f"the log lacks batch {newest} of {self.root}",
                "Spark has finished it and does not read its rows again",
            )
        for path, checksum in known.items():
            self._check_file(path, checksum, known, paths)

    def _check_file(
        self, path: str, checksum: int, known: Checksums, paths: Mapping[str, int]
    ) -> None:
        """Raise if a file is not what it was when its batch ran, or is lost."""
        if path not in paths:
            folder = path.rpartition("/")[0]
            # Spark deletes old ones; what it misses among the others it says itself.
            newest = max((p for p in known if p.startswith(f"{folder}/")), key=_number_of)
            if path == newest:
                raise self._lost(f"{self.root}/{path} is missing", "Spark needs it to go on")
        elif self._files.checksum(path) != checksum:
            raise self._lost(
                f"{self.root}/{path} is not what it was",
                "its checksum is another one than that in the log",
            )

    def _paths(self) -> dict[str, int]:
        """All files about micro-batches before they run, and the number of each."""
        found = self._numbers("offsets")
        for source in self._files.within("sources").folders():
            found |= self._numbers(f"sources/{source}")
        return found

    def _numbers(self, folder: str) -> dict[str, int]:
        """The numbers of the files of a folder, by their paths."""
        names = self._files.within(folder).names()
        paths = (f"{folder}/{name}" for name in names if name.partition(".")[0].isdigit())
        return {path: _number_of(path) for path in paths}

    def _lost(self, what: str, why: str) -> CheckpointError:
        """The error of a source that cannot go on where the log ends."""
        return CheckpointError(
            what, why, "the checkpoint from a copy, or a new folder to start afresh"
        )


def _number_of(path: str) -> int:
    """The number of the micro-batch that a file of Spark's is about.

    >>> _number_of("sources/0/9.compact")
    9
    """
    return int(path.rpartition("/")[2].partition(".")[0])
