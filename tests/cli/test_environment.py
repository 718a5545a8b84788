"""Values from the environment are used and never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gingham.cli import main
from gingham.cli.read_workload import read_workload

SELECT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 minutes')"
HIDDEN = "tUrnip-9f27"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GINGHAM_TEST_SECRET", HIDDEN)
    monkeypatch.setenv("GINGHAM_TEST_SHORT", "x")


def written(folder: Path, stream: dict[str, object], **parts: object) -> Path:
    named = {"name": "trades", "path": ".", "time": "ts", **stream}
    file = folder / "w.yaml"
    file.write_text(json.dumps({"stream": named, "queries": {"a": SELECT}, **parts}, indent=1))
    return file


def _lines(folder: Path) -> list[str]:
    return (folder / "w.yaml").read_text().splitlines()


def test_a_value_of_the_environment_stands_in_any_field(tmp_path: Path):
    options = {"password": "${GINGHAM_TEST_SECRET}", "url": "a${GINGHAM_TEST_SHORT}b", "c": "$${X}"}
    file = written(tmp_path, {"path": "s3://${GINGHAM_TEST_SECRET}/t", "options": options})
    workload, problems = read_workload(file)
    assert problems.errors == []
    [stream] = workload.streams
    assert stream.path == f"s3://{HIDDEN}/t"
    assert stream.options == {"password": HIDDEN, "url": "axb", "c": "${X}"}
    # A dataclass in a stack trace or a log shows no options.
    assert "password" not in repr(stream)


def test_sql_is_left_as_it_is(tmp_path: Path):
    file = tmp_path / "w.sql"
    text = f"{SELECT} -- ${{GINGHAM_TEST_SECRET}}"
    file.write_text(f"-- stream: trades path=. time=ts\n-- name: a\n{text}")
    assert read_workload(file)[0].queries[0].sql == text


@pytest.mark.parametrize(
    ("text", "what", "instead"),
    [
        ("${GINGHAM_TEST_SECRT}", "no GINGHAM_TEST_SECRT in", "did you mean 'GINGHAM_TEST_SECRET'"),
        ("${NO_SUCH_THING_AT_ALL_EVER}", "no NO_SUCH_THING_AT_ALL_EVER in", "export NO_SUCH"),
        ("${}", "'${}' is no variable", "${TOKEN}"),
        ("a${B", "'${B' is no variable", "${TOKEN}"),
    ],
)
def test_a_variable_that_is_not_there_is_an_error_with_its_line(
    tmp_path: Path, text: str, what: str, instead: str
):
    _, problems = read_workload(written(tmp_path, {"options": {"sep": text}}))
    [error] = problems.errors
    line = 1 + next(i for i, line in enumerate(_lines(tmp_path)) if '"sep"' in line)
    assert error.what.startswith(f"{tmp_path}/w.yaml:{line}: stream 'trades': options.sep: ")
    assert what in error.what
    assert instead in error.instead


@pytest.mark.parametrize("variable", ["GINGHAM_TEST_SECRET", "GINGHAM_TEST_SHORT"])
def test_a_value_that_does_not_fit_is_quoted_as_it_stands_in_the_file(
    tmp_path: Path, variable: str
):
    for parts in (
        {"run": {"way": f"${{{variable}}}"}},
        {"sink": {"path": "a", "format": f"${{{variable}}}"}},
    ):
        _, problems = read_workload(written(tmp_path, {}, **parts))
        [error] = problems.errors
        assert f"'${{{variable}}}'" in error.what
        assert HIDDEN not in str(error)
        assert error.why == "what the environment has for it does not fit"


def test_a_path_of_the_environment_that_is_not_there_is_not_shown(tmp_path: Path):
    file = written(tmp_path, {"path": "${GINGHAM_TEST_SECRET}/trades"})
    for command in ("check", "plan", "run"):
        result = CliRunner().invoke(main.cli, [command, str(file)])
        assert result.exit_code == 1
        assert "there is no such file or folder" in result.stderr
        assert HIDDEN not in result.output
        assert "***/trades" in result.stderr
