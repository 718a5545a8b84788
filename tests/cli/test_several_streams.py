"""A workload file with several streams, a table, queries, and sketches over their joins."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gingham.cli import live, main

pytestmark = pytest.mark.usefixtures("spark")

MINUTES = 3  # of rows; the last one closes the windows of the others
ORDERS = [(minute, number % 7) for minute in range(MINUTES) for number in range(30)]
ITEMS = [(minute, number % 5, number) for minute in range(MINUTES) for number in range(40)]
WINDOW = "window(ts, '1 minute')"
LINES = f"SELECT count(*) FROM orders o, items i WHERE o.id = i.order_id GROUP BY {WINDOW}"


def gingham(*arguments: object) -> Result:
    result = CliRunner().invoke(main.cli, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def instant(minute: int, second: int) -> str:
    return f"2024-01-01 00:{minute:02d}:{second % 60:02d}"


def write_rows(folder: Path, minutes: range) -> None:
    """Orders as JSON, items as CSV with its own separator and without a header."""
    (folder / "orders").mkdir(exist_ok=True)
    (folder / "items").mkdir(exist_ok=True)
    for minute in minutes:
        orders = [{"ts": instant(minute, id_), "id": id_} for m, id_ in ORDERS if m == minute]
        items = [f"{instant(m, n)};{o};{n}" for m, o, n in ITEMS if m == minute]
        (folder / "orders" / f"{minute}.json").write_text("\n".join(map(json.dumps, orders)))
        (folder / "items" / f"{minute}.csv").write_text("\n".join(items))
    (folder / "names.csv").write_text("id,name\n" + "\n".join(f"{n},n{n}" for n in range(7)))


def workload(folder: Path, *, run: str = "", sink: str = "sink: {path: answers}") -> Path:
    file = folder / "shop.yaml"
    file.write_text(f"""\
streams:
  - {{name: orders, path: orders, format: json, schema: "ts TIMESTAMP, id INT", time: ts,
     watermark: 0 s, ahead: none}}
  - name: items
    path: items
    format: csv
    schema: ts TIMESTAMP, order_id INT, amount INT
    time: ts
    watermark: 0 s
    options: {{sep: "${{GINGHAM_TEST_SEPARATOR}}", header: false, enforceSchema: true}}
tables:
  - {{name: names, path: names.csv, format: csv, schema: "id INT, name STRING", key: id}}
queries:
  orders_by_name:
    sql: SELECT name, count(*) AS n FROM orders JOIN names USING (id) GROUP BY name, {WINDOW}
  amounts: SELECT sum(amount) AS total FROM items GROUP BY {WINDOW}
sketches:
  budget: 4000
  confidence: 0.99
  seed: 3
  queries:
    lines: {LINES}
{run}
{sink}
""")
    return file


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GINGHAM_TEST_SEPARATOR", ";")


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / "answers" / name).to_pylist()


def true_lines(minute: int) -> int:
    orders = Counter(id_ for m, id_ in ORDERS if m == minute)
    return sum(orders[o] for m, o, _ in ITEMS if m == minute)


def check_answers(folder: Path, minutes: range) -> None:
    """Every answer of these minutes is there once, and right."""
    amounts = {row["window_start"].minute: row["total"] for row in rows(folder, "amounts")}
    assert len(rows(folder, "amounts")) == len(minutes)
    assert amounts == {m: sum(n for i, _, n in ITEMS if i == m) for m in minutes}
    counts = {(r["window_start"].minute, r["name"]): r["n"] for r in rows(folder, "orders_by_name")}
    assert counts == Counter((m, f"n{id_}") for m, id_ in ORDERS if m in minutes)
    lines = rows(folder, "lines")
    assert sorted(row["window_start"].minute for row in lines) == list(minutes)
    for row in lines:
        truth = true_lines(row["window_start"].minute)
        assert row["lower"] <= truth <= row["upper"]
        assert row["estimate"] == pytest.approx(truth, rel=0.2)


def test_a_batch_run_answers_all_streams_and_their_join(tmp_path: Path):
    write_rows(tmp_path, range(MINUTES))
    file = workload(tmp_path)
    assert gingham("check", file).output == "ok: 2 queries and 1 sketch over orders, items\n"
    plan = gingham("plan", file).output
    assert "orders: 1 queries" in plan
    assert "items: 1 queries" in plan
    assert "lines" in plan
    result = gingham("run", file)
    assert result.exit_code == 0, result.stderr
    assert "lines: 3 rows" in result.stdout
    assert "1 estimates of joins" in result.stdout
    check_answers(tmp_path, range(MINUTES))


def test_options_of_the_run_change_the_plan_and_no_answer(tmp_path: Path):
    write_rows(tmp_path, range(MINUTES))
    file = workload(tmp_path, run="run: {way: columns}\ncost: {row: 1e-7}")
    text = file.read_text()
    assert "by columns" in gingham("plan", file).output
    several = "  - {name: one, tree: 0, sql: ONE}\n  - {name: two, tree: 1, sql: ONE}\n"
    amounts = "SELECT sum(amount) AS total FROM items GROUP BY window(ts, '1 minute')"
    start, end = text.index("queries:\n") + len("queries:\n"), text.index("sketches:")
    trees = text[:start] + several.replace("ONE", f'"{amounts}"') + text[end:]
    file.write_text(trees.replace("way: columns", "way: cells"))
    assert "items: 2 queries, 2 trees" in gingham("plan", file).output
    file.write_text(text)
    assert gingham("run", file).exit_code == 0
    check_answers(tmp_path, range(MINUTES))


def test_streams_and_sketches_run_together_and_go_on_from_one_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(live, "POLL_SECONDS", 0.05)
    run = "run: {checkpoint: state, trigger: available now, snapshot_every: 2}"
    file = workload(tmp_path, run=run)
    write_rows(tmp_path, range(2))
    result = gingham("run", file)
    assert result.exit_code == 0, result.stderr
    assert "running over orders, items: queries 3" in result.stderr
    assert "sketches of items: " in result.stderr
    check_answers(tmp_path, range(1))
    # Minute 1 is closed by the rows of minute 2, which come while nothing runs.
    write_rows(tmp_path, range(2, MINUTES))
    assert gingham("run", file).exit_code == 0
    check_answers(tmp_path, range(2))


def test_only_sketches_need_no_queries(tmp_path: Path):
    write_rows(tmp_path, range(MINUTES))
    file = workload(tmp_path)
    text = file.read_text()
    start, end = text.index("queries:\n"), text.index("sketches:")
    file.write_text(text[:start] + text[end:])
    assert gingham("check", file).output == "ok: 1 sketch over orders, items\n"
    assert gingham("run", file).exit_code == 0
    assert len(rows(tmp_path, "lines")) == MINUTES
