"""SQL text to a logical query, or to an error that says what to write instead.

The text is taken apart and never written again: what Spark evaluates are the user's own tokens,
with references in place of columns and aggregates. `Comparison.check` puts what was understood
together again, so that Spark can compare it with `Comparison.written`, the user's own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gingham.aggregates.registry import is_aggregate, refusal
from gingham.core import names
from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.logical.catalog import Catalog
from gingham.logical.predicate import conjunction
from gingham.logical.query import Output, Query, Selected
from gingham.logical.window import Window
from gingham.sql.comparison import Comparison, alias_name, written_over
from gingham.sql.expression import KEYWORDS, Column, Expression, Part, Replaced
from gingham.sql.functions import IsAllowed, refuse_functions
from gingham.sql.grouping import grouping_keys
from gingham.sql.predicates import NO_CONDITION, Conditions, Formula, all_of
from gingham.sql.read_expression import Call, Replacements, calls, read_expression
from gingham.sql.relations import Source, read_source
from gingham.sql.statement import (
    Item,
    Span,
    Statement,
    dotted_name,
    read_statement,
    split,
    unnested,
)
from gingham.sql.windows import (
    WindowCall,
    bound_reference,
    read_window,
    two_windows_error,
    window_calls,
    window_marker,
    window_reference,
    window_subject,
)


class Parsed(NamedTuple):
    """A query as it was understood, and what Spark must find to be the same."""

    query: Query
    types: Mapping[str, str]  # of the columns that the query reads
    comparison: Comparison
    selected: tuple[int | None, ...]  # for each item of SELECT, the position of its output

    def named(self, columns: Sequence[str]) -> Query:
        """The query with the names that Spark gives to the items of SELECT."""
        outputs = list(self.query.outputs)
        for position, column in zip(self.selected, columns, strict=True):
            if position is not None:
                outputs[position] = replace(outputs[position], name=column)
        _refuse_same_names(outputs)
        return replace(self.query, outputs=tuple(outputs))


def parse(
    text: str, name: str, catalog: Catalog, is_allowed: IsAllowed = lambda _: False
) -> Parsed:
    """Parse the SQL text of a query; `is_allowed` tells of more functions that it may call."""
    try:
        statement = read_statement(text)
        source = read_source(statement, catalog)
        refuse_functions(statement, is_allowed)
        return _Parser(statement, source, catalog).parse(name)
    except RecursionError:
        raise QueryError(
            "a query nested too deeply",
            "aliases within each other are read one by one",
            "fewer of them",
        ) from None


class _Key(NamedTuple):
    """A key of GROUP BY: its expression, and the text that it is named by if not selected."""

    expression: Expression
    name: str


class _Parser:
    """Puts together what the clauses of one statement say."""

    def __init__(self, statement: Statement, source: Source, catalog: Catalog) -> None:
        self._statement = statement
        self._source = source
        self._scope = source.scope
        self._catalog = catalog
        self._conditions = Conditions(statement.tokens, self._row_expression)
        self._aggregates: list[Selected] = []
        self._formula = NO_CONDITION
        self._keys: list[_Key] = []
        self._window_position = 0  # among the keys
        self._marker = quoted(window_marker(self._scope.reaches))

    def parse(self, name: str) -> Parsed:
        """The query, and the statements that show whether it was understood."""
        statement, source, scope = self._statement, self._source, self._scope
        terms = [self._conditions.formula(term) for term in source.conditions]
        self._formula = all_of(terms)
        windows, key_spans = self._grouping()
        self._keys = [self._key(span) for span in key_spans]
        window = self._only_window(windows)
        keys = tuple(dict.fromkeys(key.expression.run for key in self._keys))
        items = [
            self._over_aggregates(unnested(statement.tokens, item.span), i)
            for i, item in enumerate(statement.items)
        ]
        self._refuse_windows_of_rows()
        having = self._over_aggregates(statement.having, None) if statement.having else None
        outputs, selected = self._outputs(items, keys)
        query = Query(
            name=name,
            text=statement.text.strip(),
            stream=scope.stream.name,
            joins=source.joins,
            where=self._formula.predicate,
            where_sql=self._formula.sql.run,
            keys=keys,
            window=window,
            aggregates=tuple(self._aggregates),
            outputs=outputs,
            having=having.run if having is not None else None,
            columns=frozenset(scope.columns | {scope.stream.time}),
        )
        time = scope.stream.time
        return Parsed(
            query=query,
            types={**scope.types, time: scope.stream.columns[time]},
            comparison=Comparison(
                written=written_over(statement, source.clause, source.stand_in, self._marker),
                check=self._check(items, having),
                view=source.stand_in(scope.stream.name),
                windows=tuple(windows),
            ),
            selected=selected,
        )

    # Expressions

    def _row_expression(self, span: Span) -> Expression:
        """An expression over the columns of a row."""
        return read_expression(self._statement.tokens, span, self._scope.resolve)

    def _over_aggregates(self, span: Span, item: int | None) -> Expression:
        """A SELECT item (by its number) or HAVING, over keys, aggregates and window bounds."""
        replacements = {**self._window_replacements(span), **self._aggregate_replacements(span)}

        def resolve(parts: Sequence[str]) -> tuple[Column | Replaced, Sequence[str]]:
            """What a name means: in HAVING aliases come first, in SELECT columns do."""
            bound = bound_reference(parts, self._marker)
            if bound is not None and not self._scope.reaches("window"):
                return bound, ()
            alias = self._alias(parts[0], item)
            if alias is not None and (item is None or not self._scope.reaches(parts[0])):
                return alias, parts[1:]
            return self._scope.resolve(parts)

        expression = read_expression(self._statement.tokens, span, resolve, replacements)
        result = self._with_keys(expression)
        if result.columns:
            column = result.columns[0].run
            raise QueryError(
                f"{column} is neither grouped by nor aggregated",
                "a group may hold many values of it",
                f"GROUP BY {column}, ... or max({column})",
            )
        return result

    def _refuse_windows_of_rows(self) -> None:
        """Raise for window(...) where Spark has no rows to cut, or gives it a name of its own."""
        statement = self._statement
        if window_calls(statement, statement.having):
            raise QueryError(
                "window(...) in HAVING",
                "there are no rows any more that could be in a window",
                "window.start or window.end",
            )
        for item in statement.items:
            found = window_calls(statement, item.span)
            if item.alias is None and found and found[0].span != item.span:
                raise QueryError(
                    f"{statement.slice(item.span)} without an alias",
                    "a name for it is not known",
                    f"{statement.slice(item.span)} AS w, or window.start",
                )

    def _alias(self, name: str, item: int | None) -> Replaced | None:
        """The SELECT item that an alias in HAVING, or in a later item, refers to."""
        for i, other in enumerate(self._statement.items[:item]):
            if other.alias is not None and other.alias.lower() == name.lower():
                return Replaced(
                    f"({self._over_aggregates(other.span, i).run})", quoted(alias_name(i)), name
                )
        return None

    def _window_replacements(self, span: Span) -> Replacements:
        """The references that calls of window(...) in SELECT and HAVING become."""
        found = window_calls(self._statement, span)
        return {c.first: (c.closed + 1, window_reference(self._marker)) for c in found}

    def _aggregate_replacements(self, span: Span) -> Replacements:
        """The references that aggregate calls in SELECT and HAVING become."""
        replacements: dict[int, tuple[int, Replaced]] = {}
        inside = span.low
        for call in calls(self._statement.tokens, span):
            if call.first >= inside and is_aggregate(call.name):
                stop, reference = self._aggregate(call, span)
                replacements[call.first] = stop, reference
                inside = stop
        return replacements

    def _aggregate(self, call: Call, span: Span) -> tuple[int, Replaced]:
        """The column of an aggregate call, and where its tokens end; equal calls share one."""
        refused = refusal(call.name)
        if refused:
            raise refused
        tokens = self._statement.tokens
        inside = Span(call.opened + 1, call.closed)
        if tokens[inside.low].upper == "DISTINCT":
            raise QueryError(
                f"an exact DISTINCT: {self._statement.slice(call.span)}",
                "distinct values of two slices cannot be merged from counts",
                "approx_count_distinct(x)",
            )
        if not inside and call.name != "count":
            raise QueryError(
                f"{call.name}() without an argument",
                "it has nothing to aggregate",
                f"{call.name}(x)",
            )
        arguments = [self._row_expression(part) for part in split(tokens, inside, ",")]
        condition, stop = self._filter(call.closed + 1, span)
        selected = Selected(
            function=call.name,
            arguments=tuple(argument.run for argument in arguments),
            where=self._formula.predicate,
            where_sql=self._formula.sql.run,
        )
        check = f"{call.name}({', '.join(argument.check for argument in arguments)})"
        if condition is not None:
            both = conjunction(self._formula.predicate, condition.predicate)
            selected = replace(selected, where=both, filter_sql=condition.sql.run)
            check = f"{check} FILTER (WHERE {condition.sql.check})"
        if selected not in self._aggregates:
            self._aggregates.append(selected)
        return stop, Replaced(names.aggregate(self._aggregates.index(selected)), f"({check})")

    def _filter(self, i: int, span: Span) -> tuple[Formula | None, int]:
        """The FILTER (WHERE ...) of an aggregate call, and where it ends; refuses OVER."""
        tokens = self._statement.tokens
        if i >= span.high or tokens[i + 1].text != "(":
            return None, i
        if tokens[i].upper == "OVER":
            raise QueryError(
                f"a window function at {self._statement.place(i)}",
                "it needs the rows of a partition in order, which shards do not keep",
                "an aggregate over window(ts, ...)",
            )
        if tokens[i].upper != "FILTER" or tokens[i + 2].upper != "WHERE":
            return None, i
        closed = tokens[i + 1].closes
        if closed + 1 < span.high and tokens[closed + 1].upper == "OVER":
            self._filter(closed + 1, span)
        return self._conditions.formula(Span(i + 3, closed)), closed + 1

    def _with_keys(self, expression: Expression) -> Expression:
        """The expression with references in place of keys, the longest ones first."""
        by_length = sorted(
            enumerate(dict.fromkeys(key.expression for key in self._keys)),
            key=lambda pair: -len(pair[1].parts),
        )
        parts = expression.parts
        for number, key in by_length:
            reference = Replaced(names.key(number), f"({key.check})", key.name)
            parts = tuple(_replaced(parts, key.parts, reference))
        return Expression(parts)

    # Keys and windows

    def _grouping(self) -> tuple[list[WindowCall], list[Span]]:
        """The windows of GROUP BY, and the tokens of its keys; numbers and aliases are SELECT's."""
        statement = self._statement
        spans = grouping_keys(statement, self._scope.reaches)
        windows: list[WindowCall] = []
        keys: list[Span] = []
        self._window_position = len(spans)
        for span in spans:
            found = window_calls(statement, span)
            if found and found[0].span == unnested(statement.tokens, span):
                windows.append(self._window(found[0]))
                self._window_position = len(keys)
            elif found:
                raise QueryError(
                    f"{statement.slice(span)} as a key",
                    "a window is a key by itself",
                    "GROUP BY window(...), and the expression in SELECT",
                )
            else:
                keys.append(unnested(statement.tokens, span))
        return windows, keys

    def _window(self, call: Call) -> WindowCall:
        """The window of a `window(...)` call, which must be over the event time of the stream."""
        statement, stream = self._statement, self._scope.stream
        subject = window_subject(statement, call)
        parts = dotted_name(statement.tokens, subject)
        column, fields = self._scope.resolve(parts) if parts else (None, ())
        if column is None or column.name != stream.time or fields:
            raise QueryError(
                f"window({statement.slice(subject)}, ...)",
                f"the event time of {stream.name} is {stream.time}",
                f"window({stream.time}, ...)",
            )
        return read_window(statement, call, stream.time)

    def _key(self, span: Span) -> _Key:
        """The key that a range of tokens stands for."""
        expression = self._row_expression(span)
        match expression.parts:
            case (Column() as column,):
                return _Key(expression, column.column)
            case _:
                return _Key(expression, expression.run)

    def _only_window(self, windows: Sequence[WindowCall]) -> Window:
        """The one window of a query, from GROUP BY window(...) or a [RANGE ...] clause."""
        clause, scope = self._source.clause.window, self._scope
        found = {call.window for call in windows}
        if not found and clause is None:
            time = scope.stream.time
            raise QueryError(
                "no window",
                "an aggregate over an endless stream needs one",
                f"GROUP BY ..., window({time}, '10 minutes') or FROM {scope.stream.name} "
                "[RANGE '10 min' SLIDE '5 min']",
            )
        if len(windows) + (clause is not None) > 1:
            raise two_windows_error()
        if clause is None:
            return windows[0].window
        per = tuple(dict.fromkeys(map(self._per_column, self._source.clause.window_per)))
        return replace(clause, clock=replace(clause.clock, per=per))

    def _per_column(self, span: Span) -> str:
        """The column of the stream that a name after PER means, which must be a key, too."""
        written, stream = self._statement.slice(span), self._scope.stream
        parts = dotted_name(self._statement.tokens, span)
        column, fields = self._scope.resolve(parts) if parts else (None, ())
        if column is None or fields or column.name not in stream.columns:
            raise QueryError(
                f"PER {written}",
                f"rows are counted by columns of {stream.name}, before anything is joined or "
                "computed",
                "one of " + ", ".join(stream.columns),
            )
        if not any(key.expression.run == column.run for key in self._keys):
            raise QueryError(
                f"PER {written} without {written} in GROUP BY",
                "windows of different values end at different moments, so they have answers of "
                "their own",
                f"GROUP BY {written}, ...",
            )
        return column.run

    # Outputs

    def _outputs(
        self, items: Sequence[Expression], keys: Sequence[str]
    ) -> tuple[tuple[Output, ...], tuple[int | None, ...]]:
        """The columns of the answer: keys that are not selected, then the items of SELECT.

        Also the position of every item's column; None for a window bound, which is there already.
        """
        selected = {item.run for item in items}
        key_names = dict(zip(keys, self._key_names(), strict=True))
        outputs = [
            Output(key_names[k], names.key(i))
            for i, k in enumerate(keys)
            if names.key(i) not in selected
        ]
        positions: list[int | None] = []
        bounds = (names.WINDOW_START, names.WINDOW_END)
        for item, expression in zip(self._statement.items, items, strict=True):
            name = item.alias or self._item_name(item, expression)
            if expression.run in bounds and name == expression.run:
                positions.append(None)
            else:
                positions.append(len(outputs))
                outputs.append(Output(name, expression.run))
        _refuse_same_names(outputs)
        return tuple(outputs), tuple(positions)

    def _key_names(self) -> list[str]:
        """The names of the different keys, if they are not selected."""
        return list({key.expression.run: key.name for key in reversed(self._keys)}.values())[::-1]

    def _item_name(self, item: Item, expression: Expression) -> str:
        """The name of an item without an alias, as long as Spark has not named it."""
        last = self._statement.tokens[item.span.high - 1]
        dotted = all(
            self._statement.tokens[i].is_name or self._statement.tokens[i].text == "."
            for i in range(item.span.low, item.span.high)
        )
        return last.name if dotted else expression.check

    # Statements that Spark compares

    def _check(self, items: Sequence[Expression], having: Expression | None) -> str:
        """The statement that was understood, over stand-ins."""
        aliases = [
            f" AS {quoted(alias_name(i))}" if item.alias is not None else ""
            for i, item in enumerate(self._statement.items)
        ]
        selected = [item.check + alias for item, alias in zip(items, aliases, strict=True)]
        where = [self._conditions.formula(term) for term in self._source.check_where]
        keys = [f"({key.expression.check})" for key in self._keys]
        keys.insert(self._window_position, self._marker)
        parts = [f"SELECT {', '.join(selected)} FROM {self._source.check_from}"]  # noqa: S608
        if where:
            parts.append(f"WHERE {all_of(where).sql.check}")
        parts.append(f"GROUP BY {', '.join(keys)}")
        if having is not None:
            parts.append(f"HAVING {having.check}")
        return " ".join(parts)


def _replaced(parts: Sequence[Part], wanted: Sequence[Part], reference: Replaced) -> Iterator[Part]:
    """Replace every occurrence of a key by a reference, where it is an operand of its own."""
    size, i = len(wanted), 0
    primary = _is_primary(wanted)
    while i < len(parts):
        found = tuple(parts[i : i + size]) == tuple(wanted)
        if found and (primary or _stands_alone(parts, i, i + size)):
            yield reference
            i += size
        else:
            yield parts[i]
            i += 1


def _is_primary(parts: Sequence[Part]) -> bool:
    """Whether nothing around an expression can change what belongs to it: a column or a call."""
    if isinstance(parts[0], Column) and all(part == "." for part in parts[1::2]):
        return True
    return len(parts) > 2 and parts[1] in ("(", "[") and _closing(parts, 1) == len(parts) - 1


def _closing(parts: Sequence[Part], opened: int) -> int:
    """The index of the parenthesis or bracket that closes another one."""
    depth = 0
    for i in range(opened, len(parts)):
        depth += (parts[i] in ("(", "[")) - (parts[i] in (")", "]"))
        if depth == 0:
            return i
    return -1


# What binds less tightly than arithmetic, on both sides of it.
_LOOSE = frozenset({
    "=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>", "AND", "OR", "WHEN", "THEN", "ELSE",
})  # fmt: skip


def _stands_alone(parts: Sequence[Part], low: int, high: int) -> bool:
    """Whether parts are a whole operand: an argument, a side of a comparison, or everything.

    A mistake here is no wrong answer: Spark would see that the query means something else.
    """
    before = parts[low - 1] if low else "("
    after = parts[high] if high < len(parts) else ")"
    is_arithmetic = not any(part in _LOOSE or part in KEYWORDS for part in parts[low:high])
    return (before in ("(", ",") or (is_arithmetic and before in _LOOSE)) and (
        after in (")", ",") or (is_arithmetic and after in _LOOSE)
    )


def _refuse_same_names(outputs: Iterable[Output]) -> None:
    """Raise if two columns of an answer would have the same name."""
    seen = {names.WINDOW_START, names.WINDOW_END}
    for output in outputs:
        if output.name.lower() in seen:
            raise QueryError(
                f"two columns named {output.name}",
                "an answer's columns have different names",
                f"an alias: ... AS {output.name}_2",
            )
        seen.add(output.name.lower())
