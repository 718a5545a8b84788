"""Costs are measured once and kept."""

from pathlib import Path

import pytest

from gingham import WorkloadError
from gingham.optimizer.cost import Cost


def test_costs_are_kept_in_a_file(tmp_path: Path):
    cost = Cost(row=1e-9, final=5e-9)
    cost.write(tmp_path / "cost.json")
    assert Cost.read(tmp_path / "cost.json") == cost
    (tmp_path / "cost.json").write_text('{"rows": 3}')
    with pytest.raises(WorkloadError):
        Cost.read(tmp_path / "cost.json")
