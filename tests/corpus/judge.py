"""Compares what Gingham answers with what Spark answers to the same characters.

The oracle is `spark.sql(text)` over temporary views, in a session of its own: nothing of Gingham
has touched the text.
"""

from __future__ import annotations

import hashlib
import pickle
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row, SparkSession

from gingham import Answers, GinghamError, Loom
from tests.corpus import rows
from tests.corpus.queries import Asked
from tests.corpus.rows import Source
from tests.deadline import deadline
from tests.oracle.same_rows import canonical_row, rows_differ

EQUAL, REFUSED, BOTH_REFUSE, BOTH_FAIL = "equal", "refused", "both refuse", "both fail"
WRONG, RAW, ACCEPTED = "WRONG", "RAW", "ACCEPTED"
BAD = (WRONG, RAW, ACCEPTED)

TOGETHER = 25  # queries in one loom
LONGEST = 120  # seconds that adding or running may take before it counts as hanging
CACHE = Path("artifacts/corpus")

# Sums of doubles are exact up to the order of the rows; nothing else may differ.
_SUMMED = re.compile(
    r"\b(sum|avg|mean|std\w*|var\w*|covar\w*|corr|regr\w*|try_sum|try_avg)\s*\(", re.IGNORECASE
)
# Two sketches of the same values differ by their error.
_SKETCHED = re.compile(r"\bapprox_count_distinct\s*\(", re.IGNORECASE)
_QUERY = re.compile(
    r"(\s|\ufeff|\(|--[^\n]*\n)*(SELECT|WITH|FROM|VALUES|TABLE|EXPLAIN)\b", re.IGNORECASE
)
# Types whose values are compared as strings: they have no Python value, or none with equality.
_AS_TEXT = re.compile(r"interval (year|month)|^interval$|variant|map<|time\(|geometry|geography")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a query: one of the words above, and why."""

    verdict: str
    reason: str
    kind: str
    text: str
    ansi: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """What Spark says to a query: columns and rows, or that it refuses it, or that it raises."""

    columns: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[Any, ...], ...] = ()
    refused: str = ""
    raised: str = ""


class Oracle:
    """Spark over the original text; what it said is kept in files, by text and data."""

    def __init__(self, spark: SparkSession, sources: dict[str, Source], *, ansi: bool) -> None:
        self._session = spark.newSession()
        # Made here, before two threads race for it; and nobody reads what Spark refuses.
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")
        self._salt = f"{spark.version} {ansi} {rows.EVENTS} {rows.INFO} 2"
        for option, value in {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.adaptive.enabled": "false",
            # Interpreted: compiling takes far longer than two hundred rows.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.shuffle.partitions": "1",
        }.items():
            self._session.conf.set(option, value)
        for name, source in sources.items():
            _kept(name, source.rows(self._session).coalesce(1)).createOrReplaceTempView(name)
        self._session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        CACHE.mkdir(parents=True, exist_ok=True)

    def answer(self, text: str) -> Expected:
        """What Spark says to this text."""
        name = hashlib.sha256(f"{self._salt}\0{text}".encode(errors="surrogatepass")).hexdigest()
        file = CACHE / f"{name}.pickle"
        if file.exists():
            return pickle.loads(file.read_bytes())  # noqa: S301  (written below)
        expected = self._ask(text)
        file.write_bytes(pickle.dumps(expected))
        return expected

    def _ask(self, text: str) -> Expected:
        if not _QUERY.match(text):
            # Spark would do what it says: DROP TABLE events.
            return Expected(raised="not a query")
        try:
            answer = self._session.sql(text)
            columns = _columns(answer)
        except (AnalysisException, ParseException) as error:
            return Expected(refused=_first_line(error))
        except Exception as error:  # noqa: BLE001  (whatever it is, the query has no answer)
            return Expected(raised=_first_line(error))
        try:
            return Expected(columns, tuple(_values(answer, columns)))
        except Exception as error:  # noqa: BLE001  (whatever it is, the query has no answer)
            return Expected(raised=_first_line(error))


def _kept(name: str, frame: DataFrame) -> DataFrame:
    """The rows of the large stream computed once; the others are cheap."""
    return frame.localCheckpoint() if name == "events" else frame


class Judge:
    """Adds queries to a loom, a few at a time, runs them, and compares their answers."""

    def __init__(self, spark: SparkSession, keywords: tuple[str, ...]) -> None:
        self._spark = spark
        self._sources = rows.sources(keywords)
        self._frames = {
            name: _kept(name, source.rows(spark).repartition(3))
            for name, source in self._sources.items()
        }

    def judge(self, queries: Sequence[Asked], *, ansi: bool = True) -> Iterator[Outcome]:
        """The outcomes of queries, in any order."""
        oracle = Oracle(self._spark, self._sources, ansi=ansi)
        before = self._spark.conf.get("spark.sql.ansi.enabled")
        self._spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        pool = ThreadPoolExecutor(2)
        try:
            expected = {q.text: pool.submit(oracle.answer, q.text) for q in queries}
            for stream in dict.fromkeys(q.stream for q in queries):
                own = [q for q in queries if q.stream == stream]
                loom = self._loom(stream)
                for start in range(0, len(own), TOGETHER):
                    some = own[start : start + TOGETHER]
                    told = [expected[q.text].result() for q in some]
                    yield from _Round(loom, some, told, ansi).outcomes()
        finally:
            pool.shutdown(cancel_futures=True)
            self._spark.conf.set("spark.sql.ansi.enabled", str(before))

    def _loom(self, stream: str) -> Loom | GinghamError:
        """A loom over one stream and the tables; or why the stream cannot be registered."""
        loom = Loom(self._spark)
        try:
            loom.stream(stream, self._frames[stream], time=rows.TIME)
        except GinghamError as error:
            return error
        for name, source in self._sources.items():
            if source.key is not None:
                loom.table(name, self._frames[name], key=source.key)
        return loom


class _Round:
    """Some queries that run together, and what Spark says to each."""

    def __init__(
        self,
        loom: Loom | GinghamError,
        queries: Sequence[Asked],
        expected: Sequence[Expected],
        ansi: bool,  # noqa: FBT001  (said by name in Judge)
    ) -> None:
        self._loom = loom
        self._queries = queries
        self._expected = expected
        self._ansi = ansi

    def outcomes(self) -> Iterator[Outcome]:
        if isinstance(self._loom, GinghamError):
            refusal = self._loom
            for number in range(len(self._queries)):
                yield self._refused(number, refusal)
            return
        added: list[int] = []
        for number, query in enumerate(self._queries):
            try:
                with deadline(LONGEST):
                    self._loom.add(query.text, name=f"q{number}")
                added.append(number)
            except GinghamError as error:
                yield self._refused(number, error)
            except Exception as error:  # noqa: BLE001  (that is what is looked for)
                yield self._outcome(number, RAW, f"add: {_name(error)}: {_first_line(error)}")
        for number in list(added):
            if self._expected[number].refused:
                yield self._outcome(number, ACCEPTED, self._expected[number].refused)
                added.remove(number)
                self._loom.remove(f"q{number}")
        yield from self._run(self._loom, added)
        for name in self._loom.queries:
            self._loom.remove(name)

    def _run(self, loom: Loom, numbers: list[int]) -> Iterator[Outcome]:
        """Run what has been added; if that raises, find out by halves whose fault it is."""
        if not numbers:
            return
        try:
            with deadline(LONGEST):
                answers = loom.run()
        except Exception as error:  # noqa: BLE001  (that is what is looked for)
            yield from self._bisect(loom, numbers, error)
            return
        for number in numbers:
            yield self._compare(number, answers)
        answers.release()

    def _bisect(self, loom: Loom, numbers: list[int], error: Exception) -> Iterator[Outcome]:
        reason = f"run: {_name(error)}: {_first_line(error)}"
        if len(numbers) == 1:
            fails_too = self._expected[numbers[0]].raised and isinstance(error, GinghamError)
            yield self._outcome(numbers[0], BOTH_FAIL if fails_too else RAW, reason)
            return
        middle = len(numbers) // 2
        found: list[Outcome] = []
        for half in (numbers[:middle], numbers[middle:]):
            for name in loom.queries:
                loom.remove(name)
            again: list[int] = []
            for number in half:
                try:
                    loom.add(self._queries[number].text, name=f"q{number}")
                    again.append(number)
                except Exception as refused:  # noqa: BLE001  (it was accepted before)
                    found.append(self._outcome(number, RAW, f"added again: {_first_line(refused)}"))
            found += self._run(loom, again)
        yield from found
        if not any(outcome.verdict in (RAW, BOTH_FAIL) for outcome in found):
            yield self._outcome(numbers[0], RAW, f"only together with others: {reason}")

    def _compare(self, number: int, answers: Answers) -> Outcome:
        expected, name = self._expected[number], f"q{number}"
        try:
            with deadline(LONGEST):
                difference = _difference(expected, answers, name, self._queries[number].text)
        except Exception as error:  # noqa: BLE001  (that is what is looked for)
            reason = f"answer: {_name(error)}: {_first_line(error)}"
            if expected.raised:
                return self._outcome(number, BOTH_FAIL, expected.raised)
            return self._outcome(number, WRONG if isinstance(error, GinghamError) else RAW, reason)
        if expected.raised:
            return self._outcome(number, WRONG, f"answered; Spark raises {expected.raised}")
        return self._outcome(number, WRONG if difference else EQUAL, difference)

    def _refused(self, number: int, error: GinghamError) -> Outcome:
        if not (error.what and error.why and error.instead):
            return self._outcome(number, RAW, f"a refusal without its three parts: {error}")
        expected = self._expected[number]
        verdict = BOTH_REFUSE if expected.refused else REFUSED
        return self._outcome(number, verdict, _general(expected.refused or _reason(error)))

    def _outcome(self, number: int, verdict: str, reason: str) -> Outcome:
        query = self._queries[number]
        return Outcome(verdict, reason, query.kind, query.text, self._ansi)


def as_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as a JSON object."""
    return asdict(outcome)


def _difference(expected: Expected, answers: Answers, name: str, text: str) -> str:
    """How an answer differs from Spark's, in a line; empty if it does not."""
    failed = answers.failed().get(name)
    if failed is not None:
        raise failed
    answer = answers[name]
    wanted = [column for column, _ in expected.columns]
    own = answer.columns
    if own[:2] != ["window_start", "window_end"]:
        return f"no window bounds in front: {own}"
    places = _places(wanted, own)
    if places is None:
        return f"columns {own}; Spark's are {wanted}"
    types = _columns(answer)
    odd = [(types[p], c) for p, c in zip(places, expected.columns, strict=True)]
    differing = [f"{own[0]} {own[1]} is {other[1]}" for own, other in odd if own[1] != other[1]]
    if differing:
        return "types: " + ", ".join(differing)
    if any(_AS_TEXT.search(kind) for _, kind in expected.columns):
        renamed = answer.toDF(*(f"c{i}" for i in range(len(own))))
        projected = renamed.select(*(f"c{p}" for p in places))
        values = list(_values(projected, expected.columns))
    else:
        table = answers.arrow(name)
        columns = [table.column(p).to_pylist() for p in places]
        values = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
        values = [canonical_row(row, expected.columns) for row in values]
    return rows_differ(
        list(expected.values),
        values,
        summed=bool(_SUMMED.search(text)),
        sketched=bool(_SKETCHED.search(text)),
    )


def _places(wanted: list[str], own: list[str]) -> list[int] | None:
    """The places of columns in an answer; None if one is not there."""
    if own[-len(wanted) :] == wanted:
        return list(range(len(own) - len(wanted), len(own)))
    return [own.index(name) for name in wanted] if set(wanted) <= set(own) else None


def _columns(answer: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple((f.name, f.dataType.simpleString()) for f in answer.schema.fields)


def _values(answer: DataFrame, columns: Sequence[tuple[str, str]]) -> Iterator[tuple[Any, ...]]:
    """The rows of an answer in a canonical form."""
    selected = answer
    if any(_AS_TEXT.search(kind) for _, kind in columns):
        plain = answer.toDF(*(f"c{i}" for i in range(len(columns))))
        selected = plain.selectExpr(
            *(
                f"{_text_sql(f'c{i}', kind)} AS c{i}" if _AS_TEXT.search(kind) else f"c{i}"
                for i, (_, kind) in enumerate(columns)
            )
        )
    for row in _rows(selected):
        yield canonical_row(row, columns)


def _rows(answer: DataFrame) -> Iterator[tuple[Any, ...]]:
    """The rows of an answer; structs are dictionaries."""
    try:
        table = answer.toArrow()
    except pa.ArrowInvalid:
        # PySpark cannot fetch a NULL struct with a field inside a field that is never NULL.
        for row in answer.collect():
            yield tuple(v.asDict(recursive=True) if isinstance(v, Row) else v for v in row)
        return
    lists = [column.to_pylist() for column in table.columns]
    yield from zip(*lists, strict=True) if lists else [()] * table.num_rows


def _text_sql(column: str, kind: str) -> str:
    """Spark SQL of a value without equality as a text that has one."""
    return f"hex(st_asbinary({column}))" if "geo" in kind else f"CAST({column} AS STRING)"


def _name(error: BaseException) -> str:
    return type(error).__name__


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0][:200]


def _reason(error: GinghamError) -> str:
    what = error.what.split(": ", 1)[-1] if error.what.startswith("query ") else error.what
    return what if what.startswith("Spark") else f"{what[:60]} ({error.why.splitlines()[0]})"


def _general(reason: str) -> str:
    """A reason without the names and numbers of one query, so that equal ones can be counted."""
    found = re.match(r"\[([A-Z_.]+)\]", reason)
    if found:
        return found[1]
    return re.sub(r"\([^()]*\)(?= |$)|[`'\"][^`'\"]*[`'\"]|\d+", "…", reason)[:110]
