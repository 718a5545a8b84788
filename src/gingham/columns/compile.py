"""Compiling: the grids of a forest that are filled by columns, as one program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeVar

from gingham.aggregates.base import ONE, RowColumn
from gingham.columns.program import (
    AttributeInput,
    GridProgram,
    InputColumn,
    KeySet,
    MapLookup,
    PartialProgram,
    Program,
    Watch,
)
from gingham.columns.text.matcher import can_be_matched
from gingham.core import names
from gingham.core.names import quoted, unquoted
from gingham.logical.predicate import Attribute, attributes
from gingham.plan.bound import BoundQuery, Condition, ConditionalAggregate
from gingham.plan.forest import Forest
from gingham.plan.grid import Grid

_Value = TypeVar("_Value")
# labels['job'], or coalesce(labels['job'], '') with a default.
_LOOKUP = re.compile(
    r"(?i:(?P<coalesce>coalesce)\s*\(\s*)?(?P<map>`[^`]+`|\w+)\s*\[\s*'(?P<key>[^'\\]*)'\s*\]"
    r"(?(coalesce)\s*,\s*'(?P<default>[^'\\]*)'\s*\))"
)


def goes_by_columns(query: BoundQuery) -> bool:
    """Whether all partials of a query can be made from single rows, outside of Spark."""
    partials = (p for aggregate in query.aggregates for p in aggregate.aggregate.partials)
    return all(partial.of_one_row is not None for partial in partials)


def compile_program(
    forest: Forest,
    instant: str,
    maps: Collection[str] = (),
    *,
    watermark: int | None = None,
    ahead: str = "",
) -> Program:
    """The program that fills the grids of a forest by columns.

    `instant` is SQL of the event time in microseconds, `maps` are the names of columns that map
    strings to strings: what is looked up in them need not be sent for every row. Columns of keys
    and partials have the names that they have in shards of the whole forest. With a `watermark`
    rows are counted, too; `ahead` is SQL of whether a row is too far in the future.
    """
    return _Compiler(forest, instant, maps).program(watermark, ahead)


class _Numbers(dict[_Value, int]):
    """Numbers for values, in the order in which they come."""

    def of(self, value: _Value) -> int:
        """The number of a value; the next one if it is new."""
        return self.setdefault(value, len(self))


class _Compiler:
    """Collects what the grids of a forest have in common."""

    def __init__(self, forest: Forest, instant: str, maps: Collection[str]) -> None:
        self._forest = forest
        self._maps = maps
        self._inputs = _Numbers[str | MapLookup]({instant: 0})
        self._conditions = _Numbers[Condition]()
        self._key_sets = _Numbers[tuple[str, ...]]()
        self._windows = _Numbers[tuple[tuple[int, int], ...]]()
        # Expressions whose values are needed, not only whether they are NULL.
        self._values = {
            column.sql
            for query in forest.queries
            for aggregate in query.aggregates
            for partial in aggregate.partials
            for column in partial.of_one_row or ()
            if column.how != "known"
        }
        self._partial_numbers = {sql: i for i, sql in enumerate(forest.columns)}

    def program(self, watermark: int | None, ahead: str) -> Program:
        """The program of all grids that are filled by columns."""
        watch = None if watermark is None else Watch(watermark, self._inputs.of(ahead))
        queries: dict[Grid, list[BoundQuery]] = {}
        for query in self._forest.queries:
            grid = self._forest.grid_of(query)
            if grid.by_columns:
                queries.setdefault(grid, []).append(query)
        grids = tuple(self._grid(grid, own) for grid, own in queries.items())
        return Program(
            attributes={
                attribute.sql: self._attribute(attribute)
                for condition in self._conditions
                for attribute in attributes(condition.predicate)
            },
            conditions=tuple(condition.predicate for condition in self._conditions),
            key_sets=tuple(self._key_set(keys) for keys in self._key_sets),
            windows=tuple(self._windows),
            grids=grids,
            inputs=tuple(self._inputs),
            watch=watch,
        )

    def _grid(self, grid: Grid, queries: list[BoundQuery]) -> GridProgram:
        """What one grid is filled with."""
        first = queries[0]
        aggregates = [aggregate for query in queries for aggregate in query.aggregates]
        return GridProgram(
            number=grid.number,
            condition=self._conditions.of(first.where),
            key_set=self._key_sets.of(grid.keys),
            window=self._windows.of(first.window.classes),
            partials=tuple(self._partials(aggregates)),
        )

    def _partials(self, aggregates: list[ConditionalAggregate]) -> Iterable[PartialProgram]:
        """The partials of some aggregates, each once."""
        made: set[tuple[str, ...]] = set()
        for aggregate in aggregates:
            where = None if aggregate.filter is None else self._conditions.of(aggregate.condition)
            for partial in aggregate.partials:
                if partial.columns not in made:
                    made.add(partial.columns)
                    assert partial.of_one_row is not None
                    yield PartialProgram(
                        columns=tuple(
                            self._column(column) for column in partial.of_one_row if column != ONE
                        ),
                        monoid=partial.monoid,
                        names=tuple(
                            names.partial(self._partial_numbers[sql]) for sql in partial.columns
                        ),
                        filter=where,
                    )

    def _column(self, column: RowColumn) -> InputColumn:
        """A column of a partial.

        What is only counted crosses as a flag: no string or VARIANT need be sent for that.
        """
        sql, how, digits = column.sql, column.how, column.digits
        if how == "known" and sql not in self._values:
            sql = f"nullif(({sql}) IS NOT NULL, false)"
        return InputColumn(self._input(sql), how, digits)

    def _input(self, sql: str) -> int:
        """The number of the input that has the values of an expression."""
        found = _LOOKUP.fullmatch(sql.strip())
        if found is None or unquoted(found["map"]) not in self._maps:
            return self._inputs.of(sql)
        column = self._inputs.of(quoted(unquoted(found["map"])))
        return self._inputs.of(MapLookup(column, found["key"], found["default"]))

    def _attribute(self, attribute: Attribute) -> AttributeInput:
        """The input of an attribute; Spark evaluates tests that cannot be answered otherwise."""
        text, test = attribute.text, attribute.test
        if text is None or test is None or not can_be_matched(test):
            return AttributeInput(self._input(attribute.sql), attribute.domain)
        return AttributeInput(self._input(text), attribute.domain, test)

    def _key_set(self, keys: tuple[str, ...]) -> KeySet:
        """The inputs and names of some keys."""
        return KeySet(
            inputs=tuple(self._input(key) for key in keys),
            names=tuple(names.key(self._forest.keys.index(key)) for key in keys),
        )
