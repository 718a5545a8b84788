"""What is said when Java is missing or too old."""

import pytest

from gingham.cli.start_spark import find_java, require_java
from gingham.core.errors import GinghamError


def test_without_java_the_error_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_java() is None
    with pytest.raises(GinghamError, match="openjdk"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(GinghamError, match="JAVA_HOME is /nowhere"):
        require_java()


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("echo 'openjdk version \"11.0.2\"' >&2", "is Java 11"),
        ("echo broken >&2; exit 1", "does not run"),
    ],
)
def test_a_java_that_spark_cannot_use_is_refused_before_it_starts(
    tmp_path, monkeypatch, script, what
):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(GinghamError, match=what):
        require_java()
