"""Similarities of pairs of terms, larger is closer: the common part of word vectors and WordNet.

A measure numbers the terms it knows, and computes similarities as matrices, a block of terms with all terms. The scores
of the pairs are read from these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.pairs import Pair, Pairs, ScoredPairs
from decloak.errors import quote
from decloak.relate.ngd import Scored

CELLS = 4_000_000
"""Numbers of a matrix that are in memory together."""

FEW = 3
"""Terms that a warning names."""


class Similar(NamedTuple):
    """Similarities by pair, None where there is no score; and one line for each way in which terms were found."""

    scores: ScoredPairs
    warnings: list[str]


class Similarities(Protocol):
    """A measure of similarity, such as word vectors or WordNet."""

    def scores(self, pairs: Iterable[Pair]) -> Similar:
        """Return the similarity of each of `pairs`."""


def similarity_to_distance(similar: Similar) -> Scored:
    """Return distances for the attacks, 1 - similarity: at most 2 for a cosine, 1 for Wu-Palmer; never below 0.

    `similar` has the similarities.

    >>> similarity_to_distance(Similar(ScoredPairs.of({("flu", "cough"): 0.75, ("flu", "x"): None}), [])).distances
    {('flu', 'cough'): 0.25, ('flu', 'x'): None}
    """
    scores = similar.scores
    return Scored(ScoredPairs(scores.pairs, np.maximum(0.0, 1 - scores.numbers)), similar.warnings)


def similarities(
    pairs: Iterable[Pair], number: Mapping[str, int], block: int, matrix: Callable[[Ints], Floats]
) -> ScoredPairs:
    """Return the similarity of each of `pairs` whose terms both have a `number`, None for the others.

    `matrix` returns the similarities of some numbers, at most `block` of them and ascending, (rows) with all (columns).
    """
    pairs = Pairs.of(pairs)
    place = np.array([number.get(item, -1) for item in pairs.items], np.int64)
    first, second = place[pairs.a], place[pairs.b]
    known = (first >= 0) & (second >= 0)
    first, second = first[known], second[known]
    scores = np.full(len(pairs), np.nan)
    # Products of matrices are rounded by position: a pair and its reverse must use the same cell.
    scores[known] = _pick_cells(np.minimum(first, second), np.maximum(first, second), max(1, block), matrix)
    return ScoredPairs(pairs, scores)


def _pick_cells(rows: Ints, columns: Ints, block: int, matrix: Callable[[Ints], Floats]) -> Floats:
    values = np.empty(len(rows))
    # Sorted by row, so that each block of the matrix is computed once and then dropped.
    order = np.argsort(rows, kind="stable")
    numbers, starts = np.unique(rows[order], return_index=True)
    ends = np.append(starts, len(rows))
    for begin in range(0, len(numbers), block):
        numbers_here = numbers[begin : begin + block]
        mine = order[starts[begin] : ends[begin + len(numbers_here)]]
        values[mine] = matrix(numbers_here)[np.searchsorted(numbers_here, rows[mine]), columns[mine]]
    return values


def share_note(terms: Sequence[str], total: int, what: str, few: int = FEW) -> list[str]:
    """Return one line on the `terms`, of `total`, that `what` describes, with the first `few`; no line for no terms.

    >>> share_note(["x", "y"], 8, "have no vector, so no score", few=1)
    ["2 of 8 terms (25 %) have no vector, so no score: 'x' and 1 more"]
    """
    if not terms:
        return []
    line = f"{len(terms)} of {total} terms ({100 * len(terms) / total:.0f} %) {what}"
    more = f" and {len(terms) - few} more" if len(terms) > few else ""
    return [f"{line}: {', '.join(map(quote, terms[:few]))}{more}" if few else line]
