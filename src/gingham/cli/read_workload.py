"""A workload file to a workload, with all errors in it."""

from collections.abc import Callable
from pathlib import Path

from gingham.cli.check_entries import check_entries
from gingham.cli.outline import Entry, Problems
from gingham.cli.sql_file import read_sql
from gingham.cli.workload import Workload
from gingham.cli.yaml_file import read_yaml
from gingham.core.errors import WorkloadError

MOST_BYTES = 8_000_000  # of a workload file

_readers: dict[str, Callable[[str, Problems], list[Entry] | None]] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".sql": read_sql,
}


def read_workload(file: Path) -> tuple[Workload, Problems]:
    """Read a workload file; all errors in it are collected instead of raised."""
    reader = _readers.get(file.suffix.lower())
    if reader is None:
        raise WorkloadError(
            f"{file}: {file.suffix or 'no ending'} is no kind of workload file",
            "the ending says how to read it",
            f"a name that ends in {', '.join(_readers)}",
        )
    text = _read_text(file)
    problems = Problems(str(file))
    entries = reader(text, problems)
    if entries is None:
        return Workload((), (), (), None, {}), problems
    return check_entries(entries, file.parent, problems), problems


def _read_text(file: Path) -> str:
    """The text of a workload file, or an error that says why there is none."""
    instead = "the path of a workload file; gingham example DIR writes one to start from"
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise WorkloadError(f"{file} cannot be read", "it is a device or a pipe", instead)
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise WorkloadError(
                f"{file} is larger than {MOST_BYTES // 1_000_000} MB",
                "a workload file holds queries, not data; thousands of them are smaller",
                "several files, or Loom.add in Python",
            )
        # An editor on Windows may put a mark at the start.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        why = error.strerror or str(error)
        raise WorkloadError(f"{file} cannot be read", why, instead) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise WorkloadError(
            f"{file}:{line} cannot be read",
            f"it is not UTF-8: byte {error.object[error.start]:#04x} on line {line}",
            "the file saved again as UTF-8",
        ) from None
    except ValueError as error:  # a NUL in the path
        raise WorkloadError(f"{str(file)!r} cannot be read", str(error), instead) from None
