"""Random baseline of an elimination attack: the same number of members eliminated at random.

In every table the baseline eliminates the same number of scored cells as the attack. Each row keeps one member, as an
attack leaves one. The draws depend only on the tables and on these numbers.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from decloak.arrays import Floats, Ints, Mask

__all__ = ["draws_for", "expected_known", "random_eliminations"]


def expected_known(person: Ints, items: Ints, right: Floats, people: int) -> float:
    """Return the number of `people` expected to have an item known or guessed correctly.

    Group i has `items[i]` items of `person[i]`; a guess at any of these is right with the probability `right[i]`.

    >>> expected_known(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([1.0, 0.5, 0.25]), 3)
    0.875
    """
    held = np.bincount(person, items, people)
    total = np.bincount(person, items * right, people)
    return float((total / np.maximum(held, 1)).sum())


DRAWN, MOST_DRAWS = 1000, 10
"""People that draws of the control are of in all, where that is not too many draws."""


def draws_for(people: int) -> int:
    """Return the number of draws of the baseline for `people`; few people need many draws.

    >>> draws_for(24), draws_for(300), draws_for(50_000)
    (10, 3, 1)
    """
    return min(MOST_DRAWS, max(1, DRAWN // max(1, people)))


def random_eliminations(scored: Sequence[Mask], eliminated: Sequence[int], people: int) -> Iterator[list[Mask]]:
    """Yield for each draw the eliminated cells of every table.

    `scored` has the cells that can be eliminated, and `eliminated` the number of cells to eliminate. `people`, the
    number of people, decides the number of draws.

    >>> [[table.sum().item() for table in draw] for draw in random_eliminations([np.ones((3, 4), bool)], [5], 500)]
    [[5], [5]]
    """
    # The seed depends on the shape of the task alone, so that figures do not change from run to run.
    seeds = [*(size for table in scored for size in table.shape), *eliminated]
    rng = np.random.default_rng(seeds or 0)
    for _ in range(draws_for(people)):
        yield [_eliminated(table, count, rng) for table, count in zip(scored, eliminated, strict=True)]


def _eliminated(scored: Mask, count: int, rng: np.random.Generator) -> Mask:
    open_cells = scored.copy()
    if scored.shape[1]:
        # One random cell per row stays, as an attack leaves at least one member.
        open_cells[np.arange(len(scored)), rng.integers(0, scored.shape[1], len(scored))] = False
    cells = np.flatnonzero(open_cells)
    mask = np.zeros(scored.shape, np.bool_)
    mask.flat[rng.permutation(cells)[:count]] = True
    return mask
