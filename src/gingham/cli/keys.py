"""The keys of a workload file: how each is checked, and which argument of which call it becomes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gingham.cli import values
from gingham.cli.outline import Entry, Problems, did_you_mean, shortened
from gingham.cli.values import Check

SOURCES = ("parquet", "csv", "json")
SINKS = ("parquet", "csv")
COSTS = (
    *("opening", "row", "tree", "grid", "shard", "final", "shard_column"),
    *(
        "workers",
        "input",
        "byte",
        "comparison",
        "condition",
        "update",
        "packed",
        "packed_column",
        "cores",
    ),
)

# Calls that answer exact queries only: a workload of nothing but sketches has no use for them.
EXACT_CALLS = ("run", "plan", "start")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a workload file.

    `to` has the arguments that it becomes: "start.idle" is `idle` of `Loom.start`. Keys without
    are read by name: they tell where rows come from and where answers go.
    """

    name: str
    check: Check
    to: tuple[str, ...] = ()
    required: bool = False
    only: Literal["batch", "stream"] | None = None
    batch_words: tuple[str, ...] = ()  # values that count in a batch run only

    def argument(self, call: str) -> str | None:
        """The argument of a call that this key becomes; None if it is not for that call."""
        for target in self.to:
            name, _, argument = target.partition(".")
            if name == call:
                return argument
        return None

    @property
    def is_exact(self) -> bool:
        """Whether this key is for exact queries only."""
        return bool(self.to) and all(t.partition(".")[0] in EXACT_CALLS for t in self.to)


@dataclass(frozen=True)
class Kind:
    """A kind of entry in a workload file: what it is called in errors, and its keys."""

    noun: str
    keys: tuple[Key, ...]

    @cached_property
    def by_name(self) -> dict[str, Key]:
        """The keys by their names."""
        return {key.name: key for key in self.keys}

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the keys that must be given."""
        return tuple(key.name for key in self.keys if key.required)


def _in_stream(name: str, check: Check, *to: str) -> Key:
    """A key that counts only while a stream runs."""
    return Key(name, check, to, only="stream")


_SOURCE = (
    Key("name", values.text, required=True),
    Key("path", values.path, required=True),
    Key("format", values.one_of(*SOURCES)),
    Key("schema", values.column_list),
    Key("options", values.text),
)
_CHECKPOINT = _in_stream("checkpoint", values.path, "start.checkpoint", "estimate.checkpoint")
_TRIGGER = _in_stream("trigger", values.trigger, "start.trigger", "estimate.trigger")
_NAMED_SQL = (Key("name", values.text, required=True), Key("sql", values.text, required=True))

KINDS = {
    "stream": Kind(
        "a stream",
        (
            *_SOURCE,
            Key("time", values.text, ("stream.time",), required=True),
            Key("watermark", values.delay, ("stream.watermark",)),
            Key("ahead", values.delay_or_none, ("stream.ahead",)),
            # Those of the run; a file with one stream may have them here.
            _CHECKPOINT,
            _TRIGGER,
        ),
    ),
    "table": Kind("a table", (*_SOURCE, Key("key", values.words, ("table.key",), required=True))),
    "relation": Kind("a relation", _SOURCE),
    "query": Kind(
        "a query",
        (
            *_NAMED_SQL,
            _in_stream("backfill", values.truth, "add.backfill"),
            Key("tree", values.whole(0), ("run.trees", "plan.trees"), only="batch"),
        ),
    ),
    "sketches": Kind(
        "the sketches",
        (
            Key("budget", values.whole(1), ("sketch.budget",), required=True),
            Key("metric", values.one_of("average", "maximum"), ("sketch.metric",)),
            Key("confidence", values.number(0, 1, inclusive=False), ("sketch.confidence",)),
            Key("seed", values.whole(0), ("sketch.seed",)),
            Key("changes", values.text, ("sketch.changes",)),
        ),
    ),
    "sketch": Kind("a sketch", (*_NAMED_SQL, Key("weight", values.number(0), ("sketch.weights",)))),
    "run": Kind(
        "the run",
        (
            _CHECKPOINT,
            _TRIGGER,
            _in_stream("output_mode", values.one_of("append", "update"), "start.output_mode"),
            _in_stream("lateness", values.delay, "start.allowed_lateness"),
            _in_stream("idle", values.some_delay, "start.idle"),
            _in_stream("fold_cells", values.truth, "start.fold_cells"),
            Key(
                "records",
                values.truth_or("auto", "static"),
                ("run.send_records", "start.send_records"),
                batch_words=("auto",),
            ),
            Key(
                "way",
                values.one_of("auto", "cells", "columns"),
                ("run.way", "plan.way", "start.way"),
            ),
            Key("most_on_driver", values.whole(0), ("run.most_on_driver", "start.most_on_driver")),
            Key("allow", values.words, ("loom.allow",)),
            _in_stream("snapshot_every", values.whole(1), "settings.snapshot_every"),
            _in_stream("sink_patience", values.seconds, "settings.sink_patience"),
            _in_stream("retry_after", values.seconds, "settings.retry_after"),
            _in_stream("retry_at_most", values.seconds, "settings.retry_at_most"),
            _in_stream("end_patience", values.seconds, "settings.end_patience"),
            _in_stream("stop_patience", values.seconds, "settings.stop_patience"),
            _in_stream("rate_batches", values.whole(1), "settings.rate_batches"),
            _in_stream("rate_tolerance", values.number(1), "settings.rate_tolerance"),
        ),
    ),
    "cost": Kind(
        "the cost",
        (
            Key("path", values.path),
            *(Key(name, values.number(0), (f"cost.{name}",)) for name in COSTS),
        ),
    ),
    "sink": Kind(
        "a sink",
        (
            Key("path", values.path, required=True),
            Key("format", values.one_of(*SINKS)),
            _in_stream("adopt", values.truth, "start.adopt_sink", "estimate.adopt_sink"),
        ),
    ),
}


def refuse_field(entry: Entry, field: str, problems: Problems) -> None:
    """Add the error of a field that entries of its kind do not have."""
    kind = KINDS[entry.kind]
    names = tuple(kind.by_name)
    problems.add(
        entry.line_of(field),
        f"{kind.noun} has no field {shortened(field)}",
        f"its fields are {', '.join(names)}",
        did_you_mean(field.partition(".")[0], names) or f"without {field[:40]}",
    )
