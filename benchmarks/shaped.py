"""Random transactions of the shape of well-known data sets, made by decloak.data.generators.baskets, as lists."""

from itertools import pairwise
from typing import Any

from scipy import sparse

from decloak.data.generators.baskets import shaped as generate

__all__ = ["generate", "lists"]


def lists(records: sparse.csr_array[Any]) -> list[list[str]]:
    """The records as lists of item names."""
    names = [f"item {number}" for number in range(records.shape[1])]
    held = [names[item] for item in records.indices.tolist()]
    start = records.indptr.tolist()
    return [held[begin:end] for begin, end in pairwise(start)]
