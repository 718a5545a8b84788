"""A Spark session for the command line: Java is looked for first, and nobody but us writes."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console

from gingham.core.errors import GinghamError
from gingham.spark.spark_session import active_or_new_session

OLDEST_JAVA = 17
_INSTALL = (
    f"Java {OLDEST_JAVA} or newer, then JAVA_HOME or PATH pointing at it: "
    "apt install openjdk-17-jre-headless, brew install openjdk@17, or https://adoptium.net"
)


def start() -> SparkSession:
    """The active session, or a new one that keeps Spark's messages off the terminal."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    # The JVM keeps the stderr that it is born with: what it says goes here as long as it lives.
    with tempfile.TemporaryFile() as log, _terminal_apart(log) as terminal:
        try:
            with terminal.status("starting Spark"):
                return active_or_new_session()
        except (PySparkException, OSError) as error:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            why = said[-1] if said else str(error).splitlines()[0]
            raise GinghamError("Spark does not start", why, _INSTALL) from None


def require_java() -> None:
    """Refuse to start Spark without a Java that it can use."""
    java = find_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        why = f"JAVA_HOME is {home}, which has no bin/java" if home else "Spark runs on it"
        raise GinghamError("there is no Java", why, _INSTALL)
    # S603: the program is the one that Spark is about to start.
    command = [java, "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    version = java_version(done.stderr + done.stdout)
    if version is not None and version < OLDEST_JAVA:
        raise GinghamError(f"{java} is Java {version}", f"Spark needs {OLDEST_JAVA}", _INSTALL)
    if done.returncode:
        why = (done.stderr.strip() or "it says nothing").splitlines()[0]
        raise GinghamError(f"{java} does not run", why, _INSTALL)


def find_java() -> str | None:
    """The Java that Spark would take: of JAVA_HOME if that is set, else of the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(Path(home) / "bin" / "java" if home else "java")


def java_version(said: str) -> int | None:
    """Read the number out of `java -version`.

    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> java_version('java version "1.8.0_402"')
    8
    """
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


@contextmanager
def _terminal_apart(log: IO[bytes]) -> Generator[Console]:
    """Send whatever is written to stderr into a file; the console still writes to the terminal."""
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as terminal:
        os.dup2(log.fileno(), 2)
        try:
            yield Console(file=terminal)
        finally:
            os.dup2(terminal.fileno(), 2)
