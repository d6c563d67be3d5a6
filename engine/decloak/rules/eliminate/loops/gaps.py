"""The gaps of a line, its lower cluster and its heaviest cell; weight passed on to its lowest cells."""

from decloak.compiled import inner
from decloak.rules.eliminate.loops.blocks import Lines, first, is_disordered, last, note, repack, settle_block
from decloak.rules.eliminate.state import EPS

__all__ = ["heaviest_bar", "lower_cluster_size", "pass_weight", "rank", "widest_gap"]


@inner
def widest_gap(t: Lines, c: int) -> float:
    """Return the widest gap of line `c` of `t`, measured where only a bound was known."""
    line = t.lines[c]
    while not line.known:
        best, at = 0.0, -1
        for p in range(line.blocks):
            gap = t.blocks[c, t.places[c, p].block].gap
            if gap > best:
                best, at = gap, t.places[c, p].block
        if at >= 0 and not t.blocks[c, at].sure:
            settle_block(t, c, at)
        else:
            line.widest, line.known = best, True
    return line.widest  # type: ignore[no-any-return]


@inner
def lower_cluster_size(t: Lines, c: int) -> int:
    """Return the number of cells in the lower cluster of line `c` of `t`."""
    reach, below = widest_gap(t, c) - EPS, 0
    for p in range(t.lines[c].blocks):
        b = t.places[c, p].block
        if reach > 0 and t.blocks[c, b].gap >= reach:
            if not t.blocks[c, b].sure:
                settle_block(t, c, b)
            values, n = t.values[c, b], t.blocks[c, b].count
            for j in range(1, n):
                if values[j] - values[j - 1] >= reach:
                    return below + j
            if p + 1 < t.lines[c].blocks and first(t, c, p + 1) - values[n - 1] >= reach:
                return below + n  # type: ignore[no-any-return]
        below += t.blocks[c, b].count
    return below


@inner
def rank(t: Lines, c: int, i: int) -> int:
    """Return the number of cells of line `c` of `t` before the one of bar `i`."""
    b, before = int(t.block[i, c]), 0
    for p in range(t.blocks[c, b].place):
        before += t.blocks[c, t.places[c, p].block].count
    j = 0
    while t.items[c, b, j] != i:
        j += 1
    return before + j


@inner
def pass_weight(t: Lines, c: int, cells: int, share: float) -> None:
    """Add `share` to the weight of the lowest `cells` of line `c` of `t`."""
    line, p, rest = t.lines[c], 0, cells
    while rest > t.blocks[c, t.places[c, p].block].count:
        rest -= t.blocks[c, t.places[c, p].block].count
        p += 1
    disordered = settled = False
    # From the highest down, for a gap that begins in a block may end in the next.
    for q in range(p, -1, -1):
        b, settled_above = t.places[c, q].block, settled
        block = t.blocks[c, b]
        n = rest if q == p else block.count
        block.gap, block.sure = block.gap + share * line.most, False
        settled = n < block.count or t.eager
        if settled:
            for j in range(n):
                t.weight[t.items[c, b, j], c] += share
            settle_block(t, c, b)
        else:
            settled = note(t, c, b, share)
        if settled or settled_above:
            disordered |= is_disordered(t, c, q)
    line.widest, line.known = line.widest + share * line.most, False
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
        b = t.places[c, p].block
        if first(t, c, p) * scale >= reach:
            bar = min(bar, t.blocks[c, b].least)
        else:
            for j in range(t.blocks[c, b].count):
                if t.values[c, b, j] * t.blocks[c, b].ratio * scale >= reach:
                    bar = min(bar, int(t.items[c, b, j]))
        p -= 1
    return bar  # type: ignore[no-any-return]
