"""Eliminations from one large table by rows and columns, equal to the eliminations of `rounds` for separate factors.

w = d f g, where f changes with eliminations in the row of a cell and g with those in its column. The factor of a bar is
in the values of its cells (see `blocks`), and the factor of a line is separate. An elimination changes a bar and a
line.

    heirs  cells of the lower cluster, below the first largest gap, without the eliminated one
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from decloak.arrays import Floats, Ints
from decloak.compiled import compiled, inner
from decloak.rules.eliminate.loops.blocks import Lines
from decloak.rules.eliminate.loops.gaps import heaviest_bar, lower_cluster_size, pass_weight, rank
from decloak.rules.eliminate.loops.keys import LOWEST
from decloak.rules.eliminate.loops.moves import put_in, take_out
from decloak.rules.eliminate.loops.suspicions import (
    UNSURE,
    WIDE,
    Keys,
    Large,
    forget,
    group,
    heaviest,
    largest,
    loosen,
    measure,
    top_of_lower,
    weigh,
)
from decloak.rules.eliminate.state import EPS

__all__ = ["EliminationColumns", "eliminate_lines"]

PARTS = "b664ac107c910c53"
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
    g, t, keys = _borrowed(g, t, keys)
    w = np.empty(len(g.scale))
    for i in range(len(g.left)):
        measure(g, t, keys, i, 0, w)
    for now in range(rounds):
        low, high = largest(g, t, keys, now, w, WIDE if len(keys.patterns.seen) == 0 else 0.0)
        if high <= max(LOWEST, threshold + EPS):
            return now
        chosen = group(g, t, keys, low - EPS, high - EPS, now, w)
        if chosen == UNSURE:
            low, high = largest(g, t, keys, now, w, 0.0)
            chosen = group(g, t, keys, low - EPS, high - EPS, now, w)
        if chosen >= 0:
            i = chosen
            measure(g, t, keys, i, now, w)
            v = keys.v[i]
            c = heaviest(w)
        else:
            c = -1 - chosen
            i, v = heaviest_bar(t, c, g.scale[c]), t.lines[c].widest * g.scale[c]
            weigh(g, t, i, w)
        if v <= threshold + EPS:
            return now
        eliminated.bar[now], eliminated.line[now], eliminated.group[now] = i, c, chosen
        eliminated.suspicion[now], eliminated.weight[now] = v, w[c]
        _eliminate(g, t, keys, i, c, v, w)
    return rounds


def _compile_borrowing(_: Any, array: Any) -> Any:
    """Return the type and the code of a function whose result shares the cells of an array and has no owner."""

    def compile_call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        borrowed = context.make_array(signature.args[0])(context, builder, arguments[0])
        borrowed.meminfo = context.get_constant_null(types.voidptr)
        return borrowed._getvalue()

    return array(array), compile_call


_borrow: Any = intrinsic(_compile_borrowing)


@inner
def _borrowed(g: Large, t: Lines, keys: Keys) -> tuple[Large, Lines, Keys]:
    """Return the same with arrays that have no owner: to count references to owners took two thirds of the time."""
    large = Large(
        _borrow(g.d),
        _borrow(g.handed),
        _borrow(g.scale),
        _borrow(g.of_bar),
        _borrow(g.of_line),
        _borrow(g.left),
        _borrow(g.remaining),
        g.lines_first,
    )
    lines = Lines(
        _borrow(t.a),
        _borrow(t.weight),
        _borrow(t.block),
        _borrow(t.lines),
        t.eager,
        _borrow(t.place),
        _borrow(t.items),
        _borrow(t.values),
        _borrow(t.number),
        _borrow(t.cells),
        _borrow(t.least),
        _borrow(t.about),
        _borrow(t.tag),
        _borrow(t.low),
        _borrow(t.high),
        _borrow(t.gap),
        _borrow(t.sure),
    )
    of_bars = Keys(
        _borrow(keys.trees),
        _borrow(keys.drift),
        _borrow(keys.v),
        _borrow(keys.since),
        _borrow(keys.below),
        _borrow(keys.measured),
        keys.patterns,
    )
    return large, lines, of_bars


@inner
def _eliminate(g: Large, t: Lines, keys: Keys, i: int, c: int, v: float, w: Floats) -> None:
    """Eliminate a cell of a bar of these weights, and loosen the bounds of other bars."""
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
    if cells * v <= change * len(g.left):
        _loosen_lowest(t, keys, c, cells, change)
    else:
        keys.drift[-1] += change
        if len(keys.drift) > 1:
            keys.drift[c] += change
    forget(keys, i)
    if g.remaining[c] < 2 and t.lines[c].cells:  # its last cell may not go
        forget(keys, t.items[c, t.number[c, 0], 0])


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
def _loosen_lowest(t: Lines, keys: Keys, c: int, cells: int, change: float) -> None:
    """Loosen the bounds of the bars of the lowest cells of a line."""
    p = 0
    while cells > 0:
        for j in range(min(cells, t.cells[c, p])):
            loosen(keys, t.items[c, t.number[c, p], j], c, change)
        cells -= t.cells[c, p]
        p += 1
