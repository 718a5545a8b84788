"""Plans of golden workloads stay as they are; `make golden` writes them anew.

Every rule has a folder, with workloads in which it does something and others in which it does not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.planning.golden import FOLDER, planned, workloads

# Stands in for the package, whose public names would import Spark.
_WITHOUT_SPARK = """
import sys
from types import ModuleType

sys.modules["pyspark"] = None
package = ModuleType("gingham")
package.__path__ = [sys.argv[1]]
sys.modules["gingham"] = package

from tests.planning.golden import planned, workloads

for path in workloads():
    assert planned(path) == path.with_suffix(".txt").read_text(encoding="utf-8"), path
print(len(workloads()))
"""


@pytest.mark.parametrize("path", workloads(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_workload_has_the_plan_that_was_written(path: Path, *, rewrite: bool):
    expected = path.with_suffix(".txt")
    if rewrite:
        expected.write_text(planned(path), encoding="utf-8")
    assert planned(path) == expected.read_text(encoding="utf-8")


def test_every_plan_has_its_workload():
    assert {path.with_suffix(".txt") for path in workloads()} == set(FOLDER.glob("*/*.txt"))


def test_planning_imports_no_spark():
    root = FOLDER.parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SPARK, str(root / "src" / "gingham")],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == len(workloads())
