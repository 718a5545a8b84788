"""Workload files in YAML.

stream: {name: trades, path: data/trades, time: ts}
tables:
  - {name: listing, path: data/listing, key: symbol}
queries:
  large: SELECT count(*) AS n FROM trades WHERE vol > 1000 GROUP BY window(ts, '5 minutes')
sink: {path: answers}
"""

from collections.abc import Iterator

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from gingham.cli.outline import Entry, NamedQuery, Problems, Value, WorkloadOutline

_PARTS = ("stream", "tables", "queries", "sink")
_SHAPE = "stream: {...}, tables: [...], queries: {name: SQL}, sink: {...}"


def read_yaml(text: str, problems: Problems) -> WorkloadOutline | None:
    """The streams, tables, queries and sinks in the text of a YAML file; None if it is no YAML."""
    try:
        # Nodes, not values: they know their lines, and a key that stands twice is seen twice.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = _line_number(error.problem_mark) if error.problem_mark else 1
        why = ", ".join(filter(None, (error.context, error.problem)))
        problems.add(line, "this is no YAML", why or "it cannot be read", _SHAPE)
        return None
    except yaml.YAMLError as error:
        problems.add(1, "this is no YAML", str(error).splitlines()[0], _SHAPE)
        return None
    if not isinstance(root, MappingNode):
        problems.add(1, "no workload", "a workload file has named parts", _SHAPE)
        return None

    outline = WorkloadOutline()
    for key, node in _mapping_items(root):
        match key.value:
            case "stream":
                outline.streams.extend(_entries([node], "stream", problems))
            case "tables":
                outline.tables.extend(_entries(_list_items(node), "table", problems))
            case "queries":
                outline.queries.extend(_queries(node, problems))
            case "sink":
                outline.sinks.extend(_entries([node], "sink", problems))
            case other:
                problems.add(
                    _line_number(key.start_mark),
                    f"there is no part {other!r}",
                    f"the parts of a workload are {', '.join(_PARTS)}",
                    _SHAPE,
                )
    return outline


def _entries(nodes: list[Node], kind: str, problems: Problems) -> Iterator[Entry]:
    """The entries of a YAML workload file: mappings of field names to texts or lists of texts."""
    for node in nodes:
        line = _line_number(node.start_mark)
        if not isinstance(node, MappingNode):
            problems.add(
                line, f"a {kind} without fields", "each field has a name", f"{kind}: {{path: ...}}"
            )
            continue
        fields: dict[str, Value] = {}
        for key, value in _mapping_items(node):
            match value:
                case ScalarNode():
                    # `path:` with nothing behind it is as good as no path at all.
                    fields |= {} if _is_null(value) else {key.value: value.value}
                case SequenceNode():
                    fields[key.value] = tuple(str(item.value) for item in value.value)
                case _:
                    problems.add(
                        _line_number(key.start_mark),
                        f"{key.value} of a {kind} has fields of its own",
                        "a field is a text, or a list of texts",
                        f"{key.value}: text",
                    )
        yield Entry(line, fields)


def _queries(node: Node, problems: Problems) -> Iterator[NamedQuery]:
    """The queries of a YAML workload: a mapping `name: SQL`, or a list of `{name: .., sql: ..}`."""
    named: list[tuple[str, Node | None, int]] = []
    if isinstance(node, MappingNode):
        named = [
            (key.value, value, _line_number(key.start_mark)) for key, value in _mapping_items(node)
        ]
    else:
        for item in _list_items(node):
            pairs = _mapping_items(item) if isinstance(item, MappingNode) else []
            fields = {key.value: value for key, value in pairs}
            name_node = fields.get("name")
            name = name_node.value if isinstance(name_node, ScalarNode) else ""
            named.append((name, fields.get("sql"), _line_number(item.start_mark)))
    for name, sql, line in named:
        if name and isinstance(sql, ScalarNode) and not _is_null(sql):
            # The text of a block starts on the line after its bar.
            yield NamedQuery(
                name, sql.value, _line_number(sql.start_mark) + (sql.style in ("|", ">"))
            )
        else:
            problems.add(
                line,
                f"query {name!r} has no SQL" if name else "a query without a name",
                "a query is a name and a SELECT",
                "queries: {name: SELECT ...} or queries: [{name: ..., sql: SELECT ...}]",
            )


def _mapping_items(node: MappingNode) -> list[tuple[ScalarNode, Node]]:
    """The keys and values of a YAML mapping whose keys are texts."""
    return [(key, value) for key, value in node.value if isinstance(key, ScalarNode)]


def _list_items(node: Node) -> list[Node]:
    """The items of a YAML list; a single node is a list of one, null an empty one."""
    if isinstance(node, SequenceNode):
        return list(node.value)
    return [] if _is_null(node) else [node]


def _is_null(node: Node) -> bool:
    """Whether a YAML node is null."""
    return node.tag == "tag:yaml.org,2002:null"


def _line_number(mark: yaml.Mark) -> int:
    """The line number of a YAML node in the workload file, counted from 1."""
    return mark.line + 1
