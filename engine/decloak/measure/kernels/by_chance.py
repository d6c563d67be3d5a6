"""What striking as many members at random would do: the control beside an attack, drawn by what it struck.

In every table as many scored cells are struck as the attack struck there, at random; each row keeps one member, as an
attack leaves one. The draws depend on the tables and on how much was struck, and on nothing else.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from decloak.arrays import Mask

__all__ = ["draws_for", "random_strikes"]

DRAWN, MOST_DRAWS = 1000, 10
"""People that draws of the control are of in all, where that is not too many draws."""


def draws_for(people: int) -> int:
    """How often the control is drawn for so many people: the fewer they are, the more a draw differs from the next.

    >>> draws_for(24), draws_for(300), draws_for(50_000)
    (10, 3, 1)
    """
    return min(MOST_DRAWS, max(1, DRAWN // max(1, people)))


def random_strikes(scored: Sequence[Mask], struck: Sequence[int], people: int) -> Iterator[list[Mask]]:
    """Yield for each draw which cells of every table are struck; `people` are looked at.

    >>> [[table.sum().item() for table in draw] for draw in random_strikes([np.ones((3, 4), bool)], [5], 500)]
    [[5], [5]]
    """
    seeds = [*(size for table in scored for size in table.shape), *struck]
    rng = np.random.default_rng(seeds or 0)
    for _ in range(draws_for(people)):
        yield [_struck(table, count, rng) for table, count in zip(scored, struck, strict=True)]


def _struck(scored: Mask, count: int, rng: np.random.Generator) -> Mask:
    open_cells = scored.copy()
    if scored.shape[1]:
        open_cells[np.arange(len(scored)), rng.integers(0, scored.shape[1], len(scored))] = False
    cells = np.flatnonzero(open_cells)
    mask = np.zeros(scored.shape, np.bool_)
    mask.flat[rng.permutation(cells)[:count]] = True
    return mask
