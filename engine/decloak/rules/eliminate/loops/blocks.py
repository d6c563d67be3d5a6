"""Lines of cells in ascending order, in blocks, while cells change one by one.

A *line* is a group of the longer kind (a column of a tall table), a *bar* one of the shorter kind (a row of it); cell
(i, c) is where bar i meets line c. Its value x = a (1 - C): `a` is the distance times the factor of the bar, C what the
line handed on to the cell. A factor of the whole line changes no order, and stands outside.

A line lies in blocks of cells in ascending order. What it hands on to whole blocks is noted with the block (its `tag`)
and added to the cells when the block is gone through: cells are in order but for TOLERANCE, far below what counts as
equal. `gap` bounds the gaps that begin in a block, `widest` those of a line; they are exact where `sure` and `known`
say so. Most gaps are never near the largest of the table, and nobody looks at them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled, inner

__all__ = [
    "Lines",
    "first",
    "last",
    "lines",
    "look_for_least",
    "note",
    "pack_all",
    "passed",
    "repack",
    "settle",
    "value",
    "widen",
]

TOLERANCE = 1e-11
FULL = 128
"""Cells of a full block of a short line."""
EAGER = 4096
"""Cells of a line up to which nothing is noted: sums are the same to the last digit as without blocks."""

Small = NDArray[np.int32]
Records = NDArray[Any]


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
"""A place in the order of a line: the block there, and the value of its first cell when that was last looked at."""


class Lines(NamedTuple):
    """Cells by bar and line, and the blocks of lines. What is gone or unscored is in no block, -1."""

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
    """Lines of no cells, to pack them into, in blocks that are `full` with so many."""
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
    """Cells of a full block: the more the longer a line is, which goes through all blocks and the cells of a few."""
    return max(FULL, 1 << round(math.log2(4 * math.sqrt(max(1, bars)))))


@inner
def value(t: Lines, i: int, c: int) -> float:
    """x of a cell that is in a block."""
    return t.a[i, c] * max(0.0, 1.0 - (t.weight[i, c] + t.blocks[c, t.block[i, c]].tag))  # type: ignore[no-any-return]


@inner
def first(t: Lines, c: int, p: int) -> float:
    """The least value at a place."""
    b = t.places[c, p].block
    return t.values[c, b, 0] * t.blocks[c, b].ratio  # type: ignore[no-any-return]


@inner
def last(t: Lines, c: int, p: int) -> float:
    """The largest value at a place."""
    b = t.places[c, p].block
    return t.values[c, b, t.blocks[c, b].count - 1] * t.blocks[c, b].ratio  # type: ignore[no-any-return]


@inner
def settle(t: Lines, c: int, b: int) -> None:
    """Add what was handed on, put the block in order, and measure the gaps that begin in it."""
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
    """Note what is handed on to a block; add it where the weights are too far apart for that, and return whether.

    Near each other, all values shrink alike.
    """
    block = t.blocks[c, b]
    block.tag += share
    room = 1.0 - block.low
    if block.tag * (block.high - block.low) * t.lines[c].most > TOLERANCE * room:
        settle(t, c, b)
        return True
    if block.tag > 0.0:
        block.ratio = max(0.0, 1.0 - block.tag / room) if room > 0.0 else 1.0
    return False


@inner
def look_for_least(t: Lines, c: int, b: int) -> None:
    block = t.blocks[c, b]
    block.least = t.items[c, b, 0]
    for j in range(1, block.count):
        block.least = min(block.least, t.items[c, b, j])


@inner
def widen(t: Lines, c: int, p: int, gap: float) -> None:
    """Note that a gap may begin at a place."""
    line, block = t.lines[c], t.blocks[c, t.places[c, p].block]
    block.gap, block.sure = max(block.gap, gap), False
    line.widest, line.known = max(line.widest, gap), False


@inner
def passed(t: Lines, c: int, p: int) -> bool:
    """Whether the cells at a place have passed those of the next."""
    return p + 1 < t.lines[c].blocks and last(t, c, p) > first(t, c, p + 1) + TOLERANCE


@inner
def _pack(t: Lines, c: int, bars: Ints) -> None:
    """Lay a line into blocks, given its bars in ascending order; all that was handed on is in their weights."""
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
        settle(t, c, b)
        line.widest = max(line.widest, t.blocks[c, b].gap)


@compiled
def pack_all(t: Lines, order: Ints, cells: Ints) -> None:
    """Lay all lines into blocks, given the bars of each in ascending order, and how many of them have a cell."""
    for c in range(len(cells)):
        _pack(t, c, order[: cells[c], c])


@inner
def repack(t: Lines, c: int) -> None:
    """Lay a line into blocks anew: there is no block left, or cells have passed each other."""
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
