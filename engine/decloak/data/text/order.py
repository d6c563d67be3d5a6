"""Whether the order of the items says what they mean, or only how they are spelt."""

from collections.abc import Sequence

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows

__all__ = ["sorted_warning"]

FEWEST = 3
"""Items of a transaction whose order counts; fewer are in alphabetical order by chance too often."""


def sorted_warning(dataset: Dataset) -> str | None:
    """The warning that most transactions list their items alphabetically; None when they do not.

    An attacker takes the items beside a hidden one for related to it. Of a sorted transaction that is no sign.

    >>> sorted_warning(Dataset((("fever", "cough", "aspirin"),), ("1",))) is None
    True
    """
    rows = dataset.rows
    # Capitals before small letters, or beside them.
    ranks = [_ranks([key(name) for name in rows.names]) for key in (str, str.casefold)]
    long = ordered = 0
    for block in rows.blocks():
        telling = block.lengths >= FEWEST
        long += int(np.count_nonzero(telling))
        ordered += int(np.count_nonzero(telling & (_ascend(block, ranks[0]) | _ascend(block, ranks[1]))))
    if 2 * ordered <= long:
        return None
    return (
        f"{ordered:,} of the {long:,} transactions of {FEWEST} items or more list them alphabetically: the "
        "nearest items of a hidden one are near in spelling, not in meaning, so take all of them as the context; and "
        "published in this order, the place of a hidden item tells how it is spelt"
    )


def _ranks(keys: Sequence[str]) -> Ints:
    """The place of each key among all in alphabetical order; equal keys have the same."""
    place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], np.int64)


def _ascend(rows: CodedRows[str], ranks: Ints) -> Mask:
    """Whether the items of each row have ascending ranks."""
    rank, row = ranks[rows.codes], rows.row
    falls = (rank[1:] < rank[:-1]) & (row[1:] == row[:-1])
    ascending: Mask = np.bincount(row[1:][falls], minlength=len(rows)) == 0
    return ascending
