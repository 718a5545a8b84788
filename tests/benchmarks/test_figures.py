"""`make figures` knows every figure of the papers, keeps what is finished and goes on later."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.figures import DRAWINGS, Drawing, draw_all

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
# What was measured in each paper: 32 in all, and two tables.
FIGURES = {
    "000": [*(f"Figure {n}" for n in range(3, 7)), "Appendix"],
    "001": [f"Figure {n}" for n in (4, 10, 13, 14, 15, 16)],
    "002": [*(f"Figure {n}" for n in range(6, 12)), "Table 1", "Table 2"],
    "003": [f"Figure {n}" for n in range(15, 21)],
    "004": [f"Figure {n}" for n in (4, 5, 6, 7, 8, 9, 10, 11, 14)],
}


def test_every_figure_of_every_paper_is_drawn_once():
    drawn = Counter((d.paper[:3], shown) for d in DRAWINGS for shown in d.shows)
    assert drawn == Counter((paper, shown) for paper, all_ in FIGURES.items() for shown in all_)
    assert sum(not shown.startswith("Table") for _, shown in drawn) == 32


def test_every_figure_has_a_line_in_the_record_with_a_verdict_and_a_command():
    record = (PAPERS / "README.md").read_text()
    lines = re.findall(
        r"^\| (\d{3}) \| ((?:Figure|Table|Appendix)[ \d]*?) \| (.+?) \| (.+?) \| (.+?) \|$",
        record,
        re.MULTILINE,
    )
    found = Counter((paper, shown) for paper, shown, *_ in lines)
    assert found == Counter((paper, shown) for paper, all_ in FIGURES.items() for shown in all_)
    names = {drawing.name for drawing in DRAWINGS}
    for _, _, _, verdict, command in lines:
        assert verdict.startswith(("reproduced", "contradicts", "cannot be reproduced"))
        assert re.fullmatch(r"`([a-z0-9-]+)`", command)[1] in names


def test_a_finished_figure_is_kept_and_an_unfinished_one_is_drawn_anew(tmp_path):
    calls = []

    def finished(_folder, console, _quick):
        calls.append("finished")
        console.print("a table")

    def stopped(folder, _console, _quick):
        calls.append("stopped")
        (folder / "half").write_text("")
        if len(calls) < 3:
            raise KeyboardInterrupt

    drawings = [Drawing("a", "001", ("4",), finished), Drawing("b", "001", ("10",), stopped)]
    with pytest.raises(KeyboardInterrupt):
        draw_all(tmp_path, drawings, Console(quiet=True), quick=True)
    assert (tmp_path / "a" / "tables.txt").read_text() == "a table\n"
    assert not (tmp_path / "b").exists()
    draw_all(tmp_path, drawings, Console(quiet=True), quick=True)
    assert calls == ["finished", "stopped", "stopped"]
    facts = json.loads((tmp_path / "b" / "run.json").read_text())
    assert (facts["shows"], facts["quick"]) == (["10"], True)
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["a", "b"]
