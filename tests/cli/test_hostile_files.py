"""Workload files that are broken or meant to harm are refused in words, and at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gingham.cli.read_workload import MOST_BYTES, read_workload
from gingham.core.errors import GinghamError, WorkloadError

SELECT = "SELECT count(*) AS n FROM trades GROUP BY window(ts, '5 minutes')"
STREAM = "stream: {name: trades, path: data, time: ts}\n"
QUERIES = f'queries: {{one: "{SELECT}"}}\n'

LAUGHS = "a0: &a0 [lol, lol, lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)


def errors(folder: Path, content: str | bytes, name: str = "w.yaml") -> list[GinghamError]:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        _, problems = read_workload(file)
    except WorkloadError as error:
        return [error]
    return problems.errors


@pytest.mark.parametrize(
    ("content", "what", "instead"),
    [
        (STREAM + "queries: " + "[" * 10_000 + "]" * 10_000, "2: lists within lists", "stream:"),
        (STREAM + "queries: " + "{a: " * 10_000, "2: lists within lists", "stream:"),
        ("queries:\n" + "".join(" " * n + "-\n" for n in range(2_000)), "lists within", "stream:"),
        (STREAM + QUERIES + "tables:\n\t- {name: a}\n", "4: this is no YAML", "in place of tabs"),
        (STREAM + "queries: !!python/object/apply:os.system ['true']", "2: the tag", "without"),
        ("stream: !!python/name:os.system {}\n", "1: the tag", "without a tag"),
        ("stream: !include other.yaml\n", "1: the tag '!include'", "without a tag"),
        (STREAM + QUERIES + QUERIES, "3: 'queries' of a workload stands twice", "one of the two"),
        ("stream: {name: a, path: b, time: t, path: c}", "'path' of a stream stands twice", "one"),
        (STREAM + "querys: {}\n" + QUERIES, "2: there is no part 'querys'", "mean 'queries'?"),
        (STREAM + "queries: [{nam: one, sql: x}]\n", "no field 'nam'", "mean 'name'?"),
        (STREAM + "? [a, b]\n: c\n" + QUERIES, "2: a workload with a list as a key", "key: value"),
        (STREAM + QUERIES + "---\n" + STREAM, "this is no YAML", "stream:"),
        ("a: \0", "1: this is no YAML", "stream:"),
        (f"queries:\n  {'x' * 200}: {SELECT}\n{STREAM}", "200 bytes", "a shorter name"),
        (f"{'x' * 1_000}: y\n{STREAM}{QUERIES}", "1: there is no part 'xxx", "stream:"),
    ],
)
def test_a_file_that_is_no_workload_is_refused_in_words(
    tmp_path: Path, content: str, what: str, instead: str
):
    found = [error for error in errors(tmp_path, content) if what in error.what]
    assert found, errors(tmp_path, content)
    assert found[0].why
    assert instead in found[0].instead
    assert all(len(str(error)) < 1_000 for error in errors(tmp_path, content))


@pytest.mark.parametrize("field", ["stream: {name: trades, time: ts, path: *a29}", "tables: *a29"])
def test_anchors_that_would_grow_without_end_are_never_written_out(tmp_path: Path, field: str):
    found = errors(tmp_path, LAUGHS + field)
    assert found
    assert all(len(str(error)) < 1_000 for error in found)


def test_a_list_that_holds_itself_is_refused(tmp_path: Path):
    found = errors(tmp_path, "stream: {name: trades, time: ts, path: &a [*a]}\n" + QUERIES)
    assert "'path' of a stream has fields of its own" in found[0].what


def test_an_anchor_of_plain_texts_is_fine(tmp_path: Path):
    text = "stream: {name: trades, path: &p data, time: ts}\nsink: {path: *p}\n" + QUERIES
    assert errors(tmp_path, text) == []


@pytest.mark.parametrize("name", ["w.yaml", "w.sql"])
def test_a_huge_file_is_refused_without_being_read(tmp_path: Path, name: str):
    with (tmp_path / name).open("wb") as file:
        file.truncate(100_000_000_000)  # sparse
    with pytest.raises(WorkloadError, match=f"larger than {MOST_BYTES // 1_000_000} MB"):
        read_workload(tmp_path / name)


@pytest.mark.parametrize("name", ["w.yaml", "w.sql"])
def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path, name: str):
    [error] = errors(tmp_path, b"a\nb\nGr\xf6\xdfe\n", name)
    assert "byte 0xf6 on line 3" in error.why
    assert "UTF-8" in error.instead


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "w.yaml")
    with pytest.raises(WorkloadError, match="a device or a pipe"):
        read_workload(tmp_path / "w.yaml")


def test_a_folder_and_a_path_with_nul_are_refused(tmp_path: Path):
    (tmp_path / "w.yaml").mkdir()
    with pytest.raises(WorkloadError, match="Is a directory"):
        read_workload(tmp_path / "w.yaml")
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_workload(Path("a\0.yaml"))


def test_a_mark_and_line_ends_of_windows_change_nothing(tmp_path: Path):
    text = "\ufeff" + (STREAM + QUERIES).replace("\n", "\r\n")
    assert errors(tmp_path, text) == []


@pytest.mark.parametrize(
    ("content", "what", "instead"),
    [
        ("-- steam: trades path=data time=ts\n", "1: a heading 'steam'", "mean 'stream'?"),
        ("-- names: one\nSELECT 1\n", "1: a heading 'names'", "mean 'name'?"),
        ("-- stream: t path=a path=b time=ts\n", "1: 'path' of a stream stands twice", "one of"),
        ("-- stream: t pth=a time=ts\n", "1: a stream has no field 'pth'", "mean 'path'?"),
        (f"-- name: {'x' * 10_000}\n{SELECT}\n", "10,000 bytes", "a shorter name"),
        ("(" * 1_000_000, "1: SQL without a name", "-- name"),
        ("-- stream: '" + "x" * 1_000_000, "1: stream: 'xxx", "-- stream"),
        ("-- name: one\n" * 10_000, "1: query 'one' has no SQL", "SELECT"),
    ],
)
def test_so_it_is_in_sql(tmp_path: Path, content: str, what: str, instead: str):
    found = [error for error in errors(tmp_path, content, "w.sql") if what in error.what]
    assert found, errors(tmp_path, content, "w.sql")[:5]
    assert instead in found[0].instead
    assert all(len(str(error)) < 1_000 for error in found)


def test_a_comment_in_prose_is_no_heading(tmp_path: Path):
    text = "-- stream: trades path=data time=ts\n-- note: done\n-- names: are free\n-- name: one\n"
    assert errors(tmp_path, text + SELECT, "w.sql") == []


def test_a_text_in_sql_keeps_line_breaks_that_are_not_line_feeds(tmp_path: Path):
    text = "-- stream: trades path=data time=ts\n-- name: one\nSELECT 'a\u2028b\x0cc'"
    (tmp_path / "w.sql").write_text(text, encoding="utf-8")
    workload, _ = read_workload(tmp_path / "w.sql")
    assert workload.queries[0].sql == "SELECT 'a\u2028b\x0cc'"
