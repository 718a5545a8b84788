"""Rules and events of others, read from a folder that the user names."""

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gingham.core.errors import WorkloadError

VARIABLE = "GINGHAM_WORKLOADS"


def read_workload_file(folder: str | os.PathLike[str] | None, name: str) -> Any:
    """Read a JSON file of the folder, which is that of GINGHAM_WORKLOADS if none is given."""
    chosen = folder or os.environ.get(VARIABLE)
    if not chosen:
        raise WorkloadError(
            f"no folder for {name}",
            "rules and events of others are no part of this project",
            f"--workloads FOLDER, or {VARIABLE}=FOLDER",
        )
    try:
        return json.loads((Path(chosen) / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkloadError(
            f"{name} cannot be read", str(error), f"--workloads with a folder that has {name}"
        ) from error


def shuffled(queries: Mapping[str, str], seed: int = 0) -> dict[str, str]:
    """The queries in a random order, so that the first n are a fair sample.

    >>> shuffled({"a": "1", "b": "2", "c": "3"})
    {'a': '1', 'c': '3', 'b': '2'}
    """
    names = sorted(queries)
    random.Random(seed).shuffle(names)
    return {name: queries[name] for name in names}
