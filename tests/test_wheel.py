"""The wheel holds what a user needs: no tests, no benchmarks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
# What a user imports; a new folder of src/gingham is listed here on purpose.
FOLDERS = {
    "aggregates",
    "algebra",
    "checkpoint",
    "cli",
    "columns",
    "core",
    "datasets",
    "estimates",
    "finals",
    "inspect",
    "logical",
    "optimizer",
    "plan",
    "session",
    "sinks",
    "spark",
    "sql",
    "stream",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Build the wheel without the network; the names of its files."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return archive.namelist()


def test_nothing_but_the_package_is_installed(files: list[str]):
    top = {name.split("/")[0] for name in files}
    assert {name for name in top if not name.endswith(".dist-info")} == {"gingham"}


def test_the_package_has_the_folders_that_a_user_needs(files: list[str]):
    inside = [name.split("/") for name in files if name.startswith("gingham/")]
    assert {parts[1] for parts in inside if len(parts) > 2} == FOLDERS


def test_the_example_workloads_are_installed(files: list[str]):
    assert {"gingham/cli/example/trades.sql", "gingham/cli/example/trades.yaml"} <= set(files)
