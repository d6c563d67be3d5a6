"""Generalisation hierarchies: rooted trees whose leaves are the items, as arrays over their nodes.

Nodes are numbered in node order: by the position of their first leaf, larger subtrees first, higher nodes first. So the
root is 0, a parent comes before its children, and the leaves below a node are an interval. Of two nodes on one path the
lower number is the ancestor. n is the number of leaves, including leaves that are in no record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np

from decloak.arrays import Ints
from decloak.checks import check_whole
from decloak.data.dataset import Dataset
from decloak.data.formats.hierarchy_file import read_hierarchy
from decloak.data.formats.lines import FilePath, location
from decloak.data.representation import Represented, Summary, counted
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, Faults, quote, suggest
from decloak.lazy import sparse


def check_tree(parents: Mapping[str, str], place: str | None = None) -> None:
    """Raise `Faults` unless `parents` describe a tree with one root. `place` is the file, for the error."""
    if not isinstance(parents, Mapping):
        raise DecloakError(f"the hierarchy is {quote(parents)}", place, "give the parent of every node but the root")
    check_names(chain.from_iterable(parents.items()), place)
    faults = list(_faults(parents, place))
    if faults:
        raise Faults(faults)


def check_names(names: Iterable[str], place: str | None = None) -> None:
    """Raise an error if one of `names`, the names of nodes, is not a string. `place` is the file, for the error."""
    for name in names:
        if not isinstance(name, str):
            raise DecloakError(
                f"{quote(name)} is not the name of a node", place, "give strings; the root has no parent"
            )


def _faults(parents: Mapping[str, str], place: str | None) -> Iterator[DecloakError]:
    if not parents:
        yield DecloakError("a hierarchy without nodes", place, "write a child and its parent")
        return
    roots = [node for node in dict.fromkeys(parents.values()) if node not in parents]
    if len(roots) > 1:
        names = ", ".join(quote(node) for node in roots[:3]) + (" and more" if len(roots) > 3 else "")
        yield DecloakError(f"the hierarchy has {len(roots)} roots: {names}", place, "put one node above them all")
    for cycle in _cycles(parents):
        names = " is below ".join(map(quote, cycle if len(cycle) <= 6 else [*cycle[:5], cycle[-1]]))
        yield DecloakError(f"a cycle: {names}", place, "a node cannot be above itself")


def _cycles(parents: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield every cycle, upwards from its first name, which also ends it. A node has one parent, so there is one way
    up.
    """
    visited: set[str] = set()
    for start in parents:
        path: dict[str, None] = {}
        node: str | None = start
        while node is not None and node not in visited and node not in path:
            path[node] = None
            node = parents.get(node)
        visited.update(path)  # |= would copy the set each time: the keys of a dictionary are no set
        if node in path:
            above = list(path)
            cycle = above[above.index(node) :]
            # One cycle is reported in one way, wherever the search entered it.
            first = cycle.index(min(cycle))
            yield [*cycle[first:], *cycle[: first + 1]]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Represented):
    """A tree over items.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B", "A": "ALL", "B": "ALL"})
    >>> tree.labels, tree.items
    (('ALL', 'A', 'a1', 'a2', 'B', 'b1', 'b2'), ('a1', 'a2', 'b1', 'b2'))
    """

    labels: tuple[str, ...]
    parent: Ints  # -1 for the root
    origin: str = "memory"

    def summary(self) -> Summary:
        """Return the tree in short: a row for each node, from the root."""
        parents = self.parent.tolist()
        counts = f"{counted(len(self.items), 'item')}, {counted(len(self.labels), 'node')}"
        line = f"Hierarchy of {counts}, from {self.origin!r}"
        rows = (
            (label, self.labels[parent] if parent >= 0 else "")
            for label, parent in zip(self.labels, parents, strict=True)
        )
        return Summary(line, len(self.labels), ("node", "parent"), rows)

    @classmethod
    def read(cls, path: FilePath, format: str) -> Self:  # noqa: A002 (the word users write)
        """Read a tree from the file at `path` and return it.

        `format` is `parents` (CSV child,parent), `indented`, `paths` (item;group;root) or `nested` (YAML or JSON).
        """
        return cls.from_parents(read_hierarchy(path, format), location(path))

    @classmethod
    def from_parents(cls, parents: Mapping[str, str], origin: str = "memory") -> Self:
        """Return the tree with the `parents` of all nodes but the root. Leaves keep their order if the tree allows it.
        `origin` names its file.
        """
        check_tree(parents, None if origin == "memory" else origin)
        root = next(parent for parent in parents.values() if parent not in parents)
        position = {node: number for number, node in enumerate([*parents, root])}
        children: dict[str, list[str]] = {}
        for child, parent in parents.items():
            children.setdefault(parent, []).append(child)
        return cls._numbered(children, root, position, origin)

    @classmethod
    def balanced(cls, items: Iterable[str], fanout: int, origin: str = "memory") -> Self:
        """Return a tree that groups consecutive `items` by `fanout`, level by level. `origin` names its file.

        A group of one is not created; its node moves up.

        >>> Hierarchy.balanced(["a", "b", "c"], 2).labels
        ('*', 'a..b', 'a', 'b', 'c')
        """
        check_whole(2, fanout=fanout)
        names = list(items)
        check_names(names)
        if not names:
            raise DecloakError("a hierarchy without items", hint="give it the items of the data")
        return cls._grouped(list(dict.fromkeys(names)), fanout, origin)

    @classmethod
    def _grouped(cls, names: Sequence[str], fanout: int, origin: str) -> Self:
        label = _group_names(names)
        children: dict[str, list[str]] = {}
        level = [(name, place, place + 1) for place, name in enumerate(names)]  # a node, and the places below it
        # Each level has at most 1 / fanout of the nodes of the level below, so that this ends.
        while len(level) > 1:
            above = []
            for at in range(0, len(level), fanout):
                group = level[at : at + fanout]
                if len(group) == 1:
                    above += group
                    continue
                start, end = group[0][1], group[-1][2]
                above.append((label(start, end), start, end))
                children[above[-1][0]] = [node for node, *_ in group]
            level = above
        root = level[0][0]
        if not children:
            # A single item needs a node above it: the root is never an item.
            root = label(0, 1)
            children[root] = list(names)
        return cls._numbered(children, root, {name: number for number, name in enumerate(names)}, origin)

    @classmethod
    def _numbered(
        cls, children: Mapping[str, Sequence[str]], root: str, position: Mapping[str, int], origin: str
    ) -> Self:
        """Return the tree with nodes numbered from the root, children in the order of the first leaf below them."""
        first: dict[str, int] = {}
        for node in reversed(_from_root(children, root)):
            below = children.get(node, ())
            # Children precede their parents in reversed preorder.
            first[node] = min(map(first.__getitem__, below)) if below else position[node]
        ordered = {node: sorted(below, key=first.__getitem__) for node, below in children.items()}
        labels = _from_root(ordered, root)
        number = {node: place for place, node in enumerate(labels)}
        parent = np.full(len(labels), -1, np.int64)
        for node, below in children.items():
            parent[[number[child] for child in below]] = number[node]
        return cls(tuple(labels), parent, origin)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The labels of the leaves, in leaf order."""
        return tuple(self.labels[node] for node in self.leaf.tolist())

    @cached_property
    def leaf(self) -> Ints:
        """The node numbers of the leaves."""
        inner = np.zeros(len(self.labels), bool)
        inner[self.parent[1:]] = True
        return np.flatnonzero(~inner)

    @cached_property
    def leaves(self) -> Ints:
        """The number of leaves below every node; 1 for a leaf."""
        count = np.zeros(len(self.labels), np.int64)
        count[self.leaf] = 1
        # Children have larger numbers than their parents: backwards, each node is complete before it is added.
        for node in range(len(self.labels) - 1, 0, -1):
            count[self.parent[node]] += count[node]
        return count

    @cached_property
    def first(self) -> Ints:
        """The position of the first leaf below every node."""
        return np.searchsorted(self.leaf, np.arange(len(self.labels)))

    @cached_property
    def level(self) -> Ints:
        """The longest path from every node down to a leaf."""
        level = np.zeros(len(self.labels), np.int64)
        for node in range(len(self.labels) - 1, 0, -1):
            level[self.parent[node]] = max(level[self.parent[node]], level[node] + 1)
        return level

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of every node, in node order."""
        below: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parent.tolist()[1:], 1):
            below[parent].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of the node with each label."""
        return {label: node for node, label in enumerate(self.labels)}

    def ancestors(self, node: int) -> tuple[int, ...]:
        """Return the ancestors of `node`, the nearest first."""
        path = []
        while (node := int(self.parent[node])) >= 0:
            path.append(node)
        return tuple(path)

    def members(self, node: int) -> tuple[str, ...]:
        """Return the items below `node`, in leaf order."""
        start = int(self.first[node])
        return self.items[start : start + int(self.leaves[node])]

    def above(self, cut: Ints) -> Ints:
        """Return the node of `cut` above every leaf position."""
        nodes = np.sort(cut)
        return np.repeat(nodes, self.leaves[nodes])

    def code(self, data: Dataset | Iterable[Iterable[str]]) -> sparse.csr_array:
        """Return a matrix of the records of `data` × leaf positions, 1 where a record has the item.

        A repeated item counts once. Errors name the record and its file, where it has one.
        """
        position = {item: column for column, item in enumerate(self.items)}
        transactions = data.rows if isinstance(data, Dataset) else [tuple(row) for row in data]
        try:
            rows = CodedRows.of(transactions)
        except TypeError:  # an item that is a list
            record = next(n for n, row in enumerate(transactions) if not all(isinstance(item, str) for item in row))
            raise self._unknown(transactions[record], position, _record(data, record)) from None
        column = np.array([position.get(name, -1) for name in rows.names], np.int64)
        # One look-up per name, not per occurrence.
        strange = np.flatnonzero(column[rows.codes] < 0)
        if len(strange):
            record = int(np.searchsorted(rows.start, strange[0], side="right")) - 1
            raise self._unknown(rows[record], position, _record(data, record))
        return rows.matrix(column, len(position))

    def occurrences(self, records: sparse.csr_array) -> Ints:
        """Return C_p: for every leaf position, the number of `records` with its item."""
        return np.bincount(records.indices, minlength=len(self.items))

    def _unknown(self, transaction: Iterable[str], position: Mapping[str, int], where: str) -> DecloakError:
        tree = "the hierarchy" if self.origin == "memory" else f"the hierarchy {self.origin}"
        item = next(item for item in transaction if not isinstance(item, str) or item not in position)
        if item in self.number:
            message, hint = f"is an inner node of {tree}, not an item", "records hold leaves only"
        else:
            message, hint = f"is not in {tree}", "add it as a leaf"
            # Comparing spellings is slow, so only a part of a large hierarchy is compared.
            hint = suggest(str(item), self.items[:5000]) or hint
        return DecloakError(f"{quote(item)} {message}", where, hint)

    def parents(self) -> dict[str, str]:
        """Return the parent of every node but the root, as `from_parents` takes it."""
        return {self.labels[node]: self.labels[parent] for node, parent in enumerate(self.parent.tolist()) if node}


def _record(data: Dataset | Iterable[Iterable[str]], record: int) -> str:
    """Return the location of a record for an error: the file, if there is one, and the label, which survives
    sorting.
    """
    if not isinstance(data, Dataset):
        return f"record {record + 1}"
    label = data.labels[record]
    file = "" if data.origin == "memory" else f"{data.origin}: "
    return f"{file}record {label if label.isdecimal() else quote(label)}"


def _from_root(children: Mapping[str, Sequence[str]], root: str) -> list[str]:
    """Return the nodes in preorder. Not recursive, because a hierarchy may be deep."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(reversed(children.get(node, ())))
    return order


def _group_names(names: Sequence[str]) -> Callable[[int, int], str]:
    """Return a function that names the group of the items at the positions start to end - 1.

    A name depends on the members of its group and on the set of all items, never on the order of the items, which may
    come from data that stay hidden. It has the first and the last member in natural order, and the number of members
    where other items lie between these two. The groups of a tree are nested or disjoint, so no two have one name.
    """
    rank = {name: place for place, name in enumerate(sorted(names, key=natural))}
    places = [rank[name] for name in names]
    in_order = list(rank)

    def label(start: int, end: int) -> str:
        if end - start == len(names):
            name = "*"
        else:
            below = places[start:end]
            first, last = min(below), max(below)
            name = f"{_end(in_order[first])}..{_end(in_order[last])}"
            if last - first + 1 > end - start:
                name += f" ({end - start})"
        while name in rank:  # an item has it; no name of another group ends so
            name += "*"
        return name

    return label


_UNCLEAR = re.compile(r'\.\.|"|^\.|[.)*\s]$')
"""Marks an item that is quoted in the name of a group, so that the name can be read in one way only."""


def _end(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if _UNCLEAR.search(name) else name


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a sort key for `name`, by which item 9 comes before item 10."""
    # Both bounds are for hostile names: Python refuses to read a number of thousands of digits.
    parts = re.split(r"([0-9]+)", name, maxsplit=20)
    return tuple((part.isascii() and part.isdigit(), int(part[:18]) if part.isascii() and part.isdigit() else 0, part)
                 for part in parts)  # fmt: skip
