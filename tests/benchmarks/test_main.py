"""`python -m benchmarks` tells what there is before it measures anything."""

from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import BENCHMARKS, main, require_installed
from gingham.core.errors import GinghamError


def test_an_unknown_benchmark_is_told_the_names():
    result = CliRunner().invoke(main, ["speed"])
    assert result.exit_code == 1
    assert "instead: share" in result.stderr


def test_what_is_not_installed_is_said_before_measuring():
    require_installed(["duckdb"])
    with pytest.raises(GinghamError, match="pip install --editable"):
        require_installed(["duckdb", "a_module_that_is_not_there"])


def test_without_a_name_the_benchmarks_are_listed():
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(BENCHMARKS)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_that_is_listed_is_a_module(name: str):
    assert find_spec(f"benchmarks.{name}") is not None


def test_an_option_that_a_benchmark_does_not_have_is_refused_before_measuring():
    result = CliRunner().invoke(main, ["weave", "--mixes", "3"])
    assert result.exit_code == 1
    assert "weave has no option --mixes" in result.stderr
