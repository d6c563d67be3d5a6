"""Removal of a cell from its line, and insertion."""

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import (
    Lines,
    change_gap,
    first,
    is_uneven,
    last,
    look_for_least,
    ratio_of,
    repack,
    settle_block,
)

__all__ = ["put_in", "take_out"]


@inner
def take_out(t: Lines, c: int, i: int) -> None:
    """Remove the cell of bar `i` from line `c` of `t`; its weight then includes all that was noted."""
    b = int(t.block[i, c])
    p, j = int(t.place[c, b]), 0
    items, values, n, ratio = t.items[c, b], t.values[c, b], t.cells[c, p] - 1, ratio_of(t, c, p)
    while items[j] != i:
        j += 1
    # The gap across a cell that is gone is no smaller than those beside it.
    x, below, above = values[j] * ratio, np.inf, -np.inf
    if j < n:
        above = values[j + 1] * ratio
    elif p + 1 < t.lines[c].blocks:
        above = first(t, c, p + 1)
    if j:
        below = values[j - 1] * ratio
        change_gap(t, c, p, above - below, max(above - x, x - below))
    else:
        change_gap(t, c, p, -np.inf, above - x)
        if p:
            below = last(t, c, p - 1)
            change_gap(t, c, p - 1, above - below, x - below)
    t.weight[i, c] += t.tag[c, p]
    t.block[i, c] = -1
    for k in range(j, n):
        items[k] = items[k + 1]
    for k in range(j, n):
        values[k] = values[k + 1]
    t.cells[c, p] = n
    t.lines[c].cells -= 1
    if n == 0:
        _close_place(t, c, p)
    else:
        t.about[c, p] = first(t, c, p)
        if t.least[c, p] == i:
            look_for_least(t, c, p)


@inner
def _close_place(t: Lines, c: int, p: int) -> None:
    """Remove an empty block from the order of a line."""
    t.lines[c].blocks -= 1
    last, b = t.lines[c].blocks, t.number[c, p]
    for q in range(p, last):
        _move(t, c, q + 1, q)
    t.number[c, last] = b


@inner
def _open_place(t: Lines, c: int, p: int) -> None:
    """Put an empty block at a position of a line."""
    last, b = t.lines[c].blocks, t.number[c, t.lines[c].blocks]
    for q in range(last, p, -1):
        _move(t, c, q - 1, q)
    t.lines[c].blocks += 1
    t.number[c, p], t.place[c, b] = b, p
    t.cells[c, p], t.least[c, p], t.tag[c, p], t.low[c, p], t.high[c, p] = 0, t.a.shape[0], 0.0, np.inf, -np.inf
    t.gap[c, p], t.sure[c, p] = 0.0, False


@inner
def _move(t: Lines, c: int, p: int, q: int) -> None:
    """Move a block from position `p` to `q` of a line."""
    t.number[c, q], t.cells[c, q], t.least[c, q] = t.number[c, p], t.cells[c, p], t.least[c, p]
    t.about[c, q], t.tag[c, q], t.low[c, q], t.high[c, q] = t.about[c, p], t.tag[c, p], t.low[c, p], t.high[c, p]
    t.gap[c, q], t.sure[c, q] = t.gap[c, p], t.sure[c, p]
    t.place[c, t.number[c, q]] = q


@inner
def _split(t: Lines, c: int, p: int) -> None:
    """Move the upper half of a full block into a new one."""
    settle_block(t, c, p)
    _open_place(t, c, p + 1)
    b, new, half, count = t.number[c, p], t.number[c, p + 1], t.cells[c, p] // 2, t.cells[c, p]
    for j in range(half, count):
        i = t.items[c, b, j]
        t.items[c, new, j - half], t.values[c, new, j - half], t.block[i, c] = i, t.values[c, b, j], new
    t.cells[c, p], t.cells[c, p + 1] = half, count - half
    for q in (p + 1, p):
        look_for_least(t, c, q)
        settle_block(t, c, q)


@inner
def _find_place(t: Lines, c: int, x: float) -> int:
    """Return the position of a value in the order of a line."""
    p, high = 0, t.lines[c].blocks
    while p + 1 < high:
        middle = (p + high) // 2
        if t.about[c, middle] <= x:
            p = middle
        else:
            high = middle
    while p and x < first(t, c, p):
        p -= 1
    while p + 1 < t.lines[c].blocks and x >= first(t, c, p + 1):
        p += 1
    return p


@inner
def _roomy_place(t: Lines, c: int, x: float) -> int:
    """Return the position of a value where there is room.

    A split may move a value equal to x by its last digit, and x into a full block.
    """
    p = _find_place(t, c, x)
    while t.cells[c, p] == t.items.shape[2]:
        if t.lines[c].blocks == t.number.shape[1]:
            repack(t, c)
        else:
            _split(t, c, p)
        p = _find_place(t, c, x)
    return p


@inner
def put_in(t: Lines, c: int, i: int) -> None:
    """Insert the cell of bar `i` into line `c` of `t`."""
    if t.lines[c].blocks == t.number.shape[1]:
        repack(t, c)
    x = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
    if t.lines[c].blocks == 0:
        _open_place(t, c, 0)
    p = _roomy_place(t, c, x)
    b, j, high, ratio = t.number[c, p], 0, t.cells[c, p], ratio_of(t, c, p)
    items, values = t.items[c, b], t.values[c, b]
    while j < high:
        middle = (j + high) // 2
        if values[middle] * ratio <= x:
            j = middle + 1
        else:
            high = middle
    for k in range(t.cells[c, p], j, -1):
        items[k] = items[k - 1]
    for k in range(t.cells[c, p], j, -1):
        values[k] = values[k - 1]
    weight = t.weight[i, c] - t.tag[c, p]
    items[j], values[j], t.weight[i, c], t.block[i, c] = i, t.a[i, c] * max(0.0, 1.0 - weight), weight, b
    t.lines[c].cells += 1
    t.cells[c, p] += 1
    t.least[c, p] = min(t.least[c, p], i)
    t.low[c, p], t.high[c, p] = min(t.low[c, p], weight), max(t.high[c, p], weight)
    _divide_gap(t, c, p, j, x)
    if is_uneven(t, c, p):
        # Values next to the cell were too far from theirs to say which gap it divided.
        settle_block(t, c, p)
        t.lines[c].widest, t.lines[c].known = max(t.lines[c].widest, t.gap[c, p]), False
        if p:
            t.sure[c, p - 1] = False


@inner
def _divide_gap(t: Lines, c: int, p: int, j: int, x: float) -> None:
    """Note the gaps next to a cell that was inserted at a position, as number `j`."""
    values, ratio, below, above = t.values[c, t.number[c, p]], ratio_of(t, c, p), np.inf, -np.inf
    if j + 1 < t.cells[c, p]:
        above = values[j + 1] * ratio
    elif p + 1 < t.lines[c].blocks:
        above = first(t, c, p + 1)
    if j:
        below = values[j - 1] * ratio
        change_gap(t, c, p, max(x - below, above - x), above - below)
    else:
        t.about[c, p] = x
        if p:
            below = last(t, c, p - 1)
            change_gap(t, c, p - 1, x - below, above - below)
        change_gap(t, c, p, above - x, -np.inf)
