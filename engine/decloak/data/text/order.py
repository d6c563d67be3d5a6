"""A test of the order of items in records: by meaning, or only alphabetical."""

from collections.abc import Sequence

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.data.dataset import Dataset
from decloak.data.rows import CodedRows

__all__ = ["sorted_warning"]

FEWEST = 3
"""Least number of items of a record that counts. Fewer are often alphabetical by accident."""


def sorted_warning(dataset: Dataset) -> str | None:
    """Return a warning if most records of `dataset` list their items alphabetically; else None.

    An attacker assumes that neighbours of a hidden item are related to it. In a sorted record that is no evidence.

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
        f"{ordered:,} of the {long:,} records of {FEWEST} items or more list them alphabetically: the "
        "nearest items of a hidden one are near in spelling, not in meaning, so take all of them as the context; and "
        "published in this order, the place of a hidden item tells how it is spelt"
    )


def _ranks(keys: Sequence[str]) -> Ints:
    """Return the rank of each key in alphabetical order. Equal keys share a rank."""
    place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], np.int64)


def _ascend(rows: CodedRows[str], ranks: Ints) -> Mask:
    """Return for each row True if the ranks of its items ascend."""
    rank, row = ranks[rows.codes], rows.row_of_code
    falls = (rank[1:] < rank[:-1]) & (row[1:] == row[:-1])
    ascending: Mask = np.bincount(row[1:][falls], minlength=len(rows)) == 0
    return ascending
