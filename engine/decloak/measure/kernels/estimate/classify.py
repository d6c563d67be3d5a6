"""Classification with what a release shows: multinomial naive Bayes, trained on estimated counts.

A class is an item; records with none of the class items are one further class, the last. Each other item counts with
add-one smoothing. A record is classified by its items without the class items.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.measure.kernels.estimate.estimator import Estimator, Matrix, estimates_of

__all__ = ["class_counts", "class_of", "classified"]


def class_counts(estimator: Estimator, number: Ints, classes: Sequence[int], records: int) -> Floats:
    """Return the estimated records of each class, and with each item: classes × (1 + items).

    `number` has the number of each item in the release. `classes` are places in it. `records` is how many there are.
    """
    items = len(number)
    alone = estimates_of(estimator, number[None, :])
    rows = []
    for place in classes:
        pairs = np.stack([np.full(items, number[place]), number])
        together = estimates_of(estimator, pairs[:, [other != place for other in range(items)]])
        rows.append(np.concatenate([[alone[place]], together[:place], [alone[place]], together[place:]]))
    own = np.maximum(0.0, np.array(rows))
    rest = np.maximum(0.0, np.concatenate([[records], alone]) - own.sum(axis=0))
    counts: Floats = np.vstack([own, rest])
    return counts


def classified(counts: Floats, records: Matrix, classes: Sequence[int]) -> Ints:
    """Return the most likely class of each of `records`, a matrix of records × items, by joint counts.

    Of equally likely classes it is the first.
    """
    plain = np.ones(counts.shape[1] - 1, np.bool_)
    plain[list(classes)] = False
    with_items = counts[:, 1:][:, plain] + 1.0
    weights = np.log(with_items) - np.log(with_items.sum(axis=1, keepdims=True))
    prior = np.log(counts[:, 0] + 1.0)
    scores = records[:, plain] @ weights.T + prior
    best: Ints = np.argmax(np.round(scores, 9), axis=1).astype(np.int64)
    return best


def class_of(records: Matrix, classes: Sequence[int]) -> Ints:
    """Return the class of each of `records`: the first class item it has, else the last class."""
    found = np.full(records.shape[0], len(classes), np.int64)
    places = {place: at for at, place in enumerate(classes)}
    for row, (begin, end) in enumerate(pairwise(records.indptr.tolist())):
        found[row] = min((places[item] for item in records.indices[begin:end].tolist() if item in places),
                         default=len(classes))  # fmt: skip
    return found
