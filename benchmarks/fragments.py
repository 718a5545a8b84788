"""Fewer records than queries: the appendix of Huebsch et al. (SIGMOD 2007), and what lies beyond.

    python -m benchmarks fragments [--quick] [--json FILE] [--plot FILE] [--rows N]

All methods see the same matrices in the same run. A size is fragments x queries; times are those of
the processor, but for what runs on Spark.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import mean, stdev

import numpy as np
from pyspark.sql import SparkSession
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks.fragment_figures import PAPER, draw
from benchmarks.fragments_in_streams import in_streams
from benchmarks.fragments_on_spark import on_spark
from benchmarks.fragments_static import static
from benchmarks.outputs import File, table_console, write_results
from benchmarks.sections import Cell, Section, as_json, show
from benchmarks.targets import Target
from gingham.algebra.fragments.published import METHODS, decompose, generate, planted_size

Sizes = Sequence[tuple[int, int]]

# The eleven gains whose ranks have the mean and deviation of the paper's appendix at 500x500:
# 250.0 and 151.82.
GAINS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LINEAR: Sizes = ((250, 500), (500, 500), (750, 500))
IDEMPOTENT: Sizes = ((50, 100), (100, 100), (150, 100))
REPEATS = 10  # matrices of each size and gain, as in the paper
STRATEGIES = tuple(method for method in METHODS["idempotent"] if method.startswith("add_"))
# Unions of so many hidden bases, over fragments that satisfy few of them or half.
HIDDEN = {
    "sparse, 2-4": ("sparse", (2, 4)),
    "dense, 2": ("dense", (2, 2)),
    "dense, 2-3": ("dense", (2, 3)),
    "dense, 2-4": ("dense", (2, 4)),
}


@dataclass(frozen=True, slots=True)
class Run:
    """One method on one matrix."""

    size: str
    method: str
    gain: float
    records: int
    effective: float
    seconds: float
    right: bool


def run(
    rows: int = 2_000_000,
    *,
    quick: bool = False,
    repeats: int = REPEATS,
    json_path: File | None = None,
    plot_path: File | None = "fragments.png",
    spark: SparkSession | None = None,
    console: Console | None = None,
) -> list[Section]:
    """Measure, print and draw; `quick` takes few gains, small sizes and few rows.

    There are `repeats` matrices of each size and gain.
    """
    console = console or table_console()
    gains, repeats = ((0.5, 0.8), 1) if quick else (GAINS, repeats)
    sizes = IDEMPOTENT[1:2] if quick else IDEMPOTENT
    parts: list[tuple[str, Callable[[], Section]]] = [
        ("linear", partial(linear, LINEAR[:1] if quick else LINEAR, gains, repeats)),
        ("idempotent", partial(idempotent, sizes, gains, repeats)),
        ("general", partial(general, LINEAR[:1] if quick else LINEAR, gains, repeats)),
        # The twelve strategies take most of the time here.
        ("hidden bases", partial(hidden, gains[1:] if quick else (0.1, 0.3, 0.5, 0.7, 0.9), 1)),
        ("static", partial(static, repeats=repeats)),
        ("growth", partial(growth, (100,) if quick else (100, 250, 500, 1000, 1500))),
    ]
    if spark is not None:
        few = min(rows, 100_000) if quick else rows
        parts.append(("on Spark", partial(on_spark, spark, few, quick=quick)))
        parts.append(("in streams", partial(in_streams, spark, min(rows, 20_000), quick=quick)))
    sections: list[Section] = []
    # Threads of linear algebra wait busily for each other, which would count as time.
    with threadpool_limits(1):
        for name, measure in parts:
            with console.status(name):
                sections.append(measure())
            show(sections[-1:], console)  # at once: the whole takes half an hour
    write_results(as_json(sections), json_path, console, partial(draw, sections), plot_path)
    return sections


def linear(sizes: Sizes, gains: Sequence[float], repeats: int) -> Section:
    """LU, QR, SVD and the exact rank on matrices for duplicate-sensitive aggregates."""
    runs: list[Run] = []
    for matrix, size, gain, seed in _matrices(sizes, gains, repeats, "linear"):
        # The rank by another implementation, for ours to be compared with.
        least = int(np.linalg.matrix_rank(matrix))
        runs += run_methods(("lu", "qr", "svd", "exact"), matrix, "linear", size, gain, least, seed)
    ours = [run for run in runs if run.method == "exact"]
    targets = (
        _all_target("linear: answers as computed directly", [run.right for run in runs]),
        _all_target(
            "linear: as many records as numpy's rank", [run.effective == 1 for run in ours]
        ),
    )
    return _appendix("linear", runs, targets)


def idempotent(
    sizes: Sizes,
    gains: Sequence[float],
    repeats: int,
    methods: Sequence[str] = ("basic_maw", *STRATEGIES, "set_basis"),
) -> Section:
    """Composition by all strategies, and the set basis, on duplicate-insensitive matrices."""
    runs: list[Run] = []
    for matrix, size, gain, seed in _matrices(sizes, gains, repeats, "idempotent"):
        least = min(len(matrix), planted_size(matrix.shape[1], gain))
        runs += run_methods(methods, matrix, "idempotent", size, gain, least, seed)
    targets: list[Target] = [_all_target("idempotent: answers right", [run.right for run in runs])]
    for fragments, queries in sizes:
        size = f"{fragments}x{queries}"
        ours, theirs = _runs_of(runs, size, "set_basis"), _runs_of(runs, size, "add_map")
        effective = mean(run.effective for run in ours)
        faster = sum(run.seconds for run in theirs) / sum(run.seconds for run in ours)
        map_effective = mean(run.effective for run in theirs)
        targets += [
            Target(f"{size}: set basis effective", "100%", f"{effective:.1%}", effective >= 1),
            Target(f"{size}: faster than Add-MAP", ">= 100x", f"{faster:.0f}x", faster >= 100),
        ]
        paper = PAPER.get((size, "add_map"))
        if paper is not None:
            wanted = f"{paper.effective:.1%} +- 10"
            close = abs(map_effective - paper.effective) <= 0.1
            name = f"{size}: Add-MAP as effective as the paper's"
            targets.append(Target(name, wanted, f"{map_effective:.1%}", close))
    return _appendix("idempotent", runs, targets)


def general(sizes: Sizes, gains: Sequence[float], repeats: int) -> Section:
    """Basic Decomposition and disjoint parts on matrices for duplicate-sensitive aggregates."""
    runs: list[Run] = []
    for matrix, size, gain, seed in _matrices(sizes, gains, repeats, "general"):
        least = min(len(matrix), planted_size(matrix.shape[1], gain))
        runs += run_methods(("basic", "disjoint"), matrix, "general", size, gain, least, seed)
    targets = (_all_target("general: answers right", [run.right for run in runs]),)
    return _appendix("general", runs, targets)


def hidden(gains: Sequence[float], repeats: int) -> Section:
    """Only unions of bases are asked for: the set basis against the best of all strategies."""
    rows: list[list[Cell]] = []
    runs: list[Run] = []
    for name, (density, unions) in HIDDEN.items():
        for gain in gains:
            found: list[tuple[Run, list[Run]]] = []
            for seed in range(repeats):
                matrix = generate(100, 100, gain, "idempotent", density, seed, unions)
                least = planted_size(100, gain)
                methods = ("set_basis", *STRATEGIES)
                every = run_methods(methods, matrix, "idempotent", name, gain, least, seed)
                found.append((every[0], every[1:]))
                runs += every
            rows.append(_row_of_hidden(name, gain, found))
    ours = [run for run in runs if run.method == "set_basis"]
    sparse = mean(run.effective for run in ours if run.size.startswith("sparse"))
    worse = sum(_best(runs, run) < run.records for run in ours)
    targets = (
        Target("hidden, sparse: effective", ">= 90%", f"{sparse:.1%}", sparse >= 0.9),
        Target("hidden: worse than the best strategy", "never", f"{worse} times", worse == 0),
        _all_target("hidden: answers right", [run.right for run in runs]),
    )
    return Section(
        "hidden bases, 100x100: records",
        ("", "gain", "planted", "ours", "effective", "seconds", "best of 12", "whose", "their s"),
        rows,
        "effective: of what the planted basis would save; their s: all twelve strategies together",
        targets,
        [asdict(run) for run in runs],
    )


def growth(sizes: Sequence[int]) -> Section:
    """Square matrices of half the possible gain, larger and larger."""
    runs: list[Run] = []
    for queries in sizes:
        for kind, methods in (
            ("linear", ("lu", "qr", "svd", "exact")),
            ("idempotent", ("add_map", "set_basis")),
            ("general", ("basic", "disjoint")),
        ):
            matrix = generate(queries, queries, 0.5, kind, seed=queries)
            least = planted_size(queries, 0.5)
            quick = [method for method in methods if method != "add_map" or queries <= 500]
            runs += run_methods(quick, matrix, kind, f"{queries}x{queries}", 0.5, least, 0)
    rows = [
        [run.size, run.method, run.records, f"{run.effective:.1%}", f"{run.seconds:.3f}"]
        for run in runs
    ]
    targets = [
        Target("500x500: seconds for a set basis", "< 1", f"{run.seconds:.2f}", run.seconds < 1)
        for run in _runs_of(runs, "500x500", "set_basis")
    ]
    return Section(
        "growth with size, gain 0.5",
        ("", "method", "records", "effective", "seconds"),
        rows,
        targets=targets,
        numbers=[asdict(run) for run in runs],
    )


def _matrices(
    sizes: Sizes, gains: Sequence[float], repeats: int, kind: str
) -> Iterator[tuple[np.ndarray, str, float, int]]:
    """As in Section 7: all gains for which there are such matrices, each several times."""
    for fragments, queries in sizes:
        for gain in gains:
            bases = planted_size(queries, gain)
            # Fragments are different sets of bases, and queries different unions of them.
            if bases <= fragments and max(fragments, queries) < 1 << bases:
                for seed in range(repeats):
                    matrix = generate(queries, fragments, gain, kind, seed=seed)
                    yield matrix, f"{fragments}x{queries}", gain, seed


def run_methods(
    methods: Sequence[str],
    matrix: np.ndarray,
    kind: str,
    size: str,
    gain: float,
    least: int,
    seed: int,
) -> list[Run]:
    """Measure several methods on one matrix."""
    return [_measured(matrix, kind, method, size, gain, least, seed) for method in methods]


def _measured(
    matrix: np.ndarray, kind: str, method: str, size: str, gain: float, least: int, seed: int
) -> Run:
    """Time a decomposition, and compare the answers of a random A with direct ones."""
    # Of the processor, not of the clock: what else the machine does is no property of a method.
    start = time.process_time()
    shared = decompose(matrix, kind, method)
    seconds = time.process_time() - start
    queries = matrix.shape[1]
    effective = (queries - shared.size) / (queries - least) if queries > least else 1.0
    values = np.random.default_rng(seed).integers(1, 1_000_000, len(matrix))
    answers = shared.reconstruct(shared.reduce(values))
    if kind == "idempotent":
        right = bool((answers == np.where(matrix, values[:, None], values.min()).max(axis=0)).all())
    elif method in ("exact", "basic", "disjoint"):
        right = bool((answers == values @ matrix).all())
    else:
        # Floats: what is small beside others is as far off as they are.
        direct = values @ matrix
        right = bool(np.abs(answers - direct).max() <= 1e-9 * direct.max())
    return Run(size, method, gain, shared.size, effective, seconds, right)


def _appendix(kind: str, runs: Sequence[Run], targets: Sequence[Target]) -> Section:
    """The rows of the paper's appendix, ours beside the paper's."""
    rows: list[list[Cell]] = []
    for size, method in dict.fromkeys((run.size, run.method) for run in runs):
        found = _runs_of(runs, size, method)
        records, times = [run.records for run in found], [1000 * run.seconds for run in found]
        paper = PAPER.get((size, method))
        rows.append(
            [
                size,
                method,
                _spread(records, 1),
                f"{mean(run.effective for run in found):.1%}",
                _spread(times, 1),
                *(paper.cells() if paper else (None, None, None)),
            ]
        )
    return Section(
        f"{kind}: means over all gains (standard deviations)",
        ("", "method", "A' size", "effective", "ms", "paper's A'", "effective", "ms"),
        rows,
        targets=targets,
        numbers=[asdict(run) for run in runs],
    )


def _row_of_hidden(name: str, gain: float, found: Sequence[tuple[Run, list[Run]]]) -> list[Cell]:
    best = [min(theirs, key=lambda run: run.records) for _, theirs in found]
    return [
        name,
        gain,
        planted_size(100, gain),
        f"{mean(ours.records for ours, _ in found):.1f}",
        f"{mean(ours.effective for ours, _ in found):.1%}",
        f"{mean(ours.seconds for ours, _ in found):.2f}",
        f"{mean(run.records for run in best):.1f}",
        best[0].method,
        f"{mean(sum(run.seconds for run in theirs) for _, theirs in found):.2f}",
    ]


def _runs_of(runs: Sequence[Run], size: str, method: str) -> list[Run]:
    return [run for run in runs if (run.size, run.method) == (size, method)]


def _best(runs: Sequence[Run], ours: Run) -> int:
    """The fewest records of any strategy; the runs on a matrix follow that of the set basis."""
    place = runs.index(ours)
    return min(run.records for run in runs[place + 1 : place + 1 + len(STRATEGIES)])


def _all_target(what: str, checks: Sequence[bool]) -> Target:
    return Target(what, "all", f"{sum(checks)} of {len(checks)}", all(checks))


def _spread(values: Sequence[float], digits: int) -> str:
    around = stdev(values) if len(values) > 1 else 0.0
    return f"{mean(values):,.{digits}f} ({around:,.{digits}f})"
