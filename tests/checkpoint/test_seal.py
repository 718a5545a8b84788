"""Files of a checkpoint are read whole or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from gingham.checkpoint.files import Files
from gingham.checkpoint.seal import read_table, write_table
from gingham.core.errors import CheckpointError


@pytest.mark.parametrize("harm", [lambda b: b[:-3], lambda b: b[:-1] + b"x", lambda _: b""])
def test_a_damaged_file_is_refused(tmp_path: Path, harm: Callable[[bytes], bytes]):
    files = Files(str(tmp_path))
    write_table(files, "t", pa.table({"a": [1, 2]}), {"n": 3})
    assert read_table(files, "t")[1] == {"n": 3}
    (tmp_path / "t").write_bytes(harm((tmp_path / "t").read_bytes()))
    with pytest.raises(CheckpointError):
        read_table(files, "t")
