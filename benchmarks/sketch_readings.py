"""Readings of the paper's generator: where regions lie, and what the volume of a region is.

The paper says that rectangular regions are distributed uniformly, and that each has a volume of
1,000 to 2,000. That leaves open whether relations that are joined have their regions in the same
places, and whether the volume counts the attributes of a relation or of all that are joined.
"""

from dataclasses import replace

import numpy as np

from benchmarks.sections import Section
from benchmarks.sketch_panels import BUDGETS, Workload
from benchmarks.targets import Target
from gingham.datasets.regions import Regions, workload
from gingham.estimates.algebra import JoinQuery, plan_sharing, samples

# More words than any budget: the variance of hard queries shows in many copies only.
_WORDS = 60_000
# The paper: errors of shared sketches are less than this in most cases.
_CLAIM = 0.1


def readings(rows: int, repetitions: int) -> Section:
    """The errors of workload 1 with shared sketches, by reading: variance / copies."""
    found = {
        ("shared", "alike"): Regions(rows=rows),
        ("shared", "by relation"): Regions(rows=rows, widths="by relation"),
        ("reordered", "alike"): Regions(rows=rows, centres="reordered"),
        ("reordered", "by relation"): Regions(rows=rows, centres="reordered", widths="by relation"),
        ("independent", "alike"): Regions(rows=rows, centres="independent"),
        ("independent", "by relation"): Regions(
            rows=rows, centres="independent", widths="by relation"
        ),
    }
    table = {name: _errors(regions, repetitions) for name, regions in found.items()}
    least = table["shared", "alike"]
    assert not isinstance(least, str)  # its joins are not empty
    below = sum(error < _CLAIM for error in least[: len(BUDGETS)])
    return Section(
        "readings of the generator: workload 1, sharing, average squared error by words",
        ("centres", "widths", *(f"{b // 1000}K" for b in BUDGETS), "without\nQ5, 20K"),
        [
            (*name, *((errors,) if isinstance(errors, str) else (f"{e:.2g}" for e in errors)))
            for name, errors in table.items()
        ],
        caption="empty joins: of the first random data in which there are any; they have no relative error",
        targets=[
            Target(
                "average squared errors below 10 %",
                "most budgets",
                f"{below} of {len(BUDGETS)}",
                below > len(BUDGETS) / 2,
            )
        ],
    )


def _errors(regions: Regions, repetitions: int) -> list[float] | str:
    """Variance / copies for each budget, averaged over queries and seeds; last without Q5."""
    queries = [JoinQuery(joins, name) for name, joins in workload(1).items()]
    plan = plan_sharing(queries, budget=_WORDS)
    sized = [plan.within(budget) for budget in BUDGETS]
    found: list[list[float]] = []
    for seed in range(repetitions):
        work = Workload.of(queries, regions.tables(seed))
        empty = [name for name, truth in work.truths.items() if not truth]
        if empty:
            return f"empty joins: {len(empty)}"
        own = replace(plan, seed=seed)
        sketches = work.sketched(own)
        spread = {
            name: float(np.mean((samples(own, sketches, name) / truth - 1) ** 2))
            for name, truth in work.truths.items()
        }
        squared = [{name: spread[name] / one.copies[name] for name in spread} for one in sized]
        others = [error for name, error in squared[-1].items() if name != "Q5"]
        found.append([*(float(np.mean(list(s.values()))) for s in squared), float(np.mean(others))])
    return np.mean(found, axis=0).tolist()
