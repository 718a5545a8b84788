"""`python -m benchmarks mix --quick` measures every way, and its answers are Spark's."""

import io
import json

from rich.console import Console

from benchmarks import mix
from benchmarks.workload_report import Way


def test_a_quick_mix_is_measured_in_every_way_and_answers_are_equal(spark, tmp_path):
    text, file = io.StringIO(), tmp_path / "mix.json"
    [result] = mix.run(
        rows=2_000,
        quick=True,
        spark=spark,
        json_path=file,
        plot_path=tmp_path / "mix.png",
        console=Console(file=text, width=200),
    )
    assert set(result.timings) == set(Way)
    assert not result.refused
    assert not result.failed
    assert not result.differences
    assert result.checked == result.n == 8
    assert result.prediction is not None
    assert "predicted" in text.getvalue()
    assert json.loads(file.read_text())["results"][0]["queries"] == 8
    assert (tmp_path / "mix.png").exists()


def test_many_mixes_tell_the_spread_of_their_ratios(spark, tmp_path):
    text, file = io.StringIO(), tmp_path / "mixes.json"
    results = mix.run(
        rows=500,
        quick=True,
        mixes=2,
        spark=spark,
        json_path=file,
        console=Console(file=text, width=200),
    )
    assert [result.n for result in results] == [8, 8]
    assert not any(result.differences for result in results)
    assert set(json.loads(file.read_text())["ratios"]) == {"minimum", "median", "maximum"}
    assert "2 mixes, one by one / shared" in text.getvalue()
