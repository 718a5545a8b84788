"""Samples of metrics in which whatever alert rules ask for occurs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa

START = datetime(2024, 3, 1, tzinfo=UTC)
HOURS = 1.0
CHUNK = 50_000  # samples that are in memory at once
VALUES = 6  # of a label that no rule compares with anything
INSTANCES = 20

_SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("metric", pa.string()),
        ("labels", pa.map_(pa.string(), pa.string())),
        ("value", pa.float64()),
    ]
)
_METRIC = re.compile(r"metric (?:=|RLIKE) '((?:[^'\\]|\\.)*)'")
_LABEL = re.compile(r"labels\['(\w+)'\]")
_COMPARED = re.compile(
    r"labels\['(\w+)'\](?:, '')?\)? (?:=|<>|!=|RLIKE) '((?:[^'\\]|\\.)*)'", re.IGNORECASE
)
_THRESHOLD = re.compile(r"[<>=] (-?[0-9.]+(?:[eE][+-]?\d+)?)\s*$")
_PLAIN = re.compile(r"[\w ./:-]+")


@dataclass(slots=True)
class _Metric:
    """A metric as its rules see it: values of its labels, and thresholds of its value."""

    name: str
    labels: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    thresholds: set[float] = field(default_factory=lambda: {0.0, 1.0})


def sample_tables(queries: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """Make so many samples over an hour in the order of their time, in tables of at most `CHUNK`.

    Equal arguments give equal rows.
    """
    metrics = _metrics(queries)
    for start in range(0, rows, CHUNK):
        numbers = range(start, min(rows, start + CHUNK))
        yield pa.Table.from_pylist([_sample(metrics, n, rows) for n in numbers], _SCHEMA)


def _metrics(queries: Sequence[str]) -> list[_Metric]:
    """The metrics of all queries, with the labels and the values that these ask for."""
    found: dict[str, _Metric] = {}
    for text in queries:
        for name in {part for named in _METRIC.findall(text) for part in _alternatives(named)}:
            metric = found.setdefault(name, _Metric(name))
            for label in ("instance", "job", *_LABEL.findall(text)):
                metric.labels.setdefault(label, set())
            for label, compared in _COMPARED.findall(text):
                metric.labels.setdefault(label, set()).update(_alternatives(compared))
            if threshold := _THRESHOLD.search(text):
                metric.thresholds.add(float(threshold[1]))
    return [found[name] for name in sorted(found)]


def _alternatives(pattern: str) -> list[str]:
    """Texts that a text or a regular expression of alternatives matches.

    >>> _alternatives("^(?:ext4|xfs)$"), _alternatives("5..")
    (['ext4', 'xfs'], ['500'])
    """
    if _PLAIN.fullmatch(pattern) and ".." not in pattern:
        return [pattern]
    bare = re.sub(r"\(\?:|[\^$()]", "", pattern)
    # What is repeated may be missing, and a dot or a class of characters matches a digit.
    parts = [re.sub(r"\[[^\]]*\]|\.", "0", re.sub(r"\.[*+]", "", part)) for part in bare.split("|")]
    return [part for part in parts if _PLAIN.fullmatch(part)]


def _sample(metrics: Sequence[_Metric], number: int, rows: int) -> dict[str, object]:
    """The sample of a row number."""
    rng = random.Random(number)
    metric = rng.choice(metrics)
    threshold = rng.choice(sorted(metric.thresholds))
    exact = threshold if rng.random() < 0.5 else threshold * rng.uniform(0, 2) + rng.random()
    return {
        "ts": int(START.timestamp() * 1e6 + number * HOURS * 3600e6 / rows),
        "metric": metric.name,
        "labels": [(label, _value(label, metric, rng)) for label in sorted(metric.labels)],
        "value": exact,
    }


def _value(label: str, metric: _Metric, rng: random.Random) -> str:
    """The value of a label: mostly one that rules compare it with, if there is one."""
    compared = sorted(metric.labels[label])
    if compared and rng.random() < 0.7:
        return rng.choice(compared)
    return f"{label}-{rng.randrange(INSTANCES if label == 'instance' else VALUES)}"
