"""Eliminations from one large table of its heaviest cell, wherever it is."""

import numpy as np

from decloak.arrays import Floats
from decloak.compiled import compiled, inner
from decloak.rules.eliminate.loops.by_lines import EliminationColumns
from decloak.rules.eliminate.loops.suspicions import Large
from decloak.rules.eliminate.state import EPS

__all__ = ["eliminate_table"]


@compiled
def eliminate_table(g: Large, tree: Floats, eliminated: EliminationColumns, threshold: float, rounds: int) -> int:
    """Eliminate the heaviest cell of the table `g` again and again; return the number of eliminations.

    `tree` has, for each line, the largest d times the factor of its bar below every node; bars are its leaves.
    `eliminated` receives the eliminations, above the `threshold` and at most `rounds`.
    """
    half = len(tree) // 2
    for i in range(len(g.left)):
        _weigh_leaf(g, tree[half + i], i)
    for node in range(half - 1, 0, -1):
        _update_node(tree, node)
    for now in range(rounds):
        i, c = _heaviest_of_table(g, tree)
        if i < 0:
            return now
        bar, line = g.of_bar[g.left[i]], g.of_line[g.remaining[c]]
        w = g.d[i, c] * line * bar if g.lines_first else g.d[i, c] * bar * line
        if w <= threshold + EPS:
            return now
        eliminated.bar[now], eliminated.line[now], eliminated.group[now] = i, c, 0
        eliminated.suspicion[now] = eliminated.weight[now] = w
        g.d[i, c] = np.nan
        g.left[i] -= 1
        g.remaining[c] -= 1
        node = half + i
        _weigh_leaf(g, tree[node], i)
        while node > 1:
            node //= 2
            _update_node(tree, node)
    return rounds


@inner
def _update_node(tree: Floats, node: int) -> None:
    for c in range(tree.shape[1]):
        tree[node, c] = max(tree[2 * node, c], tree[2 * node + 1, c])


@inner
def _weigh_leaf(g: Large, leaf: Floats, i: int) -> None:
    for c in range(len(leaf)):
        may_go = g.left[i] >= 2 and g.d[i, c] == g.d[i, c]
        leaf[c] = g.d[i, c] * g.of_bar[g.left[i]] if may_go else -np.inf


@inner
def _heaviest_of_table(g: Large, tree: Floats) -> tuple[int, int]:
    """Return the first of the heaviest cells that may go, by rows; -1 without any."""
    top, bar, line = -np.inf, -1, -1
    for c in range(tree.shape[1]):
        if g.remaining[c] >= 2 and tree[1, c] > -np.inf:
            top = max(top, tree[1, c] * g.of_line[g.remaining[c]])
    for c in range(tree.shape[1]):
        factor, node = g.of_line[g.remaining[c]], 1
        if g.remaining[c] >= 2 and tree[1, c] > -np.inf and tree[1, c] * factor >= top - EPS:
            while node < len(tree) // 2:
                node *= 2
                if not (tree[node, c] > -np.inf and tree[node, c] * factor >= top - EPS):
                    node += 1
            if bar < 0 or (not g.lines_first and node - len(tree) // 2 < bar):
                bar, line = node - len(tree) // 2, c
    return bar, line
