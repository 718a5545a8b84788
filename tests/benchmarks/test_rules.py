"""`rules` and `monitoring` read a folder of rules, and measure them as batch and as stream."""

import io
import json

import pytest
from rich.console import Console

from benchmarks import monitoring, rules
from benchmarks.metric_samples import sample_tables
from benchmarks.process_events import event_tables
from gingham.core.errors import WorkloadError

PREDICATES = {
    "shell": r"endswith(lower(Image), lower('\\cmd.exe')) AND CommandLine rlike '(?i)whoami'",
    "any": "NOT (ParentImage is null)",
    "broken": "no_such_column = 1",
}
EVENTS = [
    {
        "Image": image,
        "CommandLine": line,
        "ParentImage": "C:\\Windows\\explorer.exe",
        "User": "DOMAIN\\someone",
        "Hostname": f"host{number}",
    }
    for number, (image, line) in enumerate(
        [
            ("C:\\Windows\\System32\\cmd.exe", "cmd.exe /c whoami"),
            ("C:\\Windows\\System32\\cmd.exe", "cmd.exe /c C:\\Users\\someone\\a1234.bat"),
            ("C:\\Windows\\System32\\svchost.exe", "svchost.exe -k netsvcs -p"),
        ]
    )
]
QUERY = (
    "SELECT labels['instance'] AS instance, avg(value) AS value FROM samples "
    "WHERE metric = 'up' AND coalesce(labels['mode'], '') RLIKE '^(idle|user)$' "
    "GROUP BY labels['instance'], window(ts, '300 seconds', '60 seconds') HAVING avg(value) > 0.5"
)


def quiet():
    return Console(file=io.StringIO(), width=200)


@pytest.fixture
def folder(tmp_path):
    files = {
        "detection_rules.json": PREDICATES,
        "process_events.json": EVENTS,
        "monitoring_rules.json": [{"name": "up", "sql": QUERY}],
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize("benchmark", [rules, monitoring])
def test_without_a_folder_the_option_is_named(benchmark, monkeypatch):
    monkeypatch.delenv("GINGHAM_WORKLOADS", raising=False)
    with pytest.raises(WorkloadError, match="--workloads FOLDER"):
        benchmark.run(console=quiet())


def test_rules_are_measured_as_batch_and_stream_and_refusals_are_told(spark, folder):
    [result] = rules.run(2_000, quick=True, workloads=folder, spark=spark, console=quiet())
    assert (result.asked, result.n, result.checked) == (3, 2, 2)
    assert list(result.refused) == ["broken"]
    assert not result.differences
    assert result.triggers is not None
    assert len(result.triggers.seconds) == 2
    assert not result.triggers.error


def test_alert_rules_are_measured_with_the_folder_of_the_environment(spark, folder, monkeypatch):
    monkeypatch.setenv("GINGHAM_WORKLOADS", str(folder))
    [result] = monitoring.run(2_000, quick=True, spark=spark, console=quiet())
    assert (result.n, result.checked, len(result.alone)) == (1, 1, 0)
    assert not result.differences
    assert result.triggers is not None
    assert len(result.triggers.seconds) == 2


def test_a_third_of_the_command_lines_is_changed_and_the_same_ones_every_time():
    [table] = event_tables(EVENTS, 3_000)
    [again] = event_tables(EVENTS, 3_000)
    assert table.equals(again)
    lines = table["CommandLine"].to_pylist()
    known = {event["CommandLine"] for event in EVENTS}
    assert sum(line not in known for line in lines) / 3_000 == pytest.approx(0.3, abs=0.05)
    assert not any("system32" not in image.lower() for image in table["Image"].to_pylist())


def test_samples_have_the_metrics_and_labels_that_rules_ask_for():
    [table] = sample_tables([QUERY], 500)
    assert set(table["metric"].to_pylist()) == {"up"}
    labels = [dict(pairs) for pairs in table["labels"].to_pylist()]
    assert all(set(pairs) == {"instance", "job", "mode"} for pairs in labels)
    assert {"idle", "user"} < {pairs["mode"] for pairs in labels}
