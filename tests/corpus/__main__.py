"""Runs the corpus: `python -m tests.corpus [how many, or part of a kind or of a text]`."""

# ruff: noqa: T201  (a table is printed)

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from tests.conftest import local_session
from tests.corpus.judge import BAD, Judge, Outcome, as_json
from tests.corpus.queries import Asked, corpus, sample
from tests.corpus.rows import keywords_of

REPORT = Path("artifacts/corpus.json")
WITHOUT_ANSI = 12  # one of so many queries is asked again with ANSI off


def main(part: str = "") -> int:
    """Judge all queries, so many of them, or those with this in their kind or text.

    Gives the number of bad ones. What is interrupted reports what it has seen.
    """
    spark = local_session()
    spark.sparkContext.setLogLevel("OFF")
    keywords = keywords_of(spark)
    queries = _chosen(corpus(keywords), part)
    rounds = ((queries, True), (sample(queries, len(queries) // WITHOUT_ANSI), False))
    judge, started = Judge(spark, keywords), time.monotonic()
    outcomes: list[Outcome] = []
    try:
        for some, ansi in rounds:
            for outcome in judge.judge(some, ansi=ansi):
                outcomes.append(outcome)
                if len(outcomes) % 100 == 0:
                    counts = dict(Counter(o.verdict for o in outcomes))
                    seconds = time.monotonic() - started
                    print(f"{seconds:6.0f} s {len(outcomes):5} {counts}", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps([as_json(o) for o in outcomes], indent=1, ensure_ascii=False))
    print(report(outcomes, time.monotonic() - started))
    spark.stop()
    return sum(o.verdict in BAD for o in outcomes)


def _chosen(queries: list[Asked], part: str) -> list[Asked]:
    if part.isdigit():
        return sample(queries, int(part))
    return [query for query in queries if part in query.kind or part in query.text]


def report(outcomes: list[Outcome], seconds: float) -> str:
    """Outcomes by kind and by reason, and every bad one."""
    verdicts = list(dict.fromkeys(sorted(o.verdict for o in outcomes)))
    lines = [f"{len(outcomes)} queries in {seconds:.0f} s", ""]
    lines.append(f"{'':32}" + "".join(f"{v:>13}" for v in verdicts))
    counts = Counter((o.kind, o.verdict) for o in outcomes)
    lines += [
        f"{kind:32}" + "".join(f"{counts[kind, v] or '':>13}" for v in verdicts)
        for kind in dict.fromkeys(o.kind for o in outcomes)
    ]
    total = Counter(o.verdict for o in outcomes)
    lines += [f"{'all':32}" + "".join(f"{total[v]:>13}" for v in verdicts), "", "reasons"]
    reasons = Counter((o.verdict, o.reason) for o in outcomes if o.verdict not in (*BAD, "equal"))
    lines += [f"{n:6} {verdict:12} {reason}" for (verdict, reason), n in reasons.most_common()]
    for bad in BAD:
        found = [o for o in outcomes if o.verdict == bad]
        lines += ["", f"{bad}: {len(found)}"]
        lines += [
            f"  [{o.kind}{'' if o.ansi else ', ANSI off'}] {o.text!r}\n      {o.reason}"
            for o in found
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:]) else 0)
