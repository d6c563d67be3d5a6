"""What keeps a set of child and parent pairs from being a tree, each fault named."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from decloak.errors import DecloakError, Faults, shown

__all__ = ["check_names", "check_tree"]


def check_tree(parents: Mapping[str, str], place: str | None = None) -> None:
    """Raise `Faults` unless the parents of all nodes but one make a tree with one root."""
    if not isinstance(parents, Mapping):
        raise DecloakError(f"the hierarchy is {shown(parents)}", place, "give the parent of every node but the root")
    check_names(chain.from_iterable(parents.items()), place)
    faults = list(_faults(parents, place))
    if faults:
        raise Faults(faults)


def check_names(names: Iterable[str], place: str | None = None) -> None:
    """Refuse what is not a string as the name of a node."""
    for name in names:
        if not isinstance(name, str):
            raise DecloakError(
                f"{shown(name)} is not the name of a node", place, "give strings; the root has no parent"
            )


def _faults(parents: Mapping[str, str], place: str | None) -> Iterator[DecloakError]:
    if not parents:
        yield DecloakError("a hierarchy without nodes", place, "write a child and its parent")
        return
    roots = [node for node in dict.fromkeys(parents.values()) if node not in parents]
    if len(roots) > 1:
        names = ", ".join(shown(node) for node in roots[:3]) + (" and more" if len(roots) > 3 else "")
        yield DecloakError(f"the hierarchy has {len(roots)} roots: {names}", place, "put one node above them all")
    for cycle in _cycles(parents):
        names = " is below ".join(map(shown, cycle if len(cycle) <= 6 else [*cycle[:5], cycle[-1]]))
        yield DecloakError(f"a cycle: {names}", place, "a node cannot be above itself")


def _cycles(parents: Mapping[str, str]) -> Iterator[list[str]]:
    """Every cycle, upwards from its first name, which also ends it. A node has one parent, and so one way up."""
    passed: set[str] = set()
    for start in parents:
        way: dict[str, None] = {}
        node: str | None = start
        while node is not None and node not in passed and node not in way:
            way[node] = None
            node = parents.get(node)
        passed |= way.keys()
        if node in way:
            above = list(way)
            cycle = above[above.index(node) :]
            first = cycle.index(min(cycle))
            yield [*cycle[first:], *cycle[: first + 1]]
