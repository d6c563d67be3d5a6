"""Estimated counts of random itemsets: their errors, and what readers and attackers do with them.

A query is an itemset. Its original count is the number of original records that have it, its estimate the number as far
as the release shows. A release keeps what frequent itemsets it can: those with the largest estimates.

Known items of people are drawn at random. The draws depend on the seed, on the places of records and on the items of
each record. The names of items are irrelevant: each item has a signature, a number made of the signatures of the
records that have it.

Classification with what a release shows: multinomial naive Bayes, trained on estimated counts.

A class is an item; records with none of the class items are one further class, the last. Each other item counts with
add-one smoothing. A record is classified by its items without the class items.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import itemset_supports, sizes
from decloak.counting.signatures import ROUNDS, Signatures, mixed, signature_sums
from decloak.data.content import Elements
from decloak.data.rows import CodedRows
from decloak.measure.kernels.estimate.estimator import Estimator, Matrix, estimates_of
from decloak.measure.kernels.estimate.rows import RowEstimates

__all__ = [
    "Frequent",
    "Kept",
    "Signatures",
    "class_counts",
    "class_of",
    "classified",
    "count_errors",
    "drawn_people",
    "drawn_queries",
    "errors_differ",
    "kept_itemsets",
    "known_items",
    "most_frequent_itemsets",
    "plain_records",
    "signatures",
]

RESAMPLED = 2_000
"""How often counts are drawn again for an interval."""


def signatures(records: Matrix) -> Signatures:
    """Return a number for each item, a column of `records`, a matrix of records × items."""
    items = np.zeros(records.shape[1], np.uint64)
    for _ in range(ROUNDS):
        items = mixed(items + signature_sums(records.indptr, records.indices, items))
    return items


def drawn_people(lengths: Ints, least: int, most: int | None, seed: int) -> Ints:
    """Draw at most `most` people who have at least `least` items; return their row indices in ascending order.

    `lengths` are the numbers of items, and `seed` decides the draw.

    >>> drawn_people(np.array([1, 3, 2]), 2, None, 0).tolist()
    [1, 2]
    """
    order = np.random.default_rng([seed, len(lengths)]).permutation(len(lengths))
    return np.sort(order[lengths[order] >= least][:most])


def known_items(records: Matrix, items: Signatures, places: Ints, known: int, seed: int) -> Ints:
    """Draw `known` items of each record, which has enough; return known × records, the numbers of columns.

    `records` is records × items, `items` are signatures, `places` number the records for the draws, and `seed` decides
    them. An attacker who knows more items of a record knows the same ones and others.
    """
    record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    salt = mixed(places.astype(np.uint64) + mixed(np.array([seed], np.uint64)))
    order = np.lexsort((mixed(items[records.indices] ^ salt[record]), record))
    first = records.indptr[:-1].astype(np.int64)
    chosen: Ints = records.indices[order][first + np.arange(known)[:, None]].astype(np.int64)
    return chosen


LARGEST = 3
"""The most items of a frequent itemset."""
WIDER = 4
"""The ratio of candidate itemsets to the itemsets with the largest estimates."""


def drawn_queries(records: Matrix, items: Signatures, size: int, queries: int, seed: int) -> Ints:
    """Draw random items of random records, `size` of each: size × queries, the numbers of columns.

    A record may be drawn several times. The draws depend on the names of items only among those of equal signatures.
    The result has no queries if all records are too short.
    """
    there = drawn_people(np.diff(records.indptr), size, None, seed)
    if not len(there):
        return np.zeros((size, 0), np.int64)
    drawn = np.random.default_rng([seed, size, len(there)]).choice(there, queries)
    return known_items(records[drawn], items, np.arange(queries), size, seed)


def plain_records(records: Matrix) -> RowEstimates:
    """Return the estimator of records that show all of their items: records × items."""
    names = [str(number) for number in range(records.shape[1])]
    return RowEstimates.of(CodedRows(records.indptr, records.indices, names), Elements(names, ()))


def count_errors(estimates: Floats, counts: Floats, least: float) -> Floats:
    """Return how far off estimates are, in shares of the original counts; counts below `least` count as `least`.

    >>> count_errors(np.array([3.0, 1.0]), np.array([4.0, 0.0]), 2.0).tolist()
    [0.25, 0.5]
    """
    errors: Floats = np.abs(estimates - counts) / np.maximum(counts, least)
    return errors


def errors_differ(first: Sequence[Floats], second: Sequence[Floats], pairs: int = 1) -> bool:
    """Tell whether the mean errors of two releases differ beyond chance, by a paired bootstrap over the counts.

    `first` and `second` have the errors of the same counts, by the size of the itemset. The 95% interval is corrected
    for as many `pairs` of releases. It is never narrower than the rule of three allows: of n counts, the share of other
    counts that is not among them can be 3 / n, with the largest difference seen.

    >>> errors_differ([np.array([0.1, 0.2])], [np.array([0.1, 0.2])])
    False
    >>> errors_differ([np.array([0.1, 0.2] * 9)], [np.array([0.2, 0.3] * 9)])
    True
    """
    apart = [one - other for one, other in zip(first, second, strict=True)]
    drawn = np.mean([_resampled_means(of_size) for of_size in apart], axis=0)
    mean, every = np.mean([of_size.mean() for of_size in apart]), np.concatenate(apart)
    low, high = np.quantile(drawn, (0.025 / pairs, 1 - 0.025 / pairs))
    unseen = min(1.0, 3 / len(every)) * np.abs(every).max()
    return bool(min(low, mean - unseen) > 0 or max(high, mean + unseen) < 0)


def _resampled_means(values: Floats) -> Floats:
    """Return the mean of each of many samples of `values`, drawn with replacement."""
    generator, block = np.random.default_rng(len(values)), max(1, 1_000_000 // len(values))
    sizes = [min(block, RESAMPLED - begin) for begin in range(0, RESAMPLED, block)]
    means = [values[generator.integers(len(values), size=(size, len(values)))].mean(axis=1) for size in sizes]
    return np.concatenate(means)


class Frequent(NamedTuple):
    """Itemsets of one size, size × itemsets, with the number of records that have them and their places in the order of
    all. The order is by number of records, then the smaller, then by name.
    """

    itemsets: Ints
    counts: Ints
    places: Ints


def most_frequent_itemsets(records: Matrix, most: int) -> list[Frequent]:
    """Return the `most` most frequent itemsets of 1 to 3 items, by size; items are numbered by name."""
    best: list[tuple[int, int, tuple[int, ...]]] = []
    for size in sizes(records, LARGEST):
        low = -best[-1][0] if len(best) == most else 1
        ranked = (
            (-count, size, tuple(codes))
            for block in itemset_supports(records, size, low=low)
            for codes, count in zip(block.itemsets.tolist(), block.supports.tolist(), strict=True)
        )
        best = sorted(chain(best, ranked))[:most]
    found = []
    for size in range(1, LARGEST + 1):
        chosen = [(place, -count, codes) for place, (count, of, codes) in enumerate(best) if of == size]
        itemsets = np.array([codes for _, _, codes in chosen], np.int64).reshape(-1, size).T
        counts = np.array([count for _, count, _ in chosen], np.int64)
        found.append(Frequent(itemsets, counts, np.array([place for place, _, _ in chosen], np.int64)))
    return found


class Kept(NamedTuple):
    """The share of the most frequent itemsets that a release loses, and the F1 of those it shows as frequent."""

    lost: float
    f1: float


def kept_itemsets(estimates: Floats, counts: Ints, top: int) -> Kept | None:
    """Compare the first `top` itemsets, in the order of frequency, with the itemsets of the largest estimates.

    Return None without itemsets. `counts` are their original counts. F1 is at the count of the last of the `top`.

    >>> kept_itemsets(np.array([5.0, 1.0, 4.0]), np.array([6, 5, 4]), 2)
    Kept(lost=0.5, f1=0.6666666666666666)
    """
    most = min(top, len(counts))
    if not most:
        return None
    largest = np.argsort(-np.round(estimates, 9), kind="stable")[:most]
    there = np.flatnonzero(estimates >= counts[most - 1] * (1 - 1e-9))
    right = int((there < most).sum())
    return Kept(float((largest >= most).mean()), 2 * right / (most + len(there)))


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
