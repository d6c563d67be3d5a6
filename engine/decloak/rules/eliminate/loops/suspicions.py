"""How suspicious bars and lines are, and which is the first of the most suspicious whose heaviest cell may go.

The key of a bar is its V less all that cells of its lines had changed until it was measured. So what was measured is
bounded by its key and all changes so far (`drift`): the bar of the largest key is measured again until its V is known.
Keys are the leaves of a tree of maxima, which also tells the first bar that may come up to a bound.

    V      suspicion: the largest gap between neighbours in ascending order of w
"""

from typing import NamedTuple

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Floats, Integers, Lines, value
from decloak.rules.eliminate.loops.gaps import heaviest_bar, widest_gap
from decloak.rules.eliminate.state import EPS

__all__ = ["LOWEST", "Keys", "Large", "group", "heaviest", "largest", "measure", "set_key", "top_of_lower", "weigh"]

SLACK = 1e-12
"""Bounds are sums of changes and carry their rounding."""
LOWEST = -1e307


class Large(NamedTuple):
    """A table by bars and lines, and what else its cells weigh by."""

    d: Floats  # NaN: unscored or gone
    handed: Floats  # the weight that a bar handed on to its cells; empty where nothing is handed on
    scale: Floats  # the factor of each line
    of_bar: Floats  # the factor of a bar by how many of its items are left
    of_line: Floats  # that of a line
    left: Integers  # items left of each bar
    remaining: Integers  # items left of each line
    lines_first: bool  # whether lines are rows


class Keys(NamedTuple):
    """Keys of bars, V as it was measured, and in which round."""

    tree: Floats
    v: Floats
    measured: Integers


@inner
def weigh(g: Large, t: Lines, i: int, w: Floats) -> None:
    for c in range(len(w)):
        w[c] = value(t, i, c) * g.scale[c] if t.block[i, c] >= 0 else np.nan


@inner
def _ascending(w: Floats) -> Floats:
    """The weights that are some, in ascending order."""
    ascending, n = np.empty(len(w)), 0
    for x in w:
        if x == x:
            j = n
            while j and ascending[j - 1] > x:
                ascending[j] = ascending[j - 1]
                j -= 1
            ascending[j] = x
            n += 1
    return ascending[:n]


@inner
def _largest_gap(ascending: Floats) -> float:
    v = 0.0
    for j in range(1, len(ascending)):
        v = max(v, ascending[j] - ascending[j - 1])
    return v


@inner
def top_of_lower(w: Floats) -> float:
    ascending = _ascending(w)
    reach = _largest_gap(ascending) - EPS
    for j in range(1, len(ascending)):
        if reach > 0 and ascending[j] - ascending[j - 1] >= reach:
            return ascending[j - 1]  # type: ignore[no-any-return]
    return np.inf


@inner
def heaviest(w: Floats) -> int:
    """The first of the heaviest cells of a bar, -1 without any."""
    top = -np.inf
    for x in w:
        if x > top:
            top = x
    for c in range(len(w)):
        if w[c] >= top - EPS:
            return c
    return -1


@inner
def _suspicion(g: Large, i: int, w: Floats) -> float:
    """V of a bar of these weights, LOWEST when its heaviest cell may not go: it never will."""
    c = heaviest(w)
    if c < 0 or g.left[i] < 2 or g.remaining[c] < 2:
        return LOWEST
    return _largest_gap(_ascending(w))


@inner
def set_key(tree: Floats, i: int, key: float) -> None:
    node = len(tree) // 2 + i
    tree[node] = key
    while node > 1:
        node //= 2
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@inner
def _first_from(tree: Floats, low: float, start: int) -> int:
    """The first bar from one on whose key is `low` or more, -1 without any."""
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


@inner
def measure(g: Large, t: Lines, keys: Keys, i: int, now: int, drift: float, w: Floats) -> None:
    weigh(g, t, i, w)
    keys.v[i], keys.measured[i] = _suspicion(g, i, w), now
    set_key(keys.tree, i, keys.v[i] - drift if keys.v[i] > LOWEST else LOWEST)


@inner
def _line_v(g: Large, t: Lines, c: int) -> float:
    """V of a line, LOWEST when its heaviest cell may not go."""
    v, i = widest_gap(t, c) * g.scale[c], heaviest_bar(t, c, g.scale[c])
    if i < 0 or g.remaining[c] < 2 or g.left[i] < 2:
        t.lines[c].shut = True
        return LOWEST
    return v  # type: ignore[no-any-return]


@inner
def largest(g: Large, t: Lines, keys: Keys, now: int, drift: float, w: Floats) -> float:
    """The largest V of all groups whose heaviest cell may go."""
    while True:
        line, at = LOWEST, -1
        for c in range(len(g.scale)):
            if not t.lines[c].shut and t.lines[c].widest * g.scale[c] > line:
                line, at = t.lines[c].widest * g.scale[c], c
        i, bar = 0, LOWEST
        if keys.tree[1] > LOWEST:
            i = _first_from(keys.tree, keys.tree[1], 0)
            bar = keys.v[i] if keys.measured[i] == now else keys.tree[1] + drift + SLACK
        if max(bar, line) <= LOWEST:
            return LOWEST
        if bar >= line:
            if keys.measured[i] == now:
                return bar
            measure(g, t, keys, i, now, drift, w)
        else:
            known = t.lines[at].known
            v = _line_v(g, t, at)
            if known and v > LOWEST:
                return v


@inner
def _first_bar(g: Large, t: Lines, keys: Keys, low: float, now: int, drift: float, w: Floats) -> int:
    """The first bar whose V is `low` or more, -1 without any."""
    i = _first_from(keys.tree, low - drift - SLACK, 0)
    while i >= 0:
        if keys.measured[i] != now:
            measure(g, t, keys, i, now, drift, w)
        if keys.v[i] >= low:
            return i
        i = _first_from(keys.tree, low - drift - SLACK, i + 1) if i + 1 < len(keys.v) else -1
    return -1


@inner
def _first_line(g: Large, t: Lines, low: float) -> int:
    """The first line whose V is `low` or more, -1 without any."""
    for c in range(len(g.scale)):
        if not t.lines[c].shut and t.lines[c].widest * g.scale[c] >= low and _line_v(g, t, c) >= low:
            return c
    return -1


@inner
def group(g: Large, t: Lines, keys: Keys, low: float, now: int, drift: float, w: Floats) -> int:
    """The first group whose V is `low` or more: a bar, or -1 - line; rows come before columns."""
    c = _first_line(g, t, low) if g.lines_first else -1
    i = _first_bar(g, t, keys, low, now, drift, w) if c < 0 else -1
    if i < 0 and c < 0:
        c = _first_line(g, t, low)
    return i if i >= 0 else -1 - c
