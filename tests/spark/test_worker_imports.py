"""A new Python worker does not wait for libraries that it does not use."""

import subprocess
import sys

import pytest

# The modules of functions that executors call.
CALLED = (
    "gingham.spark.fill_partition",
    "gingham.spark.far_answers",
    "gingham.spark.on_executors",
)
SLOW = ("pandas", "scipy", "pyspark.ml", "gingham.loom", "gingham.cli")


@pytest.mark.parametrize("module", CALLED)
def test_what_executors_call_imports_nothing_slow(module: str):
    code = f"import sys, {module}; print(*[name for name in {SLOW} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
