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
from yaml import (
    CollectionEndEvent,
    CollectionStartEvent,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
)

from gingham.cli.keys import KINDS, refuse_field
from gingham.cli.outline import NESTED, Entry, Problems, Value, did_you_mean, shortened

# The parser in C, where PyYAML has it: a file of a thousand queries takes a second without.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# The parts of a workload, and the kind of the entries in each.
_PARTS = {
    "stream": "stream",
    "streams": "stream",
    "tables": "table",
    "relations": "relation",
    "queries": "query",
    "sketches": "sketches",
    "run": "run",
    "cost": "cost",
    "sink": "sink",
}
_SHAPE = "stream: {...}, tables: [...], queries: {name: SQL}, sink: {...}"
_MOST_LEVELS = 16  # four are enough for any workload
_TAGS = {"!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null"))}


def read_yaml(text: str, problems: Problems) -> list[Entry] | None:
    """All entries in the text of a YAML workload file; None if it is no YAML."""
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

    entries: list[Entry] = []
    for key, node in _mapping_items(root, "a workload", problems):
        kind = _PARTS.get(key.value)
        if kind is None:
            problems.add(
                _line_number(key.start_mark),
                f"there is no part {shortened(key.value)}",
                f"the parts of a workload are {', '.join(_PARTS)}",
                did_you_mean(key.value, tuple(_PARTS)) or _SHAPE,
            )
        else:
            entries.extend(_part(kind, node, problems))
    return entries


def _part(kind: str, node: Node, problems: Problems) -> Iterator[Entry]:
    """The entries in a part of a YAML workload file."""
    match kind:
        case "query":
            yield from _queries(node, kind, problems)
        case "sketches" if isinstance(node, MappingNode):
            # The queries over joins stand beside the budget that they share.
            own, queries = _divided(node, "queries")
            yield from _entries([own], kind, problems)
            for _, inner in _mapping_items(queries, KINDS[kind].noun, problems):
                yield from _queries(inner, "sketch", problems)
        case "cost" if isinstance(node, ScalarNode) and not _is_null(node):
            yield Entry(kind, _line_number(node.start_mark), {"path": node.value})
        case "stream" | "table" | "relation":
            yield from _entries(_list_items(node), kind, problems)
        case _:
            yield from _entries([node], kind, problems)


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
        if isinstance(node, MappingNode):
            yield _entry(node, kind, problems)
        else:
            problems.add(
                _line_number(node.start_mark),
                f"{KINDS[kind].noun} without fields",
                "each field has a name",
                f"{kind}: {{{KINDS[kind].keys[0].name}: ...}}",
            )


def _entry(node: MappingNode, kind: str, problems: Problems) -> Entry:
    """An entry of a YAML workload file, with the line of each of its fields."""
    noun = KINDS[kind].noun
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for name, key, value in _fields(node, noun, problems):
        lines[name] = _line_number(key.start_mark)
        match value:
            case ScalarNode():
                # `path:` with nothing behind it is as good as no path at all.
                fields |= {} if _is_null(value) else {name: value.value}
                # The text of a block starts on the line after its bar.
                if name == "sql":
                    lines[name] = _line_number(value.start_mark) + (value.style in ("|", ">"))
            case SequenceNode() if all(isinstance(item, ScalarNode) for item in value.value):
                fields[name] = tuple(item.value for item in value.value)
            case _:
                problems.add(
                    lines[name],
                    f"{shortened(name)} of {noun} has fields of its own",
                    "a field is a text, or a list of texts",
                    f"{name[:40]}: text",
                )
    return Entry(kind, _line_number(node.start_mark), fields, lines)


def _fields(
    node: MappingNode, noun: str, problems: Problems
) -> Iterator[tuple[str, ScalarNode, Node]]:
    """The fields of a YAML mapping with names, keys and values; `options` has keys of its own."""
    for key, value in _mapping_items(node, noun, problems):
        if key.value in NESTED and isinstance(value, MappingNode):
            for inner, nested in _mapping_items(value, f"{key.value} of {noun}", problems):
                yield f"{key.value}.{inner.value}", inner, nested
        else:
            yield key.value, key, value


def _queries(node: Node, kind: str, problems: Problems) -> Iterator[Entry]:
    """The queries of a YAML workload: a mapping `name: SQL`, or a list of `{name: .., sql: ..}`.

    In a mapping, too, a query may have fields: `name: {sql: SELECT ..., backfill: true}`.
    """
    written: list[Entry] = []
    if isinstance(node, MappingNode):
        # A name that stands twice is found with the names of all queries.
        for key, value in _mapping_items(node, "queries", problems, unique=False):
            written.append(_named_query(key, value, kind, problems))
    else:
        for item in _list_items(node):
            own = isinstance(item, MappingNode)
            line = _line_number(item.start_mark)
            written.append(_entry(item, kind, problems) if own else Entry(kind, line, {}))
    for entry in written:
        if entry.fields.get("name") and entry.fields.get("sql"):
            yield entry
            continue
        name = entry.fields.get("name")
        for field in entry.fields:
            if field not in KINDS[kind].by_name:
                refuse_field(entry, field, problems)
        problems.add(
            entry.line,
            f"{kind} {name!r} has no SQL" if name else f"a {kind} without a name",
            f"a {kind} is a name and a SELECT",
            "queries: {name: SELECT ...} or queries: [{name: ..., sql: SELECT ...}]",
        )


def _named_query(key: ScalarNode, value: Node, kind: str, problems: Problems) -> Entry:
    """A query in a YAML mapping by name, with the line of its name and that of its SQL."""
    line = _line_number(key.start_mark)
    if not isinstance(value, MappingNode):
        # Written as the only field of a query: what is said of fields is said of it.
        sql = ScalarNode("tag:yaml.org,2002:str", "sql", value.start_mark, value.end_mark)
        value = MappingNode(value.tag, [(sql, value)], key.start_mark, value.end_mark)
    entry = _entry(value, kind, problems)
    if "name" in entry.fields:
        problems.add(
            entry.line_of("name"),
            f"'name' of a {kind} stands twice",
            f"it is {shortened(key.value)} already: its key is its name",
            "one of the two",
        )
    return Entry(kind, line, {**entry.fields, "name": key.value}, {**entry.lines, "name": line})


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


def _divided(node: MappingNode, name: str) -> tuple[MappingNode, MappingNode]:
    """A YAML mapping without a key, and a mapping of that key alone."""
    named = [isinstance(key, ScalarNode) and key.value == name for key, _ in node.value]

    def part(chosen: bool) -> MappingNode:  # noqa: FBT001
        pairs = [pair for pair, is_it in zip(node.value, named, strict=True) if is_it is chosen]
        return MappingNode(node.tag, pairs, node.start_mark, node.end_mark)

    return part(False), part(True)


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
