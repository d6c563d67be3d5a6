"""Eliminations in rounds: the heaviest cell of the most suspicious group of every table, again and again.

After each elimination the weight is passed on and the cells of its row and column are weighed again, until nothing
exceeds the threshold. Tables go in lock step, one elimination from each at a time; finished tables leave the batch when
they are half of it.
"""

import numpy as np

from decloak.arrays import Floats
from decloak.rules.eliminate.choice import Choice, LineChooser, TableChooser
from decloak.rules.eliminate.groups import inheritance
from decloak.rules.eliminate.state import Batch, EliminationLog, Remainder
from decloak.rules.eliminate.strategy import Redistribute

__all__ = ["eliminate_in_rounds"]


def eliminate_in_rounds(
    batch: Batch, chooser: LineChooser | TableChooser, redistribute: Redistribute, threshold: Floats, rounds: int | None
) -> tuple[list[EliminationLog], dict[int, Remainder]]:
    """Eliminate cells of the tables of `batch` until each is done; return the log, and the remainder of each table.

    `chooser` selects the cells, `redistribute` names the heirs of their weight, `threshold` has a value per table, and
    `rounds` limits the eliminations.
    """
    limit, count = threshold.copy(), np.zeros(batch.size, dtype=np.intp)
    log: list[EliminationLog] = []
    remaining: dict[int, Remainder] = {}
    while batch.size:
        if rounds is not None:
            limit[count >= rounds] = np.inf
        choice = chooser.choose(batch, limit)
        if choice.tables.size:
            count[choice.tables] += 1
            log.append(_log_entry(batch, choice))
            _eliminate(batch, chooser, choice, redistribute)
        # A finished table stays in the batch until the next copy: an infinite threshold keeps it silent.
        limit[~choice.on] = np.inf
        # Copying the batch is put off until it at least halves the work of every further round.
        if 2 * np.count_nonzero(choice.on) <= batch.size:
            (on,), (done,) = choice.on.nonzero(), (~choice.on).nonzero()
            remaining |= {int(batch.number[index]): batch.remainder(index, redistribute) for index in done.tolist()}
            chooser, limit, count = chooser.take(batch.size, on), limit[on], count[on]
            batch = batch.take(on)
    return log, remaining


def _log_entry(batch: Batch, choice: Choice) -> EliminationLog:
    weight = batch.w[choice.tables * batch.stride + choice.cells]
    return EliminationLog(batch.number[choice.tables], choice.cells, choice.groups, choice.suspicion, weight)


def _eliminate(batch: Batch, chooser: LineChooser | TableChooser, choice: Choice, redistribute: Redistribute) -> None:
    """Eliminate the chosen cells, and update their crosses."""
    row, col = np.divmod(choice.cells, batch.width)
    in_col, in_row = batch.column(choice.tables, col), batch.row(choice.tables, row)
    cross = np.concatenate([in_col, in_row], axis=1)
    eliminated = choice.tables * batch.stride + choice.cells
    if redistribute == "lower_cluster":
        row_weight, col_weight = batch.columns["row_weight"], batch.columns["col_weight"]
        row_weight[in_row] += inheritance(batch.w[in_row], col, row_weight[eliminated])
        col_weight[in_col] += inheritance(batch.w[in_col], row, col_weight[eliminated])
    batch.columns["d"][eliminated] = np.nan
    batch.columns["row_left"][in_row] -= 1
    batch.columns["col_left"][in_col] -= 1
    if redistribute == "none":
        batch.w[eliminated] = np.nan
        change: Floats = np.zeros(cross.shape)
    else:
        change = batch.weigh_again(choice.tables, cross)
    chooser.changed(batch, choice, cross, change)
