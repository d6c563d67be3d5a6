"""The gaps of a line, its lower cluster and its heaviest cell; weight passed on to its lowest cells."""

import numpy as np

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import (
    TOLERANCE,
    Lines,
    first,
    is_disordered,
    is_uneven,
    last,
    ratio_of,
    repack,
    settle_block,
)
from decloak.rules.eliminate.state import EPS

__all__ = ["heaviest_bar", "lower_cluster_size", "pass_weight", "rank", "widest_gap"]


@inner
def widest_gap(t: Lines, c: int) -> float:
    """Return the widest gap of line `c` of `t`, measured where only a bound was known."""
    line = t.lines[c]
    gaps = t.gap[c, : line.blocks]
    while not line.known:
        best, p = 0.0, 0
        for gap in gaps:
            best = max(best, gap)
        while best > 0.0 and gaps[p] < best:
            p += 1
        if best > 0.0 and not t.sure[c, p]:
            settle_block(t, c, p)
        else:
            line.widest, line.known = best, True
    return line.widest  # type: ignore[no-any-return]


@inner
def lower_cluster_size(t: Lines, c: int) -> int:
    """Return the number of cells in the lower cluster of line `c` of `t`."""
    reach, below = widest_gap(t, c) - EPS, 0
    for p in range(t.lines[c].blocks):
        if reach > 0 and t.gap[c, p] >= reach:
            if not t.sure[c, p]:
                settle_block(t, c, p)
            values, n = t.values[c, t.number[c, p]], t.cells[c, p]
            for j in range(1, n):
                if values[j] - values[j - 1] >= reach:
                    return below + j
            if p + 1 < t.lines[c].blocks and first(t, c, p + 1) - values[n - 1] >= reach:
                return below + n  # type: ignore[no-any-return]
        below += t.cells[c, p]
    return below


@inner
def rank(t: Lines, c: int, i: int) -> int:
    """Return the number of cells of line `c` of `t` before the one of bar `i`."""
    b, j = t.block[i, c], 0
    while t.items[c, b, j] != i:
        j += 1
    for count in t.cells[c, : t.place[c, b]]:
        j += count
    return j


@inner
def pass_weight(t: Lines, c: int, cells: int, share: float) -> None:
    """Add `share` to the weight of the lowest `cells` of line `c` of `t`."""
    line, p, rest = t.lines[c], 0, cells
    while rest > t.cells[c, p]:
        rest -= t.cells[c, p]
        p += 1
    most, whole = line.most, p + 1 if rest == t.cells[c, p] else p
    tag, gap, low, high = t.tag[c, :whole], t.gap[c, : p + 1], t.low[c, :whole], t.high[c, :whole]
    gap += share * most
    t.sure[c, : p + 1] = False
    line.widest, line.known = line.widest + share * most, False
    excess = -np.inf
    for q in range(whole):
        tag[q] += share
        excess = max(excess, tag[q] * (high[q] - low[q]) * most - TOLERANCE * (1.0 - low[q]))
    disordered = settled = False
    # From the highest down, for a gap that begins in a block may end in the next.
    for q in range(p, -1, -1):
        settled_above, settled = settled, q == whole or t.eager or (excess > 0.0 and is_uneven(t, c, q))
        if q == whole:
            for j in range(rest):
                t.weight[t.items[c, t.number[c, q], j], c] += share
        if settled:
            settle_block(t, c, q)
        if settled or settled_above:
            disordered |= is_disordered(t, c, q)
        elif excess <= 0.0 and q < whole:
            break
    if disordered:
        repack(t, c)


@inner
def heaviest_bar(t: Lines, c: int, scale: float) -> int:
    """Return the first bar whose cell has the largest weight of line `c` of `t`, all times `scale`; -1 without any."""
    p = t.lines[c].blocks - 1
    if p < 0:
        return -1
    reach, bar = last(t, c, p) * scale - EPS, t.a.shape[0]
    while p >= 0 and last(t, c, p) * scale >= reach:
        if first(t, c, p) * scale >= reach:
            bar = min(bar, t.least[c, p])
        else:
            values, ratio = t.values[c, t.number[c, p]], ratio_of(t, c, p)
            j = t.cells[c, p] - 1
            while values[j] * ratio * scale >= reach:
                bar = min(bar, int(t.items[c, t.number[c, p], j]))
                j -= 1
        p -= 1
    return bar  # type: ignore[no-any-return]
