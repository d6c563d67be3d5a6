"""Generalisation hierarchies as files, in four forms. Each is read as the parent of every node but the root.

parents    CSV with the header child,parent
indented   a node a line, its children indented further below it
paths      a line an item, from the item up to the root, separated by semicolons: flu;infection;disease;*
nested     YAML or JSON: a mapping of nodes to the mapping, list or nothing below them, one root
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from os import fspath
from typing import NamedTuple

from decloak.data.formats.delimited import join, split
from decloak.data.formats.lines import FilePath, check_name, location, read_lines
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError, at_location, quote, suggest
from decloak.yaml.tree import Node, compose

HEADER = ["child", "parent"]


class _Edge(NamedTuple):
    """A node and its parent, their location, and True if the file may repeat the edge."""

    child: str
    parent: str
    where: str
    again: bool = False


def read_hierarchy(path: FilePath, format: str) -> dict[str, str]:  # noqa: A002 (the word users write)
    """Read the hierarchy at `path` in the form `format`; return the parent of every node but the root, in the order of
    the file.
    """
    if format not in _READERS:
        hint = suggest(format, HIERARCHY_FORMATS) or f"one of {', '.join(HIERARCHY_FORMATS)}"
        raise DecloakError(f"unknown format of a hierarchy {quote(format)}", hint=hint)
    parents: dict[str, str] = {}
    where: dict[str, str] = {}
    for edge in _READERS[format](path):
        if parents.setdefault(edge.child, edge.parent) != edge.parent:
            before = f"at {where[edge.child]} it is below {quote(parents[edge.child])}"
            message = f"{quote(edge.child)} is below {quote(edge.parent)}; {before}"
            raise DecloakError(message, edge.where, "a node has one parent")
        if edge.child in where and not edge.again:
            message = f"{quote(edge.child)} is written twice, first at {where[edge.child]}"
            raise DecloakError(message, edge.where, "remove one of the two")
        where.setdefault(edge.child, edge.where)
    return parents


def write_hierarchy(parents: Mapping[str, str], path: FilePath) -> None:
    """Write the hierarchy `parents` to `path` in the form `parents`; raise an error for names that it cannot carry."""
    try:
        lines = [join(map(check_name, edge)) for edge in parents.items()]
    except DecloakError as error:
        raise DecloakError(error.message, location(path), "give the node another name") from None
    write_lines([join(HEADER), *lines], path)


def _parents(path: FilePath) -> Iterator[_Edge]:
    lines = read_lines(path)
    if split(lines[0]) != HEADER:
        raise lines[0].error("expected the header child,parent", "then a line for every node but the root")
    for line in lines[1:]:
        names = split(line)
        if len(names) != 2:
            raise line.error(f"{len(names)} values where the header has 2", "put names with commas in quotes")
        yield _Edge(line.name(names[0]), line.name(names[1]), location(line.path, line.number))


def _indented(path: FilePath) -> Iterator[_Edge]:
    above: list[tuple[int, str]] = []
    for line in read_lines(path):
        if not line.text.strip():
            continue
        # Lines with tabs and lines with blanks must have comparable depths.
        text = line.text.expandtabs(8)
        depth, name = len(text) - len(text.lstrip(" ")), line.name(line.text.strip())
        root = not above
        closed = [above.pop() for _ in range(sum(level >= depth for level, _ in above))]
        if closed and closed[-1][0] != depth and above:
            raise line.error("this indent is between two levels", "align it with its siblings")
        if above:
            yield _Edge(name, above[-1][1], location(line.path, line.number))
        elif not root:
            raise line.error(f"a second root, {quote(name)}", "indent it below the first line")
        above.append((depth, name))


def _paths(path: FilePath) -> Iterator[_Edge]:
    items: dict[str, int] = {}
    groups: dict[str, int] = {}
    for line in read_lines(path):
        names = [line.name(name) for name in split(line, ";")]
        # A deep item may repeat its group where others have one level more.
        steps = [name for name, _ in groupby(names)]
        if len(steps) < 2:
            raise line.error("an item without anything above it", "write item;group;*")
        if steps[0] in items:
            raise line.error(f"line {items[steps[0]]} is about {quote(steps[0])} too", "an item has one line")
        items[steps[0]] = line.number
        for name in steps:
            if name != steps[0]:
                groups.setdefault(name, line.number)
            if name in items and name in groups:
                message = f"{quote(name)} is an item in line {items[name]} and a group in line {groups[name]}"
                raise line.error(message, "call one of them otherwise")
        for height, (child, parent) in enumerate(pairwise(steps)):
            # Groups come again in the line of each of their items; an item does not.
            yield _Edge(child, parent, location(line.path, line.number), height > 0)


def _nested(path: FilePath) -> Iterator[_Edge]:
    text = "\n".join(line.text for line in read_lines(path))
    root = compose(text, fspath(path))
    if not isinstance(root.value, dict) or len(root.value) != 1:
        raise DecloakError("expected a mapping with one root", str(root.place), "write all: {group: [item, item]}")
    ((name, where),) = root.keys.items()
    waiting = _children(_checked(name, str(where)), root.children[name])
    while waiting:
        parent, child, place, below = waiting.pop()
        yield _Edge(child, parent, place)
        if below is not None:
            waiting += _children(child, below)


def _children(parent: str, node: Node) -> list[tuple[str, str, str, Node | None]]:
    """Return the children of a node with its name, the last first."""
    return [(parent, *child) for child in _below(node)][::-1]


def _below(node: Node) -> Iterator[tuple[str, str, Node | None]]:
    """Yield the names under a node, their locations, and their nodes."""
    if isinstance(node.value, dict):
        for name, where in node.keys.items():
            yield _checked(name, str(where)), str(where), node.children[name]
    elif isinstance(node.value, list):
        for child in node.children.values():
            if isinstance(child.value, dict):
                yield from _below(child)
            else:
                yield _checked(child.value, str(child.place)), str(child.place), None
    elif node.value is not None:
        yield _checked(node.value, str(node.place)), str(node.place), None


def _checked(name: object, where: str) -> str:
    # YAML reads codes such as 250 as numbers.
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str):
        raise DecloakError(f"{quote(name)} is not a name", where, "put it in quotes")
    with at_location(where):
        return check_name(name)


_READERS: dict[str, Callable[[FilePath], Iterable[_Edge]]] = {
    "parents": _parents,
    "indented": _indented,
    "paths": _paths,
    "nested": _nested,
}
HIERARCHY_FORMATS = tuple(_READERS)
"""Names of the file forms."""
