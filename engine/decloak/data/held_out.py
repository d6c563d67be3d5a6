"""Records held out of a data set: what is left is published, what was held out may be known to somebody."""

from typing import NamedTuple

import numpy as np

from decloak.data.dataset import Dataset
from decloak.data.ordering import Places, canonical
from decloak.data.rows import picked_labels

__all__ = ["Divided", "divided"]


class Divided(NamedTuple):
    """The records that are left, in the order in which they were, and those held out."""

    left: Dataset
    held_out: Dataset


def divided(data: Dataset, share: float, seed: int) -> Divided:
    """Hold out a share of the records, drawn of the records as a set: in whatever order they stand.

    >>> left, out = divided(Dataset.of([["tea"], ["milk"], ["bread"], ["rice"]]), 0.5, seed=1)
    >>> len(left.transactions), len(out.transactions)
    (2, 2)
    """
    _, places = canonical(data)
    count = round(share * len(places))
    drawn = places[np.random.default_rng(seed).permutation(len(places))]
    return Divided(_picked(data, np.sort(drawn[count:])), _picked(data, np.sort(drawn[:count])))


def _picked(data: Dataset, places: Places) -> Dataset:
    return Dataset(data.rows.take(places).compact, picked_labels(data.labels, places), data.origin)
