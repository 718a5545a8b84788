"""Read from a column whether a row was inserted or deleted, as the number of rows that it adds."""

from __future__ import annotations

from collections.abc import Mapping

from gingham.core.errors import CatalogError
from gingham.core.names import quoted
from gingham.sql.scope import did_you_mean, matching_column

# The column of change feeds, as Delta's table_changes and readChangeFeed give it.
CHANGE_TYPE = "_change_type"
# Its values; an update is two rows, what was there before and what is there now.
_ADDED = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")


def change_sql(relation: str, column: str, types: Mapping[str, str]) -> str:
    """SQL of how many rows a row of a relation adds: 1 if it is inserted, -1 if it is deleted.

    A column of text says `insert`, `delete`, `update_preimage` or `update_postimage`; one of whole
    numbers says how many rows are added, negative if they are deleted. Anything else, NULL
    included, raises when the row is read: to count it either way would be a guess.
    """
    found = matching_column(column, types)
    if found is None:
        raise CatalogError(
            f"{relation!r} has no column {column!r}",
            "it is to say which rows are inserted and which deleted",
            did_you_mean(column, types) or f"one of {', '.join(types)}",
        )
    name, kind = quoted(found), types[found]
    what = f"{relation}.{found} says neither insert nor delete: "
    unknown = f"raise_error(concat('{_escaped(what)}', coalesce(CAST({name} AS STRING), 'NULL')))"
    if kind in _WHOLE_NUMBERS:
        return f"coalesce(CAST({name} AS BIGINT), CAST({unknown} AS BIGINT))"
    if kind != "string":
        raise CatalogError(
            f"{found} of {relation!r} is a {kind}",
            "a change is a word or a number",
            f"text ({', '.join(_ADDED)}), or whole numbers: 1 for an insertion, -1 for a deletion",
        )
    cases = " ".join(f"WHEN '{word}' THEN {added}L" for word, added in _ADDED.items())
    return f"CASE lower({name}) {cases} ELSE CAST({unknown} AS BIGINT) END"


def _escaped(text: str) -> str:
    """Text for a SQL literal."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
