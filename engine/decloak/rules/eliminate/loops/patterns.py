"""Gaps between equal values of equal lines: bars with such gaps are measured together.

If distances have few values, thousands of bars tie, and an elimination changes the V of all of them a little. Each
would have to be measured again in every round; because they share *patterns*, it is enough to value these, and to check
one bar of each.

    pattern  a gap from `low`, the value of the lines `below`, up to `high`, the value of the lines `above`
    T        its width, by the current factors of the lines
    family   patterns of the same lines and width before any factor: T is largest for the smallest `high` or the largest
    rest     the largest gap of a bar outside its patterns, which are its gaps of the largest size

V <= max(T, rest + the changes of cells since): the cells next to a gap that opens later were on two sides of a gap
before. That was one of the patterns, which separates at least the same cells and has T at most; or another gap; or
there was none. V = max(T, rest) right after a bar was measured. Families have keys like bars. The gaps of a bar are
`GAPS` numbers in a row, and the gaps of a pattern are in a heap, so that its first bar is known.

Heaps of numbers, the smallest first, from which any number can be removed: skew heaps.
"""

from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Lines, Records
from decloak.rules.eliminate.loops.keys import LOWEST, set_key
from decloak.rules.eliminate.state import EPS

__all__ = [
    "GAPS",
    "MOST_LINES",
    "Patterns",
    "ascending_lines",
    "assign_patterns",
    "factors",
    "leave_patterns",
    "patterns",
    "value_of",
    "width",
]


HEAP = [("one", np.int64), ("other", np.int64), ("above", np.int64)]
"""For each number: the one below it on either side, and the one above it; -1 for none."""


@inner
def join_heaps(h: Records, a: int, b: int) -> int:
    """Join the heaps of `h` that begin with `a` and `b`; return the first number."""
    if a < 0 or b < 0:
        return max(a, b)
    first, a, b = min(a, b), min(a, b), max(a, b)
    while True:
        below = h[a].other
        h[a].other = h[a].one
        if below < 0:
            h[a].one, h[b].above = b, a
            return first
        low, b = min(below, b), max(below, b)
        h[a].one, h[low].above = low, a
        a = low


@inner
def remove_number(h: Records, first: int, number: int) -> int:
    """Remove a `number` from the heap of `h` that begins with `first`; return the new first, -1 if it is empty."""
    above, below = h[number].above, join_heaps(h, h[number].one, h[number].other)
    if below >= 0:
        h[below].above = above
    if above < 0:
        return below
    if h[above].one == number:
        h[above].one = below
    else:
        h[above].other = below
    return first


GAPS = 3
"""Gaps of a bar that may have patterns."""
MOST_LINES = 62
"""Lines that one number has bits for."""
FEW = 16
"""Bars for each different distance from which on bars are compared by patterns."""
MOST = 1 << 17
"""Patterns, at most: bars of others are measured one by one."""
ALIKE = 1e-13
"""Widths of a family differ at most by the rounding of a float: T is that of all, up to less than a tie."""
SCALE, MIXER = float(1 << 20), 0x2545F4914F6CDD1D


GAP = np.dtype([("pattern", np.int64), *HEAP])
PATTERN = np.dtype(
    [
        ("low", np.float64),
        ("high", np.float64),
        ("below", np.int64),  # lines as bits
        ("above", np.int64),
        ("first", np.int64),  # its first gap, -1 without any
        ("family", np.int64),
        ("following", np.int64),  # the next pattern of the family, -1: none
    ]
)
FAMILY = np.dtype(
    [
        ("start", np.int64),  # its first pattern
        ("least", np.int64),  # the pattern that has bars with the least `high`, -1 without any
        ("largest", np.int64),  # that with the largest
        ("value", np.float64),  # the largest T when it was last valued
        ("valued", np.int64),  # in which round
    ]
)


class Patterns(NamedTuple):
    """Patterns and families by number; all are empty where they do not pay off."""

    seen: Ints  # the round in which the V of each bar was found to be that of its pattern
    gaps: Records
    patterns: Records  # the last is the one that is looked for
    families: Records
    tree: Floats  # keys of families
    slots: Ints  # patterns and families by a hash, -1: free
    counts: Ints  # how many patterns there are, and families
    drift: Floats  # all that cells changed


def patterns(d: Floats, fixed: bool, few: int = FEW) -> Patterns:
    """Return empty patterns for bars and lines of the distances `d`.

    `fixed` says that values change by factors of lines alone, and `few` is the number of bars per distance.
    """
    bars, lines = d.shape
    worth = fixed and lines <= MOST_LINES and few * len(np.unique(d)) <= bars
    bars = bars if worth else 0
    most = min(GAPS * bars, MOST)
    leaves, slots = 2 * (1 << max(0, most - 1).bit_length()), 1 << (2 * most).bit_length()
    gaps = np.full(GAPS * bars, np.array((-1, -1, -1, -1), GAP))
    kinds = np.full(most + 1, np.array((0.0, 0.0, 0, 0, -1, -1, -1), PATTERN))
    families = np.full(most, np.array((-1, -1, -1, 0.0, -1), FAMILY))
    tree, hashed = np.full(leaves, LOWEST), np.full((2, slots), -1, np.int64)
    seen, counts = np.full(bars, -1, np.int64), np.zeros(2, np.int64)
    return Patterns(seen, gaps, kinds, families, tree, hashed, counts, np.zeros(1))


@inner
def factors(p: Patterns, f: int, scale: Floats) -> tuple[float, float]:
    """Return the largest factor of the lines below the gaps of family `f` of `p`, and the smallest of those above.

    `scale` has the factor of each line.
    """
    pattern, low, high = p.patterns[p.families[f].start], 0.0, np.inf
    for c in range(len(scale)):
        if pattern.below >> c & 1:
            low = max(low, scale[c])
        if pattern.above >> c & 1:
            high = min(high, scale[c])
    return low, high


@inner
def width(p: Patterns, k: int, low: float, high: float) -> float:
    """Return T of pattern `k` of `p` by the factors `low` and `high` of its family."""
    return p.patterns[k].high * high - p.patterns[k].low * low  # type: ignore[no-any-return]


@inner
def value_of(p: Patterns, f: int, scale: Floats, now: int) -> float:
    """Return the largest T of family `f` of `p`, which has bars, with the factors `scale`; `now` is the round."""
    family = p.families[f]
    if family.valued != now:
        low, high = factors(p, f, scale)
        family.value, family.valued = max(width(p, family.least, low, high), width(p, family.largest, low, high)), now
        set_key(p.tree, f, family.value - p.drift[0])
    return family.value  # type: ignore[no-any-return]


@inner
def assign_patterns(p: Patterns, t: Lines, i: int, w: Floats) -> float:
    """Find the patterns of bar `i` with weights `w` in `t` again, in `p`; return the largest of its other gaps."""
    leave_patterns(p, i)
    ascending, n, widest, rest, in_order = ascending_lines(w), 0, 0.0, 0.0, True
    for j in range(1, len(ascending)):
        step = t.a[i, ascending[j]] - t.a[i, ascending[j - 1]]
        in_order &= step >= 0
        widest = max(widest, step)
    for j in range(1, len(ascending)):
        low, high, k = ascending[j - 1], ascending[j], -1
        if in_order and n < GAPS and widest > EPS and t.a[i, high] - t.a[i, low] >= widest - EPS:
            k = _pattern_between(p, t, i, low, high, ascending)
        if k < 0:
            rest = max(rest, w[high] - w[low])
        else:
            _enter_pattern(p, k, GAPS * i + n)
            n += 1
    return rest


@inner
def ascending_lines(w: Floats) -> Ints:
    """Return the lines with a weight in `w`, in ascending order of their weights."""
    ascending, n = np.empty(len(w), np.int64), 0
    for c in range(len(w)):
        if w[c] == w[c]:
            j = n
            while j and w[ascending[j - 1]] > w[c]:
                ascending[j] = ascending[j - 1]
                j -= 1
            ascending[j] = c
            n += 1
    return ascending[:n]


@inner
def _pattern_between(p: Patterns, t: Lines, i: int, low: int, high: int, held: Ints) -> int:
    """Return the pattern of the gap of a bar between two lines, given all lines with a cell of it; -1 without room for
    it.
    """
    this, below, above = p.patterns[len(p.families)], 0, 0
    for c in held:
        if t.a[i, c] == t.a[i, low]:
            below |= 1 << c
        if t.a[i, c] == t.a[i, high]:
            above |= 1 << c
    this.low, this.high, this.below, this.above = t.a[i, low], t.a[i, high], below, above
    slot = _hash(this, this.low, this.high) & (p.slots.shape[1] - 1)
    while p.slots[0, slot] >= 0:
        other = p.patterns[p.slots[0, slot]]
        if other.low == this.low and other.high == this.high and other.below == below and other.above == above:
            return p.slots[0, slot]  # type: ignore[no-any-return]
        slot = (slot + 1) & (p.slots.shape[1] - 1)
    return _new_pattern(p, slot) if p.counts[0] < len(p.families) else -1


@inner
def _new_pattern(p: Patterns, slot: int) -> int:
    """Return the number of the pattern that is searched, which is new."""
    k, this, f = p.counts[0], p.patterns[len(p.families)], _family(p)
    p.counts[0], p.slots[0, slot] = k + 1, k
    new = p.patterns[k]
    new.low, new.high, new.below, new.above = this.low, this.high, this.below, this.above
    new.family, new.following, p.families[f].start = f, p.families[f].start, k
    return k  # type: ignore[no-any-return]


@inner
def _hash(this: Any, x: float, y: float) -> int:
    """Return a hash of two numbers and the lines of a pattern."""
    code = int(x * SCALE) * 31 + int(y * SCALE)
    code = (code ^ (code >> 29) ^ this.below) * MIXER
    code = (code ^ (code >> 29) ^ this.above) * MIXER
    return code ^ (code >> 32)  # type: ignore[no-any-return]


@inner
def _family(p: Patterns) -> int:
    """Return the family of the pattern that is searched."""
    this = p.patterns[len(p.families)]
    step = np.rint((this.high - this.low) / ALIKE)
    slot = _hash(this, step * ALIKE, 0.0) & (p.slots.shape[1] - 1)
    while p.slots[1, slot] >= 0:
        other = p.patterns[p.families[p.slots[1, slot]].start]
        alike = other.below == this.below and other.above == this.above
        if alike and np.rint((other.high - other.low) / ALIKE) == step:
            return p.slots[1, slot]  # type: ignore[no-any-return]
        slot = (slot + 1) & (p.slots.shape[1] - 1)
    f = p.counts[1]
    p.counts[1], p.slots[1, slot] = f + 1, f
    return f  # type: ignore[no-any-return]


@inner
def _enter_pattern(p: Patterns, k: int, number: int) -> None:
    """Put a gap into a pattern."""
    gap, pattern = p.gaps[number], p.patterns[k]
    gap.pattern, gap.one, gap.other = k, -1, -1
    alone = pattern.first < 0
    pattern.first = join_heaps(p.gaps, pattern.first, number)
    p.gaps[pattern.first].above = -1
    if alone:
        family = p.families[pattern.family]
        if family.least < 0 or pattern.high < p.patterns[family.least].high:
            family.least = k
        if family.largest < 0 or pattern.high > p.patterns[family.largest].high:
            family.largest = k
        family.valued = -1
        set_key(p.tree, pattern.family, -LOWEST)  # to be valued next


@inner
def leave_patterns(p: Patterns, i: int) -> None:
    """Remove bar `i` from its patterns in `p`."""
    for number in range(GAPS * i, GAPS * i + GAPS):
        k = p.gaps[number].pattern
        if k >= 0:
            p.gaps[number].pattern = -1
            p.patterns[k].first = remove_number(p.gaps, p.patterns[k].first, number)
            if p.patterns[k].first < 0:
                _update_bounds(p, p.patterns[k].family)


@inner
def _update_bounds(p: Patterns, f: int) -> None:
    """Find the patterns of a family that bound its width."""
    least, largest, k = -1, -1, p.families[f].start
    while k >= 0:
        if p.patterns[k].first >= 0:
            if least < 0 or p.patterns[k].high < p.patterns[least].high:
                least = k
            if largest < 0 or p.patterns[k].high > p.patterns[largest].high:
                largest = k
        k = p.patterns[k].following
    p.families[f].least, p.families[f].largest, p.families[f].valued = least, largest, -1
    set_key(p.tree, f, -LOWEST if least >= 0 else LOWEST)
