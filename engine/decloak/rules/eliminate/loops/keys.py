"""Keys as the leaves of a tree of maxima, which finds the first leaf that reaches a bound."""

from decloak.arrays import Floats
from decloak.compiled import inner

__all__ = ["LOWEST", "first_from", "first_of_all", "set_key"]

LOWEST = -1e307


@inner
def set_key(tree: Floats, i: int, key: float) -> None:
    """Set the `key` of leaf `i` of `tree`."""
    node = len(tree) // 2 + i
    tree[node] = key
    while node > 1:
        node //= 2
        largest = max(tree[2 * node], tree[2 * node + 1])
        if tree[node] == largest:
            return
        tree[node] = largest


@inner
def first_of_all(tree: Floats) -> int:
    """Return the first leaf of `tree` with the largest key."""
    node, half = 1, len(tree) // 2
    while node < half:
        node *= 2
        if tree[node] < tree[1]:
            node += 1
    return node - half


@inner
def first_from(tree: Floats, low: float, start: int) -> int:
    """Return the first leaf of `tree` from `start` on whose key is `low` or more, -1 without any."""
    half = len(tree) // 2
    node = half + start
    while tree[node] < low:
        while node & 1:  # nothing in all that its parent is above, or what comes before that
            node //= 2
        if node == 0:
            return -1
        node += 1
    while node < half:
        node *= 2
        if tree[node] < low:
            node += 1
    return node - half
