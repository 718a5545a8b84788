"""Files of a checkpoint: written whole or not at all, wherever Spark can keep a checkpoint."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyarrow import fs
from pyarrow.dataset import dataset

from gingham.core.errors import CheckpointError


class Files:
    """A folder of checkpoint files, local or in an object store; each is complete or not there."""

    def __init__(self, root: str) -> None:
        try:
            self._system, self._root = fs.FileSystem.from_uri(_uri(root))
            self._system.create_dir(self._root, recursive=True)
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{root} cannot be written", str(error), "a folder that this process may write to"
            ) from error
        self.root = root

    def within(self, folder: str) -> Files:
        """Open a folder inside this folder of the checkpoint; it is made if need be."""
        return Files(f"{self.root}/{folder}")

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the checkpoint, in place of an older one of that name."""
        with self.opened(name) as stream:
            stream.write(content)

    @contextmanager
    def opened(self, name: str) -> Generator[pa.NativeFile]:
        """Open a checkpoint file to write; it appears once the block ends without an error."""
        path = f"{self._root}/{name}"
        # Object stores show a file when it is complete; elsewhere it is renamed then.
        staged = path if self._atomic else f"{self._root}/_{name}.tmp"
        with self._system.open_output_stream(staged) as stream:
            yield stream
        if staged != path:
            self._system.move(staged, path)

    def read(self, name: str) -> bytes:
        """Read a whole file of the checkpoint."""
        with self._system.open_input_stream(f"{self._root}/{name}") as stream:
            return cast("bytes", stream.read())

    def names(self) -> list[str]:
        """List all complete files of this checkpoint folder, sorted by name."""
        selector = fs.FileSelector(self._root, allow_not_found=True)
        found = self._system.get_file_info(selector)
        return sorted(f.base_name for f in found if f.is_file and f.base_name[0] not in "_.")

    def folders(self) -> list[str]:
        """List all folders inside this checkpoint folder, sorted by name."""
        selector = fs.FileSelector(self._root, allow_not_found=True)
        found = self._system.get_file_info(selector)
        return sorted(f.base_name for f in found if f.type == fs.FileType.Directory)

    def parquet(self, folder: str) -> Iterator[pa.RecordBatch]:
        """Read a folder of Parquet files that Spark wrote into the checkpoint, batch by batch."""
        found = dataset(f"{self._root}/{folder}", filesystem=self._system, format="parquet")
        return cast("Iterator[pa.RecordBatch]", found.to_batches())

    def delete_folder(self, folder: str) -> None:
        """Remove a folder of the checkpoint and all that is in it, if it is still there."""
        if self.exists(folder):
            self._system.delete_dir(f"{self._root}/{folder}")

    def is_empty(self) -> bool:
        """Whether the checkpoint folder holds nothing at all."""
        return not self._system.get_file_info(fs.FileSelector(self._root, allow_not_found=True))

    def exists(self, name: str) -> bool:
        """Whether the checkpoint folder has a file or folder of this name."""
        return self._system.get_file_info(f"{self._root}/{name}").type != fs.FileType.NotFound

    def delete(self, name: str) -> None:
        """Remove a file of the checkpoint, if it is still there."""
        if self.exists(name):
            self._system.delete_file(f"{self._root}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether the checkpoint is on this machine, and not in an object store."""
        return isinstance(self._system, fs.LocalFileSystem)

    @property
    def _atomic(self) -> bool:
        """Whether the file system itself shows a file only once it is complete."""
        return not isinstance(self._system, fs.LocalFileSystem | fs.HadoopFileSystem)


def _uri(root: str) -> str:
    """The checkpoint folder as a URI, as Arrow's file systems take it."""
    return root if "://" in root else Path(root).absolute().as_uri()
