"""Suspicion of bars and lines, and the first of the most suspicious whose heaviest cell may go.

The key of a bar is its V minus all changes of cells of its lines until it was measured. So its V is at most its key
plus all changes so far (`drift`): the bar of the largest key is measured again until its V is known. Keys are the
leaves of a tree of maxima, which finds the first bar that reaches a bound.

    V      suspicion: the largest gap between neighbours in ascending order of w
"""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Lines, value
from decloak.rules.eliminate.loops.gaps import heaviest_bar, widest_gap
from decloak.rules.eliminate.loops.keys import LOWEST, first_from, first_of_all, set_key
from decloak.rules.eliminate.loops.patterns import (
    GAPS,
    Patterns,
    ascending_lines,
    assign_patterns,
    factors,
    leave_patterns,
    value_of,
    width,
)
from decloak.rules.eliminate.state import EPS

__all__ = ["Keys", "Large", "group", "heaviest", "largest", "measure", "top_of_lower", "weigh"]

SLACK = 1e-12
"""Bounds are sums of changes and include their rounding."""


class Large(NamedTuple):
    """A table by bars and lines, and the other factors of its weights."""

    d: Floats  # NaN: unscored or gone
    handed: Floats  # the weight that a bar handed on to its cells; empty where nothing is handed on
    scale: Floats  # the factor of each line
    of_bar: Floats  # the factor of a bar by how many of its items are left
    of_line: Floats  # that of a line
    left: Ints  # items left of each bar
    remaining: Ints  # items left of each line
    lines_first: bool  # whether lines are rows


class Keys(NamedTuple):
    """Keys of bars, V at the last measurement, and its round; of bars with a pattern the keys are as in `rest`."""

    tree: Floats
    v: Floats
    measured: Ints
    patterns: Patterns


@inner
def weigh(g: Large, t: Lines, i: int, w: Floats) -> None:
    """Compute the weights `w` of bar `i` of `g` and `t`."""
    for c in range(len(w)):
        w[c] = value(t, i, c) * g.scale[c] if t.block[i, c] >= 0 else np.nan


@inner
def _largest_gap(ascending: Floats) -> float:
    v = 0.0
    for j in range(1, len(ascending)):
        v = max(v, ascending[j] - ascending[j - 1])
    return v


@inner
def top_of_lower(w: Floats) -> float:
    """Return the largest weight of the lower cluster of `w`."""
    ascending = w[ascending_lines(w)]
    reach = _largest_gap(ascending) - EPS
    for j in range(1, len(ascending)):
        if reach > 0 and ascending[j] - ascending[j - 1] >= reach:
            return ascending[j - 1]  # type: ignore[no-any-return]
    return np.inf


@inner
def heaviest(w: Floats) -> int:
    """Return the first of the heaviest cells of a bar with weights `w`, -1 without any."""
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
    """Return V of a bar of these weights, LOWEST if its heaviest cell may not go: it never will."""
    c = heaviest(w)
    if c < 0 or g.left[i] < 2 or g.remaining[c] < 2:
        return LOWEST
    return _largest_gap(w[ascending_lines(w)])


@inner
def measure(g: Large, t: Lines, keys: Keys, i: int, now: int, drift: float, w: Floats) -> None:
    """Measure bar `i` of `g` and `t` in round `now`, and set its key in `keys`; `drift` are all changes so far, `w` is
    scratch.
    """
    weigh(g, t, i, w)
    v = rest = _suspicion(g, i, w)
    if len(keys.patterns.seen):
        if v > LOWEST:
            rest = assign_patterns(keys.patterns, t, i, w)
        else:
            leave_patterns(keys.patterns, i)
    keys.v[i], keys.measured[i] = v, now
    set_key(keys.tree, i, rest - drift if v > LOWEST else LOWEST)


@inner
def _line_v(g: Large, t: Lines, c: int) -> float:
    """Return V of a line, LOWEST if its heaviest cell may not go."""
    v, i = widest_gap(t, c) * g.scale[c], heaviest_bar(t, c, g.scale[c])
    if i < 0 or g.remaining[c] < 2 or g.left[i] < 2:
        t.lines[c].shut = True
        return LOWEST
    return v  # type: ignore[no-any-return]


@inner
def largest(g: Large, t: Lines, keys: Keys, now: int, drift: float, w: Floats) -> float:
    """Return the largest V of all groups of `g` and `t` whose heaviest cell may go.

    `keys`, `now`, `drift` and `w` are as in `measure`.
    """
    while True:
        line, at = LOWEST, -1
        for c in range(len(g.scale)):
            if not t.lines[c].shut and t.lines[c].widest * g.scale[c] > line:
                line, at = t.lines[c].widest * g.scale[c], c
        i, bar = 0, LOWEST
        if keys.tree[1] > LOWEST:
            i = first_of_all(keys.tree)
            bar = keys.v[i] if keys.measured[i] == now else keys.tree[1] + drift + SLACK
        f, alike, p = 0, LOWEST, keys.patterns
        if p.tree[1] > LOWEST:
            f = first_of_all(p.tree)
            alike = p.families[f].value if p.families[f].valued == now else p.tree[1] + p.drift[0] + SLACK
        if max(bar, line, alike) <= LOWEST:
            return LOWEST
        if alike >= max(bar, line):
            if p.families[f].valued != now:
                value_of(p, f, g.scale, now)
                continue
            below, above = factors(p, f, g.scale)
            k = p.families[f].least
            if width(p, k, below, above) < alike:
                k = p.families[f].largest
            if (
                _confirm_pattern(g, t, keys, p.patterns[k].first // GAPS, alike, now, drift, w)
                and p.patterns[k].first >= 0
            ):
                return alike
        elif bar >= line:
            if keys.measured[i] == now:
                return bar
            measure(g, t, keys, i, now, drift, w)
        else:
            known = t.lines[at].known
            v = _line_v(g, t, at)
            if known and v > LOWEST:
                return v


@inner
def _confirm_pattern(g: Large, t: Lines, keys: Keys, i: int, v: float, now: int, drift: float, w: Floats) -> bool:
    """Return True if V of a bar is the value of its pattern; otherwise measure the bar again."""
    if keys.patterns.seen[i] != now and keys.measured[i] != now:
        weigh(g, t, i, w)
        keys.v[i] = _suspicion(g, i, w)
        if keys.v[i] < v:
            measure(g, t, keys, i, now, drift, w)
            return False
        keys.patterns.seen[i] = now
    return keys.v[i] >= v  # type: ignore[no-any-return]


@inner
def _first_bar(g: Large, t: Lines, keys: Keys, low: float, now: int, drift: float, w: Floats) -> int:
    """Return the first bar whose V is `low` or more, -1 without any."""
    i = first_from(keys.tree, low - drift - SLACK, 0)
    while i >= 0:
        if keys.measured[i] != now:
            measure(g, t, keys, i, now, drift, w)
        if keys.v[i] >= low:
            break
        i = first_from(keys.tree, low - drift - SLACK, i + 1) if i + 1 < len(keys.v) else -1
    return _first_alike(g, t, keys, low, i, now, drift, w)


@inner
def _first_alike(g: Large, t: Lines, keys: Keys, low: float, bar: int, now: int, drift: float, w: Floats) -> int:
    """Return the first of that bar and those with a pattern whose V is `low` or more."""
    p, last = keys.patterns, len(keys.patterns.families)
    f = first_from(p.tree, low - p.drift[0] - SLACK, 0)
    while f >= 0:
        k = p.families[f].start if value_of(p, f, g.scale, now) >= low else -1
        below, above = factors(p, f, g.scale)
        while k >= 0:
            v = width(p, k, below, above)
            while p.patterns[k].first >= 0 and (bar < 0 or p.patterns[k].first // GAPS < bar):
                i = p.patterns[k].first // GAPS
                if v < low:
                    break
                if _confirm_pattern(g, t, keys, i, v, now, drift, w) or keys.v[i] >= low:
                    bar = i
            k = p.patterns[k].following
        f = first_from(p.tree, low - p.drift[0] - SLACK, f + 1) if f + 1 < last else -1
    return bar


@inner
def _first_line(g: Large, t: Lines, low: float) -> int:
    """Return the first line whose V is `low` or more, -1 without any."""
    for c in range(len(g.scale)):
        if not t.lines[c].shut and t.lines[c].widest * g.scale[c] >= low and _line_v(g, t, c) >= low:
            return c
    return -1


@inner
def group(g: Large, t: Lines, keys: Keys, low: float, now: int, drift: float, w: Floats) -> int:
    """Return the first group of `g` and `t` whose V is `low` or more: a bar, or -1 - line; rows come before columns.

    `keys`, `now`, `drift` and `w` are as in `measure`.
    """
    c = _first_line(g, t, low) if g.lines_first else -1
    i = _first_bar(g, t, keys, low, now, drift, w) if c < 0 else -1
    if i < 0 and c < 0:
        c = _first_line(g, t, low)
    return i if i >= 0 else -1 - c
