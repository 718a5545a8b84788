"""Documents tell the truth: every file and function that they name is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "gingham"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
DOCUMENTS = [
    ARCHITECTURE,
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
]
FEWEST_STEPS = 5  # of a walk


def folders() -> list[Path]:
    """All folders of the package that hold modules."""
    return sorted({file.parent for file in PACKAGE.rglob("*.py")} - {PACKAGE})


def walks() -> dict[str, list[tuple[str, str]]]:
    """The walks of ARCHITECTURE.md: their titles, and the files and functions they pass."""
    found: dict[str, list[tuple[str, str]]] = {}
    title = ""
    for line in ARCHITECTURE.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
        for file, name in re.findall(r"`([\w/]+\.py):([\w.]+)`", line):
            found.setdefault(title, []).append((file, name))
    return found


def defined(file: Path) -> set[str]:
    """Functions, classes and methods of a module: `weave`, `Loom`, `Loom.run`."""
    names: set[str] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names.add(f"{prefix}{child.name}")
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse(file.read_text(encoding="utf-8")), "")
    return names


def missing(steps: list[tuple[str, str]]) -> list[str]:
    """The steps whose file or function does not exist."""
    return [
        f"{file}:{name}"
        for file, name in steps
        if not (PACKAGE / file).exists() or name not in defined(PACKAGE / file)
    ]


def test_every_function_on_a_walk_exists():
    for title, steps in walks().items():
        assert not missing(steps), title


def test_a_function_that_is_gone_is_noticed():
    assert missing([("loom.py", "Loom.run"), ("loom.py", "Loom.fly"), ("gone.py", "run")]) == [
        "loom.py:Loom.fly",
        "gone.py:run",
    ]


def test_there_are_four_walks():
    found = walks()
    assert len(found) == 4
    assert all(len(steps) >= FEWEST_STEPS for steps in found.values())


def test_every_folder_has_its_line_in_the_tree():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    tree = text[text.index("```") : text.index("```", text.index("```") + 3)]
    listed = set(re.findall(r"^\s*([\w/]+)/\s", tree, re.MULTILINE))
    names = {str(folder.relative_to(PACKAGE)) for folder in folders()}
    assert names <= listed, names - listed
    assert {name for name in listed if not (PACKAGE / name).is_dir()} <= {
        "benchmarks",
        "tests",
        "docs",
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path):
    named = set(
        re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.py)[:`]", document.read_text(encoding="utf-8"))
    )
    assert not {file for file in named if not any((top / file).exists() for top in (PACKAGE, ROOT))}


def test_every_folder_says_its_role():
    for folder in folders():
        text = (folder / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), folder


def test_no_file_name_stands_in_three_folders():
    places: dict[str, list[str]] = defaultdict(list)
    for top in (PACKAGE, ROOT / "benchmarks"):
        for file in top.rglob("*.py"):
            if file.name not in ("__init__.py", "__main__.py"):
                places[file.name].append(str(file.parent.relative_to(ROOT)))
    assert not {name: where for name, where in places.items() if len(where) > 2}
