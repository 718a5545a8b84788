"""Parse COUNT, SUM and AVG over joins: SQL text to a join aggregate, or the reason of a refusal.

    SELECT sum(l.price * o.rate) FROM orders o, items l
    WHERE o.id = l.order_id AND l.price > 10 GROUP BY window(ts, '10 minutes')

is the equality o.id = l.order_id, the measures l.price and o.rate, and the selection price > 10.
Each is made of the user's own tokens, and `Comparison` has the whole as it was understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gingham.core.errors import QueryError
from gingham.core.names import quoted
from gingham.estimates.algebra.join_query import JoinQuery, join_trees
from gingham.estimates.planning.join_aggregate import Equality, JoinAggregate, Relation, Selection
from gingham.estimates.planning.join_measures import Measures, owners, read_measures
from gingham.estimates.planning.join_scope import JoinScope
from gingham.logical.window import Window
from gingham.sql.comparison import Comparison, alias_name, written_over
from gingham.sql.expression import Column, Expression
from gingham.sql.from_clause import FromClause, JoinClause, read_from
from gingham.sql.functions import IsAllowed, refuse_functions
from gingham.sql.grouping import grouping_keys
from gingham.sql.predicates import Conditions, Formula, all_of, equality_sides
from gingham.sql.read_expression import Call, calls, read_expression
from gingham.sql.scope import matching_column
from gingham.sql.statement import (
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
    window_subject,
)

_AGGREGATES = ("count", "sum", "avg", "mean")


class ParsedJoin(NamedTuple):
    """A join aggregate as it was understood, and what Spark must find to be the same."""

    query: JoinAggregate
    comparison: Comparison


def parse_join_aggregate(
    text: str,
    name: str,
    catalog: Mapping[str, Relation],
    is_allowed: IsAllowed = lambda _: False,
) -> ParsedJoin:
    """Parse one COUNT, SUM or AVG over a join; `catalog` has relations by their lower-case names.

    `is_allowed` tells of more functions that the query may call.
    """
    statement = read_statement(text)
    refuse_functions(statement, is_allowed)
    source = read_from(statement, list(catalog))
    return _Parser(statement, source, catalog).parse(name)


class _Term(NamedTuple):
    """A condition that all rows of the join meet: an equality of two relations, or a selection."""

    check: str
    equality: Equality | None = None
    selected: tuple[str, Formula] | None = None  # of the relation with this alias


class _Item(NamedTuple):
    """An item of SELECT: as it is compared, and its measures if it is the aggregate."""

    check: str
    measures: Measures | None = None
    change: tuple[int, int, str] | None = None  # in the text, for the comparison


class _Parser:
    """Puts together what the clauses of one statement say."""

    def __init__(
        self, statement: Statement, source: FromClause, catalog: Mapping[str, Relation]
    ) -> None:
        self._statement = statement
        self._tokens = statement.tokens
        self._source = source
        self._catalog = catalog
        self._scope = JoinScope()
        self._conditions = Conditions(statement.tokens, self._expression)

    def parse(self, name: str) -> ParsedJoin:
        """The query, and the statements that show whether it was understood."""
        statement, scope = self._statement, self._scope
        if statement.having:
            raise QueryError(
                "HAVING over an estimate",
                "an estimate near the limit would pass or fail by chance",
                "a filter on the answers that looks at lower and upper",
            )
        terms, check_from = self._relations()
        where = [self._term(span) for span in self._conjuncts(statement.where)]
        terms += where
        calls_of_window, window = self._window()
        items = [self._item(span, window) for span in self._item_spans()]
        joins = [term.equality for term in terms if term.equality is not None]
        _refuse_unjoined(scope, joins)
        relations = {alias: relation.name for alias, relation in scope.relations.items()}
        # Refuses cycles.
        join_trees([JoinQuery(joins, name, relations)])
        measures = _only_measures(items)
        query = JoinAggregate(
            name=name,
            text=statement.text.strip(),
            relations=relations,
            joins=tuple(joins),
            measures=measures.of_relations,
            selections=_selections(terms),
            window=window,
            divisor=measures.divisor,
        )
        marker = self._marker() if window is not None else ""
        changes = [item.change for item in items if item.change is not None]
        comparison = Comparison(
            written=written_over(statement, self._source, self._stand_in, marker, changes),
            check=self._check(items, check_from, where, marker),
            view=next((r.stand_in for r in scope.relations.values() if r.time is not None), ""),
            windows=tuple(calls_of_window),
        )
        return ParsedJoin(query, comparison)

    # Relations and conditions

    def _relations(self) -> tuple[list[_Term], str]:
        """Enter all relations of FROM into the scope: terms of ON and USING, FROM as compared."""
        source, scope = self._source, self._scope
        scope.enter(source.first, self._catalog)
        terms: list[_Term] = []
        parts = [source.first.over(self._stand_in)]
        for clause in source.joins:
            _refuse_other_joins(clause)
            left = [scope.resolve([column])[0] for column in clause.using]
            alias = scope.enter(clause.relation, self._catalog)
            right = [scope.merge(column, alias) for column in clause.using]
            terms += [_merged(one, other) for one, other in zip(left, right, strict=True)]
            on = [self._term(span) for span in self._conjuncts(clause.on)]
            terms += on
            parts.append(clause.over(self._stand_in, _conjunction(on)))
        return terms, "".join(parts)

    def _stand_in(self, relation: str) -> str:
        """The view that stands for a relation when Spark compares queries."""
        return self._catalog[relation.lower()].stand_in or relation

    def _conjuncts(self, span: Span) -> Iterator[Span]:
        """The terms of a chain of ANDs, those in parentheses too."""
        if not span:
            return
        terms = list(self._conditions.conjuncts(unnested(self._tokens, span)))
        for term in terms:
            # One that is missing is complained about where it is read.
            if len(terms) == 1 or not term:
                yield term
            else:
                yield from self._conjuncts(term)

    def _expression(self, span: Span) -> Expression:
        """An expression over the relations that were entered so far."""
        return read_expression(self._tokens, span, self._scope.resolve)

    def _term(self, span: Span) -> _Term:
        """Read one condition: over one relation it selects rows, over two it joins them."""
        aliases = owners(self._expression(span))
        if len(aliases) > 1:
            return self._equality(span)
        formula = self._conditions.formula(span)
        alias = aliases[0] if aliases else next(iter(self._scope.relations))
        return _Term(f"({formula.sql.check})", selected=(alias, formula))

    def _equality(self, span: Span) -> _Term:
        """Read a condition over several relations, which must be an equality between two."""
        written = self._statement.slice(span)[:80]
        if len(list(split(self._tokens, unnested(self._tokens, span), "OR"))) > 1:
            raise QueryError(
                f"an OR across relations: {written}",
                "sketches multiply what equalities join; rows that match in one of two ways would "
                "be counted for each",
                "one query for each side of the OR, and one for both: a + b - both",
            )
        sides = equality_sides(self._tokens, span)
        found = [self._expression(unnested(self._tokens, side)) for side in sides or ()]
        if not found or any(len(owners(side)) != 1 for side in found):
            raise QueryError(
                f"{written} is no equality between two relations",
                "random signs cancel for keys that are equal, and for no other relation between "
                "them",
                "r.a = s.b, with one relation on each side; or compute this query exactly",
            )
        left, right = found
        equality = owners(left)[0], left.run, owners(right)[0], right.run
        # In parentheses where sides were found: Spark sees whether they are sides for it, too.
        return _Term(f"(({left.check}) = ({right.check}))", equality)

    # Windows

    def _window(self) -> tuple[list[WindowCall], Window | None]:
        """The window of GROUP BY window(...), with its call, or of a RANGE clause; or none."""
        statement, clause = self._statement, self._source.window
        found: list[Call] = []
        for span in grouping_keys(statement, self._scope.reaches):
            windows = window_calls(statement, span)
            if not windows or windows[0].span != unnested(self._tokens, span):
                raise QueryError(
                    f"GROUP BY {statement.slice(span)[:60]}",
                    "a sketch gives one number; every group would need a sketch of its own",
                    "GROUP BY window(...) alone, and a query with a selection for each group that "
                    "matters",
                )
            found.append(windows[0])
        if len(found) + (clause is not None) > 1:
            raise two_windows_error()
        if not found and clause is None:
            return [], None
        if clause is not None and clause.clock.by_rows:
            raise QueryError(
                "[ROWS ...] in a query over joins",
                "streams that are joined have no common order of rows",
                "[RANGE '10 min' SLIDE '5 min'], or an exact query over one stream",
            )
        streams = {a: r.time for a, r in self._scope.relations.items() if r.time is not None}
        if not streams:
            raise QueryError(
                "a window over tables", "none of them has an event time", "no window, or a stream"
            )
        if not found:
            return [], clause
        self._refuse_other_times(found[0], streams)
        call = read_window(statement, found[0], next(iter(streams.values())))
        return [call], call.window

    def _refuse_other_times(self, call: Call, streams: Mapping[str, str]) -> None:
        """Refuse window(x, ...) unless x is the event time of every stream, given by alias."""
        subject, time = window_subject(self._statement, call), next(iter(streams.values()))
        written = f"window({self._statement.slice(subject)}, ...)"
        parts = dotted_name(self._tokens, subject) or []
        times = {name.lower() for name in streams.values()}
        if not 1 <= len(parts) <= 2 or {parts[-1].lower()} != times:
            raise QueryError(
                written,
                "a window cuts every stream of the query by its event time: "
                + ", ".join(f"{alias}.{name}" for alias, name in streams.items()),
                f"window({time}, ...)" if len(set(streams.values())) == 1 else "[RANGE r SLIDE s]",
            )
        if len(parts) == 2 and (len(streams) > 1 or parts[0].lower() not in streams):
            raise QueryError(
                f"{written} cuts one of several streams",
                "every stream of the query is cut alike: rows join within a window",
                f"window({time}, ...) without the alias; sketches.relation(...) for what stays "
                "whole",
            )

    def _marker(self) -> str:
        """The column of the first stream's stand-in that is compared in place of window(...)."""
        alias, columns = next(
            (a, r.columns) for a, r in self._scope.relations.items() if r.time is not None
        )
        marker = window_marker(lambda name: matching_column(name, columns) is not None)
        return f"{quoted(alias)}.{quoted(marker)}"

    # SELECT

    def _item_spans(self) -> Iterator[Span]:
        """The tokens of the items of SELECT, without aliases and parentheses around them."""
        return (unnested(self._tokens, item.span) for item in self._statement.items)

    def _item(self, span: Span, window: Window | None) -> _Item:
        """Read an item of SELECT: the aggregate, or a bound of the window."""
        call = next(calls(self._tokens, span), None)
        if call is not None and call.span == span:
            if call.name in _AGGREGATES:
                measures = read_measures(self._statement, call, self._scope, self._expression)
                return _Item(measures.check, measures)
            if call.name == "window" and window is not None:
                return _Item(self._marker())
        parts = dotted_name(self._tokens, span)
        if window is not None and parts and not self._scope.reaches("window"):
            bound = bound_reference(parts, self._marker())
            if bound is not None:
                first = self._tokens[span.low]
                return _Item(bound.check, change=(first.start, first.stop, self._marker()))
        raise QueryError(
            f"{self._statement.slice(span)[:60]} over a join",
            "an estimate is a count or a sum, which add up row by row, or one divided by the other",
            "SELECT count(*), sum(x) or avg(x)",
        )

    # The statement that Spark compares

    def _check(
        self, items: Sequence[_Item], check_from: str, where: Sequence[_Term], marker: str
    ) -> str:
        """The statement that was understood, over stand-ins."""
        aliases = [
            f" AS {quoted(alias_name(i))}" if item.alias is not None else ""
            for i, item in enumerate(self._statement.items)
        ]
        selected = [item.check + alias for item, alias in zip(items, aliases, strict=True)]
        parts = [f"SELECT {', '.join(selected)} FROM {check_from}"]  # noqa: S608
        if where:
            parts.append(f"WHERE {_conjunction(where)}")
        if marker:
            parts.append(f"GROUP BY {marker}")
        return " ".join(parts)


def _conjunction(terms: Sequence[_Term]) -> str:
    """Conditions as Spark compares them."""
    return " AND ".join(term.check for term in terms)


def _refuse_other_joins(clause: JoinClause) -> None:
    """Refuse every kind of join but inner ones."""
    if clause.kind not in ((), ("INNER",), ("CROSS",)):
        raise QueryError(
            f"a {' '.join(clause.kind)} JOIN",
            "a sketch knows sums over pairs of rows that are equal, not which rows have none",
            "JOIN ... ON, or relations with commas between them",
        )


def _merged(left: Column, right: Column) -> _Term:
    """The equality that USING stands for; Spark compares the USING itself."""
    return _Term("", (left.relation, left.run, right.relation, right.run))


def _selections(terms: Sequence[_Term]) -> dict[str, Selection]:
    """The selections of relations by alias: conjunctions of all conditions on one of them."""
    formulas: dict[str, list[Formula]] = {}
    for term in terms:
        if term.selected is not None:
            formulas.setdefault(term.selected[0], []).append(term.selected[1])
    found = {alias: all_of(parts) for alias, parts in formulas.items()}
    return {alias: Selection(whole.predicate, whole.sql.run) for alias, whole in found.items()}


def _only_measures(items: Sequence[_Item]) -> Measures:
    """The measures of the one aggregate of a query."""
    found = [item.measures for item in items if item.measures is not None]
    if len(found) != 1:
        raise QueryError(
            f"{len(found)} aggregates",
            "each estimate has its own interval and its own share of the memory",
            "one query for each aggregate",
        )
    return found[0]


def _refuse_unjoined(scope: JoinScope, joins: Sequence[Equality]) -> None:
    """Refuse a join query with a relation that no equality joins."""
    if len(scope.relations) == 1:
        raise QueryError(
            "no join",
            "a sketch estimates joins; what one relation holds is computed exactly",
            "loom.add(...) for a query over one stream",
        )
    joined = {alias for left, _, right, _ in joins for alias in (left, right)}
    for alias in scope.relations:
        if alias not in joined:
            raise QueryError(
                f"no equality joins {alias}",
                "every row of it would be paired with all others",
                f"WHERE {alias}.a = ...",
            )
