"""Lines of cells in ascending order, in blocks, while cells change one by one.

A *line* is a group of the longer kind (a column of a tall table), a *bar* a group of the shorter kind (a row of it).
Cell (i, c) is in bar i and line c. Its value is x = a (1 - C): `a` is the distance times the factor of the bar, C the
weight that the line passed on to the cell. A factor of the whole line changes no order, and is kept separately.

A line consists of blocks of cells in ascending order. Weight that it passes on to whole blocks is noted with the block
(its `tag`) and added to the cells when the block is processed. So cells are in order up to TOLERANCE, far below the
tolerance of ties. `gap` bounds the gaps that begin in a block, `widest` the gaps of a line; they are exact if `sure`
and `known` are set. Most gaps are never near the largest of the table, so they are never measured.

Each quantity of all blocks is an array in the order of the line. An elimination passes over whole arrays, which costs
a nanosecond for each block.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints, Mask
from decloak.compiled import compiled, inner

__all__ = [
    "Lines",
    "Records",
    "change_gap",
    "first",
    "is_disordered",
    "is_uneven",
    "last",
    "lines",
    "look_for_least",
    "pack_all",
    "ratio_of",
    "repack",
    "settle_block",
    "tag_of",
    "value",
]

TOLERANCE = 1e-11
FULL = 64
"""Cells of a full block of a short line."""
FACTOR = 1
"""Cells of a full block of a longer line, for each root of its cells."""
EAGER = 4096
"""Cells of a line up to which nothing is noted: sums are then equal to the last digit as without blocks."""

Small = NDArray[np.int32]
Records = NDArray[np.void]

LINE = np.dtype(
    [
        ("most", np.float64),  # what no cell exceeds in `a`
        ("widest", np.float64),
        ("known", np.bool_),
        ("shut", np.bool_),  # whether its heaviest cell may not go: it never will
        ("cells", np.int64),
        ("blocks", np.int64),  # how many it has
    ]
)


class Lines(NamedTuple):
    """Cells by bar and line, and the blocks of lines. A cell that is gone or unscored is in no block, -1."""

    a: Floats
    weight: Floats  # C without the tag of the block
    block: Small
    lines: Records
    eager: bool  # whether nothing is noted with blocks
    # By line and block:
    place: Ints  # where it is in the order of its line
    items: Small  # bars, ascending by value
    values: Floats  # values of these without the tag
    # By line and place, and blocks that have no place behind them:
    number: Ints  # the block
    cells: Ints  # how many it has
    least: Ints  # its first bar
    about: Floats  # the value of its first cell at the last look
    tag: Floats
    low: Floats  # the least and the largest weight
    high: Floats
    gap: Floats
    sure: Mask


def lines(a: Floats, weight: Floats, full: int | None = None, eager: int = EAGER) -> Lines:
    """Return lines without cells for distances `a` and weights `weight`, in blocks that hold `full` cells.

    `eager` is the number of cells up to which nothing is noted.
    """
    bars, count = a.shape
    # More for longer lines: an elimination passes over all blocks, and the cells of a few.
    full = full or max(FULL, 1 << round(math.log2(FACTOR * math.sqrt(max(1, bars)))))
    room = 2 * -(-bars // (full * 3 // 4)) + 8
    of_lines = np.zeros(count, LINE)
    of_lines["most"] = np.nanmax(a, axis=0, initial=0.0)
    place, number, cells, least = np.zeros((4, count, room), np.int64)
    about, tag, low, high, gap = np.zeros((5, count, room))
    items, values = np.zeros((count, room, full), np.int32), np.zeros((count, room, full))
    block, sure = np.full(a.shape, -1, np.int32), np.zeros((count, room), np.bool_)
    return Lines(
        *(a, weight, block, of_lines, bars <= eager, place, items, values),
        *(number, cells, least, about, tag, low, high, gap, sure),
    )


@inner
def tag_of(t: Lines, i: int, c: int) -> float:
    """Return the noted weight of the cell of bar `i` in line `c` of `t`, which is in a block."""
    return t.tag[c, t.place[c, t.block[i, c]]]  # type: ignore[no-any-return]


@inner
def value(t: Lines, i: int, c: int) -> float:
    """Return x of the cell of bar `i` in line `c` of `t`, which is in a block."""
    return t.a[i, c] * max(0.0, 1.0 - (t.weight[i, c] + tag_of(t, i, c)))  # type: ignore[no-any-return]


@inner
def ratio_of(t: Lines, c: int, p: int) -> float:
    """Return what the tag makes of the values at a position: weights there are so near that all shrink in one way."""
    room = 1.0 - t.low[c, p]
    return max(0.0, 1.0 - t.tag[c, p] / room) if t.tag[c, p] > 0.0 and room > 0.0 else 1.0


@inner
def first(t: Lines, c: int, p: int) -> float:
    """Return the smallest value at a position of a line."""
    return t.values[c, t.number[c, p], 0] * ratio_of(t, c, p)  # type: ignore[no-any-return]


@inner
def last(t: Lines, c: int, p: int) -> float:
    """Return the largest value at a position of a line."""
    return t.values[c, t.number[c, p], t.cells[c, p] - 1] * ratio_of(t, c, p)  # type: ignore[no-any-return]


@inner
def settle_block(t: Lines, c: int, p: int) -> None:
    """Add the noted weight to the cells at a position of a line, sort them, and measure the gaps that begin there."""
    b, tag = t.number[c, p], t.tag[c, p]
    items, values, count = t.items[c, b], t.values[c, b], t.cells[c, p]
    low, high, gap = np.inf, -np.inf, 0.0
    for j in range(count):
        i, k = items[j], j
        weight = t.weight[i, c] + tag
        t.weight[i, c] = weight
        low, high = min(low, weight), max(high, weight)
        x = t.a[i, c] * max(0.0, 1.0 - weight)
        while k and values[k - 1] > x:
            items[k], values[k] = items[k - 1], values[k - 1]
            k -= 1
        items[k], values[k] = i, x
    for j in range(1, count):
        gap = max(gap, values[j] - values[j - 1])
    if p + 1 < t.lines[c].blocks:
        gap = max(gap, first(t, c, p + 1) - values[count - 1])
    t.low[c, p], t.high[c, p], t.tag[c, p] = low, high, 0.0
    t.gap[c, p], t.sure[c, p], t.about[c, p] = gap, True, values[0]


@inner
def is_uneven(t: Lines, c: int, p: int) -> bool:
    """Return True if the weights at a position differ too much to note weight with all of them."""
    tag, low = t.tag[c, p], t.low[c, p]
    return tag * (t.high[c, p] - low) * t.lines[c].most > TOLERANCE * (1.0 - low)  # type: ignore[no-any-return]


@inner
def look_for_least(t: Lines, c: int, p: int) -> None:
    """Find the first bar at a position of a line."""
    items = t.items[c, t.number[c, p]]
    least = items[0]
    for j in range(1, t.cells[c, p]):
        least = min(least, items[j])
    t.least[c, p] = least


@inner
def change_gap(t: Lines, c: int, p: int, gap: float, lost: float) -> None:
    """Note that a `gap` begins at position `p` of line `c` of `t`, and that the gap `lost` is gone from there.

    Bounds stay exact unless the largest gap is lost. Since it was measured, the cells at both of its ends may have
    moved within TOLERANCE, in either direction.
    """
    line, largest = t.lines[c], lost + 4 * TOLERANCE
    if largest >= t.gap[c, p] and gap < lost:
        t.sure[c, p] = False
    if largest >= line.widest and gap < lost:
        line.known = False
    t.gap[c, p], line.widest = max(t.gap[c, p], gap), max(line.widest, gap)


@inner
def is_disordered(t: Lines, c: int, p: int) -> bool:
    """Return True if cells at a position have passed the cells of the next position."""
    return p + 1 < t.lines[c].blocks and last(t, c, p) > first(t, c, p + 1) + TOLERANCE


@inner
def _pack(t: Lines, c: int, bars: Ints) -> None:
    """Put a line into blocks, given its bars in ascending order; all noted weight is in their weights."""
    line, fill = t.lines[c], t.items.shape[2] * 3 // 4
    line.cells, line.blocks = len(bars), (len(bars) + fill - 1) // fill
    line.widest, line.known = 0.0, False
    for p in range(t.number.shape[1]):
        t.number[c, p] = t.place[c, p] = p
    for p in range(line.blocks):
        begin = p * fill
        t.cells[c, p], t.tag[c, p] = min(fill, len(bars) - begin), 0.0
        for j in range(t.cells[c, p]):
            i = bars[begin + j]
            t.items[c, p, j], t.block[i, c] = i, p
            t.values[c, p, j] = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
        look_for_least(t, c, p)
    for p in range(line.blocks):
        settle_block(t, c, p)
        line.widest = max(line.widest, t.gap[c, p])


@compiled
def pack_all(t: Lines, order: Ints, cells: Ints) -> None:
    """Put all lines of `t` into blocks, given the bars of each in ascending `order`, and their number of `cells`."""
    for c in range(len(cells)):
        _pack(t, c, order[: cells[c], c])


@inner
def repack(t: Lines, c: int) -> None:
    """Put a line into blocks again: there is no block left, or cells have passed each other."""
    bars, values, n = np.empty(t.lines[c].cells, np.int64), np.empty(t.lines[c].cells), 0
    for p in range(t.lines[c].blocks):
        for j in range(t.cells[c, p]):
            i, k = int(t.items[c, t.number[c, p], j]), n
            t.weight[i, c] += t.tag[c, p]
            x = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
            while k and values[k - 1] > x:
                bars[k], values[k] = bars[k - 1], values[k - 1]
                k -= 1
            bars[k], values[k] = i, x
            n += 1
    _pack(t, c, bars)
