"""Eliminations in one pass over a table: candidates in an order, each eliminated if it may go.

    once      the heaviest cell
    all       every cell whose w exceeds the threshold, in descending order
    in_order  the same cells, row by row
    random    cells drawn without replacement, each eliminated with probability 1/2; 0 to n of them, uniformly

The generator of random numbers is splitmix64.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.rules.eliminate.groups import heaviest
from decloak.rules.eliminate.state import EPS, Batch, EliminationLog, Remainder
from decloak.rules.eliminate.strategy import Eliminate

__all__ = ["eliminate_in_one_pass"]

_MASK = (1 << 64) - 1


def eliminate_in_one_pass(
    batch: Batch, eliminate: Eliminate, threshold: Floats, seeds: Sequence[int] | None, rounds: int | None
) -> tuple[list[EliminationLog], dict[int, Remainder]]:
    """Eliminate cells of the tables of `batch` as `eliminate` says; return the log, and the remainder of each table.

    `threshold` has a value per table, `seeds` are the seeds of all tables, by number, and `rounds` limits the
    eliminations.
    """
    log: list[EliminationLog] = []
    remaining: dict[int, Remainder] = {}
    for index, number in enumerate(batch.number.tolist()):
        w = batch.remainder(index, "none").weight
        seed = 0 if seeds is None else int(seeds[number])
        tried = _candidates(eliminate, w.ravel(), float(threshold[index]), seed)
        row, col = np.divmod(_eliminate_in_turn(tried, *w.shape)[:rounds], w.shape[1])
        weight, none = w[row, col], np.zeros_like(row)
        suspicion = np.full_like(weight, np.nan) if eliminate == "random" else weight
        log.append(EliminationLog(none + number, row * batch.width + col, none, suspicion, weight))
        w[row, col] = np.nan
        remaining[number] = Remainder(w, None, None)
    return log, remaining


def _candidates(eliminate: Eliminate, w: Floats, threshold: float, seed: int) -> Ints:
    """Return the cells that are tried, in order; `w` is the flat table, NaN where nothing is scored."""
    scored = np.flatnonzero(~np.isnan(w))
    if eliminate == "random":
        return scored[list(_random_candidates(len(scored), seed))]
    above = scored[w[scored] > threshold + EPS]
    if eliminate == "in_order" or not above.size:
        return above
    if eliminate == "once":
        first = scored[heaviest(w[scored][None, :])]
        return first[w[first] > threshold + EPS]
    return above[_descending(w[above])]


def _eliminate_in_turn(cells: Ints, rows: int, cols: int) -> Ints:
    """Return the cells that may go at their turn."""
    # Unscored cells count as items that remain: no attack can eliminate them.
    row_left, col_left, eliminated = [cols] * rows, [rows] * cols, []
    for cell in cells.tolist():
        row, col = divmod(cell, cols)
        if row_left[row] >= 2 and col_left[col] >= 2:
            row_left[row] -= 1
            col_left[col] -= 1
            eliminated.append(cell)
    return np.array(eliminated, dtype=np.intp)


def _descending(w: Floats) -> Ints:
    """Return positions by repeatedly taking the largest left, the first of equals.

    Values that are not equal to a neighbour in order are simply sorted. In a run of such neighbours the first position
    goes first, unless the run is so long that its ends differ. Thousands of equal values are common.
    """
    order = np.argsort(-w, kind="stable")
    start = np.append(True, -np.diff(w[order]) > EPS)
    order = order[np.lexsort((order, np.cumsum(start)))]
    edges = np.append(np.flatnonzero(start), len(w))
    for low, high in pairwise(edges.tolist()):
        run = w[order[low:high]]
        if run.min() < run.max() - EPS:
            order[low:high] = _repeatedly_largest(order[low:high].tolist(), w)
    return order


def _repeatedly_largest(positions: list[int], w: Floats) -> list[int]:
    taken = []
    while positions:
        largest = max(w[position] for position in positions)
        taken.append(next(position for position in positions if w[position] >= largest - EPS))
        positions.remove(taken[-1])
    return taken


def _random_candidates(count: int, seed: int) -> Iterator[int]:
    """Yield the candidates of `count` cells that a random attack selects, in the order tried."""
    # An own generator, so that draws are the same in every version of numpy.
    draw = _splitmix64(seed)
    # The remainder favours small numbers by less than count / 2^64, which no experiment can see.
    tries = next(draw) % (count + 1)
    order = list(range(count))
    for turn in range(tries):
        partner = turn + next(draw) % (count - turn)
        order[turn], order[partner] = order[partner], order[turn]
        if next(draw) >> 63:
            yield order[turn]


def _splitmix64(seed: int) -> Iterator[int]:
    state = seed & _MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        yield mixed ^ (mixed >> 31)
