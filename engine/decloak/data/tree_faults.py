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
    import networkx as nx

    if not parents:
        yield DecloakError("a hierarchy without nodes", place, "write a child and its parent")
        return
    graph = nx.DiGraph((parent, child) for child, parent in parents.items())
    roots = [node for node in graph if graph.in_degree(node) == 0]
    if len(roots) > 1:
        names = ", ".join(shown(node) for node in roots[:3]) + (" and more" if len(roots) > 3 else "")
        yield DecloakError(f"the hierarchy has {len(roots)} roots: {names}", place, "put one node above them all")
    for part in nx.strongly_connected_components(graph):
        node = next(iter(part))
        if len(part) > 1 or graph.has_edge(node, node):
            yield DecloakError(f"a cycle: {_round(part, parents)}", place, "a node cannot be above itself")


def _round(part: set[str], parents: Mapping[str, str]) -> str:
    node = start = min(part)
    path = [start]
    while (node := parents[node]) != start:
        path.append(node)
    names = [*path, start]
    return " is below ".join(map(shown, names[:6] if len(names) <= 6 else [*names[:5], start]))
