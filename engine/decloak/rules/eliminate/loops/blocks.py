"""Lines of cells in ascending order, in blocks, while cells change one by one.

A *line* is a group of the longer kind (a column of a tall table), a *bar* a group of the shorter kind (a row of it).
Cell (i, c) is in bar i and line c. Its value is x = a (1 - C): `a` is the distance times the factor of the bar, C the
weight that the line passed on to the cell. A factor of the whole line changes no order, and is kept separately.

A line consists of blocks of cells in ascending order. Weight that it passes on to whole blocks is noted with the block
(its `tag`) and added to the cells when the block is processed. So cells are in order up to TOLERANCE, far below the
tolerance of ties. `gap` bounds the gaps that begin in a block, `widest` the gaps of a line; they are exact if `sure`
and `known` are set. Most gaps are never near the largest of the table, so they are never measured.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled, inner

__all__ = [
    "Lines",
    "first",
    "is_disordered",
    "last",
    "lines",
    "look_for_least",
    "note",
    "pack_all",
    "repack",
    "settle_block",
    "value",
    "widen",
]

TOLERANCE = 1e-11
FULL = 128
"""Cells of a full block of a short line."""
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
        ("spare", np.int64),  # how many more there may be
    ]
)
BLOCK = np.dtype(
    [
        ("place", np.int64),  # where it is in the order of its line
        ("count", np.int64),  # its cells
        ("least", np.int64),  # the first bar
        ("tag", np.float64),
        ("ratio", np.float64),  # what the tag makes of the values
        ("low", np.float64),  # the least and the largest weight
        ("high", np.float64),
        ("gap", np.float64),
        ("sure", np.bool_),
    ]
)
PLACE = np.dtype([("block", np.int64), ("about", np.float64)])
"""A position in the order of a line: the block there, and the value of its first cell at the last look."""


class Lines(NamedTuple):
    """Cells by bar and line, and the blocks of lines. A cell that is gone or unscored is in no block, -1."""

    a: Floats
    weight: Floats  # C without the tag of the block
    block: Small
    lines: Records
    blocks: Records  # by line
    places: Records  # by line
    free: Ints  # by line: blocks that have no place
    items: Small  # by line and block: bars, ascending by value
    values: Floats  # likewise: what they are without the tag
    eager: bool  # whether nothing is noted with blocks


def lines(a: Floats, weight: Floats, full: int | None = None, eager: int = EAGER) -> Lines:
    """Return lines without cells for distances `a` and weights `weight`, in blocks that hold `full` cells.

    `eager` is the number of cells up to which nothing is noted.
    """
    bars, count = a.shape
    full = full or _full(bars)
    room = 2 * -(-bars // (full * 3 // 4)) + 8
    of_lines = np.zeros(count, LINE)
    of_lines["most"] = np.nanmax(a, axis=0, initial=0.0)
    blocks, places = np.zeros((count, room), BLOCK), np.zeros((count, room), PLACE)
    block, free = np.full(a.shape, -1, np.int32), np.zeros((count, room), np.int64)
    items, values = np.zeros((count, room, full), np.int32), np.zeros((count, room, full))
    return Lines(a, weight, block, of_lines, blocks, places, free, items, values, bars <= eager)


def _full(bars: int) -> int:
    """Return the cells of a full block: more for longer lines, which process all blocks and the cells of a few."""
    return max(FULL, 1 << round(math.log2(4 * math.sqrt(max(1, bars)))))


@inner
def value(t: Lines, i: int, c: int) -> float:
    """Return x of the cell of bar `i` in line `c` of `t`, which is in a block."""
    return t.a[i, c] * max(0.0, 1.0 - (t.weight[i, c] + t.blocks[c, t.block[i, c]].tag))  # type: ignore[no-any-return]


@inner
def first(t: Lines, c: int, p: int) -> float:
    """Return the smallest value at position `p` of line `c` of `t`."""
    b = t.places[c, p].block
    return t.values[c, b, 0] * t.blocks[c, b].ratio  # type: ignore[no-any-return]


@inner
def last(t: Lines, c: int, p: int) -> float:
    """Return the largest value at position `p` of line `c` of `t`."""
    b = t.places[c, p].block
    return t.values[c, b, t.blocks[c, b].count - 1] * t.blocks[c, b].ratio  # type: ignore[no-any-return]


@inner
def settle_block(t: Lines, c: int, b: int) -> None:
    """Add the noted weight to block `b` of line `c` of `t`, sort it, and measure the gaps that begin in it."""
    block, items, values = t.blocks[c, b], t.items[c, b], t.values[c, b]
    low, high = np.inf, -np.inf
    for j in range(block.count):
        i, k = items[j], j
        weight = t.weight[i, c] + block.tag
        t.weight[i, c] = weight
        low, high = min(low, weight), max(high, weight)
        x = t.a[i, c] * max(0.0, 1.0 - weight)
        while k and values[k - 1] > x:
            items[k], values[k] = items[k - 1], values[k - 1]
            k -= 1
        items[k], values[k] = i, x
    block.low, block.high, block.tag, block.ratio = low, high, 0.0, 1.0
    gap = 0.0
    for j in range(1, block.count):
        gap = max(gap, values[j] - values[j - 1])
    if block.place + 1 < t.lines[c].blocks:
        gap = max(gap, first(t, c, block.place + 1) - values[block.count - 1])
    block.gap, block.sure = gap, True
    t.places[c, block.place].about = values[0]


@inner
def note(t: Lines, c: int, b: int, share: float) -> bool:
    """Note the weight `share` for block `b` of line `c` of `t`; return True if it was added to the cells instead.

    That is necessary where weights differ too much; if they are near each other, all values shrink in the same way.
    """
    block = t.blocks[c, b]
    block.tag += share
    room = 1.0 - block.low
    if block.tag * (block.high - block.low) * t.lines[c].most > TOLERANCE * room:
        settle_block(t, c, b)
        return True
    if block.tag > 0.0:
        block.ratio = max(0.0, 1.0 - block.tag / room) if room > 0.0 else 1.0
    return False


@inner
def look_for_least(t: Lines, c: int, b: int) -> None:
    """Find the first bar of block `b` of line `c` of `t`."""
    block = t.blocks[c, b]
    block.least = t.items[c, b, 0]
    for j in range(1, block.count):
        block.least = min(block.least, t.items[c, b, j])


@inner
def widen(t: Lines, c: int, p: int, gap: float) -> None:
    """Note that a `gap` may begin at position `p` of line `c` of `t`."""
    line, block = t.lines[c], t.blocks[c, t.places[c, p].block]
    block.gap, block.sure = max(block.gap, gap), False
    line.widest, line.known = max(line.widest, gap), False


@inner
def is_disordered(t: Lines, c: int, p: int) -> bool:
    """Return True if cells at position `p` of line `c` of `t` have passed the cells of the next position."""
    return p + 1 < t.lines[c].blocks and last(t, c, p) > first(t, c, p + 1) + TOLERANCE


@inner
def _pack(t: Lines, c: int, bars: Ints) -> None:
    """Put a line into blocks, given its bars in ascending order; all noted weight is in their weights."""
    line, fill, room = t.lines[c], t.items.shape[2] * 3 // 4, t.blocks.shape[1]
    line.cells, line.blocks = len(bars), (len(bars) + fill - 1) // fill
    line.spare, line.widest, line.known = room - line.blocks, 0.0, False
    for b in range(line.blocks):
        block, begin = t.blocks[c, b], b * fill
        t.places[c, b].block = block.place = b
        block.count, block.tag, block.ratio = min(fill, len(bars) - begin), 0.0, 1.0
        for j in range(block.count):
            i = bars[begin + j]
            t.items[c, b, j], t.block[i, c] = i, b
            t.values[c, b, j] = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
        look_for_least(t, c, b)
    for b in range(line.blocks, room):
        t.free[c, b - line.blocks] = b
    for b in range(line.blocks):
        settle_block(t, c, b)
        line.widest = max(line.widest, t.blocks[c, b].gap)


@compiled
def pack_all(t: Lines, order: Ints, cells: Ints) -> None:
    """Put all lines of `t` into blocks, given the bars of each in ascending `order`, and their number of `cells`."""
    for c in range(len(cells)):
        _pack(t, c, order[: cells[c], c])


@inner
def repack(t: Lines, c: int) -> None:
    """Put line `c` of `t` into blocks again: there is no block left, or cells have passed each other."""
    bars, values, n = np.empty(t.lines[c].cells, np.int64), np.empty(t.lines[c].cells), 0
    for p in range(t.lines[c].blocks):
        b = t.places[c, p].block
        for j in range(t.blocks[c, b].count):
            i, k = int(t.items[c, b, j]), n
            t.weight[i, c] += t.blocks[c, b].tag
            x = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
            while k and values[k - 1] > x:
                bars[k], values[k] = bars[k - 1], values[k - 1]
                k -= 1
            bars[k], values[k] = i, x
            n += 1
    _pack(t, c, bars)
