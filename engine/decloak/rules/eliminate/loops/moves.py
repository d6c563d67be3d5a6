"""Removal of a cell from its line, and insertion."""

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Lines, first, last, look_for_least, note, repack, settle_block, widen

__all__ = ["put_in", "take_out"]


@inner
def take_out(t: Lines, c: int, i: int) -> None:
    """Remove the cell of bar `i` from line `c` of `t`; its weight then includes all that was noted."""
    b = int(t.block[i, c])
    block, items, values, j = t.blocks[c, b], t.items[c, b], t.values[c, b], 0
    p, n = block.place, block.count - 1
    while items[j] != i:
        j += 1
    above = -np.inf
    if j < n:
        above = values[j + 1] * block.ratio
    elif p + 1 < t.lines[c].blocks:
        above = first(t, c, p + 1)
    widen(t, c, p, above - values[j - 1] * block.ratio if j else 0.0)
    if j == 0 and p:
        widen(t, c, p - 1, above - last(t, c, p - 1))
    t.weight[i, c] += block.tag
    t.block[i, c] = -1
    for k in range(j, n):
        items[k], values[k] = items[k + 1], values[k + 1]
    block.count = n
    t.lines[c].cells -= 1
    if n == 0:
        _close_block(t, c, p)
    else:
        t.places[c, p].about = first(t, c, p)
        if block.least == i:
            look_for_least(t, c, b)


@inner
def _close_block(t: Lines, c: int, p: int) -> None:
    """Remove an empty block from the order of a line."""
    line = t.lines[c]
    t.free[c, line.spare] = t.places[c, p].block
    line.spare += 1
    line.blocks -= 1
    for q in range(p, line.blocks):
        t.places[c, q].block, t.places[c, q].about = t.places[c, q + 1].block, t.places[c, q + 1].about
        t.blocks[c, t.places[c, q].block].place = q


@inner
def _open_block(t: Lines, c: int, p: int) -> int:
    line = t.lines[c]
    line.spare -= 1
    b = t.free[c, line.spare]
    for q in range(line.blocks, p, -1):
        t.places[c, q].block, t.places[c, q].about = t.places[c, q - 1].block, t.places[c, q - 1].about
        t.blocks[c, t.places[c, q].block].place = q
    line.blocks += 1
    block, t.places[c, p].block = t.blocks[c, b], b
    block.place, block.count, block.least = p, 0, t.a.shape[0]
    block.tag, block.ratio, block.low, block.high, block.gap, block.sure = 0.0, 1.0, np.inf, -np.inf, 0.0, False
    return b  # type: ignore[no-any-return]


@inner
def _split_block(t: Lines, c: int, p: int) -> None:
    """Move the upper half of a full block into a new one."""
    b = t.places[c, p].block
    settle_block(t, c, b)
    new = _open_block(t, c, p + 1)
    below, above = t.blocks[c, b], t.blocks[c, new]
    half = below.count // 2
    for j in range(half, below.count):
        i = t.items[c, b, j]
        t.items[c, new, j - half], t.values[c, new, j - half], t.block[i, c] = i, t.values[c, b, j], new
    below.count, above.count = half, below.count - half
    look_for_least(t, c, b)
    look_for_least(t, c, new)
    settle_block(t, c, new)
    settle_block(t, c, b)


@inner
def _find_place(t: Lines, c: int, x: float) -> int:
    """Return the position of a value in the order of a line."""
    p, high = 0, t.lines[c].blocks
    while p + 1 < high:
        middle = (p + high) // 2
        if t.places[c, middle].about <= x:
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
    while t.blocks[c, t.places[c, p].block].count == t.items.shape[2]:
        if t.lines[c].spare == 0:
            repack(t, c)
        else:
            _split_block(t, c, p)
        p = _find_place(t, c, x)
    return p


@inner
def put_in(t: Lines, c: int, i: int) -> None:
    """Insert the cell of bar `i` into line `c` of `t`."""
    if t.lines[c].spare == 0:
        repack(t, c)
    x = t.a[i, c] * max(0.0, 1.0 - t.weight[i, c])
    if t.lines[c].blocks == 0:
        _open_block(t, c, 0)
    p = _roomy_place(t, c, x)
    b = t.places[c, p].block
    block, items, values = t.blocks[c, b], t.items[c, b], t.values[c, b]
    j, high = 0, block.count
    while j < high:
        middle = (j + high) // 2
        if values[middle] * block.ratio <= x:
            j = middle + 1
        else:
            high = middle
    for k in range(block.count, j, -1):
        items[k], values[k] = items[k - 1], values[k - 1]
    t.weight[i, c] -= block.tag
    items[j], values[j], t.block[i, c] = i, t.a[i, c] * max(0.0, 1.0 - t.weight[i, c]), b
    t.lines[c].cells += 1
    block.count += 1
    block.least = min(block.least, i)
    block.low, block.high = min(block.low, t.weight[i, c]), max(block.high, t.weight[i, c])
    _widen_neighbours(t, c, p, j, x)
    note(t, c, b, 0.0)


@inner
def _widen_neighbours(t: Lines, c: int, p: int, j: int, x: float) -> None:
    """Note the gaps next to a cell that was inserted at a position, as number `j`."""
    b = t.places[c, p].block
    block = t.blocks[c, b]
    if j:
        widen(t, c, p, x - t.values[c, b, j - 1] * block.ratio)
    else:
        t.places[c, p].about = x
        if p:
            widen(t, c, p - 1, x - last(t, c, p - 1))
    if j + 1 < block.count:
        widen(t, c, p, t.values[c, b, j + 1] * block.ratio - x)
    elif p + 1 < t.lines[c].blocks:
        widen(t, c, p, first(t, c, p + 1) - x)
