"""Whom somebody finds who looks people up among records, and what further item is guessed of each.

Candidates are the records that may hold all that is known; each is as likely as the next. The chance of a further item
is the mean over the candidates of that with which each holds it; the likeliest is guessed, of several equally likely
ones any. Without candidates nothing is guessed.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.data.rows import BLOCK
from decloak.lazy import sparse
from decloak.measure.kernels.holders import Holders

__all__ = ["LookedUp", "looked_up", "right_guesses"]


PEOPLE = 128
"""People that are looked up at a time."""
FEW = 0.1
"""Candidates, of the records: where fewer are, they are listed."""


class LookedUp(NamedTuple):
    """Of each person: how many candidates there are, the probability on the right record, whether that is none of them,
    and how often a guess at a further item is right.
    """

    candidates: Ints
    found: Floats
    lost: Mask
    guessed: Floats


def looked_up(
    may: Holders, chances: "sparse.csr_array[Any]", known: Ints, own: Ints, held: "sparse.csr_array[Any]"
) -> LookedUp:
    """Look people up by known items, a column each, -1 where nothing is known: it does not matter to anybody.

    `own` is everybody's record, -1 where there is none; `chances` is records × items, the chance with which each holds
    each; `held` people × items, what they truly have.
    """
    people = known.shape[1]
    candidates, among, right = np.zeros(people, np.int64), np.zeros(people, np.bool_), np.zeros(people)
    for first in range(0, people, PEOPLE):
        part = np.arange(first, min(first + PEOPLE, people))
        scores = np.zeros((len(part), held.shape[1]))
        for record, fit, bits in _candidates(may, known[:, part]):
            person = part[fit]
            candidates[person] += bits.sum(axis=1)
            here = (own[person] >= record) & (own[person] < record + bits.shape[1])
            among[person[here]] = bits[here, own[person[here]] - record]
            weights = sparse.csr_array(bits, dtype=np.float64) if bits.mean() < FEW else bits.astype(np.float64)
            held_by = weights @ chances[record : record + bits.shape[1]]
            scores[fit] += held_by.toarray() if sparse.issparse(held_by) else held_by
        right[part] = right_guesses(scores, _mask(known[:, part], held.shape[1]), held[part].toarray() > 0)
    return LookedUp(candidates, np.where(among, 1 / np.maximum(candidates, 1), 0.0), ~among, right)


def _candidates(may: Holders, known: Ints) -> Iterator[tuple[int, Ints, Mask]]:
    """Blocks of records: the first of them, some people, and who the candidates for each are."""
    first_item = known[(known >= 0).argmax(axis=0), np.arange(known.shape[1])]
    some, anybody = np.flatnonzero(first_item >= 0), np.flatnonzero(first_item < 0)
    itemsets = np.where(known >= 0, known, first_item)[:, some]
    for record, fit, bits in may.blocks(itemsets):
        yield record, some[fit], bits
    for record in range(0, may.records if len(anybody) else 0, BLOCK):
        yield record, anybody, np.ones((len(anybody), min(BLOCK, may.records - record)), np.bool_)


def _mask(known: Ints, items: int) -> Mask:
    """People × items, True where an item is known."""
    mask = np.zeros((known.shape[1], items + 1), np.bool_)
    mask[np.arange(known.shape[1]), known] = True  # -1 is the last
    return mask[:, :items]


def right_guesses(scores: Floats, known: Mask, held: Mask) -> Floats:
    """How often the guess at the likeliest item that is not known is right; 0 where no item is likely at all.

    >>> known, held = np.array([[True, False, False]]), np.array([[True, True, False]])
    >>> right_guesses(np.array([[3.0, 1, 1]]), known, held).tolist()
    [0.5]
    """
    open_scores = np.where(known, 0.0, scores)
    best = open_scores.max(axis=1, initial=0.0)
    tied = (open_scores >= best[:, None] * (1 - 1e-9)) & (best > 0)[:, None]
    return np.asarray((tied & held).sum(axis=1) / np.maximum(tied.sum(axis=1), 1), np.float64)
