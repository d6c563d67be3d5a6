"""Eliminations from one large table by rows and columns, equal to the eliminations of `rounds` for separate factors.

w = d f g, where f changes with eliminations in the row of a cell and g with those in its column. The factor of a bar is
in the values of its cells (see `blocks`), and the factor of a line is separate. An elimination changes a bar and a
line.

    heirs  cells of the lower cluster, below the first largest gap, without the eliminated one
"""

from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled, inner
from decloak.rules.eliminate.loops.blocks import Lines
from decloak.rules.eliminate.loops.gaps import heaviest_bar, lower_cluster_size, pass_weight, rank
from decloak.rules.eliminate.loops.keys import LOWEST, set_key
from decloak.rules.eliminate.loops.moves import put_in, take_out
from decloak.rules.eliminate.loops.suspicions import (
    Keys,
    Large,
    group,
    heaviest,
    largest,
    measure,
    top_of_lower,
    weigh,
)
from decloak.rules.eliminate.state import EPS

__all__ = ["EliminationColumns", "eliminate_lines"]

PARTS = "c82af0d43df1aa5f"
"""A digest of the modules whose loops are called here: machine code is compiled again when this module changes."""


class EliminationColumns(NamedTuple):
    """Eliminations in order: bar, line, group (a bar, or -1 - line), suspicion and weight."""

    bar: Ints
    line: Ints
    group: Ints
    suspicion: Floats
    weight: Floats


@compiled
def eliminate_lines(
    g: Large, t: Lines, keys: Keys, eliminated: EliminationColumns, threshold: float, rounds: int
) -> int:
    """Eliminate the heaviest cell of the most suspicious group again and again; return the number of eliminations.

    `g` is the table, `t` its lines, `keys` the keys of its bars. `eliminated` receives the eliminations, above the
    `threshold` and at most `rounds`.
    """
    w, drift = np.empty(len(g.scale)), 0.0
    for i in range(len(g.left)):
        measure(g, t, keys, i, 0, 0.0, w)
    for now in range(rounds):
        top = largest(g, t, keys, now, drift, w)
        if top <= max(LOWEST, threshold + EPS):
            return now
        chosen = group(g, t, keys, top - EPS, now, drift, w)
        if chosen >= 0:
            i, v = chosen, keys.v[chosen]
            weigh(g, t, i, w)
            c = heaviest(w)
        else:
            c = -1 - chosen
            i, v = heaviest_bar(t, c, g.scale[c]), t.lines[c].widest * g.scale[c]
            weigh(g, t, i, w)
        if v <= threshold + EPS:
            return now
        eliminated.bar[now], eliminated.line[now], eliminated.group[now] = i, c, chosen
        eliminated.suspicion[now], eliminated.weight[now] = v, w[c]
        drift += _eliminate(g, t, keys, i, c, v, w)
    return rounds


@inner
def _eliminate(g: Large, t: Lines, keys: Keys, i: int, c: int, v: float, w: Floats) -> float:
    """Eliminate a cell of a bar of these weights; return the largest change of other bars."""
    handing = g.handed.size > 0
    if handing:
        _hand_to_bar(g, i, c, w)
        cells, share = _heirs_of_line(t, i, c)
    else:
        take_out(t, c, i)
        cells, share = 0, 0.0
    g.d[i, c] = np.nan
    g.left[i] -= 1
    g.remaining[c] -= 1
    if handing:
        change = share * t.lines[c].most
        if cells:
            pass_weight(t, c, cells, share)
    else:
        before, g.scale[c] = g.scale[c], g.of_line[g.remaining[c]]
        change = abs(g.scale[c] - before) * t.lines[c].most
        cells = t.lines[c].cells
    for other in range(len(w)):
        if t.block[i, other] >= 0:
            a = g.d[i, other] * (max(0.0, 1.0 - g.handed[i, other]) if handing else g.of_bar[g.left[i]])
            if a != t.a[i, other]:
                take_out(t, other, i)
                t.a[i, other] = a
                put_in(t, other, i)
    keys.patterns.drift[0] += change
    # Changes of few cells are noted with their bars, those of many with all bars.
    few = cells * v <= change * len(g.left)
    if few:
        _raise(t, keys, c, cells, change)
    set_key(keys.tree, i, -LOWEST)
    return 0.0 if few else change


@inner
def _hand_to_bar(g: Large, i: int, c: int, w: Floats) -> None:
    """Pass the weight of an eliminated cell to the lower cluster of its bar."""
    top, heirs = top_of_lower(w), 0
    for other in range(len(w)):
        heirs += other != c and w[other] <= top
    if heirs == 0:
        w[c] = np.nan
        top = top_of_lower(w)
        for other in range(len(w)):
            heirs += w[other] <= top
    for other in range(len(w)):
        if other != c and w[other] <= top:
            g.handed[i, other] += g.handed[i, c] / heirs


@inner
def _heirs_of_line(t: Lines, i: int, c: int) -> tuple[int, float]:
    """Remove an eliminated cell from its line; return the number of its heirs, the lowest cells, and the weight for
    each.
    """
    cells = lower_cluster_size(t, c)
    cells -= rank(t, c, i) < cells
    take_out(t, c, i)
    if cells == 0:
        cells = lower_cluster_size(t, c)
    return cells, t.weight[i, c] / max(1, cells)


@inner
def _raise(t: Lines, keys: Keys, c: int, cells: int, change: float) -> None:
    """Raise the keys of the bars of the lowest cells of a line."""
    p = 0
    while cells > 0:
        b = t.places[c, p].block
        for j in range(min(cells, t.blocks[c, b].count)):
            i = int(t.items[c, b, j])
            key = keys.tree[len(keys.tree) // 2 + i]
            if key > LOWEST:
                set_key(keys.tree, i, key + change)
        cells -= t.blocks[c, b].count
        p += 1
