"""Suspicion of bars and lines, and the first of the most suspicious whose heaviest cell may go.

Weights only fall. So a gap grows by no more than the cell below it falls, and V of a bar is at most

    V then + the changes since in the line of the cell below its largest gap, or
    rest   + the changes since in all lines, where rest is its next gap.

The keys of a bar are these values minus the changes until it was measured: one for that line, one for all lines. The
key plus the changes so far (`drift`) is the bound. V falls by no more than all changes. Bars are measured again only
where these bounds do not decide. Keys are the leaves of trees of maxima, which find the first bar that reaches a bound.

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
    MOST_LINES,
    Patterns,
    ascending_lines,
    assign_patterns,
    factors,
    leave_patterns,
    value_of,
    width,
)
from decloak.rules.eliminate.state import EPS

__all__ = [
    "UNSURE",
    "WIDE",
    "Keys",
    "Large",
    "forget",
    "group",
    "heaviest",
    "keys_of",
    "largest",
    "loosen",
    "measure",
    "top_of_lower",
    "weigh",
]

SLACK = 1e-12
"""Bounds are sums of changes and include their rounding."""
WIDE = EPS / 2
"""Between two bounds of V that are used in place of it."""
UNSURE = -(1 << 40)
"""No group, because bounds of V do not decide."""


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
    """Keys of bars, and V at the last measurement; bars with patterns have only the key for all lines."""

    trees: Floats  # the keys for each line, and last those for all lines
    drift: Floats  # the changes so far of each line, and of all
    v: Floats
    since: Floats  # the changes of all lines at the last measurement
    below: Ints  # the line of the cell below the largest gap, the last tree without it
    measured: Ints  # the round
    patterns: Patterns


def keys_of(bars: int, lines: int, patterns: Patterns) -> Keys:
    """Return keys for `bars` that are not measured, with `patterns` or a tree for each of the `lines`."""
    trees = np.full(
        (lines + 1 if lines <= MOST_LINES and not len(patterns.seen) else 1, 2 * (1 << (bars - 1).bit_length())), LOWEST
    )
    below, measured = np.full(bars, len(trees) - 1), np.full(bars, -1)
    return Keys(trees, np.zeros(len(trees)), np.zeros(bars), np.zeros(bars), below, measured, patterns)


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
def measure(g: Large, t: Lines, keys: Keys, i: int, now: int, w: Floats) -> None:
    """Measure bar `i` of `g` and `t` in round `now`, and set its keys in `keys`; `w` is scratch."""
    weigh(g, t, i, w)
    v, rest, last = _suspicion(g, i, w), LOWEST, len(keys.trees) - 1
    below = last
    if len(keys.patterns.seen):
        if v > LOWEST:
            rest = assign_patterns(keys.patterns, t, i, w)
        else:
            leave_patterns(keys.patterns, i)
    elif v > LOWEST:
        below, rest = _below_largest_gap(w, v) if last else (0, v)
    if keys.below[i] != below:
        set_key(keys.trees[keys.below[i]], i, LOWEST)
    if below != last:
        set_key(keys.trees[below], i, v - keys.drift[below])
    keys.v[i], keys.since[i], keys.below[i], keys.measured[i] = v, keys.drift[last], below, now
    set_key(keys.trees[last], i, rest - keys.drift[last] if v > LOWEST else LOWEST)


@inner
def _below_largest_gap(w: Floats, v: float) -> tuple[int, float]:
    """Return the line of the cell below the gap `v` of a bar of these weights, and the next gap."""
    ascending, below, rest = ascending_lines(w), -1, 0.0
    for j in range(1, len(ascending)):
        gap = w[ascending[j]] - w[ascending[j - 1]]
        if gap == v and below < 0:
            below = ascending[j - 1]
        else:
            rest = max(rest, gap)
    return max(0, below), rest


@inner
def forget(keys: Keys, i: int) -> None:
    """Note in `keys` that nothing is known of V of bar `i`."""
    set_key(keys.trees[len(keys.trees) - 1], i, -LOWEST)
    keys.since[i] = LOWEST


@inner
def loosen(keys: Keys, i: int, c: int, change: float) -> None:
    """Loosen the bounds of bar `i` in `keys` by the `change` of its cell in line `c`."""
    last = len(keys.trees) - 1
    for tree in (c, last):
        key = keys.trees[tree, keys.trees.shape[1] // 2 + i] if tree <= last else LOWEST
        if key > LOWEST:
            set_key(keys.trees[tree], i, key + change)
    keys.since[i] -= change


@inner
def _line_v(g: Large, t: Lines, c: int) -> float:
    """Return V of a line, LOWEST if its heaviest cell may not go."""
    v, i = widest_gap(t, c) * g.scale[c], heaviest_bar(t, c, g.scale[c])
    if i < 0 or g.remaining[c] < 2 or g.left[i] < 2:
        t.lines[c].shut = True
        return LOWEST
    return v  # type: ignore[no-any-return]


@inner
def largest(g: Large, t: Lines, keys: Keys, now: int, w: Floats, wide: float) -> tuple[float, float]:
    """Return the largest V of all groups of `g` and `t` whose heaviest cell may go, as two bounds at most `wide` apart.

    `keys`, `now` and `w` are as in `measure`.
    """
    while True:
        line, at = LOWEST, -1
        for c in range(len(g.scale)):
            if not t.lines[c].shut and t.lines[c].widest * g.scale[c] > line:
                line, at = t.lines[c].widest * g.scale[c], c
        tree, bar = -1, LOWEST
        for r in range(len(keys.trees)):
            if keys.trees[r, 1] > LOWEST and keys.trees[r, 1] + keys.drift[r] + SLACK > bar:
                tree, bar = r, keys.trees[r, 1] + keys.drift[r] + SLACK
        i = first_of_all(keys.trees[tree]) if tree >= 0 else 0
        if tree >= 0 and keys.measured[i] == now:
            bar = keys.v[i]
        f, alike, p = 0, LOWEST, keys.patterns
        if p.tree[1] > LOWEST:
            f = first_of_all(p.tree)
            alike = p.families[f].value if p.families[f].valued == now else p.tree[1] + p.drift[0] + SLACK
        if max(bar, line, alike) <= LOWEST:
            return LOWEST, LOWEST
        if alike >= max(bar, line):
            if p.families[f].valued != now:
                value_of(p, f, g.scale, now)
                continue
            below, above = factors(p, f, g.scale)
            k = p.families[f].least
            if width(p, k, below, above) < alike:
                k = p.families[f].largest
            if _confirm_pattern(g, t, keys, p.patterns[k].first // GAPS, alike, now, w) and p.patterns[k].first >= 0:
                return alike, alike
        elif bar >= line:
            if keys.measured[i] == now:
                return bar, bar
            if wide > 0 and bar - _least(keys, i) <= wide:
                return _least(keys, i), bar
            measure(g, t, keys, i, now, w)
        else:
            known = t.lines[at].known
            v = _line_v(g, t, at)
            if known and v > LOWEST:
                return v, v


@inner
def _least(keys: Keys, i: int) -> float:
    """Return a bound that V of a bar is not below."""
    return keys.v[i] - (keys.drift[-1] - keys.since[i]) - SLACK  # type: ignore[no-any-return]


@inner
def _confirm_pattern(g: Large, t: Lines, keys: Keys, i: int, v: float, now: int, w: Floats) -> bool:
    """Return True if V of a bar is the value of its pattern; otherwise measure the bar again."""
    if keys.patterns.seen[i] != now and keys.measured[i] != now:
        weigh(g, t, i, w)
        keys.v[i] = _suspicion(g, i, w)
        if keys.v[i] < v:
            measure(g, t, keys, i, now, w)
            return False
        keys.patterns.seen[i] = now
    return keys.v[i] >= v  # type: ignore[no-any-return]


@inner
def _first_reaching(keys: Keys, low: float, start: int) -> int:
    """Return the first bar from `start` on whose V may be `low` or more, -1 without any."""
    first = -1
    for r in range(len(keys.trees)):
        reach = low - keys.drift[r] - SLACK
        if keys.trees[r, 1] >= reach and start < len(keys.v):
            i = first_from(keys.trees[r], reach, start)
            first = i if first < 0 or 0 <= i < first else first
    return first


@inner
def _first_bar(g: Large, t: Lines, keys: Keys, low: float, high: float, now: int, w: Floats) -> int:
    """Return the first bar whose V is `low` or more, -1 without any, UNSURE if it is below `high`."""
    i = _first_reaching(keys, low, 0)
    while i >= 0:
        if keys.measured[i] != now:
            if len(keys.patterns.seen) == 0 and _least(keys, i) >= high:
                break
            measure(g, t, keys, i, now, w)
        if keys.v[i] >= low:
            if keys.v[i] < high:
                return UNSURE
            break
        i = _first_reaching(keys, low, i + 1)
    return _first_alike(g, t, keys, low, i, now, w)


@inner
def _first_alike(g: Large, t: Lines, keys: Keys, low: float, bar: int, now: int, w: Floats) -> int:
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
                if _confirm_pattern(g, t, keys, i, v, now, w) or keys.v[i] >= low:
                    bar = i
            k = p.patterns[k].following
        f = first_from(p.tree, low - p.drift[0] - SLACK, f + 1) if f + 1 < last else -1
    return bar


@inner
def _first_line(g: Large, t: Lines, low: float, high: float) -> int:
    """Return the first line whose V is `low` or more, -1 without any, UNSURE if it is below `high`."""
    for c in range(len(g.scale)):
        if not t.lines[c].shut and t.lines[c].widest * g.scale[c] >= low:
            v = _line_v(g, t, c)
            if v >= low:
                return c if v >= high else UNSURE
    return -1


@inner
def group(g: Large, t: Lines, keys: Keys, low: float, high: float, now: int, w: Floats) -> int:
    """Return the first group of `g` and `t` whose V is `low` or more: a bar, or -1 - line; rows come before columns.

    `low` and `high` are bounds of what V must reach; the result is UNSURE where they do not decide.

    `keys`, `now` and `w` are as in `measure`.
    """
    c = _first_line(g, t, low, high) if g.lines_first else -1
    i = _first_bar(g, t, keys, low, high, now, w) if c == -1 else -1
    if i == -1 and c == -1:
        c = _first_line(g, t, low, high)
    if UNSURE in (i, c):
        return UNSURE
    return i if i >= 0 else -1 - c
