"""What can be seen of a workload's files without Spark: what is there, can be read and written."""

import os
from dataclasses import replace
from pathlib import Path

from gingham.cli.outline import Problems
from gingham.cli.values import is_local
from gingham.cli.workload import Sink, Source, Workload
from gingham.core.errors import WorkloadError
from gingham.core.file_names import file_name


def check_files(workload: Workload, problems: Problems) -> Workload:
    """The workload without sources whose local files are missing; errors are added to `problems`.

    Their names are listed in `unreadable`: queries that mention them are not checked.
    """
    found: list[Source] = []
    missing: list[str] = []
    for source in workload.sources:
        error = _error(source)
        if error is None:
            found.append(source)
        else:
            problems.note(source.line, error)
            missing.append(source.name)
    unreadable = (*workload.unreadable, *missing)
    return replace(workload, sources=tuple(found), unreadable=unreadable)


def sink_of(workload: Workload, output: str | None, form: str | None) -> Sink | None:
    """Where answers of a workload go: by the options of the command line, else by the file."""
    path = output or (workload.sink and workload.sink.path)
    kind = form or (workload.sink.format if workload.sink else "parquet")
    return Sink(path, kind) if path else None


def refuse_unwritable(workload: Workload, sink: Sink | None, *, overwrite: bool) -> None:
    """Raise before a workload runs if its answers could not be written where they should go."""
    is_stream = workload.checkpoint is not None
    if sink is None:
        return
    if is_stream and sink.format != "parquet":
        raise WorkloadError(
            f"answers of a stream as {sink.format}",
            "a stream with a checkpoint writes Parquet: a file for each query and batch",
            "format: parquet",
        )
    if not is_local(sink.path):
        return
    there = next(path for path in (Path(sink.path), *Path(sink.path).parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        kind = "a folder that this user may not write to" if there.is_dir() else "a file"
        raise WorkloadError(
            f"answers cannot be written to {sink.path}",
            f"{there} is {kind}",
            "another folder: --output DIR",
        )
    folders = [file_name(query.name) for query in (*workload.queries, *workload.sketches)]
    old = [folder for folder in folders if (Path(sink.path) / folder).exists()]
    if old and not is_stream and not overwrite:
        listed = ", ".join(old[:3]) + (", ..." if len(old) > 3 else "")
        raise WorkloadError(
            f"{sink.path} has answers already",
            f"there is {listed}",
            "--overwrite, or another folder: --output DIR",
        )


def _error(source: Source) -> WorkloadError | None:
    """Why the local files of a source cannot be read; None if Spark may try."""
    path = source.path
    # What a pattern finds, only Spark knows.
    if not is_local(path) or any(sign in path for sign in "*?[]{}\\"):
        return None
    what = f"{source.name!r} cannot be read as {source.format} from {path}"
    try:
        if not Path(path).exists():
            return WorkloadError(
                what,
                "there is no such file or folder",
                "a path, relative to the workload file, where such files are",
            )
    except (OSError, ValueError) as error:
        return WorkloadError(what, str(error), "a path that can be read")
    if not os.access(path, os.R_OK):
        return WorkloadError(what, "this user may not read it", f"chmod +r {path}, or another path")
    return None
