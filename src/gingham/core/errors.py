"""Errors in three parts: what is wrong, why, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gingham.core.secrets import without_secrets


class GinghamError(Exception):
    """An error that the user can mend: what is wrong, why, and what to write instead.

    Its parts may quote what Spark, a sink or the user wrote: secrets in them are masked.

    >>> print(GinghamError("no window", "every query needs one", "add window(ts, '5 minutes')"))
    no window
      why:     every query needs one
      instead: add window(ts, '5 minutes')
    """

    def __init__(self, what: str, why: str, instead: str) -> None:
        self.what = without_secrets(what)
        self.why = without_secrets(why)
        self.instead = without_secrets(instead)
        super().__init__(f"{self.what}\n  why:     {self.why}\n  instead: {self.instead}")

    def __reduce__(self) -> tuple[type[GinghamError], tuple[str, str, str]]:
        return type(self), (self.what, self.why, self.instead)

    def about(self, subject: str) -> GinghamError:
        """The same error with its subject in front of its text: `query 'big_caps': no window`."""
        return type(self)(f"{subject}: {self.what}", self.why, self.instead)


class QueryError(GinghamError):
    """A query that is refused when it is added."""

    @classmethod
    def named_twice(cls, name: str, remove: str) -> QueryError:
        """The error of adding a query under a taken name; `remove` is the call that frees it."""
        return cls(
            f"two queries named {name!r}",
            "answers are found by name",
            f"another name, or {remove}({name!r}) first",
        )

    @classmethod
    def unknown(cls, name: str, known: Iterable[str]) -> QueryError:
        """The error of naming a query that was never added; `known` are the names there are."""
        return cls(
            f"there is no query {name!r}",
            "it was never added, or it was removed",
            "one of " + (", ".join(known) or "none: no query is registered"),
        )


class CatalogError(GinghamError):
    """A stream or a table that is refused when it is registered."""

    @classmethod
    def registered_twice(cls, name: str) -> CatalogError:
        """The error of registering a stream, table or relation under a taken name."""
        return cls(
            f"{name!r} is registered already",
            "streams, tables and relations share one set of names",
            "another name",
        )

    @classmethod
    def no_watermark(cls, name: str) -> CatalogError:
        """The error of starting a stream without a watermark: no window would be complete."""
        return cls(
            f"stream {name!r} has no watermark",
            "nobody knows when a window is complete",
            f'loom.stream({name!r}, ..., watermark="10 seconds"): how late rows may come',
        )


class AnswerError(GinghamError):
    """A query that fails while it runs, as it would fail alone in Spark."""


class CheckpointError(GinghamError):
    """A checkpoint from which a stream cannot continue."""


class SinkError(GinghamError):
    """Answers that could not be delivered to a sink."""


class FragmentError(GinghamError):
    """Fragments or partials that cannot be shared in the way that was asked for."""


class WorkloadError(GinghamError):
    """A workload file that cannot be read."""


class BudgetError(GinghamError):
    """Something that needs more time or memory than it may take."""


def refuse_renamed(function: str, given: Mapping[str, object], **names: str) -> None:
    """Raise an error for options that a public function had under other names.

    >>> refuse_renamed("loom.run", {"fragments": True}, fragments="send_records")
    Traceback (most recent call last):
    ...
    gingham.core.errors.GinghamError: fragments=True is no option of loom.run
      why:     it has another name there, because it meant something else elsewhere
      instead: send_records=True
    """
    for old, value in given.items():
        if old not in names:
            raise TypeError(f"{function}() got an unexpected keyword argument {old!r}")
        raise GinghamError(
            f"{old}={value!r} is no option of {function}",
            "it has another name there, because it meant something else elsewhere",
            f"{names[old]}={value!r}",
        )


_SHOWN = 120  # characters of a line of SQL


def at(sql: str, position: int) -> str:
    r"""A position in SQL text for error messages: line, column and the text of the line.

    >>> print(at("SELECT a\nFRM t", 9))
    line 2, column 1: FRM t
    """
    position = max(0, min(position, len(sql)))
    line = sql.count("\n", 0, position) + 1
    start = sql.rfind("\n", 0, position) + 1
    stop = sql.find("\n", position)
    text = sql[start : stop if stop >= 0 else len(sql)]
    shown = text.strip()
    if len(shown) > _SHOWN:
        low = max(0, position - start - _SHOWN // 2)
        shown = f"... {text[low : low + _SHOWN].strip()} ..."
    return f"line {line}, column {position - start + 1}: {shown}"
