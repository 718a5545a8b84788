"""A Spark session for the command line: checks for Java, and keeps Spark off the terminal."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console

from gingham.cli.stop_signals import StopSignals
from gingham.core.errors import GinghamError
from gingham.spark.spark_session import active_or_new_session

OLDEST_JAVA = 17
_INSTALL = (
    f"Java {OLDEST_JAVA} or newer, then JAVA_HOME or PATH pointing at it: "
    "apt install openjdk-17-jre-headless, brew install openjdk@17, or https://adoptium.net"
)


def start_spark(
    make_session: Callable[[], SparkSession] = active_or_new_session,
) -> SparkSession:
    """The active session, or a new one that keeps Spark's messages off the terminal."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    # The JVM keeps the stderr that it is born with: what it says goes here as long as it lives.
    with StopSignals() as signals, tempfile.TemporaryFile() as log, _stderr_to(log) as terminal:
        try:
            with terminal.status("starting Spark"):
                session = make_session()
        except (PySparkException, OSError) as error:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            why = lines[-1] if lines else str(error).splitlines()[0]
            raise GinghamError("Spark does not start", why, _INSTALL) from None
    signals.obey()
    return session


def require_java() -> None:
    """Raise unless there is a Java that Spark can use."""
    java = find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        why = f"JAVA_HOME is {home}, which has no bin/java" if home else "Spark runs on it"
        raise GinghamError("there is no Java", why, _INSTALL)
    # S603: the program is the one that Spark is about to start.
    command = [java, "-version"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    version = java_version(result.stderr + result.stdout)
    if version is not None and version < OLDEST_JAVA:
        raise GinghamError(f"{java} is Java {version}", f"Spark needs {OLDEST_JAVA}", _INSTALL)
    if result.returncode:
        why = (result.stderr.strip() or "it says nothing").splitlines()[0]
        raise GinghamError(f"{java} does not run", why, _INSTALL)


def find_java() -> str | None:
    """The path of the Java that Spark would start: from JAVA_HOME if it is set, else the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home) / "bin" / "java" if home else "java")


def java_version(output: str) -> int | None:
    """The major version in the output of `java -version`; None if there is none.

    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> java_version('java version "1.8.0_402"')
    8
    """
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version[1]) if version else None


@contextmanager
def _stderr_to(log: IO[bytes]) -> Generator[Console]:
    """Redirect stderr to a file for the body of a `with`; the console writes to the terminal."""
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as terminal:
        os.dup2(log.fileno(), 2)
        try:
            yield Console(file=terminal)
        finally:
            os.dup2(terminal.fileno(), 2)
