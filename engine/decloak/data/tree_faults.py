"""Validation of trees: every fault of a set of child and parent pairs is named."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from decloak.errors import DecloakError, Faults, quote

__all__ = ["check_names", "check_tree"]


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
        visited |= path.keys()
        if node in path:
            above = list(path)
            cycle = above[above.index(node) :]
            first = cycle.index(min(cycle))
            yield [*cycle[first:], *cycle[: first + 1]]
