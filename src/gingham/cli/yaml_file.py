"""Workload files in YAML.

stream: {name: trades, path: data/trades, time: ts}
tables:
  - {name: listing, path: data/listing, key: symbol}
queries:
  large: SELECT count(*) AS n FROM trades WHERE vol > 1000 GROUP BY window(ts, '5 minutes')
sink: {path: answers}
"""

from collections.abc import Iterator, Mapping

import yaml
from yaml import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
)

from gingham.cli.outline import (
    Entry,
    NamedQuery,
    Problems,
    Value,
    WorkloadOutline,
    did_you_mean,
    shortened,
)

# The parser in C, where PyYAML has it: a file of a thousand queries takes a second without.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PARTS = ("stream", "tables", "queries", "sink")
_SHAPE = "stream: {...}, tables: [...], queries: {name: SQL}, sink: {...}"
_MOST_LEVELS = 16  # four are enough for any workload
_TAGS = {"!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null"))}


def read_yaml(text: str, problems: Problems) -> WorkloadOutline | None:
    """The streams, tables, queries and sinks in the text of a YAML file; None if it is no YAML."""
    try:
        if not _is_plain(text, problems):
            return None
        # Nodes, not values: they know their lines, and a key that stands twice is seen twice.
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = _line_number(error.problem_mark) if error.problem_mark else 1
        why = ", ".join(filter(None, (error.context, error.problem)))
        instead = "spaces in place of tabs" if _starts_with_tab(text, line) else _SHAPE
        problems.add(line, "this is no YAML", why or "it cannot be read", instead)
        return None
    except yaml.YAMLError as error:
        problems.add(1, "this is no YAML", str(error).splitlines()[0], _SHAPE)
        return None
    if not isinstance(root, MappingNode):
        problems.add(1, "no workload", "a workload file has named parts", _SHAPE)
        return None

    outline = WorkloadOutline()
    for key, node in _mapping_items(root, "a workload", problems):
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
                    f"there is no part {shortened(other)}",
                    f"the parts of a workload are {', '.join(_PARTS)}",
                    did_you_mean(other, _PARTS) or _SHAPE,
                )
    return outline


def _is_plain(text: str, problems: Problems) -> bool:
    """Whether YAML text has few levels and no tags; events show it before anything is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = _line_number(event.start_mark)
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > _MOST_LEVELS:
            problems.add(line, "lists within lists, too deep", "a workload has few levels", _SHAPE)
            return False
        tag = getattr(event, "tag", None)
        if tag is not None and tag not in _TAGS:
            problems.add(
                line,
                f"the tag {shortened(tag)}",
                "a workload file holds texts and lists; nothing in it is run or built",
                "the value without a tag",
            )
            return False
    return True


def _starts_with_tab(text: str, line: int) -> bool:
    """Whether a line of a YAML file, counted from 1, is indented by tabs."""
    content = text.split("\n")[line - 1 : line]
    return bool(content) and "\t" in content[0][: -len(content[0].lstrip()) or None]


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
        for key, value in _mapping_items(node, f"a {kind}", problems):
            match value:
                case ScalarNode():
                    # `path:` with nothing behind it is as good as no path at all.
                    fields |= {} if _is_null(value) else {key.value: value.value}
                case SequenceNode() if all(isinstance(item, ScalarNode) for item in value.value):
                    fields[key.value] = tuple(item.value for item in value.value)
                case _:
                    problems.add(
                        _line_number(key.start_mark),
                        f"{shortened(key.value)} of a {kind} has fields of its own",
                        "a field is a text, or a list of texts",
                        f"{key.value[:40]}: text",
                    )
        yield Entry(line, fields)


def _queries(node: Node, problems: Problems) -> Iterator[NamedQuery]:
    """The queries of a YAML workload: a mapping `name: SQL`, or a list of `{name: .., sql: ..}`."""
    named: list[tuple[str, Node | None, int]] = []
    if isinstance(node, MappingNode):
        # A name that stands twice is found with the names of all queries.
        named = [
            (key.value, value, _line_number(key.start_mark))
            for key, value in _mapping_items(node, "queries", problems, unique=False)
        ]
    else:
        for item in _list_items(node):
            fields: dict[str, Node] = {}
            if isinstance(item, MappingNode):
                pairs = _mapping_items(item, "a query", problems)
                fields = {key.value: value for key, value in pairs}
                _refuse_unknown(item, fields, problems)
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


def _mapping_items(
    node: MappingNode, subject: str, problems: Problems, *, unique: bool = True
) -> Iterator[tuple[ScalarNode, Node]]:
    """The keys and values of a YAML mapping; a key that is no text or stands twice is an error."""
    lines: dict[str, int] = {}  # by key
    for key, value in node.value:
        line = _line_number(key.start_mark)
        if not isinstance(key, ScalarNode):
            problems.add(line, f"{subject} with a list as a key", "a key is a text", "key: value")
        elif unique and key.value in lines:
            problems.add(
                line,
                f"{shortened(key.value)} of {subject} stands twice",
                f"line {lines[key.value]} has it already, and only one can count",
                "one of the two",
            )
        else:
            lines[key.value] = line
            yield key, value


def _refuse_unknown(item: Node, fields: Mapping[str, Node], problems: Problems) -> None:
    """Add an error for each field of a listed query that is neither its name nor its SQL."""
    for field in fields:
        if field not in ("name", "sql"):
            problems.add(
                _line_number(item.start_mark),
                f"a query has no field {shortened(field)}",
                "its fields are name, sql",
                did_you_mean(field, ("name", "sql")) or f"without {field[:40]}",
            )


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
