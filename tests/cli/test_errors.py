"""What the system refuses is told in three parts; a bug in Gingham is not hidden."""

from __future__ import annotations

import errno

import pytest
from click.testing import CliRunner

from gingham.cli import example, main, terminal
from gingham.core.errors import GinghamError


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(errno.EACCES, "Permission denied", "/data"), 1, "/data cannot be used"),
        (OSError(errno.ENOSPC, "No space left on device", "/data"), 1, "the disk of /data is full"),
        (ConnectionRefusedError(111, "Connection refused"), 1, "the connection to Spark is lost"),
        (GinghamError("a", "b", "c"), 1, "why:     b"),
        (ExceptionGroup("x", [GinghamError("a", "b", "token=abc")]), 1, "instead: token=***"),
        (KeyboardInterrupt(), 130, "gingham example was stopped by SIGINT"),
        (main.TerminatedError(), 143, "gingham example was stopped by SIGTERM"),
    ],
)
def test_errors_are_told_in_words_and_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
):
    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr(example, "write_example", fails)
    result = CliRunner().invoke(main.cli, ["example", "x"])
    assert result.exit_code == code
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "bug", [KeyError("x"), ExceptionGroup("x", [KeyError("x"), GinghamError("a", "b", "c")])]
)
def test_a_bug_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch, bug: Exception):
    def fails(_: object) -> None:
        raise bug

    monkeypatch.setattr(example, "write_example", fails)
    assert CliRunner().invoke(main.cli, ["example", "x"]).exception is bug


def test_of_very_many_errors_the_first_are_shown(capsys: pytest.CaptureFixture[str]):
    terminal.show_errors(GinghamError(f"error {n}", "b", "c") for n in range(1_000))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3 * terminal.SHOWN_ERRORS + 1
    assert lines[-1] == "... and 950 more errors"
